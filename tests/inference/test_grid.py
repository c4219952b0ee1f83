"""The grid posterior against closed forms, plain sums on a finer grid, and samples."""

import numpy as np
import pytest

from otherminds.inference.grid import PRIOR, Prior, posterior


def nothing(alphas, lapses):
    return np.zeros((alphas.size, lapses.size))


def test_without_data_the_posterior_is_the_prior():
    """LogNormal(1, 1) has mean exp(1.5) and mode exp(0); Beta(1, 15) mean 1/16, 95% of it below 1 - .05^(1/15)."""
    found = posterior(nothing)
    assert found.alpha.mean == pytest.approx(np.exp(1.5), rel=2e-3)
    assert found.alpha.mode == pytest.approx(1.0, rel=0.05)
    assert found.lapse.mean == pytest.approx(1 / 16, rel=2e-3)
    assert (found.lapse.low, found.lapse.high) == pytest.approx((0.0, 1 - 0.05 ** (1 / 15)), abs=1e-3)
    assert found.log_evidence == pytest.approx(0.0, abs=1e-3) and found.log_likelihood == 0.0
    assert not found.alpha_matters


def test_the_prior_is_a_density():
    alphas, lapses = np.exp(np.linspace(-9, 11, 2001)), (np.arange(1000) + 0.5) / 1000
    for prior in (PRIOR, Prior(0.5, 0.7, 5.0)):
        density = np.exp(prior.log_density(alphas, lapses))
        assert (density * alphas[:, None] * 0.01).sum() / 1000 == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("peak", [0.05, 1.0, 40.0, 400.0])
@pytest.mark.parametrize("errors", [0, 30, 300])
def test_a_separable_posterior_has_its_closed_form(peak, errors):
    """log alpha normal: precisions add up; 400 decisions with `errors` of them: Beta(1 + errors, 15 + 400 - errors)."""

    def log_likelihood(alphas, lapses):
        of_alpha = -(((np.log(alphas) - np.log(peak)) / 0.2) ** 2) / 2
        return of_alpha[:, None] + errors * np.log(lapses) + (400 - errors) * np.log1p(-lapses)

    found = posterior(log_likelihood)
    precision = 1 + 1 / 0.04
    middle = (1 + np.log(peak) / 0.04) / precision
    assert found.alpha.mean == pytest.approx(np.exp(middle + 0.5 / precision), rel=2e-3)
    assert found.alpha.mode == pytest.approx(np.exp(middle - 1 / precision), rel=0.02)
    assert found.lapse.mean == pytest.approx((1 + errors) / 416, rel=5e-3)
    assert found.lapse.mode == pytest.approx(errors / 414, abs=2e-3)
    assert found.alpha_matters
    random = np.random.default_rng(0)
    for estimate, draws in (
        (found.alpha, np.exp(random.normal(middle, precision**-0.5, 400_000))),
        (found.lapse, random.beta(1 + errors, 415 - errors, 400_000)),
    ):
        inside = ((draws >= estimate.low) & (draws <= estimate.high)).mean()
        assert inside == pytest.approx(0.95, abs=3e-3)
        low, high = np.quantile(draws, (0.025, 0.975))
        assert estimate.high - estimate.low <= (high - low) * 1.01  # the shortest is no longer than the central one


def test_the_evidence_is_the_likelihood_averaged_over_the_prior():
    """60 of 100 with alpha only: p = a / (1 + a)."""

    def log_likelihood(alphas, lapses):
        p = alphas / (1 + alphas)
        return np.repeat((60 * np.log(p) + 40 * np.log1p(-p))[:, None], lapses.size, 1)

    draws = np.exp(np.random.default_rng(1).normal(1, 1, 2_000_000))
    p = draws / (1 + draws)
    expected = np.log(np.exp(60 * np.log(p) + 40 * np.log1p(-p)).mean())
    assert posterior(log_likelihood).log_evidence == pytest.approx(expected, abs=0.02)
