"""Populations of unlike agents: mixtures over depth or kind, speakers who reason about them, agents who know less.

K counts kinds of agents. An agent who cannot act on a row leaves it all -inf; in a mixture that row then sums to the
share of those who can.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from otherminds.inference.logspace import log_normalize, logsumexp
from otherminds.rsa import agents, checks


def mixture_speaker(log_weights: Float[Array, " K"], log_speakers: Float[Array, "K M U"]) -> Float[Array, "M U"]:
    """S(u | m) = sum_k w_k S_k(u | m): somebody of the population speaks.

    log_weights: [K], normalised.   log_speakers: [K, M, U], normalised over U.
    Returns: [M, U], normalised over U.
    Raises: ValueError if the weights do not sum to 1 (outside jit).
    """
    checks.log_prior(log_weights, log_speakers.shape[0], "agent")
    return logsumexp(log_speakers + log_weights[:, None, None], 0)


def mixture_listener(log_weights: Float[Array, " K"], log_listeners: Float[Array, "K U M"]) -> Float[Array, "U M"]:
    """L(m | u) = sum_k w_k L_k(m | u): somebody of the population listens.

    log_weights: [K], normalised.   log_listeners: [K, U, M], normalised over M.
    Returns: [U, M], normalised over M; `agents.pragmatic_speaker` of it speaks to the whole population.
    Raises: ValueError if the weights do not sum to 1 (outside jit).
    """
    checks.log_prior(log_weights, log_listeners.shape[0], "agent")
    return logsumexp(log_listeners + log_weights[:, None, None], 0)


def poisson_depths(tau: Float[Array, ""] | float, depth: int) -> Float[Array, " depths"]:
    """P(n) proportional to tau^n / n!, n = 0 .. depth: how many steps people think.

    tau: mean number of steps before truncation, >= 0.   depth: static, >= 0.
    Returns: [depth + 1] log-probabilities, normalised.
    Source: Camerer, Ho & Chong (2004); they find tau about 1.5.
    """
    checks.at_least_0("tau", tau)
    if depth < 0:
        raise ValueError(f"depth={depth}: at least 0")
    n = jnp.arange(depth + 1.0)
    nobody_thinks = tau == 0
    log_tau = jnp.where(nobody_thinks, 0.0, jnp.log(jnp.where(nobody_thinks, 1.0, tau)))
    log_p = jnp.where(nobody_thinks & (n > 0), -jnp.inf, n * log_tau - jax.scipy.special.gammaln(n + 1.0))
    return log_normalize(log_p)


def hierarchy(
    log_lexicon: Float[Array, "U M"],
    log_prior: Float[Array, " M"],
    log_depths: Float[Array, " depths"],
    alpha: Float[Array, ""] | float = 1.0,
    cost: Float[Array, " U"] | float = 0.0,
    legal: Bool[Array, " U"] | None = None,
) -> agents.Levels:
    """Agents who each reason about a population of all lower depths, not only about the depth below.

    S_n(u | m) is proportional to exp(alpha (log sum_{k<n} f(k) L_k(m | u) - cost(u))), L_n(m | u) to
    P(m) sum_{1<=k<=n} f(k) S_k(u | m), with f renormalised over the depths that are summed.
    log_lexicon: [U, M], nats.   log_prior: [M], normalised.   alpha: >= 0.   cost: [U], nats.
    log_depths: [depth + 1], log f over depths 0 .. depth, depth >= 1, f(0) > 0 and f(1) > 0; such as
        `poisson_depths`.   legal: [U] True where u may be said.
    Returns: Levels; `mixture_listener(log_depths, levels.log_listeners)` is the population itself.
    Raises: ValueError if f(0) or f(1) is 0 or missing, and as the agents do (outside jit).
    Source: Camerer, Ho & Chong (2004), with softmax for the best response.
    """
    if log_depths.shape[0] < 2:
        raise ValueError(f"log_depths has {log_depths.shape[0]} entries; give one for every depth, 0 to at least 1")
    checks.some_support(log_depths[:2, None], "depth {} has no weight, so that depth 2 would know nobody")
    checks.log_prior(log_depths, log_depths.shape[0], "depth", "log_depths")
    literal = agents.literal_listener(log_lexicon, log_prior)
    agents.pragmatic_speaker(literal, alpha, cost, legal)  # names a meaning that cannot be said

    def level(sums, own):
        """sums: over the depths so far, of f L, of f S, and of f over the listeners and the speakers; own: log f(n)."""
        listeners, speakers, below, speaking = sums
        log_speaker = agents.pragmatic_speaker(listeners - below, alpha, cost, legal, allow_empty=True)
        speakers = logsumexp(jnp.stack([speakers, own + log_speaker]), 0)
        speaking = logsumexp(jnp.stack([speaking, own]))
        log_listener = agents.pragmatic_listener(speakers - speaking, log_prior)
        listeners = logsumexp(jnp.stack([listeners, own + log_listener]), 0)
        return (listeners, speakers, logsumexp(jnp.stack([below, own])), speaking), (log_speaker, log_listener)

    nobody = jnp.full((), -jnp.inf, literal.dtype)
    start = (log_depths[0] + literal, jnp.full(literal.T.shape, -jnp.inf, literal.dtype), log_depths[0], nobody)
    _, (speakers, listeners) = jax.lax.scan(level, start, log_depths[1:])
    return agents.Levels(speakers, jnp.concatenate([literal[None], listeners]))


class Restricted(NamedTuple):
    """What an agent who knows less has in place of the lexicon and prior, for `agents.recursion` and the others."""

    log_lexicon: Float[Array, "U M"]  # a row of -inf for an utterance she does not know
    log_prior: Float[Array, " M"]  # normalised over the meanings that she considers
    legal: Bool[Array, " U"]


def restrict(
    log_lexicon: Float[Array, "U M"],
    log_prior: Float[Array, " M"],
    utterances: Bool[Array, " U"] | None = None,
    meanings: Bool[Array, " M"] | None = None,
) -> Restricted:
    """The lexicon and prior of an agent who knows some utterances and considers some meanings only.

    log_lexicon: [U, M], nats.   log_prior: [M], normalised.   utterances: [U] True = knows.
    meanings: [M] True = considers.
    Returns: Restricted; use it with allow_empty=True, for what she does not know is a row of all -inf.
    Raises: ValueError if she considers no meaning (outside jit).
    """
    checks.log_prior(log_prior, log_lexicon.shape[1])
    log_lexicon = checks.in_logs(log_lexicon, log_prior)
    utterances = jnp.ones(log_lexicon.shape[0], bool) if utterances is None else utterances
    meanings = jnp.ones(log_lexicon.shape[1], bool) if meanings is None else meanings
    considered = log_normalize(log_prior, where=meanings)
    checks.some_support(considered[None], "an agent who considers no possible meaning has nothing to say or hear")
    return Restricted(jnp.where(utterances[:, None], log_lexicon, -jnp.inf), considered, utterances)


def type_posterior(
    log_weights: Float[Array, " K"],
    log_agents: Float[Array, "K R C"],
    condition: Int[Array, " T"],
    choice: Int[Array, " T"],
    valid: Bool[Array, " T"] | None = None,
) -> Float[Array, "T K"]:
    """P(k | choices up to t) proportional to w_k prod_{i<=t} p_k(choice_i | condition_i).

    log_weights: [K], normalised.
    log_agents: [K, R, C], each kind's choice probabilities, normalised over C: speakers [K, M, U] with the meaning
        as condition, or listeners [K, U, M] with the utterance; `inference.scoring.with_lapse` of them bears errors.
    condition, choice: [T] indices.   valid: [T] False where there was no trial.
    Returns: [T, K], normalised over K; all -inf once every kind has been ruled out.
    Raises: ValueError if the weights do not sum to 1 (outside jit).
    """
    checks.log_prior(log_weights, log_agents.shape[0], "agent")
    if condition.shape != choice.shape:
        raise ValueError(f"there are {condition.shape} conditions and {choice.shape} choices; give one for each trial")
    checks.index("condition", condition, log_agents.shape[1])
    checks.index("choice", choice, log_agents.shape[2])
    log_p = log_agents[:, condition, choice].T
    log_p = log_p if valid is None else jnp.where(valid[:, None], log_p, 0.0)

    def trial(log_belief, log_p):
        log_belief = log_normalize(log_belief + log_p)
        return log_belief, log_belief

    return jax.lax.scan(trial, log_weights, log_p)[1]
