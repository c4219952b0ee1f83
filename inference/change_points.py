"""Bayesian online change-point detection for actions: when did the habits of a player last change?

Within a segment every context (what was seen before acting) has action probabilities of its own, unknown and drawn
from a Dirichlet prior, so that a segment is a table [C, A] of counts. A segment ends between two observations with
probability `hazard`. The run length is the number of earlier observations in the running segment.

Approximation `merged tail`: run lengths are told apart up to N - 1; the last one stands for N - 1 or more, and its
counts are the average, by probability, of the two hypotheses that meet there. With N = T nothing is merged and the
result is exact. What is merged still predicts with probabilities that sum to 1, so the evidence is that of a proper
model.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from otherminds.inference.logspace import expectation, log_expectation, log_normalize, logsumexp
from otherminds.inference.switching import check_probability
from otherminds.inference.tracing import known


class Segments(NamedTuple):
    """What is known of the running segment. N run lengths, C contexts, A actions."""

    log_run: Float[Array, " N"]  # of run lengths 0 .. N - 1 (the last: or more), normalised over N
    counts: Float[Array, "N C A"]  # of the actions of the segment, for every run length


class Trace(NamedTuple):
    """What was expected before and concluded after every observation. T observations.

    At padding the run lengths stay as they were; the prediction means nothing there.
    """

    log_predictive: Float[Array, "T A"]  # before action t, in its context; normalised over A
    log_run: Float[Array, "T N"]  # of the run length at action t, after it; normalised over N
    log_evidence: Float[Array, " T"]  # log P(action t | those before), nats; 0 for padding and where none was seen


def begin(concentration: Float[Array, "C A"], runs: int) -> Segments:
    """A segment of which nothing has been seen, ready for its first observation.

    runs: N, the number of run lengths told apart, at least 1.
    Raises: ValueError if runs < 1; outside jit, if a concentration is negative, not finite, or a row has none above 0.
    """
    if runs < 1:
        raise ValueError(f"runs={runs}: at least 1 run length must be told apart")
    if known(concentration):
        values = np.asarray(concentration)
        wrong = np.argwhere(~((values >= 0).all(-1) & np.isfinite(values).all(-1) & (values.sum(-1) > 0)))
        if len(wrong):
            raise ValueError(
                f"concentration[{wrong[0, 0]}] is {values[wrong[0, 0]]}: a Dirichlet prior has finite entries >= 0, "
                "some of them above 0 (0 for an action that is never taken)"
            )
    log_run = jnp.where(jnp.arange(runs) == 0, 0.0, -jnp.inf).astype(concentration.dtype)
    return Segments(log_run, jnp.zeros((runs, *concentration.shape), concentration.dtype))


def log_predictive(
    segments: Segments, concentration: Float[Array, "C A"], context: Int[Array, ""] | int
) -> Float[Array, " A"]:
    """P(a) = sum over r of P(r) (n_r(c, a) + concentration(c, a)) / (n_r(c) + concentration(c)).

    Returns: [A], normalised over A.
    """
    return log_expectation(segments.log_run[:, None], _by_run(segments, concentration, context), 0)


def observe(
    segments: Segments,
    concentration: Float[Array, "C A"],
    context: Int[Array, ""] | int,
    action: Int[Array, ""] | int,
) -> tuple[Segments, Float[Array, ""]]:
    """P(r | a) proportional to P(r) P(a | r), and the action is counted in its context.

    action: 0 to A - 1; negative where none was seen, which changes nothing and has log-evidence 0.
    Returns: the segments, and the log-evidence (nats): -inf, with all run lengths impossible, for an action whose
        concentration is 0.
    """
    action, seen = jnp.maximum(action, 0), jnp.asarray(action) >= 0
    joint = segments.log_run + jnp.where(seen, _by_run(segments, concentration, context)[:, action], 0.0)
    counts = segments.counts.at[:, context, action].add(seen.astype(segments.counts.dtype))
    log_run = jnp.where(seen, log_normalize(joint), segments.log_run)
    return Segments(log_run, counts), jnp.where(seen, logsumexp(joint), 0.0)


def advance(segments: Segments, hazard: Float[Array, ""] | float) -> Segments:
    """Time passes: with probability `hazard` a new segment begins, else every run is one observation longer.

    Where two run lengths meet in the last one (`merged tail`) their counts are averaged by probability.
    """
    log_run, counts = segments
    hazard = jnp.asarray(hazard, log_run.dtype)
    ends = hazard >= 1
    log_stay = jnp.where(ends, -jnp.inf, jnp.log1p(-jnp.where(ends, 0.0, hazard)))
    log_change = _log(hazard) + logsumexp(log_run)
    if len(log_run) == 1:  # the new segment and the old one meet too, so counts leak away
        return Segments(log_run, (1 - hazard) * counts)
    meeting = log_normalize(log_run[-2:])
    tail = expectation(meeting[:, None, None], counts[-2:], 0)
    last = logsumexp(log_run[-2:])
    log_longer = jnp.concatenate([log_run[:-2], last[None]]) + log_stay
    longer = jnp.concatenate([counts[:-2], tail[None]])
    return Segments(
        jnp.concatenate([log_change[None], log_longer]), jnp.concatenate([jnp.zeros_like(counts[:1]), longer])
    )


def filter(
    actions: Int[Array, " T"],
    concentration: Float[Array, "C A"],
    hazard: Float[Array, ""] | float,
    contexts: Int[Array, " T"] | None = None,
    valid: Bool[Array, " T"] | None = None,
    runs: int | None = None,
) -> Trace:
    """P(r_t, a_1 .. a_t) = P(a_t | r_t, segment) sum over r of P(r_t | r) P(r, a_1 .. a_t-1), as a scan.

    actions: [T], 0 to A - 1; negative where none was seen: time passes, and nothing is learned.
    concentration: [C, A], Dirichlet parameters of every context, in counts.
    hazard: probability that a segment ends between two observations, 0 to 1; may be traced.
    contexts: [T], 0 to C - 1, what stood before each action; default 0.
    valid: [T], False for padding, through which no time passes.
    runs: number of run lengths told apart (static); default T, which is exact. Time T runs C A, and so is
        the memory of a gradient in reverse. With one run length counts fade by 1 - hazard a step.
    Returns: a Trace; the log-evidence of all the data is the sum of its `log_evidence`.
    Raises: ValueError outside jit for a hazard that is no probability, an action or context out of range, or as
        `begin` does.
    Source: Adams & MacKay (2007), Algorithm 1, with the change before an observation in place of after it (which
        numbers the run lengths differently and leaves evidence and predictions the same), and the merged tail.
    The gradient in the hazard at exactly 0 (or 1) leaves out the runs that only the hazard makes possible, so a fit
    must start inside.
    """
    steps = len(actions)
    contexts = jnp.zeros(steps, int) if contexts is None else contexts
    valid = jnp.ones(steps, bool) if valid is None else valid
    check_probability("hazard", hazard)
    _check_range("action", actions, valid, concentration.shape[1], None)
    _check_range("context", contexts, valid, concentration.shape[0], 0)

    def step(carry, now):
        segments, begun = carry
        action, context, is_valid = now
        before = _choose(begun, advance(segments, hazard), segments)
        prediction = log_predictive(before, concentration, context)
        after, log_evidence = observe(before, concentration, context, action)
        after = _choose(is_valid, after, segments)
        trace = Trace(prediction, after.log_run, jnp.where(is_valid, log_evidence, 0.0))
        return (after, begun | is_valid), trace

    # What stands in padding is never looked up.
    actions, contexts = jnp.where(valid, actions, -1), jnp.where(valid, contexts, 0)
    start = begin(concentration, max(steps, 1) if runs is None else runs), jnp.bool_(False)
    return jax.lax.scan(step, start, (actions, contexts, valid))[1]


def _by_run(segments: Segments, concentration: Array, context: Array | int) -> Array:
    """[N, A], log-probabilities of the actions in a context under every run length."""
    weights = segments.counts[:, context] + concentration[context]
    return _log(weights) - jnp.log(weights.sum(-1, keepdims=True))


def _choose(condition: Array, first: Segments, second: Segments) -> Segments:
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), first, second)


def _log(x: Array) -> Array:
    return jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1.0)), -jnp.inf)


def _check_range(name: str, values: Array, valid: Array, size: int, least: int | None) -> None:
    """ValueError, outside jit, for a valid entry of `size` or more, or below `least`."""
    if not known(values, valid):
        return
    values = np.asarray(values)
    wrong = np.asarray(valid) & ((values >= size) | (False if least is None else values < least))
    if wrong.any():
        at = int(wrong.argmax())
        negative = ", or negative where none was seen" if least is None else ""
        raise ValueError(f"{name} {at} is {values[at]}: 0 to {size - 1}{negative}")
