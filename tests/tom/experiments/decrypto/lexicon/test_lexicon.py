"""A model's own word meanings: elicited over a real socket, and set beside a decoder's guesses."""

import asyncio
import csv
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from otherminds.games.decrypto.rules import CODES, LENGTH, Role, code_text
from otherminds.tom import cli
from otherminds.tom.agents.base import Attempt
from otherminds.tom.experiments.compare import heard_lexicon, lapsed, shadow
from otherminds.tom.experiments.config import ConfigError
from otherminds.tom.experiments.decrypto.lexicon.compare import (
    compare_meanings,
    encoder_log_p,
    held_out,
    literal_log_p,
    shared_associations,
)
from otherminds.tom.experiments.decrypto.lexicon.console import print_meanings, summaries
from otherminds.tom.experiments.decrypto.lexicon.records import associations, by_key, key_of, read_log
from otherminds.tom.experiments.decrypto.lexicon.run import (
    LexiconSettings,
    elicit,
    log_probabilities,
    mean_association,
    planned_lexica,
)
from otherminds.tom.experiments.decrypto.recordings import import_decrypto
from otherminds.tom.experiments.journal import JournalError, canonical, read
from otherminds.tom.experiments.records import read_games
from otherminds.tom.experiments.records import read_log as read_recording
from otherminds.tom.experiments.validate import validate_log
from otherminds.tom.llm.client import ModelError
from otherminds.tom.llm.elicitation import Distribution

MODEL, GAMES, TURNS, LAPSE = "vllm/fake", 4, 4, 0.05
BIAS = {"A": 0.0, "B": -1.5, "C": -0.4, "D": -2.0}  # a liking for letters, nats


def log_p(hint, keywords):
    """The planted lexicon: log p(k given h) over four keywords, unrelated to any vectors."""
    raw = [np.random.default_rng([len(word), *word.encode(), *hint.encode()]).normal(0, 2) for word in keywords]
    return np.array(raw) - np.logaddexp.reduce(raw)


def recorded_game(tiny, game):
    """A decoder that reads hints by the planted lexicon, best code first; hints are drawn anew each turn."""
    keywords = list(tiny.keywords[2 * game : 2 * game + 4])
    codes = np.random.default_rng(game).permutation(24)[:TURNS]
    history = []
    for turn, code in enumerate(codes):
        hints = [tiny.words[place] for place in np.random.default_rng([game, turn]).permutation(40)[:LENGTH]]
        scores = sum(np.array(log_p(hint, keywords))[CODES[:, place]] for place, hint in enumerate(hints))
        scores[codes[:turn]] = -np.inf
        guess, wrong = ([int(n) for n in code_text(int(index)).split("-")] for index in (scores.argmax(), 0))
        history.append(
            {"keywords": keywords, "code": code_text(int(code)).replace("-", ""), "hints": hints, "guess_bob": guess,
             "guess_eve": [1, 1, 1] if turn == 0 else wrong}
        )  # fmt: skip
    return {"summarized_history": history}


@pytest.fixture(scope="module")
def recording(tiny, tmp_path_factory):
    folder = tmp_path_factory.mktemp("recording")
    (folder / "games.json").write_text(json.dumps([recorded_game(tiny, game) for game in range(GAMES)]))
    import_decrypto(folder / "games.json", tiny, log=folder / "log.jsonl", agents=("people", MODEL, "other"))
    return folder / "log.jsonl"


@pytest.fixture
def server(fake_server, fake_completion):
    """Answers by the planted lexicon, and likes some letters better than others."""

    def answered(request):
        asked = request["messages"][-1]["content"]
        hint = re.search(r'is "([^"]+)"', asked)[1]
        shown = re.findall(r"^([A-D]): (.+)$", asked, re.M)
        values = log_p(hint, [word for _, word in shown])
        if "ratings" in asked:
            return json.dumps({"ratings": {label: round(100 * math.exp(value)) for (label, _), value
                                           in zip(shown, values, strict=True)}})  # fmt: skip
        biased = [(label, value + BIAS[label]) for (label, _), value in zip(shown, values, strict=True)]
        total = np.logaddexp.reduce([value for _, value in biased]) - math.log(0.9)
        place = sorted([(label, value - total) for label, value in biased] + [("the", math.log(0.1))],
                       key=lambda each: -each[1])  # fmt: skip
        body = fake_completion(place[0][0])
        listed = [{"token": token, "logprob": value} for token, value in place]
        body["choices"][0]["logprobs"] = {"content": [listed[0] | {"top_logprobs": listed}]}
        return body

    fake_server.script = [answered]
    return fake_server


