"""A language model as it is written in a list of agents: `provider/name:system=2,role=3,context=chat`.

Whatever is written is the agent's name in the log, so one model with several wordings, personas or temperatures is
several agents.
"""

import itertools
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from otherminds.games.decrypto import wordings
from otherminds.games.decrypto.rules import Role
from otherminds.games.decrypto.text import Wording
from otherminds.tom.agents.language_model import Context, Errors
from otherminds.tom.experiments.config import ConfigError
from otherminds.tom.llm.client import GenerationSettings

ALL = "all"
"""As the value of `system`, `role` or `persona`: one agent for each that there is."""
LONGEST_PERSONA = 2000  # characters
SAMPLING = ("temperature", "top_p", "max_tokens", "reasoning_effort")


@dataclass(frozen=True)
class ModelAgent:
    """A language model and how it is asked.

    written: its name in the log.   model: provider/name.   wording, context, errors, think, state: as for
    `LanguageModelAgent`.   generation: the run's settings, with what this agent has of its own.
    """

    written: str
    model: str
    wording: Wording
    context: Context
    errors: Errors
    think: bool
    generation: GenerationSettings
    state: bool = False


def is_model(written: str) -> bool:
    """Whether an agent is written as provider/name, whatever options follow."""
    return "/" in written.partition("=")[0]


def read_asked(written: str, role: Role, generation: GenerationSettings) -> ModelAgent:
    """A language model that is asked about recorded games in a role; see `read_model_agent`.

    Raises: ConfigError also for what is not written as provider/name.
    """
    if not is_model(written):
        raise ConfigError(f"--model {written!r}: write provider/name, such as openai/gpt-4o or local/smollm2")
    return read_model_agent(written, role, generation=generation)


def read_model_agent(
    written: str,
    role: Role,
    personas: Mapping[str, str] | None = None,
    generation: GenerationSettings | None = None,
) -> ModelAgent:
    """What a written agent stands for in a role.

    personas: texts by name.   generation: what holds where the agent says nothing else.
    Raises: ConfigError in one line, with what is allowed.
    """
    model, options = split_options(written)
    read: dict[str, Any] = {}
    for name, value in options:
        if name not in OPTIONS:
            raise ConfigError(f"{written!r}: no option {name!r}; a language model takes {', '.join(OPTIONS)}")
        if name in read:
            raise ConfigError(f"{written!r}: {name} stands there twice")
        try:
            read[name] = OPTIONS[name](value)
        except ValueError as error:
            raise ConfigError(f"{written!r}: {name}={value!r}: {error}") from None
    _check_number(written, "system", read.get("system", 0), len(wordings.SYSTEMS), "the rules")
    what = f"the {role.name.lower()}'s role"
    _check_number(written, "role", read.get("role", 0), len(wordings.ROLES[role]), what)
    persona = _persona_text(written, read.get("persona", ""), personas or {})
    if read.get("state") and role == Role.ENCODER:
        raise ConfigError(f"{written!r}: state=true: an encoder has no code to guess; leave it out")
    sampling = {name: read[name] for name in SAMPLING if name in read}
    try:
        own = replace(generation or GenerationSettings(), **sampling)
    except ValueError as error:
        raise ConfigError(f"{written!r}: {error}") from None
    return ModelAgent(
        written,
        model,
        Wording(read.get("system", 0), read.get("role", 0), persona),
        read.get("context", "turns"),
        read.get("errors", "kept"),
        read.get("think", False),
        own,
        read.get("state", False),
    )


def split_options(written: str) -> tuple[str, list[tuple[str, str]]]:
    """provider/name and the options behind it; a colon that no `option=` follows belongs to the name.

    >>> split_options('openrouter/x/y:free:system=2,persona="You are old, and wise."')
    ('openrouter/x/y:free', [('system', '2'), ('persona', 'You are old, and wise.')])
    """
    match = re.fullmatch(r"(.*?):(\w+=.*)", written, re.S)
    if match is None:
        return written, []
    parts = (part.partition("=") for part in re.findall(r'(?:[^,"]|"[^"]*"|")+', match[2]))
    return match[1], [(name.strip(), _unquoted(value.strip())) for name, _, value in parts]


