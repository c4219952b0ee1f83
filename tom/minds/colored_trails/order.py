"""Negotiators of order k: de Weerd's agents, by the construction that the repeated games use (tom/order.py).

Inside, a value is kept as a surplus S = V + C, what an offer is worth above one that fails: S_0 = P (G + C) then has no
cancellation, and the location beliefs need ratios of surpluses, however small. In the text's terms, for an offer x
with gain G(x) and the other's reply r,

    S_k(x) = sum over goals l of b(l) sum over r of P(r | l, x) S(x, r)
    S(x, r) = G(x) if r accepts, w + C if r withdraws, max(0, G(flip r) - C) if r is a counter-offer

and 0 for an offer without gain. On receiving z (what the other would keep) the belief in goal l is multiplied by
max(0, S_l(z)) / max(C, max S_l), with S_l the values that the model of the other has for goal l.

Source: de Weerd, Verbrugge & Verheij (2017), Autonomous Agents and Multi-Agent Systems 31; readings in variant.py.
Deviations: ties are found in one pass, as offers within a tolerance of the best; the published loop compares with the
best so far, which differs only for chains of values that lie closer than the tolerance without being equal. And where
programs compute S as V + C, it is lost in rounding below about 1e-16 of a point: after some five repetitions of an
offer they find it impossible for every goal, and have all goals alike again.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from otherminds.games.colored_trails.offers import Offers
from otherminds.games.colored_trails.rules import Action, Event, Rules, View
from otherminds.games.protocol import NO_ANSWER
from otherminds.inference.logspace import log_normalize, scale
from otherminds.inference.scoring import with_lapse
from otherminds.tom import order as construction
from otherminds.tom.mind import from_policy
from otherminds.tom.minds.colored_trails import acceptance
from otherminds.tom.minds.colored_trails.acceptance import Acceptance
from otherminds.tom.minds.colored_trails.negotiator import Negotiator
from otherminds.tom.minds.colored_trails.types import Types, all_types
from otherminds.tom.minds.colored_trails.variant import DESCRIBED, Variant
from otherminds.tom.order import Construction, Ground, Other


class Seat(NamedTuple):
    """What a player knows for certain."""

    role: Int[Array, ""]
    goal: Int[Array, ""]  # its own
    offers: Offers
    utility: Float[Array, "G N"]
    table: Int[Array, ""]  # the last offer, as what its proposer would hold; NO_ANSWER: none
    proposer: Int[Array, ""]  # its role


def take_seat(rules: Rules, view: View) -> Seat:
    """The seat of a player before the first move.

    Raises: ValueError where the view is of another layout than the mind was made for.
    """
    wanted, given = (len(rules.layout.goals), rules.layout.most_offers), view.utility.shape[-2:]
    if given != wanted:
        raise ValueError(
            f"a view of {given[0]} goals and {given[1]} offers for a mind made for {wanted[0]} and {wanted[1]}: "
            "make the mind with the rules of the game"
        )
    role = jnp.asarray(view.role, jnp.int32)
    none = jnp.full_like(role, NO_ANSWER)
    return Seat(role, jnp.asarray(view.goal, jnp.int32), view.offers, view.utility, none, none)


def see(seat: Seat, event: Event) -> Seat:
    """The seat after a move, which puts another offer on the table or none."""
    offered = (event.action == Action.OFFER) & (event.kept >= 0)
    table = jnp.where(offered, event.kept, NO_ANSWER).astype(seat.table.dtype)
    return seat._replace(
        table=jnp.where(event.valid, table, seat.table),
        proposer=jnp.where(event.valid, event.actor, seat.proposer).astype(seat.proposer.dtype),
    )


def imagine(seat: Seat, hypothesis: Int[Array, ""] | None) -> Seat:
    """The other's seat, if its goal is the hypothesis; None: any goal, for what does not depend on it."""
    goal = jnp.zeros_like(seat.goal) if hypothesis is None else jnp.asarray(hypothesis, seat.goal.dtype)
    return seat._replace(role=1 - seat.role, goal=goal)


def incoming(seat: Seat) -> Int[Array, ""]:
    """The offer that the player of this seat could accept, as what it would hold; NO_ANSWER where there is none."""
    theirs = (seat.table >= 0) & (seat.proposer != seat.role)
    return jnp.where(theirs, seat.offers.flip[jnp.maximum(seat.table, 0)], NO_ANSWER)


def gain(seat: Seat) -> Float[Array, " N"]:
    """G(x) = U(x) - U(own chips) for the seat's goal: points."""
    worth = seat.utility[seat.goal]
    return worth - worth[seat.offers.own[seat.role]]


