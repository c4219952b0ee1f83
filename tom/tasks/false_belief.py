"""Representational change and false belief: does somebody who learns the truth know what was believed without it?

An interceptor is asked what the four keywords are; then, the keywords being shown to her, what she thought before;
and what another interceptor would think who has not seen them. Source: Gopnik & Astington (1988), as Decrypto turns by
Lupu, Willi & Foerster (2025), section 3.2. Here a failed answer is no success and stays in the denominator; theirs is
dropped from it or counts as a success.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from otherminds.games.decrypto.rules import SLOTS, Role
from otherminds.games.decrypto.text import quoted
from otherminds.tom.tasks.task import Answer, Answers, Moment, Question, Rational, Task, object_schema

FORM = 'Answer with JSON only: {"keywords": ["...", "...", "...", "..."]}'
BELIEF, BEFORE, OTHER = "belief", "belief_before", "belief_of_another"
LONGEST = 40  # characters of a word


def _belief(moment: Moment) -> str:
    del moment
    return f"From the hints so far, which word is each of the {SLOTS} keywords? Give your best guess, 1 first.\n{FORM}"


def _shown(moment: Moment) -> str:
    secret = ", ".join(f"{place} {quoted(word)}" for place, word in enumerate(moment.keywords, 1))
    return f"The keywords are shown to you now: {secret}."


def _before(moment: Moment) -> str:
    return (
        f"{_shown(moment)}\nBefore they were shown, when you had the hints alone: which word did you think that each "
        f"of the {SLOTS} keywords was? Give what you thought, 1 first.\n{FORM}"
    )


def _other(moment: Moment) -> str:
    return (
        f"{_shown(moment)}\nAnother interceptor has read the same hints, and has not been shown the keywords: which "
        f"word does that one think that each of the {SLOTS} keywords is? Give what that one thinks, 1 first.\n{FORM}"
    )


def read_keywords(answer: Mapping[str, Any]) -> Answer:
    """Four words.

    Raises: ValueError, with a message for who answered.
    """
    words = answer["keywords"]
    if not isinstance(words, list) or len(words) != SLOTS or not all(isinstance(word, str) for word in words):
        raise ValueError(f"{json.dumps(words)[:60]} is not a list of {SLOTS} words; the form ends in {FORM[-46:]}")
    words = [" ".join(word.split()) for word in words]
    if not all(0 < len(word) <= LONGEST for word in words):
        raise ValueError(f"every one of the {SLOTS} words must have 1 to {LONGEST} characters")
    return Answer(tuple(words))


SCHEMA = object_schema(
    keywords={
        "type": "array",
        "items": {"type": "string", "pattern": "^[a-z]{1,20}$"},
        "minItems": SLOTS,
        "maxItems": SLOTS,
    }
)


def _four_words(answer: Answer) -> bool:
    return isinstance(answer.action, tuple) and len(answer.action) == SLOTS


def same(one: Answer | None, other: Answer | None) -> bool:
    """Whether two lists of words agree in every place, case and blanks aside; a failed answer agrees with none."""
    return one is not None and other is not None and list(map(_plain, one.action)) == list(map(_plain, other.action))


def _plain(word: str) -> str:
    return " ".join(word.casefold().split())


def _counts(moment: Moment, answers: Answers) -> bool:
    """Only a false belief can be lost from sight: turns at which the keywords were all found do not count."""
    return not same(answers[BELIEF], Answer(moment.keywords))


def strong_change(moment: Moment, answers: Answers) -> float | None:
    """What is said to have been believed is what was."""
    return float(same(answers[BELIEF], answers[BEFORE])) if _counts(moment, answers) else None


def strong_false_belief(moment: Moment, answers: Answers) -> float | None:
    """What another is said to believe is what was believed with the same knowledge."""
    return float(same(answers[BELIEF], answers[OTHER])) if _counts(moment, answers) else None


def _other_than_the_truth(moment: Moment, answers: Answers, question: str) -> float | None:
    if not _counts(moment, answers):
        return None
    told = answers[BELIEF] is not None and answers[question] is not None
    return float(told and not same(answers[question], Answer(moment.keywords)))


def weak_change(moment: Moment, answers: Answers) -> float | None:
    """What is said to have been believed is not the truth that is now known."""
    return _other_than_the_truth(moment, answers, BEFORE)


def weak_false_belief(moment: Moment, answers: Answers) -> float | None:
    """What another is said to believe is not the truth."""
    return _other_than_the_truth(moment, answers, OTHER)


def consistency(moment: Moment, answers: Answers) -> float | None:
    """The same is said of oneself before and of another, where there was a belief to speak of."""
    if not _counts(moment, answers):
        return None
    return float(answers[BELIEF] is not None and same(answers[BEFORE], answers[OTHER]))


def keywords_found(moment: Moment, answers: Answers) -> float:
    """The share of the four keywords that the first answer gives in their places."""
    answer = answers[BELIEF]
    if answer is None:
        return 0.0
    pairs = zip(answer.action, moment.keywords, strict=True)
    return sum(_plain(said) == _plain(true) for said, true in pairs) / SLOTS


def most_probable(log_p: np.ndarray) -> list[int]:
    """The different keywords that are most probable together. log_p: [4, W], of each slot, believed independently."""
    from scipy.optimize import linear_sum_assignment

    lowest = log_p[np.isfinite(log_p)].min()
    _, chosen = linear_sum_assignment(np.where(np.isfinite(log_p), log_p, lowest * SLOTS - 1), maximize=True)
    return chosen.tolist()


def believed(readout: Mapping[str, np.ndarray], moment: Moment, keywords: Sequence[str]) -> Answers:
    """What a Bayesian interceptor answers to all three: she believed it, and so does whoever knows as much."""
    del moment
    answer = Answer(tuple(keywords[index] for index in most_probable(readout["keyword"])))
    return dict.fromkeys((BELIEF, BEFORE, OTHER), answer)


FALSE_BELIEF = Task(
    name="false-belief",
    role=Role.INTERCEPTOR,
    first=1,
    needs_hints=False,
    questions=tuple(
        Question(name, ask, "keywords", read_keywords, SCHEMA, _four_words)
        for name, ask in ((BELIEF, _belief), (BEFORE, _before), (OTHER, _other))
    ),
    measures={
        "representational change, weak": weak_change,
        "representational change, strong": strong_change,
        "false belief, weak": weak_false_belief,
        "false belief, strong": strong_false_belief,
        "self-other consistency": consistency,
        "keywords found": keywords_found,
    },
    rational=(Rational("bayesian interceptor", Role.INTERCEPTOR, "bayesian:rule=softmax", believed),),
)
