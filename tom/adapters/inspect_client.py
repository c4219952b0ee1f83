"""A model of inspect-ai in the place of this package's own client, so that questions are asked as they always are."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    ResponseSchema,
)
from inspect_ai.util import JSONSchema

from otherminds.tom.llm.accounts import Account
from otherminds.tom.llm.answer import Answer
from otherminds.tom.llm.client import Client, GenerationSettings
from otherminds.tom.llm.endpoint import NO_KEY, Endpoint
from otherminds.tom.llm.families import family_of

MESSAGES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
FINISHED = {"max_tokens": "length", "model_length": "length"}
"""What inspect calls an answer that was cut off."""


class InspectClient(Client):
    """Asks a model of inspect-ai, which makes the calls, repeats and counts them, and keeps its log of them.

    model: of inspect.   transcript: what was asked and answered, in order.
    """

    def __init__(self, model: Model) -> None:
        # Not Client's own, which opens a connection: inspect has its own.
        provider, _, name = str(model).partition("/")
        self._model = model
        self.settings = GenerationSettings(max_tokens=model.config.max_tokens)
        self.account = Account(self.settings.limits)
        self.endpoint = Endpoint(provider, name, None, NO_KEY)
        self.family = family_of(provider, name, model.config.reasoning_effort)
        self.transcript: list[ChatMessage] = []
        self.output: ModelOutput | None = None

    async def check(self) -> None:
        """Nothing: inspect checks its models."""

    async def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
        logprobs: int | None = None,
        sample: int = 0,
        fresh: bool = False,
    ) -> Answer:
        """The model's answer; the arguments are those of `Client.chat`.

        A schema is passed on as far as inspect knows JSON schemas: it has no length of a list.
        Raises: what inspect raises where a call brings no answer, which ends the sample, or the evaluation.
        """
        del sample, fresh
        begun = time.perf_counter()
        asked = [MESSAGES[message["role"]](content=message["content"]) for message in messages]
        form = None if schema is None else ResponseSchema(name="answer", json_schema=JSONSchema.model_validate(schema))
        config = GenerateConfig(
            seed=seed,
            max_tokens=max_tokens,
            response_schema=form,
            logprobs=True if logprobs else None,
            top_logprobs=logprobs,
        )
        output = await self._model.generate(asked, config=config)
        self.output = output
        self.transcript += [*asked[len(self._said(asked)) :], output.message]
        return _answer(output, time.perf_counter() - begun, schema is not None)

    def _said(self, asked: Sequence[ChatMessage]) -> list[ChatMessage]:
        """What of a chat stands in the transcript already: all but the complaint, where an answer was complained of."""
        return list(asked[:-1]) if asked[-2].role == "assistant" else []


def _answer(output: ModelOutput, seconds: float, constrained: bool) -> Answer:
    usage, choice = output.usage, output.choices[0] if output.choices else None
    finished = FINISHED.get(output.stop_reason, output.stop_reason)
    content = choice.logprobs.content if choice is not None and choice.logprobs is not None else None
    return Answer(
        text=output.completion,
        finish_reason=finished,
        prompt_tokens=usage.input_tokens if usage else 0,
        completion_tokens=usage.output_tokens if usage else 0,
        latency=seconds,
        error=output.error,
        model=output.model,
        constrained=constrained,
        logprobs=None
        if content is None
        else tuple(tuple((each.token, each.logprob) for each in token.top_logprobs or [token]) for token in content),
        tokens=None if content is None else tuple(token.token for token in content),
    )
