"""Matches of rock, paper, scissors between any two players by name: rules, minds, and other people's bots."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int8

from otherminds.games.rollout import game_key, rollout
from otherminds.games.rps.play import play
from otherminds.games.rps.rules import rps
from otherminds.games.rps.stationary import legacy_iid as iid_players
from otherminds.games.rps.strategies import Strategy
from otherminds.tom.mind import Mind
from otherminds.tom.minds.rps.registry import OPENSPIEL, NamedPlayer, Player, named_player

MOVES_AT_ONCE = 2**22  # rounds computed in one call, at most (one match at least)
PARAMS = 2**32 - 1  # folded into a match's key for the params of its players; no phase is so late


def play_matches(
    player1: str,
    player2: str,
    matches: int,
    rounds: int,
    *,
    seed: int,
    legacy_iid: bool = False,
    legacy_decimals: bool = False,
    on_match: Callable[[int], None] | None = None,
) -> Int8[np.ndarray, "N 2 T"]:
    """[N, 2, T] moves, 0 to 2, of N matches of T rounds between two players as `registry.named_player` reads them.

    Match n of a seed depends on seed, n and the two players alone, not on how many others are played.
    legacy_iid: both draw afresh every round from the pair's marginals, as the data of arXiv 2512.19210 are made;
        between strategies of the catalogue only.   legacy_decimals: its probabilities in three decimals.
    on_match: called with the number of matches that are done since it was called before.
    Two rules are played by `games.rps.play`, other minds by `games.rollout`, OpenSpiel's bots one match at a time.
    Raises: ValueError, before anything is played, for counts below 1 and for what is no player, or not for legacy_iid.
    """
    for name, value in (("matches", matches), ("rounds", rounds)):
        if value < 1:
            raise ValueError(f"{name}={value}: at least 1")
    if any(spec.startswith(OPENSPIEL) for spec in (player1, player2)):
        if legacy_iid:
            raise ValueError(f"legacy_iid: {player1} and {player2} are not both strategies of the catalogue")
        from otherminds.tom.agents import openspiel

        return openspiel.play_matches(
            player1, player2, matches, rounds, seed=seed, legacy_decimals=legacy_decimals, on_match=on_match
        )
    pair = tuple(named_player(spec, legacy_decimals=legacy_decimals) for spec in (player1, player2))
    run = player_of(pair, rounds, legacy_iid)
    at_once = min(max(1, MOVES_AT_ONCE // rounds), 1 << (matches - 1).bit_length())
    played = np.empty((matches, 2, rounds), np.int8)
    for start in range(0, matches, at_once):
        end = min(start + at_once, matches)
        # A batch is always of one size, so that there is one program; what is too many is dropped.
        played[start:end] = np.asarray(run(match_keys(seed, start, at_once)))[: end - start]
        if on_match is not None:
            on_match(end - start)
    return played


def match_keys(seed: int, start: int, count: int) -> Array:
    """[count] the keys of matches start, start + 1, ... of a seed."""
    return jax.vmap(partial(game_key, jax.random.key(seed)))(jnp.arange(start, start + count))


def params_key(key: Array, role: int) -> Array:
    """The key from which the params of a player are drawn, from the match's key."""
    return jax.random.fold_in(jax.random.fold_in(key, PARAMS), role)


Play = Callable[[Array], Array]
"""From the keys of B matches to their moves, [B, 2, T] int8."""


def player_of(pair: tuple[NamedPlayer, NamedPlayer], rounds: int, legacy_iid: bool = False) -> Play:
    """Plays matches of T rounds between two players; players of the same kinds share a program.

    Raises: ValueError where `legacy_iid` is asked of what is no strategy of the catalogue, or trembles.
    """
    if legacy_iid or all(each.player is not None for each in pair):
        rules = _iid_rules(pair) if legacy_iid else tuple(each.player for each in pair)
        return lambda keys: _play_rules(keys, *rules, rounds)
    roll = _roller(pair[0].mind, pair[1].mind, rounds)
    drawers = [_drawer(each.make_params, role) for role, each in enumerate(pair)]
    return lambda keys: roll(tuple(draw(keys) for draw in drawers), keys)


def _iid_rules(pair: tuple[NamedPlayer, NamedPlayer]) -> tuple[Strategy, Strategy]:
    for each in pair:
        if not isinstance(each.player, Strategy):
            raise ValueError(f"legacy_iid: {each.spec!r} is no strategy of the catalogue, and so has no marginal")
        if each.player.tremble > 0:
            raise ValueError(f"legacy_iid: {each.spec!r} trembles, and the paper's players do not; leave one out")
    return iid_players(*(each.player for each in pair))


@partial(jax.jit, static_argnames="rounds")
def _play_rules(keys: Array, first: Player, second: Player, rounds: int) -> Array:
    return jax.vmap(lambda key: play(key, first, second, rounds))(keys).astype(jnp.int8)


@cache
def _drawer(make_params: Callable[[Array], Any], role: int) -> Callable[..., Any]:
    """(keys: [B] of matches) -> a player's params, with a leading axis B."""
    return jax.jit(jax.vmap(lambda key: make_params(params_key(key, role))))


@cache
def _roller(first: Mind, second: Mind, rounds: int) -> Callable[..., Array]:
    """The jitted matches of two minds; params and keys have a leading axis of matches."""
    game = rps(rounds)

    def match(params: Any, key: Array) -> Array:
        state, _ = rollout(game, (first, second), params, key)
        return state.moves.astype(jnp.int8)

    return jax.jit(jax.vmap(match))
