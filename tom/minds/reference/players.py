"""Speakers and listeners of the reference game, at any depth. Source: Frank & Goodman (2012)."""

from functools import cache

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from otherminds.games.reference.rules import Context, Observation
from otherminds.inference.logspace import log_normalize
from otherminds.rsa import agents
from otherminds.tom.mind import Mind
from otherminds.tom.minds.reference.choice import Params, chooser


def listener_at(context: Context, depth: int, alpha: Float[Array, ""] | float) -> Float[Array, "W O"]:
    """L_depth(o | w) over the objects of a context, all of them equally likely before a word is said.

    alpha: of the speakers in it.   Returns: [W, O], normalised over O; a row of all -inf for a word that is true of
        no object, or that no speaker would say.
    """
    prior = log_normalize(jnp.zeros(context.objects.shape), where=context.objects)
    return agents.listener(context.truth, prior, depth, alpha, legal=context.words, allow_empty=True)


@cache
def speaker(depth: int = 1) -> Mind:
    """S_depth(w | o) proportional to (L_{depth-1}(o | w))^alpha; at depth 0 any true word alike, whatever alpha.

    Its params are `Params`; other_alpha is that of the speakers whom L_{depth-1} has in mind, from depth 2 on.
    Raises: ValueError if depth < 0.
    """
    _check_depth(depth)

    def believed(params: Params, observation: Observation) -> Float[Array, " W"]:
        context, target = observation.context, observation.target
        if depth == 0:
            return jnp.where(context.truth[:, target], 0.0, -jnp.inf)
        return listener_at(context, depth - 1, params.other_alpha)[:, target]

    return chooser(f"speaker{depth}", believed, _words)


@cache
def listener(depth: int = 1) -> Mind:
    """Picks o with probability proportional to L_depth(o | w)^alpha, L_depth the posterior given a speaker.

    Its params are `Params`; alpha sharpens its own choice, other_alpha is that of the speakers in L_depth. A word
    that no such speaker would say, and no word at all, tell it nothing: all objects are equally likely then.
    Raises: ValueError if depth < 0.
    """
    _check_depth(depth)

    def believed(params: Params, observation: Observation) -> Float[Array, " O"]:
        heard = listener_at(observation.context, depth, params.other_alpha)[jnp.maximum(observation.word, 0)]
        return jnp.where(observation.word >= 0, heard, -jnp.inf)

    return chooser(f"listener{depth}", believed, _objects)


def _words(observation: Observation) -> Bool[Array, " W"]:
    return observation.context.words


def _objects(observation: Observation) -> Bool[Array, " O"]:
    return observation.context.objects


def _check_depth(depth: int) -> None:
    if depth < 0:
        raise ValueError(f"depth={depth}: 0 is literal, 1 reasons about a literal partner, and so on")
