"""Order-k minds of matrix games against recorded traces, and against the rules written out as a recursion."""

import json
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.matrix.rules import Config, Event, matrix, zero_sum
from otherminds.games.protocol import NO_ANSWER
from otherminds.games.rps.rules import rps
from otherminds.tom.minds.matrix.order import Params, draw_params, order_mind

UNOPTIMIZED = {"xla_backend_optimization_level": 0}  # the programs run once, and compile faster
PAYOFFS = np.random.default_rng(5).normal(size=(2, 2, 3))  # ROW has 2 moves, COLUMN 3
FIVE = np.array([[(0, 1, 1, -1, -1)[(a - b) % 5] for b in range(5)] for a in range(5)], float)  # each beats two


def event(moves):
    return Event(jnp.bool_(True), moves, jnp.zeros(2), (moves >= 0).all())


@cache
def shadow(game, role, order, exclusive=True, ties="shared", frozen=True):
    """(params, moves [T, 2]) -> log-policy, readout and level before every round."""
    mind = order_mind(order, exclusive, ties=ties, frozen=frozen)

    def run(params, moves):
        view = game.view(game.init(None), role)

        def play_round(belief, now):
            actions = mind.alternatives(params, belief, None)
            seen = mind.log_policy(params, belief, None, actions), mind.readout(params, belief, None), belief.level
            return mind.update(params, belief, event(now)), seen

        return jax.lax.scan(play_round, mind.init(params, None, view), moves)[1]

    return jax.jit(run, compiler_options=UNOPTIMIZED)


def chain(level):
    """b^(0) to b^(k) of a frozen belief."""
    if not hasattr(level, "own"):
        return [level]
    deepest = level.other
    while hasattr(deepest, "other"):
        deepest = deepest.other
    return [*chain(level.own), deepest]


