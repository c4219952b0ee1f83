"""The client against a server that misbehaves on purpose: nothing it does may stop a game or show a key."""

import asyncio
import dataclasses
import inspect
import logging
import socket
import subprocess
import sys
import traceback

import pytest

from otherminds.tom.llm.client import Answer, Client, GenerationSettings, ModelError, open_client
from otherminds.tom.llm.endpoint import resolve

SECRET = "sk-very-secret-key-123456"
ASK = [{"role": "user", "content": "guess"}]
FAST = {"retry-after-ms": "1"}
QUICK = GenerationSettings(timeout=5.0, max_retries=2)


def chat(server, settings=QUICK, model="fake/fake", times=1, environ=None, **options):
    """Ask `times` times through one client."""

    async def go():
        async with open_client(model, server.url, settings, environ if environ is not None else {}) as client:
            return [await client.chat(ASK, **options) for _ in range(times)]

    answers = asyncio.run(go())
    return answers if times > 1 else answers[0]


def check(model, url=None, environ=None):
    async def go():
        async with open_client(model, url, QUICK, environ or {}) as client:
            await client.check()

    asyncio.run(go())


def test_an_answer_holds_what_the_server_said(fake_server):
    fake_server.script = ["hello"]
    answer = chat(fake_server)
    assert (answer.text, answer.finish_reason, answer.error) == ("hello", "stop", None)
    assert (answer.prompt_tokens, answer.completion_tokens, answer.attempts) == (10, 3, 1)
    assert (answer.model, answer.id, answer.constrained) == ("fake-1", "chat-1", False)
    assert answer.latency > 0


def test_passing_failures_are_retried_and_counted(fake_server):
    fake_server.script = [(500, {}, FAST), (429, {"error": {"message": "slow down"}}, FAST), "fine"]
    answer = chat(fake_server)
    assert (answer.text, answer.attempts, answer.error) == ("fine", 3, None)


def test_retry_after_is_kept(fake_server):
    fake_server.script = [(429, {}, {"retry-after": "1"}), "fine"]
    answer = chat(fake_server)
    assert answer.text == "fine" and 0.9 < answer.latency < 5


@pytest.mark.parametrize(
    "entry, words",
    [
        ((500, {"error": {"message": "boom"}}, FAST), "status 500"),
        ((503, b"<html>down</html>", FAST), "status 503"),
        ((429, {"error": {"message": "slow", "code": "rate_limit"}}, FAST), "status 429"),
        ((400, {"error": {"message": "too many tokens"}}), "too many tokens"),
        ({"error": {"message": "overloaded", "code": 502}}, "overloaded"),
        (b"<html>hello</html>", "no chat completion"),
        (b"", "no chat completion"),
        (b"[" * 100_000, "no chat completion"),
        ({"choices": []}, "no chat completion"),
        ({"choices": None}, "no chat completion"),
        ([], "no chat completion"),
        ({"choices": [{"message": None}]}, "no chat completion"),
        (b'{"choices": [{"message": {}}], "usage": {"prompt_tokens": Infinity}}', "no chat completion"),
        (b"x" * 190 + SECRET.encode(), "no chat completion"),
    ],
)
def test_a_lasting_failure_is_an_answer_with_an_error_of_one_line(fake_server, entry, words):
    fake_server.script = [entry]
    answer = chat(fake_server, environ={"FAKE_API_KEY": SECRET})
    assert answer.text == "" and words in answer.error and SECRET[:8] not in answer.error
    assert "\n" not in answer.error and len(answer.error) <= 300
    assert answer.attempts == len(fake_server.requests)


def test_silence_is_an_answer_with_an_error(fake_server):
    fake_server.script = [3.0]
    answer = chat(fake_server, GenerationSettings(timeout=0.2, max_retries=0))
    assert "timed out" in answer.error and answer.latency < 2


