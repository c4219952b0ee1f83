"""What a run of observers is: which matches, who watches, how they are asked. Validated before anything starts."""

import hashlib
import json
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from otherminds.games.rps.catalogue import CODES
from otherminds.games.rps.observation import Asking
from otherminds.games.rps.text import SECTIONS, Wording
from otherminds.tom.experiments.config import CALLING, ConfigError
from otherminds.tom.experiments.defaults import LOCAL_MODEL, MODEL, local_model_installed, split_agents
from otherminds.tom.llm.client import GenerationSettings, ModelError
from otherminds.tom.minds.rps.observer_registry import OBSERVERS

OBSERVERS_BY_DEFAULT = ("exact", "window:15", "frequency", MODEL)
SWEPT = {"temperature": float, "top_p": float, "max_tokens": int, "reasoning_effort": str}
"""What may be varied from observer to observer of one language model, beside the sections of the text."""
ADD_A_MODEL = (
    "no language model is among the observers; add the small local one with "
    "`uv run --extra local otherminds run rps`, or any other with --model provider/name"
)


class Condition(NamedTuple):
    """A language model as one observer: the model, how it is sampled, and what it reads."""

    model: str
    generation: GenerationSettings
    sections: tuple[str, ...]


class ObserverConfig(BaseModel):
    """A run of observers. Match n of a seed is the same for every observer, and in every run of these players."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    player1: str
    player2: str
    observers: tuple[str, ...] = Field(min_length=1)
    matches: int = Field(5, ge=1)  # a seed
    seeds: tuple[int, ...] = Field((0,), min_length=1)
    rounds: int = 40
    warmup: int = 10
    every: int = 20
    history: int | None = 50
    reasoning_interval: int | None = 20
    stop_after: int | None = None
    legacy_iid: bool = False
    legacy_decimals: bool = False
    shuffle: bool = True
    sections: tuple[str, ...] = SECTIONS
    base_url: str | None = None
    generation: GenerationSettings = GenerationSettings()
    max_attempts: int = Field(2, ge=1)  # answers of a language model per question

    @property
    def asking(self) -> Asking:
        """When the observers are asked. Raises: ValueError for what cannot be."""
        return Asking(self.rounds, self.warmup, self.every, self.history, self.reasoning_interval, self.stop_after)

    def wording(self, sections: tuple[str, ...]) -> Wording:
        """How the game is told to a language model that reads these sections."""
        return Wording(sections, self.legacy_decimals)

    def identity(self) -> dict[str, Any]:
        """The settings that decide what is played; not those that only say how patiently a server is called."""
        return self.model_dump(mode="json", exclude={"generation": CALLING})

    def digest(self) -> str:
        """Eight hexadecimal digits that tell this configuration from others."""
        return hashlib.sha256(json.dumps(self.identity()).encode()).hexdigest()[:8]


def validated(**settings: Any) -> ObserverConfig:
    """The configuration of these settings.

    Raises: ConfigError in one line.
    """
    try:
        config = ObserverConfig(**settings)
        _ = config.asking, config.wording(config.sections)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{name}={first['input']!r}: {first['msg'].lower()}") from None
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return config


def is_model(observer: str) -> bool:
    """Whether an observer is written as provider/name, with or without options."""
    return "/" in observer.partition("@")[0].partition(":")[0]


def condition(observer: str, config: ObserverConfig) -> Condition:
    """What `provider/name@option=value,...` stands for; what it does not say is as in the configuration.

    Options: those of SWEPT, and sections=catalogue+history+... (`none` for no section).
    Raises: ConfigError for an option that does not exist, and for a value that is none.
    """
    model, _, rest = observer.partition("@")
    changes: dict[str, Any] = {}
    sections = config.sections
    for part in filter(None, rest.split(",")):
        option, _, text = (piece.strip() for piece in part.partition("="))
        if option == "sections":
            sections = tuple(name for name in text.split("+") if name and name != "none")
        elif option in SWEPT:
            try:
                changes[option] = SWEPT[option](text)
            except ValueError:
                raise ConfigError(f"{observer!r}: {option}={text!r} is no {SWEPT[option].__name__}") from None
        else:
            raise ConfigError(f"{observer!r}: no option {option!r}; there are {', '.join(SWEPT)}, sections")
    try:
        config.wording(sections)
        return Condition(model, replace(config.generation, **changes), sections)
    except (ValueError, ModelError) as error:
        raise ConfigError(f"{observer!r}: {error}") from None


def observers_of(
    asked: str | None, model: str | None, sweeps: tuple[str, ...] = (), sections: tuple[str, ...] = ()
) -> tuple[tuple[str, ...], str | None]:
    """The observers of a run, each once, and a note for the user where no language model is among them.

    asked: comma-separated; None: OBSERVERS_BY_DEFAULT.   model: provider/name, or None for the local one.
    sweeps: `option=value,value,...`: each language model becomes one observer for every value, and for every
        combination of several sweeps.   sections: where there are several, each is a sweep's value too.
    Raises: ConfigError for what is none of these.
    """
    if model is not None and "/" not in model.strip("/"):
        raise ConfigError(f"--model {model!r}: write provider/name, such as openai/gpt-4o or {LOCAL_MODEL}")
    named = [*OBSERVERS_BY_DEFAULT] if asked is None else split_agents(asked)
    if not named:
        raise ConfigError(f"--observer {asked!r}: name at least one observer, or leave the option out")
    if model is None and MODEL in named and local_model_installed():
        model = LOCAL_MODEL
    if asked is not None and model is None and MODEL in named:
        raise ConfigError(f"--observer: `{MODEL}` stands for a language model, and there is none; {ADD_A_MODEL}")
    named = [model if name == MODEL else name for name in named]
    found = [name for name in named if name is not None]
    values = [_swept(sweep) for sweep in sweeps]
    if len(sections) > 1:
        values.append([f"sections={written.replace(',', '+')}" for written in sections])
    for suffixes in values:
        found = [
            f"{name}{',' if '@' in name else '@'}{suffix}" if is_model(name) else name
            for name in found
            for suffix in (suffixes if is_model(name) else [""])
        ]
    if values and not any(map(is_model, found)):
        raise ConfigError("--sweep and --sections vary language models, and none is among the observers")
    note = None if asked is not None or any(map(is_model, found)) else ADD_A_MODEL
    return tuple(dict.fromkeys(found)), note


def _swept(sweep: str) -> list[str]:
    option, equals, values = sweep.partition("=")
    if option not in SWEPT or not equals or not values.strip(","):
        raise ConfigError(f"--sweep {sweep!r}: write OPTION=VALUE,VALUE,... with {', '.join(SWEPT)} for OPTION")
    return [f"{option}={value.strip()}" for value in values.split(",") if value.strip()]


def unknown_observer(observer: str) -> ConfigError:
    """What is said of an observer that is neither a mind nor a model."""
    return ConfigError(
        f"observer {observer!r}: neither a mind ({', '.join(OBSERVERS)}) nor a model as provider/name, such as "
        f"openai/gpt-4o or {LOCAL_MODEL}"
    )


def code_of(player: str) -> str | None:
    """The strategy of the catalogue that a player follows, trembling or not; None for any other player."""
    code = player.partition(":")[0].strip()
    code = "D" if code == "random" else code
    return code if code in CODES else None
