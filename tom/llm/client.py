"""A chat with a language model behind any OpenAI-compatible server."""

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Self

from otherminds.tom.llm.endpoint import Endpoint, ModelError, is_loopback, resolve
from otherminds.tom.llm.local import serve

__all__ = ["Answer", "Client", "GenerationSettings", "ModelError", "open_client"]

CHECK_SECONDS = 10.0  # a server that lists its models answers quickly
LONGEST_WAIT = 120.0  # seconds that a server's retry-after may add to an attempt
MAX_TOKENS = 1024
MAX_TOKENS_REASONING = 16_384  # hidden reasoning counts as output
REASONING = re.compile(r"(o\d|gpt-5)(?![a-z0-9])(?!.*chat)", re.I)

NO_SCHEMAS = re.compile("response_format|schema|grammar", re.I)  # what a server names when it refuses one


@dataclass(frozen=True)
class GenerationSettings:
    """How answers are sampled and calls are made; None leaves a value to the server.

    seed: of the sampler; a call's own seed wins.   max_tokens: of one answer.
    timeout: seconds an attempt may be silent.   max_retries: attempts after the first, for passing failures.
    max_connections: calls in flight at once.   extra_body: more fields of the request, sent as they are.
    """

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    timeout: float = 120.0
    max_retries: int = 5
    max_connections: int = 10
    extra_body: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, low, high in (
            ("temperature", 0, 2),
            ("top_p", 0, 1),
            ("max_tokens", 1, float("inf")),
            ("timeout", 1e-3, float("inf")),
            ("max_retries", 0, 1000),
            ("max_connections", 1, 100_000),
        ):
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise ModelError(f"{name}={value!r} must be from {low:g} to {high:g}")


@dataclass(frozen=True)
class Answer:
    """One answer of a model, or why there is none.

    text: "" when there is none.   finish_reason: "stop", "length" (cut), "refusal", "content_filter", ...
    prompt_tokens, completion_tokens: as the server counts them.   latency: seconds, over all attempts.
    attempts: requests sent.   error: None, or one line.   model, id: as the server names them.
    constrained: whether the answer was held to a JSON schema.   reasoning: what the server shows of it.
    """

    text: str = ""
    finish_reason: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency: float = 0.0
    attempts: int = 1
    error: str | None = None
    model: str = ""
    id: str | None = None
    constrained: bool = False
    reasoning: str | None = None


