"""A player who infers what kind of mind the other has, instead of assuming it, and answers what it expects.

Candidates are minds in the other's seat: learners with other speeds, rules that look one round back, orders of theory
of mind, or anything else with a `log_policy`. The posterior over them is exact:

    P(k | moves) proportional to P(k) prod_t [(1 - e) pi_k(other's move t | rounds before t) + e / P]

with e the other's lapse, so each factor is the candidate's shadow likelihood. The next move of the other is expected
from the mixture of their policies under this posterior.
"""

from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from otherminds.games.matrix.rules import Event, Observation, View
from otherminds.inference import beliefs
from otherminds.inference.logspace import log_expectation, log_normalize
from otherminds.inference.scoring import with_lapse
from otherminds.tom.mind import Mind, from_policy
from otherminds.tom.minds.matrix.order import best_responses


class Params(NamedTuple):
    """Whom the other may be, and how this player chooses. K candidates, in the order of their kinds."""

    candidates: tuple[Any, ...]  # for each kind of mind its params, stacked: a leading axis, of 1 or more
    log_prior: Float[Array, " K"]  # normalised over all candidates of all kinds
    other_lapse: Float[Array, ""] | float = 0.0  # e, beside the lapses in the candidates' own params
    lapse: Float[Array, ""] | float = 0.0  # probability of a uniformly random move of this player
    beta: Float[Array, ""] | float | None = None  # softmax of its own choice, per point; None: best response


class Belief(NamedTuple):
    """What every candidate would believe by now, and how probable each is."""

    view: View
    candidates: tuple[Any, ...]  # beliefs, stacked as the params
    log_posterior: Float[Array, " K"]  # normalised; all -inf once no candidate allows what the other did


@cache
def inferred(kinds: tuple[Mind, ...]) -> Mind:
    """Best response (or softmax) to the posterior predictive over candidates; its params are `Params`.

    kinds: one mind for each kind of candidate, in the seat of the other; any matrix game, non-square too. They see
        events; the observation that their `log_policy` gets shows no rounds (T = 0).
    A missing move of the other is no evidence. Where no candidate allows what the other did, the posterior stays all
    -inf, nothing is expected, and every move of one's own is alike; another lapse than 0 prevents that.
    Its readout: "candidate" [K], the log-posterior; "other_next" [P], log-probabilities of the other's next move.
    Raises: ValueError without kinds.
    """
    if not kinds:
        raise ValueError("kinds: name at least one mind that the other may have")

    def init(params: Params, memory: Any, view: View) -> Belief:
        theirs = View(1 - view.role, view.other_payoff, view.payoff)
        begun = tuple(
            jax.vmap(lambda own, kind=kind: kind.init(own, None, theirs))(stacked)
            for kind, stacked in zip(kinds, params.candidates, strict=True)
        )
        return Belief(view, begun, params.log_prior if memory is None else memory)

    def expected_by_each(params: Params, belief: Belief) -> Float[Array, "K P"]:
        moves, none = jnp.arange(belief.view.payoff.shape[1]), jnp.zeros(0, jnp.int32)
        blank = Observation(1 - belief.view.role, jnp.int32(0), none, none, jnp.zeros(0, bool))
        policies = [
            jax.vmap(lambda own, held, kind=kind: kind.log_policy(own, held, blank, moves))(stacked, held)
            for kind, stacked, held in zip(kinds, params.candidates, belief.candidates, strict=True)
        ]
        return with_lapse(jnp.concatenate(policies), params.other_lapse)

    def update(params: Params, belief: Belief, event: Event) -> Belief:
        move = event.moves[1 - belief.view.role]
        log_likelihood = jnp.where(move >= 0, expected_by_each(params, belief)[:, move], 0.0)
        log_posterior, _ = beliefs.update(belief.log_posterior, log_likelihood)
        after = tuple(
            jax.vmap(lambda own, held, kind=kind: kind.update(own, held, event))(stacked, held)
            for kind, stacked, held in zip(kinds, params.candidates, belief.candidates, strict=True)
        )
        return Belief(belief.view, after, log_posterior)

    def expected(params: Params, belief: Belief) -> Float[Array, " P"]:
        return log_normalize(log_expectation(belief.log_posterior[:, None], expected_by_each(params, belief), 0))

    def policy(params: Params, belief: Belief) -> Float[Array, " O"]:
        payoff = belief.view.payoff
        values = payoff @ jnp.exp(expected(params, belief))
        if params.beta is not None:
            chosen = log_normalize(params.beta * values)
        else:
            chosen = best_responses(values, jnp.abs(payoff).max().astype(values.dtype))
        return with_lapse(chosen, params.lapse)

    def readout(params: Params, belief: Belief, observation: Any) -> dict[str, Array]:
        del observation
        return {"candidate": belief.log_posterior, "other_next": expected(params, belief)}

    def carry(params: Params, belief: Belief) -> Float[Array, " K"]:
        del params
        return belief.log_posterior

    return from_policy("inferred", init, update, policy, readout, carry)


def stacked(candidates: list[Any]) -> Any:
    """The params of candidates of one kind with a leading axis."""
    return jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]), *candidates)


def uniform_prior(candidates: tuple[Any, ...]) -> Float[Array, " K"]:
    """log 1 / K for each of the K candidates that stacked params hold."""
    count = sum(jax.tree.leaves(stack)[0].shape[0] for stack in candidates)
    return log_normalize(jnp.zeros(count))
