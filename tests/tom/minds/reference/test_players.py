"""Speakers and listeners against the joint written out in loops, their limits, and their gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otherminds.games.reference.items import Item, random_context, simple_implicature
from otherminds.games.reference.rules import Observation, Role, begin, contexts, observe
from otherminds.tom.minds.reference.choice import Params, joined, sharpened, singles
from otherminds.tom.minds.reference.players import listener, speaker
from otherminds.tom.minds.reference.registry import named

ITEM = simple_implicature(np.random.default_rng(1))
ALPHAS = (0.0, 0.5, 1.0, 3.0, 50.0, 1000.0)


def seen(item, role, target=None, word=None) -> Observation:
    state = begin(jax.tree.map(lambda leaf: leaf[0], contexts((item,))), item.target if target is None else target)
    return observe(state._replace(word=jnp.int32(item.heard if word is None else word)), role)


def policy(mind, params, observation, actions=None):
    actions = mind.alternatives(params, (), observation) if actions is None else actions
    return np.exp(np.asarray(mind.log_policy(params, (), observation, actions), float))


# --- the oracle: plain loops over words and objects


def normalized(row):
    total = sum(row)
    return [x / total for x in row] if total > 0 else [0.0] * len(row)


def power(p, alpha):
    return 0.0 if p == 0 else p**alpha


def listener_table(truth, depth, alpha):
    """L_depth(o | w) as nested lists [W][O]."""
    words, objects = len(truth), len(truth[0])
    table = [normalized([float(truth[w][o]) for o in range(objects)]) for w in range(words)]
    for _ in range(depth):
        said = [normalized([power(table[w][o], alpha) for w in range(words)]) for o in range(objects)]
        table = [normalized([said[o][w] for o in range(objects)]) for w in range(words)]
    return table


def chosen(p, params):
    p = normalized([power(x + params.slip, params.alpha) for x in normalized(p)])
    if not any(p):
        p = [1 / len(p)] * len(p)
    return [(1 - params.lapse) * x + params.lapse / len(p) for x in p]


def speaker_oracle(item, target, depth, params):
    truth = item.truth
    if depth == 0:
        return chosen([float(truth[w][target]) for w in range(len(truth))], params)
    table = listener_table(truth, depth - 1, params.other_alpha)
    return chosen([table[w][target] for w in range(len(truth))], params)


def listener_oracle(item, word, depth, params):
    return chosen(listener_table(item.truth, depth, params.other_alpha)[word], params)


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
@pytest.mark.parametrize("params", [Params(), Params(2.5, 0.1, 3.0, 0.01), Params(0.3, 0.0, 0.5, 1e-7)])
def test_policies_are_those_of_the_joint_written_out(depth, params):
    with jax.enable_x64(True):
        for item in (ITEM, random_context(np.random.default_rng(2), 4)):
            for target in range(len(item.objects)):
                found = policy(speaker(depth), params, seen(item, Role.SPEAKER, target))
                assert found == pytest.approx(speaker_oracle(item, target, depth, params), abs=1e-9)
            for word in range(len(item.words)):
                found = policy(listener(depth), params, seen(item, Role.LISTENER, word=word))
                assert found == pytest.approx(listener_oracle(item, word, depth, params), abs=1e-9)


def test_the_published_numbers_of_the_simple_item():
    """Two thirds, one third for the speaker; .6 and .4 for the listener (Franke, Tsvilodub & Carcassi 2024)."""
    for role, mind, kinds, expected in (
        (Role.SPEAKER, speaker(1), ITEM.word_kinds, {"target": 2 / 3, "competitor": 1 / 3, "distractor": 0}),
        (Role.LISTENER, listener(1), ITEM.object_kinds, {"target": 0.6, "competitor": 0.4, "distractor": 0}),
    ):
        assert policy(mind, Params(), seen(ITEM, role)) == pytest.approx([expected[kind] for kind in kinds], abs=1e-6)


def test_limits_of_alpha_and_lapse():
    for role, mind, kinds in (
        (Role.SPEAKER, speaker(1), ITEM.word_kinds),
        (Role.LISTENER, listener(1), ITEM.object_kinds),
    ):
        observation, best = seen(ITEM, role), kinds.index("target")
        assert policy(mind, Params(alpha=1000.0), observation)[best] == pytest.approx(1.0)
        possible = policy(mind, Params(), observation) > 0
        assert policy(mind, Params(alpha=0.0), observation) == pytest.approx(possible / possible.sum())
        assert policy(mind, Params(alpha=0.0, slip=1e-7), observation) == pytest.approx(
            np.full(len(kinds), 1 / len(kinds))
        )
        assert policy(mind, Params(lapse=1.0), observation) == pytest.approx(np.full(len(kinds), 1 / len(kinds)))


def test_a_word_that_tells_nothing_leaves_every_object():
    item = Item((("red", "box"), ("blue", "box")), ("red", "blue", "green"), 0, 0, 0)
    for word in (-1, 2):  # nothing said, and a word that is true of nothing
        for depth in (0, 1, 2):
            assert policy(listener(depth), Params(), seen(item, Role.LISTENER, word=word)) == pytest.approx([0.5, 0.5])
    mute = Item((("red", "box"), ("blue", "box")), ("red", "crimson"), 1, 0, 0)  # no word is true of its target
    assert policy(speaker(1), Params(), seen(mute, Role.SPEAKER)) == pytest.approx([0.5, 0.5])


def test_options_of_one_kind_count_as_one():
    observation = seen(ITEM, Role.SPEAKER)
    kinds = ("target", "competitor", "distractor")
    actions = jnp.array([[kind == own for own in ITEM.word_kinds] for kind in kinds] + [[False] * 4])
    params = Params(alpha=2.0, lapse=0.3)
    by_kind = policy(speaker(1), params, observation, actions)
    assert by_kind == pytest.approx([0.7 * 0.8 + 0.1, 0.7 * 0.2 + 0.1, 0.1, 0.0], abs=1e-6)
    assert policy(speaker(1), params, observation).sum() == pytest.approx(1.0)
    assert np.exp(joined(jnp.log(jnp.array([0.1, 0.2, 0.3, 0.4])), actions))[3] == 0.0
    assert np.asarray(singles(jnp.array([True, False]))).tolist() == [[True, False], [False, False]]


def test_it_plays_as_it_shadows():
    params = Params(alpha=1.5, lapse=0.2)
    for role, mind in ((Role.SPEAKER, speaker(1)), (Role.LISTENER, listener(2))):
        observation = seen(ITEM, role)
        keys = jax.random.split(jax.random.key(0), 4000)
        played = jax.jit(jax.vmap(lambda key, mind=mind, o=observation: mind.sample(key, params, (), o)))(keys)
        expected = policy(mind, params, observation)
        shares = np.bincount(played, minlength=len(expected)) / 4000
        assert np.abs(shares - expected).max() < 4 * 0.5 / np.sqrt(4000)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10_000), st.randoms(use_true_random=False))
def test_relabelled_words_and_objects_change_nothing(seed, shuffler):
    item = random_context(np.random.default_rng(seed), 3)
    words, objects = list(range(len(item.words))), list(range(3))
    shuffler.shuffle(words)
    shuffler.shuffle(objects)
    other = Item(
        tuple(item.objects[o] for o in objects), tuple(item.words[w] for w in words),
        objects.index(item.target), words.index(item.heard), objects.index(item.referent),
    )  # fmt: skip
    for mind, role, order in ((speaker(2), Role.SPEAKER, words), (listener(2), Role.LISTENER, objects)):
        params = Params(alpha=2.0, lapse=0.1)
        before, after = (policy(mind, params, seen(each, role)) for each in (item, other))
        assert after == pytest.approx(before[order], abs=1e-5)


def test_padding_changes_nothing_and_vmap_is_a_loop():
    items = (ITEM, random_context(np.random.default_rng(4), 5))
    table = contexts(items)
    for mind, role in ((speaker(2), Role.SPEAKER), (listener(1), Role.LISTENER)):
        params = Params(alpha=2.0, lapse=0.1)
        padded = [
            observe(
                begin(jax.tree.map(lambda x, n=n: x[n], table), item.target)._replace(word=jnp.int32(item.heard)), role
            )
            for n, item in enumerate(items)
        ]
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *padded)
        run = jax.jit(jax.vmap(lambda o, m=mind, p=params: m.log_policy(p, (), o, m.alternatives(p, (), o))))
        for n, item in enumerate(items):
            alone = policy(mind, params, seen(item, role))
            assert policy(mind, params, padded[n])[: alone.size] == pytest.approx(alone, abs=1e-6)
            assert policy(mind, params, padded[n])[alone.size :].sum() == 0
            assert np.exp(run(stacked)[n])[: alone.size] == pytest.approx(alone, abs=1e-6)


# --- gradients


def log_policy_of(mind, observation):
    """[A] log P(option) as a function of alpha, lapse, other_alpha and slip."""
    actions = mind.alternatives(Params(), (), observation)
    return lambda x: mind.log_policy(Params(*x), (), observation, actions)


@pytest.mark.parametrize("role", list(Role))
def test_gradients_are_finite_and_those_of_finite_differences(role):
    mind = speaker(2) if role == Role.SPEAKER else listener(2)
    single = jax.jit(jax.jacrev(log_policy_of(mind, seen(ITEM, role))))
    in_single = [np.asarray(single(jnp.array([alpha, 0.1, 1.5, 1e-3]))) for alpha in ALPHAS]
    with jax.enable_x64(True):
        f = jax.jit(log_policy_of(mind, seen(ITEM, role)))
        slope = jax.jit(jax.jacrev(log_policy_of(mind, seen(ITEM, role))))
        for alpha, rough in zip(ALPHAS, in_single, strict=True):
            at = np.array([alpha, 0.1, 1.5, 1e-3])
            gradient = np.asarray(slope(jnp.asarray(at)))
            for n, step in enumerate((1e-6, 1e-6, 1e-6, 1e-8)):
                up, down = at.copy(), at.copy()
                up[n], down[n] = up[n] + step, max(down[n] - step, 0.0)
                difference = (f(jnp.asarray(up)) - f(jnp.asarray(down))) / (up[n] - down[n])
                assert gradient[:, n] == pytest.approx(np.asarray(difference), rel=2e-4, abs=2e-5)
            assert rough == pytest.approx(gradient, rel=5e-3, abs=5e-3)


def test_gradients_at_zeros_are_finite():
    """Where an option is impossible, and nothing lapses or slips."""
    for role, mind in ((Role.SPEAKER, speaker(1)), (Role.LISTENER, listener(1))):
        observation = seen(ITEM, role)
        actions = mind.alternatives(Params(), (), observation)

        def total(x, mind=mind, observation=observation, actions=actions):
            log_p = mind.log_policy(Params(*x), (), observation, actions)
            return jnp.where(log_p == -jnp.inf, 0.0, log_p).sum()

        gradient = jax.jit(jax.grad(total))
        for alpha in ALPHAS:
            for lapse in (0.0, 0.1):
                assert bool(jnp.isfinite(gradient(jnp.array([alpha, lapse, alpha, 0.0]))).all())


def test_a_choice_where_nothing_is_possible_has_a_gradient_of_zero():
    legal = jnp.array([True, True, False])
    f = lambda x: sharpened(jnp.full(3, -jnp.inf), x, 0.0, legal)  # noqa: E731
    assert np.exp(f(2.0)).tolist() == pytest.approx([0.5, 0.5, 0.0])
    assert np.asarray(jax.jacobian(f)(2.0)).tolist() == [0.0, 0.0, 0.0]


def test_a_depth_below_nothing_is_refused():
    for build in (speaker, listener):
        with pytest.raises(ValueError, match="depth=-1"):
            build(-1)
    assert named("pragmatic:depth=3", Role.SPEAKER).mind is speaker(3)
