"""Speakers and listeners against golden numbers, enumeration in NumPy and closed forms."""

import inspect
import json

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from otherminds.rsa import agents
from otherminds.rsa.lexicon import from_boolean, from_graded

quick = settings(deadline=None, max_examples=20)
recursion = jax.jit(agents.recursion, static_argnames="depth")

# Frank & Goodman (2012) as in probLang: blue, green, square, circle; blue circle, green square, blue square.
REFERENCE_GAME = np.array([[1, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0]], bool)
# Goodman & Frank (2016): all, some, none; 0 to 3 of 3.
SCALAR = np.array([[0, 0, 0, 1], [0, 1, 1, 1], [1, 0, 0, 0]], bool)


def log(p):
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(p, np.float64))


def uniform(n):
    return np.full(n, -np.log(n))


def written_out(lexicon, prior, depth, alpha, cost=0.0, legal=True):
    """L_0, S_1, L_1 .. in linear float64 from the equations: lists of [U, M] and [M, U]."""

    def normalize(x):
        total = x.sum(1, keepdims=True)
        return np.divide(x, total, out=np.zeros_like(x), where=total > 0)

    listeners, speakers = [normalize(lexicon * prior)], []
    for _ in range(depth):
        # exp(alpha (log L - cost)), and 0 where L is 0, at alpha = 0 too
        attraction = (
            np.where(listeners[-1] > 0, listeners[-1] ** alpha, 0) * np.exp(-alpha * np.asarray(cost))[..., None]
        )
        speakers.append(normalize((attraction * np.broadcast_to(legal, lexicon.shape[:1])[:, None]).T))
        listeners.append(normalize(speakers[-1].T * prior))
    return listeners, speakers


def assert_levels(levels, listeners, speakers, **tolerance):
    for ours, theirs in zip(levels.log_listeners, listeners, strict=True):
        np.testing.assert_allclose(np.exp(ours), theirs, **tolerance)
    for ours, theirs in zip(levels.log_speakers, speakers, strict=True):
        np.testing.assert_allclose(np.exp(ours), theirs, **tolerance)


def in_float64(log_lexicon, log_prior, **settings):
    with jax.enable_x64(True):
        settings = {k: v if isinstance(v, int) else jnp.array(v) for k, v in settings.items()}
        return jax.tree.map(np.asarray, recursion(jnp.array(log_lexicon), jnp.array(log_prior), **settings))


# Golden numbers


@pytest.mark.parametrize(
    "name, lexicon, alpha, depth",
    [
        ("fg2012_problang", REFERENCE_GAME, 1.0, 3),
        ("fg2012_alpha0.5", REFERENCE_GAME, 0.5, 5),
        ("fg2012_alpha2.0", REFERENCE_GAME, 2.0, 5),
        ("fg2012_alpha4.0", REFERENCE_GAME, 4.0, 5),
        ("fg2012_alpha100.0", REFERENCE_GAME, 100.0, 5),
        ("scalar", SCALAR, 1.0, 3),
    ],
)
def test_golden_enumeration_at_every_depth(shared, name, lexicon, alpha, depth):
    golden = json.loads((shared / "golden/rsa/numpy_ref.json").read_text())[name]
    levels = in_float64(log(lexicon), uniform(lexicon.shape[1]), depth=depth, alpha=alpha)
    listeners = [golden[f"L{n}"] for n in range(depth + 1)]
    speakers = [np.transpose(golden[f"S{n}"]) for n in range(1, depth + 1)]
    assert_levels(levels, listeners, speakers, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "name, lexicon, utterances, meanings",
    [
        (
            "fg2012",
            REFERENCE_GAME,
            ["blue", "green", "square", "circle"],
            ["blue_circle", "green_square", "blue_square"],
        ),
        ("scalar", SCALAR, ["all", "some", "none"], [0, 1, 2, 3]),
    ],
)
def test_golden_webppl(shared, name, lexicon, utterances, meanings):
    golden = json.loads((shared / f"golden/rsa/{name}.json").read_text())["values"]
    levels = in_float64(log(lexicon), uniform(len(meanings)), depth=1, alpha=1.0)
    table = {
        "L0": (utterances, meanings, np.exp(levels.log_listeners[0])),
        "L1": (utterances, meanings, np.exp(levels.log_listeners[1])),
        "S1": (meanings, utterances, np.exp(levels.log_speakers[0])),
    }
    assert len(golden) == 2 * len(utterances) + len(meanings)
    for label, support in golden.items():
        agent, condition = label.split(":")
        rows, columns, ours = table[agent]
        expected = np.zeros(len(columns))
        for outcome, probability in support:
            expected[columns.index(outcome)] = probability
        row = [str(r) for r in rows].index(condition)
        np.testing.assert_allclose(ours[row], expected, rtol=1e-9, atol=1e-12, err_msg=label)


