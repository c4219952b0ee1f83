"""Calls that are counted and not made: what they would read and write, and that nothing is sent."""

import asyncio
import json
from functools import partial

import pytest

from otherminds.games.decrypto.text import guess_schema, hints_schema, read_code, read_hints
from otherminds.games.rps import text as rps
from otherminds.games.rps.catalogue import CODES
from otherminds.tom.agents.asking import ask
from otherminds.tom.llm.accounts import Limits, Usage, estimated_tokens
from otherminds.tom.llm.client import MAX_TOKENS, MAX_TOKENS_REASONING, GenerationSettings, ModelError, open_client
from otherminds.tom.llm.counting import THOUGHT, Calls, Counted, counting_client, filled_in
from otherminds.tom.llm.parsing import find_answer

MODEL, NOBODY = "vllm/fake", "http://127.0.0.1:1/v1"
WORDS = [{"role": "system", "content": "x" * 40}, {"role": "user", "content": "y" * 18}]
LABELS = "".join(CODES)


def counted(client, *calls):
    """The texts that are assumed for answers."""

    async def one(options):
        with pytest.raises(Counted) as raised:
            await client.chat(WORDS, **options)
        return raised.value.answer

    async def every():
        return [await one(options) for options in calls]

    return asyncio.run(every())


@pytest.mark.parametrize(
    ("schema", "read"),
    [
        (guess_schema(), lambda value: read_code(value["guess"])),
        (hints_schema(("ant",)), lambda value: read_hints(value["hints"], ("ant",))),
        (rps.answer_schema(LABELS), partial(rps.read_answer, labels=LABELS)),
        (rps.answer_schema(LABELS, True), partial(rps.read_answer, labels=LABELS, reasons=True)),
    ],
    ids=["guess", "hints", "observation", "observation with reasons"],
)
def test_a_form_is_filled_in_with_an_answer_that_is_one(schema, read):
    assert read(filled_in(schema)) is not None


def test_forms_are_half_full():
    text = {"type": "string", "maxLength": 30}
    listed = {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 4}
    number = {"type": "integer", "minimum": 10, "maximum": 20}
    whole = {"type": "object", "properties": {"a": text, "b": listed, "c": number, "d": {"enum": [1, 2, 3]}}}
    assert filled_in(whole) == {"a": "x" * 15, "b": [True] * 3, "c": 15, "d": 2}
    assert filled_in({"type": "array", "items": number, "minItems": 3, "maxItems": 3}) == [15] * 3


def test_calls_are_counted_and_none_is_made():
    client = counting_client(MODEL, NOBODY, GenerationSettings())
    short, thoughts = counted(client, {"schema": guess_schema(), "max_tokens": 100}, {})
    assert short == json.dumps(filled_in(guess_schema()))
    form = -(-len(short) // 2)
    prompt = estimated_tokens(WORDS)
    assert prompt == 15 + 8
    free = MAX_TOKENS // THOUGHT
    assert len(thoughts) == 4 * free
    echo = (400 + 200) // 4 + 8, (1000 + 200) // 4 + 8
    held = estimated_tokens(WORDS, guess_schema())
    assert client.calls == Calls(2, held + prompt, form + free, 100 + MAX_TOKENS, sum(echo))
    client.weight = 2.5
    counted(client, {"max_tokens": 100, "schema": guess_schema()})
    assert (client.calls.count, client.calls.limit) == (4.5, 350 + MAX_TOKENS)
    assert client.calls.expected == Usage(round(3.5 * held + prompt), round(3.5 * form + free))


def test_models_that_think_unseen_write_more(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    client = counting_client("openai/gpt-5", None, GenerationSettings())  # no key is asked for
    (answer,) = counted(client, {"schema": guess_schema()})
    form = -(-len(answer) // 2)
    assert client.calls.written == MAX_TOKENS_REASONING // THOUGHT + form and client.calls.limit == MAX_TOKENS_REASONING
    tight = counting_client("openai/gpt-5", None, GenerationSettings(max_tokens=3))
    counted(tight, {"schema": guess_schema()})
    assert tight.calls.written == tight.calls.limit == 3


def test_every_attempt_used_up_is_a_bound(fake_server):
    """Answers as long as they may be, and all of them wrong: the prompts of the attempts are no longer than counted."""
    attempts, settings = 3, GenerationSettings(max_tokens=400)
    fake_server.script = ["z" * 1600]
    find = partial(find_answer, key="guess", read=read_code)

    async def real():
        async with open_client(MODEL, fake_server.url, settings) as client:
            return await ask(client, WORDS, find=find, max_attempts=attempts)

    assert asyncio.run(real()).action is None
    client = counting_client(MODEL, NOBODY, settings)
    counted(client, {})
    read = fake_server.prompt_tokens()
    most = client.calls.attempted(attempts)
    assert len(fake_server.requests) == attempts and read <= most.prompt_tokens < 1.2 * read
    assert most.completion_tokens == attempts * 400
    assert client.calls.attempted(1) == client.calls.longest


@pytest.mark.parametrize(
    ("model", "settings", "told"),
    [
        ("nobody/x", GenerationSettings(), "provider 'nobody'"),
        ("fake", GenerationSettings(), "is not provider/name"),
        ("openai/x", GenerationSettings(limits=Limits(cost=1.0)), "has no price"),
    ],
)
def test_what_cannot_be_asked_is_not_counted(model, settings, told):
    with pytest.raises(ModelError, match=told):
        counting_client(model, None, settings)
