"""The exact posterior of a rationality and an error rate, on a grid: no sampling, no starting values, no gradients."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

SMALLEST_ALPHA, LARGEST_ALPHA = 1e-3, 2e3
CELLS = (160, 80)  # for alpha and for the error rate, on both grids: one shape, so that it is compiled once
NEGLIGIBLE = 1e-7  # density, relative to the highest, below which a row of the coarse grid is left out


class Prior(NamedTuple):
    """alpha ~ LogNormal(location, scale) and error rate ~ Beta(1, beta), independent."""

    location: float = 1.0
    scale: float = 1.0
    beta: float = 15.0

    def __str__(self) -> str:
        return f"alpha ~ LogNormal({self.location:g}, {self.scale:g}), error rate ~ Beta(1, {self.beta:g})"

    def log_density(self, alpha: Float[np.ndarray, " A"], lapse: Float[np.ndarray, " L"]) -> Float[np.ndarray, "A L"]:
        """[A, L] log density, nats."""
        z = (np.log(alpha) - self.location) / self.scale
        of_alpha = -np.log(alpha * self.scale * np.sqrt(2 * np.pi)) - z**2 / 2
        of_lapse = np.log(self.beta) + (self.beta - 1) * np.log1p(-lapse)
        return of_alpha[:, None] + of_lapse


PRIOR = Prior()


class Estimate(NamedTuple):
    """A parameter's posterior: mean, shortest interval that holds 95%, and its value at the joint mode."""

    mean: float
    low: float
    high: float
    mode: float


class Posterior(NamedTuple):
    """What is known of a rationality and an error rate."""

    alpha: Estimate
    lapse: Estimate
    log_evidence: float  # log of the likelihood averaged over the prior, nats
    log_likelihood: float  # at the joint mode, nats
    alpha_matters: bool  # False where the likelihood does not depend on alpha, whose posterior is then its prior


def posterior(
    log_likelihood: Callable[[Float[np.ndarray, " A"], Float[np.ndarray, " L"]], Float[np.ndarray, "A L"]],
    prior: Prior = PRIOR,
    mass: float = 0.95,
) -> Posterior:
    """p(alpha, lapse | data) proportional to the likelihood times the prior, by the midpoint rule on two grids.

    A coarse grid over alpha from 0.001 to 2,000 and error rates from 0 to 1 finds where the posterior lies; a fine
    one covers that. Cells are even in log alpha and in the square root of the error rate.
    log_likelihood(alphas, lapses) -> [A, L], nats.
    mass: of the shortest interval.
    Returns: means, intervals, and the mode of the density in (alpha, lapse).
    """
    box = (np.log(SMALLEST_ALPHA), np.log(LARGEST_ALPHA)), (0.0, 1.0)
    log_density, _, edges = _on_grid(log_likelihood, prior, box)
    likely = log_density - log_density.max() > np.log(NEGLIGIBLE)
    fine = tuple(_cover(likely.any(1 - axis), edges[axis]) for axis in (0, 1))
    log_density, values, edges = _on_grid(log_likelihood, prior, fine)
    alphas, lapses = np.exp(_middles(edges[0])), _middles(edges[1]) ** 2
    log_mass = log_density + np.log(alphas)[:, None] + np.log(2 * np.sqrt(lapses))  # per unit of the grid's axes
    cells = np.exp(log_mass - log_mass.max())
    total = cells.sum()
    best = np.unravel_index(log_density.argmax(), log_density.shape)
    area = np.diff(edges[0]).mean() * np.diff(edges[1]).mean()

    def estimate(axis: int, at: Float[np.ndarray, " N"], bounds: Float[np.ndarray, " M"]) -> Estimate:
        share = cells.sum(1 - axis) / total
        low, high = _shortest(np.concatenate([[0.0], np.cumsum(share)]), bounds, mass)
        return Estimate(float(share @ at), low, high, float(at[best[axis]]))

    return Posterior(
        estimate(0, alphas, np.exp(edges[0])),
        estimate(1, lapses, edges[1] ** 2),
        float(log_mass.max() + np.log(total * area)),
        float(values[best]),
        alpha_matters=bool(np.ptp(values, axis=0).max() > 1e-2),
    )


def _on_grid(log_likelihood, prior: Prior, box):
    """Log posterior density up to the evidence, log-likelihood, and the cells' edges in (log alpha, sqrt lapse)."""
    edges = tuple(np.linspace(low, high, count + 1) for (low, high), count in zip(box, CELLS, strict=True))
    alphas, lapses = np.exp(_middles(edges[0])), _middles(edges[1]) ** 2
    values = np.asarray(log_likelihood(alphas, lapses), np.float64)
    return values + prior.log_density(alphas, lapses), values, edges


def _cover(likely, edges) -> tuple[float, float]:
    """From a cell before the first likely one to a cell after the last."""
    places = np.flatnonzero(likely)
    return edges[max(places[0] - 1, 0)], edges[min(places[-1] + 2, len(edges) - 1)]


def _middles(edges):
    return (edges[1:] + edges[:-1]) / 2


def _shortest(cumulative, edges, mass: float) -> tuple[float, float]:
    """The shortest interval that holds `mass`, even density within a cell."""
    starts = np.linspace(0, 1 - mass, 4001)
    lows, highs = (np.interp(starts + shift, cumulative, edges) for shift in (0.0, mass))
    best = int((highs - lows).argmin())
    return float(lows[best]), float(highs[best])
