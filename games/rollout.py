"""Play games between minds, jitted and vectorized. The asynchronous driver follows the same key schedule."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from otherminds.games.protocol import Game


def game_key(key: PRNGKeyArray, index: int | Array) -> PRNGKeyArray:
    """The key of the index-th game, whatever the batch it is played in."""
    return jax.random.fold_in(key, index)


def deal_key(key: PRNGKeyArray) -> PRNGKeyArray:
    """The key with which a game is dealt, from the game's key."""
    return jax.random.fold_in(key, 0)


def decision_key(key: PRNGKeyArray, phase: int | Array, role: int) -> PRNGKeyArray:
    """The key of one decision, from the game's key. phase: phases played so far in this game."""
    return jax.random.fold_in(jax.random.fold_in(key, 1 + phase), role)


def rollout(game: Game, minds: tuple, params: tuple, key: PRNGKeyArray) -> tuple[Any, tuple]:
    """Plays one game.

    minds: a mind for every role, with `init`, `update` and `sample` (see otherminds.tom.mind).
    params: the params of each mind.
    key: the game's key (`game_key`).
    Returns: the final state, and each role's final belief.
    """
    state = game.init(deal_key(key))
    beliefs = tuple(
        mind.init(own, None, game.view(state, role)) for role, (mind, own) in enumerate(zip(minds, params, strict=True))
    )

    def play_round(carry, round_index):
        state, beliefs = carry
        for phase, roles in enumerate(game.schedule):
            played = round_index * len(game.schedule) + phase
            joint = {
                role: minds[role].sample(
                    decision_key(key, played, role), params[role], beliefs[role], game.observe(state, role)
                )
                for role in roles
            }
            state, event = game.step(decision_key(key, played, len(game.roles)), state, joint)
            beliefs = tuple(
                keep_unless(event.valid, belief, mind.update(own, belief, event))
                for mind, own, belief in zip(minds, params, beliefs, strict=True)
            )
        return (state, beliefs), None

    (state, beliefs), _ = jax.lax.scan(play_round, (state, beliefs), jnp.arange(game.rounds))
    return state, beliefs


def keep_unless(valid: Array, old: Any, new: Any) -> Any:
    """`new` where an event is valid, else `old`, leaf by leaf."""
    return jax.tree.map(lambda a, b: jnp.where(valid, b, a), old, new)
