"""Theory-of-mind tasks asked about recorded games, over a real socket; and what rational minds answer beside."""

import asyncio
import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from otherminds.games.decrypto.rules import Role, code_text
from otherminds.tom import cli
from otherminds.tom.experiments.config import ConfigError
from otherminds.tom.experiments.decrypto.recordings import import_decrypto
from otherminds.tom.experiments.journal import JournalError, canonical, read
from otherminds.tom.experiments.tasks.readouts import readouts
from otherminds.tom.experiments.tasks.records import read_log, sheets, turns_of
from otherminds.tom.experiments.tasks.run import AskingSettings, ask_tasks, planned_tasks
from otherminds.tom.experiments.tasks.score import rational_sheets, scores
from otherminds.tom.experiments.validate import validate_log
from otherminds.tom.tasks.catalogue import TASKS
from otherminds.tom.tasks.false_belief import BEFORE, BELIEF, FALSE_BELIEF, OTHER
from otherminds.tom.tasks.perspective_taking import PERSPECTIVE_TAKING, PLAIN
from otherminds.tom.tasks.understanding import NAME, UNDERSTANDING

MODEL = "vllm/fake"
ALL = tuple(TASKS.values())


def recorded_game(tiny, first, turns):
    keywords = list(tiny.keywords[first : first + 4])
    history = []
    for turn in range(turns):
        code = code_text(7 * turn + first).replace("-", "")
        guess = [int(digit) for digit in code]
        wrong = [guess[1], guess[0], guess[2]]
        hints = [tiny.words[(11 * turn + 5 * place + first) % 40] for place in range(3)]
        history.append(
            {"keywords": keywords, "code": code, "hints": hints, "guess_bob": wrong if turn == 1 else guess,
             "guess_eve": guess if turn == 2 else [1, 1, 1] if turn == 1 else wrong}
        )  # fmt: skip
    return {"summarized_history": history}


@pytest.fixture(scope="module")
def recording(tiny, tmp_path_factory):
    folder = tmp_path_factory.mktemp("recording")
    (folder / "games.json").write_text(json.dumps([recorded_game(tiny, 0, 3), recorded_game(tiny, 2, 2)]))
    import_decrypto(folder / "games.json", tiny, log=folder / "log.jsonl")
    return folder / "log.jsonl"


def answered(request):
    """By what the answer is held to, as the model of these tests answers."""
    fields = request["response_format"]["json_schema"]["schema"]["properties"]
    shown = "The keywords are shown" in request["messages"][1]["content"]
    if "keywords" in fields:
        return json.dumps({"keywords": ["one", "two", "three", "four" if shown else "five"]})
    if "guess" in fields:
        return json.dumps({"guess": "1-2-3", "percent": 75})
    return '{"percent": 900}'  # no answer, however often it is asked


@pytest.fixture
def server(fake_server):
    fake_server.script = [answered]
    return fake_server


def settings(server, **others):
    return AskingSettings(**{"tasks": ALL, "models": (MODEL,), "base_url": server.url} | others)


def asked(recording, log, how):
    finished = asyncio.run(ask_tasks(recording, log, how))
    return finished, read_log(log)


def test_every_question_is_asked_apart_and_failures_count(recording, server, tmp_path):
    log = tmp_path / "log.jsonl"
    finished, whole = asked(recording, log, settings(server))
    # Turns: 3 and 2. Three questions of interceptors from the second on, three of encoders in each; a failed one twice.
    assert len(server.requests) == 3 * (2 + 1) + 2 * (3 + 2) + 2 * (3 + 2)
    assert finished.failed_games == 2
    conversations = [[each["role"] for each in request["messages"]] for request in server.requests]
    assert conversations.count(["system", "user"]) == 9 + 10 + 5 and len({len(roles) for roles in conversations}) == 2
    assert "24 decisions, 5 failed answers; complete" in validate_log(log)
    rows = {(row.task, row.measure): row for row in scores(sheets(whole), None)}
    strong = rows["false-belief", "false belief, strong"]
    assert (strong.total, strong.count) == (0, 3)
    assert (rows["false-belief", "false belief, weak"].total, rows["false-belief", "self-other consistency"].total) == (
        3,
        3,
    )
    assert (rows["understanding", "Brier"].mean, rows["understanding", "Brier"].failed) == (1, 5)
    brier = rows["perspective-taking", "Brier"]
    right = [turn.interceptor_guess == 0 for deal in whole.deals.values() for turn in turns_of(deal)
             if deal.deal["task"] == "perspective-taking"]  # fmt: skip
    assert brier.total == pytest.approx(sum((0.75 - happened) ** 2 for happened in right)) and brier.count == 5


