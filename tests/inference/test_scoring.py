"""Scores of predicted distributions, written out in NumPy."""

import json

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from otherminds.games.protocol import NO_ANSWER
from otherminds.inference import scoring

quick = settings(deadline=None, max_examples=30)
weights = hnp.arrays(np.float64, (3, 5), elements=st.sampled_from([0.0, 1e-9, 0.1, 1.0, 2.0]))
with_lapse = jax.jit(scoring.with_lapse)
calibration = jax.jit(scoring.calibration, static_argnames="bins")
union_loss, prequential = jax.jit(scoring.union_loss), jax.jit(scoring.prequential)
identification_rate = jax.jit(scoring.identification_rate)
POINTS = np.array([1.0, 0.0, -1.0])  # win, draw, loss


def log(p):
    with np.errstate(divide="ignore"):
        return np.log(p)


def rows(weights):
    weights = weights + np.eye(3, 5)  # some action in every row
    return weights / weights.sum(1, keepdims=True)


@given(weights, hnp.arrays(bool, (3, 5)), st.sampled_from([0.0, 1e-6, 0.3, 1.0]))
@quick
def test_lapse_mixes_with_uniform_legal_actions(weights, legal, lapse):
    legal = legal | np.eye(3, 5, dtype=bool)
    p = rows(weights * legal)
    expected = (1 - lapse) * p + lapse * legal / legal.sum(1, keepdims=True)
    with jax.enable_x64(True):
        mixed = np.asarray(with_lapse(jnp.array(log(p)), lapse, jnp.array(legal)))
    np.testing.assert_allclose(np.exp(mixed), expected, atol=1e-14)
    np.testing.assert_array_equal(np.isneginf(mixed), expected == 0)
    np.testing.assert_allclose(np.exp(mixed).sum(1), 1, rtol=1e-12)


def test_lapse_without_a_mask_reaches_every_action():
    log_p = jnp.array([0.0, -jnp.inf, -jnp.inf, -jnp.inf])
    np.testing.assert_allclose(np.exp(with_lapse(log_p, 0.4)), [0.7, 0.1, 0.1, 0.1], rtol=1e-6)
    np.testing.assert_allclose(np.exp(with_lapse(log_p, 1.0)), 0.25, rtol=1e-6)


def test_no_lapse_keeps_tiny_probabilities():
    log_p = jnp.array([0.0, -300.0])  # e^-300 is no float32
    np.testing.assert_array_equal(scoring.with_lapse(log_p, 0.0), log_p)
    np.testing.assert_array_equal(with_lapse(log_p, jnp.float32(0)), log_p)


def test_a_lapse_a_row():
    log_p = jnp.array([[0.0, -jnp.inf]] * 3)
    mixed = with_lapse(log_p, jnp.array([0.0, 0.5, 1.0]))
    np.testing.assert_allclose(np.exp(mixed), [[1, 0], [0.75, 0.25], [0.5, 0.5]], rtol=1e-6)


@pytest.mark.parametrize("lapse", [1e-3, 0.2, 0.999])
def test_gradients_of_a_lapsing_policy_are_finite_differences(lapse):
    logits = np.array([0.3, -1.0, -np.inf, -90.0, -95.0, -300.0])  # the last three leave float32
    legal = np.array([True, True, False, True, True, True])

    def score(lapse, logits):
        log_p = scoring.with_lapse(jax.nn.log_softmax(logits), lapse, jnp.array(legal))
        return jnp.sum(jnp.where(jnp.array(legal), log_p, 0.0))

    gradient, value = jax.jit(jax.grad(score, (0, 1))), jax.jit(score)
    with jax.enable_x64(True):
        d_lapse, d_logits = gradient(lapse, jnp.array(logits))
        step = 1e-7
        numeric = (value(lapse + step, jnp.array(logits)) - value(lapse - step, jnp.array(logits))) / (2 * step)
        np.testing.assert_allclose(d_lapse, numeric, rtol=1e-5)
        for i in np.flatnonzero(np.isfinite(logits)):
            step = np.zeros_like(logits)
            step[i] = 1e-6
            numeric = (value(lapse, jnp.array(logits + step)) - value(lapse, jnp.array(logits - step))) / 2e-6
            np.testing.assert_allclose(d_logits[i], numeric, atol=1e-7)
    single = gradient(jnp.float32(lapse), jnp.array(logits, jnp.float32))
    np.testing.assert_allclose(single[0], d_lapse, rtol=1e-4)
    np.testing.assert_allclose(single[1], d_logits, atol=1e-4)


