"""Recorded scores as a mind, against plain arithmetic."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.tom.minds.reference.stated import StatedParams, stated

ALL = jnp.ones((3, 4), bool)
SCORES = np.array([[-1.0, -2.5, -0.5], [-30.0, -31.0, -45.0]])


def policy(params, actions=ALL):
    return np.exp(np.asarray(stated().log_policy(params, (), None, actions), float))


@pytest.mark.parametrize("alpha", [0.0, 0.7, 1.0, 5.0])
def test_scores_are_sharpened_averaged_and_mixed(alpha):
    powers = np.exp(alpha * (SCORES - SCORES.max(1, keepdims=True)))
    mean = (powers / powers.sum(1, keepdims=True)).mean(0)
    with jax.enable_x64(True):
        found = policy(StatedParams(jnp.asarray(SCORES), alpha, 0.2))
    assert found == pytest.approx(0.8 * mean + 0.2 / 3, abs=1e-12)


def test_a_constant_added_to_scores_changes_nothing():
    one, other = (policy(StatedParams(jnp.asarray(SCORES[:1] + shift, jnp.float32), 2.0)) for shift in (0.0, -100.0))
    assert one == pytest.approx(other, abs=1e-4)


def test_kinds_without_options_have_no_share():
    actions = ALL.at[1].set(False)
    found = policy(StatedParams(jnp.asarray(SCORES[:1], jnp.float32), 1.0, 0.2), actions)
    left = np.exp(SCORES[0, [0, 2]])
    assert found == pytest.approx([0.8 * left[0] / left.sum() + 0.1, 0.0, 0.8 * left[1] / left.sum() + 0.1], abs=1e-6)


def test_a_slip_lets_alpha_act_on_what_is_nobodys_best():
    shares = jnp.log(jnp.array([[0.9, 0.1, 0.0]]))
    assert policy(StatedParams(shares, 0.5))[2] == 0.0
    powers = (np.array([0.9, 0.1, 0.0]) + 1e-7) ** 0.5
    assert policy(StatedParams(shares, 0.5, slip=1e-7)) == pytest.approx(powers / powers.sum(), rel=1e-4)


def test_it_does_not_play():
    with pytest.raises(NotImplementedError, match="do not play"):
        stated().sample(jax.random.key(0), StatedParams(jnp.zeros((1, 3))), (), None)
    assert stated().init(None, None, None) == ()
