"""Layouts, boards, offers: their numbers, and what makes no game."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otherminds.games.colored_trails.board import Board, Layout, swapped
from otherminds.games.colored_trails.offers import code_of, offers

LAYOUT = Layout()
found_offers = jax.jit(offers, static_argnums=0)


def board(chips, layout=LAYOUT, goals=(0, 1)):
    tiles = np.zeros((layout.rows, layout.columns), np.int32)
    return Board(jnp.array(tiles), jnp.array(chips, jnp.int32), jnp.array(goals, jnp.int32))


def test_the_usual_layout():
    assert LAYOUT.start == (2, 2) and len(LAYOUT.goals) == 12 and LAYOUT.most_offers == 108
    assert LAYOUT.distance[:, LAYOUT.start_cell].tolist() == [4, 3, 3, 4, 3, 3, 3, 3, 4, 3, 3, 4]
    assert LAYOUT.neighbours[0].tolist() == [0, 5, 0, 1] and LAYOUT.neighbours[12].tolist() == [7, 17, 11, 13]
    assert hash(Layout()) == hash(LAYOUT)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"rows": 0}, "rows=0: a whole number from 1 to 400"),
        ({"chips": True}, "chips=True: a whole number from 1"),
        ({"goal_distance": 0}, "goal_distance=0: a whole number"),
        ({"rows": 20, "columns": 21}, "rows=20, columns=21: at most 400 cells"),
        ({"chips": 30, "colours": 10}, "60 chips can be divided in 282,475,249 ways, at most 10,000"),
        ({"chips": 400, "colours": 20}, "chips=400, colours=20: 800 chips can be divided in 180,167,"),
        ({"colours": 21}, "colours=21: a whole number from 1 to 20"),
        ({"start": (5, 0)}, r"start=\(5, 0\): the board has 5 rows"),
        ({"rows": 2, "columns": 2}, "goal_distance=3: no cell of a 2 x 2 board is so many steps"),
        ({"goals": ((0, 0), (0, 0))}, "different cells"),
        ({"goals": ((2, 2),)}, "not the start"),
        ({"goals": ((0, 5),)}, "different cells of the 5 x 5 board"),
        ({"chips": 1}, "4 steps from the start, and the players hold 2 chips.*deal more chips"),
        ({"goals": ((4, 4), (0, 1)), "start": (0, 0), "chips": 3}, r"\(4, 4\) is 8 steps from the start"),
    ],
)
def test_layouts_that_make_no_game(settings, message):
    with pytest.raises(ValueError, match=message):
        Layout(**settings)


deals = st.lists(st.integers(0, 4), min_size=8, max_size=8).map(
    lambda drawn: [np.bincount(drawn[player::2], minlength=5).tolist() for player in (0, 1)]
)


@settings(max_examples=60, deadline=None)
@given(deals)
def test_offers_are_all_divisions_of_the_pool(chips):
    found = jax.tree.map(np.asarray, found_offers(LAYOUT, board(chips)))
    pool = np.sum(chips, 0)
    count = int(np.prod(pool + 1))
    assert found.valid.tolist() == [code < count for code in range(108)]
    held = found.chips[:count]
    assert len({tuple(x) for x in held.tolist()}) == count and (held <= pool).all()
    np.testing.assert_array_equal(held[found.flip[:count]], pool - held)
    np.testing.assert_array_equal(found.flip[found.flip], np.arange(108))
    np.testing.assert_array_equal(code_of(found, jnp.array(held)), np.arange(count))
    np.testing.assert_array_equal(held[found.own], chips)
    assert found.flip[found.own[0]] == found.own[1] and not found.chips[count:].any()


def test_the_most_offers_that_there_can_be():
    for layout in (LAYOUT, Layout(colours=3, chips=2, goal_distance=2), Layout(colours=6, chips=5)):
        each, more = divmod(2 * layout.chips, layout.colours)
        pool = [each + (colour < more) for colour in range(layout.colours)]
        mine = [count // 2 for count in pool]
        while sum(mine) < layout.chips:
            place = next(i for i, count in enumerate(pool) if mine[i] < count and count % 2)
            mine[place] += 1
            pool[place] += 1 if mine[place] > pool[place] else 0
        chips = [mine, (np.array(pool) - mine).tolist()]
        assert offers(layout, board(chips, layout)).valid.all()


def test_swapping_seats_twice_is_no_change():
    one = board([[4, 0, 0, 0, 0], [0, 1, 1, 1, 1]])
    other = swapped(one)
    assert other.goals.tolist() == [1, 0] and other.chips[0].tolist() == [0, 1, 1, 1, 1]
    assert all((a == b).all() for a, b in zip(swapped(other), one, strict=True))
