"""Finite-state strategies: a move drawn in each of S states, and the next state from the pair of moves that follows."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from otherminds.games.rps.rules import MOVES, PAYOFF
from otherminds.games.rps.strategies import (
    BOT_TREMBLE,
    FIRST,
    KINDS,
    SITUATIONS,
    Strategy,
    log_distributions,
    log_policies,
)
from otherminds.inference.scoring import with_lapse
from otherminds.inference.switching import check_probability


class Machine(NamedTuple):
    """A finite-state strategy."""

    start: Int[Array, "..."]
    log_output: Float[Array, "... S 3"]  # normalised over the move, before trembles
    transitions: Int[Array, "... S 4 4"]  # [state, own move, opponent's move] -> state; the fourth kind: missing
    tremble: Float[Array, "..."]  # probability of a uniformly random move instead


def machine(start: int, output: Any, transitions: Any, tremble: float = 0.0) -> Machine:
    """A machine from probabilities.

    start: a state.   output: [S, 3], the move in each state.   transitions: [S, 3, 3], the state after [own move,
    opponent's move], where a missing move of either changes no state; or [S, 4, 4] with the fourth kind, missing.
    Raises: ValueError for a row that is no distribution, a state that does not exist, and another shape.
    """
    transitions, states = np.asarray(transitions), len(output)
    if transitions.shape == (states, MOVES, MOVES):
        padded = np.broadcast_to(np.arange(states)[:, None, None], (states, KINDS, KINDS)).copy()
        padded[:, :MOVES, :MOVES] = transitions
        transitions = padded
    if transitions.shape != (states, KINDS, KINDS):
        raise ValueError(f"transitions of shape {transitions.shape} for {states} states: give [S, 3, 3] or [S, 4, 4]")
    for name, value in (("start", np.asarray(start)), ("transitions", transitions)):
        if (value < 0).any() or (value >= states).any():
            raise ValueError(f"{name} holds {value[(value < 0) | (value >= states)][0]}; states are 0 to {states - 1}")
    check_probability("tremble", tremble)
    return Machine(
        jnp.int32(start),
        log_distributions("output", output),
        jnp.asarray(transitions, jnp.int32),
        jnp.asarray(float(tremble)),
    )


def from_strategy(strategy: Strategy) -> Machine:
    """The machine of 17 states, one a situation, that plays like a strategy that looks one round back."""
    pairs = 1 + np.arange(KINDS * KINDS, dtype=np.int32).reshape(KINDS, KINDS)
    log_output = log_policies(strategy)  # trembles are inside
    return Machine(
        jnp.int32(FIRST),
        log_output,
        jnp.broadcast_to(pairs, (SITUATIONS, KINDS, KINDS)),
        jnp.zeros((), log_output.dtype),
    )


def states(machine: Machine, own: Int[Array, " T"], opponent: Int[Array, " T"]) -> Int[Array, " T"]:
    """[T] the state in every round of a match; NO_ANSWER is a missing move."""

    def move_on(state, moves):
        return machine.transitions[state, moves[0], moves[1]], state

    return jax.lax.scan(move_on, machine.start, (own, opponent))[1]


def log_likelihoods(machine: Machine, own: Int[Array, " T"], opponent: Int[Array, " T"]) -> Float[Array, " T"]:
    """log P(own move t | state t), as `strategies.log_likelihoods` for a machine.

    Returns: [T], nats; -inf for a move that the machine excludes; 0, no evidence, for a missing move of one's own.
    """
    log_output = with_lapse(machine.log_output, machine.tremble)
    return jnp.where(own < 0, 0.0, log_output[states(machine, own, opponent), own])


def outcome_transition(tremble: float = BOT_TREMBLE) -> Machine:
    """The seventh bot: repeats its last shift after a draw, one more after a win, one less after a loss.

    Its shift is the step from its move two rounds back to its last move, mod 3. It has 3 states that know only the
    last move (from which any move follows), 9 that know the next shift too, and a start; after a missing move of the
    opponent only the last move is known.
    Source: Brockbank & Vul, "outcome_transition_dual_dependency"; the shifts as they are in the data.
    """
    start, last = 0, 1 + np.arange(MOVES)  # then 4 + 3 * own move + shift
    uniform = np.full(MOVES, 1 / MOVES)
    output = [uniform] * (1 + MOVES) + [
        np.eye(MOVES)[(own + shift) % MOVES] for own in range(MOVES) for shift in range(MOVES)
    ]
    transitions = np.empty((len(output), KINDS, KINDS), int)
    for state in range(len(output)):
        before = None if state == start else (state - 1 if state <= MOVES else (state - 4) // MOVES)
        for own in range(MOVES):
            transitions[state, own] = last[own]
            for opponent in range(MOVES):
                if before is not None:
                    shift = (own - before + PAYOFF[own][opponent]) % MOVES
                    transitions[state, own, opponent] = 4 + MOVES * own + shift
        transitions[state, MOVES] = start  # a missing move of its own: it begins again
    return machine(start, output, transitions, tremble)