def settings(server, **others):
    return LexiconSettings(**{"models": (MODEL,), "base_url": server.url} | others)


def asked(recording, log, how):
    return asyncio.run(elicit(recording, log, how)), read_log(log)


def test_what_a_liking_for_letters_adds_cancels_over_four_orders(recording, server, tmp_path):
    finished, log = asked(recording, tmp_path / "log.jsonl", settings(server, most_games=2))
    found = associations(log)
    hints = sum(len(plan.hints) for plan in planned_lexica(read_recording(recording), settings(server, most_games=2)))
    assert len(found) == hints <= 2 * TURNS * LENGTH and len(server.requests) == 4 * hints
    assert finished.failed_games == 0 and f"{hints} decisions, 0 failed answers; complete" in validate_log(
        tmp_path / "log.jsonl"
    )
    for each in found:
        expected = log_p(each.hint, each.keywords)
        np.testing.assert_allclose(each.associations, expected, atol=1e-9)
        assert each.missing == pytest.approx(0.1) and len(each.by_order) == 4
        assert np.abs(np.array(each.by_order) - expected).max() > 0.5  # a single order is biased
    (row,) = summaries(found)
    assert (row.hints, row.failed) == (hints, 0) and row.missing == pytest.approx(0.1) and 0 < row.same_nearest < 1


def test_a_failed_elicitation_is_missing_and_stays_in_the_log(recording, server, tmp_path):
    whole = server.script[0]
    bad = read_recording(recording).decisions
    bad = next(line.action[0] for made in bad.values() for line in made.values() if isinstance(line.action, list))

    def answered(request):
        return '{"ratings": {"A": 1}}' if f'"{bad}"' in request["messages"][0]["content"] else whole(request)

    server.script = [answered]
    log = tmp_path / "log.jsonl"
    finished, found = asked(recording, log, settings(server, method="rating", orders=2))
    failed = [each for each in associations(found) if each.associations is None]
    assert {each.hint for each in failed} == {bad} and finished.failed_games == len(failed) >= 1
    assert f"{len(failed)} failed answers; complete" in validate_log(log)
    lines = [line for made in found.decisions.values() for line in made.values() if line.action is None]
    assert all(len(line.attempts) == 4 and "one rating for each" in line.attempts[0].error for line in lines)
    table = by_key(associations(found))
    assert len(table) == sum(map(len, found.decisions.values())) - len(failed)
    for each in associations(found):
        if each.associations is not None:
            expected = np.round(100 * np.exp(log_p(each.hint, each.keywords))) / 100
            np.testing.assert_allclose(table[key_of(each.keywords, each.hint.upper())], expected)


def test_a_kill_loses_nothing_and_nothing_is_asked_twice(recording, server, tmp_path):
    whole, cut, how = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl", settings(server, orders=1)
    asked(recording, whole, how)
    calls, lines = len(server.requests), whole.read_bytes().splitlines(keepends=True)
    cut.write_bytes(b"".join(lines[:30]) + lines[30][:40])
    kept = sum(b'"event":"decision"' in line for line in lines[:30])
    finished, _ = asked(recording, cut, how)
    assert canonical(read(cut)) == canonical(read(whole))
    assert finished.resumed_decisions == kept > 0 and len(server.requests) == 2 * calls - kept
    asked(recording, cut, how)
    assert len(server.requests) == 2 * calls - kept
    with pytest.raises(ConfigError, match="another run"):
        asked(recording, cut, settings(server, orders=2))


