"""Will the decoder understand? After her hints, an encoder says how probable it is that the decoder finds the code."""

import numpy as np

from otherminds.games.decrypto.rules import Role
from otherminds.tom.tasks.perspective_taking import what_she_said
from otherminds.tom.tasks.task import (
    PERCENT,
    Answer,
    Question,
    Rational,
    Task,
    calibration,
    object_schema,
    read_percent,
    understood,
)

NAME = "understanding"
FORM = 'Answer with JSON only: {"percent": P}, where P is from 0 to 100.'


def stated(probability: float) -> Answer:
    """The probability that the decoder finds the code, and the more probable of yes and no."""
    return Answer("yes", probability) if probability >= 0.5 else Answer("no", 1 - probability)


def of_yes(answer: Answer) -> float | None:
    """The probability of yes that an answer states."""
    return answer.probability if answer.action == "yes" else 1 - answer.probability


UNDERSTANDING = Task(
    name=NAME,
    role=Role.ENCODER,
    questions=(
        Question(
            NAME,
            lambda moment: f"{what_she_said(moment)}\nHow probable is it that the decoder finds the code?\n{FORM}",
            "percent",
            lambda answer: stated(read_percent(answer["percent"])),
            object_schema(percent=PERCENT),
            lambda answer: answer.action in ("yes", "no") and answer.probability is not None,
        ),
    ),
    measures=calibration(NAME, lambda moment, _: understood(moment.now), of_yes),
    losses=frozenset({"Brier"}),
    rational=(
        Rational(
            "rational encoder's decoder",
            Role.ENCODER,
            "rational",
            lambda readout, moment, _: {NAME: stated(float(np.exp(readout["decoder_guess"][moment.now.code])))},
        ),
    ),
)
