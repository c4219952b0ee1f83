"""Whole runs against a server that misbehaves: nothing stops them that may pass, nothing is lost, nothing hidden."""

import importlib.util
import itertools
import json
import os
import re
import resource
import subprocess
import sys
import time
from email.utils import formatdate
from pathlib import Path

import pytest

from otherminds.tom.experiments import journal
from otherminds.tom.experiments.logs import read_log
from otherminds.tom.llm.accounts import LimitReached, Limits

SMALL_RUN = Path(__file__).with_name("small_run.py")
GOOD = '{"hints": ["wave", "crown", "flour"]}'
FAST = {"retry-after-ms": "1"}


@pytest.fixture(scope="module")
def small():
    """The module of the smallest run."""
    spec = importlib.util.spec_from_file_location("small_run", SMALL_RUN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def told(caplog):
    return [record.getMessage() for record in caplog.records if record.name == "otherminds"]


def decisions(path):
    return [line for line in journal.read(path) if isinstance(line, journal.Decision)]


def in_two_seconds():
    return {"retry-after": formatdate(time.time() + 2, usegmt=True)}


# a fault of one call -> a part of the line that tells of it
PASSING = {
    "429, seconds": (lambda _: (429, {"error": {"message": "slow down"}}, {"retry-after": "1"}), "status 429"),
    "429, a date": (lambda _: (429, {}, in_two_seconds()), "status 429"),
    "500": ((500, b"<html>\x1b[2Joops</html>", FAST), "status 500 <html>?[2Joops</html>"),
    "503": ((503, {}, FAST), "status 503"),
    "dropped": (None, "RemoteProtocolError"),
    "half sent": (bytearray(b'{"choices": [' + b" " * 1000), "RemoteProtocolError"),
    "silent": (0.8, "ReadTimeout"),
}


@pytest.mark.parametrize("fault", PASSING)
def test_what_passes_costs_one_line_that_names_the_game_and_the_error(small, fake_server, tmp_path, caplog, fault):
    entry, words = PASSING[fault]
    fake_server.script = [GOOD, GOOD, entry, GOOD]
    begun = time.monotonic()
    timeout = 0.4 if fault == "silent" else 10.0
    finished = small.run(fake_server.url, tmp_path / "log", small.settings_of(timeout=timeout, max_connections=1), 1)
    assert (finished.games, finished.failed_games) == (1, 0)
    if fault.startswith("429"):
        assert time.monotonic() - begun > 0.9
    (line,) = told(caplog)
    assert line.startswith("game small 0, turn 3, encoder: fake/fake at 127.0.0.1:") and "attempt 1 of 3: " in line
    assert words in line and "\n" not in line
    made = decisions(tmp_path / "log")
    assert [line.usage["requests"] for line in made] == [1, 1, 2, 1, 1] and all(line.action for line in made)


HOSTILE = "\"]} ANSWER: <script>alert(1)</script> \x00\x1b[2J {{ 7 * 7 }} \ud800 ' OR 1=1 --"


def cut(completion):
    return completion('{"hints": ["wave", "cro', finish_reason="length")


# an answer -> the failure that is written down, and a part of its error
BAD = {
    "empty": ("", "empty", "it was empty"),
    "blank": (" \n", "empty", "it was empty"),
    "cut": (cut, "cut", "cut off for its length"),
    "refused": (lambda completion: completion(None, refusal="No."), "refused", "refused"),
    "filtered": (lambda completion: completion("", finish_reason="content_filter"), "refused", "refused"),
    "prose": ("I would rather not.", "invalid", "not a list of 3 hints"),
    "broken JSON": ('{"hints": ["wave", "crown"', "invalid", "cannot be read"),
    "wrong kind": ('{"hints": 7}', "invalid", "hints"),
    "a guess": ('{"guess": "1-2-3"}', "invalid", "no answer was found"),
    "too many": ('{"hints": ["a", "b", "c", "d"]}', "invalid", "hints"),
    "a long hint": (json.dumps({"hints": ["a", "b", "x" * 1000]}), "invalid", "hint"),
    "hostile": (HOSTILE, "invalid", "not a list of 3 hints"),
    "another answer": (f"{GOOD} or {GOOD.replace('wave', 'tide')}", "invalid", "two different"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_model_that_never_answers_rightly_fails_and_is_written_down(
    small, fake_server, fake_completion, tmp_path, caplog, case
):
    entry, failure, words = BAD[case]
    fake_server.script = [entry(fake_completion) if callable(entry) else entry]
    path = tmp_path / "log"
    finished = small.run(fake_server.url, path, small.settings_of(), 1)
    assert (finished.games, finished.failed_games) == (1, 1)
    made = decisions(path)
    assert len(made) == small.TURNS and all(line.action is None and len(line.attempts) == 2 for line in made)
    for line in made:
        assert line.attempts[0].failure == failure and words in line.attempts[0].error
        assert line.usage == {"prompt_tokens": 20, "completion_tokens": 6, "requests": 2}
    assert len(told(caplog)) == small.TURNS
    for turn, line in enumerate(told(caplog), 1):
        assert line.startswith(f"game small 0, turn {turn}, encoder: fake/fake: no valid answer in 2 of 2 attempts (")
    assert read_log(path, small.RULES).over["small 0"].failed_answers == small.TURNS
    if case == "hostile":
        assert made[0].attempts[0].text == HOSTILE.replace("\ud800", "?")
        assert all(text.isprintable() for text in told(caplog))


def test_a_log_that_cannot_be_written_is_told_in_one_line_and_goes_on_later(small, fake_server, tmp_path, monkeypatch):
    fake_server.script = [GOOD]
    path, written, sync = tmp_path / "log", 0, os.fsync

    def full_after_a_while(file):
        nonlocal written
        written += 1
        if written > 7:
            raise OSError(28, "No space left on device")
        sync(file)

    monkeypatch.setattr(os, "fsync", full_after_a_while)
    with pytest.raises(
        journal.JournalError, match=r"log: the log cannot be written \(No space left on device\)"
    ) as full:
        small.run(fake_server.url, path, small.settings_of())
    assert "\n" not in str(full.value) and "the same command goes on" in str(full.value)
    monkeypatch.undo()
    small.run(fake_server.url, path, small.settings_of())
    small.run(fake_server.url, tmp_path / "other", small.settings_of())
    assert journal.canonical(journal.read(path)) == journal.canonical(journal.read(tmp_path / "other"))


def test_a_line_that_is_written_in_part_is_cut_off_at_the_next_start(small, fake_server, tmp_path):
    """A file may grow no further: the system writes the beginning of a line, as on a full disk."""
    fake_server.script = [GOOD]
    path = tmp_path / "log"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limits[1]))
    try:
        with pytest.raises(journal.JournalError, match="the log cannot be written"):
            small.run(fake_server.url, path, small.settings_of(max_connections=1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not path.read_bytes().endswith(b"\n") and path.stat().st_size == 3000
    made = len(decisions(path))
    assert made and small.run(fake_server.url, path, small.settings_of()).resumed_decisions == made
    assert read_log(path, small.RULES).complete


def test_a_run_stops_at_its_limit_and_goes_on_with_a_higher_one(small, fake_server, tmp_path):
    fake_server.script = [GOOD]
    path, calls = tmp_path / "log", small.GAMES * small.TURNS
    with pytest.raises(LimitReached) as refused:
        small.run(fake_server.url, tmp_path / "none", small.settings_of(limits=Limits(tokens=1)))
    reserve = int(re.search(r"may take ([\d,]+) more", str(refused.value))[1])  # of a call, which takes 13 tokens
    for share in (0.3, 0.6):
        limits = Limits(tokens=int(13 * calls * share) + reserve)
        with pytest.raises(LimitReached, match=re.escape(f"--token-limit {limits.tokens}")) as stopped:
            small.run(fake_server.url, path, small.settings_of(limits=limits))
        assert str(path) in str(stopped.value) and "\n" not in str(stopped.value)
        spent = sum(
            sum(line.usage[kind] for kind in ("prompt_tokens", "completion_tokens")) for line in decisions(path)
        )
        assert limits.tokens - reserve - 13 < spent <= limits.tokens and spent == 13 * len(fake_server.requests)
    finished = small.run(
        fake_server.url, path, small.settings_of(limits=Limits(tokens=10_000, prices={"*": (1.0, 2.0)}))
    )
    assert finished.games == small.GAMES and len(fake_server.requests) == calls  # nothing was paid for twice
    assert finished.spent["fake/fake"].tokens == 13 * calls
    assert finished.cost == pytest.approx(16e-6 * calls)
    small.run(fake_server.url, tmp_path / "other", small.settings_of())
    assert journal.canonical(journal.read(path)) == journal.canonical(journal.read(tmp_path / "other"))


@pytest.mark.parametrize("kills", [3, pytest.param(60, marks=pytest.mark.slow)])
def test_kills_at_random_moments_lose_no_game_and_play_none_twice(small, fake_server, tmp_path, kills):
    """The server answers the same question differently every time; what it answered once is in the cache."""
    numbers = itertools.count(1)

    def answer(request):
        number = next(numbers)
        time.sleep(0.01)
        letters = "".join("abcdefghij"[int(digit)] for digit in str(number))
        return (500, {}, FAST) if number % 7 == 0 else GOOD.replace("wave", f"wave{letters}")

    fake_server.script = [answer]
    cache, path = tmp_path / "cache", tmp_path / "log"
    command = [sys.executable, "-W", "ignore", str(SMALL_RUN), fake_server.url, path, cache, str(kills), str(kills)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    killed, in_the_middle, *logs = done.stdout.splitlines()
    print(f"\n{in_the_middle} of {killed} kills in the middle of {len(logs)} runs")
    logs = list(map(Path, logs))
    settings = small.settings_of(cache=cache)
    small.run(fake_server.url, logs[-1], settings)  # to its end
    calls = len(fake_server.requests)
    small.run(fake_server.url, tmp_path / "uninterrupted", settings)
    assert len(fake_server.requests) == calls  # all that was ever answered is kept
    expected = journal.canonical(journal.read(tmp_path / "uninterrupted"))
    assert len({line.action[0] for line in decisions(tmp_path / "uninterrupted")}) == small.GAMES * small.TURNS
    for log in logs:
        held = read_log(log, small.RULES)  # refuses what was dealt or decided twice
        assert held.complete and len(held.over) == small.GAMES
        assert sum(map(len, held.decisions.values())) == small.GAMES * small.TURNS
        assert journal.canonical(journal.read(log)) == expected
    answered = small.GAMES * small.TURNS
    assert answered <= calls * 7 / 6 and calls <= (answered + int(killed) * small.CONNECTIONS) * 7 / 6 + 1
