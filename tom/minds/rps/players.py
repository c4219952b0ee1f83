"""Players of rock, paper, scissors as minds: rules from tables, a best response to the rule inferred, and a learner.

A rule's params are the rule itself (a Strategy, Machine or Switching of games/rps), so that one mind carries all of a
kind, and stacked rules are one vmap. Their trembles are their lapse. Actions are moves, 0 to 2.
"""

from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from otherminds.games.matrix.rules import Event, View
from otherminds.games.rollout import keep_unless
from otherminds.games.rps.finite_state import Machine
from otherminds.games.rps.rules import MOVES, PAYOFF, rps
from otherminds.games.rps.strategies import FIRST, SITUATIONS, Strategy, log_policies, situation
from otherminds.games.rps.switching import Switching
from otherminds.inference import beliefs
from otherminds.inference.logspace import log_expectation, log_normalize, scale
from otherminds.inference.scoring import with_lapse
from otherminds.inference.switching import Sticky, predict
from otherminds.tom.mind import Mind, from_policy

TIE = 1e-6  # payoffs that differ by less are equal


class Seat(NamedTuple):
    """Which player this is, and the place in its table: a situation or a state."""

    role: Int[Array, ""]
    place: Int[Array, ""]


class SwitchingBelief(NamedTuple):
    """What its own moves tell of the strategy that a switching player will follow next."""

    role: Int[Array, ""]
    place: Int[Array, ""]
    log_predicted: Float[Array, " K"]  # normalised; all -inf once no strategy allows what was played


class ResponseParams(NamedTuple):
    """A best responder: whom it thinks it plays against, and how it chooses."""

    candidates: Strategy  # stacked, [K]; their trembles are part of the model
    log_prior: Float[Array, " K"]  # normalised
    beta: Float[Array, ""] | float = jnp.inf  # of a softmax over expected payoffs, per point; inf: the best
    lapse: Float[Array, ""] | float = 0.0  # probability of a uniformly random move


class ResponseBelief(NamedTuple):
    """The exact posterior over the candidates, given what the other has played."""

    role: Int[Array, ""]
    place: Int[Array, ""]  # the other's situation
    log_posterior: Float[Array, " K"]  # all -inf once no candidate allows what it played


class FrequencyParams(NamedTuple):
    """A learner of frequencies: what it tells apart, and how it chooses."""

    cells: Int[Array, "17"]  # the cell, 0 to 16, in which the other's next move is counted, by its situation
    prior: Float[Array, ""] | float = 1.0  # of every count, Dirichlet, above 0
    beta: Float[Array, ""] | float = jnp.inf
    lapse: Float[Array, ""] | float = 0.0


class FrequencyBelief(NamedTuple):
    """How often the other made each move, in each cell."""

    role: Int[Array, ""]
    place: Int[Array, ""]  # the other's situation
    counts: Float[Array, "17 3"]


def best_moves(
    log_next: Float[Array, "3"], beta: Float[Array, ""] | float, lapse: Float[Array, ""] | float
) -> Float[Array, "3"]:
    """log of (1 - lapse) softmax(beta E[payoff of a move]) + lapse / 3, under what the other is expected to play.

    log_next: [3], normalised; all -inf, where nothing is expected, makes every move alike.
    beta: per point, >= 0; inf shares the choice among the best moves (payoffs within 1e-6 are equal).
    Returns: [3], normalised.
    """
    values = jnp.asarray(PAYOFF, log_next.dtype) @ jnp.exp(log_next)
    best = jnp.where(values > values.max() - TIE, 0.0, -jnp.inf)
    hard = jnp.isinf(beta)
    return with_lapse(log_normalize(jnp.where(hard, best, scale(jnp.where(hard, 1.0, beta), values))), lapse)


@cache
def rule() -> Mind:
    """Follows a strategy that looks one round back. Params: a `Strategy`."""

    def init(params: Strategy, memory: Any, view: View) -> Seat:
        del params, memory
        return Seat(jnp.int32(view.role), jnp.int32(FIRST))

    def update(params: Strategy, belief: Seat, event: Event) -> Seat:
        del params
        own, other = _moves(event, belief.role)
        return belief._replace(place=situation(own, other))

    def policy(params: Strategy, belief: Seat) -> Float[Array, "3"]:
        return log_policies(params)[belief.place]

    return from_policy("rule", init, update, policy)


@cache
def machine() -> Mind:
    """Follows a finite-state strategy. Params: a `Machine`."""

    def init(params: Machine, memory: Any, view: View) -> Seat:
        del memory
        return Seat(jnp.int32(view.role), jnp.int32(params.start))

    def update(params: Machine, belief: Seat, event: Event) -> Seat:
        own, other = _moves(event, belief.role)
        return belief._replace(place=params.transitions[belief.place, own, other])

    def policy(params: Machine, belief: Seat) -> Float[Array, "3"]:
        return with_lapse(params.log_output[belief.place], params.tremble)

    return from_policy("machine", init, update, policy)


