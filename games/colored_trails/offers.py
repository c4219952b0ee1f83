"""All ways to divide the players' chips, as numbers.

An offer is what its reader would hold: the code of x is sum_c x_c stride_c, a number in mixed radix with radix T_c + 1,
where T is the pool (the chips of both players), colour 0 counting least. N is `Layout.most_offers`; codes from
prod (T_c + 1) on are padding.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from otherminds.games.colored_trails.board import Board, Layout


class Offers(NamedTuple):
    """The N divisions of a pool of chips."""

    pool: Int[Array, "*batch K"]  # T, the chips of both players
    stride: Int[Array, "*batch K"]
    chips: Int[Array, "*batch N K"]  # what is held under each code; 0 for padding
    valid: Bool[Array, "*batch N"]  # False for padding
    flip: Int[Array, "*batch N"]  # code of what the other then holds; padding maps to itself
    own: Int[Array, "*batch 2"]  # code of the chips that each player was dealt: keeping them is to withdraw


def offers(layout: Layout, board: Board) -> Offers:
    """The offers of one board."""
    pool = jnp.sum(board.chips, 0)
    radix = pool + 1
    stride = jnp.concatenate([jnp.ones(1, radix.dtype), jnp.cumprod(radix)[:-1]])
    codes = jnp.arange(layout.most_offers)
    count = jnp.prod(radix)
    valid = codes < count
    chips = jnp.where(valid[:, None], codes[:, None] // stride % radix, 0)
    # The code is linear in the chips, so that code(T - x) = code(T) - code(x), and code(T) is the last one.
    flip = jnp.where(valid, count - 1 - codes, codes)
    return Offers(pool, stride, chips, valid, flip, board.chips @ stride)


def code_of(offers: Offers, chips: Int[Array, "*batch K"]) -> Int[Array, "*batch"]:
    """The code of holding `chips` (which are in the pool)."""
    return chips @ offers.stride
