"""`otherminds identify rps`: what it prints, what it writes, and how wrong calls are told."""

import csv
import json

import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from otherminds.tom import cli

SMALL = ("--candidates", "A,D,H,Z", "--rounds", 12, "--matches", 20)


def call(*arguments):
    return CliRunner().invoke(cli.main, ["identify", "rps", *map(str, arguments)])


def lines_of(result):
    assert result.exit_code == 0, result.output
    lines = [line for line in result.stdout.splitlines() if not line.startswith("wrote ")]
    assert max(map(cell_len, lines)) <= 80 and not any("…" in line for line in lines)
    return lines


def test_what_is_printed_and_written(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    result = call(*SMALL, "--opponent", "A", "--out", tmp_path / "new")
    lines = lines_of(result)
    row = next(line.split() for line in lines if line.startswith(" H "))
    assert row[:5] == ["H", "rock-biased", "D", "0.0589", "50.0"]
    assert "No long match tells apart: A = Z." in lines
    assert sum("wrote " in line for line in result.stdout.splitlines()) == 5
    assert all((tmp_path / "new" / f"{name}.png").stat().st_size > 10_000 for name in ("kl_rates", "ceilings"))
    with (tmp_path / "new" / "kl_rates.csv").open(newline="") as file:
        rows = {row["true"]: row for row in csv.DictReader(file)}
    assert float(rows["A"]["Z"]) == 0 and rows["H"]["A"] == "inf" and abs(float(rows["H"]["D"]) - 0.0589) < 1e-4
    with (tmp_path / "new" / "ceilings.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 12


@pytest.mark.slow
def test_json():
    found = json.loads(call(*SMALL, "--json", "--tremble", 0.1, "--window", 5).stdout)
    assert found["candidates"] == ["A", "D", "H", "Z"] and found["opponent"] == "D"
    assert len(found["shares"]) == 4 and len(found["shares"][0]) == 12 and len(found["opponents"]) == 19
    assert all(rate is not None for row in found["rates"] for rate in row)  # with trembles nothing is ruled out
    assert found["classes"] == [["A"], ["D"], ["H"], ["Z"]]
    nats = [row["early"] for row in found["opponents"]]
    assert nats == sorted(nats, reverse=True) and max(nats) <= 1.3863


@pytest.mark.slow
def test_the_papers_regimes(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    options = ("--regimes", "--rounds", 30, "--matches", 40, "--window", 8)
    assert sum(line.startswith((" H-C", " N-G", " D-Y")) for line in lines_of(call(*options))) == 18
    rows = json.loads(call(*options, "--json").stdout)
    found = {(row["player1"] + row["player2"], row["data"], row["observer"]): row for row in rows}
    # In the paper's data Y does not react, so Y is impossible to whoever believes that it does.
    assert found["DY", "iid", "exact"]["rate"] < 0.01 < 0.2 < found["DY", "rules", "exact"]["rate"]
    assert all(row["of_all"] == pytest.approx(row["rate"] * 2 / 3) for row in rows)
    assert all(row["low"] <= row["of_all"] <= row["high"] for row in rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--opponent", "Q"), "code 'Q': the catalogue has A, B"),
        (("--candidates", "A,Q"), "code 'Q'"),
        (("--candidates", "A"), "name at least two different ones"),
        (("--candidates", "A,A"), "name at least two different ones"),
        (("--rounds", 0), "rounds=0"),
        (("--matches", 0), "matches=0"),
        (("--window", 0), "window=0"),
        (("--tremble", 2), "tremble=2"),
        (("--tremble", "0.1", "--legacy-iid"), "do not tremble"),
        (("--regimes", "--rounds", 10), "warmup=10 of 10 rounds"),
    ],
)
def test_wrong_calls_are_told_in_one_line(options, message):
    result = call(*options)
    assert result.exit_code == 2 and result.stderr.count("\n") == 1 and message in result.stderr
