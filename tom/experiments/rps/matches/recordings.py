"""Other people's matches of rock, paper, scissors into a log: a plain CSV file, and the bot data of Brockbank & Vul.

CSV: a line a round, with the columns `match`, `round`, `move1`, `move2`, and where wanted `player1`, `player2`, the
names of the players. Moves are 0, 1, 2, or r, p, s, or rock, paper, scissors; an empty cell, none and NA are missing
moves. Rounds of a match are counted from 0 or 1, without a gap.

Brockbank & Vul's files (.RData) have a line a player and round. People are called human and bots by their rule; games
are numbered, and what tells a participant or a session is not read. A missing move stays in the log as it was.
"""

import datetime
import gc
import hashlib
import importlib.metadata
import platform
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int8

from otherminds.games.protocol import NO_ANSWER
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.csv_rows import RecordingError, csv_rows
from otherminds.tom.experiments.rps.matches.records import MOVE_NAMES, ROLES

HUMAN = "human"
CSV_COLUMNS = ("match", "round", "move1", "move2")
FRAME_COLUMNS = ("game_id", "round_index", "is_bot", "bot_strategy", "player_move")
MOVES = {text: move for move, name in enumerate(MOVE_NAMES) for text in (str(move), name[0], name)}
MISSING = ("", "none", "na", "nan")


class Recorded(NamedTuple):
    """A recorded match of T rounds."""

    name: str
    players: tuple[str, str]
    moves: Int8[np.ndarray, "2 T"]  # NO_ANSWER: missing
    said: dict[tuple[int, int], str | None]  # by player and round, what stands in place of a missing move


@dataclass(frozen=True)
class Imported:
    """What an import brought."""

    log: Path
    matches: int
    rounds: int
    decisions: int
    failed: int  # missing moves
    players: dict[str, int]  # by name: matches


def import_csv(path: Path, *, log: Path, on_decision: Callable[[], None] | None = None) -> Imported:
    """Writes the log of the matches of a CSV file; see the module.

    on_decision: called after each move that is written, for a progress bar.
    Raises: RecordingError naming line and value, or JournalError, before anything is written.
    """
    return _import(read_csv, path, log, on_decision)


def import_brockbank(path: Path, *, log: Path, on_decision: Callable[[], None] | None = None) -> Imported:
    """Writes the log of people's matches against bots, from an .RData file of Brockbank & Vul.

    on_decision: called after each move that is written, for a progress bar.
    Raises: RecordingError or JournalError, before anything is written.
    """
    return _import(read_brockbank, path, log, on_decision)


def _import(
    read: Callable[[Path], list[Recorded]], path: Path, log: Path, on_decision: Callable[[], None] | None
) -> Imported:
    if log.exists():
        raise journal.JournalError(journal.THERE_ALREADY.format(path=log))
    return write_matches(read(path), log=log, sources=(path,), on_decision=on_decision)


def write_matches(
    matches: Sequence[Recorded],
    *,
    log: Path,
    sources: Sequence[Path] = (),
    config: dict[str, Any] | None = None,
    on_decision: Callable[[], None] | None = None,
) -> Imported:
    """Writes matches as a log, whole or not at all.

    sources: files that they come from, whose names and digests are kept.   config: more of how they came about.
    Raises: JournalError if there is a log already; OSError if it cannot be written.
    """
    done = on_decision or (lambda: None)
    journal.write_whole(log, _lines(matches, sources, config or {}, done))
    names = [name for match in matches for name in match.players]
    rounds = sum(match.moves.shape[1] for match in matches)
    failed = sum(int((match.moves == NO_ANSWER).sum()) for match in matches)
    players = {name: names.count(name) for name in dict.fromkeys(names)}
    return Imported(log, len(matches), rounds, 2 * rounds, failed, players)


