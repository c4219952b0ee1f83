"""A good log is valid, and whatever is tampered with in it is found."""

import json

import numpy as np
import pytest

from otherminds.games.decrypto.rules import CODES, code_text
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.validate import validate_log

GAMES = ["a + b + c / seed 0 / episode 0", "a + b + c / seed 1 / episode 0"]
AGENTS = {"encoder": "a", "decoder": "b", "interceptor": "c"}
CODES_IN_WORDS = [code_text(code) for code in np.random.default_rng(0).permutation(len(CODES))[:8]]
# By game and turn, who errs: the encoder (no hints), the decoder, the interceptor (finds the code), or nobody.
STORIES = [["", "encoder", "", "decoder"], ["interceptor", "", "", "interceptor"]]
ENDINGS = ["miscommunication", "interception"]


def good_log(path, continue_after_loss=False):
    """Two games; in the first the encoder fails once and the interceptor too."""
    with journal.Writer(path) as writer:
        config = {"continue_after_loss": continue_after_loss}
        writer.write(journal.RunBegun(game="decrypto", config=config, vocabulary="v", versions={}, time=""))
        for number, (game_id, story) in enumerate(zip(GAMES, STORIES, strict=True)):
            keywords = ["ant", "bee", "cat", "dog"]
            writer.write(
                journal.GameBegun(
                    game_id=game_id, agents=AGENTS, seed=number, episode=0, keywords=keywords, codes=CODES_IN_WORDS
                )
            )
            for turn, erring in enumerate(story):
                code, wrong = CODES_IN_WORDS[turn], CODES_IN_WORDS[turn - 1]
                actions = {
                    "encoder": None if erring == "encoder" else ["x", "y", "z"],
                    "decoder": wrong if erring == "decoder" else code,
                    "interceptor": code if erring == "interceptor" else None if erring == "encoder" else wrong,
                }
                for role, action in actions.items():
                    writer.write(
                        journal.Decision(
                            game_id=game_id, turn=turn, role=role, agent=AGENTS[role], observation={}, action=action
                        )
                    )
            writer.write(
                journal.GameOver(
                    game_id=game_id,
                    ending=ENDINGS[number],
                    turns=4,
                    miscommunications=2 * (number == 0),
                    interceptions=2 * (number == 1),
                    failed_answers=2 * (number == 0),
                )
            )
        writer.write(journal.RunOver(games=2, time=""))
    return path


@pytest.fixture
def log(tmp_path):
    return good_log(tmp_path / "log.jsonl")


