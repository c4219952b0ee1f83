"""Speakers with partial knowledge, against golden numbers and enumeration in NumPy."""

import itertools
import json
from functools import partial

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from otherminds.rsa import agents, knowledge

quick = settings(deadline=None, max_examples=20)
RULES = {"sampling": knowledge.sampling_speaker, "expecting": knowledge.expecting_speaker}
jitted = {name: jax.jit(rule, static_argnames="allow_empty") for name, rule in RULES.items()}

WORLDS = np.array(list(itertools.product([False, True], repeat=3)))  # which of three apples are red
UTTERANCES = ["all", "some", "none"]
TRUTH = np.stack([WORLDS.all(1), WORLDS.any(1), ~WORLDS.any(1)])


def log(p):
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(p, np.float64))


def jlog(p):
    return jnp.array(log(p), jnp.float32)


def normalize(x):
    total = x.sum(-1, keepdims=True)
    return np.divide(x, total, out=np.zeros_like(x), where=total > 0)


def world_prior(base_rate):
    return np.where(WORLDS, base_rate, 1 - base_rate).prod(1)


def seen(access):
    """[worlds, patterns of the apples in sight]."""
    patterns = np.array(list(itertools.product([False, True], repeat=sum(access))))
    return (WORLDS[:, None, np.array(access, bool)] == patterns).all(-1).astype(float)


def listener(rule, truth, prior, literal_prior, observation, alpha=1.0, **settings):
    """L(m | u) [U, M] and S(u | o) [O, U], in float64."""
    with jax.enable_x64(True):
        log_prior, log_observation = jnp.array(log(prior)), jnp.array(log(observation))
        literal = agents.literal_listener(jnp.array(log(truth)), jnp.array(log(literal_prior)))
        speaker = RULES[rule](literal, knowledge.belief(log_observation, log_prior), alpha, **settings)
        observing = knowledge.observing_speaker(speaker, log_observation)
        return np.exp(agents.pragmatic_listener(observing, log_prior)), np.exp(speaker)


def by_count(log_listener):
    return np.stack([log_listener[:, WORLDS.sum(1) == count].sum(1) for count in range(4)], 1)


def compare(ours, golden_row):
    expected = np.zeros(4)
    for state, p in golden_row:
        expected[state] = p
    np.testing.assert_allclose(ours, expected, atol=1e-6)


# Golden numbers


def test_golden_sampling_speaker_with_a_uniform_literal_listener(shared):
    """probLang's block: the base rate .8 enters the speaker's belief and L1, the literal listener is uniform."""
    golden = json.loads((shared / "golden/rsa/gs2013.json").read_text())["values"]
    assert len(golden) == 6
    for label, row in golden.items():
        _, utterance, access = label.split(":")
        ours, _ = listener("sampling", TRUTH, world_prior(0.8), np.full(8, 1 / 8), seen(json.loads(access)))
        compare(by_count(ours)[UTTERANCES.index(utterance)], row)


def test_golden_sampling_speaker_with_the_base_rate_everywhere(shared):
    golden = json.loads((shared / "golden/rsa/gs2013b.json").read_text())["values"]
    assert len(golden) == 12
    for label, row in golden.items():
        base_rate, access, utterance = label.split(":")
        prior, access = world_prior(float(base_rate[4:])), int(access[3:])
        ours, _ = listener("sampling", TRUTH, prior, prior, seen([1] * access + [0] * (3 - access)))
        compare(by_count(ours)[UTTERANCES.index(utterance)], row)


