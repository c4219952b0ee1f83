"""The posterior over minds of the other, against products of likelihoods, and what it is good for."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.matrix.rules import Event
from otherminds.games.rollout import rollout
from otherminds.games.rps.catalogue import catalogue, member
from otherminds.games.rps.rules import PAYOFF, rps
from otherminds.games.rps.strategies import log_likelihoods
from otherminds.tom.minds.matrix.inferred import Params, inferred, stacked, uniform_prior
from otherminds.tom.minds.matrix.order import draw_params, order_mind
from otherminds.tom.minds.rps.players import rule

jit = partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})  # they run once, and compile faster
ROUNDS, CODES = 8, "DKXZ"
GAME = rps(ROUNDS)
RULES = catalogue(tremble=0.1, codes=CODES)
LEARNERS = stacked(
    [draw_params(jax.random.key(0), 0, learning_speed=speed, uniform_beliefs=True) for speed in (0.2, 0.5, 0.9)]
)
CANDIDATES = (RULES, LEARNERS)
MIND = inferred((rule(), order_mind(0)))


def make(**options):
    return Params(CANDIDATES, uniform_prior(CANDIDATES), **options)


@jit
def follow(params, moves):
    """The policy and readouts of ROW before every round, and at the end."""

    def play_round(belief, pair):
        told = MIND.log_policy(params, belief, None, jnp.arange(3)), MIND.readout(params, belief, None)
        return MIND.update(params, belief, Event(jnp.bool_(True), pair, jnp.zeros(2), (pair >= 0).all())), told

    end, told = jax.lax.scan(play_round, MIND.init(params, None, GAME.view(GAME.init(None), 0)), moves)
    return *told, end.log_posterior


def learner_probabilities(speed, own, theirs):
    """[T, 3] what an order-0 learner who plays `theirs` against `own` would do, from the rules."""
    b, rows = np.full(3, 1 / 3), []
    for move in own:
        values = np.array(PAYOFF) @ b
        best = values > values.max() - 1e-6
        rows.append(best / best.sum())
        if move >= 0:
            b = (1 - speed) * b + speed * np.eye(3)[move]
    return np.array(rows)


def test_the_posterior_is_the_product_of_likelihoods():
    rng = np.random.default_rng(2)
    own, theirs = rng.integers(0, 3, (2, ROUNDS))
    theirs[5] = -1  # no evidence
    lapse = 0.2
    policy, readout, end = follow(make(other_lapse=lapse), jnp.array([own, theirs]).T)
    p = np.empty((len(CODES) + 3, ROUNDS))
    for k in range(len(CODES)):
        rule_k = jax.tree.map(lambda leaf, k=k: leaf[k], RULES)
        p[k] = np.exp(log_likelihoods(rule_k, jnp.asarray(theirs), jnp.asarray(own)))
    for n, speed in enumerate((0.2, 0.5, 0.9)):
        p[len(CODES) + n] = learner_probabilities(speed, own, theirs)[np.arange(ROUNDS), theirs]
    p = np.where(theirs >= 0, (1 - lapse) * p + lapse / 3, 1)
    before = np.cumprod(np.concatenate([np.ones((len(p), 1)), p], 1), 1).T
    before /= before.sum(1, keepdims=True)
    np.testing.assert_allclose(np.exp(readout["candidate"]), before[:-1], rtol=1e-4)
    np.testing.assert_allclose(np.exp(end), before[-1], rtol=1e-4)
    values = np.exp(readout["other_next"]) @ np.array(PAYOFF).T
    best = values > values.max(1, keepdims=True) - 1e-5
    np.testing.assert_allclose(np.exp(policy), best / best.sum(1, keepdims=True), atol=1e-6)


def test_impossible_under_every_candidate():
    """A learner who has just seen rock plays paper; scissors, twice, no learner plays, and without a lapse nobody."""
    learners = inferred((order_mind(0),))
    params = Params((LEARNERS,), uniform_prior((LEARNERS,)))
    view = GAME.view(GAME.init(None), 0)

    @jit
    def after(pairs):
        def play_round(belief, pair):
            return learners.update(params, belief, Event(jnp.bool_(True), pair, jnp.zeros(2), jnp.bool_(True))), None

        belief = jax.lax.scan(play_round, learners.init(params, None, view), pairs)[0]
        return belief.log_posterior, learners.log_policy(params, belief, None, jnp.arange(3))

    log_posterior, policy = after(jnp.array([[0, 0], [0, 2], [0, 1]]))
    assert (np.asarray(log_posterior) == -np.inf).all()
    np.testing.assert_allclose(np.exp(policy), [1 / 3] * 3, rtol=1e-6)


@pytest.mark.slow
def test_it_finds_out_whom_it_plays_and_beats_it():
    """Learners stay alike where it gives them no reason to differ; they are told from a rule that copies."""
    game = rps(30)
    params = make(other_lapse=0.05)
    learner, z = len(CODES) + 1, CODES.index("Z")
    opponents = {
        learner: (order_mind(0), jax.tree.map(lambda leaf: leaf[1], LEARNERS)),
        z: (rule(), member("Z")),
    }
    alike = {learner: slice(len(CODES), None), z: slice(z, z + 1)}
    keys = jax.random.split(jax.random.key(1), 100)
    for truth, (mind, own) in opponents.items():
        play = jit(jax.vmap(lambda key, m=mind, o=own: rollout(game, (MIND, m), (params, o), key)))
        state, (belief, _) = play(keys)
        assert np.exp(belief.log_posterior[:, alike[truth]]).sum(1).mean() > 0.9
        last = np.asarray(state.moves[:, :, 15:])
        assert ((last[:, 0] - last[:, 1]) % 3 == 1).mean() > 0.9


def test_no_candidates():
    with pytest.raises(ValueError, match="at least one"):
        inferred(())
