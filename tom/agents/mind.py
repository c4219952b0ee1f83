"""A mind at the table: the same functions as in a jitted rollout, one decision at a time."""

import math
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from otherminds.games.decrypto.rules import CODES, Event, Observation, Role, View, code_text
from otherminds.games.decrypto.vocabulary import Vocabulary, hint_vector
from otherminds.tom.agents.base import Decision
from otherminds.tom.agents.words import Words
from otherminds.tom.mind import Mind
from otherminds.tom.minds.decrypto.hints import join
from otherminds.tom.minds.decrypto.lexicon import hear, make_lexicon
from otherminds.tom.minds.decrypto.registry import NamedMind, own_vocabulary


class Compiled(NamedTuple):
    """A mind's functions, jitted."""

    init: Any
    update: Any
    decide: Any  # (key, params, belief, observation) -> (action, log-probabilities: of the action, or of all codes)


@cache
def compiled(mind: Mind, encodes: bool) -> Compiled:
    """Jits a mind once for all the seats that it takes."""

    def decide(key, params, belief, observation: Observation):
        action = mind.sample(key, params, belief, observation)
        alternatives = mind.alternatives(params, belief, observation)
        if encodes:
            return action, mind.log_policy(params, belief, observation, join(alternatives, action))[-1]
        return action, mind.log_policy(params, belief, observation, alternatives)

    return Compiled(jax.jit(mind.init, static_argnums=1), jax.jit(mind.update), jax.jit(decide))


class MindAgent:
    """A mind that can take any number of seats.

    vocabulary: the table's; a mind with vectors of its own reads them for the same words.
    """

    def __init__(self, named: NamedMind, vocabulary: Vocabulary, spare: int) -> None:
        self.named = named
        self.vocabulary = own_vocabulary(named, vocabulary)
        self.lexicon = make_lexicon(self.vocabulary, spare=spare)
        self.params = named.make_params(self.lexicon)

    def sit(self, words: Words, view: View) -> "MindSeat":
        """A seat in a new game."""
        return MindSeat(self, words, view)


class MindSeat:
    """A mind in one game: its belief, and the words it has heard so far."""

    def __init__(self, agent: MindAgent, words: Words, view: View) -> None:
        self._agent, self._words = agent, words
        self._role = Role(int(view.role))
        self._run = compiled(agent.named.mind, self._role == Role.ENCODER)
        self._lexicon, self._params, self._heard = agent.lexicon, agent.params, 0
        self._belief = self._run.init(self._params, None, view)

    def _listen(self) -> None:
        """Learns the vectors of words that were not heard before; those that have none stay unknown.

        Params are made anew from the larger lexicon, just as they are where a recorded game is shadowed.
        """
        before = self._lexicon
        for row, text in self._words.heard_since(self._heard):
            vector = hint_vector(self._agent.vocabulary, text)
            if vector is not None:
                self._lexicon = hear(self._lexicon, row, vector)
        self._heard = len(self._words.heard)
        if self._lexicon is not before:
            self._params = self._agent.named.make_params(self._lexicon)

    async def act(self, observation: Observation, key: jax.Array) -> Decision:
        """One decision."""
        self._listen()
        action, log_p = self._run.decide(key, self._params, self._belief, observation)
        if self._role == Role.ENCODER:
            hints = tuple(self._words.texts[int(index)] for index in action)
            return Decision(hints, log_probability=_finite(float(log_p)))
        probabilities = np.exp(np.asarray(log_p, np.float64))
        return Decision(
            int(action),
            log_probability=_finite(float(log_p[int(action)])),
            probabilities={code_text(code): float(probabilities[code]) for code in range(len(CODES))},
        )

    def see(self, event: Event) -> None:
        """Updates the belief by a finished turn."""
        self._listen()
        self._belief = self._run.update(self._params, self._belief, jax.tree.map(jnp.asarray, event))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
