"""Parameters on the real line: densities against scipy's, hierarchies against the sum written out."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from jax.flatten_util import ravel_pytree
from numpyro.distributions import constraints
from scipy import stats

from otherminds.inference.fitting import model as models
from otherminds.inference.fitting.model import Hierarchical, Model


def no_choice(values, data):
    del values, data
    return jnp.zeros(1)


def test_densities_are_those_of_the_priors_with_and_without_the_jacobian():
    model = Model({"alpha": dist.LogNormal(1.0, 0.5), "lapse": dist.Beta(1.0, 15.0)}, no_choice)
    alpha, lapse = 2.5, 0.03
    raw = models.to_raw(model, {"alpha": alpha, "lapse": lapse})
    assert float(raw["alpha"]) == pytest.approx(np.log(alpha)) and float(raw["lapse"]) == pytest.approx(
        np.log(lapse / (1 - lapse)), rel=1e-5
    )
    expected = stats.lognorm(0.5, scale=np.e).logpdf(alpha) + stats.beta(1, 15).logpdf(lapse)
    assert float(models.log_prior(model, raw, jacobian=False)) == pytest.approx(expected, rel=1e-5)
    slopes = np.log(alpha) + np.log(lapse * (1 - lapse))
    assert float(models.log_prior(model, raw)) == pytest.approx(expected + slopes, rel=1e-5)
    back = models.to_values(model, raw)
    assert float(back["alpha"]) == pytest.approx(alpha) and float(back["lapse"]) == pytest.approx(lapse)


def test_the_density_on_the_real_line_sums_to_one():
    model = Model({"p": dist.Uniform(0.2, 0.7)}, no_choice)
    grid = jnp.linspace(-30, 30, 6001)
    density = jax.vmap(lambda x: models.log_joint(model, {"p": x}, None))(grid)
    assert float(jnp.exp(density).sum() * (grid[1] - grid[0])) == pytest.approx(1, abs=1e-3)


def test_units_are_drawn_from_their_population():
    people = Hierarchical(3, constraints.unit_interval, dist.Normal(0.5, 1.0), dist.HalfNormal(2.0))
    model = Model({"lapse": people}, no_choice)
    raw = {"lapse.location": jnp.array(-1.0), "lapse.scale": jnp.log(0.5), "lapse.offset": jnp.array([0.0, 2.0, -1.0])}
    values = models.to_values(model, raw)
    np.testing.assert_allclose(values["lapse"], 1 / (1 + np.exp(1 - 0.5 * np.array([0, 2, -1]))), rtol=1e-5)
    expected = stats.norm(0.5, 1).logpdf(-1) + stats.halfnorm(scale=2).logpdf(0.5) + np.log(0.5)
    expected += stats.norm.logpdf([0, 2, -1]).sum()
    assert float(models.log_prior(model, raw)) == pytest.approx(expected, rel=1e-5)


def test_games_within_people_within_a_population():
    people = Hierarchical(2, constraints.positive, dist.Normal(0.0, 1.0), dist.HalfNormal(1.0))
    games = Hierarchical(3, constraints.positive, people, dist.HalfNormal(1.0), parent=np.array([1, 0, 1]))
    model = Model({"alpha": games}, no_choice)
    drawn = models.draw_raw(jax.random.key(0), model)
    assert {name: value.shape for name, value in drawn.items()} == {
        "alpha.location.location": (),
        "alpha.location.scale": (),
        "alpha.location.offset": (2,),
        "alpha.scale": (),
        "alpha.offset": (3,),
    }
    v = models.to_values(model, drawn)
    of_people = v["alpha.location.location"] + v["alpha.location.scale"] * v["alpha.location.offset"]
    expected = np.exp(of_people[jnp.array([1, 0, 1])] + v["alpha.scale"] * v["alpha.offset"])
    np.testing.assert_allclose(v["alpha"], expected, rtol=1e-5)


def test_there_and_back():
    model = Model({"a": dist.Gamma(2.0, 0.5), "w": dist.Dirichlet(jnp.ones(3)), "b": Hierarchical(4)}, no_choice)
    raw = models.draw_raw(jax.random.key(3), model)
    again = models.to_raw(model, models.to_values(model, raw))
    np.testing.assert_allclose(ravel_pytree(again)[0], ravel_pytree(raw)[0], rtol=1e-3, atol=1e-3)


def test_what_no_model_is():
    with pytest.raises(ValueError, match="parameters: none given"):
        Model({}, no_choice)
    with pytest.raises(ValueError, match="hard: depth: no parameter; there are alpha"):
        Model({"alpha": dist.Uniform(0.0, 1.0)}, no_choice, hard=frozenset({"depth"}))
    with pytest.raises(ValueError, match="units=0"):
        Hierarchical(0)
    with pytest.raises(ValueError, match="parent: which unit"):
        Hierarchical(3, location=Hierarchical(2))
    model = Model({"p": dist.Uniform(0.0, 1.0)}, no_choice)
    with pytest.raises(ValueError, match="p: no value; needed are p"):
        models.to_raw(model, {})
    with pytest.raises(ValueError, match=r"p=1\.5: outside its support"):
        models.to_raw(model, {"p": 1.5})
