"""The published human games as a log, and again with the baselines in a seat."""

import asyncio
import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from otherminds.games.decrypto.rules import Role
from otherminds.games.decrypto.vocabulary import make
from otherminds.tom import cli
from otherminds.tom.experiments.compare import compare, outcomes
from otherminds.tom.experiments.config import ConfigError
from otherminds.tom.experiments.csv_rows import RecordingError
from otherminds.tom.experiments.decrypto.recordings import import_decrypto, read_games
from otherminds.tom.experiments.decrypto.replay import ReplaySettings, planned_games, replaced_by, replay
from otherminds.tom.experiments.decrypto.standing import standing, summaries, turns_played
from otherminds.tom.experiments.journal import JournalError, canonical, read
from otherminds.tom.experiments.records import read_games as log_games
from otherminds.tom.experiments.records import read_log
from otherminds.tom.experiments.validate import validate_log

ENDINGS = {"intercept": "interception", "miscomm": "miscommunication", "survived": "survived", "both": "both"}


@pytest.fixture(scope="module")
def published(shared):
    return json.loads((shared / "golden/decrypto/human_replay.json").read_text())


@pytest.fixture(scope="module")
def reference_words(shared):
    """The words of the games with the reference's vectors; a word that has none is a row of ones there."""
    games = json.loads((shared / "data/decrypto/human_games.json").read_text())
    with np.load(shared / "golden/decrypto/standin_vectors.npz") as stored:
        vectors = dict(zip(stored["words"].tolist(), stored["vectors"], strict=True))
    keywords = list(dict.fromkeys(word for game in games for word in game["summarized_history"][0]["keywords"]))
    said = [hint for game in games for turn in game["summarized_history"] for hint in turn["hints"]]
    words = list(dict.fromkeys([*keywords, *said]))
    ones = np.ones(100, np.float32)
    return make(words, np.stack([vectors.get(word, ones) for word in words]), keywords, "reference")


@pytest.fixture(scope="module")
def imported(shared, reference_words, tmp_path_factory):
    log = tmp_path_factory.mktemp("human") / "log.jsonl"
    return import_decrypto(shared / "data/decrypto/human_games.json", reference_words, log=log)


@pytest.fixture(scope="module")
def replayed(imported, reference_words, tmp_path_factory):
    log = tmp_path_factory.mktemp("replay") / "log.jsonl"
    replaced = replaced_by([(Role.DECODER, ["baseline"]), (Role.INTERCEPTOR, ["baseline"])])
    asyncio.run(replay(imported.log, reference_words, log, ReplaySettings(replaced)))
    return log


