"""Theory-of-mind tasks: questions about a turn of Decrypto, asked of one role, apart from play.

A task says who is asked and when, what each question says, how its answer is read, and how answers are scored. It is
asked about recorded turns, so every agent meets the same ones, and nothing that it answers changes a game. To add a
task: write its question, its measures, and list it in `catalogue`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from otherminds.games.decrypto import text
from otherminds.games.decrypto.rules import CODES, LENGTH, SLOTS, History, Observation, Role
from otherminds.games.protocol import NO_ANSWER
from otherminds.tom.llm.parsing import Parsed, find_object


class PlayedTurn(NamedTuple):
    """A turn as it was played. Guesses and code are indices into CODES; NO_ANSWER for a failed guess."""

    code: int
    hints: tuple[str, ...] | None  # three, or None where the encoder gave none
    decoder_guess: int
    interceptor_guess: int


class Moment(NamedTuple):
    """A turn about which somebody is asked, and all that was played before it."""

    keywords: tuple[str, ...]  # the four secret ones
    past: tuple[PlayedTurn, ...]
    now: PlayedTurn
    turns: int  # of a whole game

    @property
    def turn(self) -> int:
        """0 for the first."""
        return len(self.past)


class Answer(NamedTuple):
    """What was answered: four keywords, a code such as "3-1-2", or "yes" or "no"; and how sure, where that is said."""

    action: str | tuple[str, ...]
    probability: float | None = None  # that the action is right


Answers = Mapping[str, Answer | None]
"""By question; None where the answer failed."""
Measure = Callable[[Moment, Answers], float | None]
"""The score of one turn, 1 for a full success; None where the turn does not count. A failed answer is no success."""


@dataclass(frozen=True)
class Question:
    """One question, asked out of context: what is answered to one is not shown with another.

    text(moment): what is asked, below the rules and the past turns; it ends with the form of the answer.
    read(object): an Answer from a JSON object, or ValueError with a message for who answered.
    key: a field that every answer has.   schema: that answers are held to where the server can.
    allows(answer): whether an answer is one to this question, for logs.
    """

    name: str
    text: Callable[[Moment], str]
    key: str
    read: Callable[[dict[str, Any]], Answer]
    schema: Mapping[str, Any]
    allows: Callable[[Answer], bool]

    def find(self, answer: str) -> Parsed:
        """The answer in what a language model wrote."""
        return find_object(answer, self.key, self.read)


@dataclass(frozen=True)
class Rational:
    """A mind that answers a task, by what it thinks at that turn.

    role, mind: whose mind, and its name.   answers(readout, moment, keywords): from the mind's named log-arrays of the
    turn and the keyword list, by question.
    """

    name: str
    role: Role
    mind: str
    answers: Callable[[Mapping[str, np.ndarray], Moment, Sequence[str]], Answers]


@dataclass(frozen=True)
class Task:
    """A task.

    role: who is asked.   first: the first turn at which it is asked, 0 for the first.
    needs_hints: whether it is asked only where the encoder spoke.
    measures: how a turn's answers are scored, by name.   losses: those of which less is better.
    rational: the minds whose answers stand beside.
    """

    name: str
    role: Role
    questions: tuple[Question, ...]
    measures: Mapping[str, Measure]
    rational: tuple[Rational, ...] = ()
    losses: frozenset[str] = frozenset()
    first: int = 0
    needs_hints: bool = True

    def is_asked(self, moment: Moment) -> bool:
        """Whether the task is asked at that turn."""
        return moment.turn >= self.first and (moment.now.hints is not None or not self.needs_hints)


THINK = "Before that, think briefly; then write ANSWER: and the JSON on the last line."


def messages(
    task: Task, question: Question, moment: Moment, think: bool = False, wording: text.Wording = text.USUAL
) -> list[dict[str, str]]:
    """The question as a chat: the rules as system message; history, role and question as user message.

    think: ask for thoughts first.   wording: of rules and role, and a persona.
    """
    words: list[str] = []
    observation = seen(moment, task.role, words)
    parts = [
        text.history_text(observation, words),
        *filter(None, [wording.persona]),
        text.role_text(task.role, wording.role),
        question.text(moment),
        *([THINK] if think else []),
    ]
    return [
        {"role": "system", "content": text.rules_text(moment.turns, wording.system)},
        {"role": "user", "content": "\n".join(parts)},
    ]


def seen(moment: Moment, role: Role, words: list[str]) -> Observation:
    """What the role may know before the turn. words: takes the hints, which the observation numbers."""
    history = History(
        np.full(moment.turns, -1, np.int32),
        np.full((moment.turns, LENGTH), NO_ANSWER, np.int32),
        np.full(moment.turns, NO_ANSWER, np.int32),
        np.full(moment.turns, NO_ANSWER, np.int32),
    )
    misses = hits = 0
    for number, turn in enumerate(moment.past):
        history.codes[number] = turn.code
        history.decoder_guesses[number], history.interceptor_guesses[number] = (
            turn.decoder_guess,
            turn.interceptor_guess,
        )
        if turn.hints is not None:
            history.hints[number] = range(len(words), len(words) + LENGTH)
            words += turn.hints
        misses += not understood(turn)
        hits += intercepted(turn)
    count = partial(np.array, dtype=np.int32)
    nothing = np.full(LENGTH, -1, np.int32)
    code = moment.now.code if role == Role.ENCODER else -1
    numbers = count(int(role)), count(moment.turn), np.full(SLOTS, -1, np.int32), count(code), nothing
    return Observation(*numbers, count(misses), count(hits), history)


def understood(turn: PlayedTurn) -> bool:
    """Whether the decoder found the code."""
    return turn.hints is not None and turn.decoder_guess == turn.code


def intercepted(turn: PlayedTurn) -> bool:
    """Whether the interceptor found the code."""
    return turn.hints is not None and turn.interceptor_guess == turn.code


def read_percent(value: Any) -> float:
    """A probability that is stated in per cent: a number from 0 to 100.

    Raises: ValueError, with a message for who stated it.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise ValueError(f"{str(value)[:40]!r} is no per cent; give a number from 0 to 100")
    return value / 100


