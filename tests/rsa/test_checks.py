"""Every function that speaks names a wrong argument, outside jit, and takes truth values and logs for the same."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.rsa import (
    agents,
    conventions,
    cultures,
    eavesdropper,
    incremental,
    knowledge,
    lexicon,
    politeness,
    population,
    projection,
    rate_distortion,
    sparse,
    thresholds,
    typicality,
    uncertainty,
)

MODULES = [value for value in globals().values() if inspect.ismodule(value) and "otherminds.rsa" in value.__name__]
TRUTH = jnp.array([[1, 1, 1], [0, 1, 1], [0, 0, 1]], bool)
IN_LOGS = jnp.where(TRUTH, 0.0, -jnp.inf)
PRIOR = jnp.full(3, -jnp.log(3.0))
TWO = jnp.full(2, -jnp.log(2.0))
LISTENER = agents.literal_listener(TRUTH, PRIOR)
SPEAKER = agents.pragmatic_speaker(LISTENER, 1.0)
LEXICA = jnp.stack([IN_LOGS, IN_LOGS])
SPEAKERS = uncertainty.lexicon_speakers(LEXICA, PRIOR)
DEGREES = jnp.arange(3.0)
SCALE = thresholds.Thresholds(DEGREES, PRIOR)
TREE = incremental.prefixes([[0], [1], [2]])
QUDS = [np.array([0, 1, 2]), np.array([0, 0, 1])]
VALUE = jnp.arange(3.0)
PHIS = jnp.array([0.3, 0.9])
GAME = conventions.make_game(LEXICA, PRIOR)


@pytest.fixture(autouse=True)
def as_installed(monkeypatch):
    """Without the tests' checks of types."""
    for module in MODULES:
        for name, function in vars(module).items():
            if inspect.isfunction(function) and hasattr(function, "__wrapped__"):
                monkeypatch.setattr(module, name, inspect.unwrap(function))


