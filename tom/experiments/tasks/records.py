"""The log of theory-of-mind tasks: a game is one task, asked of one agent about one recorded game of Decrypto.

The deal holds the recorded turns, so the log says all that the questions were about. A decision is one question; its
role is the question's name.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from otherminds.games.decrypto.rules import LENGTH, SLOTS, code_text
from otherminds.games.protocol import NO_ANSWER
from otherminds.tom.experiments import journal, logs
from otherminds.tom.experiments.logs import Log, LogRules, Made
from otherminds.tom.experiments.records import CODE_INDEX
from otherminds.tom.tasks.catalogue import QUESTIONS, TASKS, Asked
from otherminds.tom.tasks.task import Answer, Answers, Moment, PlayedTurn, Task

GAME = "decrypto-tasks"


class Ending(IntEnum):
    """How the asking ends: everything is asked."""

    ASKED = 0


def deal_json(task: Task, recorded: str, players: Mapping[str, str], turns: Iterable[PlayedTurn]) -> dict[str, Any]:
    """What is dealt: the task, and the recorded game with its players."""
    return {
        "task": task.name,
        "recorded": recorded,
        "players": dict(players),
        "turns": [
            {
                "hints": None if turn.hints is None else list(turn.hints),
                "decoder": _text(turn.decoder_guess),
                "interceptor": _text(turn.interceptor_guess),
            }
            for turn in turns
        ],
    }


def _text(guess: int) -> str | None:
    return None if guess == NO_ANSWER else code_text(guess)


def turns_of(deal: journal.GameBegun) -> tuple[PlayedTurn, ...]:
    """The recorded turns of a deal."""
    return tuple(
        PlayedTurn(
            CODE_INDEX[code],
            None if turn["hints"] is None else tuple(turn["hints"]),
            *(NO_ANSWER if turn[role] is None else CODE_INDEX[turn[role]] for role in ("decoder", "interceptor")),
        )
        for turn, code in zip(deal.deal["turns"], deal.codes, strict=False)
    )


def moments(keywords: Iterable[str], turns: tuple[PlayedTurn, ...], whole: int, task: Task) -> list[Moment]:
    """The turns of a game at which a task is asked. whole: turns of a whole game."""
    every = (Moment(tuple(keywords), turns[:number], turn, whole) for number, turn in enumerate(turns))
    return [moment for moment in every if task.is_asked(moment)]


def asked_of(deal: journal.GameBegun) -> list[tuple[int, Any]]:
    """(turn, question) of everything that a deal's task asks, in its order."""
    task = TASKS[deal.deal["task"]]
    return [
        (moment.turn, Asked[question.name.upper()])
        for moment in moments(deal.keywords or (), turns_of(deal), len(deal.codes or ()), task)
        for question in task.questions
    ]


def _check_deal(line: journal.GameBegun) -> None:
    who, deal = f"game {line.game_id!r}", line.deal or {}
    task = TASKS.get(deal.get("task", ""))
    if task is None:
        raise ValueError(f"{who}: no task {deal.get('task')!r}; there are {', '.join(TASKS)}")
    if line.agents.keys() != {question.name for question in task.questions} or len(set(line.agents.values())) != 1:
        raise ValueError(f"{who}: one agent is asked all questions of {task.name}")
    if not line.keywords or len(line.keywords) != SLOTS or not line.codes or not set(line.codes) <= CODE_INDEX.keys():
        raise ValueError(f"{who}: it lacks {SLOTS} keywords, or codes such as '3-1-2'")
    turns = deal.get("turns")
    if not isinstance(turns, list) or not 1 <= len(turns) <= len(line.codes) or not all(map(_is_turn, turns)):
        raise ValueError(f"{who}: the recorded turns are not 1 to {len(line.codes)} turns with hints and guesses")


def _is_turn(turn: Any) -> bool:
    if not isinstance(turn, dict) or turn.keys() != {"hints", "decoder", "interceptor"}:
        return False
    hints = turn["hints"]
    spoken = hints is None or (
        isinstance(hints, list) and len(hints) == LENGTH and all(isinstance(hint, str) and hint for hint in hints)
    )
    return spoken and all(turn[role] is None or turn[role] in CODE_INDEX for role in ("decoder", "interceptor"))


def _check_decision(line: journal.Decision, deal: journal.GameBegun, made: Made) -> None:
    if (line.turn, Asked[line.role.upper()]) not in asked_of(deal):
        raise ValueError(f"game {line.game_id!r}: {line.role} is not asked in turn {line.turn}")
    if line.action is not None:
        answer_of(line)


TASK_RULES = LogRules(GAME, Asked, Ending, _check_deal, _check_decision)


def read_log(path: Path) -> Log:
    """Reads the log of one asking; see `logs.read_log`."""
    return logs.read_log(path, TASK_RULES)


def probabilities_of(answer: Answer) -> dict[str, float] | None:
    """How sure an answer is, as a log holds it."""
    if answer.probability is None or isinstance(answer.action, tuple):
        return None
    return {answer.action: answer.probability, "another": 1 - answer.probability}


def answer_of(line: journal.Decision) -> Answer | None:
    """The answer that a line holds, or None for a failed one.

    Raises: ValueError for what is no answer to that question.
    """
    if line.action is None:
        return None
    stated = (line.probabilities or {}).get(line.action) if isinstance(line.action, str) else None
    action = line.action if isinstance(line.action, str) else tuple(line.action)
    answer = Answer(action, stated)
    if not QUESTIONS[line.role].allows(answer):
        raise ValueError(f"game {line.game_id!r}: {line.action!r} is no answer to {line.role}")
    return answer


@dataclass(frozen=True)
class Sheet:
    """One task asked about one game, as far as it went. agent: who was asked."""

    task: str
    agent: str
    recorded: str
    players: Mapping[str, str]
    seed: int
    moments: tuple[Moment, ...]  # of which every question is answered
    answers: tuple[Answers, ...]
    failed: int


def sheets(log: Log) -> list[Sheet]:
    """What a log holds, a sheet for every game that was begun."""
    found = []
    for game_id, deal in log.deals.items():
        task, made = TASKS[deal.deal["task"]], log.decisions[game_id]
        whole, answered = [], []
        for moment in moments(deal.keywords, turns_of(deal), len(deal.codes), task):
            places = {question.name: (moment.turn, Asked[question.name.upper()]) for question in task.questions}
            if made.keys() >= set(places.values()):
                whole.append(moment)
                answered.append({name: answer_of(made[place]) for name, place in places.items()})
        found.append(
            Sheet(
                task.name,
                next(iter(deal.agents.values())),
                deal.deal["recorded"],
                deal.deal["players"],
                deal.seed,
                tuple(whole),
                tuple(answered),
                sum(answer is None for answers in answered for answer in answers.values()),
            )
        )
    return found
