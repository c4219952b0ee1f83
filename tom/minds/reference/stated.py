"""A language model's recorded scores as a mind: what it would choose if its scores were its beliefs."""

from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from otherminds.inference.logspace import logsumexp
from otherminds.inference.scoring import with_lapse
from otherminds.tom.mind import Mind, memoryless
from otherminds.tom.minds.reference.choice import sharpened


class StatedParams(NamedTuple):
    """Scores of the K actions that are compared, in their order, and how they become a choice."""

    log_scores: Float[Array, "N K"]  # log-probabilities up to a constant, nats; of one item, or of N that are averaged
    alpha: Float[Array, ""] | float = 1.0
    lapse: Float[Array, ""] | float = 0.0
    slip: Float[Array, ""] | float = 0.0


@cache
def stated() -> Mind:
    """p(k) = (1 - lapse) mean over n of softmax_k(alpha log_scores[n, k]) + lapse / K. It shadows, and plays nothing.

    Source: Franke, Tsvilodub & Carcassi (2024).
    """

    def log_policy(
        params: StatedParams, belief: Any, observation: Any, actions: Bool[Array, "K A"]
    ) -> Float[Array, " K"]:
        del belief, observation
        there = actions.any(-1)
        each = jax.vmap(lambda scores: sharpened(scores, params.alpha, params.slip, there))(params.log_scores)
        return with_lapse(logsumexp(each, 0) - jnp.log(1.0 * each.shape[0]), params.lapse, there)

    def refuse(*arguments: Any) -> Any:
        raise NotImplementedError("recorded scores are of the actions that are compared: they shadow, but do not play")

    return Mind("stated", lambda params, memory, view: (), memoryless, refuse, log_policy, refuse)
