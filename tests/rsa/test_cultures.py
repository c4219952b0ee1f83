"""Cultural groups against the joint over group, lexicon and meaning, written out by loops."""

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from otherminds.inference.logspace import logsumexp
from otherminds.rsa import cultures, uncertainty

quick = settings(deadline=None, max_examples=15)
GROUPS, LEXICA, MEANINGS, UTTERANCES = 2, 3, 3, 4


def log(p):
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(p, np.float64))


def random_case(seed):
    """P(g), P(x | g), S(u | m, x), P(m); one lexicon cannot say one thing, one group lacks one lexicon."""
    rng = np.random.default_rng(seed)
    speakers = rng.dirichlet(np.ones(UTTERANCES), (LEXICA, MEANINGS))
    speakers[0, :, 0] = 0
    speakers /= speakers.sum(-1, keepdims=True)
    lexica = rng.dirichlet(np.ones(LEXICA), GROUPS)
    lexica[0] = [0.3, 0.7, 0.0]
    return rng.dirichlet(np.ones(GROUPS)), lexica, speakers, rng.dirichlet(np.ones(MEANINGS))


def written_out(group, lexica, speakers, prior, utterances, meanings):
    """P(g, x | all trials), and L(m | u) after them: sums over every meaning of every trial."""
    belief = np.zeros((GROUPS, LEXICA))
    for g in range(GROUPS):
        for x in range(LEXICA):
            p = group[g] * lexica[g, x]
            for u, m in zip(utterances, meanings, strict=True):
                if u >= 0:
                    p *= speakers[x, m, u] if m >= 0 else sum(prior[k] * speakers[x, k, u] for k in range(MEANINGS))
            belief[g, x] = p
    belief /= belief.sum()
    listener = np.zeros((UTTERANCES, MEANINGS))
    for u in range(UTTERANCES):
        for m in range(MEANINGS):
            for g in range(GROUPS):
                for x in range(LEXICA):
                    listener[u, m] += belief[g, x] * prior[m] * speakers[x, m, u]
    return belief, listener / listener.sum(1, keepdims=True)


@jax.jit
def heard(log_group, log_lexica, log_speakers, log_prior, utterances, meanings):
    beliefs = cultures.update_over_trials(
        cultures.begin(log_group, log_lexica), log_speakers, log_prior, utterances, meanings
    )
    return beliefs, jax.vmap(cultures.listener, (0, None, None))(beliefs, log_speakers, log_prior)


