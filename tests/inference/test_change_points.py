"""Change-point detection against every segmentation, written out with closed-form marginal likelihoods."""

import itertools
from math import lgamma

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from otherminds.inference import change_points

quick = settings(deadline=None, max_examples=25)
TURNS, CONTEXTS, ACTIONS = 6, 2, 3
filter_ = jax.jit(change_points.filter, static_argnames="runs")
CONCENTRATION = np.array([[1.0, 0.5, 2.0], [0.3, 0.3, 0.3]])
some_actions = hnp.arrays(np.int32, TURNS, elements=st.integers(-1, ACTIONS - 1))
some_contexts = hnp.arrays(np.int32, TURNS, elements=st.integers(0, CONTEXTS - 1))


def log_marginal(actions, contexts, concentration):
    """log P of a segment: a Dirichlet-multinomial for each context. Source: gamma functions, not predictions."""
    total = 0.0
    for c, prior in enumerate(concentration):
        counts = [sum(a == k and d == c for a, d in zip(actions, contexts, strict=True)) for k in range(len(prior))]
        total += lgamma(sum(prior)) - lgamma(sum(prior) + sum(counts))
        total += sum(lgamma(p + n) - lgamma(p) for p, n in zip(prior, counts, strict=True))
    return total


def by_run_length(actions, contexts, concentration, hazard):
    """P(run length, all the data) of the last observation: the sum over every segmentation."""
    steps = len(actions)
    joint = np.zeros(steps)
    for changes in itertools.product([False, True], repeat=steps - 1):
        starts = [0, *(t + 1 for t, change in enumerate(changes) if change), steps]
        p = np.prod([hazard if change else 1 - hazard for change in changes])
        for start, end in itertools.pairwise(starts):
            p *= np.exp(log_marginal(actions[start:end], contexts[start:end], concentration))
        joint[steps - 1 - starts[-2]] += p
    return joint


@given(some_actions, some_contexts, st.sampled_from([0.0, 0.02, 0.3, 1.0]))
@quick
def test_it_is_every_segmentation_written_out(actions, contexts, hazard):
    with jax.enable_x64(True):
        trace = filter_(jnp.array(actions), jnp.array(CONCENTRATION), jnp.array(hazard), jnp.array(contexts))
        trace = jax.tree.map(np.asarray, trace)
    before = 1.0
    for t in range(TURNS):
        joint = by_run_length(actions[: t + 1], contexts[: t + 1], CONCENTRATION, hazard)
        np.testing.assert_allclose(np.exp(trace.log_run[t, : t + 1]), joint / joint.sum(), atol=1e-12)
        np.testing.assert_array_equal(trace.log_run[t, t + 1 :], -np.inf)
        np.testing.assert_allclose(trace.log_evidence[t], np.log(joint.sum() / before), atol=1e-11)
        for action in range(ACTIONS):
            would_be = by_run_length([*actions[:t], action], contexts[: t + 1], CONCENTRATION, hazard).sum()
            np.testing.assert_allclose(np.exp(trace.log_predictive[t, action]), would_be / before, atol=1e-12)
        before = joint.sum()


@pytest.mark.parametrize("runs", [1, 3, 6])
def test_a_merged_tail_predicts_with_probabilities_and_its_evidence_is_proper(runs):
    """The evidence of every sequence sums to 1."""
    sequences = jnp.array(list(itertools.product(range(2), repeat=6)), jnp.int32)
    with jax.enable_x64(True):
        concentration = jnp.array([[0.4, 1.5]])
        trace = jax.vmap(lambda a: filter_(a, concentration, 0.2, runs=runs))(sequences)
        np.testing.assert_allclose(jnp.exp(trace.log_evidence.sum(1)).sum(), 1, rtol=1e-12)
        np.testing.assert_allclose(jnp.exp(trace.log_predictive).sum(-1), 1, rtol=1e-12)
        np.testing.assert_allclose(jnp.exp(trace.log_run).sum(-1), 1, rtol=1e-12)


