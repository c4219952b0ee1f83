"""Check a log: every line against the schema, every game against the rules."""

from pathlib import Path

import jax.numpy as jnp

from otherminds.games.decrypto.rules import Ending, Role, State, begin, done, guess
from otherminds.games.decrypto.text import read_code
from otherminds.games.protocol import NO_ANSWER
from otherminds.tom.experiments import journal


def validate_log(path: Path) -> str:
    """One line that says what the log holds.

    Raises: JournalError naming the line or the game for what is wrong: a line that is none of the log's, a
        decision out of turn or made twice, a game whose recorded ending is not what its actions give.
    """
    lines = list(journal.read(path))
    if not isinstance(lines[0], journal.RunBegun):
        raise journal.JournalError(f"{path}, line 1: a log begins with run_begun, not {lines[0].event}")
    turns_after_loss = bool(lines[0].config.get("continue_after_loss", False))
    deals: dict[str, journal.GameBegun] = {}
    made: dict[str, dict[tuple[int, Role], journal.Decision]] = {}
    over: dict[str, journal.GameOver] = {}
    for number, line in enumerate(lines, 1):
        where = f"{path}, line {number}"
        match line:
            case journal.GameBegun():
                if line.game_id in deals:
                    raise journal.JournalError(f"{where}: game {line.game_id!r} begins twice")
                deals[line.game_id] = line
            case journal.Decision():
                if line.game_id not in deals or line.game_id in over:
                    raise journal.JournalError(
                        f"{where}: a decision in game {line.game_id!r}, which is not being played"
                    )
                key = (line.turn, Role[line.role.upper()])
                if key in made.setdefault(line.game_id, {}):
                    raise journal.JournalError(
                        f"{where}: the {line.role} of game {line.game_id!r} decides twice in one turn"
                    )
                made[line.game_id][key] = line
            case journal.GameOver():
                if line.game_id not in deals or line.game_id in over:
                    raise journal.JournalError(f"{where}: game {line.game_id!r} ends without being played")
                over[line.game_id] = line
                _check_ending(where, deals[line.game_id], made.get(line.game_id, {}), line, turns_after_loss)
    decisions = sum(map(len, made.values()))
    failed = sum(line.action is None for of_game in made.values() for line in of_game.values())
    state = "complete" if isinstance(lines[-1], journal.RunOver) else "not finished; the same command goes on with it"
    return (
        f"{path}: valid, schema version {journal.SCHEMA_VERSION}; {len(over)} of {len(deals)} games over, "
        f"{decisions} decisions, {failed} failed answers; {state}"
    )


def replay(deal: journal.GameBegun, made: dict[tuple[int, Role], journal.Decision], continue_after_loss: bool) -> State:
    """Steps a recorded game by the rules, as far as it goes. Words count only as given or not."""
    state = begin(jnp.arange(4), jnp.asarray([read_code(code) for code in deal.codes]))
    while not bool(done(state, continue_after_loss)) and all((int(state.turn), role) in made for role in Role):
        actions = [made[int(state.turn), role].action for role in Role]
        hints = jnp.full(3, NO_ANSWER if actions[Role.ENCODER] is None else 0, jnp.int32)
        guesses = [NO_ANSWER if action is None else read_code(action) for action in actions[1:]]
        state, _ = guess(state._replace(hints=hints), *map(jnp.int32, guesses))
    return state


def _check_ending(
    where: str,
    deal: journal.GameBegun,
    made: dict[tuple[int, Role], journal.Decision],
    over: journal.GameOver,
    continue_after_loss: bool,
) -> None:
    state = replay(deal, made, continue_after_loss)
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
                f"{where}: game {over.game_id!r} is recorded with {name} {getattr(over, name)!r}, "
                f"but its decisions give {value!r}"
            )
