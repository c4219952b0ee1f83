"""Permutation tests and bootstrap intervals over units, by `scipy.stats`.

A unit is what is independent: a match, a board, a person. Rounds of one match are not, so give one number a unit, the
mean over its rounds (`unit_means`). Runs outside jit. What follows the first axis (several observers, say) is tested
column by column with the same draws. scipy.stats is imported where it is used: it takes a second.
"""

import warnings
from typing import Literal, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, UInt32

Alternative = Literal["two-sided", "greater", "less"]
SomeKey = Key[Array, ""] | UInt32[Array, "2"]
Numbers = Float[Array, "N *C"] | Float[np.ndarray, "N *C"]
OtherNumbers = Float[Array, "M *C"] | Float[np.ndarray, "M *C"]


class PermutationTest(NamedTuple):
    """What a permutation test found."""

    difference: Float[np.ndarray, "*C"]  # observed, in units of the data
    p_value: Float[np.ndarray, "*C"]
    exact: bool  # every arrangement was counted; else `count` of them were drawn, and p is at least 1 / (count + 1)


class Interval(NamedTuple):
    """A mean over units and where it may lie."""

    mean: Float[np.ndarray, "*C"]
    low: Float[np.ndarray, "*C"]
    high: Float[np.ndarray, "*C"]
    units: int


def unit_means(
    x: Float[Array, "N T"] | Float[np.ndarray, "N T"], valid: Bool[Array, "N T"] | Bool[np.ndarray, "N T"] | None = None
) -> Float[np.ndarray, " N"]:
    """The mean of each unit over the rounds that count, so that every match weighs the same however long it was.

    x: [N, T], a row a unit.   valid: [N, T], False for padding; default all.
    Raises: ValueError for a unit without a round that counts.
    """
    x = np.asarray(x)
    valid = np.ones(x.shape, bool) if valid is None else np.asarray(valid)
    rounds = valid.sum(1)
    if (rounds == 0).any():
        raise ValueError(f"unit {int((rounds == 0).argmax())} has no round that counts: leave it out")
    return np.where(valid, x, 0).sum(1) / rounds


def standard_error(x: Float[np.ndarray, "N *C"] | Int[np.ndarray, "N *C"] | Bool[np.ndarray, "N *C"]) -> np.ndarray:
    """[*C] The standard error of the mean over units, s / sqrt(N); NaN for fewer than 2.

    x: [N, ...], one number a unit.
    """
    x = np.asarray(x)
    return np.asarray(x.std(0, ddof=1) / np.sqrt(len(x)) if len(x) > 1 else np.full(x.shape[1:], np.nan))


def clustered_mean(
    x: Float[Array, " N"] | Float[np.ndarray, " N"], cluster: Int[Array, " N"] | Int[np.ndarray, " N"]
) -> tuple[float, float]:
    """The mean, and its standard error where only clusters are independent.

    s² = G/(G-1) sum_g (sum_{i in g} (x_i - mean))² / N² over G clusters; NaN for fewer than 2.
    x: [N].   cluster: [N] which one each belongs to.
    Source: Liang & Zeger (1986), with the usual G/(G-1) for few clusters.
    """
    x, (_, place) = np.asarray(x, float), np.unique(np.asarray(cluster), return_inverse=True)
    if not len(x):
        return np.nan, np.nan
    count, mean = int(place.max()) + 1, float(x.mean())
    if count < 2:
        return mean, np.nan
    sums = np.bincount(place, x - mean)
    return mean, float(np.sqrt(count / (count - 1) * (sums**2).sum()) / len(x))


def paired_test(
    key: SomeKey, difference: Numbers, alternative: Alternative = "two-sided", count: int = 9999
) -> PermutationTest:
    """P(mean of +- difference at least as extreme as observed), each sign + or - with probability 1/2.

    difference: [N, *C], one number a unit: of two observers on the same matches, say. The hypothesis tested is that
        the two are exchangeable within a unit.
    alternative: "greater" tests for a mean above 0. Two-sided: twice the smaller side, at most 1.
    count: arrangements drawn; where 2^N <= count all of them are counted instead, and the key does not matter.
    Raises: ValueError for fewer than 2 units, numbers that are not finite, or count < 1.
    Source: Fisher (1935); drawn p-values count the observed arrangement, Phipson & Smyth (2010).
    """
    difference = _checked("difference", difference)
    found = _permute(key, (difference,), _mean, "samples", alternative, count)
    return PermutationTest(difference.mean(0), np.asarray(found.pvalue), 2 ** len(difference) <= count)