def test_a_kill_loses_nothing_and_nothing_is_asked_twice(recording, server, tmp_path):
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    asked(recording, whole, settings(server))
    lines = whole.read_bytes().splitlines(keepends=True)
    cut.write_bytes(b"".join(lines[:12]) + lines[12][:40])
    decisions = sum(b'"event":"decision"' in line for line in lines[:12])
    before = len(server.requests)
    finished, _ = asked(recording, cut, settings(server))
    assert canonical(read(cut)) == canonical(read(whole))
    assert finished.resumed_decisions == decisions > 0 and len(server.requests) < 2 * before
    before = len(server.requests)
    asked(recording, cut, settings(server))
    assert len(server.requests) == before
    with pytest.raises(ConfigError, match="another run"):
        asked(recording, cut, settings(server, seed=1))


def test_who_is_asked(recording, server):
    from otherminds.tom.experiments import records

    log = records.read_log(recording)
    assert {plan.agent for plan in planned_tasks(log, settings(server))} == {MODEL}
    with pytest.raises(ConfigError, match="no language model sat"):
        planned_tasks(log, settings(server, models=()))
    with pytest.raises(ConfigError, match="no turn"):
        planned_tasks(log, settings(server, tasks=(FALSE_BELIEF,), most_turns=1))
    for model, told in (("rational", "provider/name"), ("vllm/m:role=44", "role=44")):
        with pytest.raises(ConfigError, match=told):
            asyncio.run(ask_tasks(recording, recording.with_name("never.jsonl"), settings(server, models=(model,))))
    log.deals = {game: deal.model_copy(update={"agents": deal.agents | {"interceptor": MODEL}})
                 for game, deal in log.deals.items()}  # fmt: skip
    assert {plan.task.name for plan in planned_tasks(log, settings(server, models=()))} == {"false-belief"}


def test_turns_after_a_loss_are_asked_about_on_request(tiny, server, tmp_path):
    game = recorded_game(tiny, 0, 3)
    for turn in game["summarized_history"]:
        turn["guess_eve"] = [int(digit) for digit in turn["code"]]
    (tmp_path / "games.json").write_text(json.dumps([game]))
    import_decrypto(tmp_path / "games.json", tiny, log=tmp_path / "log.jsonl")
    from otherminds.tom.experiments import records

    log = records.read_log(tmp_path / "log.jsonl")
    for after_loss, turns in ((False, 2), (True, 3)):
        (plan,) = planned_tasks(log, settings(server, tasks=(UNDERSTANDING,), after_loss=after_loss))
        assert len(plan.moments) == turns


def test_lines_that_cannot_come_at_their_place(recording, server, tmp_path):
    log = tmp_path / "log.jsonl"
    asked(recording, log, settings(server, tasks=(FALSE_BELIEF,)))
    lines = log.read_text().splitlines(keepends=True)
    for old, new, told in (
        ('"turn":1,"role":"belief"', '"turn":0,"role":"belief"', "is not asked in turn 0"),
        ('["one","two","three","five"]', '["one","two"]', "is no answer to belief"),
        ('"task":"false-belief"', '"task":"telepathy"', "no task 'telepathy'"),
        ('"hints":[', '"hints":[3,', "the recorded turns are not"),
    ):
        broken = tmp_path / "broken.jsonl"
        broken.write_text("".join(lines).replace(old, new, 1))
        with pytest.raises(JournalError, match=told):
            validate_log(broken)


