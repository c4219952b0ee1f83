"""`otherminds boards`, `identify`: games and opponents that tell minds apart."""

from typing import Any

import click

from otherminds.tom.cli.calls import main, one_line_errors
from otherminds.tom.cli.options import layout, seed


@main.group(short_help="Make boards that tell minds apart.")
def boards() -> None:
    """Boards of a game that are made for a purpose, in files that say how."""


@boards.command("colored-trails")
@click.option(
    "--advantage-threshold", default=20.0, show_default=True, help="Points that the higher order must gain more."
)
@click.option("--high", default=2, show_default=True, help="Order of theory of mind that has the advantage ...")
@click.option("--low", default=1, show_default=True, help="... over this one, against an opponent of this one.")
@click.option("--count", type=click.IntRange(1), default=50, show_default=True, help="Boards to find.")
@layout
@click.option(
    "--variant",
    type=click.Choice(["described", "llm-tom", "deweerd"]),
    default="described",
    show_default=True,
    help="The reading of the published minds.",
)
@click.option("--learning-speed", default=0.8, show_default=True, help="Of the minds, 0 to 1.")
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="Moves of a game at most.")
@click.option("--most", default=100_000, show_default=True, help="Boards to try before the search is given up.")
@seed("The same seed finds the same.")
@click.option("--out", type=click.Path(), help="The file.  [default: boards-HIGH-LOW-THRESHOLD.json]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def boards_colored_trails(**options: Any) -> None:
    """Diagnostic boards for Colored Trails, on which a higher order of theory of mind pays.

    Random boards are tried until enough are found. The file says how they were chosen, and loading it checks that.
    What is found is in the file at once; the same command goes on where it was stopped.
    """
    with one_line_errors("stopped; the same command goes on where it stopped"):
        from otherminds.tom.experiments.colored_trails import simulate_console

        simulate_console.diagnostic_colored_trails(**options)


@main.group(short_help="What play can tell apart.")
def identify() -> None:
    """What can be told of players from what they do: tools of one game."""


@identify.command("rps")
@click.option("--opponent", default="D", show_default=True, help="Strategy of player 2.")
@click.option("--candidates", metavar="A,B,...", help="Strategies that player 1 may follow.  [default: all 19]")
@click.option("--rounds", default=200, show_default=True, help="Of a match.")
@click.option("--matches", default=300, show_default=True, help="Simulated for every candidate.")
@seed("The same seed plays the same matches.")
@click.option("--legacy-iid", is_flag=True, help="Ceilings from data as the paper made them: no one reacts.")
@click.option("--window", type=int, help="Rounds that the observer remembers.  [default: all; with --regimes also 50]")
@click.option("--tremble", default=0.0, show_default=True, help="Probability of a random move, of everybody.")
@click.option(
    "--regimes", "show_regimes", is_flag=True, help="The paper's three pairs instead, beside what it reports."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables; null stands for infinity.")
@click.option("--out", type=click.Path(), help="Folder for figures (PNG) and tables (CSV).")
def identify_rps(**options: Any) -> None:
    """Rock, paper, scissors: which strategies play can tell apart, how fast, and against whom.

    For every candidate the nearest rival, the nats a round that tell them apart, the rounds until the odds are 19 to 1,
    and how often an ideal observer names it after n rounds: no other observer can do better.
    """
    with one_line_errors():
        from otherminds.tom.experiments.rps import identify as console

        console.identify(**options)
