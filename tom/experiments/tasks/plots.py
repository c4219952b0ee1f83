"""The figure of theory-of-mind tasks, as a PNG file."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from otherminds.tom.experiments.plots import COLOURS, FAINT, new_axes, new_figure, wrapped
from otherminds.tom.experiments.tasks.score import Score

BAR = 0.26  # inches, a bar
SHARES = ("Brier", "log score")
"""Measures whose names begin so are no shares, and are not drawn."""


def bars(rows: Sequence[Score], path: Path) -> None:
    """The share of turns for every measure of every task, a bar for each agent and mind, with standard errors.

    Rational minds are grey. Raises: ValueError where no measure is a share of turns that count.
    """
    drawn = [row for row in rows if not row.measure.startswith(SHARES) and row.count]
    if not drawn:
        raise ValueError("no measure has a turn that counts: there is nothing to draw")
    groups = list(dict.fromkeys((row.task, row.measure) for row in drawn))
    agents = list(dict.fromkeys(row.who for row in drawn if not row.rational))
    heights = [BAR * sum((row.task, row.measure) == group for row in drawn) + 0.16 for group in groups]
    with new_figure(path, sum(heights) + 0.9) as figure:
        axes = new_axes(figure, 4.6, 0.2, 5.0, sum(heights), xlim=(0, 1), ylim=(sum(heights), 0))
        top, ticks, labels = 0.0, [], []
        for group, height in zip(groups, heights, strict=True):
            own = [row for row in drawn if (row.task, row.measure) == group]
            for number, row in enumerate(own):
                middle = top + 0.08 + BAR * (number + 0.5)
                colour = FAINT if row.rational else COLOURS[agents.index(row.who) % len(COLOURS)]
                error = None if np.isnan(row.error) else row.error
                axes.barh(middle, row.mean, BAR * 0.8, xerr=error, color=colour, alpha=0.5 if row.rational else 0.9)
                ticks.append(middle)
                labels.append(wrapped(f"{row.measure}: {row.who}", 72).partition("\n")[0])
            top += height
            axes.axhline(top, color=FAINT, linewidth=0.4)
        axes.set_yticks(ticks, labels)
        axes.tick_params(axis="y", length=0, labelsize=7.5)
        axes.set_xlabel("mean share of turns a game, with standard errors", size=9.5)
