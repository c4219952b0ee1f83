"""The negotiation in words: what each player is shown, and which answers count."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.colored_trails.board import Board, Layout
from otherminds.games.colored_trails.rules import Rules, begin, colored_trails, step, view
from otherminds.games.colored_trails.text import (
    COLOURS,
    DECEPTION,
    LONGEST_MESSAGE,
    Reading,
    Wording,
    answer_schema,
    chips_text,
    colour_names,
    draw,
    history_text,
    messages,
    read_answer,
    rules_text,
    square,
)
from otherminds.games.colored_trails.utility import deal
from otherminds.tom.llm.parsing import find_object

RULES = Rules()
LAYOUT = RULES.layout
BOARD = Board(
    jnp.array([[4, 1, 4, 1, 0], [0, 1, 3, 4, 2], [2, 1, 0, 4, 0], [4, 3, 2, 2, 3], [0, 3, 4, 3, 3]], jnp.int32),
    jnp.array([[0, 0, 0, 2, 2], [2, 2, 0, 0, 0]], jnp.int32),
    jnp.array([1, 0], jnp.int32),
)
GAME = colored_trails(RULES, lambda key: None)
OFFER, COUNTER = [0, 1, 0, 1, 2], [2, 2, 0, 1, 0]  # held by the initiator, then by the responder
SAID = {0: 'I need "yellow".', 1: "nö"}
PLAIN = Wording()


@pytest.fixture(scope="module")
def states():
    """Before any move, after an offer, after a counter-offer."""
    dealt = jax.jit(deal, static_argnums=0)(LAYOUT, BOARD)
    move, stride = jax.jit(step, static_argnums=0), np.asarray(dealt.offers.stride)
    found = [begin(RULES, dealt)]
    for chips in (OFFER, COUNTER):
        found.append(move(RULES, found[-1], jnp.int32(int(np.dot(chips, stride))))[0])
    return [[jax.tree.map(np.asarray, (view(s, role), GAME.observe(s, role))) for role in (0, 1)] for s in found]


def test_the_board_in_letters():
    assert draw(LAYOUT, BOARD.tiles, {1: "*", 11: "2"}).splitlines() == [
        " 5  Y   B*  Y   B   W",
        " 4  W   B   G   Y   M",
        " 3  M   B   @   Y   W",
        " 2  Y   G   M   M   G",
        " 1  W   G   Y   G   G2",
        "    A   B   C   D   E",
    ]
    wide = Layout(rows=1, columns=12, start=(0, 0), colours=12, goals=((0, 3),))
    assert draw(wide, jnp.arange(12)[None], {}).splitlines()[0].split() == ["1", "@", *"BMGYRCOPLNT"]


def test_squares_are_named_as_in_chess():
    named = [square(LAYOUT, cell) for cell in LAYOUT.goals]
    assert named == ["A5", "B5", "D5", "E5", "A4", "E4", "A2", "E2", "A1", "B1", "D1", "E1"]
    with pytest.raises(ValueError, match="up to 26 columns"):
        square(Layout(columns=30, goals=((0, 14),)), (0, 29))


def test_colours_are_told_apart_by_their_letters():
    assert len({name[0] for name in COLOURS}) == len(COLOURS)
    assert chips_text(LAYOUT, [0, 2, 0, 0, 1]) == "[0, 2, 0, 0, 1] (2 black, 1 yellow)"
    assert chips_text(LAYOUT, np.zeros(5, int)) == "[0, 0, 0, 0, 0] (none)"
    with pytest.raises(ValueError, match="colours=13: there are names for 12"):
        colour_names(Layout(colours=13))


def test_the_rules_have_the_games_numbers():
    text = rules_text(RULES)
    for part in (
        "50 for ending on its goal, 5 for each chip",
        "minus 10 for each step",
        "0.1 points",
        "After 40 moves",
    ):
        assert part in text
    assert "start on the square C3" in text
    free = rules_text(Rules(charged=False, limit=7))
    assert "Moves cost nothing." in free and "After 7 moves" in free
    assert not any(word in text for word in ("GOAL", "CHIP", "STEP", "COST", "MOVE", "LIMIT", "START"))


def test_a_player_does_not_read_the_others_goal(states):
    for role, own in ((0, "B5"), (1, "A5")):
        seen, observed = states[2][role]
        system, user = (message["content"] for message in messages(RULES, seen, observed, SAID))
        assert f"Your goal: {own}" in user and user.count("*") == 2  # the mark and its explanation
        assert "board" in system and "B5" not in system
        other = seen._replace(goal=np.int32(5))
        assert f"Your goal: {own}" not in messages(RULES, other, observed)[1]["content"]


def test_moves_are_told_from_the_readers_side(states):
    (first, first_seen), (second, second_seen) = states[2]
    assert history_text(LAYOUT, first, first_seen, SAID).splitlines()[1:] == [
        "1. you: proposed that you would hold [0, 1, 0, 1, 2] (1 black, 1 gray, 2 yellow), and wrote "
        '"I need \\"yellow\\"."',
        '2. the other player: proposed that you would hold [0, 0, 0, 1, 2] (1 gray, 2 yellow), and wrote "nö"',
    ]
    lines = history_text(LAYOUT, second, second_seen).splitlines()
    assert lines[1].startswith("1. the other player: proposed that you would hold [2, 1, 0, 1, 0]")
    assert lines[2] == "2. you: proposed that you would hold [2, 2, 0, 1, 0] (2 white, 2 black, 1 gray)"
    assert history_text(LAYOUT, *states[0][0]) == "No move has been made yet."
    ended = first_seen._replace(turn=np.int32(3), kept=np.array([*first_seen.kept[:2], -1]))
    assert history_text(LAYOUT, first, ended).endswith("3. you: gave no answer, and so withdrew")


def test_the_request_says_what_is_on_the_table(states):
    assert "Nothing is on the table. Propose or withdraw?" in messages(RULES, *states[0][0])[1]["content"]
    text = messages(RULES, *states[1][1])[1]["content"]
    assert "move 2 of at most 40. On the table: you would hold [2, 1, 0, 1, 0]" in text


def test_what_wording_changes(states):
    def whole(wording):
        return "\n".join(message["content"] for message in messages(RULES, *states[2][0], SAID, wording))

    assert DECEPTION not in whole(PLAIN) and DECEPTION in whole(Wording(deception=True))
    assert "How to reason" not in whole(PLAIN) and "How to reason" in whole(Wording(advice=True))
    quiet = whole(Wording(talk=False))
    assert "wrote" in whole(PLAIN) and "wrote" not in quiet and '"message"' not in quiet
    assert '{"reasoning": TEXT, "action"' in whole(Wording(reasons=True))
    schema = answer_schema(*states[2][0], Wording(reasons=True, talk=False))
    assert list(schema["properties"]) == schema["required"] == ["reasoning", "action", "offer"]


def test_every_offer_can_be_read_back(states):
    seen, observed = states[1][1]
    codes = [code for code in np.flatnonzero(seen.offers.valid).tolist() if code != seen.offers.own[1]]
    for code in codes:
        answer = {"action": "propose", "offer": seen.offers.chips[code].tolist(), "message": "hi"}
        assert read_answer(answer, LAYOUT, seen, observed) == Reading(code, "hi", None)
        named = {name: count for name, count in zip(COLOURS, answer["offer"], strict=False) if count}
        assert read_answer(answer | {"offer": named}, LAYOUT, seen, observed).kept == code
    assert len(codes) == 80


def test_accepting_and_withdrawing(states):
    seen, observed = states[2][0]
    accepted = read_answer({"action": " Accept ", "offer": "anything"}, LAYOUT, seen, observed)
    assert accepted.kept == int(observed.incoming) and accepted.message is None
    again = {"action": "propose", "offer": seen.offers.chips[observed.incoming].tolist()}
    assert read_answer(again, LAYOUT, seen, observed).kept == accepted.kept
    assert read_answer({"action": "withdraw"}, LAYOUT, seen, observed).kept == int(seen.offers.own[0])


def test_answers_are_found_in_what_a_model_writes(states):
    seen, observed = states[0][0]
    wording = Wording(reasons=True)
    written = '<think>{"action": "withdraw"}</think>```json\n' + json.dumps(
        {"reasoning": "why", "action": "propose", "offer": OFFER, "message": " please "}
    )
    found = find_object(written, "action", lambda value: read_answer(value, LAYOUT, seen, observed, wording))
    assert found.error is None and found.action.message == "please" and found.action.reasoning == "why"
    assert seen.offers.chips[found.action.kept].tolist() == OFFER


@pytest.mark.parametrize(
    "answer, message",
    [
        ([1], r"\[1\] is no answer; give a JSON object"),
        ({}, '"action": input should be'),
        ({"action": "go"}, "\"action\": input should be 'propose', 'accept' or 'withdraw'"),
        ({"action": "accept"}, "no offer on the table that you could accept; propose or withdraw"),
        ({"action": "propose"}, '"offer": input should be a valid dictionary'),
        ({"action": "propose", "offer": {"red": 1}}, '"red" is no colour of chips; there are white, black'),
        ({"action": "propose", "offer": {"white": 1, "White": 0}}, "a colour is named twice"),
        ({"action": "propose", "offer": {"white": 3}}, "3 white chips: both players together hold 2"),
        ({"action": "propose", "offer": {"white": "1"}}, '"offer.white": input should be a valid integer'),
        ({"action": "propose", "offer": [1, 1]}, r'"offer": \[1, 1\] has 2 numbers; give 5: white, black'),
        ({"action": "propose", "offer": [3, 0, 0, 0, 0]}, "3 white chips: both players together hold 2; say what YOU"),
        ({"action": "propose", "offer": [0, 0, 1, 0, 0]}, "1 magenta chips: both players together hold 0"),
        ({"action": "propose", "offer": [-1, 0, 0, 0, 0]}, "-1 white chips: nobody can hold fewer than 0"),
        ({"action": "propose", "offer": [0.5, 0, 0, 0, 0]}, '"offer.0": input should be a valid integer'),
        ({"action": "propose", "offer": ["1", 0, 0, 0, 0]}, '"offer.0": input should be a valid integer'),
        ({"action": "propose", "offer": [0, 0, 0, 2, 2]}, "the chips that you hold already.*withdraw"),
        ({"action": "withdraw", "message": "x" * (LONGEST_MESSAGE + 1)}, "501 characters are too many"),
        ({"action": "withdraw", "message": 3}, '"message": input should be a valid string'),
    ],
)
def test_answers_that_do_not_count(states, answer, message):
    with pytest.raises(ValueError, match=message):
        read_answer(answer, LAYOUT, *states[0][0])


def test_reasons_must_be_given_where_they_are_asked_for(states):
    with pytest.raises(ValueError, match='"reasoning" is missing'):
        read_answer({"action": "withdraw", "reasoning": " "}, LAYOUT, *states[0][0], Wording(reasons=True))


def test_a_schema_knows_what_can_be_done(states):
    begun, offered = answer_schema(*states[0][0])["properties"], answer_schema(*states[1][1])["properties"]
    assert begun["action"]["enum"] == ["propose", "withdraw"]
    assert offered["action"]["enum"] == ["propose", "accept", "withdraw"]
    counts = offered["offer"]["properties"]
    assert list(counts) == offered["offer"]["required"] == ["white", "black", "magenta", "gray", "yellow"]
    assert [count["enum"][-1] for count in counts.values()] == [2, 2, 0, 2, 2]  # as many as there are
