"""k-ToM: a Bayesian player of a repeated 2 x 2 game who tracks how deep, and with what parameters, the other reasons.

Order 0 follows the log-odds that the other plays 1 as a drifting Gaussian. Order k >= 1 holds, for every order j < k
that the other may have, its probability, a Gaussian over the other's parameters (volatility, temperature, ...), and
the belief of order j that follows from what both did. Each round moves, in turn: the probabilities of the orders, the
parameters (a Laplace step along the gradient of the other's log-odds), and the beliefs inside.

s(x) = 1 / (1 + e^-x) and L is its inverse. Two implementations are in use and differ in numbers (`Flavour`); an
equation below that has two forms names them.

Source: Devaine, Hollard & Daunizeau (2014), PLoS Computational Biology 10, e1003992, and PLoS ONE 9, e87619; Devaine
et al. (2017), PLoS Computational Biology 13, e1005833. Levels there are orders here.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from otherminds.games.matrix.rules import Event, View
from otherminds.inference.scoring import with_lapse
from otherminds.tom.mind import Mind, from_policy

STEP = 1e-4  # of the forward differences, in float64
COARSE_STEP = 2e-3  # in float32, where rounding would drown smaller ones
EDGE = 1e-9  # of the VBA sigmoid
CLIP = 0.001  # of a choice in tomsup
LEARNING = ("volatility", "dilution")  # the parameters that learning depends on; choice depends on the others
DILUTION_PRIOR = -2.0  # VBA: mean of the other's dilution, at the outermost level


@dataclass(frozen=True)
class Flavour:
    """Whose numbers.

    source: "vba": the VBA toolbox: every sigmoid is 1e-9 + (1 - 2e-9) s(x), and the first expectation of the other's
        choice is worked out from the game. "tomsup": the Python package: plain sigmoids, choices clipped to
        0.001 ... 0.999, and a first expectation of 1/2 whatever the game.
    round_trip: with "tomsup", means pass through L(s(y)), as there: +inf from y = 36.7 on, for ever. False: they do
        not, which is what that package would do without it.
    Each player's payoffs are read with its own move first, in either role.
    """

    source: str = "vba"
    round_trip: bool = False


VBA = Flavour()
TOMSUP = Flavour("tomsup", round_trip=True)
"""As the package computes, infinities included."""


class Params(NamedTuple):
    """A k-ToM player, all numbers unconstrained. None leaves a parameter out, of the models of the other too."""

    volatility: Float[Array, ""] | float = -2.0  # log of the variance that the other's log-odds gain a round
    temperature: Float[Array, ""] | float = -1.0  # log, points per log-odds unit
    dilution: Float[Array, ""] | float | None = None  # log-odds of forgetting the orders' probabilities each round
    bias: Float[Array, ""] | float | None = 0.0  # log-odds towards playing 1
    lapse: Float[Array, ""] | float = 0.0  # probability of a uniformly random move; of this player alone


class Theta(NamedTuple):
    """A number for each parameter of a player that another models: as in `Params`, None where that leaves one out."""

    volatility: Float[Array, ""]
    temperature: Float[Array, ""]
    dilution: Float[Array, ""] | None
    bias: Float[Array, ""] | None


class Zero(NamedTuple):
    """What order 0 believes: the log-odds that the other plays 1."""

    mean: Float[Array, ""]
    variance: Float[Array, ""]


class Other(NamedTuple):
    """The other as it is if its order is j. What order k believes is one of these for each j = 0 ... k - 1."""

    p: Float[Array, ""]  # that its order is j; 1 in sum over j
    log_odds: Float[Array, ""]  # x_j: that it plays 1, at the means
    mean: Theta
    variance: Theta
    gradient: Theta  # of x_j
    belief: Any  # its own: Zero, or j of these


class Belief(NamedTuple):
    """Which player this is, what both win, each with its owner's move first, and what it believes of the other."""

    role: Int[Array, ""]
    payoff: Float[Array, "2 2"]
    other_payoff: Float[Array, "2 2"]
    state: Zero | tuple[Other, ...]


