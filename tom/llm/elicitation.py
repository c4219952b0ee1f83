"""Three ways to learn a language model's distribution over options, each with what it cannot tell.

| method | asks for | calls | what it leaves open |
|---|---|---|---|
| `stated` | every option's probability, in JSON | 1 (and repeats of failed answers) | whether the model acts so |
| `by_logprobs` | the log-probabilities of the answer's first token | 1, or 2 | options outside the likeliest tokens |
| `by_sampling` | one option, n times | n | differences below about 1 / n |

A model that thinks before it answers is asked with room for that. Its log-probabilities are those after the thoughts
that it had this time; what it would have answered after others is left open too.

Options are shown as a list under letters, which are one token each in all usual vocabularies. A distribution that could
not be had is a failure with its reason, never a uniform one; and the answers behind it are kept.
"""

import asyncio
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from otherminds.tom.agents.asking import SEEDS, ask, attempt_of
from otherminds.tom.agents.base import Attempt
from otherminds.tom.llm.answer import Answer
from otherminds.tom.llm.client import Client
from otherminds.tom.llm.parsing import find_answer, find_object

LABELS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
"""Without I, which begins many a sentence that answers nothing."""
TOLERANCE = 0.02
"""By which stated probabilities may miss 1."""
TOKENS_TO_LOOK_AT = 4
"""Of an answer whose first token is looked at: some servers begin with a blank."""
THOUGHTS = re.compile(r"<think>|<\|channel\|>analysis|\[THINK\]")
"""How thoughts begin among the tokens: most servers that show the tokens show those of the thoughts too."""
THOUGHT = re.compile(r"</think>|<\|channel\|>final.*?<\|message\|>|\[/THINK\]", re.S)
"""What stands between thoughts and answer."""
AROUND = " \t\r\n*_`\"'().:"


@dataclass(frozen=True)
class Distribution:
    """A language model's probabilities of K options, or why there are none.

    probabilities: in the options' order, they sum to 1; None where there are none.   method: "stated", "logprobs" or
    "sampling".   missing: the mass that fell on no option before renormalising; of sampling the share of failed
    answers.   total: the sum of the stated probabilities before renormalising.   unseen: options that were not among
    the tokens that the server gave; their probability is given as 0 and is at most `missing` in all.
    samples: answers that were asked for.   failed: those that were none.   error: one line.   attempts: all answers.
    """

    options: tuple[str, ...]
    probabilities: tuple[float, ...] | None
    method: str
    missing: float | None = None
    total: float | None = None
    unseen: tuple[str, ...] = ()
    samples: int = 1
    failed: int = 0
    error: str | None = None
    attempts: tuple[Attempt, ...] = ()

    @property
    def by_option(self) -> dict[str, float] | None:
        """The probabilities by option."""
        if self.probabilities is None:
            return None
        return dict(zip(self.options, self.probabilities, strict=True))


def listed(options: Sequence[str]) -> str:
    """The options as a list, a letter each.

    Raises: ValueError for fewer than two, more than there are letters, or one twice.
    """
    if not 2 <= len(options) <= len(LABELS):
        raise ValueError(f"{len(options)} options: from 2 to {len(LABELS)} can be told apart by a letter")
    if len(set(options)) < len(options):
        raise ValueError(f"options {list(options)}: one stands there twice; give each once")
    return "\n".join(f"{label}: {option}" for label, option in zip(LABELS, options, strict=False))


async def stated(
    client: Client,
    messages: Sequence[Mapping[str, str]],
    options: Sequence[str],
    *,
    seed: int | None = None,
    max_attempts: int = 2,
) -> Distribution:
    """The probabilities that the model states, as JSON.

    messages: the question, as a chat that ends with the user; how to answer is added to it.
    Returns: probabilities that named every option, were finite, at least 0 and summed to 1 up to `TOLERANCE`,
        renormalised. Anything else has failed.
    """
    labels = LABELS[: len(options)]
    form = ", ".join(f'"{label}": ...' for label in labels)
    how = (
        f"Options:\n{listed(options)}\n\nHow likely is each of them, in your judgement? Answer with JSON alone, with "
        f'numbers from 0 to 1 that sum to 1 in place of the dots:\n{{"probabilities": {{{form}}}}}'
    )
    decision = await ask(
        client,
        _followed_by(messages, how),
        find=partial(find_object, key="probabilities", read=partial(_read_stated, labels=labels)),
        schema=_stated_schema(labels),
        constrained_tokens=64 + 16 * len(labels),
        max_attempts=max_attempts,
        seed=seed,
    )
    if decision.action is None:
        error = decision.attempts[-1].error
        return Distribution(tuple(options), None, "stated", failed=1, error=error, attempts=decision.attempts)
    total = math.fsum(decision.action)
    shares = tuple(value / total for value in decision.action)
    return Distribution(tuple(options), shares, "stated", missing=0.0, total=total, attempts=decision.attempts)


