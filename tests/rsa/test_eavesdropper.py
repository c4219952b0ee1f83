"""A speaker who is overheard, against enumeration in NumPy."""

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from otherminds.rsa.agents import pragmatic_speaker
from otherminds.rsa.eavesdropper import eavesdropper_speaker, eavesdropper_utility

quick = settings(deadline=None, max_examples=30)
speaker = jax.jit(eavesdropper_speaker)


def log(p):
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(p, np.float64))


def listeners(seed, shape=(4, 3)):
    """P(m | u) of listener and third party [U, M], some of it impossible."""
    rng = np.random.default_rng(seed)
    both = rng.random((2, *shape)) * (rng.random((2, *shape)) < 0.75)
    both[:, 0] += 0.1
    both[:, :, 0] += 0.1
    return both / both.sum(-1, keepdims=True)


def written_out(listener, third, alpha, w_m, w_i, cost, legal):
    """S(u | m) [M, U], one entry after the other."""
    result = np.zeros(listener.T.shape)
    for u, m in np.ndindex(listener.shape):
        possible = legal[u] and (listener[u, m] > 0 or w_m == 0)
        if possible:
            communication = w_m * np.log(listener[u, m]) if w_m > 0 else 0.0
            result[m, u] = np.exp(alpha * (communication - w_i * third[u, m] - cost[u]))
    return result / result.sum(1, keepdims=True)


@given(
    st.integers(0, 10**6),
    st.sampled_from([0.0, 1.0, 5.0]),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from([0.0, 1.0, 3.0]),
)
@quick
def test_enumeration(seed, alpha, w_m, w_i):
    rng = np.random.default_rng(seed)
    listener, third = listeners(seed)
    cost, legal = rng.random(4), np.array([True, *(rng.random(3) < 0.7)])
    expected = written_out(listener, third, alpha, w_m, w_i, cost, legal)
    with jax.enable_x64(True):
        ours = speaker(
            jnp.array(log(listener)), jnp.array(log(third)), alpha, w_m, w_i, jnp.array(cost), jnp.array(legal)
        )
    np.testing.assert_allclose(np.exp(ours), expected, rtol=1e-9, atol=1e-12)


def test_without_an_interception_weight_she_is_a_pragmatic_speaker():
    listener, third = (jnp.array(log(p), jnp.float32) for p in listeners(0))
    overheard = speaker(listener, third, 2.0, 1.0, 0.0)
    np.testing.assert_allclose(overheard, pragmatic_speaker(listener, 2.0), rtol=1e-5, atol=1e-6)


def test_alpha_zero_says_anything_that_can_be_understood():
    listener, third = listeners(1)
    uniform = (listener > 0).T / (listener > 0).T.sum(1, keepdims=True)
    ours = speaker(jnp.array(log(listener), jnp.float32), jnp.array(log(third), jnp.float32), 0.0)
    np.testing.assert_allclose(np.exp(ours), uniform, atol=1e-6)


def test_alpha_large_says_the_most_useful():
    listener, third = listeners(2)
    with jax.enable_x64(True):
        utility = np.asarray(eavesdropper_utility(jnp.array(log(listener)), jnp.array(log(third)), 1.0, 2.0))
        ours = np.asarray(speaker(jnp.array(log(listener)), jnp.array(log(third)), 1000.0, 1.0, 2.0))
    np.testing.assert_array_equal(ours.argmax(1), utility.argmax(0))
    np.testing.assert_allclose(np.exp(ours).max(1), 1, atol=1e-6)


def test_a_hint_that_the_third_party_reads_is_avoided():
    listener = np.array([[0.9, 0.1], [0.9, 0.1]])
    third = np.array([[0.9, 0.1], [0.5, 0.5]])
    ours = np.exp(speaker(jnp.array(log(listener), jnp.float32), jnp.array(log(third), jnp.float32), 4.0, 1.0, 1.0))
    assert ours[0, 1] > ours[0, 0]  # of the first meaning the second utterance gives less away
    np.testing.assert_allclose(ours[0, 1] / ours[0, 0], np.exp(4.0 * 0.4), rtol=1e-5)


