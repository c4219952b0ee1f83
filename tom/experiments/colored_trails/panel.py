"""Which games a run of negotiations is: boards, copies, conditions and seats, all of them decided by the seed."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from otherminds.games.colored_trails.board import Board, Layout
from otherminds.games.colored_trails.generation import draw_boards, flipped, recolour
from otherminds.tom.experiments.colored_trails.boards import Boards, load_boards
from otherminds.tom.experiments.colored_trails.config import NegotiationConfig
from otherminds.tom.experiments.colored_trails.diagnostic import found_boards
from otherminds.tom.experiments.config import ConfigError
from otherminds.tom.minds.colored_trails.variant import VARIANTS

PANEL = 2**32 - 1
"""What the seed's key is folded with for the panel itself; games have lower numbers."""
AXES = (("horizontal",), ("vertical",), ("horizontal", "vertical"))


@dataclass(frozen=True, eq=False)
class PlannedGame:
    """One game of a run.

    name: of the board, the same for its copies.   kind: "ordinary" or "diagnostic".   copy: 1, or 2 for the recoloured
    and flipped one.   deception: whether language models are told that they may deceive.
    """

    agents: tuple[str, str]  # initiator, responder
    seed: int
    episode: int
    name: str
    kind: str
    copy: int
    deception: bool
    board: Board  # of NumPy arrays

    @property
    def game_id(self) -> str:
        """Its name in the log."""
        return f"{' + '.join(self.agents)} / seed {self.seed} / game {self.episode}"

    @property
    def condition(self) -> dict[str, Any]:
        """For the log."""
        return {"boards": self.kind, "deception": self.deception, "copy": self.copy, "initiator": self.agents[0]}


@dataclass(frozen=True, eq=False)
class _Named:
    """A board of a seed; see `PlannedGame`."""

    name: str
    kind: str
    board: Board


