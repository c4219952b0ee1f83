"""The posterior as a normal around its mode on the real line."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from otherminds.inference.fitting import model as models
from otherminds.inference.fitting.model import Model
from otherminds.inference.fitting.optimum import Optimum, flat, maximise


class Laplace(NamedTuple):
    """A normal on the real line. `proper`: the density falls off in every direction; else the rest means nothing."""

    optimum: Optimum
    factor: Float[Array, "D D"]  # lower Cholesky factor of the covariance
    log_evidence: Float[Array, ""]  # nats
    proper: Bool[Array, ""]


def laplace(key: PRNGKeyArray, model: Model, data: Any = None, **options: Any) -> Laplace:
    """The mode per unit of the real line, and the inverse of the curvature there. jit- and vmap-able.

    log evidence = log joint + D/2 log(2 pi) - 1/2 log det(-Hessian).
    data: in place of the model's own.   options: of `optimum.maximise`.
    Raises: ValueError for a model with a parameter behind an argmax.
    """
    data = model.data if data is None else data
    found = maximise(key, model, data, jacobian=True, **options)
    size, unravel = flat(model)
    curvature = -jax.hessian(lambda raw: models.log_joint(model, unravel(raw), data))(found.raw)
    eigenvalues, axes = jnp.linalg.eigh((curvature + curvature.T) / 2)
    proper = (eigenvalues > 0).all()
    spread = axes / jnp.sqrt(jnp.where(eigenvalues > 0, eigenvalues, 1.0))
    _, upper = jnp.linalg.qr(spread.T)
    factor = upper.T * jnp.sign(jnp.diagonal(upper))
    log_volume = -jnp.log(jnp.where(eigenvalues > 0, eigenvalues, 1.0)).sum() / 2
    log_evidence = found.log_density + size / 2 * jnp.log(2 * jnp.pi) + log_volume
    return Laplace(found, factor, jnp.where(proper, log_evidence, jnp.nan), proper)
