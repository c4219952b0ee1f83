"""The observer game: somebody watches a match of rock, paper, scissors and says which strategies are played.

The match is dealt up front, so every observer sees the same one. He is asked after some of its rounds, and sees the
rounds up to then, the last H of them where his history is limited. His action is a pair of places in a list of
strategies, one a player. It is a hit where both are right; a failed answer is a miss.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from otherminds.games.protocol import NO_ANSWER, Game


class Role(IntEnum):
    """There is one: the players have played already."""

    OBSERVER = 0


class Ending(IntEnum):
    """How a game stands. STOPPED: the same pair was named so often in a row that nobody asks any more."""

    WATCHING = 0
    COMPLETE = 1
    STOPPED = 2


@dataclass(frozen=True)
class Asking:
    """After which rounds the observer is asked, and what he sees then.

    rounds: of the match.   warmup: rounds before the first question may come.   every: asked after the rounds that
        this divides, and after the last.
    history: rounds that he sees, the last ones; None: all.
    reasoning_interval: reasoning is asked for at the first question in every span of so many rounds, and at the last;
        None: never.   stop_after: equal pairs in a row after which he is asked no more; None: never.
    Raises: ValueError for numbers below 1 (warmup: below 0), and where no round is left after the warm-up.
    """

    rounds: int = 200
    warmup: int = 10
    every: int = 10
    history: int | None = 50
    reasoning_interval: int | None = 20
    stop_after: int | None = None

    def __post_init__(self):
        for name in ("rounds", "every", "history", "reasoning_interval", "stop_after"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}={value}: at least 1")
        if self.warmup < 0:
            raise ValueError(f"warmup={self.warmup}: at least 0")
        if self.warmup >= self.rounds:
            raise ValueError(
                f"rounds={self.rounds} with warmup={self.warmup}: no round is left to ask after; give more rounds"
            )

    @property
    def asked(self) -> tuple[int, ...]:
        """The rounds, counted from 1, after which the observer is asked."""
        return tuple(r for r in range(self.warmup + 1, self.rounds + 1) if r % self.every == 0 or r == self.rounds)

    @property
    def memory(self) -> int | None:
        """The last rounds that are shown; None where these are all of the match."""
        return None if self.history is None or self.history >= self.rounds else self.history

    def first(self, now: int) -> int:
        """Rounds that are out of sight again after round `now`."""
        return 0 if self.history is None else max(now - self.history, 0)

    def reasons(self, question: int) -> bool:
        """Whether reasoning is asked for at a question, counted from 0."""
        if self.reasoning_interval is None:
            return False
        asked = self.asked
        before = asked[question - 1] if question else self.warmup
        span = asked[question] // self.reasoning_interval
        return question == len(asked) - 1 or span > before // self.reasoning_interval


class State(NamedTuple):
    """A match of T rounds, and what was said after Q of them."""

    moves: Int[Array, "... 2 T"]  # NO_ANSWER: missing
    guesses: Int[Array, "... Q 2"]  # NO_ANSWER: failed, or not asked yet
    turn: Int[Array, "..."]  # questions answered
    ending: Int[Array, "..."]  # Ending


class View(NamedTuple):
    """What the observer has seen before the first question: the F rounds up to it."""

    role: Int[Array, "..."]
    moves: Int[Array, "... 2 F"]


class Observation(NamedTuple):
    """What the observer may look at when he is asked: rounds first + 1 to round."""

    role: Int[Array, "..."]
    turn: Int[Array, "..."]  # number of the question, from 0
    round: Int[Array, "..."]  # rounds played
    first: Int[Array, "..."]  # rounds that are out of sight again
    moves: Int[Array, "... 2 T"]  # NO_ANSWER: missing, or not seen
    valid: Bool[Array, "... T"]  # the round is seen


class Event(NamedTuple):
    """The rounds from one question to the next, at most E. `valid` is False once nobody is asked any more."""

    valid: Bool[Array, "..."]
    moves: Int[Array, "... 2 E"]
    shown: Bool[Array, "... E"]  # False: padding


def begin(moves: Int[Array, "2 T"] | Int[np.ndarray, "2 T"], asking: Asking) -> State:
    """A match that is dealt, with nothing asked yet.

    Raises: ValueError for a match of another length than `asking.rounds`.
    """
    if moves.shape[-1] != asking.rounds:
        raise ValueError(f"moves of {moves.shape[-1]} rounds: the observer is to watch {asking.rounds}")
    guesses = jnp.full((len(asking.asked), 2), NO_ANSWER, jnp.int32)
    return State(jnp.asarray(moves, jnp.int32), guesses, jnp.int32(0), jnp.int32(Ending.WATCHING))


def observer_game(
    deal: Callable[[PRNGKeyArray], Int[Array, "2 T"]], truth: Sequence[int], strategies: int, asking: Asking
) -> Game:
    """The game of one observer.

    deal: the match from a key.   truth: the places of the two strategies that are played; NO_ANSWER for one that is
        not in the list, which nobody can name.   strategies: how many the list has.
    `returns` are the hits over all questions; after the rule of `asking.stop_after` the last pair counts for those that
    were not put any more. `legal` is [S, S]. `imagine` takes as hypothesis other moves [2, F] of the first rounds.
    """
    asked = np.array(asking.asked)
    questions, right = len(asked), np.array(truth, np.int32)
    gap = int(np.diff(asked).max(initial=1))

    hidden = np.array([asking.first(now) for now in asking.asked])

    def at(turn: Int[Array, ""], values: np.ndarray) -> Int[Array, ""]:
        return jnp.asarray(values, jnp.int32)[jnp.minimum(turn, questions - 1)]

    def observe(state: State, role: int) -> Observation:
        now, first = at(state.turn, asked), at(state.turn, hidden)
        place = jnp.arange(asking.rounds)
        valid = (place >= first) & (place < now)
        return Observation(
            jnp.int32(role), state.turn, now, first, jnp.where(valid, state.moves, jnp.int32(NO_ANSWER)), valid
        )

    def step(key: PRNGKeyArray | None, state: State, joint_action: dict[int, Array]) -> tuple[State, Event]:
        del key
        over, guess = done(state), jnp.int32(joint_action[Role.OBSERVER])
        guesses = jnp.where((jnp.arange(questions) == state.turn)[:, None], guess, state.guesses)
        turn = state.turn + 1
        ending = jnp.where(turn == questions, Ending.COMPLETE, Ending.WATCHING)
        if asking.stop_after is not None:
            run = turn - 1 - jnp.arange(questions)  # 0 for this question, 1 for the one before
            lately = (run >= 0) & (run < asking.stop_after)
            agreed = (guess >= 0).all() & ((guesses == guess).all(-1) | ~lately).all() & (turn >= asking.stop_after)
            ending = jnp.where(agreed, Ending.STOPPED, ending)
        after = State(state.moves, guesses, turn, ending.astype(jnp.int32))
        before, now = at(state.turn, asked), at(turn, asked)
        padded = jnp.pad(state.moves, ((0, 0), (0, gap)), constant_values=NO_ANSWER)
        event = Event(
            ~over & (turn < questions),
            jax.lax.dynamic_slice(padded, (0, before), (2, gap)),
            jnp.arange(gap) < now - before,
        )
        return jax.tree.map(lambda old, new: jnp.where(over, old, new), state, after), event

    def returns(state: State) -> Float[Array, "1"]:
        last = state.guesses[jnp.maximum(state.turn - 1, 0)]
        carried = (jnp.arange(questions) >= state.turn)[:, None] & (state.ending == Ending.STOPPED)
        named = jnp.where(carried, last, state.guesses)
        return ((named == right) & (named >= 0)).all(-1).sum(dtype=float)[None]

    return Game(
        name="rps-observer",
        roles=("observer",),
        schedule=((Role.OBSERVER,),),
        rounds=questions,
        init=lambda key: begin(deal(key), asking),
        view=lambda state, role: View(jnp.int32(role), state.moves[:, : int(asked[0])]),
        observe=observe,
        actors=lambda state: jnp.atleast_1d(~done(state)),
        legal=lambda state, role: jnp.ones((strategies, strategies), bool),
        step=step,
        done=done,
        returns=returns,
        imagine=lambda view, role, hypothesis: View(jnp.int32(role), jnp.asarray(hypothesis)),
        no_action=lambda role: jnp.full(2, NO_ANSWER, jnp.int32),
    )


def done(state: State) -> Bool[Array, ""]:
    """Whether nobody is asked any more."""
    return state.ending != Ending.WATCHING
