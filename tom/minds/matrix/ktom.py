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
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from otherminds.games.matrix.rules import Event, View
from otherminds.inference.logspace import log_normalize
from otherminds.inference.scoring import with_lapse
from otherminds.tom.mind import Mind, draw

STEP = 1e-4  # of the forward differences, in float64
COARSE_STEP = 2e-3  # in float32, where rounding would drown smaller ones
EDGE = 1e-9  # of the VBA sigmoid
CLIP = 0.001  # of a choice in tomsup
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


class Zero(NamedTuple):
    """Order 0: the log-odds that the other plays 1."""

    mean: Float[Array, ""]
    variance: Float[Array, ""]


class Recursive(NamedTuple):
    """Order k: for every order j < k of the other, what it would be. P parameters: volatility, temperature, ..."""

    p: Float[Array, " K"]  # of each order, sums to 1
    log_odds: Float[Array, " K"]  # that it plays 1, at the means
    mean: Float[Array, "K P"]
    variance: Float[Array, "K P"]
    gradient: Float[Array, "K P"]  # of log_odds
    others: tuple[Any, ...]  # [K] its belief: Zero, or Recursive of order j


class Belief(NamedTuple):
    """Which player this is, what both win, each with its owner's move first, and what it believes."""

    role: Int[Array, ""]
    payoff: Float[Array, "2 2"]
    other_payoff: Float[Array, "2 2"]
    state: Any


