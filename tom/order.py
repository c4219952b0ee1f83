"""Order-k minds: each models the other as an order k-1 mind, and trusts that model as far as it has foretold.

A mind of order k >= 1 holds a mind of order k-1 of the other (`Level.other`) and one of itself (`Level.own`): what it
would think if it reasoned less deeply. With confidence c in the model of the other it values an action

    V_k(a) = (1 - c_k) V_{k-1}(a) + c_k W_k(a),   W_k(a): the value of a if the other does what its model says.

After every move of the other, c_k <- (1 - lambda) c_k + lambda q_k, where q_k in [0, 1] is how well the model foresaw
the move. What the other privately knows is one of H hypotheses (one, where nothing is hidden), weighed by the same q.

Source: de Weerd, Verbrugge & Verheij (2013), Artificial Intelligence 199-200; de Weerd, Verbrugge & Verheij (2017),
Autonomous Agents and Multi-Agent Systems 31, for games with hypotheses. Deviation: values are mixed, not beliefs;
expected values are linear in a belief, so that in matrix games it is the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from otherminds.inference.logspace import log_normalize
from otherminds.inference.scoring import with_lapse
from otherminds.tom.mind import Mind, from_policy


class Other(NamedTuple):
    """The model of the other, as functions of what it may privately know (a hypothesis) and may have just seen.

    hypothesis: an index into the H hypotheses, also traced; None in a game that has one.
    event: an event that has not happened, which the other would see before it chooses; None: it chooses now.
    """

    values: Callable[..., Float[Array, " B"]]  # (hypothesis=None, event=None) -> [B], of the other's actions
    policy: Callable[..., Float[Array, " B"]]  # the same -> [B], log-probabilities, normalised
    holds: Callable[..., Any]  # the same -> (seat, belief of order `order`), from which both are read
    log_hypotheses: Float[Array, " H"]  # normalised
    order: int  # of the model: one less than that of the mind that holds it
    depth: int  # of the model, 1 or more; see `Ground`


@dataclass(frozen=True)
class Ground:
    """What the construction has to know of a game: its order-0 player, and what one player knows of the other.

    A `seat` is what a player knows for certain: its role, its payoffs or goal, what lies on the table; a pytree of the
    game's own. `depth` counts the "you" in "I think that you think": 0 for the mind itself, 1 for its model of the
    other, 2 for the other's model of it. An `event` names its actor, so that every seat reads it in its own way.

    A matrix game has one hypothesis; `anticipate` is payoff @ exp(other.policy()), `foresee` is the probability that
    the model gave to the other's move, and both move at once, so that no event is ever imagined.

    Colored Trails: seat = (role, goal, utilities, offer on the table), the beliefs of order 0 are the acceptance of
    each offer, and the hypotheses are the goal cells; `imagine` puts one in the other's seat. `anticipate` gives every
    own offer x the sum over l of exp(other.log_hypotheses[l]) times what x ends in, read from other.policy(l, the
    event of offering x): accepted, withdrawn or countered. `foresee` of an offer received is how close it comes, for
    each goal l, to the best of other.values(l); an own offer is no evidence. `choose` gives the best offers, the
    offer on the table and withdrawal their place.
    """

    name: str
    seat: Callable[..., Any]  # (view) -> seat
    see: Callable[..., Any]  # (seat, event) -> seat: what an event changes for certain
    imagine: Callable[..., Any]  # (seat, hypothesis) -> the other's seat; None: only what both know
    log_hypotheses: Callable[..., Array]  # (seat) -> [H] prior, normalised
    begin: Callable[..., Any]  # (params, memory, seat, depth) -> order-0 belief
    learn: Callable[..., Any]  # (params, seat, belief, event) -> order-0 belief
    values: Callable[..., Array]  # (params, seat, belief) -> [A] values of the actions at order 0
    anticipate: Callable[..., Array]  # (params, seat, other: Other) -> [A] W: values if the other does as its model
    foresee: Callable[..., Any]  # (params, seat, event, other: Other) -> ([H] log q, q in [0, 1], whether evidence)
    choose: Callable[..., Array]  # (params, seat, values, depth, order) -> [A] log-policy, normalised


@dataclass(frozen=True)
class Construction:
    """How order-k minds of a game are made.

    exclusive: c_k is kept, not raised, where an order from 1 to k-1 foresaw the move as well; False: the simple rule.
    frozen: the minds inside a model of the other have confidence 1, so that they need no minds of themselves: order
        k has k + 1 order-0 beliefs. False: they learn their confidence as this mind does, with 2^k order-0 beliefs.
    trusting: the mind itself has confidence 1 for ever as well.
    """

    ground: Ground
    exclusive: bool = True
    frozen: bool = True
    trusting: bool = False


class Level(NamedTuple):
    """The belief of a mind of order k >= 1. `own` and `confidence` are None where the confidence is 1 for ever."""

    own: Any  # belief of order k-1, as if it were its own
    other: Any  # belief of order k-1 that it thinks the other holds
    log_hypotheses: Float[Array, " H"]  # normalised
    confidence: Float[Array, ""] | None


class Belief(NamedTuple):
    """What an order-k mind knows and believes; at order 0 `level` is the game's order-0 belief."""

    seat: Any
    level: Any


