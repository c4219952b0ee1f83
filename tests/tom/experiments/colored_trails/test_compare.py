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
    FITTED,
    chosen_minds,
    clusters_of,
    compare,
    gains,
    with_settings,
    with_variant,
)
from otherminds.tom.experiments.colored_trails.explain import (
    WAYS,
    Explanation,
    Shadow,
    at_the_fit,
    decisions_of,
    explain,
    tables,
)
from otherminds.tom.experiments.colored_trails.fits import BETAS
from otherminds.tom.experiments.colored_trails.records import (
    PEOPLE,
    deals,
    is_person,
    outcomes,
    read_games,
    seats_of,
)
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
    apart = [(own[:2] - own.mean()).sum(), (own[2:] - own.mean()).sum()]  # of human-1 and of human-2
    expected = np.sqrt(2 * np.square(apart).sum()) / 4
    np.testing.assert_allclose([together.mean, together.error], [own.mean(), expected])
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
    return many, dealt, {"true": {"": Shadow(values[0], goals)}, "other": {"": Shadow(values[1], goals)}}


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


def test_a_lapse_is_spread_over_the_offers_there_are_and_a_withdrawal_is_worth_nothing(synthetic):
    """At beta 0.5 and a lapse of 0.2, written out for the first moves, one of which is made a withdrawal."""
    games, dealt, shadows = synthetic
    kept = games.kept.copy()
    kept[0, 0] = int(dealt.offers.own[0, 0])
    made = decisions_of(replace(games, kept=kept), dealt)
    place = int(np.abs(BETAS - 0.5).argmin())
    found = tables(shadows["true"], made, 0.2)
    for way, lapse, worth in (("held-out", 0.2, 0.0), ("reference", 0.0, None)):
        expected = 0.0
        for t in range(2):
            values = shadows["true"][""].values[0, t, made.valid[0]].astype(float)
            if worth is not None:
                values[int(dealt.offers.own[0, t])] = worth
            p = np.exp(BETAS[place] * (values - values.max()))
            expected += np.log((1 - lapse) * p[kept[0, t]] / p.sum() + lapse / len(values))
        assert found[way][0](np.arange(2))[0, place, 0] == pytest.approx(expected, abs=1e-3)


def test_a_setting_is_fitted_on_the_other_games(synthetic):
    """The mind whose one setting made the choices scores as that setting does, and is shown with it."""
    games, dealt, shadows = synthetic
    true, other = shadows["true"][""], shadows["other"][""]
    minds = {"both": {"x=1": other, "x=2": true}, "true": {"": true}}
    rows = explain(games, dealt, minds, 0.05)
    by_mind = {(row.mind, *group(row)): row for row in rows}
    for row in rows:
        if row.mind == "both" and row.fit:
            assert row.setting == "x=2"
            assert row.log_evidence == pytest.approx(by_mind["true", *group(row)].log_evidence, abs=1e-3)
    one = by_mind["both", PEOPLE, "players", "reference"], by_mind["true", PEOPLE, "players", "reference"]
    assert one[0].log_evidence == pytest.approx(one[1].log_evidence - np.log(60), abs=1e-3)  # a parameter more, twice
    np.testing.assert_array_equal(at_the_fit(games, minds, rows)["both"].values, true.values)


def test_every_mover_is_shadowed_with_its_own_setting(synthetic):
    """human-0 by the one, the model by the other; to human-1 nothing is fitted, and it has what most others have."""
    games, _, shadows = synthetic
    true, other = shadows["true"][""], shadows["other"][""]

    def fitted(agent, setting, way="held-out", units="games"):
        return Explanation(agent, units, way, "both", 2, 9, None, setting, *[0.0] * 7)

    rows = [
        fitted("human-0", "x=2"),
        fitted(MODEL, "x=1"),
        fitted("human-9", "x=1"),  # who moves in no game here
        fitted(PEOPLE, "x=2"),
        fitted(PEOPLE, "x=2", units="players"),
        fitted(MODEL, "x=2", way="reference"),
    ]
    found = at_the_fit(games, {"both": {"x=1": other, "x=2": true}}, rows)["both"]
    own = np.zeros(games.kept.shape, bool)
    own[::2, ::2] = True  # the moves of human-0
    np.testing.assert_array_equal(found.values, np.where(own[..., None], true.values, other.values))


def test_games_are_clustered_by_people_or_by_boards(games):
    assert clusters_of(games, np.arange(5)).tolist() == [0, 0, 1, 1, 1]
    alone = replace(games, dealt_as=("a", "a", "b", "b", "c"), agents=(("order1", MODEL),) * 5)
    assert clusters_of(alone, np.arange(5)).tolist() == [0, 0, 1, 1, 2]


def test_what_is_to_be_fitted_is_tried():
    tried = with_settings("bayesian1:rationality=fit,lapse=0.1")
    assert list(tried.values())[:2] == ["bayesian1:rationality=0.02,lapse=0.1", "bayesian1:rationality=0.05,lapse=0.1"]
    assert list(tried) == [f"rationality={value:g}" for value in FITTED["rationality"]]
    assert len(with_settings("order1:learning-speed=fit,confidence=fit")) == 36
    assert with_settings("order1:beta=2") == {"": "order1:beta=2"}
    with pytest.raises(UnknownMind, match="beta=fit: rationality, learning_speed, confidence can be"):
        with_settings("order1:beta=fit")


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


def test_every_negotiation_is_shown_move_by_move(log, tmp_path):
    """The first game: the initiator asks for two white, one black and a gray, which the responder accepts."""
    assert call("compare", log, "--minds", "player=order1", "--out", tmp_path).exit_code == 0
    page = (tmp_path / "transcripts.html").read_text(encoding="utf-8")
    assert page.count('<details class="game"') == 5 and "no answer, and so withdrew" in page
    first = page.partition('<details class="game"')[2].partition('<details class="game"')[0]
    for told in (
        "the initiator would hold <b>2 white, 1 black, 1 gray</b>, the responder <b>1 white, 2 gray, 1 yellow</b>",
        "accepts",
        "An offer was accepted.",
        "thinks &ldquo;E5 - so&rdquo;",
        "writes &ldquo;take it&rdquo;",
        "order1 0.08",
    ):
        assert told in first, told


def table(folder, name):
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_json(log):
    result = call("compare", log, "--minds", "player=order0", "--json")
    assert result.exit_code == 0, result.output
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
