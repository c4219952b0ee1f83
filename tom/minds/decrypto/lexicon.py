"""How words and keywords relate for one player: cosines, raw vectors, and each keyword's nearest nouns."""

import zlib
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
    keyword_vectors: Float[Array, "W D"]  # raw
    nearest: Int[Array, "W R"]  # the R nouns nearest to each keyword, nearest first; unknown ones last
    keyword_words: Int[Array, " W"]  # the keyword's own place among the words; -1 if it is no noun


def make_lexicon(vocabulary: Vocabulary, *, spare: int = 0) -> Lexicon:
    """The lexicon of a vocabulary. A noun whose vector is all zeros is unknown.

    spare: rows kept free for words that are not nouns of the vocabulary (see `hear`).
    """
    known = vocabulary.vectors.any(1)
    cosines = np.zeros((len(known), len(vocabulary.keywords)), np.float32)
    cosines[known] = similarity(vocabulary.vectors[known], vocabulary.keyword_vectors)
    order = np.argsort(np.where(known[:, None], -cosines, np.inf), axis=0, kind="stable").T
    place = {word.casefold(): index for index, word in enumerate(vocabulary.words)}
    room = ((0, spare), (0, 0))
    return Lexicon(
        similarity=jnp.asarray(np.pad(cosines, room)),
        vectors=jnp.asarray(np.pad(vocabulary.vectors, room)),
        known=jnp.asarray(np.pad(known, room[0])),
        keyword_vectors=jnp.asarray(vocabulary.keyword_vectors),
        nearest=jnp.asarray(order, jnp.int32),
        keyword_words=jnp.asarray([place.get(word.casefold(), -1) for word in vocabulary.keywords], jnp.int32),
    )


def hear(lexicon: Lexicon, row: int, vector: np.ndarray) -> Lexicon:
    """The lexicon with a new word in a spare row. vector: [D] or longer (then cut to D)."""
    vector = np.asarray(vector)[: lexicon.vectors.shape[1]]
    cosines = similarity(vector[None], np.asarray(lexicon.keyword_vectors))[0]
    return lexicon._replace(
        similarity=lexicon.similarity.at[row].set(cosines),
        vectors=lexicon.vectors.at[row].set(vector),
        known=lexicon.known.at[row].set(True),
    )


def first_dimensions(lexicon: Lexicon, dimensions: int) -> Lexicon:
    """Another speaker, who has only the first dimensions of every vector.

    Raises: ValueError if there are not so many.
    """
    most = lexicon.vectors.shape[1]
    if not 1 <= dimensions <= most:
        raise ValueError(f"dimensions={dimensions}: the vectors have {most}")
    nouns = lexicon.nearest.shape[1]
    vectors, keyword_vectors = lexicon.vectors[:, :dimensions], lexicon.keyword_vectors[:, :dimensions]
    known = lexicon.known & (vectors != 0).any(1)
    cosines = np.zeros(lexicon.similarity.shape, np.float32)
    cosines[known] = similarity(np.asarray(vectors)[known], np.asarray(keyword_vectors))
    order = np.argsort(np.where(known[:nouns, None], -cosines[:nouns], np.inf), axis=0, kind="stable").T
    return lexicon._replace(
        similarity=jnp.asarray(cosines),
        vectors=vectors,
        known=known,
        keyword_vectors=keyword_vectors,
        nearest=jnp.asarray(order, jnp.int32),
    )


def with_noise(key: PRNGKeyArray, lexicon: Lexicon, scale: float) -> Lexicon:
    """Another speaker of the same language: every cosine with independent noise N(0, scale).

    scale: standard deviation, in units of cosine. Which nouns are nearest follows the noisy cosines. The noise of a
    word that is no noun depends on its vector, not on its row: it is the same in whatever order words are heard.
    """
    nouns, keywords = lexicon.nearest.shape[1], lexicon.similarity.shape[1]
    noise = np.zeros(lexicon.similarity.shape, np.float32)
    noise[:nouns] = jax.random.normal(key, (nouns, keywords))
    vectors, known = np.asarray(lexicon.vectors), np.asarray(lexicon.known)
    for row in nouns + np.flatnonzero(known[nouns:]):
        noise[row] = jax.random.normal(jax.random.fold_in(key, zlib.crc32(vectors[row].tobytes())), (keywords,))
    noisy = jnp.where(lexicon.known[:, None], lexicon.similarity + scale * jnp.asarray(noise), 0.0)
    order = jnp.where(lexicon.known[:nouns, None], -noisy[:nouns], jnp.inf)
    return lexicon._replace(similarity=noisy, nearest=jnp.argsort(order, axis=0, stable=True).T.astype(jnp.int32))


def within_pool(
    lexicon: Lexicon, words: Int[Array, "S K"], keywords: Int[Array, " S"], pool: int
) -> Bool[Array, "S K"]:
    """Whether words are as near to their keyword as the pool-th nearest noun."""
    last = lexicon.nearest[keywords, min(pool, lexicon.nearest.shape[1]) - 1]
    edge = lexicon.similarity[last, keywords]
    return hint_known(lexicon, words) & (lexicon.similarity[jnp.maximum(words, 0), keywords[:, None]] >= edge[:, None])


def hint_similarity(lexicon: Lexicon, hints: Int[Array, "..."], keywords: Int[Array, " S"]) -> Float[Array, "... S"]:
    """[..., S] cosines of hints and keywords; 0 for a hint that is unknown or missing (negative)."""
    cosines = lexicon.similarity[jnp.maximum(hints, 0)[..., None], keywords]
    return jnp.where(hints[..., None] < 0, 0.0, cosines)


def hint_known(lexicon: Lexicon, hints: Int[Array, "..."]) -> Bool[Array, "..."]:
    """Whether a hint was given and has a vector."""
    return (hints >= 0) & lexicon.known[jnp.maximum(hints, 0)]
