"""A player who follows one strategy of a set and now and then changes to another."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from otherminds.games.rps.strategies import Strategy, log_likelihoods
from otherminds.inference.logspace import log_normalize
from otherminds.inference.switching import Sticky, Trace, check_probability, filter


class Switching(NamedTuple):
    """Before every round but the first, with probability `hazard`, the strategy is drawn anew from all K, uniformly."""

    strategies: Strategy  # stacked, [K]
    log_prior: Float[Array, " K"]  # the first strategy, normalised
    hazard: Float[Array, ""]


def uniform(strategies: Strategy, hazard: float) -> Switching:
    """A switching player who starts with any of the strategies, all equally likely.

    Raises: ValueError for a hazard that is no probability.
    """
    check_probability("hazard", hazard)
    log_prior = log_normalize(jnp.zeros_like(strategies.tremble))
    return Switching(strategies, log_prior, jnp.asarray(float(hazard)))


def filtered(player: Switching, own: Int[Array, " T"], opponent: Int[Array, " T"]) -> Trace:
    """The forward filter p <- (1 - h) p + h / K, then Bayes' rule on the move.

    own, opponent: [T] moves; NO_ANSWER where one is missing: no evidence, but time passes.
    Returns: a Trace over the K strategies. The sum of its `log_evidence` is the exact log-likelihood of the match, all
        K^T paths summed; a match that no strategy allows stays impossible.
    """
    log_table = jax.vmap(log_likelihoods, in_axes=(0, None, None), out_axes=1)(player.strategies, own, opponent)
    log_uniform = log_normalize(jnp.zeros_like(player.log_prior))
    return filter(player.log_prior, log_table, Sticky(player.hazard, log_uniform))


def path(key: PRNGKeyArray, player: Switching, rounds: int) -> Int[Array, " T"]:
    """[T] draws which strategy is followed in every round."""
    key_first, key_when, key_which = jax.random.split(key, 3)
    drawn = jax.random.randint(key_which, (rounds,), 0, player.log_prior.shape[0])
    drawn = drawn.at[0].set(jax.random.categorical(key_first, player.log_prior))
    fresh = (jax.random.uniform(key_when, (rounds,)) < player.hazard).at[0].set(True)
    latest = jax.lax.cummax(jnp.where(fresh, jnp.arange(rounds), 0))
    return drawn[latest]
