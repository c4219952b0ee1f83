"""Observers: they watch two players and state which strategies these follow and what they will do next.

An observer is a mind whose action is a pair of strategies. Its events are rounds (`games.matrix.rules.Event`); moves
that are missing are no evidence. What it believes of the players need not be how they were made: `rules` and
`windowed` believe the rules of their candidates, `generator_aware` believes the paper's data, in which both marginals
of a pair are drawn afresh every round.

`readout` gives log-arrays, each normalised over its last axis:
    log_strategy [2, S]  which candidate each player follows (now, if they switch)
    log_next [2, 3]      the moves of the next round
    log_outcome [3]      win, draw, loss of the first player over the long run, in the order of `rules.Outcome`
Where the evidence is impossible under every candidate, nothing is made up: log_strategy of that player, its log_next
and log_outcome are all -inf, every pair is impossible, and `sample` gives NO_ANSWER for both.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from otherminds.games.matrix.rules import Event
from otherminds.games.protocol import NO_ANSWER
from otherminds.games.rps.losses import union_raw
from otherminds.games.rps.rules import MOVES
from otherminds.games.rps.stationary import independent, legacy_iid, long_run, outcome_rates
from otherminds.games.rps.strategies import FIRST, KINDS, Strategy, log_policies, situation
from otherminds.inference.beliefs import update as bayes
from otherminds.inference.logspace import log_expectation, log_normalize, logsumexp, weighted
from otherminds.inference.switching import Sticky, check_probability, predict
from otherminds.tom.mind import Mind, draw

UNKNOWN = 1 + KINDS * MOVES + MOVES
"""The situation after a round of which nothing is known: both moves missing."""

_KNOWN = (1 + KINDS * np.arange(MOVES, dtype=np.int32)[:, None] + np.arange(MOVES, dtype=np.int32)).ravel()
"""Situations after two moves were made."""


class Params(NamedTuple):
    """The S candidates that an observer considers for each player, and what they come to."""

    log_policies: Float[Array, "2 S 17 3"]  # [player, strategy, situation, move]
    log_prior: Float[Array, " S"]  # normalised
    log_outcome: Float[Array, "S S 3"]  # [first's strategy, second's, win draw loss], normalised over the last
    hazard: Float[Array, ""]  # probability that a player draws anew before a round, uniformly from all S


class PairParams(NamedTuple):
    """The S x S pairs that a generator-aware observer considers."""

    log_marginals: Float[Array, "S S 2 3"]  # [first's strategy, second's, player, move], normalised over the last
    log_prior: Float[Array, "S S"]  # normalised over both
    log_outcome: Float[Array, "S S 3"]


class Watching(NamedTuple):
    """The belief of `rules`."""

    log_belief: Float[Array, "2 S"]  # all -inf once a player's moves were impossible
    situation: Int[Array, "2"]  # of each player in the round to come


class Window(NamedTuple):
    """The belief of `windowed`: the last W rounds, the oldest first; missing moves stand where none were played."""

    moves: Int[Array, "W 2"]
    situations: Int[Array, "W 2"]  # in which these moves were made
    situation: Int[Array, "2"]


class Tally(NamedTuple):
    """How often each pair of moves came, in all rounds or the last W. A window begins full of missing rounds."""

    counts: Int[Array, "4 4"]  # [first's move, second's]; the fourth kind is a missing one
    ring: Int[Array, "W 2"]  # W = 0: all rounds


class Thought(NamedTuple):
    """What an observer concludes: its readouts, and the joint posterior of the pair."""

    log_strategy: Float[Array, "2 S"]
    log_pairs: Float[Array, "S S"]
    log_next: Float[Array, "2 3"]
    log_outcome: Float[Array, "3"]


@dataclass(frozen=True)
class Observer(Mind):
    """A mind that watches. think(params, belief) -> Thought: all that it concludes, at once."""

    think: Callable[..., Thought] | None = None


# --- what is believed ------------------------------------------------------------------------------------------------


def rule_params(strategies: Strategy, hazard: float = 0.0, seconds: Strategy | None = None) -> Params:
    """Params for strategies stacked, [S], with a uniform prior; outcomes are those of the chains really played.

    seconds: as many, for player 2, where it trembles otherwise; default the same.
    Raises: ValueError for a hazard that is no probability.
    """
    check_probability("hazard", hazard)
    tables, log_outcome = _rule_tables(strategies, strategies if seconds is None else seconds)
    log_prior = log_normalize(jnp.zeros(tables.shape[1], tables.dtype))
    return Params(tables, log_prior, log_outcome, jnp.asarray(hazard, tables.dtype))


def pair_params(strategies: Strategy) -> PairParams:
    """PairParams for strategies stacked, [S]: the marginals of every pair, and outcomes that are their products.

    Strategies must be static or react by a permutation of the moves (`stationary.closed_form`), else all is NaN.
    """
    log_marginals, log_outcome = _pair_tables(strategies)
    size = len(log_marginals)
    return PairParams(log_marginals, log_normalize(jnp.zeros((size, size), log_outcome.dtype), (0, 1)), log_outcome)


@jax.jit
def _rule_tables(firsts: Strategy, seconds: Strategy) -> tuple[Array, Array]:
    def outcome(first, second):
        return log(outcome_rates(long_run(first, second).joint))

    pairs = jax.vmap(jax.vmap(outcome, (None, 0)), (0, None))(firsts, seconds)
    return jnp.stack([jax.vmap(log_policies)(each) for each in (firsts, seconds)]), log_normalize(pairs)


@jax.jit
def _pair_tables(strategies: Strategy) -> tuple[Array, Array]:
    def of_pair(first, second):
        log_marginals = jnp.stack([player.log_initial for player in legacy_iid(first, second)])
        return log_marginals, log(outcome_rates(independent(jnp.exp(log_marginals))))

    log_marginals, outcomes = jax.vmap(jax.vmap(of_pair, (None, 0)), (0, None))(strategies, strategies)
    return log_marginals, log_normalize(outcomes)


def log(p: Float[Array, "..."]) -> Float[Array, "..."]:
    """log p, -inf at 0."""
    return jnp.where(p == 0, -jnp.inf, jnp.log(jnp.where(p == 0, 1.0, p)))


# --- minds -----------------------------------------------------------------------------------------------------------


@cache
def rules() -> Observer:
    """P(s | moves) proportional to P(s) prod over t of pi_s(move t | moves t - 1), for each player on its own.

    Exact over the whole history; with a hazard, the exact filter of players who switch (`inference.switching`):
    log_strategy is of the last round played, log_next of the round to come. params: `Params`.
    """

    def init(params: Params, memory: None, view: None) -> Watching:
        del memory, view
        return Watching(jnp.stack([params.log_prior] * 2), jnp.full(2, FIRST, jnp.int32))

    def time_passes(params: Params, belief: Watching) -> Float[Array, "2 S"]:
        redraw = Sticky(params.hazard, log_normalize(jnp.zeros_like(params.log_prior)))
        later = jax.vmap(lambda log_belief: predict(log_belief, redraw))(belief.log_belief)
        # No time passes before the first round. Without a hazard nothing does, whatever the rounding.
        return jnp.where((belief.situation[0] != FIRST) & (params.hazard > 0), later, belief.log_belief)

    def update(params: Params, belief: Watching, event: Event) -> Watching:
        log_likelihood = _evidence(params.log_policies, belief.situation, event.moves)
        return Watching(bayes(time_passes(params, belief), log_likelihood)[0], _situations(event.moves))

    def think(params: Params, belief: Watching) -> Thought:
        log_next = _next(params.log_policies, time_passes(params, belief), belief.situation)
        return _of_each(belief.log_belief, log_next, params.log_outcome)

    return _observer("rules", init, update, think)


@cache
def windowed(window: int) -> Observer:
    """As `rules`, from the last `window` rounds alone; `hazard` is not used.

    What came before the oldest round of the window is unknown: the moves there count as after a missing round,
    unless it is the first of the match. So it knows what a reader of these rounds knows, no more.
    """

    def init(params: Params, memory: None, view: None) -> Window:
        del params, memory, view
        blank = jnp.full((window, 2), NO_ANSWER, jnp.int32)
        return Window(blank, jnp.full((window, 2), UNKNOWN, jnp.int32), jnp.full(2, FIRST, jnp.int32))

    def update(params: Params, belief: Window, event: Event) -> Window:
        del params
        moves, situations = _push(belief.moves, event.moves), _push(belief.situations, belief.situation)
        return Window(moves, situations, _situations(event.moves))

    def think(params: Params, belief: Window) -> Thought:
        oldest = belief.situations[0]
        situations = belief.situations.at[0].set(jnp.where(oldest == FIRST, FIRST, UNKNOWN))
        log_likelihoods = jax.vmap(_evidence, (None, 0, 0))(params.log_policies, situations, belief.moves)
        # Relative to a random player sums stay small, so that rounding cannot part equal candidates.
        relative = jnp.where((belief.moves < 0)[..., None], 0.0, log_likelihoods + np.log(MOVES))
        log_strategy = log_normalize(params.log_prior + relative.sum(0))
        return _of_each(log_strategy, _next(params.log_policies, log_strategy, belief.situation), params.log_outcome)

    return _observer(f"window:{window}", init, update, think)


@cache
def generator_aware(window: int | None = None) -> Observer:
    """P(s1, s2 | moves) proportional to the product of the pair's two marginals over all rounds.

    The exact observer of the paper's data, and only of those. The marginals are the pair's, so the posterior is over
    pairs and does not factorise; log_strategy are its marginals. params: `PairParams`.
    """

    def think(params: PairParams, belief: Tally) -> Thought:
        counts = _move_counts(belief)
        log_likelihood = weighted(counts, params.log_marginals).sum((-2, -1))
        log_pairs = log_normalize(params.log_prior + log_likelihood, (0, 1))
        log_strategy = jnp.stack([logsumexp(log_pairs, 1), logsumexp(log_pairs, 0)])
        log_next = log_normalize(logsumexp(log_pairs[..., None, None] + params.log_marginals, (0, 1)))
        return Thought(log_strategy, log_pairs, log_next, _outcome(log_pairs, params.log_outcome))

    return _observer("generator-aware", _empty(window), _count, think)


TEMPERATURE = 0.5
"""Of the softmax over losses in `moment_matching`, as in the authors' older code."""