def order_k(made: Construction, order: int) -> Mind:
    """The order-k mind of a game. Order is unrolled: the program grows with it.

    Its params are the game's own with the fields `learning_speed` (lambda, 0 to 1), `confidence` ([order], the initial
    c_1 to c_k, 0 to 1) and `lapse`; the same params serve in every model inside, without the lapse. A memory is the
    `Level` of an earlier game: confidences last, hypotheses do not, and `ground.begin` says what else does.
    Where no hypothesis allows what the other did, q is 0 and the hypotheses have their prior again.
    Raises: ValueError if order < 0.
    """
    if order < 0:
        raise ValueError(f"order={order}: 0 models no mind, 1 models a mind of order 0, and so on")
    ground = made.ground

    def init(params: Any, memory: Any, view: Any) -> Belief:
        seat = ground.seat(view)
        return Belief(seat, _begin(made, order, params, memory, seat, 0, not made.trusting))

    def update(params: Any, belief: Belief, event: Any) -> Belief:
        level, _ = _learn(made, order, params, belief.seat, belief.level, event, 0)
        return Belief(ground.see(belief.seat, event), level)

    def policy(params: Any, belief: Belief) -> Float[Array, " A"]:
        values = values_of(made, order, params, belief.seat, belief.level)
        return with_lapse(ground.choose(params, belief.seat, values, 0, order), params.lapse)

    def carry(params: Any, belief: Belief) -> Any:
        del params
        return belief.level

    return from_policy(f"{ground.name}-order{order}", init, update, policy, carry=carry)


def values_of(
    made: Construction,
    order: int,
    params: Any,
    seat: Any,
    level: Any,
    depth: int = 0,
    outermost: Ground | None = None,
) -> Float[Array, " A"]:
    """V_order of a belief: [A], the values of the actions, in the game's points.

    outermost: whose `values` and `anticipate` the mind itself goes by, where they are not those of the minds inside.
    """
    ground = outermost or made.ground
    if order == 0:
        return ground.values(params, seat, level)
    modelled = ground.anticipate(params, seat, model_of(made, order, params, seat, level, depth))
    if level.confidence is None:
        return modelled
    less_deep = values_of(made, order - 1, params, seat, level.own, depth)
    return (1 - level.confidence) * less_deep + level.confidence * modelled


def model_of(made: Construction, order: int, params: Any, seat: Any, level: Level, depth: int = 0) -> Other:
    """The model of the other, of order k-1, that is in a belief of order k >= 1."""
    ground = made.ground

    def holds(hypothesis: Any = None, event: Any = None) -> tuple[Any, Any]:
        place, belief = ground.imagine(seat, hypothesis), level.other
        if event is None:
            return place, belief
        return ground.see(place, event), _learn(made, order - 1, params, place, belief, event, depth + 1)[0]

    def values(hypothesis: Any = None, event: Any = None) -> Float[Array, " B"]:
        place, belief = holds(hypothesis, event)
        return values_of(made, order - 1, params, place, belief, depth + 1)

    def policy(hypothesis: Any = None, event: Any = None) -> Float[Array, " B"]:
        place, belief = holds(hypothesis, event)
        found = values_of(made, order - 1, params, place, belief, depth + 1)
        return ground.choose(params, place, found, depth + 1, order - 1)

    return Other(values, policy, holds, level.log_hypotheses, order - 1, depth + 1)


def _begin(made: Construction, order: int, params: Any, memory: Any, seat: Any, depth: int, free: bool) -> Any:
    """free: its confidences are learned, so it needs a mind of its own of one order less."""
    ground = made.ground
    if order == 0:
        return ground.begin(params, memory, seat, depth)
    own_memory, other_memory = (None, None) if memory is None else (memory.own, memory.other)
    confidence = None
    if free:
        confidence = jnp.asarray(params.confidence[order - 1] if memory is None else memory.confidence)
        confidence = confidence.astype(jnp.result_type(float, confidence))  # a number becomes an array like any other
    return Level(
        _begin(made, order - 1, params, own_memory, seat, depth, True) if free else None,
        _begin(made, order - 1, params, other_memory, ground.imagine(seat, None), depth + 1, free and not made.frozen),
        ground.log_hypotheses(seat),
        confidence,
    )


def _learn(
    made: Construction, order: int, params: Any, seat: Any, level: Any, event: Any, depth: int
) -> tuple[Any, Any]:
    """The belief after an event, and the best q of the orders from 1 to `order`, 0 where there are none."""
    ground = made.ground
    if order == 0:
        return ground.learn(params, seat, level, event), 0.0
    # What the models foresaw is asked of them before any of them learns from the event.
    log_hypotheses, confidence, own, credit = level.log_hypotheses, level.confidence, level.own, 0.0
    if confidence is not None or log_hypotheses.shape[0] > 1:
        log_q, evidence = ground.foresee(params, seat, event, model_of(made, order, params, seat, level, depth))
        log_weighed = log_hypotheses + log_q
        accuracy = jnp.exp(log_weighed).sum()
        if log_hypotheses.shape[0] > 1:
            possible = (log_weighed > -jnp.inf).any()
            posterior = jnp.where(possible, log_normalize(log_weighed), ground.log_hypotheses(seat))
            log_hypotheses = jnp.where(evidence, posterior, log_hypotheses)
        if confidence is not None:
            own, lower = _learn(made, order - 1, params, seat, level.own, event, depth)
            raised = (1 - params.learning_speed) * confidence + params.learning_speed * accuracy
            kept = made.exclusive & (accuracy > 0) & (lower >= accuracy)
            confidence = jnp.where(evidence & ~kept, raised, confidence)
            credit = jnp.maximum(lower, accuracy)
    other, _ = _learn(made, order - 1, params, ground.imagine(seat, None), level.other, event, depth + 1)
    return Level(own, other, log_hypotheses, confidence), credit