def changing(seed=0, steps=120):
    """A player whose habits change every 40 rounds."""
    rng = np.random.default_rng(seed)
    policies = np.repeat(rng.dirichlet(np.ones(3) * 0.5, 3), steps // 3, 0)
    return jnp.array([rng.choice(3, p=p) for p in policies], jnp.int32)


def test_the_error_of_a_merged_tail_shrinks_with_the_run_lengths_told_apart():
    actions, concentration = changing(), jnp.full((1, 3), 0.5)
    exact = filter_(actions, concentration, 0.02)
    errors = []
    for runs in (10, 60):
        trace = filter_(actions, concentration, 0.02, runs=runs)
        errors.append(float(jnp.abs(jnp.exp(trace.log_predictive) - jnp.exp(exact.log_predictive)).max()))
    assert 0 < errors[1] < 0.01 and 0.02 < errors[0] < 0.3, errors


def test_with_one_run_length_counts_fade():
    actions = changing(steps=30)
    counts, expected = np.zeros(3), []
    for action in np.asarray(actions):
        counts *= 0.9 if expected else 1
        expected.append((counts + 0.5) / (counts.sum() + 1.5))
        counts[action] += 1
    trace = filter_(actions, jnp.full((1, 3), 0.5), 0.1, runs=1)
    np.testing.assert_allclose(np.exp(trace.log_predictive), expected, rtol=1e-5)


def test_it_finds_a_change():
    actions = jnp.array([0] * 30 + [2] * 10, jnp.int32)
    trace = filter_(actions, jnp.full((1, 3), 0.5), 0.02)
    np.testing.assert_array_equal(jnp.argmax(trace.log_run[34:], 1), np.arange(4, 10))
    assert trace.log_predictive[-1, 2] > jnp.log(0.8)


def test_without_hazard_it_counts():
    actions = changing()
    trace = filter_(actions, jnp.full((1, 3), 0.5), 0.0)
    counts = np.cumsum(np.eye(3)[np.asarray(actions)], 0) - np.eye(3)[np.asarray(actions)]
    expected = (counts + 0.5) / (counts.sum(1, keepdims=True) + 1.5)
    np.testing.assert_allclose(np.exp(trace.log_predictive), expected, rtol=1e-4)
    np.testing.assert_array_equal(np.exp(trace.log_run), np.eye(120))
    # Where every hypothesis is the same one, a merged tail is exact.
    np.testing.assert_allclose(
        filter_(actions, jnp.full((1, 3), 0.5), 0.0, runs=3).log_predictive, trace.log_predictive, atol=1e-5
    )


def test_at_hazard_one_nothing_is_learned():
    trace = filter_(changing(), jnp.array([[0.5, 1.0, 0.5]]), 1.0)
    np.testing.assert_allclose(np.exp(trace.log_predictive), np.tile([0.25, 0.5, 0.25], (120, 1)), rtol=1e-6)


@given(some_actions, some_contexts, hnp.arrays(bool, TURNS), st.sampled_from([-7, 0, 99]))
@quick
def test_padding_changes_nothing(actions, contexts, valid, filling):
    concentration, places = jnp.array(CONCENTRATION, jnp.float32), np.flatnonzero(valid)
    padded = [jnp.array(np.where(valid, x, filling)) for x in (actions, contexts)]
    trace = filter_(padded[0], concentration, jnp.float32(0.2), padded[1], jnp.array(valid))
    front = np.concatenate([places, np.flatnonzero(~valid)])
    shorter = filter_(
        jnp.array(actions[front]),
        concentration,
        jnp.float32(0.2),
        jnp.array(contexts[front]),
        jnp.array(valid[front]),
    )
    for name in trace._fields:
        ours, theirs = np.asarray(getattr(trace, name)), np.asarray(getattr(shorter, name))
        np.testing.assert_array_equal(ours[valid], theirs[: places.size], err_msg=name)
    np.testing.assert_array_equal(np.asarray(trace.log_evidence)[~valid], 0)


def test_renaming_actions_and_contexts_renames_the_answer():
    rng = np.random.default_rng(1)
    actions, contexts = rng.integers(0, 3, 30), rng.integers(0, 2, 30)
    order = np.array([2, 0, 1])  # new action k is old action order[k]
    as_is = filter_(jnp.array(actions), jnp.array(CONCENTRATION), 0.1, jnp.array(contexts))
    renamed = filter_(
        jnp.array(np.argsort(order)[actions]), jnp.array(CONCENTRATION[::-1][:, order]), 0.1, jnp.array(1 - contexts)
    )
    np.testing.assert_allclose(renamed.log_predictive, as_is.log_predictive[:, order], atol=1e-5)
    np.testing.assert_allclose(renamed.log_run, as_is.log_run, atol=1e-4)


@pytest.mark.slow
def test_jit_is_eager_vmap_a_loop_and_the_steps_one_by_one_are_the_scan():
    rng = np.random.default_rng(2)
    actions = jnp.array(rng.integers(-1, 3, (3, 8)), jnp.int32)
    contexts = jnp.array(rng.integers(0, 2, (3, 8)), jnp.int32)
    hazards, concentration = jnp.array([0.0, 0.1, 0.9]), jnp.array(CONCENTRATION, jnp.float32)
    batch = jax.jit(jax.vmap(lambda a, h, c: change_points.filter(a, concentration, h, c)))(actions, hazards, contexts)
    for i in range(3):
        alone = filter_(actions[i], concentration, hazards[i], contexts[i])
        jax.tree.map(lambda a, b, i=i: np.testing.assert_allclose(a[i], b, atol=1e-5), batch, alone)
    eager = change_points.filter(actions[1], concentration, hazards[1], contexts[1])
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a[1], b, atol=1e-5), batch, eager)
    advance, predictive, observe = map(
        jax.jit, (change_points.advance, change_points.log_predictive, change_points.observe)
    )
    segments = change_points.begin(concentration, 8)
    for t in range(8):
        if t > 0:
            segments = advance(segments, hazards[1])
        prediction = predictive(segments, concentration, contexts[1, t])
        segments, log_evidence = observe(segments, concentration, contexts[1, t], actions[1, t])
        np.testing.assert_allclose(prediction, batch.log_predictive[1, t], atol=1e-5)
        np.testing.assert_allclose(segments.log_run, batch.log_run[1, t], atol=1e-4)
        np.testing.assert_allclose(log_evidence, batch.log_evidence[1, t], atol=1e-5)


