"""What may have gone wrong in a decision of Decrypto, told by plain rules: no model judges anything here.

A tag describes a decision; it is no verdict. A guess of 1-2-3 is often the guess of an interceptor who knows nothing
yet, and a hint may be repeated on purpose. So tags are counted beside the number of decisions, for each agent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from otherminds.games.decrypto.rules import CODES, Role, code_text
from otherminds.games.decrypto.text import holds_keyword
from otherminds.games.decrypto.vocabulary import Vocabulary
from otherminds.tom.experiments.records import Games
from otherminds.tom.minds.decrypto.lexicon import Lexicon

NO_ANSWER = "no answer"
REPEATED_HINT = "repeated hint"
KEYWORD_HINT = "keyword hint"
HINTS_IN_KEYWORD_ORDER = "hints in keyword order"
KEYWORD_ORDER_GUESS = "keyword-order guess"
USED_CODE = "used code"
SAME_GUESS = "same guess again"

DEFINITIONS = {
    NO_ANSWER: "none of its answers was valid",
    REPEATED_HINT: "a hint that was given before in this game, for any digit, or twice in this turn",
    KEYWORD_HINT: "a hint that is a keyword of this game, or holds one",
    HINTS_IN_KEYWORD_ORDER: "by the vectors the hints fit the code's own keywords best in the order of their numbers, "
    "and the code has another order",
    KEYWORD_ORDER_GUESS: "it guesses 1-2-3, and that is not the code",
    USED_CODE: "it guesses a code that was shown in an earlier turn, and no code comes twice",
    SAME_GUESS: "it guesses what it guessed the turn before",
}
TAGS_OF = {
    Role.ENCODER: (NO_ANSWER, REPEATED_HINT, KEYWORD_HINT, HINTS_IN_KEYWORD_ORDER),
    Role.DECODER: (NO_ANSWER, KEYWORD_ORDER_GUESS, USED_CODE, SAME_GUESS),
    Role.INTERCEPTOR: (NO_ANSWER, KEYWORD_ORDER_GUESS, USED_CODE, SAME_GUESS),
}
IN_ORDER = "1-2-3"

Tags = Mapping[tuple[int, int, Role], tuple[str, ...]]
"""By game, turn (0 for the first) and role."""


def hint_tags(
    hints: Sequence[str] | None,
    code: str,
    keywords: Sequence[str],
    earlier: Sequence[str],
    similarity: Float[np.ndarray, "3 4"] | None,
) -> tuple[str, ...]:
    """The tags of an encoder's decision.

    hints: None for no answer.   code: such as "3-1-2".   keywords: the four of the game.
    earlier: all hints of the turns before.   similarity: [hint, keyword] cosines; None where a hint has no vector.
    """
    if hints is None:
        return (NO_ANSWER,)
    plain, before = [_plain(hint) for hint in hints], {_plain(hint) for hint in earlier}
    found = {
        REPEATED_HINT: len(set(plain)) < len(plain) or any(hint in before for hint in plain),
        KEYWORD_HINT: any(holds_keyword(hint, keyword) for hint in plain for keyword in keywords),
        HINTS_IN_KEYWORD_ORDER: similarity is not None and in_keyword_order(similarity, code),
    }
    return tuple(tag for tag, holds in found.items() if holds)


def in_keyword_order(similarity: Float[np.ndarray, "3 4"], code: str) -> bool:
    """Whether the hints fit the code's own keywords best in the order of their numbers, and the code is in another.

    The best fit is the code among all 24 whose cosines have the largest sum.
    similarity: [hint, keyword] cosines.   code: such as "3-1-2".
    """
    best = code_text(int(similarity[np.arange(CODES.shape[1]), CODES].sum(1).argmax()))
    return best == "-".join(sorted(code.split("-"))) != code


def guess_tags(guess: str | None, code: str, shown: Sequence[str], before: str | None) -> tuple[str, ...]:
    """The tags of a guess.

    guess: such as "3-1-2", None for no answer.   code: the true one.   shown: the codes of the turns before.
    before: the same player's guess of the turn before; None where there is none.
    """
    if guess is None:
        return (NO_ANSWER,)
    found = {
        KEYWORD_ORDER_GUESS: guess == IN_ORDER != code,
        USED_CODE: guess in shown,
        SAME_GUESS: guess == before,
    }
    return tuple(tag for tag, holds in found.items() if holds)


def error_tags(games: Games, vocabulary: Vocabulary, lexicon: Lexicon) -> Tags:
    """The tags of every decision of the finished turns; a guess without hints is none of the guesser's.

    lexicon: with every word of the games (`compare.heard_lexicon`).
    """
    arrays, texts = games.arrays, games.words.texts
    similarity, known = np.asarray(lexicon.similarity), np.asarray(lexicon.known)
    tags: dict[tuple[int, int, Role], tuple[str, ...]] = {}
    for g in range(len(games.ids)):
        keywords = [vocabulary.keywords[index] for index in arrays.keywords[g]]
        earlier: list[str] = []
        shown: list[str] = []
        before: dict[Role, str | None] = {Role.DECODER: None, Role.INTERCEPTOR: None}
        for turn in range(int(arrays.turns[g])):
            rows, code = arrays.hints[g, turn], code_text(int(arrays.codes[g, turn]))
            hints = None if (rows < 0).any() else [texts[row] for row in rows]
            cosines = None
            if hints is not None and known[rows].all():
                cosines = similarity[rows][:, arrays.keywords[g]]
            tags[g, turn, Role.ENCODER] = hint_tags(hints, code, keywords, earlier, cosines)
            for role, guesses in (
                (Role.DECODER, arrays.decoder_guesses),
                (Role.INTERCEPTOR, arrays.interceptor_guesses),
            ):
                guess = code_text(int(guesses[g, turn])) if guesses[g, turn] >= 0 else None
                nobody = hints is None or (role == Role.INTERCEPTOR and games.skipped[g, turn])
                tags[g, turn, role] = () if nobody else guess_tags(guess, code, shown, before[role])
                before[role] = guess
            earlier += hints or ()
            shown.append(code)
    return tags


@dataclass(frozen=True)
class TagCount:
    """How often an agent in a role has each tag."""

    role: str
    agent: str
    decisions: int
    counts: dict[str, int]  # by tag


def tag_counts(games: Games, tags: Tags) -> list[TagCount]:
    """A row for every role and agent. A guesser's turns without hints are no decisions of it."""
    spoken = (games.arrays.hints >= 0).all(-1)
    rows = []
    for role in Role:
        for agent in games.players(role):
            seated = games.seated(role, agent)
            guessed = spoken & ~games.skipped if role == Role.INTERCEPTOR else spoken
            own = [
                found
                for (g, turn, who), found in tags.items()
                if who == role and seated[g] and (role == Role.ENCODER or guessed[g, turn])
            ]
            counts = {tag: sum(tag in found for found in own) for tag in TAGS_OF[role]}
            rows.append(TagCount(role.name.lower(), agent, len(own), counts))
    return rows


def _plain(hint: str) -> str:
    return " ".join(hint.casefold().split())
