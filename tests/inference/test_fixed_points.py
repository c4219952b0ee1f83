"""Damped iteration against golden numbers, linear algebra and the closed form of permutations."""

import json

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from otherminds.inference import fixed_points

quick = settings(deadline=None, max_examples=25)
STATIC = {"H": (0.5, 0.25, 0.25), "N": (0.167, 0.5, 0.333), "C": (0.0, 1.0, 0.0)}
SHIFT = {"X": 1, "Y": 2, "Z": 0}  # a move is the other's last one plus so much
REACTIVE = [a + b for a in SHIFT for b in SHIFT]
cycle_average = jax.jit(fixed_points.cycle_average)


def answers(name, other):
    """The distribution of a player's moves when the other's are distributed as `other`."""
    return jnp.array(STATIC[name], other.dtype) if name in STATIC else jnp.roll(other, SHIFT[name])


def solve(pair, start, damping, tolerance, max_steps):
    return fixed_points.iterate(
        lambda x: (answers(pair[0], x[1]), answers(pair[1], x[0])), start, damping, tolerance, max_steps
    )


def as_one_permutation(pair):
    """The joint map on (s1, s2) as f(x)[i] = x[permutation[i]]."""
    first = 3 + (np.arange(3) - SHIFT[pair[0]]) % 3
    return jnp.array(np.concatenate([first, (np.arange(3) - SHIFT[pair[1]]) % 3]))


START = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.5, 0.3])


def test_golden_runs_stop_where_and_when_they_did(shared):
    runs = json.loads((shared / "golden/rps/fixed_point_derived.json").read_text())["runs"]
    with jax.enable_x64(True):
        start = tuple(map(jnp.array, START))
        for pair in {name.split("|")[0] for name in runs}:
            run = jax.jit(lambda damping, pair=pair: solve(pair, start, damping, 1e-4, 1000))
            for damping in (0.3, 0.5, 0.7, 1.0):
                golden = runs[f"{pair}|alpha={damping}"]
                solution = run(damping)
                np.testing.assert_allclose(solution.point, (golden["s1"], golden["s2"]), atol=1e-12, err_msg=pair)
                np.testing.assert_allclose(solution.change, golden["final_l1"], atol=1e-12, err_msg=pair)
                assert solution.steps == golden["iters"] and solution.converged == golden["converged"], (pair, damping)


def test_golden_code_never_leaves_the_uniform_start(shared):
    pairs = json.loads((shared / "golden/rps/fixed_point_code.json").read_text())["pairs"]
    assert set(pairs) == set(REACTIVE)
    with jax.enable_x64(True):
        uniform = jnp.full(3, 1 / 3)
        for pair, golden in pairs.items():
            solution = solve(pair, (uniform, uniform), 0.7, 0.0, 50)
            expected = [list(golden[s].values()) for s in ("s1", "s2")]
            np.testing.assert_allclose(solution.point, expected, atol=1e-15)
            assert solution.steps == 50 and not solution.converged  # the code has no test of tolerance
            assert solve(pair, (uniform, uniform), 0.7, 1e-4, 50).steps == 1


@pytest.mark.parametrize("pair", REACTIVE)
def test_reactive_pairs_end_at_the_average_of_each_cycle(pair):
    with jax.enable_x64(True):
        solution = solve(pair, tuple(map(jnp.array, START)), 0.7, 1e-13, 1000)
        closed = cycle_average(as_one_permutation(pair), jnp.concatenate(START))
    assert solution.converged
    np.testing.assert_allclose(np.concatenate(solution.point), closed, atol=1e-12)
    if (SHIFT[pair[0]] + SHIFT[pair[1]]) % 3:  # all six entries form one cycle
        np.testing.assert_allclose(closed, 1 / 3, rtol=1e-15)
    else:
        assert np.abs(np.asarray(closed) - 1 / 3).max() > 0.05


