"""A rational encoder: she models what decoder and interceptor will make of her hints, and wants to survive.

RSA with an eavesdropper: S(h | c) proportional to exp(alpha U(h; c)) over a finite set of alternatives, U from the
two nested guessers. Who the guessers are she may not know: she holds beliefs over a few hypotheses of each (kinds
of interceptor, noise in the decoder's lexicon) and learns from the guesses that she sees.
Source: Lupu, Willi & Foerster (2025), appendix H.
"""

from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from otherminds.games.decrypto.rules import CODES, Event, Observation, Role, View, imagine
from otherminds.inference import beliefs
from otherminds.inference.logspace import log_expectation, log_normalize, scale
from otherminds.inference.scoring import with_lapse
from otherminds.rsa.eavesdropper import eavesdropper_utility
from otherminds.tom.mind import Mind, draw
from otherminds.tom.minds.decrypto.guesser import Guesser, slot_log_p
from otherminds.tom.minds.decrypto.hints import (
    HintSet,
    drawn_alternatives,
    grid_mask,
    lapse_to_alternatives,
    mix_lapse,
    nearest_pool,
    triple_at,
)
from otherminds.tom.minds.decrypto.lexicon import Lexicon, within_pool
from otherminds.tom.minds.decrypto.survival import log_expected_survival, log_survival


class RationalParams(NamedTuple):
    """What a rational encoder is made of: D hypotheses about the decoder, I about the interceptor."""

    lexicon: Lexicon
    decoders: tuple[Any, ...]  # params of each hypothesis about the decoder
    interceptors: tuple[Any, ...]  # params of each hypothesis about the interceptor
    log_decoder_prior: Float[Array, " D"]
    log_interceptor_prior: Float[Array, " I"]
    alpha: Float[Array, ""] | float = 500.0  # rationality, per nat of utility
    leak_weight: Float[Array, ""] | float = 0.3  # nats lost for each unit that a hint gives away, at turn 1
    surprise: Float[Array, ""] | float = 0.05  # probability of a random guess that she allows when she learns from one
    miscommunication_risk: Float[Array, ""] | float = 0.01  # that she expects of each later turn ("survival")
    interception_risk: Float[Array, ""] | float = 0.15
    token_cost: Float[Array, ""] | float = 0.02  # nats a token, also of one that the end of the game forgives
    miscommunication_weight: Float[Array, " turns"] | float = 1.0  # of log P_decoder, by turn ("weighted")
    interception_weight: Float[Array, " turns"] | float = 3.0  # of P_interceptor, by turn
    misdirection_weight: Float[Array, ""] | float = 0.2  # in what a hint promises, where alternatives are screened
    seed: Int[Array, ""] | int = 0  # of her alternatives, where they are drawn
    lapse: Float[Array, ""] | float = 0.0


class RationalBelief(NamedTuple):
    """What she knows, and what each hypothesis about the others believes by now."""

    keywords: Int[Array, "4"]
    used: Bool[Array, "24"]
    decoders: tuple[Any, ...]
    interceptors: tuple[Any, ...]
    log_decoder: Float[Array, " D"]
    log_interceptor: Float[Array, " I"]


