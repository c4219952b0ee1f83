"""Model selection over units: closed forms, an independent derivation of the bound, and what must change nothing."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from otherminds.inference.comparison import bic_log_evidence, exceedance, fixed_effects, random_effects, select

EVIDENCE = np.random.default_rng(3).normal(-20, 2, (12, 3)) + np.array([0.0, 1.0, -1.0])


@pytest.mark.parametrize("counts", [(1.0, 1.0), (0.3, 2.0), (5.0, 9.0), (900.0, 950.0), (1.0, 1000.0)])
def test_of_two_models_the_exceedance_is_a_tail_of_the_beta_distribution(counts):
    expected = stats.beta.sf(0.5, *counts)
    np.testing.assert_allclose(exceedance(np.array(counts)), [expected, 1 - expected], atol=1e-8)


def test_equal_counts_exceed_equally_and_one_model_always_does():
    np.testing.assert_allclose(exceedance(np.full(4, 2.5)), 0.25, atol=1e-9)
    np.testing.assert_allclose(exceedance(np.array([7.0])), 1.0)


def test_exceedance_of_three_models_equals_samples_within_their_error():
    counts = np.array([3.0, 5.0, 1.2])
    drawn = np.random.default_rng(0).dirichlet(counts, 200_000).argmax(1)
    np.testing.assert_allclose(exceedance(counts), np.bincount(drawn, minlength=3) / 200_000, atol=4 * 0.0012)


def test_exceedance_of_three_models_equals_a_double_integral():
    counts = np.array([2.0, 3.0, 4.0])

    def density(y, x):
        return stats.dirichlet.pdf([x, y, 1 - x - y], counts) if x + y < 1 else 0.0

    # The first is the largest where y < x and 1 - x - y < x.
    total, _ = integrate.dblquad(density, 1 / 3, 1, lambda x: max(0, 1 - 2 * x), lambda x: min(x, 1 - x))
    np.testing.assert_allclose(exceedance(counts)[0], total, atol=1e-6)


def test_the_counts_are_a_fixed_point_of_the_update():
    found = random_effects(EVIDENCE, tolerance=1e-10)
    assert found.converged
    weight = np.exp(EVIDENCE + special.digamma(found.counts) - special.digamma(found.counts.sum()))
    g = weight / weight.sum(1, keepdims=True)
    np.testing.assert_allclose(found.counts, 1 + g.sum(0), atol=1e-8)
    np.testing.assert_allclose(np.exp(found.log_assignment), g, atol=1e-8)
    np.testing.assert_allclose(found.counts.sum(), 3 + len(EVIDENCE))


def test_the_free_energy_is_the_bound_term_by_term():
    """E_q[log p(y, m, r)] - E_q[log q] with the entropies of scipy's own distributions."""
    prior = 0.7
    found = random_effects(EVIDENCE, prior, 1e-10)
    g, posterior = np.exp(found.log_assignment), stats.dirichlet(found.counts)
    log_r = special.digamma(found.counts) - special.digamma(found.counts.sum())
    before = -special.gammaln([prior] * 3).sum() + special.gammaln(3 * prior) + ((prior - 1) * log_r).sum()
    joint = (g * (EVIDENCE + log_r)).sum() + before
    entropies = sum(stats.entropy(row) for row in g) + posterior.entropy()
    np.testing.assert_allclose(found.free_energy, joint + entropies, atol=1e-8)


def test_the_free_energy_is_below_the_log_evidence_and_near_it():
    """Two models and two units: the frequency is integrated out on a fine grid."""
    evidence = EVIDENCE[:2, :2]
    r = (np.arange(20_000) + 0.5) / 20_000
    each = np.logaddexp(evidence[:, :1] + np.log(r), evidence[:, 1:] + np.log(1 - r))
    exact = np.log(np.exp(each.sum(0)).mean())
    found = random_effects(evidence)
    assert exact - 0.5 < found.free_energy <= exact
    np.testing.assert_allclose(found.null_log_evidence, np.log(np.exp(evidence).mean(1)).sum())


def test_units_that_tell_nothing_leave_all_models_alike():
    found = select(np.zeros((6, 4)))
    for value in (found.frequency, found.exceedance, found.protected):
        np.testing.assert_allclose(value, 0.25, atol=1e-6)
    assert found.chance > 0.5


def test_clear_units_are_counted():
    evidence = np.where(np.arange(2) == np.repeat([0, 1], [9, 1])[:, None], 0.0, -np.inf)
    found = random_effects(evidence)
    np.testing.assert_allclose(found.counts, [10, 2])
    np.testing.assert_allclose(exceedance(found.counts)[0], stats.beta.sf(0.5, 10, 2), atol=1e-9)


def test_a_constant_a_unit_and_the_order_of_units_and_models_change_nothing():
    plain = select(EVIDENCE, tolerance=1e-10)
    shifted = select(EVIDENCE[::-1] + 100 * np.arange(12)[:, None], tolerance=1e-10)
    turned = select(EVIDENCE[:, ::-1], tolerance=1e-10)
    for name in ("frequency", "exceedance", "protected"):
        np.testing.assert_allclose(getattr(shifted, name), getattr(plain, name), atol=1e-7)
        np.testing.assert_allclose(getattr(turned, name)[::-1], getattr(plain, name), atol=1e-7)
    np.testing.assert_allclose([shifted.chance, turned.chance], plain.chance, atol=1e-7)


def test_protected_lies_between_the_exceedance_and_chance():
    found = select(EVIDENCE)
    assert 0 < found.chance < 1
    np.testing.assert_allclose(found.protected, (1 - found.chance) * found.exceedance + found.chance / 3)
    np.testing.assert_allclose(found.protected.sum(), 1)


def test_fixed_effects_multiply_the_units():
    log_p = fixed_effects(EVIDENCE)
    expected = np.exp(EVIDENCE.sum(0) - EVIDENCE.sum(0).max())
    np.testing.assert_allclose(np.exp(log_p), expected / expected.sum())
    assert fixed_effects(np.array([[0.0, -np.inf]]))[1] == -np.inf


def test_bic():
    np.testing.assert_allclose(bic_log_evidence(-10.0, 2, 100), -10 - np.log(100))
    assert bic_log_evidence(-2.0, 0, 4) == -2


@pytest.mark.parametrize(
    ("evidence", "options", "told"),
    [
        (np.zeros((0, 2)), {}, "at least one unit"),
        (np.array([[0.0, np.nan]]), {}, "unit 0 under model 1 is nan"),
        (np.array([[0.0, 0.0], [-np.inf, -np.inf]]), {}, "unit 1 is impossible under every model"),
        (np.zeros((2, 2)), {"prior": 0.0}, "prior=0.0"),
    ],
)
def test_what_is_no_evidence_is_told(evidence, options, told):
    with pytest.raises(ValueError, match=told):
        select(evidence, **options)


def test_other_errors():
    with pytest.raises(RuntimeError, match="no convergence"):
        select(EVIDENCE, max_steps=1)
    with pytest.raises(ValueError, match="above 0"):
        exceedance(np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="none can have made all"):
        fixed_effects(np.array([[0.0, -np.inf], [-np.inf, 0.0]]))
    with pytest.raises(ValueError, match="observations=0"):
        bic_log_evidence(0.0, 1, 0)
