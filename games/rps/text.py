"""The observer game in words: what a person or a language model reads, and how answers are read.

The text has four sections, each of which can be left out: how to reason, the form of the answer, the catalogue of
strategies, and the history. What never changes stands first, then what is the same for a match, so that a server that
keeps a prompt's beginning computes only the end of it.

Probabilities are asked for as points, any numbers that are not negative, which are divided by their sum. So a sum is
never wrong, and a small model can answer at all; where all points are 0 the answer is none. Of the strategies only
the probable ones are listed; `others` are points that all the rest share evenly, so a few numbers give a distribution
over all of them. Strategies have labels that can be shuffled for each match, so that no letter is likelier beforehand.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from otherminds.games.rps.catalogue import CODES, REACTIVE, probabilities
from otherminds.games.rps.observation import Observation
from otherminds.games.rps.rules import MOVES
from otherminds.games.rps.statement import MOVE_NAMES, OUTCOME_NAMES, Stated, Statement, statement

SECTIONS = ("catalogue", "history", "reasoning", "format")
LONGEST_REASONING = 300  # characters that a schema allows; readers are more patient
MOST_POINTS = 100  # under a schema
MOST_LISTED = 5  # strategies under a schema
KEY = "guess1"
"""The field by which an answer is known."""

TASK = """\
Two players, player 1 and player 2, play many rounds of rock, paper, scissors. Each of them follows one fixed strategy
for the whole match. You watch the match and find out which strategy each of them follows."""

REASONING = """\
How to reason: for each player and each strategy, ask how probable the moves that you see would be. Count how often
each move comes. Check whether a player's move depends on the other player's move in the round before: one round that
breaks such a rule excludes it. Keep several strategies in mind as long as they explain the moves nearly as well."""

NAMES = (MOVE_NAMES, OUTCOME_NAMES)
RULES = {
    1: "plays the move that beats",
    2: "plays the move that loses to",
    0: "copies",
}
"""What a reactive strategy does, by its shift of the opponent's previous move."""


@dataclass(frozen=True)
class Wording:
    """How the game is told. sections: those of SECTIONS that are shown.   legacy_decimals: of the catalogue."""

    sections: tuple[str, ...] = SECTIONS
    legacy_decimals: bool = False

    def __post_init__(self):
        unknown = [name for name in self.sections if name not in SECTIONS]
        if unknown or len(set(self.sections)) < len(self.sections):
            raise ValueError(f"sections={', '.join(self.sections)}: each at most once, of {', '.join(SECTIONS)}")


class Reading(NamedTuple):
    """An answer that is valid."""

    guess: tuple[int, int]  # places in the catalogue
    statement: Statement
    reasoning: str | None


def strategy_text(code: str, legacy_decimals: bool = False) -> str:
    """What a strategy does, in words that fit no other."""
    if code in REACTIVE:
        shift = REACTIVE[code]
        cases = ", ".join(f"{MOVE_NAMES[(move + shift) % MOVES]} after {MOVE_NAMES[move]}" for move in range(MOVES))
        return f"{RULES[shift]} the opponent's previous move ({cases}); the first move is random"
    chances = probabilities(code, legacy_decimals)
    return ", ".join(f"{name} {p:.3f}".rstrip("0").rstrip(".") for name, p in zip(MOVE_NAMES, chances, strict=True))


def catalogue_text(labels: str, legacy_decimals: bool = False) -> str:
    """Every strategy under its label, by label: those that draw every move alike, then those that react.

    labels: the label of each strategy of the catalogue, in its order.
    """
    lines = {label: f"{label}: {strategy_text(code, legacy_decimals)}" for label, code in _labelled(labels)}
    reactive = {label for label, code in _labelled(labels) if code in REACTIVE}
    return "\n".join(
        [
            "Strategies that ignore all earlier moves, with the probability of each move, by label:",
            *(lines[label] for label in sorted(lines) if label not in reactive),
            "Strategies that react to the opponent:",
            *(lines[label] for label in sorted(reactive)),
        ]
    )


def history_text(observation: Observation) -> str:
    """The rounds that are seen, with their numbers in the match."""
    first, now = int(observation.first), int(observation.round)
    moves = np.asarray(observation.moves)[:, first:now]
    shown = f"the last {now - first} of them" if first else "all of them"
    lines = [f"{now} rounds were played; {shown} (round: player 1, player 2):"]
    lines += [f"{number}: {_move(a)}, {_move(b)}" for number, (a, b) in enumerate(moves.T.tolist(), first + 1)]
    return "\n".join(lines)


def format_text() -> str:
    """The form of the answer."""
    points = '[{"label": LABEL, "points": POINTS}, ...]'
    moves, results = (f"{{{', '.join(f'{json.dumps(n)}: POINTS' for n in names)}}}" for names in NAMES)
    return f"""\
Answer with one JSON object only:
{{"player1": {points}, "others1": POINTS, "player2": {points}, "others2": POINTS, "next1": {moves}, "next2": {moves}, \
"outcome": {results}, "guess1": LABEL, "guess2": LABEL, "confidence": NUMBER}}
POINTS are from 0 to {MOST_POINTS}, in proportion to how probable something is; of each kind not all may be 0.
player1, player2: the labels of the strategies that this player probably follows, at most {MOST_LISTED}, with points; \
others1, others2: points for all the other strategies together.
next1, next2: points for each move of the players in the next round.
outcome: points for how often player 1 wins, draws and loses in the long run.
guess1, guess2: the label of the most probable strategy of each player.
confidence: the probability, from 0 to 1, that both guesses are right."""


