"""Which type an offer is of, and how often each type was taken: what lasts from game to game.

The type of holding x is (chips given away, chips received) against a reference: sum_c max(ref_c - x_c, 0) and
sum_c max(x_c - ref_c, 0). The pretrained counts are those that the two published programs start from.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from otherminds.games.colored_trails.board import Layout
from otherminds.games.colored_trails.offers import Offers
from otherminds.tom.minds.colored_trails.variant import Variant

INITIATOR = (
    ((15, 22, 5, 5, 5), (31, 13, 18, 5, 5), (13, 25, 10, 18, 5), (19, 13, 20, 8, 5), (25, 18, 13, 9, 5)),
    ((36, 62, 16, 22, 30), (69, 45, 50, 16, 22), (13, 57, 60, 49, 16), (19, 13, 31, 31, 6), (25, 18, 13, 9, 7)),
)
RESPONDER = (
    ((20, 38, 5, 5, 5), (35, 12, 36, 5, 5), (16, 28, 7, 16, 5), (22, 16, 28, 6, 5), (30, 22, 16, 6, 5)),
    ((35, 80, 13, 19, 25), (54, 25, 76, 13, 18), (16, 49, 15, 33, 13), (22, 16, 41, 12, 9), (30, 22, 16, 6, 5)),
)
LLM_TOM_COUNTS = np.array([RESPONDER, INITIATOR], float)
"""[role of the agent, (taken, all), given, received]. An agent has the table named after the other's role, as there."""

_TAKEN = ((5, 5, 5, 5, 5), (14, 248, 407, 5, 5), (26, 316, 196, 129, 5), (28, 19, 194, 62, 24), (26, 27, 18, 19, 10))
_ALL = (
    (226, 25, 27, 34, 45),
    (14, 495, 912, 26, 34),
    (26, 566, 392, 289, 23),
    (28, 19, 345, 122, 55),
    (26, 27, 18, 32, 17),
)
DE_WEERD_COUNTS = np.full((2, 2, 9, 9), 5.0)
"""[role of the agent, (taken, all), given, received], for both roles alike; 5 of 5 where more than 4 chips change."""
DE_WEERD_COUNTS[:, :, :5, :5] = (_TAKEN, _ALL)

TABLES = {"llm-tom": LLM_TOM_COUNTS, "deweerd": DE_WEERD_COUNTS}


class Types(NamedTuple):
    """Of each type [given, received]: how much of it was taken, out of how much. Their ratio is the type belief."""

    taken: Float[Array, "M M"]
    seen: Float[Array, "M M"]  # all 1 under the type rule "rate"


def initial(variant: Variant, layout: Layout, role: Int[Array, ""], dtype: Any) -> Types:
    """The type beliefs of an agent that has not played yet.

    Raises: ValueError where more chips can change hands than the variant's tables have counts for.
    """
    sides = layout.chips + 1
    if variant.type_tables == "ones":
        return Types(jnp.ones((sides, sides), dtype), jnp.ones((sides, sides), dtype))
    counts = TABLES[variant.type_tables]
    most = counts.shape[-1] - 1
    if layout.chips > most:
        raise ValueError(
            f"chips={layout.chips}: the {variant.type_tables} type beliefs know offers of at most {most} chips; "
            'take a variant with type_tables="ones"'
        )
    taken, seen = jnp.asarray(counts[:, :, :sides, :sides], dtype)[role]
    return Types(taken, seen)


def type_of(variant: Variant, offers: Offers, role: Int[Array, ""], x: Int[Array, ""]) -> tuple[Array, Array]:
    """(given, received) of holding x, counted against the chips of the agent or, in one variant, of the other."""
    reference = role if variant.type_reference == "own" else 1 - role
    more = offers.chips[x] - offers.chips[offers.own[reference]]
    return jnp.maximum(-more, 0).sum(), jnp.maximum(more, 0).sum()


def all_types(variant: Variant, offers: Offers, role: Int[Array, ""]) -> tuple[Int[Array, " N"], Int[Array, " N"]]:
    """(given, received) of every code; (given all, received none) for padding."""
    reference = role if variant.type_reference == "own" else 1 - role
    more = offers.chips - offers.chips[offers.own[reference]]
    return jnp.maximum(-more, 0).sum(-1), jnp.maximum(more, 0).sum(-1)


def counted(variant: Variant, types: Types, learning_speed: Array | float, kind: tuple, taken: bool) -> Types:
    """Type beliefs after an offer of type `kind` was taken or was not."""
    given, received = kind
    if variant.type_rule == "rate":
        faded = (1 - learning_speed) * types.taken[given, received] + learning_speed * taken
        return Types(types.taken.at[given, received].set(faded), types.seen)
    seen = types.seen.at[given, received].add(1.0)
    return Types(types.taken.at[given, received].add(float(taken)), seen)