@cache
def k_tom(order: int, flavour: Flavour = Flavour()) -> Mind:
    """The k-ToM player of an order, 0 to 3 or so: a program three times as large for each; the moves are 0 and 1.

    Its params are `Params`. Gradients are forward differences, over 1e-4 in float64 as in both implementations, and
    over 2e-3 in float32. It learns from complete rounds only; where a move is missing nothing is learned.
    Its readout: "other_next" [2], log-probabilities of the other's next move; "order" [k], log-probabilities of its
    order.
    Raises: ValueError if order < 0, for a flavour that there is not, and, when a game begins, if it is not 2 x 2.
    """
    if order < 0:
        raise ValueError(f"order={order}: 0 models no mind, 1 models a mind of order 0, and so on")
    if flavour.source not in ("vba", "tomsup") or (flavour.round_trip and flavour.source == "vba"):
        raise ValueError(f"{flavour}: source is vba or tomsup, and only tomsup has the round trip")

    def init(params: Params, memory: Any, view: View) -> Belief:
        if view.payoff.shape != (2, 2):
            raise ValueError(f"payoffs of shape {view.payoff.shape}: k-ToM is defined for 2 x 2 games alone")
        if memory is not None:
            return Belief(view.role, view.payoff, view.other_payoff, memory)
        theta = _theta(params)
        state = _prior(flavour, order, theta, view.payoff, view.other_payoff)
        if flavour.source == "vba" and order and theta.dilution is not None:
            start = jnp.full_like(theta.dilution, DILUTION_PRIOR)
            state = tuple(each._replace(mean=each.mean._replace(dilution=start)) for each in state)
        return Belief(view.role, view.payoff, view.other_payoff, state)

    def update(params: Params, belief: Belief, event: Event) -> Belief:
        first = belief.role == 0
        own, other = (jnp.where(first, event.moves[a], event.moves[1 - a]) for a in (0, 1))
        learned = _learn(flavour, _theta(params), belief.state, own, other, belief.payoff, belief.other_payoff)
        state = jax.tree.map(lambda old, new: jnp.where(event.complete, new, old), belief.state, learned)
        return belief._replace(state=state)

    def choice(params: Params, belief: Belief) -> Float[Array, ""]:
        return _choice(flavour, _theta(params), belief.state, belief.payoff)

    def policy(params: Params, belief: Belief) -> Float[Array, "2"]:
        x = choice(params, belief)
        return with_lapse(jnp.stack([jax.nn.log_sigmoid(-x), jax.nn.log_sigmoid(x)]), params.lapse)

    def sample(key: PRNGKeyArray, params: Params, belief: Belief, observation: Any) -> Int[Array, ""]:
        del observation  # one comparison, where `from_policy` would sum
        x = choice(params, belief)
        p = (1 - params.lapse) * jax.nn.sigmoid(x) + params.lapse / 2
        return (jax.random.uniform(key, (), p.dtype) < p).astype(jnp.int32)

    def readout(params: Params, belief: Belief, observation: Any) -> dict[str, Array]:
        del params, observation
        q = _expected(flavour, belief.state)
        orders = [each.p for each in belief.state] if order else []
        return {"other_next": jnp.log(jnp.stack([1 - q, q])), "order": jnp.log(jnp.asarray(orders, q.dtype))}

    def carry(params: Params, belief: Belief) -> Any:
        del params
        return belief.state

    return replace(from_policy(f"{order}-ToM", init, update, policy, readout, carry), sample=sample)


def _theta(params: Params) -> Theta:
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.result_type(float)), Theta(*params[:4]))


def _sigmoid(flavour: Flavour, x: Array) -> Array:
    s = jax.nn.sigmoid(x)
    return EDGE + (1 - 2 * EDGE) * s if flavour.source == "vba" else s


