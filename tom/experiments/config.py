"""What a run of Decrypto is: who plays, how often, with which words. Validated before anything starts."""

import hashlib
import itertools
import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from otherminds.tom.llm.client import GenerationSettings

ROLES = ("encoder", "decoder", "interceptor")
CALLING = {"timeout", "max_retries", "max_connections", "cache", "limits"}


class ConfigError(ValueError):
    """A setting that cannot be; the message names it and what is allowed."""


def flattened(settings: Mapping[str, Any], within: str = "") -> dict[str, Any]:
    """Settings with those inside others by the names of both, such as "generation.seed"."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found |= flattened(value, f"{within}{name}.") if isinstance(value, Mapping) else {f"{within}{name}": value}
    return found


class DecryptoConfig(BaseModel):
    """A run of Decrypto."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    encoder: tuple[str, ...] = Field(min_length=1)
    decoder: tuple[str, ...] = Field(min_length=1)
    interceptor: tuple[str, ...] = Field(min_length=1)
    design: Literal["one-at-a-time", "cube", "competition", "coordination"] = "one-at-a-time"
    episodes: int = Field(2, ge=1)
    seeds: tuple[int, ...] = Field((0, 1), min_length=1)
    turns: int = Field(8, ge=1, le=8)
    continue_after_loss: bool = False
    teams: Literal[1, 2] = 1  # 2: every table is a team, and every two of them meet
    base_url: str | None = None
    keywords: str | None = None  # path
    vectors: str | None = None  # path
    generation: GenerationSettings = GenerationSettings()
    max_attempts: int = Field(2, ge=1)  # answers of a language model per decision
    personas: dict[str, str] = {}  # texts by the names that agents use

    def tables(self) -> list[tuple[str, str, str]]:
        """Who sits together: (encoder, decoder, interceptor), each once.

        "cube": every combination. "one-at-a-time": the first of each list together, then each of the others in
        that table's place of its role. "competition": the encoders and decoders are teams, the first with the first,
        and every team meets every interceptor. "coordination": every encoder with every decoder, against the one
        interceptor.
        """
        lists = (self.encoder, self.decoder, self.interceptor)
        if self.design in ("cube", "coordination"):
            combined = list(itertools.product(*lists))
        elif self.design == "competition":
            teams = list(zip(self.encoder, self.decoder, strict=True))
            combined = [(*team, interceptor) for team, interceptor in itertools.product(teams, self.interceptor)]
        else:
            first = tuple(agents[0] for agents in lists)
            combined = [first]
            for role, agents in enumerate(lists):
                combined += [(*first[:role], agent, *first[role + 1 :]) for agent in agents[1:]]
        return list(dict.fromkeys(combined))

    def identity(self) -> dict[str, Any]:
        """The settings that decide what is played; not those that only say how patiently a server is called."""
        settings = self.model_dump(mode="json", exclude={"generation": CALLING})
        return settings if self.teams > 1 else {name: value for name, value in settings.items() if name != "teams"}

    def digest(self) -> str:
        """Eight hexadecimal digits that tell this configuration from others."""
        return hashlib.sha256(json.dumps(self.identity()).encode()).hexdigest()[:8]


def validated(**settings: Any) -> DecryptoConfig:
    """The configuration of these settings.

    Raises: ConfigError in one line.
    """
    try:
        config = DecryptoConfig(**settings)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{name}={first['input']!r}: {first['msg'].lower()}") from None
    if config.design == "competition" and len(config.encoder) != len(config.decoder):
        raise ConfigError(
            f"design=competition: {len(config.encoder)} encoders and {len(config.decoder)} decoders; name a decoder "
            "for each encoder, or no decoder, and every agent plays both"
        )
    if config.teams > 1 and config.continue_after_loss:
        raise ConfigError("continue_after_loss=true: a match of two teams ends for both at once; leave it out")
    if config.design == "coordination" and len(config.interceptor) > 1:
        raise ConfigError(
            f"design=coordination: one interceptor meets every pair, and {', '.join(config.interceptor)} are "
            f"{len(config.interceptor)}; name one, or use the design cube"
        )
    return config