def expanded(written: str, role: Role, personas: Mapping[str, str]) -> list[str]:
    """The agents that a written one with `all` in it stands for.

    >>> expanded("a/b:system=all", Role.ENCODER, {})[:2]
    ['a/b:system=0', 'a/b:system=1']
    """
    model, options = split_options(written)
    every: dict[str, Sequence[str]] = {
        "system": [str(number) for number in range(len(wordings.SYSTEMS))],
        "role": [str(number) for number in range(len(wordings.ROLES[role]))],
        "persona": list(personas),
    }
    if not any(name in every and value == ALL for name, value in options):
        return [written]
    choices = [every[name] if name in every and value == ALL else [_requoted(value)] for name, value in options]
    if not all(choices):
        raise ConfigError(f"{written!r}: persona={ALL} stands for those of a file; give --personas FILE")
    names = [name for name, _ in options]
    return [
        f"{model}:{','.join(f'{name}={value}' for name, value in zip(names, chosen, strict=True))}"
        for chosen in itertools.product(*choices)
    ]


def read_personas(path: str | None) -> dict[str, str]:
    """Personas by name, of a JSON or TOML file that holds `name = "text"` for each; none without a path.

    Raises: ConfigError for a file that cannot be read so, a name that is no single word, or a text that is empty
        or longer than 2,000 characters.
    """
    if path is None:
        return {}
    try:
        content = Path(path).read_text(encoding="utf-8")
        read = json.loads(content) if path.endswith(".json") else tomllib.loads(content)
    except FileNotFoundError:
        raise ConfigError(f"--personas {path}: no such file") from None
    except OSError as error:
        raise ConfigError(f"--personas {path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        form = "JSON" if path.endswith(".json") else "TOML"
        raise ConfigError(f'--personas {path}: no {form} ({error}); write name = "text" for each') from None
    if not isinstance(read, dict) or not read:
        raise ConfigError(f'--personas {path}: no persona; write name = "text" for each')
    for name, text in read.items():
        if not re.fullmatch(r"[\w-]+", name) or name == ALL:
            raise ConfigError(f"--personas {path}: {name!r} is no name; a name is one word, and not {ALL!r}")
        if not isinstance(text, str) or not 0 < len(text.strip()) <= LONGEST_PERSONA:
            raise ConfigError(f"--personas {path}: {name} must be a text of at most {LONGEST_PERSONA:,} characters")
    return {name: text.strip() for name, text in read.items()}


def used_personas(agents: Sequence[str], personas: Mapping[str, str]) -> dict[str, str]:
    """Those personas that one of the agents names."""
    named = {value for agent in agents for name, value in split_options(agent)[1] if name == "persona"}
    return {name: text for name, text in personas.items() if name in named}


def _persona_text(written: str, persona: str, personas: Mapping[str, str]) -> str:
    if len(persona) > LONGEST_PERSONA:
        raise ConfigError(f"{written[:60]!r}...: a persona has at most {LONGEST_PERSONA:,} characters")
    if not persona or " " in persona:
        return persona
    if persona not in personas:
        known = f"there are {', '.join(personas)}" if personas else "give them with --personas FILE"
        raise ConfigError(f"{written!r}: no persona {persona!r}; {known}, or write a text of several words in quotes")
    return personas[persona]


def _check_number(written: str, option: str, number: int, count: int, what: str) -> None:
    if not 0 <= number < count:
        allowed = f"0 to {count - 1}" if count > 1 else "0 alone"
        raise ConfigError(f"{written!r}: {option}={number}: the wordings of {what} are {allowed}")


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] == '"':
        value = value[1:-1]
    return " ".join(value.split())


def _requoted(value: str) -> str:
    return f'"{value}"' if "," in value else value


def _whole(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ValueError("a whole number is wanted") from None


def _number(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise ValueError("a number is wanted") from None


def _one_of(*allowed: str) -> Callable[[str], str]:
    def read(value: str) -> str:
        if value not in allowed:
            raise ValueError(f"one of {', '.join(allowed)} is wanted")
        return value

    return read


def _truth(value: str) -> bool:
    return _one_of("true", "false")(value) == "true"


def _something(value: str) -> str:
    if not value:
        raise ValueError("something must stand there")
    return value


OPTIONS: Mapping[str, Callable[[str], Any]] = {
    "system": _whole,
    "role": _whole,
    "persona": _something,
    "context": _one_of("turns", "chat"),
    "errors": _one_of("kept", "cut"),
    "think": _truth,
    "state": _truth,
    "temperature": _number,
    "top_p": _number,
    "max_tokens": _whole,
    "reasoning_effort": _something,
}
"""How the value of each option is read."""
