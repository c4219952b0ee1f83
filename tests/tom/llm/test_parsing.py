"""What counts as a model's answer: a table, recorded strings, and text made to break a parser."""

import json
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherminds.games.decrypto.rules import code_text
from otherminds.games.decrypto.text import read_code, read_hints
from otherminds.tom.llm.parsing import find_answer, find_object

THINK = "<think>maybe {'guess': '4-3-2'}</think>"

# text -> the code, or None for a failure
GUESSES = {
    '{"guess": "1-2-3"}': "1-2-3",
    '{"guess":"1-2-3"}': "1-2-3",
    '{\n  "guess":\n  "1-2-3"\n}\n': "1-2-3",
    '{"guess": [1, 2, 3]}': "1-2-3",
    '{"guess": ["1", "2", "3"]}': "1-2-3",
    '{"guess": [1, 2, 3,],}': "1-2-3",
    '{"guess": 123}': "1-2-3",
    '{"guess": "123"}': "1-2-3",
    '{"guess": "1 2 3"}': "1-2-3",
    '{"guess": "1, 2, 3"}': "1-2-3",
    '{"guess": "1\\u20132\\u20133"}': "1-2-3",
    '{"guess": 1-2-3}': "1-2-3",
    "{guess: 1-2-3}": "1-2-3",
    "{'guess': '1-2-3'}": "1-2-3",
    "{'guess': (1, 2, 3)}": None,
    "{\u201cguess\u201d: \u201c1-2-3\u201d}": "1-2-3",
    '{"Guess": "1-2-3"}': "1-2-3",
    '{"thought": "hm", "guess": "1-2-3", "sure": true}': "1-2-3",
    '{"answer": {"guess": "1-2-3"}}': "1-2-3",
    '[{"guess": "1-2-3"}]': "1-2-3",
    '{"guess": "1-2-3",}': "1-2-3",
    '```json\n{"guess": "1-2-3"}\n```': "1-2-3",
    '```\n{"guess": "1-2-3"}\n```': "1-2-3",
    '`{"guess": "1-2-3"}`': "1-2-3",
    '**{"guess": "1-2-3"}**': "1-2-3",
    'ANSWER: {"guess": "1-2-3"}': "1-2-3",
    'Answer: {"guess": "1-2-3"}': "1-2-3",
    'answer : {"guess": "1-2-3"}': "1-2-3",
    '**Answer:** {"guess": "1-2-3"}': "1-2-3",
    '**Answer**: `{"guess": "1-2-3"}`': "1-2-3",
    '### Final answer:\n{"guess": "1-2-3"}': "1-2-3",
    "ANSWER: 1-2-3": "1-2-3",
    "ANSWER: **1-2-3**": "1-2-3",
    "**ANSWER:** `1-2-3`.": "1-2-3",
    "My answer: [1, 2, 3]": "1-2-3",
    "The final answer: 1, 2, 3\nbecause I like it": "1-2-3",
    "ANSWER:\n\n1-2-3": "1-2-3",
    "ANSWER:\n```\n1-2-3\n```": "1-2-3",
    'ANSWER: my guess is below\n```json\n{"guess": "1-2-3"}\n```': "1-2-3",
    "1-2-3": "1-2-3",
    " 1-2-3.\n": "1-2-3",
    "`1-2-3`": "1-2-3",
    '"1-2-3"': "1-2-3",
    "**1-2-3**": "1-2-3",
    "123": "1-2-3",
    "[1, 2, 3]": "1-2-3",
    '["1", "2", "3"]': "1-2-3",
    "```json\n[1, 2, 3]\n```": "1-2-3",
    # thinking, drafts, templates
    f'{THINK}{{"guess": "1-2-3"}}': "1-2-3",
    'no opening tag, {"guess": "4-3-2"} </think> {"guess": "1-2-3"}': "1-2-3",
    '{"guess": "1-2-3"} <think>or {"guess": "4-3-2"}': "1-2-3",
    '<think>{"guess": "1-2-3"}': None,
    THINK: None,
    'Form: {"guess": "X-Y-Z"}. So {"guess": "1-2-3"}': "1-2-3",
    'Draft {"guess": "1-1-2"}, better {"guess": "1-2-3"}': "1-2-3",
    'Draft {"guess": "4-3-2"}.\nANSWER: {"guess": "1-2-3"}': "1-2-3",
    'Draft {"guess": "4-3-2"}.\nANSWER: 1-2-3': "1-2-3",
    'ANSWER: {"guess": "X-Y-Z"}\nANSWER: {"guess": "1-2-3"}': "1-2-3",
    # the same answer again
    '{"guess": "1-2-3"} I say {"guess": "123"}': "1-2-3",
    'ANSWER: 1-2-3\nANSWER: {"guess": "1-2-3"}': "1-2-3",
    # contradictions
    '{"guess": "1-2-3"} or {"guess": "4-3-2"}': None,
    "ANSWER: 1-2-3\nANSWER: 4-3-2": None,
    '{"guess": "1-2-3", "guess": "4-3-2"}': None,
    'ANSWER: {"guess": "1-2-3"} or {"guess": "4-3-2"}': None,
    # the last one is invalid
    '{"guess": "1-2-3"}, no: {"guess": "1-1-2"}': None,
    "ANSWER: 1-2-3\nANSWER: not sure": None,
    '{"guess": "1-2-3"}\nANSWER: see above': None,
    # invalid values
    '{"guess": "1-1-2"}': None,
    '{"guess": "0-1-2"}': None,
    '{"guess": "1-2-5"}': None,
    '{"guess": "1-2"}': None,
    '{"guess": "1-2-3-4"}': None,
    '{"guess": "-1-2-3"}': None,
    '{"guess": 12}': None,
    '{"guess": 1.23}': None,
    '{"guess": null}': None,
    '{"guess": true}': None,
    '{"guess": []}': None,
    '{"guess": [[1, 2, 3]]}': None,
    '{"guess": {"code": "1-2-3"}}': None,
    '{"guess": "\u0661-\u0662-\u0663"}': None,
    # fences and words around them
    '~~~\n{"guess": "1-2-3"}\n~~~': "1-2-3",
    'Sure!\n```JSON\n{"guess": "1-2-3"}\n```\nGood luck.': "1-2-3",
    '```\nANSWER: {"guess": "1-2-3"}\n```': "1-2-3",
    '```json\n{"guess": "1-2-3"}\n```\n```json\n{"guess": "2-1-3"}\n```': None,
    '> ANSWER: {"guess": "1-2-3"}': "1-2-3",
    "- Answer: 1-2-3": "1-2-3",
    "# Answer: 1-2-3": "1-2-3",
    '<answer>{"guess": "1-2-3"}</answer>': "1-2-3",
    # a reasoner's long way
    f'{THINK}\n\nANSWER: {{"guess": "1-2-3"}}': "1-2-3",
    f"{THINK} 1-2-3": "1-2-3",
    'ANSWER: {"guess": "4-3-2"} </think> ANSWER: {"guess": "1-2-3"}': "1-2-3",
    "</think>": None,
    "The answer: maybe. ANSWER: 1-2-3": "1-2-3",
    "answer 1-2-3": None,
    # broken or cut
    'ANSWER: {"guess": "1-2-3"': None,
    'ANSWER: {"guess": "1-2': None,
    'ANSWER: {"guess"': None,
    '{"guess": "1-2-3"} {"guess": "1-': None,
    '{"guess" "1-2-3"}': None,
    '{"guess": "1-2-3\n"}': "1-2-3",
    '{"guess": "1-2-3" "sure": true}': None,
    '{{"guess": "1-2-3"}}': "1-2-3",
    # values
    '{"guess": " 1 - 2 - 3 "}': "1-2-3",
    '{"guess": "code 1-2-3"}': None,
    '{"guess": "1-2-3?"}': None,
    '{"guess": 1e2}': None,
    '{"guess": [1.0, 2.0, 3.0]}': None,
    '{"guess": ["one", "two", "three"]}': None,
    '{"guess": NaN}': None,
    '{"guess": {}}': None,
    '{"guess": "1-2-3-"}': None,
    # no answer
    "": None,
    "   \n": None,
    "no answer": None,
    "I think that it is 1-2-3, but who knows": None,
    '{"hints": ["a", "b", "c"]}': None,
    '{"guesses": "1-2-3"}': None,
    '"guess": "1-2-3"': None,
    '{"guess": "1-2-3"': None,
    '{"guess": "1-2-3': None,
    '{"guess": ': None,
    "{'note': 'I guess: 1-2-3'}": None,
    '{"note": "he said \\"guess\\": \\"4-3-2\\"", "guess": "1-2-3"}': "1-2-3",
    "ANSWER:": None,
    "\x00\x1b[2J\ud800": None,
}

