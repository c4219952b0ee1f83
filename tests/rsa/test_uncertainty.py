"""Lexical uncertainty against pypragmods, enumeration in NumPy and lexica held in memory."""

import json
from functools import partial

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from otherminds.inference.logspace import logsumexp
from otherminds.rsa import agents, uncertainty
from otherminds.rsa.lexicon import from_boolean
from otherminds.rsa.population import mixture_listener, mixture_speaker

quick = settings(deadline=None, max_examples=15)


def log(p):
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(p, np.float64))


def normalize(x):
    total = np.sum(x)
    return x / total if total > 0 else np.zeros_like(x)


def speaker_of(lexicon, prior, alpha, cost, legal):
    """S_1 [M, U] from one lexicon, in linear float64, cell by cell."""
    utterances, meanings = lexicon.shape
    listener = np.array([normalize(lexicon[u] * prior) for u in range(utterances)])
    speaker = np.zeros((meanings, utterances))
    for m in range(meanings):
        for u in range(utterances):
            if listener[u, m] > 0 and legal[u]:
                speaker[m, u] = np.exp(alpha * (np.log(listener[u, m]) - cost[u]))
        speaker[m] = normalize(speaker[m])
    return speaker


def uncertain_listener(lexica, p_lexicon, prior, alpha, cost, legal):
    """L_1(m | u) and the average S_1, the joint over lexicon and meaning written out."""
    count, utterances, meanings = lexica.shape
    average = np.zeros((meanings, utterances))
    joint = np.zeros((utterances, count, meanings))
    for x in range(count):
        speaker = speaker_of(lexica[x], prior, alpha, cost, legal)
        for m in range(meanings):
            for u in range(utterances):
                average[m, u] += p_lexicon[x] * speaker[m, u]
                joint[u, x, m] = p_lexicon[x] * prior[m] * speaker[m, u]
    return np.array([normalize(joint[u]) for u in range(utterances)]).sum(1), average


def random_case(seed, shape=(6, 4, 3), boolean=True):
    """Lexica in which the first utterance is true of everything, so that everything can be said."""
    rng = np.random.default_rng(seed)
    lexica = rng.random(shape) < 0.6 if boolean else rng.random(shape) * (rng.random(shape) < 0.7)
    lexica = lexica.astype(float)
    lexica[:, 0] = 1.0
    prior, p_lexicon = rng.dirichlet(np.ones(shape[2])), rng.dirichlet(np.ones(shape[0]))
    legal = np.array([True, *(rng.random(shape[1] - 1) < 0.8)])
    return lexica, p_lexicon, prior, rng.random(shape[1]), legal


def in_float64(function, *arguments):
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, jax.jit(function)(*map(jnp.asarray, arguments)))


@partial(jax.jit, static_argnames="chunk")
def stream(table, log_prior, alpha, cost, legal, log_p, chunk):
    """The lexica of an array, one by one."""
    return uncertainty.streamed_speaker(
        lambda number: table[number], len(table), log_prior, alpha, cost, legal, log_p, chunk
    )


@jax.jit
def in_memory(log_lexica, log_prior, alpha, cost, legal, log_p):
    """Average speaker, her listener, and the joint listener with the lexicon summed out."""
    speakers = uncertainty.lexicon_speakers(log_lexica, log_prior, alpha, cost, legal)
    joint = agents.joint_listener(speakers, log_p[:, None] + log_prior)
    average = mixture_speaker(log_p, speakers)
    return average, agents.pragmatic_listener(average, log_prior), logsumexp(joint, 1)


experts = jax.jit(uncertainty.expert_recursion, static_argnums=3)


def streamed(lexica, p_lexicon, prior, alpha, cost, legal=None, chunk=4, boolean=False, dtype=np.float64):
    with jax.enable_x64(dtype == np.float64):
        table = lexica > 0 if boolean else log(lexica).astype(dtype)
        legal = np.ones(lexica.shape[1], bool) if legal is None else legal
        numbers = [np.asarray(x, dtype) for x in (log(prior), alpha, cost)]
        return np.asarray(stream(table, *numbers, legal, log(p_lexicon).astype(dtype), chunk))


# Golden numbers


