"""Models of how hints arise from a keyword: log S(h | k) for every noun h and keyword k."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from otherminds.games.decrypto.rules import SLOTS
from otherminds.inference.logspace import logsumexp
from otherminds.tom.minds.decrypto.lexicon import Lexicon

BETA = 12.0
"""The default inverse temperature of a literal speaker, per unit of cosine."""


class Speaker(NamedTuple):
    """log S(h | k) = log_weight(h, k) - log_total(k), normalised over the nouns h.

    The log-weight is beta cos(h, k), or an entry of `table`. A word that is no noun (a row past them) is scored
    against the nouns' total: a density beside theirs.
    """

    beta: Float[Array, ""] | float
    log_total: Float[Array, " W"]
    table: Float[Array, "N W"] | None = None


def log_likelihood(
    speaker: Speaker, lexicon: Lexicon, hints: Int[Array, "..."], keywords: Int[Array, "..."] | None = None
) -> Float[Array, "..."]:
    """log S(h | k), nats, of hints (indices of known words) for every keyword: [..., W]; or for the keywords given.

    keywords: broadcastable to the hints; then the result has their common shape.
    """
    place = hints if keywords is None else (hints, keywords)
    total = speaker.log_total if keywords is None else speaker.log_total[keywords]
    log_weight = speaker.beta * lexicon.similarity[place] if speaker.table is None else speaker.table[place]
    return log_weight - total


def literal_speaker(lexicon: Lexicon, beta: Float[Array, ""] | float = BETA) -> Speaker:
    """S(h | k) proportional to exp(beta cos(h, k)) over the nouns. beta: per unit of cosine, >= 0."""
    nouns = lexicon.nearest.shape[1]
    return Speaker(beta, logsumexp(beta * lexicon.similarity[:nouns], 0))


def contrastive_speaker(
    key: PRNGKeyArray, lexicon: Lexicon, beta: Float[Array, ""] | float = BETA, samples: int = 64
) -> Speaker:
    """A speaker who contrasts her keyword with the other three, averaged over what these may be.

    With w(h, k) = beta cos(h, k): S(h | k) = E over three other keywords j of
    softmax_h(2 w(h, k) - log(exp w(h, k) + sum_j exp w(h, j))), the literal weight times what a literal listener
    who knows the four would give k. The average makes slots independent: the approximation `independent_slots`,
    whose error against enumeration is tested.

    samples: draws of the other three (the same for every keyword, which may be among them).
    """
    nouns = lexicon.nearest.shape[1]
    weight = beta * lexicon.similarity
    others = jax.random.randint(key, (samples, SLOTS - 1), 0, weight.shape[1])

    def one(total, three: Int[Array, "3"]):
        rivals = logsumexp(weight[:, three], -1)[:, None]
        contrast = 2 * weight - jnp.logaddexp(weight, rivals)
        normalised = contrast - logsumexp(contrast[:nouns], 0)
        return jnp.logaddexp(total, normalised), None

    log_mean, _ = jax.lax.scan(one, jnp.full(weight.shape, -jnp.inf), others)
    return Speaker(beta, logsumexp(log_mean[:nouns], 0), log_mean)
