"""The recorded panel: read as it is, its moves held against the points it states, told where something is wrong."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from otherminds.games.colored_trails.rules import Ending
from otherminds.tom import cli
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.colored_trails.compare import gains
from otherminds.tom.experiments.colored_trails.recordings import MODEL, import_panel, read_panel
from otherminds.tom.experiments.colored_trails.records import PEOPLE, deals, outcomes, read_games
from otherminds.tom.experiments.csv_rows import RecordingError
from otherminds.tom.experiments.validate import validate_log

GRID = [[1, 3, 1, 2, 3], [1, 0, 3, 4, 0], [0, 4, 0, 0, 0], [1, 1, 3, 3, 3], [1, 3, 0, 1, 3]]
CHIPS = {"human": [2, 0, 0, 2, 0], "openrouter": [1, 1, 0, 1, 1]}
GOALS = {"human": 4, "openrouter": 3}
OFFER, ACCEPT = [2, 1, 0, 1, 0], [1, 0, 0, 2, 1]


def recorded(first, moves, *, grid=GRID, result="accepted", points=None):
    """A file's content: the human offers first, as player `first`; points: (before, after, gain) by player."""
    types = ["human", "openrouter"] if first == 0 else ["openrouter", "human"]
    players = [
        {"type": kind, "initial_chips": CHIPS[kind], "goal": GOALS[kind], "initial_utility": 0} for kind in types
    ]
    messages = []
    for turn, offer in enumerate(moves):
        player = (first + turn) % 2
        raw = json.dumps({"offer": offer}) if types[player] == "openrouter" else None
        messages.append(
            {
                "round": turn,
                "player_id": player,
                "action": "propose",
                "offer": offer,
                "message": "hello",
                "reasoning": raw and "why",
                "thoughts": raw or "e5 - so",
                "raw_response": raw,
            }
        )
    before, after, gain = points or ([0, 0],) * 3
    for player, value in zip(players, before, strict=True):
        player["initial_utility"] = value
    outcome = {"result": result, "final_utilities": after, "deltas": gain}
    meta = {"negotiation_cost": 1}
    return {"board": {"grid": grid}, "players": players, "initiator": first, "messages": messages} | {
        "outcome": outcome,
        "meta": meta,
    }


@pytest.fixture
def panel(tmp_path):
    """Three games of one participant: one accepted, its flipped and recoloured copy, one that the program broke off."""
    folder = tmp_path / "panel" / "seed_7"
    folder.mkdir(parents=True)
    new = np.array([0, 3, 2, 1, 4])  # colours 1 and 3 change places
    flipped = new[np.array(GRID)[::-1]]
    flipped[2, 2] = 0
    copy = recorded(1, [[OFFER[c] for c in new]], grid=flipped.tolist())
    for player in copy["players"]:
        player["initial_chips"] = [player["initial_chips"][c] for c in new]
    files = {
        "game_1_advantage_dec_config1.json": recorded(0, [OFFER, ACCEPT]),
        "game_2_normal_nodec_config2.json": recorded(
            1, [OFFER, [1, 1, 0, 2, 0]], grid=[[0, 1, 3, 4, 0]] * 5, result="withdrawn"
        ),
        "game_11_advantage_nodec_config2.json": copy | {"outcome": recorded(0, [])["outcome"] | {"result": "limit"}},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    (folder / "delta_scores.json").write_text("{}", encoding="utf-8")
    return tmp_path / "panel"


def test_a_panel_becomes_a_log_and_is_read_again(panel, tmp_path):
    log = tmp_path / "out" / "log.jsonl"
    done = import_panel(panel, log=log)
    assert (done.games, done.decisions, done.failed, done.players) == (3, 5, 0, {"human-7": 3, MODEL: 3})
    games, (begun,) = read_games([log])
    assert games.ids == ("seed 7 / game 1", "seed 7 / game 2", "seed 7 / game 11")
    assert begun.config["participants"] == [7] and set(games.agents) == {("human-7", MODEL)}
    # The initiator is the human, whatever its number there, with its own chips and goal.
    assert games.board.chips[0].tolist() == games.board.chips[1].tolist() == [CHIPS["human"], CHIPS["openrouter"]]
    assert games.board.goals.tolist() == [[4, 3]] * 3 and games.rules.cost == 0.1
    assert [Ending(e).name for e in games.endings] == ["ACCEPTED", "MOVE_LIMIT", "MOVE_LIMIT"]
    assert games.names == ("diagnostic 1", "ordinary 1", "diagnostic 1")
    assert [c["copy"] for c in games.conditions] == [1, 1, 2] and games.conditions[0]["deception"]
    assert [(line.thoughts, line.message) for line in games.lines[0]] == [("e5 - so", "hello"), (None, "hello")]
    answer = [line for line in journal.read(log) if line.event == "decision"][1]
    assert answer.reasoning == "why" and json.loads(answer.attempts[0].text) == {"offer": ACCEPT}
    assert "3 of 3 games over, 5 decisions, 0 failed answers; complete" in validate_log(log)
    with pytest.raises(journal.JournalError, match="there is a log already"):
        import_panel(panel, log=log)


def test_points_that_the_moves_do_not_give_are_told(panel, tmp_path):
    log = tmp_path / "log.jsonl"
    path = panel / "seed_7" / "game_1_advantage_dec_config1.json"
    told = import_panel(panel, log=log).differing
    assert len(told) == 3 and told[1].endswith("ending withdrawn, the moves give move_limit (in its units)")
    games, _ = read_games([log])
    found = outcomes(games, deals(games.rules, games.board))
    # Goals 4 and 3 are three and four steps from the start, each worth 100 of their points.
    points = [(10 * x[0] + y).tolist() for x, y in ((found.before, [300, 400]), (found.score, [300, 400]))]
    right = recorded(0, [OFFER, ACCEPT], points=(*points, (10 * found.gained[0]).tolist()))
    path.write_text(json.dumps(right), encoding="utf-8")
    told = import_panel(panel, log=tmp_path / "right.jsonl").differing
    assert len(told) == 2 and "game_2" in told[0]


def test_an_offer_that_cannot_be_made_is_a_failed_answer(panel, tmp_path):
    path = panel / "seed_7" / "game_1_advantage_dec_config1.json"
    path.write_text(json.dumps(recorded(0, [OFFER, [9, 0, 0, 0, 0]], result="withdrawn")), encoding="utf-8")
    log = tmp_path / "log.jsonl"
    assert import_panel(panel, log=log).failed == 1
    line = next(line for line in journal.read(log) if line.event == "decision" and line.turn == 1)
    assert line.action is None and line.attempts[0].error == "no offer that can be made"
    assert json.loads(line.attempts[0].text) == {"offer": [9, 0, 0, 0, 0]}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"players": None}, "game_1.*: no recorded game; TypeError"),
        ({"outcome": {}}, "no recorded game; KeyError"),
        ({"board": {"grid": [[9] * 5] * 5}}, "tiles of the colours 9 to 9"),
        ({"messages": [{"round": 1, "player_id": 0}]}, "move 0 is recorded as round 1 of player 0"),
    ],
)
def test_what_is_no_recorded_game_is_told_with_its_file(panel, change, told):
    path = panel / "seed_7" / "game_1_advantage_dec_config1.json"
    path.write_text(json.dumps(recorded(0, [OFFER, ACCEPT]) | change), encoding="utf-8")
    with pytest.raises(RecordingError, match=told):
        read_panel(panel)


