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
from otherminds.tom.experiments.reference.compare import compare, scores
from otherminds.tom.experiments.reference.records import CONDITIONS, read_answers
from otherminds.tom.experiments.reference.report import write_subjects


def call(*arguments):
    return CliRunner().invoke(cli.main, [str(argument) for argument in arguments])


def told(result):
    """The one line of a wrong call."""
    assert result.exit_code == 2 and result.stderr.count("\n") == 1, result.output
    return result.stderr


def bring(files, out, *more):
    named = ["--items", files / "items.csv", "--choices", files / "choices.csv"]
    return call("import", "reference", *named, "--scores", files / "scores_gpt-x.csv", "--out", out, *more)


def write_csv(path, head, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])


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
        "24 decisions, 1 failed",
        "  1 response that is none of the options:",
        f"    {files / 'choices.csv'}, line 6: 'dunno'",
        f"wrote {out / 'log.jsonl'}",
    ]
    assert "24 decisions, 1 failed answers; complete" in call("validate", out / "log.jsonl").stdout
    result = call("compare", out / "log.jsonl")
    assert result.exit_code == 0, result.output
    lines = [line for line in result.stdout.splitlines() if not line.startswith("wrote ")]
    assert max(map(cell_len, lines)) <= 80 and not any("…" in line for line in lines)
    for text in (
        "production people by gpt-x",
        "it is scored as what only the lapse allows, under uniform too.",
        "average scores",
        "Prior:",
    ):
        assert text in " ".join(result.stdout.split())
    assert result.stdout.count("(8 decisions, 1 failed)") == 3  # scores, fits of minds, and of the model
    wrote = re.findall(r"^wrote (\S+)$", result.stdout, re.M)
    assert [name.rpartition("/")[2] for name in wrote] == [
        "report.html", "minds.png", "agents.png", "models.png", "fits.png",
        "scores.csv", "fits.csv", "points.csv", "decisions.csv", "subjects.csv",
        "divergences.csv", "calibration.csv", "predictions.csv",
    ]  # fmt: skip
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "nothing to fit" not in page
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
        (row["condition"], row["agent"], row["mind"]): float(row["log_score"])
        for row in rows_of(files / "out/scores.csv")
    }
    mean = sum(float(row["log_score literal"]) for row in subjects if row["condition"] == "production") / 2
    assert mean == pytest.approx(scores["production", "people", "literal"])
    assert len(rows_of(files / "out" / "fits.csv")) == 2 * (2 + 3) + 2 * 4
    assert {row["kind"] for row in rows_of(files / "out" / "points.csv")} == {"target", "competitor", "distractor"}


