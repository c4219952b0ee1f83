"""Figures of the report, as PNG files. Each function draws one figure and leaves no state of matplotlib behind."""

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from otherminds.tom.experiments.compare import UNIFORM, Row

INK, FAINT, RULE = "#1c2430", "#5f6b7a", "#d5dae1"


SLOT_COLOURS = ("#0072b2", "#d55e00", "#007a5a", "#a3458b")  # after Okabe and Ito, told apart by colour-blind eyes


COLOURS = (*SLOT_COLOURS, "#56a5d8", "#b8860b", "#444c57")


MARKERS = ("o", "s", "^", "D", "v", "P", "X")


STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.parse_math": False,  # agents and hints are other people's text: a $ is a $
    "text.usetex": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


RESOLUTION = 180  # dots per inch


WIDTH = 10.0  # inches, about as wide as a page on a laptop, so that a point there is a point here


LINE = 0.19  # inches, a line of text


def wrapped(text: str, width: int) -> str:
    """The text in lines of at most `width` characters, broken after a blank, colon or comma where that will do."""
    lines = [""]
    for piece in _pieces(" ".join(text.split()), width, (r"(?<=[\s:,;+])", r"(?<=[/=_.-])")):
        if lines[-1] and len((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.strip() for line in lines)


def _pieces(text: str, width: int, breaks: tuple[str, ...]) -> list[str]:
    """The text cut at the first kind of break, and pieces that are still too long at the others, or anywhere."""
    if len(text) <= width:
        return [text]
    if not breaks:
        return [text[start : start + width] for start in range(0, len(text), width)]
    return [piece for part in re.split(breaks[0], text) for piece in _pieces(part, width, breaks[1:])]


def height_of(text: str) -> float:
    """Inches that a text of several lines takes."""
    return LINE * (text.count("\n") + 1)


@contextmanager
def new_figure(path: Path, height: float) -> Iterator[Any]:
    """A figure of WIDTH x height inches, written to `path` at the end. pyplot and its windows stay out of it."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Not rc_context, which copies all settings and so makes matplotlib choose a window system.
    before = {name: matplotlib.rcParams[name] for name in STYLE}
    matplotlib.rcParams.update(STYLE)
    try:
        figure = Figure(figsize=(WIDTH, height))
        FigureCanvasAgg(figure)
        yield figure
        path.parent.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # a box stands for it
            figure.savefig(path, dpi=RESOLUTION)
    finally:
        matplotlib.rcParams.update(before)


def new_axes(figure: Any, left: float, top: float, width: float, height: float, **options: Any) -> Any:
    """Axes at a place given in inches from the figure's upper left corner."""
    total = figure.get_size_inches()[1]
    return figure.add_axes((left / WIDTH, 1 - (top + height) / total, width / WIDTH, height / total), **options)


def write_at(figure: Any, left: float, top: float, text: str, **options: Any) -> None:
    """Text at a place given in inches from the figure's upper left corner."""
    figure.text(left / WIDTH, 1 - top / figure.get_size_inches()[1], text, **options)


def middles_of(heights: Sequence[float]) -> Float[np.ndarray, " N"]:
    """Where the middles of rows of these heights lie."""
    return np.cumsum(heights) - np.array(heights) / 2


def plain_log(axis: Any) -> None:
    """Ticks of a log axis as plain numbers, 0.001 or 1,000."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(10))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


class _Panel(NamedTuple):
    """The heat map of one role; heights in inches."""

    role: str
    rows: list[Row]
    agents: list[str]
    minds: list[str]  # the uniform one last
    labels: list[str]
    heights: list[float]


def mind_heat_maps(rows: Sequence[Row], path: Path) -> None:
    """Agents x minds for each role: the mean log score in every cell, nats per decision.

    rows: of `compare.compare`. The colour is the gain over the uniform mind, nats per decision, on one scale for all
    roles; an agent's best mind has a frame and bold type, a cell without a scored decision is hatched.
    Raises: ValueError without rows.
    """
    if not rows:
        raise ValueError("rows: there is none, so there is nothing to draw")
    even = {(row.role, row.agent): row.log_score for row in rows if row.mind == UNIFORM}
    gains = {row: row.log_score - even.get((row.role, row.agent), math.nan) for row in rows}
    largest = max((abs(gain) for gain in gains.values() if math.isfinite(gain)), default=1.0)
    limit = max(1.0, math.ceil(2 * largest) / 2)
    panels = [_panel(role, rows) for role in dict.fromkeys(row.role for row in rows)]
    left, gap = 2.3, 0.15  # gap: between the minds and the uniform one, in cells
    cell = min(1.5, (WIDTH - left - 0.2) / (max(len(panel.minds) for panel in panels) + gap))
    characters = max(6, int(cell / 0.092))
    heads = [0.24 + max(height_of(wrapped(mind, characters)) for mind in panel.minds) for panel in panels]
    total = sum(heads) + sum(sum(panel.heights) + 0.22 for panel in panels)
    with new_figure(path, total + 0.95) as figure:
        top = 0.1
        for panel, head in zip(panels, heads, strict=True):
            top += head
            write_at(figure, 0.1, top - 0.08, panel.role.capitalize(), weight="bold", size=12)
            axes = new_axes(figure, left, top, (len(panel.minds) + gap) * cell, sum(panel.heights))
            axes.set(xlim=(0, len(panel.minds) + gap), ylim=(sum(panel.heights), 0))
            axes.spines[:].set_visible(False)
            axes.tick_params(length=0, labelsize=9.5)
            edges = {mind: j + gap * (mind == UNIFORM) for j, mind in enumerate(panel.minds)}
            axes.set_xticks([edge + 0.5 for edge in edges.values()], [wrapped(mind, characters) for mind in edges])
            axes.xaxis.tick_top()
            axes.set_yticks(middles_of(panel.heights), panel.labels)
            for row in panel.rows:
                i = panel.agents.index(row.agent)
                _cell(axes, row, gains[row] / limit, edges[row.mind], middles_of(panel.heights)[i], panel.heights[i])
            top += sum(panel.heights) + 0.22
        bar = new_axes(figure, left, top + 0.1, 4.2, 0.16, yticks=[])
        bar.imshow([[shade(share) for share in np.linspace(-1, 1, 201)]], aspect="auto", extent=(-limit, limit, 0, 1))
        bar.spines[:].set_visible(False)
        bar.tick_params(labelsize=9)
        bar.set_xlabel("gain over uniform (nats per decision)", size=9.5)
        note = "number: mean log score (nats per decision)"
        write_at(figure, left + 4.5, top + 0.18, note, size=9.5, va="center")


def _panel(role: str, rows: Sequence[Row]) -> _Panel:
    rows = [row for row in rows if row.role == role]
    agents = {row.agent: row for row in rows}
    minds = sorted(dict.fromkeys(row.mind for row in rows), key=lambda mind: mind == UNIFORM)
    labels = []
    for agent, row in agents.items():
        notes = [f"{row.failed} failed"] * (row.failed > 0) + [f"{row.unknown} left out"] * (row.unknown > 0)
        label = f"{wrapped(agent, 26)}\nn = {row.decisions:,}"
        labels.append(f"{label} ({', '.join(notes)})" if notes else label)
    return _Panel(role, rows, list(agents), minds, labels, [max(0.56, height_of(label) + 0.16) for label in labels])


def _cell(axes: Any, row: Row, share: float, left: float, middle: float, height: float) -> None:
    """One cell of a heat map. share: of the colour scale, -1 to 1."""
    from matplotlib.patches import Rectangle

    empty = math.isnan(row.log_score)
    colour = (0.96, 0.97, 0.98) if empty else shade(share)
    frame = {"edgecolor": INK, "linewidth": 2.2} if row.best else {"edgecolor": RULE, "linewidth": 0}
    box = Rectangle((left + 0.02, middle - height / 2 + 0.02), 0.96, height - 0.04, facecolor=colour, **frame)
    box.set(hatch="////" if empty else None, zorder=3 if row.best else 2)
    axes.add_patch(box)
    number = "\N{EN DASH}" if empty else f"{row.log_score:.2f}".replace("-", "\N{MINUS SIGN}")
    ink = "white" if np.dot(colour, (0.299, 0.587, 0.114)) < 0.5 else INK
    text = axes.text(left + 0.5, middle, number + "\nbest" * row.best, ha="center", va="center", color=ink, zorder=4)
    text.set(weight="bold" if row.best else "normal", linespacing=1.15)


def shade(share: float) -> tuple[float, float, float]:
    """Blue for 1, near white for 0, brown for -1, grey for NaN; the ends are dark, and far apart to every eye."""
    if not math.isfinite(share):
        return (0.9, 0.9, 0.9)
    ends = ((0.45, 0.71, 0.87), (0.02, 0.27, 0.51)) if share > 0 else ((0.99, 0.72, 0.42), (0.64, 0.24, 0.02))
    stops = np.array([(0.98, 0.98, 0.98), *ends])
    return tuple(float(np.interp(min(abs(share), 1.0), (0, 0.5, 1), stop)) for stop in stops.T)


def hint_nearness(ranks: Mapping[str, Int[np.ndarray, "_"]], path: Path) -> None:
    """How near each encoder's hints are to their keywords: the share within a rank, and every hint as a mark.

    ranks: for each encoder the ranks of its known hints; rank 1 is the noun nearest to the keyword.
    Raises: ValueError if there is no encoder.
    """
    from matplotlib.ticker import PercentFormatter

    if not ranks:
        raise ValueError("ranks: no encoder, so there is nothing to draw")
    labels = [f"{wrapped(agent, 26)}\n{len(own):,} hint{'s' * (len(own) != 1)}" for agent, own in ranks.items()]
    rows = [max(0.42, height_of(label) + 0.1) for label in labels]
    middles, curves = middles_of(rows), 2.5
    most = max(150, *(int(own.max(initial=1)) for own in ranks.values()))
    options = {"xscale": "log", "xlim": (0.8, 1.6 * most)}
    random = np.random.default_rng(0)
    with new_figure(path, curves + sum(rows) + 1.4) as figure:
        upper = new_axes(figure, 2.3, 0.35, WIDTH - 2.5, curves, ylim=(0, 1.02), **options)
        lower = new_axes(figure, 2.3, curves + 0.7, WIDTH - 2.5, sum(rows), ylim=(sum(rows), 0), **options)
        for axes in (upper, lower):
            plain_log(axes.xaxis)
            for rank in (16, 200):
                axes.axvline(rank, color=RULE, linewidth=1, zorder=0)
        for rank in (16, 200):
            upper.text(rank, 1.04, str(rank), ha="center", size=8.5, color=FAINT)
        upper.set_xticklabels([])
        upper.yaxis.set_major_formatter(PercentFormatter(1.0))
        upper.set_ylabel("share of hints within rank")
        lower.set_yticks(middles, labels, size=9.5)
        lower.tick_params(axis="y", length=0)
        lower.spines["left"].set_visible(False)
        lower.set_xlabel("rank among the nouns by nearness to the keyword (1 = nearest; black bar: median)")
        for place, (own, label) in enumerate(zip(ranks.values(), lower.get_yticklabels(), strict=True)):
            colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
            label.set_color(colour)
            if not len(own):
                lower.text(1, middles[place], "no hint with a known vector", va="center", size=9, color=FAINT)
                continue
            x = np.concatenate([[0.8], np.sort(own), [1.6 * most]])
            y = np.concatenate([[0.0], np.arange(1, len(own) + 1) / len(own), [1.0]])
            upper.step(x, y, where="post", color=colour, linewidth=1.8)
            some = np.unique(np.linspace(0, len(own) - 1, 8).astype(int)) + 1  # marks tell crossing lines apart
            upper.plot(x[some], y[some], color=colour, marker=marker, markersize=5.5, linestyle="none")
            heights = middles[place] + random.uniform(-0.25, 0.25, len(own)) * rows[place]
            fade = max(0.15, min(0.8, 30 / len(own) ** 0.75))
            lower.scatter(np.sort(own), heights, s=18, marker=marker, color=colour, alpha=fade, linewidths=0)
            bar = middles[place] + np.array([-0.38, 0.38]) * rows[place]
            lower.plot([np.median(own)] * 2, bar, color=INK, linewidth=2.4, solid_capstyle="butt", zorder=4)


class PoolSurvival(NamedTuple):
    """How many of the games with one setting were survived."""

    label: str  # the encoder's setting and the interceptor
    pool: int | None  # nouns that hints come from, R; None: no limit
    games: int
    survived: int


def wilson(successes: int, trials: int, z: float = 1.959964) -> tuple[float, float]:
    """The score interval of a binomial probability, (p + z²/2n ∓ z √(p (1 - p)/n + z²/4n²)) / (1 + z²/n).

    p = successes/n, n = trials; z: standard errors, 1.96 for 95%.
    Returns: (low, high), which is (0, 1) without trials.
    Raises: ValueError unless 0 <= successes <= trials.
    Source: Wilson (1927).
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"successes={successes}, trials={trials}: successes are counted among the trials")
    if not trials:
        return 0.0, 1.0
    share, weight = successes / trials, z * z / trials
    half = z * math.sqrt(share * (1 - share) / trials + weight / (4 * trials))
    low, high = ((share + weight / 2 + sign * half) / (1 + weight) for sign in (-1, 1))
    return max(0.0, min(low, share)), min(1.0, max(high, share))


