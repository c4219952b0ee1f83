"""Hyperbole, irony and metaphor, against golden numbers and enumeration in NumPy."""

import csv
import functools
import itertools
import json

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from otherminds.rsa import agents, projection
from otherminds.rsa.projection import partition

quick = settings(deadline=None, max_examples=15)

# Kao et al. (2014): prices, their priors, and the probability that a speaker finds the price too high.
PRICES = [50, 51, 500, 501, 1000, 1001, 5000, 5001, 10000, 10001]
PRICE_PRIOR = {
    "kettle": [0.4205, 0.3865, 0.0533, 0.0538, 0.0223, 0.0211, 0.0112, 0.0111, 0.0083, 0.0120],
    "watch": [0.2300, 0.2425, 0.1305, 0.1225, 0.0784, 0.0715, 0.0414, 0.0417, 0.0211, 0.0204],
}
AFFECT = {"kettle": [0.3173, 0.7920, 0.8933, 0.9524, 0.9864], "watch": [0.2287, 0.6900, 0.8324, 0.9359, 0.9911]}
ROUND = np.tile([True, False], 5)

PRICE, AFFECTED = np.repeat(PRICES, 2), np.tile([0, 1], 10)  # the meanings: price, then affect
NEAR = PRICE // 10
QUDS = {
    "price": partition(PRICE),
    "affect": partition(AFFECTED),
    "price and affect": partition(PRICE, AFFECTED),
    "about the price": partition(NEAR),
    "about the price, and affect": partition(NEAR, AFFECTED),
}
SAID = np.array(PRICES)[:, None] == PRICE  # [U, M]: a number is true of its own price


def log(p):
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(p, np.float64))


def normalize(x):
    total = x.sum(-1, keepdims=True)
    return np.divide(x, total, out=np.zeros_like(x), where=total > 0)


def prices(price_prior, affect):
    affect = np.repeat(affect, 2)
    return (normalize(np.array(price_prior))[:, None] * np.stack([1 - affect, affect], 1)).ravel()


@functools.cache
def compiled(quds, names):
    def both(truth, log_prior, log_qud_prior, alpha, *settings):
        literal = agents.literal_listener(truth, log_prior)
        settings = dict(zip(names, settings, strict=True))
        speakers = projection.qud_speakers(literal, [np.array(classes) for classes in quds], alpha, **settings)
        joint = agents.joint_listener(speakers, log_qud_prior[:, None] + log_prior)
        return joint, projection.qud_listener(speakers, log_prior, log_qud_prior)

    return jax.jit(both)


def listener(prior, quds, qud_prior, alpha=1.0, truth=SAID, **settings):
    """P(m | u) in float64, from the marginal and the joint listener, which must agree."""
    qud_prior = normalize(np.array(qud_prior, float))
    with jax.enable_x64(True):
        arguments = [jnp.array(x) for x in (log(truth), log(prior), log(qud_prior), alpha, *settings.values())]
        joint, marginal = compiled(tuple(tuple(classes.tolist()) for classes in quds), tuple(settings))(*arguments)
    np.testing.assert_allclose(np.exp(joint).sum(1), np.exp(marginal), rtol=1e-9, atol=1e-15)
    return np.exp(marginal)


# Golden numbers


def test_golden_webppl(shared):
    """The chapter's model: equal questions, and a cost of 1 nat for a sharp number."""
    golden = json.loads((shared / "golden/rsa/kao2014.json").read_text())["values"]
    prior = prices(PRICE_PRIOR["kettle"], AFFECT["kettle"])
    ours = listener(prior, list(QUDS.values()), [1] * 5, cost=1.0 - ROUND).reshape(10, 10, 2)
    assert len(golden) == 30
    for u, said in enumerate(PRICES):
        for outcome, p in golden[f"L1joint:{said}"]:
            assert abs(ours[u, PRICES.index(outcome["price"]), int(outcome["valence"])] - p) < 1e-9
        for price, p in golden[f"L1price:{said}"]:
            assert abs(ours[u, PRICES.index(price)].sum() - p) < 1e-9
        for valence, p in golden[f"L1valence:{said}"]:
            assert abs(ours[u, :, int(valence)].sum() - p) < 1e-9


