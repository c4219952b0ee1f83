"""How well a predicted distribution fits what was done."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from otherminds.inference.logspace import log_normalize


def with_lapse(
    log_p: Float[Array, "... A"], lapse: Float[Array, "..."] | float, legal: Bool[Array, "... A"] | None = None
) -> Float[Array, "... A"]:
    """log((1 - lapse) p + lapse / n): with probability `lapse` one of the n legal actions, uniformly.

    log_p: [..., A], normalised over A.   lapse: probability, 0 to 1.   legal: [..., A], default all.
    Returns: [..., A], normalised over A where log_p is.
    At lapse = 0 the gradient in the lapse is 0 by construction, so a fit must start above it.
    """
    legal = jnp.ones(log_p.shape, bool) if legal is None else jnp.broadcast_to(legal, log_p.shape)
    log_uniform = log_normalize(jnp.zeros(log_p.shape, log_p.dtype), where=legal)
    return lapsed(log_p, jnp.asarray(lapse, log_p.dtype)[..., None], log_uniform)


def lapsed(
    log_p: Float[Array, "..."], lapse: Float[Array, "..."] | float, log_uniform: Float[Array, "..."] | float
) -> Float[Array, "..."]:
    """log((1 - lapse) p + lapse u), entry by entry, where the uniform choice gives exp(log_uniform) to each."""
    p = (1 - lapse) * jnp.exp(log_p) + lapse * jnp.exp(log_uniform)
    possible = p > 0
    # Without a lapse the log is passed through untouched, so that tiny probabilities keep their precision.
    mixed = jnp.where(possible, jnp.log(jnp.where(possible, p, 1.0)), -jnp.inf)
    return jnp.where(lapse > 0, mixed, log_p)


def log_score(log_p: Float[Array, "... A"], action: Int[Array, "..."]) -> Float[Array, "..."]:
    """log p(action), nats; -inf for an action of probability 0, and for NO_ANSWER (a negative action)."""
    chosen = jnp.take_along_axis(log_p, jnp.maximum(action, 0)[..., None], -1)[..., 0]
    return jnp.where(action < 0, -jnp.inf, chosen)


def regret(log_p: Float[Array, "... A"], action: Int[Array, "..."]) -> Float[Array, "..."]:
    """max log p - log p(action), nats: how much likelier the most probable action was; inf as in `log_score`."""
    score = log_score(log_p, action)
    return jnp.where(score == -jnp.inf, jnp.inf, jnp.max(log_p, -1) - score)


def brier(log_p: Float[Array, "... A"], action: Int[Array, "..."]) -> Float[Array, "..."]:
    """sum over a of (p(a) - [a is the action])^2, 0 (sure and right) to 2 (sure and wrong). Source: Brier (1950).

    A missing answer (a negative action) is no outcome, so every stated probability counts against it.
    """
    hit = jnp.asarray(action)[..., None] == jnp.arange(log_p.shape[-1])
    return jnp.sum((jnp.exp(log_p) - hit) ** 2, -1)


class Calibration(NamedTuple):
    """Predicted probability against observed frequency in B equal bins of predicted probability."""

    mean_predicted: Float[Array, " B"]  # NaN in an empty bin
    frequency: Float[Array, " B"]  # NaN in an empty bin
    count: Int[Array, " B"]
    error: Float[Array, ""]  # expected calibration error: |difference| weighted by count


def calibration(p: Float[Array, " N"], hit: Bool[Array, " N"], bins: int = 10) -> Calibration:
    """Compares N predicted probabilities with whether each event happened. Source: Guo et al. (2017).

    p: [N], 0 to 1.   hit: [N].   bins: number of equal bins; p = 1 falls into the last.
    """
    index = jnp.clip((p * bins).astype(int), 0, bins - 1)
    member = index[:, None] == jnp.arange(bins)
    count = member.sum(0)
    filled = count > 0
    size = jnp.where(filled, count, 1)
    predicted = jnp.where(member, p[:, None], 0).sum(0) / size
    frequency = (member & hit[:, None]).sum(0) / size
    error = jnp.sum(jnp.abs(predicted - frequency) * count) / jnp.maximum(p.shape[0], 1)
    return Calibration(jnp.where(filled, predicted, jnp.nan), jnp.where(filled, frequency, jnp.nan), count, error)
