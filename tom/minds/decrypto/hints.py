"""The finite sets of hints that encoders choose from: some words for each digit of the code, freely combined."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from otherminds.games.decrypto.rules import CODES, LENGTH, Observation
from otherminds.inference.logspace import logsumexp
from otherminds.inference.scoring import with_lapse
from otherminds.tom.minds.decrypto.lexicon import Lexicon


class HintSet(NamedTuple):
    """K words for each of the three digits of the code at hand; an action is any combination, A = K^3 of them.

    `valid` is False for padding and for a word that stands twice, so that nothing is counted twice.
    """

    words: Int[Array, "3 K"]
    valid: Bool[Array, "3 K"]


def triples(hint_set: HintSet) -> Int[Array, "A 3"]:
    """[K^3, 3] every combination, in the order in which policies list them."""
    return jnp.stack(jnp.meshgrid(*hint_set.words, indexing="ij"), -1).reshape(-1, LENGTH)


def triple_at(hint_set: HintSet, index: Int[Array, ""]) -> Int[Array, "3"]:
    """The combination at `index` of a policy."""
    k = hint_set.words.shape[1]
    places = jnp.stack(jnp.unravel_index(index, (k,) * LENGTH))
    return jnp.take_along_axis(hint_set.words, places[:, None], 1)[:, 0]


def join(hint_set: HintSet, hints: Int[Array, "3"]) -> HintSet:
    """The set with three more words, which become the last of each digit: the combination (K, K, K) of K + 1."""
    repeated = hint_set.words == hints[:, None]
    return HintSet(
        jnp.concatenate([hint_set.words, hints[:, None]], 1),
        jnp.concatenate([hint_set.valid & ~repeated, jnp.ones((LENGTH, 1), bool)], 1),
    )


def sum_out(log_p: Float[Array, " A"], kept: Bool[Array, "3"]) -> Float[Array, " A"]:
    """[K^3] the policy over combinations in which only the `kept` digits' words are told apart.

    The words of the other digits are summed out: every entry holds the total over them.
    """
    k = round(log_p.shape[0] ** (1 / LENGTH))
    grid = log_p.reshape((k,) * LENGTH)
    for digit in range(LENGTH):
        grid = jnp.where(kept[digit], grid, logsumexp(grid, digit, keepdims=True))
    return grid.reshape(-1)


def grid_log_policy(log_p: Float[Array, "3 K"]) -> Float[Array, " A"]:
    """[K^3] the policy of a speaker who chooses the three hints independently. log_p: normalised over K."""
    first, second, third = log_p
    return (first[:, None, None] + second[:, None] + third).reshape(-1)


def grid_mask(hint_set: HintSet) -> Bool[Array, " A"]:
    """[K^3] whether all three words of a combination are valid."""
    first, second, third = hint_set.valid
    return (first[:, None, None] & second[:, None] & third).reshape(-1)


def mix_lapse(log_p: Float[Array, " A"], lapse: Float[Array, ""] | float, hint_set: HintSet) -> Float[Array, " A"]:
    """[K^3] the policy of a speaker who says any valid combination of the set with probability `lapse`."""
    return with_lapse(log_p, lapse, grid_mask(hint_set))


def lapse_to_alternatives(
    key: PRNGKeyArray, lapse: Float[Array, ""] | float, hints: Int[Array, "3"], hint_set: HintSet
) -> Int[Array, "3"]:
    """The hints, or with probability `lapse` a uniformly random valid combination of the set."""
    uniform = jax.random.uniform(key, (1 + LENGTH,), jnp.float32)
    places = jax.vmap(pick)(uniform[1:], hint_set.valid)
    random_hints = jnp.take_along_axis(hint_set.words, places[:, None], 1)[:, 0]
    return jnp.where(uniform[0] < lapse, random_hints, hints)


def pick(uniform: Float[Array, ""], allowed: Bool[Array, " K"]) -> Int[Array, ""]:
    """The place of one of the allowed entries, all equally likely, from a number uniform in [0, 1)."""
    rank = jnp.floor(uniform * allowed.sum())
    return jnp.argmax(jnp.cumsum(allowed) > rank)


def given_before(observation: Observation, words: Int[Array, "..."]) -> Bool[Array, "..."]:
    """Whether a word was a hint in an earlier turn of this game, for whatever digit."""
    return (words[..., None, None] == observation.history.hints).any((-1, -2))


def nearest_pool(lexicon: Lexicon, observation: Observation, pool: int) -> HintSet:
    """The `pool` nouns nearest to each digit's keyword; the keyword itself and words given before are not valid."""
    keywords = observation.keywords[jnp.asarray(CODES)[observation.code]]
    words = lexicon.nearest[keywords, :pool]  # all nouns, if there are no more
    return HintSet(words, _may_be_said(lexicon, observation, keywords, words))


def _may_be_said(lexicon: Lexicon, observation: Observation, keywords, words) -> Bool[Array, "3 K"]:
    return (words != lexicon.keyword_words[keywords][:, None]) & ~given_before(observation, words)


def stratified(key: PRNGKeyArray, lexicon: Lexicon, observation: Observation, *, count: int, pool: int) -> HintSet:
    """`count` words for each digit out of the `pool` nouns nearest to its keyword, one from each of `count` strata.

    The pool, in order of nearness, is cut into `count` equal strata with a random word from each: as random as a
    draw without replacement, but always with some near and some far words. Words that are the keyword, or were
    given before, are not valid.
    """
    keywords = observation.keywords[jnp.asarray(CODES)[observation.code]]
    pool = min(pool, lexicon.nearest.shape[1])
    edges = jnp.arange(count) * pool / count
    ranks = (edges + jax.random.uniform(key, (LENGTH, count), jnp.float32) * (pool / count)).astype(jnp.int32)
    words = lexicon.nearest[keywords[:, None], jnp.minimum(ranks, pool - 1)]
    repeated = jnp.tril(words[:, :, None] == words[:, None], -1).any(-1)  # only where count exceeds the pool
    return HintSet(words, _may_be_said(lexicon, observation, keywords, words) & ~repeated)


def drawn_alternatives(
    lexicon: Lexicon, observation: Observation, *, seed: Int[Array, ""] | int, count: int, pool: int
) -> HintSet:
    """The stratified alternatives of one decision: a function of keywords, turn, code, history and a seed alone.

    Whoever knows the keywords can work them out, so they are common knowledge of minds that are compared.
    """
    key = jax.random.key(seed)
    for part in (*observation.keywords, observation.turn, observation.code):
        key = jax.random.fold_in(key, part)
    return stratified(key, lexicon, observation, count=count, pool=pool)
