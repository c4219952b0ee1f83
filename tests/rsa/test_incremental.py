"""Word-by-word agents against prefixes as Python tuples, and the example of the paper."""

from functools import partial

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from otherminds.rsa import agents, incremental

quick = settings(deadline=None, max_examples=10)

# Cohn-Gordon, Goodman & Potts (2019), figure 1: red dress, blue dress, red hat.
UTTERANCES = ["dress", "red dress", "red object"]
TRUTH = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 1]], float)
# one utterance begins another, three words
LONG = ["a", "a b", "a b c", "b a", "b", "c a b"]


def log(p):
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(p, np.float64))


def normalize(x):
    return x / x.sum() if x.sum() > 0 else x


def written_out(utterances, lexicon, prior, depth, alpha, cost):
    """{prefix: [M]} for every depth: word speakers and word listeners; a prefix is a tuple of words, "." the stop."""
    sentences = [(*u.split(), ".") for u in utterances]
    every = {s[:i] for s in sentences for i in range(len(s) + 1)}
    meanings = range(len(prior))

    def true_of(c, m):
        return sum(lexicon[u, m] for u, s in enumerate(sentences) if s[: len(c)] == c)

    listeners = [{c: normalize(np.array([true_of(c, m) * prior[m] for m in meanings])) for c in every}]
    speakers = []
    for _ in range(depth):
        speaker = {(): np.ones(len(prior))}
        for c in every - {()}:
            value = {}
            for d in every:
                if len(d) == len(c) and d[:-1] == c[:-1]:
                    understood = listeners[-1][d]
                    value[d] = np.where(understood > 0, understood * np.exp(-cost(d[-1])), 0)
                    value[d] = np.where(understood > 0, np.where(value[d] > 0, value[d], 1) ** alpha, 0)
            total = sum(value.values())
            speaker[c] = np.divide(value[c], total, out=np.zeros_like(total), where=total > 0)
        speakers.append(speaker)
        listeners.append({c: normalize(speaker[c] * prior) for c in every})
    return sentences, speakers, listeners


def setting(utterances):
    tokens, words = incremental.tokenize(utterances)
    return incremental.prefixes(tokens), words


def names(tree, words):
    """The prefix of every node, read off the parents."""
    found = [()]
    for n in range(1, len(tree.parent)):
        found.append((*found[tree.parent[n]], "." if tree.token[n] < 0 else words[tree.token[n]]))
    return found


def run(tree, lexicon, prior, depth, alpha=1.0):
    return jax.jit(lambda *x: incremental.recursion(tree, x[0], x[1], depth, x[2]))(lexicon, prior, alpha)


LONG_TREE, LONG_WORDS = setting(LONG)
long_recursion = jax.jit(partial(incremental.recursion, LONG_TREE), static_argnames="depth")


def random_case(seed):
    rng = np.random.default_rng(seed)
    lexicon = rng.random((6, 3)) * (rng.random((6, 3)) < 0.6)
    lexicon[1] += 0.1
    lexicon[:, 0] += 0.1
    return lexicon, rng.dirichlet(np.ones(3)), dict(zip("abc.", [0.1, 0.5, 0.3, 0.0], strict=True))


