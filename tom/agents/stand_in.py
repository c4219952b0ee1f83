"""Who sits in a language model's place in a dry run: its questions are counted, and a mind answers them."""

from collections.abc import Callable
from typing import Any

import jax

from otherminds.tom.agents.base import Decision
from otherminds.tom.llm.counting import Counted


class StandIn:
    """A seat whose questions are those of a language model, and whose decisions are those of a mind.

    model: the seat of the language model, with a client that counts.   mind: the seat of the mind.
    on_answer: called with the turn and with a text as long as the model's answer, where later questions show it.
    """

    def __init__(self, model: Any, mind: Any, on_answer: Callable[[int, str], None] | None = None) -> None:
        self._model, self._mind, self._on_answer = model, mind, on_answer

    async def act(self, observation: Any, key: jax.Array) -> Decision:
        """Has the question counted, and the mind decide."""
        try:
            await self._model.act(observation, key)
        except Counted as counted:
            if self._on_answer is not None:
                self._on_answer(int(observation.turn), counted.answer)
        return await self._mind.act(observation, key)

    def see(self, event: Any) -> None:
        """What was played; for the mind, and for the questions to come."""
        self._model.see(event)
        self._mind.see(event)
