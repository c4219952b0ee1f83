"""`otherminds run CONFIG`: an experiment file as a command, whose options go before what the file says."""

import contextlib
import copy
import io
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from otherminds.tom.cli.calls import one_line_errors
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.config import ConfigError
from otherminds.tom.experiments.config_files import Experiment, Step, load, values_of

IMPORT, LOG = "import", "log.jsonl"
"""A step that imports is left out where the log that it would write is there already."""


def command_of(path: Path, root: click.Group) -> click.Command:
    """The command that runs an experiment file.

    root: where the steps' commands are looked up. It takes every option that one of the steps takes; one that the file
        says of some steps goes to these, any other to all that take it.
    Raises: ConfigError for a file that cannot be read, an unknown command, option or kind of value.
    """
    experiment = load(path)
    commands = [_looked_up(root, step, experiment) for step in experiment.steps]
    file_values = [
        values_of(step, command, experiment, experiment.out)
        for step, command in zip(experiment.steps, commands, strict=True)
    ]
    options: dict[str, click.Parameter] = {}
    for command, values in zip(commands, file_values, strict=True):
        for parameter in command.params:
            if isinstance(parameter, click.Argument) and parameter.name not in values:
                options[str(parameter.name)] = _as_option(parameter)
            elif isinstance(parameter, click.Option) and (parameter.name not in options or parameter.name in values):
                said = [each[parameter.name] for each in file_values if parameter.name in each]
                options[str(parameter.name)] = _as_the_file_has_it(parameter, said, experiment.out)
    return click.Command(
        experiment.name,
        params=list(options.values()),
        callback=_runner(experiment, commands),
        help=_help(experiment),
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )


def _looked_up(root: click.Group, step: Step, experiment: Experiment) -> click.Command:
    found: Any = root
    for word in step.command:
        # Not `get_command`, which would take the name of an experiment for a command.
        found = found.commands.get(word) if isinstance(found, click.Group) else None
    if found is None or isinstance(found, click.Group):
        raise ConfigError(f"{experiment.name}: command={' '.join(step.command)!r}: there is no such command")
    return found


def _as_the_file_has_it(parameter: click.Option, said: Sequence[Any], out: str | None) -> click.Option:
    """The option, that shows the file's value as its default and may be left out.

    said: its value in every step that has one.   out: the file's own.
    """
    shown = copy.copy(parameter)
    shown.required = False
    own = [out] if shown.name == "out" and out is not None else said
    if own:
        shown.help = (shown.help or "").partition("  [default:")[0]
        if all(value == own[0] for value in own):
            shown.default, shown.show_default = own[0], True
        else:
            shown.default, shown.show_default = None, False
            shown.help += "  [default: differs by step]"
    return shown


def _as_option(argument: click.Argument) -> click.Option:
    """A command's argument that the file leaves open, as an option that must be given."""
    return click.Option(
        [f"--{str(argument.name).replace('_', '-')}"],
        type=argument.type,
        required=argument.required,
        multiple=argument.nargs == -1,
        help="What the file leaves open.",
    )


def _help(experiment: Experiment) -> str:
    counts = Counter(" ".join(step.command) for step in experiment.steps)
    steps = ", then ".join(name + (f" ({count} times)" if count > 1 else "") for name, count in counts.items())
    source = f" After {experiment.source}." if experiment.source else ""
    return (
        f"{experiment.about}.{source}\n\nIt does: {steps}. Options go before what the file says; "
        f"`otherminds experiments {experiment.name}` prints the file."
    )


def _runner(experiment: Experiment, commands: list[click.Command]) -> Callable[..., None]:
    def run(**given: Any) -> None:
        context = click.get_current_context()
        asked = {
            name: value
            for name, value in given.items()
            if context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE
        }
        out = experiment.out
        if out is not None and "out" in asked:
            out = asked.pop("out")
        with one_line_errors():
            steps = [
                (step, command, values_of(step, command, experiment, out))
                for step, command in zip(experiment.steps, commands, strict=True)
            ]
        said = {name for *_, values in steps for name in values}
        failed, made = False, list[Path]()
        for number, (step, command, values) in enumerate(steps, 1):
            own = {str(parameter.name): parameter for parameter in command.params}
            values |= {
                name: _as_taken(parameter, asked[name])
                for name, parameter in own.items()
                if name in asked and (name in values or name not in said)
            }
            if step.command[0] == IMPORT and (Path(values["out"]) / LOG).exists():
                with one_line_errors():
                    _check_imported(step, command, values)
                click.echo(f"{experiment.name}: {Path(values['out']) / LOG} is there already", err=True)
                made.append(Path(values["out"]))
                continue
            if len(commands) > 1:
                told = f"{experiment.name}, step {number} of {len(commands)}: {' '.join(step.command)}"
                click.secho(told, bold=True, err=True)
            if asked.get("dry_run") and (reason := _not_counted(command, values, made)):
                click.echo(f"  {reason}", err=True)
            else:
                failed |= _call(command, f"otherminds {' '.join(step.command)}", values)
            if "out" in values:
                made.append(Path(values["out"]))
        if failed:
            context.exit(1)

    return run


def _as_taken(parameter: click.Parameter, value: Any) -> Any:
    """A value of the command line for one step's parameter, of which another step may take several, or just one."""
    several = parameter.multiple if isinstance(parameter, click.Option) else parameter.nargs == -1
    if several:
        return [value] if isinstance(value, str) else value
    if isinstance(value, list | tuple):
        if len(value) != 1:
            raise click.UsageError(f"--{parameter.name}: some step takes one value, and not {len(value)}")
        return value[0]
    return value


def _check_imported(step: Step, command: click.Command, values: Mapping[str, Any]) -> None:
    """Imports again, into a folder that is thrown away.

    Raises: ConfigError where the log that is there is another: of another recording, or with other options.
    """
    there = Path(values["out"]) / LOG
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        _call(command, f"otherminds {' '.join(step.command)}", {**values, "out": folder})
        new, old = (journal.canonical(journal.read(log)) for log in (Path(folder) / LOG, there))
    if new != old:
        raise ConfigError(f"{there} holds another recording, or was imported with other options; give another --out")


def _not_counted(command: click.Command, values: Mapping[str, Any], earlier: Sequence[Path]) -> str | None:
    """Why a step is left out of a dry run; None where it is not. earlier: the folders of the steps before."""
    if "dry_run" not in {parameter.name for parameter in command.params}:
        return "it asks no language model, and is left out of a dry run"
    for parameter in command.params:
        if isinstance(parameter.type, click.Path) and parameter.name != "out":
            given = values.get(str(parameter.name)) or ()
            for path in map(Path, [given] if isinstance(given, str) else given):
                if not path.exists() and any(path.is_relative_to(folder) for folder in earlier):
                    return f"it reads {path}, which an earlier step makes; its calls come on top of the others'"
    return None


def _call(command: click.Command, name: str, values: Mapping[str, Any]) -> bool:
    """Runs a command. Returns whether games finished with failed answers. Raises: what the command raises."""
    try:
        command.main(args=[], prog_name=name, standalone_mode=False, default_map=dict(values))
    except SystemExit as end:
        if end.code not in (0, 1, None):
            raise
        return end.code == 1
    return False
