"""`otherminds run CONFIG`: an experiment file as a command, whose options go before what the file says."""

import contextlib
import copy
import io
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from otherminds.tom.cli.calls import one_line_errors
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.config import ConfigError
from otherminds.tom.experiments.config_files import Experiment, Step, load, nearest, place_of, values_of

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
        told = nearest(" ".join(step.command), list(_commands_in(root)))
        raise ConfigError(f"{place_of(step, experiment)}: there is no such command; {told}")
    return found


def _commands_in(group: click.Group, before: str = "") -> Iterator[str]:
    """The commands of a group and of those in it, as they are written."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _commands_in(command, f"{before}{name} ")
        else:
            yield f"{before}{name}"


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
            found = [
                values_of(step, command, experiment, out)
                for step, command in zip(experiment.steps, commands, strict=True)
            ]
        said = {name for values in found for name in values}
        steps = [
            (step, command, values | _of_the_command_line(command, asked, values, said))
            for step, command, values in zip(experiment.steps, commands, found, strict=True)
        ]
        for step, command, values in steps:  # all of them before the first begins
            _check_options(step, command, values, experiment)
        with _rehearsed(steps) if asked.get("dry_run") else contextlib.nullcontext():
            failed = _run_all(experiment, steps, bool(asked.get("dry_run")))
        if failed:
            context.exit(1)

    return run


Made = tuple[Step, click.Command, Mapping[str, Any]]
"""A step with its command and the values of its options."""


def _of_the_command_line(
    command: click.Command, asked: Mapping[str, Any], values: Mapping[str, Any], said: Collection[str]
) -> dict[str, Any]:
    """What the command line says of one step. said: options that the file has in some step."""
    return {
        name: _as_taken(parameter, asked[name])
        for parameter in command.params
        if (name := str(parameter.name)) in asked and (name in values or name not in said)
    }


def _check_options(step: Step, command: click.Command, values: Mapping[str, Any], experiment: Experiment) -> None:
    """Raises: click.UsageError for a value that the command does not take, or one that lacks."""
    try:
        command.make_context(f"otherminds {' '.join(step.command)}", [], default_map=dict(values))
    except click.UsageError as error:
        raise click.UsageError(f"{place_of(step, experiment)}: {error.format_message()}", error.ctx) from None


def _run_all(experiment: Experiment, steps: Sequence[Made], dry: bool) -> bool:
    """Runs the steps, one after the other. Returns whether games finished with failed answers."""
    failed, made = False, list[Path]()
    for number, (step, command, values) in enumerate(steps, 1):
        imports = step.command[0] == IMPORT
        log = Path(values["out"]) / LOG if values.get("out") else None
        if imports and log is not None and log.exists():
            with one_line_errors():
                _check_imported(step, command, values, log)
            click.echo(f"{experiment.name}: {log} is there already", err=True)
        else:
            if len(steps) > 1:
                told = f"{experiment.name}, step {number} of {len(steps)}: {' '.join(step.command)}"
                click.secho(told, bold=True, err=True)
            if dry:
                failed |= _count(step, command, values, made)
            else:
                failed |= _call(step, command, values)
        made += [Path(values["out"])] if values.get("out") else []
    return failed


def _count(step: Step, command: click.Command, values: Mapping[str, Any], earlier: Sequence[Path]) -> bool:
    """Runs a step of a dry run, or says why not. earlier: the folders of the steps before. Returns: see `_call`."""
    from otherminds.tom.experiments.dry_run import REHEARSAL

    rehearsal = REHEARSAL.get()
    log = Path(values.get("out") or "") / LOG
    if step.command[0] == IMPORT and log in rehearsal.read:
        with contextlib.redirect_stdout(io.StringIO()):
            _call(step, command, {**values, "out": str(rehearsal.log_for(log).parent)})
        click.echo("  it asks no language model", err=True)
        return False
    values = {name: _kept(value, rehearsal.logs) if name != "out" else value for name, value in values.items()}
    if reason := _not_counted(command, values, earlier):
        click.echo(f"  {reason}", err=True)
        return False
    return _call(step, command, values)


@contextlib.contextmanager
def _rehearsed(steps: Sequence[Made]) -> Iterator[None]:
    """Keeps what steps play in a dry run for those that read it, until all are counted."""
    from otherminds.tom.experiments.dry_run import REHEARSAL, Rehearsal

    read = frozenset(path for _, command, values in steps for path in _paths_read(command, values))
    with tempfile.TemporaryDirectory() as folder:
        before = REHEARSAL.set(Rehearsal(Path(folder), read))
        try:
            yield
        finally:
            REHEARSAL.reset(before)


def _kept(value: Any, logs: Mapping[Path, Path]) -> Any:
    """A value, or of paths those where the logs are kept."""
    if isinstance(value, list):
        return [_kept(each, logs) for each in value]
    return str(logs.get(Path(value), value)) if isinstance(value, str) else value


def _paths_read(command: click.Command, values: Mapping[str, Any]) -> list[Path]:
    """The files that a step reads."""
    found = []
    for parameter in command.params:
        if isinstance(parameter.type, click.Path) and parameter.name != "out":
            given = values.get(str(parameter.name)) or ()
            found += map(Path, [given] if isinstance(given, str) else given)
    return found


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


def _check_imported(step: Step, command: click.Command, values: Mapping[str, Any], there: Path) -> None:
    """Imports again, into a folder that is thrown away.

    Raises: ConfigError where the log that is there is another: of another recording, or with other options.
    """
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        _call(step, command, {**values, "out": folder})
        new, old = (journal.canonical(journal.read(log)) for log in (Path(folder) / LOG, there))
    if new != old:
        raise ConfigError(f"{there} holds another recording, or was imported with other options; give another --out")


def _not_counted(command: click.Command, values: Mapping[str, Any], earlier: Sequence[Path]) -> str | None:
    """Why a step is left out of a dry run; None where it is not. earlier: the folders of the steps before."""
    if "dry_run" not in {parameter.name for parameter in command.params}:
        return "it asks no language model, and is left out of a dry run"
    for path in _paths_read(command, values):
        if not path.exists() and any(path.is_relative_to(folder) for folder in earlier):
            return f"it reads {path}, which an earlier step makes; its calls come on top of the others'"
    return None


def _call(step: Step, command: click.Command, values: Mapping[str, Any]) -> bool:
    """Runs a command. Returns whether games finished with failed answers. Raises: what the command raises."""
    name = f"otherminds {' '.join(step.command)}"
    try:
        command.main(args=[], prog_name=name, standalone_mode=False, default_map=dict(values))
    except SystemExit as end:
        if end.code not in (0, 1, None):
            raise
        return end.code == 1
    return False