def test_gradient_without_a_lapse_passes_the_policy_through():
    log_p = jnp.array([-0.1, -50.0, -87.0, -90.0, -103.0, -300.0, -jnp.inf])
    gradient = jax.jit(jax.jacobian(lambda x: scoring.with_lapse(x, 0.0)))(log_p)
    np.testing.assert_array_equal(gradient, np.eye(7))


def test_log_score_and_regret_by_lookup():
    p = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7], [0.1, 0.2, 0.7], [1.0, 0.0, 0.0]])
    action = jnp.array([2, 2, 0, NO_ANSWER])
    log_p = jnp.array(log(p), jnp.float32)
    np.testing.assert_allclose(scoring.log_score(log_p, action), log([0, 0.7, 0.1, 0]), rtol=1e-6)
    np.testing.assert_allclose(scoring.regret(log_p, action), [np.inf, 0, np.log(7), np.inf], rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(scoring.log_score)(log_p, action), scoring.log_score(log_p, action))


@given(weights, hnp.arrays(np.int32, 3, elements=st.integers(-1, 4)))
@quick
def test_brier_is_the_squared_distance_from_what_happened(weights, action):
    p = rows(weights)
    expected = [sum((p[i, a] - (a == action[i])) ** 2 for a in range(5)) for i in range(3)]
    scored = scoring.brier(jnp.array(log(p), jnp.float32), jnp.array(action))
    np.testing.assert_allclose(scored, expected, atol=1e-6)
    assert (np.asarray(scored) <= 2 + 1e-6).all()


def test_where_nothing_is_possible_the_regret_is_infinite():
    assert scoring.regret(jnp.full(3, -jnp.inf), jnp.int32(1)) == jnp.inf


def test_a_failed_answer_never_scores():
    log_p = jnp.array([[0.0, -jnp.inf], [-jnp.inf, 0.0]])
    failed = jnp.array([NO_ANSWER, NO_ANSWER])
    np.testing.assert_array_equal(scoring.log_score(log_p, failed), -np.inf)
    np.testing.assert_array_equal(scoring.brier(log_p, failed), 1)


@given(
    hnp.arrays(np.float64, 12, elements=st.sampled_from([0.0, 0.05, 0.1, 0.25, 0.3, 0.55, 0.999, 1.0])),
    hnp.arrays(bool, 12),
)
@quick
def test_calibration_by_binning(p, hit):
    bins = np.minimum((np.float32(p) * np.float32(10)).astype(int), 9)
    result = jax.tree.map(np.asarray, calibration(jnp.array(p, jnp.float32), jnp.array(hit)))
    error = 0.0
    for b in range(10):
        inside = bins == b
        assert result.count[b] == inside.sum()
        if inside.any():
            np.testing.assert_allclose(result.mean_predicted[b], p[inside].mean(), rtol=1e-5)
            np.testing.assert_allclose(result.frequency[b], hit[inside].mean(), rtol=1e-5)
            error += abs(p[inside].mean() - hit[inside].mean()) * inside.sum() / 12
        else:
            assert np.isnan(result.mean_predicted[b]) and np.isnan(result.frequency[b])
    np.testing.assert_allclose(result.error, error, atol=1e-5)


def test_calibration_of_what_is_calibrated_and_of_what_is_not():
    p = jnp.array([0.25] * 8 + [0.75] * 8)
    hit = jnp.array(([True] * 2 + [False] * 6) + ([True] * 6 + [False] * 2))
    np.testing.assert_allclose(calibration(p, hit, bins=4).error, 0, atol=1e-6)
    np.testing.assert_allclose(calibration(p, ~hit, bins=4).error, 0.5, rtol=1e-6)
    assert calibration(p, hit, bins=4).count.sum() == 16