@pytest.mark.parametrize("name", ["quant_base0.5", "quant_base0.8", "numeral_lowerbound_base0.5"])
def test_golden_expecting_speaker(shared, name):
    golden = json.loads((shared / "golden/rsa/numpy_ref.json").read_text())[f"gs2013_{name}_alpha1"]
    counts = np.arange(4)
    if name.startswith("quant"):
        words, truth = ["none", "some", "all"], np.stack([counts == 0, counts > 0, counts == 3])
    else:
        words, truth = ["one", "two", "three"], np.stack([counts >= 1, counts >= 2, counts >= 3])
    base_rate = float(name[-3:])
    prior = np.array([1, 3, 3, 1]) * base_rate**counts * (1 - base_rate) ** (3 - counts)
    for access in (1, 2, 3):
        observation = np.exp(knowledge.counted(3, access))
        ours, speaker = listener("expecting", truth, prior, prior, observation, allow_empty=True)
        np.testing.assert_allclose(speaker, golden[f"access{access}_speaker_given_obs"], atol=1e-6)
        for word, row in golden[f"access{access}"].items():
            expected = np.zeros(4) if row is None else row
            np.testing.assert_allclose(ours[words.index(word)], expected, atol=1e-6)


# Enumeration


def written_out(rule, L, belief, alpha, cost, legal):
    speaker = np.zeros((len(belief), len(L)))
    for o, u in itertools.product(range(len(belief)), np.flatnonzero(legal)):
        if rule == "sampling":
            speaker[o, u] = sum(
                p * L[u, m] ** alpha * np.exp(-alpha * cost[u]) for m, p in enumerate(belief[o]) if L[u, m] > 0
            )
        elif all(L[u, m] > 0 for m in np.flatnonzero(belief[o])):
            expected = sum(belief[o, m] * np.log(L[u, m]) for m in np.flatnonzero(belief[o]))
            speaker[o, u] = np.exp(alpha * (expected - cost[u]))
    return normalize(speaker)


def random_case(seed, zeros=0.3):
    rng = np.random.default_rng(seed)
    L = rng.random((4, 3)) * (rng.random((4, 3)) > zeros)
    L[0] += 0.1  # a null utterance
    belief = rng.random((5, 3)) * (rng.random((5, 3)) > zeros)
    belief[:, 0] += 0.1
    return normalize(L), normalize(belief), rng.normal(size=4), np.array([True, *(rng.random(3) < 0.8)])


@pytest.mark.parametrize("rule", RULES)
@given(seed=st.integers(0, 10**6), alpha=st.sampled_from([0.0, 0.3, 1.0, 4.0]))
@quick
def test_enumeration(rule, seed, alpha):
    L, belief, cost, legal = random_case(seed)
    expected = written_out(rule, L, belief, alpha, cost, legal)
    with jax.enable_x64(True):
        arguments = [jnp.array(x) for x in (log(L), log(belief), alpha, cost, legal)]
        np.testing.assert_allclose(np.exp(jitted[rule](*arguments)), expected, rtol=1e-9, atol=1e-14)
    single = [jnp.array(x, jnp.float32) for x in (log(L), log(belief), alpha, cost)]
    np.testing.assert_allclose(np.exp(jitted[rule](*single, jnp.array(legal))), expected, atol=1e-5)


def test_a_listener_unsure_of_the_observation():
    rng = np.random.default_rng(0)
    prior, observation, speaker = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4), 3), rng.dirichlet(np.ones(2), 4)
    joint = np.zeros((2, 3))
    for m, o, u in itertools.product(range(3), range(4), range(2)):
        joint[u, m] += prior[m] * observation[m, o] * speaker[o, u]
    observing = knowledge.observing_speaker(jnp.array(log(speaker)), jnp.array(log(observation)))
    np.testing.assert_allclose(np.exp(observing).sum(1), 1, rtol=1e-5)
    ours = agents.pragmatic_listener(observing, jnp.array(log(prior)))
    np.testing.assert_allclose(np.exp(ours), normalize(joint), rtol=1e-5)


