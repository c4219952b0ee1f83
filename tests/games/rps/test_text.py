"""The observer game in words: what is shown, what can be left out, which answers count."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.rps.catalogue import CODES, probabilities
from otherminds.games.rps.observation import Asking, begin, observer_game
from otherminds.games.rps.statement import PARTS, arrays, check, statement
from otherminds.games.rps.text import (
    SECTIONS,
    Wording,
    answer_schema,
    catalogue_text,
    history_text,
    messages,
    read_answer,
    strategy_text,
)

ASKING = Asking(30, 10, 10, 12)
MOVES = np.random.default_rng(0).integers(0, 3, (2, 30)).astype(np.int32)
LABELS = "".join(np.random.default_rng(1).permutation(list(CODES)))
ANSWER = {
    "player1": [{"label": "B", "points": 3}, {"label": "A", "points": 1}],
    "others1": 0,
    "player2": [{"label": "Z", "points": 30}],
    "others2": 70,
    "next1": {"rock": 1, "paper": 1, "scissors": 2},
    "next2": {"rock": 0, "paper": 5.5, "scissors": 0},
    "outcome": {"win": 50, "draw": 25, "loss": 25},
    "guess1": "B",
    "guess2": "Z",
    "confidence": 0.25,
}


def observed(question=0):
    game = observer_game(lambda key: jnp.asarray(MOVES), (0, 1), 19, ASKING)
    state = begin(MOVES, ASKING)
    return game.observe(state._replace(turn=jnp.int32(question)), 0)


def test_every_strategy_is_told_apart():
    texts = [strategy_text(code) for code in CODES]
    assert len(set(texts)) == len(CODES)
    assert "beats the opponent's previous move (paper after rock, scissors after paper" in strategy_text("X")
    assert "loses to the opponent's previous move (scissors after rock, rock after paper" in strategy_text("Y")
    assert strategy_text("K") == "rock 0.5, paper 0.333, scissors 0.167"
    assert strategy_text("D", legacy_decimals=True) == "rock 0.333, paper 0.333, scissors 0.334"
    assert sum(probabilities("D", True)) == 1


def test_labels_stand_for_strategies_in_their_order():
    lines = catalogue_text(LABELS).splitlines()
    for label, code in zip(LABELS, CODES, strict=True):
        assert f"{label}: {strategy_text(code)}" in lines
    assert [line[0] for line in lines if line[1] == ":"] != sorted(LABELS)  # those that react stand apart
    assert len(lines) == len(CODES) + 2


def test_the_history_has_absolute_numbers():
    lines = history_text(observed()).splitlines()
    names = ("rock", "paper", "scissors")
    assert lines[0].startswith("20 rounds were played; the last 12 of them")
    assert lines[1:] == [f"{n + 1}: {names[MOVES[0, n]]}, {names[MOVES[1, n]]}" for n in range(8, 20)]
    missing = observed()
    missing = missing._replace(moves=missing.moves.at[0, 9].set(-1))
    assert history_text(missing).splitlines()[2].startswith("10: none, ")


def test_sections_can_be_left_out_and_come_in_one_order():
    heads = {
        "catalogue": "Strategies that ignore",
        "history": "20 rounds",
        "reasoning": "How to",
        "format": "Answer with",
    }

    def told(*sections, **options):
        return "\n".join(part["content"] for part in messages(observed(), LABELS, Wording(sections), **options))

    whole = told(*SECTIONS)
    assert told(*SECTIONS[::-1]) == whole
    assert whole.index(heads["format"]) < whole.index(heads["catalogue"]) < whole.index(heads["history"])
    for left_out in SECTIONS:
        text = told(*(name for name in SECTIONS if name != left_out))
        assert [name for name in SECTIONS if heads[name] not in text] == [left_out]
    assert "what comes in round 21" in told() and "reasoning" not in told() and '"reasoning"' in told(reasons=True)
    for wrong in (("story",), ("format", "format")):
        with pytest.raises(ValueError, match="each at most once, of catalogue, history, reasoning, format"):
            Wording(wrong)


def test_an_answer_is_read():
    reading = read_answer(ANSWER, LABELS)
    one, two = LABELS.index("B"), LABELS.index("Z")
    assert reading.guess == (one, two) and reading.reasoning is None
    check(reading.statement)
    stated = arrays(reading.statement)
    assert stated.strategy[0, one] == 0.75 and stated.strategy[0, LABELS.index("A")] == 0.25
    assert stated.strategy[1, two] == pytest.approx(0.3) and stated.strategy[1, one] == pytest.approx(0.7 / 18)
    assert stated.next.tolist() == [[0.25, 0.25, 0.5], [0, 1, 0]]
    assert stated.outcome.tolist() == [0.5, 0.25, 0.25] and stated.confidence == 0.25
    assert read_answer(ANSWER | {"more": [1]}, LABELS) == reading
    reasons = read_answer(ANSWER | {"reasoning": "much paper"}, LABELS, reasons=True)
    assert reasons.reasoning == "much paper"
    twice = ANSWER | {"player1": [*ANSWER["player1"], {"label": "B", "points": 4}]}
    assert arrays(read_answer(twice, LABELS).statement).strategy[0, one] == pytest.approx(7 / 8)
    huge = ANSWER | {"next1": {"rock": 1e308, "paper": 1e308, "scissors": 1e308}}
    assert arrays(read_answer(huge, LABELS).statement).next[0] == pytest.approx([1 / 3] * 3)


ONE = {"label": "A", "points": 1}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"guess1": "Q"}, '"guess1": "Q" is no label; there are A, B'),
        ({"guess1": ""}, "is no label"),
        ({"guess1": None}, '"guess1"'),
        ({"guess2": 3}, '"guess2"'),
        ({"player1": [{"label": "win-last", "points": 1}]}, '"player1": "win-last" is no label'),
        ({"player1": [ONE | {"points": -1}]}, '"player1.0.points": .*greater than or equal to 0'),
        ({"player1": [ONE | {"points": float("nan")}]}, '"player1.0.points"'),
        ({"player1": [ONE | {"points": True}]}, '"player1.0.points"'),
        ({"player1": [ONE | {"points": "3"}]}, '"player1.0.points"'),
        ({"player1": {"A": 1}}, '"player1": .*list'),
        ({"player1": []}, '"player1": all points are 0'),
        ({"player1": [ONE | {"points": 0}]}, '"player1": all points are 0'),
        ({"next1": {"rock": 0, "paper": 0, "scissors": 0}}, '"next1": all points are 0'),
        ({"next1": {"rock": 1, "paper": 0}}, '"next1.scissors": field required'),
        ({"next1": {"rock": 1, "paper": 0, "scissors": 0, "well": 1}}, '"next1.well"'),
        ({"outcome": [1, 0, 0]}, '"outcome"'),
        ({"confidence": 1.5}, '"confidence": .*less than or equal to 1'),
        ({"confidence": None}, '"confidence"'),
    ],
)
def test_answers_that_are_none(change, message):
    with pytest.raises(ValueError, match=message) as raised:
        read_answer(ANSWER | change, LABELS)
    assert "\n" not in str(raised.value)


def test_no_part_may_be_missing():
    for part in ANSWER:
        with pytest.raises(ValueError, match=f'"{part}": field required'):
            read_answer({name: value for name, value in ANSWER.items() if name != part}, LABELS)
    with pytest.raises(ValueError, match='"reasoning" is missing'):
        read_answer(ANSWER, LABELS, reasons=True)


def test_the_schema_is_closed_and_asks_for_every_part():
    def closed(schema):
        if schema["type"] == "object":
            assert schema["additionalProperties"] is False and schema["required"] == list(schema["properties"])
            for part in schema["properties"].values():
                closed(part)
        elif schema["type"] == "array":
            closed(schema["items"])

    schema = answer_schema(LABELS)
    closed(schema)
    assert list(schema["properties"]) == list(ANSWER)
    assert list(answer_schema(LABELS, reasons=True)["properties"]) == ["reasoning", *ANSWER]
    assert schema["properties"]["guess1"]["enum"] == sorted(CODES)
    json.dumps(schema)


def test_statements_and_arrays():
    said = read_answer(ANSWER, LABELS).statement
    assert statement(arrays(said)) == said and said.keys() == PARTS.keys()
    nothing = arrays(None)
    assert not any(part.any() for part in nothing)
    for wrong, message in (
        ({name: value for name, value in said.items() if name != "next1"}, "it must be strategy1"),
        (said | {"next1": {"rock": 1.0}}, "states next1 of rock"),
        (
            said | {"outcome": {"win": 0.5, "draw": 0.25, "loss": 0.3}},
            "states outcome with probabilities that are none",
        ),
        (said | {"outcome": {"win": 1.5, "draw": -0.5, "loss": 0.0}}, "none"),
        (said | {"confidence": {"both": float("nan")}}, "none"),
    ):
        with pytest.raises(ValueError, match=message):
            check(wrong)
