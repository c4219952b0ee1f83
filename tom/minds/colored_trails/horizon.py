"""Negotiators who look two exchanges ahead, where de Weerd's take the other's counter-offer for an ultimatum.

A mind of order k foresees the other's reply to an offer x by its model of the other. If the reply is a counter-offer
r, the plain mind reckons with max(-C, G(flip r) - 2C): to withdraw or to accept. This one may also haggle: it imagines
that x was offered and r received, learns from both as it would from real moves (acceptance, location beliefs,
confidence), and makes the offer x' that the plain mind would then value most,

    V(x | r) = max(-C, G(flip r) - 2C, max over x' of V_k(x' | x, r) - 2C)

with V_k the plain values. That is expectimax to a depth of two exchanges: the expectation is over the other's goals
and its replies as the order k-1 model gives them, the maximum over the mind's own moves; the second exchange is
valued as the plain mind values its only one. All else is the plain mind's: its gate, its choice, its confidence, with
which this value is mixed with that of order k-1 (who looks one exchange ahead).
"""

from functools import cache
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from otherminds.games.colored_trails.rules import Action, Event, Rules
from otherminds.tom import order as construction
from otherminds.tom.minds.colored_trails.negotiator import Negotiator, Params
from otherminds.tom.minds.colored_trails.order import (
    RULES,
    as_negotiator,
    gain,
    ground,
    negotiator,
    offering,
    over_offers,
    replies,
    surplus_of_replies,
)
from otherminds.tom.minds.colored_trails.variant import DESCRIBED, Variant
from otherminds.tom.order import Construction


@cache
def horizon(order: int = 1, rules: Rules = RULES, variant: Variant = DESCRIBED) -> Negotiator:
    """The negotiator of order k >= 1 with a horizon of two exchanges; its params are `Params`.

    Its cost is that of some hundred decisions of the plain mind of order k.
    Raises: ValueError if order < 1.
    """
    if order < 1:
        raise ValueError(f"order={order}: to look ahead takes a model of the other, so the order is 1 or more")
    myopic = negotiator(variant, order, rules)
    made = Construction(ground(variant, rules), exclusive=False, trusting=not variant.confidence)

    def surplus(params: Params, belief: construction.Belief, gate: bool) -> Float[Array, " N"]:
        seat, level = belief.seat, belief.level
        other = construction.model_of(made, order, params, seat, level)
        gains = gain(seat)

        def of(x: Int[Array, ""]) -> Float[Array, ""]:
            after = myopic.update(params, belief, offering(seat, x))
            probable = replies(seat, other, x)
            at_once = surplus_of_replies(variant, rules, seat, gains, x)

            def haggled(r: Int[Array, ""]) -> Float[Array, ""]:
                counter = Event(jnp.bool_(True), 1 - seat.role, r.astype(jnp.int32), jnp.int32(Action.OFFER))
                best = myopic.values(params, myopic.update(params, after, counter)).max()
                return jnp.maximum(at_once[r], best - rules.cost)

            r = jnp.arange(probable.shape[0])
            counters = (probable > 0) & (r != seat.offers.flip[x]) & (r != seat.offers.own[1 - seat.role])
            worth = jnp.where(counters, over_offers(haggled, counters, False, gains.dtype), at_once)
            return probable @ worth

        wanted = (gains > 0) & seat.offers.valid if gate else seat.offers.valid
        foreseen = over_offers(of, wanted, False, gains.dtype)
        if level.confidence is None:
            return foreseen
        less_deep = construction.values_of(made, order - 1, params, seat, level.own)
        return (1 - level.confidence) * less_deep + level.confidence * foreseen

    choose: Any = made.ground.choose
    return as_negotiator(
        f"colored-trails-horizon{order}-{variant.name}",
        order,
        rules,
        myopic.init,
        myopic.update,
        lambda params, belief: surplus(params, belief, variant.gate),
        lambda params, belief: surplus(params, belief, False),
        choose,
        myopic.carry,
    )
