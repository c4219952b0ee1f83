"""Gradable adjectives: a listener who infers how tall somebody is, and how tall one must be to be called tall.

Three utterances: a positive adjective ("tall": degree >= threshold), its negative ("short": degree <= another
threshold) and silence, true of everything. The thresholds are free and independent of each other.
The general recipe is a speaker for every pair of thresholds (`gradable_speaker`) and `agents.joint_listener`.
`gradable_listener` gives the same numbers without an array over degrees and both thresholds: the speaker depends on
the degree only through which adjectives are true of it, so the sum over the other threshold is cumulative.
Degrees and thresholds are compared, which has no gradient; priors, costs and alpha have one.
Source: Lassiter & Goodman (2013, 2017); probLang, chapter 5, has the positive adjective alone.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from otherminds.inference.logspace import log_normalize, logsumexp, scale
from otherminds.inference.tracing import known
from otherminds.rsa import agents, checks

POSITIVE, NEGATIVE, SILENCE = range(3)


class Thresholds(NamedTuple):
    """Where an adjective may begin to hold, on the scale of the degrees."""

    values: Float[Array, " X"]
    log_prior: Float[Array, " X"]  # normalised


class Interpretation(NamedTuple):
    """What is inferred from each utterance about the degree and one threshold; `logsumexp` gives either alone."""

    log_positive: Float[Array, "3 X M"]  # threshold of the positive adjective, degree; normalised over both
    log_negative: Float[Array, "3 Y M"]  # threshold of the negative adjective, degree; normalised over both


def gradable_lexicon(
    degrees: Float[Array, " M"], positive: Float[Array, ""] | float, negative: Float[Array, ""] | float
) -> Float[Array, "3 M"]:
    """log truth of positive (degree >= positive), negative (degree <= negative) and silence.

    degrees: [M], any unit.   positive, negative: the thresholds, same unit.
    Returns: log_lexicon [3, M], 0 or -inf.
    """
    truth = jnp.stack([degrees >= positive, degrees <= negative, jnp.ones(degrees.shape, bool)])
    return jnp.where(truth, 0.0, -jnp.inf).astype(degrees.dtype)


def gradable_speaker(
    degrees: Float[Array, " M"],
    log_prior: Float[Array, " M"],
    positive: Float[Array, ""] | float,
    negative: Float[Array, ""] | float,
    alpha: Float[Array, ""] | float,
    cost: Float[Array, "3"] | float = 0.0,
    legal: Bool[Array, "3"] | None = None,
) -> Float[Array, "M 3"]:
    """S(u | x, thresholds) proportional to exp(alpha (log L_0(x | u, thresholds) - cost(u))).

    degrees, log_prior: [M], the scale and its prior.   positive, negative: thresholds.
    alpha: rationality, >= 0.   cost: [3], nats.   legal: [3], True where it may be said: without a negative
        adjective, [True, False, True].
    Returns: [M, 3] log-probabilities over positive, negative and silence; -inf for a degree without prior.
    Source: Lassiter & Goodman (2013), the speaker S1.
    """
    literal = agents.literal_listener(gradable_lexicon(degrees, positive, negative), log_prior, allow_empty=True)
    return agents.pragmatic_speaker(literal, alpha, cost, legal, allow_empty=True)


def gradable_listener(
    degrees: Float[Array, " M"],
    log_prior: Float[Array, " M"],
    positive: Thresholds,
    negative: Thresholds,
    alpha: Float[Array, ""] | float,
    cost: Float[Array, "3"] | float = 0.0,
    legal: Bool[Array, "3"] | None = None,
) -> Interpretation:
    """L(x, threshold | u) proportional to P(x) P(positive) P(negative) S(u | x, positive, negative), one summed out.

    degrees: [M], any order.   log_prior: [M], normalised.
    positive, negative: X and Y thresholds, in any order, independent of each other.
    The rest as for `gradable_speaker`.
    Returns: log_positive [3, X, M] and log_negative [3, Y, M], each row normalised over both of its axes; a row is
        all -inf where the utterance is never said. Under jit, the one that is not used is not computed.
        Memory is of the order X Y + X M + Y M.
    Raises: ValueError if a prior does not sum to 1 (outside jit).
    Source: Lassiter & Goodman (2013), the listener L1; a threshold may equal a degree of which the adjective is true.
    """
    checks.log_prior(log_prior, degrees.shape[0], "degree")
    checks.log_prior(positive.log_prior, positive.values.shape[0], "positive threshold")
    checks.log_prior(negative.log_prior, negative.values.shape[0], "negative threshold")
    checks.speaking(3, alpha, cost, legal)
    for name, values in (("degrees", degrees), ("positive", positive.values), ("negative", negative.values)):
        if known(values) and np.isnan(np.asarray(values)).any():
            raise ValueError(f"{name}[{np.isnan(np.asarray(values)).argmax()}] is NaN; it is a place on the scale")
    cost = jnp.broadcast_to(jnp.asarray(cost, degrees.dtype), 3)
    legal = jnp.ones(3, bool) if legal is None else legal
    mirror = jnp.array([NEGATIVE, POSITIVE, SILENCE])
    return Interpretation(
        _joint(degrees, log_prior, positive, negative, alpha, cost, legal),
        _joint(
            -degrees,
            log_prior,
            Thresholds(-negative.values, negative.log_prior),
            Thresholds(-positive.values, positive.log_prior),
            alpha,
            cost[mirror],
            legal[mirror],
        )[mirror],
    )


def _joint(degrees, log_prior, positive, negative, alpha, cost, legal) -> Float[Array, "3 X M"]:
    """L(x, positive threshold | u): negative thresholds are summed from below and from above, to where x stands."""
    order = jnp.argsort(negative.values)
    low, log_p_low = negative.values[order], negative.log_prior[order]
    holds = degrees >= positive.values[:, None]  # [X, M]
    log_tail = logsumexp(jnp.broadcast_to(log_prior, holds.shape), where=holds)  # [X]
    log_head = logsumexp(jnp.broadcast_to(log_prior, (low.size, degrees.size)), where=degrees <= low[:, None])  # [Y]
    log_said = _said(log_tail, log_head, alpha, cost, legal) + log_p_low[:, None, None, None]
    # The negative adjective is false of x at the thresholds below it, true at those from the count-th on.
    count = jnp.searchsorted(low, degrees)  # [M]
    never = jnp.full((1, 2, 3, positive.values.size), -jnp.inf, log_said.dtype)
    below = jnp.concatenate([never, _running(log_said[0])])[count]
    above = jnp.concatenate([_running(log_said[1], reverse=True), never])[count]
    log_said = jnp.moveaxis(logsumexp(jnp.stack([below, above]), 0), 0, -1)  # [positive false or true, 3, X, M]
    log_said = jnp.where(holds, log_said[1], log_said[0])
    return log_normalize(log_said + positive.log_prior[:, None] + log_prior, (-2, -1))


def _said(log_tail, log_head, alpha, cost, legal) -> Float[Array, "2 Y 2 3 X"]:
    """log S(u), for degrees of which the negative (first axis) and the positive adjective (third) are false or true.

    log L_0(x | u) is log P(x) less the log mass of the degrees of which u is true; P(x) cancels in the speaker.
    """
    log_tail, log_head = (jnp.where(x == -jnp.inf, 0.0, x) for x in (log_tail, log_head))  # true of nothing: unused
    negative, head, positive, tail = jnp.ix_(jnp.arange(2), log_head, jnp.arange(2), log_tail)
    utilities = jnp.stack(
        jnp.broadcast_arrays(
            jnp.where(positive == 1, -tail, -jnp.inf), jnp.where(negative == 1, -head, -jnp.inf), jnp.zeros_like(tail)
        ),
        -2,
    )
    return log_normalize(scale(alpha, utilities - cost[:, None]), -2, where=legal[:, None])


def _running(log_x: Array, reverse: bool = False) -> Array:
    """Cumulative log-sum-exp over the first axis, with finite gradients where it begins with -inf."""
    return jax.lax.scan(_add, jnp.full_like(log_x[0], -jnp.inf), log_x, reverse=reverse)[1]


def _add(log_total: Array, log_term: Array) -> tuple[Array, Array]:
    log_total = logsumexp(jnp.stack([log_total, log_term]), 0)
    return log_total, log_total
