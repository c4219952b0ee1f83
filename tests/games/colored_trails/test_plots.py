"""Pictures are written, for boards of any size, and leave no state of matplotlib behind."""

import sys

import numpy as np
import pytest
from matplotlib.image import imread

from otherminds.games.colored_trails.board import Board, Layout
from otherminds.games.colored_trails.plots import MOST_PANELS, board_figure, goal_figure

SMALL = Layout(rows=2, columns=3, colours=12, chips=3, goal_distance=2)


def board(layout, seed=0):
    rng = np.random.default_rng(seed)
    tiles = rng.integers(0, layout.colours, (layout.rows, layout.columns)).astype(np.int32)
    chips = rng.multinomial(layout.chips, np.full(layout.colours, 1 / layout.colours), 2).astype(np.int32)
    return Board(tiles, chips, np.array([0, len(layout.goals) - 1], np.int32))


@pytest.mark.parametrize("layout", [Layout(), SMALL], ids=["usual", "small"])
def test_a_board(layout, tmp_path):
    path = tmp_path / "board.png"
    one = board(layout)
    assert board_figure(layout, one, path, title="a $ title", walks=layout is SMALL) == path
    first = imread(path)
    board_figure(layout, one, path, held=one.chips[::-1])
    assert first.std() > 0.05 and not (imread(path).shape == first.shape and (imread(path) == first).all())
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def test_beliefs_about_a_goal(tmp_path):
    layout = Layout()
    log_goal = np.log(np.random.default_rng(0).dirichlet(np.ones(12), 5))
    log_goal[0] = np.where(np.arange(12) == 2, 0, -np.inf)
    shapes = [imread(goal_figure(layout, log_goal[:n], str(tmp_path / f"{n}.png"), true_goal=2)).shape for n in (1, 5)]
    assert shapes[1][1] > shapes[0][1]


@pytest.mark.parametrize("shape", [(0, 12), (MOST_PANELS + 1, 12), (2, 11)])
def test_beliefs_that_are_no_picture(shape, tmp_path):
    with pytest.raises(ValueError, match="1 to 12 moments, 12 goals"):
        goal_figure(Layout(), np.zeros(shape), tmp_path / "no.png")
