"""The catalogue of 19 strategies: static A to P, and X, Y, Z that react to the opponent's previous move.

Source: arXiv 2512.19210 and its public code. The paper's text gives D the numbers of N; the code's D is uniform, as
here. The code rounds to three decimals; here thirds and sixths are exact unless `legacy_decimals`.
"""

from typing import Any

from otherminds.games.rps.strategies import Strategy, reactive, stack, static

_THIRD = 1 / 3
_SIXTH = 1 / 6

STATIC = {
    "A": (0, 0, 1),
    "B": (1, 0, 0),
    "C": (0, 1, 0),
    "D": (_THIRD, _THIRD, _THIRD),
    "E": (0.5, 0.5, 0),
    "F": (0.5, 0, 0.5),
    "G": (0, 0.5, 0.5),
    "H": (0.5, 0.25, 0.25),
    "I": (0.25, 0.5, 0.25),
    "J": (0.25, 0.25, 0.5),
    "K": (0.5, _THIRD, _SIXTH),
    "L": (0.5, _SIXTH, _THIRD),
    "M": (_THIRD, 0.5, _SIXTH),
    "N": (_SIXTH, 0.5, _THIRD),
    "O": (_THIRD, _SIXTH, 0.5),
    "P": (_SIXTH, _THIRD, 0.5),
}
"""Rock, paper, scissors."""

REACTIVE = {"X": 1, "Y": 2, "Z": 0}
"""The shift of the opponent's previous move: X beats it, Y loses to it, Z copies it."""

NAMES = {
    "A": "pure scissors",
    "B": "pure rock",
    "C": "pure paper",
    "D": "random",
    "E": "rock or paper",
    "F": "rock or scissors",
    "G": "paper or scissors",
    "H": "rock-biased",
    "I": "paper-biased",
    "J": "scissors-biased",
    "K": "rock over paper",
    "L": "rock over scissors",
    "M": "paper over rock",
    "N": "paper over scissors",
    "O": "scissors over rock",
    "P": "scissors over paper",
    "X": "win against the last move",
    "Y": "lose to the last move",
    "Z": "copy the last move",
}

CODES = tuple(NAMES)
"""The order of `catalogue`."""


def probabilities(code: str, legacy_decimals: bool = False) -> tuple[float, float, float]:
    """Rock, paper, scissors of a static strategy; `legacy_decimals`: as in the authors' code, which sum to 1 too."""
    if not legacy_decimals:
        return STATIC[code]
    rock, paper, _ = (round(p, 3) for p in STATIC[code])
    return rock, paper, round(1 - rock - paper, 3)


def member(code: str, legacy_decimals: bool = False, tremble: float = 0.0) -> Strategy:
    """One strategy of the catalogue.

    Raises: ValueError for a code that is not in it.
    """
    if code not in NAMES:
        raise ValueError(f"code {code!r}: the catalogue has {', '.join(CODES)}")
    if code in REACTIVE:
        return reactive(REACTIVE[code], tremble)
    return static(probabilities(code, legacy_decimals), tremble)


def catalogue(legacy_decimals: bool = False, tremble: float = 0.0, codes: Any = CODES) -> Strategy:
    """Strategies of the catalogue, stacked in the order of `codes`; their first move, where they react, is uniform."""
    return stack([member(code, legacy_decimals, tremble) for code in codes])
