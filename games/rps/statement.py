"""What an observer states about two players, as it stands in a log: probabilities by the names of what they are of."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from otherminds.games.rps.catalogue import CODES
from otherminds.games.rps.rules import Move, Outcome

Statement = dict[str, dict[str, float]]
"""strategy1, strategy2: by code; next1, next2: by move; outcome: win, draw, loss of the first player over the long run;
confidence: `both`, that both named strategies are right."""

MOVE_NAMES = tuple(move.name.lower() for move in Move)
OUTCOME_NAMES = tuple(outcome.name.lower() for outcome in Outcome)
CONFIDENCE = ("both",)
PARTS = {
    "strategy1": CODES,
    "strategy2": CODES,
    "next1": MOVE_NAMES,
    "next2": MOVE_NAMES,
    "outcome": OUTCOME_NAMES,
    "confidence": CONFIDENCE,
}
"""The parts of a statement, and what each gives probabilities of."""
ROUNDING = 1e-4
DIGITS = 7  # significant ones that are kept of a probability


class Stated(NamedTuple):
    """A statement as arrays; a statement that failed gives probability 0 to everything."""

    strategy: Float[np.ndarray, "*N 2 S"]  # by the order of the catalogue
    next: Float[np.ndarray, "*N 2 3"]  # the moves of the round to come
    outcome: Float[np.ndarray, "*N 3"]
    confidence: Float[np.ndarray, "*N"]


def statement(stated: Stated, codes: Sequence[str] = CODES) -> Statement:
    """The statement of arrays. codes: of the S strategies; those of the catalogue that are missing have 0."""
    strategies = [dict.fromkeys(CODES, 0.0) | _named(codes, own) for own in stated.strategy]
    return {
        "strategy1": strategies[0],
        "strategy2": strategies[1],
        "next1": _named(MOVE_NAMES, stated.next[0]),
        "next2": _named(MOVE_NAMES, stated.next[1]),
        "outcome": _named(OUTCOME_NAMES, stated.outcome),
        "confidence": _named(CONFIDENCE, np.atleast_1d(stated.confidence)),
    }


def arrays(said: Mapping[str, Mapping[str, float]] | None) -> Stated:
    """The arrays of a statement; of none, all 0."""
    if said is None:
        return Stated(np.zeros((2, len(CODES))), np.zeros((2, 3)), np.zeros(3), np.zeros(()))
    rows = {part: np.array([said[part][name] for name in names], float) for part, names in PARTS.items()}
    return Stated(
        np.stack([rows["strategy1"], rows["strategy2"]]),
        np.stack([rows["next1"], rows["next2"]]),
        rows["outcome"],
        rows["confidence"][0],
    )


def check(said: Mapping[str, Mapping[str, float]]) -> None:
    """Raises: ValueError for a part that is missing or strange, and for probabilities that are none."""
    if said.keys() != PARTS.keys():
        raise ValueError(f"states {', '.join(said) or 'nothing'}; it must be {', '.join(PARTS)}")
    for part, names in PARTS.items():
        own = said[part]
        if own.keys() != set(names):
            raise ValueError(f"states {part} of {', '.join(own) or 'nothing'}; it must be of {', '.join(names)}")
        total = sum(own.values())
        fine = all(0 <= p <= 1 + ROUNDING for p in own.values())
        if not fine or (part != "confidence" and not abs(total - 1) <= ROUNDING):
            raise ValueError(f"states {part} with probabilities that are none: from 0 to 1, and {total:.6g} in sum")


def _named(names: Sequence[str], values: Any) -> dict[str, float]:
    return {name: float(f"{float(value):.{DIGITS}g}") for name, value in zip(names, values, strict=True)}
