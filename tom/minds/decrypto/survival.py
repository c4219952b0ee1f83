"""What a turn is worth to the encoder's side: the probability of surviving the game."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from otherminds.games.decrypto.rules import TOKENS_TO_LOSE
from otherminds.inference.logspace import logsumexp


def log_survival(
    turns_left: Int[Array, ""],
    miscommunication_risk: Float[Array, ""] | float,
    interception_risk: Float[Array, ""] | float,
) -> Float[Array, "3 3"]:
    """log V(m, i): the log-probability of surviving `turns_left` more turns with m and i tokens.

    The two risks are what the encoder expects of a later turn, the same for every turn: in closed form,
    V(m, i) = P(fewer than 2 - m miscommunications) P(fewer than 2 - i interceptions), both binomial.
    Returns: [3, 3], indexed by tokens; -inf at two tokens of either.
    """

    def log_fewer(risk) -> Float[Array, "3"]:
        left = turns_left.astype(jnp.float32)
        none = left * jnp.log1p(-risk)
        one = jnp.log(jnp.maximum(left, 1)) + jnp.log(risk) + (left - 1) * jnp.log1p(-risk)
        at_most_one = jnp.where(left > 0, jnp.logaddexp(none, one), 0.0)
        return jnp.stack([at_most_one, none, jnp.float32(-jnp.inf)])

    return log_fewer(miscommunication_risk)[:, None] + log_fewer(interception_risk)


def log_expected_survival(
    log_decoded: Float[Array, "..."],
    log_intercepted: Float[Array, "..."],
    log_value: Float[Array, "3 3"],
    miscommunications: Int[Array, ""],
    interceptions: Int[Array, ""],
) -> Float[Array, "..."]:
    """log E[V(next tokens)] over the four outcomes of a turn; decoder and interceptor guess independently.

    log_decoded, log_intercepted: log-probabilities that decoder and interceptor are right, any one shape.
    log_value: V after this turn, from `log_survival`.   miscommunications, interceptions: tokens so far.
    """
    lost = TOKENS_TO_LOSE

    def value(more_misses: int, more_interceptions: int) -> Float[Array, ""]:
        return log_value[
            jnp.minimum(miscommunications + more_misses, lost), jnp.minimum(interceptions + more_interceptions, lost)
        ]

    log_missed, log_safe = log_complement(log_decoded), log_complement(log_intercepted)
    outcomes = [
        log_decoded + log_safe + value(0, 0),
        log_missed + log_safe + value(1, 0),
        log_decoded + log_intercepted + value(0, 1),
        log_missed + log_intercepted + value(1, 1),
    ]
    return logsumexp(jnp.stack(outcomes), 0)


def log_complement(log_p: Float[Array, "..."]) -> Float[Array, "..."]:
    """log(1 - p), exact near both ends; -inf at p = 1."""
    certain = log_p >= 0
    below = jnp.where(certain, -1.0, log_p)
    near_one = below > -jnp.log(2.0)
    log_q = jnp.where(
        near_one,
        jnp.log(-jnp.expm1(jnp.where(near_one, below, -1.0))),
        jnp.log1p(-jnp.exp(jnp.where(near_one, -1.0, below))),
    )
    return jnp.where(certain, -jnp.inf, log_q)