def test_a_server_that_died_is_an_answer_with_an_error(fake_server):
    async def go():
        async with open_client("fake/fake", fake_server.url, GenerationSettings(max_retries=0), {}) as client:
            fake_server.http.server_close()
            return await client.chat(ASK)

    assert f"127.0.0.1:{fake_server.port}" in asyncio.run(go()).error


@pytest.mark.parametrize(
    "status, body, words",
    [
        (401, {"error": {"message": f"bad key {SECRET}"}}, "refuses the key"),
        (403, {"error": {"message": "no"}}, "refuses the key"),
        (402, {"error": {"message": "pay"}}, "no credit"),
        (429, {"error": {"message": "pay", "code": "insufficient_quota"}}, "no credit"),
        (404, {"error": {"message": "model gone"}}, "no such model"),
    ],
)
def test_what_no_later_call_can_mend_stops_the_run(fake_server, status, body, words):
    fake_server.script = [(status, body, FAST)]
    with pytest.raises(ModelError, match=words) as caught:
        chat(fake_server, environ={"FAKE_API_KEY": SECRET})
    message = str(caught.value)
    assert "\n" not in message and SECRET not in message
    assert status == 404 or "FAKE_API_KEY" in message


def test_the_request_holds_the_settings_and_nothing_else(fake_server):
    settings = GenerationSettings(temperature=0.5, top_p=0.9, seed=1, max_tokens=50, extra_body={"top_k": 3})
    chat(fake_server, settings, seed=7)
    sent = fake_server.requests[0]
    sent.pop("headers")
    assert sent == {
        "model": "fake",
        "messages": ASK,
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 7,
        "max_tokens": 50,
        "top_k": 3,
    }


@pytest.mark.parametrize(
    "model, reasoning",
    [
        ("openai/o1", True),
        ("openai/o3-mini", True),
        ("openai/o4-mini", True),
        ("openai/gpt-5", True),
        ("openai/gpt-5.1-mini", True),
        ("openai/gpt-5-chat-latest", False),
        ("openai/gpt-4o", False),
        ("openai/gpt-50", False),
        ("vllm/openai/gpt-oss-20b", False),
        ("vllm/meta/ollama", False),
        ("openrouter/openai/o3", False),
    ],
)
def test_reasoning_models_take_no_temperature(fake_server, model, reasoning):
    provider = model.partition("/")[0]
    settings = GenerationSettings(temperature=0.0, max_tokens=99, max_retries=0)
    chat(fake_server, settings, model, environ={f"{provider.upper()}_API_KEY": "x" * 20})
    sent = fake_server.requests[0]
    assert ("max_completion_tokens" in sent, "temperature" in sent) == (reasoning, not reasoning)
    assert sent.get("max_completion_tokens", sent.get("max_tokens")) == 99


def test_a_schema_is_sent_and_left_out_where_the_server_refuses_it(fake_server):
    schema = {"type": "object"}
    fake_server.script = ["held"]
    assert chat(fake_server, schema=schema).constrained
    assert fake_server.requests[0]["response_format"]["json_schema"]["schema"] == schema
    fake_server.requests.clear()
    fake_server.script = [(400, {"error": {"message": "response_format is not supported"}})] * 2 + ["free"]
    first, second = chat(fake_server, schema=schema, times=2)
    assert (first.text, first.constrained, second.constrained) == ("free", False, False)
    assert (first.attempts, second.attempts) == (3, 1)
    forms = [request.get("response_format", {}).get("type") for request in fake_server.requests]
    assert forms == ["json_schema", "json_object", None, None]
    assert first.dropped == second.dropped == ("json_schema", "json_object")


