"""Fixed points x = f(x): by damped iteration, and in closed form where f permutes the entries of x."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from otherminds.inference.switching import check_probability
from otherminds.inference.tracing import known


class Solution(NamedTuple):
    """Where a damped iteration stopped, and why."""

    point: Any  # shaped as the start
    steps: Int[Array, ""]  # taken
    change: Float[Array, ""]  # L1 size of the last step, over all entries; inf if none was taken
    converged: Bool[Array, ""]  # change < tolerance; False where the steps ran out or the point is not finite


def iterate(
    function: Callable[[Any], Any],
    start: Any,
    damping: Float[Array, ""] | float,
    tolerance: Float[Array, ""] | float = 1e-6,
    max_steps: int = 1000,
) -> Solution:
    """x <- (1 - damping) x + damping f(x), until the L1 change of a step is below the tolerance.

    function: maps a point to one of the same shape: an array, or a pytree of arrays whose parts are all computed from
        the old point (Jacobi).
    damping: above 0, to 1. At 1 a linear map that permutes entries cycles for ever; below 1 it converges.
    tolerance: in units of the point, of the change summed over all entries. float32 hardly gets below 1e-6.
    max_steps: at most so many steps; each is one call of f.
    Returns: a Solution. There may be many fixed points: which one is reached depends on the start.
    Raises: ValueError for max_steps < 1, and outside jit for a damping outside 0 to 1 or 0.
    A `while_loop`: gradients forward (jvp), not in reverse.
    """
    if max_steps < 1:
        raise ValueError(f"max_steps={max_steps}: at least 1")
    check_probability("damping", damping)
    if known(damping) and float(damping) == 0:
        raise ValueError("damping=0.0 never moves: above 0, to 1")
    start = jax.tree.map(lambda x: jnp.asarray(x) + 0.0, start)  # whole numbers too can move by a fraction

    def unsettled(solution: Solution) -> Array:
        return ~solution.converged & (solution.steps < max_steps)

    def step(solution: Solution) -> Solution:
        def move(old, new):
            return ((1 - damping) * old + damping * new).astype(old.dtype)

        point = jax.tree.map(move, solution.point, function(solution.point))
        moved = jax.tree.map(lambda new, old: jnp.sum(jnp.abs(new - old)), point, solution.point)
        change = sum(jax.tree.leaves(moved))
        return Solution(point, solution.steps + 1, change, change < tolerance)  # a NaN is never below

    dtype = jnp.result_type(*jax.tree.leaves(start))
    return jax.lax.while_loop(
        unsettled, step, Solution(start, jnp.int32(0), jnp.array(jnp.inf, dtype), jnp.bool_(False))
    )


def cycle_average(permutation: Int[Array, " N"], x: Float[Array, " N"]) -> Float[Array, " N"]:
    """Where `iterate` ends, at any damping below 1, for f(x)[i] = x[permutation[i]]: the average over each cycle.

    f is linear with eigenvalue 1 once for every cycle of the permutation; the other eigenvalues lie on the unit
    circle, so that damping shrinks what belongs to them, and the limit is the projection onto the 1-eigenspace.
    permutation: [N], every index once.   x: [N], the start; for several players, their parts one after the other.
    Returns: [N]; it has the sum of x. The limit is unique, whatever the start (of one sum), only for a single cycle.
    Raises: ValueError outside jit if an index is missing.
    """
    size = len(permutation)
    if known(permutation):
        missing = np.setdiff1d(np.arange(size), np.asarray(permutation))
        if len(missing):
            raise ValueError(
                f"permutation lacks index {missing[0]}: every index from 0 to {size - 1} stands in it once"
            )

    def double(carry, _):
        # `label` is the least index within 2^k steps of the cycle, `jump` goes 2^k steps on.
        label, jump = carry
        return (jnp.minimum(label, label[jump]), jump[jump]), None

    start = jnp.arange(size, dtype=permutation.dtype), permutation
    (label, _), _ = jax.lax.scan(double, start, length=size.bit_length())
    total = jnp.zeros_like(x).at[label].add(x)
    count = jnp.zeros_like(x).at[label].add(1)
    return total[label] / count[label]
