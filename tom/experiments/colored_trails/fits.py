"""How probable choices are under values, for every rationality and lapse of a grid; fits, and fits without a unit.

p(a) = (1 - lapse) softmax(beta values)[a] + lapse / n over the n offers there are. A fit is the best point of the grid:
a step of it changes beta by 2%, which costs less than 0.01 nats at several hundred decisions. A mind with a setting
that is fitted too has values for each of them: R settings, 1 for a mind without.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

HIGHEST_BETA = 500.0
"""Per point; 50 per point of the reference, which are tenths."""
BETAS = np.concatenate([[0.0], np.geomspace(1e-4, HIGHEST_BETA, 800)])
LAPSES = np.linspace(0, 1, 41) ** 2
FLOOR = 1e-10
"""What the reference takes for a probability below it."""

Rows = Int[np.ndarray, " _"]
"""The decisions of a unit: rows of `log_choice`."""
Table = Callable[[Rows], Float[np.ndarray, "R B L"]]
"""The log-likelihood of some decisions at every point of the grid, nats."""


class Fit(NamedTuple):
    """The best point of a grid."""

    beta: float  # per point
    lapse: float
    log_likelihood: float  # nats
    setting: int = 0  # which of the R


@jax.jit
def log_choice(
    values: Float[Array, "D N"], valid: Bool[Array, "D N"], made: Int[Array, " D"], betas: Float[Array, " B"]
) -> Float[Array, "D B"]:
    """log softmax(beta values)[made] over the valid offers, for every decision and beta; nats.

    values: [D, N] points.   valid: [D, N] offers that there are.   made: [D] the code chosen.   betas: [B] per point.
    """

    def one(decision):
        value, there, chosen = decision
        # Less than the best, as a large beta times points leaves single precision no digits behind the point.
        scaled = betas[:, None] * jnp.where(there, value - jnp.where(there, value, -jnp.inf).max(), 0.0)
        return scaled[:, chosen] - jax.nn.logsumexp(scaled, -1, where=there)

    return jax.lax.map(one, (values, valid, made))


def floored(log_p: Float[np.ndarray, "R D B"]) -> Table:
    """Without a lapse, where no choice is less probable than FLOOR.

    log_p: of `log_choice`, for each setting.
    """

    def table(rows: Rows) -> Float[np.ndarray, "R B L"]:
        return np.maximum(log_p[:, rows], np.log(FLOOR)).sum(1, dtype=np.float64)[..., None]

    return table


def lapsing(log_p: Float[np.ndarray, "R D B"], offers: Int[np.ndarray, " D"], lapses: Float[np.ndarray, " L"]) -> Table:
    """With every one of some lapses.

    log_p: of `log_choice`, for each setting.   offers: [D] how many there are, over which a lapse is uniform.
    """

    def table(rows: Rows) -> Float[np.ndarray, "R B L"]:
        own, even = log_p[:, rows], 1 / offers[rows, None]
        p = np.exp(own)
        mixed = [np.log((1 - lapse) * p + lapse * even) if lapse > 0 else own for lapse in lapses]
        return np.stack([each.sum(1, dtype=np.float64) for each in mixed], -1)

    return table


def best(total: Float[np.ndarray, "R B L"], lapses: Float[np.ndarray, " L"]) -> Fit:
    """The point that is most probable; total: of all decisions."""
    setting, beta, lapse = np.unravel_index(total.argmax(), total.shape)
    return Fit(float(BETAS[beta]), float(lapses[lapse]), float(total.max()), int(setting))


def held_out(table: Table, units: Sequence[Rows], total: Float[np.ndarray, "R B L"]) -> Float[np.ndarray, " S"]:
    """[S] what each unit's choices score at the best point of all the others, nats.

    total: of all units together.
    Raises: ValueError for fewer than two units.
    """
    if len(units) < 2:
        raise ValueError(f"{len(units)} units: leaving one out takes at least 2")
    return np.array([own.flat[(total - own).argmax()] for own in map(table, units)], float)
