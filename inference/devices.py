"""Run a batch function over any number of cases in bounded memory, on all cores or on a GPU."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def default_chunk() -> int:
    """Cases computed at once: enough to fill the device, small enough for its caches and its memory."""
    return 512 if jax.default_backend() == "cpu" else 65_536


def workers() -> int:
    """Chunks in flight at once: one a core on a CPU (a jitted call lets go of the interpreter), else one."""
    return (os.cpu_count() or 1) if jax.default_backend() == "cpu" else 1


def map_chunks(
    function: Callable[[jax.Array], Any],
    count: int,
    *,
    chunk: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Any:
    """Applies a jitted batch function to the indices 0 to count - 1, chunk by chunk.

    function: [chunk] int32 indices to a pytree of arrays with a leading axis `chunk`. It is always called with
        full chunks, so that it compiles once; what lies past `count` is cut off.
    progress: called with the number of cases after each finished chunk.
    Returns: the pytree with a leading axis `count`, in NumPy arrays.
    Raises: ValueError if count or chunk is less than 1.
    """
    chunk = default_chunk() if chunk is None else chunk
    if count < 1 or chunk < 1:
        raise ValueError(f"count={count}, chunk={chunk}: both must be at least 1")
    chunk = min(chunk, count)
    # Precision and device are settings of a thread: the workers take over the caller's.
    double, device = jax.config.jax_enable_x64, jax.config.jax_default_device

    def compute(start: int) -> Any:
        with jax.enable_x64(double), jax.default_device(device):
            indices = jnp.arange(start, start + chunk, dtype=jnp.int32)
            return jax.tree.map(np.asarray, jax.block_until_ready(function(indices)))

    parts = []
    for start, part in zip(range(0, count, chunk), _in_order(compute, range(0, count, chunk)), strict=True):
        parts.append(part)
        if progress is not None:
            progress(min(chunk, count - start))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:count], *parts)


def _in_order(compute: Callable[[int], Any], starts: range) -> Iterator[Any]:
    """Results of `compute` in order; the first alone, so that compilation happens once."""
    yield compute(starts[0])
    with ThreadPoolExecutor(workers()) as pool:
        yield from pool.map(compute, starts[1:])
