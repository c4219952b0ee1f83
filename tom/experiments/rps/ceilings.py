"""How often an ideal observer names the right strategies: the ceiling under which every other observer stays.

The ideal observer has the uniform prior over its candidates and names the most probable; of n that tie each counts
1 / n. Matches are played and watched chunk by chunk, so memory does not grow with their number (but for three numbers
a match). Match n of a seed is the same whatever the chunk, and whatever is asked of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from otherminds.games.rollout import game_key
from otherminds.games.rps import stationary
from otherminds.games.rps.catalogue import CODES, catalogue, member
from otherminds.games.rps.play import play
from otherminds.games.rps.rules import MOVES
from otherminds.games.rps.strategies import FIRST, KINDS, SITUATIONS, Strategy, log_policies, situations
from otherminds.inference.devices import map_chunks
from otherminds.inference.resampling import standard_error
from otherminds.inference.switching import check_probability
from otherminds.tom.experiments.plots import wilson
from otherminds.tom.minds.rps.observers import UNKNOWN, pair_params, tied

WHO = ("player 1", "player 2", "both")
WARMUP = 10
"""Rounds at the beginning that do not count, as in the paper."""
AT_ONCE = 4096
"""Matches in a chunk."""
_legacy = jax.jit(stationary.legacy_iid)


class Evidence(NamedTuple):
    """What each round of a match says of H hypotheses, as rows of a table. T rounds."""

    table: Float[Array, "R H"]  # log-likelihood relative to random play; row 0 says nothing
    rows: Int[Array, " T"]
    alone: Int[Array, " T"]  # the row where nothing is known of the rounds before


@dataclass(frozen=True)
class Ceiling:
    """How often the ideal observer of N matches was right, for each of `WHO`."""

    player1: str
    player2: str
    share: Float[np.ndarray, "3 T"]  # of the matches in which it is right after round t + 1
    low: Float[np.ndarray, "3 T"]  # Wilson's 95% interval; matches are the units
    high: Float[np.ndarray, "3 T"]
    rates: Float[np.ndarray, "N 3"]  # of each match, the share of its counted rounds in which it is right
    warmup: int  # rounds that do not count

    @property
    def of_all_rounds(self) -> Float[np.ndarray, "N 3"]:
        """The same rounds as a share of all, warm-up included, as in the paper: never above 1 - warmup / T."""
        rounds = self.share.shape[1]
        return self.rates * (rounds - self.warmup) / rounds


def ceiling(
    player1: str,
    player2: str,
    matches: int,
    rounds: int = 200,
    *,
    seed: int = 0,
    window: int | None = None,
    legacy_iid: bool = False,
    generator_aware: bool = False,
    legacy_decimals: bool = False,
    codes: Sequence[str] = CODES,
    tremble: float = 0.0,
    warmup: int = WARMUP,
    chunk: int = AT_ONCE,
    progress: Callable[[int], None] | None = None,
) -> Ceiling:
    """Plays and watches matches between two strategies of the catalogue.

    window: rounds that the observer remembers, default all (see `observers.windowed`).
    legacy_iid: the matches are the paper's: both marginals drawn afresh every round.
    generator_aware: the observer knows that; else it believes the rules of its candidates.
    codes: its candidates, for both players.   tremble: of players and candidates.
    warmup: rounds that do not count in `rates`.
    chunk: matches computed at once.   progress: called with the number of matches after each chunk.
    Raises: ValueError for players who are no candidates, for numbers out of range, and for trembles in the paper's
        matches, whose players do not tremble.
    """
    truth = candidate_indices((player1, player2), codes)
    check_numbers(matches, rounds, warmup, window, chunk)
    check_tremble(tremble, legacy_iid or generator_aware)
    strategies = catalogue(legacy_decimals, tremble, codes)
    players = tuple(jax.tree.map(lambda leaf, i=i: leaf[i], strategies) for i in truth)
    if legacy_iid:
        players = _legacy(*players)
    tables = pair_tables(strategies) if generator_aware else rule_tables(strategies)
    watch = _pair_hits if generator_aware else _rule_hits
    key, chunk, indices = jax.random.key(seed), min(chunk, matches), tuple(map(jnp.int32, truth))

    def compute(number: Int[Array, "1"]) -> tuple[Array, Array]:
        moves = play_chunk(key, number[0], players, rounds=rounds, chunk=chunk)
        count = matches - number[0] * chunk
        found = _judge_chunk(tables, moves, indices, count, warmup=warmup, window=window, watch=watch)
        return jax.tree.map(lambda x: x[None], found)

    done = 0

    def tell(_: int) -> None:
        nonlocal done
        before, done = done, min(done + chunk, matches)
        if progress is not None:
            progress(done - before)

    hits, rates = map_chunks(compute, -(-matches // chunk), chunk=1, progress=tell)
    total = hits.astype(np.float64).sum(0)
    bounds = np.array([wilson(round(hit), matches) for hit in total.ravel()]).reshape(*total.shape, 2)
    rates = rates.reshape(-1, 3)[:matches].astype(np.float64)
    return Ceiling(player1, player2, total / matches, bounds[..., 0], bounds[..., 1], rates, warmup)


def candidate_shares(
    codes: Sequence[str],
    opponent: str,
    matches: int,
    rounds: int = 200,
    *,
    seed: int = 0,
    window: int | None = None,
    legacy_iid: bool = False,
    tremble: float = 0.0,
    progress: Callable[[int], None] | None = None,
) -> Float[np.ndarray, "S T"]:
    """[S, T] the share of matches in which the ideal observer knows player 1, for every candidate against an opponent.

    The opponent need not be a candidate. Arguments as for `ceiling`; progress is called with 1 after each candidate.
    Raises: ValueError as `ceiling` does, and for codes that are not in the catalogue.
    """
    check_numbers(matches, rounds, 0, window)
    check_tremble(tremble, legacy_iid)
    strategies, other = catalogue(tremble=tremble, codes=codes), member(opponent, tremble=tremble)
    table, key, shares = rule_tables(strategies), jax.random.key(seed), []
    for number in range(len(codes)):
        players = (jax.tree.map(lambda leaf, i=number: leaf[i], strategies), other)
        if legacy_iid:
            players = _legacy(*players)
        moves = play_chunk(key, jnp.int32(0), players, rounds=rounds, chunk=matches)
        truth = (jnp.int32(number),) * 2  # of player 2 nothing is asked
        hits, _ = _judge_chunk(table, moves, truth, jnp.int32(matches), warmup=0, window=window, watch=_rule_hits)
        shares.append(np.asarray(hits[0], np.float64) / matches)
        if progress is not None:
            progress(1)
    return np.stack(shares)


@dataclass(frozen=True)
class Regime:
    """How an ideal observer does with one of the paper's three pairs: shares of rounds in which both are right."""

    player1: str
    player2: str
    data: str  # "iid": as the paper made them; "rules": drawn from the moves really made
    observer: str  # as `observer_registry` writes it
    matches: int
    rate: float  # of the rounds after the warm-up
    error: float  # standard error, over matches
    of_all: float  # of all rounds, as in the paper
    of_all_error: float
    spread: float  # standard deviation of of_all between single matches
    low: float  # 5th and 95th percentile of of_all of single matches
    high: float
    paper: float  # o3 in the paper, one match


