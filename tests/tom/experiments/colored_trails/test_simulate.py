"""Thousands of negotiations: the games are those of the rules, the tables those of the games, the files say how."""

import csv
import json
from dataclasses import replace

import jax
import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from otherminds.games.colored_trails.board import Board, Layout
from otherminds.games.colored_trails.generation import draw_boards
from otherminds.games.colored_trails.rules import Rules, colored_trails, gained
from otherminds.games.rollout import game_key, rollout
from otherminds.tom.cli import main
from otherminds.tom.experiments.colored_trails import simulate as simulation
from otherminds.tom.experiments.colored_trails.boards import load_boards, save_boards
from otherminds.tom.experiments.colored_trails.diagnostic import BATCH, advantage
from otherminds.tom.experiments.colored_trails.play import deals_of, play, swapped_deal
from otherminds.tom.experiments.colored_trails.simulate import differences, players_of, simulate
from otherminds.tom.minds.colored_trails.variant import LLM_TOM

RULES = Rules(limit=12)
BOARDS = 10


@pytest.fixture(scope="module")
def boards():
    return draw_boards(jax.random.key(5), BOARDS)


@pytest.mark.parametrize("names", [("order0", "order0"), ("order1", "order0")], ids=" ".join)
def test_games_are_those_of_the_jitted_rollout(boards, names):
    players, deals = players_of(names, RULES), deals_of(RULES, boards)
    played = play(RULES, players, deals, np.arange(BOARDS), np.arange(BOARDS) % 2 == 1)
    minds, params = zip(*players, strict=True)

    @jax.jit
    def one(deal):
        game = colored_trails(RULES, lambda key: deal)
        state, _ = rollout(game, minds, params, game_key(jax.random.key(0), 0))
        return gained(RULES, state), state.turn, state.ending

    for n in range(BOARDS):
        dealt = jax.tree.map(lambda part, n=n: part[n], deals.deal)
        gains, moves, ending = one(swapped_deal(dealt) if n % 2 else dealt)
        np.testing.assert_allclose(played.gained[n], gains, atol=1e-4)
        assert (played.moves[n], played.ending[n]) == (moves, ending)
    assert len(set(played.moves.tolist())) > 1 and played.agreed.any()


def test_a_row_is_the_mean_of_its_games(boards, monkeypatch):
    players, deals = players_of((0,), RULES), deals_of(RULES, boards)
    which, mirrored = np.repeat(np.arange(BOARDS), 2), np.tile([False, True], BOARDS)
    played = play(RULES, players * 2, deals, which, mirrored)
    (row,) = simulate(boards, (0,), rules=RULES)
    by_board = played.gained.reshape(BOARDS, 2, 2).mean(1)
    assert row.games == 2 * BOARDS and row.units == BOARDS
    np.testing.assert_allclose(row.gain, by_board.mean(0), atol=1e-5)
    np.testing.assert_allclose(row.gain_error, by_board.std(0, ddof=1) / np.sqrt(BOARDS), atol=1e-5)
    np.testing.assert_allclose(row.agreement, played.agreed.mean())
    np.testing.assert_allclose(row.reached, played.reached.mean(0))
    monkeypatch.setattr(simulation, "GAMES", 6)  # other blocks, the last one padded
    (again,) = simulate(boards, (0,), rules=RULES)
    np.testing.assert_allclose(again.gain, row.gain, atol=1e-5)
    np.testing.assert_allclose(again.gain_error, row.gain_error, atol=1e-5)


def test_what_a_negotiator_gains_over_the_one_before_it(boards):
    """Differences are taken board by board, of the same seat against the same opponent."""
    names = ("order0", "order0:learning_speed=0.3")
    rows = simulate(boards, names, rules=RULES)
    gains = {(row.initiator, row.responder): row.by_unit for row in rows}
    found = {(one.role, one.opponent): one for one in differences(rows)}
    assert set(found) == {(role, name) for role in ("initiator", "responder") for name in names}
    for (role, opponent), one in found.items():
        assert (one.negotiator, one.rather_than, one.units) == (names[1], names[0], BOARDS)
        seat = role == "responder"
        pairs = [(opponent, name) if seat else (name, opponent) for name in names]
        by_board = gains[pairs[1]][:, int(seat)] - gains[pairs[0]][:, int(seat)]
        assert one.gain == pytest.approx(by_board.mean()) and by_board.any()
        assert one.gain_error == pytest.approx(by_board.std(ddof=1) / np.sqrt(BOARDS))
        tested = stats.ttest_1samp(by_board, 0).confidence_interval(0.95)
        assert (one.low, one.high) == (pytest.approx(tested.low), pytest.approx(tested.high))
    assert not differences(rows[:1])
    (alone, *_) = differences([replace(row, by_unit=row.by_unit[:1]) for row in rows])
    assert np.isnan([alone.gain_error, alone.low, alone.high]).all()


