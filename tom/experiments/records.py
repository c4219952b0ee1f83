"""A log of Decrypto as arrays: every game's deal and actions, ready to be stepped and shadowed again."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from otherminds.games.decrypto.rules import CODES, LENGTH, SLOTS, Ending, Role, code_text
from otherminds.games.decrypto.two_teams import FIRST_INTERCEPTION
from otherminds.games.decrypto.vocabulary import Vocabulary, hint_vector
from otherminds.games.protocol import NO_ANSWER
from otherminds.tom.agents.words import Words
from otherminds.tom.experiments import journal, logs
from otherminds.tom.experiments.logs import Log, LogRules, Made

CODE_INDEX = {code_text(index): index for index in range(len(CODES))}


def _check_deal(line: journal.GameBegun) -> None:
    if set(line.agents) != {role.name.lower() for role in Role}:
        raise ValueError(f"game {line.game_id!r}: the roles are {', '.join(line.agents)}")
    if line.keywords is None or len(line.keywords) != SLOTS or len(set(line.keywords)) != SLOTS:
        raise ValueError(f"game {line.game_id!r}: {line.keywords} are not {SLOTS} different keywords")
    if line.deal is not None and not (isinstance(line.deal.get("match"), str) and line.deal.get("team") in (1, 2)):
        raise ValueError(f"game {line.game_id!r}: {line.deal} names no match, or no team 1 or 2")
    if not line.codes or len(set(line.codes)) != len(line.codes) or not set(line.codes) <= CODE_INDEX.keys():
        raise ValueError(f"game {line.game_id!r}: {line.codes} are not different codes such as '3-1-2'")


def skips(deal: journal.GameBegun, turn: int, role: Role) -> bool:
    """Whether nobody is asked there: an interceptor, in the first round of a match of two teams."""
    return deal.deal is not None and role == Role.INTERCEPTOR and turn < FIRST_INTERCEPTION


def _check_decision(line: journal.Decision, deal: journal.GameBegun, made: Made) -> None:
    who, role = f"the {line.role} of game {line.game_id!r}", Role[line.role.upper()]
    before = [(line.turn - 1, other) for other in Role] if line.turn else []
    if role != Role.ENCODER:
        before.append((line.turn, Role.ENCODER))
    if not 0 <= line.turn < len(deal.codes) or not made.keys() >= set(before):
        raise ValueError(f"{who} decides in turn {line.turn}, which is not played yet")
    if line.probabilities is not None and not (role != Role.ENCODER and line.probabilities.keys() <= CODE_INDEX.keys()):
        raise ValueError(f"{who} states probabilities of {', '.join(line.probabilities)}, which are not all codes")
    if (line.skipped or False) != skips(deal, line.turn, role):
        raise ValueError(f"{who}: nobody intercepts in the first round of two teams, and everybody else decides")
    if line.action is None:
        return
    if line.skipped:
        raise ValueError(f"{who} gives {line.action!r}, and was not asked")
    if role == Role.ENCODER:
        if not (isinstance(line.action, list) and len(line.action) == LENGTH and all(line.action)):
            raise ValueError(f"{who} gives {line.action!r}, which is not {LENGTH} hints")
    elif not (isinstance(line.action, str) and line.action in CODE_INDEX):
        raise ValueError(f"{who} guesses {line.action!r}, which is no code such as '3-1-2'")


DECRYPTO = LogRules("decrypto", Role, Ending, _check_deal, _check_decision)


def read_log(path: Path) -> Log:
    """Reads the log of one run of Decrypto; see `logs.read_log`."""
    return logs.read_log(path, DECRYPTO)


def hints_said(paths: Iterable[Path]) -> set[str]:
    """The hints of some logs, whose vectors a file may have.

    Raises: JournalError as `read_log`.
    """
    return {hint for path in paths for hint in _hints(read_log(path).decisions.values())}


def _hints(games: Iterable[Made]) -> Iterator[str]:
    """All hints, in the order in which they were said."""
    for made in games:
        for (_, role), line in made.items():
            if role == Role.ENCODER:
                yield from line.action or ()


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
    skipped: Bool[np.ndarray, "G T"]  # nobody was to intercept
    matches: list[tuple[str, int] | None]  # of two teams: the match, and whose codes are told, from 0
    recorded: Bool[np.ndarray, "G 3"]  # by role: a replay's seat that does what was recorded, and decides nothing

    def players(self, role: Role) -> list[str]:
        """Who decides in a role in some game, in the order of the games."""
        return list(
            dict.fromkeys(agents[role] for agents, own in zip(self.agents, self.recorded, strict=True) if not own[role])
        )

    def seated(self, role: Role, agent: str) -> Bool[np.ndarray, " G"]:
        """The games in which an agent decides in a role."""
        return np.array([agents[role] == agent for agents in self.agents]) & ~self.recorded[:, role]


def read_games(paths: Iterable[Path], vocabulary: Vocabulary) -> Games:
    """Reads logs.

    Raises: JournalError naming file and line for what cannot be read (see `read_log`), a keyword that the vocabulary
        does not have, a game that is in two logs, or logs without a decision.
    """
    read = {path: read_log(path) for path in paths}
    deals: dict[str, journal.GameBegun] = {}
    decisions: dict[str, Made] = {}
    endings: dict[str, str] = {}
    for path, log in read.items():
        if twice := deals.keys() & log.deals.keys():
            raise journal.JournalError(
                f"{path}: game {min(twice)!r} is in another of the logs too; compare these logs one by one"
            )
        deals |= log.deals
        decisions |= {game_id: made for game_id, made in log.decisions.items() if made}
        endings |= {game_id: line.ending for game_id, line in log.over.items()}
    if not decisions:
        raise journal.JournalError(f"{', '.join(map(str, read))}: no decision in this log; nothing was played yet")
    heard = dict.fromkeys(_hints(decisions.values()))
    words = Words(vocabulary, spare=len(heard))
    for text in heard:
        words.row(text)

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
    places = {word.casefold(): place for place, word in enumerate(vocabulary.keywords)}
    for g, game_id in enumerate(ids):
        deal = deals[game_id]
        if missing := [keyword for keyword in deal.keywords if keyword.casefold() not in places]:
            raise journal.JournalError(
                f"game {game_id!r}: keyword {missing[0]!r} is not in the keyword list; give the list that the game "
                "was played with (--keywords)"
            )
        arrays.keywords[g] = [places[keyword.casefold()] for keyword in deal.keywords]
        arrays.codes[g, : len(deal.codes)] = [CODE_INDEX[code] for code in deal.codes]
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
                guesses[g, turn] = NO_ANSWER if action is None else CODE_INDEX[action]
            arrays.turns[g] += 1
    return Games(
        ids=ids,
        agents=[tuple(deals[game_id].agents[role.name.lower()] for role in Role) for game_id in ids],
        seeds=[deals[game_id].seed for game_id in ids],
        endings=[endings.get(game_id) for game_id in ids],
        arrays=arrays,
        words=words,
        unknown={words.row(text) for text in heard if hint_vector(vocabulary, text) is None},
        begun=[log.begun for log in read.values() if log.begun],
        skipped=np.array([[skips(deals[game_id], t, Role.INTERCEPTOR) for t in range(horizon)] for game_id in ids]),
        matches=[None if (deal := deals[g].deal) is None else (deal["match"], deal["team"] - 1) for g in ids],
        recorded=np.array([[role.name.lower() in (deals[game_id].recorded or ()) for role in Role] for game_id in ids]),
    )
