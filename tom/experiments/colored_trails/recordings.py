"""The recorded panel of LLM-TOM into a log: people and a language model negotiate, with messages and thoughts.

A folder a participant (`seed_11`), a JSON file a game (`game_10_advantage_dec_config2.json`). Points there are ten
times those here, and a utility also counts the steps that the start is away from the goal; gains are the same but for
the scale. The player whose number is the file's `initiator` is the initiator here, with that player's chips and goal.
A game that its program ended though no move had is given the limit at which it stopped.

A participant plays ten boards and then the same ten again, recoloured, flipped, and with the other instruction about
deception. People are told apart by the number of their folder; the language model is one agent.
"""

import datetime
import hashlib
import importlib.metadata
import json
import platform
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from otherminds.games.colored_trails.rules import Ending
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.colored_trails.records import (
    GAME,
    ROLES,
    Games,
    board_of,
    chips_of,
    chips_text,
    deals,
    ending_of,
    outcomes,
    read_games,
)
from otherminds.tom.experiments.csv_rows import RecordingError

SCALE = 10
"""Their points for one of ours."""
LIMIT = 100
MODEL = "gpt-oss-120b"
FILE = re.compile(r"game_(\d+)_(normal|advantage)_(dec|nodec)_config([12])\.json")
KINDS = {"normal": "ordinary", "advantage": "diagnostic"}
ENDINGS = {"accepted": Ending.ACCEPTED, "withdrawn": Ending.WITHDRAWN}


class Move(NamedTuple):
    """A recorded move."""

    action: str | None  # chips that the mover would hold; None: no such offer can be made
    message: str | None
    thoughts: str | None  # a person's
    reasoning: str | None  # a language model's
    raw: str | None  # the answer of a language model as it came


class Recorded(NamedTuple):
    """A recorded game, in the units of the project."""

    path: Path
    participant: int
    number: int
    agents: tuple[str, str]  # initiator, responder
    deal: dict[str, Any]
    moves: tuple[Move, ...]
    ending: Ending
    stated: tuple[np.ndarray, np.ndarray, np.ndarray]  # utility before, after, and gain as they stand there, by role


@dataclass(frozen=True)
class Imported:
    """What an import brought."""

    log: Path
    games: int
    decisions: int
    failed: int  # moves that could not be made
    players: dict[str, int]  # by name: games
    differing: tuple[str, ...]  # games whose stated ending or points are not what their moves give, and how


def import_panel(path: Path, *, log: Path, on_game: Callable[[], None] | None = None) -> Imported:
    """Writes the log of a recorded panel, or of one participant's folder.

    on_game: called after each game that is written, for a progress bar.
    Raises: RecordingError naming file and value, or JournalError, before anything is written; OSError if it cannot be.
    """
    if log.exists():
        raise journal.JournalError(journal.THERE_ALREADY.format(path=log))
    games = read_panel(path)
    journal.write_whole(log, _lines(games, on_game or (lambda: None)))
    names = [name for game in games for name in game.agents]
    moves = [move for game in games for move in game.moves]
    return Imported(
        log,
        len(games),
        len(moves),
        sum(move.action is None for move in moves),
        {name: names.count(name) for name in dict.fromkeys(names)},
        tuple(differences(games, read_games([log])[0])),
    )


def read_panel(path: Path) -> list[Recorded]:
    """The games of a panel, by participant and number.

    Raises: RecordingError for a folder without games, and for a file that is none, with what is wrong.
    """
    if not path.is_dir():
        raise RecordingError(f"{path}: no such folder; give the panel's, with a folder seed_N a participant")
    folders = sorted((f for f in path.glob("seed_*") if f.is_dir()), key=_number) or [path]
    games = []
    for folder in folders:
        found = {int(match[1]): (file, match) for file in folder.iterdir() if (match := FILE.fullmatch(file.name))}
        names: dict[tuple, str] = {}
        for number, (file, match) in sorted(found.items()):
            games.append(_read(file, match, _number(folder), number, names))
    if not games:
        raise RecordingError(f"{path}: no game; files are named such as seed_11/game_10_advantage_dec_config2.json")
    return games


def _number(folder: Path) -> int:
    match = re.fullmatch(r"seed_(\d+)", folder.resolve().name)
    if match is None:
        raise RecordingError(f"{folder}: a participant's folder is called seed_ and a number")
    return int(match[1])


