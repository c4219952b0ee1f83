"""What chips are worth to a player: the best walk from the start that they pay for."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from otherminds.games.colored_trails.board import PLAYERS, Board, Layout
from otherminds.games.colored_trails.checks import check_number
from otherminds.games.colored_trails.offers import Offers, offers


@dataclass(frozen=True)
class Scoring:
    """Points for a walk's end.

    Raises: ValueError for what is no finite number.
    Source: de Weerd et al. (2017): 50 at the goal, 5 a chip left, -10 a step away.
    """

    goal: float = 50.0
    chip: float = 5.0
    step: float = 10.0

    def __post_init__(self):
        for name, value in vars(self).items():
            check_number(name, value)


class Deal(NamedTuple):
    """A board and all that follows from it: what the players can agree on, and what it is worth for every goal."""

    board: Board
    offers: Offers
    utility: Float[Array, "*batch G N"]  # points; 0 for padding


def deal(layout: Layout, board: Board, scoring: Scoring | None = None) -> Deal:
    """A board with its offers and their utilities."""
    found = offers(layout, board)
    return Deal(board, found, utilities(layout, board, found, scoring or Scoring()))


def utilities(layout: Layout, board: Board, offers: Offers, scoring: Scoring) -> Float[Array, "G N"]:
    """U[g, x] = max over walks from the start, of chips x, of goal [end = g] + chip (chips left) - step dist(end, g).

    A walk enters one neighbouring cell a step and pays a chip of its colour; it may be empty, may come back, and may
    end anywhere. By dynamic programming over (cell, chips paid): which ends a walk can reach by paying exactly the
    chips y depends neither on the goal nor on the chips held, so that U[g, x] is the best over all y within x of what
    the best of these ends is worth.
    Returns: [G, N] points; 0 for padding.
    """
    held = offers.chips.sum(-1)
    paid = reached(layout, board, offers)
    ends = scoring.goal * (layout.distance == 0) - scoring.step * layout.distance  # [G, cells]
    best = jnp.max(jnp.where(paid, jnp.asarray(ends)[:, :, None], -jnp.inf), 1) - scoring.chip * held
    worth = _best_within(layout, offers, best.T).T + scoring.chip * held
    return jnp.where(offers.valid, worth, 0.0)


def reached(layout: Layout, board: Board, offers: Offers) -> Bool[Array, "cells N"]:
    """Whether some walk from the start ends at a cell after it has paid exactly the chips under a code."""
    colour = board.tiles.reshape(-1)
    codes = jnp.arange(layout.most_offers)
    payable = (offers.chips.T[colour] > 0) & offers.valid  # [cells, N]: the last step paid for its cell
    before = jnp.where(payable, codes - offers.stride[colour][:, None], 0)
    borders = jnp.asarray(layout.neighbours != np.arange(layout.cells)[:, None])[:, :, None]
    begun = jnp.zeros((layout.cells, layout.most_offers), bool).at[layout.start_cell, 0].set(True)

    def a_step_more(_, found):
        beside = (found[layout.neighbours] & borders).any(1)
        return begun | payable & jnp.take_along_axis(beside, before, 1)

    # A loop, not unrolled: XLA would fuse the gathers of all sweeps and compute them again and again.
    return jax.lax.fori_loop(0, layout.chips * PLAYERS, a_step_more, begun)  # no walk is longer than there are chips


def _best_within(layout: Layout, offers: Offers, best: Float[Array, "N G"]) -> Float[Array, "N G"]:
    """The maximum over all y within x, colour by colour: each shift doubles how many chips less are covered."""
    codes = jnp.arange(layout.most_offers)
    shifts = [1 << bit for bit in range((layout.chips * PLAYERS).bit_length())]

    def cover_more(best, move):
        colour, shift = move
        has = (offers.chips[:, colour] >= shift) & offers.valid
        less = jnp.where(has, codes - shift * offers.stride[colour], 0)
        return jnp.maximum(best, jnp.where(has[:, None], best[less], -jnp.inf)), None

    moves = np.array([(colour, shift) for colour in range(layout.colours) for shift in shifts])
    return jax.lax.scan(cover_more, best, (moves[:, 0], moves[:, 1]))[0]


def within_reach(layout: Layout, board: Board, offers: Offers) -> Bool[Array, "G N"]:
    """Whether the chips under a code pay for some walk from the start to a goal; False for padding."""
    return utilities(layout, board, offers, Scoring(goal=1.0, chip=0.0, step=0.0)) > 0.5


def gains(deal: Deal, role: int) -> Float[Array, "G N"]:
    """G[g, x] = U[g, x] - U[g, chips dealt]: what player `role` would gain, if its goal were g, by holding x."""
    return deal.utility - deal.utility[:, deal.offers.own[role]][:, None]
