"""The payoff table of a tournament as a picture."""

from pathlib import Path

from otherminds.tom.experiments.plots import FAINT, INK, WIDTH, new_axes, new_figure, wrapped, write_at
from otherminds.tom.experiments.rps.tournament import Tournament

SIDE, LEFT, TOP = 0.85, 2.9, 1.25  # inches: a cell at most, room for the rows' names, room for the columns' names


def heat_map(result: Tournament, path: Path) -> None:
    """Mean payoff a round of every row against every column, with its 95% half-width."""
    players = len(result.players)
    side = min(SIDE, (WIDTH - LEFT - 0.3) / players)
    extent, size = side * players, min(9.0, 13 * side)
    with new_figure(path, TOP + extent + 0.45) as figure:
        write_at(figure, 0.1, 0.25, "Mean payoff a round, row against column", weight="bold", size=12)
        axes = new_axes(figure, LEFT, TOP, extent, extent)
        axes.imshow(result.payoff, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
        names = [wrapped(name, 26) for name in result.players]
        axes.set_yticks(range(players), names, size=size)
        axes.set_xticks(range(players), names, size=size, rotation=30, ha="left", rotation_mode="anchor")
        axes.tick_params(top=True, bottom=False, labeltop=True, labelbottom=False, length=0)
        axes.spines[:].set_visible(False)
        for i in range(players):
            for j in range(players):
                mean, half = result.payoff[i, j], result.half_width[i, j]
                colour = "white" if abs(mean) > 0.6 else INK
                axes.text(j, i - 0.1, f"{mean:+.3f}", ha="center", va="center", size=size, color=colour)
                axes.text(j, i + 0.22, f"± {half:.3f}", ha="center", va="center", size=0.8 * size, color=colour)
        first = result.pairings[0]
        note = f"{first.matches:,} matches of {first.rounds:,} rounds a pair; ± half of the 95% interval."
        write_at(figure, 0.1, TOP + extent + 0.3, note, size=9, color=FAINT)
