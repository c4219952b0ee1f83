"""What every negotiator is: a mind that can say what each offer is worth to it, and what it thinks the other wants."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from jaxtyping import Array, Float

from otherminds.tom.mind import Mind

HIGHEST_ORDER = 4


class Params(NamedTuple):
    """What a negotiator is made of; the defaults are those of the published agents."""

    learning_speed: Float[Array, ""] | float = 0.8  # lambda, 0 to 1; in the minds inside too
    confidence: Float[Array, " K"] | tuple[float, ...] = (1.0,) * HIGHEST_ORDER  # initial c_1, c_2, ..., 0 to 1
    lapse: Float[Array, ""] | float = 0.0  # probability of a uniformly random offer
    beta: Float[Array, ""] | float | None = None  # softmax of its own choice, per point; None: the best


@dataclass(frozen=True, kw_only=True)
class Negotiator(Mind):
    """A mind for Colored Trails. Its alternatives are all codes 0 to N - 1; its belief holds its seat.

    values(params, belief) -> [N] points: the expected value of every offer now; -inf for padding. An offer without
        gain is worth minus the cost where the mind's variant has that gate.
    appraise(params, belief) -> [N] points: of every move now, without the gate: the offer on the table has what
        accepting it brings, withdrawal at least 0; -inf for padding. What shadows of recorded games go by.
    goals(params, belief) -> [G] log-posterior over the other's goal; uniform for a mind that has none.
    """

    values: Callable[[Any, Any], Float[Array, " N"]]
    appraise: Callable[[Any, Any], Float[Array, " N"]]
    goals: Callable[[Any, Any], Float[Array, " G"]]
