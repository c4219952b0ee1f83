"""A language model at the table of Decrypto: it reads the game's text and answers in JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from otherminds.games.decrypto import text
from otherminds.games.decrypto.rules import Observation, Role
from otherminds.tom.agents.asking import ask
from otherminds.tom.agents.base import Decision
from otherminds.tom.llm.client import Client
from otherminds.tom.llm.parsing import find_answer


@dataclass(frozen=True)
class LanguageModelAgent:
    """Plays any role of Decrypto with a language model.

    client: the model.   max_attempts: answers per decision, the first one included.
    think: let the model write its thoughts before the answer; else it answers at once, held to a JSON schema.
    """

    client: Client
    max_attempts: int = 3
    think: bool = False

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            raise ValueError(f"max_attempts={self.max_attempts} must be at least 1")

    async def act(
        self, observation: Observation, words: Sequence[str], keywords: Sequence[str], *, seed: int | None = None
    ) -> Decision:
        """The model's hints (in lower case) or guess (index of a code); action None when every attempt failed.

        words: the table's words, which hints index.   keywords: the keyword list.   seed: of the sampler.
        Raises: ModelError where no later call can succeed either.
        """
        encodes = int(observation.role) == Role.ENCODER
        if encodes:
            secret = text.secret_keywords(observation, keywords)
            read, schema = partial(text.read_hints, keywords=secret), text.hints_schema(secret)
        else:
            read, schema = text.read_code, text.guess_schema()
        return await ask(
            self.client,
            text.messages(observation, words, keywords, think=self.think),
            find=partial(find_answer, key="hints" if encodes else "guess", read=read),
            schema=None if self.think else schema,
            max_attempts=self.max_attempts,
            seed=seed,
        )
