"""Logs of observers: what a line may hold, and statements as arrays."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from otherminds.games.rps.catalogue import CODES
from otherminds.games.rps.observation import Asking
from otherminds.games.rps.statement import Stated, statement
from otherminds.tom import cli
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.rps.observers.records import (
    deal_json,
    moves_of,
    observation_json,
    read_log,
    read_watched,
)
from otherminds.tom.experiments.validate import validate_log

ASKING = Asking(12, 2, 4, 5)
MOVES = np.random.default_rng(0).integers(-1, 3, (2, 12)).astype(np.int32)
SURE = statement(
    Stated(np.eye(19)[[3, 6]], np.array([[0.5, 0.5, 0], [0, 0, 1]]), np.array([0.2, 0.3, 0.5]), np.array(0.9))
)
BEGUN = journal.RunBegun(game="rps-observer", config={}, vocabulary="v", versions={}, time="2026-01-01")
NAMES = {"observer": "somebody"}


def game(match=0, asking=ASKING, players=("D", "G"), **options):
    deal = deal_json(players, MOVES, "".join(CODES), asking, **options)
    return journal.GameBegun(game_id=f"game {match}", agents=NAMES, seed=0, episode=match, deal=deal)


def answer(turn, action=("D", "G"), match=0, said=SURE, asking=ASKING):
    after = (*asking.asked, 99, 99)[turn]
    return journal.Decision(
        game_id=f"game {match}",
        turn=turn,
        role="observer",
        agent="somebody",
        observation=observation_json(after, asking.first(after)),
        action=None if action is None else list(action),
        statement=None if action is None else said,
    )


def over(match=0, turns=3, ending="complete", failed=0):
    return journal.GameOver(game_id=f"game {match}", ending=ending, turns=turns, failed_answers=failed)


def log_of(path, *lines, whole=True):
    games = sum(isinstance(line, journal.GameOver) for line in lines)
    journal.write_whole(path, [BEGUN, *lines, *([journal.RunOver(games=games, time="")] if whole else [])])
    return path


def test_statements_come_back_as_arrays(tmp_path):
    path = log_of(tmp_path / "log", game(), answer(0), answer(1, None), answer(2, ("A", "Z")), over(failed=1))
    assert "1 of 1 games over, 3 decisions, 1 failed answers; complete" in validate_log(path)
    (one,), (begun,) = read_watched([path])
    assert begun == BEGUN and one.scene.truth == (3, 6) and one.scene.name == "D v G"
    np.testing.assert_array_equal(one.moves[0], MOVES)
    assert one.guess.tolist() == [[[3, 6], [-1, -1], [0, 18]]] and one.failed.tolist() == [[False, True, False]]
    assert one.stated.strategy[0, 0, 0, 3] == 1 and not one.stated.strategy[0, 1].any()
    assert one.confidence.tolist() == [[0.9, 0, 0.9]] and one.asked.all()


def test_after_the_asking_stopped_the_last_statement_stands(tmp_path):
    asking = Asking(12, 2, 2, 5, stop_after=2)
    path = log_of(
        tmp_path / "log",
        game(asking=asking),
        answer(0, asking=asking),
        answer(1, asking=asking),
        over(turns=2, ending="stopped"),
    )
    assert "valid" in validate_log(path)
    (one,), _ = read_watched([path])
    assert one.guess.tolist() == [[[3, 6]] * 5] and one.asked.tolist() == [[True, True, False, False, False]]


def test_unfinished_matches_are_left_out(tmp_path):
    lines = game(), answer(0), answer(1), answer(2), over(), game(1), answer(0, match=1)
    (one,), _ = read_watched([log_of(tmp_path / "log", *lines, whole=False)])
    assert one.matches == [(0, 0)] and one.unfinished == 1
    with pytest.raises(journal.JournalError, match="no observer finished a match"):
        read_watched([log_of(tmp_path / "other", game(), answer(0), whole=False)])


def test_players_of_no_strategy_have_no_truth(tmp_path):
    lines = game(players=("order:1", "G:tremble=0.1")), answer(0), answer(1), answer(2), over()
    (one,), _ = read_watched([log_of(tmp_path / "log", *lines)])
    assert one.scene.truth == (-1, 6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"moves1": "01x" + "0" * 9}, "moves1, round 3: 'x' is no move; there are 0, 1, 2 and -"),
        ({"moves2": "0" * 11 + "3"}, "moves2, round 12: '3' is no move"),
        ({"moves2": "01"}, "player 1 made 12 moves and player 2 2"),
        ({"moves1": ""}, "moves1 is ''"),
        ({"moves1": [0, 1]}, "moves1 is "),
        ({"labels": "ABC"}, "labels 'ABC' are not the 19 labels"),
        ({"labels": "A" * 19}, "are not the 19 labels"),
        ({"asking": {"every": 0}}, "every=0"),
        ({"asking": {"often": 1}}, "does not say when the observer is asked"),
        ({"asking": None}, "does not say when"),
        ({"player1": None}, "player1 is None"),
        ({"player2": "Q"}, "'Q' is no player"),
        ({"legacy_iid": "no"}, "legacy_iid is 'no'"),
    ],
)
def test_deals_that_cannot_be(tmp_path, change, message):
    line = game()
    line = line.model_copy(update={"deal": line.deal | change})
    path = log_of(tmp_path / "log", line, whole=False)
    with pytest.raises(journal.JournalError, match=f"line 2: game 'game 0': .*{message}"):
        read_log(path)


def changed(part, name, value):
    return SURE | {part: SURE[part] | {name: value}}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (answer(1), "decides in turn 1, which is not asked then"),
        (answer(0, ("D", "Q")), "names 'Q', which is no strategy; there are A, B"),
        (answer(0, ("D",)), "which is no pair"),
        (answer(0).model_copy(update={"observation": {"round": 3, "from": 1}}), "saw .*after round 4 it is"),
        (
            answer(0, said=changed("strategy1", "A", 0.5)),
            "states strategy1 with probabilities that are none.*1.5 in sum",
        ),
        (answer(0, said=changed("next2", "rock", -1.0)), "states next2 with probabilities that are none"),
        (answer(0, said=changed("outcome", "tie", 0.0)), "states outcome of win, draw, loss, tie"),
        (answer(0, said=None), "states nothing"),
        (answer(0, None).model_copy(update={"statement": SURE}), "states probabilities, but its answer failed"),
    ],
)
def test_answers_that_cannot_be(tmp_path, line, message):
    path = log_of(tmp_path / "log", game(), line, whole=False)
    with pytest.raises(journal.JournalError, match=f"line 3: the observer of game 'game 0' .*{message}"):
        read_log(path)
    result = CliRunner().invoke(cli.main, ["validate", str(path)])
    assert result.exit_code == 2 and result.stderr.count("\n") == 1


def test_games_that_do_not_end_so(tmp_path):
    three = answer(0), answer(1), answer(2)
    for name, lines, message in (
        ("more", (game(), *three, answer(3)), "turn 3, which is not asked"),
        (
            "early",
            (game(), answer(0), over(turns=1)),
            "recorded with ending 'complete', but its decisions give 'watching'",
        ),
        ("turns", (game(), *three, over(turns=2)), "turns 2, but its decisions give 3"),
        ("failed", (game(), *three, over(failed=1)), "failed_answers 1"),
        ("ending", (game(), *three, over(ending="lost")), "ending 'lost' does not exist"),
    ):
        with pytest.raises(journal.JournalError, match=message):
            validate_log(log_of(tmp_path / name, *lines, whole=False))


def test_a_log_cut_in_a_line_is_read_up_to_it(tmp_path):
    path = log_of(tmp_path / "log", game(), answer(0), answer(1), answer(2), over())
    path.write_bytes(path.read_bytes()[:-20])
    assert "not finished; the same command goes on with it" in validate_log(path)
    assert len(read_watched([path])[0]) == 1


def test_moves_and_their_text():
    deal = json.loads(json.dumps(deal_json(("D", "G"), MOVES, "".join(CODES), ASKING)))
    np.testing.assert_array_equal(moves_of(deal), MOVES)
    assert "-" in deal["moves1"] + deal["moves2"]
