"""A guesser scores each hint under each slot, adds up the scores of a code, and chooses among the codes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax.nn import logsumexp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from otherminds.games.decrypto.rules import CODES, LENGTH, SLOTS, Observation, codes_used
from otherminds.inference.logspace import log_normalize, scale
from otherminds.inference.scoring import lapsed, with_lapse
from otherminds.tom.mind import Mind, draw

Rule = str  # "softmax" or "argmax"; anything else is a ValueError
BARRED = -1e30
"""Stands for -inf inside the sum over codes, where a row may be barred as a whole and still needs a gradient (of 0)."""

TIE = 1e-5
"""Scores that differ by less are a tie, relative to their size (at least 1). The same word hinted twice makes exact
ties, which rounding would otherwise break differently from one batch size to the next."""


class Choice(NamedTuple):
    """How scores become a guess."""

    alpha: Float[Array, ""] | float = 1.0  # inverse temperature, per unit of score, of "softmax" and of `slot_log_p`
    lapse: Float[Array, ""] | float = 0.0  # probability of a uniformly random code
    sharpness: Float[Array, ""] | float = 10.0  # per unit of score; see `Guesser.grid_log_p`


def slot_log_p(scores: Float[Array, "... 4"], choice: Choice) -> Float[Array, "... 4"]:
    """[..., 4] log-probability that a hint alone is put down to each slot: softmax of alpha times its scores."""
    return log_normalize(scale(choice.alpha, scores))


@dataclass(frozen=True)
class Guesser(Mind):
    """A mind for decoder or interceptor whose score of a code is the sum of its hints' scores under its slots.

    slot_scores(params, belief, hints: [...]) -> [..., 4]: the score of a hint under each slot. For the minds with
        a posterior these are log-likelihoods, nats, up to a constant of the hint.
    guess_log_p(params, belief, hints: [3], used: [24]) -> [24]: log-probabilities of its guesses.
    grid_log_p(params, scores: [3, K, 4], code, used: [24]) -> [K^3]: for an encoder who nests this guesser, the
        log-probability that it guesses `code` from each combination of K hints a digit. A hard rule ("argmax") is
        taken as a softmax of inverse temperature `sharpness`, so that hints that are barely safe are worth less
        than those that are safely so.
    exposure(params, belief, hints: [3, K], scores: [3, K, 4], slots: [3], keywords: [4]) -> [3, K]: how near this
        guesser would come to the slot's true keyword once it has seen the hint revealed, between 0 and 1. scores:
        its slot scores of the hints. 0 for decoders.
    informed: whether it knows the keywords whatever its role: an interceptor who is thought to know the secret.
    """

    slot_scores: Callable[..., Float[Array, "... 4"]] | None = None
    guess_log_p: Callable[..., Float[Array, "24"]] | None = None
    grid_log_p: Callable[..., Float[Array, " A"]] | None = None
    exposure: Callable[..., Float[Array, "3 K"]] | None = None
    informed: bool = False


def code_scores(slot_scores: Float[Array, "... 3 4"]) -> Float[Array, "... 24"]:
    """[..., 24] the sum over a code's positions of the score of that hint under that digit."""
    return sum(slot_scores[..., i, CODES[:, i]] for i in range(LENGTH))


def choose(
    scores: Float[Array, " 24"], choice: Choice, rule: Rule, possible: Bool[Array, " 24"]
) -> Float[Array, " 24"]:
    """Log-probabilities of the guesses from code scores.

    rule: "softmax" (probability proportional to exp(alpha score); with log-likelihood scores and alpha = 1 the
        posterior over the codes), or "argmax" (the best code; ties to the lexicographically first).
    possible: [24] codes considered. The lapse goes to all 24, which are all legal guesses.
    Returns: [24], normalised.
    """
    allowed = jnp.where(possible, scores, -jnp.inf)
    if rule == "softmax":
        log_p = log_normalize(scale(choice.alpha, allowed))
    else:
        best = allowed.max()
        first = jnp.argmax(allowed >= best - TIE * jnp.maximum(jnp.abs(best), 1))
        log_p = jnp.where(jnp.arange(len(CODES)) == first, 0.0, -jnp.inf)
    return with_lapse(log_p, choice.lapse)


def grid_log_total(slot_scores: Float[Array, "3 K 4"], possible: Bool[Array, " 24"]) -> Float[Array, " A"]:
    """[K^3] log sum over the possible codes of exp(score of the code), for every combination of K hints a digit.

    The sum over codes is taken a digit at a time (a sum over the third digit is shared by all first hints, and so
    on): about 4 K^3 terms instead of 24 K^3.
    """
    log_allowed = jnp.full((SLOTS,) * LENGTH, BARRED).at[tuple(CODES.T)].set(jnp.where(possible, 0.0, BARRED))
    first, second, third = slot_scores
    over_third = logsumexp(third + log_allowed[:, :, None], -1)  # [4, 4, K]: digits one and two, hint three
    over_second = logsumexp(second.T[:, :, None] + over_third[:, :, None], 1)  # [4, K, K]: digit one, hints two, three
    return logsumexp(first.T[:, :, None, None] + over_second[:, None], 0).reshape(-1)


