"""Negotiators of several orders against each other on many boards: what each gains, and how sure that is."""

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import pairwise, product
from multiprocessing import get_context
from typing import Any, Literal, NamedTuple, get_args

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from otherminds.games.colored_trails.board import Board
from otherminds.games.colored_trails.rules import Role, Rules
from otherminds.inference.resampling import standard_error
from otherminds.tom.experiments.colored_trails.play import Played, Player, deals_of, play, play_series
from otherminds.tom.minds.colored_trails.fast import faster, quickest
from otherminds.tom.minds.colored_trails.negotiator import Params
from otherminds.tom.minds.colored_trails.registry import named_negotiator
from otherminds.tom.minds.colored_trails.variant import DESCRIBED, Variant

Seatings = Literal["both", "original", "mirrored"]
GAMES = 2048
"""Of a pair, in a block."""
FEW = 2000
"""Games for which starting processes takes longer than it saves."""
_work_of: dict[str, "Job"] = {}  # a worker process: what it works on


@dataclass(frozen=True)
class Pairing:
    """How a pair of negotiators fared. (2,) is (initiator, responder); standard errors are clustered by unit."""

    initiator: str
    responder: str
    units: int  # boards; series, where minds persist
    games: int
    gain: tuple[float, float]  # mean points a game: score less the worth of the chips dealt, less costs
    gain_error: tuple[float, float]  # standard error; NaN for one unit
    agreement: float  # share of games with an accepted offer
    agreement_error: float
    moves: float  # mean
    reached: tuple[float, float]  # share of games at whose end the chips pay for a walk to the goal
    seconds: float  # of one processor, compilation included
    # Mean gain of every unit, from which differences between pairs on the same units are taken.
    by_unit: Float[np.ndarray, "U 2"] = field(repr=False, compare=False)


@dataclass(frozen=True)
class Difference:
    """What a seat gains by being taken by one negotiator rather than another, against the same opponent.

    Both play the same units, so that the standard error is that of the differences of each unit. A board's seatings
    are one unit.
    """

    role: str  # the seat
    negotiator: str
    rather_than: str
    opponent: str
    units: int
    gain: float  # points a game: mean difference
    gain_error: float  # paired standard error; NaN for one unit
    low: float  # 95% interval, Student's t over units
    high: float


class Job(NamedTuple):
    """What all blocks share; names in place of minds, which are functions and cannot be sent to a process."""

    rules: Rules
    initiators: tuple[str | int, ...]
    responders: tuple[str | int, ...]
    variant: Variant
    boards: Board
    seatings: Seatings
    series: int
    seed: int


class Block(NamedTuple):
    """Some of the boards (of the series, where minds persist): units start to stop - 1, `size` of them with padding."""

    start: int
    stop: int
    size: int


class Tally(NamedTuple):
    """Of one pair, per unit of a block: means over the unit's games."""

    gain: Float[np.ndarray, "U 2"]
    agreed: Float[np.ndarray, " U"]
    moves: Float[np.ndarray, " U"]
    reached: Float[np.ndarray, "U 2"]
    seconds: float


def players_of(names: Sequence[str | int], rules: Rules, variant: Variant = DESCRIBED) -> tuple[Player, ...]:
    """Players by name, as in minds/colored_trails/registry.py, or by order: 2 is order2 of the variant.

    Minds of order k are the fast ones where there is such.
    Raises: UnknownMind for a name that does not exist.
    """
    found = []
    for name in names:
        if isinstance(name, int):
            found.append(Player(quickest(variant, name, rules), Params()))
        else:
            named = named_negotiator(name, rules)
            found.append(Player(faster(named.mind, rules), named.params))
    return tuple(found)


