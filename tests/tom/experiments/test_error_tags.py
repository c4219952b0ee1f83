"""Error tags, against decisions tagged by hand."""

import numpy as np
import pytest

from otherminds.games.decrypto.rules import CODES, Role, code_index
from otherminds.tom.agents.words import Words
from otherminds.tom.experiments.compare import heard_lexicon
from otherminds.tom.experiments.error_tags import (
    DEFINITIONS,
    HINTS_IN_KEYWORD_ORDER,
    KEYWORD_HINT,
    KEYWORD_ORDER_GUESS,
    NO_ANSWER,
    REPEATED_HINT,
    SAME_GUESS,
    TAGS_OF,
    USED_CODE,
    error_tags,
    guess_tags,
    hint_tags,
    in_keyword_order,
    tag_counts,
)
from otherminds.tom.experiments.records import GameArrays, Games

KEYWORDS = ["river", "king", "doctor", "ox"]


@pytest.mark.parametrize(
    "hints, earlier, tags",
    [
        (None, [], (NO_ANSWER,)),
        (["sea", "crown", "pill"], [], ()),
        (["sea", "crown", "pill"], ["Crown "], (REPEATED_HINT,)),
        (["sea", "crown", "sea"], [], (REPEATED_HINT,)),
        (["sea side", "crown", "pill"], ["sea"], ()),
        (["king", "crown", "pill"], [], (KEYWORD_HINT,)),
        (["riverbank", "crown", "pill"], [], (KEYWORD_HINT,)),
        (["strong oxes", "crown", "pill"], [], (KEYWORD_HINT,)),
        (["foxes", "crown", "pill"], [], ()),
        (["kings", "crown", "crown"], ["pill"], (REPEATED_HINT, KEYWORD_HINT)),
    ],
)
def test_hints(hints, earlier, tags):
    assert hint_tags(hints, "3-1-2", KEYWORDS, earlier, None) == tags


def similarity(code):
    """Hints that fit the keywords of this code."""
    table = np.full((3, 4), 0.1)
    table[np.arange(3), CODES[code_index(code)]] = 0.9
    return table


@pytest.mark.parametrize(
    "code, fits, expected",
    [
        ("3-1-2", (1, 2, 3), True),  # hints for 1, 2, 3 in this order, though the code is 3-1-2
        ("3-1-2", (3, 1, 2), False),  # as it should be
        ("3-1-2", (2, 1, 3), False),  # wrong, and not in keyword order
        ("3-1-2", (1, 2, 4), False),  # in order, but about another keyword
        ("1-2-3", (1, 2, 3), False),  # the code itself is in order
        ("4-2-1", (1, 2, 4), True),
    ],
)
def test_hints_in_keyword_order(code, fits, expected):
    assert in_keyword_order(similarity(fits), code) == expected
    tags = hint_tags(["sea", "crown", "pill"], code, KEYWORDS, [], similarity(fits))
    assert tags == ((HINTS_IN_KEYWORD_ORDER,) if expected else ())


@pytest.mark.parametrize(
    "guess, code, shown, before, tags",
    [
        (None, "3-1-2", [], None, (NO_ANSWER,)),
        (None, "3-1-2", [], "1-2-3", (NO_ANSWER,)),
        ("3-1-2", "3-1-2", [], None, ()),
        ("1-2-3", "3-1-2", [], None, (KEYWORD_ORDER_GUESS,)),
        ("1-2-3", "1-2-3", [], None, ()),
        ("4-1-2", "3-1-2", ["4-1-2", "2-1-4"], "2-1-4", (USED_CODE,)),
        ("4-1-2", "3-1-2", ["2-1-4"], "4-1-2", (SAME_GUESS,)),
        ("1-2-3", "3-1-2", ["1-2-3"], "1-2-3", (KEYWORD_ORDER_GUESS, USED_CODE, SAME_GUESS)),
    ],
)
def test_guesses(guess, code, shown, before, tags):
    assert guess_tags(guess, code, shown, before) == tags


