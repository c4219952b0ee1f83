"""RSA as optimisation: the objectives written out in NumPy, their monotony, and their closed forms."""

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from otherminds.rsa import agents, rate_distortion

quick = settings(deadline=None, max_examples=20)


def log(p):
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(p, np.float64))


def random_case(seed, shape=(4, 3), zeros=True):
    rng = np.random.default_rng(seed)
    lexicon = rng.random(shape)
    lexicon[rng.random(shape) < 0.4 * zeros] = 0
    lexicon[0] += 0.1
    lexicon[:, 0] += 0.1
    return lexicon, rng.dirichlet(np.ones(shape[1])), rng.random(shape[0])


def written_out(speaker, listener, prior, alpha, cost):
    """G and F, cell by cell."""
    conditional = information = utility = 0.0
    marginal = prior @ speaker
    for m in range(len(prior)):
        for u in range(len(marginal)):
            p = prior[m] * speaker[m, u]
            if p > 0:
                conditional -= p * np.log(speaker[m, u])
                information += p * np.log(speaker[m, u] / marginal[u])
                utility += p * (np.log(listener[u, m]) - cost[u]) if listener[u, m] > 0 else -np.inf
    return conditional + alpha * utility, information - alpha * utility


@jax.jit
def both(lexicon, prior, alpha, cost):
    literal = agents.literal_listener(lexicon, prior)
    climbed = rate_distortion.maximise_gain(literal, prior, 6, alpha, cost)
    descended = rate_distortion.minimise_rate_distortion(literal, prior, 6, alpha, cost)
    return literal, climbed, descended, agents.recursion(lexicon, prior, 6, alpha, cost)


def in_float64(lexicon, prior, alpha, cost):
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, both(log(lexicon), log(prior), np.float64(alpha), cost))


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 1.0, 1.3, 4.0]))
@quick
def test_objectives_written_out_and_monotone(seed, alpha):
    lexicon, prior, cost = random_case(seed)
    literal, climbed, descended, _ = in_float64(lexicon, prior, alpha, cost)
    for iterates, which, sign in ((climbed, 0, 1), (descended, 1, -1)):
        before = np.exp(literal)
        path = []
        for n in range(6):
            speaker, listener = np.exp(iterates.log_speakers[n]), np.exp(iterates.log_listeners[n])
            path += [written_out(speaker, before, prior, alpha, cost)[which]]
            path += [written_out(speaker, listener, prior, alpha, cost)[which]]
            before = listener
        ours = np.stack([iterates.after_speaker, iterates.after_listener], 1).ravel()
        np.testing.assert_allclose(ours, path, rtol=1e-9, atol=1e-9)
        assert (sign * np.diff(ours) > -1e-9).all()


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 3.0, 1000.0]))
@quick
def test_alternating_maximisation_is_vanilla(seed, alpha):
    lexicon, prior, cost = random_case(seed)
    _, climbed, _, vanilla = in_float64(lexicon, prior, alpha, cost)
    np.testing.assert_allclose(np.exp(climbed.log_speakers), np.exp(vanilla.log_speakers), atol=1e-12)
    np.testing.assert_allclose(np.exp(climbed.log_listeners), np.exp(vanilla.log_listeners[1:]), atol=1e-12)


@given(st.integers(0, 10**6))
@quick
def test_each_half_step_is_the_best_answer(seed):
    """No other speaker has a larger G against the listener before, or a smaller F at her own S(u)."""
    lexicon, prior, cost = random_case(seed)
    literal, climbed, _, _ = in_float64(lexicon, prior, 1.7, cost)
    rng = np.random.default_rng(seed)
    best = climbed.after_speaker[0]
    for _ in range(20):
        other = np.exp(climbed.log_speakers[0]) * rng.random((3, 4))
        other /= other.sum(1, keepdims=True)
        assert written_out(other, np.exp(literal), prior, 1.7, cost)[0] <= best + 1e-12