def grid_score(slot_scores: Float[Array, "3 K 4"], code: Int[Array, ""]) -> Float[Array, " A"]:
    """[K^3] the score of one code for every combination of K hints a digit."""
    digits = jnp.asarray(CODES)[code]
    first, second, third = jnp.take_along_axis(slot_scores, digits[:, None, None], -1)[..., 0]
    return (first[:, None, None] + second[:, None] + third).reshape(-1)


def codes_considered(used: Bool[Array, " 24"], exclude_used: bool) -> Bool[Array, " 24"]:
    """[24] the codes that a guesser thinks possible: all, or (`exclude_used`) those that were not used yet."""
    return ~used if exclude_used else jnp.ones_like(used)


def policy_over_codes(guess: Callable[..., Float[Array, " 24"]]) -> tuple[Callable[..., Any], ...]:
    """`alternatives`, `log_policy` and `sample` of a mind that guesses.

    guess(params, belief, observation) -> [24], log-probabilities of its guesses.
    """

    def alternatives(params, belief, observation: Observation) -> Int[Array, " 24"]:
        del params, belief, observation
        return jnp.arange(len(CODES), dtype=jnp.int32)

    def log_policy(params, belief, observation: Observation, actions: Int[Array, " A"]) -> Float[Array, " A"]:
        log_p = guess(params, belief, observation)[jnp.maximum(actions, 0)]
        return log_normalize(jnp.where(actions < 0, -jnp.inf, log_p))

    def sample(key: PRNGKeyArray, params, belief, observation: Observation) -> Int[Array, ""]:
        return draw(key, guess(params, belief, observation)).astype(jnp.int32)

    return alternatives, log_policy, sample


def make_guesser(
    name: str,
    init: Callable[..., Any],
    update: Callable[..., Any],
    slot_scores: Callable[..., Array],
    *,
    rule: Rule,
    exclude_used: bool,
    exposure: Callable[..., Array] | None = None,
    readout: Callable[..., dict[str, Array]] | None = None,
    to_codes: Callable[[Array], Array] = code_scores,
) -> Guesser:
    """The guesser with the given belief and scores. `params.choice` is its Choice.

    exclude_used: whether it knows that codes never repeat.
    to_codes: [..., 3, 4] slot scores to [..., 24] code scores, for one that does not add them up.
    """
    if rule not in ("softmax", "argmax"):
        raise ValueError(f"rule={rule!r}: it is 'softmax' or 'argmax'")

    def guess_log_p(params, belief, hints: Int[Array, "3"], used: Bool[Array, " 24"]) -> Float[Array, " 24"]:
        scores = to_codes(slot_scores(params, belief, hints))
        return choose(scores, params.choice, rule, codes_considered(used, exclude_used))

    def grid_log_p(params, scores: Float[Array, "3 K 4"], code, used: Bool[Array, " 24"]) -> Float[Array, " A"]:
        choice, possible = params.choice, codes_considered(used, exclude_used)
        alpha = choice.alpha if rule == "softmax" else choice.sharpness
        if to_codes is code_scores:
            sharp = scale(alpha, scores)
            log_p = grid_score(sharp, code) - grid_log_total(sharp, possible)
        else:
            places = jnp.stack(jnp.meshgrid(*[jnp.arange(scores.shape[1])] * LENGTH, indexing="ij"), -1)
            all_codes = to_codes(scores[jnp.arange(LENGTH), places.reshape(-1, LENGTH)])
            log_p = log_normalize(scale(alpha, all_codes), where=possible)[:, code]
        log_p = jnp.where(possible[code], log_p, -jnp.inf)
        return lapsed(log_p, choice.lapse, -jnp.log(float(len(CODES))))

    def of_observation(params, belief, observation: Observation) -> Float[Array, " 24"]:
        return guess_log_p(params, belief, observation.hints, codes_used(observation.history))

    alternatives, log_policy, sample = policy_over_codes(of_observation)

    def codes_readout(params, belief, observation: Observation) -> dict[str, Array]:
        own = readout(params, belief, observation) if readout is not None else {}
        return {"code": of_observation(params, belief, observation), **own}

    def no_exposure(params, belief, hints: Int[Array, "3 K"], scores, slots, keywords) -> Float[Array, "3 K"]:
        del params, belief, scores, slots, keywords
        return jnp.zeros(hints.shape)

    return Guesser(
        name=name,
        init=init,
        update=update,
        alternatives=alternatives,
        log_policy=log_policy,
        sample=sample,
        readout=codes_readout,
        slot_scores=slot_scores,
        guess_log_p=guess_log_p,
        grid_log_p=grid_log_p,
        exposure=exposure or no_exposure,
    )