def _log_odds(x: Array) -> Array:
    """L(s(x)) with the sigmoid of the VBA toolbox: log((1 + r e^-x) / (r + e^-x)), r = e / (1 - e) of its edge e.

    That holds it within 20.72. It is right in float32 too, and takes one exponential and one logarithm.
    """
    r, t = EDGE / (1 - EDGE), jnp.exp(-jnp.maximum(x, -60.0))  # below -60, where e^-x may overflow, nothing changes
    return jnp.log((1 + r * t) / (r + t))


def _stored(flavour: Flavour, y: Array) -> Array:
    """R(y): a mean as it is kept."""
    if flavour.source == "vba":
        return _log_odds(y)
    p = jax.nn.sigmoid(y)
    return jnp.log(p / (1 - p)) if flavour.round_trip else y


def _prior(flavour: Flavour, order: int, like: Theta, payoff: Array, other_payoff: Array) -> Zero | tuple[Other, ...]:
    """payoff: of the player whose prior this is."""
    zero, one = jnp.zeros_like(like.volatility), jnp.ones_like(like.volatility)
    if order == 0:
        return Zero(zero, one)
    mean, variance = jax.tree.map(jnp.zeros_like, like), jax.tree.map(jnp.ones_like, like)
    others = []
    for j in range(order):
        belief = _prior(flavour, j, like, other_payoff, payoff)
        if flavour.source == "vba":
            _, log_odds, gradient = _linearised(flavour, mean, lambda theta, belief=belief: belief, other_payoff)
        else:
            log_odds, gradient = zero, mean
            if like.bias is not None:
                gradient = mean._replace(bias=0.999999997998081 * one)  # tomsup's constant
        others.append(Other(one / order, log_odds, mean, variance, gradient, belief))
    return tuple(others)


def _learn(
    flavour: Flavour, theta: Theta, state: Any, own: Array, other: Array, payoff: Array, other_payoff: Array
) -> Any:
    """The state after a round in which one moved `own` and the other `other`. The payoffs are those of the choosers."""
    if isinstance(state, Zero):
        q = _sigmoid(flavour, state.mean)
        variance = 1 / (1 / (jnp.exp(theta.volatility) + state.variance) + q * (1 - q))
        return Zero(_stored(flavour, state.mean + variance * (other - q)), variance)
    return tuple(
        _revised(flavour, theta, model._replace(p=p), own, other, payoff, other_payoff)
        for model, p in zip(state, _orders(flavour, theta, state, other), strict=True)
    )


def _revised(
    flavour: Flavour, theta: Theta, model: Other, own: Array, other: Array, payoff: Array, other_payoff: Array
) -> Other:
    """A model of the other after the round: a Laplace step of its parameters, and what it believes with them."""
    p, q, gradient = model.p, _sigmoid(flavour, model.log_odds), model.gradient
    drifted = model.variance._replace(volatility=model.variance.volatility + jnp.exp(theta.volatility))
    variance = jax.tree.map(lambda v, g: v / (1 + v * p * q * (1 - q) * g**2), drifted, gradient)
    mean = jax.tree.map(lambda m, v, g: _stored(flavour, m + p * v * g * (other - q)), model.mean, variance, gradient)

    def after(theta):  # in the other's place: its own move is `other`, and it saw `own`
        return _learn(flavour, theta, model.belief, other, own, other_payoff, payoff)

    belief, log_odds, gradient = _linearised(flavour, mean, after, other_payoff)
    return Other(p, log_odds, mean, variance, gradient, belief)


