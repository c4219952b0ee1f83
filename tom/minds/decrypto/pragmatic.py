"""A pragmatic decoder: which code would an encoder, who thinks of both guessers, have said this for?"""

from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from otherminds.games.decrypto.rules import CODES, Observation, Role, View, codes_used, imagine
from otherminds.tom.mind import Mind
from otherminds.tom.minds.decrypto.guesser import Choice, Rule, choose, codes_considered, policy_over_codes
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
        possible = codes_considered(codes_used(observation.history), exclude_used)
        return choose(scores, params.choice, rule, possible)

    alternatives, log_policy, sample = policy_over_codes(guess_log_p)

    def readout(params, belief, observation: Observation) -> dict[str, Array]:
        return {"code": guess_log_p(params, belief, observation)}

    return Mind("pragmatic", init, update, alternatives, log_policy, sample, readout)