@pytest.mark.slow
def test_json_is_printed_and_nothing_written(files):
    done = json.loads(bring(files, files / "out", "--json").stdout)
    assert (done["items"], done["people"], done["models"], done["failed"]) == (4, 2, ["gpt-x"], 1)
    log = files / "out" / "log.jsonl"
    options = ["--lapse", "0.2", "--join", "product", "--minds", "speaker=pragmatic:depth=2,literal"]
    content = json.loads(call("compare", log, "--json", *options).stdout)
    assert (content["lapse"], content["join"]) == (0.2, "product") and "LogNormal(1, 1)" in content["prior"]
    assert {row["mind"] for row in content["scores"] if row["condition"] == "production"} == {
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
    lapse = call("compare", log, "--minds", "listener=pragmatic:lapse=0.3")
    assert "'pragmatic:lapse=0.3': leave lapse out here; --lapse sets it for all minds" in told(lapse)
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


@pytest.mark.slow
def test_a_report_without_the_figures_that_there_is_nothing_for(files):
    """Literal minds alone: nothing has an alpha, so there are two figures less, and still a whole report."""
    bring(files, files / "out")
    options = ["--minds", "speaker=literal", "--minds", "listener=literal"]
    result = call("compare", files / "out" / "log.jsonl", *options)
    assert result.exit_code == 0, result.output
    page = (files / "out" / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png") == 2 and "{{" not in page  # minds, models
    assert not (files / "out" / "fits.png").exists() and not (files / "out" / "agents.png").exists()


def test_a_log_in_which_every_answer_failed(files):
    choices = [[*row.values()] for row in rows_of(files / "choices.csv")]
    head = ["subject", "condition", "trial", "response"]
    write_csv(files / "choices.csv", head, [[*row[:3], f"zzz{n}"] for n, row in enumerate(choices)])
    named = ["--items", files / "items.csv", "--choices", files / "choices.csv"]
    result = call("import", "reference", *named, "--out", files / "out")
    assert result.stdout.splitlines()[1:6] == [
        "16 decisions, 16 failed",
        "  16 responses that are none of the options:",
        *(f"    {files / 'choices.csv'}, line {n}: 'zzz{n - 2}'" for n in (2, 3, 4)),
    ]
    result = call("compare", files / "out" / "log.jsonl")
    assert result.exit_code == 0, result.output
    assert "production people: nothing to fit, all 8 answers failed." in result.stdout
    assert " *" not in result.stdout.replace("* explains", "") and "Alpha and error rate" not in result.stdout
    page = (files / "out" / "report.html").read_text(encoding="utf-8")
    assert "<b>people</b> as speaker: nothing to fit, all 8 answers failed." in page
    assert 'class="best' not in page and page.count("data:image/png") == 1
    assert rows_of(files / "out" / "fits.csv") == [] and rows_of(files / "out" / "points.csv") == []
    assert {row["best"] for row in rows_of(files / "out" / "scores.csv")} == {"no"}


def test_an_empty_score_is_counted_by_itself(files):
    rows = [[*row.values()] for row in rows_of(files / "scores_gpt-x.csv")]
    rows[1][1] = ""
    write_csv(files / "scores_gpt-x.csv", list(rows_of(files / "scores_gpt-x.csv")[0]), rows)
    lines = bring(files, files / "out").stdout.splitlines()
    assert lines[1:3] == ["24 decisions, 2 failed", "  1 response that is none of the options:"]
    assert lines[4] == "  1 of a model that did not score every option (an empty cell)"


def test_two_experiments_are_compared_together_under_names_of_their_own(files):
    """The same items and the same model: its scores count once, and it predicts both."""
    bring(files, files / "one")
    assert bring(files, files / "two", "--name", "children").exit_code == 0
    assert "--name: the people need one" in told(bring(files, files / "three", "--name", " "))
    logs = [files / folder / "log.jsonl" for folder in ("one", "two")]
    assert "complete" in call("validate", *logs).stdout
    content = json.loads(call("compare", *logs, "--json").stdout)
    fits = {(fit["agent"], fit["condition"], fit["mind"]): fit["decisions"] for fit in content["fits"]}
    assert {agent for agent, _, _ in fits} == {"people", "children", "gpt-x"}
    assert fits["gpt-x", "production", "pragmatic"] == 4 and fits["children", "production", "pragmatic"] == 8
    assert {(fit["agent"], fit["mind"]) for fit in content["models"]} == {("people", "gpt-x"), ("children", "gpt-x")}
    rows = [
        [row.pop("trial"), *(2 * float(cell) for cell in row.values())] for row in rows_of(files / "scores_gpt-x.csv")
    ]
    write_csv(files / "scores_gpt-x.csv", list(rows_of(files / "scores_gpt-x.csv")[0]), rows)
    bring(files, files / "other", "--name", "others")
    assert "'gpt-x' scored the same question otherwise" in told(call("compare", logs[0], files / "other" / "log.jsonl"))


def test_subjects_have_the_means_of_their_own_decisions(log):
    agents, _ = read_answers([log])
    comparison = compare(agents, lapse=0.2)
    write_subjects(log.parent / "subjects.csv", agents, comparison, 0.2)
    for row in rows_of(log.parent / "subjects.csv"):
        agent = next(a for a in agents if CONDITIONS[a.questions.role] == row["condition"] and a.agent == row["agent"])
        for spec in ("literal", "pragmatic", "pragmatic:slip=1e-7", "uniform"):
            log_p = comparison.log_policies.get((agent.questions.role, spec))
            if log_p is None:
                assert row[f"log_score {spec}"] == ""
                continue
            each = scores(agent, log_p, 0.2)
            own = [each[d] for d, subject in enumerate(agent.subjects) if subject == row["subject"]]
            assert float(row[f"log_score {spec}"]) == pytest.approx(sum(own) / len(own)) and len(own) == 4


def test_the_exit_codes_are_said():
    assert "0 done, 1 finished with failed games, 2 a wrong call" in " ".join(call("--help").stdout.split())


def test_figures_say_what_they_show(log, tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(plots, "write_at", lambda figure, left, top, text, **options: said.append(text))
    comparison = compare(read_answers([log])[0])
    plots.scatter([p for p in comparison.points if p.mind == "pragmatic"], tmp_path / "a.png", "agent")
    assert "predicted by pragmatic at its fit" in said
    assert any("Large open marks: means over items." in text for text in said)
    plots.scatter([p for p in comparison.points if p.agent == "people"], tmp_path / "b.png", "mind")
    assert "people, predicted by each mind or model at its fit" in said
    plots.intervals(comparison.fits, tmp_path / "c.png")
    assert any("mean and 95% interval" in text for text in said)


def test_there_is_nothing_to_draw_without_points(tmp_path):
    with pytest.raises(ValueError, match="points: there is none"):
        plots.scatter([], tmp_path / "x.png", "agent")
    with pytest.raises(ValueError, match="nothing to draw"):
        plots.intervals([], tmp_path / "x.png")
