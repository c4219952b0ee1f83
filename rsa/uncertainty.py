"""Lexical uncertainty: a listener who is unsure which lexicon the speaker uses.

L_1(m | u) is proportional to P(m) sum_x P(x) S_1(u | m, x). A few lexica are an array [X, U, M], and the sum is
`population.mixture_speaker` of their speakers; very many are a function of their number, summed chunk by chunk by
`streamed_speaker`. `agents.pragmatic_listener` of the sum is L_1, and `recursion_above` goes on from there.
Sources: Bergen, Levy & Goodman (2016); Smith, Goodman & Frank (2013); Levy & Potts (2015). X counts lexica.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from numpy.typing import ArrayLike

from otherminds.inference.logspace import log_normalize, logsumexp, scale
from otherminds.rsa import agents, checks


def lexicon_speakers(
    log_lexica: Float[Array, "X U M"],
    log_prior: Float[Array, " M"],
    alpha: Float[Array, ""] | float = 1.0,
    cost: Float[Array, " U"] | float = 0.0,
    legal: Bool[Array, " U"] | None = None,
    allow_empty: bool = False,
) -> Float[Array, "X M U"]:
    """S_1(u | m, x) proportional to exp(alpha (log L_0(m | u, x) - cost(u))), for every lexicon x.

    log_lexica: [X, U, M], nats.   log_prior: [M], normalised.   alpha: rationality, >= 0.   cost: [U], nats.
    legal: [U] True where u may be said.
    allow_empty: rows of all -inf for what cannot be said or is true of nothing, instead of an error.
    Returns: [X, M, U] log-probabilities, normalised over U.
    Raises: ValueError if, under some lexicon, an utterance is true of no possible meaning or a meaning cannot be
        said (outside jit; inside, that row is all -inf).
    """
    checks.log_prior(log_prior, log_lexica.shape[-1])
    checks.speaking(log_lexica.shape[-2], alpha, cost, legal)
    log_lexica = checks.in_logs(log_lexica, log_prior)
    log_listeners = log_normalize(log_lexica + log_prior)
    checks.some_support(log_listeners, "in lexicon {}, utterance {} is true of no possible meaning", allow_empty)
    utility = jnp.swapaxes(log_listeners, -1, -2) - cost
    log_speakers = log_normalize(scale(alpha, utility), where=legal)
    return checks.some_support(log_speakers, "in lexicon {}, meaning {} has no legal utterance", allow_empty)


def streamed_speaker(
    lexicon_at: Callable[[Array], Array],
    count: int,
    log_prior: Float[Array, " M"],
    alpha: Float[Array, ""] | float = 1.0,
    cost: Float[Array, " U"] | float = 0.0,
    legal: Bool[Array, " U"] | None = None,
    log_p_lexicon: Float[Array, " X"] | None = None,
    chunk: int | None = None,
) -> Float[Array, "M U"]:
    """S(u | m) = sum_x P(x) S_1(u | m, x) over `count` lexica that are made from their number, in bounded memory.

    lexicon_at: x, a scalar int32 from 0 to count - 1, to the lexicon: Bool [U, M] where u is true of m, or
        Float [U, M] log T. It may close over traced parameters.   count: static, below 2^31.
    log_prior, alpha, cost, legal: as in `lexicon_speakers`.   log_p_lexicon: [count], normalised; default uniform.
    chunk: lexica evaluated at once; static; default about 2^18 entries. Gradients re-evaluate each chunk.
    Returns: [M, U] log-probabilities, as `population.mixture_speaker`. A lexicon under which a meaning cannot
        be said lends that row nothing: the row falls short of 1 by the probability of those lexica.
    Raises: ValueError for a count or chunk out of range, or a prior of the wrong length.
    """
    shape = jax.eval_shape(lexicon_at, jax.ShapeDtypeStruct((), jnp.int32))
    if len(shape.shape) != 2 or not (shape.dtype == bool or jnp.issubdtype(shape.dtype, jnp.floating)):
        raise ValueError(f"lexicon_at gives {shape.dtype}{list(shape.shape)}; it gives bool or log T, [U, M]")
    checks.log_prior(log_prior, shape.shape[1])
    checks.speaking(shape.shape[0], alpha, cost, legal)
    if log_p_lexicon is not None:
        checks.log_prior(log_p_lexicon, count, "lexicon")
    chunk = max(256, 2**18 // int(np.prod(shape.shape))) if chunk is None else chunk
    if not 0 < count < 2**31 - chunk or chunk < 1:
        raise ValueError(f"count={count}, chunk={chunk}: both must be at least 1, and their sum below 2^31")
    chunk = min(chunk, count)
    kind = jnp.result_type(log_prior)
    alpha = jnp.asarray(alpha, kind)
    cost = jnp.broadcast_to(jnp.asarray(cost, kind), shape.shape[:1])
    legal = jnp.ones(shape.shape[:1], bool) if legal is None else legal
    starts = jnp.arange(0, count, chunk, dtype=jnp.int32)

    def lexica_from(start):
        """Lexica [U, M, x] and their log P [x]; the lexicon is the last axis, so that every step is vectorised."""
        number = start + jnp.arange(chunk, dtype=jnp.int32)
        inside = jnp.minimum(number, count - 1)
        log_p = jnp.full(chunk, -np.log(count), kind) if log_p_lexicon is None else log_p_lexicon[inside]
        return jax.vmap(lexicon_at, out_axes=-1)(inside), jnp.where(number < count, log_p, -jnp.inf)

    def over_chunks(add, initial):
        # Saved for the gradient is where a chunk starts, not its lexica.
        chunked = jax.checkpoint(lambda total, start: add(total, *lexica_from(start)), prevent_cse=False)
        return jax.lax.scan(lambda total, start: (chunked(total, start), None), initial, starts)[0]

    sayable = legal[:, None] & (log_prior != -jnp.inf)

    # With r(u) = sum_m T P(m), L_0(m | u) = T P(m) / r(u). P(m) cancels where S_1 is normalised over u, which leaves
    # S_1(u | m) proportional to (T / (r(u) exp(cost(u))))^alpha.

    def in_logs():
        def add(log_total, lexica, log_p):
            log_t = jnp.where(lexica, 0.0, -jnp.inf).astype(kind) if lexica.dtype == bool else lexica
            log_t = jnp.where(sayable[..., None], log_t, -jnp.inf)
            log_r = logsumexp(log_t + log_prior[:, None], 1)
            price = jnp.where(log_r > -jnp.inf, log_r + cost[:, None], 0.0)
            utility = scale(alpha, log_t - price[:, None])
            log_z = logsumexp(utility, 0)
            log_speaker = utility - jnp.where(log_z > -jnp.inf, log_z, 0.0)
            return logsumexp(jnp.stack([log_total, logsumexp(log_speaker + log_p)]), 0)

        return over_chunks(add, jnp.full(shape.shape, -jnp.inf, kind))

    def boolean_in_range():
        # T^alpha is T, so that no cell needs a log or an exp of its own.
        p = jnp.exp(log_prior)

        def add(total, lexica, log_p):
            truth = (lexica & sayable[..., None]).astype(kind)
            r = jnp.sum(truth * p[:, None], 1)
            utility = -jnp.log(jnp.where(r > 0, r, 1.0)) - (cost - jax.lax.stop_gradient(jnp.min(cost)))[:, None]
            w = jnp.where(r > 0, jnp.exp(scale(alpha, utility)), 0.0)
            z = jnp.sum(truth * w[:, None], 0)
            share = jnp.where(z > 0, jnp.exp(log_p) / jnp.where(z > 0, z, 1.0), 0.0)
            return total + truth * (w[:, None] * share)

        total = over_chunks(add, jnp.zeros((*shape.shape, chunk), kind)).sum(-1)
        return jnp.where(total > 0, jnp.log(jnp.where(total > 0, total, 1.0)), -jnp.inf)

    if shape.dtype == bool:
        rarest = -jnp.min(jnp.where(log_prior > -jnp.inf, log_prior, 0.0))  # the least r(u) is exp(-rarest)
        spread = alpha * _spread(cost) + jnp.maximum(alpha, 1.0) * rarest
        spread += 0.0 if log_p_lexicon is None else _spread(log_p_lexicon)
        # Well inside the exponents of the float: nothing that is possible underflows. Beyond, in logs.
        safe = 0.7 * -np.log(float(jnp.finfo(kind).tiny))
        log_average = jax.lax.cond(spread < safe, boolean_in_range, in_logs)
    else:
        log_average = in_logs()
    return log_average.T


def _spread(x: Array) -> Array:
    """Largest finite entry less the smallest."""
    finite = jnp.isfinite(x)
    spread = jnp.max(jnp.where(finite, x, -jnp.inf)) - jnp.min(jnp.where(finite, x, jnp.inf))
    return jnp.where(jnp.any(finite), spread, 0.0)


def refinements(
    truth: ArrayLike, refinable: ArrayLike | None = None
) -> tuple[Callable[[Array], Bool[Array, "U M"]], int]:
    """Every strengthening of a lexicon: each utterance true of a nonempty subset of the meanings it is true of.

    truth: [U, M], Boolean.   refinable: [U] True where u may be strengthened; default all (a null message is not).
    Returns: (lexicon_at, count) for `streamed_speaker`; count = product over u of (2^(meanings of u) - 1); the last
        lexicon is `truth` itself. `jax.vmap(lexicon_at)(jnp.arange(count))` is the array of them all.
    Raises: ValueError if an utterance is true of nothing, or there are 2^31 refinements or more.
    Source: Bergen, Levy & Goodman (2016).
    """
    truth = np.asarray(truth, bool)
    if truth.ndim != 2 or not truth.any(1).all():
        raise ValueError(f"truth has shape {truth.shape}; it is [utterances, meanings], each utterance true somewhere")
    refinable = np.ones(len(truth), bool) if refinable is None else np.asarray(refinable, bool)
    sizes = [2 ** int(n) - 1 if free else 1 for n, free in zip(truth.sum(1), refinable, strict=True)]
    strides = [int(np.prod(sizes[:u], dtype=object)) for u in range(len(sizes) + 1)]
    count = strides[-1]
    if count >= 2**31 - 2**18:
        raise ValueError(f"{count} refinements are too many; make some utterances not refinable")
    rank = np.cumsum(truth, 1) - 1  # place of a meaning among those of its utterance: its bit
    stride, size = np.int32(strides[:-1]), np.int32(sizes)

    def lexicon_at(number: Int[Array, ""] | int) -> Bool[Array, "U M"]:
        subset = jnp.asarray(number) // stride % size + 1
        kept = (subset[:, None] >> np.maximum(rank, 0)) & 1 == 1
        return truth & (kept | ~refinable[:, None])

    return lexicon_at, count


class LevelsAbove(NamedTuple):
    """Agents above a first pragmatic listener."""

    log_speakers: Float[Array, "depth-1 M U"]  # S_2 .. S_depth, normalised over U
    log_listeners: Float[Array, "depth U M"]  # L_1 .. L_depth, normalised over M


def recursion_above(
    log_listener: Float[Array, "U M"],
    log_prior: Float[Array, " M"],
    depth: int,
    alpha: Float[Array, ""] | float = 1.0,
    cost: Float[Array, " U"] | float = 0.0,
    legal: Bool[Array, " U"] | None = None,
) -> LevelsAbove:
    """S_n(u | m) proportional to exp(alpha (log L_{n-1}(m | u) - cost(u))) and L_n, from n = 2, given L_1.

    log_listener: [U, M], L_1, in which the lexicon is already summed out. With `population.mixture_listener` of
        literal listeners in its place, nobody at any level knows the lexicon (Smith, Goodman & Frank 2013).
    depth: static, >= 1.
    Raises: ValueError if depth < 1.
    Source: Bergen, Levy & Goodman (2016).
    """
    if depth < 1:
        raise ValueError(f"depth={depth}: the listener that is given has depth 1")
    return LevelsAbove(*agents.levels_above(log_listener, log_prior, depth - 1, alpha, cost, legal))


def anxious_listener(
    log_speakers: Float[Array, "X M U"], log_prior: Float[Array, " M"], log_p_lexicon: Float[Array, " X"]
) -> Float[Array, "U X M"]:
    """L(x, m | u) = P(x | u) L_1(m | u, x), where P(x | u) is proportional to P(x) sum_m S_1(u | m, x).

    The listener thinks that everybody but she knows the lexicon. The sum has no P(m): with it, this would be
    `agents.joint_listener`, and it is where the prior over meanings is uniform.
    log_speakers: [X, M, U], normalised over U.   log_prior: [M], normalised.   log_p_lexicon: [X], normalised.
    Returns: [U, X, M], normalised over X and M together; `logsumexp` over axis 1 is her reading.
    Source: Smith, Goodman & Frank (2013), in the one-shot form of Levy & Potts (2015).
    """
    checks.log_prior(log_prior, log_speakers.shape[1])
    checks.log_prior(log_p_lexicon, log_speakers.shape[0], "lexicon")
    log_said = jnp.moveaxis(log_speakers, -1, 0)  # [U, X, M]
    log_lexicon = log_normalize(logsumexp(log_said) + log_p_lexicon)
    return log_lexicon[..., None] + log_normalize(log_said + log_prior)


def expert_speaker(
    log_joint: Float[Array, "U X M"],
    alpha: Float[Array, ""] | float = 1.0,
    cost: Float[Array, " U"] | float = 0.0,
    meaning_weight: Float[Array, ""] | float = 1.0,
    lexicon_weight: Float[Array, ""] | float = 1.0,
) -> Float[Array, "X M U"]:
    """S(u | m, x) proportional to exp(alpha (w_m log L(m | u) + w_x log L(x | u) - cost(u))).

    A speaker who wants her meaning understood, and her lexicon taken up.
    log_joint: [U, X, M], normalised over X and M together.   alpha: >= 0.   cost: [U], nats.
    meaning_weight, lexicon_weight: >= 0; at lexicon_weight 0 every lexicon is spoken alike.
    Returns: [X, M, U], normalised over U.
    Source: Levy & Potts (2015), expertise speaker.
    """
    checks.speaking(log_joint.shape[0], alpha, cost)
    log_meaning = scale(meaning_weight, logsumexp(log_joint, 1))  # [U, M]
    log_lexicon = scale(lexicon_weight, logsumexp(log_joint, 2))  # [U, X]
    utility = log_meaning.T[None] + log_lexicon.T[:, None] - cost
    return log_normalize(scale(alpha, utility))


class ExpertLevels(NamedTuple):
    """Agents who talk about the meaning and the lexicon at once."""

    log_speakers: Float[Array, "depth-1 X M U"]  # S_2 .. S_depth, normalised over U
    log_listeners: Float[Array, "depth U X M"]  # L_1 .. L_depth, normalised over X and M together


def expert_recursion(
    log_speakers: Float[Array, "X M U"],
    log_prior: Float[Array, " M"],
    log_p_lexicon: Float[Array, " X"],
    depth: int,
    alpha: Float[Array, ""] | float = 1.0,
    cost: Float[Array, " U"] | float = 0.0,
    meaning_weight: Float[Array, ""] | float = 1.0,
    lexicon_weight: Float[Array, ""] | float = 1.0,
) -> ExpertLevels:
    """Anxious experts: `anxious_listener`, then in turn `expert_speaker` and the listener who inverts her.

    log_speakers: [X, M, U], S_1.   depth: static, >= 1.   Other arguments: as there.
    Raises: ValueError if depth < 1.
    Source: Levy & Potts (2015).
    """
    if depth < 1:
        raise ValueError(f"depth={depth}: the anxious listener has depth 1")
    first = anxious_listener(log_speakers, log_prior, log_p_lexicon)

    def level(log_joint, _):
        log_speakers = expert_speaker(log_joint, alpha, cost, meaning_weight, lexicon_weight)
        log_joint = agents.joint_listener(log_speakers, log_p_lexicon[:, None] + log_prior)
        return log_joint, (log_speakers, log_joint)

    _, (speakers, listeners) = jax.lax.scan(level, first, None, length=depth - 1)
    return ExpertLevels(speakers, jnp.concatenate([first[None], listeners]))
