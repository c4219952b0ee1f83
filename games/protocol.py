"""What every game is: a handful of pure functions over a NamedTuple state."""

from collections.abc import Callable
from typing import Any, NamedTuple

NO_ANSWER = -1
"""The action of a player who failed to give one. Every game can be stepped with it."""


class Game(NamedTuple):
    """A game as pure functions. `State`, `Observation`, `View`, `Event` are the game's own NamedTuples.

    `schedule` lists the phases of one round, in order; each phase names the roles that act at once. It says
    statically what `actors` says of a state, so that a driver can unroll a round inside `lax.scan`.
    """

    name: str
    roles: tuple[str, ...]  # a role is an index into this
    schedule: tuple[tuple[int, ...], ...]  # phases of a round: the roles that act at once
    rounds: int  # at most so many rounds
    init: Callable[..., Any]  # (key) -> State
    view: Callable[..., Any]  # (state, role) -> View: what this player privately knows from the start
    observe: Callable[..., Any]  # (state, role) -> Observation: what this player may know now
    actors: Callable[..., Any]  # (state) -> [roles] bool: who acts now; nobody once the game is over
    legal: Callable[..., Any]  # (state, role) -> [A] bool over the role's actions; None: open-ended
    step: Callable[..., Any]  # (key, state, joint_action: {role: action}) -> (State, Event)
    done: Callable[..., Any]  # (state) -> bool; a terminal state absorbs every step
    returns: Callable[..., Any]  # (state) -> [roles] float: what each role has won
    imagine: Callable[..., Any]  # (view, role, hypothesis) -> View: what `role` would know if it held
    no_action: Callable[..., Any]  # (role) -> the NO_ANSWER action of that role