def test_a_listener_unsure_of_the_access():
    """P(access, m | u), enumerated: who says "all" has seen everything, who says nothing has not."""
    prior = np.array([1, 3, 3, 1]) / 8
    truth = np.array([[0, 0, 0, 1], [0, 1, 1, 1], [1, 0, 0, 0], [1, 1, 1, 1]], bool)  # all, some, none, null
    literal = agents.literal_listener(jnp.array(log(truth)), jnp.array(log(prior)))
    cost, speakers, joint = np.array([0, 0, 0, 3.0]), [], np.zeros((4, 2, 4))
    for a, access in enumerate((1, 3)):
        observation = knowledge.counted(3, access)
        beliefs = knowledge.belief(observation, jnp.array(log(prior)))
        speaker = knowledge.expecting_speaker(literal, beliefs, 2.0, jnp.array(cost))
        speakers.append(knowledge.observing_speaker(speaker, observation))
        by_hand = written_out("expecting", np.exp(literal), np.exp(beliefs), 2.0, cost, np.ones(4, bool))
        for u, m, o in itertools.product(range(4), range(4), range(access + 1)):
            joint[u, a, m] += 0.5 * prior[m] * np.exp(observation[m, o]) * by_hand[o, u]
    ours = np.exp(agents.joint_listener(jnp.stack(speakers), jnp.tile(log(prior / 2), (2, 1))))
    np.testing.assert_allclose(ours, joint / joint.sum((1, 2), keepdims=True), atol=1e-5)
    assert ours[0].sum(1)[0] == 0 and ours[3].sum(1)[0] > 0.9


# Closed forms


@pytest.mark.parametrize("rule", RULES)
def test_full_knowledge_is_the_plain_speaker(rule):
    L = normalize(np.array([[0, 0, 1.0], [0, 1, 1], [1, 0, 0], [1, 1, 1]]))
    plain = agents.pragmatic_speaker(jlog(L), 3.0, jnp.array([0.0, 0.1, 0.2, 0.3]))
    ours = RULES[rule](jlog(L), jlog(np.eye(3)), 3.0, jnp.array([0.0, 0.1, 0.2, 0.3]))
    np.testing.assert_allclose(ours, plain, rtol=1e-5)


def test_the_rules_differ_in_what_may_be_false():
    """She saw one of two; "all" may be false: the expecting speaker cannot say it, the sampling one does."""
    L, belief = normalize(np.array([[0.0, 1], [1, 1]])), np.array([[0.5, 0.5]])
    for rule, expected in (("expecting", [[0, 1]]), ("sampling", [[0.5, 0.5]])):
        np.testing.assert_allclose(np.exp(RULES[rule](jlog(L), jlog(belief), 1.0)), expected, rtol=1e-5)


@pytest.mark.parametrize("rule", RULES)
def test_alpha_limits(rule):
    L = normalize(np.array([[0.1, 1, 1], [1, 1, 0.2], [0, 1, 0]]))
    belief = np.array([[0, 1.0, 0], [0.5, 0.5, 0]])
    sometimes = [[1 / 3] * 3, [0.4, 0.4, 0.2]] if rule == "sampling" else [[1 / 3] * 3, [0.5, 0.5, 0]]
    np.testing.assert_allclose(np.exp(RULES[rule](jlog(L), jlog(belief), 0.0)), sometimes, rtol=1e-5)
    # The sampled meaning with the best of all words decides; what is expected is best for the second word.
    best = [[0, 0, 1], [0, 0, 1]] if rule == "sampling" else [[0, 0, 1], [0, 1, 0]]
    np.testing.assert_allclose(np.exp(RULES[rule](jlog(L), jlog(belief), 1000.0)), best, atol=1e-6)