PAPER = {("H", "C"): 0.575, ("N", "G"): 0.415, ("D", "Y"): 0.005}
"""The paper's three regimes, and what it gives for o3 there: the share of 200 rounds in which it names both."""


def regimes(
    matches: int, rounds: int = 200, *, seed: int = 0, window: int = 50, progress: Callable[[int], None] | None = None
) -> list[Regime]:
    """Ceilings of the paper's three pairs, from data as the paper made them and as they should be.

    The paper's data have its rounded probabilities. Observers remember all or the last `window` rounds, and in the
    paper's data one that knows how these are made is added.   progress: called with 1 after each of 18 rows.
    """
    rows = []
    for (one, two), paper in PAPER.items():
        for iid, aware in ((True, False), (True, True), (False, False)):
            for size in (None, window):
                found = ceiling(
                    one, two, matches, rounds, seed=seed, window=size, legacy_iid=iid, generator_aware=aware,
                    legacy_decimals=iid,
                )  # fmt: skip
                rates, of_all = found.rates[:, 2], found.of_all_rounds[:, 2]
                errors = [float(standard_error(x)) for x in (rates, of_all)]
                names = ("generator-aware", f"generator-aware:window={size}") if aware else ("exact", f"window:{size}")
                name = names[size is not None]
                low, high = np.quantile(of_all, (0.05, 0.95))
                numbers = (rates.mean(), errors[0], of_all.mean(), errors[1], of_all.std(), low, high)
                data = "iid" if iid else "rules"
                rows.append(Regime(one, two, data, name, matches, *map(float, numbers), paper))
                if progress is not None:
                    progress(1)
    return rows


