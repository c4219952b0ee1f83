"""How probable choices are under values, for every rationality and lapse of a grid; fits, and fits without a unit.

p(a) = (1 - lapse) softmax(beta values)[a] + lapse / n over the n offers there are. A fit is the best point of the grid:
a step of it changes beta by 2%, which costs less than 0.01 nats at several hundred decisions.
"""

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


class Fit(NamedTuple):
    """The best point of a grid."""

    beta: float  # per point
    lapse: float
    log_likelihood: float  # nats


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


def floored(log_p: Float[np.ndarray, "D B"], unit: Int[np.ndarray, " D"], units: int) -> Float[np.ndarray, "S B"]:
    """[S, B] log-likelihood of each unit's choices without a lapse, where no choice is less probable than FLOOR; nats.

    log_p: of `log_choice`.   unit: [D] of each decision, 0 to units - 1.
    """
    held = np.maximum(log_p, np.log(FLOOR))
    return np.stack([held[unit == s].sum(0) for s in range(units)])


def lapsing(
    log_p: Float[np.ndarray, "D B"],
    offers: Int[np.ndarray, " D"],
    unit: Int[np.ndarray, " D"],
    units: int,
    lapses: Float[np.ndarray, " L"],
) -> Float[np.ndarray, "S B L"]:
    """[S, B, L] log-likelihood of each unit's choices with every one of some lapses; nats.

    offers: [D] how many there are, over which a lapse is uniform.   Other arguments: as `floored`.
    """
    found = np.zeros((units, log_p.shape[1], len(lapses)), np.float32)
    p, even = np.exp(log_p), 1 / offers[:, None]
    for s in range(units):
        own = unit == s
        for k, lapse in enumerate(lapses):
            mixed = np.log((1 - lapse) * p[own] + lapse * even[own]) if lapse > 0 else log_p[own]
            found[s, :, k] = mixed.sum(0)
    return found


def best(table: Float[np.ndarray, "S B L"], lapses: Float[np.ndarray, " L"]) -> Fit:
    """The point that makes all units together most probable."""
    total = table.sum(0, dtype=np.float64)
    beta, lapse = np.unravel_index(total.argmax(), total.shape)
    return Fit(float(BETAS[beta]), float(lapses[lapse]), float(total[beta, lapse]))


def held_out(table: Float[np.ndarray, "S B L"]) -> Float[np.ndarray, " S"]:
    """[S] what each unit's choices score at the best point of all the others, nats.

    Raises: ValueError for fewer than two units.
    """
    if len(table) < 2:
        raise ValueError(f"table of {len(table)} units: leaving one out takes at least 2")
    total = table.sum(0, dtype=np.float64)
    return np.array([own.flat[(total - own).argmax()] for own in table], float)
