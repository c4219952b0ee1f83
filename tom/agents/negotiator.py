"""Negotiators at the table of Colored Trails: a mind, and a language model that reads the negotiation as text."""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import jax

from otherminds.games.colored_trails import text
from otherminds.games.colored_trails.rules import Event, Observation, Rules, View
from otherminds.games.colored_trails.text import Wording
from otherminds.tom.agents.asking import ask
from otherminds.tom.agents.base import Decision
from otherminds.tom.llm.client import Client
from otherminds.tom.llm.parsing import find_object
from otherminds.tom.mind import Mind
from otherminds.tom.minds.colored_trails.registry import NamedNegotiator

ANSWER_TOKENS = 600  # the move takes about 60; message and reasons as long as the schema lets them be, the rest


class Compiled(NamedTuple):
    """A mind's functions, jitted."""

    init: Any
    update: Any
    decide: Any  # (key, params, belief, observation) -> (code of what it would hold, its log-probability)


@cache
def compiled(mind: Mind) -> Compiled:
    """Jits a mind once for all the games that it plays."""

    def decide(key: Any, params: Any, belief: Any, observation: Observation) -> tuple[Any, Any]:
        kept = mind.sample(key, params, belief, observation)
        codes = mind.alternatives(params, belief, observation)
        return kept, mind.log_policy(params, belief, observation, codes)[kept]

    return Compiled(jax.jit(partial(mind.init, memory=None)), jax.jit(mind.update), jax.jit(decide))


class MindNegotiator:
    """A mind in one negotiation, without memory of earlier ones: games may be played in any order."""

    def __init__(self, named: NamedNegotiator, view: View) -> None:
        self._params, self._run = named.params, compiled(named.mind)
        self._belief = self._run.init(self._params, view=view)

    async def act(self, observation: Observation, key: jax.Array) -> Decision:
        """One move."""
        kept, log_p = self._run.decide(key, self._params, self._belief, observation)
        log_p = float(log_p)
        return Decision(int(kept), log_probability=log_p if math.isfinite(log_p) else None)

    def see(self, event: Event) -> None:
        """Updates the belief by a move, its own or the other's."""
        self._belief = self._run.update(self._params, self._belief, event)


class ModelNegotiator:
    """A language model in one negotiation. It keeps no memory of its own: the text tells all moves and messages.

    said: the messages so far, by move; whoever runs the game adds to it.   max_attempts: answers per move.
    """

    def __init__(
        self,
        client: Client,
        rules: Rules,
        view: View,
        said: Mapping[int, str],
        wording: Wording,
        max_attempts: int,
    ) -> None:
        self.client = client
        self._rules, self._view, self._said = rules, view, said
        self._wording, self._max_attempts = wording, max_attempts

    async def act(self, observation: Observation, key: jax.Array) -> Decision:
        """Asks the model; the seed of the sampler comes from the key. A failed answer has no action: it withdraws.

        Raises: ModelError where no later call can succeed.
        """
        rules, view, wording = self._rules, self._view, self._wording

        def read(value: Any) -> text.Reading:
            return text.read_answer(value, rules.layout, view, observation, wording)

        decision = await ask(
            self.client,
            text.messages(rules, view, observation, self._said, wording),
            find=partial(find_object, key=text.KEY, read=read),
            schema=text.answer_schema(view, observation, wording),
            constrained_tokens=ANSWER_TOKENS,
            max_attempts=self._max_attempts,
            seed=int(jax.random.bits(key)) >> 1,
        )
        if decision.action is None:
            return decision
        reading: text.Reading = decision.action
        return replace(decision, action=reading.kept, message=reading.message, reasoning=reading.reasoning)

    def see(self, event: Event) -> None:
        """Nothing to do: the next text tells the move."""
