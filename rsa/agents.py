"""Rational Speech Acts: speakers and listeners who reason about each other, to any depth.

Source: Frank & Goodman (2012); Goodman & Frank (2016). The cost stands inside alpha.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from otherminds.inference.logspace import log_normalize, scale
from otherminds.inference.tracing import known
from otherminds.rsa import boolean, checks

Lexicon = Float[Array, "U M"] | Bool[Array, "U M"]
"""Log-degrees of truth, -inf where false; or truth values."""
Scalar = Float[Array, ""] | float
Cost = Float[Array, " U"] | Scalar
"""A cost for every utterance, or one for all, nats."""


class Levels(NamedTuple):
    """Every level of a recursion. Level 0 is literal: its speaker row is that of depth 1."""

    log_speakers: Float[Array, "depth M U"]  # S_1 .. S_depth, normalised over U
    log_listeners: Float[Array, "depth+1 U M"]  # L_0 .. L_depth, normalised over M


def literal_listener(lexicon: Lexicon, log_prior: Float[Array, " M"], allow_empty: bool = False) -> Float[Array, "U M"]:
    """L_0(m | u) proportional to T[u, m] P(m).

    lexicon: [U, M], truth values (bool) or log-degrees of truth (float, nats).   log_prior: [M], normalised.
    allow_empty: an utterance true of no possible meaning is a row of all -inf instead of an error.
    Returns: [U, M] log-probabilities, normalised over M.
    Raises: ValueError if an utterance is true of no meaning that the prior allows, or the prior has another length
        or does not sum to 1, or the lexicon holds NaN (outside jit; inside, an empty row is all -inf).
    Source: Frank & Goodman (2012), Eq. 3.
    """
    checks.log_prior(log_prior, lexicon.shape[-1])
    log_listener = log_normalize(checks.in_logs(lexicon, log_prior) + log_prior)
    return checks.some_support(log_listener, "utterance {} is true of no possible meaning", allow_empty)


def pragmatic_speaker(
    log_listener: Float[Array, "U M"],
    alpha: Scalar,
    cost: Cost = 0.0,
    legal: Bool[Array, " U"] | None = None,
    allow_empty: bool = False,
) -> Float[Array, "M U"]:
    """S_n(u | m) proportional to exp(alpha (log L_{n-1}(m | u) - cost(u))).

    log_listener: [U, M] log-probabilities, normalised over M.
    alpha: rationality, dimensionless, >= 0.   cost: [U], nats.
    legal: [U] True where u may be said.
    allow_empty: a meaning that cannot be said is a row of all -inf instead of an error.
    Returns: [M, U] log-probabilities, normalised over U.
    Raises: ValueError if a meaning has no legal utterance (outside jit; inside, that row is all -inf), if alpha is
        negative, or if cost or legal is not given for every utterance.
    Source: Frank & Goodman (2012), Eq. 2.
    """
    checks.speaking(log_listener.shape[0], alpha, cost, legal)
    log_speaker = log_normalize(scale(alpha, log_listener.T - cost), where=legal)
    return checks.some_support(log_speaker, "meaning {} has no legal utterance", allow_empty)


def pragmatic_listener(log_speaker: Float[Array, "M U"], log_prior: Float[Array, " M"]) -> Float[Array, "U M"]:
    """L_n(m | u) proportional to S_n(u | m) P(m).

    log_speaker: [M, U], normalised over U.   log_prior: [M], normalised.
    Returns: [U, M] log-probabilities, normalised over M; an utterance that no speaker would say (an illegal one)
        is a row of all -inf.
    Source: Frank & Goodman (2012), Eq. 1.
    """
    checks.log_prior(log_prior, log_speaker.shape[0])
    return log_normalize(log_speaker.T + log_prior)


def joint_listener(log_speakers: Float[Array, "X M U"], log_prior: Float[Array, "X M"]) -> Float[Array, "U X M"]:
    """L(x, m | u) proportional to S(u | m, x) P(x, m): a listener who is also unsure of something about the speaker.

    x: whatever the speaker knows beside her meaning: her lexicon, threshold, question under discussion, weights,
        group.
    log_speakers: [X, M, U], normalised over U.   log_prior: [X, M], normalised over both;
        log_p_x[:, None] + log_p_m where the two are independent.
    Returns: [U, X, M] log-probabilities, normalised over X and M together; `logsumexp` over an axis marginalises it.
    """
    if log_prior.shape != log_speakers.shape[:2]:
        raise ValueError(f"log_prior has shape {log_prior.shape} for speakers [X, M, U] of shape {log_speakers.shape}")
    checks.log_prior(log_prior.reshape(-1), log_prior.size, "pair")
    return log_normalize(jnp.moveaxis(log_speakers, -1, 0) + log_prior, axis=(-2, -1))


def listener(
    lexicon: Lexicon,
    log_prior: Float[Array, " M"],
    depth: int,
    alpha: Scalar = 1.0,
    cost: Cost = 0.0,
    legal: Bool[Array, " U"] | None = None,
    allow_empty: bool = False,
) -> Float[Array, "U M"]:
    """L_depth alone, in the memory of one level. Arguments and errors as `recursion`, but depth 0 is allowed."""
    lexicon = _checked(lexicon, log_prior, depth, alpha, cost, legal, allow_empty, least=0)
    return _listener(lexicon, log_prior, depth, alpha, cost, legal)


def speaker(
    lexicon: Lexicon,
    log_prior: Float[Array, " M"],
    depth: int,
    alpha: Scalar = 1.0,
    cost: Cost = 0.0,
    legal: Bool[Array, " U"] | None = None,
    allow_empty: bool = False,
) -> Float[Array, "M U"]:
    """S_depth alone, in the memory of one level. Arguments and errors as `recursion`."""
    lexicon = _checked(lexicon, log_prior, depth, alpha, cost, legal, allow_empty)
    return _speaker(lexicon, log_prior, depth, alpha, cost, legal)


def recursion(
    lexicon: Lexicon,
    log_prior: Float[Array, " M"],
    depth: int,
    alpha: Scalar = 1.0,
    cost: Cost = 0.0,
    legal: Bool[Array, " U"] | None = None,
    allow_empty: bool = False,
) -> Levels:
    """L_0, S_1, L_1 .. S_depth, L_depth: every level, by one scan, so that compile time does not grow with depth.

    lexicon: [U, M], truth values (bool), or log-degrees of truth (float, nats; -inf is false). A large Boolean lexicon
        takes the fast path of `rsa.boolean`, equal to rounding: inside jit when it comes as bool, outside also when
        it comes as 0 and -inf.
    log_prior: [M], normalised.
    depth: static, >= 1; take any level of the result with a traced index.
    alpha: rationality, dimensionless, >= 0.   cost: [U], nats.   legal: [U] True where u may be said.
    allow_empty: an utterance true of no possible meaning, and a meaning that cannot be said, are rows of all -inf
        instead of an error.
    Raises: ValueError for such a row by its number, a prior of another length or that does not sum to 1, NaN in the
        lexicon (outside jit; inside, empty rows are all -inf), or depth < 1.
    Source: Frank & Goodman (2012); Goodman & Frank (2016).
    """
    lexicon = _checked(lexicon, log_prior, depth, alpha, cost, legal, allow_empty)
    return _recursion(lexicon, log_prior, depth, alpha, cost, legal)


def levels_above(
    log_listener: Float[Array, "U M"],
    log_prior: Float[Array, " M"],
    steps: int,
    alpha: Scalar = 1.0,
    cost: Cost = 0.0,
    legal: Bool[Array, " U"] | None = None,
) -> tuple[Float[Array, "steps M U"], Float[Array, "steps+1 U M"]]:
    """The speakers and listeners that reason, one about the other, from a listener upwards; she is the first of them.

    log_listener: [U, M], normalised over M.   steps: static, >= 0.   Other arguments as `recursion`; what cannot be
        said is a row of all -inf.
    """

    def level(log_listener, _):
        log_speaker = pragmatic_speaker(log_listener, alpha, cost, legal, allow_empty=True)
        log_listener = pragmatic_listener(log_speaker, log_prior)
        return log_listener, (log_speaker, log_listener)

    _, (speakers, listeners) = jax.lax.scan(level, log_listener, None, length=steps)
    return speakers, jnp.concatenate([log_listener[None], listeners])


def listener_at(levels: Levels, depth: Int[Array, ""] | int) -> Float[Array, "U M"]:
    """L_depth of a recursion; depth may be traced."""
    checks.index("depth", depth, levels.log_listeners.shape[0])
    return levels.log_listeners[depth]


def _checked(lexicon, log_prior, depth, alpha, cost, legal, allow_empty, least=1) -> Lexicon:
    """The lexicon, as truth values where the fast path may take it, after the checks that values allow."""
    if not isinstance(depth, int | np.integer):
        raise ValueError(f"depth={depth}: a static whole number; for a traced one take listener_at of a recursion")
    if depth < least:
        raise ValueError(f"depth={depth}: it must be at least {least}" + "; depth 0 is literal_listener" * (least == 1))
    if lexicon.dtype != bool:
        checks.in_logs(lexicon)
    checks.log_prior(log_prior, lexicon.shape[-1])
    checks.speaking(lexicon.shape[0], alpha, cost, legal)
    if not allow_empty:
        checks.sayable(lexicon, log_prior, cost, legal)
    if known(lexicon) and lexicon.dtype != bool and _is_large(lexicon):
        values = np.asarray(lexicon)
        truth = values == 0
        return jnp.asarray(truth) if (truth | (values == -np.inf)).all() else lexicon
    return lexicon


def _is_large(lexicon) -> bool:
    """From about here two products a level are faster than two softmaxes."""
    return lexicon.size >= 64 * 64


@partial(jax.jit, static_argnames="depth")
def _listener(lexicon, log_prior, depth, alpha, cost, legal):
    def general(lexicon, legal, log_prior, alpha, cost):
        return _last_level(lexicon, log_prior, depth, alpha, cost, legal)

    return _either(lexicon, log_prior, depth, alpha, cost, legal, general, lambda p: boolean.listener_at(p, depth))


@partial(jax.jit, static_argnames="depth")
def _speaker(lexicon, log_prior, depth, alpha, cost, legal):
    def general(lexicon, legal, log_prior, alpha, cost):
        return pragmatic_speaker(_last_level(lexicon, log_prior, depth - 1, alpha, cost, legal), alpha, cost, legal)

    return _either(lexicon, log_prior, depth, alpha, cost, legal, general, lambda p: boolean.speaker_at(p, depth))


@partial(jax.jit, static_argnames="depth")
def _recursion(lexicon, log_prior, depth, alpha, cost, legal):
    def general(lexicon, legal, log_prior, alpha, cost):
        literal = literal_listener(checks.in_logs(lexicon, log_prior, alpha, cost), log_prior)
        return Levels(*levels_above(literal, log_prior, depth, alpha, cost, legal))

    def fast(potentials):
        at_levels = partial(jax.vmap, in_axes=(None, 0))
        return Levels(
            at_levels(boolean.speaker_at)(potentials, jnp.arange(1, depth + 1)),
            at_levels(boolean.listener_at)(potentials, jnp.arange(depth + 1)),
        )

    return _either(lexicon, log_prior, depth, alpha, cost, legal, general, fast)


def _either(lexicon, log_prior, depth, alpha, cost, legal, general, fast):
    """fast(potentials) for a large Boolean lexicon, value and gradient where each is exact, else the general path."""
    dtype = jnp.result_type(log_prior, alpha, cost)
    parameters = [jnp.asarray(x, dtype) for x in (log_prior, alpha, cost)]
    if lexicon.dtype != bool or not _is_large(lexicon):
        return general(lexicon, legal, *parameters)

    def potentials(lexicon, legal, log_prior, alpha, cost, product=boolean.log_product_forward):
        return boolean.recursion(lexicon, log_prior, depth, alpha, cost, legal, product)

    def forward(*arguments):
        made = potentials(*arguments)
        exact = boolean.is_exact(made)
        return jax.lax.cond(exact, lambda: fast(made), lambda: general(*arguments)), (arguments, exact)

    def backward(residuals, cotangent):
        """Forward once more: cheaper than to keep what either path would need."""
        (*fixed, log_prior, alpha, cost), exact = residuals
        parameters = log_prior, alpha, cost

        def gradient(path):
            return jax.vjp(lambda *parameters: path(*fixed, *parameters), *parameters)[1](cotangent)

        exact = exact & boolean.has_exact_gradient(dtype, depth, alpha)
        of_fast = lambda *arguments: fast(potentials(*arguments, boolean.log_product))  # noqa: E731
        return None, None, *jax.lax.cond(exact, lambda: gradient(of_fast), lambda: gradient(general))

    chosen = jax.custom_vjp(lambda *arguments: forward(*arguments)[0])
    chosen.defvjp(forward, backward)
    return chosen(lexicon, legal, *parameters)


def _last_level(lexicon, log_prior, depth, alpha, cost, legal):
    def level(carry, _):
        log_said, _ = carry
        log_listener = log_normalize(log_said + log_prior)
        return (pragmatic_speaker(log_listener, alpha, cost, legal).T, log_listener), None

    # A small lexicon takes the last listener from one step more, whose speaker is not used: XLA runs a small loop as
    # one kernel, while a loop of one step would fall apart into kernels that each cost more than the work in them.
    steps = depth + (lexicon.size <= 1024)
    log_lexicon = checks.in_logs(lexicon, log_prior, alpha, cost)
    (log_said, log_listener), _ = jax.lax.scan(level, (log_lexicon, log_lexicon), None, length=steps)
    return log_listener if steps > depth else log_normalize(log_said + log_prior)
