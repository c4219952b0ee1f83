"""Every player of rock, paper, scissors against every other: mean payoffs, in bounded memory."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Int8, Key, PRNGKeyArray

from otherminds.games.rollout import game_key
from otherminds.games.rps.rules import beats
from otherminds.inference.devices import default_chunk, map_chunks
from otherminds.tom.experiments.rps.matches.play import player_of
from otherminds.tom.minds.rps.registry import NamedPlayer, named_player

BLOCK = 2**20  # matches whose scores are held at once, about
Scores = Callable[[Int[Array, " B"]], Int[Array, " B"]]
"""From numbers of matches to what player 1 won in each, wins less losses."""


@dataclass(frozen=True)
class Pairing:
    """How two players fared, from the first one's side."""

    player1: str
    player2: str
    matches: int
    rounds: int  # a match
    payoff: float  # mean a round, wins less losses, -1 to 1
    half_width: float  # of its 95% interval, over matches; NaN for one match
    seconds: float  # compilation included

    @property
    def rounds_a_second(self) -> float:
        """Rounds played a second, compilation included."""
        return self.matches * self.rounds / self.seconds


@dataclass(frozen=True)
class Tournament:
    """Mean payoffs a round of S players, the row's against the column's."""

    players: tuple[str, ...]
    payoff: Float[np.ndarray, "S S"]
    half_width: Float[np.ndarray, "S S"]
    pairings: tuple[Pairing, ...]  # every pair once


def tournament(
    players: Sequence[str],
    matches: int,
    rounds: int,
    *,
    seed: int = 0,
    chunk: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Tournament:
    """Plays every pair of players, and each against a copy of itself, as `named_player` reads them.

    Every pair is played once, the one that was named first as player 1: the game is the same from either side, so the
    table's lower triangle is the upper one with its sign changed.
    progress: called with the number of matches that are done since it was called before.
    Raises: ValueError, before anything is played, for counts below 1, no player, a player named twice, UnknownMind.
    """
    if not players or len(set(players)) < len(players):
        raise ValueError(f"players {', '.join(players) or 'none'}: name at least one, and each once")
    for name, value in (("matches", matches), ("rounds", rounds), ("chunk", 1 if chunk is None else chunk)):
        if value < 1:
            raise ValueError(f"{name}={value}: at least 1")
    made = {spec: named_player(spec) for spec in players}
    pairings = tuple(
        pairing(made[one], made[two], matches, rounds, seed=seed, chunk=chunk, progress=progress)
        for one, two in combinations_with_replacement(players, 2)
    )
    payoff, half_width = np.zeros((2, len(players), len(players)))
    place = {spec: index for index, spec in enumerate(players)}
    for each in pairings:
        i, j = place[each.player1], place[each.player2]
        payoff[j, i], payoff[i, j] = -each.payoff, each.payoff
        half_width[i, j] = half_width[j, i] = each.half_width
    return Tournament(tuple(players), payoff, half_width, pairings)


def pairing(
    player1: NamedPlayer,
    player2: NamedPlayer,
    matches: int,
    rounds: int,
    *,
    seed: int = 0,
    chunk: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Pairing:
    """Plays N matches of T rounds between two players.

    Match n of a seed is that of `matches.play_matches`, whatever the chunk. Scores are whole numbers and are summed
    as such, so the result is the same to the last digit too.
    """
    begun = time.perf_counter()
    scores = scorer(player1, player2, rounds, seed)
    chunk = min(default_chunk() if chunk is None else chunk, matches)
    block = max(1, BLOCK // chunk) * chunk
    total = squares = 0
    for start in range(0, matches, block):
        left = min(block, matches - start)
        # Never fewer than a chunk, so that there is one program.
        found = map_chunks(
            lambda indices, start=start: scores(start + indices), max(left, chunk), chunk=chunk, progress=progress
        )[:left].astype(np.int64)
        total, squares = total + int(found.sum()), squares + int((found**2).sum())
    mean = total / matches
    spread = math.sqrt((squares - total * mean) / (matches - 1)) if matches > 1 else math.nan
    return Pairing(
        player1.spec,
        player2.spec,
        matches,
        rounds,
        mean / rounds,
        1.96 * spread / math.sqrt(matches) / rounds,
        time.perf_counter() - begun,
    )


def scorer(player1: NamedPlayer, player2: NamedPlayer, rounds: int, seed: int) -> Scores:
    """What player 1 wins in the matches of a seed with given numbers. Players of the same kinds share a program."""
    key, run = jax.random.key(seed), player_of((player1, player2), rounds)
    return lambda indices: _scores(run(_keys(key, indices)))


@jax.jit
def _keys(key: PRNGKeyArray, indices: Int[Array, " B"]) -> Key[Array, " B"]:
    return jax.vmap(partial(game_key, key))(indices)


@jax.jit
def _scores(moves: Int8[Array, "B 2 T"]) -> Int[Array, " B"]:
    return beats(moves[:, 0], moves[:, 1]).sum(-1, dtype=jnp.int32)
