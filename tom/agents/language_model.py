"""A language model at the table of Decrypto: it reads the game's text and answers in JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Literal

from otherminds.games.decrypto import text
from otherminds.games.decrypto.rules import CODES, Observation, Role, code_text
from otherminds.tom.agents.asking import MAX_TOKENS_CONSTRAINED, ask, complained
from otherminds.tom.agents.base import Attempt, Decision
from otherminds.tom.llm.client import Client
from otherminds.tom.llm.parsing import find_answer, find_object

Context = Literal["turns", "chat"]
Errors = Literal["kept", "cut"]
STATED_TOKENS = 64 + 16 * len(CODES)
"""Enough for a guess and a number for every code."""
NO_VALID_ANSWER = "(no valid answer)"


@dataclass(frozen=True)
class LanguageModelAgent:
    """Plays any role of Decrypto with a language model.

    client: the model.   max_attempts: answers per decision, the first one included.
    think: let the model write its thoughts before the answer; else it answers at once, held to a JSON schema.
    wording: how rules and role are put to it.
    context: "turns": every decision is asked by itself, with the whole history in one message; "chat": a game is one
        chat, and each turn adds a request and the answer.
    errors: in a chat, whether failed answers of earlier turns are "kept" in it or "cut" out.
    state: as a guesser, also say how likely each code is, in the same answer; one without it has failed.
    """

    client: Client
    max_attempts: int = 3
    think: bool = False
    wording: text.Wording = text.USUAL
    context: Context = "turns"
    errors: Errors = "kept"
    state: bool = False

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            raise ValueError(f"max_attempts={self.max_attempts} must be at least 1")

    async def act(
        self,
        observation: Observation,
        words: Sequence[str],
        keywords: Sequence[str],
        *,
        earlier: Mapping[int, Sequence[Attempt]] = MappingProxyType({}),
        seed: int | None = None,
    ) -> Decision:
        """The model's hints (in lower case) or guess (index of a code); action None when every attempt failed.

        words: the table's words, which hints index.   keywords: the keyword list.   seed: of the sampler.
        earlier: the model's answers in the turns before (0 is the first), of which a chat is made.
        Raises: ModelError where no later call can succeed either.
        """
        encodes = int(observation.role) == Role.ENCODER
        if encodes:
            secret = text.secret_keywords(observation, keywords)
            read, schema = partial(text.read_hints, keywords=secret), text.hints_schema(secret)
        else:
            read, schema = text.read_code, text.guess_schema()
        find, tokens = partial(find_answer, key="hints" if encodes else "guess", read=read), MAX_TOKENS_CONSTRAINED
        states = self.state and not encodes
        if states:
            find, schema = partial(find_object, key="chances", read=text.read_stated), text.stated_schema()
            tokens = STATED_TOKENS
        said = {}
        if self.context == "chat":
            said = {turn: said_to_a_request(attempts, self.errors) for turn, attempts in earlier.items()}
        decision = await ask(
            self.client,
            text.chat(observation, words, keywords, said, think=self.think, wording=self.wording, state=self.state),
            find=find,
            schema=None if self.think else schema,
            constrained_tokens=tokens,
            max_attempts=self.max_attempts,
            seed=seed,
        )
        if not states or decision.action is None:
            return decision
        code, shares = decision.action
        return replace(
            decision, action=code, probabilities={code_text(index): share for index, share in enumerate(shares)}
        )


def said_to_a_request(attempts: Sequence[Attempt], errors: Errors) -> list[dict[str, str]]:
    """What followed a request in a chat: the answers, and what was wrong with the failed ones.

    errors: "cut" leaves the failed ones out; where all failed, one message says so. The last failed answer is followed
    by no complaint: the next request tells that no answer counted.
    """
    if errors == "cut":
        valid = [attempt.text for attempt in attempts if attempt.error is None]
        return [{"role": "assistant", "content": valid[-1] if valid else NO_VALID_ANSWER}]
    messages = []
    for attempt in attempts:
        if attempt.error is None:
            messages.append({"role": "assistant", "content": attempt.text})
        else:
            messages += complained(attempt.text, attempt.error)
    return messages[:-1] if messages and messages[-1]["role"] == "user" else messages