def node_cost(cost):
    return np.array([cost["." if t < 0 else LONG_WORDS[t]] for t in LONG_TREE.token])


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 3.0]))
@quick
def test_every_prefix_at_every_depth(seed, alpha):
    lexicon, prior, cost = random_case(seed)
    sentences, speakers, listeners = written_out(LONG, lexicon, prior, 3, alpha, cost.get)
    with jax.enable_x64(True):
        words = long_recursion(
            log_lexicon=log(lexicon), log_prior=log(prior), depth=3, alpha=np.float64(alpha), word_cost=node_cost(cost)
        )
        whole = incremental.utterance_speaker(LONG_TREE, words.log_speakers[1])
        begun = incremental.prefix_speaker(LONG_TREE, words.log_speakers[1])
        reading = incremental.prefix_listener(LONG_TREE, words.log_speakers[1], jnp.array(log(prior)))
    nodes = names(LONG_TREE, LONG_WORDS)
    assert len(nodes) == len(speakers[0]) == len(LONG_TREE.token)
    for n, c in enumerate(nodes):
        for d in range(3):
            np.testing.assert_allclose(np.exp(words.log_speakers[d, n]), speakers[d][c], rtol=1e-8, atol=1e-12)
        for d in range(4):
            np.testing.assert_allclose(np.exp(words.log_listeners[d, n]), listeners[d][c], rtol=1e-8, atol=1e-12)
        said = np.prod([speakers[1][c[: i + 1]] for i in range(len(c))], 0)
        np.testing.assert_allclose(np.exp(begun[n]), said, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(np.exp(reading[n]), normalize(said * prior), rtol=1e-8, atol=1e-12)
    for u, s in enumerate(sentences):
        said = np.prod([speakers[1][s[: i + 1]] for i in range(len(s))], 0)
        np.testing.assert_allclose(np.exp(whole[:, u]), said, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(np.exp(whole).sum(1), 1)


def test_the_red_dress():
    tree, words = setting(UTTERANCES)
    with jax.enable_x64(True):
        prior = jnp.array(log(np.ones(3) / 3))
        ours = run(tree, jnp.array(log(TRUTH)), prior, 1)
        whole = np.exp(incremental.utterance_speaker(tree, ours.log_speakers[0]))
        together = agents.recursion(jnp.array(log(TRUTH)), prior, 1)
    at = {c: n for n, c in enumerate(names(tree, words))}
    # literal: "red" is true of the red dress twice, of the hat once
    np.testing.assert_allclose(np.exp(ours.log_listeners[0, at[("red",)]]), [2 / 3, 0, 1 / 3], atol=1e-12)
    np.testing.assert_allclose(np.exp(ours.log_speakers[0, at[("red",)]]), [4 / 7, 0, 1], atol=1e-12)
    np.testing.assert_allclose(np.exp(ours.log_speakers[0, at["red", "dress"]])[0], 2 / 3)
    # having heard "red" a listener already thinks of the hat
    np.testing.assert_allclose(np.exp(ours.log_listeners[1, at[("red",)]]), [4 / 11, 0, 7 / 11], atol=1e-12)
    np.testing.assert_allclose(whole, [[9 / 21, 8 / 21, 4 / 21], [1, 0, 0], [0, 0, 1]], atol=1e-12)
    # word by word the bare noun is likelier than "red dress"; over whole utterances it is the other way round
    globally = np.exp(together.log_speakers[0, 0])
    np.testing.assert_allclose(globally, [1 / 4, 1 / 2, 1 / 4], atol=1e-12)
    assert whole[0, 0] > whole[0, 1] and globally[0] < globally[1]


def test_one_word_utterances_are_the_plain_model():
    tree, _ = setting(["x", "y", "z"])
    lexicon, prior = random_case(1)[0][:3], random_case(1)[1]
    with jax.enable_x64(True):
        arguments = jnp.array(log(lexicon)), jnp.array(log(prior))
        words = run(tree, *arguments, 3, 2.0)
        plain = agents.recursion(*arguments, 3, 2.0)
        for depth in range(3):
            ours = incremental.utterance_speaker(tree, words.log_speakers[depth])
            np.testing.assert_allclose(np.exp(ours), np.exp(plain.log_speakers[depth]), rtol=1e-9, atol=1e-12)


def test_alpha_large_takes_the_best_word_and_shares_ties():
    tree, _ = setting(UTTERANCES)
    ours = run(tree, jnp.asarray(log(TRUTH), jnp.float32), jnp.full(3, -jnp.log(3.0)), 1, 1000.0)
    whole = np.exp(incremental.utterance_speaker(tree, ours.log_speakers[0]))
    np.testing.assert_allclose(whole, [[0, 1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-6)


def test_the_tree():
    tree, words = setting(["a", "a b"])
    assert names(tree, words) == [(), ("a",), ("a", "."), ("a", "b"), ("a", "b", ".")]
    np.testing.assert_array_equal(tree.paths, [[1, 2, 0], [1, 3, 4]])
    np.testing.assert_array_equal(tree.children, [[1, 0], [2, 3], [0, 0], [4, 0], [0, 0]])
    np.testing.assert_array_equal(tree.extends, np.array([[1, 1], [1, 1], [1, 0], [0, 1], [0, 1]], bool))


@pytest.mark.parametrize("seed", range(3))
def test_relabelling_permutes(seed):
    lexicon, prior, _ = random_case(2)
    rng = np.random.default_rng(seed)
    u, m = rng.permutation(6), rng.permutation(3)
    tree, _ = setting([LONG[i] for i in u])
    with jax.enable_x64(True):
        plain = run(LONG_TREE, jnp.array(log(lexicon)), jnp.array(log(prior)), 1, 2.0)
        moved = run(tree, jnp.array(log(lexicon[u][:, m])), jnp.array(log(prior[m])), 1, 2.0)
        ours = incremental.utterance_speaker(tree, moved.log_speakers[0])
        theirs = incremental.utterance_speaker(LONG_TREE, plain.log_speakers[0])
    np.testing.assert_allclose(np.exp(ours), np.exp(theirs)[m][:, u], rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_padding_vmap_and_float32_change_nothing():
    lexicon, prior, _ = random_case(3)
    tokens, _ = incremental.tokenize(LONG)
    wide = incremental.prefixes(np.pad(tokens, ((0, 0), (0, 2)), constant_values=incremental.STOP))
    arguments = [jnp.asarray(log(x), jnp.float32) for x in (lexicon, prior)]
    alphas = jnp.array([0.0, 1.0, 5.0])
    batched = jax.vmap(
        lambda alpha: long_recursion(log_lexicon=arguments[0], log_prior=arguments[1], depth=2, alpha=alpha)
    )(alphas)
    for i, alpha in enumerate(alphas):
        ours = run(wide, *arguments, 2, alpha)
        np.testing.assert_allclose(np.exp(batched.log_speakers[i]), np.exp(ours.log_speakers), atol=1e-5)
        whole = incremental.utterance_speaker(wide, ours.log_speakers[1])
        expected = incremental.utterance_speaker(LONG_TREE, batched.log_speakers[i, 1])
        np.testing.assert_allclose(np.exp(whole), np.exp(expected), atol=1e-5)
    _, speakers, _ = written_out(LONG, lexicon, prior, 2, 5.0, lambda word: 0.0)
    for n, c in enumerate(names(LONG_TREE, LONG_WORDS)):
        np.testing.assert_allclose(np.exp(batched.log_speakers[2, 1, n]), speakers[1][c], atol=1e-3)


def log_likelihood(alpha, cost, log_lexicon, log_prior):
    words = incremental.recursion(LONG_TREE, log_lexicon, log_prior, 2, alpha, cost)
    whole = incremental.utterance_speaker(LONG_TREE, words.log_speakers[1])
    reading = incremental.prefix_listener(LONG_TREE, words.log_speakers[1], log_prior)
    return whole[0, 1] + words.log_listeners[2, 1, 0] + reading[3, 0]


value, gradient = jax.jit(log_likelihood), jax.jit(jax.grad(log_likelihood, (0, 1)))


@pytest.mark.parametrize("alpha", [0.0, 1.0, 50.0, 1000.0])
def test_gradients_are_finite_differences(alpha):
    lexicon, prior, cost = random_case(4)
    assert (lexicon == 0).any()
    cost, fixed = node_cost(cost), (log(lexicon), log(prior))
    with jax.enable_x64(True):
        exact = gradient(np.float64(alpha), cost, *fixed)
        step = 1e-5 / max(alpha, 1)
        up, down = (value(np.float64(alpha + s * step), cost, *fixed) for s in (1, -1))
        np.testing.assert_allclose(exact[0], (up - down) / (2 * step), rtol=1e-4, atol=1e-4)
        for n in range(1, len(cost)):
            move = step * np.eye(len(cost))[n]
            up, down = (value(np.float64(alpha), cost + s * move, *fixed) for s in (1, -1))
            np.testing.assert_allclose(exact[1][n], (up - down) / (2 * step), rtol=1e-4, atol=1e-4 * max(alpha, 1))
    single = gradient(np.float32(alpha), np.float32(cost), *(np.float32(x) for x in fixed))
    for ours, theirs in zip(single, exact, strict=True):
        assert np.isfinite(ours).all()
        np.testing.assert_allclose(ours, theirs, atol=5e-3 * np.abs(theirs).max() + 1e-4)


def test_errors_say_what_is_wrong():
    for tokens, message in (
        ([[0, 1], [0, 1]], "0 and 1 are the same"),
        ([[0], [-1]], "utterance 1 is"),
        ([[-1, 0]], "utterance 0 is"),
        ([[-2]], "shape"),
    ):
        with pytest.raises(ValueError, match=message):
            incremental.prefixes(tokens)
    tree, _ = setting(["a", "b"])
    half = jnp.full(2, -jnp.log(2.0))
    with pytest.raises(ValueError, match="depth=0"):
        incremental.recursion(tree, jnp.zeros((2, 2)), half, 0)
    with pytest.raises(ValueError, match="meaning 1 cannot be said"):
        incremental.recursion(tree, jnp.log(jnp.array([[1.0, 0.0], [1.0, 0.0]])), half, 1)
    with pytest.raises(ValueError, match="utterance 1 is true of no"):
        incremental.recursion(tree, jnp.log(jnp.array([[1.0, 1.0], [0.0, 0.0]])), half, 1)
