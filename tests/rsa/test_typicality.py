"""Graded meaning of words and of what they say together, against the published likelihood and plain NumPy."""

import csv
import itertools
from collections import Counter

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from otherminds.rsa import agents, typicality

quick = settings(deadline=None, max_examples=20)

# Degen et al. (2020): every size word, colour word, and pair.
SIZE, OTHER_SIZE, COLOUR, OTHER_COLOUR = range(4)
WORDS = np.array(
    [[w in said for w in range(4)] for said in [*[(w,) for w in range(4)], (0, 2), (0, 3), (1, 2), (1, 3)]]
)
RESPONSES = {"size": 0, "color": 2, "size_color": 4}


def context(condition):
    """[4 words, objects], the target first: size31 has 3 distractors, 1 of which shares the target's colour."""
    dimension, n, shared = condition[:-2], int(condition[-2]), int(condition[-1])
    same_size, same_colour = (False, True) if dimension == "size" else (True, False)
    objects = [(True, True)] + shared * [(same_size, same_colour)] + (n - shared) * [(False, False)]
    size, colour = np.array(objects).T
    return np.stack([size, ~size, colour, ~colour])


def log_speaker(condition, alpha, colour, size, colour_cost, size_cost, softmax=True):
    """Of the target: [8]."""
    fits = jnp.array(context(condition))
    log_meaning = typicality.conjunction(jnp.array(WORDS), fits, jnp.array([size, size, colour, colour]))
    log_prior = jnp.full(fits.shape[1], -jnp.log(fits.shape[1]))
    listener = typicality.softmax_listener if softmax else agents.literal_listener
    cost = WORDS @ np.array([size_cost, size_cost, colour_cost, colour_cost])
    legal = typicality.carried(jnp.array(WORDS), fits)
    # The published costs stand outside alpha.
    return agents.pragmatic_speaker(listener(log_meaning, log_prior), alpha, jnp.array(cost / alpha), legal)[0]


def log_likelihood(rows, sample, softmax=True):
    with jax.enable_x64(True):
        predicted = {c: np.asarray(log_speaker(c, *sample, softmax=softmax)) for c in {c for c, _ in rows}}
    return sum(count * predicted[c][RESPONSES[response]] for (c, response), count in rows.items())


@pytest.fixture
def data(shared):
    folder = shared / "data/rsa/degen_color_size"
    with open(folder / "bda_data.csv") as lines:
        rows = Counter((row["condition"], row["response"]) for row in csv.DictReader(lines))
    with open(folder / "authors_posterior_samples.csv") as lines:
        samples = list(csv.DictReader(lines))
    return rows, samples


def parameters(sample):
    return [float(sample[name]) for name in ("alpha", "colorTyp", "sizeTyp", "colorCost", "sizeCost")]


# Published numbers


