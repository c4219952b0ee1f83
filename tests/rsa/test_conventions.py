"""Conventions against the joint over communities, partners' lexica and whole conversations, written out."""

from itertools import product

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from otherminds.rsa import conventions

quick = settings(deadline=None, max_examples=15)


def log(p):
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(p, np.float64))


def rows(x):
    total = np.sum(x, -1, keepdims=True)
    return np.divide(x, total, out=np.zeros_like(x), where=total > 0)


SOFT = np.array([[[0.9, 0.1], [0.1, 0.9]], [[0.1, 0.9], [0.9, 0.1]], [[0.6, 0.4], [0.3, 0.7]]])  # [X, U, M]
PRIOR, COST, ALPHA = np.array([0.6, 0.4]), np.array([0.0, 0.2]), 2.0


def agents_of(lexica, prior, alpha, cost):
    listeners = rows(lexica * prior)
    speakers = rows(np.where(listeners > 0, (listeners * np.exp(-cost)[:, None]) ** alpha, 0).transpose(0, 2, 1))
    return listeners, speakers


def speaks(listeners, belief, alpha, cost):
    utility = np.zeros(listeners.shape[:0:-1])  # [M, U]
    for m in range(utility.shape[0]):
        for u in range(utility.shape[1]):
            for x in range(len(belief)):
                utility[m, u] += belief[x] * log(listeners[x, u, m]) if belief[x] > 0 else 0
    return rows(np.exp(alpha * (utility - cost)))


def listens(speakers, belief, prior):
    return rows((belief[:, None, None] * speakers).sum(0).T * prior)


@jax.jit
def both(lexica, prior, alpha, cost, belief):
    game = conventions.make_game(lexica, prior, alpha, cost)
    return game, conventions.speaker(game, belief), conventions.listener(game, belief)


@given(st.integers(0, 10**6), st.sampled_from([0.5, 1.0, 6.0]))
@quick
def test_agents_who_are_unsure_of_the_partner(seed, alpha):
    rng = np.random.default_rng(seed)
    lexica, prior, cost = rng.random((3, 4, 3)) + 0.01, rng.dirichlet(np.ones(3)), rng.random(4)
    belief = rng.dirichlet(np.ones(3))
    belief[rng.integers(3)] = 0
    belief /= belief.sum()
    listeners, speakers = agents_of(lexica, prior, alpha, cost)
    with jax.enable_x64(True):
        game, speaker, listener = both(log(lexica), log(prior), np.float64(alpha), cost, log(belief))
    np.testing.assert_allclose(np.exp(game.log_listeners), listeners, rtol=1e-9)
    np.testing.assert_allclose(np.exp(game.log_speakers), speakers, rtol=1e-9)
    np.testing.assert_allclose(np.exp(speaker), speaks(listeners, belief, alpha, cost), rtol=1e-8)
    np.testing.assert_allclose(np.exp(listener), listens(speakers, belief, prior), rtol=1e-8)


def test_what_may_be_false_is_not_said():
    lexica = log([[[1, 0], [1, 1]], [[0, 1], [1, 1]]])
    for p, expected in ((0.5, [[0, 1], [0, 1]]), (1.0, [[2 / 3, 1 / 3], [0, 1]])):
        with jax.enable_x64(True):
            _, speaker, _ = both(lexica, log([0.5, 0.5]), 1.0, np.zeros(2), log([p, 1 - p]))
        np.testing.assert_allclose(np.exp(speaker), expected, rtol=1e-9)


# Partners and communities


@given(st.integers(0, 10**6))
@quick
def test_beliefs_are_the_joint_summed_out(seed):
    rng = np.random.default_rng(seed)
    community, given_community = rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(3), 2)
    evidence = rng.random((3, 3))  # likelihoods [K, X]
    evidence[0, 1], evidence[2] = 0, 1  # the third partner has not been met
    partners, stranger, posterior = np.zeros((3, 3)), np.zeros(3), np.zeros(2)
    for h, *lexica, other in product(range(2), *[range(3)] * 4):
        p = community[h] * np.prod([given_community[h, x] * evidence[k, x] for k, x in enumerate(lexica)])
        p *= given_community[h, other]
        posterior[h] += p
        stranger[other] += p
        for k, x in enumerate(lexica):
            partners[k, x] += p
    with jax.enable_x64(True):
        ours = summed_out(log(evidence), log(community), log(given_community))
    np.testing.assert_allclose(np.exp(ours.log_partners), partners / partners.sum(1, keepdims=True), rtol=1e-9)
    np.testing.assert_allclose(np.exp(ours.log_stranger), stranger / stranger.sum(), rtol=1e-9)
    np.testing.assert_allclose(np.exp(ours.log_community), posterior / posterior.sum(), rtol=1e-9)
    np.testing.assert_allclose(ours.log_partners[2], ours.log_stranger, rtol=1e-9)


