"""Other people's matches: read as they are, told where they are wrong, written and read again unchanged."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from otherminds.games.protocol import NO_ANSWER
from otherminds.tom import cli
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.reference.recordings import RecordingError
from otherminds.tom.experiments.rps.matches.recordings import (
    HUMAN,
    import_brockbank,
    import_csv,
    read_brockbank,
    read_csv,
    write_matches,
)
from otherminds.tom.experiments.rps.matches.records import read_matches
from otherminds.tom.experiments.validate import validate_log
from otherminds.tom.minds.rps.registry import BOTS

HEAD = "match,round,move1,move2,player1,player2"
ROWS = ["a,1,rock,P,ann,X", "b,0,0,2,ann,bob", "a,2,none,s,ann,X", "b,1,R,,ann,bob", "a,3,scissors,NA,ann,X"]


@pytest.fixture
def table(tmp_path):
    def write(*rows, head=HEAD):
        path = tmp_path / "matches.csv"
        path.write_text("\n".join([head, *(rows or ROWS)]) + "\n", encoding="utf-8")
        return path

    return write


def call(*arguments):
    return CliRunner().invoke(cli.main, [str(argument) for argument in arguments])


def test_a_table_becomes_a_log_and_is_read_again(table, tmp_path):
    log = tmp_path / "out" / "log.jsonl"
    written = []
    done = import_csv(table(), log=log, on_decision=lambda: written.append(1))
    assert (done.matches, done.rounds, done.decisions, done.failed) == (2, 5, 10, 3) and len(written) == 10
    assert done.players == {"ann": 2, "X": 1, "bob": 1}
    matches, begun = read_matches([log])
    assert matches.ids == ("a", "b") and matches.agents == (("ann", "X"), ("ann", "bob"))
    np.testing.assert_array_equal(
        matches.moves, [[[0, NO_ANSWER, 2], [1, 2, NO_ANSWER]], [[0, 0, NO_ANSWER], [2, NO_ANSWER, NO_ANSWER]]]
    )
    np.testing.assert_array_equal(matches.valid, [[True] * 3, [True, True, False]])
    assert begun[0].config["files"].keys() == {"matches.csv"}
    assert "2 of 2 games over, 10 decisions, 3 failed answers; complete" in validate_log(log)
    failed = [line for line in journal.read(log) if line.event == "decision" and line.action is None]
    assert [line.attempts[0].text for line in failed] == ["none", "NA", None]
    with pytest.raises(journal.JournalError, match="there is a log already"):
        import_csv(table(), log=log)
    with pytest.raises(journal.JournalError, match=r"game 'a' is in .* too"):
        read_matches([log, log])


def test_players_without_names(table):
    match, *_ = read_csv(table("a,1,0,1", "a,2,1,2", head="match,round,move1,move2"))
    assert match.players == ("player1", "player2")


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("a,4,stone,0,ann,X", "line 7, move1: 'stone' is no move; write 0, 1, 2, or r, p, s, or rock"),
        ("a,4,0,3,ann,X", "line 7, move2: '3' is no move"),
        ("a,3,0,0,ann,X", "line 7: round 3 of match 'a' is there twice, first in line 6"),
        ("a,5,0,0,ann,X", "line 7: round 5 of match 'a', but there is no round 4"),
        ("a,x,0,0,ann,X", "line 7: round 'x' is no whole number"),
        (",1,0,0,ann,X", "line 7: match is empty"),
        ("a,4,0,0,ann,Y", "line 7: match 'a' is between ann and Y here, but began between ann and X"),
        ("a,4,0", "line 7: not as many cells as there are columns"),
    ],
)
def test_a_wrong_table_is_told_and_nothing_is_written(table, tmp_path, row, told):
    result = call("import", "rps", "--matches", table(*ROWS, row), "--out", tmp_path / "out")
    assert result.exit_code == 2 and told in result.stderr and not (tmp_path / "out").exists()


def test_a_table_without_a_column(table):
    with pytest.raises(RecordingError, match="no column 'move2'; the columns are 'match', 'round', 'move1'"):
        read_csv(table("a,1,0", head="match,round,move1"))


def test_commands_say_what_they_did(table, tmp_path):
    result = call("import", "rps", "--matches", table(), "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "2 matches, 5 rounds, 3 missing moves",
        "  ann: 2 matches",
        "  X: 1 match",
        "  bob: 1 match",
        f"wrote {tmp_path / 'out' / 'log.jsonl'}",
    ]
    result = call("import", "rps", "--matches", table(), "--out", tmp_path / "json", "--json")
    assert json.loads(result.stdout)["failed"] == 3


@pytest.mark.parametrize(
    ("number", "change", "told"),
    [
        (1, {"agents": {"player1": "ann"}}, "line 2: game 'a': the roles are player1, not player1, player2"),
        (1, {"deal": {"rounds": 0}}, "line 2: game 'a': rounds 0; a match has a whole number"),
        (1, {"deal": {"rounds": 2}}, "decides in turn 2, which is not played yet"),
        (2, {"action": "stone"}, "line 3: the player1 of game 'a' plays 'stone', which is no move"),
        (2, {"turn": 1}, "line 3: the player1 of game 'a' decides in turn 1, which is not played yet"),
        (3, {"observation": {"move": "rock"}}, "line 4: the player2 of game 'a' is recorded as knowing move"),
        (3, {"probabilities": {"stone": 1.0}}, "line 4: the player2 of game 'a' states probabilities of what are no"),
        (8, {"turns": 2}, "game 'a' is recorded with turns 2, but its decisions give 3"),
        (8, {"failed_answers": 1}, "game 'a' is recorded with failed_answers 1, but its decisions give 2"),
        (8, {"ending": "lost"}, "line 9: game 'a': ending 'lost' does not exist"),
    ],
)
def test_a_false_log_is_told(table, tmp_path, number, change, told):
    log = tmp_path / "log.jsonl"
    import_csv(table(), log=log)
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    lines[number].update(change)
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(journal.JournalError) as error:
        validate_log(log)
    assert told in str(error.value)


def test_a_log_cut_short_counts_as_far_as_it_goes(table, tmp_path):
    log = tmp_path / "log.jsonl"
    import_csv(table(), log=log)
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:7]))  # two rounds, and one move of the third
    matches, _ = read_matches([log])
    assert matches.ids == ("a",) and matches.moves.shape == (1, 2, 2)
    assert "cut short" in validate_log(log)
    log.write_bytes(b"".join(lines[:2]))
    with pytest.raises(journal.JournalError, match="no round was played"):
        read_matches([log])


# --- .RData ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def frame(tmp_path):
    """An .RData file as those of Brockbank & Vul, of two games over two rounds."""

    def write(**changes):
        import pandas as pd
        import rdata

        columns = {
            "game_id": ["g7"] * 4 + ["g2"] * 4,
            "round_index": [1.0, 1.0, 2.0, 2.0] * 2,
            "player_id": ["p1", "p2"] * 4,
            "is_bot": [0.0, 1.0] * 4,
            "bot_strategy": ["prev_move_positive"] * 4 + ["win_nil_lose_positive"] * 4,
            "player_move": ["rock", "paper", "none", "scissors", "rock", "rock", "paper", "scissors"],
        } | changes
        path = tmp_path / "data.RData"
        table = pd.DataFrame({name: values for name, values in columns.items() if values is not None})
        table.index = pd.RangeIndex(1, len(table) + 1)
        rdata.write_rda(path, {"bot_data": table})
        return path

    return write


def test_bot_data(frame):
    matches = read_brockbank(frame())
    assert [match.name for match in matches] == ["game 1", "game 2"]
    assert [match.players for match in matches] == [(HUMAN, BOTS[0]), (HUMAN, "win_nil_lose_positive")]
    np.testing.assert_array_equal(matches[0].moves, [[0, NO_ANSWER], [1, 2]])
    assert matches[0].said == {(0, 1): "none"}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"player_move": ["stone"] * 8}, "game 1: 'stone' is no move"),
        ({"player_move": None}, "no column 'player_move'; the columns are game_id, round_index"),
        ({"is_bot": [0.0] * 8}, "row 2: round 1 is there twice"),
        ({"is_bot": [2.0] * 8}, "row 1: is_bot 2.0 and round_index 1.0 are not"),
        ({"bot_strategy": ["a", "b"] * 4}, "row 2: bot_strategy 'b', but the game began with 'a'"),
        ({"round_index": [1.0, 1.0, 3.0, 3.0] * 2}, "game 1 has 4 moves in 3 rounds"),
    ],
)
def test_wrong_bot_data_are_told(frame, changes, told):
    with pytest.raises(RecordingError) as error:
        read_brockbank(frame(**changes))
    assert told in str(error.value)


def test_what_is_no_rdata_file(tmp_path):
    path = tmp_path / "data.RData"
    with pytest.raises(RecordingError, match="no such file"):
        read_brockbank(path)
    path.write_text("rock,paper")
    result = call("import", "brockbank", path, "--out", tmp_path / "out")
    assert result.exit_code == 2 and "no .RData file" in result.stderr and not (tmp_path / "out").exists()


def test_nothing_of_a_participant_is_in_the_log(frame, tmp_path):
    log = tmp_path / "log.jsonl"
    import_brockbank(frame(), log=log)
    text = log.read_text(encoding="utf-8")
    assert not any(code in text for code in ("p1", "p2", "g7", "g2", "player_id"))
    assert '"agents":{"player1":"human","player2":"prev_move_positive"}' in text


def test_no_log_is_written_over(tmp_path):
    (tmp_path / "log.jsonl").write_text("something")
    with pytest.raises(journal.JournalError, match="there is a log already"):
        write_matches([], log=tmp_path / "log.jsonl")