def test_log_likelihood_at_the_authors_samples(data):
    """The authors fitted three trials that the published table lacks; with them, their column is met."""
    rows, samples = data
    assert rows.total() == 2082
    np.testing.assert_allclose(log_likelihood(rows, parameters(samples[0])), -870.2015, atol=1e-4)
    rows += Counter([("size31", "size_color"), ("size22", "size"), ("size42", "size")])
    for sample in samples[:: len(samples) // 5]:
        np.testing.assert_allclose(log_likelihood(rows, parameters(sample)), float(sample["logLikelihood"]), rtol=1e-9)


def test_the_listener_proportional_to_the_meaning_is_another_model(data):
    rows, samples = data
    softmax, proportional = (log_likelihood(rows, parameters(samples[0]), softmax) for softmax in (True, False))
    assert abs(softmax - proportional) > 1


# Enumeration


@given(st.integers(0, 10**6), st.booleans())
@quick
def test_enumeration(seed, boolean):
    rng = np.random.default_rng(seed)
    words, fits = rng.random((5, 3)) < 0.5, rng.random((3, 4)) < 0.5
    typical = np.ones(3) if boolean else rng.random(3)
    prior, weight = rng.dirichlet(np.ones(4)), 3 * rng.random()
    m = np.ones((5, 4))
    for u, w, o in itertools.product(range(5), range(3), range(4)):
        if words[u, w]:
            m[u, o] *= typical[w] if fits[w, o] else 1 - typical[w]
    ours = typicality.conjunction(jnp.array(words), jnp.array(fits), jnp.array(typical, jnp.float32))
    np.testing.assert_allclose(np.exp(ours), m, rtol=1e-5, atol=1e-12)
    expected = prior * np.exp(weight * m)
    listener = typicality.softmax_listener(ours, jnp.array(np.log(prior), jnp.float32), weight)
    np.testing.assert_allclose(np.exp(listener), expected / expected.sum(1, keepdims=True), rtol=1e-5)
    alternatives = [any(all(fits[w, o] for w in range(3) if words[u, w]) for o in range(4)) for u in range(5)]
    np.testing.assert_array_equal(typicality.carried(jnp.array(words), jnp.array(fits)), alternatives)


# Closed forms


def test_typicality_one_is_boolean_and_one_half_says_nothing():
    words, fits = jnp.array(WORDS), jnp.array(context("size31"))
    boolean = np.exp(typicality.conjunction(words, fits, 1.0))
    truth = [[all(fits[w, o] for w in range(4) if said[w]) for o in range(4)] for said in WORDS]
    np.testing.assert_array_equal(boolean, np.array(truth, float))
    vague = np.exp(typicality.conjunction(words, fits, 0.5))
    np.testing.assert_allclose(vague, np.tile(0.5 ** WORDS.sum(1, keepdims=True), (1, 4)), rtol=1e-6)


def test_without_weight_the_softmax_listener_is_the_prior():
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    log_meaning = typicality.conjunction(jnp.array(WORDS), jnp.array(context("color32")), 0.9)
    ours = typicality.softmax_listener(log_meaning, jnp.array(np.log(prior), jnp.float32), 0.0)
    np.testing.assert_allclose(np.exp(ours), np.tile(prior, (8, 1)), rtol=1e-5)


def test_a_noisier_size_word_makes_colour_redundantly_used():
    """Both words are said more where the sufficient one is the less reliable: Degen et al. (2020), section 2."""
    costs = (0.1, 0.1)
    redundant = [
        np.exp(log_speaker(condition, 30.0, 0.95, 0.75, *costs))[RESPONSES["size_color"]]
        for condition in ("size21", "color21")  # size suffices; colour suffices
    ]
    assert redundant[0] > 2 * redundant[1]


# Properties


@given(st.permutations(range(8)), st.permutations(range(4)), st.permutations(range(4)))
@quick
def test_relabelling_permutes(utterances, words, objects):
    u, w, o = map(np.array, (utterances, words, objects))
    fits, typical = context("size31"), np.array([0.9, 0.8, 0.7, 0.6])
    plain = typicality.conjunction(jnp.array(WORDS), jnp.array(fits), jnp.array(typical))
    moved = typicality.conjunction(jnp.array(WORDS[u][:, w]), jnp.array(fits[w][:, o]), jnp.array(typical[w]))
    np.testing.assert_allclose(moved, plain[u][:, o], rtol=1e-5)


def test_padding_changes_nothing_and_jit_vmap_agree():
    fits = jnp.array(context("size31"))
    wide = jnp.pad(fits, ((0, 1), (0, 2)))
    log_prior = jnp.full(4, -jnp.log(4.0))

    @jax.jit
    def run(typical):
        return typicality.softmax_listener(typicality.conjunction(jnp.array(WORDS), fits, typical), log_prior)

    def padded(typical):
        log_meaning = typicality.conjunction(
            jnp.pad(jnp.array(WORDS), ((0, 0), (0, 1))), wide, jnp.append(typical, 1.0)
        )
        return typicality.softmax_listener(log_meaning, jnp.pad(log_prior, (0, 2), constant_values=-jnp.inf))

    typical = jnp.array([[0.9, 0.8, 0.7, 0.6], [1.0, 0.0, 0.5, 1.0]])
    batched = jax.vmap(run)(typical)
    for one, stacked in zip(typical, batched, strict=True):
        np.testing.assert_allclose(run.__wrapped__(one), stacked, rtol=1e-5)
        np.testing.assert_allclose(run(one), stacked, rtol=1e-5)
        np.testing.assert_allclose(padded(one)[:, :4], stacked, rtol=1e-5)
        np.testing.assert_array_equal(padded(one)[:, 4:], -np.inf)


# Gradients


def speaker_likelihood(alpha, typical, cost, log_prior, softmax):
    fits = jnp.array(context("size31"))
    log_meaning = typicality.conjunction(jnp.array(WORDS), fits, typical)
    listener = typicality.softmax_listener if softmax else agents.literal_listener
    speaker = agents.pragmatic_speaker(listener(log_meaning, log_prior), alpha, jnp.array(WORDS) @ cost)
    return speaker[0, 0] + speaker[0, 4] + speaker[1, 2]


value = jax.jit(speaker_likelihood, static_argnames="softmax")
derivative = jax.jit(jax.grad(speaker_likelihood, tuple(range(4))), static_argnames="softmax")


@pytest.mark.parametrize("softmax", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 1.0, 50.0, 1000.0])
def test_gradients_with_zeros_are_finite_differences(check_gradients, alpha, softmax):
    with np.errstate(divide="ignore"):
        log_prior = np.log([0.4, 0.3, 0.3, 0.0])
    numbers = [np.float64(alpha), np.array([0.9, 0.8, 0.7, 0.6]), np.array([0.1, 0.2, 0.3, 0.4]), log_prior]
    of_one = (lambda *a: value(*a, softmax)), (lambda *a: derivative(*a, softmax))
    check_gradients(*of_one, numbers, 1e-5 / max(alpha, 1), 1e-8)
    with jax.enable_x64(True):
        boolean = derivative(numbers[0], np.array([1.0, 1, 0.9, 0.9]), *numbers[2:], softmax)
        assert all(np.isfinite(g).all() for g in boolean)


# Errors


def test_errors_name_the_prior():
    with pytest.raises(ValueError, match="over the objects, not 1"):
        typicality.softmax_listener(jnp.zeros((1, 2)), jnp.zeros(2))
