"""Figures of a comparison of reference games, as PNG files."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from otherminds.tom.experiments.plots import (
    COLOURS,
    FAINT,
    INK,
    MARKERS,
    WIDTH,
    new_axes,
    new_figure,
    plain_log,
    wrapped,
    write_at,
)
from otherminds.tom.experiments.reference.compare import Fit, Point

COLUMNS = 4
SIDE, GAP = 1.85, 0.6  # inches, of a panel and between panels
LINE = 0.24  # inches, a row of intervals


def scatter(points: Sequence[Point], path: Path, by: str) -> None:
    """Predicted against observed proportions, a dot for every kind of answer to every item, a panel for each pair.

    Open marks are the means over items. points: of `compare.compare`, one mind for each agent in a condition, or
    several.   by: "mind" or "agent", what panels are named after. Raises: ValueError without points.
    """
    if not points:
        raise ValueError("points: there is none, so there is nothing to draw")
    several = by == "mind" and len({point.agent for point in points}) > 1
    panels: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        name = f"{point.agent} by {point.mind}" if several else getattr(point, by)
        panels.setdefault((point.condition, name), []).append(point)
    kinds = list(dict.fromkeys(point.kind for point in points))
    conditions = list(dict.fromkeys(condition for condition, _ in panels))
    rows = {c: math.ceil(sum(condition == c for condition, _ in panels) / COLUMNS) for c in conditions}
    height = 0.8 + sum(0.55 + count * (SIDE + GAP) for count in rows.values())
    with new_figure(path, height) as figure:
        top = 0.1
        for condition in conditions:
            write_at(figure, 0.1, top + 0.2, condition.capitalize(), weight="bold", size=12)
            write_at(figure, 1.6, top + 0.2, _who([p for p in points if p.condition == condition], by), size=9.5)
            names = [name for own, name in panels if own == condition]
            for number, name in enumerate(names):
                row, column = divmod(number, COLUMNS)
                left, upper = 0.65 + column * (SIDE + 0.5), top + 0.6 + row * (SIDE + GAP)
                axes = new_axes(figure, left, upper, SIDE, SIDE, xlim=(-0.04, 1.04), ylim=(-0.04, 1.04))
                _panel(axes, panels[condition, name], kinds)
                axes.set_title(wrapped(name, 25), size=9, weight="normal", pad=3)
                if column == 0:
                    axes.set_ylabel("observed", size=9)
                if number >= len(names) - COLUMNS:
                    axes.set_xlabel("predicted", size=9)
            top += 0.55 + rows[condition] * (SIDE + GAP)
        for number, kind in enumerate(kinds):
            write_at(
                figure,
                0.65 + number * min(1.4, (WIDTH - 1) / len(kinds)),
                height - 0.4,
                f"\N{BLACK CIRCLE} {kind}",
                color=COLOURS[number % len(COLOURS)],
                size=9.5,
            )
        note = "Each dot: the answers of one kind to one item. Large open marks: means over items."
        write_at(figure, 0.65, height - 0.15, note, size=9, color=FAINT)


def _who(points: Sequence[Point], by: str) -> str:
    """Whose answers are predicted, and by whom."""
    agents, minds = (dict.fromkeys(getattr(point, field) for point in points) for field in ("agent", "mind"))
    if by == "mind":
        return wrapped(f"{', '.join(agents)}, predicted by each mind or model at its fit", 100).partition("\n")[0]
    return wrapped(f"predicted by {', '.join(minds)} at its fit", 100).partition("\n")[0]


def _panel(axes, points: Sequence[Point], kinds: Sequence[str]) -> None:
    axes.plot((0, 1), (0, 1), color=FAINT, linewidth=0.8, zorder=1)
    axes.set_xticks((0, 0.5, 1), ("0", "½", "1"))
    axes.set_yticks((0, 0.5, 1), ("0", "½", "1"))
    axes.tick_params(labelsize=8)
    for number, kind in enumerate(kinds):
        own = [point for point in points if point.kind == kind]
        if not own:
            continue
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        x, y = np.array([(point.predicted, point.observed) for point in own]).T
        weight = np.array([point.decisions for point in own])
        axes.scatter(x, y, s=9, color=colour, alpha=0.35, linewidths=0, zorder=2)
        mean = np.average(x, weights=weight), np.average(y, weights=weight)
        axes.scatter(*mean, s=55, marker=marker, facecolor="white", edgecolor=colour, linewidths=1.8, zorder=3)


def intervals(fits: Sequence[Fit], path: Path) -> None:
    """Alpha and error rate of every fit with their 95% intervals, a row each, conditions one below the other.

    Fits to whose mind alpha makes no difference are left out. Raises: ValueError if none is left.
    """
    fits = [fit for fit in fits if fit.posterior.alpha_matters]
    if not fits:
        raise ValueError("fits: alpha matters to none of them, so there is nothing to draw")
    conditions = list(dict.fromkeys(fit.condition for fit in fits))
    height = 0.3 + sum(1.0 + LINE * sum(fit.condition == condition for fit in fits) for condition in conditions)
    lows, highs = ([getattr(fit.posterior.alpha, end) for fit in fits] for end in ("low", "high"))
    with new_figure(path, height) as figure:
        top = 0.1
        for condition in conditions:
            own = [fit for fit in fits if fit.condition == condition]
            write_at(figure, 0.1, top + 0.2, condition.capitalize(), weight="bold", size=12)
            note = "agent, and the mind fitted to it: posterior mean and 95% interval"
            write_at(figure, 1.6, top + 0.2, note, size=9.5)
            place = {"ylim": (len(own), 0), "yticks": []}
            alphas = new_axes(figure, 4.3, top + 0.35, 2.5, LINE * len(own), **place, xscale="log")
            alphas.set(xlim=(max(min(lows), 1e-3) * 0.8, max(highs) * 1.25), xlabel="alpha")
            plain_log(alphas.xaxis)
            errors = new_axes(figure, 7.1, top + 0.35, 2.5, LINE * len(own), **place, xlim=(-0.02, 1.02))
            errors.set_xlabel("error rate")
            for row, fit in enumerate(own):
                for axes, estimate in ((alphas, fit.posterior.alpha), (errors, fit.posterior.lapse)):
                    axes.plot((estimate.low, estimate.high), [row + 0.5] * 2, color=COLOURS[0], linewidth=2)
                    axes.plot(estimate.mean, row + 0.5, "o", color=INK, markersize=4)
                name = wrapped(f"{fit.agent}, {fit.mind}", 60).partition("\n")[0]
                beside = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "ha": "right"}
                alphas.annotate(name, (0, row + 0.5), (-6, 0), va="center", size=8.5, **beside)
            top += 1.0 + LINE * len(own)
