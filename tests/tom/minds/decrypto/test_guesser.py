import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.decrypto.rules import CODES, Role, View
from otherminds.tom.minds.decrypto.baseline import GuesserParams, baseline_interceptor
from otherminds.tom.minds.decrypto.guesser import Choice, choose, code_scores, grid_log_total, grid_score
from otherminds.tom.minds.decrypto.literal import LiteralParams, literal_decoder

K = 3
SCORES = jax.random.normal(jax.random.key(0), (3, K, 4)) * 3
USED = jnp.zeros(24, bool).at[jnp.array([0, 5, 17])].set(True)


def enumerated(scale):
    """[24, K^3] the score of every code for every combination, summed in a loop."""
    scores = scale * np.asarray(SCORES, np.float64)
    return np.array(
        [[sum(scores[i, hint[i], code[i]] for i in range(3)) for hint in np.ndindex(K, K, K)] for code in CODES]
    )


@pytest.mark.parametrize("scale", [0.0, 1.0, 50.0, 1000.0])
def test_grid_total_and_score_equal_enumeration(scale):
    scores = enumerated(scale)
    possible = ~np.asarray(USED)
    top = scores[possible].max(0)
    expected = np.log(np.exp(scores[possible] - top).sum(0)) + top
    np.testing.assert_allclose(grid_log_total(scale * SCORES, ~USED), expected, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(grid_score(scale * SCORES, jnp.int32(7)), scores[7], rtol=1e-5, atol=1e-5)


def test_the_gradient_through_barred_codes_is_finite_and_right():
    with jax.enable_x64(True):
        scores = jnp.asarray(np.asarray(SCORES), jnp.float64)
        slope = jax.grad(lambda x: grid_log_total(x, ~USED)[5])(scores)
        assert np.isfinite(np.asarray(slope)).all()
        step = 1e-6
        for place in [(0, 0, 1), (1, 1, 2), (2, 2, 0)]:
            up, down = (grid_log_total(scores.at[place].add(sign * step), ~USED)[5] for sign in (1, -1))
            np.testing.assert_allclose(slope[place], (up - down) / (2 * step), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("lapse", [0.0, 0.1])
def test_a_nested_soft_guesser_is_its_own_policy(small_lexicon, lapse):
    """What an encoder computes for K^3 combinations at once is what the guesser does with each of them."""
    guesser = literal_decoder(rule="softmax")
    params = LiteralParams(small_lexicon, 12.0, Choice(0.7, lapse))
    words = jnp.array([[10, 11, 12], [13, 14, 15], [16, 17, 18]])
    keywords = jnp.arange(4)
    grid = guesser.grid_log_p(params, guesser.slot_scores(params, keywords, words), jnp.int32(9), USED)
    for place, index in enumerate(np.ndindex(K, K, K)):
        hints = jnp.array([words[i, index[i]] for i in range(3)])
        own = guesser.guess_log_p(params, keywords, hints, USED)[9]
        np.testing.assert_allclose(grid[place], own, rtol=1e-4, atol=1e-5)
    used = guesser.grid_log_p(params, guesser.slot_scores(params, keywords, words), jnp.int32(5), USED)
    np.testing.assert_allclose(np.exp(used), lapse / 24, atol=1e-6)  # a used code is guessed by a lapse only


@pytest.mark.parametrize("assignment", ["global", "greedy"])
def test_a_nested_hard_guesser_is_its_policy_in_the_limit(small_lexicon, assignment):
    guesser = baseline_interceptor(assignment=assignment)
    params = GuesserParams(small_lexicon, Choice(sharpness=1e5))
    belief = guesser.init(params, None, View(jnp.int32(Role.INTERCEPTOR), jnp.full(4, -1)))
    belief = belief + small_lexicon.vectors[20:24]
    words = jnp.array([[10, 11, 12], [13, 14, 15], [16, 17, 18]])
    scores = guesser.slot_scores(params, belief, words)
    grids = np.exp([guesser.grid_log_p(params, scores, jnp.int32(code), USED) for code in range(24)])
    for place, index in enumerate(np.ndindex(K, K, K)):
        hints = jnp.array([words[i, index[i]] for i in range(3)])
        own = np.exp(guesser.guess_log_p(params, belief, hints, USED))
        np.testing.assert_allclose(grids[:, place], own, atol=0.05)  # near ties are shared


def test_argmax_takes_the_first_of_equal_codes():
    everything = jnp.ones(24, bool)
    assert jnp.argmax(choose(jnp.zeros(24), Choice(), "argmax", everything)) == 0
    assert jnp.argmax(choose(jnp.zeros(24), Choice(), "argmax", everything.at[0].set(False))) == 1
    np.testing.assert_allclose(
        np.exp(choose(jnp.zeros(24), Choice(lapse=0.24), "argmax", everything))[3], 0.01, rtol=1e-6
    )


def test_code_scores_adds_the_slot_of_each_position():
    scores = jnp.arange(12.0).reshape(3, 4)
    code = 13
    expected = sum(float(scores[i, CODES[code, i]]) for i in range(3))
    assert code_scores(scores)[code] == expected


def test_an_unknown_rule_is_refused():
    with pytest.raises(ValueError, match="'softmax' or 'argmax'"):
        literal_decoder(rule="random")


@pytest.mark.parametrize("lapse", [0.0, pytest.param(0.1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("sharpness", [10.0, pytest.param(1000.0, marks=pytest.mark.slow)])
def test_a_nested_hard_guesser_has_finite_gradients(small_lexicon, lapse, sharpness):
    """Also where the code is so improbable that its probability is 0 in float32."""
    guesser = literal_decoder(rule="argmax")
    words = jnp.array([[10, 11, 12], [13, 14, 15], [16, 17, 18]])

    def total(sharpness, lapse):
        params = LiteralParams(small_lexicon, 12.0, Choice(1.0, lapse, sharpness))
        log_p = guesser.grid_log_p(params, guesser.slot_scores(params, jnp.arange(4), words), jnp.int32(9), USED)
        return jnp.where(jnp.isfinite(log_p), log_p, 0.0).sum()

    slopes = jax.grad(total, (0, 1))(sharpness, lapse)
    assert np.isfinite(slopes).all()
