"""Figures of a comparison of matches, as PNG files."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from otherminds.tom.experiments.plots import COLOURS, FAINT, INK, MARKERS, new_axes, new_figure, wrapped, write_at
from otherminds.tom.experiments.rps.matches.compare import ENDED, Found, Response

LINE = 0.3  # inches, a row


def responses(rows: Sequence[Response], path: Path) -> None:
    """How often each agent stays after a win, a draw and a loss, with 95% intervals, a row an agent.

    Raises: ValueError without rows.
    """
    if not rows:
        raise ValueError("rows: there is none, so there is nothing to draw")
    agents = list(dict.fromkeys(row.agent for row in rows))
    with new_figure(path, 1.15 + LINE * len(agents)) as figure:
        axes = new_axes(figure, 3.6, 0.5, 6.0, LINE * len(agents), xlim=(-0.02, 1.02), ylim=(len(agents), 0))
        axes.set_yticks(
            [n + 0.5 for n in range(len(agents))], [wrapped(name, 42).partition("\n")[0] for name in agents]
        )
        axes.tick_params(axis="y", length=0)
        axes.axvline(1 / 3, color=FAINT, linewidth=0.8, zorder=1)
        for place, after in enumerate(ENDED):
            colour, marker = COLOURS[place], MARKERS[place]
            write_at(figure, 3.6 + 1.5 * place, 0.25, f"\N{BLACK CIRCLE} after a {after}", color=colour, size=9.5)
            for row in rows:
                if row.after != after or math.isnan(row.shares[0]):
                    continue
                height = agents.index(row.agent) + 0.3 + 0.2 * place
                if row.stay is not None:
                    axes.plot((float(row.stay.low), float(row.stay.high)), [height] * 2, color=colour, linewidth=1.6)
                axes.plot(row.shares[0], height, marker, color=colour, markersize=4)
        axes.set_xlabel("share of rounds in which it stays (line: 1/3)", size=9.5)


def rounds_until_sure(rows: Sequence[Found], path: Path) -> None:
    """The rounds after which each match's true rule has a posterior above .99, a dot a match, a row an agent.

    Raises: ValueError where no agent was looked for with success.
    """
    rows = [row for row in rows if row.rounds]
    if not rows:
        raise ValueError("rows: none has a match in which its rule was found, so there is nothing to draw")
    with new_figure(path, 0.95 + LINE * len(rows)) as figure:
        axes = new_axes(figure, 3.6, 0.2, 6.0, LINE * len(rows), ylim=(len(rows), 0))
        axes.set_yticks(
            [n + 0.5 for n in range(len(rows))], [wrapped(row.agent, 42).partition("\n")[0] for row in rows]
        )
        axes.tick_params(axis="y", length=0)
        for n, row in enumerate(rows):
            axes.plot(row.rounds, [n + 0.5] * len(row.rounds), "o", color=COLOURS[0], alpha=0.3, markersize=4)
            axes.plot(row.median, n + 0.5, "|", color=INK, markersize=14, markeredgewidth=2)
        axes.set_xlim(0, 1.05 * max(max(row.rounds) for row in rows))
        axes.set_xlabel("rounds until the posterior of the right rule passes .99 (bar: median)", size=9.5)


def _name_rows(axes: Any, names: Sequence[str]) -> None:
    """Names beside the rows of an axis that counts them from 0."""
    axes.set_yticks([n + 0.5 for n in range(len(names))], [wrapped(name, 42).partition("\n")[0] for name in names])
    axes.tick_params(axis="y", length=0)
