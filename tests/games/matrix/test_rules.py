import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otherminds.games.matrix.rules import Config, Role, matrix, symmetric, zero_sum
from otherminds.games.protocol import NO_ANSWER
from otherminds.games.rollout import game_key, rollout
from otherminds.tom.mind import Mind, draw, memoryless

PAYOFFS = np.array([[[3, -1, 0.5], [2, 7, -4]], [[1, 0, 2], [-3, 5, 11]]])  # ROW has 2 moves, COLUMN 3
GAME = matrix(Config(PAYOFFS, rounds=4))


def unused(*arguments):
    raise AssertionError("a rollout draws by `sample` alone")


def equal(a, b):
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


def played(moves, game=GAME):
    state, events = game.init(jax.random.key(0)), []
    for a, b in moves:
        state, event = game.step(None, state, {Role.ROW: a, Role.COLUMN: b})
        events.append(event)
    return state, events


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(-1, 2)), max_size=6))
def test_the_rules_written_out(moves):
    state, events = played(moves)
    total, history = np.zeros(2), []
    for index, ((a, b), event) in enumerate(zip(moves, events, strict=True)):
        assert bool(event.valid) == (index < 4)
        assert bool(event.complete) == (a >= 0 and b >= 0)
        won = [PAYOFFS[0, a, b], PAYOFFS[1, a, b]] if a >= 0 and b >= 0 else [0, 0]
        np.testing.assert_array_equal(event.payoff, won)
        np.testing.assert_array_equal(event.moves, [a, b])
        if index < 4:
            total += won
            history.append((a, b))
    padded = np.full((2, 4), NO_ANSWER)
    padded[:, : len(history)] = np.array(history).reshape(-1, 2).T
    np.testing.assert_array_equal(state.moves, padded)
    np.testing.assert_array_equal(state.valid, np.arange(4) < len(history))
    np.testing.assert_allclose(GAME.returns(state), total)
    assert bool(GAME.done(state)) == (len(history) == 4)
    np.testing.assert_array_equal(GAME.actors(state), [len(history) < 4] * 2)
    for role in Role:
        seen = GAME.observe(state, role)
        assert (int(seen.role), int(seen.round)) == (role, len(history))
        np.testing.assert_array_equal(seen.own, padded[role])
        np.testing.assert_array_equal(seen.other, padded[1 - role])
        np.testing.assert_array_equal(seen.valid, state.valid)


def test_a_finished_game_absorbs():
    state, _ = played([(0, 0)] * 4)
    after, event = GAME.step(None, state, {Role.ROW: 1, Role.COLUMN: 2})
    assert equal(after, state) and not event.valid
    assert float(GAME.returns(after)[0]) == 12


def test_each_player_sees_its_own_move_first():
    state = GAME.init(jax.random.key(0))
    row, column = (GAME.view(state, role) for role in Role)
    for a in range(2):
        for b in range(3):
            assert row.payoff[a, b] == column.other_payoff[a, b] == PAYOFFS[0, a, b]
            assert column.payoff[b, a] == row.other_payoff[b, a] == PAYOFFS[1, a, b]
    assert (int(row.role), int(column.role)) == (0, 1)
    assert [GAME.legal(state, role).tolist() for role in Role] == [[True] * 2, [True] * 3]
    assert equal(GAME.imagine(row, Role.COLUMN, None), column)
    other = jnp.asarray(PAYOFFS[::-1].copy())
    np.testing.assert_array_equal(GAME.imagine(row, Role.COLUMN, other).payoff, PAYOFFS[0].T)


def test_one_matrix_makes_two():
    chances = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(zero_sum(PAYOFFS[0]).sum(0), np.zeros((2, 3)))
    both = symmetric(chances)
    assert both[0, 0, 1] == both[1, 1, 0] == 2  # the same move against the same move wins the same
    with pytest.raises(ValueError):
        symmetric(np.ones((2, 3)))


@pytest.mark.parametrize(
    ("payoffs", "rounds", "message"),
    [
        (PAYOFFS[0], 3, "zero_sum"),
        (np.ones((3, 2, 2)), 3, "shape"),
        (np.where(PAYOFFS == 7, np.nan, PAYOFFS), 3, r"payoffs\[0, 1, 1\] is nan"),
        (PAYOFFS, 0, "rounds=0"),
    ],
)
def test_what_is_no_game(payoffs, rounds, message):
    with pytest.raises(ValueError, match=message):
        Config(payoffs, rounds)


def test_equal_configurations_share_a_game():
    assert matrix(Config(PAYOFFS.tolist(), 4)) is GAME
    assert matrix(Config(PAYOFFS, 5)) is not GAME


def test_a_rollout_of_bold_and_silent_players():
    """COLUMN copies what ROW did last (0 at first), ROW draws and now and then says nothing."""
    rng_policy = jnp.log(jnp.array([0.5, 0.3, 0.2]))

    def row_sample(key, params, belief, observation):
        return draw(key, rng_policy) - 1

    def column_sample(key, params, belief, observation):
        last = observation.other[observation.round - 1]
        return jnp.where(observation.round == 0, 0, jnp.maximum(last, 0)).astype(jnp.int32)

    def count(params, belief, event):
        return belief + event.complete

    def mind(name, sample, update):
        return Mind(name, lambda params, memory, view: jnp.int32(0), update, unused, unused, sample)

    minds = (mind("row", row_sample, count), mind("column", column_sample, memoryless))
    game = matrix(Config(PAYOFFS, rounds=12))
    keys = jax.vmap(lambda index: game_key(jax.random.key(3), index))(jnp.arange(50))
    state, (counted, _) = jax.jit(jax.vmap(lambda key: rollout(game, minds, (None, None), key)))(keys)
    won = jax.vmap(game.returns)(state)
    for n in range(50):
        moves = np.asarray(state.moves[n])
        np.testing.assert_array_equal(moves[1], np.maximum([0, *moves[0, :-1]], 0))
        complete = [t for t in range(12) if moves[0, t] >= 0]
        assert int(counted[n]) == len(complete)
        expected = [sum(PAYOFFS[p, moves[0, t], moves[1, t]] for t in complete) for p in range(2)]
        np.testing.assert_allclose(won[n], expected, rtol=1e-6)
    assert 0 < (np.asarray(state.moves[:, 0]) < 0).mean() < 1
