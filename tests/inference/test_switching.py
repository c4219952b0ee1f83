"""The switching filter and smoother against every path of hypotheses, written out."""

import itertools
import json

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from otherminds.inference import beliefs, switching
from otherminds.inference.switching import Sticky

quick = settings(deadline=None, max_examples=25)
TURNS, HYPOTHESES = 4, 3
likelihoods = hnp.arrays(np.float64, (TURNS, HYPOTHESES), elements=st.sampled_from([0.0, 0.01, 0.2, 0.5, 1.0]))
distributions = hnp.arrays(np.float64, HYPOTHESES, elements=st.sampled_from([0.0, 0.2, 1.0])).filter(lambda p: p.sum())
hazards = st.sampled_from([0.0, 1e-9, 0.1, 0.5, 1.0])
filter_, smoother = jax.jit(switching.filter), jax.jit(switching.smoother)


def log(p):
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(p, np.float64))


def matrix(hazard, redraw):
    return (1 - hazard) * np.eye(len(redraw)) + hazard * np.asarray(redraw)


def every_path(prior, likelihood, transition):
    """P(s_1 .. s_T, e_1 .. e_t), [t, S, .. S]: the joint of every path with the first t observations."""
    turns, hypotheses = likelihood.shape
    joint = np.zeros((turns + 1, *[hypotheses] * turns))
    for path in itertools.product(range(hypotheses), repeat=turns):
        p = prior[path[0]]
        for before, after in itertools.pairwise(path):
            p *= transition[before, after]
        for t in range(turns + 1):
            joint[t][path] = p * np.prod([likelihood[i, path[i]] for i in range(t)])
    return joint


def at(joint, t):
    """The marginal of s_t."""
    return joint.sum(tuple(i for i in range(joint.ndim) if i != t))


def as_rows(unnormalised):
    total = unnormalised.sum()
    return unnormalised / total if total > 0 else np.zeros_like(unnormalised)


def assert_is_the_joint(trace, smoothed, prior, likelihood, transition):
    joint = every_path(prior, likelihood, transition)
    totals = joint.reshape(len(joint), -1).sum(1)
    possible = totals[1:] > 0
    np.testing.assert_array_equal(trace.possible, possible)
    for t in range(len(likelihood)):
        if totals[t] > 0:
            np.testing.assert_allclose(np.exp(trace.log_predicted[t]), as_rows(at(joint[t], t)), atol=1e-12)
            np.testing.assert_allclose(np.exp(trace.log_evidence[t]), totals[t + 1] / totals[t], atol=1e-12)
        np.testing.assert_allclose(np.exp(trace.log_belief[t]), as_rows(at(joint[t + 1], t)), atol=1e-12)
        np.testing.assert_allclose(np.exp(smoothed[t]), as_rows(at(joint[-1], t)), atol=1e-12)
    np.testing.assert_allclose(np.exp(trace.log_evidence.sum()), totals[-1], atol=1e-14)


@given(distributions, likelihoods, hazards, distributions)
@quick
def test_a_sticky_filter_is_every_path_written_out(prior, likelihood, hazard, redraw):
    prior, redraw = as_rows(prior), as_rows(redraw)
    with jax.enable_x64(True):
        arguments = jnp.array(log(prior)), jnp.array(log(likelihood)), Sticky(jnp.array(hazard), jnp.array(log(redraw)))
        trace, smoothed = jax.tree.map(np.asarray, (filter_(*arguments), smoother(*arguments)))
    assert_is_the_joint(trace, smoothed, prior, likelihood, matrix(hazard, redraw))


@given(distributions, likelihoods, hnp.arrays(np.float64, (HYPOTHESES,) * 2, elements=st.sampled_from([0.0, 0.3, 1.0])))
@quick
def test_a_filter_with_a_matrix_is_every_path_written_out(prior, likelihood, weights):
    prior = as_rows(prior)
    transition = (weights + np.roll(np.eye(HYPOTHESES), 1, 1)) / (weights.sum(1, keepdims=True) + 1)
    with jax.enable_x64(True):
        arguments = jnp.array(log(prior)), jnp.array(log(likelihood)), jnp.array(log(transition))
        trace, smoothed = jax.tree.map(np.asarray, (filter_(*arguments), smoother(*arguments)))
    assert_is_the_joint(trace, smoothed, prior, likelihood, transition)


