"""Figures of a comparison of observers, as PNG files."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from otherminds.games.rps.catalogue import CODES
from otherminds.tom.experiments.plots import COLOURS, FAINT, INK, MARKERS, new_axes, new_figure, wrapped, write_at
from otherminds.tom.experiments.rps.observers.compare import Scored, round_bands

LINE = 0.34  # inches, a row of bars
CURVES = {"union": "union loss", "identified": "both strategies named", "log_strategy": "log p of the true strategy"}
"""What is drawn by round."""
BARS = {"identified": "both strategies named", "efficiency": "information efficiency"}


def curves(found: Sequence[Scored], path: Path) -> None:
    """Union loss, identification and log score by round, means over matches with 95% bands; ceilings dashed.

    found: of one scene. Raises: ValueError without observers.
    """
    _some(found)
    asked = found[0].row.scene.asking.asked
    side, legend = 2.3, 0.2 * math.ceil(len(found) / 3)
    with new_figure(path, len(CURVES) * (side + 0.45) + legend + 0.5) as figure:
        for place, (metric, name) in enumerate(CURVES.items()):
            axes = new_axes(figure, 0.8, 0.2 + legend + place * (side + 0.45), 8.9, side)
            axes.set_ylabel(name, size=9.5)
            for number, one in enumerate(found):
                mean, low, high = round_bands(one, metric)
                style = {"color": COLOURS[number % len(COLOURS)], "linewidth": 1.6}
                style |= {"linestyle": "--"} if one.row.ceiling else {"marker": MARKERS[number % len(MARKERS)]}
                axes.plot(asked, mean, markersize=4, **style)
                axes.fill_between(asked, low, high, color=style["color"], alpha=0.12, linewidth=0)
        axes.set_xlabel("rounds played", size=9.5)
        for number, one in enumerate(found):
            row, column = divmod(number, 3)
            mark = "--" if one.row.ceiling else "\N{BLACK CIRCLE}"
            shown = wrapped(f"{mark} {_label(one)}", 44).partition("\n")[0]
            write_at(figure, 0.8 + 3.1 * column, 0.2 + 0.2 * row, shown, color=COLOURS[number % len(COLOURS)], size=9)


def bars(found: Sequence[Scored], path: Path) -> None:
    """Identification against its ceilings, and information efficiency, with 95% intervals, a row an observer.

    found: of one scene. Raises: ValueError without observers.
    """
    _some(found)
    height = LINE * len(found)
    with new_figure(path, height + 1.0) as figure:
        for column, (metric, name) in enumerate(BARS.items()):
            axes = new_axes(figure, 3.2 + 3.5 * column, 0.35, 3.1, height, ylim=(len(found), 0))
            axes.set_title(name, size=10)
            axes.set_yticks([n + 0.5 for n in range(len(found))], [_label(one) if not column else "" for one in found])
            axes.set_yticklabels([wrapped(_label(one), 36).partition("\n")[0] if not column else "" for one in found])
            axes.tick_params(axis="y", length=0)
            for n, one in enumerate(found):
                value = one.row.values[metric]
                if math.isnan(value.mean):
                    axes.text(0, n + 0.5, " \N{EN DASH}", va="center", color=FAINT)
                    continue
                axes.barh(n + 0.5, value.mean, 0.6, color=FAINT if one.row.ceiling else COLOURS[0], alpha=0.75)
                if not math.isnan(value.low):
                    axes.plot((value.low, value.high), [n + 0.5] * 2, color=INK, linewidth=1.4)
            axes.axvline(0, color=INK, linewidth=0.8)
            if metric == "efficiency":
                axes.axvline(1, color=INK, linewidth=0.8, linestyle=":")


def beliefs(found: Sequence[Scored], path: Path) -> None:
    """What each observer believes of both players in one match, rounds by strategies; true strategies are marked.

    found: of one scene; the match is the first that all have watched. Raises: ValueError where there is none.
    """
    _some(found)
    common = set.intersection(*(set(one.watched.matches) for one in found))
    if not common:
        raise ValueError("found: no match was watched by all observers, so there is nothing to compare")
    match, side = min(common), 2.1
    truth, asked = found[0].row.scene.truth, found[0].row.scene.asking.asked
    with new_figure(path, 0.7 + len(found) * (side + 0.55)) as figure:
        for row, one in enumerate(found):
            top = 0.5 + row * (side + 0.55)
            write_at(figure, 0.5, top - 0.1, wrapped(_label(one), 90).partition("\n")[0], weight="bold", size=10)
            belief = one.watched.stated.strategy[one.watched.matches.index(match)]
            for player in range(2):
                axes = new_axes(figure, 0.5 + 4.8 * player, top, 4.3, side)
                _heat(axes, belief[:, player], asked, truth[player])
                if row == 0:
                    axes.set_title(f"player {player + 1}", size=9.5, loc="right")
                if row == len(found) - 1:
                    axes.set_xlabel("rounds played", size=9)


def _heat(axes: Any, belief: np.ndarray, asked: Sequence[int], truth: int) -> None:
    axes.imshow(belief.T, aspect="auto", cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    axes.set_yticks(range(len(CODES)), CODES, size=6)
    shown = np.unique(np.linspace(0, len(asked) - 1, min(len(asked), 8)).astype(int))
    axes.set_xticks(shown, [str(asked[n]) for n in shown], size=8)
    if truth >= 0:
        axes.get_yticklabels()[truth].set_weight("bold")
        axes.get_yticklabels()[truth].set_color("#b3400a")
        for edge in (truth - 0.5, truth + 0.5):
            axes.axhline(edge, color="#b3400a", linewidth=0.9)


def _label(one: Scored) -> str:
    return one.row.label


def _some(found: Sequence[Scored]) -> None:
    if not found:
        raise ValueError("found: there is no observer, so there is nothing to draw")
