"""How well the strategies of one player can be told apart from play, against a given opponent.

The player is the first of the two; both are strategies that look one round back, so play is a chain over the 9 pairs
of moves. Rates are long-run averages over matches that begin as the two strategies begin (`stationary.long_run`):
where the chain can settle in several ways, each counts with its probability, and what happens before it settles, the
first move included, does not count. Strategies that differ only there have rate 0; `divergences` tells them apart.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from otherminds.games.rps.play import play
from otherminds.games.rps.rules import MOVES
from otherminds.games.rps.stationary import PAIRS, ROUNDING, chain, long_run
from otherminds.games.rps.strategies import FIRST, KINDS, SITUATIONS, Strategy, log_policies, situations
from otherminds.inference.logspace import kl, logsumexp, scale, weighted

ODDS = 19.0
"""19 to 1 is a posterior of 0.95 from even odds."""


class Gain(NamedTuple):
    """What play tells about which candidate plays, estimated over matches. T rounds."""

    nats: Float[Array, " T"]  # mutual information of the candidate and the first t + 1 rounds
    error: Float[Array, " T"]  # standard error


def kl_rates(candidates: Strategy, opponent: Strategy) -> Float[Array, "S S"]:
    """sum over pairs of P_i(pair) KL(pi_i(. | pair) || pi_j(. | pair)); P_i is the long run of i and the opponent.

    candidates: stacked, [S].   opponent: one strategy.
    Returns: [true i, alternative j], nats a round: how fast the log-odds of i over j grow when i plays. inf where j
        excludes a move that i keeps making. The diagonal is 0.
    """
    after = _after_a_round(candidates)

    def row(candidate, log_true):
        run = long_run(candidate, opponent)
        share = jnp.where(run.classes >= 0, run.joint, 0.0).reshape(PAIRS)
        return jax.vmap(lambda log_other: _expected(share, kl(log_true, log_other)))(after)

    return jax.vmap(row)(candidates, after)


def divergences(candidates: Strategy, opponent: Strategy, rounds: int) -> Float[Array, "S S"]:
    """KL(P_i || P_j) of the moves of a whole match of so many rounds, exactly: the expected log-odds after it.

    Returns: [true i, alternative j], nats; 0 only for strategies that no match so long tells apart. inf where j
        excludes what i may do in it.
    Raises: ValueError for rounds < 1.
    """
    check_rounds(rounds)
    after, policies = _after_a_round(candidates), jax.vmap(log_policies)(candidates)

    def row(candidate, log_true, log_first):
        start, moves = chain(candidate, opponent)

        def step(share, _):
            return share @ moves, share

        shares = jax.lax.scan(step, start, length=rounds - 1)[1].sum(0)
        first = jax.vmap(lambda log_other: kl(log_first, log_other))(policies[:, FIRST])
        return first + jax.vmap(lambda log_other: _expected(shares, kl(log_true, log_other)))(after)

    return jax.vmap(row)(candidates, after, policies[:, FIRST])


def rounds_to_odds(rates: Float[Array, "..."], odds: float = ODDS) -> Float[Array, "..."]:
    """log(odds) / rate: rounds until the expected log-odds say 19 to 1.

    rates: nats a round.   Returns: inf where the rate is 0 (below 1e-6), 0 where it is inf.
    """
    apart = rates > ROUNDING
    return jnp.where(apart, jnp.log(odds) / jnp.where(apart, rates, 1.0), jnp.inf)


def equivalence_classes(rates: Float[Array, "S S"] | Float[np.ndarray, "S S"]) -> list[list[int]]:
    """The candidates in groups that no long match tells apart: rate 0 (below 1e-6) both ways, or by such steps.

    Members may differ in what happens only before play settles, such as the first move. Runs outside jit.
    """
    rates = np.asarray(rates)
    same = (rates <= ROUNDING) & (rates.T <= ROUNDING)
    for _ in same:  # whoever is the same as a member is a member
        same = same @ same
    return [np.flatnonzero(row).tolist() for index, row in enumerate(same) if row.argmax() == index]


def chernoff(log_p: Float[Array, " A"], log_q: Float[Array, " A"]) -> Float[Array, ""]:
    """-min over 0 <= x <= 1 of log sum p^x q^(1 - x), nats a round: the chance of mistaking one for the other falls so.

    log_p, log_q: [A], of two static strategies, normalised.   Returns: inf where they share no move.
    Source: Chernoff (1952); the minimum by 60 steps of ternary search (the function is convex).
    """

    def value(x):
        return logsumexp(jnp.where(log_p > -jnp.inf, scale(x, log_p), -jnp.inf) + scale(1 - x, log_q))

    def narrow(_, ends):
        low, high = ends
        one, two = low + (high - low) / 3, high - (high - low) / 3
        left = value(one) < value(two)
        return jnp.where(left, low, one), jnp.where(left, two, high)

    zero = jnp.zeros((), log_p.dtype)
    low, high = jax.lax.fori_loop(0, 60, narrow, (zero, zero + 1))
    return -value((low + high) / 2)


def static_accuracy(log_p: Float[Array, "S 3"], rounds: int) -> Float[Array, " S"]:
    """P(the most probable candidate is the true one) after so many moves, summed over all counts of the three moves.

    log_p: [S, 3] static strategies, normalised; the prior is uniform.   rounds: n; there are (n + 1)(n + 2) / 2 counts.
    Returns: [S], by the true candidate; n that tie share the hit, 1 / n each. Ties are within 1e-9 (double precision;
        1e-3 otherwise, which merges what is not quite equal).
    Raises: ValueError for rounds < 1.
    """
    check_rounds(rounds)
    rock, paper = (index.ravel() for index in np.indices((rounds + 1, rounds + 1)))
    counts = np.stack([rock, paper, rounds - rock - paper], -1)[rock + paper <= rounds]
    log_ways = jax.scipy.special.gammaln(rounds + 1.0) - jax.scipy.special.gammaln(counts + 1.0).sum(-1)
    log_chance = weighted(jnp.asarray(counts, log_p.dtype)[:, None], log_p).sum(-1)
    best = log_chance >= log_chance.max(-1, keepdims=True) - (1e-9 if log_p.dtype == jnp.float64 else 1e-3)
    share = jnp.where(best, 1.0, 0.0) / best.sum(-1, keepdims=True)
    return jnp.sum(jnp.exp(log_chance + log_ways[:, None]) * share, 0)


def information(key: PRNGKeyArray, candidates: Strategy, opponent: Strategy, rounds: int, matches: int) -> Gain:
    """I(candidate; moves) = log S + E log P(candidate | moves so far), for candidates that are equally likely.

    Every candidate plays `matches` matches against the opponent, and the exact posterior is read after every round.
    Returns: a Gain of at most log S nats. Of two opponents, the one that gives more sets the candidates apart faster.
    Raises: ValueError for rounds or matches < 1.
    """
    check_rounds(rounds)
    if matches < 1:
        raise ValueError(f"matches={matches}: play at least 1 for every candidate")
    tables = jax.vmap(log_policies)(candidates)
    size = len(tables)

    def gained(number):
        truth = number // matches
        player = jax.tree.map(lambda leaf: leaf[truth], candidates)
        moves = play(jax.random.fold_in(key, number), player, opponent, rounds)

        def see(log_likelihood, new):
            log_likelihood = log_likelihood + new
            return log_likelihood, log_likelihood[truth] - logsumexp(log_likelihood)

        start = jnp.zeros(size, tables.dtype)
        return jax.lax.scan(see, start, log_evidence(tables, *moves))[1] + jnp.log(1.0 * size)

    gains = jax.vmap(gained)(jnp.arange(size * matches)).reshape(size, matches, rounds)
    # Matches of one candidate are alike: the error is that of a sample with as many from each.
    error = jnp.sqrt(gains.var(1, ddof=min(1, matches - 1)).mean(0) / (size * matches))
    return Gain(gains.mean((0, 1)), error)


def log_evidence(
    tables: Float[Array, "S 17 3"], own: Int[Array, " T"], opponent: Int[Array, " T"]
) -> Float[Array, "T S"]:
    """[T, S] log P(own move t | moves t - 1, s), as `strategies.log_likelihoods`, from tables of `log_policies`."""
    rows = tables.transpose(1, 2, 0).reshape(SITUATIONS * MOVES, -1)
    chosen = rows[MOVES * situations(own, opponent) + jnp.maximum(own, 0)]
    return jnp.where((own < 0)[:, None], 0.0, chosen)


def check_rounds(rounds: int) -> None:
    """ValueError for less than one round."""
    if rounds < 1:
        raise ValueError(f"rounds={rounds}: at least 1")


def _after_a_round(candidates: Strategy) -> Float[Array, "S 9 3"]:
    """log pi(move | own previous, opponent's previous) without missing moves."""
    table = jax.vmap(log_policies)(candidates)[:, 1:]
    return table.reshape(-1, KINDS, KINDS, MOVES)[:, :MOVES, :MOVES].reshape(-1, PAIRS, MOVES)


def _expected(share: Float[Array, "9"], gap: Float[Array, "9"]) -> Float[Array, ""]:
    """sum share x gap, where what never happens adds nothing."""
    happens = share > 0
    return jnp.sum(jnp.where(happens, share * jnp.where(happens, gap, 0.0), 0.0))
