"""Guesses before the dash: read as the grammar says, scored in each reading, set beside posteriors."""

import numpy as np
import pytest

from otherminds.games.colored_trails.board import Layout
from otherminds.tom.experiments.colored_trails.annotations import annotate, cell_of, parse
from otherminds.tom.experiments.colored_trails.explain import Shadow
from otherminds.tom.experiments.colored_trails.records import PEOPLE, read_games

LAYOUT = Layout()
CORNERS = ["TLTL", "TLTR", "TRTL", "TRTR", "TLBL", "TRBR", "BLTL", "BRTR", "BLBL", "BLBR", "BRBL", "BRBR"]
SQUARES = ["A5", "B5", "D5", "E5", "A4", "E4", "A2", "E2", "A1", "B1", "D1", "E1"]


@pytest.mark.parametrize("names", [CORNERS, SQUARES, [name.lower() for name in SQUARES]])
def test_every_goal_has_a_name_in_both_ways(names):
    assert [cell_of(name, LAYOUT) for name in names] == list(LAYOUT.goals)


def test_other_squares_and_what_is_none():
    assert cell_of("C3", LAYOUT) == (2, 2) and cell_of("TLBR", LAYOUT) == (1, 1)
    assert [cell_of(token, LAYOUT) for token in ("F1", "A6", "A0", "?", "or", "TL", "")] == [None] * 7
    assert cell_of("F1", Layout(rows=6, columns=6)) == (5, 5)


@pytest.mark.parametrize(
    ("text", "cells", "asked", "unknown"),
    [
        ("E5 - it needs white", {(0, 4)}, False, ()),
        ("a5 / b5 - one of these", {(0, 0), (0, 1)}, False, ()),
        ("a5/b5, e5 - one of these", {(0, 0), (0, 1), (0, 4)}, False, ()),
        ("? - nothing yet - really", set(), True, ()),
        ("- nothing", set(), False, ()),
        ("e5 or d5 - well", {(0, 4), (0, 3)}, False, ("or",)),
        ("I know nothing yet - taking a chip", set(), False, ("I", "know", "nothing", "yet")),
    ],
)
def test_what_stands_before_the_dash(text, cells, asked, unknown):
    assert parse(text, LAYOUT) == (frozenset(cells), asked, unknown)


@pytest.mark.parametrize("text", ["no dash", "a trade-off", "", "minus -1"])
def test_without_a_dash_nothing_is_guessed(text):
    assert parse(text, LAYOUT) is None


@pytest.fixture(scope="module")
def found(log):
    """Game a1: E5, the other's goal (index 3), at the first move. a2: "?" first, then E5 or A5."""
    games = read_games([log])[0]
    p = np.full((*games.kept.shape, 12), 0.5 / 11)
    p[0, 0, 3] = 0.5
    p[1, 2, 0], p[1, 2, 3] = 0.5, 0.5 / 11
    shadow = Shadow(np.zeros((*games.kept.shape, 1), np.float32), np.log(p).astype(np.float32))
    return annotate(games, {"a mind": shadow})


def test_what_was_written_is_counted(found):
    # The initiators are people: moves 0 of five games and moves 2 of two.
    assert (found.moves, found.thoughts, found.separated, found.guesses, found.asked) == (7, 4, 3, 2, 1)
    assert found.unknown == {} and found.no_goals == 0


def test_guesses_are_scored(found):
    rows = {(row.agent, row.reading): row for row in found.scores}
    assert set(rows) == {(agent, reading) for agent in (PEOPLE, "human-1") for reading in ("last", "first", "any")}
    last = rows[PEOPLE, "last"]
    assert (last.games, last.guessed, last.contained, last.size) == (5, 2, 2, 1.5)
    assert last.score == pytest.approx((1 + 1 / 2) / 2) and last.chance == pytest.approx(1 / 12)
    assert np.isnan(rows["human-1", "any"].chance) and rows["human-1", "any"].score == pytest.approx(0.75)


def test_guesses_are_set_beside_the_posterior(found):
    row = next(row for row in found.posteriors if (row.agent, row.reading) == (PEOPLE, "first"))
    rest = 0.5 / 11
    assert (row.mind, row.guessed, row.right) == ("a mind", 2, 0.5)
    assert row.of_goal == pytest.approx((0.5 + rest) / 2)
    assert row.of_guess == row.best == pytest.approx((0.5 + (0.5 + rest) / 2) / 2)


def test_first_last_and_any_differ(tmp_path, write_log):
    thoughts = ["a1 - maybe", None, "e5 - surely", None, "d5 c3 - no"]
    moves = ["2-1-0-1-0", "1-1-0-2-1", "2-0-0-2-1", "0-1-0-3-1", "2-1-0-2-1"]
    path = write_log(tmp_path / "log.jsonl", [("a", ("human", "x"), moves, {"thoughts": thoughts, "over": False})])
    scores = {row.reading: row for row in annotate(read_games([path])[0], {}).scores}
    assert [scores[reading].contained for reading in ("first", "last", "any")] == [0, 0, 1]
    assert scores["last"].size == 2 and scores["any"].score == 1


def test_without_thoughts_there_is_nothing(tmp_path, write_log):
    path = write_log(tmp_path / "log.jsonl", [("a", ("human", "x"), ["2-0-0-2-0"], {})])
    assert annotate(read_games([path])[0], {}) is None
