"""Find the answer in what a language model wrote.

A model may think aloud, draft, fence its JSON or set it in bold. What counts as its answer:

1. Text up to the last `</think>` is thinking, and so is all that follows an open `<think>`.
2. Behind `ANSWER:` (in capitals anywhere, in any case at the start of a line) stands an answer; where a text has
   such marks, whatever stands before the first one is a draft. Without marks every JSON object that holds the key
   is an answer. Without either, the whole text may be the bare value (`1-2-3`, `["a", "b", "c"]`).
3. The last answer must be valid. Invalid ones before it (a template, a first try) are drafts.
4. Valid answers that differ contradict each other: that is a failure, since picking one would be our choice and
   not the model's. The same answer twice is one answer.

Values are looked for behind the key and read with bounded patterns, so the time is linear in the text, and a broken
object elsewhere disturbs nothing.

Where an answer is a whole object with parts of its own, `find_object` reads it by the same rules, as strict JSON.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

LONGEST_BARE = 200  # characters of a whole text that may be a bare value
MOST_ITEMS = 64  # of a list
MOST_OBJECTS = 200  # places where one may begin, the last ones of a text
MARK = re.compile(
    r"(?:(?-i:\bANSWER)|^[ \t>*_#`-]{0,20}(?:the |my )?(?:final )?answer)[*_`]{0,4}[ \t]{0,4}:", re.M | re.I
)
STRING = re.compile(
    r'"((?:[^"\\]|\\.){0,500}+)"|\'((?:[^\'\\\n]|\\.){0,500}+)\'|[\u201c\u201d]([^\u201c\u201d]{0,500}+)[\u201c\u201d]',
    re.S,
)
BARE = re.compile(r"[^\s,\[\]{}\"'`:][^,\[\]{}\"'`\n:]{0,100}+")  # a number, a word or 1-2-3 without quotes
QUOTES = "\"'\u201c\u201d"
SPACE = re.compile(r"\s{0,1000}+")
LITERALS = {"null": None, "none": None, "true": True, "false": False}


class Parsed(NamedTuple):
    """An action, or an error to tell the model."""

    action: Any
    error: str | None


class _Unreadable(ValueError):
    """What stands behind a key is no string, number or flat list."""


def find_answer(text: str | None, key: str, read: Callable[[Any], Any]) -> Parsed:
    """The one action that `text` answers with.

    key: the field of the JSON answer, such as "guess".
    read: the game's reader: what JSON may hold there (a string, a number, a flat list; None and booleans too) ->
        an action, or ValueError with a message for the model.
    Returns: Parsed(action, None), or Parsed(None, error).
    """
    text = _without_thoughts(text)
    missing = f'no answer was found; end with one line such as ANSWER: {{"{key}": ...}}'
    return _one_answer(_candidates(text, key), read, missing, f'two different values of "{key}"')


def find_object(text: str | None, key: str, read: Callable[[dict[str, Any]], Any]) -> Parsed:
    """The one answer that `text` gives as a whole JSON object, known by a field that every answer has.

    key: that field.   read: the game's reader of an object -> an action, or ValueError with a message for the model.
    Returns: Parsed(action, None), or Parsed(None, error). An object inside another one counts too, a key that stands
        twice in an object or a number that JSON does not know makes it unreadable.
    """
    text = _without_thoughts(text)
    missing = f'no JSON object with "{key}" was found; answer with one'
    return _one_answer(_objects(text, key), read, missing, "two different answers")


def _without_thoughts(text: str | None) -> str:
    return (text or "").rpartition("</think>")[2].partition("<think>")[0]


def _one_answer(values: Iterator[Any], read: Callable[[Any], Any], missing: str, two: str) -> Parsed:
    """Reads the values that count: the last must be valid, and those that are valid the same."""
    answers: list[Any] = []
    error: str | None = missing
    for value in values:
        try:
            if isinstance(value, _Unreadable):
                raise value
            action = read(value)
        except ValueError as problem:
            error = str(problem)
            continue
        error = None
        if action not in answers:
            answers.append(action)
            if len(answers) > 1:
                break
    if len(answers) > 1:
        return Parsed(None, f"{two} were given; give exactly one")
    if error is not None:
        return Parsed(None, error)
    return Parsed(answers[0], None)


def _objects(text: str, key: str) -> Iterator[Any]:
    """The JSON objects that hold the key, those behind the first mark where there is one, in their order."""
    if mark := MARK.search(text):
        text = text[mark.end() :]
    decoder = json.JSONDecoder(object_pairs_hook=_once_each, parse_constant=_no_number)
    quoted, end = json.dumps(key), 0
    for at in [match.start() for match in re.finditer(r"\{", text)][-MOST_OBJECTS:]:
        if at < end:
            continue
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as problem:
            if quoted in text[at : problem.pos]:
                yield _Unreadable(f"the JSON object cannot be read: {problem.msg.lower()}, character {problem.pos}")
        except (_Unreadable, RecursionError) as problem:
            yield _Unreadable(f"the JSON object cannot be read: {problem}")
        else:
            yield from _holding(value, key)


def _holding(value: Any, key: str) -> Iterator[dict[str, Any]]:
    """The objects with the key, a value itself or objects inside it."""
    if isinstance(value, dict):
        if key in value:
            yield value
        else:
            for part in value.values():
                yield from _holding(part, key)


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name in found if sum(other == name for other, _ in pairs) > 1)
        raise _Unreadable(f"it gives {json.dumps(twice[:40])} twice")
    return found


def _no_number(name: str) -> Any:
    raise _Unreadable(f"{name} is no number of JSON")


def _candidates(text: str, key: str) -> Iterator[Any]:
    """The values that count, in their order."""
    marks = list(MARK.finditer(text))
    if marks:
        ends = [mark.start() for mark in marks[1:]] + [len(text)]
        for mark, end in zip(marks, ends, strict=True):
            section = text[mark.end() : end]
            values = list(_keyed(section, key))
            yield from values or _plain(section)
        return
    values = list(_keyed(text, key))
    yield from values or _plain(text, whole=True)


def _keyed(text: str, key: str) -> Iterator[Any]:
    """The value behind every `key:` that an object holds."""
    name = re.escape(key)
    pattern = re.compile(rf"(?:[{QUOTES}]{name}[{QUOTES}]|(?<=[{{,\s]){name})\s{{0,20}}:", re.I)
    last_brace = text.rfind("}")
    for match in pattern.finditer(text):
        before = text[max(0, match.start() - 200) : match.start()].rstrip()
        if not before.endswith(("{", ",")):
            continue
        try:
            value, end = _value(text, _skip(text, match.end()))
            end = _skip(text, end)
            if text[end : end + 1] not in ("}", ",") or last_brace < end:
                raise _Unreadable
        except _Unreadable:
            if match[0][0] in QUOTES:  # without quotes it may as well be prose
                yield _Unreadable(f'the value of "{key}" cannot be read; answer in JSON: {{"{key}": ...}}')
        else:
            yield value


def _plain(text: str, whole: bool = False) -> Iterator[Any]:
    """The bare value that stands first in `text`, or is all of it."""
    text = text.strip(" \t\r\n*_`")
    if text.startswith("json\n"):
        text = text.removeprefix("json\n").strip()
    if text.startswith("["):
        try:
            value, end = _value(text, 0)
        except _Unreadable:
            yield _Unreadable("the list cannot be read; write it in JSON")
            return
        if not whole or not text[end:].strip(" \t\r\n*_`."):
            yield value
        return
    if whole and (len(text) > LONGEST_BARE or "\n" in text):
        return
    line = text.partition("\n")[0][:LONGEST_BARE].strip(" \t\r*_`\"'.")
    if line and not line.startswith("{"):
        yield line


def _value(text: str, at: int) -> tuple[Any, int]:
    """A string, number, bare word or flat list that begins at `at`, and where it ends."""
    if text[at : at + 1] != "[":
        return _scalar(text, at)
    items: list[Any] = []
    at = _skip(text, at + 1)
    while text[at : at + 1] != "]":
        if len(items) == MOST_ITEMS:
            raise _Unreadable
        item, at = _scalar(text, at)
        items.append(item)
        at = _skip(text, at)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != "]":
            raise _Unreadable
    return items, at + 1


def _scalar(text: str, at: int) -> tuple[Any, int]:
    if match := STRING.match(text, at):
        double, single, curly = match.groups()
        if double is not None:
            try:
                return json.loads(f'"{double}"', strict=False), match.end()
            except ValueError:
                return double, match.end()
        return single.replace("\\'", "'") if single is not None else curly, match.end()
    if match := BARE.match(text, at):
        bare = match[0].strip()
        if bare.lower() in LITERALS:
            return LITERALS[bare.lower()], match.end()
        if re.fullmatch(r"-?\d{1,18}", bare, re.A):
            return int(bare), match.end()
        return bare, match.end()
    raise _Unreadable


def _skip(text: str, at: int) -> int:
    return SPACE.match(text, at).end()