def _read(path: Path, match: re.Match[str], participant: int, number: int, names: dict[tuple, str]) -> Recorded:
    """One game. names: of the participant's boards so far by what stays of them in a copy; a new one is added."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        players, first = content["players"], content["initiator"]
        order = (first, 1 - first)  # by role: the player's number there
        deal = {
            "tiles": content["board"]["grid"],
            "chips": [players[p]["initial_chips"] for p in order],
            "goals": [players[p]["goal"] for p in order],
            "cost": content["meta"]["negotiation_cost"] / SCALE,
            "limit": LIMIT,
        }
        board_of(deal)
        kind = KINDS[match[2]]
        shape = _unchanged(np.array(deal["tiles"]), deal["chips"])
        copy = 1 + ((kind, shape) in names)
        name = names.setdefault((kind, shape), f"{kind} {1 + sum(known == kind for known, _ in names)}")
        deal = {"board": name} | deal
        deal["condition"] = {
            "boards": kind,
            "deception": match[3] == "dec",
            "copy": copy,
            "initiator": players[first]["type"],
            "config": int(match[4]),
        }
        outcome = content["outcome"]
        stated = tuple(
            np.array([values[p] for p in order], float)
            for values in (
                [player["initial_utility"] for player in players],
                outcome["final_utilities"],
                outcome["deltas"],
            )
        )
        moves = tuple(_move(path, t, line, deal, order) for t, line in enumerate(content["messages"]))
        made = [None if move.action is None else chips_of(move.action, _pool(deal)) for move in moves]
        if ending_of(deal["chips"], made, LIMIT) == Ending.ONGOING:
            deal["limit"] = len(moves)
        agents = tuple(_agent(players[p]["type"], participant) for p in order)
        return Recorded(
            path, participant, number, agents, deal, moves, ENDINGS.get(outcome["result"], Ending.MOVE_LIMIT), stated
        )
    except (KeyError, TypeError, IndexError) as error:
        raise RecordingError(f"{path}: no recorded game; {type(error).__name__} {error}") from None
    except RecordingError:
        raise
    except (ValueError, OSError) as error:
        raise RecordingError(f"{path}: {error}") from None


def _pool(deal: dict[str, Any]) -> list[int]:
    return np.array(deal["chips"]).sum(0).tolist()


def _agent(kind: str, participant: int) -> str:
    return {"human": f"human-{participant}", "openrouter": MODEL}.get(kind, kind)


def _move(path: Path, turn: int, line: dict[str, Any], deal: dict[str, Any], order: tuple[int, int]) -> Move:
    """A move. Raises: RecordingError for one that is not its player's turn."""
    if line["round"] != turn or line["player_id"] != order[turn % 2]:
        raise RecordingError(f"{path}: move {turn} is recorded as round {line['round']} of player {line['player_id']}")
    try:
        action = chips_text(chips_of(chips_text(line["offer"]), _pool(deal)))
    except (TypeError, ValueError):
        action = None
    language_model = line["raw_response"] is not None
    return Move(
        action,
        line["message"] or None,
        None if language_model else line["thoughts"] or None,  # a language model's are its raw answer once more
        line["reasoning"] or None,
        line["raw_response"],
    )


def _unchanged(tiles: np.ndarray, chips: Sequence[Sequence[int]]) -> tuple:
    """What recolouring and flipping leave of a board: the least of its four flips, colours numbered as they come."""
    flips = [tiles[::rows, ::columns] for rows in (1, -1) for columns in (1, -1)]
    return min(_renumbered(flip.ravel().tolist(), chips) for flip in flips)


def _renumbered(tiles: Sequence[int], chips: Sequence[Sequence[int]]) -> tuple:
    # The start's own colour is 0 in every copy: recolouring leaves it alone, so it tells nothing.
    tiles = [*tiles[: len(tiles) // 2], *tiles[len(tiles) // 2 + 1 :]]
    new = {colour: n for n, colour in enumerate(dict.fromkeys(tiles))}
    held = [sorted((new.get(colour, -1), count) for colour, count in enumerate(own) if count) for own in chips]
    return tuple(new[colour] for colour in tiles), tuple(tuple(own) for own in held)


def differences(games: Sequence[Recorded], read: Games) -> Iterable[str]:
    """What of the stated endings and points is not what the moves give, a text a game.

    read: the same games, from their log.
    """
    found = outcomes(read, deals(read.rules, read.board))
    distance = read.rules.layout.distance[:, read.rules.layout.start_cell]
    for n, game in enumerate(games):
        offset = distance[np.asarray(game.deal["goals"])] * SCALE * read.rules.scoring.step
        before, score = (SCALE * each[n] + offset for each in (found.before, found.score))
        given = dict(zip(("before", "after", "gain"), (before, score, SCALE * found.gained[n]), strict=True))
        told = [
            f"{name} {stated.tolist()}, the moves give {values.round(2).tolist()}"
            for (name, values), stated in zip(given.items(), game.stated, strict=True)
            if np.abs(values - stated).max() > 0.01
        ]
        if (ending := Ending(int(read.endings[n]))) != game.ending:
            told.append(f"ending {game.ending.name.lower()}, the moves give {ending.name.lower()}")
        if told:
            yield f"{game.path.parent.name}/{game.path.name}: {'; '.join(told)} (in its units)"


def _lines(games: Sequence[Recorded], done: Callable[[], None]) -> Iterable[journal.Line]:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    digest = hashlib.sha256(b"".join(game.path.read_bytes() for game in games)).hexdigest()
    participants = list(dict.fromkeys(game.participant for game in games))
    yield journal.RunBegun(
        game=GAME,
        config={"source": "import", "panel": "LLM-TOM", "participants": participants},
        vocabulary=f"{len(games)} games sha256:{digest[:12]}",
        versions={"otherminds": importlib.metadata.version("otherminds"), "python": platform.python_version()},
        time=now,
    )
    for game in games:
        game_id = f"seed {game.participant} / game {game.number}"
        yield journal.GameBegun(
            game_id=game_id,
            agents=dict(zip(ROLES, game.agents, strict=True)),
            seed=game.participant,
            episode=game.number,
            deal=game.deal,
        )
        for turn, move in enumerate(game.moves):
            error = {"error": "no offer that can be made"} if move.action is None else {}
            raw = move.raw is not None or error
            yield journal.Decision(
                game_id=game_id,
                turn=turn,
                role=ROLES[turn % 2],
                agent=game.agents[turn % 2],
                observation={},
                action=move.action,
                reasoning=move.reasoning,
                message=move.message,
                thoughts=move.thoughts,
                attempts=[journal.Attempt(text=move.raw, **error)] if raw else [],
            )
        made = [None if move.action is None else chips_of(move.action, _pool(game.deal)) for move in game.moves]
        ending = ending_of(game.deal["chips"], made, game.deal["limit"])
        failed = sum(move is None for move in made)
        yield journal.GameOver(game_id=game_id, ending=ending.name.lower(), turns=len(made), failed_answers=failed)
        done()
    yield journal.RunOver(games=len(games), time=now)
