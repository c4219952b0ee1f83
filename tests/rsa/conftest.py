"""What several models' tests check alike."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest


@pytest.fixture
def check_gradients():
    """Gradients are finite, 0 at what is impossible, those of central differences in float64, and near them in float32.

    value, derivative: of the same positional arguments, derivative in all of them.
    arguments: float64, of which infinite entries are not moved.   step: of the differences.
    atol: beside a relative part, of the float64 comparison.
    """

    def check(value, derivative, arguments, step, atol):
        with jax.enable_x64(True):
            exact = [np.asarray(g) for g in derivative(*arguments)]
            for which, (argument, ours) in enumerate(zip(arguments, exact, strict=True)):
                assert np.isfinite(ours).all()
                for index in np.argwhere(np.isfinite(argument)):
                    nudge = np.zeros_like(argument)
                    nudge[tuple(index)] = step
                    moved = [[a + s * nudge if i == which else a for i, a in enumerate(arguments)] for s in (1, -1)]
                    numeric = (value(*moved[0]) - value(*moved[1])) / (2 * nudge.max())
                    tolerance = 1e-5 * np.abs(ours).max() + atol
                    np.testing.assert_allclose(ours[tuple(index)], numeric, rtol=1e-5, atol=tolerance)
                assert (ours[~np.isfinite(argument)] == 0).all()
        single = derivative(*(jnp.array(a, jnp.float32) for a in arguments))
        for ours, theirs in zip(single, exact, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=2e-3 * np.abs(theirs).max() + 1e-5)

    return check
