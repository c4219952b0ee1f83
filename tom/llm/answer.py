"""What comes of a call of a language model, read from whatever a server sent."""

import json
from dataclasses import dataclass
from typing import Any

Logprobs = tuple[tuple[tuple[str, float], ...], ...]
"""For every token of an answer: the likeliest tokens at its place and their log-probabilities, in nats."""


@dataclass(frozen=True)
class Answer:
    """One answer of a model, or why there is none.

    text: "" when there is none.   finish_reason: "stop", "length" (cut), "refusal", "content_filter", ...
    prompt_tokens, completion_tokens: as the server counts them.   latency: seconds, over all attempts.
    attempts: requests sent; 0 for one from the cache.   error: None, or one line.
    model, id: as the server names them.   constrained: whether the answer was held to a JSON schema.
    reasoning: what the server shows of it.
    cached: whether it was paid for earlier.   dropped: parameters that were wanted and not sent, for the model does not
    take them.   logprobs: None where the server gives none.   tokens: the texts of those that the logprobs are about.
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
    cached: bool = False
    dropped: tuple[str, ...] = ()
    logprobs: Logprobs | None = None
    tokens: tuple[str, ...] | None = None


def read_reply(content: bytes) -> dict[str, Any]:
    """The fields of an Answer in a reply's body, whatever a server sent."""
    try:
        body = json.loads(content)
        usage = body.get("usage") or {}
        tokens = {name: int(usage.get(name) or 0) for name in ("prompt_tokens", "completion_tokens")}
        hidden = int(usage.get("total_tokens") or 0) - tokens["prompt_tokens"]  # some leave reasoning out of the output
        tokens["completion_tokens"] = max(tokens["completion_tokens"], hidden)
        if body.get("error"):  # some gateways report failures with status 200
            return {"error": f"the server reports {json.dumps(body['error'])}", **tokens}
        choice = body["choices"][0]
        message = choice["message"]
        refusal = message.get("refusal")
        return {
            "text": _text(message.get("content")) or _text(refusal),
            "finish_reason": "refusal" if refusal else _text(choice.get("finish_reason")) or None,
            **tokens,
            "model": _text(body.get("model")),
            "id": _text(body.get("id")) or None,
            "reasoning": _text(message.get("reasoning_content") or message.get("reasoning")) or None,
            "logprobs": _logprobs(choice.get("logprobs")),
            "tokens": _tokens(choice.get("logprobs")),
        }
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError):
        return {"error": f"the reply is no chat completion: {content[:2000]!r}"}


def _text(content: Any) -> str:
    """The text of a message, which some servers send in parts, fit to be sent and written again."""
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content)
    return content.encode(errors="replace").decode() if isinstance(content, str) else ""


HIGHEST_LOG_P = 1e-3
"""Rounding of a server may leave a certain token a little above 0."""


def _logprobs(given: Any) -> Logprobs | None:
    """The alternatives at every place; a place without any holds the token itself."""
    if not (places := _places(given)):
        return None
    return tuple(
        tuple(
            (_text(one.get("token")), float(one["logprob"]))
            for one in place.get("top_logprobs") or [place]
            if float(one["logprob"]) <= HIGHEST_LOG_P  # no NaN, and nothing that is no log-probability
        )
        for place in places
    )


def _tokens(given: Any) -> tuple[str, ...] | None:
    """The token at every place."""
    return tuple(_text(place.get("token")) for place in _places(given)) or None


def _places(given: Any) -> list[Any]:
    places = given.get("content") if isinstance(given, dict) else None
    return places if isinstance(places, list) else []
