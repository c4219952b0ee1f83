"""Scores of predicted distributions, written out in NumPy."""

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from otherminds.games.protocol import NO_ANSWER
from otherminds.inference import scoring

quick = settings(deadline=None, max_examples=30)
weights = hnp.arrays(np.float64, (3, 5), elements=st.sampled_from([0.0, 1e-9, 0.1, 1.0, 2.0]))
with_lapse = jax.jit(scoring.with_lapse)
calibration = jax.jit(scoring.calibration, static_argnames="bins")


def log(p):
    with np.errstate(divide="ignore"):
        return np.log(p)


def rows(weights):
    weights = weights + np.eye(3, 5)  # some action in every row
    return weights / weights.sum(1, keepdims=True)


@given(weights, hnp.arrays(bool, (3, 5)), st.sampled_from([0.0, 1e-6, 0.3, 1.0]))
@quick
def test_lapse_mixes_with_uniform_legal_actions(weights, legal, lapse):
    legal = legal | np.eye(3, 5, dtype=bool)
    p = rows(weights * legal)
    expected = (1 - lapse) * p + lapse * legal / legal.sum(1, keepdims=True)
    with jax.enable_x64(True):
        mixed = np.asarray(with_lapse(jnp.array(log(p)), lapse, jnp.array(legal)))
    np.testing.assert_allclose(np.exp(mixed), expected, atol=1e-14)
    np.testing.assert_array_equal(np.isneginf(mixed), expected == 0)
    np.testing.assert_allclose(np.exp(mixed).sum(1), 1, rtol=1e-12)


def test_lapse_without_a_mask_reaches_every_action():
    log_p = jnp.array([0.0, -jnp.inf, -jnp.inf, -jnp.inf])
    np.testing.assert_allclose(np.exp(with_lapse(log_p, 0.4)), [0.7, 0.1, 0.1, 0.1], rtol=1e-6)
    np.testing.assert_allclose(np.exp(with_lapse(log_p, 1.0)), 0.25, rtol=1e-6)


def test_no_lapse_keeps_tiny_probabilities():
    log_p = jnp.array([0.0, -300.0])  # e^-300 is no float32
    np.testing.assert_array_equal(scoring.with_lapse(log_p, 0.0), log_p)
    np.testing.assert_array_equal(with_lapse(log_p, jnp.float32(0)), log_p)


def test_a_lapse_a_row():
    log_p = jnp.array([[0.0, -jnp.inf]] * 3)
    mixed = with_lapse(log_p, jnp.array([0.0, 0.5, 1.0]))
    np.testing.assert_allclose(np.exp(mixed), [[1, 0], [0.75, 0.25], [0.5, 0.5]], rtol=1e-6)


@pytest.mark.parametrize("lapse", [1e-3, 0.2, 0.999])
def test_gradients_of_a_lapsing_policy_are_finite_differences(lapse):
    logits = np.array([0.3, -1.0, -np.inf, -90.0, -95.0, -300.0])  # the last three leave float32
    legal = np.array([True, True, False, True, True, True])

    def score(lapse, logits):
        log_p = scoring.with_lapse(jax.nn.log_softmax(logits), lapse, jnp.array(legal))
        return jnp.sum(jnp.where(jnp.array(legal), log_p, 0.0))

    gradient, value = jax.jit(jax.grad(score, (0, 1))), jax.jit(score)
    with jax.enable_x64(True):
        d_lapse, d_logits = gradient(lapse, jnp.array(logits))
        step = 1e-7
        numeric = (value(lapse + step, jnp.array(logits)) - value(lapse - step, jnp.array(logits))) / (2 * step)
        np.testing.assert_allclose(d_lapse, numeric, rtol=1e-5)
        for i in np.flatnonzero(np.isfinite(logits)):
            step = np.zeros_like(logits)
            step[i] = 1e-6
            numeric = (value(lapse, jnp.array(logits + step)) - value(lapse, jnp.array(logits - step))) / 2e-6
            np.testing.assert_allclose(d_logits[i], numeric, atol=1e-7)
    single = gradient(jnp.float32(lapse), jnp.array(logits, jnp.float32))
    np.testing.assert_allclose(single[0], d_lapse, rtol=1e-4)
    np.testing.assert_allclose(single[1], d_logits, atol=1e-4)