def identification_rates(
    key: PRNGKeyArray,
    strategies: Strategy,
    matches: int,
    rounds: int,
    window: int | None = None,
    legacy_iid: bool = False,
    warmup: int = WARMUP,
) -> Float[Array, "S S N 3"]:
    """Every strategy against every other, N matches each, watched by the ideal observer who believes the rules.

    strategies: stacked, [S]; they are the candidates too.   matches: N; match n has the same random numbers for all.
    Returns: [first, second, match, player 1, player 2 or both], the share of counted rounds identified.
    """
    tables, size = rule_tables(strategies), len(strategies.tremble)

    def of_pair(i, j, first, second):
        if legacy_iid:
            first, second = stationary.legacy_iid(first, second)

        def of_match(n):
            moves = play(game_key(key, n), first, second, rounds)
            return _rule_hits(tables, moves, jnp.stack([i, j]), window)[:, warmup:].mean(1)

        return jax.vmap(of_match)(jnp.arange(matches))

    numbers = jnp.arange(size)
    over_seconds = jax.vmap(of_pair, (None, 0, None, 0))
    return jax.vmap(over_seconds, (0, None, 0, None))(numbers, numbers, strategies, strategies)


def candidate_indices(players: Sequence[str], codes: Sequence[str]) -> tuple[int, ...]:
    """The places of players among the candidates.

    Raises: ValueError for one who is not among them.
    """
    for player in players:
        if player not in codes:
            raise ValueError(f"player {player!r} is none of the candidates {', '.join(codes)}")
    return tuple(list(codes).index(player) for player in players)


def check_numbers(matches: int, rounds: int, warmup: int, window: int | None, chunk: int = 1) -> None:
    """ValueError for fewer than one match or round, a warm-up that leaves no round, or an empty window or chunk."""
    for name, value in (("matches", matches), ("rounds", rounds), ("chunk", chunk)):
        if value < 1:
            raise ValueError(f"{name}={value}: at least 1")
    if not 0 <= warmup < rounds:
        raise ValueError(f"warmup={warmup} of {rounds} rounds: from 0 to {rounds - 1}, so that some round counts")
    if window is not None and window < 1:
        raise ValueError(f"window={window}: at least 1 round, or none for the whole match")


def check_tremble(tremble: float, legacy: bool) -> None:
    """ValueError for a tremble that is no probability, or any where matches are made as in the paper."""
    check_probability("tremble", tremble)
    if legacy and tremble > 0:
        raise ValueError(
            f"tremble={tremble}: the paper's players do not tremble; leave out the tremble or the iid data"
        )


# --- one match -------------------------------------------------------------------------------------------------------


@jax.jit
def rule_tables(strategies: Strategy) -> Float[Array, "52 S"]:
    """Rows of `Evidence` for candidates [S]: none, then situation x move."""
    rows = jax.vmap(log_policies)(strategies).transpose(1, 2, 0).reshape(SITUATIONS * MOVES, -1)
    return _relative(rows, 1)


@jax.jit
def pair_tables(strategies: Strategy) -> Float[Array, "17 P"]:
    """Rows of `Evidence` for pairs [S x S] whose marginals are drawn afresh: none, then 4 x 4 kinds of moves."""
    log_marginals = pair_params(strategies).log_marginals.reshape(-1, 2, MOVES)
    log_marginals = jnp.concatenate([log_marginals, jnp.full_like(log_marginals[..., :1], -np.log(MOVES))], -1)
    rows = log_marginals[:, 0, :, None] + log_marginals[:, 1, None, :]
    return _relative(rows.transpose(1, 2, 0).reshape(KINDS * KINDS, -1), 2)


def _relative(rows: Float[Array, "R H"], moves: int) -> Float[Array, "Q H"]:
    """Relative to random play sums stay small, so that rounding cannot part equal candidates."""
    return jnp.concatenate([jnp.zeros_like(rows[:1]), rows + moves * np.log(MOVES)])


