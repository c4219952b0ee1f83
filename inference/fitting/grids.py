"""The posterior of one to three numbers on a grid that finds its own place: no gradients, so argmaxes do no harm."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from otherminds.inference.fitting import model as models
from otherminds.inference.fitting.model import Model
from otherminds.inference.fitting.optimum import flat

CELLS = {1: 4000, 2: 160, 3: 40}
"""On each axis, by the number of axes."""
NEGLIGIBLE = 1e-9
"""Density, relative to the highest, below which a cell is left out of the next grid."""
ROUNDS = 8
PRIOR_DRAWS = 2000


class Grid(NamedTuple):
    """The posterior on N cells of the real line."""

    raws: Float[np.ndarray, "N D"]  # middles of the cells
    widths: Float[np.ndarray, " D"]
    weights: Float[np.ndarray, " N"]  # sum to 1
    log_likelihood: Float[np.ndarray, " N"]
    log_evidence: float  # nats
    mode: int  # the cell of the highest density per unit of the parameters
    edge: float  # largest weight of a cell at the border, where the grid may have missed something


def grid(model: Model, data: Any = None, *, cells: int | None = None, seed: int = 0) -> Grid:
    """The posterior by the midpoint rule, even on the real line of each parameter.

    The first grid covers 2,000 draws from the prior and a tenth more; each next one covers what is not negligible, and
    goes beyond a border that has weight, until it no longer changes. Outside jit.
    data: in place of the model's own.   cells: on each axis; 4,000, 160 or 40 for one, two or three axes.
    Raises: ValueError for more than three numbers, or a posterior that is nowhere above 0.
    """
    size, unravel = flat(model)
    if size not in CELLS:
        raise ValueError(f"{size} numbers to fit: a grid takes up to {max(CELLS)}; use laplace, nuts or svi")
    data = model.data if data is None else data
    keys = jax.random.split(jax.random.key(seed), PRIOR_DRAWS)
    drawn = np.asarray(jax.vmap(lambda key: jax.flatten_util.ravel_pytree(models.draw_raw(key, model))[0])(keys))
    low, high = drawn.min(0), drawn.max(0)
    low, high = low - 0.1 * (high - low), high + 0.1 * (high - low)
    count = cells or CELLS[size]

    @jax.jit
    def at(raws: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        def one(raw):
            parameters = unravel(raw)
            likelihood = jnp.sum(model.log_likelihood(models.to_values(model, parameters), data))
            own = models.log_prior(model, parameters), models.log_prior(model, parameters, jacobian=False)
            return likelihood, *own

        return jax.lax.map(one, raws, batch_size=64)

    for _ in range(ROUNDS):
        edges = [np.linspace(*ends, count + 1) for ends in zip(low, high, strict=True)]
        middles = [(own[1:] + own[:-1]) / 2 for own in edges]
        raws = np.stack([own.ravel() for own in np.meshgrid(*middles, indexing="ij")], -1)
        likelihood, prior, plain = (np.asarray(each, np.float64) for each in at(jnp.asarray(raws)))
        density = np.where(np.isnan(likelihood + prior), -np.inf, likelihood + prior)
        if not np.isfinite(density.max()):
            raise ValueError("the posterior is 0 on the whole grid: the prior excludes the data, or the model does")
        table = (density - density.max() > np.log(NEGLIGIBLE)).reshape((count,) * size)
        new_low, new_high = _covered(table, low, high)
        settled = np.allclose(new_low, low, atol=1e-9) and np.allclose(new_high, high, atol=1e-9)
        kept = ((new_high - new_low) > 0.6 * (high - low)) & (new_low >= low) & (new_high <= high)
        if settled or kept.all():
            break
        low, high = new_low, new_high
    widths = np.array([own[1] - own[0] for own in edges])
    log_mass = density + np.log(widths).sum()
    total = np.logaddexp.reduce(log_mass)
    weights = np.exp(log_mass - total)
    border = np.ones((count,) * size, bool)
    border[(slice(1, -1),) * size] = False
    mode = int(np.argmax(np.where(np.isnan(likelihood + plain), -np.inf, likelihood + plain)))
    return Grid(raws, widths, weights, likelihood, float(total), mode, float(weights[border.ravel()].max()))


def _covered(table: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The box around the cells that count, a cell wider; half as wide again beyond a border that has some."""
    new_low, new_high = low.copy(), high.copy()
    for axis in range(table.ndim):
        there = np.flatnonzero(table.any(tuple(other for other in range(table.ndim) if other != axis)))
        width, span = (high[axis] - low[axis]) / table.shape[axis], high[axis] - low[axis]
        first, last = there[0], there[-1]
        new_low[axis] = low[axis] - span / 2 if first == 0 else low[axis] + (first - 1) * width
        new_high[axis] = high[axis] + span / 2 if last == len(table) - 1 else low[axis] + (last + 2) * width
    return new_low, new_high


def draws_of(found: Grid, key: jax.Array, count: int = 4000) -> Float[np.ndarray, "N D"]:
    """[count, D] points of the real line: cells in proportion to their weights, evenly spread within each."""
    first, within = jax.random.split(key)
    places = (np.arange(count) + float(jax.random.uniform(first))) / count
    cell = np.searchsorted(np.cumsum(found.weights), places).clip(0, len(found.weights) - 1)
    order = np.random.default_rng(np.asarray(jax.random.bits(within, (2,)))).permutation(count)
    jitter = np.asarray(jax.random.uniform(within, (count, found.raws.shape[1]))) - 0.5
    return (found.raws[cell] + jitter * found.widths)[order]


def expectation(found: Grid, model: Model, names: Sequence[str] | None = None) -> Mapping[str, tuple[Any, Any]]:
    """Exact posterior mean and standard deviation of each parameter. names: of `to_values`; None: all."""
    _, unravel = flat(model)
    values = jax.vmap(lambda raw: models.to_values(model, unravel(raw)))(jnp.asarray(found.raws))
    summed = {}
    for name, each in values.items():
        if names is None or name in names:
            flat_values = np.asarray(each, float).reshape(len(found.weights), -1)
            mean = found.weights @ flat_values
            sd = np.sqrt(found.weights @ (flat_values - mean) ** 2)
            shape = np.shape(each)[1:]
            summed[name] = (mean.reshape(shape), sd.reshape(shape))
    return summed
