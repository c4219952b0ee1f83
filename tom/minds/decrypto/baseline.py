"""The embedding baseline in its three roles: nearest nouns, and assignment of hints by cosine.

Source: Lupu, Willi & Foerster (2025), section 4.1 and appendix E, as its published code behaves. Two of that
code's faults are options: guessers who do not know that codes never repeat (`exclude_used`), and an encoder whose
only candidate at K = 1 is the keyword itself, which she must not say (`skip_keyword`).
"""

from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from otherminds.games.decrypto.rules import CODES, LENGTH, SLOTS, TURNS, Event, Observation, View
from otherminds.inference.logspace import log_normalize
from otherminds.tom.mind import Mind, memoryless
from otherminds.tom.minds.decrypto.guesser import Choice, Guesser, code_scores, make_guesser
from otherminds.tom.minds.decrypto.hints import HintSet, grid_log_policy, lapse_to_alternatives, mix_lapse, pick
from otherminds.tom.minds.decrypto.lexicon import Lexicon, hint_known, hint_similarity


class GuesserParams(NamedTuple):
    """What a baseline decoder or interceptor is made of. Its choice is always the best code."""

    lexicon: Lexicon
    choice: Choice = Choice()


class EncoderParams(NamedTuple):
    """What a baseline encoder is made of."""

    lexicon: Lexicon
    lapse: Float[Array, ""] | float = 0.0  # probability of a uniformly random combination of the alternatives


class Candidates(NamedTuple):
    """The nearest nouns of each of the four keywords, and which of them pass the contrast test."""

    words: Int[Array, "4 C"]
    passes: Bool[Array, "4 C"]  # nearer to its keyword than to the other three
    forbidden: Bool[Array, "4 C"]  # the keyword itself


def greedy_scores(last_wins: bool):
    """The greedy assignment, each hint in turn taking the best slot left, as code scores: 0 for it, then -1, -2, ...

    Codes are ordered by how good the first hint's slot is among those left, then the second's, then the third's; so
    the best of the unused codes is greedy too.
    last_wins: whether a tie goes to the higher digit (as the reference's interceptor does) or to the lower.
    """
    slots = np.arange(SLOTS)
    before = slots[:, None] > slots if last_wins else slots[:, None] < slots

    def to_codes(slot_scores: Float[Array, "... 3 4"]) -> Float[Array, "... 24"]:
        place = 0
        for i in range(LENGTH):
            one, other = slot_scores[..., i, :, None], slot_scores[..., i, None, :]
            better = (one > other) | ((one == other) & before)
            left = (slots[:, None, None] != CODES[:, :i]).all(-1)  # [4, 24]
            place = place * (SLOTS - i) + (better[..., CODES[:, i]] & left).sum(-2)
        return -place.astype(slot_scores.dtype)

    return to_codes


@cache
def baseline_decoder(*, assignment: str = "global", exclude_used: bool = False) -> Guesser:
    """Assigns hints to keywords by cosine.

    assignment: "global" (the best sum of three cosines) or "greedy" (each hint in turn the best slot left).
    """

    def init(params: GuesserParams, memory, view: View) -> Int[Array, "4"]:
        del params, memory
        return view.keywords

    def slot_scores(params: GuesserParams, keywords, hints: Int[Array, "..."]) -> Float[Array, "... 4"]:
        return hint_similarity(params.lexicon, hints, keywords)

    return make_guesser(
        "baseline",
        init,
        memoryless,
        slot_scores,
        rule="argmax",
        exclude_used=exclude_used,
        to_codes=_assignment(assignment, last_wins=False),
    )


@cache
def baseline_interceptor(*, assignment: str = "global", exclude_used: bool = False) -> Guesser:
    """Assigns hints to slots by the cosine with the mean vector of the slot's past hints; 0 without a past."""

    # The belief is the sum of the vectors of each slot's past hints: its direction is that of their mean.
    def init(params: GuesserParams, memory, view: View) -> Float[Array, "4 D"]:
        del memory, view
        return jnp.zeros((SLOTS, params.lexicon.vectors.shape[1]), params.lexicon.vectors.dtype)

    def update(params: GuesserParams, belief: Float[Array, "4 D"], event: Event) -> Float[Array, "4 D"]:
        slots = jnp.asarray(CODES)[event.code]
        known = hint_known(params.lexicon, event.hints)
        vectors = jnp.where(known[:, None], params.lexicon.vectors[jnp.maximum(event.hints, 0)], 0.0)
        return belief.at[slots].add(vectors)

    def slot_scores(
        params: GuesserParams, belief: Float[Array, "4 D"], hints: Int[Array, "..."]
    ) -> Float[Array, "... 4"]:
        vectors = params.lexicon.vectors[jnp.maximum(hints, 0)]
        known = hint_known(params.lexicon, hints)[..., None]
        return jnp.where(known, cosine(vectors[..., None, :], belief), 0.0)

    def exposure(params: GuesserParams, belief: Float[Array, "4 D"], hints: Int[Array, "3 K"], scores, slots, keywords):
        """Cosine of the slot's mean vector, the hint in it, with the keyword; 0 if negative or the keyword no noun."""
        del scores
        lexicon = params.lexicon
        words = lexicon.keyword_words[keywords[slots]]
        target = jnp.where(hint_known(lexicon, words)[:, None], lexicon.vectors[jnp.maximum(words, 0)], 0.0)
        known = hint_known(lexicon, hints)[..., None]
        mean = belief[slots][:, None] + jnp.where(known, lexicon.vectors[jnp.maximum(hints, 0)], 0.0)
        return jnp.maximum(cosine(mean, target[:, None]), 0.0)

    return make_guesser(
        "baseline",
        init,
        update,
        slot_scores,
        exposure=exposure,
        rule="argmax",
        exclude_used=exclude_used,
        to_codes=_assignment(assignment, last_wins=True),
    )