def test_an_action_that_is_never_taken_is_impossible():
    trace = filter_(jnp.array([0, 1, 0]), jnp.array([[1.0, 0.0]]), 0.1)
    np.testing.assert_allclose(trace.log_predictive[:2], [[0, -np.inf]] * 2, atol=1e-6)
    np.testing.assert_array_equal(trace.log_evidence, [0, -np.inf, -np.inf])
    np.testing.assert_array_equal(trace.log_run[1:], -np.inf)


def test_gradients_are_finite_differences_with_a_merged_tail():
    rng = np.random.default_rng(3)
    actions, contexts = jnp.array(rng.integers(0, 3, 12)), jnp.array(rng.integers(0, 2, 12))

    def log_evidence(hazard, concentration):
        return change_points.filter(actions, concentration, hazard, contexts, runs=4).log_evidence.sum()

    value, gradient = jax.jit(log_evidence), jax.jit(jax.grad(log_evidence, (0, 1)))
    with jax.enable_x64(True):
        concentration = jnp.array(CONCENTRATION)
        d_hazard, d_concentration = gradient(0.15, concentration)
        numeric = (value(0.15 + 1e-6, concentration) - value(0.15 - 1e-6, concentration)) / 2e-6
        np.testing.assert_allclose(d_hazard, numeric, rtol=1e-6)
        for index in np.ndindex(CONCENTRATION.shape):
            step = jnp.zeros(CONCENTRATION.shape).at[index].set(1e-6)
            numeric = (value(0.15, concentration + step) - value(0.15, concentration - step)) / 2e-6
            np.testing.assert_allclose(d_concentration[index], numeric, rtol=1e-5, atol=1e-8)
    single = gradient(jnp.float32(0.15), jnp.array(CONCENTRATION, jnp.float32))
    np.testing.assert_allclose(single[0], d_hazard, rtol=1e-3)
    np.testing.assert_allclose(single[1], d_concentration, rtol=1e-3, atol=1e-4)
    for hazard in (0.0, 1.0):
        ends = gradient(jnp.float32(hazard), jnp.array([[1.0, 0.5, 0.0], [1.0, 1.0, 1.0]], jnp.float32))
        assert all(np.isfinite(x).all() for x in ends)


def test_what_cannot_be_is_named():
    actions, concentration = jnp.array([0, 2, 1]), jnp.full((2, 3), 1.0)
    with pytest.raises(ValueError, match=r"hazard=1\.5"):
        change_points.filter(actions, concentration, 1.5)
    with pytest.raises(ValueError, match="action 1 is 2: 0 to 1, or negative"):
        change_points.filter(actions, concentration[:, :2], 0.1)
    with pytest.raises(ValueError, match=r"context 0 is -1: 0 to 1$"):
        change_points.filter(actions, concentration, 0.1, jnp.array([-1, 0, 0]))
    with pytest.raises(ValueError, match="runs=0"):
        change_points.filter(actions, concentration, 0.1, runs=0)
    with pytest.raises(ValueError, match=r"concentration\[1\]"):
        change_points.begin(concentration.at[1].set(0.0), 3)
