"""The words of Decrypto: hint nouns and keywords with their vectors, and the cosines between them.

The packaged list holds GloVe 6B 100d vectors (Pennington, Socher and Manning 2014) of common English nouns; how it
was made is written in `data/build_vocabulary.py`, its licences in NOTICE.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

MINIMUM_KEYWORDS = 4  # one game
PACKAGED = "glove-6b-100d"
_HASH = " sha256:"


class Vocabulary(NamedTuple):
    """Hint nouns and keywords with their raw (not normalised) vectors; arrays are read-only."""

    words: tuple[str, ...]  # [N] hint nouns
    vectors: Float[np.ndarray, "N D"]  # float32
    keywords: tuple[str, ...]  # [W]
    keyword_vectors: Float[np.ndarray, "W D"]  # float32
    name: str  # source and hash of the content, but for the other words; goes in the log
    others: tuple[str, ...] = ()  # [O] words that may be said and that nobody chooses from: the hints of a log
    other_vectors: Float[np.ndarray, "O D"] | None = None  # float32


@lru_cache(maxsize=8)
def _rows(words: tuple[str, ...], keywords: tuple[str, ...], others: tuple[str, ...] = ()) -> dict[str, int]:
    rows: dict[str, int] = {}
    for row, word in enumerate(words + keywords + others):
        rows.setdefault(word.casefold(), row)
    return rows


def _duplicates(words: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    return [word for word in words if word.casefold() in seen or seen.add(word.casefold())]


def check_keywords(keywords: Iterable[str], source: str = "keywords") -> tuple[str, ...]:
    """The keywords without surrounding blanks.

    source: what the errors call the list.
    Raises: ValueError if there are fewer than 4, an empty one, or two that differ in case only.
    """
    stripped = tuple(keyword.strip() for keyword in keywords)
    if "" in stripped:
        raise ValueError(f"{source}: keyword number {stripped.index('') + 1} is empty; remove it")
    if doubled := _duplicates(stripped):
        raise ValueError(f"{source}: {_quoted(doubled)} given more than once (case aside); keep one of each")
    if len(stripped) < MINIMUM_KEYWORDS:
        raise ValueError(
            f"{source}: {len(stripped)} keywords ({_quoted(stripped)}); a game needs at least {MINIMUM_KEYWORDS}"
        )
    return stripped


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(map(repr, words))


def _checked_vectors(words: Sequence[str], vectors, what: str) -> Float[np.ndarray, "N D"]:
    """A read-only float32 copy of the vectors, one a word, none of them useless for a cosine."""
    vectors = np.array(vectors, np.float32)
    if vectors.ndim != 2 or len(vectors) != len(words) or not vectors.size:
        raise ValueError(
            f"{what}: vectors of shape {vectors.shape} for {len(words)} words; give [words, dimensions], none empty"
        )
    finite = np.isfinite(vectors).all(axis=1)
    for bad, kind in ((~finite, "not finite"), (finite & ~vectors.any(axis=1), "all zeros")):
        if bad.any():
            names = [words[row] for row in np.flatnonzero(bad)]
            raise ValueError(f"{what}: the vector of {_quoted(names)} is {kind}; leave the word out or correct it")
    vectors.setflags(write=False)
    return vectors


def make(
    words: Sequence[str],
    vectors: ArrayLike,
    keywords: Iterable[str],
    name: str,
    other_vectors: Mapping[str, ArrayLike] | None = None,
) -> Vocabulary:
    """A vocabulary whose every keyword has a vector.

    words: [N] hint nouns, no two alike after case folding.   vectors: [N, D], converted to float32.
    keywords: [W] at least 4, among the words or among the keys of other_vectors.
    name: the source; " sha256:" and 12 hexadecimal digits of the content's hash are appended.
    other_vectors: case-folded word -> [D], for keywords that are no hint nouns.
    Raises: ValueError that names the words which are doubled, without a vector, or with a zero or non-finite one,
        and if there are fewer than 4 keywords.
    """
    words = tuple(words)
    if doubled := _duplicates(words):
        raise ValueError(f"words: {_quoted(doubled)} given more than once (case aside); keep one of each")
    keywords = check_keywords(keywords)
    vectors = _checked_vectors(words, vectors, "words")
    rows, other_vectors = _rows(words, ()), other_vectors or {}
    if missing := [word for word in keywords if word.casefold() not in {**rows, **other_vectors}]:
        raise ValueError(
            f"keywords: no vector for {_quoted(missing)} in {name}; remove them, correct their spelling, "
            "or give a file of word vectors that has them (--vectors)"
        )
    chosen = [
        vectors[rows[key]] if key in rows else np.asarray(other_vectors[key], np.float32)
        for key in map(str.casefold, keywords)
    ]
    if odd := [word for word, vector in zip(keywords, chosen, strict=True) if vector.shape != vectors.shape[1:]]:
        raise ValueError(f"keywords: the vector of {_quoted(odd)} has not the {vectors.shape[1]} values of the words")
    keyword_vectors = _checked_vectors(keywords, np.stack(chosen), "keywords")
    digest = hashlib.sha256("\n".join((*words, "", *keywords)).encode())
    for array in (vectors, keyword_vectors):
        digest.update(array.astype("<f4").tobytes())
    return Vocabulary(words, vectors, keywords, keyword_vectors, f"{name}{_HASH}{digest.hexdigest()[:12]}")


def with_keywords(vocabulary: Vocabulary, keywords: Iterable[str]) -> Vocabulary:
    """The same hint nouns with other keywords.

    keywords: [W] at least 4, among the vocabulary's words and keywords.
    Raises: ValueError as `make` does.
    """
    known = {word.casefold(): vocabulary.keyword_vectors[i] for i, word in enumerate(vocabulary.keywords)}
    name = vocabulary.name.rpartition(_HASH)[0] or vocabulary.name
    return make(vocabulary.words, vocabulary.vectors, keywords, name, known)


def with_others(vocabulary: Vocabulary, vectors: Mapping[str, ArrayLike]) -> Vocabulary:
    """The same vocabulary with vectors of more words, which are understood and stand in no list to choose from.

    vectors: word -> [D]; of words that it has already, its own vectors count.   Raises: ValueError as `make` does.
    """
    known = _rows(vocabulary.words, vocabulary.keywords)
    others = tuple(word for word in vectors if word.strip().casefold() not in known)
    if not others:
        return vocabulary._replace(others=(), other_vectors=None)
    found = _checked_vectors(others, np.stack([np.asarray(vectors[word], np.float32) for word in others]), "others")
    return vocabulary._replace(others=others, other_vectors=found)


@cache
def load() -> Vocabulary:
    """The packaged vocabulary: N nouns and W keywords (all of them nouns) in frequency order, D = 100."""
    folder = resources.files("otherminds.games.decrypto.data")
    words = (folder / "nouns.txt").read_text(encoding="utf-8").split()
    keywords = (folder / "keywords.txt").read_text(encoding="utf-8").split()
    with (folder / "nouns.npy").open("rb") as file:
        vectors = np.load(file, allow_pickle=False)
    return make(words, vectors, keywords, PACKAGED)


def lookup(vocabulary: Vocabulary, text: str) -> int | None:
    """Row of a word, case and surrounding blanks aside, or None if it is unknown.

    Returns: n < N for `words[n]`; N + w for `keywords[w]` where that is no hint noun; N + W + o for `others[o]`.
    """
    return _rows(vocabulary.words, vocabulary.keywords, vocabulary.others).get(text.strip().casefold())


def _vector(vocabulary: Vocabulary, row: int) -> Float[np.ndarray, " D"]:
    for vectors in (vocabulary.vectors, vocabulary.keyword_vectors, vocabulary.other_vectors):
        if vectors is not None and row < len(vectors):
            return vectors[row]
        row -= 0 if vectors is None else len(vectors)
    raise IndexError(row)


def pieces_of(hint: str) -> list[str]:
    """The words of a hint: they part at blanks and hyphens, and punctuation around them is dropped."""
    pieces = (re.sub(r"^[\W_]+|[\W_]+$", "", piece) for piece in re.split(r"[\s\-\u2010-\u2015]+", hint))
    return [piece for piece in pieces if piece]


def hint_vector(vocabulary: Vocabulary, text: str) -> Float[np.ndarray, " D"] | None:
    """Vector of a hint: of the word itself, else the mean over its known words.

    text: a hint of any number of words; they part at blanks and hyphens, and punctuation around them is dropped.
    Returns: [D] float32, or None where no word is known (or their mean is zero): the caller reports such a hint.
    """
    row = lookup(vocabulary, text)
    if row is not None:
        return _vector(vocabulary, row)
    rows = [row for row in (lookup(vocabulary, piece) for piece in pieces_of(text)) if row is not None]
    if not rows:
        return None
    mean = np.mean([_vector(vocabulary, row) for row in rows], axis=0, dtype=np.float32)
    return mean if mean.any() else None


def similarity(a: Float[np.ndarray, "A D"], b: Float[np.ndarray, "B D"]) -> Float[np.ndarray, "A B"]:
    """cos(a_i, b_j) = a_i . b_j / (|a_i| |b_j|), float32, in [-1, 1].

    Raises: ValueError if a row is zero or not finite: such a row has no direction.
    """
    units = []
    for name, vectors in (("a", a), ("b", b)):
        # float64 inside, so that very large and very small vectors keep their direction
        norms = np.linalg.norm(np.asarray(vectors, np.float64), axis=-1, keepdims=True)
        bad = ~(np.isfinite(norms) & (norms > 0))[:, 0]
        if bad.any():
            raise ValueError(f"{name}: rows {np.flatnonzero(bad).tolist()} are zero or not finite; leave them out")
        units.append((vectors / norms).astype(np.float32))
    return np.clip(units[0] @ units[1].T, -1, 1)


def nearest(vocabulary: Vocabulary, keyword: str, count: int) -> tuple[tuple[str, ...], Float[np.ndarray, " K"]]:
    """The hint nouns with the largest cosine to a word, the word itself among them if it is a hint noun.

    keyword: any word that the vocabulary has a vector for.   count: K >= 1, at most N are returned.
    Returns: [K] words and [K] float32 cosines, descending; ties keep the order of the words.
    Raises: ValueError if the keyword is unknown or the count is below 1.
    """
    row = lookup(vocabulary, keyword)
    if row is None:
        raise ValueError(f"keyword: no vector for {keyword!r} in {vocabulary.name}; use one of its words")
    if count < 1:
        raise ValueError(f"count: {count}; give at least 1")
    cosines = similarity(_vector(vocabulary, row)[None], vocabulary.vectors)[0]
    order = np.argsort(-cosines, kind="stable")[:count]
    return tuple(vocabulary.words[i] for i in order), cosines[order]
