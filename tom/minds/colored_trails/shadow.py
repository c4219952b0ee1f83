"""What a mind makes of a recorded negotiation, in the place of one of its players."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from otherminds.games.colored_trails.rules import Ending, Rules, begin, step, view
from otherminds.games.colored_trails.utility import Deal
from otherminds.tom.minds.colored_trails.negotiator import Negotiator


def shadow(
    mind: Negotiator, params: Any, rules: Rules, deal: Deal, role: int | Int[Array, ""], kept: Int[Array, " T"]
) -> tuple[Float[Array, "T N"], Float[Array, "T G"]]:
    """The value of every move and the belief in the other's goal, at every decision of a player of a recorded game.

    The mind sits in the player's place, sees what the player saw and learns from what was really done. Its values
    lack the gate: an offer without gain has the value that comes of it; accepting the offer on the table has its
    gain, and withdrawal at least 0 (`Negotiator.appraise`).

    role: of the player.   kept: [T], the moves as codes of what their player would hold, those of role 0 at even t;
        NO_ANSWER where there was no answer and after the end.
    Returns: values [T, N] in points, -inf for padding, and in whole rows where it is not this player's turn or the
        game is over; log-beliefs [T, G] before move t, normalised over G (after the end: the last).
    Source: the shadow agents of LLM-TOM.
    """

    def decide(state: Any, t: Array, belief: Any) -> Float[Array, " N"]:
        mine = (state.ending == Ending.ONGOING) & (t % 2 == role)
        nothing = jnp.full_like(deal.utility[0], -jnp.inf)
        return jax.lax.cond(mine, lambda: mind.appraise(params, belief), lambda: nothing)

    def move(carry: tuple[Any, Any], seen: tuple[Array, Array]) -> tuple[Any, Any]:
        (state, belief), (t, code) = carry, seen
        answer = decide(state, t, belief), mind.goals(params, belief)
        state, event = step(rules, state, code)
        belief = jax.lax.cond(event.valid, lambda: mind.update(params, belief, event), lambda: belief)
        return (state, belief), answer

    state = begin(rules, deal)
    belief = mind.init(params, None, view(state, role))
    return jax.lax.scan(move, (state, belief), (jnp.arange(kept.shape[0]), kept))[1]