# Enumeration


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 1.0, 4.0]), st.booleans())
@quick
def test_enumeration_of_graded_lexica_with_costs_priors_and_illegal_utterances(seed, alpha, zeros):
    rng = np.random.default_rng(seed)
    lexicon = rng.random((4, 3))
    lexicon[rng.random((4, 3)) < 0.4 * zeros] = 0
    lexicon[0] = rng.random(3) + 0.1  # something to say of every meaning
    lexicon[:, 0] += 0.05
    prior, cost = rng.dirichlet(np.ones(3)), rng.normal(size=4)
    legal = np.array([True, *(rng.random(3) < 0.7)])
    levels = in_float64(log(lexicon), log(prior), depth=4, alpha=alpha, cost=cost, legal=legal)
    assert_levels(levels, *written_out(lexicon, prior, 4, alpha, cost, legal), rtol=1e-8, atol=1e-12)
    single = recursion(
        jnp.array(log(lexicon), jnp.float32),
        jnp.array(log(prior), jnp.float32),
        depth=4,
        alpha=jnp.float32(alpha),
        cost=jnp.array(cost, jnp.float32),
        legal=jnp.array(legal),
    )
    assert_levels(jax.tree.map(np.asarray, single), *written_out(lexicon, prior, 4, alpha, cost, legal), atol=1e-3)