HINTS = {
    '{"hints": ["sea", "Two Words", "x-ray"]}': ("sea", "two words", "x-ray"),
    "{'hints': ['sea', \"two words\", 'x-ray',]}": ("sea", "two words", "x-ray"),
    'ANSWER: ["sea", "two words", "x-ray"]': ("sea", "two words", "x-ray"),
    '["sea", "two words", "x-ray"]': ("sea", "two words", "x-ray"),
    "{hints: [sea, two words, x-ray]}": ("sea", "two words", "x-ray"),
    '{"hints": ["caf\\u00e9", "na\\u00efve", "\u96ea"]}': ("caf\xe9", "na\xefve", "\u96ea"),
    '{"hints": ["a", "b", "c"]} {"hints": ["A", "b ", "c."]}': ("a", "b", "c"),
    '{"hints": ["a", "b", "c"]} {"hints": ["a", "b", "d"]}': None,
    '{"hints": ["...", "...", "..."]} then {"hints": ["a", "b", "c"]}': ("a", "b", "c"),
    '{"hints": ["a", "b"]}': None,
    '{"hints": ["a", "b", 3]}': None,
    '{"hints": ["a", "b", null]}': None,
    '{"hints": ["a", "b", ""]}': None,
    '{"hints": ["a", "b", ["c"]]}': None,
    '{"hints": "a, b, c"}': None,
    "a, b, c": None,
}

