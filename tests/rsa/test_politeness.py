"""Polite speakers and their listeners, against golden numbers and enumeration in NumPy."""

import itertools
import json

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from otherminds.rsa import agents, politeness
from otherminds.rsa.politeness import Goals

quick = settings(deadline=None, max_examples=15)

# probLang, chapter 9: how well each word describes 1 to 5 hearts.
WORDS = ["terrible", "bad", "okay", "good", "amazing"]
SEMANTICS = np.array(
    [
        [0.95, 0.85, 0.02, 0.02, 0.02],
        [0.85, 0.95, 0.02, 0.02, 0.02],
        [0.02, 0.25, 0.95, 0.65, 0.35],
        [0.02, 0.05, 0.55, 0.95, 0.93],
        [0.02, 0.02, 0.02, 0.65, 0.95],
    ]
)
VALUE = 1.25 * np.arange(1.0, 6)


def log(p):
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(p, np.float64))


def normalize(x):
    total = x.sum(-1, keepdims=True)
    return np.divide(x, total, out=np.zeros_like(x), where=total > 0)


@jax.jit
def run(log_listener, log_prior, value, phis, log_p_phis, alpha, goals, cost, legal):
    speakers = jax.vmap(lambda phi: politeness.polite_speaker(log_listener, value, phi, alpha, cost, legal))(phis)
    joint = politeness.polite_listener(log_listener, log_prior, value, phis, log_p_phis, alpha, cost, legal)
    return speakers, joint, politeness.self_presenting_speaker(joint, value, Goals(*goals), alpha, cost, legal)


# Golden numbers


def test_golden_webppl(shared):
    golden = json.loads((shared / "golden/rsa/politeness.json").read_text())["values"]
    phis = [phi for phi, _ in golden["L1phi:okay"]]  # .05 to .9, as the chapter's loop adds them up
    assert len(phis) == 18
    with jax.enable_x64(True):
        literal = jnp.array(log(normalize(SEMANTICS)))
        uniform, value = jnp.full(5, -jnp.log(5.0)), jnp.array(VALUE)
        log_p_phis = jnp.full(18, -jnp.log(18.0))
        joint = np.exp(politeness.polite_listener(literal, uniform, value, jnp.array(phis), log_p_phis, 10.0))
        speakers = {phi: np.exp(politeness.polite_speaker(literal, value, phi, 10.0)) for phi in (0.1, 0.5, 0.9)}
    checked = 0
    for label, expected in golden.items():
        kind, *condition = label.split(":")
        if kind == "S1":
            row = speakers[float(condition[1])][int(condition[0]) - 1]
            ours, outcomes = row, [WORDS.index(word) for word, _ in expected]
        else:
            heard = joint[WORDS.index(condition[0])]
            if kind == "Estate":
                np.testing.assert_allclose(heard.sum(0) @ np.arange(1, 6), expected, atol=1e-6)
            elif kind == "Ephi":
                np.testing.assert_allclose(heard.sum(1) @ phis, expected, atol=1e-6)
            ours = heard.sum(0) if kind == "L1state" else heard.sum(1)
            outcomes = list(range(len(ours)))
        if isinstance(expected, list):
            np.testing.assert_allclose(ours[outcomes], [p for _, p in expected], atol=1e-6)
        checked += 1
    assert checked == 35


# Enumeration


def written_out(L0, prior, value, phis, p_phis, alpha, goals, cost, legal):
    """S1 [X, M, U], L1 [U, X, M], S2 [X, M, U] by loops; what has no weight does not count, false or not."""
    utterances, meanings = L0.shape

    def worth(weight, p):
        return 0.0 if weight == 0 else weight * log(p)

    def choice(utility, u):
        return np.exp(alpha * (utility - cost[u])) * legal[u] if np.isfinite(utility) else 0.0

    S1, S2 = (np.zeros((len(phis), meanings, utterances)) for _ in range(2))
    for (x, phi), m, u in itertools.product(enumerate(phis), range(meanings), range(utterances)):
        kindness = sum(L0[u, k] * value[k] for k in range(meanings))
        S1[x, m, u] = choice(worth(phi, L0[u, m]) + (1 - phi) * kindness, u)
    S1 = normalize(S1)
    L1 = np.zeros((utterances, len(phis), meanings))
    for u, x, m in itertools.product(range(utterances), range(len(phis)), range(meanings)):
        L1[u, x, m] = S1[x, m, u] * prior[m] * p_phis[x]
    L1 = normalize(L1.reshape(utterances, -1)).reshape(L1.shape)
    for x, m, u in itertools.product(range(len(phis)), range(meanings), np.flatnonzero(legal)):
        kindness = sum(L1[u, :, k].sum() * value[k] for k in range(meanings))
        utility = worth(goals[0], L1[u, :, m].sum()) + goals[1] * kindness + worth(goals[2], L1[u, x].sum())
        S2[x, m, u] = choice(utility, u)
    return S1, L1, normalize(S2)


