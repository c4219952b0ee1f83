"""What is kept in one precision is not given out in another."""

import jax
import jax.numpy as jnp
import pytest

from otherminds.inference.precision import cached


@cached
def table(size, *, start=0):
    """Some floats."""
    return jnp.arange(start, start + size, dtype=float)


def test_each_precision_has_its_own():
    with jax.enable_x64(True):
        assert table(3).dtype == jnp.float64 and table(3) is table(3)
    assert table(3).dtype == jnp.float32 and table(3) is table(3)
    assert table(3, start=1) is not table(3) and table(3, start=1)[0] == 1
    assert table.__doc__ == "Some floats."


def test_errors_are_not_kept():
    calls = []

    @cached
    def fails_once():
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("not yet")
        return len(calls)

    with pytest.raises(ValueError):
        fails_once()
    assert fails_once() == 2 == fails_once()