def csv_of(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def same(summary, expected):
    assert (summary.games, summary.miscommunications, summary.interceptions) == (
        expected["n"],
        expected["miscomms"],
        expected["intercepts"],
    )
    assert summary.turns == pytest.approx(expected["turns"])
    assert summary.endings["unfinished"] == expected["no_end"]
    for theirs, ours in ENDINGS.items():
        assert summary.endings[ours] == expected["end"][theirs]


def game_by_game(log, games):
    stood = [standing(turns_played(log.deals[game], log.decisions[game]), 8) for game in games]
    return [[each.miscommunications, each.interceptions, float(each.turns)] for each in stood]


def test_recorded_people_and_their_interceptor(imported, published, reference_words):
    log = read_log(imported.log)
    expected = published["human_Bob+recorded_Llama70B_Eve"]
    (row,) = summaries(log)
    same(row, expected)
    assert game_by_game(log, log.over) == expected["per_game"]
    assert row.agents == ("human-encoder", "human-decoder", "llama-3.1-70b")
    assert (imported.games, imported.turns, imported.hints) == (10, 72, published["human_hints"]["total"])
    failed = [line for made in log.decisions.values() for line in made.values() if line.action is None]
    assert [line.attempts[0].text for line in failed] == ["2-3-3", "2-2-4"] and imported.failed == 2
    (outcome,) = outcomes(log_games([imported.log], reference_words))  # `compare` counts alike: up to the loss
    counted = [round(10 * each) for each in (outcome.miscommunications, outcome.interceptions)]
    assert counted == [expected["miscomms"], expected["intercepts"]] and outcome.turns == expected["turns"]
    assert "10 of 10 games over, 216 decisions, 2 failed answers; complete" in validate_log(imported.log)


def test_recorded_words_stay_as_they_are(imported):
    log = read_log(imported.log)
    assert log.decisions["human_games 1"][4, Role.ENCODER].action[0] == "j. r. r. tolkien"
    assert log.decisions["human_games 1"][6, Role.ENCODER].action[0] == "ETH"
    for deal in log.deals.values():
        assert len(deal.codes) == len(set(deal.codes)) == 8


def test_the_baseline_in_a_seat_fares_as_published(replayed, published):
    """To the token, game by game: with the reference's vectors, and a row of ones for words that have none."""
    log = read_log(replayed)
    decoding, intercepting = summaries(log)
    names = ("human_Alice+baseline_Bob(wink100d)+recorded_Eve", "human_Alice+human_Bob+baseline_Eve(wink100d)")
    for row, name, role in zip((decoding, intercepting), names, ("decoder", "interceptor"), strict=True):
        same(row, published[name])
        games = [game for game in log.over if f"/ {role} " in game]
        assert game_by_game(log, games) == published[name]["per_game"]
    assert "20 of 20 games over" in validate_log(replayed)


def test_recorded_players_decide_nothing_in_a_replay(replayed, reference_words):
    """Their decisions are the recording's, and would count once for every replay."""
    games = log_games([replayed], reference_words)
    assert [games.players(role) for role in Role] == [[], ["baseline"], ["baseline"]]
    assert games.seated(Role.DECODER, "baseline").sum() == games.seated(Role.INTERCEPTOR, "baseline").sum() == 10
    assert not games.seated(Role.ENCODER, "human-encoder").any()
    rows, _ = compare(games, reference_words, {role: ["baseline"] for role in Role})
    assert {(row.role, row.agent) for row in rows} == {("decoder", "baseline"), ("interceptor", "baseline")}
    turns = dict(zip(games.ids, games.arrays.turns, strict=True))
    for row in rows:
        assert row.decisions + row.unknown == sum(n for name, n in turns.items() if f"/ {row.role} " in name)


def test_a_replay_goes_on_where_it_was_stopped(imported, replayed, reference_words, tmp_path):
    lines = replayed.read_bytes().splitlines(keepends=True)
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"".join(lines[:50]) + lines[50][:30])
    replaced = replaced_by([(Role.DECODER, ["baseline"]), (Role.INTERCEPTOR, ["baseline"])])
    settings = ReplaySettings(replaced)
    finished = asyncio.run(replay(imported.log, reference_words, log, settings))
    assert finished.resumed_decisions > 30
    assert canonical(read(log)) == canonical(read(replayed))
    with pytest.raises(ConfigError, match="another run"):
        asyncio.run(replay(imported.log, reference_words, log, ReplaySettings(replaced, to_the_end=True)))


def test_only_revealed_codes_are_shown(shared, reference_words, fake_server, tmp_path):
    fake_server.script = ['{"guess": "1-2-3"}']
    fake_server.models["data"][0]["id"] = "m"
    games, recording = tmp_path / "games.json", tmp_path / "two/log.jsonl"
    every = json.loads((shared / "data/decrypto/human_games.json").read_text())
    games.write_text(json.dumps([every[0], every[4]]))  # one of them stops after five turns
    import_decrypto(games, reference_words, log=recording)
    settings = ReplaySettings(((Role.INTERCEPTOR, "vllm/m"),), to_the_end=True, base_url=fake_server.url)
    asyncio.run(replay(recording, reference_words, tmp_path / "log.jsonl", settings))
    log = read_log(recording)
    told = [request["messages"][-1]["content"] for request in fake_server.requests]
    assert len(told) == sum(len(turns_played(deal, log.decisions[game])) for game, deal in log.deals.items()) == 13
    codes = {tuple(deal.codes): deal for deal in log.deals.values()}
    for text in told:
        shown = [line.partition("; code ")[2][:5] for line in text.splitlines() if "; code " in line]
        assert any(list(codes_of[: len(shown)]) == shown for codes_of in codes)
        assert f"This is turn {len(shown) + 1} of 8" in text
    assert "2 of 2 games over" in validate_log(tmp_path / "log.jsonl")


