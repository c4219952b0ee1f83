"""What negotiations brought, counted by hand; the mind that made the choices is found; tables, page and files."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from otherminds.games.protocol import NO_ANSWER
from otherminds.tom import cli
from otherminds.tom.experiments.colored_trails.compare import (
    PEOPLE,
    WAYS,
    Shadow,
    chosen_minds,
    compare,
    decisions_of,
    explain,
    gains,
    is_person,
    seats_of,
    with_variant,
)
from otherminds.tom.experiments.colored_trails.records import deals, outcomes, read_games
from otherminds.tom.minds.spec import UnknownMind

MODEL = "gpt-oss-120b"


@pytest.fixture(scope="module")
def games(log):
    return read_games([log])[0]


@pytest.fixture(scope="module")
def dealt(games):
    return deals(games.rules, games.board)


def test_people_are_told_from_others():
    assert [is_person(name) for name in ("human", "human-3", "humanoid", MODEL)] == [True, True, False, False]


def test_seats(games):
    seats = seats_of(games)
    assert list(seats) == [PEOPLE, MODEL, "human-1", "human-2"]
    assert seats[PEOPLE].tolist() == [[n, 0] for n in range(5)] and seats[MODEL].tolist() == [[n, 1] for n in range(5)]


def test_gains_are_counted(games, dealt):
    """Game b1 is not over, and counts in none."""
    found = outcomes(games, dealt)
    rows = {(row.agent, row.boards, row.deception): row for row in gains(games, found)}
    together = rows[PEOPLE, "all", "all"]
    own = found.gained[[0, 1, 3, 4], 0]
    assert (together.games, together.agreed, together.moves, together.failed) == (4, 1, 2.5, 0)
    np.testing.assert_allclose([together.mean, together.error], [own.mean(), own.std(ddof=1) / 2])
    assert rows[MODEL, "all", "all"].failed == 1
    assert rows[MODEL, "diagnostic", "allowed"].games == 3 and rows[MODEL, "ordinary", "unmentioned"].games == 1
    assert np.isnan(rows["human-1", "ordinary", "unmentioned"].error)
    assert ("human-2", "ordinary", "unmentioned") not in rows  # one condition is left: its row is that of all


def test_at_the_goal_is_who_can_pay_for_the_way(games, dealt):
    """Goal 4 is at (1, 0): by (1, 2), (1, 1), (1, 0) of colours 3, 0, 1, or (2, 1), (2, 0), (1, 0) of 4, 0, 1."""
    found = outcomes(games, dealt)
    reached = {row.agent: row.reached for row in gains(games, found) if row.boards == "all"}
    assert reached["human-1"] == 1 and reached["human-2"] == 0  # 2-1-0-1-0 was agreed on in a1 alone


@pytest.fixture(scope="module")
def synthetic(games):
    """Forty games of two people with random choices of a softmax of one mind's values, and two minds."""
    random = np.random.default_rng(0)
    count, turns = 40, 6
    board = type(games.board)(*(np.repeat(part[:1], count, 0) for part in games.board))
    dealt = deals(games.rules, board)
    size = int(dealt.offers.valid[0].sum())
    values = np.full((2, count, turns, dealt.offers.valid.shape[1]), -np.inf, np.float32)
    values[..., :size] = random.normal(0, 10, (2, count, turns, size))
    p = np.exp(0.3 * values[0] - np.logaddexp.reduce(0.3 * values[0], -1, keepdims=True))
    kept = np.array([[random.choice(len(row), p=row / row.sum()) for row in game] for game in p], np.int32)
    many = replace(
        games,
        ids=tuple(map(str, range(count))),
        agents=tuple((f"human-{n % 2}", MODEL) for n in range(count)),
        board=board,
        kept=kept,
        lengths=np.full(count, turns, np.int32),
        endings=np.full(count, 2, np.int32),
    )
    goals = np.zeros((count, turns, 12), np.float32)
    return many, dealt, {"true": Shadow(values[0], goals), "other": Shadow(values[1], goals)}


@pytest.fixture(scope="module")
def explained(synthetic):
    return explain(*synthetic, 0.05)


def test_the_mind_that_made_the_choices_is_found(explained):
    rows = explained
    groups = {(row.agent, row.units, row.way) for row in rows}
    assert groups == {
        *((agent, "games", way) for agent in (PEOPLE, "human-0", "human-1", MODEL) for way in WAYS),
        *((PEOPLE, "players", way) for way in WAYS),
    }
    for row in rows:
        if row.mind == "true":
            assert row.log_score == max(x.log_score for x in rows if (x.agent, x.units, x.way) == group(row))
            if row.fit:
                assert row.fit.beta == pytest.approx(0.3, rel=0.25)
            if row.units == "games":
                assert row.exceedance > 0.99 and row.protected > 0.95 and row.alone > 0.999
    for each in groups:
        own = [row for row in rows if group(row) == each]
        assert [row.mind for row in own] == ["true", "other", "uniform"]
        for name in ("frequency", "exceedance", "protected", "alone"):
            assert sum(getattr(row, name) for row in own) == pytest.approx(1)


