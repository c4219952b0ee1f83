"""Log-space arithmetic against plain NumPy in float64, and its gradients against finite differences."""

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from otherminds.inference import logspace

logsumexp = jax.jit(logspace.logsumexp, static_argnames=("axis", "keepdims"))
quick = settings(deadline=None, max_examples=30)

log_values = st.one_of(st.just(-np.inf), st.floats(-80.0, 5.0))
matrices = hnp.arrays(np.float64, (3, 4), elements=log_values)
masks = hnp.arrays(bool, (3, 4))


def reference_logsumexp(x, axis, where=None):
    """log sum exp in float64, the sum written out; -inf for an empty one."""
    p = np.exp(np.where(True if where is None else where, x, -np.inf))
    with np.errstate(divide="ignore"):
        return np.log(p.sum(axis))


def finite_difference(f, x, step=1e-6):
    """Central differences of a scalar function of a NumPy array, in float64; 0 at entries of -inf."""
    gradient = np.zeros_like(x)
    for index in np.argwhere(np.isfinite(x)):
        above, below = x.copy(), x.copy()
        above[tuple(index)] += step
        below[tuple(index)] -= step
        gradient[tuple(index)] = (float(f(above)) - float(f(below))) / (2 * step)
    return gradient


def with_zeros(seed=0, shape=(4, 5)):
    """Log-probabilities, some of them impossible, one row impossible altogether."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape) * 3
    x[rng.random(shape) < 0.3] = -np.inf
    x[1] = -np.inf
    x[0, 0] = 0.5
    return x


@given(matrices, masks, st.sampled_from([0, 1, -1, (0, 1)]))
@quick
def test_logsumexp_is_the_sum_written_out(x, mask, axis):
    with jax.enable_x64(True):
        np.testing.assert_allclose(logsumexp(jnp.array(x), axis), reference_logsumexp(x, axis), rtol=1e-12, atol=1e-14)
        masked = logsumexp(jnp.array(x), axis, where=jnp.array(mask))
        np.testing.assert_allclose(masked, reference_logsumexp(x, axis, mask), rtol=1e-12, atol=1e-14)
        kept = logsumexp(jnp.array(x), axis, keepdims=True)
        assert kept.ndim == 2
        np.testing.assert_array_equal(np.squeeze(kept, axis), logsumexp(jnp.array(x), axis))


@pytest.mark.parametrize("shift", [-3e4, 0.0, 3e4])
def test_logsumexp_neither_overflows_nor_underflows_in_float32(shift):
    x = jnp.array([shift, shift - 1.0, shift - 2.0], jnp.float32)
    expected = shift + np.log(1 + np.exp(-1.0) + np.exp(-2.0))
    np.testing.assert_allclose(logspace.logsumexp(x), expected, rtol=1e-6)


def test_logsumexp_leaves_a_nan_visible():
    functions = (logspace.logsumexp, logspace.log_normalize, logspace.entropy, lambda x: logspace.scale(2.0, x))
    x = jnp.array([[0.0, jnp.nan], [0.0, 1.0]])
    for result in jax.jit(lambda x: [f(x) for f in functions])(x):
        assert np.isnan(result[0]).any() and np.isfinite(result[1]).all()


@given(matrices, masks)
@quick
def test_log_normalize_gives_rows_that_sum_to_one_or_stay_impossible(x, mask):
    with jax.enable_x64(True):
        for where in (None, mask):
            allowed = np.isfinite(x) if where is None else np.isfinite(x) & where
            log_p = np.asarray(logspace.log_normalize(jnp.array(x), where=None if where is None else jnp.array(where)))
            np.testing.assert_array_equal(np.isfinite(log_p), allowed)
            np.testing.assert_allclose(np.exp(log_p).sum(1), allowed.any(1), atol=1e-12)
            for row in range(3):  # one constant a row
                gap = log_p[row][allowed[row]] - x[row][allowed[row]]
                np.testing.assert_allclose(gap, gap[:1].repeat(gap.size), atol=1e-9)


@pytest.mark.parametrize("shift", [-1e5, 0.0, 1e5])
def test_log_normalize_keeps_its_digits_far_from_zero(shift):
    log_p = logspace.log_normalize(jnp.array([shift, shift, -jnp.inf], jnp.float32))
    np.testing.assert_allclose(np.exp(log_p), [0.5, 0.5, 0], rtol=1e-6)


def test_log_normalize_along_another_axis():
    x = with_zeros()
    log_p = logspace.log_normalize(jnp.array(x, jnp.float32), axis=0)
    np.testing.assert_allclose(np.exp(log_p).sum(0), 1, rtol=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1000.0])
def test_scale_keeps_what_is_impossible_impossible(alpha):
    x = with_zeros()
    scaled = np.asarray(logspace.scale(alpha, jnp.array(x, jnp.float32)))
    np.testing.assert_array_equal(np.isneginf(scaled), np.isneginf(x))
    np.testing.assert_allclose(scaled[np.isfinite(x)], alpha * x[np.isfinite(x)], rtol=1e-6)


divergence, symmetric = jax.jit(logspace.kl), jax.jit(logspace.jsd)


def distributions(seed):
    rng = np.random.default_rng(seed)
    p = rng.random((2, 3, 5))
    p[rng.random(p.shape) < 0.3] = 0
    p[..., 0] += 0.1
    p = p / p.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return p, np.log(p)


@pytest.mark.parametrize("seed", range(3))
def test_expectation_and_entropy_by_enumeration(seed):
    (p, _), (log_p, _) = distributions(seed)
    x = np.random.default_rng(seed).normal(size=p.shape)
    x[p == 0] = np.inf  # what never happens adds nothing, whatever its value
    by_hand = [
        sum(pi * xi for pi, xi in zip(row_p, row_x, strict=True) if pi > 0) for row_p, row_x in zip(p, x, strict=True)
    ]
    entropy = [-sum(pi * np.log(pi) for pi in row if pi > 0) for row in p]
    with jax.enable_x64(True):
        np.testing.assert_allclose(logspace.expectation(jnp.array(log_p), jnp.array(x)), by_hand, rtol=1e-12)
        np.testing.assert_allclose(logspace.entropy(jnp.array(log_p)), entropy, rtol=1e-12)
        log_x = np.log(np.random.default_rng(seed).random(p.shape))
        mixture = np.log((p * np.exp(log_x)).sum(-1))
        np.testing.assert_allclose(logspace.log_expectation(jnp.array(log_p), jnp.array(log_x)), mixture, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_divergences_by_enumeration(seed):
    (p, q), (log_p, log_q) = distributions(seed)

    def kl(p, q):
        if any(pi > 0 and qi == 0 for pi, qi in zip(p, q, strict=True)):
            return np.inf
        return sum(pi * np.log(pi / qi) for pi, qi in zip(p, q, strict=True) if pi > 0)

    with jax.enable_x64(True):
        expected = [kl(a, b) for a, b in zip(p, q, strict=True)]
        np.testing.assert_allclose(divergence(jnp.array(log_p), jnp.array(log_q)), expected, rtol=1e-9)
        expected = [(kl(a, (a + b) / 2) + kl(b, (a + b) / 2)) / 2 for a, b in zip(p, q, strict=True)]
        np.testing.assert_allclose(symmetric(jnp.array(log_p), jnp.array(log_q)), expected, rtol=1e-9)
        np.testing.assert_allclose(divergence(jnp.array(log_p), jnp.array(log_p)), 0, atol=1e-15)


def test_jsd_of_disjoint_distributions_is_log_two():
    log_p, log_q = jnp.array([0.0, -jnp.inf]), jnp.array([-jnp.inf, 0.0])
    np.testing.assert_allclose(symmetric(log_p, log_q), np.log(2), rtol=1e-6)
    assert np.isposinf(divergence(log_p, log_q))


def test_entropy_of_a_uniform_row_is_log_n():
    np.testing.assert_allclose(logspace.entropy(jnp.full(8, -jnp.log(8.0))), np.log(8), rtol=1e-6)


def total_over_possible(x):
    """A scalar of log-values that leaves the impossible ones out."""
    return jnp.sum(jnp.where(x > -jnp.inf, jnp.where(x > -jnp.inf, x, 0.0) ** 2, 0.0))


def pair(x):
    """Two rows as distributions over the same support."""
    return logspace.log_normalize(x[0]), logspace.log_normalize(x[2] + jnp.where(jnp.isfinite(x[0]), 0.0, -jnp.inf))


DIFFERENTIATED = {
    "logsumexp": lambda x: total_over_possible(logspace.logsumexp(x)),
    "masked logsumexp": lambda x: total_over_possible(logspace.logsumexp(x, where=jnp.arange(5) % 2 == 0)),
    "log_normalize": lambda x: total_over_possible(logspace.log_normalize(x)),
    "log_normalize over rows": lambda x: total_over_possible(logspace.log_normalize(x, axis=0)),
    "scale": lambda x: total_over_possible(logspace.scale(1.7, x)),
    "entropy": lambda x: jnp.sum(logspace.entropy(logspace.log_normalize(x))),
    "expectation": lambda x: jnp.sum(logspace.expectation(logspace.log_normalize(x), x)),
    "log_expectation": lambda x: total_over_possible(logspace.log_expectation(logspace.log_normalize(x), 2 * x)),
    "jsd": lambda x: logspace.jsd(*pair(x)),
}


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_gradients_are_finite_differences_also_at_zeros(name):
    f, x = DIFFERENTIATED[name], with_zeros()
    with jax.enable_x64(True):
        gradient = jax.jit(jax.grad(f))
        exact = np.asarray(gradient(jnp.array(x)))
        assert np.isfinite(exact).all()
        np.testing.assert_allclose(exact, finite_difference(jax.jit(f), x), rtol=1e-6, atol=1e-7)
    single = np.asarray(gradient(jnp.array(x, jnp.float32)))
    np.testing.assert_allclose(single, exact, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 1000.0])
def test_gradient_in_alpha_of_a_softmax_with_zeros(alpha):
    x = with_zeros()

    def chosen(alpha, x):
        log_p = logspace.log_normalize(logspace.scale(alpha, x))
        return log_p[0, 0] + log_p[2, int(np.isfinite(with_zeros()[2]).argmax())]

    with jax.enable_x64(True):
        value, gradient = jax.jit(chosen), jax.jit(jax.grad(chosen))
        exact = gradient(alpha, jnp.array(x))
        step = 1e-6 * max(alpha, 1)
        numeric = (value(alpha + step, jnp.array(x)) - value(alpha - step, jnp.array(x))) / (2 * step)
        np.testing.assert_allclose(exact, numeric, rtol=1e-5, atol=1e-7)
    single = gradient(jnp.float32(alpha), jnp.array(x, jnp.float32))
    np.testing.assert_allclose(single, exact, rtol=1e-4, atol=1e-4)


def test_gradient_of_an_impossible_row_is_zero():
    gradient = jax.jit(jax.grad(logspace.logsumexp))(jnp.array([-jnp.inf] * 3))
    np.testing.assert_array_equal(gradient, 0)


@given(matrices, st.permutations(range(4)))
@quick
def test_relabelling_padding_jit_and_vmap_change_nothing(x, order):
    x = np.float32(x)
    order = np.array(order)
    plain = logspace.log_normalize(jnp.array(x))
    np.testing.assert_allclose(logspace.log_normalize(jnp.array(x[:, order])), plain[:, order], rtol=1e-5, atol=1e-5)
    padded = logspace.log_normalize(jnp.array(np.pad(x, ((0, 0), (0, 2)), constant_values=-np.inf)))
    np.testing.assert_allclose(padded[:, :4], plain, rtol=1e-6)
    np.testing.assert_array_equal(padded[:, 4:], -np.inf)
    np.testing.assert_allclose(jax.jit(logspace.log_normalize)(jnp.array(x)), plain, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(jax.vmap(logspace.log_normalize)(jnp.array(x)), plain, rtol=1e-5, atol=1e-6)
