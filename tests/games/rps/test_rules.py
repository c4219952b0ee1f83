import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.protocol import NO_ANSWER
from otherminds.games.rollout import rollout
from otherminds.games.rps.rules import PAYOFF, Move, Outcome, beats, outcome, rps
from otherminds.games.rps.strategies import FIRST, log_policies, reactive, situation
from otherminds.tom.mind import Mind, draw, memoryless


def test_who_beats_whom(shared):
    golden = json.loads((shared / "golden/rps/beats.json").read_text())["beats(a,b)"]
    table = beats(jnp.arange(3)[:, None], jnp.arange(3)[None])
    np.testing.assert_array_equal(table, golden)
    np.testing.assert_array_equal(table, PAYOFF)


def test_the_folk_rule():
    assert beats(Move.PAPER, Move.ROCK) == beats(Move.ROCK, Move.SCISSORS) == beats(Move.SCISSORS, Move.PAPER) == 1
    assert outcome(Move.PAPER, Move.ROCK) == Outcome.WIN and outcome(Move.ROCK, Move.PAPER) == Outcome.LOSS
    assert outcome(Move.ROCK, Move.ROCK) == Outcome.DRAW


@pytest.mark.parametrize("pair", [(NO_ANSWER, 0), (1, NO_ANSWER), (NO_ANSWER, NO_ANSWER)])
def test_a_missing_move_is_no_outcome(pair):
    assert int(beats(*pair)) == 0 and int(outcome(*pair)) == NO_ANSWER


def test_strategies_play_the_game():
    """A mind that follows a rule of the catalogue, in the game as it is: the beater and the copier of the last move."""

    def sample(key, strategy, belief, observation):
        last = observation.round - 1
        now = jnp.where(observation.round == 0, FIRST, situation(observation.own[last], observation.other[last]))
        return draw(key, log_policies(strategy)[now])

    def unused(*arguments):
        raise AssertionError("a rollout draws by `sample` alone")

    mind = Mind("rule", lambda params, memory, view: (), memoryless, unused, unused, sample)
    game = rps(30)
    state, _ = rollout(game, (mind, mind), (reactive(1), reactive(0)), jax.random.key(1))
    a, b = np.asarray(state.moves)
    np.testing.assert_array_equal(a[1:], (b[:-1] + 1) % 3)
    np.testing.assert_array_equal(b[1:], a[:-1])
    total = sum(PAYOFF[i][j] for i, j in zip(a, b, strict=True))
    np.testing.assert_array_equal(game.returns(state), [total, -total])
