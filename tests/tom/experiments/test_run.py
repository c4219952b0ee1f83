"""Runs: what is written, what a kill loses (the call in flight), and what is refused before anything starts."""

import asyncio
import json
import signal
import subprocess
import sys
import time
import zlib

import pytest
from click.testing import CliRunner

from otherminds.games.decrypto.rules import code_text
from otherminds.games.decrypto.text import rules_text
from otherminds.tom import cli
from otherminds.tom.experiments import defaults, journal
from otherminds.tom.experiments.config import ConfigError, validated
from otherminds.tom.experiments.run import UNANSWERED, planned_games, run
from otherminds.tom.experiments.validate import validate_log
from otherminds.tom.llm.client import GenerationSettings, ModelError

MODEL = "vllm/fake"
RATIONAL = "rational:k=3,pool=10,decoder=literal,interceptor=bayesian"
PATIENT = GenerationSettings(max_retries=0, timeout=10.0)
WORD = [{"role": "user", "content": "Say ok."}]


@pytest.fixture
def server(fake_server, tiny):
    """Answers every role, always with the same words."""
    fake_server.script = [json.dumps({"hints": list(tiny.words[30:33]), "guess": "1-2-3"})]
    return fake_server


def config_of(server, **changes):
    settings = {
        "encoder": ("baseline", MODEL),
        "decoder": ("literal", MODEL),
        "interceptor": ("bayesian",),
        "seeds": (0,),
        "episodes": 1,
        "turns": 3,
        "base_url": server.url,
        "generation": PATIENT,
    }
    return validated(**(settings | changes))


def play(config, vocabulary, path, **options):
    return asyncio.run(run(config, vocabulary, path, **options))


def canonical(path):
    return journal.canonical(journal.read(path))


def decisions(path):
    return [line for line in journal.read(path) if isinstance(line, journal.Decision)]


def asked_seeds(server):
    """The seeds of the calls, one a decision and attempt; None for a call about no decision."""
    return [request.get("seed") for request in server.requests]


# What is written


def test_a_run_is_written_whole(server, tiny, tmp_path):
    path, games, made = tmp_path / "deep" / "log.jsonl", [], []
    config = config_of(server)
    finished = play(
        config, tiny, path, on_game=games.append, on_decision=lambda: made.append(len(path.read_bytes().splitlines()))
    )
    assert "3 of 3 games over" in validate_log(path) and validate_log(path).endswith("complete")
    assert (finished.games, finished.failed_games, finished.resumed_decisions) == (3, 0, 0)
    assert sorted(games, key=str) == sorted(planned_games(config), key=str)
    log = list(journal.read(path))
    assert made == [number for number, line in enumerate(log, 1) if isinstance(line, journal.Decision)]
    assert log[0].config["encoder"] == ["baseline", MODEL] and log[0].vocabulary == tiny.name
    assert {"otherminds", "jax", "python", "device"} <= log[0].versions.keys()
    deals = [(line.keywords, line.codes) for line in log if isinstance(line, journal.GameBegun)]
    assert all(deal == deals[0] for deal in deals)  # games of one seed and episode differ by their players alone
    for line in decisions(path):
        by_model = line.agent == MODEL
        assert bool(line.attempts) == bool(line.usage) == by_model and (line.log_probability is None) >= by_model
        assert line.observation.keys() == {"miscommunications", "interceptions"} | {
            "encoder": {"keywords", "code"},
            "decoder": {"keywords", "hints"},
            "interceptor": {"hints"},
        }.get(line.role)
    model = [line for line in decisions(path) if line.agent == MODEL]
    assert len(server.requests) == len(model) == len(set(asked_seeds(server)))
    assert all(line.usage == {"prompt_tokens": 10, "completion_tokens": 3, "requests": 1} for line in model)


def test_failed_answers_stay_in_the_log_and_count(server, tiny, tmp_path):
    server.script = ["I would rather not."]
    config, path = config_of(server, max_attempts=2), tmp_path / "log.jsonl"
    finished = play(config, tiny, path)
    failed = [line for line in decisions(path) if line.agent == MODEL]
    assert failed and all(line.action is None and len(line.attempts) == 2 for line in failed)
    assert (finished.games, finished.failed_games) == (3, 2)
    assert "valid" in validate_log(path)
    calls = len(server.requests)
    again = play(config, tiny, path)
    assert (again.failed_games, again.resumed_decisions) == (2, len(decisions(path)))
    assert len(server.requests) == calls == 2 * len(failed)


