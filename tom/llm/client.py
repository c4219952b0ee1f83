"""A chat with a language model behind any OpenAI-compatible server."""

import asyncio
import math
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self
from weakref import WeakValueDictionary

from otherminds.tom.llm.accounts import Account, LimitReached, Limits, Usage, estimated_tokens
from otherminds.tom.llm.answer import Answer, read_reply
from otherminds.tom.llm.cache import Cache, key_of
from otherminds.tom.llm.endpoint import Endpoint, ModelError, is_loopback, resolve
from otherminds.tom.llm.families import family_of
from otherminds.tom.llm.local import identity, serve
from otherminds.tom.llm.notices import tell

__all__ = ["Answer", "Client", "GenerationSettings", "LimitReached", "Limits", "ModelError", "open_client"]

CHECK_SECONDS = 10.0  # a server that lists its models answers quickly
LONGEST_WAIT = 120.0  # seconds that a server's retry-after may add to an attempt
MAX_TOKENS = 1024
MAX_TOKENS_REASONING = 16_384  # hidden reasoning counts as output
PASSING = (408, 409, 429)  # and all from 500: the openai package asks again


@dataclass(frozen=True)
class GenerationSettings:
    """How answers are sampled and calls are made; None leaves a value to the server.

    seed: of the sampler; a call's own seed wins.   max_tokens: of one answer.
    timeout: seconds an attempt may be silent.   max_retries: attempts after the first, for passing failures.
    max_connections: calls in flight at once.   extra_body: more fields of the request, sent as they are.
    cache: folder of answers that are not asked for again (see `cache`).   limits: of what is spent (see `accounts`).
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
    cache: Path | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        for name in BOUNDS:
            if told := out_of_bounds(name, getattr(self, name)):
                raise ModelError(f"{name}={getattr(self, name)!r} {told}")


BOUNDS = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "max_tokens": (1, math.inf),
    "timeout": (1e-3, math.inf),
    "max_retries": (0, 1000),
    "max_connections": (1, 100_000),
}
"""The smallest and the largest value of each setting."""


def out_of_bounds(name: str, value: float | None) -> str | None:
    """What a setting must be, where it is not."""
    low, high = BOUNDS[name]
    if value is None or (low <= value <= high and value < math.inf):
        return None
    return f"must be from {low:g} to {high:g}" if high < math.inf else f"must be at least {low:g}"


class Client:
    """A model that can be asked; made by `open_client`."""

    def __init__(
        self,
        endpoint: Endpoint,
        settings: GenerationSettings,
        account: Account | None = None,
        cached_as: tuple[str, str] | None = None,
    ) -> None:
        """cached_as: server and model by which answers are kept, where address and name do not tell which they are."""
        from openai import AsyncOpenAI, Omit

        self.endpoint, self.settings = endpoint, settings
        self.account = account or Account(settings.limits)
        self.account.check_price(endpoint.model)
        self.family = family_of(endpoint.provider, endpoint.name, settings.reasoning_effort)
        self._slots = asyncio.Semaphore(settings.max_connections)
        self._cache = None if settings.cache is None else Cache(settings.cache)
        self._cached_as = cached_as or (endpoint.base_url or "", endpoint.name)
        self._same: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._told: set[str] = set()
        # Account headers of OpenAI go to no other server, and no proxy stands before this machine's own.
        other = () if endpoint.provider == "openai" else ("OpenAI-Organization", "OpenAI-Project")
        self._api = AsyncOpenAI(
            api_key=endpoint.key,
            base_url=endpoint.base_url,
            timeout=settings.timeout,
            max_retries=settings.max_retries,
            default_headers=dict.fromkeys(other, Omit()),
            http_client=_http_client(self._tell_failed, trust_env=not is_loopback(endpoint.base_url)),
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
        """Whether the model reasons unseen, which counts as output."""
        return self.family.reasons

    @property
    def parameters(self) -> dict[str, Any]:
        """What is sent with every call, for the log."""
        return self.family.request(self._wanted())[0]

    def takes(self, parameter: str) -> bool:
        """Whether a parameter ("logprobs", "seed" ...) is sent: the model is not known to refuse or to ignore it."""
        return parameter not in self.family.refused

    async def check(self) -> None:
        """Find out, before any game starts, whether the model can be asked.

        Raises: ModelError if the server cannot be reached, refuses the key, or lists models and not this one.
        """
        import openai

        where, api = self.endpoint.address, self._api.with_options(timeout=CHECK_SECONDS, max_retries=1)
        try:
            reply = await api.models.with_raw_response.list()
            # Gemini lists its models as models/NAME.
            known = {str(entry["id"]).removeprefix("models/") for entry in reply.http_response.json()["data"]}
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
            if self.endpoint.provider == "anthropic" and error.status_code in (400, 401):
                return  # its list is none of OpenAI's, and may ask for the key in another header
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
        logprobs: int | None = None,
        sample: int = 0,
        fresh: bool = False,
    ) -> Answer:
        """The model's answer to a chat.

        schema: a JSON schema that the answer is held to, where the server can do that.
        max_tokens, seed: for this call, in place of the settings'.
        logprobs: log-probabilities of the answer's tokens, and of so many alternatives at every place.
        sample: number of this answer among those to the same question; the cache keeps one for each.
        fresh: whether the cache is passed by.
        Returns: an Answer; one with `error` where the call failed after its retries.
        Raises: ModelError where no later call can succeed: a refused key, no credit, no such model; LimitReached.
        """
        wanted = self._wanted(schema=schema, limit=max_tokens, seed=seed, logprobs=logprobs)
        if self._cache is None or fresh:
            return await self._paid(wanted, messages)
        key = key_of(*self._cached_as, wanted, messages, sample)
        async with self._same.setdefault(key, asyncio.Lock()):  # asked twice at once, a question is paid for once
            answer = self._cache.get(key)
            if answer is None:
                answer = await self._paid(wanted, messages)
                try:
                    self._cache.put(key, answer)
                except OSError as error:
                    self._tell_once("cache", f"{self._cache.folder}: answers cannot be kept ({error.strerror})")
            return answer

    def _wanted(self, **of_this_call: Any) -> dict[str, Any]:
        """What a call asks for, whether the model takes it or not."""
        settings = self.settings
        wanted = {
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "seed": settings.seed,
            "reasoning_effort": settings.reasoning_effort,
            "limit": settings.max_tokens or (MAX_TOKENS_REASONING if self.is_reasoning else MAX_TOKENS),
            "extra_body": dict(settings.extra_body) or None,
        }
        wanted |= {name: value for name, value in of_this_call.items() if value is not None}
        return {name: value for name, value in wanted.items() if value is not None}

    async def _paid(self, wanted: Mapping[str, Any], messages: Sequence[Mapping[str, str]]) -> Answer:
        """An answer of the server, put to the account."""
        reserve = Usage(estimated_tokens(messages, wanted.get("schema")), wanted["limit"])
        async with self._slots, self.account.call(self.model, reserve):
            answer = await self._without_what_is_refused(wanted, messages)
            self.account.count(self.model, Usage(answer.prompt_tokens, answer.completion_tokens))
            return answer

    async def _without_what_is_refused(
        self, wanted: Mapping[str, Any], messages: Sequence[Mapping[str, str]]
    ) -> Answer:
        """An answer of the server; a parameter that it refuses is left out from now on, and the call is repeated."""
        import openai

        begun, refusals, renamed = time.perf_counter(), 0, False
        while True:
            family = self.family
            fields, dropped = family.request(wanted)
            for name in dropped:
                self._tell_once(name, f"{self.model} takes no {name}; it is left out")
            try:
                answer = await self._ask({"model": self.endpoint.name, "messages": list(messages), **fields})
            except openai.APIStatusError as refusal:
                said = self.endpoint.redact(f"{self.endpoint.address}: {_said(refusal)}")
                known = family.after_refusal(fields, str(refusal), refusal.param)
                if known is not None and not (renamed and known.limit != family.limit):
                    refusals, renamed = refusals + 1, renamed or known.limit != family.limit
                    if self.family == family:  # else another call has found out something meanwhile
                        self.family = known
                        for name in known.refused - family.refused:
                            self._tell_once(name, f"{self.model} takes no {name}; it is left out ({said})")
                    continue
                answer = Answer(error=said)
            return replace(
                answer,
                latency=time.perf_counter() - begun,
                attempts=refusals + answer.attempts,
                constrained=fields.get("response_format", {}).get("type") == "json_schema",
                dropped=dropped,
            )

    async def _ask(self, request: dict[str, Any]) -> Answer:
        """One request with its retries.

        Raises: openai.APIStatusError for a refusal of what was sent (400 or 422).
        """
        import openai

        # The client's own timeout restarts with every byte, and some servers send blanks to keep a line open.
        patience = (self.settings.timeout + LONGEST_WAIT) * (self.settings.max_retries + 1)
        try:
            async with asyncio.timeout(patience):
                reply = await self._api.chat.completions.with_raw_response.create(**request)
            fields = read_reply(self.endpoint.without_key(reply.http_response.content))
            if fields.get("error"):
                fields["error"] = self.endpoint.redact(fields["error"])
            return Answer(attempts=_retry(reply.http_request) + 1, **fields)
        except openai.APIError as error:
            reason = f"{error.message} {error.__cause__ or ''}"
            if isinstance(error, openai.APIStatusError):
                self._stop_if_hopeless(error)
                if error.status_code in (400, 422):
                    raise
                reason = _said(error)
            reason = self.endpoint.redact(f"{self.endpoint.address}: {reason}")
            return Answer(attempts=_retry(error.request) + 1, error=reason)
        except TimeoutError:
            attempts = self.settings.max_retries + 1
            return Answer(attempts=attempts, error=f"{self.endpoint.address}: no whole answer in {patience:g} s")

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

    def _tell_failed(self, request: Any, reason: str) -> None:
        """Tells of one attempt that failed and may pass."""
        if request.method != "POST":
            return
        where = f"{self.model} at {self.endpoint.address}, attempt {_retry(request) + 1}"
        tell(self.endpoint.redact(f"{where} of {self.settings.max_retries + 1}: {reason}"))

    def _tell_once(self, what: str, problem: str) -> None:
        if what not in self._told:
            self._told.add(what)
            tell(problem)


@asynccontextmanager
async def open_client(
    model: str,
    base_url: str | None = None,
    settings: GenerationSettings | None = None,
    environ: Mapping[str, str] | None = None,
    account: Account | None = None,
) -> AsyncIterator[Client]:
    """A client for `provider/name`, closed in the end; `local/...` runs in this process meanwhile.

    model: openai/..., anthropic/..., vllm/... (`endpoint.PROVIDERS`), local/smollm2, local/PATH.gguf, or any name with
    a base URL.   account: that other models share; by default one of this client's own, under the settings' limits.
    Raises: ModelError for an unknown provider, a bad URL, a missing key, price or package.
    """
    settings = settings or GenerationSettings()
    endpoint = resolve(model, base_url, os.environ if environ is None else environ)
    if endpoint.base_url is not None:
        async with Client(endpoint, settings, account) as client:
            yield client
        return
    with serve(endpoint.name) as url:
        # One slot answers one call at a time; calls wait here, where waiting counts towards no timeout.
        settings = replace(settings, max_connections=1)
        # The port is another at every start, and a path may be written in many ways and lead to another file one day.
        cached_as = endpoint.provider, identity(endpoint.name)
        async with Client(replace(endpoint, base_url=url), settings, account, cached_as) as client:
            yield client


def _retry(request: Any) -> int:
    """How often a request was sent before, as the openai package counts it."""
    return int(request.headers.get("x-stainless-retry-count", 0))


def _said(error: Any) -> str:
    """What a server said with a status."""
    said = error.message.removeprefix(f"Error code: {error.status_code}").removeprefix(" - ")
    return f"status {error.status_code} {said}"


def _http_client(on_failure: Any, **options: Any) -> Any:
    """The openai package's HTTP client, which also tells `on_failure(request, reason)` of every attempt that failed and
    may pass. The package repeats such attempts without a word."""
    from openai import DefaultAsyncHttpxClient

    class Telling(DefaultAsyncHttpxClient):
        async def send(self, request: Any, **how: Any) -> Any:
            try:
                response = await super().send(request, **how)
            except Exception as error:
                on_failure(request, f"{type(error).__name__} {error}".strip())
                raise
            if response.status_code in PASSING or response.status_code >= 500:
                on_failure(request, f"status {response.status_code} {response.text}".strip())
            return response

    return Telling(**options)