def random_case(seed):
    rng = np.random.default_rng(seed)
    L0 = rng.random((4, 3)) * (rng.random((4, 3)) < 0.7)
    L0[0] += 0.1
    L0[:, 0] += 0.1
    phis = np.array([0.0, 0.3, 1.0]) if seed % 2 else rng.random(3)
    goals = rng.dirichlet(np.ones(3)) * [1, 1, seed % 3 > 0]
    legal = np.array([True, *(rng.random(3) < 0.8)])
    return normalize(L0), rng.dirichlet(np.ones(3)), rng.normal(size=3), phis, rng.dirichlet(np.ones(3)), goals, legal


def arguments(case, alpha, cost, dtype):
    L0, prior, value, phis, p_phis, goals, legal = case
    numbers = log(L0), log(prior), value, phis, log(p_phis), np.float64(alpha), goals, cost
    return [*(jnp.array(x, dtype) for x in numbers), jnp.array(legal)]


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 1.0, 5.0]))
@quick
def test_enumeration(seed, alpha):
    case, cost = random_case(seed), np.random.default_rng(seed).random(4)
    L0, prior, value, phis, p_phis, goals, legal = case
    if alpha == 0:  # the limit from above: what is impossible stays so
        goals[2] = 0
    expected = written_out(L0, prior, value, phis, p_phis, alpha, goals, cost, legal)
    with jax.enable_x64(True):
        for ours, theirs in zip(run(*arguments(case, alpha, cost, "float64")), expected, strict=True):
            np.testing.assert_allclose(np.exp(ours), theirs, rtol=1e-8, atol=1e-13)
    for ours, theirs in zip(run(*arguments(case, alpha, cost, "float32")), expected, strict=True):
        np.testing.assert_allclose(np.exp(ours), theirs, atol=1e-4)


# Closed forms


def test_only_informative_is_the_plain_speaker():
    literal = jnp.array(log(normalize(SEMANTICS)), jnp.float32)
    ours = politeness.polite_speaker(literal, jnp.array(VALUE), 1.0, 4.0, jnp.arange(5) / 10)
    np.testing.assert_allclose(ours, agents.pragmatic_speaker(literal, 4.0, jnp.arange(5) / 10), rtol=1e-5)


def test_only_kind_says_the_same_of_everything():
    """A white lie: with no weight on information, what is false is said too."""
    L0, value = np.array([[1.0, 0], [0, 1], [0.5, 0.5]]), np.array([0.0, 2.0])
    ours = politeness.polite_speaker(jnp.array(log(L0), jnp.float32), jnp.array(value), 0.0, 1.5)
    expected = normalize(np.exp(1.5 * np.array([0, 2, 1])))
    np.testing.assert_allclose(np.exp(ours), [expected, expected], rtol=1e-5)
    honest = politeness.polite_speaker(jnp.array(log(L0), jnp.float32), jnp.array(value), 1e-6, 1.5)
    assert honest[0, 1] == -np.inf  # with any weight, no lie that leaves the truth impossible


def test_alpha_limits():
    literal = jnp.array(log(normalize(SEMANTICS)), jnp.float32)
    careless = politeness.polite_speaker(literal, jnp.array(VALUE), 0.5, 0.0, jnp.arange(5.0))
    np.testing.assert_allclose(np.exp(careless), 0.2, rtol=1e-5)
    careful = politeness.polite_speaker(literal, jnp.array(VALUE), 1.0, 1000.0)
    np.testing.assert_allclose(np.exp(careful), np.eye(5)[[0, 1, 2, 4, 4]], atol=1e-6)
    kind = politeness.polite_speaker(literal, jnp.array(VALUE), 0.0, 1000.0)
    np.testing.assert_allclose(np.exp(kind), np.tile(np.eye(5)[4], (5, 1)), atol=1e-6)


def test_presenting_only_the_state_is_a_speaker_to_the_listener():
    joint = run(*arguments(random_case(4), 2.0, np.zeros(4), "float32"))[1]
    ours = politeness.self_presenting_speaker(joint, jnp.zeros(3), Goals(1.0, 0.0, 0.0), 3.0, allow_empty=True)
    listener = jax.scipy.special.logsumexp(joint, 1)
    plain = agents.pragmatic_speaker(listener, 3.0, allow_empty=True)
    np.testing.assert_allclose(np.exp(ours), np.tile(np.exp(plain), (3, 1, 1)), atol=1e-5)


# Properties