@pytest.mark.slow
def test_processes_change_nothing(boards):
    one, two = (simulate(boards, (0, 1), rules=RULES, processes=n) for n in (1, 2))
    assert [row.gain for row in one] == [row.gain for row in two]


def test_persistent_minds_learn(boards):
    (row,) = simulate(boards, (0,), rules=RULES, series=6, repetitions=5)
    assert (row.units, row.games) == (5, 30)
    (fresh,) = simulate(boards, (0,), rules=RULES, series=1, repetitions=30)
    assert row.gain != fresh.gain


def test_the_command(boards, tmp_path):
    file = tmp_path / "boards.json"
    save_boards(file, boards, {"generator": "otherminds"})
    asked = ["simulate", "colored-trails", "--orders", "0", "--boards", str(file), "--limit", "12"]
    shown = CliRunner().invoke(main, [*asked, "--out", str(tmp_path / "out")], catch_exceptions=False)
    (row,) = simulate(boards, ("order0:variant=described",), rules=RULES)
    assert f"{row.gain[0]:.1f}" in shown.stdout and f"{row.agreement:.0%}" in shown.stdout
    assert (tmp_path / "out" / "gains.png").stat().st_size > 5000
    with (tmp_path / "out" / "pairs.csv").open() as lines:
        (line,) = csv.DictReader(lines)
    assert float(line["gain_responder"]) == pytest.approx(row.gain[1], abs=1e-5)
    told = json.loads(CliRunner().invoke(main, [*asked, "--json"], catch_exceptions=False).stdout)
    (pair,) = told["pairs"]
    assert pair["initiator"] == "order0" and pair["gain"] == pytest.approx(row.gain, abs=1e-5)
    assert "by_unit" not in pair and not told["differences"]


def test_the_command_tells_differences_also_of_series_on_the_boards_of_a_file(boards, tmp_path):
    file, names = tmp_path / "boards.json", "order0,order0:learning_speed=0.3"
    save_boards(file, boards, {"generator": "otherminds", "threshold": 20.0})
    asked = ["simulate", "colored-trails", "--orders", names, "--boards", str(file), "--limit", "12"]
    asked += ["--series", "4", "--repetitions", "5", "--out", str(tmp_path)]
    shown = CliRunner().invoke(main, asked, catch_exceptions=False).stdout
    assert "over 5 series that both play" in shown and "the 10 boards of" in " ".join(shown.split())
    with (tmp_path / "differences.csv").open() as lines:
        written = list(csv.DictReader(lines))
    rows = simulate(boards, names.split(",", 1), rules=RULES, series=4, repetitions=5)
    for line, one in zip(written, differences(rows), strict=True):
        assert (line["role"], line["opponent"], line["units"]) == (one.role, one.opponent, "5")
        for name in ("gain", "gain_error", "low", "high"):
            assert float(line[name]) == pytest.approx(getattr(one, name), abs=1e-4)


