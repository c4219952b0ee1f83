"""The log: one event a line, whatever was said; whole after a kill; described by a schema."""

import json
import os
from importlib import resources

import pytest

from otherminds.tom.experiments import journal

DEAL = journal.GameBegun(
    game_id="a + b + c / seed 0 / episode 0",
    agents={"encoder": "a", "decoder": "b", "interceptor": "c"},
    seed=0,
    episode=0,
    keywords=["ant", "bee", "cat", "dog"],
    codes=["1-2-3", "4-3-2"],
)
BEGUN = journal.RunBegun(
    game="decrypto", config={"seeds": [0], "x": None}, vocabulary="v", versions={"jax": "1"}, time="2026-01-01"
)
OVER = journal.GameOver(
    game_id=DEAL.game_id, ending="survived", turns=2, miscommunications=0, interceptions=1, failed_answers=0
)


def decision(turn=0, role="encoder", action=("x", "y", "z"), **fields):
    agent = DEAL.agents[role]
    action = list(action) if isinstance(action, tuple) else action
    return journal.Decision(
        game_id=DEAL.game_id, turn=turn, role=role, agent=agent, observation={}, action=action, **fields
    )


LINES = [
    BEGUN,
    DEAL,
    decision(attempts=[journal.Attempt(text="x", error=None, latency=0.5)], usage={"requests": 1}, seconds=0.25),
    decision(role="decoder", action="1-2-3", log_probability=-0.5, probabilities={"1-2-3": 1.0}),
    decision(role="interceptor", action=None),
    OVER,
    journal.RunOver(games=1, time="2026-01-01"),
]
HOSTILE = [
    "two\nlines\r\n",
    "\u2028\u2029\x85\x0b\x0c\x1c",
    "\x00\x01\x7f",
    "half \ud800 a \udfff letter",
    'quote " backslash \\ \\n \\ud800',
    "\U0001f600 \N{RIGHT-TO-LEFT OVERRIDE} e\u0301",
    "</script>{{ 7 * 7 }}",
    "",
    "x" * 100_000,
]


def written(path, lines):
    with journal.Writer(path) as writer:
        for line in lines:
            writer.write(line)
    return path


def test_lines_come_back_as_they_were_written(tmp_path):
    assert list(journal.read(written(tmp_path / "deep" / "er" / "log.jsonl", LINES))) == LINES


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_is_said_stays_on_one_line(tmp_path, text):
    line = decision(
        action=(text, text, text), unknown_words=[text], attempts=[journal.Attempt(text=text, error=text, more=text)]
    )
    path = written(tmp_path / "log.jsonl", [BEGUN, line, OVER])
    assert path.read_bytes().count(b"\n") == 3
    assert list(journal.read(path)) == [BEGUN, line, OVER]


def test_what_is_no_number_is_not_written(tmp_path):
    with journal.Writer(tmp_path / "log.jsonl") as writer, pytest.raises(ValueError, match="nan"):
        writer.write(decision(log_probability=float("nan")))
    assert (tmp_path / "log.jsonl").read_bytes() == b""


def test_every_line_is_on_disk_before_the_next(tmp_path, monkeypatch):
    path, sizes, sync = tmp_path / "log.jsonl", [], os.fsync

    def note(descriptor):
        sync(descriptor)
        sizes.append(os.fstat(descriptor).st_size)

    monkeypatch.setattr(os, "fsync", note)
    with journal.Writer(path) as writer:
        for number, line in enumerate(LINES, 1):
            writer.write(line)
            assert len(sizes) == number and path.stat().st_size == sizes[-1]
            assert list(journal.read(path)) == LINES[:number]


def test_a_torn_last_line_is_left_out_and_then_cut_off(tmp_path):
    path = written(tmp_path / "log.jsonl", LINES)
    whole = path.read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    for cut in (*range(0, len(whole), 7), *ends, *(end - 1 for end in ends)):
        path.write_bytes(whole[:cut])
        left = sum(end <= cut for end in ends)
        assert list(journal.read(path)) == LINES[:left]
        written(path, LINES[left:])
        assert path.read_bytes() == whole


