"""Decrypto in words: what a person or a language model of each role reads, and how answers are read.

What never changes stands first (the rules), then what all roles share (the past turns, in their order), then the role
and what is new, so that a server that keeps a prompt's beginning computes only the end of it.
"""

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import Any, NamedTuple

import numpy as np

from otherminds.games.decrypto import wordings
from otherminds.games.decrypto.rules import (
    CODES,
    LENGTH,
    SLOTS,
    TURNS,
    History,
    Observation,
    Role,
    code_index,
    code_text,
)
from otherminds.games.decrypto.two_teams import FIRST_INTERCEPTION

LONGEST_HINT = 24  # characters
WORDS_IN_HINT = 2
WHOLE_KEYWORD = 4  # a keyword of so many letters may not even stand inside a longer word

HINTS_FORM = '{"hints": ["...", "...", "..."]}'
GUESS_FORM = '{"guess": "X-Y-Z"}'
STATED_FORM = '{"guess": "X-Y-Z", "chances": {"1-2-3": ..., "1-2-4": ..., and so on}}'
MOST_CHANCES = 100


class Wording(NamedTuple):
    """How the game is put to a player: the number of a wording of the rules and of the role, and a persona.

    persona: what the player is told of itself, right before its role; empty for nothing.   teams: 2 for two teams.
    """

    system: int = 0
    role: int = 0
    persona: str = ""
    teams: int = 1


USUAL = Wording()


def rules_text(turns: int = TURNS, wording: int = 0, teams: int = 1) -> str:
    """The rules, the same for every role. wording: an index into `wordings.SYSTEMS`.   teams: 2 for two teams."""
    parts = [wordings.SYSTEMS[wording], wordings.TWO_TEAMS] if teams > 1 else [wordings.SYSTEMS[wording]]
    return "\n".join(parts).replace("TURNS", str(turns))


def role_text(role: int, wording: int = 0) -> str:
    """What a role is to do. wording: an index into the role's `wordings.ROLES`."""
    return wordings.ROLES[Role(int(role))][wording]


def history_text(observation: Observation, words: Sequence[str], teams: int = 1) -> str:
    """The finished turns: code, hints, guesses and tokens, then all hints by digit. Public: roles read the same.

    teams: with 2, nobody intercepts in the first turn.
    """
    if int(observation.turn) == 0:
        return "No turn has been played yet."
    return "\n".join([*_turn_lines(observation, words, teams), *_lines_by_digit(observation, words)])


def news_text(observation: Observation, words: Sequence[str], since: int, teams: int = 1) -> str:
    """The turns finished from turn `since` on (0 is the first), then all hints by digit: what a chat has not told."""
    return "\n".join([*_turn_lines(observation, words, teams)[since:], *_lines_by_digit(observation, words)])


def turn_text(observation: Observation, words: Sequence[str], keywords: Sequence[str]) -> str:
    """What the role knows beside the history: its keywords, and the code or the hints of this turn.

    words: the table's words, which hints index.   keywords: the keyword list, which the secret keywords index.
    """
    role = Role(int(observation.role))
    lines = [f"This is turn {int(observation.turn) + 1} of {_turns(observation)}."]
    if role != Role.INTERCEPTOR:
        secret = _secret(observation, keywords)
        lines.append("Keywords: " + ", ".join(f"{i + 1} {quoted(word)}" for i, word in enumerate(secret)))
    if role == Role.ENCODER:
        code = int(observation.code)
        order = ", ".join(quoted(secret[digit]) for digit in CODES[code])
        lines.append(f"Your code is {code_text(code)}: hint at {order}, in this order, without saying these words.")
    else:
        hints = _hints(observation.hints, words)
        lines.append(f"The hints are {', '.join(hints)}." if hints else "The encoder gave no hints.")
    return "\n".join(lines)


def request_text(role: int, think: bool = False, state: bool = False) -> str:
    """In which form the answer is wanted.

    think: ask for thoughts first, and the answer on the last line.   state: ask a guesser also how likely each code is.
    """
    states = state and int(role) != Role.ENCODER
    form = HINTS_FORM if int(role) == Role.ENCODER else STATED_FORM if states else GUESS_FORM
    wanted = f"Think briefly, then end with one line: ANSWER: {form}" if think else f"Answer with JSON only: {form}"
    if states:
        wanted += (
            f'\nIn "chances" give every one of the {len(CODES)} codes a whole number from 0 to {MOST_CHANCES}, in '
            "proportion to how likely you think that it is the code; 0 if it cannot be."
        )
    return wanted


