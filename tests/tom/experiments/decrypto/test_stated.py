"""Stated probabilities against plain loops and closed forms: who is calibrated, and how far from which mind."""

import asyncio
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from otherminds.games.decrypto.rules import Role, code_text
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.compare import LAPSE, UNIFORM, Alternatives, Shadow, compare
from otherminds.tom.experiments.config import validated
from otherminds.tom.experiments.decrypto.players_console import print_stated
from otherminds.tom.experiments.decrypto.stated import (
    CHANCE_BRIER,
    GUESSERS,
    Calibration,
    Divergence,
    calibrations,
    divergences,
    read_stated,
)
from otherminds.tom.experiments.frames import frame
from otherminds.tom.experiments.records import read_games
from otherminds.tom.experiments.run import run

WHO = {"encoder": "literal:k=4,pool=10", "decoder": "literal:rule=softmax", "interceptor": "bayesian:rule=softmax"}
MINDS = {
    Role.ENCODER: [WHO["encoder"]],
    Role.DECODER: [WHO["decoder"], "baseline"],
    Role.INTERCEPTOR: [WHO["interceptor"]],
}
TURNS = 4


@pytest.fixture(scope="module")
def log(tiny, tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    config = validated(**{role: (agent,) for role, agent in WHO.items()}, episodes=3, seeds=(0,), turns=TURNS)
    asyncio.run(run(config, tiny, path))
    return path


@pytest.fixture(scope="module")
def games(log, tiny):
    return read_games([log], tiny)


@pytest.fixture(scope="module")
def stated(log, games):
    return read_stated([log], games)


@pytest.fixture(scope="module")
def shadows(games, tiny):
    return compare(games, tiny, MINDS, settings=Alternatives(near=2, far=2, pool=12))[1]


def there(games):
    return np.arange(games.arrays.codes.shape[1]) < games.arrays.turns[:, None]


def test_what_is_stated_is_what_the_log_holds(log, games, stated):
    lines = [line for line in journal.read(log) if isinstance(line, journal.Decision)]
    place = {game_id: g for g, game_id in enumerate(games.ids)}
    told = [line for line in lines if Role[line.role.upper()] in GUESSERS]
    assert len(told) == 2 * there(games).sum()
    for line in told:
        p = stated[Role[line.role.upper()]][place[line.game_id], line.turn]
        np.testing.assert_allclose(p, [line.probabilities[code_text(code)] for code in range(24)], rtol=1e-5)
        assert p.sum() == pytest.approx(1, abs=1e-12)
    assert np.isnan(stated[Role.DECODER][~there(games)]).all()


def test_scores_of_stated_probabilities_against_a_plain_loop(games, stated):
    """One decoder's answer failed, and at one it stated nothing: both are the worst in Brier and log score."""
    guesses, said = np.array(games.arrays.decoder_guesses), np.array(stated[Role.DECODER])
    guesses[0, 0], said[1, 1] = -1, np.nan
    odd = replace(games, arrays=games.arrays._replace(decoder_guesses=guesses))
    rows, bins = calibrations(odd, {Role.DECODER: said, Role.INTERCEPTOR: np.full_like(said, np.nan)}, LAPSE)
    (row,) = rows  # the interceptor states nothing, so it has no row
    squares, logs, sure, hits = [2.0, 2.0], [math.log(LAPSE / 24)] * 2, [], []
    for g, t in zip(*np.nonzero(there(games)), strict=True):
        if (g, t) in ((0, 0), (1, 1)):
            continue
        p, code = said[g, t], games.arrays.codes[g, t]
        squares.append(sum((p[c] - (c == code)) ** 2 for c in range(24)))
        logs.append(math.log((1 - LAPSE) * p[code] + LAPSE / 24))
        sure.append(p[guesses[g, t]])
        hits.append(guesses[g, t] == code)
    assert (row.role, row.agent, row.decisions, row.failed) == ("decoder", WHO["decoder"], len(squares), 2)
    assert row.brier == pytest.approx(np.mean(squares), rel=1e-5)
    assert row.log_score == pytest.approx(np.mean(logs), rel=1e-5)
    assert (row.confidence, row.right) == (pytest.approx(np.mean(sure)), pytest.approx(np.mean(hits)))
    assert row.brier_error > 0 and row.log_score_error > 0
    by_bin = {}
    for p, hit in zip(sure, hits, strict=True):
        by_bin.setdefault(min(int(p * 10), 9), []).append((p, hit))
    assert [(b.low * 10, b.count) for b in bins] == [(low, len(own)) for low, own in sorted(by_bin.items())]
    gaps = [abs(np.sum([p - hit for p, hit in own])) for own in by_bin.values()]
    assert row.calibration_error == pytest.approx(np.sum(gaps) / len(sure), abs=1e-5)


def test_without_knowledge(games, stated):
    even = {role: np.full_like(stated[role], 1 / 24) for role in GUESSERS}
    rows, _ = calibrations(games, even, LAPSE)
    assert [row.role for row in rows] == ["decoder", "interceptor"]
    for row in rows:
        assert row.brier == pytest.approx(CHANCE_BRIER, abs=1e-5) and row.log_score == pytest.approx(-math.log(24))


def test_the_divergence_from_each_mind(games, stated, shadows):
    """From itself what the lapse adds, from a uniform choice log 24 less the entropy."""
    rows = divergences(games, stated, shadows, LAPSE)
    of = {(row.role, row.mind): row for row in rows}
    assert set(of) == {("decoder", m) for m in (WHO["decoder"], "baseline", UNIFORM)} | {
        ("interceptor", m) for m in (WHO["interceptor"], UNIFORM)
    }
    for role in GUESSERS:
        name = role.name.lower()
        own, even = of[name, WHO[name]], of[name, UNIFORM]
        p = stated[role][there(games)]
        log_p = np.log(np.where(p > 0, p, 1))
        lapse = np.log((1 - LAPSE) * p + LAPSE / 24)
        assert own.kl == pytest.approx((p * (log_p - lapse)).sum(1).mean(), abs=1e-4) and own.kl < -math.log(1 - LAPSE)
        assert even.kl == pytest.approx(math.log(24) + (p * log_p).sum(1).mean(), abs=1e-5)
        assert own.nearest and not even.nearest and own.decisions == there(games).sum() and own.ruled_out == 0
    assert list(frame(rows)["nearest"]).count(True) == 2


def test_a_mind_that_allows_no_code_has_no_view(games, stated, shadows):
    good = shadows[Role.DECODER, WHO["decoder"]]
    best, policy = np.array(good.log_best), np.array(good.log_policy)
    best[0, 0], policy[0, 0] = -np.inf, -np.inf
    count = there(games).sum()
    minds = {"some": Shadow(good.log_p, best, good.set_size, policy)}
    minds["none"] = Shadow(good.log_p, np.full_like(best, -np.inf), good.set_size, np.full_like(policy, -np.inf))
    some, none = divergences(games, stated, {(Role.DECODER, name): mind for name, mind in minds.items()}, LAPSE)
    assert (some.decisions, some.ruled_out, some.nearest) == (count - 1, 1, True)
    assert math.isfinite(some.kl)
    assert (none.decisions, none.ruled_out, none.nearest) == (0, count, False) and math.isnan(none.kl)


def test_a_language_model_states_them_and_is_scored(fake_server, tiny, tmp_path):
    """A model that gives 1-2-3 three times the chance of 4-3-2, and once no chances: that answer has failed."""
    said = json.dumps({"guess": "1-2-3", "chances": {"1-2-3": 60, "4-3-2": 20}})
    fake_server.script = ['{"guess": "1-2-3"}', said]
    who = WHO | {"decoder": "vllm/fake:state=true"}
    config = validated(
        **{role: (agent,) for role, agent in who.items()},
        episodes=1, seeds=(0,), turns=3, max_attempts=1, base_url=fake_server.url,
        generation={"max_retries": 0},
    )  # fmt: skip
    path = tmp_path / "log.jsonl"
    asyncio.run(run(config, tiny, path))
    games = read_games([path], tiny)
    rows, bins = calibrations(games, read_stated([path], games), LAPSE)
    row = rows[0]
    turns = int(games.arrays.turns[0])
    assert (row.agent, row.decisions, row.failed) == (who["decoder"], turns, 1) and row.confidence == 0.75
    code = [code_text(int(each)) for each in games.arrays.codes[0, 1:turns]]
    squares = [{"1-2-3": 0.125, "4-3-2": 1.125}.get(each, 1 + 0.75**2 + 0.25**2) for each in code]
    assert row.brier == pytest.approx((2 + sum(squares)) / turns)
    assert [(b.low, b.count) for b in bins if b.role == "decoder"] == [(0.7, turns - 1)]


def test_the_tables_fit_the_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    name = "provider/a-model-with-a-long-name:system=2,role=3,context=chat"
    row = Calibration("interceptor", name, 1000, 999, 0.123, 0.456, 0.789, 1.234, 0.111, -3.456, 0.222)
    print_stated([row], [Divergence("interceptor", name, UNIFORM, 999, 1, 1.5, float("nan"), True)], LAPSE)
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 80
    assert {"1.234", "-3.456", "0.79", "1.500", "–", "*"} <= set(said.replace("│", " ").split())
    print_stated([], [], LAPSE)
    assert not capsys.readouterr().out
