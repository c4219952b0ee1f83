"""How words and keywords relate for one player: cosines, raw vectors, and each keyword's nearest nouns."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from otherminds.games.decrypto.vocabulary import Vocabulary, similarity


class Lexicon(NamedTuple):
    """One player's word meanings. N words (nouns first, then room for words heard in a game), W keywords."""

    similarity: Float[Array, "N W"]  # cosine of word and keyword; 0 where the word is unknown
    vectors: Float[Array, "N D"]  # raw vectors; 0 where the word is unknown
    known: Bool[Array, " N"]  # whether the word has a vector
    nearest: Int[Array, "W R"]  # the R nouns nearest to each keyword, nearest first
    keyword_words: Int[Array, " W"]  # the keyword's own place among the words; -1 if it is no noun


def make_lexicon(vocabulary: Vocabulary, *, spare: int = 0) -> Lexicon:
    """The lexicon of a vocabulary.

    spare: rows kept free for words that are not nouns of the vocabulary (see `hear`).
    """
    nouns = similarity(vocabulary.vectors, vocabulary.keyword_vectors)
    order = np.argsort(-nouns, axis=0, kind="stable").T
    place = {word: index for index, word in enumerate(vocabulary.words)}
    dimensions = vocabulary.vectors.shape[1]
    return Lexicon(
        similarity=jnp.asarray(np.concatenate([nouns, np.zeros((spare, nouns.shape[1]), nouns.dtype)])),
        vectors=jnp.asarray(np.concatenate([vocabulary.vectors, np.zeros((spare, dimensions), np.float32)])),
        known=jnp.arange(len(vocabulary.words) + spare) < len(vocabulary.words),
        nearest=jnp.asarray(order, jnp.int32),
        keyword_words=jnp.asarray([place.get(word, -1) for word in vocabulary.keywords], jnp.int32),
    )


def hear(lexicon: Lexicon, row: int, vector: np.ndarray, keyword_vectors: np.ndarray) -> Lexicon:
    """The lexicon with a new word in a spare row. vector: [D]."""
    cosines = similarity(vector[None], keyword_vectors)[0]
    return lexicon._replace(
        similarity=lexicon.similarity.at[row].set(cosines),
        vectors=lexicon.vectors.at[row].set(vector),
        known=lexicon.known.at[row].set(True),
    )


def with_noise(key: PRNGKeyArray, lexicon: Lexicon, scale: float) -> Lexicon:
    """Another speaker of the same language: every cosine with independent noise N(0, scale).

    scale: standard deviation, in units of cosine. Which nouns are nearest follows the noisy cosines.
    """
    nouns = lexicon.nearest.shape[1]
    noise = scale * jax.random.normal(key, lexicon.similarity.shape)
    noisy = jnp.where(lexicon.known[:, None], lexicon.similarity + noise, 0.0)
    nearest = jnp.argsort(-noisy[:nouns], axis=0, stable=True).T.astype(jnp.int32)
    return lexicon._replace(similarity=noisy, nearest=nearest)


def hint_similarity(lexicon: Lexicon, hints: Int[Array, "..."], keywords: Int[Array, " S"]) -> Float[Array, "... S"]:
    """[..., S] cosines of hints and keywords; 0 for a hint that is unknown or missing (negative)."""
    cosines = lexicon.similarity[jnp.maximum(hints, 0)[..., None], keywords]
    return jnp.where(hints[..., None] < 0, 0.0, cosines)


def hint_known(lexicon: Lexicon, hints: Int[Array, "..."]) -> Bool[Array, "..."]:
    """Whether a hint was given and has a vector."""
    return (hints >= 0) & lexicon.known[jnp.maximum(hints, 0)]