def test_golden_switch_filter(shared):
    golden = json.loads((shared / "golden/rps/switch_filter_derived.json").read_text())
    static = {"D": [0.333, 0.333, 0.334], "H": [0.5, 0.25, 0.25]}
    likelihood = np.empty((len(golden["moves"]), 3))
    for t, (own, _) in enumerate(golden["moves"]):
        for s, code in enumerate(golden["cands"]):
            if code in static:
                likelihood[t, s] = static[code][own]
            else:  # X beats the other's last move
                likelihood[t, s] = 1 / 3 if t == 0 else own == (golden["moves"][t - 1][1] + 1) % 3
    with jax.enable_x64(True):
        uniform = jnp.full(3, -np.log(3.0))
        trace = filter_(uniform, jnp.array(log(likelihood)), Sticky(jnp.array(golden["hazard"]), uniform))
        trace = jax.tree.map(np.asarray, trace)
    np.testing.assert_allclose(np.exp(trace.log_belief), golden["filter"], atol=1e-10)
    np.testing.assert_allclose(trace.log_evidence.sum(), golden["log_evidence"], atol=1e-10)


def some_case(seed=0, turns=5, hypotheses=4):
    rng = np.random.default_rng(seed)
    prior, redraw = rng.dirichlet(np.ones(hypotheses), 2)
    return prior, rng.random((turns, hypotheses)) + 0.05, redraw


def test_without_hazard_it_is_the_plain_filter_and_hindsight_is_the_last_belief():
    prior, likelihood, redraw = some_case()
    arguments = jnp.array(log(prior), jnp.float32), jnp.array(log(likelihood), jnp.float32)
    still = Sticky(0.0, jnp.array(log(redraw), jnp.float32))
    trace, plain = switching.filter(*arguments, still), beliefs.filter(*arguments)
    np.testing.assert_allclose(trace.log_belief, plain.log_belief, atol=1e-5)
    np.testing.assert_allclose(trace.log_evidence, plain.log_evidence, atol=1e-5)
    np.testing.assert_allclose(switching.smoother(*arguments, still), np.tile(plain.log_belief[-1], (5, 1)), atol=1e-5)


def test_at_hazard_one_every_round_is_its_own():
    prior, likelihood, redraw = some_case()
    arguments = jnp.array(log(prior), jnp.float32), jnp.array(log(likelihood), jnp.float32)
    fresh = Sticky(1.0, jnp.array(log(redraw), jnp.float32))
    alone = np.stack([as_rows((prior if t == 0 else redraw) * likelihood[t]) for t in range(5)])
    np.testing.assert_allclose(np.exp(switching.filter(*arguments, fresh).log_belief), alone, rtol=1e-5)
    np.testing.assert_allclose(np.exp(switching.smoother(*arguments, fresh)), alone, rtol=1e-5)


@given(hnp.arrays(bool, TURNS), likelihoods, st.sampled_from([0.0, -np.inf, np.nan, 7.0]), st.booleans())
@quick
def test_padding_changes_nothing(valid, likelihood, filling, as_matrix):
    prior, _, redraw = some_case(hypotheses=HYPOTHESES)
    hazard = 0.2
    transition = (
        jnp.array(log(matrix(hazard, redraw)), jnp.float32)
        if as_matrix
        else Sticky(jnp.float32(hazard), jnp.array(log(redraw), jnp.float32))
    )
    log_prior, log_likelihood = jnp.array(log(prior), jnp.float32), jnp.array(log(likelihood), jnp.float32)
    padded = jnp.where(valid[:, None], log_likelihood, filling)
    trace = filter_(log_prior, padded, transition, jnp.array(valid))
    smoothed = np.asarray(smoother(log_prior, padded, transition, jnp.array(valid)))
    # What is kept, moved to the front, is what it would be alone.
    places = np.flatnonzero(valid)
    front = jnp.zeros((TURNS, HYPOTHESES), jnp.float32).at[: places.size].set(log_likelihood[places])
    alone = np.arange(TURNS) < places.size
    shorter = filter_(log_prior, front, transition, jnp.array(alone))
    for name in trace._fields:
        ours, theirs = np.asarray(getattr(trace, name)), np.asarray(getattr(shorter, name))
        np.testing.assert_array_equal(ours[valid], theirs[: places.size], err_msg=name)
    hindsight = np.asarray(smoother(log_prior, front, transition, jnp.array(alone)))
    np.testing.assert_array_equal(smoothed[valid], hindsight[: places.size])
    np.testing.assert_array_equal(np.asarray(trace.log_evidence)[~valid], 0)
    belief = np.asarray(log_prior)
    seen = 0
    for t in range(TURNS):
        if not valid[t]:
            np.testing.assert_array_equal(trace.log_predicted[t], belief)
            np.testing.assert_array_equal(trace.log_belief[t], belief)
            # With hindsight: the row of the observation before, or of the first one.
            if places.size:
                np.testing.assert_allclose(smoothed[t], smoothed[places[max(seen - 1, 0)]], atol=1e-6)
            else:
                np.testing.assert_allclose(smoothed[t], log_prior, atol=1e-6)
        seen += valid[t]
        belief = np.asarray(trace.log_belief[t])