def test_golden_division_of_pragmatic_labour(shared):
    golden = json.loads((shared / "golden/rsa/bergen_division_of_labor_pypragmods.json").read_text())
    alpha, depth = float(golden["temperature"]), golden["n"]
    lexica, prior, cost = np.array(golden["lexica"], float), np.array(golden["prior"]), np.array(golden["costs"], float)
    log_p = log(np.ones(len(lexica)) / len(lexica))

    def final_listeners(log_lexica, log_prior, log_p, cost):
        speakers = uncertainty.lexicon_speakers(log_lexica, log_prior, alpha, cost)
        first = agents.pragmatic_listener(mixture_speaker(log_p, speakers), log_prior)
        anxious = logsumexp(uncertainty.anxious_listener(speakers, log_prior, log_p), 1)
        above = partial(uncertainty.recursion_above, log_prior=log_prior, depth=depth, alpha=alpha, cost=cost)
        experts = uncertainty.expert_recursion(speakers, log_prior, log_p, depth, alpha, cost)
        return {
            "base": agents.recursion(log_lexica[0], log_prior, depth - 1, alpha, cost).log_listeners[-1],
            "lexical_uncertainty": above(first).log_listeners[-1],
            "anxiety_uncertainty": above(anxious).log_listeners[-1],
            "anxious_experts": logsumexp(experts.log_listeners[-1], 1),
        }

    ours = in_float64(final_listeners, log(lexica), log(prior), log_p, cost)
    assert ours.keys() == golden["listener"].keys()
    for name, listener in golden["listener"].items():
        np.testing.assert_allclose(np.exp(ours[name]), listener, atol=0.5001e-4, err_msg=name)  # printed to 4 decimals


def test_the_lexica_of_the_golden_numbers_are_the_refinements(shared):
    golden = json.loads((shared / "golden/rsa/bergen_division_of_labor_pypragmods.json").read_text())
    lexicon_at, count = uncertainty.refinements(np.ones((3, 2), bool), [True, True, False])
    ours = np.asarray(jax.vmap(lexicon_at)(jnp.arange(count)))
    assert {x.astype(int).tobytes() for x in ours} == {np.array(x).tobytes() for x in golden["lexica"]}
    assert count == 9


# Enumeration


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 1.0, 4.0]), st.booleans())
@quick
def test_the_joint_over_lexicon_and_meaning(seed, alpha, boolean):
    lexica, p_lexicon, prior, cost, legal = random_case(seed, boolean=boolean)
    listener, average = uncertain_listener(lexica, p_lexicon, prior, alpha, cost, legal)

    with jax.enable_x64(True):
        together = in_memory(log(lexica), log(prior), np.float64(alpha), cost, legal, log(p_lexicon))
    for ours, theirs in zip(together, (average, listener, listener), strict=True):
        np.testing.assert_allclose(np.exp(ours), theirs, rtol=1e-9, atol=1e-12)
    for chunk in (4, 6):  # 4 leaves a last chunk half empty
        ours = streamed(lexica, p_lexicon, prior, alpha, cost, legal, chunk, boolean)
        np.testing.assert_allclose(np.exp(ours), average, rtol=1e-9, atol=1e-12)
    single = streamed(lexica, p_lexicon, prior, alpha, cost, legal, 4, boolean, np.float32)
    assert single.dtype == np.float32
    np.testing.assert_allclose(np.exp(single), average, atol=1e-5)


