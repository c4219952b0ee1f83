"""Pictures of a board, and of what a mind believes about the other player's goal, as PNG files."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Array, Float, Int

from otherminds.games.colored_trails.board import Board, Layout
from otherminds.games.colored_trails.rules import Role
from otherminds.games.colored_trails.text import colour_names, square
from otherminds.games.colored_trails.utility import Scoring
from otherminds.games.colored_trails.walks import best_walk

PAINT = {
    "white": "#fbfaf5", "black": "#3a3f4a", "magenta": "#d681b5", "gray": "#a9aeb6", "yellow": "#f2d13d",
    "red": "#d3553b", "cyan": "#7cc8d6", "orange": "#ee9a3a", "purple": "#8b6bb1", "lime": "#a9cf54", "navy": "#33518f",
    "teal": "#2f8f83",
}  # fmt: skip
"""What the colours look like; each tile and chip also bears its first letter."""
PLAYER_COLOURS = ("#0072b2", "#d55e00")  # after Okabe and Ito, told apart by colour-blind eyes
INK, FAINT = "#1c2430", "#5f6b7a"
RESOLUTION = 180  # dots per inch
MOST_PANELS = 12  # of one figure


def board_figure(
    layout: Layout,
    board: Board,
    path: Any,
    title: str = "",
    held: Int[Array | np.ndarray, "2 K"] | None = None,
    walks: bool = False,
    scoring: Scoring | None = None,
) -> Any:
    """Writes a PNG of one board: tiles, start, both goals, and below it the chips of both players.

    held: the chips that the players hold; None: those that they are dealt.
    walks: whether to draw a best walk of each player with these chips, and what it is worth.
    path: where the PNG goes, a string or a Path.   Returns: path.
    """
    held = np.asarray(board.chips if held is None else held)
    figure = _figure(0.62 * max(layout.columns, 6) + 0.7, 0.62 * layout.rows + 1.75)
    axes = figure.subplots()
    draw_board(axes, layout, board.tiles)
    for player, goal in enumerate(np.asarray(board.goals).tolist()):
        _draw_goal(axes, layout, goal, player)
        _draw_chips(axes, layout, held[player], player)
        if walks:
            walk, points = best_walk(layout, board.tiles, held[player], goal, scoring)
            _draw_walk(axes, layout, walk, player)
            _write_points(axes, layout, points, player)
    axes.set_ylim(layout.rows + 2.1, -0.5)
    axes.set_title(title, fontsize=10, loc="left", weight="bold", color=INK)
    return _saved(figure, path)


def goal_figure(
    layout: Layout,
    log_goal: Float[Array | np.ndarray, "T G"],
    path: Any,
    names: Sequence[str] | None = None,
    true_goal: int | None = None,
    title: str = "",
) -> Any:
    """Writes a PNG of beliefs about a goal: a board for each of T moments, darker where the goal is likelier.

    log_goal: log-probabilities, normalised over the G goals, at most 12 moments.
    names: of the moments; None: moves from 1.   true_goal: is framed.   path: as for `board_figure`.
    Raises: ValueError for more moments than fit into a figure, and for other than G goals.
    """
    shares = np.exp(np.asarray(log_goal, float))
    moments, goals = shares.shape
    if not 1 <= moments <= MOST_PANELS or goals != len(layout.goals):
        raise ValueError(
            f"log_goal of shape {shares.shape}: 1 to {MOST_PANELS} moments, {len(layout.goals)} goals of the layout; "
            "choose some moments"
        )
    names = [f"move {moment + 1}" for moment in range(moments)] if names is None else names
    columns = min(moments, 4)
    rows = -(-moments // columns)
    size = 0.46
    figure = _figure(size * layout.columns * columns + 0.5 * columns + 0.9, (size * layout.rows + 0.55) * rows + 0.5)
    panels = figure.subplots(rows, columns, squeeze=False)
    for axes in panels.flat[moments:]:
        axes.set_axis_off()
    for axes, now, name in zip(panels.flat, shares, names, strict=False):
        image = draw_goals(axes, layout, now, true_goal)
        axes.set_title(name, fontsize=9, loc="left", color=INK)
    figure.colorbar(image, ax=panels, label="probability", shrink=0.8)
    figure.suptitle(title, fontsize=10, weight="bold", color=INK)
    return _saved(figure, path)


def draw_board(axes: Any, layout: Layout, tiles: Int[Array | np.ndarray, "R C"]) -> None:
    """Draws coloured tiles with their letters and the names of rows and columns into axes of matplotlib."""
    from matplotlib.patches import Rectangle

    names, tiles = colour_names(layout), np.asarray(tiles)
    for row, column in np.ndindex(tiles.shape):
        start = (row, column) == tuple(layout.start)
        name = names[tiles[row, column]]
        paint = "white" if start else PAINT[name]
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=paint, edgecolor="white", linewidth=2))
        if start:
            axes.add_patch(
                Rectangle((column - 0.4, row - 0.4), 0.8, 0.8, fill=False, edgecolor=FAINT, linestyle=(0, (3, 2)))
            )
            axes.text(column, row, "start", ha="center", va="center", size=7, color=FAINT)
        else:
            axes.text(column - 0.4, row - 0.38, name[0].upper(), ha="left", va="top", size=6.5, color=_ink_on(paint))
    _name_squares(axes, layout)


def draw_goals(axes: Any, layout: Layout, shares: Float[np.ndarray, " G"], true_goal: int | None = None) -> Any:
    """Draws probabilities of the goals at their places on the board into axes of matplotlib.

    Returns: the image, for a colour bar.
    """
    from matplotlib.patches import Rectangle

    grid = np.full((layout.rows, layout.columns), np.nan)
    for (row, column), share in zip(layout.goals, shares, strict=True):
        grid[row, column] = share
    image = axes.imshow(np.ma.masked_invalid(grid), cmap="Blues", vmin=0, vmax=1)
    axes.set_facecolor("#f0f1f3")
    for (row, column), share in zip(layout.goals, shares, strict=True):
        ink = "white" if share > 0.55 else INK
        axes.text(column, row, f"{share:.2f}".lstrip("0"), ha="center", va="center", size=7, color=ink)
    if true_goal is not None:
        row, column = layout.goals[true_goal]
        edge = PLAYER_COLOURS[1]
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=edge, linewidth=2, zorder=3))
    row, column = layout.start
    axes.plot(column, row, marker="s", color=FAINT, markersize=4)
    _name_squares(axes, layout)
    return image


def _draw_goal(axes: Any, layout: Layout, goal: int, player: int) -> None:
    row, column = layout.goals[goal]
    place = (column + 0.22, row - 0.22 + 0.44 * player)
    axes.plot(*place, marker="*", color=PLAYER_COLOURS[player], markersize=15, markeredgecolor="white")


def _draw_chips(axes: Any, layout: Layout, chips: np.ndarray, player: int) -> None:
    """A player's chips in a row below the board."""
    top = layout.rows + 0.55 + 0.9 * player
    role = Role(player).name.lower()
    axes.plot(-0.3, top, marker="*", color=PLAYER_COLOURS[player], markersize=12, clip_on=False)
    axes.text(0, top, role, va="center", size=8.5, color=PLAYER_COLOURS[player])
    names = colour_names(layout)
    held = [names[colour] for colour, count in enumerate(chips.tolist()) for _ in range(count)]
    apart = min(0.46, (max(layout.columns, 6) - 2.4) / max(len(held), 1))
    for place, name in enumerate(held):
        at = 1.85 + apart * place
        axes.plot(at, top, marker="o", markersize=11, color=PAINT[name], markeredgecolor=FAINT, clip_on=False)
        axes.text(at, top, name[0].upper(), ha="center", va="center", size=6.5, color=_ink_on(PAINT[name]))


