import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.tom.minds.decrypto.survival import log_expected_survival, log_survival


def by_recursion(turns, p_miss, p_catch):
    """V by backward recursion over turns and tokens, the outcomes of a turn written out."""
    value = np.zeros((turns + 1, 4, 4))
    value[0, :2, :2] = 1
    for left in range(1, turns + 1):
        for m in range(2):
            for i in range(2):
                value[left, m, i] = sum(
                    (p_miss if a else 1 - p_miss) * (p_catch if b else 1 - p_catch) * value[left - 1, m + a, i + b]
                    for a in (0, 1)
                    for b in (0, 1)
                )
    return value[turns, :3, :3]


@pytest.mark.parametrize("turns", [0, 1, 2, 7])
@pytest.mark.parametrize("risks", [(0.01, 0.15), (0.3, 0.0), (0.0, 0.5), (0.9, 0.9)])
def test_closed_form_equals_recursion(turns, risks):
    value = np.exp(np.asarray(log_survival(jnp.int32(turns), *risks)))
    np.testing.assert_allclose(value, by_recursion(turns, *risks), atol=1e-6)


def test_a_token_costs_even_when_the_game_forgives_it():
    value = log_survival(jnp.int32(0), 0.1, 0.1, token_cost=0.02)
    np.testing.assert_allclose(value[:2, :2], [[0, -0.02], [-0.02, -0.04]], atol=1e-7)
    assert np.isneginf(value[2]).all() and np.isneginf(value[:, 2]).all()


@pytest.mark.parametrize(("m", "i"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_expected_survival_is_the_sum_over_outcomes(m, i):
    value = log_survival(jnp.int32(4), 0.05, 0.2)
    v = np.exp(np.pad(np.asarray(value), ((0, 1), (0, 1)), constant_values=-np.inf))
    decoded, caught = np.array([0.0, 0.3, 1.0, 0.999]), np.array([0.5, 1.0, 0.0, 0.2])
    expected = (
        decoded * (1 - caught) * v[m, i]
        + (1 - decoded) * (1 - caught) * v[m + 1, i]
        + decoded * caught * v[m, i + 1]
        + (1 - decoded) * caught * v[m + 1, i + 1]
    )
    with np.errstate(divide="ignore"):
        log_p = np.log(decoded), np.log(caught)
        result = log_expected_survival(*map(jnp.asarray, log_p), value, jnp.int32(m), jnp.int32(i))
        np.testing.assert_allclose(result, np.log(expected), rtol=1e-5)


@pytest.mark.parametrize("risk", [0.0, 1e-3, 0.5, 0.999])
@pytest.mark.parametrize("turns", [0, 1, 7])
def test_gradients_are_finite_at_the_edges(turns, risk):
    def total(p_miss, p_catch):
        return jnp.exp(log_survival(jnp.int32(turns), p_miss, p_catch)[:2, :2]).sum()

    assert np.isfinite(jax.grad(total, (0, 1))(risk, risk)).all()