@given(st.integers(0, 10**6))
@quick
def test_rate_distortion_at_alpha_one(seed):
    """S(u) L(m | u) = P(m) S(u | m): without costs the second step changes nothing, and F is the entropy of M."""
    lexicon, prior, _ = random_case(seed)
    _, climbed, descended, vanilla = in_float64(lexicon, prior, 1.0, np.zeros(4))
    first = np.exp(vanilla.log_speakers[0])
    np.testing.assert_allclose(np.exp(descended.log_speakers), np.broadcast_to(first, (6, 3, 4)), atol=1e-12)
    np.testing.assert_allclose(descended.after_listener, -(prior * np.log(prior)).sum(), rtol=1e-9)
    # and G is H(U) - H(M)
    marginal = prior @ np.exp(climbed.log_speakers[-1])
    expected = -(marginal * np.log(np.where(marginal > 0, marginal, 1))).sum() + (prior * np.log(prior)).sum()
    np.testing.assert_allclose(climbed.after_listener[-1], expected, rtol=1e-8, atol=1e-10)


def test_the_first_rate_distortion_speaker_is_vanilla_and_the_second_is_not():
    lexicon, prior, cost = random_case(3)
    _, _, descended, vanilla = in_float64(lexicon, prior, 2.0, cost)
    np.testing.assert_allclose(np.exp(descended.log_speakers[0]), np.exp(vanilla.log_speakers[0]), rtol=1e-9)
    assert np.abs(np.exp(descended.log_speakers[1]) - np.exp(vanilla.log_speakers[1])).max() > 0.01


def test_below_the_critical_alpha_one_utterance_says_it_all():
    """alpha < 1: the rate costs more than it brings; RSA talks at random, rate-distortion RSA stops talking."""
    lexicon, prior = np.array([[1.0, 0.5], [0.5, 1.0], [1.0, 1.0]]), np.array([0.5, 0.5])
    with jax.enable_x64(True):
        literal = agents.literal_listener(jnp.asarray(log(lexicon)), jnp.asarray(log(prior)))
        vanilla = rate_distortion.maximise_gain(literal, jnp.asarray(log(prior)), 200, 0.5)
        rated = rate_distortion.minimise_rate_distortion(literal, jnp.asarray(log(prior)), 200, 0.5)
    np.testing.assert_allclose(np.exp(vanilla.log_speakers[-1]), 1 / 3, atol=1e-6)
    np.testing.assert_allclose(rated.log_speakers[-1][0], rated.log_speakers[-1][1], atol=1e-6)  # says nothing of m
    np.testing.assert_allclose(rated.after_listener[-1], 0.5 * np.log(2), rtol=1e-6)  # I = 0, alpha H(M)


def test_large_alpha_says_the_best():
    lexicon, prior, cost = random_case(4)
    literal, climbed, descended, _ = in_float64(lexicon, prior, 1e5, cost)
    best = np.argmax(literal.T - cost, 1)
    np.testing.assert_allclose(np.exp(climbed.log_speakers[0])[np.arange(3), best], 1, atol=1e-6)
    np.testing.assert_allclose(np.exp(descended.log_speakers[0])[np.arange(3), best], 1, atol=1e-6)


def test_what_the_listener_cannot_understand_is_worth_minus_infinity():
    half = jnp.log(jnp.array([0.5, 0.5]))
    sure = jnp.log(jnp.eye(2))
    lost = rate_distortion.gain(jnp.broadcast_to(half, (2, 2)), sure, half)
    assert lost == -jnp.inf
    assert np.isfinite(rate_distortion.gain(sure, sure, half))