@given(st.integers(0, 10**6))
@quick
def test_anxious_experts_written_out(seed):
    lexica, p_lexicon, prior, cost, _ = random_case(seed)
    alpha, meaning_weight, lexicon_weight = 2.0, 0.8, 0.5
    speakers = np.array([speaker_of(x, prior, alpha, cost, np.ones(4, bool)) for x in lexica])
    said = np.array([[speakers[x, :, u].sum() * p_lexicon[x] for x in range(6)] for u in range(4)])
    joint = np.zeros((4, 6, 3))
    for u in range(4):
        for x in range(6):
            joint[u, x] = normalize(said[u])[x] * normalize(speakers[x, :, u] * prior)
    expected = [joint]
    for _ in range(2):
        speaker = np.zeros((6, 3, 4))
        for x in range(6):
            for m in range(3):
                for u in range(4):
                    value = expected[-1][u, :, m].sum() ** meaning_weight * expected[-1][u, x].sum() ** lexicon_weight
                    speaker[x, m, u] = (value * np.exp(-cost[u])) ** alpha
                speaker[x, m] = normalize(speaker[x, m])
        expected.append(np.array([normalize(speaker[:, :, u] * prior[None] * p_lexicon[:, None]) for u in range(4)]))

    with jax.enable_x64(True):
        levels = experts(log(speakers), log(prior), log(p_lexicon), 3, alpha, cost, meaning_weight, lexicon_weight)
    np.testing.assert_allclose(np.exp(levels.log_listeners), expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(np.exp(levels.log_speakers).sum(-1), 1)


def test_an_anxious_listener_is_the_joint_listener_where_meanings_are_alike():
    lexica, p_lexicon, _, cost, _ = random_case(3)

    def both(log_lexica, log_prior, log_p, cost):
        speakers = uncertainty.lexicon_speakers(log_lexica, log_prior, 2.0, cost)
        joint = agents.joint_listener(speakers, log_p[:, None] + log_prior)
        return uncertainty.anxious_listener(speakers, log_prior, log_p), joint

    alike = in_float64(both, log(lexica), log(np.ones(3) / 3), log(p_lexicon), cost)
    np.testing.assert_allclose(np.exp(alike[0]), np.exp(alike[1]), atol=1e-12)
    other = in_float64(both, log(lexica), log([0.7, 0.2, 0.1]), log(p_lexicon), cost)
    assert np.abs(np.exp(other[0]) - np.exp(other[1])).max() > 0.01


def test_nobody_knows_the_lexicon():
    lexica, p_lexicon, prior, cost, legal = random_case(4)
    literal = np.array([[normalize(x[u] * prior) for u in range(4)] for x in np.maximum(lexica, 0.1)])
    mean = sum(p * x for p, x in zip(p_lexicon, literal, strict=True))

    def ours(log_literal, log_p, log_prior):
        average = mixture_listener(log_p, log_literal)
        return average, uncertainty.recursion_above(average, log_prior, 2, 1.5, jnp.asarray(cost), jnp.asarray(legal))

    average, levels = in_float64(ours, log(literal), log(p_lexicon), log(prior))
    np.testing.assert_allclose(np.exp(average), mean, rtol=1e-9)
    speaker = np.array([normalize(mean[:, m] ** 1.5 * np.exp(-1.5 * cost) * legal) for m in range(3)])
    np.testing.assert_allclose(np.exp(levels.log_speakers[0]), speaker, rtol=1e-9)


# Lexica by number


def toggled(number):
    """8 x 8; the bits of the number are 20 of the cells, the others hold."""
    shift = np.full(64, -1)
    shift[np.arange(20) * 3] = np.arange(20)
    bit = (number >> np.maximum(shift, 0)) & 1 == 1
    return jnp.reshape(bit | (shift < 0), (8, 8))


@pytest.mark.parametrize("alpha", [1.0, 3.0, 1000.0])
def test_numbered_lexica_are_those_in_memory(alpha):
    count = 3000
    prior, cost = np.random.default_rng(0).dirichlet(np.ones(8)), np.linspace(0, 0.5, 8)
    numbers = np.arange(count) * 349  # spread over the 2^20

    def in_memory(log_prior, cost):
        log_lexica = jnp.where(jax.vmap(toggled)(jnp.asarray(numbers)), 0.0, -jnp.inf)
        speakers = uncertainty.lexicon_speakers(log_lexica, log_prior, alpha, cost)
        return mixture_speaker(jnp.full(count, -np.log(count)), speakers)

    def by_number(log_prior, cost):
        return uncertainty.streamed_speaker(lambda x: toggled(x * 349), count, log_prior, alpha, cost, chunk=700)

    expected = in_float64(in_memory, log(prior), cost)
    np.testing.assert_allclose(in_float64(by_number, log(prior), cost), expected, rtol=1e-8, atol=1e-8)
    single = jax.jit(by_number)(jnp.asarray(log(prior), jnp.float32), jnp.asarray(cost, jnp.float32))
    np.testing.assert_allclose(np.exp(single), np.exp(expected), atol=1e-4 if alpha > 100 else 1e-6)


@pytest.mark.slow
def test_a_million_lexica_in_little_memory():
    log_prior = jnp.full(8, -jnp.log(8.0))

    def reading(alpha):
        average = uncertainty.streamed_speaker(toggled, 2**20, log_prior, alpha)
        return agents.pragmatic_listener(average, log_prior)[0, 0]

    forward, backward = (jax.jit(f).lower(1.5).compile() for f in (reading, jax.grad(reading)))
    for compiled in (forward, backward):
        assert compiled.memory_analysis().temp_size_in_bytes < 64e6  # all at once are 268 MB
    numeric = (forward(1.55) - forward(1.45)) / 0.1
    np.testing.assert_allclose(backward(1.5), numeric, rtol=0.02)


@pytest.mark.parametrize("seed, fixed", [(0, False), (1, True), (2, False)])
def test_refinements_are_all_the_strengthenings(seed, fixed):
    rng = np.random.default_rng(seed)
    truth = rng.random((2, 3)) < 0.6
    truth[[0, 1], rng.integers(0, 3, 2)] = True
    refinable = np.array([True, not fixed])
    lexicon_at, count = uncertainty.refinements(truth, refinable)
    ours = {np.asarray(x).tobytes() for x in jax.vmap(lexicon_at)(jnp.arange(count))}
    expected = set()
    for bits in range(2**6):
        lexicon = np.array([bits >> i & 1 for i in range(6)], bool).reshape(2, 3)
        strengthens = not (lexicon & ~truth).any() and lexicon.any(1).all()
        if strengthens and (lexicon == truth)[~refinable].all():
            expected.add(lexicon.tobytes())
    assert ours == expected and count == len(expected)
    np.testing.assert_array_equal(lexicon_at(count - 1), truth)


# Closed forms and properties


def test_one_lexicon_is_no_uncertainty():
    lexica, _, prior, cost, _ = random_case(5)
    same = np.repeat(lexica[:1], 6, 0)
    expected = speaker_of(lexica[0], prior, 2.0, cost, np.ones(4, bool))
    np.testing.assert_allclose(np.exp(streamed(same, np.full(6, 1 / 6), prior, 2.0, cost)), expected, rtol=1e-9)


@given(st.permutations(range(6)), st.permutations(range(4)), st.permutations(range(3)))
@quick
def test_relabelling_permutes(order, utterances, meanings):
    lexica, p_lexicon, prior, cost, _ = random_case(6)
    x, u, m = np.array(order), np.array(utterances), np.array(meanings)
    plain = streamed(lexica, p_lexicon, prior, 2.0, cost)
    moved = streamed(lexica[x][:, u][:, :, m], p_lexicon[x], prior[m], 2.0, cost[u])
    np.testing.assert_allclose(moved, plain[m][:, u], rtol=1e-9)


@pytest.mark.parametrize("boolean", [False, True])
def test_padding_changes_nothing(boolean):
    lexica, p_lexicon, prior, cost, legal = random_case(7, boolean=boolean)
    wide = np.pad(lexica, ((0, 2), (0, 1), (0, 2)), constant_values=1.0)
    plain = streamed(lexica, p_lexicon, prior, 2.0, cost, legal, 4, boolean)
    padded = streamed(
        wide,
        np.pad(p_lexicon, (0, 2)),
        np.pad(prior, (0, 2)),
        2.0,
        np.pad(cost, (0, 1)),
        np.pad(legal, (0, 1)),
        4,
        boolean,
    )
    np.testing.assert_allclose(padded[:3, :4], plain, rtol=1e-9)
    assert (padded[3:] == -np.inf).all() and (padded[:, 4] == -np.inf).all()


@pytest.mark.parametrize("rare", [1e-30, 0.2])
def test_what_a_rare_lexicon_lets_say_is_not_lost(rare):
    """The second meaning has a word of its own under the rare lexicon only."""
    lexica = np.array([[[1, 1], [1, 0]], [[1, 1], [0, 1]]], float)
    average = streamed(lexica, [1 - rare, rare], [0.5, 0.5], 60.0, [0, 0], None, 2, True, np.float32)
    np.testing.assert_allclose(average[1, 1], np.log(rare / (1 + 0.5**60)), rtol=1e-5)


def test_a_rare_meaning_is_not_lost():
    """exp(-200) is no float32; the second meaning has a word of its own, and a vague one that is hardly hers."""
    lexica = np.array([[[1, 1], [0, 1]]] * 2, float)
    rare = np.exp(-200.0)
    average = streamed(lexica, [0.5, 0.5], [1 - rare, rare], 0.01, [0, 0], None, 2, True, np.float32)
    expected = [[0, -np.inf], [-2 - np.log1p(np.exp(-2)), -np.log1p(np.exp(-2))]]  # 0.01 times 200 nats
    np.testing.assert_allclose(average, expected, rtol=1e-4, atol=1e-6)


def test_vmap_is_a_loop_and_jit_is_eager():
    lexica, p_lexicon, prior, cost, _ = random_case(8)
    log_prior, cost, log_p = (jnp.asarray(x, jnp.float32) for x in (log(prior), cost, log(p_lexicon)))

    def average(alpha):
        return uncertainty.streamed_speaker(
            lambda x: jnp.asarray(lexica > 0)[x], 6, log_prior, alpha, cost, None, log_p, 4
        )

    alphas = [0.0, 1.0, 400.0]
    batched = jax.jit(jax.vmap(average))(jnp.array(alphas))
    for alpha, ours in zip(alphas, batched, strict=True):
        np.testing.assert_allclose(ours, average(alpha), rtol=1e-4, atol=1e-4)


# Gradients


def reading(alpha, cost, log_prior, log_p, table):
    average = uncertainty.streamed_speaker(lambda x: table[x], 6, log_prior, alpha, cost, None, log_p, 4)
    return average[0, 1] + 0.3 * agents.pragmatic_listener(average, log_prior)[2, 1]


value = jax.jit(jax.vmap(reading, (0, 0, 0, 0, None)))
gradient = jax.jit(jax.grad(reading, (0, 1, 2, 3)))


@pytest.mark.parametrize("boolean", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 1.0, 50.0, 1000.0])
def test_gradients_are_finite_differences(alpha, boolean):
    lexica, p_lexicon, prior, cost, _ = random_case(9, boolean=boolean)
    table = lexica > 0 if boolean else log(lexica)
    arguments = [np.float64(alpha), cost, log(prior), log(p_lexicon)]
    with jax.enable_x64(True):
        exact = [np.asarray(g) for g in gradient(*arguments, table)]
        assert all(np.isfinite(g).all() for g in exact)
        # every argument moved alone, up and down, in one batch
        flat = np.concatenate([a.ravel() for a in arguments])
        step = 1e-5 / max(alpha, 1)
        moved = np.concatenate([flat + s * step * np.eye(len(flat)) for s in (1, -1)])
        splits = np.cumsum([a.size for a in arguments])[:-1]
        parts = np.split(moved, splits, 1)
        up, down = np.split(np.asarray(value(parts[0][:, 0], *parts[1:], table)), 2)
        numeric = np.split((up - down) / (2 * step), splits)
    for ours, theirs in zip(exact, numeric, strict=True):
        np.testing.assert_allclose(ours.ravel(), theirs, rtol=1e-4, atol=1e-5 * np.abs(theirs).max() + 1e-7)
    single = gradient(*(np.float32(a) for a in arguments), table if boolean else np.float32(table))
    for ours, theirs in zip(single, exact, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-3 * np.abs(theirs).max() + 1e-5)


