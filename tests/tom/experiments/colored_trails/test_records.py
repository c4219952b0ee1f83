"""A log of negotiations is read as it was written, and what cannot be is told with its line."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.colored_trails.board import Layout
from otherminds.games.colored_trails.rules import Ending, Rules, begin, gained, scores, step
from otherminds.games.colored_trails.utility import Scoring
from otherminds.games.protocol import NO_ANSWER
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.colored_trails.records import (
    board_of,
    chips_of,
    chips_text,
    deal_json,
    deals,
    ending_of,
    outcomes,
    read_games,
)
from otherminds.tom.experiments.validate import validate_log

CHIPS = ((2, 0, 0, 2, 0), (1, 1, 0, 1, 1))
OWN = {"tiles": [[0, 1], [1, 0]], "chips": [[1, 0], [0, 1]], "goals": [0, 1], "cost": 1.0, "limit": 4}
OWN |= {"layout": {"start": [0, 0], "goals": [[1, 1], [0, 1]]}, "scoring": {"goal": 9.0, "chip": 1.0, "step": 2.0}}


@pytest.fixture(scope="module")
def games(log):
    return read_games([log])[0]


def test_chips_as_text():
    assert chips_text((0, 12, 3)) == "0-12-3" and chips_of("0-12-3", (1, 12, 3)) == (0, 12, 3)


@pytest.mark.parametrize("text", ["1-1", "1-1-x", "", "1--1", "-1-1-1", "1-1-\N{SUPERSCRIPT TWO}"])
def test_what_is_no_offer_is_told(text):
    with pytest.raises(ValueError, match="is no offer; it says how many chips of each of 3 colours"):
        chips_of(text, (2, 2, 2))


def test_chips_that_nobody_has_are_told():
    with pytest.raises(ValueError, match="3-0-0 asks for chips that nobody has; both players together have 2-2-2"):
        chips_of("3-0-0", (2, 2, 2))


@pytest.mark.parametrize(
    ("moves", "limit", "ending"),
    [
        ([], 3, Ending.ONGOING),
        ([(2, 1, 0, 1, 0)], 3, Ending.ONGOING),
        ([(2, 1, 0, 1, 0)], 1, Ending.MOVE_LIMIT),
        ([(2, 0, 0, 2, 0)], 1, Ending.WITHDRAWN),
        ([None], 3, Ending.WITHDRAWN),
        ([(2, 1, 0, 1, 0), (1, 0, 0, 2, 1)], 2, Ending.ACCEPTED),
        ([(2, 1, 0, 1, 0), (1, 1, 0, 1, 1)], 3, Ending.WITHDRAWN),
    ],
)
def test_endings(moves, limit, ending):
    assert ending_of(CHIPS, moves, limit) == ending


def test_the_games_of_a_log(games):
    assert games.ids == ("a1", "a2", "b1", "b2", "b3") and games.lengths.tolist() == [2, 4, 3, 2, 2]
    assert [Ending(e).name for e in games.endings] == ["ACCEPTED", "WITHDRAWN", "ONGOING", "WITHDRAWN", "MOVE_LIMIT"]
    # Codes in mixed radix of the pool 3-1-0-3-1: 1, 4, 8, 8 and 32 for a chip of each colour.
    assert games.kept[0].tolist() == [2 + 4 + 8, 1 + 16 + 32, NO_ANSWER, NO_ANSWER]
    assert games.failed.sum() == 1 and games.failed[3, 1] and games.valid.sum() == 13
    assert [line.message for line in games.lines[1]] == ["take it", None, None, None]
    assert [line.thoughts for line in games.lines[0]] == ["E5 - so", None]
    assert games.names[0] == "diagnostic 1" and games.conditions[0] == {"boards": "ordinary", "deception": False}
    assert games.rules == Rules(limit=100)


def test_outcomes_are_those_of_the_rules(games):
    dealt = deals(games.rules, games.board)
    found = outcomes(games, dealt)
    for n in (0, 1, 3):
        state = begin(games.rules, jax.tree.map(lambda x, n=n: jnp.asarray(x[n]), dealt))
        for kept in games.kept[n, : games.lengths[n]]:
            state, _ = step(games.rules, state, jnp.int32(kept))
        np.testing.assert_allclose(found.score[n], scores(games.rules, state), atol=1e-5)
        np.testing.assert_allclose(found.gained[n], gained(games.rules, state), atol=1e-5)
    assert (found.gained[1:] < 0).all() and found.gained[3, 0] == pytest.approx(-0.2)


def test_the_log_is_valid_but_for_the_game_that_is_recorded_as_over(log, tampered):
    with pytest.raises(journal.JournalError, match=r"'b1' is recorded with ending 'move_limit'.*give 'ongoing'"):
        validate_log(log)
    assert "5 of 5 games over, 13 decisions, 1 failed answers" in validate_log(tampered(11, "deal", "limit", value=3))


@pytest.mark.parametrize(
    ("line", "names", "value", "told"),
    [
        (1, ("deal", "chips"), [[2, 0, 0, 2, 0], [1, 1, 0, 1, 2]], "line 2: game 'a1': the players are dealt 4 and 5"),
        (1, ("deal", "chips"), [[2, 0, 0, 2, 0]], "chips of 1 players"),
        (1, ("deal", "chips"), [[4, 0, 0, 1, -1], [1, 1, 0, 1, 1]], "no fewer than 0"),
        (1, ("deal", "tiles"), [[0, 1], [1]], "tiles .* of the deal: a table of whole numbers, 2 deep"),
        (1, ("deal", "tiles"), [[5] * 5] * 5, "tiles of the colours 5 to 5; chips are of colours 0 to 4"),
        (1, ("deal", "goals"), [0, 12], r"goals \[0, 12\]: a goal is a number from 0 to 11"),
        (1, ("deal", "goals"), [4, 4], "both players have goal 4: the players' goals differ"),
        (1, ("deal", "chips"), [[0, 0, 3, 1, 0], [1, 1, 0, 1, 1]], "hold 3 chips of colour 2 .*, which 1 tiles beside"),
        (1, ("deal", "cost"), -1, "cost=-1: a finite number of at least 0"),
        (1, ("deal", "cost"), "0.1", "cost='0.1'"),
        (1, ("deal", "limit"), 1.5, "limit=1.5: a whole number"),
        (1, ("deal", "limit"), True, "limit=True: a whole number"),
        (1, ("deal", "scoring"), {"goal": "50"}, "goal='50': a finite number"),
        (1, ("deal", "scoring"), ["goal"], "scoring of the deal are not such"),
        (1, ("deal", "layout"), {"goal_distance": 2.5}, "goal_distance=2.5: a whole number"),
        (1, ("deal", "condition"), {"deception": ["on"]}, r"condition deception=\['on'\]: a text, a number"),
        (1, ("deal", "limit"), 0, "limit=0"),
        (1, ("deal", "layout"), {"start": [9, 9]}, "start"),
        (1, ("deal", "layout"), {"size": 3}, "cost, limit, layout or scoring of the deal are not such"),
        (1, ("deal", "condition"), "dec", "condition 'dec'"),
        (1, ("agents",), {"speaker": "a", "initiator": "b"}, "the roles are speaker, initiator"),
        (2, ("turn",), 1, "the initiator of game 'a1' makes move 1, but the next one is 0"),
        (3, ("role",), "initiator", "is 'human-1', not 'gpt-oss-120b'"),
        (2, ("action",), "9-0-0-0-0", "line 3: the initiator of game 'a1', move 0: 9-0-0-0-0 asks for chips"),
        (2, ("action",), "2-0-0-2-0", r"makes move 1 after the game's end \(withdrawn\)"),
        (2, ("observation",), {"goal": 1}, "is recorded as knowing goal"),
        (2, ("probabilities",), {"1-1": 1.0}, "'1-1' is no offer"),
    ],
)
def test_what_cannot_be_is_told_with_its_line(tampered, line, names, value, told):
    with pytest.raises(journal.JournalError, match=told):
        read_games([tampered(line, *names, value=value)])


def test_a_move_of_the_other_player_is_told(tmp_path, write_log):
    path = write_log(tmp_path / "log.jsonl", [("a", ("x", "x"), ["2-1-0-1-0", "1-1-0-2-0"], {"limit": 2})])
    lines = path.read_text(encoding="utf-8").replace('"turn":1,"role":"responder"', '"turn":1,"role":"initiator"')
    path.write_text(lines, encoding="utf-8")
    with pytest.raises(journal.JournalError, match="makes move 1, which is the responder's"):
        read_games([path])


def test_games_are_given_once_and_under_the_same_rules(log, tampered, tmp_path):
    with pytest.raises(journal.JournalError, match=r"game 'a1' is in .* too; give every game once"):
        read_games([log, tampered(0, "time", value="later")])
    with pytest.raises(journal.JournalError, match=r"games of different cost \(.*0\.[15].*; compare them apart"):
        read_games([tampered(1, "deal", "cost", value=0.5)])
    with pytest.raises(journal.JournalError, match="no move was made"):
        empty = tmp_path / "empty.jsonl"
        empty.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:2]))
        read_games([empty])


def test_a_deal_of_another_size_is_written_and_read_again():
    rules, board = board_of(OWN)
    assert rules.layout == Layout(2, 2, 2, 1, (0, 0), ((1, 1), (0, 1))) and rules.scoring == Scoring(9.0, 1.0, 2.0)
    assert deal_json(rules, board) == OWN
    plain = {
        "tiles": [[0, 1, 3, 3, 4]] * 5,
        "chips": [list(own) for own in CHIPS],
        "goals": [1, 2],
        "cost": 0.1,
        "limit": 40,
    }
    assert deal_json(*board_of(plain)) == plain


@pytest.mark.parametrize("name", ["tiles", "chips", "goals", "cost", "limit"])
def test_what_a_deal_does_not_say_is_told(name):
    with pytest.raises(ValueError, match=f"the deal does not say its {name}"):
        board_of({key: value for key, value in OWN.items() if key != name})
