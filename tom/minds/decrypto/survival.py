"""What a turn is worth to the encoder's side: the probability of surviving the game."""

import jax.numpy as jnp
from jax.scipy.special import xlog1py
from jaxtyping import Array, Float, Int

from otherminds.games.decrypto.rules import TOKENS_TO_LOSE


def log_survival(
    turns_left: Int[Array, ""],
    miscommunication_risk: Float[Array, ""] | float,
    interception_risk: Float[Array, ""] | float,
    token_cost: Float[Array, ""] | float = 0.0,
) -> Float[Array, "3 3"]:
    """log V(m, i): the log-probability of surviving `turns_left` more turns with m and i tokens.

    The two risks are what the encoder expects of a later turn, the same for every turn: in closed form,
    V(m, i) = P(fewer than 2 - m miscommunications) P(fewer than 2 - i interceptions) exp(-token_cost (m + i)), both
    binomial. token_cost, nats, keeps her from spending tokens that the end of the game would forgive.
    Returns: [3, 3], indexed by tokens; -inf at two tokens of either.
    """

    def log_fewer(risk) -> Float[Array, "3"]:
        left = turns_left.astype(jnp.float32)
        none = xlog1py(left, -risk)
        # Exactly one: left risk (1 - risk)^(left - 1). Where it is impossible no logarithm of 0 is differentiated.
        some = (left > 0) & (risk > 0)
        one = xlog1py(jnp.maximum(left - 1, 0), -risk) + jnp.log(jnp.where(some, left * risk, 1.0))
        at_most_one = jnp.where(some, jnp.logaddexp(none, jnp.where(some, one, 0.0)), none)
        return jnp.stack([at_most_one, none, jnp.float32(-jnp.inf)])

    tokens = jnp.arange(TOKENS_TO_LOSE + 1)
    cost = token_cost * (tokens[:, None] + tokens)
    return log_fewer(miscommunication_risk)[:, None] + log_fewer(interception_risk) - cost


def log_expected_survival(
    log_decoded: Float[Array, "..."],
    log_intercepted: Float[Array, "..."],
    log_value: Float[Array, "3 3"],
    miscommunications: Int[Array, ""],
    interceptions: Int[Array, ""],
) -> Float[Array, "..."]:
    """log E[V(next tokens)] over the four outcomes of a turn; decoder and interceptor guess independently.

    -inf where the game is surely lost.

    log_decoded, log_intercepted: log-probabilities that decoder and interceptor are right, any one shape.
    log_value: V after this turn, from `log_survival`.   miscommunications, interceptions: tokens so far.
    """

    def value(more_misses: int, more_interceptions: int) -> Float[Array, ""]:
        tokens = (miscommunications + more_misses, interceptions + more_interceptions)
        return jnp.exp(log_value[tuple(jnp.minimum(count, TOKENS_TO_LOSE) for count in tokens)])

    decoded, intercepted = jnp.exp(log_decoded), jnp.exp(log_intercepted)
    if_decoded = (1 - intercepted) * value(0, 0) + intercepted * value(0, 1)
    if_missed = (1 - intercepted) * value(1, 0) + intercepted * value(1, 1)
    survival = decoded * if_decoded + (1 - decoded) * if_missed
    possible = survival > 0
    return jnp.where(possible, jnp.log(jnp.where(possible, survival, 1.0)), -jnp.inf)