@given(st.permutations(range(4)))
@quick
def test_renaming_hypotheses_renames_the_answer(order):
    prior, likelihood, redraw = some_case()
    order = np.array(order)
    case = [jnp.array(log(x), jnp.float32) for x in (prior, likelihood, redraw)]
    as_is = filter_(case[0], case[1], Sticky(jnp.float32(0.1), case[2]))
    renamed = filter_(case[0][order], case[1][:, order], Sticky(jnp.float32(0.1), case[2][order]))
    np.testing.assert_allclose(renamed.log_belief, as_is.log_belief[:, order], atol=1e-5)
    np.testing.assert_allclose(renamed.log_evidence, as_is.log_evidence, atol=1e-5)


@pytest.mark.slow
def test_jit_is_eager_and_vmap_a_loop():
    cases = [some_case(seed) for seed in range(3)]
    prior, likelihood, redraw = (jnp.array(log(np.stack(x)), jnp.float32) for x in zip(*cases, strict=True))
    hazards = jnp.array([0.0, 0.3, 1.0])
    for function, jitted in ((switching.filter, filter_), (switching.smoother, smoother)):
        batch = jax.vmap(lambda p, x, h, q, f=jitted: f(p, x, Sticky(h, q)))(prior, likelihood, hazards, redraw)
        alone = [jitted(prior[i], likelihood[i], Sticky(hazards[i], redraw[i])) for i in range(3)]
        eager = function(prior[1], likelihood[1], Sticky(hazards[1], redraw[1]))
        pairs = [(eager, alone[1]), *((jax.tree.map(lambda x, i=i: x[i], batch), alone[i]) for i in range(3))]
        for ours, theirs in pairs:
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), ours, theirs)


def test_a_hypothesis_that_fell_far_behind_can_come_back():
    # 500 nats down is no float32 probability; without a hazard only the logs remember it.
    log_likelihoods = jnp.array([[0.0, -500.0], [-500.0, 0.0], [0.0, 0.0]])
    trace = switching.filter(jnp.full(2, -jnp.log(2.0)), log_likelihoods, Sticky(0.0, jnp.full(2, -jnp.log(2.0))))
    np.testing.assert_allclose(trace.log_belief[-1], np.log(0.5), rtol=1e-5)


# Gradients


def total(hazard, log_likelihoods, redraw, prior):
    return switching.filter(jnp.log(prior), log_likelihoods, Sticky(hazard, jnp.log(redraw))).log_evidence.sum()


value, gradient = jax.jit(total), jax.jit(jax.grad(total, (0, 1)))


@pytest.mark.parametrize("hazard", [0.0, 0.3, 1.0])
def test_gradient_in_the_hazard_is_a_finite_difference(hazard):
    prior, likelihood, redraw = some_case(3, turns=8)
    with jax.enable_x64(True):
        rest = jnp.array(redraw), jnp.array(prior)
        log_likelihoods = jnp.array(log(likelihood))
        d_hazard, d_likelihood = gradient(hazard, log_likelihoods, *rest)
        steps = np.array([-1e-6, 0, 1e-6]) if 0 < hazard < 1 else np.array([0, 1, 2]) * 1e-6 * (-1) ** (hazard == 1)
        at_steps = [float(value(hazard + step, log_likelihoods, *rest)) for step in steps]
        numeric = np.gradient(at_steps, steps, edge_order=2)[1 if 0 < hazard < 1 else 0]
        np.testing.assert_allclose(d_hazard, numeric, rtol=1e-5)
        numeric = np.zeros_like(likelihood)
        for index in np.ndindex(likelihood.shape):
            step = jnp.zeros(likelihood.shape).at[index].set(1e-6)
            numeric[index] = (
                value(hazard, log_likelihoods + step, *rest) - value(hazard, log_likelihoods - step, *rest)
            ) / 2e-6
        np.testing.assert_allclose(d_likelihood, numeric, atol=1e-8)
    single = gradient(
        jnp.float32(hazard), jnp.array(log(likelihood), jnp.float32), *(jnp.float32(x) for x in (redraw, prior))
    )
    np.testing.assert_allclose(single[0], d_hazard, rtol=1e-4)
    np.testing.assert_allclose(single[1], d_likelihood, atol=1e-5)
    assert np.abs(d_hazard) > 0.05