@given(st.integers(0, 10**6))
@quick
def test_beliefs_and_readings_after_every_trial(seed):
    group, lexica, speakers, prior = random_case(seed)
    rng = np.random.default_rng(seed)
    utterances, meanings = rng.integers(-1, UTTERANCES, 5), rng.integers(-1, MEANINGS, 5)
    utterances[0] = 1
    logs = [log(x) for x in (group, lexica, speakers, prior)]
    with jax.enable_x64(True):
        beliefs, listeners = heard(*logs, utterances, meanings)
    single = heard(*(np.float32(x) for x in logs), utterances, meanings)[0]
    for t in range(5):
        belief, listener = written_out(group, lexica, speakers, prior, utterances[: t + 1], meanings[: t + 1])
        np.testing.assert_allclose(np.exp(beliefs[t]), belief, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(np.exp(listeners[t]), listener, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(np.exp(single[t]), belief, atol=1e-5)


def test_the_order_of_trials_and_padding_change_nothing():
    group, lexica, speakers, prior = (log(x) for x in random_case(0))
    utterances, meanings = np.array([1, 2, 3, 1, -1]), np.array([0, -1, 2, 1, 2])
    with jax.enable_x64(True):
        plain = heard(group, lexica, speakers, prior, utterances, meanings)[0]
        moved = heard(group, lexica, speakers, prior, utterances[[3, 4, 0, 2, 1]], meanings[[3, 4, 0, 2, 1]])[0]
    np.testing.assert_allclose(moved[-1], plain[-1], rtol=1e-9)
    np.testing.assert_array_equal(plain[4], plain[3])  # -1: nothing was said


def test_a_lexicon_is_kept_not_redrawn():
    """Two words that no one lexicon of the group has in common rule the group out, though each alone is likely."""
    speakers = np.array([[[1.0, 0.0]], [[0.0, 1.0]], [[0.5, 0.5]]])
    lexica = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    beliefs, _ = heard(log([0.5, 0.5]), log(lexica), log(speakers), log([1.0]), np.array([0, 1]), np.array([0, 0]))
    np.testing.assert_allclose(np.exp(logsumexp(beliefs, -1)), [[0.5, 0.5], [0, 1]], atol=1e-6)


def test_nothing_that_was_said_has_an_explanation():
    speakers = np.array([[[1.0, 0.0]], [[1.0, 0.0]]])
    beliefs, listeners = heard(log([0.5, 0.5]), log(np.eye(2)), log(speakers), log([1.0]), np.array([1]), np.array([0]))
    assert (beliefs == -np.inf).all() and (listeners == -np.inf).all()


def test_group_speakers_are_mixtures():
    _, lexica, speakers, _ = random_case(2)
    with jax.enable_x64(True):
        ours = cultures.group_speakers(jnp.array(log(speakers)), jnp.array(log(lexica)))
    expected = np.zeros((GROUPS, MEANINGS, UTTERANCES))
    for g in range(GROUPS):
        for x in range(LEXICA):
            expected[g] += lexica[g, x] * speakers[x]
    np.testing.assert_allclose(np.exp(ours), expected, rtol=1e-9, atol=1e-12)


@given(st.integers(0, 10**6), st.sampled_from(["best", "sampled"]))
@quick
def test_miscommunication_written_out(seed, guess):
    group, lexica, speakers, prior = random_case(seed)
    beliefs = np.vstack([np.eye(GROUPS), group])
    with jax.enable_x64(True):
        logs = [jnp.array(log(x)) for x in (speakers, lexica, beliefs, prior)]
        ours = cultures.miscommunication_matrix(*logs, guess)
    for g in range(GROUPS):
        speaker = sum(lexica[g, x] * speakers[x] for x in range(LEXICA))
        for b in range(len(beliefs)):
            wrong = 0.0
            _, listener = written_out(beliefs[b], lexica, speakers, prior, [], [])
            for m in range(MEANINGS):
                for u in range(UTTERANCES):
                    right = listener[u, m] if guess == "sampled" else float(np.argmax(listener[u]) == m)
                    wrong += prior[m] * speaker[m, u] * (1 - right)
            np.testing.assert_allclose(ours[g, b], wrong, rtol=1e-9)


def test_ties_are_shared_and_an_unknown_word_miscommunicates():
    speaker, prior = jnp.log(jnp.eye(2)), jnp.log(jnp.array([0.5, 0.5]))
    listener = jnp.array([[-jnp.log(2.0), -jnp.log(2.0)], [-jnp.inf, -jnp.inf]])
    for guess in ("best", "sampled"):
        np.testing.assert_allclose(cultures.miscommunication(speaker, listener, prior, guess), 0.75, rtol=1e-6)


def two_cultures(alpha=4.0):
    """Group 1 uses the words of group 0 the other way round, but for one that both share."""
    truth = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], float) * 0.9 + 0.1
    lexica = jnp.asarray(log(np.stack([truth, truth[[1, 0, 2]]])), jnp.float32)
    prior = jnp.full(3, -jnp.log(3.0))
    return uncertainty.lexicon_speakers(lexica, prior, alpha), prior


@pytest.mark.slow
def test_cultures_miscommunicate_and_uncertainty_of_the_group_helps():
    speakers, prior = two_cultures()
    own = cultures.own_lexicon(2)
    half = jnp.log(jnp.array([[0.5, 0.5]]))
    sure = cultures.miscommunication_matrix(speakers, own, own, prior)
    unsure = cultures.miscommunication_matrix(speakers, own, half, prior)
    assert sure[0, 0] < 0.05 and sure[1, 1] < 0.05
    assert sure[0, 1] > 0.6 and sure[1, 0] > 0.6
    assert (unsure[:, 0] < sure[0, 1] - 0.1).all() and (unsure[:, 0] > sure[0, 0]).all()
    # after two words whose meaning came out, she knows the culture
    beliefs = cultures.update_over_trials(
        cultures.begin(half[0], own), speakers, prior, jnp.array([0, 1]), jnp.array([1, 0])
    )
    assert jnp.exp(logsumexp(beliefs[-1]))[1] > 0.99
    told = cultures.miscommunication(speakers[1], cultures.listener(beliefs[-1], speakers, prior), prior)
    assert told < 0.05


