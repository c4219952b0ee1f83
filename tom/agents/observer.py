"""Observers at the table: a mind that watches round by round, and a language model that reads the rounds as text."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from otherminds.games.matrix.rules import Event as Round
from otherminds.games.rollout import keep_unless
from otherminds.games.rps import text
from otherminds.games.rps.catalogue import CODES
from otherminds.games.rps.observation import Asking, Event, Observation, View
from otherminds.games.rps.statement import Stated, statement
from otherminds.games.rps.text import Wording
from otherminds.tom.agents.asking import ask
from otherminds.tom.agents.base import Decision
from otherminds.tom.llm.client import Client
from otherminds.tom.llm.parsing import find_object
from otherminds.tom.mind import Mind
from otherminds.tom.minds.rps.observer_registry import NamedObserver
from otherminds.tom.minds.rps.observers import Observer

ANSWER_TOKENS = 700  # an answer takes about 200, reasons 100, and white space as much again


class Compiled(NamedTuple):
    """A watching mind's functions, jitted."""

    init: Any
    update: Any
    decide: Any  # (key, params, belief) -> (pair, what it states, the probability of the pair)


def watching(mind: Observer) -> Mind:
    """The mind in the observer game: it takes the rounds of a view or of an event one after the other."""

    def see(params: Any, belief: Any, moves: Any, shown: Any) -> Any:
        def one(belief: Any, now: Any) -> Any:
            pair, there = now
            event = Round(there, pair, jnp.zeros(2), (pair >= 0).all())
            return keep_unless(there, belief, mind.update(params, belief, event)), None

        return jax.lax.scan(one, belief, (moves.T, shown))[0]

    def init(params: Any, memory: None, view: View) -> Any:
        moves = jnp.asarray(view.moves)
        return see(params, mind.init(params, memory, None), moves, jnp.ones(moves.shape[-1], bool))

    def update(params: Any, belief: Any, event: Event) -> Any:
        return see(params, belief, jnp.asarray(event.moves), jnp.asarray(event.shown))

    return replace(mind, init=init, update=update)


@cache
def compiled(mind: Observer) -> Compiled:
    """Jits an observer once for all the matches that it watches."""
    game_mind = watching(mind)

    def decide(key: Any, params: Any, belief: Any) -> tuple[Any, Any, Any]:
        pair = mind.sample(key, params, belief, None)
        thought = mind.think(params, belief)
        return pair, mind.readout(params, belief, None), thought.log_pairs[pair[0], pair[1]]

    return Compiled(jax.jit(partial(game_mind.init, memory=None)), jax.jit(game_mind.update), jax.jit(decide))


class MindObserver:
    """A mind that watches one match. Where nothing that it knows is possible any more, it gives no answer."""

    def __init__(self, named: NamedObserver, view: View) -> None:
        self._named, self._run = named, compiled(named.mind)
        self._places = [CODES.index(code) for code in named.codes]
        self._belief = self._run.init(named.params, view=view)

    async def act(self, observation: Observation, key: jax.Array) -> Decision:
        """The most probable pair, one of them where several are, and all that the mind believes."""
        del observation
        pair, thought, log_p = self._run.decide(key, self._named.params, self._belief)
        if int(pair.min()) < 0:
            return Decision(None)
        shares = {name: _probabilities(log_q) for name, log_q in thought.items()}
        sure = np.exp(np.asarray(log_p, np.float64))
        stated = Stated(shares["log_strategy"], shares["log_next"], shares["log_outcome"], np.minimum(sure, 1.0))
        one, two = (self._places[int(place)] for place in pair)
        return Decision((one, two), statement=statement(stated, self._named.codes))

    def see(self, event: Event) -> None:
        """Updates the belief by the rounds up to the next question."""
        self._belief = self._run.update(self._named.params, self._belief, event)


class ModelObserver:
    """A language model that watches one match. It keeps no memory of its own: the text shows the rounds.

    labels: of the strategies, in the order of the catalogue.   max_attempts: answers per question.
    """

    def __init__(self, client: Client, labels: str, asking: Asking, wording: Wording, max_attempts: int) -> None:
        self.client = client
        self._labels, self._asking, self._wording, self._max_attempts = labels, asking, wording, max_attempts

    async def act(self, observation: Observation, key: jax.Array) -> Decision:
        """Asks the model; the sampler's seed comes from the decision's key.

        Raises: ModelError where no later call can succeed.
        """
        reasons = "reasoning" in self._wording.sections and self._asking.reasons(int(observation.turn))
        read = partial(text.read_answer, labels=self._labels, reasons=reasons)
        decision = await ask(
            self.client,
            text.messages(observation, self._labels, self._wording, reasons),
            find=partial(find_object, key=text.KEY, read=read),
            schema=text.answer_schema(self._labels, reasons),
            constrained_tokens=ANSWER_TOKENS,
            max_attempts=self._max_attempts,
            seed=int(jax.random.bits(key)) >> 1,
        )
        if decision.action is None:
            return decision
        reading: text.Reading = decision.action
        return replace(decision, action=reading.guess, statement=reading.statement, reasoning=reading.reasoning)

    def see(self, event: Event) -> None:
        """Nothing to do: the next text shows the rounds."""


def _probabilities(log_p: Any) -> np.ndarray:
    """In double precision, and normalised there."""
    p = np.exp(np.asarray(log_p, np.float64))
    return p / p.sum(-1, keepdims=True)


def pair_text(pair: Sequence[int]) -> list[str]:
    """The codes of a pair of strategies."""
    return [CODES[place] for place in pair]
