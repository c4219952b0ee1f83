"""Check a log: every line against the schema, every game against the rules."""

from pathlib import Path

import jax
import jax.numpy as jnp

from otherminds.games.decrypto.rules import LENGTH, Ending, Role, State, begin, done, guess
from otherminds.games.protocol import NO_ANSWER
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.records import CODE_INDEX, read_log

_guess = jax.jit(guess)


def validate_log(path: Path) -> str:
    """One line that says what the log holds.

    Raises: JournalError naming the line for what is wrong: a line that is none of the log's or cannot come at its
        place (see `read_log`), a log that does not begin with a run, a game whose recorded ending, turns, tokens or
        number of failed answers are not what its decisions give, a game that goes on after its end.
    """
    log = read_log(path)
    if log.begun is None:
        what = "another event" if log.deals else "nothing; nothing was played"
        raise journal.JournalError(f"{path}, line 1: a log begins with run_begun, this one with {what}")
    after_loss = bool(log.begun.config.get("continue_after_loss", False))
    for game_id, made in log.decisions.items():
        state = replay(log.deals[game_id], made, after_loss)
        more = [log.numbers[game_id, turn, role] for turn, role in made if turn >= int(state.turn)]
        if more and bool(done(state, after_loss)):
            raise journal.JournalError(
                f"{path}, line {more[0]}: game {game_id!r} goes on after its end in turn {int(state.turn) - 1}"
            )
        if game_id not in log.over:
            continue
        over = log.over[game_id]
        played = {
            "ending": Ending(int(state.ending)).name.lower(),
            "turns": int(state.ending_turn),
            "miscommunications": int(state.miscommunications),
            "interceptions": int(state.interceptions),
            "failed_answers": sum(line.action is None for line in made.values()),
        }
        for name, value in played.items():
            if getattr(over, name) != value:
                raise journal.JournalError(
                    f"{path}, line {log.numbers[game_id,]}: game {game_id!r} is recorded with {name} "
                    f"{getattr(over, name)!r}, but its decisions give {value!r}"
                )
    decisions = [line for made in log.decisions.values() for line in made.values()]
    failed = sum(line.action is None for line in decisions)
    state = "complete" if log.complete else "not finished; the same command goes on with it"
    return (
        f"{path}: valid, schema version {journal.SCHEMA_VERSION}; {len(log.over)} of {len(log.deals)} games over, "
        f"{len(decisions)} decisions, {failed} failed answers; {state}"
    )


def replay(deal: journal.GameBegun, made: dict[tuple[int, Role], journal.Decision], continue_after_loss: bool) -> State:
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
