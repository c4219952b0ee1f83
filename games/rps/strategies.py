"""Strategies that look one round back, as one type: 3 numbers for the first move, 27 for the others, and a tremble.

A strategy is in one of 17 situations: the first round, or after a round with one of 4 x 4 pairs of moves, where the
fourth is a missing one. A missing move counts as each of the three with equal probability. So a rule that ignores a
move does not mind when that is missing, and static strategies mind nothing.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from otherminds.games.rps.rules import MOVES, PAYOFF
from otherminds.inference.logspace import logsumexp
from otherminds.inference.scoring import with_lapse
from otherminds.inference.switching import check_probability

KINDS = MOVES + 1  # of a previous move: the three, and a missing one
SITUATIONS = 1 + KINDS * KINDS
FIRST = 0  # the situation of the first round


class Strategy(NamedTuple):
    """A rule that looks one round back; stacked, a set of them."""

    log_initial: Float[Array, "... 3"]  # the first move
    log_transition: Float[Array, "... 3 3 3"]  # [own previous, opponent's previous, move], normalised over move
    tremble: Float[Array, "..."]  # probability of a uniformly random move instead


def strategy(initial: Any, transition: Any, tremble: float = 0.0) -> Strategy:
    """A strategy from probabilities.

    initial: [3], the first move.   transition: [3, 3, 3] or what broadcasts to it, [own previous, opponent's
    previous, move].   tremble: 0 to 1.
    Raises: ValueError for a row that is no distribution, with its place, and for a tremble that is no probability.
    """
    transition = np.broadcast_to(np.asarray(transition, float), (MOVES,) * 3)
    check_probability("tremble", tremble)
    return Strategy(
        log_distributions("initial", initial),
        log_distributions("transition", transition),
        jnp.asarray(float(tremble)),
    )


def log_distributions(name: str, table: Any) -> Float[Array, "... 3"]:
    """log of a table [..., 3] of distributions over the moves.

    Raises: ValueError with the place of the first row that is none.
    """
    table = np.asarray(table, float)
    fine = (np.abs(table.sum(-1) - 1) < 1e-6) & (table >= 0).all(-1)  # False for NaN
    if not fine.all():
        place = np.argwhere(~fine)[0].tolist()
        row = table[tuple(place)].tolist()
        raise ValueError(f"{name}{place or ''} is {row}, no distribution over rock, paper and scissors")
    with np.errstate(divide="ignore"):
        return jnp.asarray(np.log(table))


def static(p: Any, tremble: float = 0.0) -> Strategy:
    """Every move drawn from p [3]."""
    return strategy(p, np.asarray(p, float)[None, None], tremble)


def reactive(shift: int, tremble: float = 0.0, initial: Any = (1 / 3,) * 3) -> Strategy:
    """(the opponent's previous move + shift) mod 3: 1 beats that move, 2 loses to it, 0 copies it."""
    return strategy(initial, np.eye(MOVES)[(np.arange(MOVES) + shift) % MOVES][None], tremble)


def repeating(shift: int, tremble: float = 0.0, initial: Any = (1 / 3,) * 3) -> Strategy:
    """(own previous move + shift) mod 3, whatever the opponent does."""
    return strategy(initial, np.eye(MOVES)[(np.arange(MOVES) + shift) % MOVES][:, None], tremble)


def by_outcome(win: Any, draw: Any, loss: Any, tremble: float = 0.0, initial: Any = (1 / 3,) * 3) -> Strategy:
    """own previous move + a shift that depends on how that round ended.

    win, draw, loss: a shift (0 stays, 1 takes the move that beats the own previous one, 2 the move that it beats),
    or the probabilities [3] of the three shifts.
    """
    shifts = {1: win, 0: draw, -1: loss}
    shifts = {
        sign: np.eye(MOVES)[shift] if np.ndim(shift) == 0 else np.asarray(shift) for sign, shift in shifts.items()
    }
    rows = [[np.roll(shifts[PAYOFF[own][other]], own) for other in range(MOVES)] for own in range(MOVES)]
    return strategy(initial, rows, tremble)


def win_stay_lose_shift(tremble: float = 0.0, draw_stays: bool = False) -> Strategy:
    """Stays after a win, takes either other move with 1/2 after a loss; after a draw as after a loss, or stays."""
    either = (0.0, 0.5, 0.5)
    return by_outcome(0, 0 if draw_stays else either, either, tremble)


def stack(strategies: list[Strategy]) -> Strategy:
    """One Strategy whose leading axis is the list's."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *strategies)


def situation(own: Int[Array, "..."], opponent: Int[Array, "..."]) -> Int[Array, "..."]:
    """The situation, 1 to 16, after a round with these moves; NO_ANSWER, a missing one, is the fourth kind."""
    return 1 + KINDS * (own % KINDS) + opponent % KINDS


def log_policies(strategy: Strategy) -> Float[Array, "17 3"]:
    """log pi(move | situation), trembles included: (1 - tremble) p + tremble / 3.

    Returns: [17, 3], normalised over the move; row 0 the first round, row `situation(own, opponent)` the rounds after.
    """
    known = strategy.log_transition
    for axis in (0, 1):
        unknown = logsumexp(known, axis, keepdims=True) - jnp.log(jnp.asarray(MOVES, known.dtype))
        known = jnp.concatenate([known, unknown], axis)
    table = jnp.concatenate([strategy.log_initial[None], known.reshape(-1, MOVES)])
    return with_lapse(table, strategy.tremble)


def situations(own: Int[Array, " T"], opponent: Int[Array, " T"]) -> Int[Array, " T"]:
    """[T] the situation in every round of a match."""
    return jnp.concatenate([jnp.full(1, FIRST), situation(own, opponent)[:-1]])


def log_likelihoods(strategy: Strategy, own: Int[Array, " T"], opponent: Int[Array, " T"]) -> Float[Array, " T"]:
    """log pi(own move t | moves t - 1): their sum is the exact log-likelihood of a whole match.

    own, opponent: [T] moves; NO_ANSWER where one is missing, and as padding at the end.
    Returns: [T], nats; -inf for a move that the rule excludes; 0, no evidence, for a missing move of one's own.
    """
    chosen = log_policies(strategy)[situations(own, opponent), own]
    return jnp.where(own < 0, 0.0, chosen)


BOT_TREMBLE = 0.15
"""The bots follow their rule in 0.9 of the rounds and make either other move in 0.05: a tremble of 0.15."""


def human_bots() -> dict[str, Strategy]:
    """Six of the seven bots that people played against, under the names in the data.

    The seventh looks two rounds back: `finite_state.outcome_transition`. First moves are uniform.
    Source: Brockbank & Vul, stable bots (v2); the responses to each outcome as they are in the data.
    """
    return {
        "prev_move_positive": repeating(1, BOT_TREMBLE),
        "prev_move_negative": repeating(2, BOT_TREMBLE),
        "opponent_prev_move_positive": reactive(1, BOT_TREMBLE),
        "opponent_prev_move_nil": reactive(0, BOT_TREMBLE),
        "win_nil_lose_positive": by_outcome(0, 2, 1, BOT_TREMBLE),
        "win_positive_lose_negative": by_outcome(1, 0, 2, BOT_TREMBLE),
    }
