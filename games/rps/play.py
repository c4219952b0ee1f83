"""Matches between strategies, fast: a table look-up a move, a scan over rounds, all matches side by side."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from otherminds.games.protocol import NO_ANSWER
from otherminds.games.rps import finite_state, stationary, switching
from otherminds.games.rps.finite_state import Machine
from otherminds.games.rps.strategies import Strategy
from otherminds.games.rps.switching import Switching
from otherminds.inference.scoring import with_lapse

Player = Strategy | Machine | Switching


class _Tables(NamedTuple):
    """A player as tables: which of K outputs is in use in each of T rounds, over one set of states."""

    thresholds: Float[Array, "K S 2"]  # a uniform number below the first is rock, below the second paper
    active: Int[Array, " T"]
    transitions: Int[Array, "S 4 4"]
    start: Int[Array, ""]


def play(key: PRNGKeyArray, first: Player, second: Player, rounds: int) -> Int[Array, "2 T"]:
    """Plays one match; every move is drawn from the moves that were really made before.

    first, second: a Strategy, Machine or Switching player each (not stacked).   rounds: T.
    Returns: [2, T] moves of the two.
    """
    key_moves, key_first, key_second = jax.random.split(key, 3)
    one, two = _tables(key_first, first, rounds), _tables(key_second, second, rounds)
    numbers = jax.random.uniform(key_moves, (rounds, 2))

    def play_round(states, now):
        u, active_one, active_two = now
        a = _move(u[0], one.thresholds[active_one, states[0]])
        b = _move(u[1], two.thresholds[active_two, states[1]])
        return (one.transitions[states[0], a, b], two.transitions[states[1], b, a]), jnp.stack([a, b])

    _, moves = jax.lax.scan(play_round, (one.start, two.start), (numbers, one.active, two.active))
    return moves.T


def play_all(
    key: PRNGKeyArray, firsts: Player, seconds: Player, matches: int, rounds: int, legacy_iid: bool = False
) -> Int[Array, "S1 S2 N 2 T"]:
    """Plays every first against every second player N times, as `play`.

    firsts, seconds: players stacked, [S1] and [S2].   matches: N.   rounds: T.
    legacy_iid: play the pair's `stationary.legacy_iid` instead, as the paper's data are made (Strategies only).
    Returns: [S1, S2, N, 2, T] moves. A match depends on the key and on its three indices alone, not on how many
        others are played.
    """
    sizes = [jax.tree.leaves(players)[0].shape[0] for players in (firsts, seconds)]

    def match(i, j, n, first, second):
        own_key = jax.random.fold_in(jax.random.fold_in(jax.random.fold_in(key, i), j), n)
        if legacy_iid:
            first, second = stationary.legacy_iid(first, second)
        return play(own_key, first, second, rounds)

    over_matches = jax.vmap(match, (None, None, 0, None, None))
    over_seconds = jax.vmap(over_matches, (None, 0, None, None, 0))
    over_firsts = jax.vmap(over_seconds, (0, None, None, 0, None))
    return over_firsts(jnp.arange(sizes[0]), jnp.arange(sizes[1]), jnp.arange(matches), firsts, seconds)


def _tables(key: PRNGKeyArray, player: Player, rounds: int) -> _Tables:
    active = jnp.zeros(rounds, jnp.int32)
    if isinstance(player, Switching):
        active = switching.path(key, player, rounds)
        stacked = jax.vmap(finite_state.from_strategy)(player.strategies)
        machine = Machine(stacked.start[0], stacked.log_output, stacked.transitions[0], stacked.tremble)
    else:
        machine = player if isinstance(player, Machine) else finite_state.from_strategy(player)
        machine = machine._replace(log_output=machine.log_output[None], tremble=machine.tremble[None])
    sums = jnp.cumsum(jnp.exp(jax.vmap(with_lapse)(machine.log_output, machine.tremble)), -1)
    # Divided by the last, so that a move of probability 0 at the end has an empty interval.
    return _Tables(sums[..., :2] / sums[..., 2:], active, machine.transitions, machine.start)


def _move(u: Float[Array, ""], thresholds: Float[Array, "2"]) -> Int[Array, ""]:
    # A distribution that is NaN gives no move, rather than rock.
    return jnp.where(jnp.isnan(thresholds).any(), NO_ANSWER, (u >= thresholds).sum(dtype=jnp.int32))
