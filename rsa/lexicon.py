"""What utterances mean: a lexicon T[u, m] >= 0, kept as log_lexicon [U, M].

Lexica from the outside are checked here, shape and entries, with errors that name what is wrong.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from otherminds.inference.tracing import known
from otherminds.rsa import checks


def from_boolean(truth: ArrayLike) -> Float[Array, "U M"]:
    """log T with T = 1 where utterance u is true of meaning m, 0 elsewhere.

    truth: [U, M], Boolean or 0 and 1.   Returns: log_lexicon [U, M], 0 or -inf.
    Raises: ValueError as `from_graded`, and for entries other than 0 and 1 (outside jit).
    """
    if known(truth):
        truth = np.asarray(truth)
        wrong = truth[~np.isin(truth, (0, 1))]
        if wrong.size:
            raise ValueError(
                f"a Boolean lexicon holds 0 and 1 only, not {wrong[0]}; use from_graded for degrees of truth"
            )
    return from_graded(truth.astype(np.float32))


def from_graded(lexicon: ArrayLike) -> Float[Array, "U M"]:
    """log T of degrees of truth T[u, m] >= 0. Source: Degen et al. (2020).

    lexicon: [U, M]; it may be traced, so that degrees can be fitted.   Returns: log_lexicon [U, M].
    Raises: ValueError for a shape that is no matrix; outside jit also for a negative or non-finite entry, an utterance
        that is true of no meaning, or a meaning of which no utterance is true; it names the first such row.
    """
    if np.ndim(lexicon) != 2:
        raise ValueError(f"lexicon has shape {np.shape(lexicon)}; it must be [utterances, meanings]")
    if known(lexicon):
        _check_degrees(np.asarray(lexicon))
    lexicon = jnp.asarray(lexicon)
    return jnp.where(lexicon > 0, jnp.log(jnp.where(lexicon > 0, lexicon, 1.0)), -jnp.inf)


def _check_degrees(values: np.ndarray) -> None:
    for wrong, what in ((~np.isfinite(values), "not finite"), (values < 0, "negative")):
        if wrong.any():
            u, m = np.argwhere(wrong)[0]
            raise ValueError(f"lexicon[{u}, {m}] is {values[u, m]}: {what}; entries are degrees of truth >= 0")
    for axis, what in ((1, "utterance {} is true of no meaning"), (0, "no utterance is true of meaning {}")):
        empty = np.flatnonzero((values > 0).sum(axis) == 0)
        if empty.size:
            raise ValueError(f"{what.format(empty[0])} in this lexicon; leave it out, or give it some truth")


def from_vectors(
    utterances: Float[Array, "U D"], meanings: Float[Array, "M D"], beta: Float[Array, ""] | float
) -> Float[Array, "U M"]:
    """log T = beta cos(u, m) of embeddings: a graded lexicon, of inverse temperature beta. As `from_similarity`.

    utterances: [U, D].   meanings: [M, D], in the same space.
    Returns: log_lexicon [U, M].
    Raises: ValueError for a vector of length 0, which has no direction (outside jit; inside, its row is NaN).
    """
    for vectors, what in ((utterances, "utterance"), (meanings, "meaning")):
        zero = np.flatnonzero(~np.any(np.asarray(vectors), 1)) if known(vectors) else ()
        if len(zero):
            raise ValueError(f"the vector of {what} {zero[0]} is all zeros and has no direction; leave it out")
    unit = [v / jnp.linalg.norm(v, axis=1, keepdims=True) for v in (utterances, meanings)]
    return from_similarity(jnp.matmul(unit[0], unit[1].T, precision=jax.lax.Precision.HIGHEST), beta)


def from_similarity(similarity: Float[Array, "... M"], beta: Float[Array, ""] | float) -> Float[Array, "... M"]:
    """log T = beta cos(u, m): graded meaning from vectors; beta is an inverse temperature.

    similarity: [..., M] cosines, of one utterance or many.
    beta: dimensionless, >= 0; 0 makes every utterance true of everything alike.
    """
    checks.at_least_0("beta", beta)
    return beta * similarity
