"""A log as arrays: every game's deal and actions, ready to be stepped and shadowed again."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from otherminds.games.decrypto.rules import LENGTH, Role
from otherminds.games.decrypto.text import read_code
from otherminds.games.decrypto.vocabulary import Vocabulary, hint_vector
from otherminds.games.protocol import NO_ANSWER
from otherminds.tom.agents.words import Words
from otherminds.tom.experiments import journal


class GameArrays(NamedTuple):
    """G games padded to T turns. -1: not played, or no answer."""

    keywords: Int[np.ndarray, "G 4"]
    codes: Int[np.ndarray, "G T"]
    hints: Int[np.ndarray, "G T 3"]  # rows of `Games.words`
    decoder_guesses: Int[np.ndarray, "G T"]
    interceptor_guesses: Int[np.ndarray, "G T"]
    turns: Int[np.ndarray, " G"]  # finished turns


@dataclass(frozen=True)
class Games:
    """The games of one or more logs, finished and unfinished ones."""

    ids: list[str]
    agents: list[tuple[str, str, str]]  # encoder, decoder, interceptor
    seeds: list[int]
    endings: list[str | None]  # None where the log stops before the game does
    arrays: GameArrays
    words: Words
    unknown: set[int]  # rows of words without a vector
    begun: list[journal.RunBegun]


def read_games(paths: Iterable[Path], vocabulary: Vocabulary) -> Games:
    """Reads logs.

    Raises: JournalError naming file and line for what cannot be read, a keyword that the vocabulary does not
        have, or a log without a finished turn.
    """
    lines: list[journal.AnyLine] = []
    paths = list(paths)
    for path in paths:
        lines += journal.read(path)
    begun = [line for line in lines if isinstance(line, journal.RunBegun)]
    deals = {line.game_id: line for line in lines if isinstance(line, journal.GameBegun)}
    endings = {line.game_id: line.ending for line in lines if isinstance(line, journal.GameOver)}
    decisions: dict[str, dict[tuple[int, Role], journal.Decision]] = {}
    heard: dict[str, None] = {}
    for line in lines:
        if isinstance(line, journal.Decision):
            decisions.setdefault(line.game_id, {})[line.turn, Role[line.role.upper()]] = line
            if line.role == "encoder":
                heard.update(dict.fromkeys(line.action or ()))
    words = Words(vocabulary, spare=len(heard))
    for text in heard:
        words.row(text)
    if not decisions:
        raise journal.JournalError(f"{', '.join(map(str, paths))}: no decision in this log; nothing was played yet")

    ids = [game_id for game_id in deals if game_id in decisions]
    horizon = max(len(deals[game_id].codes) for game_id in ids)
    arrays = GameArrays(
        keywords=np.full((len(ids), 4), -1, np.int32),
        codes=np.full((len(ids), horizon), -1, np.int32),
        hints=np.full((len(ids), horizon, LENGTH), NO_ANSWER, np.int32),
        decoder_guesses=np.full((len(ids), horizon), NO_ANSWER, np.int32),
        interceptor_guesses=np.full((len(ids), horizon), NO_ANSWER, np.int32),
        turns=np.zeros(len(ids), np.int32),
    )
    for g, game_id in enumerate(ids):
        deal = deals[game_id]
        arrays.keywords[g] = [_keyword(vocabulary, keyword, game_id) for keyword in deal.keywords]
        arrays.codes[g, : len(deal.codes)] = [read_code(code) for code in deal.codes]
        made = decisions[game_id]
        while all((arrays.turns[g], role) in made for role in Role):
            turn = int(arrays.turns[g])
            hints = made[turn, Role.ENCODER].action
            if hints is not None:
                arrays.hints[g, turn] = words.rows(tuple(hints))
            for role, guesses in (
                (Role.DECODER, arrays.decoder_guesses),
                (Role.INTERCEPTOR, arrays.interceptor_guesses),
            ):
                action = made[turn, role].action
                guesses[g, turn] = NO_ANSWER if action is None else read_code(action)
            arrays.turns[g] += 1
    return Games(
        ids=ids,
        agents=[tuple(deals[game_id].agents[role.name.lower()] for role in Role) for game_id in ids],
        seeds=[deals[game_id].seed for game_id in ids],
        endings=[endings.get(game_id) for game_id in ids],
        arrays=arrays,
        words=words,
        unknown={words.row(text) for text in heard if hint_vector(vocabulary, text) is None},
        begun=begun,
    )


def _keyword(vocabulary: Vocabulary, keyword: str, game_id: str) -> int:
    place = {word.casefold(): index for index, word in enumerate(vocabulary.keywords)}
    if keyword.casefold() not in place:
        raise journal.JournalError(
            f"game {game_id!r}: keyword {keyword!r} is not in the keyword list; give the list that the game was "
            "played with (--keywords)"
        )
    return place[keyword.casefold()]