def survival_against_pool(table: Iterable[PoolSurvival | tuple[str, int | None, int, int]], path: Path) -> None:
    """Survival probability against the pool size R, one line per label, with Wilson's 95% intervals.

    table: records (label, pool, games, survived), pool None for no limit, which becomes the last point.
    Raises: ValueError without a game, and for a pool below 1.
    """
    from matplotlib.ticker import NullLocator

    records = [record for record in (PoolSurvival(*record) for record in table) if record.games]
    if not records:
        raise ValueError("table: no games, so there is nothing to draw")
    if odd := [record for record in records if record.pool is not None and record.pool < 1]:
        raise ValueError(f"pool={odd[0].pool}: a pool has at least one noun; None stands for no limit")
    pools = sorted({record.pool for record in records if record.pool is not None})
    endless = any(record.pool is None for record in records)
    low, high = (pools[0], pools[-1]) if pools else (1, 1)
    step = max((high / low) ** 0.16, 1.6)  # from the last pool to "no limit", a factor on the log axis
    end = high * step if pools else 1.0
    legend = {record.label: wrapped(record.label, 24) for record in records}
    height = max(3.9, sum(map(height_of, legend.values())) + 0.12 * len(legend))
    with new_figure(path, height + 0.95) as figure:
        axes = new_axes(figure, 0.85, 0.25, WIDTH - 3.6, height, xscale="log", ylim=(-0.02, 1.02), axisbelow=True)
        axes.grid(axis="y", color=RULE, linewidth=0.6)
        axes.set_xlim(low / step**0.35, (end if endless else high) * step**0.35)
        axes.set_xticks([*pools, end] if endless else pools, [f"{pool:,}" for pool in pools] + ["no limit"] * endless)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("pool size R (nouns nearest to the keyword that hints come from)")
        axes.set_ylabel("survival probability (95% interval)")
        if endless and pools:
            axes.axvline(high * math.sqrt(step), color=RULE, linewidth=1, linestyle=(0, (3, 3)))
        for place, (label, text) in enumerate(legend.items()):
            own = sorted((r for r in records if r.label == label), key=lambda r: (r.pool is None, r.pool or 0))
            shift = step ** (0.16 * (place - (len(legend) - 1) / 2) / max(len(legend) - 1, 1))  # whiskers side by side
            x = shift * np.array([end if record.pool is None else record.pool for record in own])
            y = np.array([record.survived / record.games for record in own])
            whiskers = np.abs(np.array([wilson(record.survived, record.games) for record in own]).T - y)
            style = {"color": COLOURS[place % len(COLOURS)], "zorder": 3}
            mark = {
                "marker": MARKERS[place % len(MARKERS)],
                "markersize": 6.5,
                "markeredgecolor": "white",
                "markeredgewidth": 0.6,
            }
            line = "-" if place < len(COLOURS) else (0, (5, 2))
            limited = len(own) - (own[-1].pool is None)
            axes.errorbar(x, y, yerr=whiskers, fmt="none", elinewidth=1.3, capsize=3, color=style["color"])
            axes.plot(x[limited - 1 :], y[limited - 1 :], linewidth=1, linestyle=(0, (1, 2)), **style)
            axes.plot(x[limited:], y[limited:], linestyle="none", **mark, **style)
            axes.plot(x[:limited], y[:limited], linewidth=1.8, linestyle=line, label=text, **mark, **style)
        axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0, fontsize=9.5, labelspacing=0.7)