def request_text(observation: Observation, reasons: bool) -> str:
    """What is wanted now. reasons: reasoning too."""
    now = int(observation.round)
    request = f"Which strategies do they follow, and what comes in round {now + 1}? Answer in JSON."
    if reasons:
        request += ' Begin the object with "reasoning": your reasons, in at most 40 words.'
    return request


def messages(observation: Observation, labels: str, wording: Wording, reasons: bool = False) -> list[dict[str, str]]:
    """The question as a chat: the task as system message; the sections and the request as user message."""
    parts = {
        "reasoning": lambda: REASONING,
        "format": format_text,
        "catalogue": lambda: catalogue_text(labels, wording.legacy_decimals),
        "history": lambda: history_text(observation),
    }
    shown = [part() for name, part in parts.items() if name in wording.sections]
    content = "\n\n".join([*shown, request_text(observation, reasons)])
    return [{"role": "system", "content": TASK}, {"role": "user", "content": content}]


def answer_schema(labels: str, reasons: bool = False) -> dict[str, Any]:
    """JSON schema of the answer, for constrained decoding: whole points, known labels, confidence in steps of 0.05."""
    label = {"type": "string", "enum": sorted(labels)}
    point = {"type": "integer", "minimum": 0, "maximum": MOST_POINTS}
    listed = _object({"label": label, "points": point | {"minimum": 1}})
    strategies = {"type": "array", "items": listed, "minItems": 1, "maxItems": MOST_LISTED}
    properties: dict[str, Any] = {}
    if reasons:
        properties["reasoning"] = {"type": "string", "maxLength": LONGEST_REASONING}
    for player in "12":
        properties |= {f"player{player}": strategies, f"others{player}": point}
    properties |= {name: _object(dict.fromkeys(MOVE_NAMES, point)) for name in ("next1", "next2")}
    properties["outcome"] = _object(dict.fromkeys(OUTCOME_NAMES, point))
    properties |= {"guess1": label, "guess2": label}
    properties["confidence"] = {"type": "number", "enum": [step / 20 for step in range(21)]}
    return _object(properties)


Points = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Form(BaseModel):
    model_config = ConfigDict(strict=True)


class _Listed(_Form):
    model_config = ConfigDict(extra="forbid")
    label: str
    points: Points


class _Moves(_Form):
    model_config = ConfigDict(extra="forbid")
    rock: Points
    paper: Points
    scissors: Points


class _Results(_Form):
    model_config = ConfigDict(extra="forbid")
    win: Points
    draw: Points
    loss: Points


class _Answer(_Form):
    player1: list[_Listed]
    others1: Points
    player2: list[_Listed]
    others2: Points
    next1: _Moves
    next2: _Moves
    outcome: _Results
    guess1: str
    guess2: str
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    reasoning: str | None = None


def read_answer(value: Any, labels: str, reasons: bool = False) -> Reading:
    """The answer that a JSON object gives, with labels turned back into strategies and points into probabilities.

    reasons: whether it must give reasons.
    A label that is listed twice has the sum of its points.
    Raises: ValueError, with a message for who answered: a part that is missing or no such thing, an unknown label,
        points that are negative or all 0, a confidence outside 0 to 1. What else the object holds is left alone.
    """
    try:
        answer = _Answer.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part)[:40] for part in first["loc"]) or "the answer"
        raise ValueError(f'"{place}": {first["msg"].lower()}') from None
    if reasons and not (answer.reasoning or "").strip():
        raise ValueError('"reasoning" is missing; give your reasons first, in at most 40 words')
    stated = Stated(
        np.stack(
            [
                _strategies("player1", answer.player1, answer.others1, labels),
                _strategies("player2", answer.player2, answer.others2, labels),
            ]
        ),
        np.stack([_shares(name, [*vars(getattr(answer, name)).values()]) for name in ("next1", "next2")]),
        _shares("outcome", [*vars(answer.outcome).values()]),
        np.asarray(answer.confidence, float),
    )
    one, two = (_place(name, getattr(answer, name), labels) for name in ("guess1", "guess2"))
    return Reading((one, two), statement(stated), answer.reasoning if reasons else None)


def _place(part: str, label: str, labels: str) -> int:
    label = label.strip()
    if len(label) != 1 or label not in labels:
        raise ValueError(f'"{part}": {json.dumps(label[:40])} is no label; there are {", ".join(sorted(labels))}')
    return labels.index(label)


def _strategies(part: str, listed: Sequence[_Listed], others: float, labels: str) -> np.ndarray:
    points, rest = np.zeros(len(labels)), np.ones(len(labels), bool)
    for entry in listed:
        place = _place(part, entry.label, labels)
        points[place] += entry.points
        rest[place] = False
    points[rest] = others / max(int(rest.sum()), 1)
    return _shares(part, points)


def _shares(part: str, points: Sequence[float] | np.ndarray) -> np.ndarray:
    points = np.asarray(points, float)
    if not points.any():
        raise ValueError(f'"{part}": all points are 0; give more to what is more probable')
    shares = points / points.max()  # so that no sum is too large
    return shares / shares.sum()


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _labelled(labels: str) -> list[tuple[str, str]]:
    return list(zip(labels, CODES, strict=True))


def _move(move: int) -> str:
    return MOVE_NAMES[move] if move >= 0 else "none"
