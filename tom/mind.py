"""What a mind is: a few pure functions. The same mind plays, shadows, is nested in another mind, and is fitted.

params, memory, view, belief, event, observation and actions are pytrees of arrays, each game's own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from otherminds.inference.logspace import log_normalize


@dataclass(frozen=True)
class Mind:
    """A mind as functions; what it is made of (its params) travels beside it.

    init(params, memory, view) -> belief. view: what this player privately knows; memory: from earlier games, or
        None.
    update(params, belief, event) -> belief. event: what this player just saw.
    alternatives(params, belief, observation) -> actions: the finite set of A actions that this mind chooses from,
        a deterministic function of its arguments.
    log_policy(params, belief, observation, actions) -> [A], log-probabilities, normalised over the given actions:
        minds are compared over one set. All -inf where the mind would take none of them.
    sample(key, params, belief, observation) -> action: what the mind does when it plays. Distributed as
        `log_policy` over `alternatives`, unless the mind says otherwise.
    readout(params, belief, observation) -> dict of named log-arrays: what it thinks.
    carry(params, belief) -> memory for the next game.
    """

    name: str
    init: Callable[..., Any]
    update: Callable[..., Any]
    alternatives: Callable[..., Any]
    log_policy: Callable[..., Float[Array, " A"]]
    sample: Callable[..., Any]
    readout: Callable[..., dict[str, Array]] | None = None
    carry: Callable[..., Any] | None = None


def from_policy(
    name: str,
    init: Callable[..., Any],
    update: Callable[..., Any],
    policy: Callable[[Any, Any], Float[Array, " A"]],
    readout: Callable[..., dict[str, Array]] | None = None,
    carry: Callable[..., Any] | None = None,
) -> Mind:
    """A mind that chooses one of A numbered actions, and needs no observation beside its belief.

    policy(params, belief) -> [A] log-probabilities, normalised; A may not depend on what the belief holds.
    """

    def alternatives(params: Any, belief: Any, observation: Any) -> Int[Array, " A"]:
        del observation
        return jnp.arange(jax.eval_shape(policy, params, belief).shape[0])

    def log_policy(params: Any, belief: Any, observation: Any, actions: Int[Array, " K"]) -> Float[Array, " K"]:
        del observation
        return log_normalize(policy(params, belief)[actions])

    def sample(key: PRNGKeyArray, params: Any, belief: Any, observation: Any) -> Int[Array, ""]:
        del observation
        return draw(key, policy(params, belief)).astype(jnp.int32)

    return Mind(name, init, update, alternatives, log_policy, sample, readout, carry)


def memoryless(params: Any, belief: Any, event: Any) -> Any:
    """The `update` of a mind that keeps no belief of its own."""
    del params, event
    return belief


def draw(key: PRNGKeyArray, log_p: Float[Array, " A"]) -> Int[Array, ""]:
    """An index with the probability that log_p (normalised) gives it, from one uniform number by inverting the sum.

    Over thousands of actions this is far cheaper than a random number for each of them.
    """
    p = jax.lax.optimization_barrier(jnp.exp(log_p))  # else the running sum may compute each term again
    cumulative = jnp.cumsum(p)
    threshold = jax.random.uniform(key, (), log_p.dtype) * cumulative[-1]
    chosen = jnp.minimum(jnp.searchsorted(cumulative, threshold, side="right"), log_p.shape[0] - 1)
    # A running sum is rounded differently from entry to entry, so one in a million times it steps at an entry of 0.
    return jnp.where(p[chosen] > 0, chosen, jnp.argmax(p))
