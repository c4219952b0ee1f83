"""Figures of a comparison of negotiations, as PNG files."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from otherminds.tom.experiments.colored_trails.compare import EVERY, Gain
from otherminds.tom.experiments.colored_trails.explain import Explanation, Shadow
from otherminds.tom.experiments.colored_trails.records import PEOPLE, Games, is_person, seats_of
from otherminds.tom.experiments.plots import (
    COLOURS,
    FAINT,
    INK,
    MARKERS,
    new_axes,
    new_figure,
    plain_log,
    wrapped,
    write_at,
)

LINE = 0.26  # inches, a row of bars


def gains(rows: Sequence[Gain], path: Path) -> None:
    """Mean gains with standard errors, a row a player and condition; of each of several people in all conditions only.

    Raises: ValueError without rows.
    """
    _some(rows)
    together = any(row.agent == PEOPLE for row in rows)
    rows = [row for row in rows if row.boards == EVERY or not (together and is_person(row.agent))]
    names = [row.agent if row.boards == EVERY else f"{row.boards}, deception {row.deception or '?'}  " for row in rows]
    height = LINE * len(rows)
    with new_figure(path, height + 0.9) as figure:
        axes = new_axes(figure, 3.6, 0.2, 6.0, height, ylim=(len(rows), 0))
        _name_rows(axes, names)
        for n, row in enumerate(rows):
            whole = row.boards == EVERY
            axes.barh(n + 0.5, row.mean, 0.7 if whole else 0.5, color=COLOURS[0] if whole else COLOURS[4])
            if not math.isnan(row.error):
                axes.plot((row.mean - row.error, row.mean + row.error), [n + 0.5] * 2, color=INK, linewidth=1.2)
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.set_xlabel("mean gain, points (line: standard error over games)", size=9.5)


def probabilities(rows: Sequence[Explanation], path: Path) -> None:
    """Expected frequencies and exceedance probabilities of minds, a row a player and kind of unit.

    rows: of one way. Raises: ValueError without rows.
    """
    _some(rows)
    groups = list(dict.fromkeys((row.agent, row.units) for row in rows))
    minds = list(dict.fromkeys(row.mind for row in rows))
    height = LINE * len(groups)
    with new_figure(path, height + 1.15) as figure:
        titles = {"frequency": "share of units", "exceedance": "P(most frequent)"}
        for column, (name, title) in enumerate(titles.items()):
            axes = new_axes(figure, 3.0 + 3.6 * column, 0.75, 3.2, height, xlim=(0, 1), ylim=(len(groups), 0))
            axes.set_title(title, size=10)
            _name_rows(axes, [f"{agent} ({units})" if not column else "" for agent, units in groups])
            for n, group in enumerate(groups):
                start = 0.0
                for row in rows:
                    if (row.agent, row.units) == group:
                        colour = COLOURS[minds.index(row.mind) % len(COLOURS)]
                        axes.barh(n + 0.5, getattr(row, name), 0.7, left=start, color=colour)
                        start += getattr(row, name)
        _legend(figure, minds)


def betas(rows: Sequence[Explanation], path: Path) -> None:
    """Fitted rationalities on a logarithmic axis, a row a player, a mark a mind; a fit of 0 stands at the left edge.

    rows: of one way. Raises: ValueError without a fit above 0.
    """
    from matplotlib.ticker import LogLocator

    rows = [row for row in rows if row.fit is not None]
    _some([row for row in rows if row.fit and row.fit.beta > 0])
    agents = list(dict.fromkeys(row.agent for row in rows))
    minds = list(dict.fromkeys(row.mind for row in rows))
    lowest = min(row.fit.beta for row in rows if row.fit and row.fit.beta > 0)
    edge = 10 ** math.floor(math.log10(lowest) - 0.3)
    height = LINE * len(agents)
    with new_figure(path, height + 1.2) as figure:
        axes = new_axes(figure, 3.0, 0.55, 6.6, height, xscale="log", ylim=(len(agents), 0))
        _name_rows(axes, agents)
        for row in rows:
            beta = row.fit.beta if row.fit else 0.0
            axes.plot(
                max(beta, edge), agents.index(row.agent) + 0.5, markersize=5, clip_on=False, **_mark(minds, row.mind)
            )
        axes.set_xlim(left=edge)
        plain_log(axes.xaxis)
        axes.xaxis.set_major_locator(LogLocator(10, (1, 2, 5)))
        none = any(row.fit and not row.fit.beta for row in rows)
        axes.set_xlabel(f"beta, per point{' (at the left edge: 0)' if none else ''}", size=9.5)
        _legend(figure, minds)


def _mark(minds: Sequence[str], mind: str) -> dict[str, str]:
    """A mind's colour and mark, the same in every figure."""
    place = minds.index(mind)
    return {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}