def test_gradient_is_finite_where_a_meaning_cannot_be_said():
    """Under the second lexicon nothing is true of the second meaning, and one utterance of nothing."""
    lexica = np.array([[[1, 0], [1, 1]], [[1, 0], [0, 0]]], float)

    for boolean in (False, True):
        table = jnp.asarray(lexica > 0 if boolean else log(lexica).astype(np.float32))
        half = jnp.full(2, -jnp.log(2.0))

        def average(alpha, table=table, half=half):
            return uncertainty.streamed_speaker(lambda x: table[x], 2, half, alpha, jnp.arange(2.0))

        gradients = jax.jit(jax.vmap(jax.grad(lambda alpha, average=average: average(alpha)[0, 0])))
        assert np.isfinite(gradients(jnp.array([0.0, 1.0, 1000.0]))).all()
        # half of the lexica lend the second meaning nothing
        np.testing.assert_allclose(np.exp(jax.jit(average)(1.0)).sum(1), [1.0, 0.5], rtol=1e-6)


# Errors


def test_errors_say_what_is_wrong():
    half = jnp.full(2, -jnp.log(2.0))
    lexica = jnp.stack([from_boolean([[1, 1], [0, 1]]), jnp.array([[0.0, -jnp.inf], [0.0, -jnp.inf]])])
    with pytest.raises(ValueError, match="in lexicon 1, meaning 1 has no legal utterance"):
        uncertainty.lexicon_speakers(lexica, half)
    with pytest.raises(ValueError, match="in lexicon 1, utterance 1 is true of no possible meaning"):
        uncertainty.lexicon_speakers(lexica.at[1, 1].set(-jnp.inf), half)
    with pytest.raises(ValueError, match="sums to 2 over the lexicons"):
        uncertainty.anxious_listener(jnp.zeros((2, 2, 1)), half, jnp.zeros(2))
    with pytest.raises(ValueError, match="count=0"):
        uncertainty.streamed_speaker(toggled, 0, jnp.full(8, -jnp.log(8.0)))
    with pytest.raises(ValueError, match="too many"):
        uncertainty.refinements(np.ones((8, 8), bool))
    with pytest.raises(ValueError, match="true somewhere"):
        uncertainty.refinements(np.zeros((2, 2), bool))
    for above in (
        lambda: uncertainty.recursion_above(half[None], half, 0),
        lambda: uncertainty.expert_recursion(jnp.zeros((1, 2, 1)), half, jnp.zeros(1), 0),
    ):
        with pytest.raises(ValueError, match="depth=0"):
            above()
