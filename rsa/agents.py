"""Rational Speech Acts: speakers and listeners who reason about each other, to any depth.

Source: Frank & Goodman (2012); Goodman & Frank (2016). The cost stands inside alpha.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from otherminds.inference.logspace import log_normalize, scale
from otherminds.rsa import checks


class Levels(NamedTuple):
    """Every level of a recursion. Level 0 is literal: its speaker row is that of depth 1."""

    log_speakers: Float[Array, "depth M U"]  # S_1 .. S_depth, normalised over U
    log_listeners: Float[Array, "depth+1 U M"]  # L_0 .. L_depth, normalised over M


def literal_listener(
    log_lexicon: Float[Array, "U M"], log_prior: Float[Array, " M"], allow_empty: bool = False
) -> Float[Array, "U M"]:
    """L_0(m | u) proportional to T[u, m] P(m).

    log_lexicon: [U, M], nats.   log_prior: [M], normalised.
    allow_empty: an utterance true of no possible meaning is a row of all -inf instead of an error.
    Returns: [U, M] log-probabilities, normalised over M.
    Raises: ValueError if an utterance is true of no meaning that the prior allows, or the prior has another length
        or does not sum to 1, or the lexicon holds NaN (outside jit; inside, an empty row is all -inf).
    Source: Frank & Goodman (2012), Eq. 3.
    """
    checks.log_prior(log_prior, log_lexicon.shape[-1])
    checks.lexicon(log_lexicon)
    log_listener = log_normalize(log_lexicon + log_prior)
    return checks.some_support(log_listener, "utterance {} is true of no possible meaning", allow_empty)


def pragmatic_speaker(
    log_listener: Float[Array, "U M"],
    alpha: Float[Array, ""] | float,
    cost: Float[Array, " U"] | float = 0.0,
    legal: Bool[Array, " U"] | None = None,
    allow_empty: bool = False,
) -> Float[Array, "M U"]:
    """S_n(u | m) proportional to exp(alpha (log L_{n-1}(m | u) - cost(u))).

    log_listener: [U, M] log-probabilities, normalised over M.
    alpha: rationality, dimensionless, >= 0.   cost: [U], nats.
    legal: [U] True where u may be said.
    allow_empty: a meaning that cannot be said is a row of all -inf instead of an error.
    Returns: [M, U] log-probabilities, normalised over U.
    Raises: ValueError if a meaning has no legal utterance (outside jit; inside, that row is all -inf).
    Source: Frank & Goodman (2012), Eq. 2.
    """
    log_speaker = log_normalize(scale(alpha, log_listener.T - cost), where=legal)
    return checks.some_support(log_speaker, "meaning {} has no legal utterance", allow_empty)


def pragmatic_listener(log_speaker: Float[Array, "M U"], log_prior: Float[Array, " M"]) -> Float[Array, "U M"]:
    """L_n(m | u) proportional to S_n(u | m) P(m).

    log_speaker: [M, U], normalised over U.   log_prior: [M], normalised.
    Returns: [U, M] log-probabilities, normalised over M; an utterance that no speaker would say (an illegal one)
        is a row of all -inf.
    Source: Frank & Goodman (2012), Eq. 1.
    """
    return log_normalize(log_speaker.T + log_prior)


def joint_listener(log_speakers: Float[Array, "X M U"], log_prior: Float[Array, "X M"]) -> Float[Array, "U X M"]:
    """L(x, m | u) proportional to S(u | m, x) P(x, m): a listener who is also unsure of something about the speaker.

    x: whatever the speaker knows beside her meaning: her lexicon, threshold, question under discussion, weights,
        group.
    log_speakers: [X, M, U], normalised over U.   log_prior: [X, M], normalised over both;
        log_p_x[:, None] + log_p_m where the two are independent.
    Returns: [U, X, M] log-probabilities, normalised over X and M together; `logsumexp` over an axis marginalises it.
    """
    checks.log_prior(log_prior.reshape(-1), log_prior.size, "pair")
    return log_normalize(jnp.moveaxis(log_speakers, -1, 0) + log_prior, axis=(-2, -1))


def recursion(
    log_lexicon: Float[Array, "U M"],
    log_prior: Float[Array, " M"],
    depth: int,
    alpha: Float[Array, ""] | float = 1.0,
    cost: Float[Array, " U"] | float = 0.0,
    legal: Bool[Array, " U"] | None = None,
    allow_empty: bool = False,
) -> Levels:
    """L_0, S_1, L_1 .. S_depth, L_depth, as one scan: compile time does not grow with depth.

    depth: static, >= 1; take any level of the result with a traced index.
    Raises: ValueError as the agents do, or if depth < 1.
    """
    if depth < 1:
        raise ValueError(f"depth={depth}: a recursion has at least depth 1; use literal_listener for depth 0")
    literal = literal_listener(log_lexicon, log_prior, allow_empty)
    # names a meaning that cannot be said; in the scan it could not
    pragmatic_speaker(literal, alpha, cost, legal, allow_empty)

    def level(log_listener, _):
        log_speaker = pragmatic_speaker(log_listener, alpha, cost, legal)
        log_listener = pragmatic_listener(log_speaker, log_prior)
        return log_listener, (log_speaker, log_listener)

    _, (speakers, listeners) = jax.lax.scan(level, literal, None, length=depth)
    return Levels(speakers, jnp.concatenate([literal[None], listeners]))


def listener_at(levels: Levels, depth: Int[Array, ""] | int) -> Float[Array, "U M"]:
    """L_depth of a recursion; depth may be traced."""
    return levels.log_listeners[depth]
