"""Figures of what is known of Decrypto's players beyond their scores."""

import math
from collections.abc import Sequence
from pathlib import Path

from otherminds.tom.experiments.decrypto.profile import Privilege, Profile
from otherminds.tom.experiments.plots import (
    BAD,
    COLOURS,
    FAINT,
    INK,
    RULE,
    WIDTH,
    new_axes,
    new_figure,
    plain_log,
    wrapped,
    write_at,
)

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
