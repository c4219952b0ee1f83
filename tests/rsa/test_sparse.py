"""Recursion over true pairs against the whole matrix."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.rsa import agents, sparse
from otherminds.rsa.lexicon import from_graded


def case(utterances=12, meanings=9, seed=0):
    rng = np.random.default_rng(seed)
    degree = rng.random((utterances, meanings)) * (rng.random((utterances, meanings)) < 0.3)
    degree[np.arange(utterances), rng.integers(0, meanings, utterances)] = 0.7
    degree[rng.integers(0, utterances, meanings), np.arange(meanings)] = 0.2
    return degree, np.log(rng.dirichlet(np.ones(meanings))), rng.random(utterances)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 50.0, 1000.0])
@pytest.mark.parametrize("graded", [False, True])
def test_pairs_equal_the_matrix(alpha, graded):
    degree, log_prior, cost = case()
    degree = degree if graded else (degree > 0).astype(float)
    legal = np.arange(12) != 4
    degree[0, degree[4] > 0] = 1.0  # whoever is named by 4 can be named otherwise
    u, m = np.nonzero(degree)
    shuffled = np.random.default_rng(1).permutation(len(u))
    lexicon = sparse.from_pairs(u[shuffled], m[shuffled], degree.shape, degree[u, m][shuffled])
    with jax.enable_x64(True):
        made = sparse.from_pairs(u[shuffled], m[shuffled], degree.shape, degree[u, m][shuffled])
        assert made.log_truth.dtype == jnp.float64
        lexicon = made._replace(
            log_truth=jnp.log(jnp.where(lexicon.meaning >= 0, degree[np.arange(12)[:, None], lexicon.meaning], 0.0))
        )
        log_prior, cost = jnp.asarray(log_prior), jnp.asarray(cost)
        speaker, listener = sparse.recursion(lexicon, log_prior, 3, alpha, cost, jnp.asarray(legal))
        expected = agents.recursion(from_graded(degree), log_prior, 3, alpha, cost, jnp.asarray(legal))
        np.testing.assert_allclose(sparse.to_dense(lexicon, listener), expected.log_listeners[-1], rtol=1e-6, atol=1e-9)
        for meaning, (words, row) in enumerate(zip(lexicon.utterance, speaker, strict=True)):
            np.testing.assert_allclose(
                row[words >= 0], expected.log_speakers[-1][meaning, words[words >= 0]], rtol=1e-6, atol=1e-9
            )
            assert (row[words < 0] == -np.inf).all()


@pytest.mark.parametrize("alpha", [0.0, 1.0, 1000.0])
def test_gradients_equal_those_of_the_matrix(alpha):
    degree, log_prior, cost = case(seed=2)
    degree = (degree > 0).astype(np.float32)
    lexicon = sparse.from_boolean(degree)
    log_prior, cost = jnp.asarray(log_prior, jnp.float32), jnp.asarray(cost, jnp.float32)

    def by_pairs(alpha, cost):
        return sparse.to_dense(lexicon, sparse.recursion(lexicon, log_prior, 2, alpha, cost)[1])[1, 2:].max()

    def by_matrix(alpha, cost):
        return agents.recursion(from_graded(degree), log_prior, 2, alpha, cost).log_listeners[-1][1, 2:].max()

    ours, theirs = (jax.grad(f, (0, 1))(jnp.float32(alpha), cost) for f in (by_pairs, by_matrix))
    for left, right in zip(ours, theirs, strict=True):
        assert np.isfinite(left).all()
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-4)


def test_a_lexicon_too_large_for_a_matrix():
    """Word i is true of meanings i and i + 1 of 200,000: away from the ends every reading is an even chance."""
    size = 200_000
    word = np.arange(size)
    pairs = np.concatenate([word, word[:-1]]), np.concatenate([word, word[:-1] + 1])
    lexicon = sparse.from_pairs(*pairs, (size, size))
    prior = jnp.full(size, -np.log(size), jnp.float32)
    listener = jax.jit(lambda lexicon: sparse.recursion(lexicon, prior, 1)[1])(lexicon)
    np.testing.assert_allclose(np.exp(listener[1000]), [0.5, 0.5], atol=1e-6)
    np.testing.assert_allclose(np.exp(listener[-1].max()), 1.0, atol=1e-6)


@pytest.mark.parametrize(
    "pairs, message",
    [
        (([0, 1, 1], [0, 1, 1]), "utterance 1 is paired with meaning 1 twice"),
        (([0, 0], [0, 1]), "utterance 1 is in no pair"),
        (([0, 1], [1, 1]), "meaning 0 is in no pair"),
        (([0, 2], [0, 1]), r"utterance\[1\] is 2; there are 2: 0 to 1"),
        (([0, 1], [0, 1], [1.0, -2.0]), r"degree\[1\] is -2.0"),
        (([0, 1], [0, 1, 1]), "lists of one length"),
    ],
)
def test_errors_name_the_pair(pairs, message):
    with pytest.raises(ValueError, match=message):
        sparse.from_pairs(*pairs[:2], (2, 2), *pairs[2:])


def test_prior_and_depth_are_checked():
    lexicon = sparse.from_boolean(np.eye(3))
    with pytest.raises(ValueError, match=r"shape \(2,\) for 3 meanings"):
        sparse.recursion(lexicon, jnp.log(jnp.array([0.5, 0.5])), 1)
    with pytest.raises(ValueError, match="depth=0"):
        sparse.recursion(lexicon, jnp.log(jnp.full(3, 1 / 3)), 0)