@pytest.mark.parametrize("order", [0, 1, 2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_recorded_traces(shared, order):
    cases = json.loads((shared / "golden/repeated_games/deweerd_trace.json").read_text())["cases"]
    cases = [case for case in cases if case["order"] == order]
    assert len(cases) == 4
    with jax.enable_x64(True):
        for case in cases:
            params = Params(
                jnp.asarray(case["lam"]),
                tuple(jnp.asarray(b) for b in case["b_init"]),
                jnp.full(order, case["c0"]),
            )
            run = shadow(rps(40), 0, order, case["rule"] == "excl", "lowest")
            log_policy, readout, level = run(params, jnp.array([case["own"], case["opp"]]).T)
            trace = case["trace_before_update"]
            np.testing.assert_array_equal(np.argmax(log_policy, 1), [row["action"] for row in trace])
            predicted = np.argmax(readout["predictions"], -1) if order else np.zeros((40, 0))
            np.testing.assert_array_equal(predicted, [row["pred"] for row in trace])
            close = dict(rtol=0, atol=1e-14)
            np.testing.assert_allclose(np.exp(readout["other_next"]), [row["mix"] for row in trace], **close)
            np.testing.assert_allclose(np.exp(readout["confidence"]), [row["c"] for row in trace], **close)
            np.testing.assert_allclose(np.stack(chain(level), 1), [row["b"] for row in trace], **close)


class Written:
    """The order-k agent as a recursion over agents: it holds one of the other and one of itself."""

    def __init__(self, order, role, params, exclusive, frozen, depth=0, free=True):
        self.order, self.role, self.exclusive, self.free = order, role, exclusive, free
        self.own_payoff, self.speed = (PAYOFFS[0] if role == 0 else PAYOFFS[1].T), float(params.learning_speed)
        if order == 0:
            self.b = np.array(params.beliefs[depth], float)
            return
        rest = (params, exclusive, frozen)
        self.other = Written(order - 1, 1 - role, *rest, depth + 1, free and not frozen)
        self.self = Written(order - 1, role, *rest, depth, True) if free else None
        self.c = float(params.confidence[order - 1]) if free else 1.0

    def expects(self):
        """What the other will do, as probabilities."""
        if self.order == 0:
            return self.b
        mixed = np.zeros(PAYOFFS.shape[1:][1 - self.role])
        mixed[self.other.acts()] = self.c
        return mixed + (1 - self.c) * (self.self.expects() if self.free else 0)

    def acts(self):
        return int(np.argmax(self.own_payoff @ self.expects()))

    def learns(self, moves):
        """Returns whether an order from 1 on foresaw the move."""
        seen = moves[1 - self.role]
        if self.order == 0:
            if seen >= 0:
                self.b = (1 - self.speed) * self.b + self.speed * np.eye(len(self.b))[seen]
            return False
        foresaw = self.other.acts() == seen
        lower = self.self.learns(moves) if self.free else False
        if self.free and seen >= 0 and not (foresaw and lower and self.exclusive):
            self.c = (1 - self.speed) * self.c + self.speed * foresaw
        self.other.learns(moves)
        return foresaw or lower


@pytest.mark.parametrize(
    ("order", "role", "exclusive", "frozen"),
    [(1, 0, True, True), (2, 1, True, True), (3, 0, False, True), (3, 1, True, False)],
)
def test_the_rules_written_out(order, role, exclusive, frozen):
    """Two moves against three, payoffs of both at random, missing moves."""
    rng = np.random.default_rng(order)
    moves = np.stack([rng.integers(-1, 2, 60), rng.integers(-1, 3, 60)], 1)
    with jax.enable_x64(True):
        params = draw_params(jax.random.key(order), order, *PAYOFFS.shape[1:][:: 1 - 2 * role], confidence=None)
        game = matrix(Config(PAYOFFS, 60))
        log_policy, readout, _ = shadow(game, role, order, exclusive, "shared", frozen)(params, jnp.asarray(moves))
    agent = Written(order, role, params, exclusive, frozen)
    for t in range(60):
        np.testing.assert_allclose(np.exp(readout["other_next"][t]), agent.expects(), atol=1e-12)
        np.testing.assert_array_equal(np.exp(log_policy[t]), np.eye(len(log_policy[t]))[agent.acts()])
        agent.learns(moves[t])


def test_a_missing_move_is_no_evidence():
    params = draw_params(jax.random.key(0), 2, learning_speed=0.4, confidence=0.3)
    nobody, own_only = ([NO_ANSWER] * 2, [1, NO_ANSWER])
    _, readout, level = shadow(rps(2), 0, 2)(params, jnp.array([nobody, [1, 2]]))
    jax.tree.map(lambda leaf: np.testing.assert_array_equal(leaf[0], leaf[1]), level)
    _, readout, level = shadow(rps(2), 0, 2)(params, jnp.array([own_only, [1, 2]]))
    b = chain(level)
    np.testing.assert_array_equal(readout["confidence"][0], readout["confidence"][1])
    assert (b[0][0] == b[0][1]).all() and (b[2][0] == b[2][1]).all() and (b[1][0] != b[1][1]).all()


def test_ties():
    """Five moves of which each beats two: the other's answer to a sure move is one of two."""
    game = matrix(Config(zero_sum(FIVE), 2))
    sure = tuple(jnp.eye(5)[1] for _ in range(2))  # b^(1): the other expects my move 1; it is beaten by 2 and 3
    params = Params(jnp.float32(0.5), sure, jnp.ones(1), tie_key=jax.random.key(0))
    moves = jnp.zeros((2, 2), jnp.int32)
    predictions = {}
    for ties in ("shared", "lowest"):
        predictions[ties] = np.exp(shadow(game, 0, 1, True, ties)(params, moves)[1]["predictions"][0, 0])
    np.testing.assert_allclose(predictions["shared"], [0, 0, 0.5, 0.5, 0], atol=1e-6)
    np.testing.assert_array_equal(predictions["lowest"], [0, 0, 1, 0, 0])
    keys = jax.random.split(jax.random.key(1), 2000)
    drawn = jax.vmap(lambda key: shadow(game, 0, 1, True, "drawn")(params._replace(tie_key=key), moves))(keys)
    first = np.exp(drawn[1]["predictions"][:, 0, 0])
    assert ((first == 0) | (first == 1)).all()
    np.testing.assert_allclose(first.mean(0), [0, 0, 0.5, 0.5, 0], atol=0.05)  # 4.5 standard errors
    # It expects 2 or 3 and has one best response to each pair, or two to one of them: its own choice is not drawn.
    own = np.exp(drawn[0][:, 0])
    assert set(np.unique(own.round(3))) == {0, 0.5}


def test_lapse_and_softmax():
    params = draw_params(jax.random.key(3), 1, learning_speed=0.5, confidence=0.5)
    moves = jnp.array([[0, 1], [2, 2]])
    run = shadow(rps(2), 0, 1)
    best, readout, _ = run(params, moves)
    lapsing = run(params._replace(lapse=jnp.float32(0.3)), moves)[0]
    np.testing.assert_allclose(np.exp(lapsing), 0.7 * np.exp(best) + 0.1, rtol=1e-5)
    values = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]]) @ np.exp(readout["other_next"]).T
    soft = np.exp(run(params._replace(beta=jnp.float32(2.0)), moves)[0])
    np.testing.assert_allclose(soft, (np.exp(2 * values) / np.exp(2 * values).sum(0)).T, rtol=1e-5)