@cache
def switching() -> Mind:
    """Follows one strategy of a set and now and then changes to another. Params: a `Switching`.

    Which one it follows is not in its belief: it is what its own moves tell of it (the forward filter), so that the
    mind that plays is the mind that shadows. Its matches are distributed as those of `games.rps.play`.
    """

    def init(params: Switching, memory: Any, view: View) -> SwitchingBelief:
        del memory
        return SwitchingBelief(jnp.int32(view.role), jnp.int32(FIRST), params.log_prior)

    def update(params: Switching, belief: SwitchingBelief, event: Event) -> SwitchingBelief:
        own, other = _moves(event, belief.role)
        posterior, _ = beliefs.update(belief.log_predicted, _evidence(params.strategies, belief.place, own))
        log_uniform = log_normalize(jnp.zeros_like(posterior))
        return SwitchingBelief(
            belief.role, situation(own, other), predict(posterior, Sticky(params.hazard, log_uniform))
        )

    def policy(params: Switching, belief: SwitchingBelief) -> Float[Array, "3"]:
        return _expected(params.strategies, belief.place, belief.log_predicted)

    def readout(params: Switching, belief: SwitchingBelief, observation: Any) -> dict[str, Array]:
        del params, observation
        return {"log_strategy": belief.log_predicted}

    return from_policy("switching", init, update, policy, readout)


@cache
def best_response() -> Mind:
    """Best response to sum_k P(k | the other's moves) pi_k, exact over its candidates. Params: `ResponseParams`.

    A missing move of the other is no evidence. Where no candidate allows what the other did, it expects nothing and
    plays every move alike.
    """

    def init(params: ResponseParams, memory: Any, view: View) -> ResponseBelief:
        del memory
        return ResponseBelief(jnp.int32(view.role), jnp.int32(FIRST), params.log_prior)

    def update(params: ResponseParams, belief: ResponseBelief, event: Event) -> ResponseBelief:
        own, other = _moves(event, belief.role)
        posterior, _ = beliefs.update(belief.log_posterior, _evidence(params.candidates, belief.place, other))
        return ResponseBelief(belief.role, situation(other, own), posterior)

    def expected(params: ResponseParams, belief: ResponseBelief) -> Float[Array, "3"]:
        return _expected(params.candidates, belief.place, belief.log_posterior)

    def policy(params: ResponseParams, belief: ResponseBelief) -> Float[Array, "3"]:
        return best_moves(expected(params, belief), params.beta, params.lapse)

    def readout(params: ResponseParams, belief: ResponseBelief, observation: Any) -> dict[str, Array]:
        del observation
        return {"log_strategy": belief.log_posterior, "log_next": expected(params, belief)}

    return from_policy("best-response", init, update, policy, readout)


@cache
def frequency() -> Mind:
    """Best response to (n_move + prior) / (n + 3 prior), the other's moves counted so far. Params: `FrequencyParams`.

    With cells it counts apart what followed on what. A missing move of the other is not counted; one in the round
    before is a kind of its own, as in `strategies.situation`.
    """

    def init(params: FrequencyParams, memory: Any, view: View) -> FrequencyBelief:
        del memory
        counts = jnp.zeros((SITUATIONS, MOVES), jnp.result_type(float)) + params.prior
        return FrequencyBelief(jnp.int32(view.role), jnp.int32(FIRST), counts)

    def update(params: FrequencyParams, belief: FrequencyBelief, event: Event) -> FrequencyBelief:
        own, other = _moves(event, belief.role)
        seen = jnp.where(other >= 0, 1.0, 0.0).astype(belief.counts.dtype)
        counts = belief.counts.at[params.cells[belief.place], other].add(seen)
        return FrequencyBelief(belief.role, situation(other, own), counts)

    def expected(params: FrequencyParams, belief: FrequencyBelief) -> Float[Array, "3"]:
        return log_normalize(jnp.log(belief.counts[params.cells[belief.place]]))

    def policy(params: FrequencyParams, belief: FrequencyBelief) -> Float[Array, "3"]:
        return best_moves(expected(params, belief), params.beta, params.lapse)

    def readout(params: FrequencyParams, belief: FrequencyBelief, observation: Any) -> dict[str, Array]:
        del observation
        return {"log_next": expected(params, belief)}

    return from_policy("frequency", init, update, policy, readout)


def shadow(mind: Mind, params: Any, moves: Int[Array, "2 T"], valid: Any, role: int) -> Float[Array, "T 3"]:
    """[T, 3] log pi(move | rounds before) of a mind in a recorded match, normalised over the move; a scan.

    moves: [2, T]; NO_ANSWER: missing.   valid: [T] bool, False for padding at the end.   role: whose place it takes.
    A row is all -inf where the mind has come to think the match impossible.
    """
    game = rps(moves.shape[1])
    actions = jnp.arange(MOVES)
    state = game.init(None)

    def play_round(carry, now):
        state, belief = carry
        pair, is_valid = now
        log_p = mind.log_policy(params, belief, game.observe(state, role), actions)
        after, event = game.step(None, state, {0: pair[0], 1: pair[1]})
        return (after, keep_unless(is_valid, belief, mind.update(params, belief, event))), log_p

    begun = (state, mind.init(params, None, game.view(state, role)))
    return jax.lax.scan(play_round, begun, (moves.T, valid))[1]


def _moves(event: Event, role: Int[Array, ""]) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """One's own move and the other's."""
    return event.moves[role], event.moves[1 - role]


def _tables(strategies: Strategy, place: Int[Array, ""]) -> Float[Array, "K 3"]:
    return jax.vmap(log_policies)(strategies)[:, place]


def _evidence(strategies: Strategy, place: Int[Array, ""], move: Int[Array, ""]) -> Float[Array, " K"]:
    """log pi_k(move); a missing one is none."""
    return jnp.where(move < 0, 0.0, _tables(strategies, place)[:, move])


def _expected(strategies: Strategy, place: Int[Array, ""], log_weights: Float[Array, " K"]) -> Float[Array, "3"]:
    """log sum_k weight_k pi_k, normalised."""
    return log_normalize(log_expectation(log_weights[:, None], _tables(strategies, place), 0))
