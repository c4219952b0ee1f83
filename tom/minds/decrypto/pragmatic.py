"""A pragmatic decoder: which code would an encoder, who thinks of both guessers, have said this for?"""

from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from otherminds.games.decrypto.rules import CODES, Observation, Role, View, codes_used, imagine
from otherminds.inference.logspace import log_normalize
from otherminds.tom.mind import Mind, draw
from otherminds.tom.minds.decrypto.guesser import Choice, Rule, choose
from otherminds.tom.minds.decrypto.hints import join


class PragmaticParams(NamedTuple):
    """What a pragmatic decoder is made of."""

    encoder: Any  # params of the encoder that it imagines
    choice: Choice = Choice()


@cache
def pragmatic_decoder(encoder: Mind, *, rule: Rule = "softmax", exclude_used: bool = True) -> Mind:
    """L_1(c | h) proportional to P(c) S_1(h | c), P uniform over the unused codes.

    S_1 is the encoder's own policy, over her alternatives for code c joined with the hints that were given.
    encoder: the mind of order one less that it holds, given the view that it imagines her to have.
    Source: Frank & Goodman (2012), Eq. 1; Lupu, Willi & Foerster (2025), appendix H.
    """

    def init(params: PragmaticParams, memory, view: View):
        return encoder.init(params.encoder, memory, imagine(view, Role.ENCODER, view.keywords))

    def update(params: PragmaticParams, belief, event):
        return encoder.update(params.encoder, belief, event)

    def guess_log_p(params: PragmaticParams, belief, observation: Observation) -> Float[Array, " 24"]:
        def log_speaker(code: Int[Array, ""]) -> Float[Array, ""]:
            imagined = observation._replace(role=jnp.int32(Role.ENCODER), code=code, hints=jnp.full(3, -1, jnp.int32))
            hint_set = join(encoder.alternatives(params.encoder, belief, imagined), observation.hints)
            return encoder.log_policy(params.encoder, belief, imagined, hint_set)[-1]

        scores = jax.lax.map(log_speaker, jnp.arange(len(CODES)))
        used = codes_used(observation.history)
        return choose(scores, params.choice, rule, ~used if exclude_used else jnp.ones_like(used))

    def alternatives(params, belief, observation: Observation) -> Int[Array, " 24"]:
        del params, belief, observation
        return jnp.arange(len(CODES), dtype=jnp.int32)

    def log_policy(params, belief, observation: Observation, actions: Int[Array, " A"]) -> Float[Array, " A"]:
        log_p = guess_log_p(params, belief, observation)[jnp.maximum(actions, 0)]
        return log_normalize(jnp.where(actions < 0, -jnp.inf, log_p))

    def sample(key: PRNGKeyArray, params, belief, observation: Observation) -> Int[Array, ""]:
        return draw(key, guess_log_p(params, belief, observation)).astype(jnp.int32)

    def readout(params, belief, observation: Observation) -> dict[str, Array]:
        return {"code": guess_log_p(params, belief, observation)}

    return Mind("pragmatic", init, update, alternatives, log_policy, sample, readout)
