"""The fast recursion over Boolean lexica against the general one, enumeration and finite differences."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.inference.double_word import from_float, to_float
from otherminds.rsa import agents, boolean


def case(utterances, meanings, density=0.3, seed=0):
    """truth with no empty row or column, log-prior and cost, in float64."""
    rng = np.random.default_rng(seed)
    truth = rng.random((utterances, meanings)) < density
    truth[np.arange(utterances), rng.integers(0, meanings, utterances)] = True
    truth[rng.integers(0, utterances, meanings), np.arange(meanings)] = True
    return truth, np.log(rng.dirichlet(np.full(meanings, 2.0))), rng.random(utterances)


def arrays(dtype, *values):
    return [jnp.asarray(v) if np.asarray(v).dtype == bool else jnp.asarray(v, dtype) for v in values]


@partial(jax.jit, static_argnames="depth")
def general_recursion(log_lexicon, log_prior, depth, alpha, cost, legal):
    """A lexicon in logs inside jit is never taken for Boolean."""
    return agents.recursion(log_lexicon, log_prior, depth, alpha, cost, legal)


def general(truth, log_prior, depth, alpha, cost=0.0, legal=None):
    """The recursion of softmaxes."""
    log_lexicon = jnp.where(jnp.asarray(truth), 0.0, -jnp.inf).astype(log_prior.dtype)
    return general_recursion(log_lexicon, log_prior, depth, alpha, cost, legal)


@jax.jit
def linear(matrix, log_x):
    return to_float(boolean.log_product(1, matrix, from_float(log_x)))


# The recursion


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 4.0, 50.0])
@pytest.mark.parametrize("shape, density", [((64, 80), 0.3), ((90, 50), 0.05), ((300, 20), 0.5)])
def test_every_level_equals_the_general_path(shape, density, alpha):
    truth, log_prior, cost = case(*shape, density)
    with jax.enable_x64(True):
        truth, log_prior, cost, alpha = arrays(jnp.float64, truth, log_prior, cost, alpha)
        expected = general(truth, log_prior, 5, alpha, cost)
        levels = agents.recursion(truth, log_prior, 5, alpha, cost)
        for ours, theirs in zip(levels, expected, strict=True):
            # at alpha 50 a rounding error of a level is multiplied by 50 at each of the next
            tolerance = {"rtol": 1e-6, "atol": 1e-7} if alpha == 50 else {"rtol": 1e-9, "atol": 1e-12}
            np.testing.assert_allclose(np.exp(ours), np.exp(theirs), **tolerance)
            np.testing.assert_array_equal(ours == -np.inf, theirs == -np.inf)
        np.testing.assert_allclose(agents.listener(truth, log_prior, 5, alpha, cost), levels.log_listeners[5])
        np.testing.assert_allclose(agents.speaker(truth, log_prior, 5, alpha, cost), levels.log_speakers[4])


@pytest.mark.parametrize("alpha, depth", [(1.0, 5), (50.0, 3), (1000.0, 1), (1000.0, 2)])
@pytest.mark.parametrize("shape, density", [((128, 128), 0.02), ((128, 128), 0.3)])
def test_float32_is_near_float64_at_any_rationality(shape, density, alpha, depth):
    truth, log_prior, cost = (x.astype(np.float32) if x.dtype != bool else x for x in case(*shape, density, seed=3))
    small = agents.recursion(*arrays(jnp.float32, truth, log_prior), depth, alpha, *arrays(jnp.float32, cost))
    with jax.enable_x64(True):
        truth, log_prior, cost = arrays(jnp.float64, truth, log_prior, cost)
        large = general(truth, log_prior, depth, alpha, cost)
        for ours, theirs in zip(small, large, strict=True):
            np.testing.assert_allclose(np.exp(ours), np.exp(theirs), atol=2e-6 if alpha == 1 else 1e-4)


def test_four_by_four_to_depth_ten():
    """Where scaled products in linear space underflow."""
    truth = np.array([[1, 1, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]], bool)
    listener = truth / truth.sum(1, keepdims=True)
    for _ in range(10):
        speaker = listener**1.5 / (listener**1.5).sum(0)
        listener = speaker / speaker.sum(1, keepdims=True)
    uniform = np.full(4, -np.log(4.0), np.float32)
    potentials = boolean.recursion(jnp.asarray(truth), jnp.asarray(uniform), 10, 1.5, 0.0, None, boolean.log_product)
    np.testing.assert_allclose(np.exp(boolean.listener_at(potentials, 10)), listener, atol=1e-6)
    np.testing.assert_allclose(np.exp(boolean.speaker_at(potentials, 10)), speaker.T, atol=1e-6)


@pytest.mark.slow
def test_1024_by_1024_to_depth_five_with_its_gradient():
    truth, log_prior, cost = case(1024, 1024, 0.1)
    np.fill_diagonal(truth, True)

    def score(run, dtype):
        t, p, c, a = arrays(dtype, truth, log_prior.astype(np.float32), cost.astype(np.float32), 1.5)
        return jax.jit(jax.value_and_grad(lambda a: jnp.sum(jnp.diagonal(run(t, p, 5, a, c)))))(a)

    small = score(agents.listener, jnp.float32)
    with jax.enable_x64(True):
        large = score(lambda *a: general(*a).log_listeners[-1], jnp.float64)
        np.testing.assert_allclose(small, large, rtol=2e-4)


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_masks_zeros_in_the_prior_and_empty_rows(alpha):
    truth, log_prior, cost = case(70, 75, seed=1)
    truth[3], truth[:, 5] = False, False
    log_prior[[7, 9]] = -np.inf
    log_prior -= np.log(np.exp(log_prior).sum())
    cost[11] = np.inf
    legal = np.arange(70) % 9 > 0
    with jax.enable_x64(True):
        truth, log_prior, cost, legal = arrays(jnp.float64, truth, log_prior, cost, legal)
        expected = general(truth, log_prior, 3, alpha, cost, legal)
        levels = agents.recursion(truth, log_prior, 3, alpha, cost, legal, allow_empty=True)
        for ours, theirs in zip(levels, expected, strict=True):
            np.testing.assert_allclose(np.exp(ours), np.exp(theirs), rtol=1e-9, atol=1e-12)
        assert (levels.log_listeners[0][3] == -np.inf).all() and (levels.log_speakers[0][5] == -np.inf).all()
        assert (levels.log_listeners[1][11] == -np.inf).all() and (levels.log_listeners[1][9] == -np.inf).all()
        gradient = jax.grad(lambda a: jnp.sum(jnp.exp(agents.listener(truth, log_prior, 3, a, cost, legal, True))))
        assert np.isfinite(gradient(jnp.float64(alpha)))


def test_the_program_does_not_grow_with_depth():
    truth, log_prior, _ = arrays(jnp.float32, *case(64, 64))
    lines = [
        len(str(jax.make_jaxpr(lambda t, d=d: agents.recursion(t, log_prior, d))(truth)).splitlines()) for d in (2, 40)
    ]
    assert lines[0] == lines[1]


def test_out_of_its_range_the_general_path_takes_over():
    truth, log_prior, cost = case(64, 64)
    truth, log_prior, cost = arrays(jnp.float32, truth, log_prior, cost)
    assert not boolean.is_exact(boolean.recursion(truth, log_prior, 10, 1000.0, cost, None, boolean.log_product))
    assert boolean.is_exact(boolean.recursion(truth, log_prior, 10, 1.0, cost, None, boolean.log_product))
    expected = general(truth, log_prior, 10, 1000.0, cost)
    for ours, theirs in zip(agents.recursion(truth, log_prior, 10, 1000.0, cost), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("size, fast", [(63, False), (64, True)])
def test_the_path_is_chosen_by_type_and_size(size, fast):
    truth, log_prior, _ = case(size, size)
    truth, log_prior = arrays(jnp.float32, truth, log_prior)
    program = str(jax.make_jaxpr(lambda t: agents.listener(t, log_prior, 2))(truth))
    assert ("dot_general" in program) == fast
    in_logs = jnp.where(truth, 0.0, -jnp.inf)
    graded = in_logs - 0.5 * (jnp.arange(size) % 2)
    for lexicon, recognised in ((in_logs, fast), (graded, False)):
        program = str(jax.make_jaxpr(lambda a, lexicon=lexicon: agents.listener(lexicon, log_prior, 2, a))(1.0))
        assert ("dot_general" in program) == recognised
    assert "dot_general" not in str(jax.make_jaxpr(lambda x: agents.listener(x, log_prior, 2))(in_logs))


def test_batches_equal_loops():
    truth, log_prior, cost = arrays(jnp.float32, *case(64, 64))
    flipped = jnp.stack([truth, truth[::-1]])
    alphas = jnp.array([1.0, 3.0])
    batch = jax.vmap(lambda t, a: agents.listener(t, log_prior, 3, a, cost))(flipped, alphas)
    for one, t, a in zip(batch, flipped, alphas, strict=True):
        np.testing.assert_allclose(np.exp(one), np.exp(agents.listener(t, log_prior, 3, a, cost)), atol=1e-6)


def test_a_batch_chooses_its_path_together():
    """Under vmap a `cond` with a condition for each case would run both paths for all."""
    truth, log_prior, cost = arrays(jnp.float32, *case(64, 64))
    batch = jax.vmap(lambda alpha: agents.listener(truth, log_prior, 10, alpha, cost))
    alphas = jnp.array([1.0, 1000.0])  # the second is out of range
    assert "cond[" in str(jax.make_jaxpr(batch)(alphas))
    for one, alpha in zip(batch(alphas), alphas, strict=True):
        expected = np.exp(general(truth, log_prior, 10, alpha, cost).log_listeners[-1])
        np.testing.assert_allclose(np.exp(one), expected, atol=1e-5)


def test_relabelling_and_padding_change_nothing():
    truth, log_prior, cost = case(64, 70, seed=2)
    base = np.exp(agents.listener(*arrays(jnp.float32, truth, log_prior), 4, 2.0, *arrays(jnp.float32, cost)))
    rng = np.random.default_rng(0)
    u, m = rng.permutation(64), rng.permutation(70)
    moved = arrays(jnp.float32, truth[u][:, m], log_prior[m], cost[u])
    np.testing.assert_allclose(np.exp(agents.listener(*moved[:2], 4, 2.0, moved[2])), base[u][:, m], atol=1e-6)
    padded = np.pad(truth, ((0, 6), (0, 10)))
    prior, cost = np.pad(log_prior, (0, 10), constant_values=-np.inf), np.pad(cost, (0, 6))
    padded, prior, cost = arrays(jnp.float32, padded, prior, cost)
    ours = np.exp(agents.listener(padded, prior, 4, 2.0, cost, allow_empty=True))
    np.testing.assert_allclose(ours[:64, :70], base, atol=1e-6)
    assert not ours[64:].any() and not ours[:, 70:].any()


# Gradients


@pytest.mark.parametrize("alpha, depth", [(0.0, 3), (1.0, 3), (50.0, 2), (1000.0, 1)])
def test_gradients_equal_finite_differences(alpha, depth):
    truth, log_prior, cost = case(64, 64, 0.1, seed=4)
    with jax.enable_x64(True):
        truth, log_prior, cost, alpha = arrays(jnp.float64, truth, log_prior, cost, alpha)
        weights = jnp.asarray(np.random.default_rng(0).normal(size=(64, 64)))

        def loss(alpha, cost, logits):
            log_p = agents.listener(truth, jax.nn.log_softmax(logits), depth, alpha, cost)
            return jnp.sum(weights * jnp.exp(log_p))

        gradient = jax.jit(jax.grad(loss, (0, 1, 2)))(alpha, cost, log_prior)
        loss = jax.jit(loss)
        if alpha > 0:  # below 0 there is nothing to differ from
            difference = (loss(alpha + 1e-5, cost, log_prior) - loss(alpha - 1e-5, cost, log_prior)) / 2e-5
            np.testing.assert_allclose(gradient[0], difference, rtol=1e-4, atol=1e-6)
        step = 1e-6 / max(1.0, float(alpha))
        for index in (0, 17):
            nudge = jnp.zeros(64).at[index].set(step)
            over_cost = (loss(alpha, cost + nudge, log_prior) - loss(alpha, cost - nudge, log_prior)) / (2 * step)
            over_prior = (loss(alpha, cost, log_prior + nudge) - loss(alpha, cost, log_prior - nudge)) / (2 * step)
            np.testing.assert_allclose(gradient[1][index], over_cost, rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(gradient[2][index], over_prior, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("alpha, depth", [(0.0, 3), (1.0, 5), (50.0, 2), (1000.0, 1)])
def test_float32_gradients_are_near_the_general_path_in_float64(alpha, depth):
    truth, log_prior, cost = case(64, 64, 0.1, seed=5)
    np.fill_diagonal(truth, True)

    def gradients(run, dtype):
        t, p, c, a = arrays(dtype, truth, log_prior.astype(np.float32), cost.astype(np.float32), alpha)
        loss = lambda a, p, c: jnp.sum(jnp.diagonal(run(t, p, depth, a, c)))  # noqa: E731
        return jax.jit(jax.grad(loss, (0, 1, 2)))(a, p, c)

    small = gradients(agents.listener, jnp.float32)
    with jax.enable_x64(True):
        large = gradients(lambda *a: general(*a).log_listeners[-1], jnp.float64)
        for ours, theirs in zip(small, large, strict=True):
            assert np.isfinite(ours).all()
            np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5 * (1 + np.abs(theirs).max()))


@pytest.mark.slow
@pytest.mark.parametrize(
    "dtype, depth, alpha",
    [
        ("float32", 5, 10.0),
        ("float32", 5, 50.0),
        ("float32", 3, 300.0),
        ("float64", 5, 1000.0),
        ("float64", 10, 50.0),
        ("float64", 10, 300.0),
    ],
)
def test_gradients_where_cotangents_grow_large(dtype, depth, alpha):
    truth, log_prior, cost = case(64, 64, 0.3, seed=7)

    def gradients(run, dtype):
        t, p, c, a = arrays(dtype, truth, log_prior, 0.1 * cost, alpha)
        loss = lambda a, p, c: jnp.exp(run(t, p, depth, a, c))[3].max()  # noqa: E731
        return jax.jit(jax.grad(loss, (0, 1, 2)))(a, p, c)

    with jax.enable_x64(dtype == "float64"):
        ours = gradients(agents.listener, dtype)
    with jax.enable_x64(True):
        for one, other in zip(ours, gradients(lambda *a: general(*a).log_listeners[-1], "float64"), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("alpha, depth", [(0.0, 3), (1.0, 2), (1.0, 5), (50.0, 2)])
def test_gradient_where_the_only_utterance_of_a_meaning_is_illegal(alpha, depth):
    truth, log_prior, cost = case(64, 64, seed=8)
    truth[:, 5], truth[9] = False, False
    truth[9, 5] = True
    legal = np.arange(64) != 9
    with jax.enable_x64(True):
        truth, log_prior, cost, alpha, legal = arrays(jnp.float64, truth, log_prior, cost, alpha, legal)
        assert boolean.is_exact(boolean.recursion(truth, log_prior, depth, alpha, cost, legal, boolean.log_product))

        def gradients(run):
            loss = lambda a, p, c: jnp.sum(jnp.exp(run(a, p, c)) ** 2)  # noqa: E731
            return jax.jit(jax.grad(loss, (0, 1, 2)))(alpha, log_prior, cost)

        ours = gradients(lambda a, p, c: agents.listener(truth, p, depth, a, c, legal, allow_empty=True))
        theirs = gradients(lambda a, p, c: general(truth, p, depth, a, c, legal).log_listeners[-1])
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_second_derivatives():
    truth, log_prior, cost = case(64, 64, seed=6)
    with jax.enable_x64(True):
        truth, log_prior, cost = arrays(jnp.float64, truth, log_prior, cost)
        fast = lambda a: agents.listener(truth, log_prior, 3, a, cost)[2].max()  # noqa: E731
        slow = lambda a: general(truth, log_prior, 3, a, cost).log_listeners[-1][2].max()  # noqa: E731
        np.testing.assert_allclose(jax.hessian(fast)(1.5), jax.hessian(slow)(1.5), rtol=1e-6)


# The product


def test_rows_far_below_the_top_are_exact():
    """Each row sees one entry; the entries are spread over 50,000 nats."""
    log_x = jnp.linspace(0.0, -50_000.0, 40)
    np.testing.assert_array_equal(linear(jnp.eye(40), log_x), log_x)
    pairs = jnp.eye(40) + jnp.eye(40, k=1)
    np.testing.assert_array_equal(linear(pairs, log_x), log_x)  # the neighbour is 1,282 nats lower


@pytest.mark.parametrize("gap", [1.0, 50.0, 60.5, 61.5, 80.0, 87.0, 100.0])
def test_rows_on_either_side_of_a_window(gap):
    log_x = jnp.array([0.0, -gap, -gap - 1.0, -gap - 3.0])
    matrix = jnp.array([[1.0, 1, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]])
    with np.errstate(divide="ignore"):
        expected = np.log(np.exp(np.asarray(log_x, np.float64)) @ np.asarray(matrix, np.float64).T)
    np.testing.assert_allclose(linear(matrix, log_x), expected, rtol=1e-6, atol=1e-6)


def test_gradient_of_the_product_weighs_large_and_small_cotangents():
    log_x = jnp.array([0.0, -200.0, -jnp.inf])
    matrix = jnp.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    weights = jnp.array([1e20, -1e-20, 3.0])
    gradient = jax.grad(lambda x: jnp.dot(weights[:2], linear(matrix, x)[:2]))(log_x)
    np.testing.assert_allclose(gradient, [1e20, -1e-20, 0.0], rtol=1e-5)