@cache
def k_tom(order: int, flavour: Flavour = Flavour()) -> Mind:
    """The k-ToM player of an order, 0 to 3 or so: a program twice as large for each; actions are the moves 0 and 1.

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
        theta, layout = _vector(params)
        rules = _Rules(flavour, layout)
        if memory is not None:
            return Belief(view.role, view.payoff, view.other_payoff, memory)
        state = _prior(rules, order, view.payoff, view.other_payoff, theta.dtype)
        if flavour.source == "vba" and order and layout.dilution is not None:
            state = state._replace(mean=state.mean.at[:, layout.dilution].set(DILUTION_PRIOR))
        return Belief(view.role, view.payoff, view.other_payoff, state)

    def update(params: Params, belief: Belief, event: Event) -> Belief:
        theta, layout = _vector(params)
        own, other = event.moves[belief.role], event.moves[1 - belief.role]
        learned = _learn(_Rules(flavour, layout), theta, belief.state, own, other, belief.payoff, belief.other_payoff)
        state = jax.tree.map(lambda old, new: jnp.where(event.complete, new, old), belief.state, learned)
        return belief._replace(state=state)

    def policy(params: Params, belief: Belief) -> Float[Array, "2"]:
        theta, layout = _vector(params)
        log_odds = _choice(_Rules(flavour, layout), theta, belief.state, belief.payoff)
        return with_lapse(jnp.stack([jax.nn.log_sigmoid(-log_odds), jax.nn.log_sigmoid(log_odds)]), params.lapse)

    def alternatives(params: Params, belief: Belief, observation: Any) -> Int[Array, "2"]:
        del params, belief, observation
        return jnp.arange(2)

    def log_policy(params: Params, belief: Belief, observation: Any, actions: Int[Array, " A"]) -> Float[Array, " A"]:
        del observation
        return log_normalize(policy(params, belief)[actions])

    def sample(key: PRNGKeyArray, params: Params, belief: Belief, observation: Any) -> Int[Array, ""]:
        del observation
        return draw(key, policy(params, belief)).astype(jnp.int32)

    def readout(params: Params, belief: Belief, observation: Any) -> dict[str, Array]:
        del observation
        q = _expected(_Rules(flavour, _vector(params)[1]), belief.state)
        order_p = belief.state.p if order else jnp.zeros(0, q.dtype)
        return {"other_next": jnp.log(jnp.stack([1 - q, q])), "order": jnp.log(order_p)}

    def carry(params: Params, belief: Belief) -> Any:
        del params
        return belief.state

    return Mind(f"{order}-ToM", init, update, alternatives, log_policy, sample, readout, carry)


class _Layout(NamedTuple):
    """Where the optional parameters stand in a vector that begins with volatility and temperature."""

    size: int
    dilution: int | None
    bias: int | None


@dataclass(frozen=True)
class _Rules:
    flavour: Flavour
    layout: _Layout

    @property
    def vba(self) -> bool:
        return self.flavour.source == "vba"

    def sigmoid(self, x: Array) -> Array:
        return EDGE + (1 - 2 * EDGE) * jax.nn.sigmoid(x) if self.vba else jax.nn.sigmoid(x)

    def log_odds(self, x: Array) -> Array:
        """L(s(x)) with the sigmoid of the VBA toolbox, which holds it within 20.72; right in float32 too."""
        return jnp.log(self.sigmoid(x)) - jnp.log(self.sigmoid(-x))

    def stored(self, y: Array) -> Array:
        """R(y): a mean as it is kept."""
        if self.vba:
            return self.log_odds(y)
        p = jax.nn.sigmoid(y)
        return jnp.log(p / (1 - p)) if self.flavour.round_trip else y

    @property
    def learning(self) -> tuple[int, ...]:
        """The columns of the parameters that learning depends on; choice depends on the others."""
        return (0,) if self.layout.dilution is None else (0, self.layout.dilution)


def _vector(params: Params) -> tuple[Float[Array, " P"], _Layout]:
    values, size = [params.volatility, params.temperature], 2
    places = []
    for optional in (params.dilution, params.bias):
        places.append(None if optional is None else size)
        if optional is not None:
            values, size = [*values, optional], size + 1
    return jnp.stack([jnp.asarray(x, jnp.result_type(float)) for x in values]), _Layout(size, *places)


def _prior(rules: _Rules, order: int, payoff: Array, other_payoff: Array, dtype: Any) -> Zero | Recursive:
    if order == 0:
        return Zero(jnp.zeros((), dtype), jnp.ones((), dtype))
    size = rules.layout.size
    others = tuple(_prior(rules, j, other_payoff, payoff, dtype) for j in range(order))
    mean, log_odds, gradient = jnp.zeros((order, size), dtype), jnp.zeros(order, dtype), jnp.zeros((order, size), dtype)
    if rules.vba:
        first = [_linearised(rules, mean[j], (others[j],) * size, others[j], other_payoff) for j in range(order)]
        log_odds, gradient = (jnp.stack(parts) for parts in zip(*first, strict=True))
    elif rules.layout.bias is not None:
        gradient = gradient.at[:, rules.layout.bias].set(0.999999997998081)  # tomsup's constant
    return Recursive(jnp.full(order, 1 / order, dtype), log_odds, mean, jnp.ones_like(mean), gradient, others)


def _learn(
    rules: _Rules, theta: Array, state: Any, own: Array, other: Array, payoff: Array, other_payoff: Array
) -> Any:
    """The state after a round in which one moved `own` and the other `other`. The payoffs are those of the choosers."""
    other = other.astype(theta.dtype)
    if isinstance(state, Zero):
        q = rules.sigmoid(state.mean)
        variance = 1 / (1 / (jnp.exp(theta[0]) + state.variance) + q * (1 - q))
        return Zero(rules.stored(state.mean + variance * (other - q)), variance)
    p = _orders(rules, theta, state, other)
    q = rules.sigmoid(state.log_odds)
    drift = jnp.where(jnp.arange(rules.layout.size) == 0, jnp.exp(theta[0]), 0.0)  # of the other's volatility alone
    slope = p[:, None] * state.gradient
    variance = 1 / (1 / (state.variance + drift) + slope * state.gradient * (q * (1 - q))[:, None])
    mean = rules.stored(state.mean + variance * slope * (other - q)[:, None])
    moved = [_moved(rules, mean[j], inside, own, other, payoff, other_payoff) for j, inside in enumerate(state.others)]
    others, log_odds, gradient = zip(*moved, strict=True)
    return Recursive(p, jnp.stack(log_odds), mean, variance, jnp.stack(gradient), others)


def _moved(
    rules: _Rules, mean: Array, inside: Any, own: Array, other: Array, payoff: Array, other_payoff: Array
) -> tuple[Any, Array, Array]:
    """A modelled player's belief after the round, the log-odds of its choice, and their gradient in its parameters."""

    def advance(theta):  # in the other's place: its own move is `other`, and it saw `own`
        return _learn(rules, theta, inside, other.astype(own.dtype), own, other_payoff, payoff)

    steps = _steps(rules, mean)
    points = jnp.stack([mean, *(mean.at[i].add(steps[i]) for i in rules.learning)])
    advanced = jax.vmap(advance)(points)
    at = [jax.tree.map(lambda leaf, n=n: leaf[n], advanced) for n in range(len(points))]
    for_column = tuple(at[1 + rules.learning.index(i)] if i in rules.learning else at[0] for i in range(len(steps)))
    return at[0], *_linearised(rules, mean, for_column, at[0], other_payoff)