def lines_of(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def rewrite(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_a_good_log_is_valid(log):
    said = validate_log(log)
    assert said == (f"{log}: valid, schema version 1; 2 of 2 games over, 24 decisions, 2 failed answers; complete")


def test_a_last_line_that_is_cut_off_is_told(log):
    content = log.read_bytes()
    log.write_bytes(content[:-20])
    assert "; its last line is cut off and does not count; not finished" in validate_log(log)
    log.write_bytes(content[:-1])  # a whole line without its line break is cut off too
    assert "cut off" in validate_log(log)


def test_every_beginning_of_a_good_log_is_valid(log):
    whole = lines_of(log)
    for count in range(1, len(whole)):
        rewrite(log, whole[:count])
        said = validate_log(log)
        assert "the same command goes on with it" in said
        assert f" {sum(line['event'] == 'decision' for line in whole[:count])} decisions" in said


def test_guessers_may_be_logged_in_either_order(log):
    lines = lines_of(log)
    lines[3], lines[4] = lines[4], lines[3]
    rewrite(log, lines)
    assert "valid" in validate_log(log)


# Line 1 run_begun; 2 game_begun; 3 to 14 decisions; 15 game_over; 16 game_begun; 17 to 28 decisions; 29 game_over; 30.
def changed(number, **fields):
    def tamper(lines):
        lines[number - 1] |= fields

    return tamper


def dropped(number):
    return lambda lines: lines.pop(number - 1)


def doubled(number, to=None):
    def tamper(lines):
        lines.insert(number if to is None else to - 1, lines[number - 1])

    return tamper


@pytest.mark.parametrize(
    ("tamper", "where", "what"),
    [
        (changed(9, extra=1), 9, "extra"),
        (changed(9, schema_version=0), 9, "schema version 0"),
        (changed(1, game="chess"), 1, "chess"),
        (dropped(1), 1, "begins with run_begun"),
        (doubled(1), 2, "a run begins in the middle"),
        (doubled(1, to=16), 16, "a run begins in the middle"),
        (doubled(2), 3, "begins twice"),
        (doubled(16, to=30), 30, "begins twice"),
        (dropped(2), 2, "is not being played"),
        (changed(2, agents={"encoder": "a", "decoder": "b"}), 2, "roles"),
        (changed(2, keywords=["ant", "bee", "cat"]), 2, "4 different keywords"),
        (changed(2, keywords=["ant", "bee", "cat", "ant"]), 2, "4 different keywords"),
        (changed(2, codes=[]), 2, "codes"),
        (changed(2, codes=["1-2-3", "1-2-3"]), 2, "codes"),
        (changed(2, codes=["1-1-3"]), 2, "codes"),
        (changed(2, codes=CODES_IN_WORDS[:3]), 12, "turn 3, which is not played"),
        (doubled(5), 6, "decides twice"),
        (doubled(3), 4, "decides twice"),
        (changed(6, turn=2), 6, "decides in turn 2"),
        (changed(6, turn=-1), 6, "decides in turn -1"),
        (dropped(3), 3, "decides in turn 0"),
        (dropped(4), 5, "decides in turn 1"),
        (changed(4, role="judge"), 4, "no such role"),
        (changed(4, role="encoder", agent="a"), 4, "decides twice"),
        (changed(4, agent="c"), 4, "is 'b', not 'c'"),
        (changed(4, game_id=GAMES[1]), 4, "is not being played"),
        (changed(3, action="1-2-3"), 3, "not 3 hints"),
        (changed(3, action=["x", "y"]), 3, "not 3 hints"),
        (changed(3, action=["x", "y", ""]), 3, "not 3 hints"),
        (changed(4, action=["x", "y", "z"]), 4, "no code"),
        (changed(4, action="1-2-2"), 4, "no code"),
        (changed(4, action="123"), 4, "no code"),
        (changed(15, ending="won"), 15, "'won' does not exist"),
        (changed(15, ending="survived"), 15, "ending 'survived', but its decisions give 'miscommunication'"),
        (changed(15, turns=5), 15, "turns 5, but its decisions give 4"),
        (changed(15, miscommunications=1), 15, "miscommunications 1"),
        (changed(15, interceptions=1), 15, "interceptions 1"),
        (changed(15, failed_answers=0), 15, "failed_answers 0, but its decisions give 2"),
        (changed(4, action=CODES_IN_WORDS[5]), 9, "goes on after its end in turn 1"),
        (changed(13, action=CODES_IN_WORDS[3]), 15, "ending"),
        (changed(17, action=None), 29, "decisions give"),
        (dropped(28), 28, "ending 'interception', but its decisions give 'unfinished'"),
        (doubled(15), 16, "is not being played"),
        (doubled(14, to=16), 16, "is not being played"),
        (changed(30, games=3), 30, "3 games"),
        (dropped(15), 29, "1 of 2 games"),
        (doubled(30), 31, "after the run was over"),
        (doubled(30, to=29), 29, "1 of 2 games"),
    ],
)  # fmt: skip
def test_what_is_tampered_with_is_found(log, tamper, where, what):
    lines = lines_of(log)
    tamper(lines)
    rewrite(log, lines)
    with pytest.raises(journal.JournalError, match=f"^{log}, line {where}: .*({what})") as raised:
        validate_log(log)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("number", "fields", "message"),
    [
        (4, {"probabilities": {"1-2-3": 0.5, "1-2-4": 0.4}}, "states probabilities that are none"),
        (4, {"probabilities": {"1-2-3": 1.5, "1-2-4": -0.5}}, "states probabilities that are none"),
        (4, {"probabilities": {"1-1-1": 1.0}}, "states probabilities of 1-1-1, which are not all codes"),
        (3, {"probabilities": {"1-2-3": 1.0}}, "states probabilities of 1-2-3, which are not all codes"),
        (3, {"log_probability": 0.1}, "log-probability 0.1; it must be at most 0"),
        (4, {"probabilities": {CODES_IN_WORDS[0]: 1.0}, "log_probability": -1.0}, "it must be the log of 1, which it"),
    ],
)
def test_probabilities_that_are_none_are_found(log, number, fields, message):
    lines = lines_of(log)
    lines[number - 1] |= fields
    rewrite(log, lines)
    with pytest.raises(journal.JournalError, match=f"^{log}, line {number}: .*{message}"):
        validate_log(log)


def test_a_game_that_goes_on_after_its_end_is_found(tmp_path):
    log = good_log(tmp_path / "log.jsonl", continue_after_loss=True)
    lines = lines_of(log)
    more = [line | {"turn": 4} for line in lines[25:28]]
    played_on = [line for number, line in enumerate(lines[:28], 1) if number != 15] + more
    rewrite(log, played_on)
    assert "27 decisions" in validate_log(log)
    lines[0]["config"] = {"continue_after_loss": False}
    rewrite(log, played_on)
    with pytest.raises(
        journal.JournalError, match=r"line 28: game .* seed 1 / episode 0' goes on after its end in turn 3"
    ):
        validate_log(log)


def test_a_log_without_a_whole_line_is_named(tmp_path):
    path = tmp_path / "log.jsonl"
    for content in (b"", b'{"schema_version": 1, "event": "run_be'):
        path.write_bytes(content)
        with pytest.raises(journal.JournalError, match="nothing was played"):
            validate_log(path)
