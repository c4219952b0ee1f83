"""Matches of two teams of minds, jitted and vectorized."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from otherminds.games.decrypto.rules import Role
from otherminds.games.decrypto.two_teams import TEAMS, Winner, result, seat_of, two_teams
from otherminds.games.decrypto.vocabulary import Vocabulary
from otherminds.games.protocol import Game
from otherminds.games.rollout import game_key, rollout
from otherminds.inference.devices import map_chunks
from otherminds.inference.resampling import standard_error
from otherminds.tom.experiments.records import Games
from otherminds.tom.mind import Mind
from otherminds.tom.minds.decrypto.lexicon import make_lexicon
from otherminds.tom.minds.decrypto.registry import named, own_vocabulary

Team = tuple[str, str, str]
"""Who encodes and decodes for a team, and who intercepts the other."""


class MatchResults(NamedTuple):
    """How G matches went. A team's miscommunications are of its own codes, its interceptions of the other's."""

    winner: Int[np.ndarray, " G"]  # Winner
    rounds: Int[np.ndarray, " G"]
    miscommunications: Int[np.ndarray, "G 2"]
    interceptions: Int[np.ndarray, "G 2"]


@dataclass(frozen=True)
class MatchSummary:
    """The matches of two teams: means with their standard errors."""

    teams: tuple[Team, Team]
    games: int
    won: tuple[float, float]  # share of the matches, by team; the rest are draws
    won_error: tuple[float, float]
    draws: float
    rounds: float
    rounds_error: float
    miscommunications: tuple[float, float]  # tokens a match, by team
    miscommunications_error: tuple[float, float]
    interceptions: tuple[float, float]
    interceptions_error: tuple[float, float]


def pairs(teams: Sequence[Team]) -> list[tuple[Team, Team]]:
    """Who meets: every two different teams, or the only one itself."""
    different = list(dict.fromkeys(teams))
    return list(combinations(different, 2)) or [(different[0], different[0])]


def seated(teams: tuple[Team, Team]) -> tuple[str, ...]:
    """Who takes each of the six places of a match."""
    who = []
    for channel in range(TEAMS):
        encoder, decoder, _ = teams[channel]
        who += [encoder, decoder, teams[1 - channel][Role.INTERCEPTOR]]
    return tuple(who)


@cache
def in_channel(mind: Mind, channel: int) -> Mind:
    """The mind, to whom the other channel tells nothing."""
    return replace(mind, update=lambda params, belief, event: mind.update(params, belief, event.channels[channel]))


@cache
def batch_rollout(game: Game, minds: tuple[Mind, ...]) -> Callable[..., MatchResults]:
    """(params, key, indices: [B]) -> MatchResults, jitted: the matches with these numbers."""

    def play(params: tuple[Any, ...], key: jax.Array, indices: jax.Array) -> MatchResults:
        def one(index):
            match, _ = rollout(game, minds, params, game_key(key, index))
            first, second = match.channels
            return MatchResults(
                match.winner,
                match.turn,
                jnp.stack([first.miscommunications, second.miscommunications]),
                jnp.stack([second.interceptions, first.interceptions]),
            )

        return jax.vmap(one)(indices)

    return jax.jit(play)


def simulate_matches(
    teams: tuple[Team, Team],
    vocabulary: Vocabulary,
    games: int,
    *,
    seed: int = 0,
    chunk: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> MatchResults:
    """Plays the first `games` matches of a seed between two teams of minds, the same ones whatever the chunk.

    Raises: UnknownMind; ValueError for fewer than eight keywords, or games or chunk less than 1.
    """
    models = [named(spec, seat_of(place)[1]) for place, spec in enumerate(seated(teams))]
    lexicon = make_lexicon(vocabulary)
    params = tuple(
        model.make_params(make_lexicon(own_vocabulary(model, vocabulary)) if model.vectors else lexicon)
        for model in models
    )
    minds = tuple(in_channel(model.mind, seat_of(place)[0]) for place, model in enumerate(models))
    run, key = batch_rollout(two_teams(len(vocabulary.keywords)), minds), jax.random.key(seed)
    return map_chunks(lambda indices: run(params, key, indices), games, chunk=chunk, progress=progress)


def summarize_matches(
    teams: tuple[Team, Team], results: MatchResults, seeds: Int[np.ndarray, " G"] | None = None
) -> MatchSummary:
    """Means and standard errors over matches; over seeds where these are given."""

    def mean(values: np.ndarray) -> tuple[float, float]:
        units = values if seeds is None else np.array([values[seeds == seed].mean() for seed in np.unique(seeds)])
        return float(values.mean()), float(standard_error(units))

    def of_teams(columns: Sequence[np.ndarray]) -> tuple[tuple[float, float], tuple[float, float]]:
        (one, one_error), (two, two_error) = (mean(np.asarray(column, float)) for column in columns)
        return (one, two), (one_error, two_error)

    return MatchSummary(
        teams,
        len(results.winner),
        *of_teams([results.winner == Winner.FIRST, results.winner == Winner.SECOND]),
        float((results.winner == Winner.DRAW).mean()),
        *mean(np.asarray(results.rounds, float)),
        *of_teams(list(results.miscommunications.T)),
        *of_teams(list(results.interceptions.T)),
    )


def recorded_matches(games: Games) -> list[MatchSummary]:
    """How the finished matches of some logs went, a row for every two teams; errors over seeds."""
    halves: dict[str, dict[int, int]] = {}
    for g, place in enumerate(games.matches):
        if place is not None and games.endings[g] is not None:
            halves.setdefault(place[0], {})[place[1]] = g
    by_teams: dict[tuple[Team, Team], list[list[int]]] = {}
    for channels in halves.values():
        if len(channels) == TEAMS:
            both = [channels[team] for team in range(TEAMS)]
            who = [games.agents[g] for g in both]
            teams = tuple((*who[t][: Role.INTERCEPTOR], who[1 - t][Role.INTERCEPTOR]) for t in range(TEAMS))
            by_teams.setdefault(teams, []).append(both)
    arrays = games.arrays
    spoken, played = (arrays.hints >= 0).all(-1), np.arange(arrays.codes.shape[1]) < arrays.turns[:, None]
    missed = (played & ~(spoken & (arrays.decoder_guesses == arrays.codes))).sum(1)
    caught = (played & spoken & (arrays.interceptor_guesses == arrays.codes)).sum(1)
    rows = []
    for teams, found in by_teams.items():
        place = np.array(found)
        misses, catches = missed[place], caught[place][:, ::-1]
        rounds = arrays.turns[place[:, 0]]
        winner = np.asarray(result(misses.T, catches.T, np.ones(len(place), bool)))
        seeds = np.array(games.seeds)[place[:, 0]]
        rows.append(summarize_matches(teams, MatchResults(winner, rounds, misses, catches), seeds))
    return rows