def simulate(
    boards: Board,
    initiators: Sequence[str | int] = (0, 1, 2),
    responders: Sequence[str | int] | None = None,
    *,
    seatings: Seatings = "both",
    variant: Variant = DESCRIBED,
    rules: Rules | None = None,
    series: int = 0,
    repetitions: int = 100,
    seed: int = 0,
    processes: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Pairing]:
    """Every initiator against every responder, on every board.

    initiators, responders: orders or names of negotiators; responders None: the same.
    seatings: each board as it is, with chips and goals swapped between the players ("mirrored"), or both.
    series: 0: fresh minds for every game; T: pairs of minds that keep their type beliefs and confidence over T games
        on boards drawn with replacement, in `repetitions` such series; standard errors are then over series.
    processes: that share the work; None: one a core (one for up to 2,000 games). Results do not depend on it.
    progress: called with a number of games whenever some are done.
    Returns: a row for each pair, initiators first.
    Raises: ValueError for no boards and settings out of range; UnknownMind.
    """
    rules, count = rules or Rules(), len(np.asarray(boards.goals))
    for name, value, least in (
        ("boards", count, 1),
        ("series", series, 0),
        ("repetitions", repetitions, 1),
        ("processes", 1 if processes is None else processes, 1),
    ):
        if value < least:
            raise ValueError(f"{name}={value}: at least {least}")
    if seatings not in get_args(Seatings):
        raise ValueError(f"seatings={seatings!r}: one of {', '.join(get_args(Seatings))}")
    initiators = tuple(initiators)
    responders = initiators if responders is None else tuple(responders)
    players_of((*initiators, *responders), rules, variant)  # what does not exist is told of before long work
    job = Job(rules, initiators, responders, variant, Board(*map(np.asarray, boards)), seatings, series, seed)
    pairs = list(product(initiators, responders))
    units, each = (repetitions, series) if series else (count, 1 + (seatings == "both"))
    if processes is None:
        processes = 1 if units * each * len(pairs) <= FEW else os.cpu_count() or 1
    found = []
    blocks = _blocks(units, max(1, GAMES // each), processes)
    for block, tallies in _tallies(job, blocks, processes):
        found.append((block, tallies))
        if progress is not None:
            progress((block.stop - block.start) * each * len(pairs))
    found.sort(key=lambda one: one[0])
    return [_row(pair, each, [tallies[place] for _, tallies in found]) for place, pair in enumerate(pairs)]


def _blocks(units: int, most: int, processes: int) -> list[Block]:
    """Blocks of one size, so that each pair is compiled once; as many as the processes, or a multiple."""
    count = math.ceil(math.ceil(units / most) / processes) * processes
    size = math.ceil(units / count)
    return [Block(start, min(start + size, units), size) for start in range(0, units, size)]


def _tallies(job: Job, blocks: list[Block], processes: int) -> Iterator[tuple[Block, list[Tally]]]:
    """The tallies of all pairs, block by block as they are done."""
    if processes == 1:
        yield from ((block, _tally(job, block)) for block in blocks)
        return
    context = get_context("spawn")  # a fork of a process in which XLA runs may hang
    started = context.Value("i", 0)
    settings = (job, started, jax.config.jax_enable_x64)
    with ProcessPoolExecutor(processes, context, _start, settings) as pool:
        futures = {pool.submit(_work, block): block for block in blocks}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _start(job: Job, started: Any, double: bool) -> None:
    """Begins a worker process, on a core of its own where that can be had: XLA then starts one thread."""
    with started.get_lock():
        place = started.value
        started.value += 1
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[place % len(cores)]})
    jax.config.update("jax_enable_x64", double)
    _work_of["job"] = job


def _work(block: Block) -> list[Tally]:
    return _tally(_work_of["job"], block)


