"""Bayesian belief over finitely many hypotheses, updated by one observation after the other."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from otherminds.inference.logspace import log_normalize, logsumexp


class Trace(NamedTuple):
    """A belief after every observation. H hypotheses, T observations."""

    log_belief: Float[Array, "T H"]  # normalised over H; all -inf once the evidence was impossible
    log_evidence: Float[Array, " T"]  # log P(observation t | those before), nats; -inf: impossible under every H
    possible: Bool[Array, " T"]  # False from the first impossible observation on


def update(
    log_belief: Float[Array, "... H"], log_likelihood: Float[Array, "... H"]
) -> tuple[Float[Array, "... H"], Float[Array, "..."]]:
    """Bayes' rule: log P(h | e) = log P(h) + log P(e | h) - log P(e).

    log_belief: [..., H], normalised over H.   log_likelihood: [..., H], nats.
    Returns: the posterior [..., H], and the log-evidence [...]: -inf (with a posterior of all -inf) where no
        hypothesis allows the observation.
    """
    joint = log_belief + log_likelihood
    return log_normalize(joint), logsumexp(joint)


def filter(
    log_prior: Float[Array, " H"],
    log_likelihoods: Float[Array, "T H"],
    valid: Bool[Array, " T"] | None = None,
) -> Trace:
    """Updates a belief by T observations in turn, as a scan.

    log_prior: [H], normalised.   log_likelihoods: [T, H], log P(observation t | h).
    valid: [T], False for padding, which changes nothing and has log-evidence 0.
    Returns: a Trace. Impossible evidence is reported (log_evidence -inf, possible False), never smoothed away.
    """
    if valid is None:
        valid = jnp.ones(log_likelihoods.shape[0], bool)

    def observe(carry, observation):
        log_belief, possible = carry
        log_likelihood, is_valid = observation
        posterior, log_evidence = update(log_belief, jnp.where(is_valid, log_likelihood, 0.0))
        log_evidence = jnp.where(is_valid, log_evidence, 0.0)
        possible = possible & (log_evidence > -jnp.inf)
        posterior = jnp.where(is_valid, posterior, log_belief)
        return (posterior, possible), Trace(posterior, log_evidence, possible)

    return jax.lax.scan(observe, (log_prior, jnp.bool_(True)), (log_likelihoods, valid))[1]
