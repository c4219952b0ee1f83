"""Perspective taking: after her hints, an encoder predicts what the interceptor will guess.

Asked twice, the second time with what the interceptor cannot know. An encoder who forgets that the interceptor does
not see the keywords predicts the code itself. Source: Lupu, Willi & Foerster (2025), section 3.2, after Piaget's three
mountains.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from otherminds.games.decrypto.rules import Role, code_text
from otherminds.games.decrypto.text import quoted, read_code
from otherminds.tom.tasks.task import (
    PERCENT,
    Answer,
    Answers,
    Measure,
    Moment,
    Question,
    Rational,
    Task,
    calibration,
    code_list,
    intercepted,
    object_schema,
    read_percent,
)

PLAIN, TOLD = "prediction", "prediction_told"
FORM = 'Answer with JSON only: {"guess": "X-Y-Z", "percent": P}, where P, from 0 to 100, says how sure you are of it.'
SCHEMA = object_schema(guess={"type": "string", "enum": code_list()}, percent=PERCENT)


def what_she_said(moment: Moment) -> str:
    """The encoder's side of the turn: keywords, code, and the hints that she has given."""
    secret = ", ".join(f"{place} {quoted(word)}" for place, word in enumerate(moment.keywords, 1))
    hints = ", ".join(quoted(hint) for hint in moment.now.hints or ())
    return (
        f"This is turn {moment.turn + 1} of {moment.turns}.\nKeywords: {secret}\n"
        f"Your code is {code_text(moment.now.code)}, and you have given the hints {hints}."
    )


def _plain(moment: Moment) -> str:
    return f"{what_she_said(moment)}\nWhich code will the interceptor guess now?\n{FORM}"


def _told(moment: Moment) -> str:
    return (
        f"{what_she_said(moment)}\nWhich code will the interceptor guess now? The interceptor has never seen the "
        "keywords or this turn's code, and has nothing to go by but the hints and the codes of the turns before, which "
        f"you see above, and the new hints.\n{FORM}"
    )


def read_prediction(answer: Mapping[str, Any]) -> Answer:
    """A code, and how sure the encoder is of it, where that is said.

    Raises: ValueError, with a message for who answered.
    """
    stated = answer.get("percent")
    return Answer(code_text(read_code(answer["guess"])), None if stated is None else read_percent(stated))


def _a_code(answer: Answer) -> bool:
    return answer.action in code_list()


def accuracy(question: str, moment: Moment, answers: Answers) -> float:
    """The prediction is the interceptor's guess. One who gave no answer is predicted by nobody."""
    answer, guess = answers[question], moment.now.interceptor_guess
    return float(answer is not None and guess >= 0 and answer.action == code_text(guess))


def predicted_interception(question: str, moment: Moment, answers: Answers) -> float:
    """The prediction is the code: the interceptor is thought to find it."""
    answer = answers[question]
    return float(answer is not None and answer.action == code_text(moment.now.code))


def accuracy_on_interception(question: str, moment: Moment, answers: Answers) -> float | None:
    """The prediction is right, of the turns at which the interceptor finds the code."""
    return accuracy(question, moment, answers) if intercepted(moment.now) else None


def happened(moment: Moment, answers: Answers) -> float:
    """The interceptor found the code: how often that is so is what predicted interceptions are held against."""
    del answers
    return float(intercepted(moment.now))


def _measures(question: str, ending: str) -> dict[str, Measure]:
    rules = {
        "accuracy": accuracy,
        "predicted interceptions": predicted_interception,
        "accuracy on interceptions": accuracy_on_interception,
    }
    found: dict[str, Measure] = {name: partial(rule, question) for name, rule in rules.items()}
    found |= calibration(
        question,
        lambda moment, answer: bool(accuracy(question, moment, {question: answer})),
        lambda answer: answer.probability,
    )
    return {f"{name}{ending}": measure for name, measure in found.items()}


def predicted(name: str, readout: Mapping[str, np.ndarray], moment: Moment, keywords: Sequence[str]) -> Answers:
    """The code that a mind expects most of the interceptor, and its probability. name: of the log-array [24]."""
    del moment, keywords
    best = int(np.argmax(readout[name]))
    answer = Answer(code_text(best), float(np.exp(readout[name][best])))
    return dict.fromkeys((PLAIN, TOLD), answer)


PERSPECTIVE_TAKING = Task(
    name="perspective-taking",
    role=Role.ENCODER,
    questions=(
        Question(PLAIN, _plain, "guess", read_prediction, SCHEMA, _a_code),
        Question(TOLD, _told, "guess", read_prediction, SCHEMA, _a_code),
    ),
    measures=_measures(PLAIN, "") | _measures(TOLD, ", told") | {"interceptions, as they happened": happened},
    losses=frozenset({"Brier", "Brier, told"}),
    rational=(
        Rational("rational encoder's interceptor", Role.ENCODER, "rational", partial(predicted, "interceptor_guess")),
        Rational("bayesian interceptor", Role.INTERCEPTOR, "bayesian:rule=softmax", partial(predicted, "code")),
    ),
)