# What a kill loses


@pytest.fixture(scope="module")
def uninterrupted():
    """The log of a run, made by the first test that needs it."""
    return {}


def whole_log(uninterrupted, server, tiny, tmp_path):
    """The lines of an uninterrupted run, and its configuration but for the server's address."""
    if not uninterrupted:
        path = tmp_path / "whole.jsonl"
        play(config_of(server), tiny, path)
        uninterrupted["lines"] = path.read_bytes().splitlines(keepends=True)
        server.requests.clear()
    begun = json.loads(uninterrupted["lines"][0])
    begun["config"]["base_url"] = server.url  # a new port for every test
    lines = [json.dumps(begun).encode() + b"\n", *uninterrupted["lines"][1:]]
    (tmp_path / "whole.jsonl").write_bytes(b"".join(lines))
    return lines, canonical(tmp_path / "whole.jsonl")


@pytest.mark.parametrize("torn", [False, True], ids=["between lines", "in a line"])
def test_a_run_killed_anywhere_goes_on_to_the_same_log(uninterrupted, server, tiny, tmp_path, torn):
    lines, expected = whole_log(uninterrupted, server, tiny, tmp_path)
    config, path = config_of(server), tmp_path / "log.jsonl"
    for count in range(len(lines)) if torn else range(len(lines) + 1):
        half = lines[count][: 1 + 17 * count % (len(lines[count]) - 1)] if torn else b""
        path.write_bytes(b"".join(lines[:count]) + half)
        server.requests.clear()
        made = [json.loads(line) for line in lines[:count] if json.loads(line)["event"] == "decision"]
        missing = [json.loads(line) for line in lines[count:] if json.loads(line)["event"] == "decision"]
        finished = play(config, tiny, path)
        assert canonical(path) == expected
        assert path.read_bytes().startswith(b"".join(lines[:count]))
        assert finished.resumed_decisions == len(made)
        assert len(server.requests) == sum(line["agent"] == MODEL for line in missing)
        assert len(set(asked_seeds(server))) == len(server.requests)


def test_minds_alone_go_on_too(tiny, tmp_path):
    config = validated(encoder=(RATIONAL,), decoder=("literal",), interceptor=("bayesian",), turns=3, seeds=(0, 1))
    path = tmp_path / "log.jsonl"
    play(config, tiny, path)
    lines, expected = path.read_bytes().splitlines(keepends=True), canonical(path)
    for count in range(0, len(lines), 3):
        path.write_bytes(b"".join(lines[:count]))
        play(config, tiny, path)
        assert canonical(path) == expected


# Chats, wordings and personas

CHATS = {
    "encoder": ('vllm/fake:context=chat,persona="You grew up by the sea."',),
    "decoder": ("vllm/fake:context=chat,errors=cut,role=3,temperature=0.5", MODEL),
    "interceptor": ("vllm/fake:context=chat,system=2,think=true",),
    "max_attempts": 2,
}


def fickle(words):
    """A server whose answer depends on every word that it is sent, and is no answer now and then."""

    def answer(request):
        number = zlib.crc32(json.dumps(request["messages"]).encode())
        if number % 5 < 2:
            return "I would rather not."
        hints = [words[20 + (number >> shift) % 20] for shift in (4, 9, 14)]
        return "ANSWER: " + json.dumps({"hints": hints, "guess": code_text(number % 24)})

    return answer


def sent(server):
    """What was sent, with the seed; tables of one deal share their seeds."""
    return {json.dumps([request["seed"], request["messages"]]) for request in server.requests}


def test_a_chat_goes_on_after_a_kill_with_the_same_words(server, tiny, tmp_path):
    server.script = [fickle(tiny.words)]
    config, whole, path = config_of(server, **CHATS), tmp_path / "whole.jsonl", tmp_path / "log.jsonl"
    play(config, tiny, whole)
    lines, expected, told = whole.read_bytes().splitlines(keepends=True), canonical(whole), sent(server)
    made = decisions(whole)
    assert {line.action is None for line in made} == {True, False}
    assert {len(line.attempts) for line in made} == {1, 2}
    for count in range(2, len(lines), 2):
        path.write_bytes(b"".join(lines[:count]))
        server.requests.clear()
        play(config, tiny, path)
        assert canonical(path) == expected
        assert sent(server) <= told


