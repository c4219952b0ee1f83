"""Language models as speakers and listeners, over a real socket: asked, resumed, counted, and compared with people."""

import asyncio
import json
import math

import numpy as np
import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from otherminds.games.reference.catalogue import items_of
from otherminds.games.reference.items import rearranged
from otherminds.games.reference.rules import Role
from otherminds.tom import cli
from otherminds.tom.experiments.journal import JournalError, canonical, read
from otherminds.tom.experiments.reference.asked import find_option
from otherminds.tom.experiments.reference.places import by_place, p_value, place_biases
from otherminds.tom.experiments.reference.records import order_of, read_answers, read_log
from otherminds.tom.experiments.reference.run import ReferenceSettings, order_of_sample, planned_trials, run
from otherminds.tom.experiments.reference.stated import calibrations, divergences, predictions_of_others
from otherminds.tom.experiments.validate import validate_log

MODEL = "vllm/fake"


def call(*arguments):
    return CliRunner().invoke(cli.main, [str(argument) for argument in arguments])


def listed(request):
    """The options that a request lists under letters, in their order."""
    lines = request["messages"][1]["content"].partition("Options:\n")[2].split("\n\n")[0].splitlines()
    return [line.partition(": ")[2] for line in lines]


def first_in_alphabet(completion):
    """A model that answers by what an option is, wherever it stands: with the first one of the alphabet."""

    def answered(request):
        asked = request["messages"][1]["content"]
        if "logprobs" in request:
            options = listed(request)
            masses = {
                letter: 0.8 if option == min(options) else 0.05 for letter, option in zip("ABCD", options, strict=False)
            }
            top = [{"token": letter, "logprob": math.log(p)} for letter, p in masses.items()]
            body = completion(top[0]["token"])
            body["choices"][0]["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
            return body
        fields = request["response_format"]["json_schema"]["schema"]["properties"]
        if "probabilities" in fields:
            options = listed(request)
            rest = 0.2 / (len(options) - 1)
            return json.dumps(
                {"probabilities": {"ABCD"[n]: 0.8 if o == min(options) else rest for n, o in enumerate(options)}}
            )
        if "answer" in fields:
            return json.dumps({"answer": "ABCD"[listed(request).index(min(listed(request)))]})
        key, form = next(iter(fields.items()))
        assert f'"{key}"' in asked
        return json.dumps({key: min(form["enum"])})

    return answered


def ask(server, path, **settings):
    settings = {"models": (MODEL,), "items": 2, "base_url": server.url, **settings}
    return asyncio.run(run(path, ReferenceSettings(**settings)))


@pytest.fixture
def model(fake_server, fake_completion):
    fake_server.script = [first_in_alphabet(fake_completion)]
    return fake_server


def test_models_and_people_stand_beside_the_same_minds(model, log, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    methods = ("choice", "logprobs", "stated", "sampling")
    path = tmp_path / "model" / "log.jsonl"
    done = ask(model, path, source=log, items=None, samples=3, methods=methods, roles=(Role.LISTENER,))
    assert (done.games, done.failed_games) == (4 * 4 * 3, 0)  # methods, items, orders
    assert "complete" in validate_log(path)

    agents, _ = read_answers([log, path])
    people = next(agent for agent in agents if agent.questions.role == Role.LISTENER)
    own = {agent.agent: agent for agent in agents if MODEL in agent.agent}
    assert people.agent == "people" and set(own) == {f"{MODEL}:elicitation={method}" for method in methods}
    assert len(people.questions.names) == 4  # the same questions for all
    chosen = own[f"{MODEL}:elicitation=choice"]
    assert not chosen.stated.any() and chosen.log_scores is None
    for name in ("logprobs", "stated"):
        agent = own[f"{MODEL}:elicitation={name}"]
        assert agent.stated.all() and np.allclose(agent.mass.sum(1), 1)
        assert np.array_equal(agent.mass.argmax(1), chosen.mass.argmax(1))  # by content, whatever the order
    assert own[f"{MODEL}:elicitation=logprobs"].missing == pytest.approx(0.1)  # 0.8, 0.05, 0.05
    for bias in place_biases(agents):
        assert bias.shares == pytest.approx([1 / 3] * 3)
        assert bias.p_value == 1

    result = call("compare", log, path, "--minds", "speaker=literal", "--minds", "listener=literal")
    assert result.exit_code == 0, result.output
    lines = [line for line in result.stdout.splitlines() if not line.startswith("wrote ")]
    assert max(map(cell_len, lines)) <= 80
    for title in ("How far are stated", "How true are they", "predict others' answers", "like a place"):
        assert title in result.stdout
    assert "  by vllm/fake:elicitation=stated" in result.stdout
    page = (log.parent / "report.html").read_text()
    assert "Stated probabilities, and places" in page and "elicitation" in page
    assert {"divergences.csv", "calibration.csv", "predictions.csv", "places.csv"} <= {
        each.name for each in log.parent.iterdir()
    }


def test_a_run_is_resumed_where_it_stopped_and_asks_nothing_twice(model, tmp_path):
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    ask(model, whole, samples=2)
    first = model.requests.copy()
    assert len(first) == 8 and first[0]["seed"] != first[1]["seed"]
    lines = whole.read_bytes().splitlines(keepends=True)
    for kept in (1, 2, 3, 12, len(lines) - 1):
        cut.write_bytes(b"".join(lines[:kept]) + b'{"torn')
        model.requests.clear()
        done = ask(model, cut, samples=2)
        decided = sum(b'"event":"decision"' in line for line in lines[:kept])
        assert (done.resumed_decisions, len(model.requests)) == (decided, 8 - decided)
        assert canonical(read(cut)) == canonical(read(whole))
    with pytest.raises(ValueError, match=r"another run.*seed 0 there, 1 here"):
        ask(model, cut, samples=2, seed=1)


@pytest.mark.parametrize("method", ["choice", "logprobs", "stated", "sampling"])
def test_answers_that_are_none_are_failures(method, fake_server, tmp_path):
    fake_server.script = ['{"word": "nonsense", "object": "nothing"}']
    path = tmp_path / "log.jsonl"
    done = ask(fake_server, path, methods=(method,), items=1)
    assert (done.games, done.failed_games) == (2, 2)
    log = read_log(path)
    for made in log.decisions.values():
        (line,) = made.values()
        assert line.action is None and line.probabilities is None and line.attempts[-1].error
        assert len(line.attempts) == {"choice": 2, "stated": 2}.get(method, 1)
    agents, _ = read_answers([path])
    assert not any(agent.answered.any() for agent in agents) and calibrations(agents, 0.05) == []
    assert "2 failed answers" in validate_log(path)


def test_what_is_asked_can_be_counted_before(model, tmp_path):
    options = ["--model", MODEL, "--base-url", model.url, "--items", 3, "--samples", 2]
    options += ["--elicitation", "choice,logprobs"]
    counted = call("run", "reference", *options, "--out", tmp_path / "out", "--dry-run", "--json")
    assert counted.exit_code == 0, counted.output
    expected = json.loads(counted.stdout)["dry_run"][0]
    assert not model.requests and not (tmp_path / "out").exists()
    ask(model, tmp_path / "log.jsonl", items=3, samples=2, methods=("choice", "logprobs"))
    assert (expected["answers"], expected["tokens_read"]) == (len(model.requests), model.prompt_tokens())


def test_a_command_asks_and_compares(model, tmp_path):
    model.script = [lambda request: '{"object": "3"}']  # numbers are those of the list that is shown
    options = ["--model", MODEL, "--base-url", model.url, "--role", "listener", "--items", 2, "--samples", 3]
    result = call("run", "reference", *options, "--minds", "listener=literal", "--out", tmp_path, "--json")
    assert result.exit_code == 0, result.output
    (bias,) = json.loads(result.stdout)["places"]
    assert bias["shares"] == [0, 0, 1] and bias["answers"] == 6


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--model", "nobody"], "write provider/name"),
        (["--model", "a/b:system=2"], "no option 'system'; here a model takes elicitation, think, temperature"),
        (["--model", "a/b:elicitation=guess"], "one of choice, logprobs, stated, sampling"),
        (["--model", "a/b:think=true", "--elicitation", "stated"], "thoughts stand before a choice"),
        (["--model", "a/b", "--elicitation", "guess"], "there are choice, logprobs, stated, sampling"),
        (["--model", "a/b", "--elicitation", ","], "name at least one"),
        (["--model", "a/b", "--items", "0"], "--items 0: at least 1"),
        (["--model", "a/b", "--samples", "0"], "--samples 0: at least 1"),
        (["--model", "a/b", "--lapse", "0"], "--lapse"),
        (["--model", "a/b", "--from", "nowhere.jsonl"], "no such"),
        (["--model", "a/b", "--from", "nowhere.csv", "--set", "random"], "leave one out"),
        (["--model", "a/b", "--minds", "listener=nobody"], "is no mind"),
    ],
)  # fmt: skip
def test_wrong_calls_are_told_in_one_line(options, told, tmp_path):
    result = call("run", "reference", *options, "--out", tmp_path / "out")
    assert result.exit_code == 2 and told in result.stderr and result.stderr.count("\n") == 1, result.output
    assert not (tmp_path / "out").exists()