def test_who_is_asked_and_about_what(recording, server, tmp_path):
    log = read_recording(recording)
    assert {plan.agent for plan in planned_lexica(log, settings(server, models=()))} == {MODEL}
    (plan,) = planned_lexica(log, settings(server, most_games=1))
    assert len(plan.hints) == len(set(plan.hints)) and plan.game_id == f"{MODEL} / {plan.recorded[0]}"
    again = next(iter(log.deals))  # the same keywords in another game are one question
    log.deals["again"] = log.deals[again].model_copy(update={"game_id": "again"})
    log.decisions["again"] = log.decisions[again]
    assert planned_lexica(log, settings(server))[0].recorded == (again, "again")
    assert len(planned_lexica(log, settings(server))) == GAMES
    for wrong, told in (
        ({"models": ("rational",)}, "provider/name"),
        ({"models": ("anthropic/x",)}, "no log-probabilities; ask with --by rating"),
        ({"orders": 5}, "--orders 5: 5 orders: from 1 to 4"),
        ({"most_games": 0}, "--games 0"),
        ({"method": "dreams"}, "one of logprobs, rating"),
    ):
        with pytest.raises(ConfigError, match=told):
            asyncio.run(elicit(recording, tmp_path / "never.jsonl", settings(server, **wrong)))
    assert not (tmp_path / "never.jsonl").exists() and not server.requests


def test_a_server_that_refuses_log_probabilities_is_asked_once(recording, fake_server, tmp_path):
    fake_server.script = [(400, {"error": {"message": "logprobs is not supported"}}), "B"]
    with pytest.raises(ModelError, match="gives no log-probabilities; ask with --by rating"):
        asked(recording, tmp_path / "log.jsonl", settings(fake_server, orders=1, most_games=1))
    assert not any(read_log(tmp_path / "log.jsonl").decisions.values())


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        # C and D are at most as probable as the last of the list
        ([("A", 0.9), ("B", 0.05), ("the", 0.02), ("so", 0.01)], [0.9, 0.05, 0.01, 0.01]),
        ([("A", 0.9), ("the", 0.1)], "lists 2 tokens, r, m, s not among them"),
        ([("A", 0.5), ("B", 0.5), ("C", 0.0), ("D", 0.0)], "probability 0"),
    ],
)
def test_an_option_that_the_server_does_not_list(listed, expected):
    masses = dict(listed)
    seen = [masses.get(label, 0.0) for label in "ABCD"]
    found = Distribution(
        tuple("krms"),
        tuple(mass / sum(seen) for mass in seen),
        "logprobs",
        missing=1 - sum(seen),
        unseen=tuple(option for option, label in zip("krms", "ABCD", strict=True) if label not in masses),
        attempts=(Attempt("A", logprobs=(tuple((token, math.log(p) if p else -9999.0) for token, p in listed),)),),
    )
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            log_probabilities(found)
    else:
        np.testing.assert_allclose(np.exp(log_probabilities(found)), np.array(expected) / sum(expected))


def test_means_over_orders():
    assert mean_association([[0.2, 0.4, 0, 1], [0.4, 0.4, 0, 1]], "rating") == pytest.approx((0.3, 0.4, 0, 1))
    mean = mean_association(np.log([[0.5, 0.5, 1e-9, 1e-9], [0.1, 0.4, 0.25, 0.25]]).tolist(), "logprobs")
    assert math.fsum(map(math.exp, mean)) == pytest.approx(1) and mean[1] - mean[0] == pytest.approx(math.log(2))


def test_the_rule_against_a_loop_over_codes():
    random = np.random.default_rng(0)
    a, betas = random.normal(size=(3, 3, 4)), np.array([0.0, 0.7, 300.0])
    used = np.zeros((3, 24), bool)
    used[1, [0, 5, 6]] = True
    guesses = np.array([3, 5, -1])  # the second is a code that was used, the third a failed answer
    found = literal_log_p(a, used, guesses, LAPSE, betas)
    for n, b in np.ndindex(3, 3):
        p = [0 if used[n, c] else math.exp(betas[b] * sum(a[n, i, CODES[c, i]] for i in range(3))) for c in range(24)]
        chosen = p[guesses[n]] / sum(p) if guesses[n] >= 0 else 0
        assert found[n, b] == pytest.approx(math.log((1 - LAPSE) * chosen + LAPSE / 24), abs=1e-5)