def _lines(
    matches: Sequence[Recorded], sources: Sequence[Path], config: dict[str, Any], done: Callable[[], None]
) -> Iterable[journal.Line]:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:12] for path in sources}
    digest = hashlib.sha256(b"".join(match.moves.tobytes() for match in matches)).hexdigest()
    yield journal.RunBegun(
        game="rps",
        config={"source": "import", "files": files} | config,
        vocabulary=f"{len(matches)} matches sha256:{digest[:12]}",
        versions={"otherminds": importlib.metadata.version("otherminds"), "python": platform.python_version()},
        time=now,
    )
    for number, match in enumerate(matches, 1):
        rounds = match.moves.shape[1]
        agents = dict(zip(ROLES, match.players, strict=True))
        yield journal.GameBegun(game_id=match.name, agents=agents, seed=0, episode=number, deal={"rounds": rounds})
        for turn, pair in enumerate(match.moves.T.tolist()):
            for player, move in enumerate(pair):
                attempts = []
                if move == NO_ANSWER:
                    attempts = [journal.Attempt(text=match.said.get((player, turn)), error="no move")]
                yield journal.Decision(
                    game_id=match.name,
                    turn=turn,
                    role=ROLES[player],
                    agent=match.players[player],
                    observation={},
                    action=None if move == NO_ANSWER else MOVE_NAMES[move],
                    attempts=attempts,
                )
                done()
        failed = int((match.moves == NO_ANSWER).sum())
        yield journal.GameOver(game_id=match.name, ending="played", turns=rounds, failed_answers=failed)
    yield journal.RunOver(games=len(matches), time=now)


def read_csv(path: Path) -> list[Recorded]:
    """The matches of a CSV file, in the order in which they begin there.

    Raises: RecordingError naming line and value.
    """
    found: dict[str, dict[int, tuple[int, int]]] = {}
    said: dict[str, dict[int, tuple[str, str]]] = {}
    players: dict[str, tuple[str, str]] = {}
    lines: dict[tuple[str, int], int] = {}
    for number, row in csv_rows(path, CSV_COLUMNS):
        where = f"{path}, line {number}"
        name, text = row["match"], row["round"]
        if not name:
            raise RecordingError(f"{where}: match is empty")
        if not text.isdecimal():
            raise RecordingError(f"{where}: round {text!r} is no whole number")
        round_ = int(text)
        if (name, round_) in lines:
            first = lines[name, round_]
            raise RecordingError(f"{where}: round {round_} of match {name!r} is there twice, first in line {first}")
        lines[name, round_] = number
        pair = tuple(row.get(column) or column for column in ROLES)
        if players.setdefault(name, pair) != pair:
            raise RecordingError(
                f"{where}: match {name!r} is between {' and '.join(pair)} here, but began between "
                f"{' and '.join(players[name])}"
            )
        found.setdefault(name, {})[round_] = tuple(
            _move(row[column], f"{where}, {column}") for column in ("move1", "move2")
        )
        said.setdefault(name, {})[round_] = (row["move1"], row["move2"])
    matches = []
    for name, rounds in found.items():
        start = 0 if 0 in rounds else 1
        order = range(start, start + len(rounds))
        if gap := [round_ for round_ in order if round_ not in rounds]:
            odd = max(rounds)
            raise RecordingError(
                f"{path}, line {lines[name, odd]}: round {odd} of match {name!r}, but there is no round {gap[0]}"
            )
        moves = np.array([rounds[round_] for round_ in order], np.int8).T
        texts = {
            (player, turn): said[name][order[turn]][player] or None
            for player, turn in np.argwhere(moves == NO_ANSWER).tolist()
        }
        matches.append(Recorded(name, players[name], moves, texts))
    return matches


