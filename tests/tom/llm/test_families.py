"""What is sent to whom, and what is left out once a server refuses it."""

import asyncio

import pytest

from otherminds.tom.llm.client import GenerationSettings, open_client
from otherminds.tom.llm.endpoint import PROVIDERS, resolve
from otherminds.tom.llm.families import FAMILIES, Family, family_of

SCHEMA = {"type": "object"}
ALL = {
    "temperature": 0.5,
    "top_p": 0.9,
    "seed": 7,
    "reasoning_effort": "low",
    "limit": 99,
    "schema": SCHEMA,
    "logprobs": 50,
}
ASK = [{"role": "user", "content": "guess"}]


@pytest.mark.parametrize(
    "model, family",
    [
        ("openai/o3-mini", "openai-reasoning"),
        ("openai/gpt-5.1", "openai-reasoning"),
        ("proxy/azure/gpt-5", "openai-reasoning"),
        ("openai/gpt-5-chat-latest", "openai"),
        ("openai/gpt-4o", "openai"),
        ("openai/gpt-4.1-mini", "openai"),
        ("openrouter/openai/o3", "openrouter"),
        ("anthropic/claude-x", "anthropic"),
        ("gemini/gemini-2.5-flash", "gemini"),
        ("deepseek/deepseek-reasoner", "deepseek-reasoner"),
        ("deepseek/deepseek-chat", "deepseek"),
        ("mistral/mistral-small", "mistral"),
        ("vllm/deepseek-ai/DeepSeek-R1", "any"),
        ("local/smollm2", "any"),
    ],
)
def test_families(model, family):
    provider, _, name = model.partition("/")
    assert family_of(provider, name).name == family


@pytest.mark.parametrize(
    "model, left_out, sent",
    [
        ("openai/o3", {"temperature", "top_p", "logprobs"}, {"max_completion_tokens": 99, "seed": 7}),
        ("openai/gpt-4o", set(), {"max_tokens": 99, "logprobs": True, "top_logprobs": 20}),
        ("anthropic/x", {"seed", "reasoning_effort", "logprobs", "json_schema", "json_object"}, {"temperature": 0.5}),
        ("gemini/x", {"seed"}, {"reasoning_effort": "low"}),
        ("deepseek/deepseek-chat", {"json_schema"}, {"response_format": {"type": "json_object"}}),
        ("mistral/x", set(), {"extra_body": {"random_seed": 7}}),
    ],
)
def test_what_is_sent(model, left_out, sent):
    fields, dropped = family_of(*model.split("/")).request(ALL)
    assert set(dropped) == left_out
    assert {name: fields[name] for name in sent} == sent
    assert not left_out & set(fields)


def test_reasoning_models_that_do_not_reason_are_sampled():
    fields, dropped = family_of("openai", "gpt-5.1", "none").request(ALL)
    assert dropped == () and fields["temperature"] == 0.5 and fields["max_completion_tokens"] == 99


@pytest.mark.parametrize(
    "model, thinks",
    [
        ("openai/o3", True),
        ("openrouter/openai/o3-mini", True),
        ("openrouter/openai/gpt-4o", False),
        ("vllm/openai/gpt-oss-120b", True),
        ("openrouter/openai/gpt-oss-20b:free", True),
        ("vllm/deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", True),
        ("vllm/deepseek-ai/DeepSeek-V3.1", False),
        ("deepseek/deepseek-reasoner", True),
        ("deepseek/deepseek-chat", False),
        ("vllm/Qwen/QwQ-32B", True),
        ("vllm/Qwen/Qwen3-32B", True),
        ("local/models/Qwen3-8B-Q4_K_M.gguf", True),
        ("vllm/Qwen/Qwen3-235B-A22B-Instruct-2507", False),
        ("vllm/Qwen/Qwen3-Coder-30B-A3B-Instruct", False),
        ("vllm/Qwen/Qwen3-30B-A3B-Thinking-2507", True),
        ("vllm/Qwen/Qwen2.5-7B-Instruct", False),
        ("gemini/gemini-2.5-pro", True),
        ("gemini/gemini-2.5-flash", True),
        ("gemini/gemini-2.5-flash-lite", False),
        ("gemini/gemini-2.0-flash", False),
        ("gemini/gemini-3-flash-preview", True),
        ("openrouter/anthropic/claude-3.7-sonnet:thinking", True),
        ("local/smollm2", False),
    ],
)
def test_who_thinks_before_it_answers(model, thinks):
    provider, _, name = model.partition("/")
    assert family_of(provider, name).reasons == thinks


def test_an_effort_of_none_ends_the_thoughts_of_those_that_take_it():
    told = {name: family_of("any", name, "none").reasons for name in ("gemini-2.5-flash", "gemini-2.5-pro", "gpt-oss")}
    assert told == {"gemini-2.5-flash": False, "gemini-2.5-pro": True, "gpt-oss": True}
    assert not family_of("openrouter", "openai/gpt-5.1", "none").reasons


