"""Mixed populations against loops in NumPy and closed forms."""

from math import factorial

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from otherminds.rsa import agents, population

quick = settings(deadline=None, max_examples=15)


def log(p):
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(p, np.float64))


def rows(x):
    total = np.sum(x, -1, keepdims=True)
    return np.divide(x, total, out=np.zeros_like(x), where=total > 0)


def written_out(lexicon, prior, weights, alpha, cost):
    """Speakers 1 .. depth and listeners 0 .. depth who reason about all depths below."""
    utterances, meanings = lexicon.shape
    listeners, speakers = [rows(lexicon * prior)], []
    for n in range(1, len(weights)):
        speaker = np.zeros((meanings, utterances))
        for m in range(meanings):
            for u in range(utterances):
                understood = sum(weights[k] * listeners[k][u, m] for k in range(n)) / sum(weights[:n])
                speaker[m, u] = (understood * np.exp(-cost[u])) ** alpha if understood > 0 else 0
        speakers.append(rows(speaker))
        said = sum(weights[k] * speakers[k - 1] for k in range(1, n + 1)) / sum(weights[1 : n + 1])
        listeners.append(rows(said.T * prior))
    return speakers, listeners


def random_case(seed, shape=(4, 3)):
    rng = np.random.default_rng(seed)
    lexicon = rng.random(shape) * (rng.random(shape) < 0.6)
    lexicon[0] += 0.1
    lexicon[:, 0] += 0.1
    return lexicon, rng.dirichlet(np.ones(shape[1])), rng.dirichlet(np.ones(4)), rng.random(shape[0])


hierarchy = jax.jit(population.hierarchy)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 4.0]))
@quick
def test_a_hierarchy_reasons_about_every_depth_below(seed, alpha):
    lexicon, prior, weights, cost = random_case(seed)
    speakers, listeners = written_out(lexicon, prior, weights, alpha, cost)
    with jax.enable_x64(True):
        levels = hierarchy(log(lexicon), log(prior), log(weights), np.float64(alpha), cost)
    np.testing.assert_allclose(np.exp(levels.log_speakers), speakers, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(np.exp(levels.log_listeners), listeners, rtol=1e-8, atol=1e-12)
    single = hierarchy(*(np.float32(x) for x in (log(lexicon), log(prior), log(weights), alpha, cost)))
    np.testing.assert_allclose(np.exp(single.log_listeners), listeners, atol=1e-4)


def test_depth_one_is_vanilla():
    lexicon, prior, weights, cost = random_case(1)
    with jax.enable_x64(True):
        ours = hierarchy(log(lexicon), log(prior), log(weights), np.float64(2.0), cost)
        plain = agents.recursion(jnp.array(log(lexicon)), jnp.array(log(prior)), 1, 2.0, jnp.array(cost))
    np.testing.assert_allclose(ours.log_speakers[0], plain.log_speakers[0], rtol=1e-9)
    np.testing.assert_allclose(ours.log_listeners[:2], plain.log_listeners, rtol=1e-9)


@pytest.mark.parametrize("tau, depth", [(1.5, 4), (0.2, 1), (3.0, 0)])
def test_poisson_depths(tau, depth):
    expected = np.array([tau**n / factorial(n) for n in range(depth + 1)])
    np.testing.assert_allclose(np.exp(population.poisson_depths(tau, depth)), expected / expected.sum(), rtol=1e-5)


def test_a_mixture_is_the_sum_of_its_agents():
    rng = np.random.default_rng(2)
    weights, speakers = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4), (3, 5))
    speakers[1, 2] = 0  # one agent cannot say one meaning
    expected = np.zeros((5, 4))
    for k in range(3):
        expected += weights[k] * speakers[k]
    log_weights, log_agents = jnp.asarray(log(weights), jnp.float32), jnp.asarray(log(speakers), jnp.float32)
    for mixture in (population.mixture_speaker, population.mixture_listener):
        ours = np.exp(mixture(log_weights, log_agents))
        np.testing.assert_allclose(ours, expected, rtol=1e-5)
        np.testing.assert_allclose(ours.sum(1), [1, 1, 1 - weights[1], 1, 1], rtol=1e-5)


def test_speaking_to_a_half_literal_population():
    """Of faces, "glasses" is safe with a pragmatic listener only; the more literal ones, the more often "hat"."""
    truth = np.array([[1, 1, 1], [0, 1, 1], [0, 0, 1]], float)
    levels = agents.recursion(jnp.asarray(log(truth), jnp.float32), jnp.full(3, -jnp.log(3.0)), 3, 4.0)
    kinds = levels.log_listeners[jnp.array([0, 3])]
    hats = []
    for literal in (0.0, 0.5, 1.0):
        listener = population.mixture_listener(jnp.log(jnp.array([literal, 1 - literal])), kinds)
        speaker = np.exp(agents.pragmatic_speaker(listener, 1.0, allow_empty=True))
        by_hand = literal * np.exp(kinds[0]) + (1 - literal) * np.exp(kinds[1])
        np.testing.assert_allclose(speaker, rows(by_hand.T), rtol=1e-4, atol=1e-7)
        hats.append(speaker[1, 1])
    assert hats[0] > hats[1] > hats[2]


