"""Matches beside minds: scores in plain NumPy, rules found, shares by hand, and the recorded people and bots."""

import csv
import json
import re
from itertools import pairwise
from pathlib import Path

import jax
import numpy as np
import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from otherminds.games.protocol import NO_ANSWER
from otherminds.games.rps.catalogue import member
from otherminds.games.rps.strategies import log_likelihoods
from otherminds.tom import cli
from otherminds.tom.experiments.compare import UNIFORM
from otherminds.tom.experiments.rps.matches.compare import compare, log_posterior
from otherminds.tom.experiments.rps.matches.play import play_matches
from otherminds.tom.experiments.rps.matches.recordings import Recorded, write_matches
from otherminds.tom.experiments.rps.matches.records import Matches
from otherminds.tom.minds.rps.registry import BOTS, named_player

LAPSE = 0.1
MINDS = ("X", "N", "win_nil_lose_positive", "frequency")
PAIRS = (("learner", "win_nil_lose_positive"), ("learner", "prev_move_positive"), ("N", "X"))


@pytest.fixture(scope="module")
def matches():
    """Nine matches: a learner against two bots, of which one match is shorter and lacks moves, and N against X."""
    played = np.concatenate(
        [play_matches("frequency" if one == "learner" else one, two, 3, 40, seed=8) for one, two in PAIRS]
    )
    valid = np.ones((9, 40), bool)
    valid[1, 25:] = False
    played[1, :, 25:] = NO_ANSWER
    played[1, 0, [3, 7]] = NO_ANSWER
    return Matches(tuple(f"m{n}" for n in range(9)), tuple(pair for pair in PAIRS for _ in range(3)), played, valid)


@pytest.fixture(scope="module")
def comparison(matches):
    return compare(matches, MINDS, lapse=LAPSE)


def test_scores_in_plain_numpy(matches, comparison):
    rows = {(row.agent, row.mind): row for row in comparison.rows}
    log_p = []
    for n in range(3, 6):
        own, other = matches.moves[n].astype(np.int32)
        log_p.append(np.asarray(log_likelihoods(member("N"), jax.numpy.asarray(own), jax.numpy.asarray(other))))
    expected = np.log((1 - LAPSE) * np.exp(np.concatenate(log_p)) + LAPSE / 3).mean()
    row = rows["learner v prev_move_positive", "N"]
    assert row.log_score == pytest.approx(expected, abs=1e-5) and row.decisions == 120 and row.role == "player"
    assert rows["learner", UNIFORM].log_score == pytest.approx(
        (-np.log(3) * 223 - 2 * np.log(3 / LAPSE)) / 225, abs=1e-6
    )
    assert rows["learner", "X"].failed == 2 and rows["learner", "X"].decisions == 225
    assert rows["X", "X"].impossible == 0 and rows["X", "N"].impossible == 0 and rows["N", "X"].impossible > 0
    for agent in ("X", "N", "win_nil_lose_positive"):
        assert rows[agent, agent].best
    assert rows["learner", "frequency"].best and rows["learner", "frequency"].impossible == 0


def test_agents_that_are_rules_are_minds_too(comparison):
    assert list(comparison.shadows) == [*MINDS, "prev_move_positive"]


def test_rules_are_found(comparison):
    found = {row.agent: row for row in comparison.found}
    rules = {"win_nil_lose_positive", "prev_move_positive", "N", "X"}
    for agent in rules:
        assert set(found[agent].candidates) == rules and found[agent].right == 3 == found[agent].matches
        assert found[agent].sure == 3 and found[agent].most == max(found[agent].rounds)
        assert found[agent].median == np.median(found[agent].rounds)
    assert found["learner"].found == {"frequency": 6} and found["learner"].true is None


def test_posterior_against_a_product():
    p = np.random.default_rng(0).uniform(0.1, 1, (3, 2, 5))
    product = p.cumprod(-1)
    np.testing.assert_allclose(np.exp(log_posterior(np.log(p))), product / product.sum(0))


def test_shares_counted_by_hand(matches, comparison):
    record = next(row for row in comparison.records if row.opponent == "win_nil_lose_positive")
    wins, stays = [], []
    for n in range(3):
        pairs = [(a, b) for a, b in matches.moves[n].T.tolist()]
        both = [(a - b) % 3 for a, b in pairs if a >= 0 and b >= 0]
        wins.append(both.count(1) / len(both))
        stayed = [
            after[0] == before[0]
            for before, after in pairwise(pairs)
            if min(*before, after[0]) >= 0 and (before[0] - before[1]) % 3 == 2
        ]
        if stayed:
            stays.append(np.mean(stayed))
    assert record.mean[0] == pytest.approx(np.mean(wins)) and sum(record.mean) == pytest.approx(1)
    assert record.missing == 2 and record.rounds == 103 and record.win.units == 3
    assert float(record.win.low) <= record.mean[0] <= float(record.win.high)
    response = next(r for r in comparison.responses if r.opponent == "win_nil_lose_positive" and r.after == "loss")
    assert response.shares[0] == pytest.approx(np.mean(stays)) and response.matches == len(stays)
    x = next(r for r in comparison.responses if r.agent == "prev_move_positive" and r.after == "draw")
    assert x.shares[1] > 0.75 and sum(x.shares) == pytest.approx(1)