@given(st.permutations(range(4)), st.permutations(range(3)))
@quick
def test_relabelling_permutes(utterances, meanings):
    lexicon, prior, cost = random_case(5)
    u, m = np.array(utterances), np.array(meanings)
    plain = in_float64(lexicon, prior, 2.0, cost)[2]
    moved = in_float64(lexicon[u][:, m], prior[m], 2.0, cost[u])[2]
    np.testing.assert_allclose(np.exp(moved.log_speakers), np.exp(plain.log_speakers)[:, m][:, :, u], rtol=1e-9)
    np.testing.assert_allclose(moved.after_listener, plain.after_listener, rtol=1e-9)


@pytest.mark.slow
def test_padding_and_vmap_change_nothing():
    lexicon, prior, cost = random_case(6)
    alphas = np.array([0.0, 1.0, 5.0])
    with jax.enable_x64(True):
        batched = jax.vmap(both, (None, None, 0, None))(log(lexicon), log(prior), alphas, cost)[2]
        wide = np.pad(log(lexicon), ((0, 0), (0, 1)))
        padded = both(wide, np.pad(log(prior), (0, 1), constant_values=-np.inf), alphas[2], cost)[2]
    for alpha, ours in zip(alphas, batched.log_speakers, strict=True):
        np.testing.assert_allclose(ours, in_float64(lexicon, prior, alpha, cost)[2].log_speakers, rtol=1e-9)
    np.testing.assert_allclose(padded.log_listeners[:, :, :3], batched.log_listeners[2], rtol=1e-9)
    np.testing.assert_allclose(padded.after_listener, batched.after_listener[2], rtol=1e-9)


def objective(alpha, cost, log_prior, log_lexicon):
    literal = agents.literal_listener(log_lexicon, log_prior)
    climbed = rate_distortion.maximise_gain(literal, log_prior, 2, alpha, cost)
    descended = rate_distortion.minimise_rate_distortion(literal, log_prior, 2, alpha, cost)
    return climbed.after_listener[-1] + 0.5 * descended.after_listener[-1]


value, gradient = jax.jit(objective), jax.jit(jax.grad(objective, (0, 1)))


@pytest.mark.parametrize("alpha", [0.0, 1.0, 50.0, 1000.0])
def test_gradients_are_finite_differences(alpha):
    lexicon, prior, cost = random_case(7)
    assert (lexicon == 0).any()
    with jax.enable_x64(True):
        fixed = (log(prior), log(lexicon))
        exact = gradient(np.float64(alpha), cost, *fixed)
        step = 1e-6
        up, down = (value(np.float64(alpha + s * step), cost, *fixed) for s in (1, -1))
        np.testing.assert_allclose(exact[0], (up - down) / (2 * step), rtol=1e-4, atol=1e-6)
        for u in range(4):
            move = step * np.eye(4)[u] / max(alpha, 1)
            up, down = (value(np.float64(alpha), cost + s * move, *fixed) for s in (1, -1))
            np.testing.assert_allclose(exact[1][u], (up - down) / (2 * move[u]), rtol=1e-4, atol=1e-5 * max(alpha, 1))
    single = gradient(np.float32(alpha), np.float32(cost), *(np.float32(x) for x in fixed))
    for ours, theirs in zip(single, exact, strict=True):
        assert np.isfinite(ours).all()
        np.testing.assert_allclose(ours, theirs, atol=5e-3 * np.abs(theirs).max() + 1e-4)


def test_errors_say_what_is_wrong():
    half = jnp.full(2, -jnp.log(2.0))
    unsayable = jnp.log(jnp.array([[1.0, 0.0], [1.0, 0.0]]))
    for climb in (rate_distortion.maximise_gain, rate_distortion.minimise_rate_distortion):
        with pytest.raises(ValueError, match="meaning 1"):
            climb(unsayable, half, 2)
        with pytest.raises(ValueError, match="depth=0"):
            climb(jnp.broadcast_to(half, (2, 2)), half, 0)
    with pytest.raises(ValueError, match="over the utterances"):
        rate_distortion.rate_distortion_speaker(unsayable, jnp.zeros(2))
