"""The log of one run, whatever the game: what it holds, line by line checked that it could come at its place."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

from otherminds.tom.experiments import journal

Made = dict[tuple[int, Any], journal.Decision]
"""The decisions of one game, by turn and role."""

ROUNDING = 1e-4


@dataclass(frozen=True)
class LogRules:
    """What a game asks of the lines of its logs.

    check_deal(line), check_decision(line, deal, made): raise ValueError for a deal that cannot be dealt, and for a
        decision that cannot be made after those of `made`. The role and the agent are checked already.
    """

    game: str
    roles: type[IntEnum]
    endings: type[IntEnum]
    check_deal: Callable[[journal.GameBegun], None]
    check_decision: Callable[[journal.Decision, journal.GameBegun, Made], None]


@dataclass
class Log:
    """What a log holds. Every line is one that could come at its place."""

    begun: journal.RunBegun | None = None
    deals: dict[str, journal.GameBegun] = field(default_factory=dict)  # by game, in the order of the log
    decisions: dict[str, Made] = field(default_factory=dict)
    over: dict[str, journal.GameOver] = field(default_factory=dict)
    numbers: dict[tuple, int] = field(default_factory=dict)  # of lines: (game, turn, role) decided, or (game,) is over
    complete: bool = False  # the run is over


def game_of(path: Path, known: Mapping[str, Any], otherwise: str = "decrypto") -> str:
    """The game that a log is of, by its first line.

    otherwise: where that line does not say; reading the log as one of this game then tells what is wrong with it.
    Raises: JournalError for a log that cannot be read, and for a game that is not among the known ones.
    """
    first = next(journal.read(path), None)
    if not isinstance(first, journal.RunBegun):
        return otherwise
    if first.game not in known:
        raise journal.JournalError(f"{path}, line 1: a log of {first.game!r}; known games are {', '.join(known)}")
    return first.game


def read_log(path: Path, rules: LogRules, on_line: Callable[[], None] | None = None) -> Log:
    """Reads the log of one run; a last line cut short by a kill is left out.

    on_line: called after each line, for a progress bar.
    Raises: JournalError naming file and line for what is no line of a log, and for one that cannot come at its
        place: another game, a second run, a game dealt twice or not by the rules, a decision that nobody could make
        there, or of another agent, or made twice; a game that ends without being played.
    """
    log = Log()
    for number, line in enumerate(journal.read(path), 1):
        try:
            _add(log, line, number, rules)
        except ValueError as error:
            raise journal.JournalError(f"{path}, line {number}: {error}") from None
        if on_line is not None:
            on_line()
    return log


def _add(log: Log, line: journal.AnyLine, number: int, rules: LogRules) -> None:
    if log.complete:
        raise ValueError(f"{line.event} after the run was over")
    match line:
        case journal.RunBegun():
            if number > 1:
                raise ValueError("a run begins in the middle; a log holds one run")
            if line.game != rules.game:
                raise ValueError(f"a log of {line.game!r}; it must be of {rules.game!r}")
            log.begun = line
        case journal.GameBegun():
            if line.game_id in log.deals:
                raise ValueError(f"game {line.game_id!r} begins twice")
            rules.check_deal(line)
            log.deals[line.game_id] = line
            log.decisions[line.game_id] = {}
        case journal.Decision():
            _playing(log, line.game_id)
            deal, made = log.deals[line.game_id], log.decisions[line.game_id]
            who = f"the {line.role} of game {line.game_id!r}"
            if line.role not in deal.agents:
                raise ValueError(f"{who}: there is no such role")
            if line.agent != deal.agents[line.role]:
                raise ValueError(f"{who} is {deal.agents[line.role]!r}, not {line.agent!r}")
            role = rules.roles[line.role.upper()]
            if (line.turn, role) in made:
                raise ValueError(f"{who} decides twice in turn {line.turn}")
            _check_stated(line, who)
            rules.check_decision(line, deal, made)
            made[line.turn, role] = line
            log.numbers[line.game_id, line.turn, role] = number
        case journal.GameOver():
            _playing(log, line.game_id)
            if line.ending.upper() not in rules.endings.__members__:
                raise ValueError(f"game {line.game_id!r}: ending {line.ending!r} does not exist")
            log.over[line.game_id] = line
            log.numbers[line.game_id,] = number
        case journal.RunOver():
            if not line.games == len(log.over) == len(log.deals):
                raise ValueError(
                    f"the run is over with {line.games} games, but {len(log.over)} of {len(log.deals)} games are"
                )
            log.complete = True


def _check_stated(line: journal.Decision, who: str) -> None:
    """The probabilities that an agent states, of any game. They may be of float32, and so a little off."""
    stated, log_p = line.probabilities, line.log_probability
    if stated is not None:
        total = math.fsum(stated.values())
        if not all(0 <= p <= 1 + ROUNDING for p in stated.values()) or not abs(total - 1) <= ROUNDING:
            raise ValueError(f"{who} states probabilities that are none: they must be from 0 to 1, and sum to 1")
    if log_p is not None:
        due = stated.get(line.action, 0.0) if stated is not None and isinstance(line.action, str) else None
        if not log_p <= ROUNDING or (due is not None and abs(math.exp(log_p) - due) > ROUNDING):
            expected = "at most 0" if due is None else f"the log of {due:.4g}, which it states"
            raise ValueError(f"{who} has the log-probability {log_p}; it must be {expected}")


def _playing(log: Log, game_id: str) -> None:
    if game_id not in log.deals or game_id in log.over:
        raise ValueError(f"game {game_id!r} is not being played here")