def group(row):
    return row.agent, row.units, row.way


def test_what_a_uniform_mind_scores(synthetic, explained):
    expected = -np.log(synthetic[1].offers.valid[0].sum())
    assert all(row.log_score == pytest.approx(expected) for row in explained if row.mind == "uniform")


def test_people_are_fitted_one_by_one_but_for_the_reference(explained):
    rows = {(*group(row), row.mind): row for row in explained}
    for way in WAYS[:2]:
        apart = sum(rows[f"human-{n}", "games", way, "true"].log_evidence for n in range(2))
        assert rows[PEOPLE, "games", way, "true"].log_evidence == pytest.approx(apart)
        assert rows[PEOPLE, "players", way, "true"].log_evidence == pytest.approx(apart)
    pooled, alone = rows[PEOPLE, "games", "reference", "true"], rows["human-0", "games", "reference", "true"]
    assert pooled.log_evidence == pytest.approx(pooled.fit.log_likelihood, abs=1e-3)
    bic = sum(rows[f"human-{n}", "games", "reference", "true"].fit.log_likelihood for n in range(2)) - np.log(60)
    assert rows[PEOPLE, "players", "reference", "true"].log_evidence == pytest.approx(bic, abs=1e-3)
    assert alone.count == 20 and alone.decisions == 60 and pooled.decisions == 120


def test_failed_answers_are_left_out_of_the_scores(synthetic):
    games, dealt, shadows = synthetic
    kept = games.kept.copy()
    kept[0, 5] = NO_ANSWER
    failing = replace(games, kept=kept)
    assert len(decisions_of(failing, dealt).made) == 239
    rows = explain(failing, dealt, shadows, 0.05)
    assert next(row for row in rows if row.agent == MODEL).decisions == 119


def test_variants_are_named_where_a_mind_names_none(games):
    assert with_variant("order1", "described") == "order1"
    assert with_variant("order1", "llm-tom") == "order1:variant=llm-tom"
    assert with_variant("order1:beta=2", "llm-tom") == "order1:beta=2,variant=llm-tom"
    assert with_variant("order1:variant=deweerd", "llm-tom") == "order1:variant=deweerd"
    with pytest.raises(ValueError, match="variant 'x': there are described"):
        chosen_minds(None, "x", games.rules)
    with pytest.raises(UnknownMind):
        chosen_minds(["order9"], "described", games.rules)
    with pytest.raises(ValueError, match="lapse=0"):
        compare(games, lapse=0)


def call(*arguments):
    return CliRunner().invoke(cli.main, [str(argument) for argument in arguments])


def test_the_command_writes_the_report(log, tmp_path):
    result = call("compare", log, "--minds", "player=order0", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    for title in ("What the negotiations brought", "Which mind explains whom", "Guesses of the other's goal"):
        assert title in result.output
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "13 moves of 5 negotiations (1 not over)" in page and "human-2" in page
    for name in ("goals.png", "gains.png", "minds.png", "betas.png"):
        assert (tmp_path / name).stat().st_size > 1000
    rows = table(tmp_path, "decisions")
    assert len(rows) == 13 and rows[0]["action"] == "2-1-0-1-0" and rows[0]["thoughts"] == "E5 - so"
    failed = [row for row in rows if row["failed"] == "yes"]
    assert len(failed) == 1 and failed[0]["action"] == failed[0]["value order0"] == ""
    # The second move of the first game accepts: its value is the gain of what was offered.
    assert float(rows[1]["value order0"]) == pytest.approx(float(table(tmp_path, "games")[0]["gained_responder"]) + 0.2)
    assert len(table(tmp_path, "explanations")) == 2 * 3 * (4 + 1)
    assert {row["reading"] for row in table(tmp_path, "guesses")} == {"last", "first", "any"}


def table(folder, name):
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_json(log):
    result = call("compare", log, "--minds", "player=order0", "--json")
    content = json.loads(result.stdout)
    assert content["variant"] == "described" and content["lapse"] == 0.05
    assert {row["mind"] for row in content["explanations"]} == {"order0", "uniform"}
    assert content["annotations"]["guesses"] == 2


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--join", "sum"], "--join: Colored Trails has no words"),
        (["--minds", "initiator=order0"], "write player=MIND"),
        (["--minds", "player="], "name at least one mind"),
        (["--minds", "player=order9"], "order9"),
        (["--lapse", "0"], "--lapse 0.0"),
    ],
)
def test_wrong_calls_are_told_in_one_line(log, options, told):
    result = call("compare", log, *options)
    assert result.exit_code == 2 and told in result.output and result.output.count("\n") <= 2
