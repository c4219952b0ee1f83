"""Every method against posteriors in closed form."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats
from scipy.special import betaln

from otherminds.inference.fitting.fit import check_possible, fit
from otherminds.inference.fitting.model import Model

HEADS, THROWS = 7, 10
TRUTH = stats.beta(9, 6)
LOG_EVIDENCE = betaln(9, 6) - betaln(2, 3)


def throws(values, heads):
    return jnp.where(jnp.arange(THROWS) < heads, jnp.log(values["p"]), jnp.log1p(-values["p"]))


COIN = Model({"p": dist.Beta(2.0, 3.0)}, throws, jnp.array(HEADS))


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def test_the_grid_is_exact():
    found = fit(COIN, "grid")
    own = found.estimates["p"]
    assert own.mean == pytest.approx(TRUTH.mean(), abs=1e-6) and own.sd == pytest.approx(TRUTH.std(), abs=1e-6)
    assert own.mode == pytest.approx(8 / 13, abs=2e-3) and found.log_evidence == pytest.approx(LOG_EVIDENCE, abs=1e-6)
    low = min(np.linspace(0, 0.05, 2001), key=lambda q: TRUTH.ppf(q + 0.95) - TRUTH.ppf(q))
    assert (own.low, own.high) == pytest.approx((TRUTH.ppf(low), TRUTH.ppf(low + 0.95)), abs=0.01)
    assert not found.warnings and found.tree["log_likelihood"]["choice"].shape[-1] == THROWS


@pytest.mark.parametrize(
    ("method", "near"),
    [
        pytest.param("laplace", 0.02, marks=pytest.mark.slow),
        pytest.param("nuts", 0.012, marks=pytest.mark.slow),
        pytest.param("svi", 0.012, marks=pytest.mark.slow),
    ],
)
def test_draws_have_the_posteriors_moments_and_evidence(method, near):
    import arviz  # after numpyro: see `sampling`

    found = fit(COIN, method)
    own = found.estimates["p"]
    assert own.mean == pytest.approx(TRUTH.mean(), abs=near) and own.sd == pytest.approx(TRUTH.std(), abs=near)
    assert own.mode == pytest.approx(8 / 13, abs=1e-3)
    assert found.log_evidence == pytest.approx(LOG_EVIDENCE, abs=0.02) and found.evidence_error < 0.02
    assert found.log_likelihood == pytest.approx(float(throws({"p": 8 / 13}, HEADS).sum()), abs=1e-4)
    assert not found.warnings
    assert np.isfinite(arviz.loo(found.tree).elpd)


def test_a_grid_of_two_goes_to_where_the_posterior_is():
    """Two normal means far from their priors, in closed form."""
    data = np.array([[9.0, 9.2], [-7.0, -7.4]])

    def normal(values, x):
        return jnp.concatenate(
            [dist.Normal(values[name], 0.1).log_prob(own) for name, own in zip("ab", x, strict=True)]
        )

    found = fit(Model({"a": dist.Normal(0.0, 1.0), "b": dist.Normal(0.0, 1.0)}, normal, jnp.asarray(data)), "grid")
    precision = 1 + 2 / 0.01
    for name, own in zip("ab", data, strict=True):
        assert found.estimates[name].mean == pytest.approx(own.sum() / 0.01 / precision, abs=1e-4)
        assert found.estimates[name].sd == pytest.approx(precision**-0.5, abs=1e-4)
    covariance = 0.01 * np.eye(2) + 1
    expected = sum(stats.multivariate_normal(np.zeros(2), covariance).logpdf(own) for own in data)
    assert found.log_evidence == pytest.approx(expected, abs=1e-3)


def test_a_parameter_behind_an_argmax_has_a_grid_alone():
    """Right where a threshold lies below .3: the posterior is uniform there."""

    def chosen(values, data):
        return jnp.where(values["threshold"] < 0.3, jnp.log(0.9), jnp.log(0.1)) * jnp.ones(data.shape)

    model = Model({"threshold": dist.Uniform(0.0, 1.0)}, chosen, jnp.zeros(3), hard=frozenset({"threshold"}))
    found = fit(model, "grid")
    total = 0.3 * 0.9**3 + 0.7 * 0.1**3
    mean = (0.3 * 0.9**3 * 0.15 + 0.7 * 0.1**3 * 0.65) / total
    assert found.log_evidence == pytest.approx(np.log(total), abs=5e-3)
    assert found.estimates["threshold"].mean == pytest.approx(mean, abs=5e-3)
    with pytest.raises(ValueError, match=r"threshold: stands before an argmax, .* so nuts cannot fit it"):
        fit(model, "nuts")


def test_the_mode_alone():
    found = fit(COIN, "map")
    assert found.estimates["p"].mode == pytest.approx(8 / 13, abs=1e-3) and np.isnan(found.estimates["p"].sd)
    assert np.isnan(found.log_evidence) and found.tree is None


def test_data_that_cannot_be():
    def bounded(values, data):
        return jnp.where(data < values["top"], 0.0, -jnp.inf)

    model = Model({"top": dist.Uniform(0.0, 1.0)}, bounded, jnp.array([0.2, 3.0, 0.1]))
    with pytest.raises(ValueError, match=r"Ann, round 2: impossible under every one of 256 prior draws"):
        fit(model, "grid", rows=["Ann, round 1", "Ann, round 2", "Ann, round 3"])

    def apart(values, data):
        return jnp.where((values["x"] < 0.5) == data, 0.0, -jnp.inf)

    model = Model({"x": dist.Uniform(0.0, 1.0)}, apart, jnp.array([True, False]))
    with pytest.raises(ValueError, match="no one of 256 prior draws allows all choices together"):
        check_possible(model, jax.random.key(0))
    model = Model({"x": dist.Uniform(0.0, 1.0)}, lambda values, data: jnp.log(values["x"] - 2) * data, jnp.ones(2))
    with pytest.raises(ValueError, match="choice 0, choice 1: the log-likelihood is not a number"):
        fit(model, "map")
    with pytest.raises(ValueError, match="method='vb': there are map, laplace, nuts, svi, grid"):
        fit(model, "vb")


@pytest.mark.slow
def test_two_modes_are_told():
    def two_peaks(values, data):
        x = values["x"]
        return jnp.logaddexp(-((x - 3) ** 2) / 0.1, jnp.log(0.1) - (x + 3) ** 2 / 0.1)[None] + 0 * data

    found = fit(
        Model({"x": dist.Normal(0.0, 3.0)}, two_peaks, jnp.array(0.0)), "nuts", warmup=200, draws=200, restarts=64
    )
    assert any("1 more mode within 10 nats (the next 2.3 lower)" in told for told in found.warnings)
    assert any(told.startswith("R-hat") for told in found.warnings)
