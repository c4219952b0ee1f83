"""Permutation tests against every arrangement, and bootstrap intervals against scipy and their coverage."""

import itertools

import jax
import numpy as np
import pytest
from scipy import stats

from otherminds.inference import resampling, scoring

KEY = jax.random.key(0)
SIDES = ("two-sided", "greater", "less")


def by_counting(arrangements, observed, alternative):
    """p by its definition; a hair of slack for sums in another order."""
    greater = np.mean(arrangements >= observed - 1e-12)
    less = np.mean(arrangements <= observed + 1e-12)
    return {"greater": greater, "less": less, "two-sided": min(1, 2 * min(greater, less))}[alternative]


@pytest.mark.parametrize("alternative", SIDES)
@pytest.mark.parametrize("values", [[0.3, -0.1, 0.4, 0.2, 0.6], [1.0, 1.0, -1.0, 1.0, 0.0, 0.0], [0.0, 0.0]])
def test_every_sign_is_counted_where_units_are_few(values, alternative):
    difference = np.array(values)
    means = [np.mean(difference * signs) for signs in itertools.product([1, -1], repeat=len(values))]
    found = resampling.paired_test(KEY, difference, alternative)
    np.testing.assert_allclose(found.p_value, by_counting(np.array(means), difference.mean(), alternative), rtol=1e-12)
    np.testing.assert_allclose(found.difference, difference.mean())
    assert found.exact
    assert found == resampling.paired_test(jax.random.key(1), difference, alternative)


@pytest.mark.parametrize("alternative", SIDES)
def test_every_dealing_is_counted_where_units_are_few(alternative):
    first, second = np.array([0.5, 0.9, 0.7, 0.5]), np.array([0.4, 0.5, 0.1])
    pool = np.concatenate([first, second])
    differences = []
    for chosen in itertools.combinations(range(7), 4):
        inside = np.isin(np.arange(7), chosen)
        differences.append(pool[inside].mean() - pool[~inside].mean())
    found = resampling.two_sample_test(KEY, first, second, alternative)
    expected = by_counting(np.array(differences), first.mean() - second.mean(), alternative)
    np.testing.assert_allclose(found.p_value, expected, rtol=1e-12)
    assert found.exact and np.isclose(found.difference, 0.65 - 1 / 3)


def test_drawn_arrangements_come_near_the_count_of_all():
    rng = np.random.default_rng(0)
    difference = rng.normal(0.3, 1, 12)
    exact = resampling.paired_test(KEY, difference, count=2**12)
    drawn = resampling.paired_test(KEY, difference, count=2**12 - 1)
    assert exact.exact and not drawn.exact
    assert exact.p_value != drawn.p_value and abs(exact.p_value - drawn.p_value) < 0.03
    first, second = rng.normal(size=7), rng.normal(0.5, 1, 8)
    exact = resampling.two_sample_test(KEY, first, second, count=6435)  # 15 choose 7
    drawn = resampling.two_sample_test(KEY, first, second, count=6434)
    assert exact.exact and not drawn.exact
    assert exact.p_value != drawn.p_value and abs(exact.p_value - drawn.p_value) < 0.03


def test_a_drawn_p_value_is_never_zero():
    found = resampling.paired_test(KEY, np.full(40, 1.0), "greater", count=99)
    assert found.p_value == 0.01 and not found.exact


def test_the_key_decides():
    difference = np.random.default_rng(1).normal(0.2, 1, 30)
    again = [resampling.paired_test(key, difference, count=499).p_value for key in (KEY, KEY, jax.random.key(1))]
    assert again[0] == again[1] != again[2]
    intervals = [resampling.bootstrap(key, difference, count=499).low for key in (KEY, KEY, jax.random.key(1))]
    assert intervals[0] == intervals[1] != intervals[2]
    assert resampling.bootstrap(jax.random.PRNGKey(0), difference, count=499).low == intervals[0]


def test_columns_are_tested_one_by_one():
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(6, 2)), rng.normal(1, 1, size=(5, 2))
    paired, two = resampling.paired_test(KEY, first), resampling.two_sample_test(KEY, first, second)
    interval = resampling.bootstrap(KEY, first)
    assert paired.p_value.shape == two.p_value.shape == interval.low.shape == (2,)
    for c in range(2):
        np.testing.assert_allclose(paired.p_value[c], resampling.paired_test(KEY, first[:, c]).p_value)
        alone = resampling.two_sample_test(KEY, first[:, c], second[:, c])
        np.testing.assert_allclose(two.p_value[c], alone.p_value)
        np.testing.assert_allclose(interval.low[c], resampling.bootstrap(KEY, first[:, c]).low, atol=0.1)


def test_p_values_are_uniform_where_nothing_differs():
    rng = np.random.default_rng(3)
    p = resampling.paired_test(KEY, rng.normal(size=(9, 2000)), "greater").p_value
    for level in (0.05, 0.25, 0.5):
        assert abs(np.mean(p <= level) - level) < 4 * np.sqrt(level * (1 - level) / 2000)


