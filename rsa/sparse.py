"""Recursion over a sparse lexicon, in which each utterance is true of few meanings.

Only the pairs (u, m) that are true are kept: by utterance as [U, K], by meaning as [M, J], padded where one has fewer.
A level is two softmaxes over the pairs, so that a lexicon of 100,000 x 100,000 with ten meanings a word, which as a
matrix would not fit into memory, takes milliseconds. Degrees of truth are allowed.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from numpy.typing import ArrayLike

from otherminds.inference.logspace import log_normalize, scale
from otherminds.rsa import checks


class SparseLexicon(NamedTuple):
    """The true pairs of a lexicon, listed twice. K: most meanings of an utterance. J: most utterances of a meaning."""

    meaning: Int[Array, "U K"]  # which meanings u is true of; -1 where there are no more
    log_truth: Float[Array, "U K"]  # log-degree of truth, nats; -inf where there are no more
    utterance: Int[Array, "M J"]  # which utterances are true of m; -1 where there are no more
    in_utterance: Int[Array, "M J"]  # where the pair stands in [U, K], flattened
    in_meaning: Int[Array, "U K"]  # where the pair stands in [M, J], flattened


def from_pairs(
    utterance: ArrayLike, meaning: ArrayLike, shape: tuple[int, int], degree: ArrayLike | None = None
) -> SparseLexicon:
    """The lexicon in which utterance[i] is true of meaning[i], to degree[i].

    utterance, meaning: [pairs] integers, each pair once.   shape: (U, M).   degree: [pairs] > 0; default 1.
    Raises: ValueError for a pair out of range or given twice, a degree that is not positive and finite, an utterance
        that is true of nothing, or a meaning of which nothing is true; it names the first.
    """
    u, m = np.asarray(utterance, np.int64), np.asarray(meaning, np.int64)
    degree = np.ones(len(u)) if degree is None else np.asarray(degree)
    if not u.shape == m.shape == degree.shape or u.ndim != 1:
        raise ValueError(
            f"utterance, meaning and degree are lists of one length, not {u.shape}, {m.shape}, {degree.shape}"
        )
    for index, size, what in ((u, shape[0], "utterance"), (m, shape[1], "meaning")):
        outside = np.flatnonzero((index < 0) | (index >= size))
        if outside.size:
            raise ValueError(f"{what}[{outside[0]}] is {index[outside[0]]}; there are {size}: 0 to {size - 1}")
        missing = np.flatnonzero(np.bincount(index, minlength=size) == 0)
        if missing.size:
            raise ValueError(f"{what} {missing[0]} is in no pair; leave it out")
    wrong = np.flatnonzero(~((degree > 0) & (degree < np.inf)))
    if wrong.size:
        raise ValueError(f"degree[{wrong[0]}] is {degree[wrong[0]]}; degrees of truth are positive and finite")
    order = np.lexsort((m, u))
    u, m, degree = u[order], m[order], degree[order]
    twice = np.flatnonzero((np.diff(u) == 0) & (np.diff(m) == 0))
    if twice.size:
        raise ValueError(f"utterance {u[twice[0]]} is paired with meaning {m[twice[0]]} twice")
    k, j = _places(u), _places(m)
    of_u, of_m = (shape[0], k.max() + 1), (shape[1], j.max() + 1)
    return SparseLexicon(
        meaning=_filled(of_u, (u, k), m, -1),
        log_truth=_filled(of_u, (u, k), np.log(degree), -np.inf),
        utterance=_filled(of_m, (m, j), u, -1),
        in_utterance=_filled(of_m, (m, j), u * of_u[1] + k, 0),
        in_meaning=_filled(of_u, (u, k), m * of_m[1] + j, 0),
    )


def from_boolean(truth: ArrayLike) -> SparseLexicon:
    """The true pairs of a Boolean matrix [U, M]. Raises: ValueError as `from_pairs`."""
    truth = np.asarray(truth, bool)
    return from_pairs(*np.nonzero(truth), truth.shape)


def recursion(
    lexicon: SparseLexicon,
    log_prior: Float[Array, " M"],
    depth: int,
    alpha: Float[Array, ""] | float = 1.0,
    cost: Float[Array, " U"] | float = 0.0,
    legal: Bool[Array, " U"] | None = None,
    allow_empty: bool = False,
) -> tuple[Float[Array, "M J"], Float[Array, "U K"]]:
    """S_depth and L_depth over the pairs, with the equations of `agents.recursion`.

    log_prior: [M], normalised.   depth: static, >= 1.   alpha: rationality, >= 0.   cost: [U], nats.
    legal: [U] True where u may be said.
    Returns: log S [M, J] over lexicon.utterance, normalised over J; log L [U, K] over lexicon.meaning, normalised
        over K; -inf in the padding. `to_dense` makes [U, M] of the latter.
    allow_empty: rows of -inf for what cannot be said or is true of nothing possible, instead of an error.
    Raises: ValueError as `agents.recursion`.
    """
    if depth < 1:
        raise ValueError(f"depth={depth}: a recursion has at least depth 1")
    checks.log_prior(log_prior, lexicon.utterance.shape[0])
    checks.speaking(lexicon.meaning.shape[0], alpha, cost, legal)
    listed_u, listed_m = lexicon.utterance >= 0, lexicon.meaning >= 0
    prior = jnp.where(listed_m, log_prior[jnp.maximum(lexicon.meaning, 0)], -jnp.inf)
    price = jnp.broadcast_to(cost, lexicon.meaning.shape[:1])[jnp.maximum(lexicon.utterance, 0)]
    sayable = listed_u if legal is None else listed_u & legal[jnp.maximum(lexicon.utterance, 0)]

    def level(levels, _):
        _, log_listener = levels
        heard = jnp.where(listed_u, log_listener.reshape(-1)[lexicon.in_utterance], -jnp.inf)
        log_speaker = log_normalize(scale(alpha, heard - price), where=sayable)
        said = jnp.where(listed_m, log_speaker.reshape(-1)[lexicon.in_meaning], -jnp.inf)
        return (log_speaker, log_normalize(said + prior)), None

    literal = log_normalize(lexicon.log_truth + prior)
    start = (jnp.zeros(lexicon.utterance.shape, literal.dtype), literal)
    checks.some_support(literal, "utterance {} is true of no possible meaning", allow_empty)
    log_speaker, log_listener = jax.lax.scan(level, start, None, length=depth)[0]
    said = jnp.where((log_prior == -jnp.inf)[:, None], 0.0, log_speaker)  # who is not meant need not be said
    checks.some_support(said, "meaning {} has no legal utterance", allow_empty)
    return log_speaker, log_listener


def to_dense(lexicon: SparseLexicon, log_listener: Float[Array, "U K"]) -> Float[Array, "U M"]:
    """The whole matrix, -inf for pairs that are not true."""
    size = lexicon.utterance.shape[0]
    column = jnp.where(lexicon.meaning >= 0, lexicon.meaning, size)  # padding falls off the end
    empty = jnp.full((lexicon.meaning.shape[0], size), -jnp.inf, log_listener.dtype)
    return empty.at[jnp.arange(len(empty))[:, None], column].set(log_listener, mode="drop")


def _places(group: np.ndarray) -> np.ndarray:
    """The place of each pair among those of its group, in order."""
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], group[order])
    places = np.empty_like(group)
    places[order] = np.arange(len(group)) - first
    return places


def _filled(shape, index, values, padding) -> Array:
    kind = np.int32 if isinstance(padding, int) else np.float64  # float32 where jax has no more
    table = np.full(shape, padding, kind)
    table[index] = values
    return jnp.asarray(table)