def _rule_hits(
    table: Float[Array, "52 S"], moves: Int[Array, "2 T"], truth: Int[Array, "2"], window: int | None
) -> Float[Array, "3 T"]:
    """How right the observer who believes the rules is, after every round, about each of WHO."""

    each = jax.vmap(_player_hits, (None, 0, 0, 0, None))(table, moves, moves[::-1], truth, window)
    return jnp.concatenate([each, each[:1] * each[1:]])


def _player_hits(
    table: Float[Array, "52 S"],
    own: Int[Array, " T"],
    opponent: Int[Array, " T"],
    truth: Int[Array, ""],
    window: int | None,
) -> Float[Array, " T"]:
    here = situations(own, opponent)
    known, alone = (1 + MOVES * s + own for s in (here, jnp.where(here == FIRST, FIRST, UNKNOWN)))
    evidence = Evidence(table, jnp.where(own < 0, 0, known), jnp.where(own < 0, 0, alone))

    def judge(log_likelihood):
        best = tied(log_likelihood)
        return best[truth] / jnp.maximum(best.sum(), 1)

    return _watch(evidence, window, judge)


def _pair_hits(
    table: Float[Array, "17 P"], moves: Int[Array, "2 T"], truth: Int[Array, "2"], window: int | None
) -> Float[Array, "3 T"]:
    """As `_rule_hits` for the observer who knows that marginals are drawn afresh."""
    size = round(table.shape[1] ** 0.5)
    rows = 1 + KINDS * (moves[0] % KINDS) + moves[1] % KINDS

    def judge(log_likelihood):
        best = tied(log_likelihood).reshape(size, size)
        return jnp.stack([best[truth[0]].sum(), best[:, truth[1]].sum(), best[truth[0], truth[1]]]) / jnp.maximum(
            best.sum(), 1
        )

    return _watch(Evidence(table, rows, rows), window, judge).T


def _watch(evidence: Evidence, window: int | None, judge: Callable[[Array], Array]) -> Float[Array, "T ..."]:
    """judge(log-likelihood [H] of the rounds seen) after every round, as a scan."""
    table, rows, alone = evidence
    nothing = jnp.zeros(table.shape[1], table.dtype)
    if window is None:

        def see(log_likelihood, row):
            log_likelihood = log_likelihood + table[row]
            return log_likelihood, judge(log_likelihood)

        return jax.lax.scan(see, nothing, rows)[1]

    # What leaves the window is subtracted, so impossible rounds are counted apart from finite sums.
    possible = table > -jnp.inf
    finite, excluded = jnp.where(possible, table, 0.0), 1.0 - possible

    def slide(sums, now):
        new, old, first = now
        sums = tuple(s + t[new] - t[old] for s, t in zip(sums, (finite, excluded), strict=True))
        log_likelihood = jnp.where(sums[1] + excluded[first] > 0.5, -jnp.inf, sums[0] + finite[first])
        return sums, judge(log_likelihood)

    # The oldest round of the window counts without what was before it; the row of the rounds before it has left.
    before = jnp.zeros(min(window - 1, len(rows)), rows.dtype)
    old, first = (jnp.concatenate([before, x])[: len(rows)] for x in (rows, alone))
    return jax.lax.scan(slide, (nothing, nothing), (rows, old, first))[1]


@partial(jax.jit, static_argnames=("rounds", "chunk"))
def play_chunk(
    key: PRNGKeyArray, number: Int[Array, ""], players: tuple[Strategy, Strategy], *, rounds: int, chunk: int
) -> Int[Array, "N 2 T"]:
    """[N, 2, T] the moves of matches number * chunk to (number + 1) * chunk - 1 of a seed's key."""
    indices = number * chunk + jnp.arange(chunk, dtype=jnp.int32)
    return jax.vmap(lambda index: play(game_key(key, index), *players, rounds))(indices)


@partial(jax.jit, static_argnames=("warmup", "window", "watch"))
def _judge_chunk(table, moves, truth, count, *, warmup, window, watch):
    """Sums of hits over the first `count` matches [3, T], and the rate of each match [chunk, 3]."""
    hits = jax.vmap(lambda match: watch(table, match, jnp.stack(truth), window))(moves)
    counts = (jnp.arange(len(moves)) < count)[:, None, None]
    return jnp.where(counts, hits, 0.0).sum(0), hits[..., warmup:].mean(-1)
