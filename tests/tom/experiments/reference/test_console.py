"""The commands on reference games: what they print, what they write, and how wrong calls are told."""

import csv
import json
import re

import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from otherminds.tom import cli
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.reference import plots


def call(*arguments):
    return CliRunner().invoke(cli.main, [str(argument) for argument in arguments])


def told(result):
    """The one line of a wrong call."""
    assert result.exit_code == 2 and result.stderr.count("\n") == 1, result.output
    return result.stderr


def bring(files, out, *more):
    named = ["--items", files / "items.csv", "--choices", files / "choices.csv"]
    return call("import", "reference", *named, "--scores", files / "scores_gpt-x.csv", "--out", out, *more)


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_recordings_are_imported_validated_and_compared(files, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = files / "new" / "folder"
    result = bring(files, out)
    assert result.exit_code == 0 and result.stderr == ""
    assert result.stdout.splitlines() == [
        "4 items, 2 people, 1 language model",
        "24 decisions, 1 of them failed (none of the options)",
        f"wrote {out / 'log.jsonl'}",
    ]
    assert "24 decisions, 1 failed answers; complete" in call("validate", out / "log.jsonl").stdout
    result = call("compare", out / "log.jsonl")
    assert result.exit_code == 0, result.output
    lines = [line for line in result.stdout.splitlines() if not line.startswith("wrote ")]
    assert max(map(cell_len, lines)) <= 80 and not any("…" in line for line in lines)
    for text in (
        "production people (7 decisions, 1 failed)",
        "production people by gpt-x (8)",
        "average scores",
        "Prior:",
    ):
        assert text in result.stdout
    wrote = re.findall(r"^wrote (\S+)$", result.stdout, re.M)
    assert [name.rpartition("/")[2] for name in wrote] == [
        "report.html", "minds.png", "agents.png", "models.png", "fits.png",
        "scores.csv", "fits.csv", "points.csv", "decisions.csv", "subjects.csv",
    ]  # fmt: skip
    page = (out / "report.html").read_text(encoding="utf-8")
    for text in ("people / subject a / item 2 / production", "Language models as models of people", "sha256", "gpt-x"):
        assert text in page
    assert "<script" not in page and page.count("data:image/png") == 4 and "{{" not in page
    assert all((out / name).read_bytes().startswith(b"\x89PNG") for name in ("agents.png", "models.png", "fits.png"))


def test_the_tables_hold_every_decision(files):
    bring(files, files / "out")
    assert call("compare", files / "out" / "log.jsonl").exit_code == 0
    decisions = rows_of(files / "out" / "decisions.csv")
    assert len(decisions) == 24 and [row["failed"] for row in decisions].count("yes") == 1
    (failed,) = (row for row in decisions if row["failed"] == "yes")
    assert (failed["action"], failed["kind"], failed["subject"]) == ("", "", "a")
    assert float(failed["log_p pragmatic"]) == float("-inf") and failed["log_p pragmatic:slip=1e-7"] == ""
    heard = next(row for row in decisions if row["condition"] == "interpretation" and row["kind"] == "target")
    assert float(heard["log_p pragmatic"]) == pytest.approx(-0.5108, abs=1e-3)  # log .6
    subjects = rows_of(files / "out" / "subjects.csv")
    assert [(row["subject"], row["condition"], row["decisions"]) for row in subjects] == [
        (subject, condition, "4") for condition in ("production", "interpretation") for subject in "ab"
    ]
    scores = {
        (row["role"], row["agent"], row["mind"]): float(row["log_score"]) for row in rows_of(files / "out/scores.csv")
    }
    mean = sum(float(row["log_score literal"]) for row in subjects if row["condition"] == "production") / 2
    assert mean == pytest.approx(scores["production", "people", "literal"])
    assert len(rows_of(files / "out" / "fits.csv")) == 2 * (2 + 3) + 2 * 4
    assert {row["kind"] for row in rows_of(files / "out" / "points.csv")} == {"target", "competitor", "distractor"}


def test_json_is_printed_and_nothing_written(files):
    done = json.loads(bring(files, files / "out", "--json").stdout)
    assert (done["items"], done["people"], done["models"], done["failed"]) == (4, 2, ["gpt-x"], 1)
    log = files / "out" / "log.jsonl"
    options = ["--lapse", "0.2", "--join", "product", "--minds", "speaker=pragmatic:depth=2,literal"]
    content = json.loads(call("compare", log, "--json", *options).stdout)
    assert (content["lapse"], content["join"]) == (0.2, "product") and "LogNormal(1, 1)" in content["prior"]
    assert {row["mind"] for row in content["scores"] if row["role"] == "production"} == {
        "pragmatic:depth=2", "literal", "uniform",
    }  # fmt: skip
    literal = next(row for row in content["fits"] if row["mind"] == "literal")
    assert literal["alpha_mean"] is None and 0 < literal["error_rate_mean"] < 1
    assert len(content["models"]) == 8 and list(log.parent.iterdir()) == [log]
    every = json.loads(call("compare", log, "--json", "--every-option").stdout)
    assert every["kinds"]["speaker"] == [f"option {n}" for n in range(1, 5)]


def test_wrong_calls_are_told_in_one_line(files):
    choices = files / "choices.csv"
    wrong = call("import", "reference", "--items", choices, "--choices", choices, "--out", files / "out")
    assert f"{choices}: no column 'objects'" in told(wrong) and not (files / "out").exists()
    assert "is a file" in told(bring(files, files / "items.csv"))
    bring(files, files / "out")
    assert "there is a log already" in told(bring(files, files / "out"))
    log = files / "out" / "log.jsonl"
    assert "reference games bring their own words" in told(call("compare", log, "--keywords", "x"))
    assert "--lapse 0.0" in told(call("compare", log, "--lapse", "0"))
    assert "with speaker or listener" in told(call("compare", log, "--minds", "encoder=baseline"))
    assert "'baseline' is no mind for the speaker" in told(call("compare", log, "--minds", "speaker=baseline"))
    assert "name at least one mind" in told(call("compare", log, "--minds", "speaker="))
    other = files / "other.jsonl"
    other.write_bytes(
        journal.encoded(journal.RunBegun(game="decrypto", config={}, vocabulary="", versions={}, time=""))
    )
    assert "logs of one game are compared at a time" in told(call("compare", log, other))
    other.write_bytes(other.read_bytes().replace(b"decrypto", b"chess"))
    assert "a log of 'chess'; known games are decrypto, reference" in told(call("compare", other))
    other.write_bytes(log.read_bytes())
    assert "is in another of the logs too" in told(call("compare", log, other))
    other.write_bytes(log.read_bytes().splitlines(keepends=True)[0])
    assert "no decision in this log" in told(call("compare", other))


def test_there_is_nothing_to_draw_without_points(tmp_path):
    with pytest.raises(ValueError, match="points: there is none"):
        plots.scatter([], tmp_path / "x.png", "agent")
    with pytest.raises(ValueError, match="nothing to draw"):
        plots.intervals([], tmp_path / "x.png")
