"""A speaker who is overheard: she wants her listener to understand, and a third party not to."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from otherminds.inference.logspace import log_normalize, scale, weighted
from otherminds.rsa import checks


def eavesdropper_utility(
    log_listener: Float[Array, "..."],
    log_third_party: Float[Array, "..."],
    miscommunication_weight: Float[Array, "..."] | float = 1.0,
    interception_weight: Float[Array, "..."] | float = 1.0,
) -> Float[Array, "..."]:
    """U(u; m) = w_m log P_listener(m | u) - w_i P_third(m | u).

    log_listener, log_third_party: any one shape, what each gives to the true meaning, nats.
    miscommunication_weight, interception_weight: >= 0, broadcastable; they may differ from turn to turn.
    Returns: utilities, nats; -inf where the listener cannot understand and w_m > 0.
    Source: Lupu, Willi & Foerster (2025), appendix H, with a linear interception term.
    """
    return weighted(miscommunication_weight, log_listener) - interception_weight * jnp.exp(log_third_party)


def eavesdropper_speaker(
    log_listener: Float[Array, "U M"],
    log_third_party: Float[Array, "U M"],
    alpha: Float[Array, ""] | float,
    miscommunication_weight: Float[Array, ""] | float = 1.0,
    interception_weight: Float[Array, ""] | float = 1.0,
    cost: Float[Array, " U"] | float = 0.0,
    legal: Bool[Array, " U"] | None = None,
    allow_empty: bool = False,
) -> Float[Array, "M U"]:
    """S(u | m) proportional to exp(alpha (U(u; m) - cost(u))), with `eavesdropper_utility` for U.

    log_listener: [U, M], normalised over M.   log_third_party: [U, M], the third party's posterior.
    alpha: rationality, >= 0.   cost: [U], nats.   legal: [U] True where u may be said.
    allow_empty: a meaning that cannot be said is a row of all -inf instead of an error.
    Returns: [M, U] log-probabilities, normalised over U.
    Raises: ValueError if a meaning cannot be said (outside jit; inside, that row is all -inf), and as
        `agents.pragmatic_speaker`.
    """
    utility = eavesdropper_utility(log_listener.T, log_third_party.T, miscommunication_weight, interception_weight)
    checks.speaking(log_listener.shape[0], alpha, cost, legal)
    log_speaker = log_normalize(scale(alpha, utility - cost), where=legal)
    return checks.some_support(log_speaker, "meaning {} has no legal utterance", allow_empty)
