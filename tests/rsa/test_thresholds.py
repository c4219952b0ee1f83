"""Gradable adjectives, against the joint of degree and both thresholds written out."""

import itertools

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from otherminds.inference.logspace import logsumexp
from otherminds.rsa import agents, thresholds
from otherminds.rsa.thresholds import NEGATIVE, POSITIVE, SILENCE, Thresholds

quick = settings(deadline=None, max_examples=15)

# probLang, chapter 5: prices of books.
BOOKS, BOOK_PRIOR = np.arange(2.0, 31, 4), np.array([1, 2, 3, 4, 4, 3, 2, 1]) / 20


def log(p):
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(p, np.float64))


def normalize(x):
    total = x.sum(-1, keepdims=True)
    return np.divide(x, total, out=np.zeros_like(x), where=total > 0)


def written_out(degrees, prior, positive, p_positive, negative, p_negative, alpha, cost, legal):
    """P(positive threshold, negative threshold, degree | u), [3, X, Y, M]."""
    joint = np.zeros((3, len(positive), len(negative), len(degrees)))
    for (i, high), (j, low) in itertools.product(enumerate(positive), enumerate(negative)):
        truth = np.array([degrees >= high, degrees <= low, np.full(len(degrees), True)])
        L0 = normalize(truth * prior)
        for m in np.flatnonzero(prior):
            score = [(L0[u, m] > 0) * legal[u] * L0[u, m] ** alpha * np.exp(-alpha * cost[u]) for u in range(3)]
            joint[:, i, j, m] = p_positive[i] * p_negative[j] * prior[m] * normalize(np.array(score))
    return normalize(joint.reshape(3, -1)).reshape(joint.shape)


@jax.jit
def run(degrees, log_prior, positive, log_p_positive, negative, log_p_negative, alpha, cost, legal):
    return thresholds.gradable_listener(
        degrees,
        log_prior,
        Thresholds(positive, log_p_positive),
        Thresholds(negative, log_p_negative),
        alpha,
        cost,
        legal,
    )


def random_case(seed):
    rng = np.random.default_rng(seed)
    degrees = rng.choice(12, 6, replace=False).astype(float)  # in no order
    prior = rng.dirichlet(np.ones(6)) * (rng.random(6) < 0.8)
    prior[0] += 0.1
    positive, negative = rng.integers(0, 12, 4).astype(float), rng.integers(0, 12, 5) + 0.5 * (rng.random(5) < 0.5)
    legal = np.array([True, rng.random() < 0.7, True])
    p_negative = rng.dirichlet(np.ones(5)) * [1, 1, 1, 0, 1]
    return degrees, prior / prior.sum(), positive, rng.dirichlet(np.ones(4)), negative, normalize(p_negative), legal


def in_float64(degrees, prior, positive, p_positive, negative, p_negative, alpha, cost, legal):
    arguments = degrees, log(prior), positive, log(p_positive), negative, log(p_negative), alpha, cost
    with jax.enable_x64(True):
        both = run(*(jnp.array(x, jnp.float64) for x in arguments), jnp.array(legal))
        return jax.tree.map(np.exp, both)


# Enumeration


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.4, 1.0, 4.0]))
@quick
def test_enumeration(seed, alpha):
    *case, legal = random_case(seed)
    cost = np.random.default_rng(seed).normal(size=3)
    expected = written_out(*case, alpha, cost, legal)
    ours = in_float64(*case, alpha, cost, legal)
    np.testing.assert_allclose(ours.log_positive, expected.sum(2), rtol=1e-8, atol=1e-13)
    np.testing.assert_allclose(ours.log_negative, expected.sum(1), rtol=1e-8, atol=1e-13)
    degrees, prior, positive, p_positive, negative, p_negative = case
    arguments = degrees, log(prior), positive, log(p_positive), negative, log(p_negative), alpha, cost
    single = run(*(jnp.array(x, jnp.float32) for x in arguments), jnp.array(legal))
    np.testing.assert_allclose(np.exp(single.log_positive), expected.sum(2), atol=1e-5)


def test_the_general_recipe_gives_the_same():
    """A speaker for each pair of thresholds and the shared joint listener, at the price of [pairs, M, U]."""
    grid = jnp.array(BOOKS)
    log_prior, log_uniform = jnp.array(log(BOOK_PRIOR)), jnp.full(8, -jnp.log(8.0))
    cost = jnp.array([1.0, 1.5, 0.0])
    high, low = (x.ravel() for x in jnp.meshgrid(grid, grid, indexing="ij"))
    speakers = jax.vmap(lambda h, s: thresholds.gradable_speaker(grid, log_prior, h, s, 4.0, cost))(high, low)
    joint = agents.joint_listener(speakers, log_prior + jnp.full((64, 1), -jnp.log(64.0)))
    ours = run(grid, log_prior, grid, log_uniform, grid, log_uniform, 4.0, cost, jnp.full(3, True))
    joint = np.exp(joint).reshape(3, 8, 8, 8)
    np.testing.assert_allclose(np.exp(ours.log_positive), joint.sum(2), atol=1e-6)
    np.testing.assert_allclose(np.exp(ours.log_negative), joint.sum(1), atol=1e-6)
    np.testing.assert_allclose(
        np.exp(thresholds.gradable_speaker(grid, log_prior, 14.0, 6.0, 4.0, cost)).sum(1), 1, rtol=1e-5
    )