def offering(seat: Seat, x: Int[Array, ""]) -> Event:
    """The event that the player of this seat offers to hold x."""
    return Event(jnp.bool_(True), seat.role, jnp.asarray(x, jnp.int32), jnp.int32(Action.OFFER))


def replies(seat: Seat, other: Other, x: Int[Array, ""]) -> Float[Array, " N"]:
    """P(r | x) = sum over l of b(l) P(r | l, x): the other's reply to an offer x, as what the other would hold.

    Plain probabilities: they are averaged, never multiplied.
    """
    event = offering(seat, x)
    log_policies = jax.vmap(lambda goal: other.policy(goal, event))(jnp.arange(seat.utility.shape[0]))
    return jnp.exp(other.log_hypotheses) @ jnp.exp(log_policies)


def surplus_of_replies(
    variant: Variant, rules: Rules, seat: Seat, gains: Float[Array, " N"], x: Int[Array, ""]
) -> Float[Array, " N"]:
    """S(x, r) for every reply r: points above what a failed offer is worth."""
    offers = seat.offers
    counter = jnp.maximum(gains[offers.flip] - rules.cost, 0.0)
    withdrawn = rules.cost if variant.withdrawal == "zero" else 0.0
    r = jnp.arange(gains.shape[0])
    ends = jnp.where(r == offers.own[1 - seat.role], withdrawn, counter)
    return jnp.where(r == offers.flip[x], gains[x], ends)


def over_offers(
    of: Callable[[Array], Float[Array, ""]], wanted: Array, at_once: bool, dtype: Any
) -> Float[Array, " N"]:
    """[of(x) for every code x], 0 where it is not wanted; at once, or one after the other to bound the memory."""
    codes = jnp.arange(wanted.shape[0])
    if at_once:
        return jnp.where(wanted, jax.vmap(of)(codes), 0.0)
    return jax.lax.map(lambda one: jax.lax.cond(one[1], of, lambda x: jnp.zeros((), dtype), one[0]), (codes, wanted))


def ground(variant: Variant, rules: Rules, gate: bool = True) -> Ground:
    """What the order-k construction knows of Colored Trails. Its values are surpluses, V + C.

    gate: whether offers without gain have a surplus of 0, whatever would become of them.
    """
    cost = rules.cost

    def begin(params: Any, memory: Acceptance | None, seat: Seat, depth: int) -> Acceptance:
        del params, depth
        return acceptance.begin(variant, rules.layout, seat.offers, seat.role, memory, seat.utility.dtype)

    def learn(params: Any, seat: Seat, belief: Acceptance, event: Event) -> Acceptance:
        return acceptance.learn(variant, seat.offers, seat.role, params.learning_speed, belief, event)

    def values(params: Any, seat: Seat, belief: Acceptance) -> Float[Array, " N"]:
        accepted, gains = jnp.exp(acceptance.log_acceptance(belief, params.learning_speed)), gain(seat)
        surplus = accepted * (gains + cost) if variant.order0 == "gain" else accepted * seat.utility[seat.goal] + cost
        return jnp.where((gains > 0) & seat.offers.valid, surplus, 0.0) if gate else surplus

    def anticipate(params: Any, seat: Seat, other: Other) -> Float[Array, " N"]:
        gains = gain(seat)

        def of(x: Int[Array, ""]) -> Float[Array, ""]:
            return replies(seat, other, x) @ surplus_of_replies(variant, rules, seat, gains, x)

        open_to = (gains > 0) & seat.offers.valid if gate else seat.offers.valid
        # Inside a model all goals of its owner are asked for at once and share the replies, which know nothing of the
        # goal: what is left out there must not depend on the goal either.
        wanted = open_to if other.depth == 1 or not gate else _gainful(seat) & seat.offers.valid
        found = over_offers(of, wanted, other.order == 0, gains.dtype)
        return jnp.where(open_to, found, 0.0)

    def foresee(params: Any, seat: Seat, event: Event, other: Other) -> tuple[Float[Array, " G"], Array]:
        kept = jnp.maximum(event.kept, 0)

        def log_share(goal: Int[Array, ""]) -> Float[Array, ""]:
            place, level = other.holds(goal)
            if other.order == 0 and variant.order0 == "gain":
                # In logs, as acceptance after a long game is below the smallest number of the precision.
                gains = gain(place)
                open_to = (gains > 0) & seat.offers.valid
                log_worth = jnp.log(jnp.where(open_to, gains + cost, 1.0))
                log_surplus = log_worth + acceptance.log_acceptance(level, params.learning_speed)
                log_surplus = jnp.where(open_to, log_surplus, -jnp.inf)
            else:
                surplus = other.values(goal)
                log_surplus = jnp.where(gain(place) > 0, jnp.log(jnp.maximum(surplus, 0.0)), -jnp.inf)
            best = jnp.maximum(log_surplus.max(), jnp.log(jnp.asarray(cost, log_surplus.dtype)))
            possible = log_surplus[kept] > -jnp.inf
            return jnp.where(possible, log_surplus[kept] - jnp.where(possible, best, 0.0), -jnp.inf)

        evidence = event.valid & (event.actor != seat.role) & (event.action == Action.OFFER) & (event.kept >= 0)
        return jax.vmap(log_share)(jnp.arange(seat.utility.shape[0])), evidence

    def choose(params: Any, seat: Seat, surplus: Float[Array, " N"], depth: int, order: int) -> Float[Array, " N"]:
        if depth == 0 and params.beta is not None:
            return soft_choice(seat, surplus - cost, params.beta)
        return best_choice(variant, seat, surplus - cost)

    return Ground(
        name="colored-trails",
        seat=lambda view: take_seat(rules, view),
        see=see,
        imagine=imagine,
        log_hypotheses=log_prior,
        begin=begin,
        learn=learn,
        values=values,
        anticipate=anticipate,
        foresee=foresee,
        choose=choose,
    )