def _linearised(
    rules: _Rules, mean: Array, for_column: tuple[Any, ...], state: Any, payoff: Array
) -> tuple[Array, Array]:
    """The log-odds of a choice at the mean, and forward differences (x(mean + h e_i) - x(mean)) / h, [P].

    for_column: the state that column i's step leads to; only learning parameters lead to another than `state`.
    """
    here, steps = _choice(rules, mean, state, payoff), _steps(rules, mean)
    there = [_choice(rules, mean.at[i].add(steps[i]), after, payoff) for i, after in enumerate(for_column)]
    return here, (jnp.stack(there) - here) / steps


def _steps(rules: _Rules, mean: Array) -> Array:
    step = STEP if mean.dtype == jnp.float64 else COARSE_STEP
    if rules.vba:  # with the mean's sign
        return jnp.where(jnp.abs(mean) < 1, step, step * mean)
    return jnp.maximum(step * jnp.abs(mean), step)


def _spread(state: Recursive) -> Float[Array, " K"]:
    """S_j: the variance of the other's log-odds."""
    return (state.variance * state.gradient**2).sum(-1)


def _orders(rules: _Rules, theta: Array, state: Recursive, other: Array) -> Float[Array, " K"]:
    """The probabilities of the other's order after its move, by E[log s(x)] for a Gaussian x, approximately."""
    log_spread = jnp.log(_spread(state))  # -inf, so that the powers are 0, where there is none
    below, wide = 0.319 * jnp.exp(0.781 * log_spread), jnp.sqrt(1 + 0.205 * jnp.exp(0.870 * log_spread))

    def likelihood(x):
        return rules.sigmoid((x - below) / wide)

    p = _read(rules, state.p)
    if rules.layout.dilution is not None:
        forgotten = rules.sigmoid(theta[rules.layout.dilution])
        p = (1 - forgotten) * p + forgotten / p.shape[0]
    one = likelihood(state.log_odds)
    # Where the other played 0, VBA puts -x into the approximation, which is not symmetric; tomsup takes 1 less it.
    weighed = p * jnp.where(other == 1, one, likelihood(-state.log_odds) if rules.vba else 1 - one)
    return weighed / weighed.sum()


def _read(rules: _Rules, p: Float[Array, " K"]) -> Float[Array, " K"]:
    """The orders' probabilities as they are read: VBA keeps the log-odds of all but the last."""
    if not rules.vba or p.shape[0] == 1:
        return p
    first = EDGE + (1 - 2 * EDGE) * p[:-1]
    return jnp.append(first, jnp.maximum(0.0, 1 - first.sum()))


def _expected(rules: _Rules, state: Any) -> Float[Array, ""]:
    """The probability that the other plays 1, E[s(x)] for a Gaussian x, approximately."""
    if isinstance(state, Zero):
        return rules.sigmoid(state.mean / jnp.sqrt(1 + 0.36 * state.variance))
    each = rules.sigmoid(state.log_odds / jnp.sqrt(1 + 0.36 * _spread(state)))
    return (_read(rules, state.p) * each).sum()


def _choice(rules: _Rules, theta: Array, state: Any, payoff: Array) -> Float[Array, ""]:
    """The log-odds that a player plays 1: what it would gain by that over e^temperature, and the bias."""
    q = _expected(rules, state)
    gain = q * (payoff[1, 1] - payoff[0, 1]) + (1 - q) * (payoff[1, 0] - payoff[0, 0])
    drive = gain / jnp.exp(theta[1])
    if rules.layout.bias is not None:
        drive = drive + theta[rules.layout.bias]
    edge = math.log((1 - CLIP) / CLIP)
    return rules.log_odds(drive) if rules.vba else jnp.clip(drive, -edge, edge)