def test_agents_who_know_less():
    lexicon, prior, _, cost = random_case(3)
    known, considered = np.array([True, True, False, True]), np.array([True, False, True])
    part = population.restrict(
        jnp.asarray(log(lexicon), jnp.float32),
        jnp.asarray(log(prior), jnp.float32),
        jnp.asarray(known),
        jnp.asarray(considered),
    )
    levels = agents.recursion(
        part.log_lexicon, part.log_prior, 2, 2.0, jnp.asarray(cost, jnp.float32), part.legal, allow_empty=True
    )
    # the same agents in the smaller game
    small = lexicon[known][:, considered]
    speaker, listener = None, rows(small * rows(prior[considered]))
    for _ in range(2):
        speaker = rows((np.where(listener > 0, listener, 0) ** 2 * np.exp(-2 * cost[known])[:, None]).T)
        listener = rows(speaker.T * prior[considered])
    inside = np.ix_([2], np.flatnonzero(known), np.flatnonzero(considered))
    np.testing.assert_allclose(np.exp(levels.log_listeners[inside])[0], listener, rtol=1e-4, atol=1e-6)
    assert (levels.log_listeners[:, 2] == -np.inf).all() and (levels.log_listeners[:, :, 1] == -np.inf).all()
    whole = population.restrict(jnp.asarray(lexicon, jnp.float32), jnp.asarray(log(prior), jnp.float32))
    np.testing.assert_array_equal(whole.log_lexicon, np.float32(lexicon))
    assert whole.legal.all()


@given(st.integers(0, 10**6))
@quick
def test_who_chose_like_this(seed):
    rng = np.random.default_rng(seed)
    weights, kinds = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4), (3, 5))
    condition, choice, valid = rng.integers(0, 5, 6), rng.integers(0, 4, 6), rng.random(6) < 0.7
    expected = []
    for t in range(6):
        joint = np.array(
            [
                weights[k] * np.prod([kinds[k, condition[i], choice[i]] for i in range(t + 1) if valid[i]])
                for k in range(3)
            ]
        )
        expected.append(joint / joint.sum())
    with jax.enable_x64(True):
        ours = posterior(log(weights), log(kinds), condition, choice, valid)
    np.testing.assert_allclose(np.exp(ours), expected, rtol=1e-9)


posterior = jax.jit(population.type_posterior)


def test_when_every_kind_is_ruled_out_it_says_so():
    kinds = jnp.log(jnp.array([[[1.0, 0.0]], [[1.0, 0.0]]]))
    ours = population.type_posterior(jnp.log(jnp.array([0.5, 0.5])), kinds, jnp.array([0, 0]), jnp.array([0, 1]))
    np.testing.assert_allclose(np.exp(ours), [[0.5, 0.5], [0, 0]])


@given(st.permutations(range(4)), st.permutations(range(3)))
@quick
def test_relabelling_permutes(utterances, meanings):
    lexicon, prior, weights, cost = random_case(4)
    u, m = np.array(utterances), np.array(meanings)
    with jax.enable_x64(True):
        plain = hierarchy(log(lexicon), log(prior), log(weights), np.float64(2.0), cost)
        moved = hierarchy(log(lexicon[u][:, m]), log(prior[m]), log(weights), np.float64(2.0), cost[u])
    np.testing.assert_allclose(moved.log_listeners, plain.log_listeners[:, u][:, :, m], rtol=1e-8)


@pytest.mark.slow
def test_vmap_is_a_loop():
    lexicon, prior, _, cost = (jnp.asarray(x, jnp.float32) for x in random_case(5))
    taus = jnp.array([0.5, 1.5])

    def final(tau):
        return hierarchy(jnp.log(lexicon), jnp.log(prior), population.poisson_depths(tau, 3), 2.0, cost).log_listeners[
            -1
        ]

    for tau, ours in zip(taus, jax.jit(jax.vmap(final))(taus), strict=True):
        np.testing.assert_allclose(np.exp(ours), np.exp(final(tau)), rtol=1e-4)


def chosen(alpha, tau, log_lexicon, log_prior):
    levels = population.hierarchy(log_lexicon, log_prior, population.poisson_depths(tau, 3), alpha)
    return levels.log_listeners[3, 0, 1] + levels.log_speakers[2, 0, 0]


value, gradient = jax.jit(chosen), jax.jit(jax.grad(chosen, (0, 1)))


@pytest.mark.parametrize("alpha", [0.0, 1.0, 50.0, 1000.0])
def test_gradients_are_finite_differences(alpha):
    lexicon, prior, _, _ = random_case(6)
    assert (lexicon == 0).any()
    with jax.enable_x64(True):
        fixed = (jnp.asarray(log(lexicon)), jnp.asarray(log(prior)))
        exact = gradient(alpha, 1.5, *fixed)
        step = 1e-6
        numeric = (
            (value(alpha + step, 1.5, *fixed) - value(alpha - step, 1.5, *fixed)) / (2 * step),
            (value(alpha, 1.5 + step, *fixed) - value(alpha, 1.5 - step, *fixed)) / (2 * step),
        )
    np.testing.assert_allclose(exact, numeric, rtol=1e-4, atol=1e-5)
    single = gradient(alpha, 1.5, *(x.astype(np.float32) for x in fixed))
    np.testing.assert_allclose(single, exact, rtol=5e-3, atol=1e-3)


def test_errors_say_what_is_wrong():
    half = jnp.full(2, -jnp.log(2.0))
    with pytest.raises(ValueError, match="sums to 2 over the agents"):
        population.mixture_listener(jnp.zeros(2), jnp.zeros((2, 1, 1)))
    with pytest.raises(ValueError, match="1 entries"):
        population.hierarchy(jnp.zeros((2, 2)), half, jnp.zeros(1))
    with pytest.raises(ValueError, match="depth 1 has no weight"):
        population.hierarchy(jnp.zeros((2, 2)), half, jnp.array([0.0, -jnp.inf]))
    with pytest.raises(ValueError, match="no possible meaning"):
        population.restrict(jnp.zeros((2, 2)), half, meanings=jnp.array([False, False]))