def test_golden_utterance_prior(shared):
    golden = json.loads((shared / "golden/rsa/numpy_ref.json").read_text())["kao2014_numpy_problangv1_utterance_prior"]
    prior = prices(PRICE_PRIOR["kettle"], AFFECT["kettle"])
    habit = log(np.where(ROUND, 0.18, 0.1))
    ours = listener(prior, list(QUDS.values()), [0.17, 0.32, 0.17, 0.17, 0.17], log_utterance_prior=habit)
    ours = ours.reshape(10, 10, 2)[PRICES.index(10000)]
    np.testing.assert_allclose(ours.sum(1), golden["L1price_given_10000"], atol=1e-9)
    np.testing.assert_allclose(ours[:, 1].sum(), golden["valence_given_10000"], atol=1e-9)


WEIGHTS = {"price": 0.17, "affect": 0.32, "price and affect": 0.17, "about the price": 0.17}
WEIGHTS |= {"about the price, and affect": 0.17}
ABLATIONS = {
    "": {},
    "_noAffect": {"affect": [0.1] * 5},
    "_noCost": {"habit": 0.1},
    "_noImpreciseGoal": {"weights": {"price": 1, "price and affect": 1, "affect": 1}},
    "_noPrior": {"price_prior": [0.1] * 10},
    "_noValenceGoal": {"weights": {"price": 1, "about the price": 1}},
}


@pytest.mark.parametrize("domain", PRICE_PRIOR)
@pytest.mark.parametrize("ablation", ABLATIONS)
def test_golden_church_outputs_of_the_paper(shared, domain, ablation):
    """Six models, two domains; sharp numbers are said less often: P(u) .1 against .18."""
    change = ABLATIONS[ablation]
    prior = prices(change.get("price_prior", PRICE_PRIOR[domain]), change.get("affect", AFFECT[domain]))
    weights = change.get("weights", WEIGHTS)
    habit = log(np.where(ROUND, change.get("habit", 0.18), 0.1))
    quds = [QUDS[name] for name in weights]
    ours = listener(prior, quds, list(weights.values()), log_utterance_prior=habit).reshape(10, 10, 2)
    total = 0
    with open(shared / f"golden/rsa/kao_church/church_output_{domain}{ablation}.csv") as lines:
        for row in csv.DictReader(lines):
            u, price = PRICES.index(int(row["utterance"])), PRICES.index(int(row["meaning"]))
            assert abs(ours[u, price, int(row["valence"])] - float(row["probability"])) < 1e-9
            total += ours[u, price, int(row["valence"])]
    assert abs(total - 10) < 1e-9  # nothing is left out of the file


# Enumeration


def written_out(L0, prior, quds, qud_prior, alpha, cost, habit, legal):
    """P(q, m | u), [U, Q, M], by loops over the joint."""
    utterances, meanings = L0.shape
    joint = np.zeros((utterances, len(quds), meanings))
    for (q, classes), m in itertools.product(enumerate(quds), range(meanings)):
        score = np.zeros(utterances)
        for u in np.flatnonzero(legal):
            understood = sum(L0[u, other] for other in range(meanings) if classes[other] == classes[m])
            score[u] = habit[u] * (understood > 0) * understood**alpha * np.exp(-alpha * cost[u])
        joint[:, q, m] = prior[m] * qud_prior[q] * normalize(score)
    return normalize(joint.reshape(utterances, -1)).reshape(joint.shape)


CASE_QUDS = [np.array(q) for q in ([0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0], [2, 1, 0, 1, 1, 1])]


def random_case(seed):
    rng = np.random.default_rng(seed)
    L0 = rng.random((5, 6)) * (rng.random((5, 6)) < 0.6)
    L0[0] += 0.1
    L0[:, 0] += 0.1
    habit, legal = rng.dirichlet(np.ones(5)), np.array([True, *(rng.random(4) < 0.7)])
    return normalize(L0), rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(4)), rng.random(5), habit, legal


@jax.jit
def both(log_listener, log_prior, log_qud_prior, alpha, cost, log_habit, legal):
    speakers = projection.qud_speakers(log_listener, CASE_QUDS, alpha, cost, log_habit, legal)
    joint = agents.joint_listener(speakers, log_qud_prior[:, None] + log_prior)
    return joint, projection.qud_listener(speakers, log_prior, log_qud_prior)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.4, 1.0, 5.0]))
