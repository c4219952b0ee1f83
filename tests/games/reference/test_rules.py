"""The rules: who acts, who sees what, when it is understood; the same in a jitted rollout."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.protocol import NO_ANSWER
from otherminds.games.reference.items import random_context, simple_implicature
from otherminds.games.reference.rules import Ending, Role, begin, contexts, reference
from otherminds.games.rollout import game_key, rollout
from otherminds.tom.minds.reference.registry import named

RANDOM = np.random.default_rng(0)
ITEMS = (*(simple_implicature(RANDOM, name=str(n)) for n in range(5)), random_context(RANDOM, 4))
GAME = reference(ITEMS)


def first():
    return begin(jax.tree.map(lambda leaf: leaf[0], contexts(ITEMS[:1])), ITEMS[0].target)


def equal(a, b):
    return all(bool((x == y).all()) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


@pytest.mark.parametrize(("word", "pick"), [*itertools.product(range(-1, 4), range(-1, 3))])
def test_both_win_when_the_listener_finds_the_target(word, pick):
    state = first()
    assert np.asarray(GAME.actors(state)).tolist() == [True, False] and not GAME.done(state)
    spoken, event = GAME.step(None, state, {Role.SPEAKER: word})
    assert np.asarray(GAME.actors(spoken)).tolist() == [False, True] and not event.valid
    over, event = GAME.step(None, spoken, {Role.LISTENER: pick})
    understood = word != NO_ANSWER and pick == ITEMS[0].target
    assert int(over.ending) == (Ending.UNDERSTOOD if understood else Ending.MISUNDERSTOOD)
    assert np.asarray(GAME.returns(over)).tolist() == [float(understood)] * 2
    assert np.asarray(GAME.returns(state)).tolist() == [0.0, 0.0]
    assert bool(GAME.done(over)) and not np.asarray(GAME.actors(over)).any()
    assert [int(x) for x in (event.target, event.word, event.pick)] == [ITEMS[0].target, word, pick] and event.valid
    for joint in ({Role.SPEAKER: 0}, {Role.LISTENER: ITEMS[0].target}):  # a finished game absorbs
        after, event = GAME.step(None, over, joint)
        assert equal(after, over) and not event.valid


def test_the_listener_never_sees_the_target():
    state, _ = GAME.step(None, first(), {Role.SPEAKER: 2})
    speaker, listener = GAME.observe(state, Role.SPEAKER), GAME.observe(state, Role.LISTENER)
    assert (int(speaker.target), int(speaker.word)) == (ITEMS[0].target, NO_ANSWER)
    assert (int(listener.target), int(listener.word)) == (NO_ANSWER, 2)
    assert int(GAME.view(state, Role.LISTENER).target) == NO_ANSWER
    others = [first()._replace(target=jnp.int32(target)) for target in range(3)]
    heard = [GAME.step(None, other, {Role.SPEAKER: 2})[0] for other in others]
    assert all(equal(GAME.observe(heard[0], Role.LISTENER), GAME.observe(other, Role.LISTENER)) for other in heard)


def test_what_a_role_would_know_can_be_imagined():
    view = GAME.view(first(), Role.LISTENER)
    for target in range(3):
        speaker = GAME.imagine(view, Role.SPEAKER, target)
        assert equal(speaker, GAME.view(first()._replace(target=jnp.int32(target)), Role.SPEAKER))
        assert equal(GAME.imagine(view, Role.LISTENER, target), view)


def test_padding_is_never_legal():
    table = contexts(ITEMS)
    for place, item in enumerate(ITEMS):
        state = begin(jax.tree.map(lambda leaf, place=place: leaf[place], table), item.target)
        assert int(GAME.legal(state, Role.SPEAKER).sum()) == len(item.words)
        assert int(GAME.legal(state, Role.LISTENER).sum()) == len(item.objects)


def test_every_item_is_dealt_with_its_own_target():
    states = jax.vmap(GAME.init)(jax.random.split(jax.random.key(0), 600))
    counts = np.bincount(states.item, minlength=len(ITEMS))
    assert (counts > 60).all() and counts.sum() == 600
    assert (np.asarray(states.target) == np.array([item.target for item in ITEMS])[states.item]).all()


def test_a_game_needs_items():
    with pytest.raises(ValueError, match="there is none"):
        reference(())


def test_a_rollout_is_jitted_and_the_same_alone():
    """Literal speakers are understood as often as their words are clear: 3/4 of the time for a literal listener."""
    game = reference(ITEMS[:5])
    minds = [named("literal", role) for role in Role]
    players, params = tuple(mind.mind for mind in minds), tuple(mind.params for mind in minds)
    keys = jax.vmap(lambda index: game_key(jax.random.key(7), index))(jnp.arange(4000))
    final = jax.jit(jax.vmap(lambda key: rollout(game, players, params, key)[0]))(keys)
    assert bool(jax.vmap(game.done)(final).all())
    assert abs(float(jax.vmap(game.returns)(final)[:, 0].mean()) - 0.75) < 0.03  # standard error 0.007
    for index in (0, 1, 2):
        alone, _ = rollout(game, players, params, keys[index])
        assert equal(alone, jax.tree.map(lambda leaf, index=index: leaf[index], final))


def test_a_game_has_the_precision_of_whoever_plays_it():
    items = ITEMS[:2]
    key = jax.random.key(0)
    with jax.enable_x64(True):
        made = reference(items)
        assert made is reference(items) and made.init(key).context.truth.dtype == bool
    assert reference(items) is not made
