"""The most probable parameters against closed forms, and against the published fit of colour and size."""

import csv
import json
import re

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

from otherminds.inference.fitting import optimum
from otherminds.inference.fitting.model import Model, to_values


def coin(values, heads):
    """Log-probability of ten throws."""
    p = values["p"]
    return jnp.where(jnp.arange(10) < heads, jnp.log(p), jnp.log1p(-p))


def test_the_mode_of_a_beta_posterior_and_its_mode_on_the_real_line():
    model = Model({"p": dist.Beta(2.0, 3.0)}, coin, jnp.array(7))
    found = jax.jit(lambda key: optimum.maximise(key, model))(jax.random.key(0))
    assert float(found.values["p"]) == pytest.approx(8 / 13, abs=1e-3) and bool(found.converged.all())
    found = jax.jit(lambda key: optimum.maximise(key, model, jacobian=True))(jax.random.key(0))
    assert float(found.values["p"]) == pytest.approx(9 / 15, abs=1e-3)


def test_many_data_sets_are_fitted_at_once():
    model = Model({"p": dist.Uniform(0.0, 1.0)}, coin, jnp.array(0))
    heads = jnp.arange(1, 10)
    keys = jax.random.split(jax.random.key(1), len(heads))
    found = jax.jit(jax.vmap(lambda key, data: optimum.maximise(key, model, data, restarts=2)))(keys, heads)
    np.testing.assert_allclose(found.values["p"], heads / 10, atol=2e-3)
    expected = [h * np.log(h / 10) + (10 - h) * np.log(1 - h / 10) for h in range(1, 10)]
    np.testing.assert_allclose(found.log_likelihood, expected, atol=1e-3)


def test_the_higher_of_two_modes_is_found_and_the_other_is_shown():
    def two_peaks(values, data):
        x = values["x"]
        peaks = jnp.logaddexp(-((x - 3) ** 2) / 0.1, jnp.log(0.01) - (x + 3) ** 2 / 0.1)
        return (peaks - data * 0.0)[None]

    model = Model({"x": dist.Normal(0.0, 3.0)}, two_peaks, jnp.array(0.0))
    found = jax.jit(lambda key: optimum.maximise(key, model, restarts=16))(jax.random.key(2))
    assert float(found.values["x"]) == pytest.approx(3, abs=0.05)
    assert {round(float(x)) for x in found.raws[:, 0]} == {-3, 3}
    assert float(found.log_density - found.log_densities.min()) == pytest.approx(np.log(100), abs=0.01)


def test_where_a_start_is_impossible_another_is_taken():
    def above(values, data):
        return jnp.where(values["x"] > 0.5, -((values["x"] - 0.8 + data) ** 2), -jnp.inf)[None]

    model = Model({"x": dist.Uniform(0.0, 1.0)}, above, jnp.array(0.0))
    found = optimum.maximise(jax.random.key(0), model)
    assert float(found.values["x"]) == pytest.approx(0.8, abs=0.02)


def test_a_parameter_behind_an_argmax_is_refused():
    model = Model({"p": dist.Uniform(0.0, 1.0)}, coin, jnp.array(3), hard=frozenset({"p"}))
    with pytest.raises(ValueError, match=r"p: stands before an argmax, .* use a grid"):
        optimum.maximise(jax.random.key(0), model)


# Degen, Hawkins, Graf, Kreiss & Goodman (2020): colour and size.

WORDS = ("size", "othersize", "color", "othercolor")
UTTERANCES = [*((word,) for word in WORDS), *((size, color) for size in WORDS[:2] for color in WORDS[2:])]
SAID = {"size": 0, "color": 2, "size_color": 4}
HAS = np.array([[word in utterance for word in WORDS] for utterance in UTTERANCES])


def context(condition):
    """The objects of a condition, the target first."""
    dimension, *numbers = re.fullmatch(r"(size|color)(\d)(\d)", condition).groups()
    count, shared = map(int, numbers)
    like = ("othersize", "color") if dimension == "size" else ("size", "othercolor")
    return [("size", "color"), *[like] * shared, *[("othersize", "othercolor")] * (count - shared)]


