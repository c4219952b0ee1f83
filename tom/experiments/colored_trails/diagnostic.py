"""Diagnostic boards: those on which a mind of higher order is expected to gain more than one of lower order.

On a board, in both seatings, four games are played by fresh minds: low against low, high against low, low against
high and (for the record) high against high. The advantage is the mean of four differences: what the initiator gains
by being of the higher order against a low responder, and the responder against a low initiator, in either seating.

Source: LLM-TOM's search for boards, whose threshold counts in tenths of a point.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from otherminds.games.colored_trails.board import Board
from otherminds.games.colored_trails.generation import draw_boards
from otherminds.games.colored_trails.rules import Rules
from otherminds.tom.experiments.colored_trails.play import Player, deals_of, play
from otherminds.tom.minds.colored_trails.fast import quickest
from otherminds.tom.minds.colored_trails.negotiator import HIGHEST_ORDER, Params
from otherminds.tom.minds.colored_trails.variant import DESCRIBED, Variant

LIMIT = 10
"""Moves, in the search of LLM-TOM."""
BATCH = 128
"""Candidates that are tried at once."""
MOST = 100_000
"""Candidates that are tried before a search is given up."""


class Advantage(NamedTuple):
    """What boards tell apart, in points."""

    advantage: Float[np.ndarray, " B"]
    gained: Float[np.ndarray, "B 2 4 2"]  # [board, seating, LvL HvL LvH HvH, role]


class Found(NamedTuple):
    """A batch of candidates that were tried."""

    tried: int
    boards: Board  # those kept
    advantage: Float[np.ndarray, " K"]  # of those kept
    place: Int[np.ndarray, " K"]  # of those kept, in the batch


def advantage(
    boards: Board,
    high: int = 2,
    low: int = 1,
    *,
    variant: Variant = DESCRIBED,
    learning_speed: float = 0.8,
    limit: int = LIMIT,
    rules: Rules | None = None,
    both_high: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Advantage:
    """How much more a mind of order `high` gains on each board than one of order `low`, against one of order `low`.

    advantage = mean over two seatings of [HvL - LvL] for the initiator and [LvH - LvL] for the responder.
    boards: a batch.   limit: moves, in place of that of `rules`.
    both_high: whether high against high is played too, which the advantage does not need; NaN where it is not.
    progress: called with a number of games after each chunk.
    Raises: ValueError unless 0 <= low < high <= 4.
    """
    if not 0 <= low < high <= HIGHEST_ORDER:
        raise ValueError(f"high={high}, low={low}: orders of 0 to {HIGHEST_ORDER}, the high one above the low one")
    rules = replace(rules or Rules(), limit=limit)
    params = Params(learning_speed=learning_speed)
    weak, strong = (Player(quickest(variant, order, rules), params) for order in (low, high))
    deals, count = deals_of(rules, boards), len(np.asarray(boards.goals))
    which, mirrored = np.repeat(np.arange(count), 2), np.tile([False, True], count)
    pairs = [(weak, weak), (strong, weak), (weak, strong)] + [(strong, strong)] * both_high
    gained = np.full((count, 2, 4, 2), np.nan)
    for place, pair in enumerate(pairs):
        played = play(rules, pair, deals, which, mirrored, progress=progress)
        gained[:, :, place] = played.gained.reshape(count, 2, 2)
    initiator = gained[:, :, 1, 0] - gained[:, :, 0, 0]
    responder = gained[:, :, 2, 1] - gained[:, :, 0, 1]
    return Advantage((initiator + responder).mean(1) / 2, gained)


def diagnostic_boards(
    threshold: float,
    high: int = 2,
    low: int = 1,
    *,
    seed: int = 0,
    variant: Variant = DESCRIBED,
    learning_speed: float = 0.8,
    limit: int = LIMIT,
    rules: Rules | None = None,
    batch: int = BATCH,
    first: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Found]:
    """Random boards, batch after batch without end, and those of them with an advantage of `threshold` points or more.

    Candidates are drawn by `generation.draw_boards`, batch n with the n-th key of the seed, so that a search of more
    boards begins as a search of fewer.
    first: the batch to begin with.
    progress: called with a number of games as they are played.
    Raises: ValueError for a batch below 1 and for what `advantage` refuses.
    """
    if batch < 1:
        raise ValueError(f"batch={batch}: at least 1 board")
    rules = rules or Rules()
    number = first
    while True:
        key = jax.random.fold_in(jax.random.key(seed), number)
        boards = draw_boards(key, batch, rules.layout, scoring=rules.scoring)
        found = advantage(
            boards,
            high,
            low,
            variant=variant,
            learning_speed=learning_speed,
            limit=limit,
            rules=rules,
            progress=progress,
        ).advantage
        kept = found >= threshold
        yield Found(batch, Board(*(np.asarray(part)[kept] for part in boards)), found[kept], np.flatnonzero(kept))
        number += 1


def found_boards(
    count: int,
    threshold: float,
    high: int = 2,
    low: int = 1,
    *,
    most: int = MOST,
    progress: Callable[[int], None] | None = None,
    **search: Any,
) -> Board:
    """The first `count` boards of `diagnostic_boards`, which are those that `otherminds boards colored-trails` finds.

    most: candidates that are tried at most, in whole batches.   search: as `diagnostic_boards` takes it.
    progress: called with a number of boards as they are found.
    Raises: ValueError where so many candidates hold too few.
    """
    found: list[Board] = []
    tried = known = 0
    for batch in diagnostic_boards(threshold, high, low, **search):
        new = min(len(batch.place), count - known)
        found.append(Board(*(part[:new] for part in batch.boards)))
        tried, known = tried + batch.tried, known + new
        if progress is not None and new:
            progress(new)
        if known == count:
            break
        if tried >= most:
            raise ValueError(
                f"{known} boards of {tried:,} tried give order {high} at least {threshold:g} points over order {low}, "
                f"fewer than {count}: take a lower threshold, or more boards to try"
            )
    return Board(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