def test_what_rational_minds_answer(recording, server, tiny, tmp_path):
    _, log = asked(recording, tmp_path / "log.jsonl", settings(server))
    found = sheets(log)
    (believed,) = rational_sheets(FALSE_BELIEF, [each for each in found if each.task == "false-belief"], tiny)
    for sheet in believed:
        for answers in sheet.answers:
            assert answers[BELIEF] == answers[BEFORE] == answers[OTHER]
            assert len(set(answers[BELIEF].action)) == 4 and set(answers[BELIEF].action) <= set(tiny.keywords)
    encoders = [each for each in found if each.task == "perspective-taking"]
    nested, bayesian = rational_sheets(PERSPECTIVE_TAKING, encoders, tiny)
    games = [(sheet.moments[-1].keywords, [moment.now for moment in sheet.moments]) for sheet in encoders]
    mind = readouts("bayesian:rule=softmax", Role.INTERCEPTOR, games, 8, tiny)
    for g, sheet in enumerate(bayesian):
        for moment, answers in zip(sheet.moments, sheet.answers, strict=True):
            log_p = mind["code"][g, moment.turn]
            assert answers[PLAIN].action == code_text(int(log_p.argmax()))
            assert answers[PLAIN].probability == pytest.approx(float(np.exp(log_p.max())))
            used = [turn.code for turn in moment.past]
            assert np.isneginf(log_p[used]).all()  # belief before the turn ends: earlier codes are known, this one not
    rational = readouts("rational", Role.ENCODER, games, 8, tiny)
    for name in ("interceptor_guess", "decoder_guess"):
        assert np.exp(rational[name][0, :3]).sum(-1) == pytest.approx(1, abs=1e-4)
    assert nested[0].answers[0][PLAIN].probability == pytest.approx(
        float(np.exp(rational["interceptor_guess"][0, 0].max()))
    )
    (heard,) = rational_sheets(UNDERSTANDING, [each for each in found if each.task == "understanding"], tiny)
    p = np.exp(rational["decoder_guess"][0, 0, heard[0].moments[0].now.code])
    said = heard[0].answers[0][NAME]
    assert (said.probability if said.action == "yes" else 1 - said.probability) == pytest.approx(float(p), abs=1e-5)


def test_the_command_and_its_report(recording, server, tiny_files, tmp_path):
    words = [part for name, file in tiny_files.items() for part in (f"--{name}", file)]
    call = ["ask", str(recording), "--model", MODEL, "--base-url", server.url, "--out", str(tmp_path), *words]
    run = CliRunner()
    done = run.invoke(cli.main, call)
    assert done.exit_code == 1, done.output  # answers failed
    for told in (
        "false-belief",
        "bayesian interceptor (rational)",
        "representational change, strong",
        "0/3",
        "5 failed",
    ):
        assert told in done.output
    with (tmp_path / "scores.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["who"] for row in rows} == {
        MODEL, "bayesian interceptor", "rational encoder's interceptor", "rational encoder's decoder",
    }  # fmt: skip
    with (tmp_path / "answers.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 24
    page = (tmp_path / "report.html").read_text()
    assert "theory-of-mind tasks" in page and "data:image/png" in page and "is no per cent" in page
    assert (tmp_path / "tasks.png").stat().st_size > 5_000
    again = run.invoke(cli.main, ["compare", str(tmp_path / "log.jsonl"), "--json", *words])
    assert {row["task"] for row in json.loads(again.stdout)} == set(TASKS)
    for options, told in ((["--task", "telepathy"], "no such task"), (["--turns", "0"], "at least 1")):
        wrong = run.invoke(cli.main, [*call, *options])
        assert wrong.exit_code == 2 and told in wrong.output
