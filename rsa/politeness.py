"""Speakers who want to be informative, kind, and seen as both.

V(m) is what the listener makes of being in state m; E V under her beliefs is the social value of an utterance.
S_1 weighs information against it, L_1 infers the state and the weight, and S_2 speaks to be seen as she wishes.
Source: Yoon, Tessler, Goodman & Frank (2016, 2020); probLang, chapter 9.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from otherminds.inference.logspace import expectation, log_normalize, logsumexp, scale, weighted
from otherminds.rsa import agents, checks


class Goals(NamedTuple):
    """What a self-presenting speaker cares about; weights >= 0, of which Yoon et al. (2020) let the sum be 1."""

    informational: Float[Array, ""] | float
    social: Float[Array, ""] | float
    presentational: Float[Array, ""] | float


def polite_speaker(
    log_listener: Float[Array, "U M"],
    value: Float[Array, " M"],
    informativity: Float[Array, ""] | float,
    alpha: Float[Array, ""] | float,
    cost: Float[Array, " U"] | float = 0.0,
    legal: Bool[Array, " U"] | None = None,
    allow_empty: bool = False,
) -> Float[Array, "M U"]:
    """S_1(u | m) proportional to exp(alpha (phi log L_0(m | u) + (1 - phi) E_{m' ~ L_0(. | u)} V(m') - cost(u))).

    log_listener: [U, M], normalised over M.   value: [M], V, in nats: twice as large, twice as kind.
    informativity: phi, 0 (only kind) to 1 (only informative). At 0 nothing keeps her from saying what is false.
    alpha: rationality, >= 0.   cost: [U], nats.   legal: [U] True where u may be said.
    allow_empty: a meaning that cannot be said is a row of all -inf instead of an error.
    Returns: [M, U] log-probabilities, normalised over U.
    Raises: ValueError if a meaning has no utterance (outside jit; inside, that row is all -inf).
    Source: Yoon et al. (2020), the utility of S1.
    """
    checks.speaking(log_listener.shape[0], alpha, cost, legal)
    checks.fraction("informativity", informativity)
    utility = weighted(informativity, log_listener.T) + (1 - informativity) * expectation(log_listener, value)
    log_speaker = log_normalize(scale(alpha, utility - cost), where=_understood(log_listener, legal))
    return checks.some_support(log_speaker, "meaning {} has no utterance that may be said", allow_empty)


def polite_listener(
    log_listener: Float[Array, "U M"],
    log_prior: Float[Array, " M"],
    value: Float[Array, " M"],
    informativity: Float[Array, " X"],
    log_informativity_prior: Float[Array, " X"],
    alpha: Float[Array, ""] | float,
    cost: Float[Array, " U"] | float = 0.0,
    legal: Bool[Array, " U"] | None = None,
) -> Float[Array, "U X M"]:
    """L_1(phi, m | u) proportional to S_1(u | m, phi) P(m) P(phi): how good, and how frank.

    log_prior: [M], normalised.   informativity: [X], the phis that a speaker may have, with their log_prior [X].
    The rest as for `polite_speaker`.
    Returns: [U, X, M] log-probabilities, normalised over X and M together; `logsumexp` marginalises.
    Raises: ValueError as `polite_speaker`, or if a prior does not sum to 1 (outside jit).
    Source: Yoon et al. (2020), L1.
    """
    checks.log_prior(log_prior, log_listener.shape[1])
    checks.log_prior(log_informativity_prior, informativity.shape[0], "weight")
    checks.fraction("informativity", informativity)

    def speaker(phi):
        return polite_speaker(log_listener, value, phi, alpha, cost, legal)

    log_speakers = jax.vmap(speaker)(informativity)
    checks.some_support(log_speakers, "at weight {}, meaning {} has no utterance that may be said")
    return agents.joint_listener(log_speakers, log_informativity_prior[:, None] + log_prior)


def self_presenting_speaker(
    log_joint: Float[Array, "U X M"],
    value: Float[Array, " M"],
    goals: Goals,
    alpha: Float[Array, ""] | float,
    cost: Float[Array, " U"] | float = 0.0,
    legal: Bool[Array, " U"] | None = None,
    allow_empty: bool = False,
) -> Float[Array, "X M U"]:
    """S_2(u | m, phi) proportional to exp(alpha (w_i log L_1(m | u) + w_s E_{L_1} V + w_p log L_1(phi | u) - cost(u))).

    log_joint: [U, X, M], of `polite_listener`.   value: [M], nats.
    goals: the three weights.   phi (axis X of the result): the informativity she wants to be seen with.
    The rest as for `polite_speaker`.
    Returns: [X, M, U] log-probabilities, normalised over U.
    Raises: ValueError if a meaning cannot be said (outside jit; inside, that row is all -inf).
    Source: Yoon et al. (2020), S2.
    """
    checks.speaking(log_joint.shape[0], alpha, cost, legal)
    for name, weight in goals._asdict().items():
        checks.at_least_0(name, weight)
    log_meaning, log_informativity = logsumexp(log_joint, 1), logsumexp(log_joint, 2)
    utility = weighted(goals.informational, log_meaning.T) + goals.social * expectation(log_meaning, value)
    utility = utility + weighted(goals.presentational, log_informativity.T)[:, None]
    log_speaker = log_normalize(scale(alpha, utility - cost), where=_understood(log_meaning, legal))
    return checks.some_support(log_speaker, "at weight {}, meaning {} has no utterance that may be said", allow_empty)


def _understood(log_listener: Float[Array, "U M"], legal: Bool[Array, " U"] | None) -> Bool[Array, " U"]:
    """What may be said, and of which the listener makes anything: an empty row has no social value."""
    understood = jnp.any(log_listener != -jnp.inf, -1)
    return understood if legal is None else understood & legal
