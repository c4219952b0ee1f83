"""Likelihoods on the grid equal those written out, and fits find what made the choices."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from otherminds.tom.experiments.colored_trails.fits import (
    BETAS,
    FLOOR,
    LAPSES,
    best,
    floored,
    held_out,
    lapsing,
    log_choice,
)

LAPSE = np.array([0.05])
UNITS, EACH, SIZE = 12, 25, 6


def drawn(beta, lapse, seed=0):
    """Choices among six values, of which the last stands for padding in every third decision."""
    random = np.random.default_rng(seed)
    values = random.normal(0, 20, (UNITS * EACH, SIZE))
    valid = np.ones(values.shape, bool)
    valid[::3, -1] = False
    values[~valid] = -np.inf
    p = (1 - lapse) * np.exp(log_softmax(np.where(valid, beta * values, -np.inf), 1))
    p += lapse * valid / valid.sum(1, keepdims=True)
    made = np.array([random.choice(SIZE, p=row) for row in p])
    return values.astype(np.float32), valid, made, np.repeat(np.arange(UNITS), EACH)


DATA = drawn(0.1, 0.1)


@pytest.fixture(scope="module")
def log_p():
    values, valid, made, _ = DATA
    return np.asarray(log_choice(values, valid, made, BETAS.astype(np.float32)), float)[None]


UNIT_ROWS = [np.flatnonzero(DATA[3] == n) for n in range(UNITS)]


@pytest.fixture(scope="module")
def tables(log_p):
    """[S, R, B, L] with one lapse, and with every one."""
    return [by_unit(lapsing(log_p, DATA[1].sum(1), each)) for each in (LAPSE, LAPSES)]


def by_unit(table):
    return np.stack([table(rows) for rows in UNIT_ROWS])


def fit(tables, lapses):
    return best(tables.sum(0), lapses)


def written_out(beta, lapse, floor=0.0):
    values, valid, made, unit = DATA
    total = np.zeros(UNITS)
    for value, there, chosen, n in zip(values.astype(float), valid, made, unit, strict=True):
        weight = np.exp(beta * (value[there] - value[there].max()))
        p = weight / weight.sum()
        total[n] += np.log(max((1 - lapse) * p[list(np.flatnonzero(there)).index(chosen)] + lapse / len(p), floor))
    return total


@pytest.mark.parametrize("place", [0, 300, 560, 700])
def test_the_grid_holds_the_likelihood(log_p, tables, place):
    beta, (one, every) = BETAS[place], tables
    close = {"rtol": 1e-4, "atol": 1e-3}
    np.testing.assert_allclose(by_unit(floored(log_p))[:, 0, place, 0], written_out(beta, 0.0, FLOOR), **close)
    np.testing.assert_allclose(one[:, 0, place, 0], written_out(beta, LAPSE[0]), **close)
    np.testing.assert_allclose(every[:, 0, place, 13], written_out(beta, LAPSES[13]), **close)
    np.testing.assert_allclose(every[:, 0, place, 0], log_p[0].reshape(UNITS, EACH, -1).sum(1)[:, place], **close)


def test_no_choice_is_more_than_certain():
    """At the highest beta too, where single precision has no digits left for 500 times 50.3 points."""
    values = np.array([[50.3, 50.3, 49.7, 3.1]], np.float32)
    found = log_choice(values, np.ones((1, 4), bool), np.array([1]), np.array([500.0, 0.3], np.float32))
    expected = [log_softmax(beta * values.astype(float))[0, 1] for beta in (500.0, 0.3)]
    np.testing.assert_allclose(found[0], expected, rtol=1e-5)


def test_the_fit_is_the_maximum(tables):
    found = fit(tables[0], LAPSE)
    exact = minimize_scalar(lambda beta: -written_out(beta, LAPSE[0]).sum(), bounds=(0.0, 2.0), method="bounded")
    assert abs(found.log_likelihood + exact.fun) < 0.01
    assert found.beta == pytest.approx(exact.x, rel=0.03) and found.lapse == LAPSE[0]


def test_the_fit_recovers_what_made_the_choices(tables):
    found = fit(tables[1], LAPSES)
    assert found.beta == pytest.approx(0.1, rel=0.3) and found.lapse == pytest.approx(0.1, abs=0.08)
    assert found.log_likelihood >= fit(tables[0], LAPSE).log_likelihood - 0.05


def held_out_of(log_p, lapses):
    table = lapsing(log_p, DATA[1].sum(1), lapses)
    return held_out(table, UNIT_ROWS, sum(map(table, UNIT_ROWS)))


def test_what_is_held_out_is_scored_at_the_best_point_of_the_others(log_p, tables):
    one = tables[0]
    scores = held_out_of(log_p, LAPSE)
    for s in range(UNITS):
        others = np.delete(one, s, 0).sum(0)
        np.testing.assert_allclose(scores[s], one[s].flat[others.argmax()])
    assert scores.sum() <= fit(one, LAPSE).log_likelihood
    assert held_out_of(log_p, LAPSES).shape == (UNITS,)


def test_a_setting_is_fitted_beside_rationality(log_p):
    """Of two settings, one of which values all moves alike, the one that made the choices is found."""
    alike = np.broadcast_to(-np.log(DATA[1].sum(1))[None, :, None], log_p.shape)
    both = np.concatenate([alike, log_p])
    table = lapsing(both, DATA[1].sum(1), LAPSE)
    found = best(sum(map(table, UNIT_ROWS)), LAPSE)
    assert found.setting == 1 and found[:3] == fit(by_unit(lapsing(log_p, DATA[1].sum(1), LAPSE)), LAPSE)[:3]
    np.testing.assert_allclose(held_out_of(both, LAPSE), held_out_of(log_p, LAPSE))


def test_one_unit_cannot_be_left_out(log_p):
    table = lapsing(log_p, DATA[1].sum(1), LAPSE)
    with pytest.raises(ValueError, match="at least 2"):
        held_out(table, UNIT_ROWS[:1], table(UNIT_ROWS[0]))
