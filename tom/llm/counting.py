"""What a run would ask: a client that counts calls in place of making them.

Nothing is sent, and no key is needed. Tokens that are read are estimated as a quarter of the characters. An answer is
taken for its JSON form filled in with texts and lists half as long as they may be, at half of the characters, since
marks and digits are tokens of their own. What a model thinks before it answers, seen or unseen, is taken for a quarter
of the limit.
"""

import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from otherminds.tom.agents.asking import LONGEST_ECHO
from otherminds.tom.llm.accounts import CHARACTERS_A_TOKEN, Account, Usage, estimated_tokens
from otherminds.tom.llm.client import Client, GenerationSettings
from otherminds.tom.llm.endpoint import NO_KEY, PROVIDERS, Endpoint, resolve
from otherminds.tom.llm.families import family_of

THOUGHT = 4
"""A model that thinks is taken to write one part in so many of its limit."""
CHARACTERS_IN_JSON = 2
"""A token of JSON; SmolLM2 wrote one for 1.3 to 2 characters of the filled-in forms of the three games."""
WORD = 8
"""Letters of a text whose length nothing limits."""
COMPLAINT = 200
"""Characters of what is said of a failed answer, hardly ever more."""
FRAMES = 8
"""Tokens around the failed answer and what is said of it, as `estimated_tokens` has them."""


class Counted(Exception):
    """Ends a call that is not made. answer: a text as long as the answer is expected to be."""

    def __init__(self, answer: str) -> None:
        super().__init__("a call was counted and not made")
        self.answer = answer


class Calls(NamedTuple):
    """Calls that would be made, with one answer each; tokens over all of them.

    read, written: expected.   limit: that may be written at most.   echo: of these, what a failed answer would add to
    the next attempt's prompt, at most.
    """

    count: float = 0.0
    read: float = 0.0
    written: float = 0.0
    limit: float = 0.0
    echo: float = 0.0

    def plus(self, other: "Calls", times: float = 1.0) -> "Calls":
        """The sum. times: how often the other calls count."""
        return Calls(*(one + times * another for one, another in zip(self, other, strict=True)))

    @property
    def expected(self) -> Usage:
        """One answer each, of the expected length."""
        return Usage(round(self.read), round(self.written))

    @property
    def longest(self) -> Usage:
        """One answer each, as long as it may be."""
        return Usage(round(self.read), round(self.limit))

    def attempted(self, attempts: int) -> Usage:
        """Every answer but the last fails, each as long as it may be, and is shown again with what was wrong.

        attempts: answers a call at most.
        """
        shown = attempts * (attempts - 1) / 2
        return Usage(round(attempts * self.read + shown * self.echo), round(attempts * self.limit))


class CountingClient(Client):
    """A model that is not asked: `chat` counts the call and raises Counted.

    weight: how often what is counted now counts.   calls: so far.
    """

    def __init__(self, endpoint: Endpoint, settings: GenerationSettings) -> None:
        # Not Client's own, which opens a connection.
        self.endpoint, self.settings = endpoint, settings
        self.account = Account(settings.limits)
        self.account.check_price(endpoint.model)
        self.family = family_of(endpoint.provider, endpoint.name, settings.reasoning_effort)
        self.weight, self.calls = 1.0, Calls()

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
    ) -> NoReturn:
        """Counts the call; the arguments are those of `Client.chat`. Raises: Counted, always."""
        del seed, logprobs, sample, fresh
        limit = self._wanted(limit=max_tokens)["limit"]
        answer, written = self._expected(schema, limit)
        echo = _tokens(min(LONGEST_ECHO, CHARACTERS_A_TOKEN * limit) + COMPLAINT) + FRAMES
        self.calls = self.calls.plus(Calls(1, estimated_tokens(messages, schema), written, limit, echo), self.weight)
        raise Counted(answer)

    def _expected(self, schema: Mapping[str, Any] | None, limit: int) -> tuple[str, int]:
        """The text of an answer, and the tokens that are written for it."""
        if schema is None:  # it thinks aloud
            written = max(limit // THOUGHT, 1)
            return "x" * (CHARACTERS_A_TOKEN * written), written
        text = json.dumps(filled_in(schema))
        unseen = limit // THOUGHT if self.is_reasoning else 0
        return text, min(math.ceil(len(text) / CHARACTERS_IN_JSON) + unseen, limit)


def counting_client(model: str, base_url: str | None, settings: GenerationSettings) -> CountingClient:
    """The client that counts what `provider/name` would be asked.

    Raises: ModelError for an unknown provider, a bad URL, or a cost that is limited without a price; a key may lack.
    """
    keys = {f"{provider.upper()}_API_KEY": NO_KEY for provider in PROVIDERS}
    return CountingClient(resolve(model, base_url, keys | dict(os.environ)), settings)


def filled_in(schema: Mapping[str, Any]) -> Any:
    """A value of a JSON schema: texts and lists half as long as they may be, and of several values the middle one.

    >>> filled_in({"type": "object", "properties": {"guess": {"type": "string", "enum": ["1-2-3", "1-2-4"]}}})
    {'guess': '1-2-4'}
    """
    if "enum" in schema:
        return schema["enum"][len(schema["enum"]) // 2]
    match schema.get("type"):
        case "object":
            return {name: filled_in(value) for name, value in schema["properties"].items()}
        case "array":
            least = schema.get("minItems", 0)
            most = schema.get("maxItems", least)
            return [filled_in(schema["items"])] * ((least + most + 1) // 2)
        case "integer" | "number":
            return (schema.get("minimum", 0) + schema.get("maximum", 100)) // 2
        case "boolean":
            return True
        case _:
            return "x" * (schema["maxLength"] // 2 if "maxLength" in schema else WORD)


def _tokens(characters: int) -> int:
    return math.ceil(characters / CHARACTERS_A_TOKEN)