class Client:
    """A model that can be asked; made by `open_client`."""

    def __init__(self, endpoint: Endpoint, settings: GenerationSettings) -> None:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Omit

        self.endpoint, self.settings = endpoint, settings
        self._slots = asyncio.Semaphore(settings.max_connections)
        self._schema_refused = False
        # Account headers of OpenAI go to no other server, and no proxy stands before this machine's own.
        account = () if endpoint.provider == "openai" else ("OpenAI-Organization", "OpenAI-Project")
        self._api = AsyncOpenAI(
            api_key=endpoint.key,
            base_url=endpoint.base_url,
            timeout=settings.timeout,
            max_retries=settings.max_retries,
            default_headers=dict.fromkeys(account, Omit()),
            http_client=DefaultAsyncHttpxClient(trust_env=not is_loopback(endpoint.base_url)),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._api.close()

    def __repr__(self) -> str:
        return f"Client({self.endpoint.model!r} at {self.endpoint.address})"

    @property
    def model(self) -> str:
        """provider/name."""
        return self.endpoint.model

    @property
    def is_reasoning(self) -> bool:
        """Whether the model reasons unseen: it takes `max_completion_tokens`, and no temperature or top_p."""
        if self.endpoint.provider == "openrouter":
            return False  # it takes the usual names for every model, and leaves out what a model refuses
        return bool(REASONING.match(self.endpoint.name.split("/")[-1]))

    @property
    def parameters(self) -> dict[str, Any]:
        """What is sent with every call, for the log."""
        settings, reasoning = self.settings, self.is_reasoning
        limit = settings.max_tokens or (MAX_TOKENS_REASONING if reasoning else MAX_TOKENS)
        sent = {
            "temperature": None if reasoning else settings.temperature,
            "top_p": None if reasoning else settings.top_p,
            "seed": settings.seed,
            "max_completion_tokens" if reasoning else "max_tokens": limit,
            "reasoning_effort": settings.reasoning_effort,
            "extra_body": dict(settings.extra_body) or None,
        }
        return {name: value for name, value in sent.items() if value is not None}

    async def check(self) -> None:
        """Find out, before any game starts, whether the model can be asked.

        Raises: ModelError if the server cannot be reached, refuses the key, or lists models and not this one.
        """
        import openai

        where, api = self.endpoint.address, self._api.with_options(timeout=CHECK_SECONDS, max_retries=1)
        try:
            reply = await api.models.with_raw_response.list()
            known = {str(entry["id"]) for entry in reply.http_response.json()["data"]}
        except openai.APITimeoutError:
            raise ModelError(
                f"{self.model}: {where} did not answer in {CHECK_SECONDS:g} s; is it up and free?"
            ) from None
        except openai.APIConnectionError as error:
            reason = self.endpoint.redact(str(error.__cause__ or error))
            raise ModelError(
                f"{self.model}: no server answers at {where} ({reason}); start it, or give its --base-url"
            ) from None
        except openai.APIStatusError as error:
            if error.status_code in (404, 405, 501):
                return  # a server that lists no models
            self._stop_if_hopeless(error)
            raise ModelError(
                f"{self.model}: {where} answers {error.status_code} when asked for its models; try later"
            ) from None
        except (openai.OpenAIError, ValueError, KeyError, TypeError):
            raise ModelError(
                f"{self.model}: {where} is no OpenAI-compatible server; does its --base-url end in /v1?"
            ) from None
        name = self.endpoint.name
        if self.endpoint.provider == "openrouter":
            name = name.partition(":")[0]  # variants such as :free are not all listed
            known = {k.partition(":")[0] for k in known}
        if known and name not in known:
            near = get_close_matches(name, known, n=3, cutoff=0.4) or sorted(known)[:3]
            raise ModelError(
                f"{self.model}: {where} has no model {self.endpoint.name!r} among its {len(known)}; "
                f"near: {', '.join(f'{self.endpoint.provider}/{k}' for k in near)}"
            )

    async def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
    ) -> Answer:
        """The model's answer to a chat.

        schema: a JSON schema that the answer is held to, where the server can do that.
        max_tokens, seed: for this call, in place of the settings'.
        Returns: an Answer; one with `error` where the call failed after its retries.
        Raises: ModelError where no later call can succeed: a refused key, no credit, no such model.
        """
        request = self.parameters | {"model": self.endpoint.name, "messages": list(messages)}
        if max_tokens is not None:
            request["max_completion_tokens" if self.is_reasoning else "max_tokens"] = max_tokens
        if seed is not None:
            request["seed"] = seed
        async with self._slots:
            if schema is not None and not self._schema_refused:
                held = request | {"response_format": _response_format(schema)}
                answer = await self._ask(held, constrained=True)
                if answer is not None:
                    return answer
            return await self._ask(request, constrained=False)

    async def _ask(self, request: dict[str, Any], constrained: bool) -> Answer | None:
        """One request with its retries; None where the server turned out to know no schemas."""
        import openai

        begun = time.perf_counter()

        def answer(attempts: int, **fields: Any) -> Answer:
            return Answer(latency=time.perf_counter() - begun, attempts=attempts, constrained=constrained, **fields)

        # The client's own timeout restarts with every byte, and some servers send blanks to keep a line open.
        patience = (self.settings.timeout + LONGEST_WAIT) * (self.settings.max_retries + 1)
        try:
            async with asyncio.timeout(patience):
                reply = await self._api.chat.completions.with_raw_response.create(**request)
            attempts = int(reply.http_request.headers.get("x-stainless-retry-count", 0)) + 1
            fields = _read(reply.http_response.content)
            if fields.get("error"):
                fields["error"] = self.endpoint.redact(fields["error"])
            return answer(attempts, **fields)
        except openai.APIError as error:
            attempts = int(error.request.headers.get("x-stainless-retry-count", 0)) + 1
            if isinstance(error, openai.APIStatusError):
                self._stop_if_hopeless(error)
                if constrained and error.status_code in (400, 422) and NO_SCHEMAS.search(str(error)):
                    self._schema_refused = True
                    return None
                said = error.message.removeprefix(f"Error code: {error.status_code}").removeprefix(" - ")
                reason = f"status {error.status_code} {said}"
            else:
                reason = f"{error.message} {error.__cause__ or ''}"
            return answer(attempts, error=self.endpoint.redact(f"{self.endpoint.address}: {reason}"))
        except TimeoutError:
            attempts = self.settings.max_retries + 1
            return answer(attempts, error=f"{self.endpoint.address}: no whole answer in {patience:g} s")

    def _stop_if_hopeless(self, error: Any) -> None:
        """Raise where no later call can succeed. The server's words stay out: they may echo the key."""
        status, key = error.status_code, self.endpoint.key_variable
        where = f"{self.model}: {self.endpoint.address}"
        # OpenRouter says 403 of a single prompt that its moderation flags.
        if status == 401 or (status == 403 and self.endpoint.provider != "openrouter"):
            raise ModelError(f"{where} refuses the key (status {status}); check {key}") from None
        if status == 402 or (status == 429 and "insufficient_quota" in (error.code, error.type)):
            raise ModelError(f"{where} has no credit left for {key} (status {status}); add some") from None
        if status == 404:
            raise ModelError(f"{where} has no such model or path (404); check model and base URL") from None