def object_schema(**fields: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object that has these fields and no others."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


PERCENT = {"type": "integer", "minimum": 0, "maximum": 100}
"""Whole per cents: servers that hold answers to a schema hold these to their range, fractions often not."""


def brier(probability: float, happened: bool) -> float:
    """(p - o)^2, o = 1 where it happened, else 0; 0 is best, 1 worst. Source: Brier (1950), for one outcome."""
    return (probability - happened) ** 2


LAPSE = 0.05
"""In log scores of stated probabilities, so that one wrong certainty does not settle all."""


def log_score(probability: float, happened: bool) -> float:
    """log of the probability given to what happened, nats, mixed with a lapse: (1 - lapse) p + lapse / 2."""
    return float(np.log((1 - LAPSE) * (probability if happened else 1 - probability) + LAPSE / 2))


UNINFORMED = {"Brier": brier(0.0, True), "log score": float(np.log(LAPSE / 2))}
"""The worst values: those of a failed answer."""


def calibration(
    question: str, event: Callable[[Moment, Answer], bool], of: Callable[[Answer], float | None]
) -> dict[str, Measure]:
    """Brier and log score of the probability that an answer states of an event.

    event(moment, answer): whether it happened.   of(answer): its probability, None where none is stated: the turn
    does not count then. A failed answer has the worst values.
    """

    def scored(name: str, rule: Callable[[float, bool], float], moment: Moment, answers: Answers) -> float | None:
        answer = answers[question]
        if answer is None:
            return UNINFORMED[name]
        probability = of(answer)
        return None if probability is None else rule(probability, event(moment, answer))

    return {name: partial(scored, name, rule) for name, rule in (("Brier", brier), ("log score", log_score))}


def code_list() -> list[str]:
    """Every code as people write it, in the order of CODES."""
    return [text.code_text(index) for index in range(len(CODES))]
