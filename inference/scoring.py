"""How well a predicted distribution fits what was done."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from otherminds.inference.logspace import expectation, jsd, log_normalize
from otherminds.inference.tracing import known


def with_lapse(
    log_p: Float[Array, "... A"], lapse: Float[Array, "..."] | float, legal: Bool[Array, "... A"] | None = None
) -> Float[Array, "... A"]:
    """log((1 - lapse) p + lapse / n): with probability `lapse` one of the n legal actions, uniformly.

    log_p: [..., A], normalised over A.   lapse: probability, 0 to 1.   legal: [..., A], default all.
    Returns: [..., A], normalised over A where log_p is.
    At lapse = 0 the gradient in the lapse is 0 by construction, so a fit must start above it.
    """
    legal = jnp.ones(log_p.shape, bool) if legal is None else jnp.broadcast_to(legal, log_p.shape)
    log_uniform = log_normalize(jnp.zeros(log_p.shape, log_p.dtype), where=legal)
    return lapsed(log_p, jnp.asarray(lapse, log_p.dtype)[..., None], log_uniform)


def lapsed(
    log_p: Float[Array, "..."], lapse: Float[Array, "..."] | float, log_uniform: Float[Array, "..."] | float
) -> Float[Array, "..."]:
    """log((1 - lapse) p + lapse u), entry by entry, where the uniform choice gives exp(log_uniform) to each."""
    p = (1 - lapse) * jnp.exp(log_p) + lapse * jnp.exp(log_uniform)
    possible = p > 0
    # Without a lapse the log is passed through untouched, so that tiny probabilities keep their precision.
    mixed = jnp.where(possible, jnp.log(jnp.where(possible, p, 1.0)), -jnp.inf)
    return jnp.where(lapse > 0, mixed, log_p)


def log_score(log_p: Float[Array, "... A"], action: Int[Array, "..."]) -> Float[Array, "..."]:
    """log p(action), nats; -inf for an action of probability 0, and for NO_ANSWER (a negative action)."""
    chosen = jnp.take_along_axis(log_p, jnp.maximum(action, 0)[..., None], -1)[..., 0]
    return jnp.where(action < 0, -jnp.inf, chosen)


def regret(log_p: Float[Array, "... A"], action: Int[Array, "..."]) -> Float[Array, "..."]:
    """max log p - log p(action), nats: how much likelier the most probable action was; inf as in `log_score`."""
    score = log_score(log_p, action)
    return jnp.where(score == -jnp.inf, jnp.inf, jnp.max(log_p, -1) - score)


def brier(log_p: Float[Array, "... A"], action: Int[Array, "..."]) -> Float[Array, "..."]:
    """sum over a of (p(a) - [a is the action])^2, 0 (sure and right) to 2 (sure and wrong). Source: Brier (1950).

    A missing answer (a negative action) is no outcome, so every stated probability counts against it.
    """
    hit = jnp.asarray(action)[..., None] == jnp.arange(log_p.shape[-1])
    return jnp.sum((jnp.exp(log_p) - hit) ** 2, -1)


class Calibration(NamedTuple):
    """Predicted probability against observed frequency in B equal bins of predicted probability."""

    mean_predicted: Float[Array, " B"]  # NaN in an empty bin
    frequency: Float[Array, " B"]  # NaN in an empty bin
    count: Int[Array, " B"]
    error: Float[Array, ""]  # expected calibration error: |difference| weighted by count


def calibration(p: Float[Array, " N"], hit: Bool[Array, " N"], bins: int = 10) -> Calibration:
    """Compares N predicted probabilities with whether each event happened. Source: Guo et al. (2017).

    p: [N], 0 to 1.   hit: [N].   bins: number of equal bins; p = 1 falls into the last.
    """
    index = jnp.clip((p * bins).astype(int), 0, bins - 1)
    member = index[:, None] == jnp.arange(bins)
    count = member.sum(0)
    filled = count > 0
    size = jnp.where(filled, count, 1)
    predicted = jnp.where(member, p[:, None], 0).sum(0) / size
    frequency = (member & hit[:, None]).sum(0) / size
    error = jnp.sum(jnp.abs(predicted - frequency) * count) / jnp.maximum(p.shape[0], 1)
    return Calibration(jnp.where(filled, predicted, jnp.nan), jnp.where(filled, frequency, jnp.nan), count, error)


class Prequential(NamedTuple):
    """How well every action was predicted from those before it. T steps; padding adds nothing."""

    log_score: Float[Array, " T"]  # log predictive of the action that came, nats; 0 for padding
    cumulative: Float[Array, " T"]  # their sum up to this step; the last one is a log-evidence
    mean: Float[Array, ""]  # over the steps that are valid, nats a step; NaN where there are none


def prequential(
    log_predictive: Float[Array, "T A"], action: Int[Array, " T"], valid: Bool[Array, " T"] | None = None
) -> Prequential:
    """sum over t of log P(a_t | a_1 .. a_t-1): the one-step-ahead log score, by step, cumulated and as a mean.

    log_predictive: [T, A], stated before action t; normalised over A.
    action: [T], what came, 0 to A - 1; a missing one (negative) scores -inf, as in `log_score`: mask it where what is
        missing is no failure.
    valid: [T], False for padding and for steps that are not to count.
    Source: Dawid (1984).
    """
    valid = jnp.ones(len(action), bool) if valid is None else valid
    score = jnp.where(valid, log_score(log_predictive, action), 0.0)
    return Prequential(score, jnp.cumsum(score), jnp.sum(score) / valid.sum())


def squared_distance(log_p: Float[Array, "... A"], log_q: Float[Array, "... A"]) -> Float[Array, "..."]:
    """sum over a of (p(a) - q(a))^2, 0 (equal) to 2 (sure of different things): Brier against a distribution."""
    return jnp.sum((jnp.exp(log_p) - jnp.exp(log_q)) ** 2, -1)


def value_loss(
    log_p: Float[Array, "... A"], log_q: Float[Array, "... A"], values: Float[Array, " A"]
) -> Float[Array, "..."]:
    """(E_p v - E_q v)^2: how far apart the expected values are.

    log_p, log_q: [..., A], normalised over A.   values: [A], of the outcomes, in points.
    Returns: points squared, 0 to (max v - min v)^2: 4 where a win is 1, a draw 0 and a loss -1.
    """
    return (expectation(log_p, values) - expectation(log_q, values)) ** 2


def union_loss(
    log_predicted: Float[Array, "... A"], log_true: Float[Array, "... A"], values: Float[Array, " A"]
) -> Float[Array, "..."]:
    """(JSD / log 2 + squared distance / 2 + value loss / (max v - min v)^2) / 3, 0 to 1.

    0 where the prediction is the truth and only there; 1 where both are sure, of the best and of the worst outcome.
    log_predicted, log_true: [..., A], normalised over A: chances of win, draw and loss, for instance.
    values: [A], points of the outcomes, not all the same: (1, 0, -1).
    Raises: ValueError outside jit where all values are equal (NaN inside).
    Source: in place of the normalised union of cross-entropy, Brier and expected value of arXiv 2512.19210, which
        depends on the other candidates and is not least at the truth.
    """
    if known(values) and np.ptp(np.asarray(values)) == 0:
        raise ValueError(f"values are all {float(values[0])}: give outcomes of different value")
    spread = jnp.max(values) - jnp.min(values)
    parts = (
        jsd(log_predicted, log_true) / jnp.log(2.0),
        squared_distance(log_predicted, log_true) / 2,
        value_loss(log_predicted, log_true, values) / spread**2,
    )
    return sum(parts) / 3


def identification_rate(
    log_posterior: Float[Array, "T H"], truth: Int[Array, "..."] | int, valid: Bool[Array, " T"] | None = None
) -> Float[Array, ""]:
    """Share of the rounds of a match in which the most probable hypothesis is the true one.

    log_posterior: [T, H], after each round; -inf in every place (nothing is possible) identifies nothing.
    truth: 0 to H - 1, one for the match or [T], one for each round.
    valid: [T], False for rounds that do not count, such as those of a warm-up; default all.
    Returns: 0 to 1; n hypotheses that tie for the most probable share the hit, 1 / n each. NaN where no round counts.
    Raises: ValueError outside jit for a truth that is no hypothesis.
    Rounds of a match depend on each other, so matches are the units: `vmap` this over matches, and give the rates to
    `resampling.bootstrap`.
    """
    rounds, hypotheses = log_posterior.shape
    valid = jnp.ones(rounds, bool) if valid is None else valid
    truth = jnp.broadcast_to(jnp.asarray(truth), (rounds,))
    if known(truth) and ((truth < 0) | (truth >= hypotheses)).any():
        raise ValueError(f"truth={truth}: hypotheses are numbered 0 to {hypotheses - 1}")
    best = jnp.max(log_posterior, -1)
    tied = (log_posterior == best[:, None]) & (best > -jnp.inf)[:, None]
    hit = jnp.take_along_axis(tied, truth[:, None], -1)[:, 0] / jnp.maximum(tied.sum(-1), 1)
    hit = jnp.where(jnp.isnan(best), jnp.nan, hit)
    return jnp.sum(jnp.where(valid, hit, 0.0)) / valid.sum()