@quick
def test_enumeration(seed, alpha):
    L0, prior, qud_prior, cost, habit, legal = random_case(seed)
    expected = written_out(L0, prior, CASE_QUDS, qud_prior, alpha, cost, habit, legal)
    arguments = (log(L0), log(prior), log(qud_prior), np.float64(alpha), cost, log(habit))
    with jax.enable_x64(True):
        joint, marginal = both(*map(jnp.array, arguments), jnp.array(legal))
    np.testing.assert_allclose(np.exp(joint), expected, rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(np.exp(marginal), expected.sum(1), rtol=1e-8, atol=1e-14)
    joint, marginal = both(*(jnp.array(x, jnp.float32) for x in arguments), jnp.array(legal))
    np.testing.assert_allclose(np.exp(joint), expected, atol=1e-5)
    np.testing.assert_allclose(np.exp(marginal), expected.sum(1), atol=1e-5)


@given(st.integers(0, 10**6), st.lists(st.integers(0, 12), min_size=1, max_size=40))
@settings(quick, max_examples=5)  # every one is compiled
def test_projection_sums_within_classes_of_any_size(seed, features):
    classes = partition(features)
    p = np.random.default_rng(seed).dirichlet(np.ones(len(classes)), 2)
    expected = np.stack([p[:, classes == c].sum(1) for c in range(classes.max() + 1)], 1)
    np.testing.assert_allclose(np.exp(projection.project(jnp.array(log(p)), classes)), expected, rtol=1e-5)


def test_projection_is_exact_far_below_the_top():
    """A class 2000 nats below another keeps its probability, which no product with the classes could do."""
    log_listener = jnp.array([[0.0, -2000.0, -2000.5, -2001.0, -np.inf]])
    ours = projection.project(log_listener, np.array([0, 1, 1, 1, 2]))
    below = -2000 + np.log(1 + np.exp(-0.5) + np.exp(-1))
    np.testing.assert_allclose(ours, [[0, below, -np.inf]], rtol=1e-7)


# Closed forms


def test_the_finest_question_is_the_plain_speaker_and_the_coarsest_says_anything():
    L0, prior, _, cost, _, _ = random_case(3)
    log_listener, cost = jnp.array(log(L0)), jnp.array(cost)
    speakers = projection.qud_speakers(log_listener, [np.arange(6), np.zeros(6, int)], 2.0, cost)
    np.testing.assert_allclose(speakers[0], agents.pragmatic_speaker(log_listener, 2.0, cost), rtol=1e-5)
    np.testing.assert_allclose(np.exp(speakers[1]), np.tile(normalize(np.exp(-2 * np.array(cost))), (6, 1)), rtol=1e-5)
    one = projection.qud_listener(speakers[:1], jnp.array(log(prior)), jnp.zeros(1))
    plain = agents.pragmatic_listener(agents.pragmatic_speaker(log_listener, 2.0, cost), jnp.array(log(prior)))
    np.testing.assert_allclose(np.exp(one), np.exp(plain), rtol=1e-5, atol=1e-7)


def test_alpha_limits_and_the_habit_that_alpha_does_not_scale():
    L0 = normalize(np.array([[1, 1, 2, 0], [1, 0, 3, 0], [0, 0, 1, 1], [1, 1, 1, 1.0]]))
    classes, habit = np.array([0, 0, 1, 1]), np.array([0.4, 0.3, 0.2, 0.1])
    settings = {"log_utterance_prior": jnp.array(log(habit))}
    careless = projection.qud_speaker(jnp.array(log(L0)), classes, 0.0, jnp.arange(4.0), **settings)
    np.testing.assert_allclose(np.exp(careless), [[0.5, 0.375, 0, 0.125], habit], rtol=1e-5)
    careful = projection.qud_speaker(jnp.array(log(L0)), classes, 1000.0, **settings)
    np.testing.assert_allclose(np.exp(careful), [[0.8, 0, 0, 0.2], [0, 0, 1, 0]], atol=1e-6)


def test_partitions():
    np.testing.assert_array_equal(partition([5, 3, 5]), [1, 0, 1])
    np.testing.assert_array_equal(partition([5, 3, 5, 5], ["a", "a", "b", "a"]), [1, 0, 2, 1])
    np.testing.assert_array_equal(QUDS["about the price"], np.repeat(range(5), 4))


# Irony and metaphor


def test_irony_of_the_weather():
    """probLang, chapter 3, after Kao & Goodman (2015): under a blue sky "terrible" means high arousal."""
    states, prior = ["terrible", "ok", "amazing"], np.array([0.01, 0.5, 0.5]) / 1.01
    negative, aroused = [0.99, 0.5, 0.01], [0.9, 0.1, 0.9]
    meanings = list(itertools.product(range(3), (0, 1), (0, 1)))  # state, negative valence, high arousal
    p = np.array(
        [prior[s] * [1 - negative[s], negative[s]][v] * [1 - aroused[s], aroused[s]][a] for s, v, a in meanings]
    )
    state, valence, arousal = np.array(meanings).T
    truth = np.arange(3)[:, None] == state
    quds = [partition(state), partition(valence), partition(arousal)]
    ours = listener(p, quds, [1, 1, 1], truth=truth)
    L0 = normalize(truth * p)
    everything = np.ones(3)
    expected = written_out(L0, p, quds, everything / 3, 1.0, 0 * everything, everything, everything > 0).sum(1)
    np.testing.assert_allclose(ours, expected, rtol=1e-8, atol=1e-12)
    heard = ours[states.index("terrible")]
    assert heard[state == 2].sum() > 5 * heard[state == 0].sum()  # ironic
    assert heard[(state == 2) & (valence == 0) & (arousal == 1)].sum() > 0.4
    assert ours[states.index("ok")][state == 1].sum() > 0.8  # no irony there


def test_metaphor():
    """As in Kao, Bergen & Goodman (2014): "he is a shark" is understood as scary of a man, whatever sharks live in."""
    features = np.array(list(itertools.product((0, 1), (0, 1))))  # scary, swims
    p_features = np.array([[0.45, 0.25, 0.2, 0.1], [0.01, 0.19, 0.05, 0.75]])  # of a man, of a shark
    prior = (np.array([[0.99], [0.01]]) * p_features).ravel()
    category, scary, swims = np.repeat([0, 1], 4), np.tile(features[:, 0], 2), np.tile(features[:, 1], 2)
    truth = np.arange(2)[:, None] == category
    quds, questions = [partition(scary), partition(swims)], np.array([0.7, 0.3])
    ours = listener(prior, quds, questions, 3.0, truth=truth)
    nothing = np.zeros(2)
    expected = written_out(normalize(truth * prior), prior, quds, questions, 3.0, nothing, nothing + 1, nothing == 0)
    np.testing.assert_allclose(ours, expected.sum(1), rtol=1e-8, atol=1e-12)
    man, shark = ours[:, scary == 1].sum(1)
    assert ours[1, category == 1].sum() < 0.05  # a man he stays
    assert shark > 0.5 > 0.3 > man


# Properties


@given(st.permutations(range(5)), st.permutations(range(6)), st.permutations(range(4)))
@settings(quick, max_examples=5)
def test_relabelling_permutes(utterances, meanings, questions):
    L0, prior, qud_prior, cost, habit, legal = random_case(5)
    u, m, q = map(np.array, (utterances, meanings, questions))

    def run(u, m, q):
        speakers = projection.qud_speakers(
            jnp.array(log(L0[u][:, m])),
            [partition(CASE_QUDS[k][m]) for k in q],
            2.0,
            jnp.array(cost[u]),
            jnp.array(log(habit[u])),
            jnp.array(legal[u]),
        )
        return np.exp(projection.qud_listener(speakers, jnp.array(log(prior[m])), jnp.array(log(qud_prior[q]))))

    plain = run(np.arange(5), np.arange(6), np.arange(4))
    np.testing.assert_allclose(run(u, m, q), plain[u][:, m], atol=1e-6)


def test_padding_changes_nothing():
    L0, prior, qud_prior, cost, habit, legal = random_case(6)
    arguments = [jnp.array(log(x)) for x in (L0, prior, qud_prior)]
    settings = [jnp.array(x) for x in (cost, log(habit), legal)]
    plain = both(*arguments, 2.0, *settings)[1]
    wide = [np.append(classes, classes.max() + 1) for classes in CASE_QUDS]

    @jax.jit
    def padded(log_listener, log_prior, log_qud_prior, *settings):
        speakers = projection.qud_speakers(log_listener, wide, 2.0, *settings)
        return projection.qud_listener(speakers, log_prior, log_qud_prior)

    ours = padded(
        jnp.pad(arguments[0], ((0, 2), (0, 1)), constant_values=-jnp.inf),
        jnp.append(arguments[1], -jnp.inf),
        arguments[2],
        *(jnp.pad(x, (0, 2)) for x in settings),
    )
    np.testing.assert_allclose(np.exp(ours[:5, :6]), np.exp(plain), rtol=1e-5)
    np.testing.assert_array_equal(ours[:, 6], -np.inf)
    np.testing.assert_array_equal(ours[5:], -np.inf)


def test_jit_is_eager_and_vmap_is_a_loop():
    cases = [random_case(seed) for seed in range(3)]
    L0, prior, qud_prior, cost, habit, legal = (np.stack(x) for x in zip(*cases, strict=True))
    arguments = [jnp.array(log(x)) for x in (L0, prior, qud_prior)]
    settings = [jnp.array(x) for x in (cost, log(habit), legal)]
    alphas = jnp.array([0.0, 1.0, 9.0])
    batched = jax.vmap(both)(*arguments, alphas, *settings)
    for i in range(3):
        one = [x[i] for x in (*arguments, alphas, *settings)]
        for eager, jitted, stacked in zip(both.__wrapped__(*one), both(*one), batched, strict=True):
            np.testing.assert_allclose(jitted, eager, rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(stacked[i], eager, rtol=1e-5, atol=1e-5)


# Gradients


def log_likelihood(alpha, cost, log_listener, log_prior, log_qud_prior, log_habit):
    joint, marginal = both.__wrapped__(
        log_listener, log_prior, log_qud_prior, alpha, cost, log_habit, jnp.arange(5) != 3
    )
    return marginal[0, 1] + marginal[1, 0] + joint[2, 1, 0]


value = jax.jit(log_likelihood)
derivative = jax.jit(jax.grad(log_likelihood, tuple(range(6))))


@pytest.mark.parametrize("alpha", [0.0, 1.0, 50.0, 1000.0])
def test_gradients_with_zeros_are_finite_differences(check_gradients, alpha):
    L0, prior, qud_prior, cost, habit, _ = random_case(11)
    L0[1, 2] = L0[2, 1] = prior[5] = 0
    arguments = [np.float64(alpha), cost, *map(log, (L0, prior, qud_prior, habit))]
    check_gradients(value, derivative, arguments, 1e-5 / max(alpha, 1), 1e-9)


# Size


def test_no_intermediate_is_larger_than_questions_times_meanings_times_utterances():
    """300 prices, 2 valences, 300 utterances, 5 questions: the compiled program needs a few times 3.6 MB."""
    price, valence = np.repeat(np.arange(300), 2), np.tile([0, 1], 300)
    quds = [partition(price), partition(valence), partition(price, valence)]
    quds += [partition(price // 10), partition(price // 10, valence)]

    def L1(log_listener, log_prior, alpha):
        speakers = projection.qud_speakers(log_listener, quds, alpha)
        return projection.qud_listener(speakers, log_prior, jnp.full(5, -jnp.log(5.0)))

    shapes = jax.ShapeDtypeStruct((300, 600), "float32"), jax.ShapeDtypeStruct((600,), "float32")
    memory = jax.jit(L1).lower(*shapes, 1.0).compile().memory_analysis()
    assert memory.temp_size_in_bytes < 40e6


# Errors


def test_errors_name_what_is_wrong():
    log_listener = jnp.array(log([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]))
    with pytest.raises(ValueError, match="class 1 of the question has no utterance"):
        projection.qud_speaker(log_listener, np.array([0, 0, 1]), 1.0)
    with pytest.raises(ValueError, match="under question 1, meaning 2 has no utterance"):
        projection.qud_speakers(log_listener, [np.array([0, 1, 1]), np.array([0, 0, 1])], 1.0)
    with pytest.raises(ValueError, match=r"shape \(2,\) for 3 meanings"):
        projection._checked(np.array([0, 1]), 3)
    with pytest.raises(ValueError, match=r"classes \[0, 2\] are not 0 .. 1"):
        projection.project(log_listener, np.array([0, 2, 0]))
    speakers = projection.qud_speakers(log_listener, [np.zeros(3, int)], 1.0)
    with pytest.raises(ValueError, match="log_prior sums to"):
        projection.qud_listener(speakers, jnp.zeros(3), jnp.zeros(1))


def test_a_traced_question_is_refused():
    with pytest.raises(ValueError, match="static"):
        jax.jit(projection._project)(jnp.zeros((2, 2)), jnp.array([0, 1]))
