"""Thousands of negotiations: the games are those of the rules, the tables those of the games, the files say how."""

import csv
import json

import jax
import numpy as np
import pytest
from click.testing import CliRunner

from otherminds.games.colored_trails.board import Board
from otherminds.games.colored_trails.generation import draw_boards
from otherminds.games.colored_trails.rules import Rules, colored_trails, gained
from otherminds.games.rollout import game_key, rollout
from otherminds.tom.cli import main
from otherminds.tom.experiments.colored_trails import simulate as simulation
from otherminds.tom.experiments.colored_trails.boards import load_boards, save_boards
from otherminds.tom.experiments.colored_trails.diagnostic import BATCH, advantage
from otherminds.tom.experiments.colored_trails.play import deals_of, play, swapped_deal
from otherminds.tom.experiments.colored_trails.simulate import players_of, simulate
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
    (told,) = json.loads(CliRunner().invoke(main, [*asked, "--json"], catch_exceptions=False).stdout)
    assert told["initiator"] == "order0" and told["gain"] == pytest.approx(row.gain, abs=1e-5)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["simulate", "colored-trails", "--orders", ","], "name at least one order"),
        (["simulate", "colored-trails", "--orders", "ordr1"], "no negotiator; there are order0 to"),
        (["simulate", "colored-trails", "--boards", "0"], "--boards 0: at least 1"),
        (["simulate", "colored-trails", "--boards", "nowhere.json"], "there is no such file"),
        (["simulate", "colored-trails", "--limit", "0"], "limit=0"),
        (["simulate", "colored-trails", "--cost", "-1"], "cost=-1"),
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
