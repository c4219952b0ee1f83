"""Tournaments: the matches of a seed whatever the chunk, their means, and the published order of the orders."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from otherminds.tom.cli import main
from otherminds.tom.experiments.rps.matches.play import play_matches
from otherminds.tom.experiments.rps.plots import payoff_table
from otherminds.tom.experiments.rps.tournament import pairing, tournament
from otherminds.tom.minds.rps.registry import named_player


def scores(moves):
    gap = (moves[:, 0].astype(int) - moves[:, 1]) % 3
    return np.where(gap == 2, -1, gap).sum(1)


@pytest.mark.parametrize("specs", [("N", "Z"), pytest.param(("order:1", "order:0"), marks=pytest.mark.slow)])
def test_the_mean_is_that_of_the_matches_whatever_the_chunk(specs):
    players = [named_player(spec) for spec in specs]
    moves = play_matches(*specs, 50, 20, seed=3)
    won = scores(moves) / 20
    for chunk in (50, 16):
        found = pairing(*players, 50, 20, seed=3, chunk=chunk)
        assert found.payoff == pytest.approx(won.mean(), abs=1e-12)
        assert found.half_width == pytest.approx(1.96 * won.std(ddof=1) / np.sqrt(50), abs=1e-12)


@pytest.fixture
def others(shared):
    """Mean payoffs of orders 0 to 4, row against column, and their 95% half-widths, from another simulation."""
    tables = json.loads((shared / "golden/repeated_games/dw_tables.json").read_text())
    table = tables["A RPS c0=0 excl gam=1 lamU T20"]
    return np.array(table["mean"]), np.array(table["ci95"])


@pytest.mark.slow
@pytest.mark.parametrize("order", [2, 3])
def test_higher_orders_win_less(others, order):
    """0.600 a round for 2 against 1, 0.124 for 3 against 2."""
    found = pairing(*(named_player(f"order:{k}") for k in (order, order - 1)), 1500, 20, seed=1, chunk=500)
    due, error = (table[order, order - 1] for table in others)
    assert abs(found.payoff - due) < 2 * np.hypot(found.half_width, error)


def test_higher_orders_win(others):
    """0.675 a round for 1 against 0."""
    found = tournament(["order:0", "order:1"], 1500, 20, seed=1, chunk=500)
    due, error = (table[1, 0] for table in others)
    assert abs(found.payoff[1, 0] - due) < 2 * np.hypot(found.half_width[1, 0], error)
    np.testing.assert_array_equal(found.payoff, -found.payoff.T + np.diag(2 * np.diag(found.payoff)))
    assert abs(found.payoff[0, 0]) < 2.5 * found.half_width[0, 0]


def test_the_command(tmp_path):
    asked = ["simulate", "rps", "--players", "A,B,C", "--matches", "3", "--rounds", "4"]
    done = CliRunner().invoke(main, [*asked, "--out", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    # Scissors, rock, paper.
    assert told["payoff"] == [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]
    assert [pair["matches"] for pair in told["pairings"]] == [3] * 6
    assert (tmp_path / "payoffs.png").stat().st_size > 10_000
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0 and "+1.000" in done.stdout and "72 rounds" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--players", "A,nobody"], "nobody"),
        (["--players", "A,A"], "each once"),
        (["--players", ","], "at least one"),
        (["--matches", "0"], "matches=0"),
        (["--rounds", "-1"], "rounds=-1"),
        (["--chunk", "0"], "chunk=0"),
    ],
)
def test_wrong_calls(options, message):
    done = CliRunner().invoke(main, ["simulate", "rps", *options])
    assert done.exit_code == 2 and message in done.stderr and done.stderr.count("\n") == 1


def test_one_match_has_no_interval(tmp_path):
    found = tournament(["D", "N"], 1, 5)
    assert np.isnan(found.half_width).all()
    payoff_table(found, tmp_path / "one.png")
