"""Figures of games of Decrypto and of its players. Each function draws one figure."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from otherminds.games.decrypto.rules import CODES, SLOTS
from otherminds.tom.experiments.compare import Outcome
from otherminds.tom.experiments.cube import Cell, Grid
from otherminds.tom.experiments.decrypto.k_sweep import Point
from otherminds.tom.experiments.decrypto.profile import Privilege, Profile
from otherminds.tom.experiments.plots import (
    COLOURS,
    FAINT,
    INK,
    MARKERS,
    RULE,
    SLOT_COLOURS,
    WIDTH,
    height_of,
    middles_of,
    new_axes,
    new_figure,
    plain_log,
    shade,
    wrapped,
    write_at,
)
from otherminds.tom.experiments.trajectory import Trajectory

GOOD, BAD = "#0072b2", "#b3400a"
DOTTED = (0, (2, 1.5))


def outcome_bars(outcomes: Sequence[Outcome], path: Path) -> None:
    """Turns survived, miscommunications and interceptions of every table: means over games.

    Whiskers: standard error over seeds, where there is more than one seed.
    Raises: ValueError without outcomes.
    """
    if not outcomes:
        raise ValueError("outcomes: no finished game, so there is nothing to draw")
    labels = [[wrapped(agent, 17) for agent in outcome.agents] for outcome in outcomes]
    rows = [max(0.42, max(map(height_of, cells)) + 0.16) for cells in labels]
    middles, top = middles_of(rows), 0.42
    tokens = max(2.0, *(_reach(o, name) for o in outcomes for name in ("miscommunications", "interceptions")))
    measures = (  # title, unit, field, colour, how far the axis reaches
        ("Turns survived", "turns per game", "turns", COLOURS[6], max(1.0, *(_reach(o, "turns") for o in outcomes))),
        ("Miscommunications", "tokens per game", "miscommunications", COLOURS[1], tokens),
        ("Interceptions", "tokens per game", "interceptions", COLOURS[0], tokens),
    )
    with new_figure(path, top + sum(rows) + 0.85) as figure:
        table = new_axes(figure, 0, top, WIDTH, sum(rows), zorder=-1, xlim=(0, WIDTH), ylim=(sum(rows), 0))
        table.axis("off")
        for edge in (0.0, *np.cumsum(rows)[:-1]):
            table.axhline(edge, color=RULE, linewidth=0.8)
        columns = (0.1, 1.55, 3.0, 4.42)
        heads = ("Encoder", "Decoder", "Interceptor", "Games")
        for x, head in zip(columns, heads, strict=True):
            write_at(figure, x, top - 0.13, head, weight="bold", size=9.5)
        for outcome, cells, middle in zip(outcomes, labels, middles, strict=True):
            for x, cell in zip(columns, (*cells, f"{outcome.games:,}"), strict=True):
                table.text(x, middle, cell, va="center_baseline", size=9.5, linespacing=1.2)
        for place, (title, unit, name, colour, reach) in enumerate(measures):
            left = 5.2 + 1.6 * place
            write_at(figure, left, top - 0.13, title, weight="bold", size=9.5)
            axes = new_axes(figure, left, top, 1.4, sum(rows), xlim=(0, 1.33 * reach), ylim=(sum(rows), 0), yticks=[])
            axes.patch.set_visible(False)
            step = math.ceil(reach / 5)
            axes.set_xticks(range(0, math.floor(reach) + 1, step))
            axes.tick_params(labelsize=9)
            axes.set_xlabel(unit, size=9.5)
            for outcome, middle in zip(outcomes, middles, strict=True):
                value, error = getattr(outcome, name), getattr(outcome, f"{name}_error")
                axes.barh(middle, value, height=0.2, color=colour)
                if math.isfinite(error):  # a count is not below 0
                    whisker = [[min(error, value)], [error]]
                    axes.errorbar(value, middle, xerr=whisker, color=INK, capsize=3, linewidth=1.1)
                number = f"{value:.2f}".rstrip("0").rstrip(".")
                axes.text(_reach(outcome, name) + 0.05 * reach, middle, number, va="center_baseline", size=8.5)
        error_shown = any(math.isfinite(outcome.turns_error) for outcome in outcomes)
        note = "Bars: means over games." + " Whiskers: standard error over seeds." * error_shown
        write_at(figure, 0.1, top + sum(rows) + 0.7, note, size=9, color=FAINT)


def _reach(outcome: Outcome, name: str) -> float:
    """How far the bar and its whisker go."""
    error = getattr(outcome, f"{name}_error")
    return getattr(outcome, name) + (error if math.isfinite(error) else 0.0)


MEASURE_TITLES = {
    "turns": "Turns survived a game",
    "miscommunications": "Miscommunications a game",
    "interceptions": "Interceptions a game",
}


NARROW, NARROWEST = 0.8, 0.36  # inches of a cell below which heads are turned, and numbers left out


def cube_heat_maps(grids: Sequence[Grid], path: Path) -> None:
    """Turns, miscommunications and interceptions of every table of `cube.grids`: mean ± standard error over seeds.

    Blue is better for the team, brown worse, on one scale for all grids. Bold: the interval overlaps that of the best
    table against the same interceptor. A table that was not played is hatched.
    Raises: ValueError without grids.
    """
    if not grids:
        raise ValueError("grids: there is none, so there is nothing to draw")
    left, gap, most = 2.2, 0.25, max(len(grid.columns) for grid in grids)
    beside = most <= 3  # the three measures side by side, else one below the other
    panel = (WIDTH - left - 0.15 - 2 * gap) / 3 if beside else WIDTH - left - 0.15
    cell = min(1.3, panel / most)
    characters = max(6, int(cell / 0.088))
    heads = [[wrapped(c, characters if cell >= NARROW else 26) for c in grid.columns] for grid in grids]
    labels = [[wrapped(r, 24) for r in grid.rows] for grid in grids]
    tall = [max(map(height_of, texts)) if cell >= NARROW else 0.085 * max(map(_longest, texts)) for texts in heads]
    heights = [[max(0.5, height_of(label) + 0.14) for label in of_grid] for of_grid in labels]
    blocks = [head + sum(rows) + 0.4 for head, rows in zip(tall, heights, strict=True)]
    titles = [wrapped(grid.title, 84) for grid in grids]
    total = sum(0.2 + height_of(t) + b * (1 if beside else 3) for t, b in zip(titles, blocks, strict=True)) + 0.45
    with new_figure(path, total) as figure:
        top = 0.1
        drawn = zip(grids, titles, tall, heights, heads, labels, blocks, strict=True)
        for grid, heading, head, rows, texts, names, block in drawn:
            write_at(figure, 0.1, top, heading, weight="bold", size=12, va="top")
            top += 0.2 + height_of(heading)
            for place, (measure, title) in enumerate(MEASURE_TITLES.items()):
                x = left + place * (panel + gap) * beside
                y = top + head + 0.25 + block * place * (not beside)
                write_at(figure, x, y - head - 0.12, title, weight="bold", size=9.5)
                axes = new_axes(figure, x, y, cell * len(grid.columns), sum(rows))
                axes.set(xlim=(0, len(grid.columns)), ylim=(sum(rows), 0))
                axes.spines[:].set_visible(False)
                axes.tick_params(length=0, labelsize=9)
                turned = {} if cell >= NARROW else {"rotation": 90}
                axes.set_xticks(np.arange(len(grid.columns)) + 0.5, texts, **turned)
                axes.xaxis.tick_top()
                first = place == 0 or not beside
                axes.set_yticks(middles_of(rows), names if first else [""] * len(rows))
                for i, (middle, height) in enumerate(zip(middles_of(rows), rows, strict=True)):
                    for j, found in enumerate(grid.cells[i]):
                        _cube_cell(axes, found, measure, j, middle, height, cell)
            top += block * (1 if beside else 3)
        one_seed = any(math.isnan(c.error("turns")) for grid in grids for row in grid.cells for c in row if c)
        note = "Blue is better for the team. Mean over seeds" + (
            "; one seed somewhere, hence no error and no comparison."
            if one_seed
            else " ± standard error; bold: within the errors of the best against the same interceptor."
        )
        write_at(figure, 0.1, top + 0.28, note, size=9, color=FAINT)


def _cube_cell(
    axes: Any, found: Cell | None, measure: str, left: int, middle: float, height: float, wide: float
) -> None:
    from matplotlib.patches import Rectangle

    place = {"xy": (left + 0.02, middle - height / 2 + 0.015), "width": 0.96, "height": height - 0.03}
    if found is None:
        axes.add_patch(Rectangle(**place, facecolor=(0.96, 0.97, 0.98), edgecolor=RULE, linewidth=0, hatch="////"))
        return
    mean, error = found.mean(measure), found.error(measure)
    colour = shade((mean - 5) / 3 if measure == "turns" else 1 - mean)
    axes.add_patch(Rectangle(**place, facecolor=colour, linewidth=0))
    if wide < NARROWEST:
        return
    number = f"{mean:.2f}" + ("" if math.isnan(error) else f"\n± {error:.2f}")
    ink = "white" if np.dot(colour, (0.299, 0.587, 0.114)) < 0.5 else INK
    text = axes.text(left + 0.5, middle, number, ha="center", va="center", color=ink, linespacing=1.1)
    text.set(size=min(9.5, 13 * wide), weight="bold" if measure in found.best else "normal")


def _longest(text: str) -> int:
    return max(map(len, text.split("\n")))


FLOOR = 1e-4  # smaller beliefs are drawn here, with an open mark


def belief_trajectory(trajectory: Trajectory, path: Path) -> None:
    """An interceptor's belief in the true keyword of each slot over the turns, and in the true code at every turn.

    Under it the hints that each slot's belief was drawn from. Interceptions and the decoder's errors are marked.
    Raises: ValueError for a mind without a belief about keywords.
    """
    if trajectory.log_true_keywords is None:
        raise ValueError(f"{trajectory.mind!r} has no belief about keywords; follow a bayesian interceptor")
    turns = len(trajectory.codes)
    with new_figure(path, 7.55) as figure:
        for draw, top, height in ((_draw_beliefs, 0.4, 2.6), (_draw_code, 3.55, 1.45), (_draw_hints, 5.45, 1.5)):
            axes = new_axes(figure, 0.85, top, WIDTH - 2.6, height, xlim=(0.5, turns + 0.5), xticks=range(1, turns + 1))
            axes.tick_params(axis="x", length=0)
            for turn in range(2, turns + 1, 2):
                axes.axvspan(turn - 0.5, turn + 0.5, color="#f3f5f8", zorder=0, linewidth=0)
            draw(axes, trajectory)


def _draw_beliefs(axes: Any, trajectory: Trajectory) -> None:
    believed, count = np.exp(trajectory.log_true_keywords), len(trajectory.keyword_list)
    low = max(min(believed.min(), 1 / count) / 2, FLOOR)
    moments = np.arange(len(believed)) + 0.5
    axes.axhline(1 / count, color=FAINT, linewidth=0.9, linestyle=(0, (4, 3)))
    for slot in range(SLOTS):
        shown, below = np.maximum(believed[:, slot], low), believed[:, slot] < low
        style = {"color": SLOT_COLOURS[slot], "marker": MARKERS[slot], "clip_on": False}
        axes.plot(moments, shown, linewidth=2, markersize=5.5, zorder=3, **style)
        axes.plot(moments[below], shown[below], linestyle="none", markerfacecolor="white", zorder=4, **style)
    axes.set(yscale="log", ylim=(low, 1.0), xticklabels=[], ylabel="P(true keyword)")
    plain_log(axes.yaxis)
    axes.set_title("Belief in each slot's true keyword, before the game and after every turn", pad=9)
    faint = {"textcoords": "offset points", "size": 8.5, "color": FAINT}
    axes.annotate(f"1/{count} (chance)", (0.5, 1 / count), (4, -4), va="top", **faint)
    if (believed < low).any():
        axes.annotate(f"open mark: below {low:g}", (0, 0), (8, 6), xycoords="axes fraction", **faint)
    places = 1 - np.log10(np.maximum(believed[-1], low)) / math.log10(low)  # 0 to 1 up the axis
    for slot, place in enumerate(_spread(places, 0.085)):
        text = f"{slot + 1}  {wrapped(trajectory.true_keywords[slot], 18)}"
        label = axes.text(1.015, place, text, transform=axes.transAxes, va="center", weight="bold", size=9.5)
        label.set_color(SLOT_COLOURS[slot])


def _spread(places: Float[np.ndarray, " N"], apart: float) -> Float[np.ndarray, " N"]:
    """The places, in 0 to 1, moved as little as needed to stand `apart` from each other."""
    order = np.argsort(places, kind="stable")
    moved = places[order].astype(float)
    for _ in range(100):
        for i in range(len(moved) - 1):
            overlap = max(apart - (moved[i + 1] - moved[i]), 0.0)
            moved[i : i + 2] += (-overlap / 2, overlap / 2)
    steps = apart * np.arange(len(moved))
    moved = np.maximum.accumulate(np.maximum(moved, 0) - steps) + steps
    moved = 1 - (np.maximum.accumulate((1 - np.minimum(moved, 1))[::-1] - steps) + steps)[::-1]
    spread = np.empty_like(moved)
    spread[order] = moved
    return spread


def _draw_code(axes: Any, trajectory: Trajectory) -> None:
    given = np.exp(trajectory.log_true_code)
    dotted = {"color": INK, "linewidth": 1.3, "linestyle": DOTTED}
    star, cross = {"marker": "*", "markersize": 14, "color": GOOD}, {"marker": "X", "markersize": 9, "color": BAD}
    happened = zip(given, trajectory.intercepted, trajectory.missed, strict=True)
    for turn, (value, caught, missed) in enumerate(happened, 1):
        chance = 1 / (len(CODES) - turn + 1)
        axes.bar(turn, value, width=0.52, color="#8a95a5", zorder=2)
        axes.plot([turn - 0.38, turn + 0.38], [chance] * 2, zorder=3, **dotted)
        axes.text(turn, max(value, chance) + 0.04, f"{value:.2f}", ha="center", size=8.5, color=FAINT)
        if caught:
            axes.plot(turn - 0.1 * missed, 1.19, clip_on=False, **star)
        if missed:
            axes.plot(turn + 0.1 * caught, 1.19, clip_on=False, **cross)
    axes.set(ylim=(0, 1.3), yticks=[0, 0.5, 1], xticklabels=[], ylabel="P(true code)")
    axes.set_title("Probability that it gave to the true code, before the guess", pad=9)
    key = {"transform": axes.transAxes, "clip_on": False}
    axes.plot(1.035, 0.90, **star, **key)
    axes.plot(1.035, 0.70, **cross, **key)
    axes.plot([1.015, 1.055], [0.45] * 2, **dotted, **key)
    for height, text in ((0.90, "interception"), (0.70, "decoder wrong"), (0.45, "chance among\nunused codes")):
        axes.text(1.065, height, text, va="center", size=9, linespacing=1.1, **key)


def _draw_hints(axes: Any, trajectory: Trajectory) -> None:
    turns = len(trajectory.codes)
    axes.set(ylim=(SLOTS + 0.5, 0.5), yticks=range(1, SLOTS + 1), ylabel="slot", xlabel="turn")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set_title("Hints, by the slot they were about", pad=6)
    for colour, label in zip(SLOT_COLOURS, axes.get_yticklabels(), strict=True):
        label.set(color=colour, weight="bold")
    size = 9 if turns <= 8 else max(4.5, 72 / turns)
    middle = {"ha": "center", "va": "center", "linespacing": 0.95}
    for turn, (hints, code) in enumerate(zip(trajectory.hints, trajectory.codes, strict=True), 1):
        if hints is None:
            axes.text(turn, 2.5, "no\nhints", size=size, color=BAD, **middle)
        for digit, hint in zip(CODES[code], hints or (), strict=False):
            lines = wrapped(hint, max(7, int(98 / turns))).split("\n")
            text = "\n".join(lines[:2]) + "\N{HORIZONTAL ELLIPSIS}" * (len(lines) > 2)
            axes.text(turn, digit + 1, text, size=size - (len(lines) > 1), color=SLOT_COLOURS[digit], **middle)


TURNS = 8


ROW, GAP = 0.3, 0.16  # inches: of a depth, and between agents


def profile_ranges(profiles: Sequence[Profile], privileges: Sequence[Privilege], path: Path) -> None:
    """Rationality of every agent at each depth, and how probable the depth is; encoders' privilege index beside.

    A line is the range of alpha that holds 95%, its dot the mode; dark where the depth is probable. Alpha 0, chance, is
    drawn at the left edge. Right: fair less informed, nats a decision, with twice its standard error.
    Raises: ValueError without profiles.
    """
    if not profiles:
        raise ValueError("profiles: there is none, so there is nothing to draw")
    groups = list(dict.fromkeys((row.role, row.agent) for row in profiles))
    least = min((row.alpha.mode for row in profiles if row.alpha.mode > 0), default=1.0)
    low = min(least, *(row.alpha.low for row in profiles if row.alpha.low > 0), 0.5) / 2
    high = 1.5 * max(row.alpha.high for row in profiles if math.isfinite(row.alpha.high))
    heights = [GAP + ROW * sum((row.role, row.agent) == group for row in profiles) for group in groups]
    index = {row.agent: row for row in privileges}
    top, left, width = 0.55, 2.9, 4.3
    with new_figure(path, top + sum(heights) + 0.75) as figure:
        axes = new_axes(figure, left, top, width, sum(heights), xscale="log", xlim=(low, high))
        axes.set(ylim=(sum(heights), 0), yticks=[], xlabel="rationality alpha (left edge: 0, chance)")
        plain_log(axes.xaxis)
        beside = new_axes(figure, left + width + 0.3, top, WIDTH - left - width - 0.5, sum(heights), yticks=[])
        beside.set(ylim=(sum(heights), 0), xlabel="privilege index (nats a decision)")
        beside.axvline(0, color=FAINT, linewidth=0.8)
        write_at(figure, left, 0.3, "How rationally, at each depth", weight="bold", size=11)
        write_at(figure, left + width + 0.3, 0.3, "Minds the secret?", weight="bold", size=11)
        at = 0.0
        for (role, agent), height in zip(groups, heights, strict=True):
            axes.axhline(at, color=RULE, linewidth=0.8)
            own = [row for row in profiles if (row.role, row.agent) == (role, agent)]
            write_at(figure, 0.1, top + at + height / 2, wrapped(f"{role} {agent}", 26), size=9.5, va="center")
            for place, row in enumerate(own):
                y = at + GAP / 2 + ROW * (place + 0.5)
                shown = {"color": COLOURS[place % len(COLOURS)], "alpha": 0.2 + 0.8 * row.share}
                ends = [max(value, low) for value in (row.alpha.low, row.alpha.high)]
                axes.plot(ends, [y, y], linewidth=4, solid_capstyle="round", **shown)
                axes.plot(
                    [max(row.alpha.mode, low)], [y], "o", markersize=8, markeredgecolor=INK, clip_on=False, **shown
                )
                told = f"depth {row.depth}: {row.share:.0%}"
                write_at(figure, left - 0.1, top + y, told, size=9, va="center", ha="right", color=FAINT)
            if role == "encoder" and agent in index:
                one, y = index[agent], at + height / 2
                error = 2 * one.error if math.isfinite(one.error) else 0.0
                colour = COLOURS[2] if one.index > error else BAD if one.index < -error else FAINT
                beside.errorbar([one.index], [y], xerr=[error], fmt="o", color=colour, capsize=3)
            at += height


def turns_against_k(points: Sequence[Point], path: Path) -> None:
    """Turns survived against the number of nearest nouns that the encoder chooses from, a line for each table.

    points: of `k_sweep.k_sweep`. Whiskers: standard error over seeds, where there is more than one.
    Raises: ValueError without points.
    """
    if not points:
        raise ValueError("points: no K was varied, so there is nothing to draw")
    from matplotlib.ticker import NullLocator

    ks = sorted({point.k for point in points})
    lines: dict[tuple[str, str, str], list[Point]] = {}
    for point in points:
        lines.setdefault(point[:3], []).append(point)
    texts = {
        line: "\n".join(wrapped(f"{letter} {agent}", 30) for letter, agent in zip("EDI", line, strict=True))
        for line in lines
    }
    height = max(3.4, sum(0.19 * (text.count("\n") + 1) + 0.12 for text in texts.values()))
    with new_figure(path, height + 1.1) as figure:
        axes = new_axes(figure, 0.8, 0.3, WIDTH - 4.0, height, xscale="log", axisbelow=True)
        axes.grid(axis="y", color=RULE, linewidth=0.6)
        axes.set(ylim=(0, max(TURNS, *(point.turns for point in points)) + 0.3), ylabel="turns survived a game")
        axes.set_xticks(ks, [f"{k:,}" for k in ks])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("K: of how many nouns nearest to the keyword the encoder draws")
        step = (ks[-1] / ks[0]) ** 0.012
        for place, (line, own) in enumerate(lines.items()):
            x = [point.k * step ** (place - (len(lines) - 1) / 2) for point in own]  # whiskers side by side
            errors = [point.error if math.isfinite(point.error) else 0.0 for point in own]
            colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
            axes.errorbar(
                x,
                [point.turns for point in own],
                yerr=errors,
                color=colour,
                marker=marker,
                capsize=3,
                label=texts[line],
            )
        axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0, fontsize=9, labelspacing=0.8)
        if any(math.isfinite(point.error) for point in points):
            write_at(figure, 0.8, height + 0.95, "Whiskers: standard error over seeds.", size=9, color=FAINT)
