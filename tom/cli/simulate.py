"""`otherminds simulate`: minds alone play thousands of games at once."""

from typing import Any

import click

from otherminds.tom.cli.calls import main, one_line_errors
from otherminds.tom.cli.options import ROLES, layout, seed, words


@main.group(short_help="Play minds alone, vectorized.")
def simulate() -> None:
    """Play minds alone, thousands of games at once."""


@simulate.command("decrypto")
@click.option("--encoder", default="baseline,rational", show_default=True, help="Minds, comma-separated.")
@click.option("--decoder", default="literal", show_default=True, help="Minds, comma-separated.")
@click.option("--interceptor", default="baseline,bayesian", show_default=True, help="Minds, comma-separated.")
@click.option("--games", default=1000, show_default=True, help="Games for every combination of the lists.")
@click.option(
    "--teams",
    type=click.IntRange(1, 2),
    default=1,
    show_default=True,
    help="2: every combination is a team that encodes, decodes and intercepts, and every two teams meet.",
)
@seed("The same seed deals the same games.")
@click.option("--chunk", type=int, help="Games computed at once.  [default: by device]")
@words
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def simulate_decrypto(**options: Any) -> None:
    """Decrypto between minds alone: survival, turns and tokens, with standard errors."""
    with one_line_errors():
        from otherminds.tom.experiments.decrypto import run_console

        run_console.simulate_decrypto({role: options.pop(role) for role in ROLES}, **options)


@simulate.command("rps")
@click.option(
    "--players",
    default="order:0,order:1,order:2,order:3",
    show_default=True,
    help="Players, comma-separated: order:K, strategies of the catalogue (A to Z), best-response, switching ...",
)
@click.option("--matches", default=10_000, show_default=True, help="Matches for every pair.")
@click.option("--rounds", default=20, show_default=True, help="Rounds a match.")
@seed("The same seed plays the same matches, whatever the chunk.")
@click.option("--chunk", type=int, help="Matches computed at once.  [default: by device]")
@click.option("--out", type=click.Path(), help="Folder for a picture of the table, payoffs.png.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def simulate_rps(**options: Any) -> None:
    """Rock, paper, scissors between minds alone: the payoff of every player against every other.

    The default is a tournament of orders of theory of mind: order k models its opponent as order k-1.
    """
    with one_line_errors():
        from otherminds.tom.experiments.rps import tournament_console

        tournament_console.simulate_rps(**options)


@simulate.command("colored-trails")
@click.option(
    "--orders",
    default="0,1,2",
    show_default=True,
    help="Orders of theory of mind, or negotiators (bayesian1, horizon1 ...), comma-separated; each meets each.",
)
@click.option(
    "--boards", default="1000", show_default=True, metavar="N|FILE", help="Boards to draw, or a file of them."
)
@layout
@click.option(
    "--seatings",
    type=click.Choice(["both", "original", "mirrored"]),
    default="both",
    show_default=True,
    help="Each board as it is, with chips and goals swapped between the players, or both.",
)
@click.option(
    "--variant",
    type=click.Choice(["described", "llm-tom", "deweerd"]),
    default="described",
    show_default=True,
    help="The reading of the published minds, for plain orders.",
)
@click.option("--series", default=0, show_default=True, help="Games that minds remember; 0: fresh minds every game.")
@click.option("--repetitions", default=100, show_default=True, help="Series a pair, with --series.")
@click.option("--cost", default=0.1, show_default=True, help="Points that every move costs both players.")
@click.option("--limit", default=40, show_default=True, help="Moves after which there is no trade.")
@click.option(
    "--goal-rule",
    type=click.Choice(["llm-tom", "deweerd", "any"]),
    default="llm-tom",
    show_default=True,
    help="How goals of drawn boards are drawn.",
)
@seed("The same seed plays the same games, whatever the processes.")
@click.option("--processes", type=int, help="That share the work.  [default: one a core]")
@click.option("--out", type=click.Path(), help="Folder for the table (CSV) and a picture of it (PNG).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def simulate_colored_trails(**options: Any) -> None:
    """Colored Trails between minds alone: what each order gains against each, how often they agree.

    Order 0 learns what is accepted, order 1 reasons about the other's goal, order 2 about what the other thinks of its
    own.
    """
    with one_line_errors():
        from otherminds.tom.experiments.colored_trails import simulate_console

        simulate_console.simulate_colored_trails(**options)
