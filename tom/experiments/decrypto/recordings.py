"""Other people's recorded games of Decrypto into a log: the human games of the published benchmark.

The file is a JSON list of games; of each only `summarized_history` is read, a list of turns with `keywords`, `code`
(such as "421"), `hints`, `guess_bob` (the decoder's) and `guess_eve` (the interceptor's). Play may have gone on after
a loss; the first loss is what ended a game. What is no code, such as 2-3-3, is a failed answer and stays in the log as
it was. Hints stay as people wrote them, also those of many words.

A recording holds the codes of the turns that were played. A game has a code for every turn that could be played, so
the others are filled in with unused ones in their order; no turn of theirs exists, and nobody is shown them.
"""

import datetime
import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otherminds.games.decrypto.rules import CODES, LENGTH, SLOTS, TURNS, Role, code_index, code_text
from otherminds.games.decrypto.vocabulary import Vocabulary, hint_vector
from otherminds.games.protocol import NO_ANSWER
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.csv_rows import RecordingError, short
from otherminds.tom.experiments.decrypto.standing import standing
from otherminds.tom.tasks.task import PlayedTurn, intercepted, understood

AGENTS = ("human-encoder", "human-decoder", "llama-3.1-70b")
"""Who sat at the published games: encoder, decoder, interceptor."""


@dataclass(frozen=True)
class Imported:
    """What an import brought."""

    log: Path
    games: int
    turns: int
    failed: int  # guesses that are no code
    hints: int
    unknown: int  # hints without a vector
    unlisted: tuple[str, ...]  # keywords that the keyword list lacks, which minds cannot play with


@dataclass(frozen=True)
class RecordedGame:
    """A game of the file. failed: by turn and role, what was said in place of a code."""

    keywords: tuple[str, ...]
    turns: tuple[PlayedTurn, ...]
    failed: dict[tuple[int, Role], str]


def import_decrypto(
    path: Path,
    vocabulary: Vocabulary,
    *,
    log: Path,
    agents: tuple[str, str, str] = AGENTS,
    on_game: Callable[[], None] | None = None,
) -> Imported:
    """Writes the log of recorded games.

    vocabulary: says which hints have a vector.   log: where it goes; there must be none yet.
    agents: what encoder, decoder and interceptor are called.   on_game: called after each game that is written.
    Raises: RecordingError or JournalError in one line for what cannot be imported, before anything is written.
    """
    if not all(agent.strip() for agent in agents):
        raise RecordingError(f"agents {', '.join(map(repr, agents))}: everybody needs a name")
    if log.exists():
        raise journal.JournalError(journal.THERE_ALREADY.format(path=log))
    games = read_games(path)
    journal.write_whole(log, _lines(path, games, vocabulary, agents, on_game or (lambda: None)))
    hints = [hint for game in games for turn in game.turns for hint in turn.hints or ()]
    listed = {word.casefold() for word in vocabulary.keywords}
    return Imported(
        log,
        len(games),
        sum(len(game.turns) for game in games),
        sum(len(game.failed) for game in games),
        len(hints),
        sum(hint_vector(vocabulary, hint) is None for hint in hints),
        tuple(dict.fromkeys(word for game in games for word in game.keywords if word.casefold() not in listed)),
    )


def read_games(path: Path) -> list[RecordedGame]:
    """The games of a file.

    Raises: RecordingError naming the game and turn of what is none.
    """
    try:
        games = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RecordingError(f"{path}: no such file") from None
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise RecordingError(f"{path}: no JSON file") from None
    if not isinstance(games, list) or not games:
        raise RecordingError(f"{path}: not a list of games")
    return [_game(game, f"{path}, game {number}") for number, game in enumerate(games, 1)]


