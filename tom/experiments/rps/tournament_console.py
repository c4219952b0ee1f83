"""What `otherminds simulate rps` prints."""

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.text import Text

from otherminds.tom.experiments.checks import check_folder
from otherminds.tom.experiments.defaults import split_agents
from otherminds.tom.experiments.progress import progress_bar
from otherminds.tom.experiments.rps.tournament import Tournament, tournament
from otherminds.tom.experiments.tables import no_nan, number, show, table_of

PICTURE = "payoffs.png"


def simulate_rps(
    *, players: str, matches: int, rounds: int, seed: int, chunk: int | None, out: str | None, as_json: bool
) -> None:
    """`otherminds simulate rps`.

    Raises: a ValueError for what the user can mend, before anything is played.
    """
    names = split_agents(players)
    folder = Path(out) if out else None
    check_folder(folder)
    total = matches * len(names) * (len(names) + 1) // 2
    with progress_bar("matches", max(total, 1)) as advance:
        result = tournament(names, matches, rounds, seed=seed, chunk=chunk, progress=advance)
    if as_json:
        content = {
            "players": result.players,
            "payoff": result.payoff.tolist(),
            "half_width": result.half_width.tolist(),
            "pairings": [asdict(each) | {"rounds_a_second": each.rounds_a_second} for each in result.pairings],
        }
        print(json.dumps(no_nan(content), indent=1))
    else:
        print_tournament(result)
    if folder is not None:
        from otherminds.tom.experiments.rps.plots import payoff_table

        payoff_table(result, folder / PICTURE)
        click.echo(f"wrote {folder / PICTURE}", err=as_json)


def print_tournament(result: Tournament) -> None:
    """The payoff table, and how long it took."""
    table = table_of("row against column", *result.players)
    for name, means, halves in zip(result.players, result.payoff, result.half_width, strict=True):
        cells = (f"{mean:+.3f}\n± {number(half)}" for mean, half in zip(means, halves, strict=True))
        table.add_row(Text(name), *cells, end_section=True)
    first = result.pairings[0]
    show(
        "Mean payoff a round (win 1, draw 0, loss -1)",
        table,
        f"{first.matches:,} matches of {first.rounds:,} rounds a pair. ± half of the 95% interval over matches.",
    )
    seconds = sum(each.seconds for each in result.pairings)
    rounds = sum(each.matches * each.rounds for each in result.pairings)
    click.echo(f"{rounds:,} rounds in {seconds:.1f} s, {rounds / seconds:,.0f} a second, compilation included.")