def log_prior(seat: Seat) -> Float[Array, " G"]:
    """Every goal alike, the own one too."""
    return log_normalize(jnp.zeros(seat.utility.shape[0], seat.utility.dtype))


def _gainful(seat: Seat) -> Array:
    """[N] whether holding x would be a gain to the player of this seat for any goal at all."""
    return (seat.utility > seat.utility[:, seat.offers.own[seat.role]][:, None]).any(0)


def best_choice(variant: Variant, seat: Seat, values: Float[Array, " N"]) -> Float[Array, " N"]:
    """log-policy of taking the best: accept where that is as good as any offer, withdraw where nothing is above 0.

    values: points. Those within the variant's tolerance of the best tie.
    Returns: [N], normalised: one move, or several alike where the variant shares ties.
    """
    offers = seat.offers
    tolerance = variant.tolerance if values.dtype == jnp.float64 else max(variant.tolerance, 2e-5)
    values = jnp.where(offers.valid, values, -jnp.inf)
    best = values.max()
    y = incoming(seat)
    accepting = jnp.where(y >= 0, gain(seat)[jnp.maximum(y, 0)], -jnp.inf)
    accepts = (accepting > best - tolerance) & (accepting >= tolerance)
    withdraws = ~accepts & (best < tolerance)
    near = values > best - tolerance
    single = jnp.where(accepts, y, jnp.where(withdraws, offers.own[seat.role], jnp.argmax(near)))
    chosen = jnp.arange(values.shape[0]) == single
    if variant.ties == "all":
        chosen = jnp.where(accepts | withdraws, chosen, near)
        return log_normalize(jnp.where(chosen, 0.0, -jnp.inf).astype(values.dtype))
    return jnp.where(chosen, 0.0, -jnp.inf).astype(values.dtype)


def with_endings(
    seat: Seat, values: Float[Array, " N"], withdrawal: Float[Array, ""] | float = 0.0
) -> Float[Array, " N"]:
    """The value of every move: accepting the offer on the table brings its gain, withdrawing `withdrawal`.

    values: [N] points, of the offers.   Returns: [N] points; -inf for padding.
    """
    codes = jnp.arange(values.shape[0])
    values = jnp.where(codes == seat.offers.own[seat.role], withdrawal, values)
    values = jnp.where(codes == incoming(seat), gain(seat), values)
    return jnp.where(seat.offers.valid, values, -jnp.inf)


def soft_choice(seat: Seat, values: Float[Array, " N"], beta: Float[Array, ""] | float) -> Float[Array, " N"]:
    """log-policy proportional to beta (value of the move), endings included. beta: per point, 0 or more."""
    return log_normalize(scale(beta, with_endings(seat, values)), where=seat.offers.valid)


def taught(variant: Variant, seat: Seat, event: Event) -> Event:
    """The event as the mind learns from it: an accepting or withdrawing move as an offer, where the variant says so."""
    if variant.endings == "none":
        return event
    ends = (event.action != Action.OFFER) & (event.kept >= 0)
    if variant.endings == "both":
        return event._replace(action=jnp.where(ends, Action.OFFER, event.action))
    own = event.actor == seat.role
    # What the other does to end the game is not heard of at all.
    return event._replace(valid=event.valid & ~(ends & ~own), action=jnp.where(ends & own, Action.OFFER, event.action))