# Closed forms


def test_the_positive_adjective_alone_is_a_cumulative_sum():
    """L(x | u) proportional to P(x) sum over thresholds up to x of P(threshold) sigma(-alpha (log P(X >= it) + c))."""
    alpha, c = 3.0, 0.7
    tail = BOOK_PRIOR[::-1].cumsum()[::-1]
    said = 1 / (1 + (tail * np.exp(c)) ** alpha)
    expected = normalize(BOOK_PRIOR * said.cumsum())
    uniform, legal = np.full(8, 1 / 8), np.array([True, False, True])
    ours = in_float64(BOOKS, BOOK_PRIOR, BOOKS, uniform, BOOKS, uniform, alpha, np.array([c, 0, 0]), legal)
    np.testing.assert_allclose(ours.log_positive[POSITIVE].sum(0), expected, rtol=1e-10)
    np.testing.assert_allclose(ours.log_positive[NEGATIVE], 0)
    np.testing.assert_allclose(ours.log_negative[POSITIVE].sum(0), expected, rtol=1e-10)
    np.testing.assert_allclose(ours.log_negative[POSITIVE].sum(1), uniform, rtol=1e-10)  # nothing is learnt of it


def test_a_costlier_adjective_means_more_and_silence_means_the_middle():
    uniform, everything = np.full(8, 1 / 8), np.full(3, True)
    means = []
    for c in (0.5, 1.0, 2.0):
        cost = np.array([c, c, 0.0])
        joint = in_float64(BOOKS, BOOK_PRIOR, BOOKS, uniform, BOOKS, uniform, 4.0, cost, everything).log_positive
        means.append(joint.sum(1) @ BOOKS)
        np.testing.assert_allclose(means[-1][SILENCE], 16, atol=1e-9)  # the prior and the words are symmetric
        np.testing.assert_allclose(means[-1][POSITIVE] + means[-1][NEGATIVE], 32, atol=1e-9)
    assert means[0][POSITIVE] < means[1][POSITIVE] < means[2][POSITIVE] < 30


def test_alpha_limits():
    uniform, everything, free = np.full(8, 1 / 8), np.full(3, True), np.zeros(3)
    careless = in_float64(BOOKS, BOOK_PRIOR, BOOKS, uniform, BOOKS, uniform, 0.0, free, everything).log_positive
    expected = written_out(BOOKS, BOOK_PRIOR, BOOKS, uniform, BOOKS, uniform, 0.0, free, everything).sum(2)
    np.testing.assert_allclose(careless, expected, rtol=1e-9, atol=1e-15)
    careful = in_float64(BOOKS, BOOK_PRIOR, BOOKS, uniform, BOOKS, uniform, 1000.0, free, everything).log_positive
    best = np.zeros((3, 8, 8, 8))
    for (i, high), (j, low), (m, x) in itertools.product(*(list(enumerate(BOOKS)) for _ in range(3))):
        mass = np.array([BOOK_PRIOR[high <= BOOKS].sum(), BOOK_PRIOR[low >= BOOKS].sum(), 1])
        mass[[x < high, x > low, False]] = 2  # false
        best[:, i, j, m] = BOOK_PRIOR[m] * normalize(np.isclose(mass, mass.min()).astype(float))  # ties are shared
    best /= best.sum((1, 2, 3), keepdims=True)
    np.testing.assert_allclose(careful, best.sum(2), atol=1e-6)


def test_nothing_underflows_far_out():
    """The last degree has a prior of e^-2000; heard of it alone, the adjective is very informative."""
    log_prior = jnp.array([0.0, -2000.0])
    high, low, sure = jnp.array([1.0]), jnp.array([-1.0]), jnp.zeros(1)  # the low one is never true
    cost = jnp.array([3.0, 0.0, 0.0])
    ours = run(jnp.array([0.0, 1.0]), log_prior, high, sure, low, sure, 1.0, cost, jnp.full(3, True))
    np.testing.assert_allclose(ours.log_positive[POSITIVE], [[-np.inf, 0.0]], atol=1e-6)
    np.testing.assert_allclose(ours.log_positive[SILENCE, 0, 1], -2000 - 1997, rtol=1e-6)
    np.testing.assert_array_equal(ours.log_positive[NEGATIVE], -np.inf)