def test_what_cannot_be_replaced(imported):
    log = read_log(imported.log)
    for replaced, told in (
        ((), "nobody is replaced"),
        (((Role.ENCODER, "rational"),), "hints are part of the recording"),
        (((Role.DECODER, "telepath"),), "no mind for the decoder"),
        (((Role.DECODER, "vllm/m:system=99"),), "system=99"),
    ):
        with pytest.raises(ValueError, match=told):
            planned_games(log, ReplaySettings(replaced))


TURN = {"keywords": list("abcd"), "code": "421", "hints": ["x", "y", "z"], "guess_bob": [4, 2, 1], "guess_eve": 7}


@pytest.mark.parametrize(
    ("games", "told"),
    [
        ("{", "no JSON file"),
        ({}, "not a list of games"),
        ([{"turns": 3}], "game 1: no list `summarized_history`"),
        ([{"summarized_history": [{"code": "421"}]}], "game 1, turn 1: not a turn with keywords"),
        ([{"summarized_history": [TURN | {"code": "422"}]}], "'422' is no code"),
        ([{"summarized_history": [TURN | {"hints": ["x", "y"]}]}], "are not 3 texts"),
        ([{"summarized_history": [TURN, TURN]}], "a code comes twice"),
        ([{"summarized_history": [TURN, TURN | {"keywords": list("abce")}]}], "turn 2: other keywords"),
        ([{"summarized_history": [TURN | {"keywords": list("abca")}]}], "not 4 different keywords"),
    ],
)
def test_files_that_cannot_be_imported(games, told, tmp_path, tiny):
    path = tmp_path / "games.json"
    path.write_text(games if isinstance(games, str) else json.dumps(games))
    with pytest.raises(RecordingError, match=told):
        import_decrypto(path, tiny, log=tmp_path / "log.jsonl")
    assert not (tmp_path / "log.jsonl").exists()


def test_a_game_that_stops_early_is_unfinished(tmp_path, tiny):
    path, log = tmp_path / "games.json", tmp_path / "log.jsonl"
    path.write_text(json.dumps([{"summarized_history": [TURN]}]))
    assert read_games(path)[0].failed == {(0, Role.INTERCEPTOR): "7"}
    assert import_decrypto(path, tiny, log=log).unlisted == ("a", "b", "c", "d")
    (row,) = summaries(read_log(log))
    assert row.endings["unfinished"] == 1 and row.turns == 1
    assert "1 of 1 games over" in validate_log(log)
    with pytest.raises(JournalError, match="there is a log already"):
        import_decrypto(path, tiny, log=log)


def test_the_commands(tiny_files, tiny, tmp_path):
    games, words = tmp_path / "games.json", [part for name, file in tiny_files.items() for part in (f"--{name}", file)]
    turn = TURN | {"keywords": list(tiny.keywords[:4]), "hints": [*tiny.words[20:22], "Johnny Depp"]}
    games.write_text(json.dumps([{"summarized_history": [turn, turn | {"code": "123", "guess_bob": [1, 2, 4]}]}]))
    run = CliRunner()
    done = run.invoke(cli.main, ["import", "decrypto", str(games), "--out", str(tmp_path / "human"), *words])
    assert done.exit_code == 0, done.output
    assert "1 games, 2 turns, 2 guesses that are no code; 2 of 6 hints have no vector" in done.output
    log = str(tmp_path / "human/log.jsonl")
    done = run.invoke(cli.main, ["replay", "decrypto", log, "--decoder", "baseline", *words])
    assert done.exit_code == 0, done.output  # the recorded interceptor's failed answers are not the replay's
    assert "Replayed" in done.output and "D baseline" in done.output
    done = run.invoke(cli.main, ["replay", "decrypto", log, "--decoder", "baseline", "--json", *words])
    assert json.loads(done.stdout)["replayed"][0]["agents"][1] == "baseline"
    minds = [part for role in Role for part in ("--minds", f"{role.name}=baseline")]
    done = run.invoke(cli.main, ["compare", str(tmp_path / "human/replay/log.jsonl"), *minds, *words])
    assert done.exit_code == 0 and "compared in the recording's own log alone" in done.output, done.output
    statuses = {(row["role"], row["status"]) for row in csv_of(tmp_path / "human/replay/decisions.csv")}
    assert statuses == {("encoder", "recorded"), ("decoder", "scored"), ("interceptor", "recorded")}
    done = run.invoke(cli.main, ["replay", "decrypto", log, *words])
    assert done.exit_code == 2 and "nobody is replaced" in done.output
