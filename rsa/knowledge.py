"""Speakers who know the meaning only in part, and a listener who takes that into account.

An observation O is what the speaker saw of the meaning. Two rules turn her belief into speech, and they differ: a
speaker who samples may say what she does not know to be true, one who expects never does.
Source: Goodman & Stuhlmueller (2013); probLang, chapter 2.
"""

from math import comb

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from otherminds.inference.logspace import log_expectation, log_normalize, scale
from otherminds.rsa import checks

NOTHING_TO_SAY = "observation {} has no utterance that may be said"


def counted(total: int, access: int) -> Float[Array, "M O"]:
    """log P(o | m) for a speaker who sees `access` of `total` objects, m of which have the property: hypergeometric.

    total, access: static, 0 <= access <= total.
    Returns: [total + 1, access + 1], normalised over O; m and o are counts.
    Raises: ValueError if access is outside 0 .. total.
    """
    if not 0 <= access <= total:
        raise ValueError(f"access={access} of total={total} objects; a speaker sees from 0 to all of them")
    ways = [[comb(m, o) * comb(total - m, access - o) for o in range(access + 1)] for m in range(total + 1)]
    with np.errstate(divide="ignore"):
        return jnp.asarray(np.log(ways) - np.log(comb(total, access)))


def belief(log_observation: Float[Array, "M O"], log_prior: Float[Array, " M"]) -> Float[Array, "O M"]:
    """P(m | o) proportional to P(o | m) P(m): what the speaker believes after each observation.

    log_observation: [M, O], normalised over O.   log_prior: [M], normalised.
    Returns: [O, M] log-probabilities, normalised over M.
    Raises: ValueError if an observation is made in no possible meaning (outside jit; inside, that row is all -inf).
    """
    checks.log_prior(log_prior, log_observation.shape[0])
    log_belief = log_normalize(log_observation.T + log_prior)
    return checks.some_support(log_belief, "observation {} is made in no possible meaning")


def sampling_speaker(
    log_listener: Float[Array, "U M"],
    log_belief: Float[Array, "O M"],
    alpha: Float[Array, ""] | float,
    cost: Float[Array, " U"] | float = 0.0,
    legal: Bool[Array, " U"] | None = None,
    allow_empty: bool = False,
) -> Float[Array, "O U"]:
    """S(u | o) proportional to sum_m P(m | o) exp(alpha (log L_0(m | u) - cost(u))): she speaks for a sampled meaning.

    log_listener: [U, M], normalised over M.   log_belief: [O, M], normalised over M.
    alpha: rationality, >= 0.   cost: [U], nats.   legal: [U] True where u may be said.
    allow_empty: an observation after which nothing can be said is a row of all -inf instead of an error.
    Returns: [O, U] log-probabilities, normalised over U.
    Raises: ValueError if an observation has no utterance (outside jit; inside, that row is all -inf).
    Source: probLang, chapter 2. What is said may be false of meanings that she thinks possible.
    """
    checks.speaking(log_listener.shape[0], alpha, cost, legal)
    checks.log_prior(log_belief, log_listener.shape[1], name="log_belief", allow_empty=allow_empty)
    attraction = scale(alpha, log_listener.T - cost)  # [M, U]
    mixture = jax.vmap(lambda log_p: log_expectation(log_p[:, None], attraction, 0))(log_belief)
    return checks.some_support(log_normalize(mixture, where=legal), NOTHING_TO_SAY, allow_empty)


def expecting_speaker(
    log_listener: Float[Array, "U M"],
    log_belief: Float[Array, "O M"],
    alpha: Float[Array, ""] | float,
    cost: Float[Array, " U"] | float = 0.0,
    legal: Bool[Array, " U"] | None = None,
    allow_empty: bool = False,
) -> Float[Array, "O U"]:
    """S(u | o) proportional to exp(alpha (E_{m ~ P(m | o)} log L_0(m | u) - cost(u))): she maximises what she expects.

    Arguments, result and errors as for `sampling_speaker`.
    Source: Goodman & Stuhlmueller (2013). Nothing is said that may be false: an utterance that is impossible
        for a meaning she thinks possible has probability 0, so a null utterance is often needed.
    """
    checks.speaking(log_listener.shape[0], alpha, cost, legal)
    checks.log_prior(log_belief, log_listener.shape[1], name="log_belief", allow_empty=allow_empty)
    known = log_listener != -jnp.inf
    believed = log_belief != -jnp.inf
    expected = _product(jnp.exp(log_belief), jnp.where(known, log_listener, 0.0).T)
    risky = _product(believed.astype(float), (~known).astype(float).T) > 0
    # A belief that holds nothing (a row of all -inf) leaves nothing to say.
    possible = ~risky & believed.any(-1, keepdims=True)
    utility = jnp.where(possible, expected - cost, -jnp.inf)
    return checks.some_support(log_normalize(scale(alpha, utility), where=legal), NOTHING_TO_SAY, allow_empty)


def observing_speaker(log_speaker: Float[Array, "O U"], log_observation: Float[Array, "M O"]) -> Float[Array, "M U"]:
    """S(u | m) = sum_o S(u | o) P(o | m): the speaker as a listener sees her, who does not know what she saw.

    log_speaker: [O, U], normalised over U.   log_observation: [M, O], normalised over O.
    Returns: [M, U] log-probabilities, for `agents.pragmatic_listener`; one for each access the speaker may have,
        stacked, for `agents.joint_listener`. Rows sum to 1 where no observation is without an utterance.
    """
    return jax.vmap(lambda log_p: log_expectation(log_p[:, None], log_speaker, 0))(log_observation)


def _product(a: Array, b: Array) -> Array:
    return jnp.matmul(a, b, precision=jax.lax.Precision.HIGHEST)  # accelerators round to fewer bits by default
