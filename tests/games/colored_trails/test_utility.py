"""What chips are worth, against recorded numbers and against all walks written out."""

import json
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.colored_trails.board import Board, Layout
from otherminds.games.colored_trails.generation import flipped, mirrored_goals, recolour
from otherminds.games.colored_trails.offers import offers
from otherminds.games.colored_trails.utility import Scoring, deal, gains, within_reach
from otherminds.games.colored_trails.walks import best_walk

dealt = jax.jit(deal, static_argnums=(0, 2))
reach = jax.jit(lambda layout, board: within_reach(layout, board, offers(layout, board)), static_argnums=0)
ODD = Scoring(goal=31.0, chip=2.5, step=7.25)
OTHER = [
    Layout(rows=3, columns=4, colours=3, chips=2, goal_distance=2),
    Layout(rows=2, columns=5, colours=2, chips=3, start=(0, 0), goals=((1, 4), (0, 1), (1, 0))),
]


def random_board(layout, seed):
    rng = np.random.default_rng(seed)
    tiles = rng.integers(0, layout.colours, (layout.rows, layout.columns))
    drawn = rng.integers(0, layout.colours, (2, layout.chips))
    chips = np.stack([np.bincount(row, minlength=layout.colours) for row in drawn])
    goals = rng.choice(len(layout.goals), 2, replace=False)
    return Board(*(jnp.array(part, jnp.int32) for part in (tiles, chips, goals)))


def ends(layout, tiles, cell, chips):
    """(cell, chips left) at the end of every walk, one after the other."""
    yield cell, sum(chips)
    for row_step, column_step in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        row, column = cell[0] + row_step, cell[1] + column_step
        if 0 <= row < layout.rows and 0 <= column < layout.columns and chips[tiles[row][column]]:
            left = list(chips)
            left[tiles[row][column]] -= 1
            yield from ends(layout, tiles, (row, column), left)


@pytest.mark.parametrize("layout", OTHER, ids=["3x4", "2x5"])
def test_against_all_walks(layout):
    for seed in range(3):
        one = random_board(layout, seed)
        found, tiles = jax.tree.map(np.asarray, dealt(layout, one, ODD)), np.asarray(one.tiles).tolist()
        reached = np.asarray(reach(layout, one))
        for code in np.flatnonzero(found.offers.valid):
            chips = found.offers.chips[code].tolist()
            walks = list(ends(layout, tiles, layout.start, chips))
            for goal, where in enumerate(layout.goals):
                best = max(
                    ODD.goal * (end == where) + ODD.chip * left - ODD.step * Layout.steps(end, where)
                    for end, left in walks
                )
                np.testing.assert_allclose(found.utility[goal, code], best, rtol=1e-5)
                assert reached[goal, code] == any(end == where for end, _ in walks)
        assert not found.utility[:, ~found.offers.valid].any()


def test_against_recorded_utilities(shared):
    boards = json.loads((shared / "golden/colored_trails/utilities.json").read_text())
    batch = Board(*(jnp.array([b[name] for b in boards], jnp.int32) for name in ("board", "chips", "goals")))
    found = jax.tree.map(np.asarray, jax.jit(jax.vmap(lambda board: deal(Layout(), board)))(batch))
    assert len(boards) == 60
    for expected, utility, ours in zip(boards, found.utility, zip(*found.offers, strict=True), strict=True):
        count = expected["n_offers"]
        pool, _, _, valid, flip, own = ours
        np.testing.assert_array_equal(utility[:, :count], expected["utility_seed"])
        assert valid.sum() == count and not utility[:, count:].any()
        assert pool.tolist() == expected["bin_max"] and own.tolist() == expected["chip_codes"]
        np.testing.assert_array_equal(flip[:count], expected["flip"])


def test_a_best_walk_is_worth_its_utility():
    layout = OTHER[0]
    one = random_board(layout, 5)
    found = jax.tree.map(np.asarray, dealt(layout, one, ODD))
    for code in np.flatnonzero(found.offers.valid)[::3]:
        for goal in range(len(layout.goals)):
            chips = found.offers.chips[code]
            walk, points = best_walk(layout, one.tiles, chips, goal, ODD)
            np.testing.assert_allclose(points, found.utility[goal, code], rtol=1e-5)
            assert walk[0] == layout.start_cell
            paid = np.bincount(np.asarray(one.tiles).reshape(-1)[walk[1:]], minlength=layout.colours)
            assert (paid <= chips).all()
            assert all(b in layout.neighbours[a] and a != b for a, b in pairwise(walk))


def test_gains_are_against_the_own_chips():
    one = random_board(Layout(), 3)
    found = dealt(Layout(), one, None)
    for role in (0, 1):
        gain = np.asarray(gains(found, role))
        assert not gain[:, found.offers.own[role]].any()
        np.testing.assert_array_equal(np.diff(gain), np.diff(found.utility))


@pytest.mark.parametrize("direction", ["horizontal", "vertical"])
def test_a_mirrored_board_is_worth_the_same(direction):
    one = random_board(Layout(), 7)
    there = flipped(Layout(), one, direction)
    mirror = mirrored_goals(Layout(), direction)
    np.testing.assert_array_equal(dealt(Layout(), there, None).utility[mirror], dealt(Layout(), one, None).utility)
    np.testing.assert_array_equal(there.goals, mirror[np.asarray(one.goals)])
    back = flipped(Layout(), there, direction)
    assert all((a == b).all() for a, b in zip(back, one, strict=True))


def test_a_recoloured_board_is_worth_the_same():
    one, permutation = random_board(Layout(), 8), [2, 0, 4, 1, 3]
    there = recolour(one, permutation)
    before, after = (jax.tree.map(np.asarray, dealt(Layout(), board, None)) for board in (one, there))
    assert int(there.tiles[0, 0]) == permutation[int(one.tiles[0, 0])]
    for code in np.flatnonzero(before.offers.valid):
        chips = np.zeros(5, int)
        chips[permutation] = before.offers.chips[code]
        same = int(chips @ after.offers.stride)
        np.testing.assert_array_equal(after.utility[:, same], before.utility[:, code])
    back = recolour(there, np.argsort(permutation))
    assert all((a == b).all() for a, b in zip(back, one, strict=True))


def test_copies_that_there_are_not():
    one = random_board(Layout(), 8)
    with pytest.raises(ValueError, match=r"permutation=\[0, 1, 1, 2, 3\]: each of 0 to 4 once"):
        recolour(one, [0, 1, 1, 2, 3])
    with pytest.raises(ValueError, match="direction='sideways': one of horizontal, vertical"):
        flipped(Layout(), one, "sideways")
    crooked = Layout(start=(0, 1))
    with pytest.raises(ValueError, match="do not lie symmetrically"):
        flipped(crooked, one, "horizontal")