def test_every_service_of_the_table_has_an_address():
    for provider, _, _ in FAMILIES:
        assert provider is None or PROVIDERS[provider].base_url.startswith("https://")
    endpoint = resolve("anthropic/claude-x", None, {"ANTHROPIC_API_KEY": "k" * 20})
    assert endpoint.base_url == "https://api.anthropic.com/v1"


FIELDS = Family("any").request(ALL)[0]
# what a server says, the parameter that it names apart -> what is not sent any more
REFUSALS = [
    ("Unsupported value: 'temperature' does not support 0.5 with this model", "temperature", "temperature"),
    ('Invalid JSON payload received. Unknown name "seed": Cannot find field.', None, "seed"),
    ("{'detail': [{'type': 'extra_forbidden', 'loc': ['body', 'top_p'], 'msg': 'Extra inputs'}]}", None, "top_p"),
    ('{\\"loc\\":[\\"body\\",\\"seed\\"],\\"msg\\":\\"Extra inputs are not permitted\\"}', None, "seed"),
    ("[{'type': 'extra_forbidden', 'loc': ('body', 'reasoning_effort')}]", None, "reasoning_effort"),
    ("Logprobs is not enabled for models/x", None, "logprobs"),
    ("top_logprobs must not be sent", None, "logprobs"),
    ("this model does not support temperature", None, "temperature"),
    ("Invalid parameter: 'response_format' of type 'json_schema' is not supported", None, "json_schema"),
    ("failed to parse grammar", None, "json_schema"),
    ("Invalid schema for response_format 'answer'", "response_format.json_schema", "json_schema"),
]


@pytest.mark.parametrize("said, param, name", REFUSALS)
def test_a_refusal_names_what_is_left_out(said, param, name):
    known = Family("any").after_refusal(FIELDS, said, param)
    assert known.refused == {name}
    fields, dropped = known.request(ALL)
    assert dropped == (name,)
    assert fields.get("response_format") == (
        {"type": "json_object"} if name == "json_schema" else FIELDS["response_format"]
    )


@pytest.mark.parametrize(
    "said, param",
    [
        ("the prompt is too long", None),
        ("the conversation holds a seed and a temperature of the sea", None),
        ("'messages' must not be empty: {'temperature': 0.5, 'seed': 7}", "messages"),
        ("[{'loc': ('body', 'messages', 0), 'input': {'seed': 7, 'top_p': 1}}]", None),
        ("max_tokens is too large: 99 of 50", None),
        ("frequency_penalty is not supported", None),
    ],
)
def test_other_refusals_are_none_of_a_parameter(said, param):
    assert Family("any").after_refusal(FIELDS, said, param) is None


def test_a_limit_is_renamed_and_never_left_out():
    known = Family("any").after_refusal(
        FIELDS, "'max_tokens' is not supported. Use 'max_completion_tokens' instead.", "max_tokens"
    )
    fields, dropped = known.request(ALL)
    assert fields["max_completion_tokens"] == 99 and "max_tokens" not in fields and dropped == ()
    assert known.after_refusal(fields, "extra_forbidden: max_completion_tokens", None).limit == "max_tokens"


def chat(server, times=1, settings=None, **options):
    async def go():
        quick = settings or GenerationSettings(temperature=0.5, timeout=5.0, max_retries=0)
        async with open_client("fake/fake", server.url, quick, {}) as client:
            return await asyncio.gather(*(client.chat(ASK, seed=7, **options) for _ in range(times)))

    return asyncio.run(go())


def refuse(*names):
    """A server that takes none of these."""

    def entry(body):
        wrong = next((name for name in names if name in body), None)
        error = {"message": f"Unsupported parameter: '{wrong}'", "param": wrong, "code": "unsupported_parameter"}
        return "fine" if wrong is None else (400, {"error": error})

    return [entry]


def test_a_call_goes_on_without_what_is_refused_and_says_so_once(fake_server, caplog):
    fake_server.script = refuse("seed", "temperature")
    answers = chat(fake_server, times=3)
    assert all((answer.text, answer.error) == ("fine", None) for answer in answers)
    assert all(set(answer.dropped) == {"seed", "temperature"} for answer in answers)
    assert sum(answer.attempts for answer in answers) == len(fake_server.requests)
    told = [record.getMessage() for record in caplog.records if record.name == "otherminds"]
    assert len(told) == 2 and all("fake/fake takes no" in line and "\n" not in line for line in told)


def test_a_limit_is_renamed_once_a_call(fake_server):
    fake_server.script = refuse("max_tokens")
    (answer,) = chat(fake_server)
    assert (answer.text, answer.attempts, answer.dropped) == ("fine", 2, ())
    fake_server.script = refuse("max_tokens", "max_completion_tokens")
    (answer,) = chat(fake_server)
    assert "Unsupported parameter" in answer.error


def test_fields_of_the_user_are_never_left_out(fake_server):
    fake_server.script = refuse("top_k")
    (answer,) = chat(fake_server, settings=GenerationSettings(extra_body={"top_k": 3}, max_retries=0))
    assert "top_k" in answer.error and len(fake_server.requests) == 1