def read_brockbank(path: Path) -> list[Recorded]:
    """The matches of an .RData file, numbered in its order; the person is player 1, the bot player 2.

    Raises: RecordingError for a file that cannot be read, lacks a column, or holds something else.
    """
    frame = read_frame(path, FRAME_COLUMNS)
    rows: dict[str, dict[tuple[int, int], str | None]] = {}
    bots: dict[str, str] = {}
    for row, (game, round_, is_bot, bot, move) in enumerate(zip(*(frame[name] for name in FRAME_COLUMNS), strict=True)):
        where = f"{path}, row {row + 1}"
        if bot is None or bots.setdefault(game, bot) != bot:
            raise RecordingError(f"{where}: bot_strategy {bot!r}, but the game began with {bots.get(game)!r}")
        if is_bot not in (0, 1) or not float(round_).is_integer() or round_ < 1:
            raise RecordingError(f"{where}: is_bot {is_bot!r} and round_index {round_!r} are not 0 or 1 and a round")
        place = (int(is_bot), int(round_) - 1)
        own = rows.setdefault(game, {})
        if place in own:
            raise RecordingError(f"{where}: round {int(round_)} is there twice")
        own[place] = move
    matches = []
    for number, (game, own) in enumerate(rows.items(), 1):
        rounds = max(turn for _, turn in own) + 1
        if len(own) != 2 * rounds:
            raise RecordingError(f"{path}: game {number} has {len(own)} moves in {rounds} rounds")
        texts = [[own[player, turn] for turn in range(rounds)] for player in range(2)]
        moves = np.array([[_move(text or "", f"{path}, game {number}") for text in each] for each in texts], np.int8)
        said = {(player, turn): texts[player][turn] for player, turn in np.argwhere(moves == NO_ANSWER).tolist()}
        matches.append(Recorded(f"game {number}", (HUMAN, bots[game]), moves, said))
    return matches


def read_frame(path: Path, columns: Sequence[str]) -> dict[str, list[Any]]:
    """Some columns of the data frame in an .RData file; texts and factors as str, and None for NA.

    The other columns are not turned into Python values.
    Raises: RecordingError for a file that cannot be read, holds no one data frame, or lacks a column.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise RecordingError(f"{path}: no such file") from None
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read ({error.strerror})") from None
    from rdata.parser import parse_data

    collecting = gc.isenabled()
    gc.disable()  # most of the time of a million small objects is spent looking for garbage among them
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = parse_data(content, extension=path.suffix)
    except Exception as error:
        raise RecordingError(
            f"{path}: no .RData file ({' '.join(str(error).split()) or type(error).__name__})"
        ) from None
    finally:
        if collecting:
            gc.enable()
    try:
        frame = parsed.object.value[0]
        names = [_text(name) for name in _attribute(frame, "names").value]
        values = dict(zip(names, frame.value, strict=True))
    except (AttributeError, IndexError, TypeError, ValueError):
        raise RecordingError(f"{path}: it does not hold one data frame") from None
    if missing := [name for name in columns if name not in values]:
        raise RecordingError(f"{path}: no column {missing[0]!r}; the columns are {', '.join(map(str, names))}")
    return {name: _column(values[name]) for name in columns}


def _column(values: Any) -> list[Any]:
    """A column as Python values."""
    levels = _attribute(values, "levels")
    if levels is not None:  # a factor: places in its levels, counted from 1, and masked or negative where it is NA
        texts = [_text(level) for level in levels.value]
        places = np.ma.filled(values.value, -1).tolist()
        return [texts[place - 1] if place > 0 else None for place in places]
    if isinstance(values.value, list):
        return [_text(value) for value in values.value]
    return np.asarray(values.value).tolist()


def _attribute(value: Any, name: str) -> Any:
    """An attribute of a value in the file, or None."""
    pairs = value.attributes
    while pairs is not None and isinstance(pairs.value, tuple):
        tag = pairs.tag.referenced_object or pairs.tag
        if tag.value.value == name.encode():
            return pairs.value[0]
        pairs = pairs.value[1]
    return None


def _text(value: Any) -> str | None:
    return None if value.value is None else value.value.decode("utf-8", "replace")


def _move(text: str, where: str) -> int:
    """A move, or NO_ANSWER for a missing one. Raises: RecordingError for something else."""
    text = text.strip()
    if text.lower() in MISSING:
        return NO_ANSWER
    if text.lower() not in MOVES:
        raise RecordingError(
            f"{where}: {text!r} is no move; write 0, 1, 2, or r, p, s, or rock, paper, scissors, and leave it empty "
            "where it is missing"
        )
    return MOVES[text.lower()]
