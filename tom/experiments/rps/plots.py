"""Figures of `otherminds identify rps` and `simulate rps`, as PNG files."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from otherminds.games.rps.catalogue import NAMES
from otherminds.games.rps.stationary import ROUNDING
from otherminds.tom.experiments.plots import COLOURS, FAINT, INK, RULE, WIDTH, new_axes, new_figure, wrapped, write_at

if TYPE_CHECKING:
    from otherminds.tom.experiments.rps.identify import Identifiability
    from otherminds.tom.experiments.rps.tournament import Tournament

LEAST, MOST = 0.01, 3.0  # nats a round, the ends of the colour scale
LINES = ("-", (0, (5, 2)), (0, (1, 1.2)))
SIDE, LEFT, TOP = 0.85, 2.9, 1.25  # inches: a cell at most, room for the rows' names, room for the columns' names


def rate_map(found: "Identifiability", path: Path) -> None:
    """Heat map of the KL rates: rows are true, columns the alternative; the darker, the faster they part."""
    size = len(found.candidates)
    cell = min(0.42, 8.6 / size)
    side = cell * size
    with new_figure(path, side + 1.5) as figure:
        axes = new_axes(figure, 0.7, 0.95, side, side, xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5))
        rates = found.rates
        finite = np.clip(np.where(np.isinf(rates), MOST, rates), LEAST, MOST)
        shade = np.log(finite / LEAST) / np.log(MOST / LEAST)
        axes.imshow(shade, cmap="Blues", vmin=-0.05, vmax=1.15, aspect="auto", interpolation="nearest")
        for (row, column), rate in np.ndenumerate(rates):
            text = "" if row == column else "∞" if np.isinf(rate) else "0" if rate <= ROUNDING else _short(rate)
            colour = "white" if shade[row, column] > 0.62 else INK
            axes.text(column, row, text, ha="center", va="center", size=7.5, color=colour)
        axes.set_xticks(range(size), found.candidates)
        axes.set_yticks(range(size), found.candidates)
        axes.tick_params(length=0)
        axes.set_xlabel("alternative")
        axes.set_ylabel("player 1 follows")
        write_at(figure, 0.1, 0.3, f"Nats a round that tell strategies apart, against {_name(found)}", weight="bold")
        write_at(figure, 0.1, 0.55, "∞: a move rules the alternative out; 0: no long match does", size=9, color=FAINT)


def ceiling_curves(found: "Identifiability", path: Path) -> None:
    """How often the ideal observer knows every candidate, by round; the mean over candidates in black."""
    rounds = np.arange(1, found.shares.shape[1] + 1)
    height = max(3.6, 0.2 * len(found.candidates) + 0.4)
    with new_figure(path, height + 1.3) as figure:
        axes = new_axes(figure, 0.85, 0.6, WIDTH - 3.9, height, ylim=(-0.02, 1.02), axisbelow=True)
        axes.grid(axis="y", color=RULE, linewidth=0.6)
        for place, (code, shares) in enumerate(zip(found.candidates, found.shares, strict=True)):
            style = {"color": COLOURS[place % len(COLOURS)], "linestyle": LINES[place // len(COLOURS) % len(LINES)]}
            axes.plot(rounds, shares, linewidth=1.3, label=f"{code} {NAMES[code]}", **style)
        axes.plot(rounds, found.shares.mean(0), color=INK, linewidth=2.6, label="mean")
        axes.set_xlim(1, max(2, len(rounds)))
        axes.set_yticks(np.linspace(0, 1, 6), [f"{share:.0%}" for share in np.linspace(0, 1, 6)])
        axes.set_xlabel("rounds seen")
        axes.set_ylabel("matches in which player 1 is identified")
        axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.02), borderaxespad=0, fontsize=8.5, labelspacing=0.35)
        write_at(figure, 0.1, 0.3, f"The ideal observer against {_name(found)}, {found.matches} matches", weight="bold")


def _name(found: "Identifiability") -> str:
    return f"{found.opponent}, {NAMES[found.opponent]}"


def _short(rate: float) -> str:
    return f"{rate:.2f}".lstrip("0") if rate >= 0.095 else f"{rate:.3f}".lstrip("0")


def payoff_table(result: "Tournament", path: Path) -> None:
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