@given(st.permutations(range(GROUPS)), st.permutations(range(LEXICA)))
@quick
def test_relabelling_permutes(groups, lexica_order):
    group, lexica, speakers, prior = random_case(3)
    g, x = np.array(groups), np.array(lexica_order)
    u, m = np.array([1, 2, 3]), np.array([0, -1, 2])
    with jax.enable_x64(True):
        plain = heard(log(group), log(lexica), log(speakers), log(prior), u, m)
        moved = heard(log(group[g]), log(lexica[g][:, x]), log(speakers[x]), log(prior), u, m)
    np.testing.assert_allclose(moved[0], plain[0][:, g][:, :, x], rtol=1e-9)
    np.testing.assert_allclose(moved[1], plain[1], rtol=1e-9)


def log_likelihood(alpha, log_group, log_lexica, log_prior):
    speakers = uncertainty.lexicon_speakers(log_lexica, log_prior, alpha)
    belief = cultures.update_over_trials(
        cultures.begin(log_group, cultures.own_lexicon(2).astype(log_group.dtype)),
        speakers,
        log_prior,
        jnp.array([0, 1]),
        jnp.array([1, -1]),
    )[-1]
    reading = cultures.listener(belief, speakers, log_prior)
    wrong = cultures.miscommunication(speakers[0], reading, log_prior, "sampled")
    return reading[0, 1] + wrong + logsumexp(belief)[1]


value, gradient = jax.jit(log_likelihood), jax.jit(jax.grad(log_likelihood, (0, 1)))


@pytest.mark.parametrize("alpha", [0.0, 1.0, 50.0, 1000.0])
def test_gradients_are_finite_differences(alpha):
    lexica = np.array([[[1, 1, 0], [0.4, 1, 1], [0, 0, 1]], [[0, 1, 0], [1, 0.9, 0.3], [0, 0.5, 1]]])
    fixed = (log(lexica), log([0.5, 0.3, 0.2]))
    with jax.enable_x64(True):
        exact = gradient(np.float64(alpha), log([0.4, 0.6]), *fixed)
        step = 1e-5 / max(alpha, 1)
        up, down = (value(np.float64(alpha + s * step), log([0.4, 0.6]), *fixed) for s in (1, -1))
        np.testing.assert_allclose(exact[0], (up - down) / (2 * step), rtol=1e-4, atol=1e-6)
        for g in range(2):
            move = 1e-5 * np.eye(2)[g]
            up, down = (value(np.float64(alpha), log([0.4, 0.6]) + s * move, *fixed) for s in (1, -1))
            np.testing.assert_allclose(exact[1][g], (up - down) / 2e-5, rtol=1e-4, atol=1e-6)
    single = gradient(np.float32(alpha), np.float32(log([0.4, 0.6])), *(np.float32(x) for x in fixed))
    for ours, theirs in zip(single, exact, strict=True):
        assert np.isfinite(ours).all()
        np.testing.assert_allclose(ours, theirs, atol=5e-3 * np.abs(theirs).max() + 1e-4)


def test_vmap_is_a_loop():
    group, lexica, speakers, prior = (jnp.asarray(log(x), jnp.float32) for x in random_case(5))
    belief = cultures.begin(group, lexica)
    words = jnp.array([1, 2, -1])
    batched = jax.vmap(cultures.update, (None, None, None, 0, None))(belief, speakers, prior, words, 1)
    for word, ours in zip(words, batched, strict=True):
        np.testing.assert_allclose(ours, cultures.update(belief, speakers, prior, word, 1), rtol=1e-5)


def test_errors_say_what_is_wrong():
    half = jnp.full(2, -jnp.log(2.0))
    with pytest.raises(ValueError, match="over the groups"):
        cultures.begin(jnp.zeros(2), cultures.own_lexicon(2))
    with pytest.raises(ValueError, match="over the lexicons"):
        cultures.group_speakers(jnp.zeros((2, 1, 1)), jnp.zeros((2, 2)))
    with pytest.raises(ValueError, match="'worst'"):
        cultures.miscommunication(jnp.zeros((2, 1)), jnp.zeros((1, 2)), half, "worst")