summed_out = jax.jit(conventions.beliefs)


@pytest.mark.parametrize("pooling", [0.0, 0.5, 1.0])
def test_how_much_a_partner_tells_of_a_stranger(pooling):
    evidence = jnp.log(jnp.array([[0.9, 0.1], [0.8, 0.2]]))
    ours = summed_out(evidence, jnp.log(jnp.array([0.5, 0.5])), conventions.communities(2, pooling))
    stranger, first = np.exp(ours.log_stranger[0]), np.exp(ours.log_partners[0, 0])
    if pooling == 0:
        np.testing.assert_allclose([stranger, first], [0.5, 0.9], rtol=1e-5)
    elif pooling == 1:
        np.testing.assert_allclose([stranger, first], [0.72 / 0.74] * 2, rtol=1e-5)
    else:
        assert 0.5 < stranger < 0.72 / 0.74 and 0.9 < first < 0.72 / 0.74


def test_older_evidence_fades():
    lexica, utterances, meanings, retention = SOFT, [0, 1, 0], [0, 0, 1], 0.7
    listeners, speakers = agents_of(lexica, PRIOR, ALPHA, COST)
    with jax.enable_x64(True):
        game = both(log(lexica), log(PRIOR), ALPHA, COST, log(np.ones(3) / 3))[0]
        evidence = jnp.zeros((2, 3))
        for u, m in zip(utterances, meanings, strict=True):
            evidence = conventions.remember(evidence, 0, conventions.heard(game, u, m), retention)
            evidence = conventions.remember(evidence, 1, conventions.understood(game, u, m), retention)
    expected = np.ones((2, 3))
    for age, (u, m) in enumerate(zip(utterances[::-1], meanings[::-1], strict=True)):
        expected[0] *= speakers[:, m, u] ** retention**age
        expected[1] *= listeners[:, u, m] ** retention**age
    np.testing.assert_allclose(np.exp(evidence), expected, rtol=1e-9)


def test_forgetting_does_not_revive_the_impossible():
    evidence = jnp.array([[-jnp.inf, -1.0]])
    np.testing.assert_array_equal(conventions.remember(evidence, 0, jnp.zeros(2), 0.0), [[-jnp.inf, 0]])


# Conversations


def conversations(first, trials, retention):
    """Every conversation of two players, [(probability, meanings, utterances, responses, beliefs)], player 0 first."""
    listeners, speakers = agents_of(SOFT, PRIOR, ALPHA, COST)
    done = [(1.0, (), (), (), np.ones((2, 3)))]
    for t in range(trials):
        speaking, grown = t % 2, []
        for p, ms, us, rs, evidence in done:
            belief = rows(first * evidence)
            say = speaks(listeners, belief[speaking], ALPHA, COST)
            read = listens(speakers, belief[1 - speaking], PRIOR)
            for m, u, r in product(range(2), repeat=3):
                after = evidence**retention
                after[speaking] *= listeners[:, u, r]
                after[1 - speaking] *= speakers[:, m, u]
                grown.append((p * PRIOR[m] * say[m, u] * read[u, r], (*ms, m), (*us, u), (*rs, r), after))
        done = grown
    return done


FIRST = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]])


@pytest.fixture(scope="module")
def simulated():
    game = conventions.make_game(*(jnp.asarray(x, jnp.float32) for x in (log(SOFT), log(PRIOR), ALPHA, COST)))
    run = jax.jit(jax.vmap(lambda key: conventions.converse(key, game, jnp.asarray(log(FIRST), jnp.float32), 2, 0.8)))
    return jax.tree.map(np.asarray, run(jax.random.split(jax.random.key(0), 40_000)))