async def by_logprobs(
    client: Client, messages: Sequence[Mapping[str, str]], options: Sequence[str], *, seed: int | None = None
) -> Distribution:
    """The probabilities of the options' letters as the answer's first token, renormalised.

    messages: as in `stated`.   A letter's tokens (with a blank before it, in lower case, in quotes) count together.
    A model that thinks first is given room to, and the first token behind its thoughts is looked at: the probabilities
    are those after these thoughts.
    Returns: `missing` is what the other tokens have. A failure where the server gives no log-probabilities, or shows
        the tokens of thoughts and answer without what stands between.
    """
    labels = LABELS[: len(options)]
    how = f"Options:\n{listed(options)}\n\nAnswer with the letter of one option, and nothing else."
    failed = partial(Distribution, tuple(options), None, "logprobs", failed=1)
    none = (
        f"{client.model} at {client.endpoint.address} gives no log-probabilities; let it state probabilities, or sample"
    )
    if not client.takes("logprobs"):
        return failed(error=none)
    before: tuple[Attempt, ...] = ()
    for room in (True,) if client.is_reasoning else (False, True):
        answer = await client.chat(
            _followed_by(messages, how),
            max_tokens=None if room else TOKENS_TO_LOOK_AT,
            seed=seed,
            logprobs=client.family.most_logprobs,
        )
        if answer.error is not None:
            return failed(error=answer.error, attempts=(*before, attempt_of(answer, "call", answer.error)))
        if not any(answer.logprobs or ()):
            return failed(error=none, attempts=(*before, attempt_of(answer, "invalid", none)))
        begins = answer_begins(answer, client.is_reasoning)
        if begins is not None:
            break
        error = _no_answer(client, answer)
        before = (*before, attempt_of(replace(answer, logprobs=None), "cut", error))
    else:
        return failed(error=error, attempts=before)
    # What stands in the log are the tokens that were looked at, and not those of the thoughts.
    answer = replace(answer, logprobs=tuple(answer.logprobs[begins : begins + TOKENS_TO_LOOK_AT]))
    places = [place for place in answer.logprobs if place]
    place = next((place for place in places if place[0][0].strip()), places[0] if places else ())
    masses = dict.fromkeys(labels, 0.0)
    seen = set()
    for token, log_p in place:
        label = token.strip(AROUND).upper()
        if label in masses:
            masses[label] += math.exp(log_p)
            seen.add(label)
    total = math.fsum(masses.values())
    if not total > 0:
        error = f"none of the {len(place)} likeliest tokens is an option's letter: {[token for token, _ in place[:5]]}"
        return failed(missing=1.0, error=error, attempts=(*before, attempt_of(answer, "invalid", error)))
    return Distribution(
        tuple(options),
        tuple(mass / total for mass in masses.values()),
        "logprobs",
        missing=max(0.0, 1.0 - total),  # rounding of the server may leave a sum a little above 1
        unseen=tuple(option for label, option in zip(labels, options, strict=True) if label not in seen),
        attempts=(*before, attempt_of(answer, None, None)),
    )


def answer_begins(answer: Answer, reasons: bool) -> int | None:
    """The place of the answer's first token; None where it is not there, or cannot be told from the thoughts.

    reasons: whether the model is known to think.
    """
    tokens = answer.tokens or ()
    said = "".join(tokens)
    if ends := [match.end() for match in THOUGHT.finditer(said)]:
        starts = [0]
        for token in tokens:
            starts.append(starts[-1] + len(token))
        return next((place for place, start in enumerate(starts[:-1]) if start >= ends[-1]), None)
    if THOUGHTS.search(said) or (answer.reasoning and not answer.text.strip()):
        return None
    if (reasons or answer.reasoning) and not said.strip().startswith(answer.text.strip()):
        return None  # the tokens are not those of the answer alone
    return 0


def _no_answer(client: Client, answer: Answer) -> str:
    if answer.finish_reason == "length":
        return f"its thoughts were cut off after {answer.completion_tokens} tokens; give it more with --max-tokens"
    return (
        f"{client.model} at {client.endpoint.address} shows the tokens of its thoughts and no sign where its answer "
        "begins; let it state probabilities, or sample"
    )


