"""Arithmetic on log-probabilities, exact where there are zeros (-inf), with gradients that stay finite there.

Masked values go through `where` twice: once so that no infinity enters a differentiated operation, once so that
the result is right. A row in which nothing is possible comes back as all -inf, never as NaN or as a uniform row.
A NaN that comes in stays visible: what is possible is asked with `!= -inf`, which holds for NaN.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

Axis = int | tuple[int, ...]


def logsumexp(
    log_x: Float[Array, "..."],
    axis: Axis = -1,
    where: Bool[Array, "..."] | None = None,
    keepdims: bool = False,
) -> Float[Array, "..."]:
    """log sum exp(log_x) over `axis` where `where` holds; -inf, with gradient 0, where nothing is possible.

    log_x: any shape, nats; -inf allowed.   where: broadcastable to it, True = counted.
    Returns: the shape without `axis` (kept as 1 with `keepdims`).
    """
    top, _, log_total, possible = _below_the_top(log_x, axis, where)
    result = jnp.where(jnp.any(possible, axis, keepdims=True), log_total + top, -jnp.inf)
    return result if keepdims else jnp.squeeze(result, axis)


def log_normalize(
    log_x: Float[Array, "..."], axis: Axis = -1, where: Bool[Array, "..."] | None = None
) -> Float[Array, "..."]:
    """log of exp(log_x) / sum exp(log_x) over `axis`; entries outside `where` become -inf.

    A row in which nothing is possible stays all -inf: `logsumexp` of it says so.
    """
    _, below, log_total, possible = _below_the_top(log_x, axis, where)
    return jnp.where(possible, below - log_total, -jnp.inf)


def _below_the_top(log_x: Array, axis: Axis, where: Array | None) -> tuple[Array, Array, Array, Array]:
    """The largest entry; log_x less that, 0 where impossible; log sum exp of that; what is possible.

    Rows are normalised below the top, so that values of size 1000 lose no digits of it.
    """
    possible = log_x != -jnp.inf
    if where is not None:
        possible = possible & where
    top = jnp.max(jnp.where(possible, log_x, -jnp.inf), axis=axis, keepdims=True)
    nothing = top == -jnp.inf
    # Adding and subtracting it cancels, so it needs no gradient.
    top = jax.lax.stop_gradient(jnp.where(nothing, 0.0, top))
    below = jnp.where(possible, jnp.where(possible, log_x, 0.0) - top, 0.0)
    # The largest term is 1, so the sum is 0 only where nothing is possible; there its log is made 0.
    total = jnp.sum(jnp.where(possible, jnp.exp(below), 0.0), axis)
    log_total = jnp.log(total + jnp.squeeze(nothing, axis))
    return top, below, jnp.expand_dims(log_total, axis), possible


def scale(alpha: Float[Array, "..."] | float, log_x: Float[Array, "..."]) -> Float[Array, "..."]:
    """alpha * log_x in which what is impossible stays impossible, at alpha = 0 too (the limit from above)."""
    possible = log_x != -jnp.inf
    return jnp.where(possible, alpha * jnp.where(possible, log_x, 0.0), -jnp.inf)


def weighted(weight: Float[Array, "..."] | float, log_x: Float[Array, "..."]) -> Float[Array, "..."]:
    """weight * log_x in which what has no weight is worth 0, even where it is impossible; -inf there with a weight."""
    counts = (weight > 0) | (log_x != -jnp.inf)
    return jnp.where(counts, scale(weight, log_x), 0.0)


def expectation(log_p: Float[Array, "..."], x: Float[Array, "..."], axis: Axis = -1) -> Float[Array, "..."]:
    """sum p x over `axis`, where an outcome of probability 0 adds 0 whatever its x (also infinite)."""
    possible = log_p != -jnp.inf
    p = jnp.where(possible, jnp.exp(jnp.where(possible, log_p, 0.0)), 0.0)
    return jnp.sum(jnp.where(possible, p * jnp.where(possible, x, 0.0), 0.0), axis)


def log_expectation(log_p: Float[Array, "..."], log_x: Float[Array, "..."], axis: Axis = -1) -> Float[Array, "..."]:
    """log sum p x over `axis`, from logs: the mixture of log_x under log_p."""
    return logsumexp(log_p + log_x, axis)


def entropy(log_p: Float[Array, "..."], axis: Axis = -1) -> Float[Array, "..."]:
    """H(p) = -sum p log p over `axis`, nats; p normalised over `axis`."""
    return -expectation(log_p, log_p, axis)


def kl(log_p: Float[Array, "..."], log_q: Float[Array, "..."], axis: Axis = -1) -> Float[Array, "..."]:
    """KL(p || q) = sum p (log p - log q) over `axis`, nats; inf where p allows what q does not."""
    possible = log_p != -jnp.inf
    both = possible & (log_q != -jnp.inf)
    gap = jnp.where(both, jnp.where(both, log_p, 0.0) - jnp.where(both, log_q, 0.0), 0.0)
    impossible = jnp.any(possible & ~both, axis)
    return jnp.where(impossible, jnp.inf, expectation(log_p, gap, axis))


def jsd(log_p: Float[Array, "..."], log_q: Float[Array, "..."], axis: Axis = -1) -> Float[Array, "..."]:
    """Jensen-Shannon divergence (KL(p || m) + KL(q || m)) / 2 with m = (p + q) / 2; 0 to log 2 nats."""
    pair = jnp.stack(jnp.broadcast_arrays(log_p, log_q))
    log_m = logsumexp(pair, 0) - jnp.log(2.0)
    return (kl(log_p, log_m, axis) + kl(log_q, log_m, axis)) / 2