# What is made of every string of the recorded table, in its order; None for a failure.
RECORDED = [
    ("hints", ["a", "b", "c"]),
    ("guess", "1-2-3"),
    ("guess", None),
    ("guess", None),
    ("guess", None),
    ("guess", "1-2-3"),
    ("guess", "1-2-3"),
    ("hints", None),
    ("hints", None),
    ("guess", "1-2-3"),
    ("guess", "1-2-3"),
    ("guess", "1-2-3"),
    ("guess", None),
    ("guess", "1-2-3"),
    ("guess", None),
    ("guess", None),
    ("guess", None),
    ("guess", "1-2-3"),
    ("guess", None),
    ("guess", None),
    ("guess", "1-2-3"),
    ("guess", None),
    ("guess", "4-3-2"),
    ("guess", "4-3-2"),
]


def guess(text):
    action, error = find_answer(text, "guess", read_code)
    assert (action is None) != (error is None)
    if error:
        assert "\n" not in error and len(error) < 300
    return None if action is None else code_text(action)


@pytest.mark.parametrize("text, code", GUESSES.items(), ids=range(len(GUESSES)))
def test_guesses(text, code):
    assert guess(text) == code


@pytest.mark.parametrize("text, hints", HINTS.items(), ids=range(len(HINTS)))
def test_hints(text, hints):
    assert find_answer(text, "hints", read_hints).action == hints


def test_recorded_strings(shared):
    recorded = json.loads((shared / "golden/decrypto/parser.json").read_text())["extract"]
    assert len(recorded) == len(RECORDED)
    for entry, (key, expected) in zip(recorded, RECORDED, strict=True):
        if key == "guess":
            assert guess(entry["text"]) == expected, entry["text"]
        else:
            action = find_answer(entry["text"], key, read_hints).action
            assert (list(action) if action else None) == expected, entry["text"]


@pytest.mark.parametrize(
    "text, words",
    [
        ('{"guess": "1-1-2"}', "different digits"),
        ('{"guess": "1-2-3"} {"guess": "3-2-1"}', "two different"),
        ("no idea\nwhatsoever", 'ANSWER: {"guess": ...}'),
        ('{"guess": {"a": 1}}', "cannot be read"),
    ],
)
def test_the_error_tells_the_model_what_to_mend(text, words):
    assert words in find_answer(text, "guess", read_code).error


def test_nothing_is_no_answer():
    assert find_answer(None, "guess", read_code).action is None