def planned_games(config: NegotiationConfig, progress: Callable[[int], None] | None = None) -> list[PlannedGame]:
    """Every game of a run, in its order.

    The boards of a seed stand in a random order, and come once more in that order as second copies, so that the two
    copies of a board are as many games apart as there are boards. Who initiates alternates. The copies of a board
    differ in one condition: whether deception is told of where that varies, else who initiates. Deception is told of in
    two games, not in the next two, and so on, so that either agent initiates as often with it.
    progress: called with a number of boards as diagnostic ones are found, where they are searched for.
    Raises: ConfigError for more boards than a file has; ValueError as `boards.load_boards`, where no board meets the
        rule for goals, and where a search finds too few.
    """
    files = {kind: _of_file(config, kind) for kind in ("ordinary", "diagnostic")}
    games = []
    for seed in config.seeds:
        key = jax.random.fold_in(jax.random.key(seed), PANEL)
        order_key, board_key, copy_key = jax.random.split(key, 3)
        boards = _boards(config, seed, board_key, files, progress)
        for copy in range(config.copies):
            for place, number in enumerate(_shuffled(order_key, len(boards))):
                dealt = boards[number]
                turned = config.seats == "alternate" and (place + copy * (config.deception != "both")) % 2 == 1
                told = config.deception == "on" or (config.deception == "both" and (place // 2 + copy) % 2 == 0)
                board = dealt.board
                if copy:
                    board = second_copy(jax.random.fold_in(copy_key, number), config.rules.layout, board)
                games.append(
                    PlannedGame(
                        config.agents[::-1] if turned else config.agents,
                        seed,
                        episode=copy * len(boards) + place,
                        name=dealt.name,
                        kind=dealt.kind,
                        copy=copy + 1,
                        deception=told,
                        board=board,
                    )
                )
    return games


def second_copy(key: PRNGKeyArray, layout: Layout, board: Board) -> Board:
    """The same game that looks like another one: its colours permuted, and mirrored along one axis or both."""
    colour_key, axis_key = jax.random.split(key)
    board = recolour(board, _shuffled(colour_key, board.chips.shape[-1]))
    for axis in AXES[int(jax.random.randint(axis_key, (), 0, len(AXES)))]:
        board = flipped(layout, board, axis)
    return Board(*(np.asarray(part) for part in board))


def boards_name(games: list[PlannedGame]) -> str:
    """The number and content hash of the boards that are played."""
    content = hashlib.sha256()
    for game in games:
        for part in game.board:
            content.update(np.asarray(part, np.int64).tobytes())
    return f"{len({(game.seed, game.name) for game in games})} boards {content.hexdigest()[:8]}"


def made_for(config: NegotiationConfig) -> str | None:
    """What diagnostic boards were made for, as far as their file says it; None without such boards."""
    if config.searches:
        search = config.search
        return f"order {search.high} over order {search.low}, at least {config.advantage_threshold:g} points"
    if config.diagnostic is None:
        return None
    said = _load(config, "diagnostic").provenance
    parts = [f"order {said['high']} over order {said['low']}"] if {"high", "low"} <= set(said) else []
    parts += [f"at least {said['threshold']:g} points"] if "threshold" in said else []
    return ", ".join(parts) or "it does not say for what"


def _boards(
    config: NegotiationConfig,
    seed: int,
    key: PRNGKeyArray,
    files: dict[str, list[_Named] | None],
    progress: Callable[[int], None] | None,
) -> list[_Named]:
    """The boards of a seed, the ordinary ones first; those of a file are a random choice of them."""
    keys = dict(zip(files, jax.random.split(key, len(files)), strict=True))
    found = []
    for kind, count in (("ordinary", config.ordinary), ("diagnostic", config.diagnostic_count)):
        known = files[kind]
        if known is not None:
            found += [known[n] for n in _shuffled(keys[kind], len(known))[:count]]
        elif kind == "ordinary" and count:
            rules = config.rules
            drawn = draw_boards(keys[kind], count, rules.layout, config.goal_rule, rules.scoring, chunk=1)
            found += [_Named(f"seed {seed}, board {n}", kind, _one(drawn, n)) for n in range(count)]
        elif kind == "diagnostic" and config.searches:
            searched = _searched(config, seed, progress)
            found += [_Named(f"seed {seed}, diagnostic board {n}", kind, _one(searched, n)) for n in range(count)]
    return found


def _searched(config: NegotiationConfig, seed: int, progress: Callable[[int], None] | None) -> Board:
    """The diagnostic boards that are found with a seed: the same ones in every run."""
    search = config.search
    return found_boards(
        config.diagnostic_count,
        config.advantage_threshold,
        search.high,
        search.low,
        seed=seed,
        variant=VARIANTS[search.variant],
        learning_speed=search.learning_speed,
        limit=search.limit,
        most=search.most,
        rules=config.rules,
        progress=progress,
    )


def _of_file(config: NegotiationConfig, kind: str) -> list[_Named] | None:
    """All boards of the file of a kind; None where there is none."""
    path = _path(config, kind)
    if path is None:
        return None
    boards = _load(config, kind).boards
    wanted = config.ordinary if kind == "ordinary" else config.diagnostic_count
    if wanted is not None and wanted > len(boards.goals):
        raise ConfigError(f"{path} has {len(boards.goals)} boards, and {wanted} {kind} ones are wanted; ask for fewer")
    return [_Named(f"{Path(path).name}, board {n}", kind, _one(boards, n)) for n in range(len(boards.goals))]


def _load(config: NegotiationConfig, kind: str) -> Boards:
    threshold = config.advantage_threshold if kind == "diagnostic" else None
    return load_boards(_path(config, kind), config.rules.layout, threshold=threshold)


def _path(config: NegotiationConfig, kind: str) -> str | None:
    return config.boards if kind == "ordinary" else config.diagnostic


def _one(boards: Board, number: int) -> Board:
    return Board(*(np.asarray(part)[number] for part in boards))


def _shuffled(key: PRNGKeyArray, count: int) -> list[int]:
    return np.asarray(jax.random.permutation(key, count)).tolist()