def _tally(job: Job, block: Block) -> list[Tally]:
    """Plays a block."""
    players = players_of((*job.initiators, *job.responders), job.rules, job.variant)
    pairs = product(players[: len(job.initiators)], players[len(job.initiators) :])
    units = np.minimum(np.arange(block.start, block.start + block.size), block.stop - 1)
    if job.series:
        deals = deals_of(job.rules, job.boards)
        which, mirrored = zip(*(_drawn_series(job, int(unit)) for unit in units), strict=True)
        which, mirrored = np.stack(which), np.stack(mirrored)
    else:
        # The deals of a block alone: memory does not grow with the number of boards.
        deals = deals_of(job.rules, Board(*(part[units] for part in job.boards)))
        sides = {"both": [False, True], "original": [False], "mirrored": [True]}[job.seatings]
        which, mirrored = (part.ravel() for part in np.meshgrid(np.arange(block.size), sides, indexing="ij"))
    each = 1 if job.series else len(sides)
    numbers = (units[:, None] * each + np.arange(each)).ravel()
    found = []
    for pair in pairs:
        begun = time.perf_counter()
        play_all = play_series if job.series else play
        played = play_all(job.rules, pair, deals, which, mirrored, seed=job.seed, numbers=numbers)
        found.append(_means(played, block, time.perf_counter() - begun))
    return found


def _drawn_series(job: Job, unit: int) -> tuple[Int[np.ndarray, " T"], Bool[np.ndarray, " T"]]:
    """The boards of a series and which of them are mirrored, whatever the block it is played in."""
    drawn = np.random.default_rng([job.seed, unit])
    which = drawn.integers(0, len(job.boards.goals), job.series)
    chance = {"both": 0.5, "original": 0.0, "mirrored": 1.0}[job.seatings]
    return which, drawn.random(job.series) < chance


def _means(played: Played, block: Block, seconds: float) -> Tally:
    """The games of each unit, averaged; padding is cut off."""

    def mean(games: np.ndarray) -> np.ndarray:
        by_unit = games.reshape(block.size, -1, *games.shape[played.moves.ndim :])
        return by_unit.mean(1, dtype=np.float64)[: block.stop - block.start]

    return Tally(mean(played.gained), mean(played.agreed), mean(played.moves), mean(played.reached), seconds)


def _row(pair: tuple[str | int, str | int], each: int, tallies: list[Tally]) -> Pairing:
    gain, agreed, moves, reached = (np.concatenate(parts) for parts in list(zip(*tallies, strict=True))[:4])
    units = len(gain)
    return Pairing(
        *(name if isinstance(name, str) else f"order{name}" for name in pair),
        units=units,
        games=units * each,
        gain=_two(gain.mean(0)),
        gain_error=_two(standard_error(gain)),
        agreement=float(agreed.mean()),
        agreement_error=float(standard_error(agreed)),
        moves=float(moves.mean()),
        reached=_two(reached.mean(0)),
        seconds=sum(tally.seconds for tally in tallies),
        by_unit=gain,
    )


def differences(rows: Sequence[Pairing]) -> list[Difference]:
    """What each negotiator gains over the one named before it, in either seat, against every opponent.

    rows: of `simulate`, all of one call: orders 0, 1, 2 give what order 1 gains over 0, and order 2 over 1.
    """
    gains = {(row.initiator, row.responder): row.by_unit for row in rows}
    names = [list(dict.fromkeys(pair[role] for pair in gains)) for role in Role]
    found = []
    for role in Role:
        for before, name in pairwise(names[role]):
            for opponent in names[1 - role]:
                pairs = [(one, opponent) if role == Role.INITIATOR else (opponent, one) for one in (name, before)]
                more, less = (gains[pair][:, role] for pair in pairs)
                found.append(_difference(role.name.lower(), name, before, opponent, more - less))
    return found


def _difference(role: str, name: str, before: str, opponent: str, gained: Float[np.ndarray, " U"]) -> Difference:
    units, mean = len(gained), float(gained.mean())
    error = float(standard_error(gained))
    from scipy.stats import t as student

    width = float(student.ppf(0.975, units - 1)) * error if units > 1 else math.nan
    return Difference(role, name, before, opponent, units, mean, error, mean - width, mean + width)


def _two(values: Float[np.ndarray, "2"]) -> tuple[float, float]:
    return float(values[0]), float(values[1])