def test_a_turn_without_an_answer_ends_a_row_of_the_same_guesses(small_vocabulary):
    """ "The turn before" is the turn before, also where that failed."""
    words = Words(small_vocabulary, 9)
    said = [words.rows(tuple(small_vocabulary.words[n : n + 3])) for n in (20, 23, 26, 29)]
    arrays = GameArrays(
        keywords=np.array([[0, 1, 2, 3]], np.int32),
        codes=np.array([[code_index(code) for code in ((3, 1, 2), (1, 2, 4), (2, 1, 3), (4, 3, 1))]], np.int32),
        hints=np.array([said], np.int32),
        decoder_guesses=np.array([[code_index((4, 1, 2)), -1] + [code_index((4, 1, 2))] * 2], np.int32),
        interceptor_guesses=np.array([[code_index((4, 2, 3))] * 2 + [-1, -1]], np.int32),
        turns=np.array([4], np.int32),
    )
    games = Games(
        ["g"],
        [("x/e", "x/d", "x/i")],
        [0],
        ["miscommunication"],
        arrays,
        words,
        set(),
        [],
        np.zeros(arrays.codes.shape, bool),
        [None],
        np.zeros((1, 3), bool),
    )
    tags = error_tags(games, small_vocabulary, heard_lexicon(small_vocabulary, games))
    assert [tags[0, turn, Role.DECODER] for turn in range(4)] == [(), (NO_ANSWER,), (), (SAME_GUESS,)]
    assert [tags[0, turn, Role.INTERCEPTOR] for turn in range(4)] == [(), (SAME_GUESS,), (NO_ANSWER,), (NO_ANSWER,)]


def test_every_tag_is_defined_and_belongs_to_a_role():
    assert {tag for tags in TAGS_OF.values() for tag in tags} == set(DEFINITIONS)


@pytest.fixture(scope="module")
def played(small_vocabulary):
    """Three turns: hints, the same hints again, no hints."""
    words = Words(small_vocabulary, 3)
    said = words.rows(tuple(small_vocabulary.words[20:23]))
    codes = [[code_index(code) for code in ((3, 1, 2), (1, 2, 4), (2, 1, 3))]]
    guesses = [[code_index(code) for code in ((3, 1, 2), (3, 1, 2), (3, 1, 2))]]
    arrays = GameArrays(
        keywords=np.array([[0, 1, 2, 3]], np.int32),
        codes=np.array(codes, np.int32),
        hints=np.array([[said, said, [-1] * 3]], np.int32),
        decoder_guesses=np.array(guesses, np.int32),
        interceptor_guesses=np.array([[code_index((1, 2, 3)), -1, -1]], np.int32),
        turns=np.array([3], np.int32),
    )
    return Games(
        ["g"],
        [("x/e", "x/d", "x/i")],
        [0],
        ["miscommunication"],
        arrays,
        words,
        set(),
        [],
        np.zeros(arrays.codes.shape, bool),
        [None],
        np.zeros((1, 3), bool),
    )


def test_the_tags_of_a_game_and_their_counts(played, small_vocabulary):
    lexicon = heard_lexicon(small_vocabulary, played)
    tags = error_tags(played, small_vocabulary, lexicon)
    assert tags[0, 0, Role.DECODER] == () and tags[0, 1, Role.DECODER] == (USED_CODE, SAME_GUESS)
    assert tags[0, 0, Role.INTERCEPTOR] == (KEYWORD_ORDER_GUESS,) and tags[0, 1, Role.INTERCEPTOR] == (NO_ANSWER,)
    assert REPEATED_HINT not in tags[0, 0, Role.ENCODER] and REPEATED_HINT in tags[0, 1, Role.ENCODER]
    assert tags[0, 2, Role.ENCODER] == (NO_ANSWER,)
    assert tags[0, 2, Role.DECODER] == tags[0, 2, Role.INTERCEPTOR] == ()  # there was nothing to guess from
    rows = np.asarray(played.arrays.hints[0, 0])
    fits = np.asarray(lexicon.similarity)[rows][:, :4]
    for turn, code in ((0, "3-1-2"), (1, "1-2-4")):
        assert (HINTS_IN_KEYWORD_ORDER in tags[0, turn, Role.ENCODER]) == in_keyword_order(fits, code)
    counts = {(row.role, row.agent): row for row in tag_counts(played, tags)}
    assert counts["encoder", "x/e"].decisions == 3 and counts["encoder", "x/e"].counts[REPEATED_HINT] == 1
    assert counts["decoder", "x/d"].decisions == 2 and counts["decoder", "x/d"].counts[USED_CODE] == 1
    assert counts["interceptor", "x/i"].counts == {
        NO_ANSWER: 1, KEYWORD_ORDER_GUESS: 1, USED_CODE: 0, SAME_GUESS: 0,
    }  # fmt: skip
