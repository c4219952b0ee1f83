"""The board of Colored Trails: tiles of several colours, a start, the cells that can be a goal, the players' chips."""

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Int

from otherminds.games.colored_trails.checks import check_whole

PLAYERS = 2
MOST_CELLS = 400
MOST_COLOURS = 20
MOST_OFFERS = 10_000
"""Of a layout: what a mind works out is an array of offers, goals and cells."""


@dataclass(frozen=True)
class Layout:
    """What all boards of a game share. Hashable, so that equal layouts share one compiled program.

    chips: that each player is dealt.   start: (row, column); None: the centre.
    goals: the (row, column) of every cell that may be a goal, of which one is an index; None: all cells at least
        `goal_distance` steps from the start, row by row.
    Raises: ValueError for a size, a start or goals that make no game, and for a goal that no chips can ever reach.
    Source: de Weerd, Verbrugge & Verheij (2017): 5 x 5 tiles, 5 colours, 4 chips, the 12 cells 3 or 4 steps away.
    """

    rows: int = 5
    columns: int = 5
    colours: int = 5
    chips: int = 4
    start: tuple[int, int] | None = None
    goals: tuple[tuple[int, int], ...] | None = None
    goal_distance: int = 3

    def __post_init__(self):
        for name in ("rows", "columns", "colours", "chips", "goal_distance"):
            check_whole(name, getattr(self, name), 1, MOST_COLOURS if name == "colours" else MOST_CELLS)
        if self.cells > MOST_CELLS:
            raise ValueError(f"rows={self.rows}, columns={self.columns}: at most {MOST_CELLS} cells")
        if self.most_offers > MOST_OFFERS:
            raise ValueError(
                f"chips={self.chips}, colours={self.colours}: {PLAYERS * self.chips} chips can be divided in "
                f"{self.most_offers:,} ways, at most {MOST_OFFERS:,}: take fewer chips or colours"
            )
        if self.start is None:
            object.__setattr__(self, "start", (self.rows // 2, self.columns // 2))
        if not self._inside(self.start):
            raise ValueError(f"start={self.start}: the board has {self.rows} rows and {self.columns} columns, from 0")
        if self.goals is None:
            cells = [(row, column) for row in range(self.rows) for column in range(self.columns)]
            object.__setattr__(
                self, "goals", tuple(c for c in cells if self.steps(self.start, c) >= self.goal_distance)
            )
        if len(self.goals) < 1:
            raise ValueError(
                f"goal_distance={self.goal_distance}: no cell of a {self.rows} x {self.columns} board is so many steps "
                f"from {self.start}: "
                "take a larger board, a smaller goal_distance, or name the goals"
            )
        far = [cell for cell in self.goals if self.steps(self.start, cell) > PLAYERS * self.chips]
        if far:
            raise ValueError(
                f"goals={self.goals}: {far[0]} is {self.steps(self.start, far[0])} steps from the start, and the "
                f"players hold {PLAYERS * self.chips} chips, one a step: deal more chips, or name nearer goals"
            )
        outside = [cell for cell in self.goals if not self._inside(cell) or tuple(cell) == tuple(self.start)]
        if outside or len(set(self.goals)) < len(self.goals):
            raise ValueError(
                f"goals={self.goals}: different cells of the {self.rows} x {self.columns} board, not the start"
            )

    def _inside(self, cell: tuple[int, int]) -> bool:
        whole = len(cell) == 2 and all(isinstance(place, Integral) for place in cell)
        return whole and 0 <= cell[0] < self.rows and 0 <= cell[1] < self.columns

    @staticmethod
    def steps(one: tuple[int, int], other: tuple[int, int]) -> int:
        """Steps between two cells, which are next to each other in rows and columns, not diagonally."""
        return abs(one[0] - other[0]) + abs(one[1] - other[1])

    @property
    def cells(self) -> int:
        """How many cells there are; cell = row * columns + column."""
        return self.rows * self.columns

    @property
    def start_cell(self) -> int:
        """The cell of the start."""
        return self.start[0] * self.columns + self.start[1]

    @cached_property
    def distance(self) -> np.ndarray:
        """[G, cells], steps from a cell to a goal."""
        cells = [divmod(cell, self.columns) for cell in range(self.cells)]
        return np.array([[self.steps(goal, cell) for cell in cells] for goal in self.goals])

    @cached_property
    def neighbours(self) -> np.ndarray:
        """[cells, 4], the cells above, below, left and right; a cell itself where the board ends."""
        found = np.empty((self.cells, 4), int)
        for cell in range(self.cells):
            row, column = divmod(cell, self.columns)
            around = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
            found[cell] = [r * self.columns + c if self._inside((r, c)) else cell for r, c in around]
        return found

    @property
    def most_offers(self) -> int:
        """The most ways to divide any pool of chips: prod (T_c + 1) where the chips T are spread most evenly."""
        each, more = divmod(PLAYERS * self.chips, self.colours)
        return (each + 1) ** (self.colours - more) * (each + 2) ** more


class Board(NamedTuple):
    """One game's board. Players are 0, who offers first (the initiator), and 1 (the responder)."""

    tiles: Int[Array, "*batch R C"]  # colour of each cell; that of the start is paid on coming back to it
    chips: Int[Array, "*batch 2 K"]  # of each colour, for either player
    goals: Int[Array, "*batch 2"]  # each player's goal, an index into `Layout.goals`


def check_dealt(layout: Layout, board: Board, *, equal_goals: bool = False) -> None:
    """Whether a board can have been dealt: different goals, and chips drawn from the tiles without replacement.

    board: one, of NumPy arrays.   equal_goals: whether the players may have the same goal.
    Raises: ValueError with what cannot be.
    """
    tiles = np.bincount(np.delete(board.tiles.reshape(-1), layout.start_cell), minlength=layout.colours)
    held = board.chips.sum(0)
    more = np.flatnonzero(held > tiles)
    if more.size:
        colour = int(more[0])
        have = f"{tiles[colour]} tiles beside the start have" if tiles[colour] else "no tile has"
        raise ValueError(
            f"the players hold {held[colour]} chips of colour {colour} (chips1={board.chips[0].tolist()}, "
            f"chips2={board.chips[1].tolist()}), which {have}: chips are drawn from the board's tiles, each tile once"
        )
    one, other = board.goals.tolist()
    if one == other and not equal_goals:
        raise ValueError(f"both players have goal {one}: the players' goals differ")


def swapped(board: Board) -> Board:
    """The mirrored seating: each player gets the other's chips and goal."""
    return Board(board.tiles, board.chips[..., ::-1, :], board.goals[..., ::-1])
