"""How a recorded game of Decrypto stands by the official rules: play that went on after a loss counts for nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from otherminds.games.decrypto.rules import TOKENS_TO_LOSE, Ending, Role
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.config import ConfigError
from otherminds.tom.experiments.logs import Log, Made
from otherminds.tom.experiments.records import CODE_INDEX
from otherminds.tom.tasks.task import PlayedTurn, intercepted, understood


def up_to_the_loss(
    missed: Bool[np.ndarray, "G T"], caught: Bool[np.ndarray, "G T"], turns: Int[np.ndarray, " G"]
) -> tuple[Int[np.ndarray, " G"], Int[np.ndarray, " G"], Int[np.ndarray, " G"]]:
    """Turns until each game is lost, or all that were played; and the miscommunications and interceptions until then.

    missed, caught: whether a turn brought the token.   turns: that were played.
    """
    there = np.arange(missed.shape[1]) < turns[:, None]
    missed, caught = missed & there, caught & there
    lost = (np.cumsum(missed, 1) >= TOKENS_TO_LOSE) | (np.cumsum(caught, 1) >= TOKENS_TO_LOSE)
    until = np.where(lost.any(1), (~lost).sum(1) + 1, turns)  # once lost, it stays lost
    counts = np.arange(missed.shape[1]) < until[:, None]
    return until, (missed & counts).sum(1), (caught & counts).sum(1)


@dataclass(frozen=True)
class Standing:
    """Tokens and turns up to the official end, or up to where the recording stops (ending unfinished)."""

    ending: Ending
    turns: int
    miscommunications: int
    interceptions: int


@dataclass(frozen=True)
class Summary:
    """The games of one table."""

    agents: tuple[str, str, str]
    games: int
    miscommunications: int
    interceptions: int
    turns: float  # mean a game
    endings: dict[str, int]  # games by ending
    failed: int  # answers, up to the end


def refuse_matches(log: Log) -> None:
    """Raises: ConfigError for a log of two teams, where it ends by both sides of a match."""
    if any(deal.deal is not None for deal in log.deals.values()):
        raise ConfigError("a log of two teams: its games end by both sides of a match; give a log of games of three")


def turns_played(deal: journal.GameBegun, made: Made) -> list[PlayedTurn]:
    """The finished turns of a recorded game."""
    turns = []
    for turn, code in enumerate(deal.codes or ()):
        if not all((turn, role) in made for role in Role):
            break
        hints = made[turn, Role.ENCODER].action
        guesses = (made[turn, role].action for role in (Role.DECODER, Role.INTERCEPTOR))
        turns.append(
            PlayedTurn(
                CODE_INDEX[code],
                None if hints is None else tuple(hints),
                *(-1 if guess is None else CODE_INDEX[guess] for guess in guesses),
            )
        )
    return turns


def standing(turns: Sequence[PlayedTurn], whole: int) -> Standing:
    """How a game stands after these turns. whole: turns after which it is survived."""
    missed = np.array([[not understood(turn) for turn in turns]], bool)
    caught = np.array([[intercepted(turn) for turn in turns]], bool)
    until, misses, catches = (int(each[0]) for each in up_to_the_loss(missed, caught, np.array([len(turns)])))
    by_miss, by_catch = misses >= TOKENS_TO_LOSE, catches >= TOKENS_TO_LOSE
    if by_miss or by_catch:
        lost = Ending.BOTH if by_miss and by_catch else Ending.MISCOMMUNICATION if by_miss else Ending.INTERCEPTION
        return Standing(lost, until, misses, catches)
    return Standing(Ending.SURVIVED if len(turns) == whole else Ending.UNFINISHED, until, misses, catches)


def summaries(log: Log) -> list[Summary]:
    """A row for every table of a log, over the games that are over."""
    tables: dict[tuple[str, str, str], list[str]] = {}
    for game_id in log.over:
        agents = tuple(log.deals[game_id].agents[role.name.lower()] for role in Role)
        tables.setdefault(agents, []).append(game_id)
    return [_summary(log, agents, own) for agents, own in tables.items()]


def _summary(log: Log, agents: tuple[str, str, str], games: Sequence[str]) -> Summary:
    stood = {}
    for game_id in games:
        deal = log.deals[game_id]
        stood[game_id] = standing(turns_played(deal, log.decisions[game_id]), len(deal.codes or ()))
    failed = sum(
        line.action is None and not line.skipped
        for game_id, each in stood.items()
        for (turn, _), line in log.decisions[game_id].items()
        if turn < each.turns
    )
    every = list(stood.values())
    return Summary(
        agents,
        len(every),
        sum(each.miscommunications for each in every),
        sum(each.interceptions for each in every),
        sum(each.turns for each in every) / len(every),
        {ending.name.lower(): sum(each.ending == ending for each in every) for ending in Ending},
        failed,
    )
