"""Order-k minds for any two-player matrix game: fading frequencies, best responses, and models of the other's mind.

At order 0 a mind believes that the other's next move follows b^(0), frequencies that fade: after a move s,
b <- (1 - lambda) b + lambda [s]. Order k has b^(0) to b^(k): those of even depth are of the other's moves, those of odd
depth of one's own, as the other is thought to see them. Probabilities stay plain numbers here, not logs: they are
mixed, never multiplied.

Source: de Weerd, Verbrugge & Verheij (2013), Artificial Intelligence 199-200, 67-92.
"""

from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from otherminds.games.matrix.rules import Event, View
from otherminds.inference.logspace import log_normalize
from otherminds.tom import order as construction
from otherminds.tom.mind import Mind
from otherminds.tom.order import Construction, Ground, Other


class Params(NamedTuple):
    """What an order-k mind is made of. O: its own moves, P: the other's."""

    learning_speed: Float[Array, ""]  # lambda, 0 to 1; in the models of the other too
    beliefs: tuple[Float[Array, " _"], ...]  # initial b^(0) to b^(k): [P] at even depth, [O] at odd; each sums to 1
    confidence: Float[Array, " K"]  # initial c_1 to c_k, 0 to 1
    lapse: Float[Array, ""] | float = 0.0  # probability of a uniformly random move
    beta: Float[Array, ""] | float | None = None  # softmax of its own choice, per point; None: best response
    tie_key: PRNGKeyArray | None = None  # with ties="drawn": what the models inside do where moves tie


class Seat(NamedTuple):
    """What a player knows for certain. Both payoffs have their owner's move first."""

    role: Int[Array, ""]
    payoff: Float[Array, "O P"]
    other_payoff: Float[Array, "P O"]
    round: Int[Array, ""]  # rounds seen


@cache
def order_mind(order: int, exclusive: bool = True, *, ties: str = "shared", frozen: bool = True) -> Mind:
    """The mind of order k for a matrix game with any numbers of moves; its params are `Params` (see `draw_params`).

    exclusive, frozen: see `otherminds.tom.order.Construction`.
    ties: moves that are equally good. "shared": its own choice is any of them, all alike, and a model of the other
        foresees them all alike; "drawn": the same for its own choice, but a model of the other takes one of them by
        `tie_key` and the number of the round, as a simulated opponent would; "lowest": the first, everywhere.
    With params.beta its own choice is a softmax; the minds inside it still give their best response.
    A missing move (NO_ANSWER) is no evidence: what is believed of that player's moves stays, and where the other's is
    missing, confidences stay too.
    Its readout: "other_next" [P], log of the integrated belief in the other's move, from which it chooses;
    "predictions" [k, P], log-probabilities that the models of order 0 to k-1 give to it; "confidence" [k], log c.
    Raises: ValueError if order < 0, and for another word for ties.
    """
    if ties not in ("shared", "drawn", "lowest"):
        raise ValueError(f"ties={ties!r}: shared, drawn or lowest")
    made = Construction(_ground(ties), exclusive, frozen)
    mind = construction.order_k(made, order)

    def readout(params: Params, belief: construction.Belief, observation: Any) -> dict[str, Array]:
        del observation
        level, predictions, confidences = belief.level, [], []
        for k in range(order, 0, -1):
            predictions.append(construction.model_of(made, k, params, belief.seat, level).policy())
            confidences.append(level.confidence)
            level = level.own
        mixed = level
        for prediction, confidence in zip(reversed(predictions), reversed(confidences), strict=True):
            mixed = (1 - confidence) * mixed + confidence * jnp.exp(prediction)
        none = jnp.zeros((0, *mixed.shape), mixed.dtype)
        return {
            "other_next": jnp.log(mixed),
            "predictions": jnp.stack(predictions[::-1]) if order else none,
            "confidence": jnp.log(jnp.stack(confidences[::-1])) if order else none[:, 0],
        }

    return Mind(
        f"order{order}", mind.init, mind.update, mind.alternatives, mind.log_policy, mind.sample, readout, mind.carry
    )


