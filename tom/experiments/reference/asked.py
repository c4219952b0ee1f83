"""How a language model is asked a question of the reference game: for a choice, or for a distribution over options."""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from otherminds.games.decrypto.rules import Role as Seat
from otherminds.games.reference.items import Item
from otherminds.games.reference.rules import Role
from otherminds.games.reference.text import KEYS, answer_schema, listed_question, question, read_object, read_word
from otherminds.tom.agents.asking import ask
from otherminds.tom.agents.base import Decision
from otherminds.tom.experiments.config import ConfigError
from otherminds.tom.experiments.model_agents import SAMPLING, read_asked, split_options
from otherminds.tom.experiments.reference.records import MISSING, options
from otherminds.tom.llm.client import Client, GenerationSettings
from otherminds.tom.llm.elicitation import Distribution, by_logprobs, by_sampling, log_probabilities, stated
from otherminds.tom.llm.families import family_of
from otherminds.tom.llm.parsing import Parsed, find_answer

ELICITATION = "elicitation"
OWN_OPTIONS = (ELICITATION, "think", *SAMPLING)
"""Options of a language model that a reference game knows."""


@dataclass(frozen=True)
class Asked:
    """A language model and how it is asked.

    agent: its name in the log.   model: provider/name.   method: of METHODS.   think: whether it writes its thoughts
    before it chooses.
    """

    agent: str
    model: str
    method: str
    think: bool
    generation: GenerationSettings


class Given(NamedTuple):
    """An answer to one question. scores: log-probabilities of the options, nats, where they are known."""

    decision: Decision  # its action is the option as the log writes it
    scores: dict[str, float] | None = None


def asked_models(written: list[str], methods: list[str], generation: GenerationSettings) -> list[Asked]:
    """The language models as agents: each by every method, or by the one that it names.

    written: as provider/name:option=value.   Raises: ConfigError in one line.
    """
    if not written:
        raise ConfigError("--model: name a language model as provider/name, such as openai/gpt-4o or local/smollm2")
    if unknown := [method for method in methods if method not in METHODS]:
        raise ConfigError(f"--elicitation {unknown[0]!r}: there are {', '.join(METHODS)}")
    if not methods:
        raise ConfigError(f"--elicitation: name at least one of {', '.join(METHODS)}")
    found = [
        _asked(agent, own, generation) for agent in written for own in _methods_of(agent) or dict.fromkeys(methods)
    ]
    names = [one.agent for one in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"--model {twice[0]!r}: it stands there twice")
    return found


def _methods_of(written: str) -> list[str]:
    return [value for name, value in split_options(written)[1] if name == ELICITATION]


def _asked(written: str, method: str, generation: GenerationSettings) -> Asked:
    model, given = split_options(written)
    if unknown := [name for name, _ in given if name not in OWN_OPTIONS]:
        raise ConfigError(f"{written!r}: no option {unknown[0]!r}; here a model takes {', '.join(OWN_OPTIONS)}")
    if method not in METHODS or len(_methods_of(written)) > 1:
        raise ConfigError(f"{written!r}: {ELICITATION}={method}: one of {', '.join(METHODS)}")
    rest = [f"{name}={value}" for name, value in given if name != ELICITATION]
    plain = f"{model}:{','.join(rest)}" if rest else model
    read = read_asked(plain, Seat.DECODER, generation)  # of a seat of Decrypto nothing is taken here
    if read.think and method != "choice":
        raise ConfigError(f"{written!r}: think=true: thoughts stand before a choice, and not before {method}")
    provider, _, name = read.model.partition("/")
    if method == "logprobs" and "logprobs" in family_of(provider, name, read.generation.reasoning_effort).refused:
        raise ConfigError(f"{written!r}: its service gives no log-probabilities; ask it for stated ones, or sample")
    agent = f"{model}:{','.join([*rest, f'{ELICITATION}={method}'])}"
    return Asked(agent, read.model, method, read.think, read.generation)


async def answer(client: Client, item: Item, role: Role, asked: Asked, max_attempts: int, seed: int) -> Given:
    """What a model answers to the question that an item has for a role.

    item: as it is shown.   max_attempts: answers before a choice, or stated probabilities, count as failed.
    Raises: ModelError where no later call can succeed; LimitReached.
    """
    return await METHODS[asked.method](client, item, role, asked.think, max_attempts, seed)


async def _choice(client: Client, item: Item, role: Role, think: bool, max_attempts: int, seed: int) -> Given:
    decision = await ask(
        client,
        question(item, role, think),
        find=partial(find_option, item=item, role=role),
        schema=None if think else answer_schema(item, role),
        max_attempts=max_attempts,
        seed=seed,
    )
    place = decision.action
    return Given(replace(decision, action=None if place is None else options(item, role)[place]))


def find_option(text: str, item: Item, role: Role) -> Parsed:
    """The place of the option that a text answers with."""
    read = read_word if role == Role.SPEAKER else read_object
    return find_answer(text, KEYS[role], partial(read, item=item))


async def _stated(client: Client, item: Item, role: Role, think: bool, max_attempts: int, seed: int) -> Given:
    del think
    chat = listed_question(item, role)
    return _given(await stated(client, chat, options(item, role), seed=seed, max_attempts=max_attempts))


async def _sampled(client: Client, item: Item, role: Role, think: bool, max_attempts: int, seed: int) -> Given:
    del think, max_attempts
    found = await by_sampling(client, listed_question(item, role), options(item, role), samples=1, seed=seed)
    made = _given(found).decision
    return Given(replace(made, probabilities=None, log_probability=None, statement=None))


async def _by_logprobs(client: Client, item: Item, role: Role, think: bool, max_attempts: int, seed: int) -> Given:
    del think, max_attempts
    found = await by_logprobs(client, listed_question(item, role), options(item, role), seed=seed)
    if found.probabilities is None:
        return _given(found)
    try:
        scores = log_probabilities(found)
    except ValueError as error:
        *before, last = found.attempts
        failed = replace(last, error=str(error), failure="invalid")
        return Given(Decision(None, (*before, failed)))
    exact = replace(found, probabilities=tuple(map(math.exp, scores)))
    return Given(_given(exact).decision, dict(zip(found.options, scores, strict=True)))


def _given(found: Distribution) -> Given:
    """The distribution as a decision: its action is the option that is most probable, the first shown of several."""
    if found.by_option is None:
        return Given(Decision(None, found.attempts))
    action = max(found.by_option, key=found.by_option.__getitem__)
    p = found.by_option[action]
    missing = None if found.missing is None else {MISSING: {MISSING: found.missing}}
    return Given(Decision(action, found.attempts, math.log(p), found.by_option, missing))


METHODS: dict[str, Callable[..., Awaitable[Given]]] = {
    "choice": _choice,
    "logprobs": _by_logprobs,
    "stated": _stated,
    "sampling": _sampled,
}
"""How a model may be asked, by name."""
