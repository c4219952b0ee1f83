"""Players as minds: their policies are the tables', the same stepped, scanned and jitted, and learners learn."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.protocol import NO_ANSWER
from otherminds.games.rps import finite_state, strategies
from otherminds.games.rps.catalogue import catalogue
from otherminds.games.rps.rules import PAYOFF, rps
from otherminds.games.rps.switching import filtered, uniform
from otherminds.inference.logspace import log_normalize
from otherminds.tom.minds.rps import players
from otherminds.tom.minds.rps.registry import cells

T = 24
ACTIONS = jnp.arange(3)
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def moves():
    """A match with missing moves on both sides."""
    made = np.random.default_rng(1).integers(0, 3, (2, T))
    made[0, 5] = made[1, 9] = made[0, 12] = made[1, 12] = NO_ANSWER
    return jnp.asarray(made, jnp.int32)


@pytest.fixture(scope="module")
def rules():
    """Each kind of player with full support, and the function that gives its log-likelihoods otherwise."""
    random = np.random.default_rng(2)
    rule = strategies.strategy(random.dirichlet(np.ones(3)), random.dirichlet(np.ones(3), (3, 3)), 0.1)
    switching = uniform(catalogue(tremble=0.1), 0.05)
    prior = log_normalize(jnp.zeros(19))
    return {
        "rule": (players.rule(), rule, lambda own, other: strategies.log_likelihoods(rule, own, other)),
        "machine": (
            players.machine(),
            finite_state.outcome_transition(),
            lambda own, other: finite_state.log_likelihoods(finite_state.outcome_transition(), own, other),
        ),
        "switching": (players.switching(), switching, lambda own, other: filtered(switching, own, other).log_evidence),
        "best-response": (players.best_response(), players.ResponseParams(catalogue(), prior, 2.0, 0.05), None),
        "frequency": (
            players.frequency(),
            players.FrequencyParams(jnp.asarray(cells("both")), 1.0, 2.0, 0.05),
            None,
        ),
    }


KINDS = ("rule", "machine", "switching", "best-response", "frequency")


def taken(log_p, own):
    own = np.asarray(own)
    chosen = np.take_along_axis(np.asarray(log_p), np.maximum(own, 0)[:, None], 1)[:, 0]
    return np.where(own < 0, 0.0, chosen)


@pytest.mark.parametrize("kind", KINDS)
def test_policies_are_normalised_and_those_of_the_tables(rules, moves, kind):
    mind, params, log_likelihoods = rules[kind]
    valid = jnp.ones(T, bool)
    run = jax.jit(lambda params, moves, valid: players.shadow(mind, params, moves, valid, 1))
    log_p = run(params, moves, valid)
    np.testing.assert_allclose(np.exp(log_p).sum(-1), 1, atol=1e-5)
    if log_likelihoods is not None:
        np.testing.assert_allclose(taken(log_p, moves[1]), log_likelihoods(moves[1], moves[0]), atol=2e-5)
    # Padding changes nothing before it.
    np.testing.assert_allclose(run(params, moves, jnp.arange(T) < 10)[:10], log_p[:10], atol=1e-6)


@pytest.mark.parametrize("kind", ["machine", "frequency"])
def test_the_seats_are_alike(rules, moves, kind):
    mind, params, _ = rules[kind]
    first, second = (
        players.shadow(mind, params, made, jnp.ones(T, bool), role) for role, made in enumerate((moves, moves[::-1]))
    )
    np.testing.assert_allclose(first, second, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_stepped_eagerly_it_is_the_same(rules, moves, kind):
    mind, params, _ = rules[kind]
    game = rps(T)
    state = game.init(None)
    belief = mind.init(params, None, game.view(state, 0))
    own = []
    for t in range(3):
        observation = game.observe(state, 0)
        assert mind.alternatives(params, belief, observation).tolist() == [0, 1, 2]
        own.append(mind.log_policy(params, belief, observation, ACTIONS))
        state, event = game.step(None, state, {0: moves[0, t], 1: moves[1, t]})
        belief = mind.update(params, belief, event)
    scanned = jax.jit(lambda params: players.shadow(mind, params, moves, jnp.ones(T, bool), 0))(params)
    np.testing.assert_allclose(np.stack(own), scanned[:3], atol=1e-5)
    if mind.readout is not None:
        for log_q in mind.readout(params, belief, game.observe(state, 0)).values():
            assert np.exp(log_q).sum() == pytest.approx(1, abs=1e-5)
    drawn = jax.jit(jax.vmap(lambda key: mind.sample(key, params, belief, observation)))(
        jax.random.split(jax.random.key(3), 4000)
    )
    p = np.exp(mind.log_policy(params, belief, observation, ACTIONS))
    np.testing.assert_allclose(np.bincount(drawn, minlength=3) / 4000, p, atol=4.5 * 0.5 / np.sqrt(4000))


@pytest.mark.parametrize("lapse", [0.0, 0.3])
@pytest.mark.parametrize("beta", [0.0, 1.5, np.inf])
def test_best_moves_against_plain_numbers(beta, lapse):
    for q in ([1.0, 0.0, 0.0], [0.2, 0.5, 0.3], [1 / 3] * 3, [0.5, 0.5, 0.0]):
        with np.errstate(divide="ignore"):
            found = np.exp(players.best_moves(jnp.log(jnp.asarray(q)), beta, lapse))
        values = np.array(PAYOFF) @ np.array(q)
        weight = np.isclose(values, values.max(), atol=1e-6) if beta == np.inf else np.exp(beta * values)
        expected = (1 - lapse) * weight / weight.sum() + lapse / 3
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_where_nothing_is_expected_every_move_is_alike():
    np.testing.assert_allclose(players.best_moves(jnp.full(3, -jnp.inf), jnp.inf, 0.0), np.log(1 / 3), rtol=1e-6)


def test_best_response_finds_out_whom_it_plays(rules):
    mind, params, _ = rules["best-response"]
    params = params._replace(beta=jnp.inf, lapse=0.0)
    own = np.random.default_rng(4).integers(0, 3, T)
    copier = np.concatenate([[1], own[:-1]])  # Z: copies the last move
    moves = jnp.asarray(np.stack([own, copier]), jnp.int32)
    log_p = np.asarray(jax.jit(lambda moves: players.shadow(mind, params, moves, jnp.ones(T, bool), 0))(moves))
    best = (own[:-1] + 1) % 3  # beats what the copier plays next
    assert (log_p[8:].argmax(1) == best[7:]).all() and np.allclose(log_p[8:].max(1), 0, atol=1e-6)


def test_counts_are_the_learners(moves):
    """Plain counting, what followed on what told apart, missing moves left out."""
    mind = players.frequency()
    for given, place in (("none", lambda a, b: 0), ("other", lambda a, b: b), ("own", lambda a, b: a)):
        params = players.FrequencyParams(jnp.asarray(cells(given)), 0.5, 3.0, 0.0)
        log_p = jax.jit(lambda p: players.shadow(mind, p, moves, jnp.ones(T, bool), 0))(params)
        counts, cell = {}, "first" if given != "none" else 0
        for t, (a, b) in enumerate(np.asarray(moves).T):
            n = counts.setdefault(cell, np.full(3, 0.5))
            expected = 3.0 * np.array(PAYOFF) @ (n / n.sum())
            np.testing.assert_allclose(log_p[t], expected - np.log(np.exp(expected).sum()), atol=1e-5)
            if b >= 0:
                n[b] += 1
            cell = place(a, b)


def test_a_match_that_no_strategy_allows_stays_impossible(rules):
    switching = uniform(catalogue(codes=("A", "B")), 0.1)
    moves = jnp.asarray([[2, 1, 0, 0], [0, 0, 0, 0]], jnp.int32)
    log_p = players.shadow(players.switching(), switching, moves, jnp.ones(4, bool), 0)
    assert np.isfinite(log_p[1, [0, 2]]).all() and np.isneginf(log_p[2:]).all()