def test_every_conversation_comes_up_as_often_as_it_should(simulated):
    codes = np.concatenate([simulated.meaning, simulated.utterance, simulated.response], 1) @ 2 ** np.arange(6)
    frequency = np.bincount(codes, minlength=64) / len(codes)
    total = 0.0
    for p, ms, us, rs, _ in conversations(FIRST, 2, 0.8):
        code = np.array([*ms, *us, *rs]) @ 2 ** np.arange(6)
        assert abs(frequency[code] - p) < 5 * np.sqrt(p * (1 - p) / len(codes)) + 1e-9
        total += p
    np.testing.assert_allclose(total, 1)


def test_beliefs_and_costs_on_record(simulated):
    by_conversation = {(ms, us, rs): after for _, ms, us, rs, after in conversations(FIRST, 2, 0.8)}
    one_trial = {(ms, us, rs): after for _, ms, us, rs, after in conversations(FIRST, 1, 0.8)}
    for i in range(50):
        ms, us, rs = (tuple(map(int, x[i])) for x in (simulated.meaning, simulated.utterance, simulated.response))
        np.testing.assert_allclose(np.exp(simulated.log_evidence[i]), by_conversation[ms, us, rs], rtol=1e-4)
        expected = rows(FIRST * one_trial[ms[:1], us[:1], rs[:1]])
        np.testing.assert_allclose(np.exp(simulated.log_beliefs[i]), [FIRST, expected], rtol=1e-4)
    np.testing.assert_array_equal(simulated.correct, simulated.meaning == simulated.response)
    np.testing.assert_array_equal(simulated.cost, np.float32(COST)[simulated.utterance])


@pytest.fixture(scope="module")
def symmetric():
    """Two words, two meanings, two lexica, and nobody knows which."""
    lexica = jnp.asarray(log(SOFT[:2]), jnp.float32)
    game = conventions.make_game(lexica, jnp.full(2, -jnp.log(2.0)), 6.0)
    return game, jnp.full((2, 2), -jnp.log(2.0))


def test_a_convention_forms(symmetric):
    game, first = symmetric
    run = jax.jit(jax.vmap(lambda key: conventions.converse(key, game, first, 12)))
    played = run(jax.random.split(jax.random.key(1), 1000))
    accuracy = played.correct.mean(0)
    assert abs(accuracy[0] - 0.5) < 0.06 and accuracy[-1] > 0.9
    with_memory = played.log_evidence[:, 0]
    # the first partner's lexicon is expected of the next in part
    strangers = jax.vmap(lambda e: conventions.beliefs(e[None], first[0], conventions.communities(2, 0.6)))(with_memory)
    sure, transferred = (jnp.exp(x).max(-1).mean() for x in (strangers.log_partners[:, 0], strangers.log_stranger))
    assert sure > 0.95 and 0.6 < transferred < 0.85
    assert abs(jnp.exp(strangers.log_stranger[:, 0]).mean() - 0.5) < 0.05  # which one is arbitrary


@pytest.mark.slow
def test_without_memory_there_is_no_convention(symmetric):
    game, first = symmetric
    run = jax.jit(jax.vmap(lambda key: conventions.converse(key, game, first, 12, 0.0)))
    remembered = jax.jit(jax.vmap(lambda key: conventions.converse(key, game, first, 12, 1.0)))
    keys = jax.random.split(jax.random.key(2), 1000)
    assert run(keys).correct[:, -1].mean() < remembered(keys).correct[:, -1].mean() - 0.05


def test_the_same_seed_is_the_same_conversation_and_the_speaker_may_stay(symmetric):
    game, first = symmetric
    alone = jax.jit(lambda key: conventions.converse(key, game, first, 5, 1.0, take_turns=False))
    once, batched = alone(jax.random.key(3)), jax.vmap(alone)(jax.random.key(3)[None])
    for ours, theirs in zip(once, batched, strict=True):
        np.testing.assert_allclose(ours, theirs[0], rtol=1e-5, atol=1e-6)
    # player 0 only ever learns from answers: her evidence is the product over the trials
    answers = sum(conventions.understood(game, u, r) for u, r in zip(once.utterance, once.response, strict=True))
    np.testing.assert_allclose(once.log_evidence[0], answers, rtol=1e-4)