def goal_posteriors(games: Games, shadows: Mapping[str, Shadow], path: Path, most: int = 12) -> None:
    """The mean posterior of the other's goal by move, a line a mind; a panel an agent, people together.

    most: moves that are drawn. A game counts as long as it goes on. Raises: ValueError without minds.
    """
    _some(shadows)
    turns = min(most, games.kept.shape[1])
    seats = {agent: own for agent, own in seats_of(games).items() if agent == PEOPLE or not is_person(agent)}
    seats = seats or seats_of(games)  # one person alone
    goals = np.asarray(games.board.goals)[:, [1, 0]][:, np.arange(turns) % 2]  # of the player who does not move
    minds, rows = list(shadows), math.ceil(len(seats) / 2)
    with new_figure(path, 0.7 + 2.75 * rows) as figure:
        for place, (agent, own) in enumerate(seats.items()):
            axes = new_axes(figure, 0.7 + 4.8 * (place % 2), 0.75 + 2.75 * (rows - 1 - place // 2), 4.2, 2.1)
            axes.set_title(f"{agent} decides" if agent != PEOPLE else "people decide", size=10)
            axes.set_ylim(0, 1)
            axes.axhline(1 / len(games.rules.layout.goals), color=FAINT, linewidth=0.8, linestyle=":")
            who = np.zeros((len(games.ids), turns), bool)
            for role in range(2):
                who[own[own[:, 1] == role, 0], role::2] = True
            there = games.valid[:, :turns] & who
            shown = there.sum(0) > 0
            for mind, shadow in shadows.items():
                p = np.exp(np.take_along_axis(shadow.log_goal[:, :turns], goals[:, :, None], -1)[..., 0])
                mean = np.where(there, p, 0).sum(0)[shown] / there.sum(0)[shown]
                axes.plot(np.flatnonzero(shown) + 1, mean, markersize=4, linewidth=1.3, **_mark(minds, mind))
            axes.set_xlabel("move", size=9.5)
            if place % 2 == 0:
                axes.set_ylabel("posterior of the other's goal", size=9.5)
        _legend(figure, minds)


def _legend(figure: Any, names: Sequence[str]) -> None:
    for place, name in enumerate(names):
        colour = COLOURS[place % len(COLOURS)]
        told = wrapped(f"\N{BLACK CIRCLE} {name}", 30).partition("\n")[0]
        write_at(figure, 0.6 + 2.3 * (place % 4), 0.22 + 0.18 * (place // 4), told, color=colour, size=9.5)


def _name_rows(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks([n + 0.5 for n in range(len(names))], [wrapped(name, 42).partition("\n")[0] for name in names])
    axes.tick_params(axis="y", length=0)


def _some(rows: Any) -> None:
    if not rows:
        raise ValueError("rows: there is none, so there is nothing to draw")


def pair_gains(rows: Sequence[Any], path: Path) -> None:
    """Heat maps of mean gains, of the initiator and of the responder: a row an initiator, a column a responder.

    rows: `Pairing`s of simulate.py, every initiator with every responder.
    """
    initiators = list(dict.fromkeys(row.initiator for row in rows))
    responders = list(dict.fromkeys(row.responder for row in rows))
    cell = min(1.1, 3.6 / len(responders))
    height, width = cell * len(initiators), cell * len(responders)
    top = max(row.gain[role] for row in rows for role in range(2))
    low = min(0.0, *(row.gain[role] for row in rows for role in range(2)))
    with new_figure(path, height + 1.6) as figure:
        for role, title in enumerate(("gain of the initiator", "gain of the responder")):
            axes = new_axes(figure, 1.3 + 4.6 * role, 0.8, width, height)
            means = np.reshape([row.gain[role] for row in rows], (len(initiators), len(responders)))
            errors = np.reshape([row.gain_error[role] for row in rows], means.shape)
            axes.imshow(means, cmap="Blues", vmin=low, vmax=top * 1.25, aspect="auto", interpolation="nearest")
            for (place, column), mean in np.ndenumerate(means):
                error = "" if math.isnan(errors[place, column]) else f"\n± {errors[place, column]:.1f}"
                dark = mean > low + 0.75 * (top - low)
                axes.text(
                    column,
                    place,
                    f"{mean:.1f}{error}",
                    ha="center",
                    va="center",
                    size=8.5,
                    color="white" if dark else INK,
                )
            axes.set_title(title, size=10)
            axes.set_xticks(range(len(responders)), [wrapped(name, 14) for name in responders], size=8.5)
            axes.set_yticks(range(len(initiators)), [wrapped(name, 16) for name in initiators], size=8.5)
            axes.tick_params(length=0)
            axes.set_xlabel("responder", size=9.5)
        figure.axes[0].set_ylabel("initiator", size=9.5)