def test_boards_of_another_layout(tmp_path):
    sizes = ["--rows", "3", "--columns", "3", "--colours", "2", "--chips", "2", "--goal-distance", "2"]
    asked = ["simulate", "colored-trails", "--orders", "0", "--limit", "4", "--seed", "7"]
    drawn = CliRunner().invoke(main, [*asked, "--boards", "6", *sizes], catch_exceptions=False).stdout
    assert "(3 x 3 tiles, 2 colours, 2 chips a player, 4 goals)" in " ".join(drawn.split())
    file, layout = tmp_path / "small.json", Layout(3, 3, 2, 2, goal_distance=2)
    save_boards(file, draw_boards(jax.random.key(7), 6, layout), {}, layout)
    read = CliRunner().invoke(main, [*asked, "--boards", str(file)], catch_exceptions=False).stdout
    assert [line for line in read.splitlines() if "±" in line][:1] == [
        line for line in drawn.splitlines() if "±" in line
    ][:1]
    other = CliRunner().invoke(main, [*asked, "--boards", str(file), "--rows", "5"])
    assert other.exit_code == 2 and "its boards have rows=3, columns=3" in other.stderr


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["simulate", "colored-trails", "--orders", ","], "name at least one order"),
        (["simulate", "colored-trails", "--orders", "ordr1"], "no negotiator; there are order0 to"),
        (["simulate", "colored-trails", "--boards", "0"], "--boards 0: at least 1"),
        (["simulate", "colored-trails", "--boards", "nowhere.json"], "there is no such file"),
        (["simulate", "colored-trails", "--limit", "0"], "limit=0"),
        (["simulate", "colored-trails", "--cost", "-1"], "cost=-1"),
        (["simulate", "colored-trails", "--rows", "0"], "rows=0: a whole number from 1 to 400"),
        (["simulate", "colored-trails", "--rows", "3", "--columns", "3"], "goal_distance=3: no cell of a 3 x 3 board"),
        (["simulate", "colored-trails", "--chips", "1"], "deal more chips"),
        (["simulate", "colored-trails", "--chips", "20"], "40 chips can be divided in 59,049 ways, at most 10,000"),
        (["simulate", "colored-trails", "--chips", "11"], "4,500 offers, and minds weigh at most 4,094"),
        (["simulate", "colored-trails", "--colours", "99"], "colours=99: a whole number from 1 to 20"),
        (["simulate", "colored-trails", "--rows", "1", "--columns", "7"], "deal fewer chips or take a larger board"),
        (["boards", "colored-trails", "--goal-distance", "5"], "goal_distance=5: no cell of a 5 x 5 board"),
        (["boards", "colored-trails", "--high", "1"], "--high 1 --low 1"),
        (["boards", "colored-trails", "--high", "9"], "orders of 0 to 4"),
        (["boards", "colored-trails", "--learning-speed", "2"], "from 0 to 1"),
    ],
)
def test_wrong_calls(asked, message):
    shown = CliRunner().invoke(main, asked)
    assert shown.exit_code == 2 and message in shown.output
    assert len(shown.output.strip().splitlines()) == 1


def test_diagnostic_boards(tmp_path):
    file, whole = tmp_path / "found.json", tmp_path / "whole.json"
    asked = ["boards", "colored-trails", "--high", "1", "--low", "0", "--limit", "4", "--out"]

    def search(path, *more):
        return CliRunner().invoke(main, [*asked, str(path), *more])

    assert "2 boards of" in search(file, "--count", "2").stdout
    found = load_boards(file, threshold=20, high=1, low=0)
    checked = advantage(Board(*found.boards), 1, 0, limit=4)
    low, strong_first, strong_second = (checked.gained[:, :, pair] for pair in range(3))
    by_hand = (strong_first[..., 0] - low[..., 0] + strong_second[..., 1] - low[..., 1]).mean(1) / 2
    assert (by_hand >= 20).all()
    np.testing.assert_allclose(by_hand, found.provenance["advantages"], atol=1e-3)
    with pytest.raises(ValueError, match="threshold"):
        load_boards(file, threshold=10)
    # A search in two parts finds what one in a single part finds.
    assert search(file, "--count", "5").exit_code == search(whole, "--count", "5").exit_code == 0
    assert file.read_text() == whole.read_text()
    more = search(file, "--count", "200", "--most", str(BATCH))
    assert more.exit_code == 2 and "fewer than --count 200" in more.output and len(load_boards(file).boards.goals) > 5
    content = json.loads(file.read_text())
    del content["metadata"]["advantages"]
    file.write_text(json.dumps(content))
    assert search(file, "--count", "200").exit_code == 2


@pytest.mark.slow
def test_recorded_diagnostic_boards(shared):
    """LLM-TOM's file of five boards, whose threshold is 200 of its units."""
    found = load_boards(shared / "data/colored_trails/1-2-200.json", threshold=20, high=2, low=1)
    measured = advantage(found.boards, variant=LLM_TOM).advantage
    assert (measured >= 20).all(), measured
