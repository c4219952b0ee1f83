"""A guesser scores each hint under each slot, adds up the scores of a code, and chooses among the codes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from otherminds.games.decrypto.rules import CODES, LENGTH, Observation, codes_used
from otherminds.inference.logspace import log_normalize, logsumexp, scale
from otherminds.inference.scoring import with_lapse
from otherminds.tom.mind import Mind

Rule = Literal["softmax", "argmax"]

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
        taken as sigmoid(-sharpness margin), margin = best other code's score less this code's, so that a hint that
        is barely safe is worth less than one that is safely so.
    exposure(params, belief, hints: [3, K], scores: [3, K, 4], slots: [3], keywords: [4]) -> [3, K]: how near this
        guesser would come to the slot's true keyword once it has seen the hint revealed, between 0 and 1. scores:
        its slot scores of the hints. 0 for decoders.
    """

    slot_scores: Callable[..., Float[Array, "... 4"]] | None = None
    guess_log_p: Callable[..., Float[Array, "24"]] | None = None
    grid_log_p: Callable[..., Float[Array, " A"]] | None = None
    exposure: Callable[..., Float[Array, "3 K"]] | None = None


def code_scores(slot_scores: Float[Array, "... 3 4"]) -> Float[Array, "... 24"]:
    """[..., 24] the sum over a code's positions of the score of that hint under that digit."""
    return sum(slot_scores[..., i, CODES[:, i]] for i in range(LENGTH))


def grid_code_scores(slot_scores: Float[Array, "3 K 4"]) -> Float[Array, "24 A"]:
    """[24, K^3] the code scores of every combination of K hints a digit."""
    first, second, third = (slot_scores[i][:, CODES[:, i]].T for i in range(LENGTH))
    return (first[:, :, None, None] + second[:, None, :, None] + third[:, None, None, :]).reshape(len(CODES), -1)


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


def choose_on_grid(
    scores: Float[Array, "24 A"], choice: Choice, rule: Rule, possible: Bool[Array, " 24"], code: Int[Array, ""]
) -> Float[Array, " A"]:
    """[A] log-probability of guessing `code` in each of A cases, a hard rule smoothed (see `Guesser.grid_log_p`)."""
    allowed = jnp.where(possible[:, None], scores, -jnp.inf)
    own = scores[code]
    if rule == "softmax":
        log_p = scale(choice.alpha, own) - logsumexp(scale(choice.alpha, allowed), 0)
    else:
        best_other = jnp.where(jnp.arange(len(CODES))[:, None] == code, -jnp.inf, allowed).max(0)
        log_p = jax.nn.log_sigmoid(choice.sharpness * (own - best_other))
    log_p = jnp.where(possible[code], log_p, -jnp.inf)
    return jnp.where(choice.lapse > 0, jnp.log((1 - choice.lapse) * jnp.exp(log_p) + choice.lapse / len(CODES)), log_p)


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

    def considered(used: Bool[Array, " 24"]) -> Bool[Array, " 24"]:
        return ~used if exclude_used else jnp.ones_like(used)

    def guess_log_p(params, belief, hints: Int[Array, "3"], used: Bool[Array, " 24"]) -> Float[Array, " 24"]:
        scores = to_codes(slot_scores(params, belief, hints))
        return choose(scores, params.choice, rule, considered(used))

    def grid_log_p(params, scores: Float[Array, "3 K 4"], code, used: Bool[Array, " 24"]) -> Float[Array, " A"]:
        if to_codes is code_scores:
            grid = grid_code_scores(scores)
        else:
            k = scores.shape[1]
            places = jnp.stack(jnp.meshgrid(*[jnp.arange(k)] * LENGTH, indexing="ij"), -1).reshape(-1, LENGTH)
            grid = to_codes(scores[jnp.arange(LENGTH), places]).T
        return choose_on_grid(grid, params.choice, rule, considered(used), code)

    def alternatives(params, belief, observation: Observation) -> Int[Array, " 24"]:
        del params, belief, observation
        return jnp.arange(len(CODES), dtype=jnp.int32)

    def of_observation(params, belief, observation: Observation) -> Float[Array, " 24"]:
        return guess_log_p(params, belief, observation.hints, codes_used(observation.history))

    def log_policy(params, belief, observation: Observation, actions: Int[Array, " A"]) -> Float[Array, " A"]:
        log_p = of_observation(params, belief, observation)[jnp.maximum(actions, 0)]
        return log_normalize(jnp.where(actions < 0, -jnp.inf, log_p))

    def sample(key: PRNGKeyArray, params, belief, observation: Observation) -> Int[Array, ""]:
        return jax.random.categorical(key, of_observation(params, belief, observation)).astype(jnp.int32)

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