def test_gradients_with_impossible_hypotheses():
    """Right between 0 and 1; finite at the ends, where what is revived by the hazard alone adds nothing."""
    prior, likelihood, redraw = some_case(4, turns=8)
    likelihood[1, 0] = likelihood[3, 2] = likelihood[4, 2] = 0
    prior, redraw = as_rows(prior * [1, 0, 1, 1]), as_rows(redraw * [0, 1, 1, 1])
    with jax.enable_x64(True):
        rest = jnp.array(log(likelihood)), jnp.array(redraw), jnp.array(prior)
        numeric = (value(0.2 + 1e-6, *rest) - value(0.2 - 1e-6, *rest)) / 2e-6
        d_hazard, d_likelihood = gradient(0.2, *rest)
        np.testing.assert_allclose(d_hazard, numeric, rtol=1e-6)
        np.testing.assert_array_equal(np.asarray(d_likelihood)[likelihood == 0], 0)
    for hazard in (0.0, 1e-30, 1.0):
        log_likelihoods, *rest = (jnp.array(x, jnp.float32) for x in (log(likelihood), redraw, prior))
        single = gradient(jnp.float32(hazard), log_likelihoods, *rest)
        assert all(np.isfinite(x).all() for x in single)


def test_gradient_is_finite_where_the_hazard_would_revive_what_float32_cannot_hold():
    log_likelihoods = jnp.array([[0.0, -200.0], [-500.0, 0.0], [0.0, -1.0]])
    d_hazard = jax.grad(total)(jnp.float32(0), log_likelihoods, jnp.full(2, 0.5), jnp.full(2, 0.5))
    assert np.isfinite(d_hazard)


def test_the_second_derivative_is_a_finite_difference():
    prior, likelihood, redraw = some_case(3)
    slope = jax.jit(jax.grad(total))
    with jax.enable_x64(True):
        rest = jnp.array(log(likelihood)), jnp.array(redraw), jnp.array(prior)
        numeric = (slope(0.3 + 1e-6, *rest) - slope(0.3 - 1e-6, *rest)) / 2e-6
        np.testing.assert_allclose(jax.grad(slope)(0.3, *rest), numeric, rtol=1e-6)


def test_gradient_through_a_matrix_is_that_of_the_sticky_form():
    prior, likelihood, redraw = some_case(3)

    def through_matrix(hazard, redraw):
        log_transition = jnp.log((1 - hazard) * jnp.eye(4) + hazard * redraw)
        return switching.filter(jnp.log(prior), jnp.array(log(likelihood)), log_transition).log_evidence.sum()

    with jax.enable_x64(True):
        redraw = jnp.array(redraw)
        sticky = gradient(0.3, jnp.array(log(likelihood)), redraw, jnp.array(prior))[0]
        np.testing.assert_allclose(jax.jit(jax.grad(through_matrix))(0.3, redraw), sticky, rtol=1e-10)


def test_gradient_of_hindsight_is_a_finite_difference():
    prior, likelihood, redraw = some_case(5)

    def first(hazard):
        return switching.smoother(jnp.log(prior), jnp.log(likelihood), Sticky(hazard, jnp.log(redraw)))[0, 1]

    at = jax.jit(first)
    with jax.enable_x64(True):
        numeric = (at(0.3 + 1e-6) - at(0.3 - 1e-6)) / 2e-6
        np.testing.assert_allclose(jax.jit(jax.grad(first))(0.3), numeric, rtol=1e-6)


# Errors


@pytest.mark.parametrize("hazard", [-0.1, 1.1, np.nan])
def test_a_hazard_is_a_probability(hazard):
    uniform = jnp.full(2, -jnp.log(2.0))
    with pytest.raises(ValueError, match="hazard"):
        switching.filter(uniform, jnp.zeros((1, 2)), Sticky(hazard, uniform))


def test_rows_that_do_not_sum_to_one_are_named():
    uniform = jnp.full(2, -jnp.log(2.0))
    with pytest.raises(ValueError, match="log_prior sums to 2"):
        switching.filter(jnp.zeros(2), jnp.zeros((1, 2)), Sticky(0.1, uniform))
    with pytest.raises(ValueError, match="log_redraw sums to 2"):
        switching.smoother(uniform, jnp.zeros((1, 2)), Sticky(0.1, jnp.zeros(2)))
    with pytest.raises(ValueError, match="row 1 of transition sums to 2"):
        switching.filter(uniform, jnp.zeros((1, 2)), jnp.stack([uniform, jnp.zeros(2)]))
    with pytest.raises(ValueError, match=r"log_redraw has shape \(3,\) for 2"):
        switching.filter(uniform, jnp.zeros((1, 2)), Sticky(0.1, jnp.full(3, -jnp.log(3.0))))
