"""The most probable parameters, from many starts at once."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int

from otherminds.inference.fitting import model as models
from otherminds.inference.fitting.model import Model, Values

SCREENED = 16  # prior draws a start is the best of
STEPS = 500
TOLERANCE = 1e-4


class Optimum(NamedTuple):
    """The best of R starts, and how the others ended."""

    values: Values
    raw: Float[Array, " D"]  # the same on the real line, raveled
    log_density: Float[Array, ""]  # log prior + log-likelihood there, nats
    log_likelihood: Float[Array, ""]
    raws: Float[Array, "R D"]
    log_densities: Float[Array, " R"]
    gradients: Float[Array, " R"]  # largest absolute derivative per raw unit, nats
    converged: Bool[Array, " R"]
    steps: Int[Array, " R"]


def flat(model: Model) -> tuple[int, Callable[[Float[Array, " D"]], dict[str, Array]]]:
    """How many numbers a model's raw parameters are, and how a vector of them is unraveled."""
    vector, unravel = ravel_pytree(models.draw_raw(jax.random.key(0), model))
    return vector.size, unravel


def maximise(
    key: Array,
    model: Model,
    data: Any = None,
    *,
    restarts: int = 8,
    steps: int = STEPS,
    tolerance: float = TOLERANCE,
    jacobian: bool = False,
) -> Optimum:
    """The parameters of the highest posterior density, by L-BFGS from `restarts` starts. jit- and vmap-able.

    Every start is the best of 16 draws from the prior. With flat priors it is the maximum-likelihood estimate.
    data: in place of the model's own.   tolerance: of the gradient, relative to 1 + |log density|.
    jacobian: the density per unit of the real line, whose mode the Laplace approximation needs, instead of per unit of
        the parameter.
    Raises: ValueError for a model with a parameter behind an argmax.
    """
    models.refuse_hard(model, "a gradient method")
    data = model.data if data is None else data
    _, unravel = flat(model)

    def loss(vector: Float[Array, " D"]) -> Float[Array, ""]:
        return -models.log_joint(model, unravel(vector), data, jacobian)

    def start(key: Array) -> Float[Array, " D"]:
        tried = jax.vmap(lambda own: ravel_pytree(models.draw_raw(own, model))[0])(jax.random.split(key, SCREENED))
        losses = jax.lax.map(loss, tried)
        return tried[jnp.argmin(jnp.where(jnp.isfinite(losses), losses, jnp.inf))]

    starts = jax.vmap(start)(jax.random.split(key, restarts))
    raws, losses, gradients, taken = jax.vmap(lambda at: descend(loss, at, steps, tolerance))(starts)
    best = jnp.argmin(jnp.where(jnp.isnan(losses), jnp.inf, losses))
    values = models.to_values(model, unravel(raws[best]))
    return Optimum(
        values=values,
        raw=raws[best],
        log_density=-losses[best],
        log_likelihood=jnp.sum(model.log_likelihood(values, data)),
        raws=raws,
        log_densities=-losses,
        gradients=gradients,
        converged=gradients <= tolerance * (1 + jnp.abs(losses)),
        steps=taken,
    )


def descend(
    loss: Callable[[Float[Array, " D"]], Float[Array, ""]],
    start: Float[Array, " D"],
    steps: int = STEPS,
    tolerance: float = TOLERANCE,
) -> tuple[Float[Array, " D"], Float[Array, ""], Float[Array, ""], Int[Array, ""]]:
    """L-BFGS with a zoom line search until the gradient is small against the loss.

    Returns: where it ended, the loss and the largest absolute derivative there, and how many steps were taken. A step
        to where the loss or its gradient is not finite is not taken: the search ends before it.
    """
    optimiser = optax.lbfgs(memory_size=10)
    value_and_gradient = jax.value_and_grad(loss)

    def unfinished(search: _Search) -> Bool[Array, ""]:
        slope = jnp.abs(search.gradient).max()
        small = slope <= tolerance * (1 + jnp.abs(search.value))
        return (search.step < steps) & ~small & jnp.isfinite(slope) & ~search.stuck

    def advance(search: _Search) -> _Search:
        updates, memory = optimiser.update(
            search.gradient, search.memory, search.at, value=search.value, grad=search.gradient, value_fn=loss
        )
        there = optax.apply_updates(search.at, updates)
        tried = _Search(there, *value_and_gradient(there), memory, search.step + 1, search.stuck)
        stays = search._replace(step=search.step + 1, stuck=jnp.ones((), bool))
        return jax.tree.map(partial(jnp.where, tried.value <= search.value), tried, stays)

    begun = _Search(start, *value_and_gradient(start), optimiser.init(start), jnp.zeros((), int), jnp.zeros((), bool))
    ended = jax.lax.while_loop(unfinished, advance, begun)
    return ended.at, ended.value, jnp.abs(ended.gradient).max(), ended.step


class _Search(NamedTuple):
    """Where a search stands."""

    at: Float[Array, " D"]
    value: Float[Array, ""]
    gradient: Float[Array, " D"]
    memory: Any  # of the optimiser
    step: Int[Array, ""]
    stuck: Bool[Array, ""]  # the last step led no lower, and was not taken