def test_counts_are_hypergeometric():
    np.testing.assert_allclose(np.exp(knowledge.counted(3, 2))[2], [0, 2 / 3, 1 / 3], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(np.exp(knowledge.counted(6, 4)).sum(1), 1, rtol=1e-6)
    np.testing.assert_allclose(np.exp(knowledge.counted(5, 5)), np.eye(6), atol=1e-7)


# Properties


@pytest.mark.parametrize("rule", RULES)
@given(st.permutations(range(5)), st.permutations(range(4)), st.permutations(range(3)))
@quick
def test_relabelling_and_padding_change_nothing(rule, observations, utterances, meanings):
    L, belief, cost, legal = random_case(7)
    o, u, m = map(np.array, (observations, utterances, meanings))
    plain = RULES[rule](jlog(L), jlog(belief), 2.0, jnp.array(cost), jnp.array(legal))
    permuted = RULES[rule](jlog(L[u][:, m]), jlog(belief[o][:, m]), 2.0, jnp.array(cost[u]), jnp.array(legal[u]))
    np.testing.assert_allclose(np.exp(permuted), np.exp(plain)[o][:, u], atol=1e-6)
    padded = RULES[rule](
        jnp.pad(jlog(L), ((0, 2), (0, 1)), constant_values=-np.inf),
        jnp.pad(jlog(belief), ((0, 1), (0, 1)), constant_values=-np.inf),
        2.0,
        jnp.pad(cost, (0, 2)),
        jnp.pad(legal, (0, 2)),
        allow_empty=True,
    )
    np.testing.assert_allclose(padded[:5, :4], plain, rtol=1e-6)
    np.testing.assert_array_equal(padded[:, 4:], -np.inf)
    np.testing.assert_array_equal(padded[5], -np.inf)


@pytest.mark.parametrize("rule", RULES)
def test_vmap_is_a_loop_and_jit_is_eager(rule):
    cases = [random_case(seed) for seed in range(3)]
    L, belief, cost, legal = (jnp.array(np.stack(x)) for x in zip(*cases, strict=True))
    batched = jax.vmap(jitted[rule])(jnp.log(L), jnp.log(belief), jnp.array([0.0, 1.0, 9.0]), cost, legal)
    for i, alpha in enumerate([0.0, 1.0, 9.0]):
        single = RULES[rule](jnp.log(L[i]), jnp.log(belief[i]), alpha, cost[i], legal[i])
        np.testing.assert_allclose(batched[i], single, rtol=1e-5, atol=1e-5)


# Gradients


def log_likelihood(rule, alpha, cost, log_listener, log_belief, log_observation):
    speaker = RULES[rule](log_listener, log_belief, alpha, cost)
    observing = knowledge.observing_speaker(speaker, log_observation)
    return speaker[0, 0] + speaker[3, 2] + observing[1, 0]


derivative = jax.jit(jax.grad(log_likelihood, (1, 2, 3, 4, 5)), static_argnums=0)
value = jax.jit(log_likelihood, static_argnums=0)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("alpha", [0.0, 1.0, 50.0, 1000.0])
def test_gradients_with_zeros_are_finite_differences(check_gradients, rule, alpha):
    L, belief, cost, _ = random_case(2)
    L[1, 1] = belief[0, 2] = 0
    L[2] = 1 / 3
    observation = np.array([[0.5, 0.5, 0, 0, 0], [0, 0.2, 0.3, 0.5, 0], [0.2] * 5])
    arguments = [np.float64(alpha), cost, log(L), log(belief), log(observation)]
    check_gradients(partial(value, rule), partial(derivative, rule), arguments, 1e-5 / max(alpha, 1), 1e-9)


# Errors


def test_errors_name_the_observation():
    with pytest.raises(ValueError, match="observation 1 has no utterance"):
        knowledge.expecting_speaker(jlog([[1.0, 0]]), jlog([[1.0, 0], [0.5, 0.5]]), 1.0)
    with pytest.raises(ValueError, match="observation 0 has no utterance"):
        knowledge.sampling_speaker(jlog([[1.0, 0]]), jlog([[0, 1.0], [0.5, 0.5]]), 1.0)
    with pytest.raises(ValueError, match="observation 1 is made in no possible meaning"):
        knowledge.belief(jlog([[1.0, 0], [0, 1]]), jlog([1.0, 0]))
    with pytest.raises(ValueError, match="log_prior sums to"):
        knowledge.belief(jlog([[1.0, 0], [0, 1]]), jnp.array([0.0, 0.0]))
    with pytest.raises(ValueError, match="access=4 of total=3"):
        knowledge.counted(3, 4)
