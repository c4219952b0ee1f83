"""Matches of two teams at the table: the log, a kill anywhere, language models, and the same minds simulated."""

import asyncio
import json

import numpy as np
import pytest
from click.testing import CliRunner

from otherminds.games.decrypto.rules import Role
from otherminds.tom import cli
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.compare import compare, decided, heard_lexicon, outcomes
from otherminds.tom.experiments.config import ConfigError, validated
from otherminds.tom.experiments.decrypto.matches import recorded_matches, simulate_matches
from otherminds.tom.experiments.decrypto.replay import ReplaySettings, planned_games
from otherminds.tom.experiments.decrypto.run_matches import planned_matches, run_matches
from otherminds.tom.experiments.error_tags import NO_ANSWER, error_tags, tag_counts
from otherminds.tom.experiments.records import read_games, read_log
from otherminds.tom.experiments.run import PlannedGame
from otherminds.tom.experiments.validate import validate_log

MINDS = {
    "encoder": ("baseline:k=4", "literal:beta=5"),
    "decoder": ("baseline", "literal"),
    "interceptor": ("bayesian",),
}
CONFIG = validated(**MINDS, design="competition", teams=2, episodes=3, seeds=(0, 1))


def play(config, vocabulary, path):
    return asyncio.run(run_matches(config, vocabulary, path))


@pytest.fixture(scope="module")
def played(small_vocabulary, tmp_path_factory):
    path = tmp_path_factory.mktemp("matches") / "log.jsonl"
    play(CONFIG, small_vocabulary, path)
    return path


def test_the_log_has_two_games_a_match_and_nobody_intercepts_at_first(played, small_vocabulary):
    log = read_log(played)
    assert len(log.over) == 2 * len(planned_matches(CONFIG)) == 12 and log.complete
    for game_id, deal in log.deals.items():
        first = log.decisions[game_id][0, Role.INTERCEPTOR]
        assert first.skipped and first.action is None and deal.deal["team"] in (1, 2)
        assert not any(line.skipped for place, line in log.decisions[game_id].items() if place != (0, Role.INTERCEPTOR))
    assert "12 of 12 games over" in validate_log(played) and " 0 failed answers" in validate_log(played)
    decided_lines = sum(not line.skipped for made in log.decisions.values() for line in made.values())
    assert f"{decided_lines} decisions" in validate_log(played)


def test_the_same_matches_are_simulated(played, small_vocabulary):
    (row,) = recorded_matches(read_games([played], small_vocabulary))
    teams = planned_matches(CONFIG)[0].teams
    every = [simulate_matches(teams, small_vocabulary, CONFIG.episodes, seed=seed) for seed in CONFIG.seeds]
    games = read_games([played], small_vocabulary)
    rounds = [games.arrays.turns[g] for g, place in enumerate(games.matches) if place is not None and place[1] == 0]
    assert sorted(rounds) == sorted(np.concatenate([result.rounds for result in every]).tolist())
    assert row.won[0] == pytest.approx(np.mean([result.winner == 0 for result in every]))
    assert row.interceptions == pytest.approx(tuple(np.mean([result.interceptions for result in every], (0, 1))))
    assert row.miscommunications == pytest.approx(tuple(np.mean([r.miscommunications for r in every], (0, 1))))


def test_nobody_is_blamed_for_the_first_round(played, small_vocabulary):
    games = read_games([played], small_vocabulary)
    scored, failed, _ = decided(games, Role.INTERCEPTOR, "bayesian")
    assert not failed.any() and not scored[:, 0].any() and scored.sum() == (games.arrays.turns - 1).sum()
    rows, _ = compare(
        games, small_vocabulary, {role: ["bayesian" if role == Role.INTERCEPTOR else "baseline"] for role in Role}
    )
    own = next(row for row in rows if (row.role, row.mind) == ("interceptor", "bayesian"))
    assert own.decisions == scored.sum() and own.failed == own.impossible == 0
    assert all(row.failed_answers == 0 for row in outcomes(games))
    counts = {
        row.role: row
        for row in tag_counts(games, error_tags(games, small_vocabulary, heard_lexicon(small_vocabulary, games)))
    }
    assert counts["interceptor"].counts[NO_ANSWER] == 0 and counts["interceptor"].decisions == scored.sum()


def test_a_match_killed_anywhere_goes_on_to_the_same_log(small_vocabulary, tmp_path):
    config, path = CONFIG.model_copy(update={"episodes": 1, "seeds": (0,)}), tmp_path / "log.jsonl"
    play(config, small_vocabulary, path)
    lines, expected = path.read_bytes().splitlines(keepends=True), journal.canonical(journal.read(path))
    for count in range(len(lines) + 1):
        path.write_bytes(b"".join(lines[:count]))
        play(config, small_vocabulary, path)
        assert journal.canonical(journal.read(path)) == expected
    assert sum(json.loads(line).get("skipped", False) for line in lines) == 2


def test_language_models_are_asked_channel_by_channel(fake_server, small_vocabulary, tmp_path):
    fake_server.script = ['{"guess": "1-2-3"}']
    fake_server.models["data"][0]["id"] = "m"
    options = {"encoder": ("baseline:k=4",), "decoder": ("baseline",), "interceptor": ("vllm/m",)}
    config = validated(**options, teams=2, episodes=1, seeds=(0,), base_url=fake_server.url)
    play(config, small_vocabulary, tmp_path / "log.jsonl")
    games = read_games([tmp_path / "log.jsonl"], small_vocabulary)
    told = [request["messages"][-1]["content"] for request in fake_server.requests]
    assert len(told) == (games.arrays.turns - 1).sum() and not any("This is turn 1 of 8" in text for text in told)
    system = fake_server.requests[0]["messages"][0]["content"]
    assert "Two such teams play at the same time" in system and "TURNS" not in system
    assert all("Turn 1: " not in text or "interceptor not asked; miscomm" in text for text in told)
    assert not any("gave no answer" in text for text in told)
    assert {len(set(words)) for words in (games.arrays.keywords.ravel(),)} == {8}


def test_what_cannot_be_done(played, small_vocabulary):
    with pytest.raises(ConfigError, match="continue_after_loss=true: a match of two teams ends for both at once"):
        validated(**MINDS, teams=2, continue_after_loss=True)
    with pytest.raises(ConfigError, match=r"a log of two teams: .* give a log of games of three"):
        planned_games(read_log(played), ReplaySettings(((Role.DECODER, "baseline"),)))
    assert PlannedGame(("a", "b", "c"), 0, 0).seats == [("a", 0), ("b", 1), ("c", 2)]


def test_the_command(tiny_files, tmp_path):
    words = [part for name, file in tiny_files.items() for part in (f"--{name}", file)]
    lists = ["--encoder", "baseline", "--decoder", "literal", "--interceptor", "baseline,bayesian"]
    out = str(tmp_path / "run")
    asked = ["run", "decrypto", "--teams", "2", *lists, "--episodes", "1", "--no-minds", "--out", out, *words]
    done = CliRunner().invoke(cli.main, asked)
    assert done.exit_code == 0, done.output
    assert "2 matches of 2 teams, 2 seeds" in done.output and "Matches of two teams" in done.output
    page = (tmp_path / "run/transcripts.html").read_text(encoding="utf-8")
    assert page.count("<td>–</td>") == 4 and '<span class="bad">no answer' not in page