def test_an_order_that_is_none_is_refused(model, tmp_path):
    path = tmp_path / "log.jsonl"
    ask(model, path, items=1)
    lines = path.read_text().splitlines()
    deal = json.loads(lines[1])
    for wrong in ({"objects": [0, 0, 1], "words": [0, 1, 2, 3]}, {"objects": [0, 1, 2]}, 3):
        deal["deal"]["shown"] = wrong
        path.write_text("\n".join([lines[0], json.dumps(deal), *lines[2:], ""]))
        with pytest.raises(JournalError, match="line 2"):
            read_log(path)


def test_every_option_stands_once_in_every_place():
    trials = planned_trials(ReferenceSettings((MODEL,), roles=(Role.SPEAKER,), items=1, samples=4))
    orders = [trial.order for trial in trials]
    assert all(sorted(column) == [0, 1, 2, 3] for column in zip(*(order.words for order in orders), strict=True))
    assert orders[0].objects == orders[3].objects  # three objects
    item = items_of("simple-implicature", 1, 0)[0]
    assert order_of_sample(item, 0, 0) == orders[0] and order_of_sample(item, 1, 0) != orders[0]
    assert orders[0] == order_of(trials[0].deal.deal)


def test_an_answer_is_read_in_the_order_shown():
    item = items_of("simple-implicature", 1, 0)[0]
    moved = rearranged(item, (2, 0, 1), (0, 1, 2, 3))
    assert find_option('{"object": 1}', moved, Role.LISTENER).action == 0
    assert find_option(json.dumps({"object": item.texts[2]}), moved, Role.LISTENER).action == 0


