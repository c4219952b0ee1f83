"""Logs of observers: the deal as JSON and back, what a line may hold, and every observer's statements as arrays."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from otherminds.games.protocol import NO_ANSWER, Game
from otherminds.games.rps.catalogue import CODES
from otherminds.games.rps.observation import Asking, Ending, Role, State, begin, observer_game
from otherminds.games.rps.statement import Stated, arrays, check
from otherminds.tom.experiments import journal, logs
from otherminds.tom.experiments.logs import Log, LogRules, Made
from otherminds.tom.experiments.rps.observers.config import code_of
from otherminds.tom.minds.rps.registry import OPENSPIEL, named_player

GAME = "rps-observer"
MOVE_DIGITS = "012"
MISSING = "-"


def moves_text(moves: Int[np.ndarray, " T"]) -> str:
    """A player's moves as one string: 0 rock, 1 paper, 2 scissors, - missing."""
    return "".join(MISSING if move < 0 else MOVE_DIGITS[move] for move in moves)


def deal_json(
    players: tuple[str, str],
    moves: Int[np.ndarray, "2 T"],
    labels: str,
    asking: Asking,
    *,
    legacy_iid: bool = False,
    legacy_decimals: bool = False,
) -> dict[str, Any]:
    """What is dealt to an observer, for the log. labels: of the strategies, in the order of the catalogue."""
    asked = asdict(asking)
    del asked["rounds"]
    return {
        "player1": players[0],
        "player2": players[1],
        "moves1": moves_text(moves[0]),
        "moves2": moves_text(moves[1]),
        "labels": labels,
        "asking": asked,
        "legacy_iid": legacy_iid,
        "legacy_decimals": legacy_decimals,
    }


def moves_of(deal: Mapping[str, Any]) -> Int[np.ndarray, "2 T"]:
    """The moves of a deal.

    Raises: ValueError for a move that is none, with its round, and for players of a different number of rounds.
    """
    rows = []
    for name in ("moves1", "moves2"):
        text = deal.get(name)
        if not isinstance(text, str) or not text:
            raise ValueError(f"{name} is {text!r}; it must be a text of moves, such as '0120'")
        wrong = next((n for n, move in enumerate(text) if move not in MOVE_DIGITS + MISSING), None)
        if wrong is not None:
            raise ValueError(
                f"{name}, round {wrong + 1}: {text[wrong]!r} is no move; there are 0, 1, 2 and - (missing)"
            )
        rows.append([NO_ANSWER if move == MISSING else int(move) for move in text])
    if len(rows[0]) != len(rows[1]):
        raise ValueError(f"player 1 made {len(rows[0])} moves and player 2 {len(rows[1])}")
    return np.array(rows, np.int32)


def asking_of(deal: Mapping[str, Any]) -> Asking:
    """When an observer of a deal is asked. Raises: ValueError for what is no such setting."""
    try:
        return Asking(rounds=len(deal["moves1"]), **deal["asking"])
    except (TypeError, KeyError) as error:
        raise ValueError(f"the deal does not say when the observer is asked ({error})") from None


def observation_json(now: int, first: int) -> dict[str, int]:
    """What an observer is shown, for the log: rounds `from` to `round`, counted from 1.   first: rounds before them."""
    return {"round": now, "from": first + 1}


@cache
def _known_player(player: str) -> None:
    """Raises: UnknownMind for what is no player."""
    named_player(player)


def _check_deal(line: journal.GameBegun) -> None:
    who = f"game {line.game_id!r}"
    if set(line.agents) != {"observer"}:
        raise ValueError(f"{who}: the roles are {', '.join(line.agents) or 'none'}; there is one, the observer")
    deal = line.deal or {}
    try:
        moves_of(deal)
        asking_of(deal)
        for name in ("player1", "player2"):
            if not isinstance(deal.get(name), str):
                raise ValueError(f"{name} is {deal.get(name)!r}; it must be a player's name")
            if not deal[name].startswith(OPENSPIEL):
                _known_player(deal[name])
        labels = deal.get("labels")
        if not isinstance(labels, str) or sorted(labels) != sorted(CODES):
            raise ValueError(f"labels {labels!r} are not the {len(CODES)} labels {''.join(CODES)} in any order")
        for name in ("legacy_iid", "legacy_decimals"):
            if not isinstance(deal.get(name), bool):
                raise ValueError(f"{name} is {deal.get(name)!r}; it must be true or false")
    except ValueError as error:
        raise ValueError(f"{who}: {error}") from None


def _check_decision(line: journal.Decision, deal: journal.GameBegun, made: Made) -> None:
    who, asking = f"the observer of game {line.game_id!r}", asking_of(deal.deal)
    if line.turn != len(made) or line.turn >= len(asking.asked):
        raise ValueError(f"{who} decides in turn {line.turn}, which is not asked then")
    after = asking.asked[line.turn]
    shown = observation_json(after, asking.first(after))
    if line.observation != shown:
        raise ValueError(f"{who} saw {line.observation}; after round {after} it is {shown}")
    if line.action is None:
        if line.statement is not None:
            raise ValueError(f"{who} states probabilities, but its answer failed")
        return
    pair = line.action
    if not (isinstance(pair, list) and len(pair) == 2):
        raise ValueError(f"{who} names {pair!r}, which is no pair of strategies")
    for code in pair:
        if code not in CODES:
            raise ValueError(f"{who} names {code!r}, which is no strategy; there are {', '.join(CODES)}")
    try:
        check(line.statement or {})
    except ValueError as error:
        raise ValueError(f"{who} {error}") from None


OBSERVER = LogRules(GAME, Role, Ending, _check_deal, _check_decision)