def test_the_encoders_rule_against_a_loop_over_hints():
    """Four turns of 12 hints, of which two are one word and one turn has no meanings."""
    random = np.random.default_rng(1)
    hints = np.array([[5, 9, 7], [3, 5, 2], [8, 1, 4], [-1, -1, -1]])
    by_word = random.normal(size=(10, 4))
    a = np.where((np.arange(4) < 2)[:, None, None], by_word[hints], np.nan)
    pool, betas, codes = [2, 3, 5, 7, 9], np.array([0.0, 0.7, 30.0]), np.array([3, 17, 0])
    found = encoder_log_p(a, hints, codes, hints[[0, 1, 3]], LAPSE, betas)
    for n, turn in enumerate((0, 1, 3)):
        for b, beta in enumerate(betas):
            p = 0.0 if turn == 3 else 1.0
            for word, slot in zip(hints[turn], CODES[codes[n]], strict=True):
                each = [math.exp(beta * by_word[h, slot]) for h in pool]
                p *= math.exp(beta * by_word[word, slot]) / sum(each)
            assert found[n, b] == pytest.approx(math.log((1 - LAPSE) * p + LAPSE / len(pool) ** 3), abs=1e-5)


def test_every_decision_is_scored_at_a_beta_chosen_elsewhere():
    log_p = np.array([[-1.0, -3.0], [-1.0, -3.0], [-5.5, -1.0], [-2.0, -2.5]])
    assert held_out(log_p, np.array([7, 7, 3, 1])).tolist() == [-3.0, -3.0, -5.5, -2.5]
    assert np.isnan(held_out(log_p, np.zeros(4, int))).all()


def test_shared_meanings_are_those_of_the_literal_decoder(recording, tiny):
    games = read_games([recording], tiny)
    lexicon = heard_lexicon(tiny, games)
    there = np.arange(games.arrays.codes.shape[1]) < games.arrays.turns[:, None]
    game, turn = np.nonzero(there)
    used = np.array([[c in games.arrays.codes[g, :t] for c in range(24)] for g, t in zip(game, turn, strict=True)])
    guesses = games.arrays.decoder_guesses[there]
    found = literal_log_p(shared_associations(games, lexicon)[there], used, guesses, LAPSE, np.array([12.0]))[:, 0]
    expected = shadow(games, lexicon, "literal:rule=softmax,beta=12", Role.DECODER)
    np.testing.assert_allclose(found, lapsed(expected.log_p, expected.set_size, LAPSE)[there], atol=1e-4)


def test_a_decoder_that_reads_by_its_own_lexicon_is_told_from_one_that_does_not(
    recording, server, tiny, tmp_path, capsys
):
    _, log = asked(recording, tmp_path / "log.jsonl", settings(server))
    games = read_games([recording], tiny)
    lexicon = heard_lexicon(tiny, games)
    found = associations(log)
    row, encoder = compare_meanings(games, lexicon, [recording], found, LAPSE)
    assert (encoder.role, encoder.agent, encoder.own, encoder.failed) == ("encoder", "people", False, 0)
    assert encoder.compared == GAMES * TURNS and math.isfinite(encoder.difference)
    assert (row.role, row.agent, row.lexicon, row.own, row.failed) == ("decoder", MODEL, MODEL, True, 0)
    assert row.decisions == row.elicited == row.known == row.compared == GAMES * TURNS and row.games == GAMES
    assert row.own_score > -0.1 > row.chance > -3.2 and row.own_beta > 3
    assert row.difference > 1 and row.difference > 5 * row.error > 0
    assert row.difference == pytest.approx(row.own_score - row.shared_score)
    print_meanings([row], LAPSE)
    said = capsys.readouterr().out
    assert f"  {MODEL} (logprobs) *" in said and f"± {row.error:.3f}" in said

    # One who reads by the vectors, and fails to answer twice: its failures are the lapse's under both lexica.
    best = literal_best(games, shared_associations(games, lexicon))
    best[0, 0] = best[1, 1] = -1
    games = replace(games, arrays=games.arrays._replace(decoder_guesses=best))
    row, _ = compare_meanings(games, lexicon, [recording], found[1:], LAPSE)
    assert row.failed == 1 and row.difference < -1  # the other failure is about a hint that was not elicited
    assert row.elicited == row.compared < row.decisions == row.known

    with pytest.raises(JournalError, match="no hint of these games was elicited"):
        compare_meanings(games, lexicon, [recording], [], LAPSE)