def draw_params(
    key: PRNGKeyArray,
    order: int,
    own: int = 3,
    other: int = 3,
    *,
    learning_speed: float | None = None,
    confidence: float | None = 0.0,
    uniform_beliefs: bool = False,
    lapse: float = 0.0,
) -> Params:
    """Params of a mind as in the published simulations: beliefs drawn from Dirichlet(1, ..., 1).

    own, other: numbers of moves.   learning_speed: lambda; None: uniform on 0 to 1.
    confidence: the initial one of every order; None: each uniform on 0 to 1.   uniform_beliefs: 1 / n instead.
    Raises: ValueError for a learning speed, confidence or lapse outside 0 to 1.
    """
    for name, value in (("learning_speed", learning_speed), ("confidence", confidence), ("lapse", lapse)):
        if value is not None and not 0 <= value <= 1:
            raise ValueError(f"{name}={value}: from 0 to 1")
    key_numbers, key_ties = jax.random.split(key)
    sizes = [own if depth % 2 else other for depth in range(order + 1)]
    # All numbers at once: every call of the generator is long to compile.
    numbers = jax.random.uniform(key_numbers, (1 + order + sum(sizes),))
    speed = numbers[0] if learning_speed is None else jnp.asarray(float(learning_speed))
    confidences = numbers[1 : 1 + order] if confidence is None else jnp.full(order, float(confidence))
    if uniform_beliefs:
        beliefs = tuple(jnp.full(size, 1 / size) for size in sizes)
    else:
        # Exponentials, normalised, are a Dirichlet of ones.
        exponentials = jnp.split(-jnp.log1p(-numbers[1 + order :]), np.cumsum(sizes)[:-1])
        beliefs = tuple(part / part.sum() for part in exponentials)
    return Params(speed, beliefs, confidences, jnp.asarray(float(lapse)), None, key_ties)


def best_responses(values: Float[Array, " A"], scale: Float[Array, ""]) -> Float[Array, " A"]:
    """log of a uniform choice among the actions of the highest value; within 16 roundings of `scale` they tie."""
    near = values >= values.max() - 16 * jnp.finfo(values.dtype).eps * scale
    return log_normalize(jnp.where(near, 0.0, -jnp.inf).astype(values.dtype))


@cache
def _ground(ties: str) -> Ground:
    def seat(view: View) -> Seat:
        return Seat(view.role, view.payoff, view.other_payoff, jnp.zeros_like(view.role))

    def imagine(seat: Seat, hypothesis: Any) -> Seat:
        del hypothesis  # nothing is hidden
        return Seat(1 - seat.role, seat.other_payoff, seat.payoff, seat.round)

    def begin(params: Params, memory: Any, seat: Seat, depth: int) -> Float[Array, " P"]:
        del seat
        return params.beliefs[depth] if memory is None else memory

    def learn(params: Params, seat: Seat, belief: Float[Array, " P"], event: Event) -> Float[Array, " P"]:
        move = event.moves[1 - seat.role]
        seen = (move == jnp.arange(belief.shape[0])).astype(belief.dtype)
        faded = (1 - params.learning_speed) * belief + params.learning_speed * seen
        return jnp.where(move >= 0, faded, belief)

    def foresee(params: Params, seat: Seat, event: Event, other: Other) -> tuple[Float[Array, "1"], Any]:
        del params
        move = event.moves[1 - seat.role]
        return other.policy()[move][None], move >= 0

    def choose(params: Params, seat: Seat, values: Float[Array, " O"], depth: int, order: int) -> Float[Array, " O"]:
        if depth == 0 and params.beta is not None:
            return log_normalize(params.beta * values)
        best = best_responses(values, jnp.abs(seat.payoff).max().astype(values.dtype))
        if ties == "shared" or (ties == "drawn" and depth == 0):
            return best
        if ties == "drawn":
            key = jax.random.fold_in(jax.random.fold_in(params.tie_key, seat.round), depth * 64 + order)
            noise = jax.random.uniform(key, best.shape, best.dtype)
            chosen = jnp.argmax(jnp.where(best > -jnp.inf, noise, -1.0))
        else:
            chosen = jnp.argmax(best)
        return jnp.where(jnp.arange(best.shape[0]) == chosen, 0.0, -jnp.inf).astype(best.dtype)

    return Ground(
        name="matrix",
        seat=seat,
        see=lambda seat, event: seat._replace(round=seat.round + 1),
        imagine=imagine,
        log_hypotheses=lambda seat: jnp.zeros(1, seat.payoff.dtype),
        begin=begin,
        learn=learn,
        values=lambda params, seat, belief: seat.payoff @ belief,
        anticipate=lambda params, seat, other: seat.payoff @ jnp.exp(other.policy()),
        foresee=foresee,
        choose=choose,
    )
