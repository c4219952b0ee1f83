"""The log evidence of a model, log of the likelihood averaged over the prior, from draws."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

LogDensity = Callable[[Float[Array, " D"]], Float[Array, ""]]
FREEDOM = 5.0
"""Degrees of freedom of the proposals: their tails are heavier than those of most posteriors."""
LARGE = 10.0
"""Times the mean: weights up to it are no tail."""
GOOD_K = 0.7
"""Above this shape of the largest weights' tail an importance-sampled number is not to be trusted."""


class Evidence(NamedTuple):
    """A log evidence. error: its standard error, nats.   pareto_k: of the weights' tail; NaN where there are none."""

    log_evidence: float
    error: float
    pareto_k: float


class Proposal(NamedTuple):
    """A multivariate Student t, or with infinite freedom a normal. factor: lower Cholesky factor of its scale."""

    center: Float[Array, " D"]
    factor: Float[Array, "D D"]
    freedom: float

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "N D"]:
        """[count, D] draws."""
        normal_key, scale_key = jax.random.split(key)
        z = jax.random.normal(normal_key, (count, self.center.size))
        if np.isfinite(self.freedom):
            half = self.freedom / 2
            z = z * jnp.sqrt(half / jax.random.gamma(scale_key, half, (count, 1)))
        return self.center + z @ self.factor.T

    def log_density(self, x: Float[Array, "N D"]) -> Float[Array, " N"]:
        """[N] log density."""
        size = self.center.size
        z = jax.scipy.linalg.solve_triangular(self.factor, (x - self.center).T, lower=True)
        square, log_volume = (z**2).sum(0), jnp.log(jnp.abs(jnp.diagonal(self.factor))).sum()
        if not np.isfinite(self.freedom):
            return -square / 2 - size / 2 * jnp.log(2 * jnp.pi) - log_volume
        v = self.freedom
        constant = jax.scipy.special.gammaln((v + size) / 2) - jax.scipy.special.gammaln(v / 2)
        return constant - size / 2 * jnp.log(v * jnp.pi) - log_volume - (v + size) / 2 * jnp.log1p(square / v)


def fitted_to(draws: Float[Array, "N D"], freedom: float = np.inf) -> Proposal:
    """The normal, or the Student t of that freedom, with the draws' mean and covariance.

    Raises: ValueError where the draws lie in fewer than D dimensions.
    """
    center, size = draws.mean(0), draws.shape[1]
    covariance = jnp.cov(draws, rowvar=False).reshape(size, size)
    if np.isfinite(freedom):
        covariance = covariance * (freedom - 2) / freedom
    factor = jnp.linalg.cholesky(covariance)
    if not bool(jnp.isfinite(factor).all()):
        raise ValueError(f"draws: {len(draws)} of them lie in fewer than {size} dimensions, so no normal fits them")
    return Proposal(center, factor, freedom)


def importance(key: PRNGKeyArray, log_joint: LogDensity, proposal: Proposal, count: int = 10_000) -> Evidence:
    """log mean of p(x, data) / q(x) over draws from q, and the tail shape of these weights.

    log_joint: log prior + log-likelihood at a point of the real line, nats.
    Source: Vehtari, Simpson, Gelman, Yao & Gabry (2024) for the tail shape.
    """
    x = proposal.sample(key, count)
    weights = np.asarray(jax.lax.map(log_joint, x, batch_size=min(count, 256)) - proposal.log_density(x), float)
    return weighed(np.where(np.isnan(weights), -np.inf, weights))


def weighed(log_weights: Float[np.ndarray, " N"]) -> Evidence:
    """The log mean of weights, its standard error by the delta method, and the shape of their tail."""
    highest = log_weights.max()
    if not np.isfinite(highest):
        return Evidence(-np.inf, np.nan, np.inf)
    weights = np.exp(log_weights - highest)
    mean = weights.mean()
    error = weights.std(ddof=1) / np.sqrt(len(weights)) / mean
    return Evidence(float(highest + np.log(mean)), float(error), tail_shape(log_weights))


def tail_shape(log_weights: Float[np.ndarray, " N"]) -> float:
    """k of the generalised Pareto distribution of the largest weights; NaN where none is large, so that it has no tail.

    Large: 10 times the mean. The fit of bounded weights is unstable, and they need none.
    """
    from arviz_stats.base import array_stats

    finite = log_weights[np.isfinite(log_weights)]
    if len(finite) < 25 or finite.max() - np.logaddexp.reduce(finite) < np.log(LARGE / len(finite)):
        return np.nan
    _, k = array_stats.psislw(finite[None], axis=-1)
    return float(np.squeeze(k))


def bridge(
    key: PRNGKeyArray,
    log_joint: LogDensity,
    draws: Float[Array, "C S D"],
    *,
    tolerance: float = 1e-8,
    most_steps: int = 1000,
) -> Evidence:
    """Bridge sampling between the posterior and a normal fitted to half of its draws.

    draws: of C chains on the real line; the first half of each gives the normal, the second is bridged.
    Returns: with the relative mean squared error's root as error, which takes the draws' autocorrelation into account.
    Source: Meng & Wong (1996), the optimal bridge; Gronau et al. (2017), the error after Fruehwirth-Schnatter (2004).
    Raises: ValueError as `fitted_to`, and for fewer than 20 draws.
    """
    from arviz_stats.base import array_stats

    chains, length, size = draws.shape
    if chains * length < 20:
        raise ValueError(f"draws: {chains} x {length}; bridge sampling needs 20 or more")
    half = length // 2
    proposal = fitted_to(draws[:, :half].reshape(-1, size))
    kept = draws[:, half:].reshape(-1, size)
    own = proposal.sample(key, len(kept))
    of_joint = jax.jit(lambda x: jax.lax.map(log_joint, x, batch_size=min(len(x), 256)))
    posterior_ratio = np.asarray(of_joint(kept) - proposal.log_density(kept), float)
    proposal_ratio = np.asarray(of_joint(own) - proposal.log_density(own), float)
    proposal_ratio = np.where(np.isnan(proposal_ratio), -np.inf, proposal_ratio)
    shift = np.median(posterior_ratio)
    l1, l2 = posterior_ratio - shift, proposal_ratio - shift
    effective = float(array_stats.ess(l1.reshape(chains, -1), chain_axis=0, draw_axis=1)) if chains > 1 else len(l1)
    s1, s2 = effective / (effective + len(l2)), len(l2) / (effective + len(l2))
    log_r, change, step = 0.0, np.inf, 0
    while change > tolerance and step < most_steps:
        top = np.logaddexp.reduce(l2 - np.logaddexp(np.log(s1) + l2, np.log(s2) + log_r)) - np.log(len(l2))
        bottom = np.logaddexp.reduce(-np.logaddexp(np.log(s1) + l1, np.log(s2) + log_r)) - np.log(len(l1))
        change, log_r, step = abs(top - bottom - log_r), top - bottom, step + 1
    # Relative mean squared error, from both sets of draws.
    f1 = np.exp(-np.logaddexp(np.log(s1) + l1 - log_r, np.log(s2)))
    f2 = np.exp(l2 - log_r - np.logaddexp(np.log(s1) + l2 - log_r, np.log(s2)))
    square = f2.var(ddof=1) / f2.mean() ** 2 / len(f2) + f1.var(ddof=1) / f1.mean() ** 2 / effective
    return Evidence(float(log_r + shift), float(np.sqrt(square)), np.nan)
