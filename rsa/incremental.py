"""Word by word: a speaker who chooses the next word, and a listener who interprets what she has heard so far.

The meaning of a prefix is the share of its continuations that are true. Every utterance ends in a stop, so that one
may be the beginning of another. Source: Cohn-Gordon, Goodman & Potts (2019).
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from otherminds.inference.logspace import log_normalize, logsumexp, scale
from otherminds.rsa import agents, checks

STOP = -1  # the token that ends an utterance, and pads it


class Prefixes(NamedTuple):
    """The tree of all prefixes, in NumPy: N nodes, parents before children, node 0 the empty prefix.

    An utterance with its stop is a node too, and a leaf. Padding of paths and children is node 0, which is nobody's
    child.
    """

    token: np.ndarray  # [N] the last word of the prefix; STOP at leaves (and at node 0)
    parent: np.ndarray  # [N] the prefix without it; 0 at node 0
    children: np.ndarray  # [N, C] the prefixes one word longer, padded
    sibling: np.ndarray  # [N] place of the node among its parent's children
    paths: np.ndarray  # [U, L + 1] the nodes of each utterance, word by word and its stop, padded
    extends: np.ndarray  # [N, U] True where the utterance begins with the prefix


def prefixes(tokens: ArrayLike) -> Prefixes:
    """The prefix tree of utterances.

    tokens: [U, L] whole numbers >= 0, word by word, padded with STOP at the end; see `tokenize`.
    Raises: ValueError for an empty utterance, words after a stop, or the same utterance twice.
    """
    tokens = np.asarray(tokens)
    if tokens.ndim != 2 or (tokens < STOP).any():
        raise ValueError(f"tokens has shape {tokens.shape}; it is [utterances, words], words >= 0, {STOP} at the end")
    words = [tuple(int(t) for t in row[row != STOP]) for row in tokens]
    for u, (row, utterance) in enumerate(zip(tokens, words, strict=True)):
        if not utterance or (row[: len(utterance)] == STOP).any():
            raise ValueError(f"utterance {u} is {row.tolist()}; it is one word or more, then {STOP} to the end")
        if utterance in words[:u]:
            raise ValueError(f"utterances {words.index(utterance)} and {u} are the same words")
    node: dict[tuple[int, ...], int] = {(): 0}
    paths = np.zeros((len(words), tokens.shape[1] + 1), np.int32)
    for u, utterance in enumerate(words):
        sentence = (*utterance, STOP)
        for i in range(len(sentence)):
            paths[u, i] = node.setdefault(sentence[: i + 1], len(node))
    parent = np.array([node[prefix[:-1]] for prefix in node], np.int32)
    families = [[n for n in range(1, len(node)) if parent[n] == p] for p in range(len(node))]
    children = np.zeros((len(node), max(map(len, families))), np.int32)
    sibling = np.zeros(len(node), np.int32)
    for p, family in enumerate(families):
        children[p, : len(family)], sibling[family] = family, range(len(family))
    extends = np.zeros((len(node), len(words)), bool)
    extends[0] = True
    for u in range(len(words)):
        extends[paths[u], u] = True
    return Prefixes(np.array([STOP, *(p[-1] for p in node if p)]), parent, children, sibling, paths, extends)


def tokenize(utterances: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """Utterances of words between blanks, as tokens [U, L] for `prefixes`, and the words the tokens stand for."""
    split = [utterance.split() for utterance in utterances]
    words = list(dict.fromkeys(word for utterance in split for word in utterance))
    tokens = np.full((len(split), max(map(len, split), default=0)), STOP)
    for u, utterance in enumerate(split):
        tokens[u, : len(utterance)] = [words.index(word) for word in utterance]
    return tokens, words


def prefix_lexicon(tree: Prefixes, log_lexicon: Float[Array, "U M"]) -> Float[Array, "N M"]:
    """[[c]](m) = mean of T[u, m] over the utterances u that begin with c: how true a beginning is.

    log_lexicon: [U, M], nats, of whole utterances.
    Returns: [N, M], nats; -inf where no continuation is true of m. Their count, which the paper divides by the number
        of continuations true of anything, differs by a factor for each prefix, which L_0 normalises away.
    Source: Cohn-Gordon, Goodman & Potts (2019), section 2.2.
    """
    log_share = jnp.asarray(np.where(tree.extends, -np.log(tree.extends.sum(1, keepdims=True)), -np.inf))
    return logsumexp(log_lexicon + log_share.astype(log_lexicon.dtype)[..., None], 1)


class Words(NamedTuple):
    """Agents over the N prefixes, by depth."""

    log_speakers: Float[Array, "depth N M"]  # S_n(last word of the prefix | the words before, m); 0 at node 0
    log_listeners: Float[Array, "depth+1 N M"]  # L_n(m | words before, last word), normalised over M


def recursion(
    tree: Prefixes,
    log_lexicon: Float[Array, "U M"],
    log_prior: Float[Array, " M"],
    depth: int,
    alpha: Float[Array, ""] | float = 1.0,
    word_cost: Float[Array, " N"] | float = 0.0,
) -> Words:
    """S_n(w | c, m) proportional to exp(alpha (log L_{n-1}(m | c, w) - cost(w))), L_n(m | c, w) to S_n(w | c, m) P(m).

    tree: static, from `prefixes`.   log_lexicon: [U, M], nats.   log_prior: [M], normalised.
    depth: static, >= 1.   alpha: >= 0.   word_cost: [N], nats, of the last word of each prefix, such as
        cost_of_word[tree.token] with 0 for the stop.
    Returns: Words. A meaning that no continuation of c is true of has -inf at all of them; the paper lets the
        speaker choose at random there, but she never gets there.
    Raises: ValueError if a meaning cannot be said or an utterance is true of nothing (outside jit), or depth < 1.
    Source: Cohn-Gordon, Goodman & Potts (2019), with depth, alpha and cost as in `agents.recursion`.
    """
    if depth < 1:
        raise ValueError(f"depth={depth}: a recursion has at least depth 1")
    checks.log_prior(log_prior, log_lexicon.shape[-1])
    checks.speaking(log_lexicon.shape[0], alpha)
    log_lexicon = checks.in_logs(log_lexicon, log_prior)
    checks.some_support(log_lexicon + log_prior, "utterance {} is true of no possible meaning")
    literal = log_normalize(prefix_lexicon(tree, log_lexicon) + log_prior)
    possible = jnp.where(log_prior == -jnp.inf, 0.0, literal[0])
    checks.some_support(possible[:, None], "meaning {} cannot be said")
    word_cost = jnp.broadcast_to(jnp.asarray(word_cost, log_prior.dtype), tree.parent.shape)
    child = jnp.asarray(tree.children > 0)[..., None]

    def level(log_listener, _):
        utility = scale(alpha, log_listener - word_cost[:, None])
        choices = log_normalize(utility[tree.children], 1, where=child)  # [N, C, M]
        log_speaker = choices[tree.parent, tree.sibling].at[0].set(0.0)
        log_listener = log_normalize(log_speaker + log_prior)
        return log_listener, (log_speaker, log_listener)

    _, (speakers, listeners) = jax.lax.scan(level, literal, None, length=depth)
    return Words(speakers, jnp.concatenate([literal[None], listeners]))


def prefix_speaker(tree: Prefixes, log_words: Float[Array, "N M"]) -> Float[Array, "N M"]:
    """S(c | m) = product over the words of c of S(w | the words before, m): the chance that she begins like this.

    log_words: [N, M], one depth of Words.log_speakers.
    Returns: [N, M]; leaves are whole utterances, and sum to 1 over them.
    """
    ancestors = np.zeros((len(tree.parent), tree.paths.shape[1]), np.int32)
    for n in range(1, len(tree.parent)):  # parents come before children
        ancestors[n] = ancestors[tree.parent[n]]
        ancestors[n, np.count_nonzero(ancestors[n])] = n
    return log_words[ancestors].sum(1)  # node 0 pads: log 1


def utterance_speaker(tree: Prefixes, log_words: Float[Array, "N M"]) -> Float[Array, "M U"]:
    """S(u | m) = product over the words of u, its stop included, of S(w | the words before, m).

    log_words: [N, M], one depth of Words.log_speakers.
    Returns: [M, U], normalised over U; `agents.pragmatic_listener` of it interprets whole utterances.
    Source: Cohn-Gordon, Goodman & Potts (2019), S^UTT-IP.
    """
    return log_words[tree.paths].sum(1).T


def prefix_listener(
    tree: Prefixes, log_words: Float[Array, "N M"], log_prior: Float[Array, " M"]
) -> Float[Array, "N M"]:
    """L(m | c) proportional to P(m) S(c | m): what all the words so far say together.

    It differs from Words.log_listeners, which takes the last word by itself as the paper does.
    log_words: [N, M], one depth of Words.log_speakers.   log_prior: [M], normalised.
    Returns: [N, M], normalised over M.
    """
    return agents.pragmatic_listener(prefix_speaker(tree, log_words).T, log_prior)