def log_probabilities(found: Distribution) -> tuple[float, ...]:
    """log p of the options as shown, nats, normalised.

    found: of `by_logprobs`, with probabilities. An option that is not among the likeliest tokens that the server lists
    is at most as probable as the last of them: it is given that bound.
    Raises: ValueError where the list has fewer tokens than there are options and so bounds nothing, or a token of
        probability 0.
    """
    masses = [p * (1 - (found.missing or 0.0)) for p in found.probabilities or ()]
    if found.unseen:
        listed = found.attempts[-1].logprobs or ()
        place = next((place for place in listed if place[0][0].strip()), listed[0] if listed else ())
        if len(place) < len(found.options):
            raise ValueError(f"the server lists {len(place)} tokens, {', '.join(found.unseen)} not among them")
        bound = math.exp(min(log_p for _, log_p in place))
        masses = [bound if option in found.unseen else mass for option, mass in zip(found.options, masses, strict=True)]
    if min(masses) <= 0:
        raise ValueError("an option's token has probability 0, which has no logarithm")
    return log_normalised([math.log(mass) for mass in masses])


def log_normalised(log_p: Sequence[float]) -> tuple[float, ...]:
    """Finite log-probabilities less what makes them sum to 1."""
    highest = max(log_p)
    total = highest + math.log(math.fsum(math.exp(value - highest) for value in log_p))
    return tuple(value - total for value in log_p)


async def by_sampling(
    client: Client,
    messages: Sequence[Mapping[str, str]],
    options: Sequence[str],
    *,
    samples: int,
    seed: int = 0,
) -> Distribution:
    """The shares of the options among n answers.

    messages: as in `stated`.   samples: answers, each asked for once.   seed: answer i has seed + i.
    Returns: shares of the valid answers; those that are none of the options are counted, and make up `missing`.
    Raises: ValueError for fewer than one sample.
    """
    if samples < 1:
        raise ValueError(f"samples={samples} must be at least 1")
    how = (
        f"Options:\n{listed(options)}\n\nChoose one of them. Answer with JSON alone, with its letter, such as "
        '{"answer": "B"}.'
    )
    chat = _followed_by(messages, how)
    find = partial(find_answer, key="answer", read=partial(_read_choice, options=options))
    decisions = await asyncio.gather(
        *(
            ask(
                client,
                chat,
                find=find,
                schema=_choice_schema(LABELS[: len(options)]),
                max_attempts=1,
                seed=(seed + number) % SEEDS,
                sample=number,
            )
            for number in range(samples)
        )
    )
    chosen = [decision.action for decision in decisions if decision.action is not None]
    attempts = tuple(attempt for decision in decisions for attempt in decision.attempts)
    made = partial(
        Distribution,
        tuple(options),
        method="sampling",
        missing=1 - len(chosen) / samples,
        samples=samples,
        failed=samples - len(chosen),
        attempts=attempts,
    )
    if not chosen:
        return made(None, error=f"none of {samples} answers is an option; the last: {attempts[-1].error}")
    return made(tuple(chosen.count(index) / len(chosen) for index in range(len(options))))


def _followed_by(messages: Sequence[Mapping[str, str]], how: str) -> list[dict[str, str]]:
    """The chat with how to answer at the end of what the user said last."""
    if not messages or messages[-1]["role"] != "user":
        raise ValueError("messages must end with what the user asks")
    *before, last = map(dict, messages)
    return [*before, last | {"content": f"{last['content']}\n\n{how}"}]


def _read_stated(answer: Mapping[str, Any], labels: str) -> tuple[float, ...]:
    stated = answer["probabilities"]
    if not isinstance(stated, dict) or set(stated) != set(labels):
        raise ValueError(f"give one probability for each of {', '.join(labels)}, and for nothing else")
    values = [stated[label] for label in labels]
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        raise ValueError("probabilities must be numbers")
    if not all(0 <= value <= 1 + TOLERANCE for value in values):
        raise ValueError("probabilities must be from 0 to 1")
    if abs(math.fsum(values) - 1) > TOLERANCE:
        raise ValueError(f"the probabilities sum to {math.fsum(values):.4g}; they must sum to 1")
    return tuple(map(float, values))


def _read_choice(value: Any, options: Sequence[str]) -> int:
    """The index of an option that is named by its letter or its own words."""
    text = str(value).strip(AROUND) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    labels = LABELS[: len(options)]
    if len(text) == 1 and text.upper() in labels:
        return labels.index(text.upper())
    same = [index for index, option in enumerate(options) if option.strip(AROUND).casefold() == text.casefold()]
    if len(same) != 1:
        raise ValueError(f"answer with one of the letters {', '.join(labels)}")
    return same[0]


def _stated_schema(labels: str) -> dict[str, Any]:
    numbers = {label: {"type": "number"} for label in labels}
    inner = {"type": "object", "properties": numbers, "required": list(labels), "additionalProperties": False}
    return _object({"probabilities": inner})


def _choice_schema(labels: str) -> dict[str, Any]:
    return _object({"answer": {"type": "string", "enum": list(labels)}})


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


METHODS: dict[str, Callable[..., Any]] = {"stated": stated, "logprobs": by_logprobs, "sampling": by_sampling}
"""By name; all take (client, messages, options)."""
