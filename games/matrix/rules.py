"""Any two-player payoff matrix, played over and over: both move at once, then both see the moves and the payoffs."""

from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from otherminds.games.protocol import NO_ANSWER, Game


class Role(IntEnum):
    """Who chooses what: the row player an index into A moves, the column player one into B moves."""

    ROW = 0
    COLUMN = 1


@dataclass(frozen=True)
class Config:
    """What is played. Hashable, so that equal configurations share one compiled game.

    payoffs: [2, A, B], what ROW and what COLUMN win when ROW moves a and COLUMN moves b (for both players the row
        player's move comes first). Any array or nested list; kept as tuples.   rounds: at least 1.
    Raises: ValueError for another shape, for a payoff that is not finite, and for less than one round.
    """

    payoffs: Any
    rounds: int
    name: str = "matrix"

    def __post_init__(self):
        table = np.asarray(self.payoffs, float)
        if table.ndim != 3 or table.shape[0] != 2 or 0 in table.shape:
            raise ValueError(
                f"payoffs of shape {table.shape}: give [2, A, B], one matrix a player, the row player's move first "
                "(zero_sum and symmetric make it from one matrix)"
            )
        if not np.isfinite(table).all():
            place = ", ".join(map(str, np.argwhere(~np.isfinite(table))[0]))
            raise ValueError(f"payoffs[{place}] is {table[~np.isfinite(table)][0]}; payoffs are finite numbers")
        if self.rounds < 1:
            raise ValueError(f"rounds={self.rounds}: a game has at least one round")
        object.__setattr__(self, "payoffs", tuple(tuple(map(tuple, matrix)) for matrix in table.tolist()))


class State(NamedTuple):
    """A game after some of its T rounds."""

    moves: Int[Array, "... 2 T"]  # [role, round]; NO_ANSWER: missing, or not played yet
    valid: Bool[Array, "... T"]  # the round has been played


class View(NamedTuple):
    """What a player knows from the start: both payoff matrices, each with its owner's move first."""

    role: Int[Array, "..."]
    payoff: Float[Array, "... O P"]  # the player's own [own move, other's move]
    other_payoff: Float[Array, "... P O"]  # the other's [other's move, own move]


class Observation(NamedTuple):
    """What a role knows at its decision: every round so far, its own moves apart from the other's."""

    role: Int[Array, "..."]
    round: Int[Array, "..."]  # rounds played
    own: Int[Array, "... T"]  # NO_ANSWER: missing, or not played yet
    other: Int[Array, "... T"]
    valid: Bool[Array, "... T"]


class Event(NamedTuple):
    """A round, as both see it. `valid` is False once the game is over."""

    valid: Bool[Array, "..."]
    moves: Int[Array, "... 2"]  # NO_ANSWER: missing
    payoff: Float[Array, "... 2"]  # 0 for both where a move is missing
    complete: Bool[Array, "..."]  # both moved; otherwise nobody won, and it is no outcome


def zero_sum(payoff: Any) -> np.ndarray:
    """[2, A, B] from the row player's [A, B]: what one wins the other loses."""
    payoff = np.asarray(payoff, float)
    return np.stack([payoff, -payoff])


def symmetric(payoff: Any) -> np.ndarray:
    """[2, A, A] from the payoff [own move, other's move] of either player."""
    payoff = np.asarray(payoff, float)
    return np.stack([payoff, payoff.T])


def begin(rounds: int) -> State:
    """A game of which no round has been played."""
    return State(jnp.full((2, rounds), NO_ANSWER, jnp.int32), jnp.zeros(rounds, bool))


def done(state: State) -> Bool[Array, ""]:
    """Whether the last round has been played."""
    return state.valid[-1]


def actors(state: State) -> Bool[Array, "2"]:
    """[2] both, until nobody."""
    return jnp.full(2, ~done(state))


def observe(state: State, role: int) -> Observation:
    """All rounds so far; nothing is hidden."""
    return Observation(
        jnp.int32(role), state.valid.sum(dtype=jnp.int32), state.moves[role], state.moves[1 - role], state.valid
    )


def no_action(role: int) -> Int[Array, ""]:
    """The missing move of either role."""
    del role
    return jnp.int32(NO_ANSWER)


def payoffs_of(payoffs: Float[Array, "2 A B"], moves: Int[Array, "2"]) -> Float[Array, "2"]:
    """[2] what the players win in a round, payoffs[:, a, b]; 0 for both where a move is missing."""
    return jnp.where((moves >= 0).all(), payoffs[:, moves[0], moves[1]], 0.0)


@cache
def matrix(config: Config) -> Game:
    """The repeated game. Nothing in it is random: the key of `init` and of `step` is not used.

    `returns` are the payoffs summed over the rounds. `imagine` takes as hypothesis other payoffs [2, A, B], or None
    for those of the game. A finished game absorbs.
    """

    def table() -> Float[Array, "2 A B"]:
        return jnp.asarray(config.payoffs, float)  # made where it is used, in the precision that holds there

    def seen(payoffs: Float[Array, "2 A B"], role: int) -> View:
        first = (payoffs[0], payoffs[1].T)
        return View(jnp.int32(role), first[role], first[1 - role])

    def step(key: PRNGKeyArray | None, state: State, joint_action: dict[int, Array | int]) -> tuple[State, Event]:
        del key
        over, now = done(state), jnp.arange(config.rounds) == state.valid.sum()  # no round is now once it is over
        moves = jnp.stack([jnp.int32(joint_action[role]) for role in Role])
        after = State(jnp.where(now, moves[:, None], state.moves), state.valid | now)
        return after, Event(~over, moves, payoffs_of(table(), moves), (moves >= 0).all())

    def returns(state: State) -> Float[Array, "2"]:
        return jax.vmap(payoffs_of, in_axes=(None, 1))(table(), state.moves).sum(0)

    def imagine(view: View, role: int, hypothesis: Float[Array, "2 A B"] | None = None) -> View:
        del view
        return seen(table() if hypothesis is None else hypothesis, role)

    return Game(
        name=config.name,
        roles=("row", "column"),
        schedule=((Role.ROW, Role.COLUMN),),
        rounds=config.rounds,
        init=lambda key: begin(config.rounds),
        view=lambda state, role: seen(table(), role),
        observe=observe,
        actors=actors,
        legal=lambda state, role: jnp.ones(np.shape(config.payoffs)[1 + role], bool),
        step=step,
        done=done,
        returns=returns,
        imagine=imagine,
        no_action=no_action,
    )