@given(st.integers(1, 12).flatmap(lambda n: st.permutations(range(n))), st.integers(0, 10**6))
@quick
def test_cycle_average_is_the_projection_and_the_walk_around(permutation, seed):
    x = np.random.default_rng(seed).normal(size=len(permutation))
    expected = np.empty_like(x)
    for i in range(len(x)):
        cycle, j = [i], permutation[i]
        while j != i:
            cycle.append(j)
            j = permutation[j]
        expected[i] = x[cycle].mean()
    with jax.enable_x64(True):
        ours = np.asarray(cycle_average(jnp.array(permutation), jnp.array(x)))
    np.testing.assert_allclose(ours, expected, atol=1e-14)
    step = np.eye(len(x))[list(permutation)]
    projection = np.linalg.matrix_power((np.eye(len(x)) + step) / 2, 2**12)
    np.testing.assert_allclose(ours, projection @ x, atol=1e-9)


def test_a_contraction_ends_at_the_solution_of_its_equations():
    rng = np.random.default_rng(0)
    matrix, shift = rng.normal(size=(4, 4)) / 5, rng.normal(size=4)
    with jax.enable_x64(True):
        solution = fixed_points.iterate(lambda x: jnp.array(matrix) @ x + shift, jnp.zeros(4), 0.8, 1e-12)
    assert solution.converged and float(solution.change) < 1e-12
    np.testing.assert_allclose(solution.point, np.linalg.solve(np.eye(4) - matrix, shift), rtol=1e-10)


def test_a_start_of_whole_numbers_moves_by_fractions_too():
    found = fixed_points.iterate(lambda x: 0.5 * x + 1, jnp.array([0, 4]), 0.5, 1e-5, 200)
    np.testing.assert_allclose(found.point, 2, atol=1e-4)
    assert found.converged


def test_what_runs_away_has_not_converged():
    with np.errstate(all="ignore"):
        solution = fixed_points.iterate(lambda x: 1e30 * (x + 1), jnp.ones(2), 1.0, 1e-6, 40)
    assert not solution.converged and solution.steps == 40


def test_jit_is_eager_vmap_a_loop_and_float32_near_float64():
    dampings, starts = jnp.array([0.3, 0.7, 1.0]), jnp.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [1.0, 0.0, 0.0]])

    def run(damping, start):
        return fixed_points.iterate(lambda x: jnp.roll(x, 1), start, damping, 1e-4, 200)

    batch = jax.jit(jax.vmap(run))(dampings, starts)
    for i in range(3):
        alone = run(dampings[i], starts[i])
        jax.tree.map(lambda a, b, i=i: np.testing.assert_allclose(a[i], b, atol=1e-6), batch, alone)
    np.testing.assert_array_equal(batch.converged, [True, True, False])
    np.testing.assert_allclose(batch.point[:2], 1 / 3, atol=1e-4)
    averages = jax.vmap(cycle_average)(jnp.array([[1, 2, 0], [1, 0, 2]]), starts[:2])
    np.testing.assert_allclose(averages, [[1 / 3] * 3, [0.35, 0.35, 0.3]], atol=1e-7)


def test_gradients():
    """Of the closed form in the start; of the iteration, forward, in a parameter."""
    permutation = jnp.array([1, 0, 2])
    jacobian = jax.jacrev(lambda x: cycle_average(permutation, x))(jnp.zeros(3))
    np.testing.assert_allclose(jacobian, [[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]], atol=1e-7)

    def solved(a):
        return fixed_points.iterate(lambda x: a * x + 1, jnp.zeros(()), 0.9, 1e-12).point

    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.jacfwd(solved)(0.5), 1 / (1 - 0.5) ** 2, rtol=1e-8)


def test_what_cannot_be_is_named():
    for damping in (0.0, 1.5, np.nan):
        with pytest.raises(ValueError, match="damping"):
            fixed_points.iterate(lambda x: x, jnp.zeros(2), damping)
    with pytest.raises(ValueError, match="max_steps=0"):
        fixed_points.iterate(lambda x: x, jnp.zeros(2), 0.5, max_steps=0)
    with pytest.raises(ValueError, match="lacks index 1"):
        fixed_points.cycle_average(jnp.array([0, 0, 2]), jnp.zeros(3))
