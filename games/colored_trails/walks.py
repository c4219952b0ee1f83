"""The walk that chips are spent on, cell by cell; `utility` knows only what it is worth."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Array, Int

from otherminds.games.colored_trails.board import Layout
from otherminds.games.colored_trails.utility import Scoring


def best_walk(
    layout: Layout,
    tiles: Int[Array | np.ndarray, "R C"],
    chips: Sequence[int] | Int[Array | np.ndarray, "K"],
    goal: int,
    scoring: Scoring | None = None,
) -> tuple[list[int], float]:
    """A walk from the start that is worth most with these chips, a shortest one, and its points.

    goal: an index into `layout.goals`.
    Returns: the cells of the walk from the start on, each row * columns + column, and the points of its end.
    """
    scoring, colour = scoring or Scoring(), np.asarray(tiles).reshape(-1)
    begun = (layout.start_cell, tuple(int(count) for count in chips))
    came_from: dict[tuple, tuple | None] = {begun: None}
    reached = [begun]  # by the number of steps, since it grows while it is gone through
    for cell, left in reached:
        for onto in layout.neighbours[cell].tolist():
            if onto == cell or left[colour[onto]] == 0:
                continue
            after = tuple(count - (place == colour[onto]) for place, count in enumerate(left))
            if (onto, after) not in came_from:
                came_from[onto, after] = (cell, left)
                reached.append((onto, after))

    def worth(place: tuple) -> float:
        away = int(layout.distance[goal, place[0]])
        return scoring.goal * (away == 0) + scoring.chip * sum(place[1]) - scoring.step * away

    end = max(reached, key=worth)
    walk: list[int] = []
    place: tuple | None = end
    while place is not None:
        walk.append(place[0])
        place = came_from[place]
    return walk[::-1], worth(end)