def _game(game: Any, where: str) -> RecordedGame:
    history = game.get("summarized_history") if isinstance(game, dict) else None
    if not isinstance(history, list) or not 1 <= len(history) <= TURNS:
        raise RecordingError(f"{where}: no list `summarized_history` of 1 to {TURNS} turns")
    turns, failed, keywords = [], {}, None
    for number, turn in enumerate(history):
        here = f"{where}, turn {number + 1}"
        names = ("keywords", "code", "hints", "guess_bob", "guess_eve")
        if not isinstance(turn, dict) or not turn.keys() >= set(names):
            raise RecordingError(f"{here}: not a turn with {', '.join(names)}")
        if keywords not in (None, turn["keywords"]):
            raise RecordingError(f"{here}: other keywords than in the turn before")
        keywords = turn["keywords"]
        if not _texts(turn["hints"], LENGTH):
            raise RecordingError(f"{here}: the hints {short(str(turn['hints']))} are not {LENGTH} texts")
        try:
            code = code_index(int(digit) for digit in str(turn["code"]))
        except ValueError:
            raise RecordingError(f"{here}: {short(str(turn['code']))} is no code such as 421") from None
        guesses = []
        for role, name in ((Role.DECODER, "guess_bob"), (Role.INTERCEPTOR, "guess_eve")):
            guesses.append(_guess(turn[name]))
            if guesses[-1] == NO_ANSWER:
                said = turn[name]
                failed[number, role] = "-".join(map(str, said)) if isinstance(said, list) else str(said)
        turns.append(PlayedTurn(code, tuple(turn["hints"]), *guesses))
    if not _texts(keywords, SLOTS) or len(set(keywords)) != SLOTS:
        raise RecordingError(f"{where}: {short(str(keywords))} are not {SLOTS} different keywords")
    if len({turn.code for turn in turns}) != len(turns):
        raise RecordingError(f"{where}: a code comes twice")
    return RecordedGame(tuple(keywords), tuple(turns), failed)


def _texts(value: Any, count: int) -> bool:
    return (
        isinstance(value, list)
        and len(value) == count
        and all(isinstance(text, str) and text.strip() for text in value)
    )


def _guess(value: Any) -> int:
    try:
        return code_index(value)
    except (ValueError, TypeError):
        return NO_ANSWER


def codes_of(game: RecordedGame) -> list[str]:
    """A code for every turn that could be played: those that were, then unused ones in their order."""
    played = [turn.code for turn in game.turns]
    unused = [code for code in range(len(CODES)) if code not in played]
    return [code_text(code) for code in (*played, *unused[: TURNS - len(played)])]


def _lines(
    path: Path,
    games: list[RecordedGame],
    vocabulary: Vocabulary,
    agents: tuple[str, str, str],
    done: Callable[[], None],
) -> Iterable[journal.Line]:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    yield journal.RunBegun(
        game="decrypto",
        config={
            "source": "import",
            "files": {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:12]},
            "continue_after_loss": True,
            "turns": TURNS,
        },
        vocabulary=vocabulary.name,
        versions={"otherminds": importlib.metadata.version("otherminds"), "python": platform.python_version()},
        time=now,
    )
    seats = {role.name.lower(): agent for role, agent in zip(Role, agents, strict=True)}
    for number, game in enumerate(games):
        game_id = f"{path.stem} {number + 1}"
        yield journal.GameBegun(
            game_id=game_id, agents=seats, seed=0, episode=number, keywords=list(game.keywords), codes=codes_of(game)
        )
        misses = catches = 0
        for place, turn in enumerate(game.turns):
            tokens = {"miscommunications": misses, "interceptions": catches}
            for role in Role:
                yield _decision(game_id, game, place, role, seats[role.name.lower()], tokens, vocabulary)
            misses += not understood(turn)
            catches += intercepted(turn)
        stood = standing(game.turns, TURNS)
        yield journal.GameOver(
            game_id=game_id,
            ending=stood.ending.name.lower(),
            turns=stood.turns,
            miscommunications=misses,
            interceptions=catches,
            failed_answers=len(game.failed),
        )
        done()
    yield journal.RunOver(games=len(games), time=now)


def _decision(
    game_id: str, game: RecordedGame, place: int, role: Role, agent: str, tokens: dict[str, int], vocabulary: Vocabulary
) -> journal.Decision:
    turn = game.turns[place]
    hints = list(turn.hints or ())
    known: dict[str, Any] = dict(tokens)
    if role != Role.INTERCEPTOR:
        known["keywords"] = list(game.keywords)
    if role == Role.ENCODER:
        action: Any = hints
        known["code"] = code_text(turn.code)
    else:
        guess = turn.decoder_guess if role == Role.DECODER else turn.interceptor_guess
        action = None if guess == NO_ANSWER else code_text(guess)
        known["hints"] = hints
    said = game.failed.get((place, role))
    return journal.Decision(
        game_id=game_id,
        turn=place,
        role=role.name.lower(),
        agent=agent,
        observation=known,
        action=action,
        unknown_words=[hint for hint in hints if hint_vector(vocabulary, hint) is None] if role == Role.ENCODER else [],
        attempts=[] if said is None else [journal.Attempt(text=said, error="this is no code")],
    )
