"""A Bayesian interceptor: beliefs over which keyword each slot holds, updated by every revealed hint."""

from functools import cache
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from otherminds.games.decrypto.rules import CODES, SLOTS, Event, Observation, View
from otherminds.inference import beliefs
from otherminds.tom.minds.decrypto.guesser import Choice, Guesser, Rule, make_guesser
from otherminds.tom.minds.decrypto.lexicon import Lexicon, hint_known
from otherminds.tom.minds.decrypto.speaker import Speaker, log_likelihood


class BayesianParams(NamedTuple):
    """What a Bayesian interceptor is made of."""

    lexicon: Lexicon
    speaker: Speaker  # how it believes hints arise
    choice: Choice = Choice()


@cache
def bayesian_interceptor(*, rule: Rule = "softmax", exclude_used: bool = True) -> Guesser:
    """P(slot j holds k) from the hints revealed for j, then a posterior over the unused codes.

    Belief: [4, W] log-probabilities over the keyword list for each slot. Exact for a speaker who makes each hint
    from its own keyword alone and keywords drawn independently; for others the approximation `independent_slots`.
    score(h, j) = log sum_k P(slot j holds k) S(h | k).
    """

    def evidence(params: BayesianParams, hints: Int[Array, "..."]) -> Float[Array, "... W"]:
        """log S(h | k) for every keyword; 0 (nothing is learned) for a hint that is unknown or missing."""
        known = hint_known(params.lexicon, hints)[..., None]
        return jnp.where(known, log_likelihood(params.speaker, params.lexicon, jnp.maximum(hints, 0)), 0.0)

    def init(params: BayesianParams, memory, view: View) -> Float[Array, "4 W"]:
        del memory, view
        count = params.speaker.log_total.shape[0]
        return jnp.full((SLOTS, count), -jnp.log(float(count)), params.speaker.log_total.dtype)

    def update(params: BayesianParams, belief: Float[Array, "4 W"], event: Event) -> Float[Array, "4 W"]:
        slots = jnp.asarray(CODES)[event.code]
        posterior, _ = beliefs.update(belief[slots], evidence(params, event.hints))
        return belief.at[slots].set(posterior)

    def slot_scores(params: BayesianParams, belief, hints: Int[Array, "..."]) -> Float[Array, "... 4"]:
        # log P(h | what is believed of the slot), from probabilities: one product for thousands of hints. They are
        # no smaller than exp(-2 beta) / N, which a float32 holds for any beta up to 40.
        likelihood = jnp.exp(evidence(params, hints.reshape(-1)))
        return jnp.log(jnp.matmul(likelihood, jnp.exp(belief).T, precision="highest")).reshape(*hints.shape, SLOTS)

    def exposure(
        params: BayesianParams, belief, hints: Int[Array, "3 K"], scores: Float[Array, "3 K 4"], slots, keywords
    ) -> Float[Array, "3 K"]:
        """P(the slot holds its true keyword) once the hint is revealed, by Bayes' rule from what it believes now."""
        true = keywords[slots]
        likelihood = log_likelihood(params.speaker, params.lexicon, jnp.maximum(hints, 0), true[:, None])
        known = hint_known(params.lexicon, hints)
        log_evidence = jnp.take_along_axis(scores, slots[:, None, None], -1)[..., 0]
        log_prior = belief[slots, true][:, None]
        return jnp.exp(log_prior + jnp.where(known, likelihood - log_evidence, 0.0))

    def readout(params: BayesianParams, belief, observation: Observation) -> dict[str, Array]:
        del params, observation
        return {"keyword": belief}

    return make_guesser(
        "bayesian",
        init,
        update,
        slot_scores,
        rule=rule,
        exclude_used=exclude_used,
        exposure=exposure,
        readout=readout,
    )