def test_each_agent_is_asked_as_it_is_written(server, tiny, tmp_path):
    server.script = [fickle(tiny.words)]
    play(config_of(server, **CHATS), tiny, tmp_path / "log.jsonl")
    chats = [request for request in server.requests if len(request["messages"]) > 2]
    assert chats
    for request in server.requests:
        system, first, *rest = request["messages"]
        turns = [first, *rest]
        assert [message["role"] for message in turns] == ["user", "assistant"] * (len(turns) // 2) + ["user"]
        if "You grew up by the sea." in first["content"]:
            assert "You are the encoder" in first["content"] and system["content"] == rules_text(3)
        elif "The hints were made for you" in first["content"]:
            assert request["temperature"] == 0.5
            asked_again = [message for message in rest[:-1] if "no valid answer:" in message["content"]]
            assert not asked_again  # failed answers of earlier turns are cut
        elif system["content"] == rules_text(3, 2):
            assert "response_format" not in request and turns[-1]["content"].count("ANSWER:") <= 1
        else:
            assert len(turns) <= 3 and "This is turn" in first["content"]  # every turn by itself
    agents = {line.agent for line in decisions(tmp_path / "log.jsonl")}
    assert agents == {*CHATS["encoder"], *CHATS["decoder"], *CHATS["interceptor"]}


def test_a_wording_that_does_not_exist_is_refused_before_anything_is_asked(server, tiny, tmp_path):
    for agents, message in ((("vllm/fake:system=9",), "system=9"), (("vllm/fake:persona=nobody",), "'nobody'")):
        with pytest.raises(ConfigError, match=message):
            play(config_of(server, encoder=agents), tiny, tmp_path / "log.jsonl")
    assert not server.requests and not (tmp_path / "log.jsonl").exists()


def test_a_finished_run_calls_nobody(uninterrupted, server, tiny, tmp_path):
    _, expected = whole_log(uninterrupted, server, tiny, tmp_path)
    server.models = (500, b"down")
    play(config_of(server), tiny, tmp_path / "whole.jsonl")
    assert not server.requests and canonical(tmp_path / "whole.jsonl") == expected


def test_how_patiently_a_server_is_called_may_change(uninterrupted, server, tiny, tmp_path):
    lines, expected = whole_log(uninterrupted, server, tiny, tmp_path)
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(lines[:12]))
    patient = GenerationSettings(max_retries=1, timeout=20.0, max_connections=1)
    config = config_of(server, generation=patient)
    assert config.digest() == config_of(server).digest()
    play(config, tiny, path)
    assert canonical(path)[1:] == expected[1:]


def test_kills_of_the_command_lose_the_call_in_flight_alone(server, tiny, tiny_files, tmp_path):
    """Ctrl-C, then a real kill, then to the end in this process."""
    out, text = tmp_path / "out", server.script[0]

    def slowly(request):
        time.sleep(0.05)
        return text

    server.script = [slowly]
    # A background job inherits that Ctrl-C is ignored; a user's terminal does not.
    script = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from otherminds.tom.cli import main; main()"
    )
    command = [sys.executable, "-c", script, "run", "decrypto", "--out", str(out), "--seeds", "3"]
    command += ["--model", MODEL, "--base-url", server.url, "--max-connections", "1"]
    command += ["--encoder", "model", "--decoder", "model", "--interceptor", "model"]  # no mind to compile
    command += [f"--{name}={path}" for name, path in tiny_files.items()]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}

    def lines():
        return (out / "log.jsonl").read_bytes().count(b"\n") if (out / "log.jsonl").exists() else 0

    for number, stop in ((6, signal.SIGINT), (16, signal.SIGKILL)):
        with subprocess.Popen(command, **pipes) as process:
            deadline = time.monotonic() + 120
            while lines() < number and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            process.send_signal(stop)
            _, said = process.communicate(timeout=60)
        if stop == signal.SIGINT:
            assert process.returncode == 130
            assert said.splitlines()[-1] == "otherminds: stopped; the same command goes on where it stopped"
        else:
            assert process.returncode == -signal.SIGKILL
        assert all(line.startswith(("playing: ", "otherminds: ")) for line in said.splitlines())
        assert "the same command goes on" in validate_log(out / "log.jsonl")
    config = validated(**next(journal.read(out / "log.jsonl")).config)
    play(config, tiny, out / "log.jsonl")
    calls = asked_seeds(server)
    play(config, tiny, tmp_path / "log.jsonl")
    assert canonical(out / "log.jsonl") == canonical(tmp_path / "log.jsonl")
    made = sum(line.agent == MODEL for line in decisions(out / "log.jsonl"))
    assert len(set(calls)) == made and len(calls) <= made + 2  # a call in flight for each kill


