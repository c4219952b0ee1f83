"""What two strategies come to in the long run: the paper's product of marginals, and the chain that is really played.

The paper gives each player one distribution a round, f_i of the other's, and multiplies the two. That is exact where
at most one player reacts. Where both do, play is a chain over the 9 pairs of moves, and only `long_run` knows it.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from otherminds.games.rps.rules import MOVES, PAYOFF
from otherminds.games.rps.strategies import FIRST, KINDS, Strategy, log_policies
from otherminds.inference.fixed_points import Solution, iterate
from otherminds.inference.tracing import known

PAIRS = MOVES * MOVES
ROUNDING = 1e-6  # probabilities closer than this are equal


class LongRun(NamedTuple):
    """The long-run shares of the 9 pairs of moves, in a match that begins as the two strategies begin."""

    joint: Float[Array, "3 3"]  # [first's move, second's move], sums to 1: the average over rounds
    classes: Int[Array, "3 3"]  # the recurrent class of a pair, named by its least pair (3 a + b); -1: transient


def response(strategy: Strategy) -> Float[Array, "3 3"]:
    """P(move | opponent's previous move) of a strategy that ignores its own previous move, trembles included.

    Returns: [opponent's previous, move], normalised over the move.
    Raises: ValueError for a strategy that looks at its own previous move; inside jit all NaN.
    """
    table = _after_a_round(strategy)
    return _require(
        (jnp.abs(table - table[:1]) < ROUNDING).all(),
        table[0],
        "this strategy looks at its own previous move, so it is no map of marginals: use long_run",
    )


def closed_form(first: Strategy, second: Strategy, start: Float[Array, "2 3"] | None = None) -> Float[Array, "2 3"]:
    """The limit of the damped iteration, for strategies that are static or react by a permutation of the moves.

    A static player is exact after one sweep and a player who reacts to it after two. Two who react permute the six
    numbers in cycles of 1, 2, 3 or 6, and damping of any 0 < a < 1 leaves the average over each cycle: the average
    over sweeps 2 to 7.

    start: [2, 3], both players' first distributions, default uniform. It matters only where two react and their
    permutations undo each other (XY, YX, ZZ); elsewhere the limit is unique.
    Returns: [2, 3], each player's distribution, normalised.
    Raises: ValueError for any other strategy, such as a reactive one that trembles; inside jit all NaN.
    Source: arXiv 2512.19210, "fixed-point iteration", for which this is the limit.
    """
    maps = _responses(first, second)
    for player, table in enumerate(maps):
        permutes = ((table < ROUNDING) | (table > 1 - ROUNDING)).all() & (jnp.abs(table.sum(0) - 1) < ROUNDING).all()
        maps = _require(
            permutes | (jnp.abs(table - table[:1]) < ROUNDING).all(),
            maps,
            f"player {player} is neither static nor a permutation: use to_tolerance or long_run",
        )
    marginals, total = _start(maps, start), 0.0
    for sweep in range(8):
        if sweep >= 2:
            total = total + marginals
        marginals = _sweep(maps, marginals)
    return total / 6


def damped(
    first: Strategy,
    second: Strategy,
    start: Float[Array, "2 3"] | None = None,
    a: Float[Array, ""] | float = 0.7,
    sweeps: int = 50,
) -> Float[Array, "2 3"]:
    """The paper's code: s_i <- a f_i(s_j) + (1 - a) s_i, both from the old values, a fixed number of sweeps.

    Returns: [2, 3], each player's distribution, normalised.
    Source: arXiv 2512.19210, code. From the uniform start, the only one there, it never moves where both react.
    """
    maps = _responses(first, second)

    def sweep(_, marginals):
        return a * _sweep(maps, marginals) + (1 - a) * marginals

    return jax.lax.fori_loop(0, sweeps, sweep, _start(maps, start))


def to_tolerance(
    first: Strategy,
    second: Strategy,
    start: Float[Array, "2 3"] | None = None,
    a: Float[Array, ""] | float = 0.7,
    tolerance: Float[Array, ""] | float = 1e-4,
    most: int = 1000,
) -> Solution:
    """As `damped`, until a sweep changes both players by less than `tolerance` in sum, or after `most` sweeps.

    Returns: a Solution, whose point is [2, 3], and which says whether it converged.
    Source: arXiv 2512.19210, the stopping rule of its text.
    """
    maps = _responses(first, second)
    return iterate(lambda marginals: _sweep(maps, marginals), _start(maps, start), a, tolerance, most)


def legacy_iid(first: Strategy, second: Strategy) -> tuple[Strategy, Strategy]:
    """The static players that the paper's data come from: both marginals drawn afresh and independently every round.

    Players made so never look at a previous move, whatever the strategy that they stand for.
    Source: arXiv 2512.19210, code.
    """
    marginals = closed_form(first, second)
    log_marginals = jnp.where(marginals > 0, jnp.log(jnp.where(marginals > 0, marginals, 1.0)), -jnp.inf)
    one, two = (
        Strategy(log_p, jnp.broadcast_to(log_p, (MOVES,) * 3), jnp.zeros((), log_p.dtype)) for log_p in log_marginals
    )
    return one, two


def independent(marginals: Float[Array, "2 3"]) -> Float[Array, "3 3"]:
    """The joint distribution [first's move, second's move] of two independent players."""
    return marginals[0][:, None] * marginals[1][None, :]


def outcome_rates(joint: Float[Array, "3 3"]) -> Float[Array, "3"]:
    """[3] how often the first player wins, draws and loses, in the order of `rules.Outcome`; sums to 1."""
    sign = jnp.asarray(PAYOFF)
    return jnp.stack([jnp.sum(jnp.where(sign == value, joint, 0.0)) for value in (1, 0, -1)])


def matchup(first: Strategy, second: Strategy) -> Float[Array, "3"]:
    """[3] win, draw, loss of the first player, from the product of the two marginals (`closed_form`).

    Source: arXiv 2512.19210, as shares where its tables have per cent.
    """
    return outcome_rates(independent(closed_form(first, second)))


def chain(first: Strategy, second: Strategy) -> tuple[Float[Array, "9"], Float[Array, "9 9"]]:
    """The Markov chain over pairs of moves 3 a + b: P(a', b' | a, b) = pi_1(a' | a, b) pi_2(b' | b, a).

    Returns: the distribution of the first pair [9], and the transition matrix [9, 9], normalised over the second axis.
    """
    start = jnp.exp(log_policies(first)[FIRST])[:, None] * jnp.exp(log_policies(second)[FIRST])[None, :]
    one, two = _after_a_round(first), jnp.swapaxes(_after_a_round(second), 0, 1)
    return start.reshape(PAIRS), (one[:, :, :, None] * two[:, :, None, :]).reshape(PAIRS, PAIRS)


def long_run(first: Strategy, second: Strategy, doublings: int = 40) -> LongRun:
    """The average of start P^t over rounds t, which exists also where the chain runs in circles or has several classes.

    It is the limit of start ((1 + P) / 2)^n, a chain with the same averages and without circles, squared `doublings`
    times (so mixing times up to 2^doublings rounds are covered). Where there are several recurrent classes, each has
    the weight with which a match that begins as these strategies begin falls into it.

    Returns: a LongRun. The stationary distribution is unique where `classes` has one value besides -1; otherwise it
        depends on the start.
    """
    start, moves = chain(first, second)

    def square(_, power):
        power = jnp.matmul(power, power, precision="highest")
        return power / power.sum(-1, keepdims=True)  # keeps rounding from growing

    lazy = (jnp.eye(PAIRS, dtype=moves.dtype) + moves) / 2
    joint = start @ jax.lax.fori_loop(0, doublings, square, lazy)
    return LongRun(joint.reshape(MOVES, MOVES), recurrent_classes(moves).reshape(MOVES, MOVES))


def recurrent_classes(transitions: Float[Array, "N N"]) -> Int[Array, " N"]:
    """[N] of every state of a chain, the least state of its recurrent class; -1 where it is transient."""
    size = transitions.shape[0]
    reach = (transitions > 0) | jnp.eye(size, dtype=bool)
    for _ in range(max(1, (size - 1).bit_length())):
        reach = (reach.astype(jnp.int32) @ reach.astype(jnp.int32)) > 0
    returns = reach & reach.T
    recurrent = (~reach | returns).all(1)  # whatever it reaches leads back
    return jnp.where(recurrent, jnp.argmax(returns, 1), -1).astype(jnp.int32)


def _require(condition: Bool[Array, ""], value: Array, message: str) -> Array:
    """value, or a ValueError where the condition fails; inside jit, NaN there."""
    if known(condition) and not condition:
        raise ValueError(message)
    return jnp.where(condition, value, jnp.nan)


def _after_a_round(strategy: Strategy) -> Float[Array, "3 3 3"]:
    """pi(move | own previous, opponent's previous) without missing moves."""
    return jnp.exp(log_policies(strategy)[1:]).reshape(KINDS, KINDS, MOVES)[:MOVES, :MOVES]


def _responses(first: Strategy, second: Strategy) -> Float[Array, "2 3 3"]:
    return jnp.stack([response(first), response(second)])


def _start(maps: Float[Array, "2 3 3"], start: Float[Array, "2 3"] | None) -> Float[Array, "2 3"]:
    return jnp.full((2, MOVES), 1 / MOVES, maps.dtype) if start is None else jnp.asarray(start, maps.dtype)


def _sweep(maps: Float[Array, "2 3 3"], marginals: Float[Array, "2 3"]) -> Float[Array, "2 3"]:
    """Each player's answer to the other's distribution, undamped."""
    return jnp.einsum("po,pom->pm", marginals[::-1], maps, precision="highest")
