"""The log of an elicited lexicon: what one agent takes the hints of recorded games of Decrypto to be about.

A game is one set of four keywords, with every hint that was said of it in any of the recorded games; a decision is one
hint. Its scores are the hint's association with each keyword, over all the orders in which the keywords were shown:

| method | association a(h, k) |
|---|---|
| `logprobs` | log p(k given h), nats: mean over the orders of the option's log-probability, normalised over the four |
| `rating` | mean rating / 100 |

A failed elicitation has none: it is missing, never even.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from otherminds.games.decrypto.rules import SLOTS
from otherminds.tom.experiments import journal, logs
from otherminds.tom.experiments.logs import ROUNDING, Log, LogRules, Made

GAME = "decrypto-lexicon"
METHODS = ("logprobs", "rating")
MISSING = "missing"
ROLE = "association"
Key = tuple[tuple[str, ...], str]
"""The four keywords and the hint, as `key_of` writes them."""


class Asked(IntEnum):
    """The one thing that is asked."""

    ASSOCIATION = 0


class Ending(IntEnum):
    """How the asking ends: everything is asked."""

    ASKED = 0


@dataclass(frozen=True)
class Association:
    """What one agent takes one hint to be about.

    associations: by keyword, in the order of the game; None where the elicitation failed.
    by_order: the same for each order in which the keywords were shown.   missing: probability that fell on none of the
    four, mean over orders; NaN for ratings.
    """

    agent: str
    method: str
    recorded: tuple[str, ...]  # games in which the hint may have been said
    keywords: tuple[str, ...]
    hint: str
    associations: tuple[float, ...] | None
    by_order: tuple[tuple[float, ...], ...]
    missing: float

    @property
    def same_nearest(self) -> bool | None:
        """Whether one keyword is the nearest in every order; None where there is none."""
        if self.associations is None:
            return None
        return len({max(range(SLOTS), key=each.__getitem__) for each in self.by_order}) == 1


def plain(text: str) -> str:
    """A word as it is looked up, case and blanks aside."""
    return " ".join(text.casefold().split())


def key_of(keywords: Iterable[str], hint: str) -> Key:
    """By which an association is found."""
    return tuple(map(plain, keywords)), plain(hint)


def deal_json(recorded: Iterable[str], hints: Iterable[str], method: str, orders: int) -> dict[str, Any]:
    """What is dealt: the games, their hints, and how they are asked about."""
    return {"recorded": list(recorded), "hints": list(hints), "method": method, "orders": orders}


def _check_deal(line: journal.GameBegun) -> None:
    who, deal = f"game {line.game_id!r}", line.deal or {}
    if set(line.agents) != {ROLE}:
        raise ValueError(f"{who}: one agent is asked, as {ROLE!r}")
    if not line.keywords or len(line.keywords) != SLOTS or len(set(line.keywords)) != SLOTS:
        raise ValueError(f"{who}: {line.keywords} are not {SLOTS} different keywords")
    if deal.get("method") not in METHODS or deal.get("orders") not in range(1, SLOTS + 1):
        raise ValueError(f"{who}: it lacks a method ({', '.join(METHODS)}), or 1 to {SLOTS} orders")
    for name in ("recorded", "hints"):
        texts = deal.get(name)
        if not (isinstance(texts, list) and texts and all(isinstance(text, str) and text for text in texts)):
            raise ValueError(f"{who}: {name} is no list of texts")
    if len({plain(hint) for hint in deal["hints"]}) < len(deal["hints"]):
        raise ValueError(f"{who}: a hint stands there twice")


def _check_decision(line: journal.Decision, deal: journal.GameBegun, made: Made) -> None:
    del made
    who, dealt = f"game {line.game_id!r}", deal.deal
    if not 0 <= line.turn < len(dealt["hints"]) or line.observation.get("hint") != dealt["hints"][line.turn]:
        raise ValueError(f"{who}: hint {line.turn} is another, or none")
    if line.action is None:
        return
    tables = [line.scores, *orders_of(line)]
    if len(tables) != 1 + dealt["orders"] or any(table is None or set(table) != set(deal.keywords) for table in tables):
        raise ValueError(f"{who}: {line.observation['hint']!r} has no score for each keyword, whole and by order")
    for table in tables:
        values = list(table.values())
        if not all(map(math.isfinite, values)):
            raise ValueError(f"{who}: a score is not finite")
        if dealt["method"] == "rating" and not all(0 <= value <= 1 for value in values):
            raise ValueError(f"{who}: a rating is not from 0 to 1")
        if dealt["method"] == "logprobs" and abs(math.fsum(map(math.exp, values)) - 1) > ROUNDING:
            raise ValueError(f"{who}: probabilities do not sum to 1")
    if not isinstance(line.action, str) or line.scores.get(line.action) != max(line.scores.values()):
        raise ValueError(f"{who}: {line.action!r} is not the nearest keyword by its scores")


LEXICON_RULES = LogRules(GAME, Asked, Ending, _check_deal, _check_decision)


def read_log(path: Path) -> Log:
    """Reads the log of one elicitation; see `logs.read_log`."""
    return logs.read_log(path, LEXICON_RULES)


def order_name(number: int) -> str:
    """How a log names an order. number: 0 for the first."""
    return f"order {number + 1}"


def orders_of(line: journal.Decision) -> list[dict[str, float]]:
    """The associations of each order that a line holds."""
    return [table for name, table in (line.statement or {}).items() if name != MISSING]


def associations(log: Log) -> list[Association]:
    """What a log holds, in its order."""
    found = []
    for game_id, deal in log.deals.items():
        for line in log.decisions[game_id].values():
            tables = [] if line.action is None else [line.scores, *orders_of(line)]
            whole, *by_order = [tuple(table[word] for word in deal.keywords) for table in tables] or [None]
            masses = (line.statement or {}).get(MISSING, {}).values()
            found.append(
                Association(
                    deal.agents[ROLE],
                    deal.deal["method"],
                    tuple(deal.deal["recorded"]),
                    tuple(deal.keywords),
                    line.observation["hint"],
                    whole,
                    tuple(by_order),
                    float(np.mean(list(masses))) if masses else float("nan"),
                )
            )
    return found


def by_key(found: Iterable[Association]) -> Mapping[Key, Float[np.ndarray, "4"]]:
    """The associations that there are, in the order of the keywords."""
    return {
        key_of(each.keywords, each.hint): np.array(each.associations) for each in found if each.associations is not None
    }