def test_silence_is_no_answer():
    """Of two opposite lexica, both possible, neither word is safe: she says nothing, and nobody learns."""
    game = conventions.make_game(jnp.where(jnp.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]]) == 1, 0.0, -jnp.inf), HALF)
    played = conventions.converse(jax.random.key(0), game, jnp.stack([HALF, HALF]), 3)
    for said in (played.utterance, played.response):
        np.testing.assert_array_equal(said, -1)
    assert not played.correct.any() and not played.cost.any() and not played.log_evidence.any()


HALF = jnp.full(2, -jnp.log(2.0))


@given(st.permutations(range(3)), st.permutations(range(2)))
@quick
def test_relabelling_permutes(order, words):
    x, u = np.array(order), np.array(words)
    belief = np.array([0.5, 0.3, 0.2])
    with jax.enable_x64(True):
        _, speaker, listener = both(log(SOFT), log(PRIOR), ALPHA, COST, log(belief))
        _, moved_speaker, moved_listener = both(log(SOFT[x][:, u]), log(PRIOR), ALPHA, COST[u], log(belief[x]))
    np.testing.assert_allclose(moved_speaker, speaker[:, u], rtol=1e-9)
    np.testing.assert_allclose(moved_listener, listener[u], rtol=1e-9)


def log_likelihood(alpha, retention, cost, log_lexica, log_prior):
    """Of what was said and understood in three trials with a partner; the last lexicon makes the second word false."""
    game = conventions.make_game(log_lexica, log_prior, alpha, cost)
    evidence, total = jnp.zeros((1, log_lexica.shape[0]), log_prior.dtype), 0.0
    community = jnp.full(3, -jnp.log(3.0), log_prior.dtype)
    for u, m in ((0, 0), (1, 1), (0, 1)):
        known = conventions.beliefs(evidence, community, conventions.communities(3, 0.5).astype(log_prior.dtype))
        belief = known.log_partners[0]
        total += conventions.speaker(game, belief)[m, u] + conventions.listener(game, belief)[u, m]
        evidence = conventions.remember(evidence, 0, conventions.heard(game, u, m), retention)
    return total


value, gradient = jax.jit(log_likelihood), jax.jit(jax.grad(log_likelihood, (0, 1, 2)))


@pytest.mark.parametrize("alpha", [0.0, 1.0, 50.0, 1000.0])
def test_gradients_are_finite_differences(alpha):
    lexica = np.array(
        [[[0.9, 0.1], [0.2, 0.8], [1, 0]], [[0.1, 0.9], [0.7, 0.3], [0, 1]], [[0.5, 0.6], [0.3, 0.9], [0, 0]]]
    )
    fixed, cost = (log(lexica), log(PRIOR)), np.array([0.1, 0.0, 0.3])
    with jax.enable_x64(True):
        exact = gradient(np.float64(alpha), np.float64(0.8), cost, *fixed)
        for which in range(2):
            step = 1e-6
            at = [np.array([alpha, 0.8]) + s * step * np.eye(2)[which] for s in (1, -1)]
            up, down = (value(a[0], a[1], cost, *fixed) for a in at)
            np.testing.assert_allclose(exact[which], (up - down) / (2 * step), rtol=1e-4, atol=1e-4)
        for u in range(3):
            step = 1e-5 / max(alpha, 1) * np.eye(3)[u]
            up, down = (value(np.float64(alpha), np.float64(0.8), cost + s * step, *fixed) for s in (1, -1))
            np.testing.assert_allclose(exact[2][u], (up - down) / (2 * step[u]), rtol=1e-4, atol=1e-4 * max(alpha, 1))
    single = gradient(np.float32(alpha), np.float32(0.8), np.float32(cost), *(np.float32(x) for x in fixed))
    for ours, theirs in zip(single, exact, strict=True):
        assert np.isfinite(ours).all()
        np.testing.assert_allclose(ours, theirs, atol=5e-3 * np.abs(theirs).max() + 1e-4)


def test_errors_say_what_is_wrong(symmetric):
    game, first = symmetric
    with pytest.raises(ValueError, match="trials=0"):
        conventions.converse(jax.random.key(0), game, first, 0)
    with pytest.raises(ValueError, match="over the groups"):
        conventions.beliefs(jnp.zeros((1, 2)), jnp.zeros(2), conventions.communities(2, 0.5))
    with pytest.raises(ValueError, match="over the meanings"):
        conventions.make_game(jnp.zeros((1, 2, 2)), jnp.zeros(2))