SIZE = 100_000
HOSTILE = {
    "braces": "{" * SIZE,
    "pairs": "{}" * (SIZE // 2),
    "brackets": '{"guess": ' + "[" * SIZE,
    "nested": '{"guess":' * (SIZE // 9),
    "nested and closed": '{"guess":' * 9000 + "1" + "}" * 9000,
    "lists": '{"guess":["' * (SIZE // 11),
    "quotes": '{"guess":"' * (SIZE // 10),
    "three kinds of quotes": "{\"guess\":[\"{'guess':['{\u201cguess\u201d:[\u201c" * 2500,
    "escapes": '{"guess":"' + "\\" * SIZE,
    "escaped quotes": '{"guess":"' + '\\"' * (SIZE // 2),
    "marks": "ANSWER:" * (SIZE // 7),
    "open marks": "ANSWER" + "*" * SIZE,
    "marked lines": "answer:\n" * (SIZE // 8),
    "stars": "*" * SIZE + "\n" + "answer " * 1000,
    "blanks": "{" + " " * SIZE + '"guess"' + " " * SIZE + ":",
    "a long value": '{"guess": "' + "1" * SIZE + '"}',
    "a long number": '{"guess": ' + "1" * SIZE + "}",
    "a long list": '{"guess": [' + "1," * (SIZE // 2) + "1]}",
    "contradictions": "".join(f'{{"guess": "{i}"}}' for i in range(9000)),
    "thoughts": "<think>" * 7000 + "</think>" * 7000,
    "one line": "x" * SIZE,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_a_failure_and_takes_linear_time(name):
    begun = time.process_time()
    assert guess(HOSTILE[name]) is None
    assert time.process_time() - begun < 2


def test_an_answer_after_hostile_text_is_found():
    assert guess(HOSTILE["braces"] + '\nANSWER: {"guess": "1-2-3"}') == "1-2-3"
    assert guess(HOSTILE["stars"] + '\n{"guess": "1-2-3"}') == "1-2-3"


PIECES = [
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    ",",
    ":",
    "\\",
    "guess",
    '"guess":',
    "ANSWER:",
    "1-2-3",
    "\n",
    " ",
    "*",
    "`",
    "\u201c",
]


def test_no_order_of_pieces_breaks_it():
    rng = random.Random(0)
    for _ in range(3000):
        guess("".join(rng.choices(PIECES, k=rng.randrange(1, 30))))


@given(st.text())
def test_no_text_breaks_it(text):
    guess(text)
    find_answer(f'{{"hints": ["{text}", "b", "c"]}}', "hints", read_hints)


@given(st.permutations([1, 2, 3, 4]), st.sampled_from(["{}", "ANSWER: {}", "```json\n{}\n```", "So: **{}**", "x{}x"]))
def test_every_code_survives_every_wrapping(digits, wrapping):
    code = "-".join(map(str, digits[:3]))
    for value in (code, digits[:3], code.replace("-", "")):
        assert guess(wrapping.replace("{}", json.dumps({"guess": value}))) == code


# Whole objects

WHOLE = '{"guess": {"a": 1}, "note": "x"}'

# text -> the object that is the answer, or a part of the error
OBJECTS = {
    WHOLE: json.loads(WHOLE),
    f"I think so.\n```json\n{WHOLE}\n```\nDone.": json.loads(WHOLE),
    f"<think>{{'guess': 3}}</think>{WHOLE}": json.loads(WHOLE),
    f"{WHOLE} {WHOLE}": json.loads(WHOLE),
    f'{{"guess": {{"a": 2}}}} but no. ANSWER: {WHOLE}': json.loads(WHOLE),
    f'{{"answer": {WHOLE}}}': json.loads(WHOLE),
    f"{{see below}} {WHOLE}": json.loads(WHOLE),
    f'{{"guess": ..., }} {WHOLE}': json.loads(WHOLE),
    f'{{"guess": {{"b": 1}}}} {WHOLE}': "two different answers were given",
    f'{WHOLE} {{"guess": {{"a": 0}}}}': "a is 0",
    f'{WHOLE} {{"guess": {{"a": 1,}}}}': "cannot be read: ",
    '{"guess": {"a": 1}': "cannot be read: ",
    '{"guess": {"a": 1, "a": 2}}': 'it gives "a" twice',
    '{"guess": {"a": NaN}}': "NaN is no number",
    '{"other": 1}': 'no JSON object with "guess" was found',
    "1-2-3": "no JSON object",
    "": "no JSON object",
    "<think>" + WHOLE: "no JSON object",
    '{"guess": {"a": 0}}': "a is 0",
}


def read_whole(value):
    if value["guess"].get("a") == 0:
        raise ValueError("a is 0")
    return value


@pytest.mark.parametrize("text", OBJECTS)
def test_whole_objects(text):
    action, error = find_object(text, "guess", read_whole)
    if isinstance(OBJECTS[text], dict):
        assert (action, error) == (OBJECTS[text], None)
    else:
        assert action is None and OBJECTS[text] in error and "\n" not in error


@pytest.mark.parametrize("text", ["{" * 10**5, '{"guess": ' * 10**5, '[{"a": ' * 10**5, "{}" * 10**5, '{"' * 1000])
def test_objects_that_never_end_are_no_answer(text):
    assert find_object(text, "guess", read_whole).action is None


def test_an_answer_behind_much_text_is_found():
    assert find_object("{x " * 10_000 + WHOLE, "guess", read_whole).action == json.loads(WHOLE)