def degen_log_p(conditions):
    """(values, counts [C, 8]) -> [C, 8] log-probability of what was said, times how often."""
    contexts = [context(condition) for condition in conditions]
    most = max(map(len, contexts))
    there = np.array([[place < len(objects) for place in range(most)] for objects in contexts])
    padded = [[*objects, *[()] * (most - len(objects))] for objects in contexts]
    fits = np.array([[[word in thing for thing in objects] for word in WORDS] for objects in padded])
    legal = np.array([[any(set(u) <= set(thing) for thing in objects) for u in UTTERANCES] for objects in contexts])

    def log_p(values, counts):
        typical = jnp.stack([values["size"], values["size"], values["color"], values["color"]])[:, None]
        degree = jnp.where(fits, jnp.log(typical), jnp.log1p(-typical))
        meaning = jnp.exp(jnp.where(HAS[None, :, :, None], degree[:, None], 0.0).sum(2))
        listener = jax.nn.log_softmax(jnp.where(there[:, None], meaning, -jnp.inf), -1)[..., 0]
        cost = values["color_cost"] * HAS[:, 2:].any(1) + values["size_cost"] * HAS[:, :2].any(1)
        speaker = jax.nn.log_softmax(jnp.where(legal, values["alpha"] * listener - cost, -jnp.inf), -1)
        return jnp.where(counts > 0, counts * jnp.where(counts > 0, speaker, 0.0), 0.0).ravel()

    return log_p


@pytest.fixture(scope="module")
def degen(shared):
    with open(shared / "data/rsa/degen_color_size/bda_data.csv") as file:
        rows = list(csv.DictReader(file))
    golden = json.loads((shared / "golden/fits/targets.json").read_text())["degen_color_size"]
    conditions = sorted({row["condition"] for row in rows})
    counts = np.zeros((len(conditions), len(UTTERANCES)))
    for row in rows:
        counts[conditions.index(row["condition"]), SAID[row["response"]]] += 1
    priors = {"alpha": dist.Uniform(0.0, 40.0), "size": dist.Uniform(0.5, 1.0), "color": dist.Uniform(0.5, 1.0)}
    priors |= {"size_cost": dist.Uniform(0.0, 40.0), "color_cost": dist.Uniform(0.0, 40.0)}
    return Model(priors, degen_log_p(conditions), jnp.asarray(counts)), conditions, golden


def test_colour_and_size_at_the_authors_sample(degen):
    model, conditions, golden = degen
    sample = golden["exact"]["first_sample"]
    values = {"alpha": sample["alpha"], "size": sample["sizeTyp"], "color": sample["colorTyp"]}
    values |= {"size_cost": sample["sizeCost"], "color_cost": sample["colorCost"]}
    with jax.enable_x64(True):
        values = {name: jnp.asarray(value, jnp.float64) for name, value in values.items()}
        counts = np.array(model.data, np.float64)
        assert float(model.log_likelihood(values, counts).sum()) == pytest.approx(sample["logL_2082"], abs=1e-9)
        for condition, response in golden["exact"]["extra_rows"]:
            counts[conditions.index(condition), SAID[response]] += 1
        assert float(model.log_likelihood(values, counts).sum()) == pytest.approx(sample["logL_2085"], abs=1e-9)


def test_colour_and_size_are_fitted_as_published(degen):
    model, _, golden = degen
    expected = golden["mle"]["exp2082"]
    with jax.enable_x64(True):
        data = jnp.asarray(np.array(model.data), jnp.float64)
        found = jax.jit(lambda key: optimum.maximise(key, model, data))(jax.random.key(0))
        assert float(found.log_likelihood) == pytest.approx(expected["logL"], abs=5e-4) and bool(found.converged.all())
        names = ("alpha", "color", "size", "size_cost", "color_cost")
        np.testing.assert_allclose([found.values[name] for name in names], expected["mle"], atol=5e-3)
        assert set(to_values(model, optimum.flat(model)[1](found.raw))) == set(names)
