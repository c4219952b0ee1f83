"""Numbers kept as the exact sum of two floats, for log-potentials that grow large while their differences stay small.

A float32 pair has about 48 significant bits. Gradients flow through the high word alone; the low word corrects values.
Source: Dekker (1971); Knuth, The Art of Computer Programming, vol. 2, 4.2.2.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class DoubleWord(NamedTuple):
    """high + low, where low is at most half a unit in the last place of high."""

    high: Float[Array, "*shape"]
    low: Float[Array, "*shape"]


def from_float(x: Float[Array, "*shape"]) -> DoubleWord:
    """x with a low word of 0."""
    return DoubleWord(x, jnp.zeros_like(x))


def to_float(x: DoubleWord) -> Float[Array, "*shape"]:
    """high + low, rounded."""
    return x.high + x.low


def negate(x: DoubleWord) -> DoubleWord:
    """-x."""
    return DoubleWord(-x.high, -x.low)


def add(x: DoubleWord, y: DoubleWord) -> DoubleWord:
    """x + y; arrays broadcast. An infinite sum has a low word of 0."""
    total = x.high + y.high
    of_y = total - x.high
    error = (x.high - (total - of_y)) + (y.high - of_y)
    return _renormalized(total, error + (x.low + y.low))


def multiply(x: DoubleWord, factor: Float[Array, "..."]) -> DoubleWord:
    """x times a plain float; arrays broadcast. An infinite product has a low word of 0."""
    product = factor * x.high
    x_top, x_rest = _halves(x.high)
    factor_top, factor_rest = _halves(factor)
    # products of halves are exact, whatever the compiler fuses
    error = ((factor_top * x_top - product) + factor_top * x_rest + factor_rest * x_top) + factor_rest * x_rest
    return _renormalized(product, error + factor * x.low)


def _renormalized(high: Array, low: Array) -> DoubleWord:
    low = jax.lax.stop_gradient(jnp.where(jnp.isfinite(high), low, 0.0))
    total = high + low
    return DoubleWord(total, jax.lax.stop_gradient(jnp.where(jnp.isfinite(high), low - (total - high), 0.0)))


def _halves(x: Array) -> tuple[Array, Array]:
    """x as the exact sum of its upper and lower significant bits."""
    x = jax.lax.stop_gradient(x)
    kind, mask = {4: (jnp.uint32, 0xFFFFF000), 8: (jnp.uint64, 0xFFFFFFFFF8000000)}[x.dtype.itemsize]
    top = jax.lax.bitcast_convert_type(jax.lax.bitcast_convert_type(x, kind) & kind(mask), x.dtype)
    return top, x - top