def two_sample_test(
    key: SomeKey, first: Numbers, second: OtherNumbers, alternative: Alternative = "two-sided", count: int = 9999
) -> PermutationTest:
    """P(mean(first) - mean(second) at least as extreme as observed) when the units are dealt out anew.

    first, second: [N, *C] and [M, *C], one number a unit, of different units. Arguments, errors and source as for
    `paired_test`; where (N + M choose N) <= count all are counted.
    """
    from scipy.special import comb

    first, second = _checked("first", first), _checked("second", second)
    found = _permute(key, (first, second), _difference_of_means, "independent", alternative, count)
    arrangements = comb(len(first) + len(second), len(first))
    return PermutationTest(first.mean(0) - second.mean(0), np.asarray(found.pvalue), bool(arrangements <= count))


def bootstrap(key: SomeKey, x: Numbers, mass: float = 0.95, count: int = 9999) -> Interval:
    """The bias-corrected and accelerated (BCa) bootstrap interval of the mean over units.

    x: [N, *C], one number a unit; for the difference of two observers on the same units, their difference.
    mass: of the interval, between 0 and 1.   count: samples of N units drawn with replacement.
    Returns: an Interval; where all units have the same number it is that number, which says nothing about others.
    Raises: ValueError for fewer than 2 units, numbers that are not finite, a mass outside 0 to 1, or count < 1.
    Source: Efron (1987). With few units it is too narrow: 95% intervals for 10, 15, 30 and 60 units from Beta(2, 6)
        held the mean in 91, 92, 95 and 95 of 100 samples.
    """
    from scipy import stats

    x = _checked("x", x)
    _check_count(count)
    if not 0 < mass < 1:
        raise ValueError(f"mass={mass}: between 0 and 1")
    mean, constant = x.mean(0), np.ptp(x, axis=0) == 0
    with warnings.catch_warnings():
        # Where all units are equal there is no interval to correct; that is answered below.
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = stats.bootstrap(
                (x,),
                _mean,
                n_resamples=count,
                axis=0,
                confidence_level=mass,
                vectorized=True,
                method="BCa",
                batch=_batch(x),
                rng=_generator(key),
            ).confidence_interval
    low, high = (np.where(constant, mean, bound) for bound in found)
    return Interval(mean, low, high, len(x))


def _mean(x, axis):
    return np.mean(x, axis=axis)


def _difference_of_means(x, y, axis):
    return np.mean(x, axis=axis) - np.mean(y, axis=axis)


def _permute(key, data, statistic, kind, alternative, count):
    from scipy import stats

    _check_count(count)
    return stats.permutation_test(
        data,
        statistic,
        permutation_type=kind,
        vectorized=True,
        n_resamples=count,
        alternative=alternative,
        axis=0,
        batch=_batch(*data),
        rng=_generator(key),
    )


def _generator(key: SomeKey) -> np.random.Generator:
    """NumPy's generator, seeded with the words of a JAX key."""
    return np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())


def _batch(*data: np.ndarray) -> int:
    """Arrangements at once: about 80 MB of them."""
    return max(1, 10**7 // sum(x.size for x in data))


def _checked(name: str, x) -> np.ndarray:
    x = np.asarray(x, np.float64)
    if len(x) < 2:
        raise ValueError(f"{name} has {len(x)} units: at least 2 are needed")
    if not np.isfinite(x).all():
        raise ValueError(f"{name} of unit {np.argwhere(~np.isfinite(x))[0, 0]} is not finite")
    return x


def _check_count(count: int) -> None:
    if count < 1:
        raise ValueError(f"count={count}: at least 1")