def test_what_lasts_into_another_game():
    mind, params = order_mind(2), draw_params(jax.random.key(4), 2, confidence=0.5)
    view = rps(2).view(rps(2).init(None), 0)

    @partial(jax.jit, compiler_options=UNOPTIMIZED)
    def two_games(params):
        learned = mind.update(params, mind.init(params, None, view), event(jnp.array([0, 1])))
        return learned, mind.init(params, mind.carry(params, learned), view)

    learned, again = two_games(params)
    jax.tree.map(np.testing.assert_array_equal, again.level, learned.level)
    assert int(learned.seat.round) == 1 and int(again.seat.round) == 0


def test_drawn_params():
    keys = jax.random.split(jax.random.key(0), 4000)
    draw = jax.vmap(lambda key: draw_params(key, 2, 2, 3, confidence=None))
    drawn = jax.jit(draw, compiler_options=UNOPTIMIZED)(keys)
    assert [b.shape[1] for b in drawn.beliefs] == [3, 2, 3]
    for b in drawn.beliefs:
        np.testing.assert_allclose(b.sum(1), 1, rtol=1e-5)
        size = b.shape[1]  # Dirichlet of ones: mean 1/n, variance (n - 1) / (n^2 (n + 1))
        np.testing.assert_allclose(b.mean(0), 1 / size, atol=0.02)
        np.testing.assert_allclose(b.var(0), (size - 1) / size**2 / (size + 1), atol=0.01)
    for numbers in (drawn.learning_speed, *drawn.confidence.T):
        np.testing.assert_allclose([numbers.mean(), numbers.var()], [1 / 2, 1 / 12], atol=0.02)
    fixed = draw_params(jax.random.key(0), 1, learning_speed=0.5, confidence=0.2, uniform_beliefs=True, lapse=0.1)
    assert float(fixed.learning_speed) == 0.5 and float(fixed.lapse) == np.float32(0.1)
    np.testing.assert_allclose(np.concatenate([*fixed.beliefs, fixed.confidence]), [1 / 3] * 6 + [0.2], rtol=1e-6)


def test_what_is_refused():
    with pytest.raises(ValueError, match="order=-1"):
        order_mind(-1)
    with pytest.raises(ValueError, match="ties='highest'"):
        order_mind(1, ties="highest")
    with pytest.raises(ValueError, match="learning_speed=2"):
        draw_params(jax.random.key(0), 1, learning_speed=2.0)