def _draw_walk(axes: Any, layout: Layout, walk: list[int], player: int) -> None:
    rows, columns = np.divmod(np.array(walk), layout.columns)
    aside = 0.1 * (2 * player - 1)  # so that both can be seen
    style = {"color": PLAYER_COLOURS[player], "linewidth": 2.4, "alpha": 0.85, "solid_capstyle": "round"}
    axes.plot(columns + aside, rows + aside, **style)
    axes.plot(columns[-1] + aside, rows[-1] + aside, marker="o", color=PLAYER_COLOURS[player], markersize=6)


def _write_points(axes: Any, layout: Layout, points: float, player: int) -> None:
    text = f"{points:g} points"
    axes.text(0, layout.rows + 0.92 + 0.9 * player, text, va="center", size=7, color=PLAYER_COLOURS[player])


def _name_squares(axes: Any, layout: Layout) -> None:
    axes.set(xlim=(-0.5, max(layout.columns - 0.5, 0.5)), ylim=(layout.rows - 0.5, -0.5), aspect="equal")
    axes.set_xticks(range(layout.columns), [square(layout, (0, column))[0] for column in range(layout.columns)])
    axes.set_yticks(range(layout.rows), [square(layout, (row, 0))[1:] for row in range(layout.rows)])
    axes.xaxis.tick_top()
    axes.tick_params(length=0, labelsize=8, labelcolor=FAINT)
    axes.spines[:].set_visible(False)


def _ink_on(paint: str) -> str:
    channels = [int(paint[place : place + 2], 16) for place in (1, 3, 5)] if paint != "white" else [255] * 3
    return "white" if np.dot(channels, (0.299, 0.587, 0.114)) < 120 else INK


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure  # not pyplot, which keeps state and looks for a window

    return Figure(figsize=(min(width, 24), min(height, 24)), layout="constrained", facecolor="white")


def _saved(figure: Any, path: Any) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    figure.savefig(path, dpi=RESOLUTION)
    return path
