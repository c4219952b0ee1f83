"""Minds alone at the table, jitted and vectorized: any number of games in bounded memory."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import jax
import numpy as np

from otherminds.games.decrypto.rules import Ending, Role, decrypto
from otherminds.games.decrypto.vocabulary import Vocabulary
from otherminds.games.protocol import Game
from otherminds.games.rollout import game_key, rollout
from otherminds.inference.devices import map_chunks
from otherminds.inference.resampling import standard_error
from otherminds.tom.mind import Mind
from otherminds.tom.minds.decrypto.lexicon import make_lexicon
from otherminds.tom.minds.decrypto.registry import named, own_vocabulary


class Results(NamedTuple):
    """How G games went."""

    ending: np.ndarray  # [G] Ending
    turns: np.ndarray  # [G] until the ending
    miscommunications: np.ndarray  # [G] tokens
    interceptions: np.ndarray  # [G] tokens


@dataclass(frozen=True)
class Summary:
    """Means over games with their standard errors."""

    encoder: str
    decoder: str
    interceptor: str
    games: int
    survived: float  # share of games
    survived_error: float
    turns: float
    turns_error: float
    miscommunications: float  # tokens a game
    miscommunications_error: float
    interceptions: float
    interceptions_error: float
    endings: dict[str, int]


@cache
def batch_rollout(game: Game, minds: tuple[Mind, ...]) -> Callable[..., Results]:
    """(params, key, indices: [B]) -> Results, jitted: the games with these numbers."""

    def play(params: tuple[Any, ...], key: jax.Array, indices: jax.Array) -> Results:
        def one(index):
            state, _ = rollout(game, minds, params, game_key(key, index))
            return Results(state.ending, state.ending_turn, state.miscommunications, state.interceptions)

        return jax.vmap(one)(indices)

    return jax.jit(play)


def prepare(specs: tuple[str, str, str], vocabulary: Vocabulary) -> Callable[[jax.Array, jax.Array], Results]:
    """The function (key, indices: [B]) -> Results that plays games between three minds, given by their specs.

    Raises: UnknownMind.
    """
    models = [named(spec, role) for spec, role in zip(specs, Role, strict=True)]
    lexicon = make_lexicon(vocabulary)
    params = tuple(
        model.make_params(make_lexicon(own_vocabulary(model, vocabulary)) if model.vectors else lexicon)
        for model in models
    )
    run = batch_rollout(decrypto(len(vocabulary.keywords)), tuple(model.mind for model in models))
    return lambda key, indices: run(params, key, indices)


def play(
    prepared: Callable[[jax.Array, jax.Array], Results],
    games: int,
    *,
    seed: int = 0,
    chunk: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Results:
    """Plays the first `games` games of a seed. The same seed gives the same games, whatever the chunk.

    Raises: ValueError if games or chunk is less than 1.
    """
    key = jax.random.key(seed)
    return map_chunks(lambda indices: prepared(key, indices), games, chunk=chunk, progress=progress)


def simulate(specs: tuple[str, str, str], vocabulary: Vocabulary, games: int, **options: Any) -> Results:
    """Plays `games` games between three minds. options: as in `play`; raises as `prepare` and `play` do."""
    return play(prepare(specs, vocabulary), games, **options)


def summarize(specs: tuple[str, str, str], results: Results) -> Summary:
    """Means and standard errors of a simulation."""

    def mean(values: np.ndarray) -> tuple[float, float]:
        return float(values.mean()), float(standard_error(values))

    endings = {ending.name.lower(): int((results.ending == ending).sum()) for ending in Ending if ending}
    return Summary(
        *specs,
        results.ending.size,
        *mean((results.ending == Ending.SURVIVED).astype(float)),
        *mean(results.turns),
        *mean(results.miscommunications),
        *mean(results.interceptions),
        endings,
    )