def literal_best(games, a):
    """[G, T] the best unused code."""
    best = np.full(games.arrays.codes.shape, -1, np.int32)
    for g, t in np.ndindex(best.shape):
        if t < games.arrays.turns[g]:
            scores = np.array([sum(a[g, t, i, code[i]] for i in range(LENGTH)) for code in CODES])
            scores[games.arrays.codes[g, :t]] = -np.inf
            best[g, t] = scores.argmax()
    return best


def test_lines_that_cannot_come_at_their_place(recording, server, tmp_path):
    log = tmp_path / "log.jsonl"
    asked(recording, log, settings(server, orders=1, most_games=1))
    text = log.read_text()
    (deal,) = read_log(log).deals.values()
    for old, new, told in (
        ('"orders":1}', '"orders":9}', "1 to 4 orders"),
        ('"hints":[', '"hints":[3,', "hints is no list of texts"),
        (f'"hint":"{deal.deal["hints"][0]}"', '"hint":"other"', "hint 0 is another"),
        (f'"scores":{{"{deal.keywords[0]}"', '"scores":{"other"', "no score for each keyword"),
        (re.search(r'"scores":{"[^"]+":([^,]+),', text)[0], '"scores":{"KEYWORD":0.5,', "do not sum to 1"),
    ):
        assert old in text
        (tmp_path / "broken.jsonl").write_text(text.replace(old, new.replace("KEYWORD", deal.keywords[0]), 1))
        with pytest.raises(JournalError, match=told):
            validate_log(tmp_path / "broken.jsonl")


@pytest.mark.slow
def test_the_commands(recording, server, tiny_files, tmp_path):
    words = [part for name, file in tiny_files.items() for part in (f"--{name}", file)]
    call = ["elicit", "lexicon", str(recording), "--base-url", server.url, "--out", str(tmp_path / "lexicon")]
    run = CliRunner()
    counted = run.invoke(cli.main, [*call, "--dry-run", "--json"])
    assert counted.exit_code == 0 and not server.requests, counted.output
    expected = json.loads(counted.stdout)["dry_run"][0]["answers"]
    done = run.invoke(cli.main, call)
    assert done.exit_code == 0 and len(server.requests) == expected, done.output
    assert "same in" in done.output and f"{MODEL} (logprobs)" in done.output
    log = tmp_path / "lexicon" / "log.jsonl"
    with (tmp_path / "lexicon" / "lexicon.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == expected and {row["method"] for row in rows} == {"logprobs"}
    keywords = [row["keyword"] for row in rows[:4]]
    assert [float(row["log_association"]) for row in rows[:4]] == pytest.approx(log_p(rows[0]["hint"], keywords))
    shown = run.invoke(cli.main, ["compare", str(log), "--json"])
    assert json.loads(shown.stdout)[0]["hints"] == len(rows) // 4
    few = ["--minds", "encoder=baseline", "--minds", "decoder=literal", "--minds", "interceptor=baseline"]
    compared = run.invoke(cli.main, ["compare", str(recording), "--lexicon", str(log), "--json", *few, *words])
    assert compared.exit_code == 0, compared.output
    (row,) = json.loads(compared.stdout)["meanings"]
    assert row["difference"] > 1 and row["own"] is True
    for wrong, told in (
        (["compare", str(log), "--lexicon", str(log)], "these are of decrypto-lexicon"),
        (["compare", str(recording), "--lexicon", str(recording), *few, *words], "it must be of 'decrypto-lexicon'"),
        ([*call[:3], "--model", "x"], "provider/name"),
    ):
        failed = run.invoke(cli.main, wrong)
        assert failed.exit_code == 2 and told in failed.output, failed.output