# One step ahead


@given(weights, hnp.arrays(np.int32, 3, elements=st.integers(-1, 4)), hnp.arrays(bool, 3))
@quick
def test_prequential_score_is_the_log_of_what_was_predicted(weights, action, valid):
    p = rows(weights)
    score = [log(p[t, action[t]] if action[t] >= 0 else 0.0) * 1.0 if valid[t] else 0.0 for t in range(3)]
    action = np.where(valid, action, 99)  # padding is never looked up
    ours = jax.tree.map(
        np.asarray, prequential(jnp.array(log(p), jnp.float32), jnp.array(action, jnp.int32), jnp.array(valid))
    )
    np.testing.assert_allclose(ours.log_score, score, rtol=1e-5)
    np.testing.assert_allclose(ours.cumulative, np.cumsum(score), rtol=1e-5)
    np.testing.assert_allclose(ours.mean, np.sum(score) / valid.sum() if valid.any() else np.nan, rtol=1e-5)


def test_the_last_cumulated_score_of_a_mixture_is_its_log_evidence():
    rng = np.random.default_rng(0)
    policies, actions = rng.dirichlet(np.ones(3), 4), rng.integers(0, 3, 6)  # 4 hypotheses, each one policy
    joint = np.cumprod(policies[:, actions].T, 0) / 4  # [t, h]
    belief = np.vstack([np.full(4, 0.25), joint[:-1] / joint[:-1].sum(1, keepdims=True)])
    score = prequential(jnp.array(log(belief @ policies), jnp.float32), jnp.array(actions, jnp.int32))
    np.testing.assert_allclose(score.cumulative, log(joint.sum(1)), rtol=1e-5)


# Distributions against distributions


@pytest.fixture(scope="module")
def triples(shared):
    """Chances of win, draw and loss of every pair of strategies, as the golden code has them."""
    cells = json.loads((shared / "golden/rps/matchups.json").read_text())["cells"]
    return {
        a + b: np.array([cell["wins"], cell["draws"], cell["losses"]]) / 100
        for a, row in cells.items()
        for b, cell in row.items()
    }


def test_golden_squared_distances_and_value_losses(shared, triples):
    golden = json.loads((shared / "golden/rps/losses.json").read_text())["rows"]
    with jax.enable_x64(True):
        for row in golden:
            pair = [jnp.array(log(triples[row[side]])) for side in ("pred", "true")]
            np.testing.assert_allclose(scoring.squared_distance(*pair), row["brier"], atol=1e-12)
            np.testing.assert_allclose(scoring.value_loss(*pair, jnp.array(POINTS)), row["ev_loss"], atol=1e-12)
    assert len(golden) == 13


def test_the_truth_is_the_best_prediction_among_all_pairs(triples):
    """Of the 361 pairs, those with the truth's chances, and no others, have a loss of 0."""
    with jax.enable_x64(True):
        p = np.stack(list(triples.values()))
        log_p = jnp.array(log(p))
        losses = np.asarray(union_loss(log_p[:, None], log_p[None, :], jnp.array(POINTS)))
    distance = np.abs(p[:, None] - p[None, :]).max(-1)
    np.testing.assert_allclose(losses[distance < 1e-9], 0, atol=1e-15)
    assert (losses >= distance**2 / 6 - 1e-15).all() and losses.max() <= 1 + 1e-12
    np.testing.assert_allclose(losses, losses.T, atol=1e-12)


