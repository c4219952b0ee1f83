"""Draws from the posterior: the No-U-Turn sampler, and variational inference, both of numpyro.

A program that imports arviz before numpyro leaves numpyro without its submodules' names, and variational inference then
fails with an AttributeError: import this package, or numpyro, first.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray
from numpyro.distributions.transforms import biject_to
from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoMultivariateNormal, AutoNormal
from numpyro.infer.initialization import init_to_value

from otherminds.inference.fitting import model as models
from otherminds.inference.fitting.model import Model
from otherminds.inference.fitting.optimum import Optimum, flat, maximise

RIVALS = 10.0
"""Nats: modes this far below the best one, or nearer, are sampled from too."""
FULL_COVARIANCE = 100
"""Numbers up to which the variational normal has a full covariance."""


class Draws(NamedTuple):
    """S draws of each of C chains. `modes` are the places on the real line where chains may begin, the best first."""

    raws: Float[Array, "C S D"]
    log_joint: Float[Array, "C S"]  # per unit of the real line, nats
    divergent: Bool[Array, "C S"]
    steps: Int[Array, "C S"]  # gradients, of each draw
    acceptance: Float[Array, "C S"]
    modes: Float[Array, "M D"]
    mode_densities: Float[Array, " M"]


class Variational(NamedTuple):
    """A normal on the real line, fitted by the evidence lower bound."""

    raws: Float[Array, "S D"]
    log_density: Float[Array, " S"]  # of the normal at these draws
    log_joint: Float[Array, " S"]
    bound: Float[Array, ""]  # mean of the last tenth of the steps, nats
    bounds: Float[Array, " T"]  # at every step
    converged: bool  # the last two tenths of the steps agree within their noise


def as_numpyro(model: Model) -> Any:
    """The numpyro program (data) of a model."""

    def program(data: Any) -> None:
        natural = {name: numpyro.sample(name, prior) for name, prior in models.priors(model).items()}
        raw = {name: biject_to(prior.support).inv(natural[name]) for name, prior in models.priors(model).items()}
        log_p = jnp.sum(model.log_likelihood(models.to_values(model, raw), data))
        numpyro.sample("log_likelihood", dist.Unit(log_p), obs=jnp.zeros(0))

    return program


def distinct_modes(found: Optimum, apart: float = 0.1) -> tuple[Float[np.ndarray, "M D"], Float[np.ndarray, " M"]]:
    """Where the converged starts of a search ended, the best first; ends of one height (by .1 nats) are one mode."""
    densities = np.asarray(found.log_densities, float)
    order = np.argsort(-np.where(np.isnan(densities), -np.inf, densities))
    places, heights = [], []
    for index in order:
        usable = bool(found.converged[index]) and np.isfinite(densities[index])
        if (usable or not places) and all(abs(densities[index] - height) > apart for height in heights):
            places.append(np.asarray(found.raws[index], float))
            heights.append(densities[index])
    return np.stack(places), np.array(heights)


def nuts(
    key: PRNGKeyArray,
    model: Model,
    data: Any = None,
    *,
    chains: int = 4,
    warmup: int = 1000,
    draws: int = 1000,
    restarts: int = 16,
    target_accept: float = 0.95,
    dense_mass: bool = True,
    progress: bool = False,
) -> Draws:
    """Draws by the No-U-Turn sampler, from around the best of the modes that `maximise` finds.

    A start far from the posterior can end in a mode that holds none of its mass; so chains begin at modes, each at one
    of those within 10 nats of the best, in turn, moved by a tenth of a raw unit.
    restarts: of the search for modes.   dense_mass: whether the sampler learns correlations.
    Raises: ValueError for a model with a parameter behind an argmax.
    Source: Hoffman & Gelman (2014).
    """
    models.refuse_hard(model, "nuts")
    data = model.data if data is None else data
    _, unravel = flat(model)
    mode_key, jitter_key, run_key = jax.random.split(key, 3)
    found = jax.jit(lambda own: maximise(own, model, data, restarts=restarts, jacobian=True))(mode_key)
    places, heights = distinct_modes(found)
    rivals = places[heights >= heights[0] - RIVALS]
    begin = jnp.asarray(rivals[np.arange(chains) % len(rivals)])
    begin = begin + 0.1 * jax.random.normal(jitter_key, begin.shape)
    starts = jax.vmap(unravel)(begin)
    kernel = NUTS(as_numpyro(model), target_accept_prob=target_accept, dense_mass=dense_mass)
    sampler = MCMC(
        kernel,
        num_warmup=warmup,
        num_samples=draws,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=progress,
    )
    fields = ("potential_energy", "diverging", "num_steps", "accept_prob")
    sampler.run(
        run_key, data, init_params=starts if chains > 1 else jax.tree.map(lambda x: x[0], starts), extra_fields=fields
    )
    kept = sampler.get_samples(group_by_chain=True)
    raw = {name: biject_to(prior.support).inv(kept[name]) for name, prior in models.priors(model).items()}
    raws = jax.vmap(jax.vmap(lambda each: ravel_pytree(each)[0]))(raw)
    extra = sampler.get_extra_fields(group_by_chain=True)
    return Draws(
        raws,
        -extra["potential_energy"],
        extra["diverging"],
        extra["num_steps"],
        extra["accept_prob"],
        jnp.asarray(places),
        jnp.asarray(heights),
    )


def svi(
    key: PRNGKeyArray,
    model: Model,
    data: Any = None,
    *,
    steps: int = 5000,
    draws: int = 4000,
    learning_rate: float = 0.01,
    particles: int = 8,
    restarts: int = 16,
    progress: bool = False,
) -> Variational:
    """The normal on the real line that is nearest in KL(normal || posterior), begun at the best mode.

    A full covariance for up to 100 numbers, else a diagonal one.   particles: draws for each gradient.
    Raises: ValueError for a model with a parameter behind an argmax.
    Source: Kucukelbir, Tran, Ranganath, Gelman & Blei (2017).
    """
    models.refuse_hard(model, "svi")
    data = model.data if data is None else data
    size, unravel = flat(model)
    mode_key, run_key, draw_key = jax.random.split(key, 3)
    found = jax.jit(lambda own: maximise(own, model, data, restarts=restarts, jacobian=True))(mode_key)
    mode = models.to_values(model, unravel(found.raw))
    begin = init_to_value(values={name: mode[name] for name in models.priors(model)})
    make = AutoMultivariateNormal if size <= FULL_COVARIANCE else AutoNormal
    guide = make(as_numpyro(model), init_loc_fn=begin, init_scale=0.1)
    schedule = numpyro.optim.optax_to_numpyro(optax.adam(optax.cosine_decay_schedule(learning_rate, steps, alpha=0.01)))
    inference = SVI(as_numpyro(model), guide, schedule, Trace_ELBO(num_particles=particles))
    result = inference.run(run_key, steps, data, progress_bar=progress)
    normal = guide.get_posterior(result.params)
    raws = normal.sample(draw_key, (draws,))
    joint = jax.jit(lambda x: jax.lax.map(lambda raw: models.log_joint(model, unravel(raw), data), x, batch_size=64))
    bounds = -result.losses
    tenth = max(steps // 10, 2)
    last, before = np.asarray(bounds[-tenth:], float), np.asarray(bounds[-2 * tenth : -tenth], float)
    noise = np.sqrt((last.var(ddof=1) + before.var(ddof=1)) / tenth)
    return Variational(
        raws,
        normal.log_prob(raws),
        joint(raws),
        jnp.asarray(last.mean()),
        bounds,
        bool(abs(last.mean() - before.mean()) <= 4 * noise + 0.05),
    )