def test_a_liking_for_a_place_is_found_and_a_liking_for_an_option_is_not():
    random = np.random.default_rng(0)
    question = np.repeat(np.arange(10), 3)
    first = random.permuted(np.tile(np.arange(3), (10, 1)), axis=1)
    shown = np.concatenate([[np.roll(order, step) for step in range(3)] for order in first])
    by_content = np.eye(3)[np.repeat(random.integers(0, 3, 10), 3)]
    second = (shown == 1).astype(float)
    assert by_place(shown, second).tolist() == [0, 1, 0]
    assert p_value(shown, second, question, np.random.default_rng(1), 500) == pytest.approx(1 / 501)
    assert p_value(shown, by_content, question, np.random.default_rng(1), 500) == 1  # every place as often
    # Of independent orders and choices p is about uniform.
    found = []
    for _ in range(200):
        shown = random.permuted(np.tile(np.arange(3), (20, 1)), axis=1)
        mass = np.eye(3)[random.integers(0, 3, 20)]
        found.append(p_value(shown, mass, np.arange(20), random, 60))
    assert 0.4 < np.mean(found) < 0.65 and np.mean(np.array(found) < 0.1) < 0.2


def test_stated_probabilities_by_hand(model, tmp_path):
    path = tmp_path / "log.jsonl"
    ask(model, path, items=1, roles=(Role.LISTENER,), methods=("stated", "choice"))
    stated, chosen = read_answers([path])[0]
    policy = np.log([[0.5, 0.25, 0.25]])
    (row,) = divergences([stated, chosen], {(Role.LISTENER, "mind"): policy}, lapse=1e-9)
    p, q = stated.weights[0], np.exp(policy[0])
    assert row.kl == pytest.approx((p * np.log(p / q)).sum()) and row.decisions == 1
    (row,) = calibrations([stated, chosen], lapse=1e-9)
    right = stated.questions.kinds.index("target")
    assert row.confidence == pytest.approx(0.8) and row.right == float(p.argmax() == right)
    assert row.brier == pytest.approx(((p - np.eye(3)[right]) ** 2).sum())
    assert row.log_score == pytest.approx(math.log(p[right])) and row.uniform == pytest.approx(-math.log(3))
    (row,) = predictions_of_others([stated, chosen], lapse=1e-9)
    assert row.log_score == pytest.approx(math.log(0.8)) and row.model == stated.agent