def leaked(variant: Variant, belief: construction.Belief, event: Event) -> construction.Belief:
    """The belief of an order-1 mind with what its search for the move in `event` has left in the types inside it.

    Before it moves, the mind lets the other in its mind receive every offer that would be a gain; the published
    programs take all of that back but the counts of types.
    """
    seat, inside = belief.seat, belief.level.other
    searched = (gain(seat) > 0) & seat.offers.valid & event.valid & (event.actor == seat.role)
    given, received = all_types(variant, seat.offers, 1 - seat.role)
    kind = given[seat.offers.flip], received[seat.offers.flip]  # of what the other would hold
    more = searched.astype(inside.types.seen.dtype)
    types = Types(inside.types.taken.at[kind].add(more), inside.types.seen.at[kind].add(more))
    return belief._replace(level=belief.level._replace(other=inside._replace(types=types)))


RULES = Rules()


@cache
def negotiator(variant: Variant = DESCRIBED, order: int = 1, rules: Rules = RULES) -> Negotiator:
    """The negotiator of order k.

    Its params are `Params`; its memory (see `carry`) the belief at the end of an earlier game, of which type beliefs
    and confidences last. Its readout: "log_goal" [G], "values" [N] in points, and "confidence" [k], c_1 to c_k.
    Raises: ValueError if order < 0, and for a variant with the leak at another order than 0 and 1.
    """
    if variant.leak and (order > 1 or variant.type_rule != "count"):
        raise ValueError(f"leak=True at order {order}: made for orders 0 and 1 of variants that count types")
    inside = ground(variant, rules)
    outermost = inside if variant.gate else ground(variant, rules, gate=False)
    made = Construction(inside, exclusive=False, trusting=not variant.confidence)
    base = construction.order_k(made, order)

    def update(params: Any, belief: construction.Belief, event: Event) -> construction.Belief:
        if variant.leak and order:
            belief = leaked(variant, belief, event)
        return base.update(params, belief, taught(variant, belief.seat, event))

    def surplus(params: Any, belief: construction.Belief, outer: Ground) -> Float[Array, " N"]:
        return construction.values_of(made, order, params, belief.seat, belief.level, outermost=outer)

    return as_negotiator(
        f"{base.name}-{variant.name}",
        order,
        rules,
        base.init,
        update,
        lambda params, belief: surplus(params, belief, outermost),
        lambda params, belief: surplus(params, belief, ground(variant, rules, gate=False)),
        inside.choose,
        base.carry,
    )


def as_negotiator(
    name: str,
    order: int,
    rules: Rules,
    init: Callable[..., Any],
    update: Callable[..., Any],
    surplus: Callable[[Any, Any], Float[Array, " N"]],
    every_surplus: Callable[[Any, Any], Float[Array, " N"]],
    choose: Callable[..., Array],
    carry: Callable[..., Any],
) -> Negotiator:
    """A negotiator from what moves are worth above a failed offer, with and without the gate, and how it chooses."""

    def policy(params: Any, belief: construction.Belief) -> Float[Array, " N"]:
        seat = belief.seat
        return with_lapse(choose(params, seat, surplus(params, belief), 0, order), params.lapse, seat.offers.valid)

    def values(params: Any, belief: construction.Belief) -> Float[Array, " N"]:
        return jnp.where(belief.seat.offers.valid, surplus(params, belief) - rules.cost, -jnp.inf)

    def appraise(params: Any, belief: construction.Belief) -> Float[Array, " N"]:
        values = every_surplus(params, belief) - rules.cost
        own = belief.seat.offers.own[belief.seat.role]
        return with_endings(belief.seat, values, jnp.maximum(values[own], 0.0))

    def goals(params: Any, belief: construction.Belief) -> Float[Array, " G"]:
        del params
        return belief.level.log_hypotheses if order else log_prior(belief.seat)

    def readout(params: Any, belief: construction.Belief, observation: Any) -> dict[str, Array]:
        del observation
        return {
            "log_goal": goals(params, belief),
            "values": values(params, belief),
            "confidence": confidences(belief, order),
        }

    mind = from_policy(name, init, update, policy, readout, carry)
    return Negotiator(**vars(mind), values=values, appraise=appraise, goals=goals)


def confidences(belief: construction.Belief, order: int) -> Float[Array, " K"]:
    """c_1 to c_k, the confidence in the model of the other at each order; 1 where it is not learned."""
    level, found = belief.level, []
    for _ in range(order):
        if level.confidence is None:
            found += [jnp.ones((), belief.seat.utility.dtype)] * (order - len(found))
            break
        found.append(level.confidence)
        level = level.own
    return jnp.stack(found[::-1]) if found else jnp.zeros(0, belief.seat.utility.dtype)