def _linearised(
    flavour: Flavour, mean: Theta, after: Callable[[Theta], Any], payoff: Array
) -> tuple[Any, Array, Theta]:
    """What a player believes, x: the log-odds of its choice, and forward differences (x(mean + h e_i) - x(mean)) / h.

    after: its belief if its parameters are such.
    """
    belief = after(mean)
    x = _choice(flavour, mean, belief, payoff)

    def slope(name, value):
        step = _step(flavour, value)
        theta = mean._replace(**{name: value + step})
        there = after(theta) if name in LEARNING else belief
        return (_choice(flavour, theta, there, payoff) - x) / step

    slopes = {name: value if value is None else slope(name, value) for name, value in mean._asdict().items()}
    return belief, x, Theta(**slopes)


def _step(flavour: Flavour, mean: Array) -> Array:
    step = STEP if mean.dtype == jnp.float64 else COARSE_STEP
    if flavour.source == "vba":  # with the mean's sign
        return jnp.where(jnp.abs(mean) < 1, step, step * mean)
    return step * jnp.maximum(jnp.abs(mean), 1)


def _spread(model: Other) -> Float[Array, ""]:
    """S_j: the variance of the other's log-odds."""
    return sum(jax.tree.leaves(jax.tree.map(lambda v, g: v * g**2, model.variance, model.gradient)))


def _orders(flavour: Flavour, theta: Theta, state: tuple[Other, ...], other: Array) -> list[Array]:
    """[k] the probabilities of the other's order after its move, by E[log s(x)] for a Gaussian x, approximately."""
    if len(state) == 1:
        return [state[0].p]
    p = _read(flavour, state)
    if theta.dilution is not None:
        forgotten = _sigmoid(flavour, theta.dilution)
        p = [(1 - forgotten) * each + forgotten / len(state) for each in p]

    def likelihood(model):
        log_spread = jnp.log(_spread(model))  # -inf, so that the powers are 0, where there is none
        below, wide = 0.319 * jnp.exp(0.781 * log_spread), jnp.sqrt(1 + 0.205 * jnp.exp(0.870 * log_spread))
        # Where the other played 0, VBA puts -x into the approximation, which is not symmetric; tomsup takes 1 less it.
        if flavour.source == "vba":
            return _sigmoid(flavour, (jnp.where(other == 1, model.log_odds, -model.log_odds) - below) / wide)
        one = jax.nn.sigmoid((model.log_odds - below) / wide)
        return jnp.where(other == 1, one, 1 - one)

    weighed = [each * likelihood(model) for each, model in zip(p, state, strict=True)]
    return [each / sum(weighed) for each in weighed]


def _read(flavour: Flavour, state: tuple[Other, ...]) -> list[Array]:
    """[k] the orders' probabilities as they are read: VBA keeps the log-odds of all but the last."""
    p = [model.p for model in state]
    if flavour.source != "vba" or len(p) == 1:
        return p
    first = [EDGE + (1 - 2 * EDGE) * each for each in p[:-1]]
    return [*first, jnp.maximum(0.0, 1 - sum(first))]


def _expected(flavour: Flavour, state: Any) -> Float[Array, ""]:
    """The probability that the other plays 1, E[s(x)] for a Gaussian x, approximately."""

    def one(x, variance):
        return _sigmoid(flavour, x / jnp.sqrt(1 + 0.36 * variance))

    if isinstance(state, Zero):
        return one(*state)
    each = [one(model.log_odds, _spread(model)) for model in state]
    return sum(p * q for p, q in zip(_read(flavour, state), each, strict=True))


def _choice(flavour: Flavour, theta: Theta, state: Any, payoff: Array) -> Float[Array, ""]:
    """The log-odds that a player plays 1: what it would gain by that over e^temperature, and the bias."""
    q = _expected(flavour, state)
    gain = q * (payoff[1, 1] - payoff[0, 1]) + (1 - q) * (payoff[1, 0] - payoff[0, 0])
    drive = gain * jnp.exp(-theta.temperature)
    if theta.bias is not None:
        drive = drive + theta.bias
    edge = math.log((1 - CLIP) / CLIP)
    return _log_odds(drive) if flavour.source == "vba" else jnp.clip(drive, -edge, edge)
