"""The paper's losses of a predicted triple of win, draw and loss against a true one, to reproduce its numbers.

To score a prediction use `inference.scoring.union_loss`: it is bounded, and least for the truth.

A triple [3] is win, draw, loss of the first player, in the order of `rules.Outcome`. The paper's functions take it in
per cent. Source of all: arXiv 2512.19210 and its public code.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from otherminds.games.rps.rules import Outcome

EPSILON = 1e-12
"""What the paper adds to a probability before its logarithm, so that its cross-entropy has a largest value, 27.63."""


def to_probabilities(triple: Float[Array, "3"]) -> Float[Array, "3"]:
    """triple / its sum; where that is 0, win 0.33, draw 0.34, loss 0.33, as the paper's code has it."""
    total = triple.sum()
    return jnp.where(
        total == 0, jnp.array([0.33, 0.34, 0.33], triple.dtype), triple / jnp.where(total == 0, 1.0, total)
    )


def cross_entropy(true: Float[Array, "3"], predicted: Float[Array, "3"]) -> Float[Array, ""]:
    """-sum t log(p + 1e-12), nats; 0 (just below it for a sure and right prediction) to 27.63."""
    return -jnp.sum(to_probabilities(true) * jnp.log(to_probabilities(predicted) + EPSILON))


def brier(true: Float[Array, "3"], predicted: Float[Array, "3"]) -> Float[Array, ""]:
    """sum (p - t)^2 over win, draw and loss, 0 to 2 (the paper says 0 to 1)."""
    return jnp.sum((to_probabilities(predicted) - to_probabilities(true)) ** 2)


def expected_value(triple: Float[Array, "3"]) -> Float[Array, ""]:
    """(wins - losses) / 100 of a triple in per cent; not normalised where that does not sum to 100, as in the paper."""
    return (triple[Outcome.WIN] - triple[Outcome.LOSS]) / 100


def ev_loss(true: Float[Array, "3"], predicted: Float[Array, "3"]) -> Float[Array, ""]:
    """(EV(t) - EV(p))^2, 0 to 4."""
    return (expected_value(true) - expected_value(predicted)) ** 2


def union_raw(true: Float[Array, "3"], predicted: Float[Array, "3"]) -> Float[Array, ""]:
    """(CE + Brier + EVLoss) / 3, up to 11.21. It is least for the truth, where it is H(t) / 3 and not 0."""
    return (cross_entropy(true, predicted) + brier(true, predicted) + ev_loss(true, predicted)) / 3


def normalize_loss(x: Float[Array, ""] | float, values: Float[Array, " N"]) -> Float[Array, ""]:
    """(x - min) / (max - min) of the values, not clipped; 0.5 where they are all equal or there are none."""
    if values.shape[0] == 0:
        return jnp.full((), 0.5, values.dtype)
    low, high = values.min(), values.max()
    return jnp.where(high == low, 0.5, (x - low) / jnp.where(high == low, 1.0, high - low))


def legacy_union_a(
    true: Float[Array, "3"], predicted: Float[Array, "3"], grid: Float[Array, "N 3"]
) -> Float[Array, ""]:
    """`union_raw`, between its least and largest over a grid of true triples against this prediction.

    grid: [N, 3] true triples in per cent; the paper's are the 361 pairs of its catalogue.
    The truth is not the best prediction under this loss, nor under B and C, whose scale is set by the prediction.
    Source: the paper's code, evaluation and calculator.
    """
    return normalize_loss(union_raw(true, predicted), _over(grid, predicted, union_raw))


def legacy_union_b(
    true: Float[Array, "3"], predicted: Float[Array, "3"], grid: Float[Array, "N 3"]
) -> Float[Array, ""]:
    """(CE normalised over the grid + Brier + EVLoss) / 3, up to 2.33. Source: the paper's code, observer."""
    return _union(true, predicted, grid, 1.0)


def legacy_union_c(
    true: Float[Array, "3"], predicted: Float[Array, "3"], grid: Float[Array, "N 3"]
) -> Float[Array, ""]:
    """(CE normalised over the grid + Brier + EVLoss / 4) / 3, up to 1.33. Source: the paper's text."""
    return _union(true, predicted, grid, 4.0)


def _union(true: Array, predicted: Array, grid: Array, ev_range: float) -> Array:
    ce = normalize_loss(cross_entropy(true, predicted), _over(grid, predicted, cross_entropy))
    return (ce + brier(true, predicted) + ev_loss(true, predicted) / ev_range) / 3


def _over(grid: Array, predicted: Array, loss: Callable[[Array, Array], Array]) -> Array:
    return jax.vmap(loss, (0, None))(grid, predicted)