def test_rows_normalise_or_are_impossible():
    legal = np.array([True, False, True, True])
    levels = in_float64(log(REFERENCE_GAME | [True, False, False]), uniform(3), depth=3, alpha=7.0, legal=legal)
    np.testing.assert_allclose(np.exp(levels.log_speakers).sum(-1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp(levels.log_listeners[0]).sum(-1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp(levels.log_listeners[1:]).sum(-1), np.tile(legal, (3, 1)), rtol=1e-12)


def test_the_cost_stands_inside_alpha():
    log_listener = jnp.full((2, 1), 0.0)
    speaker = agents.pragmatic_speaker(log_listener, 3.0, jnp.array([0.0, 0.5]))
    np.testing.assert_allclose(speaker[0, 0] - speaker[0, 1], 3.0 * 0.5, rtol=1e-6)


# Closed forms


def test_alpha_zero_says_anything_true():
    levels = in_float64(log(REFERENCE_GAME), uniform(3), depth=2, alpha=0.0, cost=np.array([0.0, 1.0, 2.0, 3.0]))
    truthful = REFERENCE_GAME.T / REFERENCE_GAME.T.sum(1, keepdims=True)
    for speaker in levels.log_speakers:
        np.testing.assert_allclose(np.exp(speaker), truthful, atol=1e-12)
    np.testing.assert_allclose(
        np.exp(levels.log_listeners[1]), truthful.T / truthful.T.sum(1, keepdims=True), atol=1e-12
    )


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_alpha_large_says_the_best_and_shares_ties(precision):
    # The blue square can only be said ambiguously: a tie. The others have a word of their own.
    expected = [[0, 0, 0, 1], [0, 1, 0, 0], [0.5, 0, 0.5, 0]]
    if precision == "float64":
        levels = in_float64(log(REFERENCE_GAME), uniform(3), depth=4, alpha=1000.0)
    else:
        levels = recursion(
            jnp.array(log(REFERENCE_GAME), jnp.float32), jnp.array(uniform(3), jnp.float32), depth=4, alpha=1000.0
        )
    for speaker in np.asarray(levels.log_speakers):
        np.testing.assert_allclose(np.exp(speaker), expected, atol=1e-6)
        np.testing.assert_array_equal(np.isneginf(speaker), ~REFERENCE_GAME.T)  # unlikely is not impossible
    np.testing.assert_allclose(np.exp(levels.log_listeners[-1])[0], [0, 0, 1], atol=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 1000.0])
def test_a_lexicon_that_says_nothing_leaves_the_prior(alpha):
    prior, cost = np.array([0.5, 0.3, 0.2]), np.array([0.0, 1e-3, 2e-3, 0.0])
    levels = in_float64(np.zeros((4, 3)), log(prior), depth=3, alpha=alpha, cost=cost)
    # Every level multiplies the rounding of the one below by alpha.
    precision = 1e-14 * max(alpha, 1) ** 3
    np.testing.assert_allclose(np.exp(levels.log_listeners), np.tile(prior, (4, 4, 1)), rtol=precision)
    expected = np.exp(-alpha * cost) / np.exp(-alpha * cost).sum()
    np.testing.assert_allclose(np.exp(levels.log_speakers), np.tile(expected, (3, 3, 1)), rtol=precision)


def test_words_of_one_meaning_are_understood_at_once():
    levels = in_float64(log(np.eye(3)), uniform(3), depth=2, alpha=1.0)
    np.testing.assert_array_equal(levels.log_listeners, np.tile(log(np.eye(3)), (3, 1, 1)))
    np.testing.assert_array_equal(levels.log_speakers, np.tile(log(np.eye(3)), (2, 1, 1)))


def test_a_salient_meaning_is_preferred():
    prior = np.array([0.1, 0.1, 0.8])
    levels = in_float64(log(REFERENCE_GAME), log(prior), depth=1, alpha=1.0)
    assert_levels(levels, *written_out(REFERENCE_GAME.astype(float), prior, 1, 1.0), rtol=1e-12)
    assert np.exp(levels.log_listeners[1])[0, 2] > 0.8


# Properties


def random_case(seed, shape=(5, 4)):
    rng = np.random.default_rng(seed)
    lexicon = rng.random(shape) * (rng.random(shape) < 0.7)
    lexicon[0] += 0.1
    lexicon[:, 0] += 0.1
    return log(lexicon), log(rng.dirichlet(np.ones(shape[1]))), rng.random(shape[0])


@given(st.permutations(range(5)), st.permutations(range(4)))
@quick
def test_relabelling_permutes(utterances, meanings):
    log_lexicon, log_prior, cost = random_case(0)
    u, m = np.array(utterances), np.array(meanings)
    plain = in_float64(log_lexicon, log_prior, depth=3, alpha=2.0, cost=cost)
    permuted = in_float64(log_lexicon[u][:, m], log_prior[m], depth=3, alpha=2.0, cost=cost[u])
    np.testing.assert_allclose(permuted.log_listeners, plain.log_listeners[:, u][:, :, m], rtol=1e-9)
    np.testing.assert_allclose(permuted.log_speakers, plain.log_speakers[:, m][:, :, u], rtol=1e-9)


@pytest.mark.parametrize("filling", [0.0, -np.inf])
def test_padding_changes_nothing(filling):
    """Rows past the utterances are not legal, columns past the meanings have no prior."""
    log_lexicon, log_prior, cost = random_case(1)
    padded = np.pad(log_lexicon, ((0, 2), (0, 3)), constant_values=filling)
    plain = in_float64(log_lexicon, log_prior, depth=3, alpha=2.0, cost=cost)
    wide = in_float64(
        padded,
        np.pad(log_prior, (0, 3), constant_values=-np.inf),
        depth=3,
        alpha=2.0,
        cost=np.pad(cost, (0, 2), constant_values=99.0),
        legal=np.arange(7) < 5,
    )
    np.testing.assert_allclose(wide.log_listeners[:, :5, :4], plain.log_listeners, rtol=1e-12)
    np.testing.assert_allclose(wide.log_speakers[:, :4, :5], plain.log_speakers, rtol=1e-12)
    np.testing.assert_array_equal(wide.log_listeners[:, :, 4:], -np.inf)
    np.testing.assert_array_equal(wide.log_listeners[1:, 5:], -np.inf)
    np.testing.assert_array_equal(wide.log_speakers[:, :, 5:], -np.inf)
    assert not np.isnan(wide.log_speakers).any()


def test_jit_is_eager_and_vmap_is_a_loop():
    cases = [random_case(seed) for seed in range(3)]
    lexica, priors, costs = (jnp.array(np.stack(x), jnp.float32) for x in zip(*cases, strict=True))
    alphas = jnp.array(np.float32([0.0, 1.0, 5.0]))
    batched = jax.vmap(lambda *args: recursion(args[0], args[1], depth=3, alpha=args[2], cost=args[3]))
    batched = jax.tree.map(np.asarray, batched(lexica, priors, alphas, costs))
    for i, (lexicon, prior, alpha, cost) in enumerate(
        zip(*map(np.asarray, (lexica, priors, alphas, costs)), strict=True)
    ):
        eager = agents.recursion(jnp.array(lexicon), jnp.array(prior), 3, jnp.array(alpha), jnp.array(cost))
        jitted = recursion(jnp.array(lexicon), jnp.array(prior), depth=3, alpha=jnp.array(alpha), cost=jnp.array(cost))
        for name in eager._fields:
            np.testing.assert_allclose(getattr(jitted, name), getattr(eager, name), rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(getattr(batched, name)[i], getattr(eager, name), rtol=1e-5, atol=1e-5)


def test_any_level_may_be_taken_with_a_traced_depth():
    log_lexicon, log_prior, _ = (jnp.array(x, jnp.float32) for x in random_case(2))
    levels = recursion(log_lexicon, log_prior, depth=4)
    listener_at = jax.jit(agents.listener_at)
    for depth in range(5):
        np.testing.assert_array_equal(listener_at(levels, depth), levels.log_listeners[depth])
    shallow = recursion(log_lexicon, log_prior, depth=2)
    np.testing.assert_allclose(shallow.log_listeners, levels.log_listeners[:3], rtol=1e-6)


def equations(jaxpr):
    """Number of equations, those of inner programs included."""
    total = 0
    for equation in jaxpr.eqns:
        total += 1
        for value in equation.params.values():
            for inner in value if isinstance(value, (tuple, list)) else (value,):
                if hasattr(inner, "jaxpr"):
                    inner = inner.jaxpr
                if hasattr(inner, "eqns"):
                    total += equations(inner)
    return total


@pytest.mark.parametrize("differentiated", [False, True])
def test_the_program_does_not_grow_with_depth(differentiated):
    log_lexicon, log_prior, _ = (jnp.array(x, jnp.float32) for x in random_case(3))

    def size(depth):
        def chosen(alpha):
            return agents.recursion(log_lexicon, log_prior, depth, alpha).log_listeners[-1, 0, 0]

        return equations(jax.make_jaxpr(jax.grad(chosen) if differentiated else chosen)(1.0).jaxpr)

    assert size(1) > 10
    assert size(2) == size(5) == size(50)
    assert size(50) - size(1) <= 5


# Gradients


def log_likelihood(alpha, cost, log_lexicon, log_prior):
    """Of a few utterances and interpretations; every one of them is possible."""
    levels = agents.recursion(log_lexicon, log_prior, 2, alpha, cost, jnp.arange(5) != 3)
    listener, speaker = levels.log_listeners, levels.log_speakers
    return listener[2, 0, 0] + listener[1, 0, 1] + speaker[1, 0, 1] + speaker[0, 2, 0] + listener[2, 1, 0]


value = jax.jit(log_likelihood)
gradient = jax.jit(jax.grad(log_likelihood, (0, 1, 2, 3)))


@pytest.mark.parametrize("alpha", [0.0, 1.0, 50.0, 1000.0])
def test_gradients_with_zeros_are_finite_differences(alpha):
    log_lexicon, log_prior, cost = random_case(4)
    log_lexicon[2, 1:] = log_lexicon[1, 2] = -np.inf
    arguments = [np.float64(alpha), cost, log_lexicon, log_prior]
    with jax.enable_x64(True):
        exact = [np.asarray(g) for g in gradient(*arguments)]
        for which, (argument, derivative) in enumerate(zip(arguments, exact, strict=True)):
            assert np.isfinite(derivative).all()
            scale = np.abs(derivative).max()
            for index in np.argwhere(np.isfinite(argument)):
                step = np.zeros_like(argument)
                step[tuple(index)] = 1e-5 / max(alpha, 1)
                moved = [[a + s * step if i == which else a for i, a in enumerate(arguments)] for s in (1, -1)]
                numeric = (value(*moved[0]) - value(*moved[1])) / (2 * step.max())
                np.testing.assert_allclose(derivative[tuple(index)], numeric, rtol=1e-5, atol=1e-5 * scale + 1e-9)
            assert (derivative[~np.isfinite(argument)] == 0).all()
    single = gradient(*(jnp.array(a, jnp.float32) for a in arguments))
    for ours, theirs in zip(single, exact, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-3 * np.abs(theirs).max() + 1e-5)


def test_gradient_is_finite_where_a_meaning_cannot_be_said():
    log_lexicon = np.float32([[0.0, -np.inf, 0.0], [-np.inf, -np.inf, 0.0]])

    def chosen(alpha):
        return agents.recursion(jnp.array(log_lexicon), jnp.full(3, -jnp.log(3.0)), 2, alpha).log_listeners[2, 0, 0]

    values, gradients = jax.jit(jax.vmap(jax.value_and_grad(chosen)))(np.float32([0.0, 1.0, 50.0, 1000.0]))
    assert np.isfinite(values).all() and np.isfinite(gradients).all()


# Errors


def test_errors_name_the_row():
    half = jnp.full(2, -jnp.log(2.0))
    with pytest.raises(ValueError, match="utterance 1 is true of no possible meaning"):
        agents.literal_listener(jnp.array([[0.0, 0.0], [-jnp.inf, -jnp.inf]]), half)
    with pytest.raises(ValueError, match="utterance 0 is true of no possible meaning"):
        agents.literal_listener(jnp.array([[0.0, -jnp.inf], [0.0, 0.0]]), jnp.array([-jnp.inf, 0.0]))
    with pytest.raises(ValueError, match="meaning 1 has no legal utterance"):
        agents.pragmatic_speaker(jnp.array([[0.0, -jnp.inf], [-1.0, -1.0]]), 1.0, legal=jnp.array([True, False]))
    with pytest.raises(ValueError, match="meaning 0 has no legal utterance"):
        agents.recursion(from_graded(np.eye(2, dtype=np.float32)), half, 3, legal=jnp.array([False, True]))
    with pytest.raises(ValueError, match="depth=0"):
        agents.recursion(from_boolean(np.eye(2, dtype=bool)), half, 0)


def test_inside_jit_an_impossible_row_says_so():
    levels = recursion(
        jnp.array([[0.0, -jnp.inf], [-jnp.inf, -jnp.inf]]), jnp.full(2, -jnp.log(2.0)), depth=2, alpha=1.0
    )
    np.testing.assert_array_equal(levels.log_speakers[:, 1], -np.inf)
    np.testing.assert_array_equal(levels.log_listeners[:, 1], -np.inf)
    np.testing.assert_array_equal(levels.log_listeners[:, 0], [[0, -np.inf]] * 3)


# Bad input


@pytest.mark.parametrize(
    "change, message",
    [
        ({"log_prior": uniform(3)}, r"log_prior has shape \(3,\) for 4 meanings"),
        ({"log_prior": np.log(np.full(4, 0.3))}, r"log_prior sums to 1.2 over the meanings, not 1"),
        ({"log_prior": np.array([0.0, np.nan, -1, -1])}, "log_prior sums to nan"),
        ({"lexicon": np.where(np.eye(4)[:3] > 0, np.nan, 0.0)}, r"log_lexicon\[0, 0\] is nan"),
        ({"lexicon": np.where(np.eye(4)[:3] > 0, np.inf, 0.0)}, r"log_lexicon\[0, 0\] is inf"),
        ({"lexicon": SCALAR.astype(int)}, "a lexicon of int32: truth values are bool"),
        ({"lexicon": SCALAR.astype(float)}, "a lexicon of 0.0 and 1.0: truth values are bool"),
        ({"alpha": np.inf}, "alpha=inf: it is a finite number"),
        ({"alpha": np.ones(3)}, r"alpha has shape \(3,\); it is one number"),
        ({"cost": np.array([0.0, -np.inf, 1.0])}, "cost of utterance 1 is -inf"),
        ({"depth": 1.5}, "depth=1.5: a static whole number"),
        ({"lexicon": log([[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]])}, "utterance 1 is true of no possible meaning"),
        ({"lexicon": log([[1, 0, 0, 1], [0, 1, 0, 0], [1, 1, 0, 1]])}, "meaning 2 has no legal utterance"),
        ({"legal": np.array([True, False, True])}, "meaning 1 has no legal utterance"),
        ({"legal": np.array([True, True])}, "legal has 2 entries for 3 utterances"),
        ({"cost": np.zeros(4)}, "cost has 4 entries for 3 utterances"),
        ({"cost": np.array([0.0, np.nan, 1.0])}, "cost of utterance 1 is nan"),
        ({"alpha": -1.0}, "alpha=-1.0: it is a finite number >= 0"),
        ({"alpha": np.nan}, "alpha=nan"),
        ({"depth": 0}, "depth=0: it must be at least 1; depth 0 is literal_listener"),
    ],
)
@pytest.mark.parametrize("function", [agents.recursion, agents.listener, agents.speaker])
def test_bad_input_is_named(function, change, message):
    if change.get("depth") == 0 and function is agents.listener:
        change, message = {"depth": -1}, "depth=-1: it must be at least 0"
    settings = {"lexicon": log(SCALAR), "log_prior": uniform(4), "depth": 1, "alpha": 1.0, "cost": np.zeros(3)} | change
    settings = {k: jnp.asarray(v) if isinstance(v, np.ndarray) else v for k, v in settings.items()}
    with pytest.raises(ValueError, match=message):
        inspect.unwrap(function)(**settings)  # as installed, without the tests' checks of types
    if "meaning" in message and "prior" not in message:
        assert np.isneginf(np.asarray(jax.tree.leaves(function(**settings, allow_empty=True))[0])).any()


def test_a_literal_listener_takes_truth_values():
    prior = jnp.asarray(uniform(4))
    np.testing.assert_array_equal(
        agents.literal_listener(jnp.asarray(SCALAR), prior), agents.literal_listener(from_boolean(SCALAR), prior)
    )


def test_precisions_may_be_mixed():
    with jax.enable_x64(True):
        for truth in (SCALAR, np.tile(SCALAR, (30, 20))):  # the general and the fast path
            prior = jnp.asarray(uniform(truth.shape[1]), jnp.float32)
            mixed = agents.recursion(jnp.asarray(truth), prior, 2, jnp.float64(1.5), jnp.zeros(len(truth), jnp.float32))
            assert {leaf.dtype for leaf in mixed} == {jnp.dtype("float64")}
            last = agents.listener(jnp.where(truth, 0.0, -jnp.inf).astype(jnp.float32), prior, 2, jnp.float64(1.5))
            np.testing.assert_allclose(np.exp(last), np.exp(mixed.log_listeners[-1]), atol=1e-7)


def test_a_prior_that_forbids_a_meaning_forbids_no_utterance():
    prior = jnp.log(jnp.array([0.5, 0.25, 0.25, 0.0]))
    levels = agents.recursion(jnp.asarray(SCALAR[1:]), prior, 1)  # some, none
    np.testing.assert_allclose(np.exp(levels.log_listeners[1][0]), [0, 0.5, 0.5, 0])
