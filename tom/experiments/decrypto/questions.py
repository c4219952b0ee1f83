"""Questions about a recording, put to a language model one by one, and taken from the log where it has them."""

from collections.abc import Awaitable, Callable, Mapping
from enum import IntEnum
from typing import Any

from otherminds.tom.experiments import journal
from otherminds.tom.experiments.running import Session, begin_game
from otherminds.tom.llm.counting import Counted

Place = tuple[int, IntEnum]
"""The turn of a question, and which it is: its role in the log."""


async def ask_each(
    session: Session,
    deal: journal.GameBegun,
    what: str,
    questions: Mapping[Place, Any],
    ask: Callable[[Any], Awaitable[journal.Decision]],
    ending: IntEnum,
    tell: Callable[[], None],
) -> int:
    """Asks what the log does not hold yet, in order. Returns how many answers failed.

    what: is named where the log has another deal.   questions: by their place, as `ask` takes them.
    tell: called for every question, also those that the log holds.
    Raises: JournalError for another deal in the log; what `ask` raises.
    """
    game_id = deal.game_id
    if game_id in session.past.over:
        for _ in questions:
            tell()
        return session.past.over[game_id].failed_answers
    begin_game(session, deal, what)
    before = session.past.decisions.get(game_id, {})
    failed = sum(line.action is None for line in before.values())
    for place, question in questions.items():
        if place not in before:
            try:
                line = await ask(question)
            except Counted:  # in a dry run nobody answers
                continue
            session.writer.write(line)
            failed += line.action is None
        tell()
    turns = len({turn for turn, _ in questions})
    session.writer.write(
        journal.GameOver(game_id=game_id, ending=ending.name.lower(), turns=turns, failed_answers=failed)
    )
    return failed