def read_log(path: Path, on_line: Callable[[], None] | None = None) -> Log:
    """Reads the log of one run of observers; see `logs.read_log`."""
    return logs.read_log(path, OBSERVER, on_line)


def pair_places(action: list[str] | str | None) -> tuple[int, int]:
    """The places in the catalogue of a pair of codes; NO_ANSWER for an answer that failed."""
    return (NO_ANSWER, NO_ANSWER) if action is None else (CODES.index(action[0]), CODES.index(action[1]))


@cache
def dealt_game(asking: Asking, truth: tuple[int, int]) -> Game:
    """The game of matches that are dealt already; one for all, so that its functions compile once."""

    def dealt(key: Any) -> Any:
        raise NotImplementedError("the match is dealt before the game")

    return observer_game(dealt, truth, len(CODES), asking)


def replay(deal: journal.GameBegun, made: Made) -> State:
    """Steps a watched match by the rules, as far as it goes."""
    asking = asking_of(deal.deal)
    step = _stepper(asking)
    state = begin(jnp.asarray(moves_of(deal.deal)), asking)
    for turn in range(len(made)):
        state = step(state, jnp.array(pair_places(made[turn, Role.OBSERVER].action), jnp.int32))
    return state


@cache
def _stepper(asking: Asking) -> Any:
    game = dealt_game(asking, (NO_ANSWER, NO_ANSWER))
    return jax.jit(lambda state, pair: game.step(None, state, {Role.OBSERVER: pair})[0])


@dataclass(frozen=True)
class Scene:
    """What is the same for all matches that are compared: the players, and when observers are asked."""

    players: tuple[str, str]
    asking: Asking
    legacy_iid: bool
    legacy_decimals: bool

    @property
    def name(self) -> str:
        """As it is printed."""
        return f"{self.players[0]} v {self.players[1]}" + " (iid data)" * self.legacy_iid

    @property
    def truth(self) -> tuple[int, int]:
        """The places of the strategies that are played; NO_ANSWER for a player who follows none of the catalogue."""
        codes = [code_of(player) for player in self.players]
        one, two = (NO_ANSWER if code is None else CODES.index(code) for code in codes)
        return one, two


@dataclass(frozen=True)
class Watched:
    """The N finished matches of one observer in a scene, with Q questions each.

    After the rule of `Asking.stop_after` the last statement stands for the questions that were not put any more.
    """

    scene: Scene
    observer: str
    matches: list[tuple[int, int]]  # seed and number
    moves: Int[np.ndarray, "N 2 T"]
    guess: Int[np.ndarray, "N Q 2"]  # NO_ANSWER: the answer failed
    stated: Stated  # [N, Q, ...]; 0 where the answer failed
    asked: Bool[np.ndarray, "N Q"]  # False: not put any more
    unfinished: int  # matches that are left out

    @property
    def failed(self) -> Bool[np.ndarray, "N Q"]:
        """Where there is no answer."""
        return (self.guess < 0).any(-1)

    @property
    def confidence(self) -> Float[np.ndarray, "N Q"]:
        """That both named strategies are right, as stated."""
        return self.stated.confidence


def read_watched(
    paths: Iterable[Path], on_line: Callable[[], None] | None = None
) -> tuple[list[Watched], list[journal.RunBegun]]:
    """Reads logs of observers: what each observer stated in each scene, and the first lines of the logs.

    Raises: JournalError naming file and line for what cannot be read, a game that is in two logs, and logs without a
        match that an observer finished.
    """
    deals: dict[str, journal.GameBegun] = {}
    decisions: dict[str, Made] = {}
    over: set[str] = set()
    begun = []
    paths = list(paths)
    for path in paths:
        log = read_log(path, on_line)
        if twice := deals.keys() & log.deals.keys():
            raise journal.JournalError(
                f"{path}: game {min(twice)!r} is in another of the logs too; compare these logs one by one"
            )
        deals |= log.deals
        decisions |= log.decisions
        over |= log.over.keys()
        begun += [log.begun] if log.begun else []
    if not over:
        raise journal.JournalError(f"{', '.join(map(str, paths))}: no observer finished a match in this log")
    groups: dict[tuple[Scene, str], list[str]] = {}
    for game_id, line in deals.items():
        groups.setdefault((_scene(line.deal), line.agents["observer"]), []).append(game_id)
    watched = []
    for (scene, observer), ids in groups.items():
        finished = sorted((i for i in ids if i in over), key=lambda i: (deals[i].seed, deals[i].episode))
        if finished:
            left_out = len(ids) - len(finished)
            watched.append(_watched(scene, observer, [(deals[i], decisions[i]) for i in finished], left_out))
    return watched, begun


def _scene(deal: Mapping[str, Any]) -> Scene:
    players = deal["player1"], deal["player2"]
    return Scene(players, asking_of(deal), deal["legacy_iid"], deal["legacy_decimals"])


def _watched(scene: Scene, observer: str, games: list[tuple[journal.GameBegun, Made]], unfinished: int) -> Watched:
    questions = len(scene.asking.asked)
    guesses, stated, asked = [], [], []
    for _, made in games:
        lines = [made[turn, Role.OBSERVER] for turn in range(len(made))]
        standing = lines + [lines[-1]] * (questions - len(lines))
        guesses.append([pair_places(line.action) for line in standing])
        stated.append([arrays(line.statement) for line in standing])
        asked.append(np.arange(questions) < len(lines))
    parts = [[[getattr(one, name) for one in row] for row in stated] for name in Stated._fields]
    return Watched(
        scene,
        observer,
        [(line.seed, line.episode) for line, _ in games],
        np.stack([moves_of(line.deal) for line, _ in games]),
        np.array(guesses, np.int32),
        Stated(*(np.array(part, float) for part in parts)),
        np.stack(asked),
        unfinished,
    )