def test_a_run_is_over_with_its_last_line(tmp_path):
    path, over = tmp_path / "log.jsonl", journal.encoded(journal.RunOver(games=1, time=""))
    for content, complete in (
        (b"{}\n" + over, True),
        (b"{}\n" + over[:-9], False),
        (over + b"{}\n", False),
        (b"", False),
    ):
        path.write_bytes(content)
        assert journal.is_complete(path) == complete, content


def test_a_log_has_one_writer(tmp_path):
    path = tmp_path / "log.jsonl"
    with (
        journal.Writer(path) as writer,
        pytest.raises(journal.JournalError, match="another run is writing this log"),
    ):
        writer.write(BEGUN)
        journal.Writer(path)
    written(path, [DEAL])
    assert list(journal.read(path)) == [BEGUN, DEAL]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"", "not JSON"),
        (b"   ", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON .*utf-8"),
        (b"\x00" * 50, "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"9" * 5000, "not JSON"),
        (b"[]", "schema version None"),
        (b"7", "schema version None"),
        (b"{}", "schema version None"),
        (b'{"schema_version": 2, "event": "run_over"}', "schema version 2.*reads 1"),
        (b'{"schema_version": "1", "event": "run_over"}', "schema version '1'"),
        (b'{"schema_version": 1}', "event"),
        (b'{"schema_version": 1, "event": "party"}', "party"),
        (b'{"schema_version": 1, "event": "run_over", "games": 1}', "time: field required"),
        (b'{"schema_version": 1, "event": "run_over", "games": "1", "time": ""}', "games: .*integer"),
        (b'{"schema_version": 1, "event": "run_over", "games": 1, "time": "", "more": 1}', "more"),
    ],
)
def test_what_is_no_line_of_a_log_is_named(tmp_path, line, error):
    path = written(tmp_path / "log.jsonl", LINES[:2])
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(journal.JournalError, match=rf"log\.jsonl, line 3: .*{error}") as raised:
        list(journal.read(path))
    assert len(str(raised.value).splitlines()) == 1 and len(str(raised.value)) < 600


def test_what_cannot_be_read_is_named(tmp_path):
    with pytest.raises(journal.JournalError, match="no such log"):
        list(journal.read(tmp_path / "none.jsonl"))
    with pytest.raises(journal.JournalError, match="cannot be read"):
        list(journal.read(tmp_path))


def test_the_canonical_projection_forgets_times_and_order_alone():
    other = [
        BEGUN.model_copy(update={"time": "later", "versions": {"jax": "2"}}),
        LINES[4].model_copy(update={"seconds": 3.0}),
        OVER,
        LINES[3],
        DEAL,
        LINES[2].model_copy(update={"attempts": [], "usage": {}, "seconds": 9.0}),
        LINES[6].model_copy(update={"time": "later"}),
    ]
    canonical = journal.canonical(LINES)
    assert journal.canonical(other) == canonical
    assert [line["event"] for line in canonical] == [line.event for line in LINES]
    for place, change in ((2, {"action": ["x", "y", "w"]}), (3, {"log_probability": -0.6}), (5, {"turns": 1})):
        changed = [*LINES]
        changed[place] = changed[place].model_copy(update=change)
        assert journal.canonical(changed) != canonical
    assert journal.canonical(LINES[:-1]) != canonical