def test_minds_of_ones_own_and_wrong_calls(matches):
    mine = named_player("N")
    with pytest.raises(ValueError, match="another mind has this name"):
        compare(matches, [mine, "N"])
    with pytest.raises(ValueError, match="lapse=0"):
        compare(matches, ["N"], lapse=0)


# --- the command ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def log(matches, tmp_path_factory):
    path = tmp_path_factory.mktemp("rps") / "log.jsonl"
    recorded = [
        Recorded(name, pair, moves[:, valid], {})
        for name, pair, moves, valid in zip(matches.ids, matches.agents, matches.moves, matches.valid, strict=True)
    ]
    write_matches(recorded, log=path)
    return path


def call(*arguments):
    return CliRunner().invoke(cli.main, [str(argument) for argument in arguments])


MIND_OPTION = ("--minds", f"player={','.join(MINDS)}", "--lapse", LAPSE)


def test_the_command_prints_and_writes(log, comparison, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    result = call("compare", log, *MIND_OPTION, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    lines = [line for line in result.stdout.splitlines() if not line.startswith("wrote ")]
    assert max(map(cell_len, lines)) <= 80 and not any("…" in line for line in lines)
    for text in (
        "Matches",
        "What follows a win",
        "The rule of each match",
        "win_nil_lose_positive (right)",
        "Lapse 0.1",
    ):
        assert text in result.stdout
    wrote = [Path(name).name for name in re.findall(r"^wrote (\S+)$", result.stdout, re.M)]
    assert wrote == [
        "report.html", "minds.png", "responses.png", "found.png",
        "scores.csv", "records.csv", "responses.csv", "found.csv", "decisions.csv",
    ]  # fmt: skip
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page and page.count("data:image/png") == 3 and "{{" not in page and "sha256:" in page
    with (tmp_path / "decisions.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    own = [float(row["log_p N"]) for row in rows if row["agent"] == "N"]
    assert len(rows) == 2 * (8 * 40 + 25) and sum(row["failed"] == "yes" for row in rows) == 2
    assert np.mean(own) == pytest.approx(comparison.shadows["N"].log_p[12::2].mean(), abs=1e-5)


def test_json(log):
    result = call("compare", log, *MIND_OPTION, "--json")
    content = json.loads(result.stdout)
    assert content.keys() == {"lapse", "records", "scores", "found", "responses"} and content["lapse"] == LAPSE
    assert content["records"][0]["win"].keys() == {"mean", "low", "high", "matches"}
    assert {row["agent"]: row["right"] for row in content["found"]}["X"] == 3


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--minds", "encoder=X"], "--minds 'encoder=X': write player=MIND,..."),
        (["--minds", "player="], "--minds player=: name at least one mind"),
        (["--minds", "player=Q"], "'Q' is no player of rock, paper, scissors"),
        (["--lapse", "0"], "--lapse 0.0: a probability above 0"),
        (["--join", "sum"], "--join: rock, paper, scissors has no words"),
        (["--keywords", "words.txt"], "--keywords: rock, paper, scissors has no words"),
    ],
)
def test_wrong_calls_are_told(log, options, told):
    result = call("compare", log, *options)
    assert result.exit_code == 2 and told in result.stderr and result.stderr.count("\n") == 1


# --- recorded people ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded(human_games):
    moves = np.stack([match.moves for match in human_games])
    names = tuple(match.name for match in human_games)
    return Matches(names, tuple(match.players for match in human_games), moves, np.ones((217, 300), bool))


@pytest.mark.slow
def test_the_bots_of_all_games_are_found(recorded, shared):
    golden = json.loads((shared / "golden/rps/human_v2_bot_id.json").read_text())["r"]
    comparison = compare(recorded, BOTS)
    found = {row.agent: row for row in comparison.found}
    assert sum(found[bot].right for bot in BOTS) == 217
    missing = {row.agent: row.missing for row in comparison.records if not row.opponent}
    assert missing.pop("human") == 224 and set(missing.values()) == {0}
    # The recorded check knew six of the bots.
    agents = np.array([agent for pair in recorded.agents for agent in pair])
    scores = np.stack([comparison.shadows[bot].log_p for bot in BOTS[:6]])[:, np.isin(agents, BOTS[:6])]
    agents = agents[np.isin(agents, BOTS[:6])]
    posterior = log_posterior(scores)
    assert posterior.shape[1] == 186
    for place, (bot, known) in enumerate((bot, golden[bot]) for bot in BOTS[:6]):
        own = posterior[:, agents == bot]
        right = int((own[:, :, -1].argmax(0) == place).sum())
        assert right == own.shape[1] == known["games"] == known["final_MAP_correct"], bot
        assert np.median((own[place] > np.log(0.99)).argmax(1) + 1) == known["median_rounds_to_p99"], bot
        games = [n for n, pair in enumerate(recorded.agents) if pair[1] == bot]
        human, other = recorded.moves[games, 0], recorded.moves[games, 1]
        wins = ((human - other) % 3 == 1) & (human >= 0) & (other >= 0)
        assert wins.mean() == pytest.approx(known["human_winrate_mean"], abs=1e-12), bot