@asynccontextmanager
async def open_client(
    model: str,
    base_url: str | None = None,
    settings: GenerationSettings | None = None,
    environ: Mapping[str, str] = os.environ,
) -> AsyncIterator[Client]:
    """A client for `provider/name`, closed in the end; `local/...` runs in this process meanwhile.

    model: openai/..., openrouter/..., vllm/..., local/smollm2, local/PATH.gguf, or any name with a base URL.
    Raises: ModelError for an unknown provider, a bad URL, a missing key or a missing package.
    """
    settings = settings or GenerationSettings()
    endpoint = resolve(model, base_url, environ)
    if endpoint.base_url is not None:
        async with Client(endpoint, settings) as client:
            yield client
        return
    with serve(endpoint.name) as url:
        # One slot answers one call at a time; calls wait here, where waiting counts towards no timeout.
        settings = replace(settings, max_connections=1)
        async with Client(replace(endpoint, base_url=url), settings) as client:
            yield client


def _response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": dict(schema)}}


def _text(content: Any) -> str:
    """The text of a message, which some servers send in parts, fit to be sent and written again."""
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content)
    return content.encode(errors="replace").decode() if isinstance(content, str) else ""


def _read(content: bytes) -> dict[str, Any]:
    """The fields of an Answer in a reply's body, whatever a server sent."""
    try:
        body = json.loads(content)
        if body.get("error"):  # some gateways report failures with status 200
            return {"error": f"the server reports {json.dumps(body['error'])}"}
        choice, usage = body["choices"][0], body.get("usage") or {}
        message = choice["message"]
        refusal = message.get("refusal")
        return {
            "text": _text(message.get("content")) or _text(refusal),
            "finish_reason": "refusal" if refusal else _text(choice.get("finish_reason")) or None,
            "prompt_tokens": int(usage.get("prompt_tokens") or 0),
            "completion_tokens": int(usage.get("completion_tokens") or 0),
            "model": _text(body.get("model")),
            "id": _text(body.get("id")) or None,
            "reasoning": _text(message.get("reasoning_content") or message.get("reasoning")) or None,
        }
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError):
        return {"error": f"the reply is no chat completion: {content[:2000]!r}"}
