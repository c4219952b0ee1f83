"""Negotiators with a proper posterior over the other's goal, beside de Weerd's soft update.

A Bayesian of order k takes the other for a noisy one of order k-1, who makes a move r with probability

    P(r | l) proportional to exp(rationality V(r)),   V(r): the value of r to an order k-1 mind whose goal is l

over all moves: every offer, accepting (its gain) and withdrawing (0). Whatever the other does multiplies the belief in
l by P(r | l); an own offer is worth what it brings under the posterior and the noisy replies. There is no confidence
to learn and no gate: an offer without gain is worth what comes of it. At order 0 it values offers by their acceptance,
as all negotiators of order 0 do; without a model of the other there is nothing to be Bayesian about.
"""

from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from otherminds.games.colored_trails.rules import Event, Rules
from otherminds.tom import order as construction
from otherminds.tom.minds.colored_trails.negotiator import HIGHEST_ORDER, Negotiator
from otherminds.tom.minds.colored_trails.order import (
    RULES,
    Seat,
    as_negotiator,
    best_choice,
    ground,
    soft_choice,
    taught,
)
from otherminds.tom.minds.colored_trails.variant import DESCRIBED, Variant
from otherminds.tom.order import Construction, Ground, Other


class BayesianParams(NamedTuple):
    """What a Bayesian negotiator is made of."""

    learning_speed: Float[Array, ""] | float = 0.8  # of the acceptance beliefs, 0 to 1
    confidence: Float[Array, " K"] | tuple[float, ...] = (1.0,) * HIGHEST_ORDER  # never learned: not used
    lapse: Float[Array, ""] | float = 0.0  # probability of a uniformly random offer
    beta: Float[Array, ""] | float | None = None  # softmax of its own choice, per point; None: the best
    rationality: Float[Array, ""] | float = 0.2  # softmax of the others in its mind, per point


def bayesian_ground(variant: Variant, rules: Rules) -> Ground:
    """What the order-k construction knows of Colored Trails, where moves are evidence in the sense of probability."""

    def foresee(params: BayesianParams, seat: Seat, event: Event, other: Other) -> tuple[Float[Array, " G"], Array]:
        """log P(move | goal); every move that was made is evidence, also one that ends the game."""
        kept = jnp.maximum(event.kept, 0)
        log_likelihood = jax.vmap(lambda goal: other.policy(goal)[kept])(jnp.arange(seat.utility.shape[0]))
        return log_likelihood, event.valid & (event.actor != seat.role) & (event.kept >= 0)

    def choose(
        params: BayesianParams, seat: Seat, surplus: Float[Array, " N"], depth: int, order: int
    ) -> Float[Array, " N"]:
        values = surplus - rules.cost
        if depth:
            return soft_choice(seat, values, params.rationality)
        return best_choice(variant, seat, values) if params.beta is None else soft_choice(seat, values, params.beta)

    return replace(ground(variant, rules, gate=False), name="colored-trails-bayesian", foresee=foresee, choose=choose)


@cache
def bayesian(order: int = 1, rules: Rules = RULES, variant: Variant = DESCRIBED) -> Negotiator:
    """The Bayesian negotiator of order k >= 1; its params are `BayesianParams`.

    variant: how acceptance is learned at order 0, and what ties do; its gate and its confidence play no part.
    Raises: ValueError if order < 1.
    """
    if order < 1:
        raise ValueError(f"order={order}: a Bayesian models the other, so its order is 1 or more")
    made = Construction(bayesian_ground(variant, rules), exclusive=False, trusting=True)
    base = construction.order_k(made, order)

    def update(params: BayesianParams, belief: construction.Belief, event: Event) -> construction.Belief:
        return base.update(params, belief, taught(variant, belief.seat, event))

    def surplus(params: BayesianParams, belief: construction.Belief) -> Float[Array, " N"]:
        return construction.values_of(made, order, params, belief.seat, belief.level)

    choose: Any = made.ground.choose
    return as_negotiator(base.name, order, rules, base.init, update, surplus, surplus, choose, base.carry)
