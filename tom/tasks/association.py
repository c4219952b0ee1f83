"""What a word brings to mind: which of four keywords a hint is about, asked of a language model outside any game.

There is no opponent, no code and no history, so what is answered is the model's word meanings and nothing of its play.
Two ways: the probabilities of a choice among the four (`choice_question`, for log-probabilities), or a rating of each
(`rating_question`). Keywords stand under letters, in several orders, so that a liking for a letter or for a place is
averaged out.
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from otherminds.games.decrypto.rules import SLOTS
from otherminds.games.decrypto.text import quoted
from otherminds.tom.llm.elicitation import LABELS, listed
from otherminds.tom.tasks.task import object_schema

HIGHEST = 100
"""The rating of a word that could not be closer."""
RATED = LABELS[:SLOTS]


def orders(seed: int, count: int) -> list[list[int]]:
    """The orders in which the four keywords are shown: a shuffled one, and that one moved on by a place each time.

    seed: shuffles.   count: 1 to 4; with 4 every keyword stands once in every place.
    Returns: for each order the keyword that stands at each place.
    Raises: ValueError for another count.
    """
    if not 1 <= count <= SLOTS:
        raise ValueError(f"{count} orders: from 1 to {SLOTS}; with {SLOTS} every keyword stands once in every place")
    first = np.random.default_rng(seed).permutation(SLOTS)
    return [np.roll(first, -number).tolist() for number in range(count)]


def question_seed(seed: int, keywords: Sequence[str], hint: str) -> int:
    """The seed of one question: the same whoever is asked, whatever else is asked, and in whatever order."""
    return zlib.crc32("\n".join([str(seed), *keywords, hint]).encode("utf-8", "backslashreplace")) >> 1


def choice_question(hint: str, persona: str = "") -> str:
    """Which of the words listed below a hint is about; the list and how to answer are put behind it."""
    return _asked(f"Which of the {SLOTS} words below is {quoted(hint)} about? Choose the closest in meaning.", persona)


def rating_question(hint: str, words: Sequence[str], persona: str = "") -> str:
    """How close a hint is to each of four words. words: in the order in which they are shown."""
    form = ", ".join(f'"{label}": ...' for label in RATED)
    return _asked(
        f"How close in meaning is {quoted(hint)} to each of these words? 0: nothing to do with it; {HIGHEST}: as close "
        f"as words can be.\n\n{listed(words)}\n\nAnswer with JSON alone, with whole numbers from 0 to {HIGHEST} in "
        f'place of the dots:\n{{"ratings": {{{form}}}}}',
        persona,
    )


def _asked(question: str, persona: str) -> str:
    return "\n".join([*filter(None, [persona]), question])


def read_ratings(answer: Mapping[str, Any]) -> tuple[float, ...]:
    """Four ratings, in the order of the letters, as shares of the highest.

    Raises: ValueError, with a message for who answered.
    """
    ratings = answer["ratings"]
    if not isinstance(ratings, dict) or set(ratings) != set(RATED):
        raise ValueError(f"give one rating for each of {', '.join(RATED)}, and for nothing else")
    values = [ratings[label] for label in RATED]
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        raise ValueError("ratings must be numbers")
    if not all(0 <= value <= HIGHEST for value in values):
        raise ValueError(f"ratings must be from 0 to {HIGHEST}")
    return tuple(value / HIGHEST for value in values)


RATINGS_SCHEMA = object_schema(
    ratings=object_schema(**{label: {"type": "integer", "minimum": 0, "maximum": HIGHEST} for label in RATED})
)
