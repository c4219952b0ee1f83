"""What is fitted: parameters with their priors, and the log-probability that they give to every choice.

Inside, every parameter lives on the whole real line ("raw"), through the bijection onto its support, so that gradient
methods need no bounds. Priors are numpyro distributions; parameters of many units are drawn from a population.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jaxtyping import Array, Float, Int
from numpyro.distributions import constraints
from numpyro.distributions.transforms import biject_to

Values = dict[str, Any]
"""Parameters by name, each an array on its support."""
Raw = dict[str, Array]
"""The same on the real line, in as many numbers as there are degrees of freedom."""


@dataclass(frozen=True)
class Hierarchical:
    """A parameter that each of many units has its own of, drawn from a population.

    value_j = T(location + scale z_j), z_j ~ Normal(0, 1), with T from the real line onto the support: not centred, so
    that units with little data do not trouble a sampler. The population's place may be a hierarchy itself: games within
    agents within people.

    units: how many.   support: of the parameter, such as `constraints.positive` (T = exp) or `unit_interval` (sigmoid).
    location, scale: priors on the raw line; or a Hierarchical as the location, of which unit j has number parent[j].
    """

    units: int
    support: Any = field(default_factory=lambda: constraints.positive)
    location: "dist.Distribution | Hierarchical" = field(default_factory=lambda: dist.Normal(0.0, 1.5))
    scale: dist.Distribution = field(default_factory=lambda: dist.HalfNormal(1.0))
    parent: Int[Any, " units"] | None = None

    def __post_init__(self) -> None:
        if self.units < 1:
            raise ValueError(f"units={self.units}: a hierarchy has one unit or more")
        if isinstance(self.location, Hierarchical) != (self.parent is not None):
            raise ValueError("parent: which unit of the location each unit belongs to; for a location that is one")


@dataclass(frozen=True)
class Model:
    """Parameters and the choices that they explain.

    parameters: name -> its prior, or a Hierarchical. A hierarchy's population is told as NAME.location, NAME.scale.
    log_likelihood: (values, data) -> [N] log-probability of every choice, nats; -inf where it is impossible.
    data: a pytree of arrays.
    hard: parameters that stand before an argmax, so that the likelihood has no gradient in them.
    """

    parameters: Mapping[str, dist.Distribution | Hierarchical]
    log_likelihood: Callable[[Values, Any], Float[Array, " N"]]
    data: Any = None
    hard: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not self.parameters:
            raise ValueError("parameters: none given; a model needs one or more")
        unknown = sorted(self.hard - set(self.parameters))
        if unknown:
            raise ValueError(f"hard: {', '.join(unknown)}: no parameter; there are {', '.join(self.parameters)}")


def priors(model: Model) -> dict[str, dist.Distribution]:
    """Name -> independent prior of every raw quantity, on its own support: a hierarchy's offsets are among them."""
    found: dict[str, dist.Distribution] = {}
    for name, parameter in model.parameters.items():
        _add(found, name, parameter)
    return found


def _add(found: dict[str, dist.Distribution], name: str, parameter: dist.Distribution | Hierarchical) -> None:
    if not isinstance(parameter, Hierarchical):
        found[name] = parameter
        return
    _add(found, f"{name}.location", parameter.location)
    found[f"{name}.scale"] = parameter.scale
    found[f"{name}.offset"] = dist.Normal(0.0, 1.0).expand((parameter.units,)).to_event(1)


def draw_raw(key: Array, model: Model) -> Raw:
    """A draw from the prior, on the real line."""
    drawn = {}
    for name, prior in priors(model).items():
        key, own = jax.random.split(key)
        drawn[name] = biject_to(prior.support).inv(prior.sample(own))
    return drawn


def to_values(model: Model, raw: Raw) -> Values:
    """The parameters on their supports, a hierarchy's population and offsets beside its units."""
    natural = {name: biject_to(prior.support)(raw[name]) for name, prior in priors(model).items()}
    for name, parameter in model.parameters.items():
        if isinstance(parameter, Hierarchical):
            natural[name] = biject_to(parameter.support)(_unit_places(name, parameter, natural))
    return natural


def _unit_places(name: str, parameter: Hierarchical, natural: Values) -> Float[Array, " units"]:
    """On the real line, where each unit of a hierarchy is."""
    if isinstance(parameter.location, Hierarchical):
        location = _unit_places(f"{name}.location", parameter.location, natural)[jnp.asarray(parameter.parent)]
    else:
        location = natural[f"{name}.location"]
    return location + natural[f"{name}.scale"] * natural[f"{name}.offset"]


def to_raw(model: Model, values: Mapping[str, Any]) -> Raw:
    """The inverse of `to_values`, for the quantities that have a prior of their own.

    Raises: ValueError for a value that is missing or outside its support.
    """
    raw = {}
    for name, prior in priors(model).items():
        if name not in values:
            raise ValueError(f"{name}: no value; needed are {', '.join(priors(model))}")
        value = jnp.asarray(values[name], float)
        if not bool(jnp.all(prior.support(value))):
            raise ValueError(f"{name}={value}: outside its support, {prior.support}")
        raw[name] = biject_to(prior.support).inv(value)
    return raw


def log_prior(model: Model, raw: Raw, jacobian: bool = True) -> Float[Array, ""]:
    """Log density of the prior, nats: per unit of the raw line, or without the jacobian per unit of the parameter."""
    total = jnp.zeros(())
    for name, prior in priors(model).items():
        transform = biject_to(prior.support)
        value = transform(raw[name])
        total += jnp.sum(prior.log_prob(value))
        if jacobian:
            total += jnp.sum(transform.log_abs_det_jacobian(raw[name], value))
    return total


def log_joint(model: Model, raw: Raw, data: Any, jacobian: bool = True) -> Float[Array, ""]:
    """log prior + log-likelihood of all choices, nats."""
    return log_prior(model, raw, jacobian) + jnp.sum(model.log_likelihood(to_values(model, raw), data))


def refuse_hard(model: Model, method: str) -> None:
    """Raises: ValueError for a gradient method on a model with a parameter behind an argmax."""
    if model.hard:
        names = ", ".join(sorted(model.hard))
        raise ValueError(
            f"{names}: stands before an argmax, where the likelihood has no gradient, so {method} cannot fit it; "
            "use a grid (method 'grid'), or a mind with a softmax choice"
        )
