"""The reference game in words: what a person or a language model reads, and how answers are read."""

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from otherminds.games.reference.items import Item
from otherminds.games.reference.rules import Observation, Role

RULES = """\
You play a game with a partner. Both of you see the same objects and the same list of words.
The speaker, who knows which object is meant, says one word of the list. The listener picks an object.
You both win if the listener picks the object that the speaker means."""

ROLES = {
    Role.SPEAKER: "You are the speaker: say the word by which your partner will find the object that you mean.",
    Role.LISTENER: "You are the listener: pick the object that your partner means.",
}
FORMS = {Role.SPEAKER: '{"word": "..."}', Role.LISTENER: '{"object": "..."}'}
KEYS = {Role.SPEAKER: "word", Role.LISTENER: "object"}
LONGEST = 200  # characters of an answer that are looked at


THINK = "Before that, think briefly; then write ANSWER: and the JSON on the last line."
QUESTIONS = {
    Role.SPEAKER: "Which word do you say?",
    Role.LISTENER: "Which object does your partner mean?",
}
"""What is asked where the options are listed behind the question, and not answered with their own words."""


def turn_text(observation: Observation, items: Sequence[Item]) -> str:
    """The objects, the words, and what this role knows beside them."""
    role = Role(int(observation.role))
    known = int(observation.target if role == Role.SPEAKER else observation.word)
    return situation(items[int(observation.item)], role, known)


def situation(item: Item, role: Role, known: int, numbered: bool = True) -> str:
    """The objects, the words, and what a role knows beside them.

    known: place of the object that the speaker means, or of the word that the listener heard, -1 for none.
    numbered: whether the objects have numbers, by which they can be named.
    """
    marks = [f"{number}." if numbered else "-" for number in range(1, len(item.texts) + 1)]
    lines = ["Objects:", *(f"{mark} {text}" for mark, text in zip(marks, item.texts, strict=True))]
    lines.append("Words: " + ", ".join(item.words))
    if role == Role.SPEAKER:
        lines.append(f"The object that you mean: {item.texts[known]}")
    else:
        said = f": {json.dumps(item.words[known])}" if known >= 0 else " nothing."
        lines.append(f"Your partner said{said}")
    return "\n".join(lines)


def messages(observation: Observation, items: Sequence[Item]) -> list[dict[str, str]]:
    """The decision as a chat: the rules as system message; objects, words, role and request as user message."""
    return _chat(turn_text(observation, items), *_request(Role(int(observation.role))))


def question(item: Item, role: Role, think: bool = False) -> list[dict[str, str]]:
    """A role's question about an item as a chat, in which the answer is a word or an object itself.

    think: ask for thoughts first.
    """
    return _chat(situation(item, role, _known(item, role)), *_request(role), *[THINK] * think)


def listed_question(item: Item, role: Role) -> list[dict[str, str]]:
    """The same without the form of the answer: the list of the options, and how to answer, are to be put behind it."""
    return _chat(situation(item, role, _known(item, role), numbered=False), ROLES[role], QUESTIONS[role])


def _known(item: Item, role: Role) -> int:
    return item.target if role == Role.SPEAKER else item.heard


def _request(role: Role) -> tuple[str, str]:
    return ROLES[role], f"Answer with JSON only: {FORMS[role]}"


def _chat(*parts: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": RULES}, {"role": "user", "content": "\n".join(parts)}]


def answer_schema(item: Item, role: int) -> dict[str, Any]:
    """JSON schema of a role's answer, for constrained decoding: one of the words, or one of the objects' texts."""
    key = KEYS[Role(int(role))]
    options = list(item.words if role == Role.SPEAKER else item.texts)
    value = {"type": "string", "enum": options}
    return {"type": "object", "properties": {key: value}, "required": [key], "additionalProperties": False}


def read_word(value: Any, item: Item) -> int:
    """The place of a word among the item's words: case, quotes and punctuation around it aside.

    Raises: ValueError, with a message for who said it.
    """
    return _read(value, item.words, "word")


def read_object(value: Any, item: Item) -> int:
    """The place of an object: its text, with or without an article or its number in the list, or the number alone.

    Raises: ValueError, with a message for who picked it.
    """
    text = _plain(value)
    number = re.fullmatch(r"(?:object|number|no\.?)?\s*#?(\d{1,3})", text)
    if number and 1 <= int(number[1]) <= len(item.texts):
        return int(number[1]) - 1
    return object_named(value, item)


def object_named(value: Any, item: Item) -> int:
    """The place of an object by its text alone, as recordings name it: a number is none.

    Raises: ValueError for what is no object's text.
    """
    return _read(value, item.texts, "object")


def _read(value: Any, options: Sequence[str], what: str) -> int:
    said = _plain(value)
    places = [place for place, option in enumerate(options) if said and _plain(option) == said]
    if len(places) != 1:
        shown = json.dumps(value, default=str)[:60]
        raise ValueError(f"{shown} is none of the {what}s; there are {', '.join(options)}")
    return places[0]


def _plain(value: Any) -> str:
    """Lower case, single spaces, no punctuation around it, no article and no list number before it."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    text = " ".join(unicodedata.normalize("NFKC", str(value)[:LONGEST]).casefold().split())
    text = text.strip(" .,;:!?\"'`*()[]")
    text = re.sub(r"^\d{1,3}[.)]\s+", "", text)
    return re.sub(r"^(?:an?|the) (?=\S)", "", text)
