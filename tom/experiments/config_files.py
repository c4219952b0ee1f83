"""Experiments as TOML files: the commands that make them, with their options.

A file names one command, or several that follow each other:

    about = "What is asked, in one line"
    out = "runs/my-experiment"

    [[step]]
    command = "run decrypto"
    out = "{out}/games"
    encoder = ["baseline", "model"]

A step's other keys are the command's options (with - or _) and arguments, lists where an option takes several values.
"{out}" stands for the file's own `out`, or for what is given in its place. A file with a `command` of its own is its
only step. Paths of files to read are relative to the TOML file.
"""

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import click

from otherminds.tom.experiments.config import ConfigError

SUFFIX = ".toml"
OUT = "{out}"
PLACE = re.compile(r"\{\w+\}")


@dataclass(frozen=True)
class Step:
    """One command. command: its words, such as ("run", "decrypto").   options: what the file says, by parameter."""

    command: tuple[str, ...]
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Experiment:
    """What a file says. out: the folder that "{out}" stands for, None where the file names none."""

    name: str
    about: str
    source: str  # what it reproduces, or ""
    out: str | None
    steps: tuple[Step, ...]
    folder: Path


@cache
def ready_made() -> dict[str, Path]:
    """The experiments that come with the package: their files by name."""
    room = Path(str(files(__package__))) / "ready_made"
    return {path.stem: path for path in sorted(room.glob(f"*{SUFFIX}"))}


def find(name: str) -> Path | None:
    """The file that a name or a path stands for; None for what is neither."""
    if name.endswith(SUFFIX):
        return Path(name)
    return ready_made().get(name)


def unknown(name: str, what: str, others: Iterable[str] = ()) -> str:
    """What is said of a name that stands for nothing. what: that it is not.   others: names of another kind."""
    return f"{name!r} is no {what}; {nearest(name, [*others, *ready_made()])}"


def nearest(name: str, known: Collection[str]) -> str:
    """The known names that are most like this one, for messages; all of them where none is."""
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    return f"near: {', '.join(near)}" if near else f"there are {', '.join(known)}"


def load(path: Path) -> Experiment:
    """Reads an experiment.

    Raises: ConfigError for what is no such file, naming what is wrong in it.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; ready-made experiments: {', '.join(ready_made())}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"{path}: cannot be read as TOML ({error})") from None
    about, source, out = (_text(path, content, name) for name in ("about", "source", "out"))
    steps = content.pop("step", None)
    if steps is None:
        steps, content = [{"out": OUT} | content if out else content], {}
    elif not isinstance(steps, list) or not steps or not all(isinstance(step, dict) for step in steps):
        raise ConfigError(f"{path}: step={steps!r}: write [[step]] before the settings of every command")
    if content:
        raise ConfigError(
            f"{path}: {next(iter(content))}: beside [[step]] a file has about, source and out; put it into a step"
        )
    return Experiment(path.stem, about, source, out or None, tuple(_step(path, step) for step in steps), path.parent)


def _text(path: Path, content: dict[str, Any], name: str) -> str:
    value = content.pop(name, "")
    if not isinstance(value, str):
        raise ConfigError(f"{path}: {name}={value!r}: must be a text in quotes")
    return value


def _step(path: Path, step: dict[str, Any]) -> Step:
    command = step.pop("command", None)
    if not isinstance(command, str) or not command.split():
        raise ConfigError(f'{path}: command={command!r}: name the command of every step, such as "run decrypto"')
    return Step(tuple(command.split()), {name.replace("-", "_"): value for name, value in step.items()})


def values_of(step: Step, command: click.Command, experiment: Experiment, out: str | None) -> dict[str, Any]:
    """What a step sets, as defaults of the command's parameters.

    out: what "{out}" stands for.
    Raises: ConfigError for a name that the command does not have, and for a value of another kind.
    """
    known = {_written(parameter): parameter for parameter in command.params if parameter.name != "help"}
    found = {}
    for name, value in step.options.items():
        where = f"{place_of(step, experiment)}: {name}"
        if name not in known:
            raise ConfigError(f"{where}={value!r}: no such option; {nearest(name, known)}")
        parameter = known[name]
        found[str(parameter.name)] = _value(where, value, parameter, experiment, out)
    return found


def place_of(step: Step, experiment: Experiment) -> str:
    """Where a step stands, for messages: its file, its number where there are several, its command."""
    number = f"step {experiment.steps.index(step) + 1}, " * (len(experiment.steps) > 1)
    return f"{experiment.name}{SUFFIX}, {number}{' '.join(step.command)}"


def _written(parameter: click.Parameter) -> str:
    """How a parameter is called in a file: as its long option, without the dashes in front."""
    long = [text for text in parameter.opts if text.startswith("--")] if isinstance(parameter, click.Option) else []
    return long[0].removeprefix("--").replace("-", "_") if long else str(parameter.name)


def _value(where: str, value: Any, parameter: click.Parameter, experiment: Experiment, out: str | None) -> Any:
    several = parameter.multiple if isinstance(parameter, click.Option) else parameter.nargs == -1
    if several:
        each = value if isinstance(value, list) else [value]
        return [_one(where, one, parameter, experiment, out) for one in each]
    if isinstance(value, list):
        if not isinstance(parameter.type, click.types.StringParamType) or not all(isinstance(v, str) for v in value):
            raise ConfigError(f"{where}={value!r}: must be one value")
        value = ",".join(value)
    return _one(where, value, parameter, experiment, out)


def _one(where: str, value: Any, parameter: click.Parameter, experiment: Experiment, out: str | None) -> Any:
    kind = parameter.type
    flag = isinstance(parameter, click.Option) and parameter.is_flag
    allowed, named = (
        (bool, "true or false")
        if flag
        else (int, "a whole number")
        if isinstance(kind, click.types.IntParamType)
        else (int | float, "a number")
        if isinstance(kind, click.types.FloatParamType)
        else (str, "a text in quotes")
    )
    if not isinstance(value, allowed) or (isinstance(value, bool) and not flag):
        raise ConfigError(f"{where}={value!r}: must be {named}")
    if not isinstance(kind, click.Path):
        try:
            kind.convert(value, parameter, None)
        except click.BadParameter as error:
            raise ConfigError(f"{where}: {error.message.rstrip('.')}") from None
    if not isinstance(value, str):
        return value
    if other := [place for place in PLACE.findall(value) if place != OUT]:
        raise ConfigError(f"{where}={value!r}: {other[0]} stands for nothing; only {OUT} does")
    if OUT in value:
        if out is None:
            raise ConfigError(f"{where}={value!r}: the file has no `out` that {OUT} could stand for")
        return value.replace(OUT, out)
    if isinstance(kind, click.Path) and parameter.name != "out":
        return str(experiment.folder / value)
    return value