# Models that go, and that come back


def test_a_model_that_goes_stops_the_run_and_is_asked_again(uninterrupted, server, tiny, tmp_path):
    _, expected = whole_log(uninterrupted, server, tiny, tmp_path)
    text, config = server.script[0], config_of(server)
    total = sum(line.get("agent") == MODEL for line in expected)
    assert total > 2
    for calls, error in ((0, (500, b"down")), (1, b"no chat completion"), (total - 1, {"error": "overloaded"})):
        path = tmp_path / f"{calls}.jsonl"
        server.script, server.requests[:] = [*[text] * calls, error], []
        with pytest.raises(ModelError) as raised:
            play(config, tiny, path)
        assert f"{MODEL}: no answer to {UNANSWERED} calls in a row" in str(raised.value)
        assert f"what was answered is in {path}, the same command goes on with it" in str(raised.value)
        assert "\n" not in str(raised.value)
        made = [line for line in decisions(path) if line.agent == MODEL]
        assert len(made) == calls and all(line.action is not None for line in made)
        assert "valid" in validate_log(path)
        server.script, server.requests[:] = [text], []
        play(config, tiny, path)
        assert canonical(path) == expected
        assert len(server.requests) == sum(line.agent == MODEL for line in decisions(path)) - calls


def test_one_refused_prompt_is_a_failed_answer(server, tiny, tmp_path):
    text, config = server.script[0], config_of(server)
    play(config, tiny, tmp_path / "whole.jsonl")
    refused = sorted(asked_seeds(server))[len(server.requests) // 2]
    server.script = [lambda request: (400, b"flagged") if request.get("seed") == refused else text]
    server.requests.clear()
    finished = play(config, tiny, tmp_path / "log.jsonl")
    failed = [line for line in decisions(tmp_path / "log.jsonl") if line.action is None]
    assert len(failed) == finished.failed_games == 1 and "400" in failed[0].attempts[0].error
    assert [request["messages"] for request in server.requests if "seed" not in request] == [WORD]
    assert "1 failed answers; complete" in validate_log(tmp_path / "log.jsonl")


def test_a_call_that_fails_now_and_then_stops_nothing(server, tiny, tmp_path):
    text = server.script[0]
    server.script = [text, (500, b""), (500, b""), "ok", text, (500, b""), "ok", text]
    finished = play(
        config_of(server, generation=GenerationSettings(max_retries=0, max_connections=1)), tiny, tmp_path / "l"
    )
    assert sum(line.action is None for line in decisions(tmp_path / "l")) == 2 and finished.failed_games >= 1


def test_a_refused_key_stops_the_run_at_once(server, tiny, tmp_path):
    server.script = [server.script[0], (401, b"")]
    with pytest.raises(ModelError, match=r"refuses the key .*VLLM_API_KEY; what was answered is in .* goes on with it"):
        play(config_of(server), tiny, tmp_path / "log.jsonl")
    assert all(line.action is not None for line in decisions(tmp_path / "log.jsonl"))


def test_a_fault_in_one_game_stops_the_run_with_its_own_trace(server, tiny, tmp_path):
    def broken(planned):
        raise ZeroDivisionError("a fault")

    with pytest.raises(ZeroDivisionError, match="a fault"):
        play(config_of(server), tiny, tmp_path / "log.jsonl", on_game=broken)


# What is refused


def test_the_log_of_another_run_is_left_as_it_is(uninterrupted, server, tiny, tmp_path):
    lines, _ = whole_log(uninterrupted, server, tiny, tmp_path)
    path, config = tmp_path / "log.jsonl", config_of(server)
    begun = json.loads(lines[0])

    def first(**changes):
        return json.dumps(begun | changes).encode() + b"\n"

    cases = [
        (first(config=begun["config"] | {"seeds": [0, 1]}), ConfigError, "another run"),
        (first(config=begun["config"] | {"max_attempts": 7}), ConfigError, "another run"),
        (first(config={"encoder": []}), ConfigError, "another run"),
        (first(config={"self": 1}), ConfigError, "another run"),
        (first(vocabulary="other"), ConfigError, "another run"),
        (first(schema_version=2), journal.JournalError, "line 1: schema version 2"),
        (first(game="chess"), journal.JournalError, "line 1: .*chess"),
        (b"garbage\n" + lines[0], journal.JournalError, "line 1: not JSON"),
        (lines[0] + lines[1] + b"garbage\n" + lines[2], journal.JournalError, "line 3: not JSON"),
        (lines[0] + lines[1] + lines[2][:20] + lines[3], journal.JournalError, "line 3: not JSON"),
        (lines[0] + lines[1] + lines[1], journal.JournalError, "line 3: .*begins twice"),
        (lines[1], journal.JournalError, "line 1: a log begins with run_begun"),
    ]
    for content, error, message in cases:
        path.write_bytes(content + b'{"torn')
        with pytest.raises(error, match=message) as raised:
            play(config, tiny, path)
        assert str(path) in str(raised.value) and "\n" not in str(raised.value)
        assert path.read_bytes() == content + b'{"torn' and not server.requests


def test_a_game_that_was_dealt_otherwise_is_not_played_on(uninterrupted, server, tiny, tmp_path):
    lines, _ = whole_log(uninterrupted, server, tiny, tmp_path)
    deal = json.loads(lines[1])
    deal["codes"].reverse()
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines[0] + json.dumps(deal).encode() + b"\n")
    with pytest.raises(journal.JournalError, match="was dealt other keywords or codes than here"):
        play(config_of(server), tiny, path)


