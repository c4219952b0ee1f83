"""Lexica from truth values, degrees and cosines, and the rows that errors name."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.rsa.lexicon import from_boolean, from_graded, from_similarity, from_vectors

TRUTH = np.array([[1, 0, 1], [0, 1, 0], [0, 1, 1]], bool)


def test_a_boolean_lexicon_holds_zero_and_minus_infinity():
    expected = np.where(TRUTH, 0.0, -np.inf)
    for truth in (TRUTH, jnp.array(TRUTH), TRUTH.astype(np.int32), TRUTH.astype(np.float32)):
        np.testing.assert_array_equal(from_boolean(truth), expected)


def test_a_graded_lexicon_holds_logs():
    values = np.array([[0.5, 0.0], [1.0, 2.5]], np.float32)
    expected = [[np.log(0.5), -np.inf], [0, np.log(2.5)]]
    np.testing.assert_allclose(from_graded(values), expected, rtol=1e-6)
    np.testing.assert_allclose(from_graded(jnp.array(values)), expected, rtol=1e-6)
    with jax.enable_x64(True):
        np.testing.assert_allclose(from_graded(values.astype(np.float64)), expected, rtol=1e-15)


@pytest.mark.parametrize(
    "values, message",
    [
        ([[1, 0], [0, 0], [0, 1]], "utterance 1 is true of no meaning"),
        ([[1, 0, 0], [1, 1, 0]], "no utterance is true of meaning 2"),
        ([[1, 0.5], [-0.5, 1]], r"lexicon\[1, 0\] is -0.5: negative"),
        ([[1, np.inf], [1, 1]], r"lexicon\[0, 1\] is inf: not finite"),
        ([[1, 1], [np.nan, 1]], r"lexicon\[1, 0\] is nan: not finite"),
        ([1, 0], r"shape \(2,\)"),
        ([[[1, 0]]], r"shape \(1, 1, 2\)"),
    ],
)
def test_errors_name_the_row(values, message):
    with pytest.raises(ValueError, match=message):
        from_graded(np.array(values, np.float32))


def test_errors_of_a_boolean_lexicon():
    with pytest.raises(ValueError, match=r"0 and 1 only, not 0\.5.*from_graded"):
        from_boolean(np.array([[1, 0.5]], np.float32))
    with pytest.raises(ValueError, match="not 2"):
        from_boolean(np.array([[1, 2]]))
    with pytest.raises(ValueError, match="utterance 1 is true of no meaning"):
        from_boolean(np.array([[1, 1], [0, 0]], bool))


@pytest.mark.parametrize("beta", [0.0, 1.0, 12.0])
def test_similarity_is_scaled(beta):
    cosines = np.random.default_rng(0).uniform(-1, 1, (2, 3, 4)).astype(np.float32)
    np.testing.assert_allclose(from_similarity(jnp.array(cosines), beta), beta * cosines, rtol=1e-6)
    np.testing.assert_allclose(from_similarity(jnp.array(cosines), jnp.float32(beta)), beta * cosines, rtol=1e-6)


def test_vectors_make_a_graded_lexicon():
    utterances, meanings = jnp.array([[2.0, 0.0], [1.0, 1.0]]), jnp.array([[0.5, 0.0], [0.0, -3.0], [-1.0, -1.0]])
    half = np.sqrt(0.5)
    expected = 4 * np.array([[1.0, 0.0, -half], [half, -half, -1.0]])
    np.testing.assert_allclose(from_vectors(utterances, meanings, 4.0), expected, atol=1e-6)
    with pytest.raises(ValueError, match="meaning 1 is all zeros"):
        from_vectors(utterances, meanings.at[1].set(0.0), 4.0)