def messages(
    observation: Observation,
    words: Sequence[str],
    keywords: Sequence[str],
    think: bool = False,
    wording: Wording = USUAL,
    state: bool = False,
) -> list[dict[str, str]]:
    """The decision as a chat: the rules as system message; history, role, turn and request as user message.

    words, keywords: as for `turn_text`.   think, state: as for `request_text`.
    """
    role = int(observation.role)
    parts = [
        history_text(observation, words, wording.teams),
        *filter(None, [wording.persona]),
        role_text(role, wording.role),
        turn_text(observation, words, keywords),
        request_text(role, think, state),
    ]
    return [
        {"role": "system", "content": rules_text(_turns(observation), wording.system, wording.teams)},
        {"role": "user", "content": "\n".join(parts)},
    ]


def chat(
    observation: Observation,
    words: Sequence[str],
    keywords: Sequence[str],
    said: Mapping[int, Sequence[Mapping[str, str]]],
    think: bool = False,
    wording: Wording = USUAL,
    state: bool = False,
) -> list[dict[str, str]]:
    """The decision as the next message of a chat over the whole game: each turn's request, and what was said to it.

    The first request is that of `messages`; a later one tells the turns finished since then, and all hints by digit.
    The chat follows from its arguments alone, so a game that is taken up again has the same one.
    said: for every earlier turn (0 is the first) in which the role was asked, the messages that followed the request.
    """
    asked = [turn for turn in sorted(said) if turn < int(observation.turn)] + [int(observation.turn)]
    told: list[dict[str, str]] = []
    for place, turn in enumerate(asked):
        then = observation_at(observation, turn)
        if place == 0:
            told += messages(then, words, keywords, think, wording, state)
        else:
            parts = [
                news_text(then, words, asked[place - 1], wording.teams),
                turn_text(then, words, keywords),
                request_text(int(observation.role), think, state),
            ]
            told.append({"role": "user", "content": "\n".join(parts)})
        told += [dict(message) for message in said.get(turn, ())] if turn < int(observation.turn) else []
    return told


def observation_at(observation: Observation, turn: int) -> Observation:
    """What the same role knew at its decision in an earlier turn, or in this one. turn: 0 for the first."""
    now = int(observation.turn)
    if not 0 <= turn <= now:
        raise ValueError(f"turn={turn}: known are the turns 0 to {now}")
    if turn == now:
        return observation
    past = History(*map(np.asarray, observation.history))
    later = np.arange(past.codes.shape[-1]) >= turn
    hints, code = past.hints[turn], past.codes[turn]
    spoken = (past.hints >= 0).all(-1)
    played = np.arange(len(later)) < turn
    encodes = int(observation.role) == Role.ENCODER
    return Observation(
        role=observation.role,
        turn=np.int32(turn),
        keywords=observation.keywords,
        code=code if encodes else np.int32(-1),
        hints=np.full_like(hints, -1) if encodes else hints,
        miscommunications=np.int32((played & ~(spoken & (past.decoder_guesses == past.codes))).sum()),
        interceptions=np.int32((played & spoken & (past.interceptor_guesses == past.codes)).sum()),
        history=History(
            np.where(later, -1, past.codes),
            np.where(later[:, None], -1, past.hints),
            np.where(later, -1, past.decoder_guesses),
            np.where(later, -1, past.interceptor_guesses),
        ),
    )


def quoted(text: str) -> str:
    """A player's words or a keyword as texts show them: in quotes on one line, with what is unseen written out.

    Quotes, backslashes, line breaks and characters that do not print (such as those that turn a line's direction)
    stand as in JSON, so that no hint can look like a part of the text around it.
    """
    inner = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in inner)


def secret_keywords(observation: Observation, keywords: Sequence[str]) -> tuple[str, ...]:
    """The four keywords that the role knows; none for the interceptor."""
    return () if int(observation.role) == Role.INTERCEPTOR else tuple(_secret(observation, keywords))


def hints_schema(keywords: Sequence[str] = ()) -> dict[str, Any]:
    """JSON schema of the encoder's answer, for constrained decoding: lower-case words, short, no keyword.

    keywords: the secret keywords; no word may begin with one, or be the beginning of one. Stricter than
        `read_hints` (of "car" it forbids "cargo" and "ca" too), so that the pattern stays small.
    """
    forbidden = [keyword.lower() for keyword in keywords]
    first, second = (_words_beside(forbidden, longest) for longest in (14, LONGEST_HINT - 15))
    hint = {"type": "string", "pattern": f"^({first})([ -]({second}))?$"}
    return _schema({"hints": {"type": "array", "items": hint, "minItems": LENGTH, "maxItems": LENGTH}})