@cache
def moment_matching(window: int | None = None) -> Observer:
    """w(s1, s2) proportional to exp(-union_raw(observed, expected of the pair) / 0.5): it knows who won, no move.

    The observed shares of wins, draws and losses are the truth of the loss, the pair's long run the prediction.
    Before a round is complete all pairs weigh the same. log_next mixes what candidates do after the last round.
    params: `Params`; prior and hazard are not used.
    Source: the fallback without a language model in an older version of the code of arXiv 2512.19210.
    """

    def think(params: Params, belief: tuple[Tally, Array]) -> Thought:
        tally, situations = belief
        observed = outcome_rates(tally.counts[:MOVES, :MOVES].astype(params.log_prior.dtype))
        percent = 100 * observed / jnp.maximum(observed.sum(), 1.0)
        cells = 100 * jnp.exp(params.log_outcome)
        loss = jax.vmap(jax.vmap(union_raw, (None, 0)), (None, 0))(percent, cells)
        log_pairs = log_normalize(jnp.where(observed.sum() > 0, -loss / TEMPERATURE, 0.0), (0, 1))
        log_strategy = jnp.stack([logsumexp(log_pairs, 1), logsumexp(log_pairs, 0)])
        log_next = _next(params.log_policies, log_strategy, situations)
        return Thought(log_strategy, log_pairs, log_next, _outcome(log_pairs, params.log_outcome))

    def init(params: Params, memory: None, view: None) -> tuple[Tally, Array]:
        return _empty(window)(params, memory, view), jnp.full(2, FIRST, jnp.int32)

    def update(params: Params, belief: tuple[Tally, Array], event: Event) -> tuple[Tally, Array]:
        return _count(params, belief[0], event), _situations(event.moves)

    return _observer("moment-matching", init, update, think)


