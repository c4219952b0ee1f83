"""Rock, paper, scissors: the moves, who beats whom, and the repeated game."""

from enum import IntEnum

import jax.numpy as jnp
from jaxtyping import Array, Int

from otherminds.games.matrix.rules import Config, matrix, zero_sum
from otherminds.games.protocol import NO_ANSWER, Game

MOVES = 3


class Move(IntEnum):
    """A move; each is beaten by the next, and the last by the first."""

    ROCK = 0
    PAPER = 1
    SCISSORS = 2


class Outcome(IntEnum):
    """How a round ended for a player."""

    WIN = 0
    DRAW = 1
    LOSS = 2


PAYOFF = ((0, -1, 1), (1, 0, -1), (-1, 1, 0))
"""[own move, other's move]: 1 for a win, 0 for a draw, -1 for a loss."""


def beats(own: Int[Array, "..."] | int, other: Int[Array, "..."] | int) -> Int[Array, "..."]:
    """1 where `own` beats `other`, (own - other) mod 3 = 1; -1 where it is beaten; 0 for a draw or a missing move."""
    own, other = jnp.asarray(own), jnp.asarray(other)
    gap = (own - other) % MOVES
    return jnp.where((own < 0) | (other < 0), 0, jnp.where(gap == 2, -1, gap))


def outcome(own: Int[Array, "..."] | int, other: Int[Array, "..."] | int) -> Int[Array, "..."]:
    """The `Outcome` of a round for the player who moved `own`; NO_ANSWER where a move is missing: no outcome."""
    missing = (jnp.asarray(own) < 0) | (jnp.asarray(other) < 0)
    return jnp.where(missing, NO_ANSWER, 1 - beats(own, other))


def rps(rounds: int) -> Game:
    """Rock, paper, scissors over a number of rounds, 1 for a win and -1 for a loss."""
    return matrix(Config(zero_sum(PAYOFF), rounds, "rps"))
