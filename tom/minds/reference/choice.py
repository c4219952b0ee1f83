"""How a player of the reference game chooses: by what it believes, sharpened by alpha, with an error rate.

Actions are sets of options, [K, A] with one row a set: when playing, every option is a set of its own; where players
are compared, options of one kind (two distractors, say) may count as one. An error picks one of the sets, each alike.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from otherminds.games.reference.rules import Observation, View
from otherminds.inference.logspace import log_normalize, logsumexp, scale
from otherminds.inference.scoring import with_lapse
from otherminds.tom.mind import Mind, draw, memoryless


class Params(NamedTuple):
    """What a speaker or a listener is made of."""

    alpha: Float[Array, ""] | float = 1.0  # of its own choice, dimensionless, >= 0
    lapse: Float[Array, ""] | float = 0.0  # error rate: probability of a uniformly random action
    other_alpha: Float[Array, ""] | float = 1.0  # of the speakers that it imagines
    slip: Float[Array, ""] | float = 0.0  # added to every option's probability before alpha acts; see `sharpened`


def sharpened(
    log_p: Float[Array, "... A"],
    alpha: Float[Array, ""] | float,
    slip: Float[Array, ""] | float,
    legal: Bool[Array, "... A"],
) -> Float[Array, "... A"]:
    """log of (p + slip)^alpha / sum (p + slip)^alpha over the legal options.

    log_p: [..., A], need not be normalised; p is.   alpha: dimensionless, >= 0.
    slip: >= 0, a probability small against 1; 0 leaves what is impossible impossible at every alpha.
    Returns: [..., A], normalised over A; where log_p allows nothing, every legal option alike: a choice must be made.
    """
    p = log_normalize(log_p, where=legal)
    log_slip = jnp.where(slip > 0, jnp.log(jnp.where(slip > 0, slip, 1.0)), -jnp.inf)
    p = logsumexp(jnp.stack(jnp.broadcast_arrays(p, log_slip)), 0)
    chosen = log_normalize(scale(alpha, p), where=legal)
    possible = jnp.any(chosen != -jnp.inf, -1, keepdims=True)
    return jnp.where(possible, chosen, log_normalize(jnp.zeros_like(chosen), where=legal))


def joined(log_p: Float[Array, " A"], actions: Bool[Array, "K A"]) -> Float[Array, " K"]:
    """[K] log-probability of each set of options; -inf for an empty set."""
    return logsumexp(jnp.broadcast_to(log_p, actions.shape), where=actions)


def singles(legal: Bool[Array, " A"]) -> Bool[Array, "A A"]:
    """[A, A] every legal option as a set of its own."""
    return jnp.eye(legal.shape[0], dtype=bool) & legal


def chooser(
    name: str,
    believed: Callable[[Any, Observation], Float[Array, " A"]],
    options: Callable[[Observation], Bool[Array, " A"]],
) -> Mind:
    """A mind that chooses among options by what it believes of them.

    believed(params, observation) -> [A] log-probabilities, which `sharpened` normalises.
    options(observation) -> [A] legal options.   params: `Params`, or another record with alpha, lapse and slip.
    Its policy: with_lapse of the sums over each action of (believed + slip)^alpha, normalised.
    """

    def init(params: Any, memory: Any, view: View) -> tuple[()]:
        del params, memory, view
        return ()

    def alternatives(params: Any, belief: Any, observation: Observation) -> Bool[Array, "A A"]:
        del params, belief
        return singles(options(observation))

    def log_policy(
        params: Any, belief: Any, observation: Observation, actions: Bool[Array, "K A"]
    ) -> Float[Array, " K"]:
        del belief
        log_p = sharpened(believed(params, observation), params.alpha, params.slip, options(observation))
        return with_lapse(joined(log_p, actions), params.lapse, actions.any(-1))

    def sample(key: Any, params: Any, belief: Any, observation: Observation) -> Int[Array, ""]:
        actions = alternatives(params, belief, observation)
        return draw(key, log_policy(params, belief, observation, actions)).astype(jnp.int32)

    def readout(params: Any, belief: Any, observation: Observation) -> dict[str, Array]:
        del belief
        return {"options": log_normalize(believed(params, observation), where=options(observation))}

    return Mind(name, init, memoryless, alternatives, log_policy, sample, readout)