def test_a_log_that_is_being_written_is_refused(server, tiny, tmp_path):
    path = tmp_path / "log.jsonl"
    with journal.Writer(path), pytest.raises(journal.JournalError, match="another run is writing this log"):
        play(config_of(server), tiny, path)


def bad_files(folder):
    folder.mkdir()
    files = {"odd": "ant\nbee\nqwertzuiop\ndog\n", "few": "ant\n", "short": "ant 1 2\nbee 1\n", "text": "no vectors\n"}
    for name, content in files.items():
        (folder / name).write_text(content)
    return folder


WRONG = {
    "unknown mind": (["--encoder", "nobody"], "'nobody': neither a mind (baseline"),
    "mind of another role": (["--decoder", "bayesian"], "'bayesian': neither a mind"),
    "unknown option": (["--decoder", "literal:depth=3"], "no option 'depth'"),
    "bad option": (["--decoder", "literal:beta=x"], "beta='x'"),
    "bad choice": (["--decoder", "literal:rule=best"], "rule='best'"),
    "K = 0": (["--encoder", "baseline:k=0"], "k"),
    "K = 0, rational": (["--encoder", "rational:k=0"], "k"),
    "too many dimensions": (["--decoder", "literal:dimensions=9"], "dimensions=9: the vectors have 8"),
    "no vectors of its own": (["--decoder", "literal:vectors=FILES/none"], "FILES/none: no such file"),
    "shadow's dimensions": (["--minds", "decoder=literal:dimensions=9"], "dimensions=9: the vectors have 8"),
    "shadow's vectors": (["--minds", "decoder=literal:vectors=FILES/none"], "FILES/none: no such file"),
    "mind's lapse": (["--encoder", "baseline:lapse=2"], "lapse"),
    "unknown provider": (["--decoder", "nobody/x"], "provider 'nobody'"),
    "no model": (["--decoder", "vllm/"], "vllm/"),
    "missing key": (["--decoder", "openai/gpt-4o"], "OPENAI_API_KEY"),
    "missing local file": (["--decoder", "local/none.gguf"], "none.gguf"),
    "unreachable server": (["--decoder", "vllm/x", "--base-url", "http://127.0.0.1:1/v1"], "no server answers"),
    "no server": (["--decoder", "vllm/x", "--base-url", "127.0.0.1"], "no http(s) address"),
    "unknown model": (["--decoder", "vllm/other", "--base-url", "SERVER"], "no model 'other'"),
    "keyword without vector": (["--keywords", "FILES/odd"], "'qwertzuiop'"),
    "few keywords": (["--keywords", "FILES/few"], "at least 4"),
    "no keyword file": (["--keywords", "FILES/none"], "FILES/none"),
    "no vector file": (["--vectors", "FILES/none"], "no such file"),
    "malformed vectors": (["--vectors", "FILES/text"], "FILES/text, line 1"),
    "short vectors": (["--vectors", "FILES/short"], "FILES/short, line 2"),
    "episodes": (["--episodes", "0"], "--episodes 0"),
    "seeds": (["--seeds", "0"], "--seeds 0"),
    "no number": (["--seeds", "many"], "'many'"),
    "attempts": (["--max-attempts", "0"], "'--max-attempts': 0 is not in the range"),
    "connections": (["--max-connections", "0"], "--max-connections 0: must be from 1 to 100000"),
    "timeout": (["--timeout", "0"], "--timeout 0.0: must be at least 0.001"),
    "temperature": (["--temperature", "9"], "--temperature 9.0: must be from 0 to 2"),
    "no lapse": (["--lapse", "0"], "--lapse 0"),
    "lapse": (["--lapse", "1.5"], "--lapse 1.5"),
    "lapse is no number": (["--lapse", "nan"], "'--lapse': nan is no finite number"),
    "unknown shadow": (["--minds", "decoder=nobody"], "'nobody' is no mind for the decoder"),
    "shadow's role": (["--minds", "judge=literal"], "judge"),
    "no shadow": (["--minds", "decoder="], "at least one mind"),
    "shadow of a model": (["--minds", "decoder=openai/gpt-4o"], "is no mind for the decoder"),
    "no model for it": (["--encoder", "model"], "--encoder: `model`"),
    "no agent": (["--encoder", " , "], "--encoder ' , '"),
    "no model at the server": (["--base-url", "SERVER"], "say with --model"),
    "model without provider": (["--model", "gpt-4o"], "--model 'gpt-4o': write provider/name"),
    "design": (["--design", "sphere"], "sphere"),
    "model's option": (["--encoder", "vllm/x:colour=red"], "no option 'colour'; a language model takes system"),
    "no persona": (["--encoder", "vllm/x:persona=kyoto"], "no persona 'kyoto'; give them with --personas FILE"),
    "no file of personas": (["--personas", "FILES/none"], "FILES/none: no such file"),
    "odd file of personas": (["--personas", "FILES/odd"], "no TOML"),
    "teams": (["--design", "competition", "--encoder", "baseline,literal"], "2 encoders and 1 decoders"),
    "two interceptors": (
        ["--design", "coordination", "--interceptor", "baseline,bayesian"],
        "one interceptor meets every pair",
    ),
    "unknown flag": (["--fast"], "--fast"),
    "out is a file": (["--out", "FILES/odd"], "FILES/odd"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_is_told_in_one_line_before_anything_starts(server, tiny_files, tmp_path, monkeypatch, case):
    asked, message = WRONG[case]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(defaults, "local_model_installed", lambda: False)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "VLLM_API_KEY", "VLLM_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    bad_files(tmp_path / "FILES")
    files = [part for name, path in tiny_files.items() for part in (f"--{name}", path)]
    seats = ["--encoder", "baseline", "--decoder", "literal", "--interceptor", "bayesian", "--out", "out"]
    result = CliRunner().invoke(
        cli.main, ["run", "decrypto", *seats, *files, *(part.replace("SERVER", server.url) for part in asked)]
    )
    assert result.exit_code == 2, result.output
    assert message in result.stderr and result.stderr.count("\n") == 1 and result.stderr.startswith("otherminds: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["FILES"] and not server.requests


def test_a_model_that_goes_is_told_in_one_line(server, tiny_files, tmp_path):
    server.script = [(500, b"")]
    files = [part for name, path in tiny_files.items() for part in (f"--{name}", path)]
    command = ["run", "decrypto", *files, "--model", MODEL, "--base-url", server.url, "--out", str(tmp_path / "out")]
    command += ["--encoder", "baseline", "--decoder", "model", "--interceptor", "baseline", "--max-retries", "0"]
    result = CliRunner().invoke(cli.main, command)
    assert result.exit_code == 2 and result.stderr.count("otherminds: ") == 1
    told = result.stderr.splitlines()[-1]
    assert "no answer to 3 calls in a row" in told and "the same command goes on with it" in told
    assert all(line.agent != MODEL for line in decisions(tmp_path / "out" / "log.jsonl"))
