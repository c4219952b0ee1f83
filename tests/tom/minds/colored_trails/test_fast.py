"""The fast negotiators are the plain ones: the same values, beliefs and choices, up to rounding."""

from dataclasses import replace
from itertools import product
from math import prod

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.colored_trails.board import Board, Layout
from otherminds.games.colored_trails.rules import Rules
from otherminds.games.colored_trails.utility import deal
from otherminds.tom.minds.colored_trails.fast import MOST_OFFERS, fast_negotiator, faster, grid_shape, quickest
from otherminds.tom.minds.colored_trails.negotiator import Params
from otherminds.tom.minds.colored_trails.order import best_choice, negotiator
from otherminds.tom.minds.colored_trails.variant import DE_WEERD, DESCRIBED, LLM_TOM

OTHER_WAYS = replace(DESCRIBED, name="other-ways", on_send="increase", withdrawal="zero", absent_colours=False)
LOPSIDED = Rules(layout=Layout(rows=3, columns=4, colours=3, chips=3, goals=((0, 0), (0, 3), (2, 0))), limit=12)
SLOW = pytest.mark.slow


def same_choice(seat, values, expected, tolerance):
    """Both values lead to the same move, or the two moves differ in value by less than the tolerance."""
    seat = jax.tree.map(jnp.asarray, seat)
    one, other = (int(np.argmax(best_choice(DESCRIBED, seat, jnp.asarray(v)))) for v in (values, expected))
    return one == other or abs(expected[one] - expected[other]) < tolerance


def assert_same(replay, variant, order, rules, deal, offered, params, tolerance):
    for role in (0, 1):
        belief, values, _ = replay(fast_negotiator(variant, order, rules), rules)(params, deal, role, offered)
        plain, expected, _ = replay(negotiator(variant, order, rules), rules)(params, deal, role, offered)
        np.testing.assert_allclose(values, expected, atol=tolerance)
        goals = np.exp(belief.log_goal[:, role, order - 1])
        np.testing.assert_allclose(goals, np.exp(plain.level.log_hypotheses), atol=tolerance)
        np.testing.assert_allclose(belief.confidence[:, order - 1], plain.level.confidence, atol=tolerance)
        for t in range(len(offered) + 1):
            assert same_choice(jax.tree.map(lambda x, t=t: x[t], plain.seat), values[t], expected[t], tolerance)


@pytest.mark.parametrize(
    ("variant", "order", "speeds"),
    [
        (DESCRIBED, 2, (0.0, 0.3, 0.8, 1.0)),
        pytest.param(DESCRIBED, 1, (0.0, 0.3, 0.8, 1.0), marks=SLOW),
        pytest.param(LLM_TOM, 2, (0.3, 0.8), marks=SLOW),
        pytest.param(OTHER_WAYS, 2, (0.5, 0.8), marks=SLOW),
        pytest.param(DESCRIBED, 3, (0.8,), marks=SLOW),
    ],
    ids=lambda x: getattr(x, "name", x),
)
def test_plain_and_fast_on_tiny_boards(tiny_rules, tiny_deals, haggling, replay, variant, order, speeds):
    """After random offers, whatever the learning speed and the confidence at first; to 1e-8 in double precision."""
    with jax.enable_x64(True):
        for seed, speed in product((1, 2, 5), speeds):
            offered = haggling(tiny_deals(seed), seed, 6)
            params = Params(learning_speed=speed, confidence=(1.0, 0.6, 0.9)[-order:] + (1.0,) * 3)
            assert_same(replay, variant, order, tiny_rules, tiny_deals(seed), offered, params, 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, pytest.param(2, marks=SLOW)])
def test_a_board_that_is_no_square(haggling, replay, order):
    """Three colours, three chips, three goals, of which one is next to the start; in single precision."""
    rng, layout = np.random.default_rng(3), LOPSIDED.layout
    for seed in range(4):
        chips = np.stack([rng.multinomial(layout.chips, np.full(3, 1 / 3)) for _ in range(2)])
        board = Board(*map(jnp.asarray, (rng.integers(0, 3, (3, 4)), chips, rng.integers(0, 3, 2))))
        dealt = jax.tree.map(np.asarray, deal(layout, board))
        offered = haggling(dealt, seed, 5)
        assert_same(replay, DESCRIBED, order, LOPSIDED, dealt, offered, Params(), 1e-4)