def test_fields_of_other_games_are_not_written(tmp_path):
    """A line of Decrypto says nothing of deals and scores, one of another game nothing of codes and tokens."""
    other = [
        journal.GameBegun(game_id="g", agents={"speaker": "a"}, seed=0, episode=0, deal={"words": ["x"]}),
        journal.GameOver(game_id="g", ending="understood", turns=1, failed_answers=0),
    ]
    path = written(tmp_path / "log.jsonl", [DEAL, LINES[3], OVER, *other])
    keys = [set(json.loads(line)) for line in path.read_bytes().splitlines()]
    assert {"keywords", "codes"} <= keys[0] and "deal" not in keys[0] and "scores" not in keys[1]
    assert "log_probability" in keys[1] and {"miscommunications", "interceptions"} <= keys[2]
    assert "deal" in keys[3] and not {"keywords", "codes"} & keys[3]
    assert not {"miscommunications", "interceptions"} & keys[4]
    assert list(journal.read(path)) == [DEAL, LINES[3], OVER, *other]
    schema = shipped()
    for line in path.read_bytes().splitlines():
        assert fits(json.loads(line), schema, schema["$defs"])


def test_a_log_is_written_as_a_whole_or_not_at_all(tmp_path):
    path = tmp_path / "deep" / "log.jsonl"
    journal.write_whole(path, LINES)
    assert path.read_bytes() == written(tmp_path / "other.jsonl", LINES).read_bytes()
    with pytest.raises(journal.JournalError, match="there is a log already"):
        journal.write_whole(path, LINES[:1])
    assert list(journal.read(path)) == LINES
    with pytest.raises(ValueError, match="nan"):
        journal.write_whole(tmp_path / "new.jsonl", [BEGUN, decision(log_probability=float("nan"))])
    assert not (tmp_path / "new.jsonl").exists()


# The schema


def shipped():
    return json.loads(resources.files("otherminds.tom.experiments").joinpath("journal.schema.json").read_text())


def test_the_shipped_schema_is_up_to_date():
    """Write it anew with `json.dumps(journal.json_schema(), indent=1)` and a newline."""
    text = resources.files("otherminds.tom.experiments").joinpath("journal.schema.json").read_text(encoding="utf-8")
    assert text == json.dumps(journal.json_schema(), indent=1) + "\n"


TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "null": type(None)}


def fits(value, schema, definitions):
    """Whether a value fits a JSON schema, for the keywords that the log's schema is written with."""
    known = {"$ref", "$schema", "$defs", "title", "description", "default", "type", "anyOf", "oneOf", "discriminator"}
    known |= {"const", "properties", "required", "additionalProperties", "items"}
    assert schema.keys() <= known, schema.keys() - known
    if "$ref" in schema:
        return fits(value, definitions[schema["$ref"].removeprefix("#/$defs/")], definitions)
    if "anyOf" in schema and not any(fits(value, part, definitions) for part in schema["anyOf"]):
        return False
    if "oneOf" in schema and sum(fits(value, part, definitions) for part in schema["oneOf"]) != 1:
        return False
    if "const" in schema and (type(value), value) != (type(schema["const"]), schema["const"]):
        return False
    if "type" in schema:
        if not isinstance(value, TYPES[schema["type"]]) or isinstance(value, bool):
            return False
        if schema["type"] == "array":
            return all(fits(item, schema["items"], definitions) for item in value)
        if schema["type"] == "object":
            properties, more = schema.get("properties", {}), schema.get("additionalProperties", True)
            for name, item in value.items():
                part = properties.get(name, more)
                if part is False or (part is not True and not fits(item, part, definitions)):
                    return False
            return set(schema.get("required", ())) <= value.keys()
    return True


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.event)
def test_every_line_fits_the_schema(tmp_path, line):
    schema = shipped()
    data = json.loads(written(tmp_path / "log.jsonl", [line]).read_bytes())
    assert fits(data, schema, schema["$defs"])
    for name in ("schema_version", "event"):
        assert not fits({key: value for key, value in data.items() if key != name}, schema, schema["$defs"])
    assert not fits(data | {"more": 1}, schema, schema["$defs"])
    assert not fits(data | {"schema_version": 2}, schema, schema["$defs"])
