"""Matches by name: the same whatever the batch, drawn as the rules say, and wrong calls told at once."""

import numpy as np
import pytest

from otherminds.games.rps.catalogue import REACTIVE
from otherminds.tom.experiments.rps.matches import play as matches
from otherminds.tom.experiments.rps.matches.play import play_matches

PAIRS = [
    ("N", "X"),
    ("X", "frequency"),
    pytest.param(("order:1", "switching"), marks=pytest.mark.slow),
]


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_a_match_depends_on_its_index_alone(pair, monkeypatch):
    done = []
    moves = play_matches(*pair, 8, 20, seed=3, on_match=done.append)
    assert moves.shape == (8, 2, 20) and moves.dtype == np.int8 and set(np.unique(moves)) <= {0, 1, 2}
    monkeypatch.setattr(matches, "MOVES_AT_ONCE", 20 * 3)
    np.testing.assert_array_equal(play_matches(*pair, 7, 20, seed=3, on_match=done.append), moves[:7])
    assert done == [8, 3, 3, 1]
    assert len(np.unique(moves.reshape(8, -1), axis=0)) > 3
    assert (play_matches(*pair, 3, 20, seed=4) != moves[:3]).any()


def test_rules_play_their_rule():
    moves = play_matches("D", "Z", 8, 20, seed=0)
    np.testing.assert_array_equal(moves[:, 1, 1:], (moves[:, 0, :-1] + REACTIVE["Z"]) % 3)


def test_a_mind_plays_a_rule_as_the_table_does():
    """X beside a learner goes another way through the code; it is X all the same."""
    moves = play_matches("X", "frequency", 8, 20, seed=1)
    np.testing.assert_array_equal(moves[:, 0, 1:], (moves[:, 1, :-1] + 1) % 3)


def test_legacy_data_do_not_react():
    moves = play_matches("D", "X", 256, 20, seed=5, legacy_iid=True)
    follows = (moves[:, 1, 1:] == (moves[:, 0, :-1] + 1) % 3).mean()
    assert abs(follows - 1 / 3) < 4.5 * np.sqrt(2 / 9 / moves[:, 1, 1:].size)


@pytest.mark.parametrize(
    ("pair", "count", "options", "told"),
    [
        (("N", "Q"), (1, 1), {}, "'Q' is no player"),
        (("N", "G"), (0, 5), {}, "matches=0: at least 1"),
        (("N", "G"), (5, 0), {}, "rounds=0: at least 1"),
        (("N", "frequency"), (1, 5), {"legacy_iid": True}, "legacy_iid: 'frequency' is no strategy of the catalogue"),
        (("N", "switching"), (1, 5), {"legacy_iid": True}, "legacy_iid: 'switching' is no strategy of the catalogue"),
    ],
)
def test_wrong_calls_are_told(pair, count, options, told):
    with pytest.raises(ValueError) as error:
        play_matches(*pair, *count, seed=0, **options)
    assert told in str(error.value)