@cache
def rational_encoder(
    decoders: tuple[Guesser, ...],
    interceptors: tuple[Guesser, ...],
    *,
    count: int = 16,
    pool: int = 100,
    screen: bool = False,
    utility: str = "survival",
) -> Mind:
    """The encoder who nests the given guessers.

    count: K, alternatives for each digit; K^3 combinations are weighed.
    pool: R, a hint must be as near to its keyword as the R nearest nouns; others she says by a lapse only.
    screen: False, alternatives are drawn from the pool, one a stratum, by a seed; True, they are the K hints of the
        pool that are most promising by themselves (see `promise`). For large pools, where most words are no hint.
    utility: "survival", U = log E[probability of surviving the game] (see survival.py), or "weighted",
        U = w_m log P_decoder - w_i P_interceptor with weights by turn (see rsa.eavesdropper). Both less the leak.
    Raises: ValueError for another utility, or a pool that is smaller than count.
    """
    if utility not in ("survival", "weighted"):
        raise ValueError(f"utility={utility!r}: it is 'survival' or 'weighted'")
    if pool < count:
        raise ValueError(f"pool={pool} is smaller than k={count}: the pool is where the k alternatives come from")

    def init(params: RationalParams, memory, view: View) -> RationalBelief:
        def nested(guessers, own, role: Role):
            def theirs(mind: Guesser) -> View:
                return imagine(view, Role.DECODER if mind.informed else role, view.keywords)

            return tuple(mind.init(p, None, theirs(mind)) for mind, p in zip(guessers, own, strict=True))

        return RationalBelief(
            view.keywords,
            jnp.zeros(len(CODES), bool),
            nested(decoders, params.decoders, Role.DECODER),
            nested(interceptors, params.interceptors, Role.INTERCEPTOR),
            log_normalize(params.log_decoder_prior),
            log_normalize(params.log_interceptor_prior),
        )

    def update(params: RationalParams, belief: RationalBelief, event: Event) -> RationalBelief:
        def learn(guessers, own, nested, log_types, guess):
            """Which hypothesis foresaw the guess, and what each now believes."""
            log_p = [
                mind.guess_log_p(p, b, event.hints, belief.used)
                for mind, p, b in zip(guessers, own, nested, strict=True)
            ]
            log_p = with_lapse(jnp.stack(log_p), params.surprise)[:, jnp.maximum(guess, 0)]
            learned, log_evidence = beliefs.update(log_types, log_p)
            foreseen = (guess >= 0) & (event.hints >= 0).all() & (log_evidence > -jnp.inf)
            after = tuple(mind.update(p, b, event) for mind, p, b in zip(guessers, own, nested, strict=True))
            return after, jnp.where(foreseen, learned, log_types)

        after_d, log_d = learn(decoders, params.decoders, belief.decoders, belief.log_decoder, event.decoder_guess)
        after_i, log_i = learn(
            interceptors, params.interceptors, belief.interceptors, belief.log_interceptor, event.interceptor_guess
        )
        used = belief.used | (jnp.arange(len(CODES)) == event.code)
        return RationalBelief(belief.keywords, used, after_d, after_i, log_d, log_i)

    def heard(params: RationalParams, belief: RationalBelief, words: Int[Array, "..."]):
        """The slot scores [..., 4] of hints under every hypothesis: for decoders, for interceptors."""
        return tuple(
            tuple(mind.slot_scores(p, b, words) for mind, p, b in zip(guessers, own, nested, strict=True))
            for guessers, own, nested in (
                (decoders, params.decoders, belief.decoders),
                (interceptors, params.interceptors, belief.interceptors),
            )
        )

    def right(guessers, own, scores, log_types, code, used) -> Float[Array, " A"]:
        """[K^3] log-probability that a guesser finds the code, averaged over the hypotheses."""
        log_p = [mind.grid_log_p(p, s, code, used) for mind, p, s in zip(guessers, own, scores, strict=True)]
        return log_p[0] if len(log_p) == 1 else log_expectation(log_types[:, None], jnp.stack(log_p), 0)

    def leak(params: RationalParams, belief: RationalBelief, words, scores, slots) -> Float[Array, "3 K"]:
        """What each hint would give away, averaged over the hypotheses: see `Guesser.exposure`."""
        return sum(
            jnp.exp(log_type) * mind.exposure(p, b, words, s, slots, belief.keywords)
            for mind, p, b, s, log_type in zip(
                interceptors, params.interceptors, belief.interceptors, scores, belief.log_interceptor, strict=True
            )
        )

    def utilities(params: RationalParams, belief: RationalBelief, observation: Observation, words: Int[Array, "3 K"]):
        """[K^3] U of every combination."""
        code, turn, turns = observation.code, observation.turn, observation.history.codes.shape[-1]
        # Barriers: fused into the sums over K^3 combinations, scores would be computed again for each of them.
        to_decoder, to_interceptor = jax.lax.optimization_barrier(heard(params, belief, words))
        log_decoded = right(decoders, params.decoders, to_decoder, belief.log_decoder, code, belief.used)
        log_intercepted = right(
            interceptors, params.interceptors, to_interceptor, belief.log_interceptor, code, belief.used
        )
        log_decoded, log_intercepted = jax.lax.optimization_barrier((log_decoded, log_intercepted))
        if utility == "survival":
            value = log_survival(
                turns - 1 - turn, params.miscommunication_risk, params.interception_risk, params.token_cost
            )
            worth = log_expected_survival(
                log_decoded, log_intercepted, value, observation.miscommunications, observation.interceptions
            )
        else:
            of_turn = [
                jnp.broadcast_to(weight, (turns,))[jnp.minimum(turn, turns - 1)]
                for weight in (params.miscommunication_weight, params.interception_weight)
            ]
            worth = eavesdropper_utility(log_decoded, log_intercepted, *of_turn)
        slots = jnp.asarray(CODES)[code]
        later = (turns - 1 - turn) / max(turns - 1, 1)
        first, second, third = params.leak_weight * later * leak(params, belief, words, to_interceptor, slots)
        return worth - (first[:, None, None] + second[:, None] + third).reshape(-1)

    def promise(params: RationalParams, belief: RationalBelief) -> Float[Array, "N 4"]:
        """How promising each noun is by itself for each slot: the decoder put it down there, the interceptor not.

        log P_decoder(slot | h) + w min(3, -log P_interceptor(slot | h)), both from the hint alone. All nouns at
        once: over a batch of games their scores are then one matrix product.
        """

        def attribution(own, scores, log_types) -> Float[Array, "N 4"]:
            log_p = [slot_log_p(s, p.choice) for p, s in zip(own, scores, strict=True)]
            return log_expectation(log_types, jnp.stack(log_p, -1))

        to_decoder, to_interceptor = heard(params, belief, jnp.arange(params.lexicon.nearest.shape[1]))
        decoded = attribution(params.decoders, to_decoder, belief.log_decoder)
        caught = attribution(params.interceptors, to_interceptor, belief.log_interceptor)
        return decoded + params.misdirection_weight * jnp.minimum(-caught, 3.0)

    def alternatives(params: RationalParams, belief: RationalBelief, observation: Observation) -> HintSet:
        if screen:
            slots = jnp.asarray(CODES)[observation.code]
            words, valid = nearest_pool(params.lexicon, observation, pool)
            ranking = jnp.where(valid, promise(params, belief)[words, slots[:, None]], -jnp.inf)
            best = jax.lax.top_k(ranking, min(count, words.shape[1]))[1]
            return HintSet(*(jnp.take_along_axis(x, best, 1) for x in (words, valid)))
        return drawn_alternatives(params.lexicon, observation, seed=params.seed, count=count, pool=pool)

    def unlapsed(params: RationalParams, belief, observation: Observation, hint_set: HintSet) -> Float[Array, " A"]:
        worth = scale(params.alpha, utilities(params, belief, observation, hint_set.words))
        keywords = observation.keywords[jnp.asarray(CODES)[observation.code]]
        near = within_pool(params.lexicon, hint_set.words, keywords, pool)
        allowed = grid_mask(hint_set._replace(valid=hint_set.valid & near))
        some_hope = (allowed & (worth > -jnp.inf)).any()  # else one combination is as good as another
        return log_normalize(jnp.where(some_hope, worth, 0.0), where=allowed)

    def log_policy(params: RationalParams, belief, observation: Observation, actions: HintSet) -> Float[Array, " A"]:
        return mix_lapse(unlapsed(params, belief, observation, actions), params.lapse, actions)

    def sample(key: PRNGKeyArray, params: RationalParams, belief, observation: Observation) -> Int[Array, "3"]:
        choosing, lapsing = jax.random.split(key)
        hint_set = alternatives(params, belief, observation)
        chosen = draw(choosing, unlapsed(params, belief, observation, hint_set))
        return lapse_to_alternatives(lapsing, params.lapse, triple_at(hint_set, chosen), hint_set).astype(jnp.int32)

    def readout(params: RationalParams, belief: RationalBelief, observation: Observation) -> dict[str, Array]:
        """What she thinks of each hypothesis about the others, and [24] what they will guess from `observation.hints`.

        An encoder's own observation holds no hints of the turn: who asks puts those there that she has given.
        """

        def expected(guessers, own, nested, log_types) -> Float[Array, "24"]:
            log_p = [
                mind.guess_log_p(p, b, observation.hints, belief.used)
                for mind, p, b in zip(guessers, own, nested, strict=True)
            ]
            return log_expectation(log_types[:, None], jnp.stack(log_p), 0)

        return {
            "decoder_type": belief.log_decoder,
            "interceptor_type": belief.log_interceptor,
            "decoder_guess": expected(decoders, params.decoders, belief.decoders, belief.log_decoder),
            "interceptor_guess": expected(
                interceptors, params.interceptors, belief.interceptors, belief.log_interceptor
            ),
        }

    return Mind("rational", init, update, alternatives, log_policy, sample, readout)