def test_answers_in_parts_refusals_and_reasoning(fake_server, fake_completion):
    fake_server.script = [
        fake_completion([{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]),
        fake_completion(None, refusal="I cannot"),
        fake_completion("4", reasoning_content="2 + 2"),
        fake_completion(None),
    ]
    parts, refused, reasoned, empty = chat(fake_server, times=4)
    assert parts.text == "in parts"
    assert (refused.finish_reason, refused.text) == ("refusal", "I cannot")
    assert (reasoned.text, reasoned.reasoning) == ("4", "2 + 2")
    assert (empty.text, empty.error) == ("", None)


def test_no_more_calls_are_in_flight_than_allowed(fake_server):
    fake_server.script = [0.15]

    async def go():
        settings = GenerationSettings(max_connections=2, timeout=5)
        async with open_client("fake/fake", fake_server.url, settings, {}) as client:
            return await asyncio.gather(*(client.chat(ASK) for _ in range(6)))

    answers = asyncio.run(go())
    assert all(answer.text == "late" and answer.latency < 1 for answer in answers)


def test_check_is_silent_about_a_good_model(fake_server):
    check("fake/fake", fake_server.url)
    fake_server.models = (404, {})
    check("fake/whatever", fake_server.url)  # a server that lists no models


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize(
    "model, environ, words",
    [
        ("gpt-4o", {}, ["gpt-4o", "provider/name", "openai/gpt-4o"]),
        ("/x", {}, ["provider/name"]),
        ("openai/", {}, ["provider/name"]),
        ("nosuch/x", {}, ["nosuch", "openai, openrouter, ", "vllm, local", "--base-url"]),
        ("openai/gpt-4o", {}, ["OPENAI_API_KEY"]),
        ("openai/gpt-4o", {"OPENAI_API_KEY": "  "}, ["OPENAI_API_KEY"]),
        ("openai/gpt-4o", {"OPENROUTER_API_KEY": SECRET}, ["OPENAI_API_KEY"]),
        ("openrouter/a/b", {"OPENAI_API_KEY": SECRET}, ["OPENROUTER_API_KEY"]),
        ("openai/gpt-4o", {"OPENAI_API_KEY": f"{SECRET}\n{SECRET}"}, ["OPENAI_API_KEY", "characters"]),
        ("nosuch/x", {"NOSUCH_BASE_URL": "http://example.com/v1"}, ["NOSUCH_API_KEY"]),
        ("nosuch/x", {"NOSUCH_BASE_URL": "ftp://example.com/v1"}, ["ftp://", "http"]),
        ("nosuch/x", {"NOSUCH_BASE_URL": "localhost:8000"}, ["localhost:8000", "http"]),
        ("nosuch/x", {"NOSUCH_BASE_URL": "http://[::1"}, ["base URL"]),
        ("nosuch/x", {"NOSUCH_BASE_URL": "http://localhost:99999"}, ["base URL"]),
        ("nosuch/x", {"NOSUCH_BASE_URL": f"http://me:{SECRET}@example.com/v1"}, ["example.com", "NOSUCH_API_KEY"]),
    ],
)
def test_a_wrong_model_is_told_before_anything_starts(model, environ, words):
    with pytest.raises(ModelError) as caught:
        check(model, environ=environ)
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert "\n" not in message and SECRET not in message


def test_check_names_a_server_that_is_not_there():
    port = free_port()
    with pytest.raises(ModelError, match=f"no server answers at 127.0.0.1:{port}"):
        check("vllm/x", f"http://127.0.0.1:{port}/v1")


@pytest.mark.parametrize(
    "models, words",
    [
        ((401, {}), "refuses the key"),
        ((500, {}, FAST), "answers 500"),
        (b"<html>", "no OpenAI-compatible server"),
        ({"data": None}, "no OpenAI-compatible server"),
        ([1], "no OpenAI-compatible server"),
    ],
)
def test_check_tells_what_is_wrong_with_a_server(fake_server, models, words):
    fake_server.models = models
    with pytest.raises(ModelError, match=words):
        check("fake/fake", fake_server.url)


def test_check_names_near_models(fake_server):
    with pytest.raises(ModelError, match="no model 'fakee' among its 1; near: fake/fake"):
        check("fake/fakee", fake_server.url)


def test_check_gives_up_on_a_silent_server(fake_server, monkeypatch):
    fake_server.seconds = 1.0
    monkeypatch.setattr("otherminds.tom.llm.client.CHECK_SECONDS", 0.1)
    with pytest.raises(ModelError, match=f"127.0.0.1:{fake_server.port} did not answer"):
        check("fake/fake", fake_server.url)


def test_no_key_is_sent_where_none_belongs(fake_server):
    chat(fake_server, environ={"OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": "http://example.com"})
    assert SECRET not in str(fake_server.requests)
    chat(fake_server, environ={"FAKE_API_KEY": SECRET})
    assert SECRET in str(fake_server.requests[-1]["headers"])


def test_account_headers_go_to_openai_only(fake_server, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-mine")
    chat(fake_server)
    assert "org-mine" not in str(fake_server.requests)


def test_no_proxy_stands_before_this_machine(fake_server, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    assert chat(fake_server).text == "ok"


@pytest.mark.parametrize("status", [400, 401, 500])
def test_a_key_reaches_no_message_log_or_repr(fake_server, caplog, status):
    caplog.set_level(logging.DEBUG)
    fake_server.script = [(status, {"error": {"message": f"you sent {SECRET} twice: {SECRET}"}}, FAST)]
    seen = []

    async def go():
        environ = {"FAKE_API_KEY": SECRET}
        seen.append(repr(resolve("fake/fake", fake_server.url, environ)))
        async with open_client("fake/fake", fake_server.url, QUICK, environ) as client:
            seen.extend([repr(client), str(client), repr(client.parameters), repr(client.settings)])
            try:
                seen.append(repr(await client.chat(ASK)))
            except ModelError:
                seen.append(traceback.format_exc())

    asyncio.run(go())
    assert len(seen) == 6 and SECRET not in "".join(seen)
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    "field, value", [("temperature", -1), ("temperature", 3), ("top_p", 2), ("max_tokens", 0), ("timeout", 0)]
)
def test_settings_are_checked(field, value):
    with pytest.raises(ModelError, match=f"{field}={value}"):
        GenerationSettings(**{field: value})


def test_records_are_frozen():
    for record in (Answer(), GenerationSettings()):
        with pytest.raises(dataclasses.FrozenInstanceError):
            record.seed = 1
    assert Client.__doc__


def test_importing_costs_nothing():
    code = (
        "import sys, otherminds.tom.llm.client; print([m for m in ('openai', 'xllamacpp', 'jax') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_environment_stands_in_no_signature(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-to-be-seen")
    assert "sk-not" not in str(inspect.signature(open_client))


def test_a_base_url_holds_no_query():
    with pytest.raises(ModelError, match="without \\? and #"):
        resolve("vllm/x", "http://127.0.0.1:1/v1?api-key=secret-of-mine", {})


def test_a_key_that_a_server_echoes_is_no_part_of_the_answer(fake_server, fake_completion):
    fake_server.script = [fake_completion("your key is sk-echoed-123456, thanks", reasoning_content="sk-echoed-123456")]

    async def ask():
        environ = {"VLLM_API_KEY": "sk-echoed-123456"}
        async with open_client("vllm/x", fake_server.url, GenerationSettings(), environ=environ) as client:
            return await client.chat([{"role": "user", "content": "hello"}])

    answer = asyncio.run(ask())
    assert answer.text == "your key is ***, thanks" and answer.reasoning == "***"


def test_reasoning_that_a_server_leaves_out_of_the_output_is_counted(fake_server, fake_completion):
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 900}
    fake_server.script = [fake_completion("yes") | {"usage": usage}]

    async def ask():
        async with open_client("vllm/x", fake_server.url, environ={}) as client:
            return await client.chat([{"role": "user", "content": "hello"}])

    assert asyncio.run(ask()).completion_tokens == 890
