"""OpenSpiel's bots in their own process: the recorded matches again, other players, and how failures are told."""

import json
import os
import signal

import numpy as np
import pytest

from otherminds.tom.agents import openspiel
from otherminds.tom.agents.openspiel import BotCrash, Bots
from otherminds.tom.experiments.rps.matches.play import play_matches

LETTERS = np.array(list("RPS"))


@pytest.fixture(scope="module")
def bots():
    pytest.importorskip("pyspiel")
    with Bots() as running:
        yield running


def test_43_bots_play_as_recorded(bots, shared):
    golden = json.loads((shared / "golden/rps/openspiel_43_vs_randbot_seed1_200.json").read_text())
    assert sorted(bots.names()) == sorted(golden) and len(golden) == 43
    for name, recorded in golden.items():
        moves = np.array(bots.match((name, "randbot"), 200, 1))
        assert ["".join(LETTERS[own[:40]]) for own in moves] == [recorded["p0"], recorded["p1"]], name
        gap = (moves[0] - moves[1]) % 3
        assert (gap == 1).sum() - (gap == 2).sum() == recorded["ret"], name


def test_a_match_depends_on_its_seed_alone(bots):
    first = [
        bots.match(pair, 60, seed) for pair in (("iocainebot", "greenberg"), ("boom", "peterbot")) for seed in (5, 6)
    ]
    again = [
        bots.match(pair, 60, seed) for pair in (("boom", "peterbot"), ("iocainebot", "greenberg")) for seed in (5, 6)
    ]
    assert first[:2] == again[2:] and first[2:] == again[:2] and first[0] != first[1]


def test_bots_meet_rules_and_minds():
    pytest.importorskip("pyspiel")
    moves = play_matches("openspiel/copybot", "N", 3, 30, seed=4)
    assert moves.shape == (3, 2, 30) and moves.dtype == np.int8
    np.testing.assert_array_equal(moves[:, 0, 1:], (moves[:, 1, :-1] + 1) % 3)  # it beats the last move
    np.testing.assert_array_equal(play_matches("openspiel/copybot", "N", 1, 30, seed=4), moves[:1])
    assert (moves[0] != moves[1]).any()
    learner = play_matches("best-response", "openspiel/copybot", 1, 30, seed=4)[0]
    assert ((learner[0, 10:] - learner[1, 10:]) % 3 == 1).all()  # which is X of the catalogue


def test_two_bots(bots):
    done = []
    moves = play_matches("openspiel/rotatebot", "openspiel/rockbot", 2, 12, seed=0, on_match=done.append)
    assert done == [1, 1] and (moves[:, 1] == 0).all() and len(np.unique(moves[:, 0])) == 3


@pytest.mark.parametrize(
    ("pair", "rounds", "told"),
    [
        (("openspiel/nobody", "N"), 10, "'openspiel/nobody' is no bot of OpenSpiel; there are actr_lag2_decay, "),
        (("openspiel/greenberg", "N"), 1001, "rounds=1001: OpenSpiel's bots are made for matches of at most 1000"),
        (("openspiel/boom", "Q"), 10, "'Q' is no player"),
    ],
)
def test_wrong_calls_are_told(pair, rounds, told):
    pytest.importorskip("pyspiel")
    with pytest.raises(ValueError) as error:
        play_matches(*pair, 1, rounds, seed=0)
    assert told in str(error.value)


def test_bots_know_no_legacy_data():
    with pytest.raises(ValueError, match="legacy_iid"):
        play_matches("openspiel/boom", "N", 1, 10, seed=0, legacy_iid=True)


def test_a_crash_is_told_in_one_line():
    pytest.importorskip("pyspiel")
    with Bots() as running:
        running.begin(("boom", None), 10, 1)
        os.kill(running._process.pid, signal.SIGKILL)
        with pytest.raises(BotCrash, match=r"^openspiel/boom: the process .* ended by itself \(signal 9\)$"):
            running.go_on([0, 1])


def test_without_openspiel_it_is_said_how_to_install_it(monkeypatch):
    monkeypatch.setattr(openspiel.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        ValueError, match=r"openspiel/boom needs; add it with `uv sync --extra openspiel` or `pip install"
    ):
        play_matches("N", "openspiel/boom", 1, 10, seed=0)