def test_bootstrap_is_scipys_and_near_the_closed_form():
    x = np.random.default_rng(4).normal(0.6, 0.2, 60)
    ours = resampling.bootstrap(KEY, x)
    theirs = stats.bootstrap((x,), np.mean, n_resamples=9999, rng=np.random.default_rng(5)).confidence_interval
    np.testing.assert_allclose((ours.low, ours.high), theirs, atol=0.005)
    half = stats.norm.ppf(0.975) * x.std() / np.sqrt(60)
    np.testing.assert_allclose((ours.low, ours.high), (x.mean() - half, x.mean() + half), atol=0.01)
    assert ours.units == 60 and ours.mean == x.mean()
    narrow = resampling.bootstrap(KEY, x, mass=0.5)
    assert ours.low < narrow.low < ours.mean < narrow.high < ours.high


def test_bootstrap_covers_the_mean_of_skewed_units():
    """Of 300 samples of 30 units, about 95% of the intervals hold the mean (4 standard errors: 5%)."""
    units = np.random.default_rng(6).beta(2, 6, (30, 300))
    interval = resampling.bootstrap(KEY, units, count=999)
    covered = np.mean((interval.low <= 0.25) & (interval.high >= 0.25))
    assert 0.89 < covered < 1, covered


def test_units_that_are_all_equal_have_an_interval_of_no_width():
    x = np.stack([np.ones(8), np.linspace(0, 1, 8)], 1)
    interval = resampling.bootstrap(KEY, x)
    assert interval.low[0] == interval.high[0] == 1
    assert 0 < interval.low[1] < 0.5 < interval.high[1] < 1
    assert resampling.bootstrap(KEY, np.zeros(3)).high == 0


def test_matches_are_the_units_of_an_identification_rate():
    """Rounds taken for units would make the interval too narrow by far: within a match they are all alike."""
    rng = np.random.default_rng(7)
    log_posterior = np.log(np.where(rng.random((20, 1, 1)) < 0.5, [[0.9, 0.1]], [[0.1, 0.9]]) * np.ones((20, 50, 1)))
    rates = jax.vmap(lambda x: scoring.identification_rate(x, 0))(jax.numpy.array(log_posterior, np.float32))
    by_match = resampling.bootstrap(KEY, rates)
    by_round = resampling.bootstrap(KEY, np.repeat(np.asarray(rates), 50))
    assert by_match.units == 20 and by_match.high - by_match.low > 5 * (by_round.high - by_round.low)


def test_unit_means_weigh_matches_not_rounds():
    x = np.array([[1.0, 1.0, 1.0], [0.0, np.nan, np.nan]])
    valid = ~np.isnan(x)
    np.testing.assert_array_equal(resampling.unit_means(x, valid), [1, 0])
    np.testing.assert_array_equal(resampling.unit_means(x[:1]), [1])
    with pytest.raises(ValueError, match="unit 1 has no round"):
        resampling.unit_means(x, valid & [[True], [False]])


def test_what_cannot_be_is_named():
    with pytest.raises(ValueError, match="difference has 1 units"):
        resampling.paired_test(KEY, np.ones(1))
    with pytest.raises(ValueError, match="second of unit 2 is not finite"):
        resampling.two_sample_test(KEY, np.ones(3), np.array([1, 2, -np.inf]))
    with pytest.raises(ValueError, match="count=0"):
        resampling.paired_test(KEY, np.ones(3), count=0)
    with pytest.raises(ValueError, match="mass=95"):
        resampling.bootstrap(KEY, np.ones(3), mass=95)


def test_the_error_of_a_clustered_mean():
    """Clusters of one are the textbook's; equal numbers in a cluster count once; one cluster tells no error."""
    x = np.array([1.0, 2.0, 4.0, 9.0])
    np.testing.assert_allclose(resampling.clustered_mean(x, np.arange(4)), [4.0, x.std(ddof=1) / 2])
    twice = resampling.clustered_mean(np.repeat(x, 2), np.repeat(np.arange(4), 2))
    np.testing.assert_allclose(twice, resampling.clustered_mean(x, np.arange(4)))
    unequal = resampling.clustered_mean(x, np.array([5, 5, 5, 9]))  # sums of residuals -5 and 5
    np.testing.assert_allclose(unequal, [4.0, np.sqrt(2 * 50) / 4])
    assert np.isnan(resampling.clustered_mean(x, np.zeros(4, int))[1])


def test_the_standard_error_of_units():
    x = np.random.default_rng(0).normal(size=(7, 3))
    np.testing.assert_allclose(resampling.standard_error(x), stats.sem(x), rtol=1e-12)
    assert float(resampling.standard_error(np.array([True, False, True]))) == pytest.approx(stats.sem([1, 0, 1]))
    assert np.isnan(resampling.standard_error(x[:1])).all() and np.isnan(resampling.standard_error(np.zeros(0)))
