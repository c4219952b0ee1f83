"""How settings of replays and askings stand in a log, and which of them decide."""

import hashlib
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from otherminds.tom.experiments.config import CALLING
from otherminds.tom.llm.client import GenerationSettings

GENERATION = TypeAdapter(GenerationSettings)


def generation_json(generation: GenerationSettings) -> dict[str, Any]:
    """How models are sampled and called, for the first line of a log."""
    return GENERATION.dump_python(generation, mode="json")


def digest_of(recording: Path) -> str:
    """Tells one recording from others in the first line of a log."""
    return hashlib.sha256(recording.read_bytes()).hexdigest()[:12]


def deciding(config: dict[str, Any]) -> dict[str, Any]:
    """The settings that decide what is asked; not those that only say how patiently a server is called."""
    generation = {name: value for name, value in config.get("generation", {}).items() if name not in CALLING}
    return config | {"generation": generation}
