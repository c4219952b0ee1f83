"""Literal players: hints chosen for their nearness to the keyword alone, and codes read off in the same way."""

from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from otherminds.games.decrypto.rules import CODES, LENGTH, Observation, View
from otherminds.inference.logspace import log_normalize
from otherminds.rsa.lexicon import from_similarity
from otherminds.tom.mind import Mind, draw, memoryless
from otherminds.tom.minds.decrypto.guesser import Choice, Guesser, Rule, make_guesser
from otherminds.tom.minds.decrypto.hints import (
    HintSet,
    grid_log_policy,
    lapse_to_alternatives,
    mix_lapse,
    nearest_pool,
)
from otherminds.tom.minds.decrypto.lexicon import Lexicon, hint_similarity, within_pool
from otherminds.tom.minds.decrypto.speaker import BETA


class LiteralParams(NamedTuple):
    """What a literal decoder is made of."""

    lexicon: Lexicon
    beta: Float[Array, ""] | float = BETA  # inverse temperature of meaning, per unit of cosine
    choice: Choice = Choice()


class LiteralEncoderParams(NamedTuple):
    """What a literal encoder is made of."""

    lexicon: Lexicon
    beta: Float[Array, ""] | float = BETA
    lapse: Float[Array, ""] | float = 0.0


@cache
def literal_encoder(*, count: int = 16, pool: int = 200) -> Mind:
    """S_0(h | c) proportional to prod_i exp(beta cos(h_i, k_{c_i})): what a Bayesian interceptor expects by default.

    Each hint is drawn by itself from the `pool` nouns nearest to its keyword; the keyword and words given before
    are left out. Her alternatives, where she is compared, are the `count` nearest of them.
    """

    def digit_log_p(params: LiteralEncoderParams, observation: Observation, hint_set: HintSet) -> Float[Array, "3 K"]:
        keywords = observation.keywords[jnp.asarray(CODES)[observation.code]]
        cosines = params.lexicon.similarity[jnp.maximum(hint_set.words, 0), keywords[:, None]]
        near = within_pool(params.lexicon, hint_set.words, keywords, pool)
        return log_normalize(params.beta * cosines, where=hint_set.valid & near)

    def init(params: LiteralEncoderParams, memory, view: View) -> tuple[()]:
        del params, memory, view
        return ()

    def alternatives(params: LiteralEncoderParams, belief, observation: Observation) -> HintSet:
        del belief
        return nearest_pool(params.lexicon, observation, count)

    def log_policy(params: LiteralEncoderParams, belief, observation: Observation, actions: HintSet):
        del belief
        return mix_lapse(grid_log_policy(digit_log_p(params, observation, actions)), params.lapse, actions)

    def sample(key, params: LiteralEncoderParams, belief, observation: Observation) -> Int[Array, "3"]:
        choosing, lapsing = jax.random.split(key)
        words = nearest_pool(params.lexicon, observation, pool)
        places = jax.vmap(draw)(jax.random.split(choosing, LENGTH), digit_log_p(params, observation, words))
        hints = jnp.take_along_axis(words.words, places[:, None], 1)[:, 0]
        return lapse_to_alternatives(lapsing, params.lapse, hints, alternatives(params, belief, observation))

    return Mind("literal", init, memoryless, alternatives, log_policy, sample)


@cache
def literal_decoder(*, rule: Rule = "softmax", exclude_used: bool = True) -> Guesser:
    """L_0(c | h) proportional to P(c) prod_i exp(beta cos(h_i, k_{c_i})), P uniform over the unused codes.

    rule: "softmax" guesses from the posterior (at choice.alpha = 1), "argmax" its most probable code.
    Source: Frank & Goodman (2012) over graded meanings; Lupu, Willi & Foerster (2025), appendix H.
    """

    def init(params: LiteralParams, memory, view: View) -> Int[Array, "4"]:
        del params, memory
        return view.keywords

    def slot_scores(params: LiteralParams, keywords, hints: Int[Array, "..."]) -> Float[Array, "... 4"]:
        return from_similarity(hint_similarity(params.lexicon, hints, keywords), params.beta)

    return make_guesser("literal", init, memoryless, slot_scores, rule=rule, exclude_used=exclude_used)
