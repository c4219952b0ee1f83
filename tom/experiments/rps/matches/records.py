"""Logs of matches of rock, paper, scissors: what a line may hold, and all moves as arrays.

Every move is a decision line, two a round. The observation of a line is empty, since both players know every line
before its turn. A missing move is a failed answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Int8

from otherminds.games.protocol import NO_ANSWER
from otherminds.tom.experiments import journal, logs
from otherminds.tom.experiments.logs import LogRules, Made

MOVE_NAMES = ("rock", "paper", "scissors")
"""As moves stand in the log, by `games.rps.rules.Move`."""


class Role(IntEnum):
    """Who makes a move."""

    PLAYER1 = 0
    PLAYER2 = 1


class Ending(IntEnum):
    """How a match ends."""

    PLAYED = 0


ROLES = tuple(role.name.lower() for role in Role)


def rounds_of(deal: journal.GameBegun) -> int:
    """The rounds of the match that was dealt.

    Raises: ValueError for what is no number of rounds.
    """
    rounds = (deal.deal or {}).get("rounds")
    if type(rounds) is not int or rounds < 1:
        raise ValueError(f"game {deal.game_id!r}: rounds {rounds!r}; a match has a whole number of them, at least 1")
    return rounds


def _check_deal(line: journal.GameBegun) -> None:
    if set(line.agents) != set(ROLES):
        raise ValueError(
            f"game {line.game_id!r}: the roles are {', '.join(line.agents) or 'none'}, not player1, player2"
        )
    rounds_of(line)


def _check_decision(line: journal.Decision, deal: journal.GameBegun, made: Made) -> None:
    turn = line.turn
    if not 0 <= turn < deal.deal["rounds"] or (turn and not all((turn - 1, role) in made for role in Role)):
        raise ValueError(f"the {line.role} of game {line.game_id!r} decides in turn {turn}, which is not played yet")
    if line.observation:
        raise ValueError(
            f"the {line.role} of game {line.game_id!r} is recorded as knowing {', '.join(line.observation)}; it knows "
            "the lines before its turn, and the observation is empty"
        )
    if line.action is not None and line.action not in MOVE_NAMES:
        raise ValueError(f"the {line.role} of game {line.game_id!r} plays {line.action!r}, which is no move")
    if line.probabilities is not None and not line.probabilities.keys() <= set(MOVE_NAMES):
        raise ValueError(f"the {line.role} of game {line.game_id!r} states probabilities of what are no moves")


RPS = LogRules("rps", Role, Ending, _check_deal, _check_decision)


def rounds_played(made: Made) -> int:
    """Rounds in which both players have decided."""
    return min(sum(role == own for _, own in made) for role in Role)


@dataclass(frozen=True)
class Matches:
    """The N matches of some logs; T is the most rounds that one of them has."""

    ids: tuple[str, ...]  # [N]
    agents: tuple[tuple[str, str], ...]  # [N] player 1, player 2
    moves: Int8[np.ndarray, "N 2 T"]  # NO_ANSWER: missing, or padding
    valid: Bool[np.ndarray, "N T"]  # False for padding: rounds that were not played


def read_matches(
    paths: Sequence[Path], on_line: Callable[[], None] | None = None
) -> tuple[Matches, list[journal.RunBegun]]:
    """The matches of some logs, of which the same may not be given twice, and how each log began.

    A match that was cut short counts as far as it goes; one of which no round was played is left out.
    on_line: called after each line, for a progress bar.
    Raises: JournalError for a log that cannot be read, for a match that is in two of them, and where none is left.
    """
    ids: list[str] = []
    agents: list[tuple[str, str]] = []
    played: list[np.ndarray] = []
    begun: list[journal.RunBegun] = []
    first: dict[tuple, Path] = {}
    index = {None: NO_ANSWER} | {name: move for move, name in enumerate(MOVE_NAMES)}
    for path in paths:
        log = logs.read_log(path, RPS, on_line)
        if log.begun is not None:
            begun.append(log.begun)
        for game_id, made in log.decisions.items():
            if not (rounds := rounds_played(made)):
                continue
            pair = log.deals[game_id].agents
            own = np.array([[index[made[t, role].action] for t in range(rounds)] for role in Role], np.int8)
            seen = (game_id, *pair.items(), own.tobytes())
            if seen in first:
                raise journal.JournalError(f"{path}: game {game_id!r} is in {first[seen]} too; give every match once")
            first[seen] = path
            ids.append(game_id)
            agents.append((pair["player1"], pair["player2"]))
            played.append(own)
    if not played:
        raise journal.JournalError(f"{', '.join(map(str, paths))}: no round was played")
    longest = max(own.shape[1] for own in played)
    moves = np.full((len(played), 2, longest), NO_ANSWER, np.int8)
    valid = np.zeros((len(played), longest), bool)
    for n, own in enumerate(played):
        moves[n, :, : own.shape[1]] = own
        valid[n, : own.shape[1]] = True
    return Matches(tuple(ids), tuple(agents), moves, valid), begun
