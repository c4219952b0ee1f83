"""Asking a language model until its answer is valid; it is told what was wrong with a failed one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from otherminds.tom.agents.base import Attempt, Decision
from otherminds.tom.llm.answer import Answer
from otherminds.tom.llm.client import Client
from otherminds.tom.llm.notices import tell
from otherminds.tom.llm.parsing import Parsed

MAX_TOKENS_CONSTRAINED = 128  # an answer held to a schema needs about 30, white space included
LONGEST_ECHO = 1000  # characters of a failed answer that are shown to the model again
SEEDS = 2**31
NOTHING = "(nothing)"
"""Stands in a chat for an answer without a text."""


async def ask(
    client: Client,
    messages: Sequence[Mapping[str, str]],
    *,
    find: Callable[[str], Parsed],
    schema: Mapping[str, Any] | None = None,
    constrained_tokens: int = MAX_TOKENS_CONSTRAINED,
    max_attempts: int = 3,
    seed: int | None = None,
    sample: int = 0,
) -> Decision:
    """Ask until an answer is valid; a failed one is followed by what was wrong with it, as the next turns.

    A call that brought no answer is not asked again: the client has already retried it.
    find: the action in a text (`parsing.find_answer`, `parsing.find_object`).   schema: that answers are held to where
    the server can.   constrained_tokens: enough for an answer held to it.   sample: number of this decision among those
    about the same question, for the cache.
    """
    chat, attempts = list(messages), []
    # Hidden reasoning counts as output, so only models without it are kept this short.
    short = schema is not None and not client.is_reasoning and client.settings.max_tokens is None
    for number in range(max_attempts):
        answer = await client.chat(
            chat,
            schema=schema,
            max_tokens=constrained_tokens if short else None,
            seed=None if seed is None else (seed + number) % SEEDS,
            sample=sample,
        )
        action, failure, error = _judge(answer, find)
        attempts.append(attempt_of(answer, failure, error))
        if failure is None:
            return Decision(action, tuple(attempts))
        if failure == "call" or number + 1 == max_attempts:
            tell(f"{client.model}: no valid answer in {number + 1} of {max_attempts} attempts ({error})")
            return Decision(None, tuple(attempts))
        short = short and failure != "cut"  # it may reason unseen after all
        chat += complained(answer.text, error)
    raise ValueError(f"max_attempts={max_attempts} must be at least 1")


def complained(text: str, error: str | None) -> list[dict[str, str]]:
    """A failed answer in a chat, and what is said of it."""
    return [
        {"role": "assistant", "content": text[:LONGEST_ECHO] or NOTHING},
        {"role": "user", "content": f"That is no valid answer: {error}. Answer again."},
    ]


def _judge(answer: Answer, find: Callable[[str], Parsed]) -> tuple[Any, str | None, str | None]:
    """(action, None, None), or (None, failure, error)."""
    if answer.error is not None:
        return None, "call", answer.error
    if answer.finish_reason == "length":
        return None, "cut", "it was cut off for its length; be shorter"
    if answer.finish_reason in ("refusal", "content_filter"):
        return None, "refused", "it was refused; this is a harmless word game"
    if not answer.text.strip():
        return None, "empty", "it was empty"
    action, error = find(answer.text)
    return action, error and "invalid", error


def attempt_of(answer: Answer, failure: str | None, error: str | None) -> Attempt:
    """The record of an answer.   failure, error: None for a valid one; see `base.Attempt`."""
    return Attempt(
        text=answer.text,
        error=error,
        failure=failure,
        finish_reason=answer.finish_reason,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        latency=answer.latency,
        requests=answer.attempts,
        model=answer.model,
        id=answer.id,
        reasoning=answer.reasoning,
        constrained=answer.constrained,
        cached=answer.cached,
        dropped=answer.dropped,
        logprobs=answer.logprobs,
    )