@cache
def frequency(window: int | None = None) -> Observer:
    """Counts moves: P(s) prod over moves of pi_s(m)^n(m) for static strategies, and the next move by (n + 1) / (N + 3).

    It takes every player for static: candidates that react are impossible to it, and log_outcome is that of two
    independent players who draw from its log_next. params: `Params`; hazard and outcomes are not used.
    """

    def think(params: Params, belief: Tally) -> Thought:
        counts = _move_counts(belief)
        fixed = (params.log_policies[:, :, _KNOWN] == params.log_policies[:, :, :1]).all((2, 3))
        log_likelihood = weighted(counts[:, None], params.log_policies[:, :, FIRST]).sum(-1)
        log_strategy = log_normalize(params.log_prior + log_likelihood, where=fixed)
        log_next = log_normalize(jnp.log(counts + 1.0))
        thought = _of_each(log_strategy, log_next, params.log_outcome)
        return thought._replace(log_outcome=log(outcome_rates(independent(jnp.exp(log_next)))))

    return _observer("frequency", _empty(window), _count, think)


# --- watching a whole match ------------------------------------------------------------------------------------------


@partial(jax.jit, static_argnames="mind")
def observe(mind: Observer, params: Any, moves: Int[Array, "2 T"] | Int[np.ndarray, "2 T"]) -> dict[str, Array]:
    """What an observer states after every round of a match.

    moves: [2, T], of the first and of the second player; NO_ANSWER where one is missing.
    Returns: the readouts with a leading axis T, and `guess` [T, 2], the most probable pair: of equal ones the first,
        NO_ANSWER where none is possible.
    """

    def after_round(belief, now):
        event = Event(jnp.bool_(True), now, jnp.zeros(2), (now >= 0).all())
        belief = mind.update(params, belief, event)
        thought = mind.think(params, belief)
        best = tied(thought.log_pairs, (0, 1))
        guess = jnp.stack(jnp.divmod(jnp.argmax(best).astype(jnp.int32), len(best)))
        return belief, _readouts(thought) | {"guess": jnp.where(best.any(), guess, NO_ANSWER)}

    start = mind.init(params, None, None)
    return jax.lax.scan(after_round, start, jnp.asarray(moves, jnp.int32).T)[1]