def test_weights_may_differ_from_case_to_case():
    listener, third = (jnp.array(log(p), jnp.float32) for p in listeners(3))
    w_m, w_i = jnp.array([[0.0], [1.0], [0.5], [2.0]]), jnp.array([1.0, 0.0, 3.0])
    utility = eavesdropper_utility(listener, third, w_m, w_i)
    for u, m in np.ndindex(4, 3):
        one = eavesdropper_utility(listener[u, m], third[u, m], w_m[u, 0], w_i[m])
        np.testing.assert_allclose(utility[u, m], one, rtol=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 1000.0])
def test_a_meaning_that_cannot_be_said_is_an_impossible_row(alpha):
    listener = jnp.array([[0.0, -jnp.inf], [0.0, -jnp.inf]])
    ours = np.asarray(speaker(listener, jnp.zeros((2, 2)), alpha))
    np.testing.assert_array_equal(ours[1], -np.inf)
    np.testing.assert_allclose(np.exp(ours[0]), 0.5, rtol=1e-6)


def chosen(alpha, w_m, w_i, log_listener, log_third):
    log_p = eavesdropper_speaker(log_listener, log_third, alpha, w_m, w_i, legal=jnp.arange(4) != 3)
    return log_p[0, 0] + log_p[1, 2]


value, gradient = jax.jit(chosen), jax.jit(jax.grad(chosen, (0, 1, 2, 3, 4)))


@pytest.mark.parametrize("alpha", [0.0, 1.0, 50.0, 1000.0])
@pytest.mark.parametrize("w_m", [0.0, 1.0])
def test_gradients_with_zeros_are_finite_differences(alpha, w_m):
    listener, third = listeners(4)
    listener[0] = [0.3, 0.3, 0.4]  # understood whatever is meant, so that the weight 0 has a neighbourhood
    listener[1:] = [0.2, 0.3, 0.5]
    third[2, 1] = third[3, 2] = 0

    arguments = [alpha, w_m, 1.5, log(listener), log(third)]
    with jax.enable_x64(True):
        exact = [np.asarray(g) for g in gradient(*arguments)]
        assert all(np.isfinite(g).all() for g in exact)
        step = 1e-4 / max(alpha, 1)
        for which in range(3):
            # The rationality and the weights are at least 0: there, a one-sided difference of second order.
            at = [value(*(a + k * step if i == which else a for i, a in enumerate(arguments))) for k in (0, 1, 2)]
            numeric = (-3 * at[0] + 4 * at[1] - at[2]) / (2 * step)
            np.testing.assert_allclose(exact[which], numeric, rtol=1e-4, atol=1e-5)
        step = 1e-6 / max(alpha, 1)
        for which in (3, 4):
            for index in np.argwhere(np.isfinite(arguments[which])):
                moved = []
                for sign in (1, -1):
                    x = arguments[which].copy()
                    x[tuple(index)] += sign * step
                    moved.append(value(*(x if i == which else a for i, a in enumerate(arguments))))
                np.testing.assert_allclose(
                    exact[which][tuple(index)], (moved[0] - moved[1]) / (2 * step), rtol=1e-4, atol=1e-5 * max(alpha, 1)
                )
    single = gradient(*(jnp.array(a, jnp.float32) for a in arguments))
    for ours, theirs in zip(single, exact, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3 * np.abs(theirs).max() + 1e-6)


def test_a_weight_of_zero_forgives_what_cannot_be_understood():
    listener, third = jnp.array([[-jnp.inf], [0.0]]), jnp.array([[-jnp.inf], [0.0]])
    ours = np.exp(speaker(listener, third, 1.0, 0.0, 1.0))
    np.testing.assert_allclose(ours[0], [1 / (1 + np.exp(-1)), np.exp(-1) / (1 + np.exp(-1))], rtol=1e-6)
    slope = jax.jit(jax.grad(lambda w: eavesdropper_utility(listener, third, w, 1.0).sum()))(0.0)
    assert np.isfinite(slope)
