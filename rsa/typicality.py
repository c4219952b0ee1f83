"""Graded meaning: words that fit an object more or less, and what they say together.

Source: Degen, Hawkins, Graf, Kreiss & Goodman (2020).
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from otherminds.inference.logspace import log_normalize
from otherminds.rsa import checks


def conjunction(
    words: Bool[Array, "U W"], fits: Bool[Array, "W M"], typicality: Float[Array, " W"] | float
) -> Float[Array, "U M"]:
    """log m(u, o), with m the product over the words of u of the typicality if the word fits o, else 1 - typicality.

    words: [U, W], True where the utterance has the word.   fits: [W, M], True where the word fits the object.
    typicality: [W], 0 to 1, of the word for what it fits; 1 makes it Boolean.
    Returns: log_lexicon [U, M], nats, <= 0; an utterance without words is true of everything.
    Source: Degen et al. (2020), with noise for what does not fit as their model for colour and size has it.
    """
    checks.fraction("typicality", typicality)
    typicality = jnp.broadcast_to(jnp.asarray(typicality), fits.shape[:1])[:, None]
    degree = jnp.where(fits, typicality, 1 - typicality)
    log_degree = jnp.where(degree > 0, jnp.log(jnp.where(degree > 0, degree, 1.0)), -jnp.inf)
    return jnp.sum(jnp.where(words[:, :, None], log_degree, 0.0), 1)


def carried(words: Bool[Array, "U W"], fits: Bool[Array, "W M"]) -> Bool[Array, " U"]:
    """True where all words of the utterance fit some one object: the alternatives in a context, for `legal`.

    words: [U, W].   fits: [W, M].
    """
    return jnp.any(jnp.all(~words[:, :, None] | fits, 1), -1)


def softmax_listener(
    log_meaning: Float[Array, "U M"], log_prior: Float[Array, " M"], weight: Float[Array, ""] | float = 1.0
) -> Float[Array, "U M"]:
    """L_0(o | u) proportional to P(o) exp(weight m(u, o)): a literal listener in whom graded meaning is a utility.

    log_meaning: [U, M], log m.   log_prior: [M], normalised.   weight: >= 0.
    Returns: [U, M] log-probabilities, normalised over M. `agents.literal_listener` on the same array is the listener
        proportional to P(o) m(u, o).
    Raises: ValueError if the prior has another length or does not sum to 1 (outside jit).
    Source: Degen et al. (2020), as fitted there; the text has it proportional to m.
    """
    checks.log_prior(log_prior, log_meaning.shape[1], "object")
    checks.at_least_0("weight", weight)
    return log_normalize(weight * jnp.exp(log_meaning) + log_prior)
