"""Which of S hypotheses holds now, when it may change between observations: a hidden Markov model, exactly.

Time passes between observations, not before the first: `log_prior` is the belief about the first one. A step that
is not `valid` is padding, through which no time passes; for a step at which nothing was seen give log-likelihoods of 0.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from otherminds.inference.beliefs import update
from otherminds.inference.logspace import log_expectation, log_normalize, logsumexp
from otherminds.inference.tracing import known


class Sticky(NamedTuple):
    """P(s' | s) = (1 - hazard) [s' = s] + hazard redraw(s').

    A redraw may give the same hypothesis again: s changes with probability hazard (1 - redraw(s)).
    """

    hazard: Float[Array, ""] | float  # probability of a redraw between two observations, 0 to 1
    log_redraw: Float[Array, " S"]  # normalised over S; uniform: P(s' | s) = (1 - h) [s' = s] + h / S


Transition = Sticky | Float[Array, "S S"]  # a matrix is log P(s' | s), [from, to], normalised over the second axis


class Trace(NamedTuple):
    """A belief before and after every observation. S hypotheses, T observations."""

    log_predicted: Float[Array, "T S"]  # before observation t; normalised over S
    log_belief: Float[Array, "T S"]  # after it; normalised over S, all -inf once the evidence was impossible
    log_evidence: Float[Array, " T"]  # log P(observation t | those before), nats; 0 for padding
    possible: Bool[Array, " T"]  # False from the first impossible observation on


def filter(
    log_prior: Float[Array, " S"],
    log_likelihoods: Float[Array, "T S"],
    transition: Transition,
    valid: Bool[Array, " T"] | None = None,
) -> Trace:
    """P(s_t | e_1 .. e_t) proportional to P(e_t | s_t) sum over s of P(s_t | s) P(s | e_1 .. e_t-1), as a scan.

    log_prior: [S], of the hypothesis at the first observation, normalised.
    log_likelihoods: [T, S], log P(observation t | s), nats.
    transition: a `Sticky`, in time T S, or a matrix [S, S] of log P(s' | s), normalised over s', in time T S^2.
    valid: [T], False for padding, at which the belief and what is predicted stay as they were.
    Returns: a Trace; the log-evidence of all the data is the sum of its `log_evidence`.
    Raises: ValueError outside jit if the hazard is no probability, or a prior, redraw or row does not sum to 1.
    Source: Rabiner (1989), scaled forward recursion.
    The gradient in the hazard is the derivative from inside at 0 and 1 too, but for one case: a hypothesis that is
    impossible at hazard 0 (or 1), and that the hazard would revive, adds nothing to it (see `log_mix`).
    """
    check(log_prior, transition)
    valid = _mask(valid, log_likelihoods)
    log_prior = log_prior.astype(jnp.result_type(log_prior, log_likelihoods))

    def observe(carry, step):
        log_belief, possible = carry
        log_likelihood, is_valid, moves = step
        predicted = jnp.where(moves, predict(log_belief, transition), log_belief)
        posterior, log_evidence = update(predicted, jnp.where(is_valid, log_likelihood, 0.0))
        posterior = jnp.where(is_valid, posterior, log_belief)
        log_evidence = jnp.where(is_valid, log_evidence, 0.0)
        possible = possible & (log_evidence > -jnp.inf)
        return (posterior, possible), Trace(predicted, posterior, log_evidence, possible)

    return jax.lax.scan(observe, (log_prior, jnp.bool_(True)), (log_likelihoods, valid, _moves(valid)))[1]


def smoother(
    log_prior: Float[Array, " S"],
    log_likelihoods: Float[Array, "T S"],
    transition: Transition,
    valid: Bool[Array, " T"] | None = None,
) -> Float[Array, "T S"]:
    """P(s_t | e_1 .. e_T) proportional to P(s_t | e_1 .. e_t) P(e_t+1 .. e_T | s_t): with hindsight.

    Arguments and errors as for `filter`.
    Returns: [T, S], normalised over S; all -inf where the data are impossible. A padded step has the row of the last
        observation before it, or of the first where there is none.
    Source: Rabiner (1989), forward-backward.
    """
    trace = filter(log_prior, log_likelihoods, transition, valid)
    valid = _mask(valid, log_likelihoods)

    def look_ahead(log_message, step):
        log_likelihood, is_valid, moves = step
        seen = log_message + jnp.where(is_valid, log_likelihood, 0.0)
        # Before the first observation no time passes, so padding there has what is known of the first.
        before = jnp.where(moves, _look_back(seen, transition), seen)
        # Only its shape over S matters: normalised, it cannot run off.
        return jnp.where(is_valid, log_normalize(before), log_message), log_message

    start = jnp.zeros(log_prior.shape, trace.log_belief.dtype)
    steps = (log_likelihoods, valid, _moves(valid))
    log_messages = jax.lax.scan(look_ahead, start, steps, reverse=True)[1]
    return log_normalize(trace.log_belief + log_messages)


def predict(log_belief: Float[Array, " S"], transition: Transition) -> Float[Array, " S"]:
    """P(s') = sum over s of P(s' | s) P(s): the belief after time has passed.

    Returns: [S], with the total of log_belief, so all -inf stays all -inf.
    """
    if isinstance(transition, Sticky):
        return log_mix(transition.hazard, log_belief, transition.log_redraw + logsumexp(log_belief))
    return log_expectation(log_belief[:, None], transition, 0)


def _look_back(log_message: Float[Array, " S"], transition: Transition) -> Float[Array, " S"]:
    """sum over s' of P(s' | s) message(s')."""
    if isinstance(transition, Sticky):
        redrawn = log_expectation(transition.log_redraw, log_message)
        return log_mix(transition.hazard, log_message, jnp.broadcast_to(redrawn, log_message.shape))
    return log_expectation(transition, log_message[None, :], 1)


def log_mix(
    share: Float[Array, ""] | float, log_a: Float[Array, " S"], log_b: Float[Array, " S"]
) -> Float[Array, " S"]:
    """log((1 - share) a + share b), entry by entry, with its derivative in `share` at 0 and 1 too.

    share: probability, 0 to 1.
    The derivative (b - a) / ((1 - share) a + share b) is 0 by construction where the mixture is impossible, and is
    held below what the precision can represent (e^68 in float32) where share is 0 and a is almost 0.
    """
    dtype = jnp.result_type(log_a, log_b)
    return _log_mix(jnp.asarray(share, dtype), log_a.astype(dtype), log_b.astype(dtype))


@jax.custom_jvp
def _log_mix(share: Array, log_a: Array, log_b: Array) -> Array:
    return logsumexp(jnp.stack([jnp.log1p(-share) + log_a, jnp.log(share) + log_b]), 0)


@_log_mix.defjvp
def _log_mix_jvp(primals, tangents):
    # The log of a share of 0 has no derivative, though the mixture has: the rule divides by the mixture instead.
    share, log_a, log_b = primals
    d_share, d_a, d_b = tangents
    mixed = _log_mix(share, log_a, log_b)
    largest = jnp.log(jnp.finfo(mixed.dtype).max) - 20

    def over_mixed(log_x):
        possible = (log_x != -jnp.inf) & (mixed != -jnp.inf)
        ratio = jnp.where(possible, log_x, 0.0) - jnp.where(possible, mixed, 0.0)
        return jnp.where(possible, jnp.exp(jnp.minimum(ratio, largest)), 0.0)

    a, b = over_mixed(log_a), over_mixed(log_b)
    return mixed, (1 - share) * a * d_a + share * b * d_b + (b - a) * d_share


def check(log_prior: Array, transition: Transition) -> None:
    """ValueError, outside jit, for a hazard outside 0 to 1 or rows of log-probabilities that do not sum to 1."""
    if isinstance(transition, Sticky):
        check_probability("hazard", transition.hazard)
        rows = {"log_prior": log_prior, "log_redraw": transition.log_redraw}
    else:
        rows = {"log_prior": log_prior, "transition": transition}
    for name, log_p in rows.items():
        if set(log_p.shape) != {len(log_prior)}:
            raise ValueError(f"{name} has shape {log_p.shape} for {len(log_prior)} hypotheses")
        if known(log_p):
            total = np.exp(np.asarray(log_p, np.float64)).sum(-1)
            wrong = np.argwhere(~np.isclose(np.atleast_1d(total), 1.0, atol=1e-3))  # NaN too
            if len(wrong):
                row = wrong[0, 0]
                raise ValueError(
                    f"row {row} of {name} sums to {np.atleast_1d(total)[row]:.6g}, not 1: normalise it, "
                    "for instance with inference.logspace.log_normalize"
                )


def check_probability(name: str, value: Array | float) -> None:
    """ValueError, outside jit, for a value outside 0 to 1 (NaN too)."""
    if known(value) and not (0 <= float(value) <= 1):
        raise ValueError(f"{name}={float(value)}: a probability from 0 to 1 is wanted")


def _mask(valid: Array | None, log_likelihoods: Array) -> Array:
    return jnp.ones(log_likelihoods.shape[0], bool) if valid is None else valid


def _moves(valid: Array) -> Array:
    """Where time has passed since an earlier observation."""
    return valid & (jnp.cumsum(valid) > 1)
