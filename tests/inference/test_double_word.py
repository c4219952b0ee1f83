"""Sums and products of double words against exact rationals."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.inference import double_word
from otherminds.inference.double_word import DoubleWord


def exact(x: DoubleWord):
    return [Fraction(float(h)) + Fraction(float(w)) for h, w in zip(x.high, x.low, strict=True)]


def numbers(seed, count=300):
    rng = np.random.default_rng(seed)
    wide = rng.normal(size=count) * 10.0 ** rng.uniform(-3, 9, count)
    high = wide.astype(np.float32)
    return DoubleWord(jnp.asarray(high), jnp.asarray((wide - high).astype(np.float32)))


def worst(values, expected, sizes):
    return max(float(abs(v - e) / s) for v, e, s in zip(values, expected, sizes, strict=True))


@pytest.mark.parametrize("transform", [jax.jit, lambda f: f], ids=["jit", "eager"])
def test_sum_and_product_have_46_bits(transform):
    x, y = numbers(0), numbers(1)
    total = exact(transform(double_word.add)(x, y))
    sizes = [abs(a) + abs(b) for a, b in zip(exact(x), exact(y), strict=True)]
    assert worst(total, [a + b for a, b in zip(exact(x), exact(y), strict=True)], sizes) < 2.0**-46
    product = exact(transform(double_word.multiply)(x, y.high))
    expected = [a * Fraction(float(b)) for a, b in zip(exact(x), y.high, strict=True)]
    assert worst(product, expected, [abs(e) for e in expected]) < 2.0**-46


def test_a_small_difference_of_large_numbers_survives():
    x = double_word.add(double_word.from_float(jnp.float32(1e8)), double_word.from_float(jnp.float32(1 / 3)))
    back = double_word.add(x, double_word.negate(double_word.from_float(jnp.float32(1e8))))
    assert float(double_word.to_float(back)) == np.float32(1 / 3)


def test_infinities_stay_and_gradients_flow_through_the_high_word():
    x = double_word.from_float(jnp.array([-jnp.inf, 2.0]))
    assert double_word.to_float(double_word.add(x, x)).tolist() == [-np.inf, 4.0]
    assert double_word.to_float(double_word.multiply(x, jnp.array([3.0, 3.0]))).tolist() == [-np.inf, 6.0]

    def f(a, b):
        x = double_word.multiply(double_word.add(double_word.from_float(a), double_word.from_float(b)), b)
        return double_word.to_float(x)

    assert jax.grad(f, (0, 1))(2.0, 3.0) == (3.0, 8.0)