SPEAKS = {
    "literal depth": lambda a, c, p: agents.listener(TRUTH, p, 1, a, c),
    "speaker": lambda a, c, p: agents.speaker(TRUTH, p, 1, a, c),
    "sampling": lambda a, c, p: knowledge.sampling_speaker(LISTENER, p[None], a, c),
    "expecting": lambda a, c, p: knowledge.expecting_speaker(LISTENER[:1], p[None], a, c[:1]),
    "question": lambda a, c, p: projection.qud_listener(projection.qud_speakers(LISTENER, QUDS, a, c), p, TWO),
    "lexica": lambda a, c, p: uncertainty.lexicon_speakers(LEXICA, p, a, c),
    "streamed": lambda a, c, p: uncertainty.streamed_speaker(lambda x: TRUTH, 4, p, a, c),
    "experts": lambda a, c, p: uncertainty.expert_recursion(SPEAKERS, p, TWO, 2, a, c),
    "thresholds": lambda a, c, p: thresholds.gradable_listener(DEGREES, p, SCALE, SCALE, a, c),
    "polite": lambda a, c, p: politeness.polite_listener(LISTENER, p, VALUE, PHIS, TWO, a, c),
    "eavesdropper": lambda a, c, p: agents.pragmatic_listener(
        eavesdropper.eavesdropper_speaker(LISTENER, LISTENER, a, cost=c), p
    ),
    "hierarchy": lambda a, c, p: population.hierarchy(TRUTH, p, TWO, a, c),
    "conventions": lambda a, c, p: conventions.make_game(LEXICA, p, a, c),
    "sparse": lambda a, c, p: sparse.recursion(sparse.from_boolean(TRUTH), p, 1, a, c),
    "gain": lambda a, c, p: rate_distortion.gain(SPEAKER, LISTENER, p, a, c),
    "maximise": lambda a, c, p: rate_distortion.maximise_gain(LISTENER, p, 2, a, c),
    "minimise": lambda a, c, p: rate_distortion.minimise_rate_distortion(LISTENER, p, 2, a, c),
}
WRONG = {
    "negative alpha": ((-1.0, np.zeros(3), PRIOR), "alpha=-1.0: it is a finite number >= 0"),
    "no alpha": ((np.nan, np.zeros(3), PRIOR), "alpha=nan"),
    "endless alpha": ((np.inf, np.zeros(3), PRIOR), "alpha=inf"),
    "no cost": ((1.0, np.array([np.nan, 0, 0]), PRIOR), "cost of utterance 0 is nan"),
    "endless pay": ((1.0, np.array([-np.inf, 0, 0]), PRIOR), "cost of utterance 0 is -inf"),
    "prior sum": ((1.0, np.zeros(3), PRIOR + 1), r"sums to 2.7\d* over the"),
    "prior length": ((1.0, np.zeros(3), TWO), r"has shape \(.*2,?\) for 3"),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("function", SPEAKS)
def test_wrong_arguments_are_named(function, wrong):
    (alpha, cost, prior), message = WRONG[wrong]
    SPEAKS[function](1.0, jnp.zeros(3), PRIOR)
    with pytest.raises(ValueError, match=message):
        SPEAKS[function](alpha, jnp.asarray(cost), prior)


@pytest.mark.parametrize("function", SPEAKS)
def test_constants_inside_jit_can_be_looked_at(function):
    """What is closed over is known there, and only what is passed is not."""
    eager = SPEAKS[function](1.0, jnp.zeros(3), PRIOR)
    for jitted in (
        jax.jit(lambda alpha: SPEAKS[function](alpha, jnp.zeros(3), PRIOR))(1.0),
        jax.jit(lambda prior: SPEAKS[function](1.0, jnp.zeros(3), prior))(PRIOR),
    ):
        for ours, theirs in zip(jax.tree.leaves(jitted), jax.tree.leaves(eager), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("function", [name for name in SPEAKS if name != "expecting"])
def test_costs_are_given_for_every_utterance(function):
    with pytest.raises(ValueError, match="cost has 2 entries for 3 utterances"):
        SPEAKS[function](1.0, jnp.zeros(2), PRIOR)


TAKES_A_LEXICON = {
    "literal": lambda x: agents.literal_listener(x, PRIOR),
    "recursion": lambda x: agents.recursion(x, PRIOR, 2),
    "lexica": lambda x: uncertainty.lexicon_speakers(jnp.stack([x, x]), PRIOR),
    "hierarchy": lambda x: population.hierarchy(x, PRIOR, TWO),
    "restrict": lambda x: population.restrict(x, PRIOR),
    "incremental": lambda x: incremental.recursion(TREE, x, PRIOR, 1),
    "conventions": lambda x: conventions.make_game(jnp.stack([x, x]), PRIOR),
}


@pytest.mark.parametrize("function", TAKES_A_LEXICON)
def test_truth_values_are_never_taken_for_logs(function):
    run = TAKES_A_LEXICON[function]
    for ours, theirs in zip(jax.tree.leaves(run(TRUTH)), jax.tree.leaves(run(IN_LOGS)), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(ValueError, match="a lexicon of int32: truth values are bool"):
        run(TRUTH.astype(int))
    with pytest.raises(ValueError, match=r"a lexicon of 0.0 and 1.0: truth values are bool"):
        run(TRUTH.astype(float))
    with pytest.raises(ValueError, match=r"log_lexicon\[.*0, 1\] is nan"):
        run(IN_LOGS.at[0, 1].set(jnp.nan))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: politeness.polite_speaker(LISTENER, VALUE, 1.5, 1.0), "informativity=1.5: it lies between 0 and 1"),
        (lambda: typicality.conjunction(TRUTH, TRUTH, -0.5), "typicality=-0.5"),
        (lambda: typicality.softmax_listener(IN_LOGS, PRIOR, -1.0), "weight=-1.0"),
        (lambda: conventions.communities(3, 9.0), "pooling=9.0"),
        (lambda: conventions.remember(jnp.zeros((2, 2)), 0, TWO, -2.0), "retention=-2.0"),
        (lambda: conventions.remember(jnp.zeros((2, 2)), 9, TWO), "partner 9: there are 2, 0 to 1"),
        (lambda: conventions.heard(GAME, 9, 1), "utterance 9: there are 3"),
        (lambda: agents.listener_at(agents.recursion(TRUTH, PRIOR, 2), 9), "depth 9: there are 3, 0 to 2"),
        (lambda: cultures.miscommunication(SPEAKER, LISTENER, PRIOR + 1), "sums to 2.7"),
        (lambda: cultures.update(jnp.zeros((1, 1)), SPEAKERS[:1], PRIOR, 7, 0), "utterance 7: there are 3"),
        (lambda: population.poisson_depths(-1.0, 3), "tau=-1.0"),
        (lambda: projection.qud_speakers(LISTENER, [], 1.0), "there is no question"),
        (lambda: lexicon.from_similarity(IN_LOGS, -1.0), "beta=-1.0"),
        (lambda: thresholds.gradable_listener(DEGREES.at[1].set(jnp.nan), PRIOR, SCALE, SCALE, 1.0), r"degrees\[1\]"),
        (lambda: uncertainty.streamed_speaker(lambda x: jnp.ones((3, 3), int), 2, PRIOR), r"int32\[3, 3\]"),
        (
            lambda: eavesdropper.eavesdropper_speaker(LISTENER, LISTENER, 1.0, legal=jnp.zeros(3, bool)),
            "meaning 0 has no legal utterance",
        ),
        (
            lambda: sparse.recursion(sparse.from_boolean(TRUTH), PRIOR, 1, legal=jnp.array([False, True, True])),
            "meaning 0 has no legal utterance",
        ),
    ],
)
def test_out_of_range(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_nobody_thinks_ahead_at_a_mean_of_0_steps():
    np.testing.assert_array_equal(population.poisson_depths(0.0, 3), [0.0, -np.inf, -np.inf, -np.inf])
    assert np.isfinite(jax.grad(lambda tau: population.poisson_depths(tau, 3)[0])(0.0))


def test_degrees_of_truth_can_be_fitted():
    def loss(degree):
        return agents.listener(lexicon.from_graded(jnp.array([[1.0, degree], [0.2, 1.0]])), TWO, 1)[0, 1]

    step = (loss(0.501) - loss(0.499)) / 0.002
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(0.5), step, rtol=1e-3)
