"""Check a log: every line against the schema, every game against the rules."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from otherminds.games.colored_trails import rules as trails_rules
from otherminds.games.decrypto.rules import LENGTH, Ending, Role, State, begin, done, guess
from otherminds.games.protocol import NO_ANSWER
from otherminds.games.reference import rules as reference_rules
from otherminds.games.rps import observation
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.colored_trails import records as negotiations
from otherminds.tom.experiments.decrypto.lexicon import records as lexica
from otherminds.tom.experiments.logs import LogRules, Made, game_of, read_log
from otherminds.tom.experiments.records import CODE_INDEX, DECRYPTO
from otherminds.tom.experiments.reference import records as reference
from otherminds.tom.experiments.rps.matches import records as matches
from otherminds.tom.experiments.rps.observers import records as watched
from otherminds.tom.experiments.tasks import records as tasks

_guess = jax.jit(guess)


@dataclass(frozen=True)
class Played:
    """What a game's decisions give by its rules. results: the fields of its game_over line."""

    turns: int  # finished
    over: bool
    results: dict[str, Any]


def validate_log(path: Path) -> str:
    """One line that says what the log holds.

    Raises: JournalError naming the line for what is wrong: a line that is none of the log's or cannot come at its
        place (see `logs.read_log`), a log that does not begin with a run, a game whose recorded ending, turns, tokens
        or number of failed answers are not what its decisions give, a game that goes on after its end.
    """
    rules, played_by_rules = GAMES[game_of(path, GAMES)]
    log = read_log(path, rules)
    if log.begun is None:
        what = "another event" if log.deals else "nothing; nothing was played"
        raise journal.JournalError(f"{path}, line 1: a log begins with run_begun, this one with {what}")
    for game_id, made in log.decisions.items():
        played = played_by_rules(log.deals[game_id], made, log.begun.config)
        more = [log.numbers[game_id, turn, role] for turn, role in made if turn >= played.turns]
        if more and played.over:
            raise journal.JournalError(
                f"{path}, line {more[0]}: game {game_id!r} goes on after its end in turn {played.turns - 1}"
            )
        if game_id not in log.over:
            continue
        failed = sum(line.action is None and not line.skipped for line in made.values())
        for name, value in (played.results | {"failed_answers": failed}).items():
            if getattr(log.over[game_id], name) != value:
                raise journal.JournalError(
                    f"{path}, line {log.numbers[game_id,]}: game {game_id!r} is recorded with {name} "
                    f"{getattr(log.over[game_id], name)!r}, but its decisions give {value!r}"
                )
    decisions = [line for made in log.decisions.values() for line in made.values() if not line.skipped]
    failed = sum(line.action is None for line in decisions)
    if log.complete:
        state = "complete"
    elif log.begun.config.get("source") == "import":
        state = "cut short; delete it and import the recordings again"
    else:
        state = "not finished; the same command goes on with it"
    if journal.is_torn(path):
        state = f"its last line is cut off and does not count; {state}"
    return (
        f"{path}: valid, schema version {journal.SCHEMA_VERSION}; {len(log.over)} of {len(log.deals)} games over, "
        f"{len(decisions)} decisions, {failed} failed answers; {state}"
    )


def _decrypto(deal: journal.GameBegun, made: Made, config: dict[str, Any]) -> Played:
    after_loss = bool(config.get("continue_after_loss", False)) or deal.deal is not None  # the match says when it ends
    state = replay(deal, made, after_loss)
    results = {
        "ending": Ending(int(state.ending)).name.lower(),
        "turns": int(state.ending_turn) or int(state.turn),  # a recording may stop before a game is over
        "miscommunications": int(state.miscommunications),
        "interceptions": int(state.interceptions),
    }
    return Played(int(state.turn), bool(done(state, after_loss)), results)


def _reference(deal: journal.GameBegun, made: Made, config: dict[str, Any]) -> Played:
    del config
    ending = reference_rules.Ending(int(reference.replay(deal, made).ending))
    asked = {(0, reference_rules.Role[role.upper()]) for role in deal.agents}
    turns = int(made.keys() >= asked)
    return Played(turns, bool(turns), {"ending": ending.name.lower(), "turns": turns})


def _rps(deal: journal.GameBegun, made: Made, config: dict[str, Any]) -> Played:
    del config
    rounds, turns = matches.rounds_of(deal), matches.rounds_played(made)
    return Played(turns, turns == rounds, {"ending": matches.Ending.PLAYED.name.lower(), "turns": rounds})


def _observer(deal: journal.GameBegun, made: Made, config: dict[str, Any]) -> Played:
    del config
    state = watched.replay(deal, made)
    ending = observation.Ending(int(state.ending)).name.lower()
    return Played(int(state.turn), bool(observation.done(state)), {"ending": ending, "turns": int(state.turn)})


def _colored_trails(deal: journal.GameBegun, made: Made, config: dict[str, Any]) -> Played:
    del config
    ending = negotiations.ended(deal, made)
    results = {"ending": ending.name.lower(), "turns": len(made)}
    return Played(len(made), ending != trails_rules.Ending.ONGOING, results)


def _tasks(deal: journal.GameBegun, made: Made, config: dict[str, Any]) -> Played:
    del config
    asked = tasks.asked_of(deal)
    turns, over = len({turn for turn, _ in asked}), made.keys() >= set(asked)
    last = max((turn for turn, _ in made), default=-1) + 1
    return Played(last, over, {"ending": tasks.Ending.ASKED.name.lower(), "turns": turns if over else last})


def _lexicon(deal: journal.GameBegun, made: Made, config: dict[str, Any]) -> Played:
    del config
    whole = len(made) == len(deal.deal["hints"])
    return Played(len(made), whole, {"ending": lexica.Ending.ASKED.name.lower(), "turns": len(made)})


GAMES: dict[str, tuple[LogRules, Callable[..., Played]]] = {
    "decrypto": (DECRYPTO, _decrypto),
    "reference": (reference.REFERENCE, _reference),
    "rps": (matches.RPS, _rps),
    watched.GAME: (watched.OBSERVER, _observer),
    negotiations.GAME: (negotiations.COLORED_TRAILS, _colored_trails),
    tasks.GAME: (tasks.TASK_RULES, _tasks),
    lexica.GAME: (lexica.LEXICON_RULES, _lexicon),
}
"""By the name in the log's first line: what its lines must be, and what (deal, decisions, config) gives."""


def replay(deal: journal.GameBegun, made: Made, continue_after_loss: bool) -> State:
    """Steps a recorded game by the rules, as far as it goes. Words count only as given or not."""
    state = begin(jnp.arange(4), jnp.asarray([CODE_INDEX[code] for code in deal.codes]))
    turn = 0
    while not bool(done(state, continue_after_loss)) and all((turn, role) in made for role in Role):
        actions = [made[turn, role].action for role in Role]
        hints = jnp.full(LENGTH, NO_ANSWER if actions[Role.ENCODER] is None else 0, jnp.int32)
        guesses = [NO_ANSWER if action is None else CODE_INDEX[action] for action in actions[1:]]
        state, _ = _guess(state._replace(hints=hints), *map(jnp.int32, guesses))
        turn += 1
    return state
