"""The asynchronous driver: one game at a table of minds, language models or people.

It follows the key schedule of the jitted rollout, so that a table of minds plays the same games in both.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from otherminds.games.protocol import Game
from otherminds.games.rollout import decision_key
from otherminds.tom.agents.base import Decision
from otherminds.tom.agents.words import Words
from otherminds.tom.llm.notices import asking


class Seat(Protocol):
    """Somebody who sits at a table for one game; observations and events are the game's own."""

    async def act(self, observation: Any, key: jax.Array) -> Decision: ...

    def see(self, event: Any) -> None: ...


@dataclass(frozen=True)
class Played:
    """A decision in the game, as it goes into the log. role: an index into the game's roles."""

    turn: int
    role: int
    observation: Any
    decision: Decision
    seconds: float


Recorded = Mapping[tuple[int, int], Decision]
"""By turn and role."""
Listener = Callable[[Played], Awaitable[None] | None]


@cache
def _functions(game: Game) -> Any:
    """The game's functions, jitted for play one step at a time."""
    observe = jax.jit(game.observe, static_argnums=1)
    step = jax.jit(lambda state, joint: game.step(None, state, joint))
    return observe, step, jax.jit(game.actors), jax.jit(game.done)


async def play(
    game: Game,
    state: Any,
    seats: tuple[Seat, ...],
    words: Words | None,
    key: jax.Array,
    *,
    recorded: Recorded | None = None,
    on_decision: Listener | None = None,
) -> Any:
    """Plays a dealt game to its end and returns the final state, which counts its turns in `turn`.

    words: the rows of what is said in words; None in a game where nothing is.   key: the game's key.
    recorded: decisions that were made before a kill; they are not asked for again.
    on_decision: called for every new decision before the next one is asked for, to write it down.
    Raises: what a seat raises, once the others who act at the same time have decided, so that no decision is lost.
    """
    observe, step, actors, done = _functions(game)
    recorded = recorded or {}
    phase = 0
    while not bool(done(state)):
        acting = np.flatnonzero(np.asarray(actors(state))).tolist()
        turn = int(state.turn)

        async def decide(role: int, state=state, phase=phase, turn=turn) -> Decision:
            if (turn, role) in recorded:
                return recorded[turn, role]
            observation = jax.tree.map(np.asarray, observe(state, role))
            begun = time.perf_counter()
            with asking(f"turn {turn + 1}, {game.roles[role]}"):  # problems are told with it
                decision = await seats[role].act(observation, decision_key(key, phase, role))
            if on_decision is not None:
                result = on_decision(Played(turn, role, observation, decision, time.perf_counter() - begun))
                if result is not None:
                    await result
            return decision

        decisions = await asyncio.gather(*(decide(role) for role in acting), return_exceptions=True)
        for decision in decisions:
            if isinstance(decision, BaseException):
                raise decision
        joint = {
            role: game.no_action(role) if decision.action is None else _as_array(decision.action, words)
            for role, decision in zip(acting, decisions, strict=True)
        }
        state, event = step(state, joint)
        if bool(event.valid):
            event = jax.tree.map(np.asarray, event)
            for seat in seats:
                seat.see(event)
        phase += 1
    return state


def _as_array(action: Any, words: Words | None) -> jax.Array:
    said = words is not None and isinstance(action, tuple)
    return jnp.asarray(words.rows(action) if said else action, jnp.int32)
