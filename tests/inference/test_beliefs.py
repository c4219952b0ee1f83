"""The belief filter against the joint of hypothesis and observations, written out."""

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from otherminds.inference import beliefs

quick = settings(deadline=None, max_examples=30)
TURNS, HYPOTHESES = 4, 3
likelihoods = hnp.arrays(np.float64, (TURNS, HYPOTHESES), elements=st.sampled_from([0.0, 0.01, 0.2, 0.5, 1.0]))
priors = hnp.arrays(np.float64, HYPOTHESES, elements=st.sampled_from([0.0, 0.2, 1.0])).filter(lambda p: p.sum() > 0)
update = jax.jit(beliefs.update)
filter_ = jax.jit(beliefs.filter)


def log(p):
    with np.errstate(divide="ignore"):
        return np.log(p)


def joint(prior, likelihood):
    """P(h, e_1 .. e_t) for every t, in float64: the product itself."""
    return prior * np.cumprod(likelihood, 0)


@given(priors, likelihoods)
@quick
def test_filter_is_the_joint_written_out(prior, likelihood):
    prior = prior / prior.sum()
    written_out = joint(prior, likelihood)
    totals = np.concatenate([[1.0], written_out.sum(1)])
    with jax.enable_x64(True):
        trace = filter_(jnp.array(log(prior)), jnp.array(log(likelihood)))
        trace = jax.tree.map(np.asarray, trace)
    np.testing.assert_array_equal(trace.possible, totals[1:] > 0)
    for t in range(TURNS):
        if totals[t + 1] > 0:
            np.testing.assert_allclose(np.exp(trace.log_belief[t]), written_out[t] / totals[t + 1], atol=1e-12)
            np.testing.assert_allclose(trace.log_evidence[t], np.log(totals[t + 1] / totals[t]), atol=1e-12)
        else:  # impossible evidence is reported, then and from then on
            np.testing.assert_array_equal(trace.log_belief[t], -np.inf)
            assert trace.log_evidence[t] == -np.inf
    np.testing.assert_allclose(np.exp(trace.log_evidence.sum()), totals[-1], atol=1e-12)


@given(priors, likelihoods, hnp.arrays(bool, TURNS), st.sampled_from([0.0, -np.inf, np.nan, 7.0]))
@quick
def test_padding_changes_nothing(prior, likelihood, valid, filling):
    log_prior = jnp.array(log(prior / prior.sum()), jnp.float32)
    padded = np.where(valid[:, None], log(likelihood), filling)
    trace = filter_(log_prior, jnp.array(padded, jnp.float32), jnp.array(valid))
    kept = np.concatenate([log(likelihood)[valid], np.zeros((TURNS - valid.sum(), HYPOTHESES))])
    shorter = filter_(log_prior, jnp.array(kept, jnp.float32))
    places = np.flatnonzero(valid)
    for name in trace._fields:
        ours, theirs = np.asarray(getattr(trace, name)), np.asarray(getattr(shorter, name))
        np.testing.assert_array_equal(ours[places], theirs[: places.size], err_msg=name)
    np.testing.assert_array_equal(np.asarray(trace.log_evidence)[~valid], 0)
    np.testing.assert_array_equal(trace.possible, np.logical_and.accumulate(np.asarray(trace.log_evidence) > -np.inf))
    before = np.asarray(log_prior)
    for t in range(TURNS):
        if not valid[t]:
            np.testing.assert_array_equal(trace.log_belief[t], before)
        before = np.asarray(trace.log_belief[t])


def test_the_order_of_independent_observations_does_not_matter():
    rng = np.random.default_rng(0)
    log_likelihoods = jnp.array(log(rng.random((6, 5))), jnp.float32)
    log_prior = jnp.full(5, -jnp.log(5.0))
    forward, backward = filter_(log_prior, log_likelihoods), filter_(log_prior, log_likelihoods[::-1])
    np.testing.assert_allclose(forward.log_belief[-1], backward.log_belief[-1], rtol=1e-5)
    np.testing.assert_allclose(forward.log_evidence.sum(), backward.log_evidence.sum(), rtol=1e-5)


def test_update_over_a_batch_is_a_loop():
    rng = np.random.default_rng(1)
    log_belief = log(rng.dirichlet(np.ones(4), (2, 3))).astype(np.float32)
    log_likelihood = log(rng.random((2, 3, 4))).astype(np.float32)
    log_likelihood[1, 2] = -np.inf
    posterior, evidence = update(jnp.array(log_belief), jnp.array(log_likelihood))
    for i in np.ndindex(2, 3):
        one, one_evidence = update(jnp.array(log_belief[i]), jnp.array(log_likelihood[i]))
        np.testing.assert_allclose(posterior[i], one, rtol=1e-6)
        np.testing.assert_allclose(evidence[i], one_evidence, rtol=1e-6)
    assert evidence[1, 2] == -jnp.inf
    np.testing.assert_array_equal(posterior[1, 2], -np.inf)
    vmapped = jax.jit(jax.vmap(jax.vmap(beliefs.update)))(jnp.array(log_belief), jnp.array(log_likelihood))
    np.testing.assert_allclose(vmapped[0], posterior, rtol=1e-6)


@pytest.mark.parametrize("impossible", [False, True])
def test_gradient_of_the_evidence_is_a_finite_difference(impossible):
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(5, 4))
    logits[1, 2] = logits[3, 0] = -np.inf
    if impossible:
        logits[2] = -np.inf
    valid = np.array([True, True, True, True, False])

    def log_evidence(logits):
        trace = beliefs.filter(jnp.full(4, -jnp.log(4.0), logits.dtype), logits, jnp.array(valid))
        return jnp.sum(jnp.where(trace.possible, jnp.where(trace.possible, trace.log_evidence, 0.0), 0.0))

    gradient, value = jax.jit(jax.grad(log_evidence)), jax.jit(log_evidence)
    with jax.enable_x64(True):
        exact = np.asarray(gradient(jnp.array(logits)))
        numeric = np.zeros_like(logits)
        for index in np.argwhere(np.isfinite(logits)):
            step = np.zeros_like(logits)
            step[tuple(index)] = 1e-6
            numeric[tuple(index)] = (value(jnp.array(logits + step)) - value(jnp.array(logits - step))) / 2e-6
    np.testing.assert_allclose(exact, numeric, atol=1e-8)
    np.testing.assert_allclose(gradient(jnp.array(logits, jnp.float32)), exact, atol=1e-5)
    assert np.abs(exact[:2]).max() > 0.1
