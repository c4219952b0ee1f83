"""What the commands of all games share: what is told of a finished run, and whose logs `compare` is given."""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from otherminds.tom.experiments.journal import is_complete
from otherminds.tom.experiments.logs import game_of
from otherminds.tom.experiments.running import Finished

LOG = "log.jsonl"


def print_finished(finished: Finished, resumed: str, *, nothing_new: bool = False, err: bool = False) -> None:
    """What was taken from an earlier start, and what language models read and wrote over all starts.

    resumed: what is said of the decisions that the log had.   err: print to stderr.
    """
    if finished.resumed_decisions:
        new = "; this run was complete, and nothing was played" if nothing_new else ""
        click.echo(f"  {finished.resumed_decisions} {resumed}{new}", err=err)
    for model, usage in finished.spent.items():
        told = f"{usage.prompt_tokens:,} tokens read, {usage.completion_tokens:,} written"
        click.echo(f"  {model}\n    {told}", err=err)  # two lines: names may be long
    if finished.cost is not None and finished.spent:
        click.echo(f"  cost: ${finished.cost:,.4f} by --price", err=err)


OF_ONE_GAME = {
    "variant": ("colored-trails", "--variant {value}: only minds of Colored Trails come in variants; leave it out"),
    "profile": (
        "decrypto",
        "--profile: it tells depth, rationality and noise of players of Decrypto; these are of {game}",
    ),
    "lexica": ("decrypto", "--lexicon {value[0]}: it is set beside players of Decrypto; these are of {game}"),
}
"""Options of `compare` that one game takes, by name: the game, and what is said to logs of another."""


def compare_logs(logs: Sequence[Path], **options: Any) -> None:
    """`otherminds compare`: as the game that the logs are of is compared.

    Raises: a ValueError for what the user can mend.
    """
    games = {game_of(log, COMPARISONS): log for log in logs}
    if len(games) > 1:
        told = " and ".join(f"{log} of {game!r}" for game, log in games.items())
        raise ValueError(f"{told}: logs of one game are compared at a time (rps: moves; rps-observer: who watched)")
    game = next(iter(games))
    for name, (owner, refused) in OF_ONE_GAME.items():
        if game != owner and (value := options.pop(name, None)):
            raise ValueError(refused.format(value=value, game=game))
    COMPARISONS[game](logs, **options)
    for log in logs:
        if not is_complete(log):
            told = f"Note: {log} is of a run that is not finished; what is whole in it is compared."
            click.secho(told, fg="yellow", err=True)


def _compared_in(room: str) -> Callable[..., None]:
    """The `compare_logs` of a room's console, imported when it is called."""

    def compare(logs: Sequence[Path], **options: Any) -> None:
        import_module(f"otherminds.tom.experiments.{room}.console").compare_logs(logs, **options)

    return compare


COMPARISONS: dict[str, Callable[..., None]] = {
    "decrypto": _compared_in("decrypto"),
    "reference": _compared_in("reference"),
    "rps": _compared_in("rps.matches"),
    "rps-observer": _compared_in("rps.observers"),
    "colored-trails": _compared_in("colored_trails"),
    "decrypto-tasks": _compared_in("tasks"),
    "decrypto-lexicon": _compared_in("decrypto.lexicon"),
}
"""By the name of the game in a log's first line."""