# Properties


@given(st.permutations(range(6)), st.permutations(range(4)), st.permutations(range(5)))
@quick
def test_order_does_not_matter(degrees, high, low):
    d, p, pp, h, n, pn, legal = random_case(3)
    m, x, y = map(np.array, (degrees, high, low))
    plain = in_float64(d, p, pp, h, n, pn, 2.0, np.zeros(3), legal)
    moved = in_float64(d[m], p[m], pp[x], h[x], n[y], pn[y], 2.0, np.zeros(3), legal)
    np.testing.assert_allclose(moved.log_positive, plain.log_positive[:, x][:, :, m], rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(moved.log_negative, plain.log_negative[:, y][:, :, m], rtol=1e-9, atol=1e-14)


def test_padding_changes_nothing_and_rows_normalise():
    d, p, pp, h, n, pn, legal = random_case(4)
    legal[:] = True
    plain = in_float64(d, p, pp, h, n, pn, 2.0, np.zeros(3), legal)
    padded = [np.pad(x, (0, 2), constant_values=3.0 * (i % 2 == 0)) for i, x in enumerate((d, p, pp, h, n, pn))]
    wide = in_float64(*padded, 2.0, np.zeros(3), legal)
    np.testing.assert_allclose(wide.log_positive[:, :4, :6], plain.log_positive, rtol=1e-9)
    np.testing.assert_allclose(wide.log_negative[:, :5, :6], plain.log_negative, rtol=1e-9)
    np.testing.assert_allclose(wide.log_positive.sum((1, 2)), 1, rtol=1e-9)
    np.testing.assert_allclose(wide.log_negative.sum((1, 2)), 1, rtol=1e-9)


@pytest.mark.slow
def test_jit_is_eager_and_vmap_is_a_loop():
    cases = [random_case(seed) for seed in range(3)]
    d, p, pp, h, n, pn, legal = (np.stack(x) for x in zip(*cases, strict=True))
    alpha, cost = np.array([0.0, 1.0, 9.0]), np.ones((3, 3))
    arguments = [jnp.array(x, jnp.float32) for x in (d, log(p), pp, log(h), n, log(pn), alpha, cost)]
    arguments.append(jnp.array(legal))
    batched = jax.vmap(run)(*arguments)
    for i in range(3):
        one = [x[i] for x in arguments]
        for jitted, stacked in zip(run(*one), batched, strict=True):
            np.testing.assert_allclose(stacked[i], jitted, rtol=1e-5, atol=1e-5)
    for jitted, eager in zip(run(*one), run.__wrapped__(*one), strict=True):
        np.testing.assert_allclose(jitted, eager, rtol=1e-5, atol=1e-5)


# Gradients


def log_likelihood(alpha, cost, log_prior, log_p_positive, log_p_negative):
    degrees = jnp.array([0.0, 1.0, 2.0, 3.0])
    high, low = jnp.array([3.0, 1.0, 5.0]), jnp.array([0.0, 2.0, -1.0])  # 5 and -1 are out of reach
    both = thresholds.gradable_listener(
        degrees, log_prior, Thresholds(high, log_p_positive), Thresholds(low, log_p_negative), alpha, cost
    )
    degree = logsumexp(both.log_positive, 1)
    return degree[POSITIVE, 3] + degree[SILENCE, 2] + both.log_negative[NEGATIVE, 1, 0]


value, derivative = jax.jit(log_likelihood), jax.jit(jax.grad(log_likelihood, tuple(range(5))))


@pytest.mark.parametrize("alpha", [0.0, 1.0, 50.0, 1000.0])
def test_gradients_with_zeros_are_finite_differences(check_gradients, alpha):
    arguments = [np.float64(alpha), np.array([0.3, 0.2, 0.0]), log([0.3, 0, 0.3, 0.4]), log([0.5, 0.3, 0.2])]
    arguments.append(log([0.6, 0.4, 0]))
    check_gradients(value, derivative, arguments, 1e-5 / max(alpha, 1), 1e-9)


# Errors


def test_errors_name_the_prior():
    grid, half = jnp.array([0.0, 1.0]), jnp.log(jnp.ones(2) / 2)
    pair, wrong = Thresholds(grid, half), Thresholds(grid, jnp.zeros(2))
    with pytest.raises(ValueError, match="over the degrees, not 1"):
        thresholds.gradable_listener(grid, jnp.zeros(2), pair, pair, 1.0)
    with pytest.raises(ValueError, match="over the positive thresholds, not 1"):
        thresholds.gradable_listener(grid, half, wrong, pair, 1.0)
    with pytest.raises(ValueError, match="over the negative thresholds, not 1"):
        thresholds.gradable_listener(grid, half, pair, wrong, 1.0)
