"""Fast recursion over a Boolean lexicon: every level is two matrix-vector products.

With T in {0, 1} every listener keeps the form L_n(m | u) = T[u, m] exp(r_n(u) + c_n(m)), and every speaker
S_n(u | m) = T[u, m] exp(x_n(u) - Z_n(m)):

    r_0 = -log sum_m T P(m)          c_0 = log P
    x_n = alpha (r_{n-1} - cost)     Z_n = log sum_u T exp(x_n)
    c_n = log P - Z_n                r_n = -log sum_m T exp(c_n)

so a level costs two products with T instead of two softmaxes over [U, M]. Three things keep it exact:
- r and c grow with alpha and depth while their sums stay small, so they are kept as double words;
- a sum of exp over a row is taken in windows below the largest exponent, one product a window, until every row has
  met its own largest term: nothing underflows at any range, and nearly always one window does;
- its derivative is again such a product (`custom_vjp`), exact where a plain one would be 0 times infinity.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from otherminds.inference.double_word import DoubleWord, add, from_float, multiply, negate, to_float


class Potentials(NamedTuple):
    """All levels of a recursion in factored form; the matrices are made on demand.

    Axis 0 is the level: listeners 0 .. depth, speakers 1 .. depth.
    """

    truth: Bool[Array, "U M"]  # true, and possible under the prior
    said: Bool[Array, " U"]  # may be said at all
    listener_utterance: DoubleWord  # r: [depth+1, U]
    listener_meaning: DoubleWord  # c: [depth+1, M]
    speaker_utterance: DoubleWord  # x: [depth, U]
    speaker_meaning: DoubleWord  # Z: [depth, M]


def recursion(
    truth: Bool[Array, "U M"],
    log_prior: Float[Array, " M"],
    depth: int,
    alpha: Float[Array, ""] | float,
    cost: Float[Array, " U"] | Float[Array, ""] | float,
    legal: Bool[Array, " U"] | None,
    product: Callable[[int, Array, DoubleWord], DoubleWord],
) -> Potentials:
    """The potentials of L_0, S_1, L_1 .. S_depth, L_depth. Arguments as `agents.recursion`; depth >= 0, static.

    product: `log_product`, which has a rule for reverse mode, or `log_product_forward`.
    """
    dtype = jnp.result_type(log_prior, alpha, cost)
    log_prior = log_prior.astype(dtype)
    possible = log_prior != -jnp.inf
    truth = truth & possible
    matrix = truth.astype(dtype)
    cost = jnp.broadcast_to(jnp.asarray(cost, dtype), truth.shape[:1])
    alpha = jnp.asarray(alpha, dtype)
    said = (cost < jnp.inf) & (True if legal is None else legal)
    prior = from_float(jnp.where(possible, log_prior, -jnp.inf))
    price = from_float(jnp.where(said, -cost, 0.0))

    def listener(meaning):
        said_of = product(1, matrix, meaning)
        return _where(said_of.high != -jnp.inf, negate(said_of), 0.0)  # 0: no row of it is possible, whatever r

    def level(utterance, _):
        # A shift of r changes no agent; it keeps numbers and their gradients near 0.
        utterance = _where(said, utterance, 0.0)
        shift = -jax.lax.stop_gradient(jnp.sum(utterance.high) / jnp.maximum(jnp.sum(said), 1))
        x = multiply(add(add(utterance, from_float(shift)), price), alpha)
        z = product(0, matrix, _where(said, x, -jnp.inf))
        meaning = _where(z.high != -jnp.inf, add(prior, negate(z)), -jnp.inf)
        utterance = listener(meaning)
        return utterance, (x, z, meaning, utterance)

    first = listener(prior)
    _, (x, z, meaning, utterance) = jax.lax.scan(level, first, None, length=depth)
    stack = partial(jax.tree.map, lambda start, rest: jnp.concatenate([start[None], rest]))
    return Potentials(truth, said, stack(first, utterance), stack(prior, meaning), x, z)


def is_exact(potentials: Potentials) -> Bool[Array, ""]:
    """Whether the double words still hold the differences between potentials to a hundredth of a nat.

    Potentials grow like alpha^depth. Beyond this range the general path is no nearer to the truth, but its rows at
    least sum to 1.
    """
    bits = 2 * jnp.finfo(potentials.speaker_utterance.high.dtype).nmant
    return _all_below(jnp.max(jnp.abs(potentials.speaker_utterance.high)), 1e-2 * 2.0**bits)


def has_exact_gradient(dtype: jnp.dtype, depth: int, alpha: Float[Array, ""]) -> Bool[Array, ""]:
    """Whether the gradient of the potentials is exact: its cotangents are single words, and grow like alpha^depth."""
    return _all_below(jnp.maximum(alpha, 1.0) ** depth, 1e-3 * 2.0 ** jnp.finfo(dtype).nmant)


def _all_below(x: Array, limit: float) -> Bool[Array, ""]:
    """x < limit; under vmap, in the whole batch, so that a `cond` on it remains one."""

    @jax.custom_batching.custom_vmap
    def below(x):
        return jnp.all(x < limit)  # False for NaN

    @below.def_vmap
    def _(_, __, x):
        return below(x), False

    return below(jax.lax.stop_gradient(x))


def listener_at(potentials: Potentials, level: Int[Array, ""] | int) -> Float[Array, "U M"]:
    """L_level, level 0 to depth (it may be traced): [U, M], normalised over M."""
    pick = partial(jax.tree.map, lambda x: x[level])
    heard = potentials.truth & (potentials.said | (jnp.asarray(level) == 0))[:, None]
    utterance, meaning = pick(potentials.listener_utterance), pick(potentials.listener_meaning)
    return _outer(heard, utterance, meaning)


def speaker_at(potentials: Potentials, level: Int[Array, ""] | int) -> Float[Array, "M U"]:
    """S_level, level 1 to depth (it may be traced): [M, U], normalised over U."""
    pick = partial(jax.tree.map, lambda x: x[level - 1])
    sayable = (potentials.truth & potentials.said[:, None]).T
    utterance, meaning = pick(potentials.speaker_utterance), pick(potentials.speaker_meaning)
    return _outer(sayable, negate(meaning), utterance)


def _outer(allowed: Array, rows: DoubleWord, columns: DoubleWord) -> Array:
    """The sum of a row and a column potential where it is allowed, elsewhere -inf."""
    finite = allowed & (rows.high[:, None] != jnp.inf) & (columns.high != -jnp.inf)
    rows = _where(jnp.abs(rows.high) != jnp.inf, rows, 0.0)
    columns = _where(jnp.abs(columns.high) != jnp.inf, columns, 0.0)
    total = (rows.high[:, None] + columns.high) + (rows.low[:, None] + columns.low)
    return jnp.where(finite, total, -jnp.inf)


def _where(condition: Array, x: DoubleWord, otherwise: float) -> DoubleWord:
    return DoubleWord(jnp.where(condition, x.high, otherwise), jnp.where(condition, x.low, 0.0))


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def log_product(axis: int, matrix: Float[Array, "U M"], log_x: DoubleWord) -> DoubleWord:
    """log of the sum over `axis` of matrix exp(log_x), at any range.

    axis: summed over: 1, log sum_m matrix[u, m] exp(log_x[m]); 0, log sum_u matrix[u, m] exp(log_x[u]).
    matrix: [U, M], 0 and 1.   log_x: [M] or [U], nats; -inf allowed.
    Returns: [U] or [M], nats; -inf where nothing is possible.
    """
    return log_product_forward(axis, matrix, log_x)


def log_product_forward(axis: int, matrix: Float[Array, "U M"], log_x: DoubleWord) -> DoubleWord:
    """`log_product` without its rule for reverse mode: for forward mode, and for values alone."""
    top, total = _sum_of_exp(axis, matrix, log_x, None)
    some = total > 0
    return _where(some, add(top, _log(jnp.where(some, total, 1.0))), -jnp.inf)


def _forward(axis, matrix, log_x):
    log_y = log_product_forward(axis, matrix, log_x)  # so that it has second derivatives, by forward over reverse
    return log_y, (matrix, log_x, log_y)


def _backward(axis, residuals, cotangent):
    """d log y_i / d log x_j = matrix exp(log_x_j - log_y_i), summed over i with the cotangents g_i.

    The g_i enter as log |g_i| and a sign, so that large and small ones keep their weight beside each other.
    """
    matrix, log_x, log_y = residuals
    g = cotangent.high
    counts = (g != 0) & (log_y.high != -jnp.inf)
    log_size = _log(jnp.where(counts, jnp.abs(g), 1.0))
    weight = _where(counts, add(log_size, negate(_where(counts, log_y, 0.0))), -jnp.inf)
    top, total = _sum_of_exp(1 - axis, matrix, weight, jnp.sign(g))
    possible = (log_x.high != -jnp.inf) & (total != 0)
    exponent = to_float(add(_where(possible, top, 0.0), _where(possible, log_x, 0.0)))
    gradient = jnp.where(possible, total * jnp.exp(exponent), 0.0)
    return jnp.zeros_like(matrix), DoubleWord(gradient, jnp.zeros_like(gradient))


log_product.defvjp(_forward, _backward)


def _sum_of_exp(axis: int, matrix: Array, log_x: DoubleWord, sign: Array | None) -> tuple[DoubleWord, Array]:
    """top and total with total exp(top) = sum over `axis` of matrix sign exp(log_x).

    A window reaches from a top down to where float underflows. A row whose own largest term lies in its upper part is
    done: what it misses is below the rounding of that term. The others go on with the largest entry below that part.
    """
    floor = jnp.log(jnp.finfo(log_x.high.dtype).tiny)  # -87 in float32
    upper = 0.7 * floor

    def window(carry):
        top, total, done, rest = carry
        peak = jnp.argmax(rest)
        here = DoubleWord(rest[peak], log_x.low[peak])
        below = add(_where(rest != -jnp.inf, log_x, -jnp.inf), negate(here))
        inside = below.high > floor
        x = jnp.where(inside, jnp.exp(jnp.where(inside, below.high, 0.0)) * (1 + below.low), 0.0)
        size = _dot(axis, matrix, x)
        value = size if sign is None else _dot(axis, matrix, x * sign)
        met = ~done & (size > 0.999 * jnp.exp(upper))
        top = DoubleWord(jnp.where(met, here.high, top.high), jnp.where(met, here.low, top.low))
        return top, jnp.where(met, value, total), done | met, jnp.where(below.high < upper, rest, -jnp.inf)

    def unfinished(carry):
        _, _, done, rest = carry
        return ~jnp.all(done) & jnp.any(rest != -jnp.inf)

    nothing = jnp.zeros(matrix.shape[1 - axis], log_x.high.dtype)
    start = (from_float(nothing), nothing, nothing > 0, log_x.high)
    top, total, _, _ = jax.lax.while_loop(unfinished, window, start)
    return top, total


def _log(x: Array) -> DoubleWord:
    """log x, to the accuracy of exp near 0 also where the log itself is large."""
    log_x = jnp.log(x)
    rest = x * jnp.exp(-log_x) - 1
    return add(from_float(log_x), from_float(jax.lax.stop_gradient(jnp.where(jnp.isfinite(rest), rest, 0.0))))


def _dot(axis: int, matrix: Array, x: Array) -> Array:
    # never matrix.T: XLA copies it at every step of a loop
    left, right = (matrix, x) if axis == 1 else (x, matrix)
    return jnp.matmul(left, right, precision=jax.lax.Precision.HIGHEST)  # a GPU would round to TF32