def tied(log_x: Float[Array, "..."], axis: int | tuple[int, ...] = -1) -> Array:
    """True for the most probable entries: within 1e-4 nats of the largest (1e-9 in double precision).

    Equal candidates come out a little different where their terms are summed in another order. Catalogue strategies
    that are not equal differ by more.
    """
    room = 1e-4 if log_x.dtype == jnp.float32 else 1e-9
    return (log_x >= log_x.max(axis, keepdims=True) - room) & (log_x > -jnp.inf)


def _observer(
    name: str, init: Callable[..., Any], update: Callable[..., Any], think: Callable[..., Thought]
) -> Observer:
    """The mind that names the most probable pair."""

    def alternatives(params: Any, belief: Any, observation: Any) -> Int[Array, "A 2"]:
        del belief, observation
        size = params.log_outcome.shape[0]
        return jnp.stack(jnp.divmod(jnp.arange(size * size, dtype=jnp.int32), size), -1)

    def log_policy(params: Any, belief: Any, observation: Any, actions: Int[Array, "A 2"]) -> Float[Array, " A"]:
        del observation
        chances = think(params, belief).log_pairs[actions[:, 0], actions[:, 1]]
        chances = jnp.where((actions >= 0).all(-1), chances, -jnp.inf)
        return log_normalize(jnp.where(tied(chances), 0.0, -jnp.inf).astype(chances.dtype))

    def sample(key: PRNGKeyArray, params: Any, belief: Any, observation: Any) -> Int[Array, "2"]:
        pairs = alternatives(params, belief, observation)
        log_choice = log_policy(params, belief, observation, pairs)
        return jnp.where((log_choice > -jnp.inf).any(), pairs[draw(key, log_choice)], NO_ANSWER)

    def readout(params: Any, belief: Any, observation: Any) -> dict[str, Array]:
        del observation
        return _readouts(think(params, belief))

    return Observer(name, init, update, alternatives, log_policy, sample, readout, think=think)