@given(weights, weights, st.sampled_from([np.arange(5.0), np.array([3.0, -1, 0, 0, 2])]))
@quick
def test_union_loss_written_out(predicted, true, values):
    p, q = rows(predicted), rows(true)
    expected = []
    for a, b in zip(p, q, strict=True):
        middle = (a + b) / 2
        halves = [sum(x * np.log(x / m) for x, m in zip(side, middle, strict=True) if x > 0) for side in (a, b)]
        value = (sum(a * values) - sum(b * values)) ** 2 / (values.max() - values.min()) ** 2
        expected.append((sum(halves) / 2 / np.log(2) + sum((a - b) ** 2) / 2 + value) / 3)
    with jax.enable_x64(True):
        ours = np.asarray(union_loss(jnp.array(log(p)), jnp.array(log(q)), jnp.array(values)))
    np.testing.assert_allclose(ours, expected, atol=1e-12)
    single = union_loss(*(jnp.array(x, jnp.float32) for x in (log(p), log(q), values)))
    np.testing.assert_allclose(single, expected, atol=1e-6)
    assert (np.asarray(single) > -1e-6).all() and (np.asarray(single) < 1 + 1e-6).all()


def test_union_loss_at_its_ends():
    win, draw, loss = jnp.array(log(np.eye(3)), jnp.float32)
    values = jnp.array(POINTS, jnp.float32)
    np.testing.assert_array_equal([scoring.union_loss(x, x, values) for x in (win, draw, loss)], 0)
    np.testing.assert_allclose(scoring.union_loss(win, loss, values), 1, rtol=1e-6)
    np.testing.assert_allclose(scoring.union_loss(win, draw, values), (1 + 1 + 0.25) / 3, rtol=1e-6)
    with pytest.raises(ValueError, match=r"all 1\.0"):
        scoring.union_loss(win, loss, jnp.ones(3))


def test_gradient_of_the_union_loss_is_a_finite_difference():
    logits, true = np.array([2.0, -1.0, -np.inf]), log([0.3, 0.0, 0.7])

    def loss(logits):
        rest = jnp.array(true, logits.dtype), jnp.array(POINTS, logits.dtype)
        return scoring.union_loss(jax.nn.log_softmax(logits), *rest)

    value, gradient = jax.jit(loss), jax.jit(jax.grad(loss))
    with jax.enable_x64(True):
        exact = np.asarray(gradient(jnp.array(logits)))
        for i in (0, 1):
            step = 1e-6 * np.eye(3)[i]
            numeric = (value(jnp.array(logits + step)) - value(jnp.array(logits - step))) / 2e-6
            np.testing.assert_allclose(exact[i], numeric, atol=1e-8)
        at_truth = gradient(jnp.array(true))
    assert exact[2] == 0 and np.abs(exact).max() > 0.01
    np.testing.assert_allclose(at_truth, 0, atol=1e-12)
    np.testing.assert_allclose(gradient(jnp.array(logits, jnp.float32)), exact, atol=1e-5)


# Identification


def test_identification_counts_rounds_and_shares_ties():
    log_posterior = jnp.array(
        log([[0.7, 0.2, 0.1], [0.4, 0.4, 0.2], [0.1, 0.8, 0.1], [1 / 3] * 3, [0.0, 0.0, 0.0]]), jnp.float32
    )
    np.testing.assert_allclose(identification_rate(log_posterior, 0), (1 + 1 / 2 + 0 + 1 / 3 + 0) / 5, rtol=1e-6)
    np.testing.assert_allclose(identification_rate(log_posterior, 1), (0 + 1 / 2 + 1 + 1 / 3 + 0) / 5, rtol=1e-6)
    changing = jnp.array([0, 0, 1, 2, 2])
    np.testing.assert_allclose(identification_rate(log_posterior, changing), (1 + 1 / 2 + 1 + 1 / 3) / 5, rtol=1e-6)
    after_warm_up = jnp.array([False, False, True, True, False])
    padded = log_posterior.at[4].set(jnp.nan)
    np.testing.assert_allclose(identification_rate(padded, 1, after_warm_up), (1 + 1 / 3) / 2, rtol=1e-6)
    assert np.isnan(identification_rate(padded, 1)) and np.isnan(identification_rate(padded, 1, jnp.zeros(5, bool)))
    np.testing.assert_allclose(
        jax.vmap(identification_rate)(jnp.stack([log_posterior] * 2), jnp.array([0, 1])), [11 / 30, 11 / 30], rtol=1e-6
    )
    with pytest.raises(ValueError, match="0 to 2"):
        scoring.identification_rate(log_posterior, 3)