def guess_schema() -> dict[str, Any]:
    """JSON schema of a guesser's answer: one of the 24 codes."""
    return _schema({"guess": {"type": "string", "enum": [code_text(index) for index in range(len(CODES))]}})


def stated_schema() -> dict[str, Any]:
    """JSON schema of a guesser's answer with how likely each code is."""
    chance = {"type": "integer", "minimum": 0, "maximum": MOST_CHANCES}
    guess = guess_schema()["properties"]["guess"]
    chances = {code: chance for code in guess["enum"]}
    return _schema({"guess": guess, "chances": _schema(chances)})


def read_stated(answer: Mapping[str, Any]) -> tuple[int, tuple[float, ...]]:
    """The index in CODES of a guess, and the probability of every code: its chances over their sum.

    answer: as `stated_schema`; a code that is not named has no chance.
    Raises: ValueError, with a message for who guessed.
    """
    if "guess" not in answer:
        raise ValueError(f'there is no "guess"; the form is {STATED_FORM}')
    guess, chances = read_code(answer["guess"]), answer["chances"]
    if not isinstance(chances, Mapping):
        raise ValueError(f'"chances" must hold a number for every code; the form is {STATED_FORM}')
    given = [0.0] * len(CODES)
    for code, chance in chances.items():
        if isinstance(chance, bool) or not isinstance(chance, int | float) or not 0 <= chance <= MOST_CHANCES:
            raise ValueError(f"the chances of {_short(code)} must be a number from 0 to {MOST_CHANCES}")
        given[read_code(code)] += float(chance)
    if not (total := sum(given)):
        raise ValueError("all chances are 0; give the codes that can be a number above it")
    return guess, tuple(chance / total for chance in given)


def read_hints(value: Any, keywords: Sequence[str] = ()) -> tuple[str, str, str]:
    """Three hints in lower case, with single spaces.

    keywords: the secret keywords; a hint may not hold one as a word, as the plural of one, or (from four letters
        on, so that "elephant" may be said of "ant") as a part of a word.
    Raises: ValueError, with a message for who gave the hints.
    """
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != LENGTH:
        raise ValueError(f"{_short(value)} is not a list of {LENGTH} hints; the form is {HINTS_FORM}")
    first, second, third = (_read_hint(hint, keywords) for hint in value)
    return first, second, third


def holds_keyword(hint: str, keyword: str) -> bool:
    """Whether a hint is a keyword, or holds it: as a word, in singular, plural or genitive, or, from four letters on,
    inside a word."""
    hint, key = hint.lower(), keyword.lower()
    words = [re.sub(r"['\u2019]s?$", "", word) for word in re.split(r"[ -]", hint)]
    return (
        hint == key
        or any(word in _plurals(key) or key in _plurals(word) for word in words if word)
        or (len(key) >= WHOLE_KEYWORD and key in hint)
    )


def _plurals(noun: str) -> set[str]:
    """A noun and what its regular plural may be."""
    forms = {noun, noun + "s", noun + "es"}
    if re.search(r"[^aeiou]y$", noun):
        forms.add(noun[:-1] + "ies")
    if re.search(r"fe?$", noun):
        forms.add(re.sub(r"fe?$", "ves", noun))
    return forms


def read_code(value: Any) -> int:
    """The index in CODES of a guess such as "1-2-3", "123", "1 2 3", "1, 2, 3", [1, 2, 3] or ["1", "2", "3"].

    Raises: ValueError, with a message for who guessed.
    """
    form = f"a code is {LENGTH} different digits from 1 to {SLOTS}, such as 4-1-3 (form: X-Y-Z)"
    parts = list(value) if isinstance(value, list | tuple) else [value]
    if not all(isinstance(part, int | str) and not isinstance(part, bool) for part in parts):
        raise ValueError(f"{_short(value)} is no code: {form}")
    text = " ".join(str(part) for part in parts)
    if len(text) > 40 or not re.fullmatch(r"[\s\[(]*\d(?:[\s,;:/\u2010-\u2015-]*\d)*[\s\])]*", text, re.A):
        raise ValueError(f"{_short(value)} is no code: {form}")
    digits = [int(digit) for digit in re.findall(r"\d", text, re.A)]
    try:
        return code_index(digits)
    except ValueError:
        raise ValueError(f"{_short(value)} is no code: {form}") from None