def cosine(a: Float[Array, "... D"], b: Float[Array, "... D"]) -> Float[Array, "..."]:
    """Cosine of two vectors; 0 where one of them is zero."""
    squares = jnp.sum(a * a, -1) * jnp.sum(b * b, -1)
    return jnp.where(squares > 0, jnp.sum(a * b, -1) / jnp.sqrt(jnp.where(squares > 0, squares, 1.0)), 0.0)


def _assignment(assignment: str, last_wins: bool):
    if assignment not in ("global", "greedy"):
        raise ValueError(f"assignment={assignment!r}: it is 'global' or 'greedy'")
    return code_scores if assignment == "global" else greedy_scores(last_wins)


@cache
def baseline_encoder(k: int = 16, *, turns: int = TURNS, skip_keyword: bool = False) -> Mind:
    """For each digit one of the K nouns nearest to its keyword, uniformly among those that pass the contrast test.

    K grows by one each time a digit is used. Dropped are the keyword itself and what the digit's hints were
    before. Where none passes, one of the first K without the test; where that is empty, any noun: only then does
    she say what is not among her `alternatives`.
    k: nearest nouns considered, >= 1.
    skip_keyword: leave the keyword out before the nearest are counted, so that K = 1 has a candidate.
    Raises: ValueError if k < 1.
    """
    if k < 1:
        raise ValueError(f"k={k}: the encoder needs at least one nearest noun to choose from")
    width = k + turns - 1

    def init(params: EncoderParams, memory, view: View) -> Candidates:
        del memory
        lexicon = params.lexicon
        nearest = lexicon.nearest[view.keywords, : width + skip_keyword]
        itself = nearest == lexicon.keyword_words[view.keywords][:, None]
        if skip_keyword:  # the keyword moves behind the others, which keep their order
            order = jnp.argsort(itself, axis=-1, stable=True)[:, :width]
            nearest, itself = (jnp.take_along_axis(x, order, -1) for x in (nearest, itself))
        cosines = hint_similarity(lexicon, nearest, view.keywords)  # [4, C, 4]
        others = jnp.where(jnp.eye(SLOTS, dtype=bool)[:, None], -jnp.inf, cosines).max(-1)
        own = jnp.take_along_axis(cosines, jnp.arange(SLOTS)[:, None, None], -1)[..., 0]
        return Candidates(nearest, own > others, itself)

    def digit(params: EncoderParams, belief: Candidates, observation: Observation, slot):
        """The nouns that may stand for a slot [C], and which of them are in the draw [C]: none, if none is left."""
        history = observation.history
        of_slot = (jnp.asarray(CODES)[history.codes] == slot) & (history.codes >= 0)[:, None]
        past = jnp.where(of_slot, history.hints, -1)
        words = belief.words[slot]
        fresh = ~belief.forbidden[slot] & ~(words[:, None, None] == past).any((-1, -2))
        rank = jnp.arange(words.shape[0])
        first = fresh & belief.passes[slot] & (rank < k + of_slot.sum())
        second = fresh & (rank < k)
        return words, jnp.where(first.any(), first, second)

    def alternatives(params: EncoderParams, belief, observation: Observation) -> HintSet:
        slots = jnp.asarray(CODES)[observation.code]
        return HintSet(belief.words[slots], ~belief.forbidden[slots])

    def log_policy(params: EncoderParams, belief, observation: Observation, actions: HintSet) -> Float[Array, " A"]:
        slots = jnp.asarray(CODES)[observation.code]
        nouns = params.lexicon.nearest.shape[1]

        def one(slot, offered: Int[Array, " K"], valid: Bool[Array, " K"]) -> Float[Array, " K"]:
            words, usable = digit(params, belief, observation, slot)
            listed = ((offered[:, None] == words) & usable).any(-1)
            keyword = params.lexicon.keyword_words[observation.keywords[slot]]
            anything = (offered >= 0) & (offered < nouns) & (offered != keyword)
            drawn = jnp.where(usable.any(), listed, anything)
            return log_normalize(jnp.zeros(offered.shape), where=valid & drawn)

        log_p = grid_log_policy(jax.vmap(one)(slots, actions.words, actions.valid))
        return mix_lapse(log_p, params.lapse, actions)

    def sample(key, params: EncoderParams, belief, observation: Observation) -> Int[Array, "3"]:
        slots = jnp.asarray(CODES)[observation.code]
        nouns = params.lexicon.nearest.shape[1]

        def one(uniform: Float[Array, "2"], slot) -> Int[Array, ""]:
            words, usable = digit(params, belief, observation, slot)
            listed = words[pick(uniform[0], usable)]
            keyword = params.lexicon.keyword_words[observation.keywords[slot]]
            anything = jnp.floor(uniform[1] * (nouns - (keyword >= 0))).astype(jnp.int32)
            anything = anything + ((keyword >= 0) & (anything >= keyword))
            return jnp.where(usable.any(), listed, anything)

        playing, lapsing = jax.random.split(key)
        hints = jax.vmap(one)(jax.random.uniform(playing, (LENGTH, 2), jnp.float32), slots).astype(jnp.int32)
        return lapse_to_alternatives(lapsing, params.lapse, hints, alternatives(params, belief, observation))

    return Mind("baseline", init, memoryless, alternatives, log_policy, sample)
