"""Speakers and listeners as the two hands of one optimisation.

V_L(u, m) = log L(m | u) - cost(u) is what saying u is worth. Vanilla RSA climbs G = H_S(U | M) + alpha E_S[V_L]; a
speaker who minds the rate of the channel descends F = I_S(M; U) - alpha E_S[V_L] = H_S(U) - G.
Source: Zaslavsky, Hu & Levy (2021).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from otherminds.inference.logspace import entropy, expectation, log_normalize, logsumexp, scale
from otherminds.rsa import agents, checks


def expected_utility(
    log_speaker: Float[Array, "M U"],
    log_listener: Float[Array, "U M"],
    log_prior: Float[Array, " M"],
    cost: Float[Array, " U"] | float = 0.0,
) -> Float[Array, ""]:
    """E_S[V_L] = sum P(m) S(u | m) (log L(m | u) - cost(u)), nats; -inf if she says what L cannot understand.

    log_speaker: [M, U], normalised over U.   log_listener: [U, M], normalised over M.
    log_prior: [M], normalised.   cost: [U], nats.
    """
    checks.log_prior(log_prior, log_speaker.shape[0])
    checks.speaking(log_listener.shape[0], 1.0, cost)
    log_joint = log_speaker + log_prior[:, None]
    utility = log_listener.T - cost
    lost = jnp.any((log_joint != -jnp.inf) & (utility == -jnp.inf))
    # -inf is taken out of the sum and put back, so that no gradient meets it
    mean = expectation(log_joint, jnp.where(utility == -jnp.inf, 0.0, utility), (-2, -1))
    return jnp.where(lost, -jnp.inf, mean)


def gain(
    log_speaker: Float[Array, "M U"],
    log_listener: Float[Array, "U M"],
    log_prior: Float[Array, " M"],
    alpha: Float[Array, ""] | float = 1.0,
    cost: Float[Array, " U"] | float = 0.0,
) -> Float[Array, ""]:
    """G[S, L] = H_S(U | M) + alpha E_S[V_L], nats; what vanilla RSA climbs.

    Arguments: as in `expected_utility`; alpha >= 0, dimensionless.
    Source: Zaslavsky, Hu & Levy (2021).
    """
    checks.at_least_0("alpha", alpha)
    checks.log_prior(log_prior, log_speaker.shape[0])
    effort = expectation(log_prior, entropy(log_speaker))
    return effort + scale(alpha, expected_utility(log_speaker, log_listener, log_prior, cost))


def rate_distortion_loss(
    log_speaker: Float[Array, "M U"],
    log_listener: Float[Array, "U M"],
    log_prior: Float[Array, " M"],
    alpha: Float[Array, ""] | float = 1.0,
    cost: Float[Array, " U"] | float = 0.0,
) -> Float[Array, ""]:
    """F[S, L] = I_S(M; U) - alpha E_S[V_L] = H_S(U) - G[S, L], nats; what rate-distortion RSA descends.

    Arguments: as in `gain`.
    Source: Zaslavsky, Hu & Levy (2021).
    """
    return entropy(said(log_speaker, log_prior)) - gain(log_speaker, log_listener, log_prior, alpha, cost)


def said(log_speaker: Float[Array, "M U"], log_prior: Float[Array, " M"]) -> Float[Array, " U"]:
    """S(u) = sum_m P(m) S(u | m): how often each utterance is heard. [U], normalised."""
    checks.log_prior(log_prior, log_speaker.shape[0])
    return logsumexp(log_speaker + log_prior[:, None], 0)


def rate_distortion_speaker(
    log_listener: Float[Array, "U M"],
    log_said: Float[Array, " U"],
    alpha: Float[Array, ""] | float = 1.0,
    cost: Float[Array, " U"] | float = 0.0,
    allow_empty: bool = False,
) -> Float[Array, "M U"]:
    """S(u | m) proportional to S(u) exp(alpha (log L(m | u) - cost(u))).

    log_listener: [U, M], normalised over M.   log_said: [U], normalised: how often she says u at all.
    alpha: >= 0.   cost: [U], nats.   allow_empty: a row of all -inf where a meaning cannot be said, not an error.
    Returns: [M, U], normalised over U; `agents.pragmatic_speaker` where log_said is uniform.
    Raises: ValueError if a meaning cannot be said (outside jit).
    Source: Zaslavsky, Hu & Levy (2021).
    """
    checks.log_prior(log_said, log_listener.shape[0], "utterance", "log_said")
    checks.speaking(log_listener.shape[0], alpha, cost)
    log_speaker = log_normalize(log_said + scale(alpha, log_listener.T - cost))
    return checks.some_support(log_speaker, "meaning {} cannot be said", allow_empty)


class Iterates(NamedTuple):
    """S_1, L_1 .. S_depth, L_depth with the objective after every half step."""

    log_speakers: Float[Array, "depth M U"]  # normalised over U
    log_listeners: Float[Array, "depth U M"]  # normalised over M
    after_speaker: Float[Array, " depth"]  # objective at (S_n, L_{n-1}), nats
    after_listener: Float[Array, " depth"]  # objective at (S_n, L_n), nats


def maximise_gain(
    log_listener: Float[Array, "U M"],
    log_prior: Float[Array, " M"],
    depth: int,
    alpha: Float[Array, ""] | float = 1.0,
    cost: Float[Array, " U"] | float = 0.0,
    legal: Bool[Array, " U"] | None = None,
) -> Iterates:
    """Alternating maximisation of G[S, L]: its iterates are those of vanilla RSA, its objective `gain`, never falls.

    log_listener: [U, M], L_0, normalised over M.   log_prior: [M], normalised.   depth: static, >= 1.
    alpha: >= 0.   cost: [U], nats.   legal: [U] True where u may be said.
    Raises: ValueError if a meaning has no legal utterance (outside jit), or depth < 1.
    Source: Zaslavsky, Hu & Levy (2021).
    """
    agents.pragmatic_speaker(log_listener, alpha, cost, legal)  # names a meaning that cannot be said

    def speak(log_listener, log_said):
        return agents.pragmatic_speaker(log_listener, alpha, cost, legal)

    def objective(log_speaker, log_listener):
        return gain(log_speaker, log_listener, log_prior, alpha, cost)

    return _alternate(speak, objective, log_listener, log_prior, depth)


def minimise_rate_distortion(
    log_listener: Float[Array, "U M"],
    log_prior: Float[Array, " M"],
    depth: int,
    alpha: Float[Array, ""] | float = 1.0,
    cost: Float[Array, " U"] | float = 0.0,
) -> Iterates:
    """Rate-distortion RSA: S, S(u) and L in turn, from uniform S(u); its objective `rate_distortion_loss`, never rises.

    Arguments and errors: as in `maximise_gain`. The first speaker is that of vanilla RSA. Without costs, alpha = 1
    is critical: I(M; U) pays for all that is understood, and the iterates stay where they are from S_1 on.
    Source: Zaslavsky, Hu & Levy (2021).
    """
    uniform = jnp.full(log_listener.shape[0], -jnp.log(log_listener.shape[0]), log_listener.dtype)
    rate_distortion_speaker(log_listener, uniform, alpha, cost)  # names a meaning that cannot be said

    def speak(log_listener, log_said):
        return rate_distortion_speaker(log_listener, log_said, alpha, cost)

    def objective(log_speaker, log_listener):
        return rate_distortion_loss(log_speaker, log_listener, log_prior, alpha, cost)

    return _alternate(speak, objective, log_listener, log_prior, depth)


def _alternate(speak, objective, log_listener, log_prior, depth) -> Iterates:
    if depth < 1:
        raise ValueError(f"depth={depth}: there is at least one step")
    checks.log_prior(log_prior, log_listener.shape[1])

    def step(state, _):
        log_listener, log_said = state
        log_speaker = speak(log_listener, log_said)
        answer = agents.pragmatic_listener(log_speaker, log_prior)
        values = objective(log_speaker, log_listener), objective(log_speaker, answer)
        return (answer, said(log_speaker, log_prior)), (log_speaker, answer, *values)

    uniform = jnp.full(log_listener.shape[0], -jnp.log(log_listener.shape[0]), log_listener.dtype)
    return Iterates(*jax.lax.scan(step, (log_listener, uniform), None, length=depth)[1])