@pytest.mark.parametrize(
    ("variant", "file", "order", "most"),
    [
        (DESCRIBED, "seed_text_order01", 1, 12),
        pytest.param(DESCRIBED, "seed_text_order01", 1, None, marks=SLOW),
        pytest.param(DESCRIBED, "seed_text_order2", 2, None, marks=SLOW),
        pytest.param(LLM_TOM, "llm_tom_order01", 1, None, marks=SLOW),
        pytest.param(LLM_TOM, "llm_tom_order2", 2, None, marks=SLOW),
    ],
    ids=lambda x: getattr(x, "name", x),
)
def test_traces_in_single_precision(golden, replay, variant, file, order, most):
    """Recorded games: values to 1e-4 points, choices the same unless the best two are as close. Units there are x10."""
    rules = Rules(limit=12)
    decisions = 0
    for game in golden.games(f"{file}.json", order)[:most]:
        steps = [move for move in game["steps"] if "choice" in move]
        moves = [move["choice"] for move in steps]
        for role in np.flatnonzero(np.array(game["orders"]) == order):
            belief, values, _ = replay(fast_negotiator(variant, order, rules), rules)(
                Params(), game["deal"], role, moves
            )
            for t, move in enumerate(steps):
                if move["player"] == role:
                    decisions += 1
                    expected = np.array(move.get("ev", move.get("ev_x10"))) / 10
                    np.testing.assert_allclose(values[t, : len(expected)], expected, atol=1e-4)
                    seat = jax.tree.map(lambda x, t=t: x[t], belief.seat)
                    padded = np.append(expected, np.full(values.shape[1] - len(expected), -np.inf))
                    assert same_choice(seat, values[t], padded.astype(np.float32), 1e-4)
    assert decisions > 10


@SLOW
def test_what_lasts_into_the_next_game(tiny_rules, tiny_deals, haggling, replay):
    """Type beliefs and confidence after a game, and the values that the next one begins with."""
    found = []
    with jax.enable_x64(True):
        first, second = tiny_deals(1), tiny_deals(2)
        offered = haggling(first, 1, 5)
        for make in (fast_negotiator, negotiator):
            mind = make(DESCRIBED, 1, tiny_rules)
            *_, last = replay(mind, tiny_rules)(Params(), first, 1, offered)
            memory = jax.tree.map(jnp.asarray, mind.carry(Params(), last))
            found.append(replay(mind, tiny_rules)(Params(), second, 1, offered, memory)[1])
    np.testing.assert_allclose(*found, atol=1e-9)
    assert np.ptp(found[0][np.isfinite(found[0])]) > 0


@pytest.mark.parametrize(
    "layout", [Layout(), Layout(colours=3, chips=3), Layout(colours=2, chips=5), Layout(chips=2, goal_distance=4)]
)
def test_every_pool_fits_the_grid(layout):
    rows, columns = grid_shape(layout)
    for pool in product(range(2 * layout.chips + 1), repeat=layout.colours):
        if sum(pool) == 2 * layout.chips:
            radix = np.array(pool) + 1
            sides = (prod(radix[list(side)]) for side in product((False, True), repeat=layout.colours))
            assert any(a <= rows and radix.prod() // a <= columns for a in sides)
    if layout == Layout():
        assert rows * columns == layout.most_offers == 108


def test_what_it_refuses():
    with pytest.raises(ValueError, match=r"ties='all'.*take order.negotiator"):
        fast_negotiator(DE_WEERD, 1)
    with pytest.raises(ValueError, match="leak=True"):
        fast_negotiator(replace(LLM_TOM, leak=True), 1)
    with pytest.raises(ValueError, match="order=-1"):
        fast_negotiator(DESCRIBED, -1)
    many = Rules(layout=Layout(chips=12))
    assert many.layout.most_offers > MOST_OFFERS
    with pytest.raises(ValueError, match=f"at most {MOST_OFFERS}"):
        fast_negotiator(DESCRIBED, 1, many)


def test_the_plain_one_serves_where_it_must():
    assert quickest(DE_WEERD, 1) is negotiator(DE_WEERD, 1, Rules())
    assert fast_negotiator(DESCRIBED, 0) is negotiator(DESCRIBED, 0, Rules())
    assert faster(negotiator(LLM_TOM, 2, Rules())) is fast_negotiator(LLM_TOM, 2, Rules())
    assert faster(negotiator(DE_WEERD, 2, Rules())) is negotiator(DE_WEERD, 2, Rules())
