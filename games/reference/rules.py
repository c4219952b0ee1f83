"""The reference game: a speaker says one word about one of the objects that both see, a listener picks an object.

Objects have features, and a word is true of the objects that have the feature it names (`items`). The smallest game
here: one round, two decisions. Both win if the listener picks the speaker's object.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from otherminds.games.protocol import NO_ANSWER, Game
from otherminds.games.reference.items import Item, truths
from otherminds.inference.precision import cached


class Role(IntEnum):
    """Who sits where."""

    SPEAKER = 0
    LISTENER = 1


class Ending(IntEnum):
    """How a game stands. A word or a pick that failed is a misunderstanding."""

    UNFINISHED = 0
    UNDERSTOOD = 1
    MISUNDERSTOOD = 2


class Context(NamedTuple):
    """What both see: W words and O objects, padded to one size for all items of a game."""

    truth: Bool[Array, "... W O"]  # the word is true of the object
    words: Bool[Array, "... W"]  # False: padding
    objects: Bool[Array, "... O"]  # False: padding


class State(NamedTuple):
    """A game as nobody sees it whole."""

    item: Int[Array, "..."]  # place in the list of items
    context: Context
    target: Int[Array, "..."]  # the object that the speaker means
    spoken: Bool[Array, "..."]
    word: Int[Array, "..."]  # -1: not said yet, or no answer
    pick: Int[Array, "..."]  # -1: not picked yet, or no answer
    ending: Int[Array, "..."]  # Ending


class View(NamedTuple):
    """What a player privately knows from the start. target: -1 for the listener."""

    role: Int[Array, "..."]
    context: Context
    target: Int[Array, "..."]


class Observation(NamedTuple):
    """What a role may know at its decision; -1 where it may not, or where there is nothing yet."""

    role: Int[Array, "..."]
    item: Int[Array, "..."]
    context: Context
    target: Int[Array, "..."]  # the speaker's alone
    word: Int[Array, "..."]  # what the listener heard


class Event(NamedTuple):
    """The finished game, as both see it. `valid` is False for the step that does not finish it."""

    valid: Bool[Array, "..."]
    target: Int[Array, "..."]
    word: Int[Array, "..."]
    pick: Int[Array, "..."]


def contexts(items: Sequence[Item]) -> Context:
    """The contexts of N items, stacked: truth [N, W, O], words [N, W], objects [N, O]."""
    return Context(*map(jnp.asarray, truths(items)))


def begin(context: Context, target: Int[Array, ""] | int, item: Int[Array, ""] | int = 0) -> State:
    """A game about one object of a context, nothing said yet."""
    nothing = jnp.int32(NO_ANSWER)
    return State(
        jnp.int32(item), context, jnp.int32(target), jnp.bool_(False), nothing, nothing, jnp.int32(Ending.UNFINISHED)
    )


def done(state: State) -> Bool[Array, ""]:
    """Whether the listener has picked."""
    return state.ending != Ending.UNFINISHED


def actors(state: State) -> Bool[Array, "2"]:
    """[2] who acts now: the speaker, then the listener, then nobody."""
    return jnp.stack([~state.spoken, state.spoken]) & ~done(state)


def view(state: State, role: int) -> View:
    """The context for both, the target for the speaker alone."""
    return View(jnp.int32(role), state.context, jnp.where(role == Role.SPEAKER, state.target, NO_ANSWER))


def observe(state: State, role: int) -> Observation:
    """What `role` may know now."""
    word = jnp.int32(NO_ANSWER) if role == Role.SPEAKER else state.word
    return Observation(jnp.int32(role), state.item, state.context, view(state, role).target, word)


def legal(state: State, role: int) -> Bool[Array, " A"]:
    """[W] every word, also (unwisely) one that is false of the target; or [O] every object."""
    return state.context.words if role == Role.SPEAKER else state.context.objects


def no_action(role: int) -> Int[Array, ""]:
    """The failed answer of either role."""
    del role
    return jnp.int32(NO_ANSWER)


def step(key: PRNGKeyArray | None, state: State, joint_action: dict[int, Array | int]) -> tuple[State, Event]:
    """{SPEAKER: word} or {LISTENER: object}. Nothing here is random, and a finished game absorbs.

    Where the speaker gave no word, there was nothing to understand, whatever the listener picks.
    """
    del key
    over = done(state)
    if Role.SPEAKER in joint_action:
        after = state._replace(word=jnp.int32(joint_action[Role.SPEAKER]), spoken=jnp.bool_(True))
        event = Event(jnp.bool_(False), state.target, after.word, state.pick)
    else:
        pick = jnp.int32(joint_action[Role.LISTENER])
        understood = (state.word != NO_ANSWER) & (pick == state.target)
        ending = jnp.where(understood, int(Ending.UNDERSTOOD), int(Ending.MISUNDERSTOOD))
        after = state._replace(pick=pick, ending=ending)
        event = Event(~over, state.target, state.word, pick)
    return jax.tree.map(lambda old, new: jnp.where(over, old, new), state, after), event


def returns(state: State) -> Float[Array, "2"]:
    """[2] 1 for both once they have understood each other, else 0."""
    return jnp.full(2, (state.ending == Ending.UNDERSTOOD).astype(jnp.float32))


def imagine(view: View, role: int, hypothesis: Int[Array, ""] | int) -> View:
    """What `role` would privately know if the target were the object `hypothesis`."""
    return View(jnp.int32(role), view.context, jnp.where(role == Role.SPEAKER, hypothesis, NO_ANSWER))


@cached
def reference(items: tuple[Item, ...]) -> Game:
    """The game over a list of items: each game is about one of them, drawn uniformly, and about its target.

    Raises: ValueError without items.
    """
    if not items:
        raise ValueError("items: there is none; a game needs at least one, such as items.simple_implicature(random)")
    table, targets = contexts(items), jnp.array([item.target for item in items])

    def init(key: PRNGKeyArray) -> State:
        item = jax.random.randint(key, (), 0, len(items))
        return begin(jax.tree.map(lambda leaf: leaf[item], table), targets[item], item)

    return Game(
        name="reference",
        roles=("speaker", "listener"),
        schedule=((Role.SPEAKER,), (Role.LISTENER,)),
        rounds=1,
        init=init,
        view=view,
        observe=observe,
        actors=actors,
        legal=legal,
        step=step,
        done=done,
        returns=returns,
        imagine=imagine,
        no_action=no_action,
    )