def test_gradient_without_a_lapse_passes_the_policy_through():
    log_p = jnp.array([-0.1, -50.0, -87.0, -90.0, -103.0, -300.0, -jnp.inf])
    gradient = jax.jit(jax.jacobian(lambda x: scoring.with_lapse(x, 0.0)))(log_p)
    np.testing.assert_array_equal(gradient, np.eye(7))


def test_log_score_and_regret_by_lookup():
    p = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7], [0.1, 0.2, 0.7], [1.0, 0.0, 0.0]])
    action = jnp.array([2, 2, 0, NO_ANSWER])
    log_p = jnp.array(log(p), jnp.float32)
    np.testing.assert_allclose(scoring.log_score(log_p, action), log([0, 0.7, 0.1, 0]), rtol=1e-6)
    np.testing.assert_allclose(scoring.regret(log_p, action), [np.inf, 0, np.log(7), np.inf], rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(scoring.log_score)(log_p, action), scoring.log_score(log_p, action))


@given(weights, hnp.arrays(np.int32, 3, elements=st.integers(-1, 4)))
@quick
def test_brier_is_the_squared_distance_from_what_happened(weights, action):
    p = rows(weights)
    expected = [sum((p[i, a] - (a == action[i])) ** 2 for a in range(5)) for i in range(3)]
    scored = scoring.brier(jnp.array(log(p), jnp.float32), jnp.array(action))
    np.testing.assert_allclose(scored, expected, atol=1e-6)
    assert (np.asarray(scored) <= 2 + 1e-6).all()


def test_where_nothing_is_possible_the_regret_is_infinite():
    assert scoring.regret(jnp.full(3, -jnp.inf), jnp.int32(1)) == jnp.inf


def test_a_failed_answer_never_scores():
    log_p = jnp.array([[0.0, -jnp.inf], [-jnp.inf, 0.0]])
    failed = jnp.array([NO_ANSWER, NO_ANSWER])
    np.testing.assert_array_equal(scoring.log_score(log_p, failed), -np.inf)
    np.testing.assert_array_equal(scoring.brier(log_p, failed), 1)


@given(
    hnp.arrays(np.float64, 12, elements=st.sampled_from([0.0, 0.05, 0.1, 0.25, 0.3, 0.55, 0.999, 1.0])),
    hnp.arrays(bool, 12),
)
@quick
def test_calibration_by_binning(p, hit):
    bins = np.minimum((np.float32(p) * np.float32(10)).astype(int), 9)
    result = jax.tree.map(np.asarray, calibration(jnp.array(p, jnp.float32), jnp.array(hit)))
    error = 0.0
    for b in range(10):
        inside = bins == b
        assert result.count[b] == inside.sum()
        if inside.any():
            np.testing.assert_allclose(result.mean_predicted[b], p[inside].mean(), rtol=1e-5)
            np.testing.assert_allclose(result.frequency[b], hit[inside].mean(), rtol=1e-5)
            error += abs(p[inside].mean() - hit[inside].mean()) * inside.sum() / 12
        else:
            assert np.isnan(result.mean_predicted[b]) and np.isnan(result.frequency[b])
    np.testing.assert_allclose(result.error, error, atol=1e-5)


def test_calibration_of_what_is_calibrated_and_of_what_is_not():
    p = jnp.array([0.25] * 8 + [0.75] * 8)
    hit = jnp.array(([True] * 2 + [False] * 6) + ([True] * 6 + [False] * 2))
    np.testing.assert_allclose(calibration(p, hit, bins=4).error, 0, atol=1e-6)
    np.testing.assert_allclose(calibration(p, ~hit, bins=4).error, 0.5, rtol=1e-6)
    assert calibration(p, hit, bins=4).count.sum() == 16