def _readouts(thought: Thought) -> dict[str, Array]:
    return {name: getattr(thought, name) for name in ("log_strategy", "log_next", "log_outcome")}


def _evidence(
    tables: Float[Array, "2 S 17 3"], situations: Int[Array, "2"], moves: Int[Array, "2"]
) -> Float[Array, "2 S"]:
    """log P(move | situation, s) of both players; 0 for a missing move."""
    chosen = jax.vmap(lambda table, place, move: table[:, place, move])(tables, situations, moves)
    return jnp.where((moves < 0)[:, None], 0.0, chosen)


def _situations(moves: Int[Array, "2"]) -> Int[Array, "2"]:
    return situation(moves, moves[::-1]).astype(jnp.int32)


def _next(
    tables: Float[Array, "2 S 17 3"], log_strategy: Float[Array, "2 S"], situations: Int[Array, "2"]
) -> Float[Array, "2 3"]:
    policies = jax.vmap(lambda table, place: table[:, place])(tables, situations)
    return log_normalize(log_expectation(log_strategy[..., None], policies, 1))


def _of_each(
    log_strategy: Float[Array, "2 S"], log_next: Float[Array, "2 3"], log_outcome: Float[Array, "S S 3"]
) -> Thought:
    """A thought whose players are independent."""
    log_pairs = log_strategy[0][:, None] + log_strategy[1][None, :]
    return Thought(log_strategy, log_pairs, log_next, _outcome(log_pairs, log_outcome))


def _outcome(log_pairs: Float[Array, "S S"], log_outcome: Float[Array, "S S 3"]) -> Float[Array, "3"]:
    return log_normalize(logsumexp(log_pairs[..., None] + log_outcome, (0, 1)))


def _push(ring: Int[Array, "W 2"], new: Int[Array, "2"]) -> Int[Array, "W 2"]:
    return jnp.concatenate([ring[1:], new[None].astype(ring.dtype)])


def _empty(window: int | None) -> Callable[..., Tally]:
    """The `init` of a tally."""

    def init(params: Any, memory: None, view: None) -> Tally:
        del params, memory, view
        size = window or 0
        counts = jnp.zeros((KINDS, KINDS), jnp.int32).at[MOVES, MOVES].set(size)
        return Tally(counts, jnp.full((size, 2), NO_ANSWER, jnp.int32))

    return init


def _count(params: Any, belief: Tally, event: Event) -> Tally:
    del params
    counts = belief.counts.at[event.moves[0], event.moves[1]].add(1)  # -1, missing, is the last kind
    if not len(belief.ring):
        return belief._replace(counts=counts)
    oldest = belief.ring[0]
    return Tally(counts.at[oldest[0], oldest[1]].add(-1), _push(belief.ring, event.moves))


def _move_counts(belief: Tally) -> Float[Array, "2 3"]:
    counts = jnp.stack([belief.counts.sum(1), belief.counts.sum(0)])
    return counts[:, :MOVES].astype(float)