def test_other_errors(panel, tmp_path):
    (panel / "seed_7" / "game_3_normal_dec_config1.json").write_text("{", encoding="utf-8")
    with pytest.raises(RecordingError, match=r"game_3_normal_dec_config1\.json: "):
        read_panel(panel)
    with pytest.raises(RecordingError, match="no such folder"):
        read_panel(tmp_path / "none")
    (tmp_path / "seed_1").mkdir()
    with pytest.raises(RecordingError, match="no game; files are named such as"):
        read_panel(tmp_path / "seed_1")
    (panel / "seed_7").rename(tmp_path / "participant")
    with pytest.raises(RecordingError, match="is called seed_ and a number"):
        read_panel(tmp_path / "participant")


def test_the_command_prints_what_was_read(panel, tmp_path):
    result = CliRunner().invoke(cli.main, ["import", "llm-tom", str(panel), "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "3 games, 5 moves, 0 failed answers" in result.output and "human-7: 3 games" in result.output
    again = CliRunner().invoke(cli.main, ["import", "llm-tom", str(panel), "--out", str(tmp_path / "out")])
    assert again.exit_code == 2 and "there is a log already" in again.output
    result = CliRunner().invoke(cli.main, ["import", "llm-tom", str(panel), "--out", str(tmp_path / "o"), "--json"])
    assert json.loads(result.stdout)["games"] == 3


def test_the_panel(shared, tmp_path):
    """All 160 games; three of the first participant's end otherwise than their moves say."""
    done = import_panel(shared / "data/colored_trails/panel", log=tmp_path / "log.jsonl")
    assert (done.games, done.decisions, done.failed) == (160, 919, 0)
    assert done.players[MODEL] == 160 and len(done.players) == 9
    assert [told.partition(":")[0] for told in done.differing] == [
        "seed_11/game_2_advantage_nodec_config2.json",  # an offer of all that the other has, taken for a withdrawal
        "seed_11/game_4_normal_nodec_config2.json",  # the chips went to the wrong players
        "seed_11/game_6_normal_dec_config2.json",
    ]
    games, _ = read_games([done.log])
    assert [sum(c["copy"] == copy for c in games.conditions) for copy in (1, 2)] == [80, 80]
    assert all(games.names.count(name) == 16 for name in set(games.names)) and len(set(games.names)) == 10
    rows = {
        (row.agent, row.boards, row.deception): row
        for row in gains(games, outcomes(games, deals(games.rules, games.board)))
    }
    for agent, mean, reached in ((PEOPLE, 38.05, 106), (MODEL, 35.52, 98)):
        row = rows[agent, "all", "all"]
        assert (row.games, row.agreed, row.reached) == (160, 126, reached)
        np.testing.assert_allclose(row.mean, mean, atol=0.01)