def _read_hint(hint: Any, keywords: Sequence[str]) -> str:
    if not isinstance(hint, str):
        raise ValueError(f"the hint {_short(hint)} is no text; the form is {HINTS_FORM}")
    hint = " ".join(unicodedata.normalize("NFKC", hint[:1000]).lower().split()).strip(" .,!?\"'`*")
    if not hint:
        raise ValueError(f"a hint is empty; give {LENGTH} hints of one word or two")
    parts = re.split(r"[ -]", hint)
    if len(parts) > WORDS_IN_HINT or len(hint) > LONGEST_HINT:
        raise ValueError(f"the hint {_short(hint)} is too long: a hint is at most two words, {LONGEST_HINT} characters")
    if not all(part.replace("'", "").replace("\u2019", "").isalpha() for part in parts):
        raise ValueError(f"the hint {_short(hint)} may hold letters only, in one word or two")
    for keyword in keywords:
        if holds_keyword(hint, keyword):
            raise ValueError(f"the hint {_short(hint)} holds the keyword {json.dumps(keyword)}; hint at its meaning")
    return hint


def _turns(observation: Observation) -> int:
    return observation.history.codes.shape[-1]


def _secret(observation: Observation, keywords: Sequence[str]) -> list[str]:
    return [keywords[int(index)] for index in np.asarray(observation.keywords)]


def _hints(indices: Any, words: Sequence[str]) -> list[str] | None:
    """Hints in quotes, or None where the encoder gave no answer."""
    indices = [int(index) for index in np.asarray(indices)]
    return None if -1 in indices else [quoted(words[index]) for index in indices]


def _turn_lines(observation: Observation, words: Sequence[str], teams: int) -> list[str]:
    """A line for every finished turn."""
    past, misses, hits = History(*map(np.asarray, observation.history)), 0, 0
    lines = []
    for turn in range(int(observation.turn)):
        code, hints = int(past.codes[turn]), _hints(past.hints[turn], words)
        decoder, interceptor = int(past.decoder_guesses[turn]), int(past.interceptor_guesses[turn])
        misses += hints is None or decoder != code
        hits += hints is not None and interceptor == code
        lines.append(
            f"Turn {turn + 1}: hints {', '.join(hints) if hints else 'none'}; code {code_text(code)}; "
            f"decoder {_guess(decoder)}, interceptor "
            f"{'not asked' if teams > 1 and turn < FIRST_INTERCEPTION else _guess(interceptor)}; "
            f"miscommunications {misses}, interceptions {hits}."
        )
    return lines


def _lines_by_digit(observation: Observation, words: Sequence[str]) -> list[str]:
    past = History(*map(np.asarray, observation.history))
    by_digit: list[list[str]] = [[] for _ in range(SLOTS)]
    for turn in range(int(observation.turn)):
        for digit, hint in zip(CODES[int(past.codes[turn])], _hints(past.hints[turn], words) or (), strict=False):
            by_digit[digit].append(hint)
    return ["Hints so far by digit:"] + [
        f"{digit + 1}: {', '.join(hints) or 'none'}" for digit, hints in enumerate(by_digit)
    ]


def _guess(index: int) -> str:
    return "gave no answer" if index < 0 else f"guessed {code_text(index)}"


def _words_beside(forbidden: Sequence[str], longest: int) -> str:
    """A regular expression, without look-ahead, for words up to `longest` letters that none of these begins.

    Letter by letter: any letter that leads towards no forbidden word, and then any letters; or one that does, and
    then the same question for what is left of these words.
    """
    forbidden = [word for word in forbidden if word.isascii() and word.isalpha()]
    heads = sorted({word[0] for word in forbidden})
    free = "".join(letter for letter in ascii_lowercase if letter not in heads)
    choices = [f"[{free}][a-z]{{0,{longest - 1}}}"]
    for head in heads:
        tails = [word[1:] for word in forbidden if word[0] == head]
        if all(tails) and longest > 1:
            choices.append(f"{head}({_words_beside(tails, longest - 1)})")
    return "|".join(choices)


def _schema(fields: dict[str, Any]) -> dict[str, Any]:
    """Of an object with these fields, all of them, and no other."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _short(value: Any) -> str:
    text = json.dumps(value, default=str) if not isinstance(value, bytes) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
