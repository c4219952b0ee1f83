"""What the commands print and write of observers."""

import csv
import json
import re

import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from otherminds.games.rps.statement import PARTS
from otherminds.tom import cli
from otherminds.tom.agents.base import Decision
from otherminds.tom.experiments.rps.observers import plots
from otherminds.tom.experiments.rps.observers.config import validated
from otherminds.tom.experiments.rps.observers.console import Board
from otherminds.tom.experiments.rps.observers.run import Told, planned_matches

LONG = "openrouter/meta-llama/llama-3.1-405b-instruct-with-a-very-long-name"
ANSWER = {
    "player1": [{"label": "B", "points": 3}],
    "others1": 1,
    "player2": [{"label": "Z", "points": 30}],
    "others2": 70,
    "next1": {"rock": 1, "paper": 1, "scissors": 2},
    "next2": {"rock": 0, "paper": 5, "scissors": 0},
    "outcome": {"win": 50, "draw": 25, "loss": 25},
    "guess1": "B",
    "guess2": "Z",
    "confidence": 0.25,
}
SETTINGS = ["--player2", "Y", "--rounds", "12", "--warmup", "2", "--every", "4", "--history", "5", "--matches", "2"]


def call(*arguments):
    return CliRunner().invoke(cli.main, [str(argument) for argument in arguments])


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def watched(fake_server, tmp_path, monkeypatch):
    """A finished run of two observers; the model fails to answer once a match."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("OPENROUTER_API_KEY", "none")
    fake_server.models = {"data": [{"id": LONG.partition("/")[2]}]}

    def answer(request):
        text = request["messages"][1]["content"]
        if "8 rounds were played" in text:
            return "<script>alert(1)</script>"
        return json.dumps({"reasoning": "much <b>paper</b>", **ANSWER})

    fake_server.script = [answer]
    asked = ["--observer", f"exact,{LONG}", "--base-url", fake_server.url, *SETTINGS]
    return call("run", "rps", *asked, "--out", tmp_path / "out"), tmp_path / "out", asked, fake_server


def test_a_run_ends_with_tables_and_a_report(watched):
    result, out, asked, server = watched
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit), result.exc_info  # some answers failed
    lines = [line for line in result.stdout.splitlines() if not line.startswith(("wrote ", "  log "))]
    assert max(map(cell_len, lines)) <= 80 and not any("…" in line for line in lines)
    assert lines[0] == "Rock, paper, scissors: 2 observers of 2 matches"
    assert "asked      3 times a match, after rounds 4, 8 and 12, the last 5 rounds shown" in result.stdout
    assert result.stdout.count("ceiling: window:5") == 2 and "2/6" in result.stdout
    assert "2 of 4 watched matches hold an answer that failed." in result.stdout
    assert result.stderr.splitlines()[-1].startswith("scoring observers: ")
    wrote = re.findall(r"^wrote (\S+)$", result.stdout, re.M)
    names = [name.rpartition("/")[2] for name in wrote]
    assert names == [
        "report.html", "curves.png", "identified.png", "beliefs.png", "scores.csv", "matches.csv", "decisions.csv",
    ]  # fmt: skip
    assert all((out / name).read_bytes().startswith(b"\x89PNG") for name in names[1:4])
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page and "<b>paper" not in page and page.count("data:image/png") == 3 and "{{" not in page
    assert "much &lt;b&gt;paper" in page and "no JSON object with" in page
    decisions = rows_of(out / "decisions.csv")
    assert len(decisions) == 4 * 2 * 3  # two observers and two ceilings
    failed = [row for row in decisions if row["failed"] == "yes"]
    assert len(failed) == 2 and all(row["p1_A"] == "" and row["union"] == "1.0" for row in failed)
    assert all(float(row["legacy_union_C"]) >= 0 for row in decisions if row["failed"] == "no")
    scores = {row["observer"]: row for row in rows_of(out / "scores.csv") if row["ceiling"] == "no"}
    assert scores.keys() == {"exact", LONG} and scores[LONG]["failed"] == "2"
    assert len(rows_of(out / "matches.csv")) == 8
    calls = len(server.requests)
    again = call("run", "rps", *asked, "--out", out)
    assert again.exit_code == 1 and len(server.requests) == calls
    assert "12 answers were in the log already" in again.stdout

    compared = call("compare", out / "log.jsonl", "--json")
    assert compared.exit_code == 0, compared.output
    found = json.loads(compared.stdout)["observers"]
    assert [(row["observer"], row["ceiling"]) for row in found] == [
        ("exact", False), (LONG, False), ("window:5", True), ("exact", True),
    ]  # fmt: skip
    assert found[1]["values"]["identified"]["mean"] == pytest.approx(float(scores[LONG]["identified"]))
    told = call("compare", out / "log.jsonl", "--minds", "observer=exact")
    assert told.exit_code == 2 and "--minds: observers are compared with the truth" in told.stderr


def test_the_table_that_follows_a_run():
    config = validated(player1="N", player2="G", observers=("exact", "frequency"), matches=2, rounds=12, warmup=2)
    board, (first, second, *_) = Board(config), planned_matches(config)
    said = {part: dict.fromkeys(names, 0.0) for part, names in PARTS.items()}
    said["outcome"]["draw"] = 1.0
    board.count(Told(first, 0, 12, Decision((13, 6), statement=said)))
    board.count(Told(second, 0, 12, Decision(None)))
    board.finish(first)
    rows = [[str(cell) for cell in column.cells] for column in board.table().columns]
    assert rows[0] == ["exact", "frequency"] and rows[1] == ["1/2", "0/2"] and rows[2] == ["12", "12"]
    assert rows[3] == ["100%", "0%"] and rows[5] == ["N v G", "failed"] and rows[6] == ["0", "1"]
    assert 0 < float(rows[4][0]) < 1 and rows[4][1] == "1.000"


def test_nothing_cannot_be_drawn(tmp_path):
    for draw in (plots.curves, plots.bars, plots.beliefs):
        with pytest.raises(ValueError, match="nothing to draw"):
            draw([], tmp_path / "none.png")
