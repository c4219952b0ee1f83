"""Chunks of a batch: the same results whatever their size, and exactly as many as were asked for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.inference import devices
from otherminds.inference.devices import map_chunks


@jax.jit
def draw(indices):
    """Something random of every index, as a pytree."""
    keys = jax.vmap(lambda i: jax.random.fold_in(jax.random.key(3), i))(indices)
    return {"index": indices, "pair": jax.vmap(lambda key: jax.random.uniform(key, (2,)))(keys)}


@pytest.mark.parametrize("count", [1, 10])
@pytest.mark.parametrize("chunk", [1, 3, 10, 64, None])
def test_the_chunk_size_changes_nothing(count, chunk):
    result = map_chunks(draw, count, chunk=chunk)
    whole = draw(jnp.arange(count, dtype=jnp.int32))
    assert isinstance(result["pair"], np.ndarray)
    np.testing.assert_array_equal(result["index"], np.arange(count))
    np.testing.assert_array_equal(result["pair"], whole["pair"])


@pytest.mark.parametrize("count, chunk", [(1, 1), (10, 3), (9, 3), (4, 100), (1000, None)])
def test_progress_adds_up_to_the_count(count, chunk):
    seen = []
    map_chunks(jax.jit(lambda i: i), count, chunk=chunk, progress=seen.append)
    assert sum(seen) == count
    assert min(seen) > 0


def test_it_is_called_with_full_chunks_only_so_that_it_compiles_once():
    shapes = []

    def trace(indices):
        shapes.append(indices.shape)
        return indices

    result = map_chunks(jax.jit(trace), 10, chunk=4)
    assert shapes == [(4,)]
    np.testing.assert_array_equal(result, np.arange(10))


@pytest.mark.parametrize("count, chunk", [(0, None), (-1, 4), (5, 0), (5, -2)])
def test_counts_below_one_are_refused(count, chunk):
    with pytest.raises(ValueError, match="at least 1"):
        map_chunks(draw, count, chunk=chunk)


def test_every_chunk_computes_in_the_callers_precision():
    with jax.enable_x64(True):
        result = map_chunks(jax.jit(lambda i: 1 / (3.0 + i)), 8, chunk=2)
    assert result.dtype == np.float64
    np.testing.assert_allclose(result, 1 / (3.0 + np.arange(8)), rtol=1e-15)


def test_an_error_in_a_later_chunk_reaches_the_caller():
    def fail(indices):
        if indices[0] > 0:
            raise RuntimeError("chunk")
        return indices

    with pytest.raises(RuntimeError, match="chunk"):
        map_chunks(fail, 6, chunk=2)


def test_defaults_suit_the_device():
    assert devices.default_chunk() >= 1
    assert devices.workers() >= 1