@given(st.permutations(range(4)), st.permutations(range(3)), st.permutations(range(3)))
@quick
def test_relabelling_permutes(utterances, meanings, weights):
    L0, prior, value, phis, p_phis, goals, legal = random_case(5)
    u, m, x = map(np.array, (utterances, meanings, weights))
    cost = np.arange(4) / 10
    plain = run(*arguments((L0, prior, value, phis, p_phis, goals, legal), 2.0, cost, "float32"))
    moved = (L0[u][:, m], prior[m], value[m], phis[x], p_phis[x], goals, legal[u])
    moved = run(*arguments(moved, 2.0, cost[u], "float32"))
    for k in (0, 2):
        np.testing.assert_allclose(np.exp(moved[k]), np.exp(plain[k])[x][:, m][:, :, u], atol=1e-5)
    np.testing.assert_allclose(np.exp(moved[1]), np.exp(plain[1])[u][:, x][:, :, m], atol=1e-5)


def test_padding_changes_nothing():
    L0, prior, value, phis, p_phis, goals, legal = random_case(6)
    plain = run(*arguments((L0, prior, value, phis, p_phis, goals, legal), 2.0, np.zeros(4), "float32"))
    wide = (
        np.pad(L0, ((0, 2), (0, 1))),
        np.pad(prior, (0, 1)),
        np.pad(value, (0, 1), constant_values=9),
        np.pad(phis, (0, 1)),
        np.pad(p_phis, (0, 1)),
        goals,
        np.pad(legal, (0, 2)),
    )
    wide = run(*arguments(wide, 2.0, np.zeros(6), "float32"))
    for k in (0, 2):
        np.testing.assert_allclose(np.exp(wide[k])[:3, :3, :4], np.exp(plain[k]), atol=1e-5)
        np.testing.assert_array_equal(wide[k][..., 4:], -np.inf)
    np.testing.assert_allclose(np.exp(wide[1])[:4, :3, :3], np.exp(plain[1]), atol=1e-5)
    assert not any(np.isnan(x).any() for x in wide)


@pytest.mark.slow
def test_jit_is_eager_and_vmap_is_a_loop():
    cases = [arguments(random_case(seed), alpha, np.ones(4), "float32") for seed, alpha in enumerate((0.0, 1.0, 9.0))]
    batched = jax.vmap(run)(*(jnp.stack(x) for x in zip(*cases, strict=True)))
    for i, case in enumerate(cases):
        for jitted, stacked in zip(run(*case), batched, strict=True):
            np.testing.assert_allclose(stacked[i], jitted, rtol=1e-4, atol=1e-4)
    for jitted, eager in zip(run(*case), run.__wrapped__(*case), strict=True):
        np.testing.assert_allclose(jitted, eager, rtol=1e-4, atol=1e-4)


# Gradients


def log_likelihood(log_listener, log_prior, value, phis, log_p_phis, alpha, goals, cost):
    S1, L1, S2 = run.__wrapped__(
        log_listener, log_prior, value, phis, log_p_phis, alpha, goals, cost, jnp.array([True, True, True, False])
    )
    return S1[1, 1, 0] + S1[0, 2, 0] + L1[0, 1, 0] + S2[1, 1, 0] + S2[0, 0, 2]


value_of, derivative = jax.jit(log_likelihood), jax.jit(jax.grad(log_likelihood, tuple(range(8))))


@pytest.mark.parametrize("alpha", [0.0, 1.0, 50.0, 1000.0])
def test_gradients_with_zeros_are_finite_differences(check_gradients, alpha):
    L0 = normalize(np.array([[0.2, 0.5, 0.3], [0.6, 0, 0.4], [0.5, 0.5, 0], [0, 0, 1]]))
    numbers = [log(L0), log([0.5, 0.2, 0.3]), np.array([0.0, 0.1, 0.3]), np.array([0.2, 0.5, 0.9])]
    numbers += [log([0.6, 0.4, 0.0]), np.float64(alpha), np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.2, 0.0, 0.4])]
    check_gradients(value_of, derivative, numbers, 1e-6, 1e-7)


# Errors


def test_errors_name_the_meaning():
    literal, zero, half = jnp.array(log([[1.0, 0.0]]), jnp.float32), jnp.zeros(2), jnp.log(jnp.ones(2) / 2)
    with pytest.raises(ValueError, match="meaning 1 has no utterance"):
        politeness.polite_speaker(literal, zero, 0.5, 1.0)
    assert (politeness.polite_speaker(literal, zero, 0.5, 1.0, allow_empty=True)[1] == -jnp.inf).all()
    with pytest.raises(ValueError, match="at weight 0, meaning 1 has no utterance"):
        politeness.polite_listener(literal, half, zero, jnp.array([0.5, 1.0]), half, 1.0)
    with pytest.raises(ValueError, match="over the weights, not 1"):
        politeness.polite_listener(literal, half, zero, jnp.array([0.5, 1.0]), zero, 1.0)
    joint = jnp.array(log([[[1.0, 0.0]]]), jnp.float32)
    with pytest.raises(ValueError, match="at weight 0, meaning 1 has no utterance"):
        politeness.self_presenting_speaker(joint, zero, Goals(1.0, 0.0, 0.0), 1.0)
