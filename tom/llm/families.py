"""What the families of models take: which parameters are sent to whom, and what is left out once a server refuses it.

| family | matched by | limit of output | seed | held to a schema | log-probabilities | left out |
|---|---|---|---|---|---|---|
| openai-reasoning | o1, o3, gpt-5 ... | `max_completion_tokens` | `seed` | yes | no | temperature, top_p |
| openai | openai/ | `max_tokens` | `seed` | yes | at most 20 | |
| anthropic | anthropic/ | `max_tokens` | no | no | no | reasoning_effort |
| gemini | gemini/ | `max_tokens` | no | yes | at most 20 | |
| deepseek-reasoner | deepseek/...reasoner | `max_tokens` | `seed` | no | no | temperature, top_p |
| deepseek | deepseek/ | `max_tokens` | `seed` | any JSON object | at most 20 | |
| mistral | mistral/ | `max_tokens` | `random_seed` | yes | at most 20 | |
| openrouter | openrouter/ | `max_tokens` | `seed` | yes | at most 20 | |
| any | vllm/, local/, all others | `max_tokens` | `seed` | yes | at most 20 | |

Whatever the family, some models think before they answer (`THINKS`): gpt-oss, DeepSeek R1 and QwQ always; Gemini from
2.5 (but for Flash-Lite) and Qwen3 (but for Instruct and Coder) unless they are told not to. Thoughts count as output,
so these models are given room for them.

A parameter that a service is known to refuse, or to ignore without a word, is not sent: an answer is never recorded as
seeded or held to a schema that the server did not look at. What is not known counts as taken. A server that refuses a
parameter which was sent is asked again without it (`Family.after_refusal`).

Sources: the services' pages on their OpenAI-compatible endpoints (Anthropic: `seed`, `response_format`, `logprobs` and
`reasoning_effort` are ignored; DeepSeek: `response_format` is `text` or `json_object`, the reasoner refuses `logprobs`
and ignores `temperature` and `top_p`; OpenAI: `max_tokens` is refused by reasoning models) and what servers were
reported to answer (Gemini: `Unknown name "seed"`; Mistral: 422 `extra_forbidden` for `max_completion_tokens`, its own
name is `random_seed`; Gemini 2.5: `Logprobs is not enabled`, at times). Whether DeepSeek looks at `seed` could not be
found out; it counts as taken. That models think: their cards, vLLM's page on reasoning outputs, Google's on thinking.
All this changes: what is wrong here costs one refused call, or one answer that is cut off.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

LIMITS = ("max_tokens", "max_completion_tokens")
SAMPLING = ("temperature", "top_p", "seed", "reasoning_effort")
SCHEMAS = ("json_schema", "json_object")
"""How an answer is held to a form, the strictest first."""
REFUSING = "support|permit|allow|recogni|unknown|unexpected|invalid|extra|deprecat|enabled|accept"
NO_SCHEMA = re.compile(r"response_format|json_schema|json_object|schema|grammar|structured output", re.I)
PLACES = re.compile(r"""["']loc["']:\s*[\[(]([^\])]*)""")  # where pydantic finds a field that it does not know


@dataclass(frozen=True)
class Family:
    """What models of one kind take.

    limit: name of the limit of output tokens.   seed: name of the seed.   reasons: hidden reasoning counts as output.
    refused: parameters that are not sent: of `SAMPLING`, "logprobs", and of `SCHEMAS`.
    most_logprobs: alternatives a token that may be asked for.
    """

    name: str
    limit: str = "max_tokens"
    seed: str = "seed"
    reasons: bool = False
    refused: frozenset[str] = frozenset()
    most_logprobs: int = 20

    def request(self, wanted: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """What is sent for what is wanted.

        wanted: of `SAMPLING`, "limit" (tokens), "schema" (a JSON schema), "logprobs" (alternatives a token, 0 for the
            token alone) and "extra_body"; what is None or absent is not wanted.
        Returns: the fields of the request, and the parameters that are wanted and left out.
        """
        fields: dict[str, Any] = {self.limit: wanted["limit"]}
        extra = dict(wanted.get("extra_body") or {})
        dropped = []
        for name in SAMPLING:
            value = wanted.get(name)
            if value is None:
                continue
            if name in self.refused:
                dropped.append(name)
            elif name == "seed" and self.seed != "seed":
                extra[self.seed] = value
            else:
                fields[name] = value
        if wanted.get("logprobs") is not None:
            if "logprobs" in self.refused:
                dropped.append("logprobs")
            else:
                fields["logprobs"] = True
                if wanted["logprobs"]:
                    fields["top_logprobs"] = min(wanted["logprobs"], self.most_logprobs)
        if wanted.get("schema") is not None:
            form = next((form for form in SCHEMAS if form not in self.refused), None)
            dropped += [name for name in SCHEMAS if name in self.refused]
            if form is not None:
                fields["response_format"] = _response_format(form, wanted["schema"])
        if extra:
            fields["extra_body"] = extra
        return fields, tuple(dropped)

    def after_refusal(self, sent: Mapping[str, Any], said: str, param: str | None) -> "Family | None":
        """What the family is known to take after a refusal (400 or 422).

        sent: the fields of the request.   said: the server's whole error.   param: the parameter that it names apart.
        Returns: None where the error names nothing that was sent. A limit of tokens is renamed and never left out.
        """
        said = said.replace("\\", "")
        form = sent.get("response_format")
        if form is not None and _blamed("response_format", said, param, NO_SCHEMA):
            return replace(self, refused=self.refused | {form["type"]})
        for name in SAMPLING:
            own = self.seed if name == "seed" else name
            if (own in sent or own in sent.get("extra_body", {})) and _blamed(own, said, param):
                return replace(self, refused=self.refused | {name})
        if "logprobs" in sent and (_blamed("logprobs", said, param) or _blamed("top_logprobs", said, param)):
            return replace(self, refused=self.refused | {"logprobs"})
        other = LIMITS[self.limit == LIMITS[0]]
        renamed = _blamed(self.limit, said, param) and (other in said or re.search(REFUSING, said, re.I))
        if self.limit in sent and renamed:
            return replace(self, limit=other)
        return None


REASONING = re.compile(r"(o\d|gpt-5)(?![a-z0-9])(?!.*chat)", re.I)
THINKS = re.compile(
    r"gpt-oss|deepseek-r1|qwq|qwen3(?!.*(instruct|coder))|gemini-(2\.5-pro|2\.5-flash(?!-lite|-image)|[3-9])|[-:]thinking",
    re.I,
)
"""Names of models that think unless they are told not to, whoever serves them."""
CAN_BE_TOLD = re.compile(r"gemini-2\.5-flash", re.I)
"""Those of them that leave it with a reasoning effort of "none"."""
_NO_SAMPLING = frozenset({"temperature", "top_p"})
_NO_LOGPROBS = frozenset({"logprobs"})
_NO_SCHEMAS = frozenset(SCHEMAS)
FAMILIES: tuple[tuple[str | None, re.Pattern | None, Family], ...] = (
    # openrouter takes the usual names for every model, and leaves out what a model refuses
    ("openrouter", None, Family("openrouter")),
    (
        None,
        REASONING,
        Family("openai-reasoning", "max_completion_tokens", reasons=True, refused=_NO_SAMPLING | _NO_LOGPROBS),
    ),
    ("openai", None, Family("openai")),
    (
        "anthropic",
        None,
        Family("anthropic", refused=_NO_LOGPROBS | _NO_SCHEMAS | {"seed", "reasoning_effort"}),
    ),
    ("gemini", None, Family("gemini", refused=frozenset({"seed"}))),
    (
        "deepseek",
        re.compile("reasoner", re.I),
        Family("deepseek-reasoner", reasons=True, refused=_NO_SAMPLING | _NO_LOGPROBS | _NO_SCHEMAS),
    ),
    ("deepseek", None, Family("deepseek", refused=frozenset({"json_schema"}))),
    ("mistral", None, Family("mistral", seed="random_seed")),
)
"""(provider, what the name's last part begins with or holds, family); the first row that fits counts."""


def family_of(provider: str, name: str, reasoning_effort: str | None = None) -> Family:
    """The family of a model.

    reasoning_effort: with "none", newer reasoning models are sampled as others are, and take the same parameters.
    """
    last = name.split("/")[-1]
    return _thinking(_listed(provider, last, reasoning_effort), last, reasoning_effort)


def _listed(provider: str, last: str, reasoning_effort: str | None) -> Family:
    for whose, pattern, family in FAMILIES:
        fits = pattern is None or (pattern.match(last) if pattern is REASONING else pattern.search(last))
        if whose in (None, provider) and fits:
            if pattern is REASONING and reasoning_effort == "none":
                return replace(family, reasons=False, refused=frozenset())
            return family
    return Family("any")


def _thinking(family: Family, last: str, reasoning_effort: str | None) -> Family:
    """The family, of a model that thinks where its name says so."""
    told = reasoning_effort == "none"
    if not told and REASONING.match(last):  # behind a gateway too, which takes other parameters
        return replace(family, reasons=True)
    thinks = THINKS.search(last) and not (told and CAN_BE_TOLD.search(last))
    return replace(family, reasons=True) if thinks else family


def _response_format(form: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    if form == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": dict(schema)}}


def _blamed(name: str, said: str, param: str | None, pattern: re.Pattern | None = None) -> bool:
    """Whether an error names a parameter. Where it says apart which one, its words are not searched: they may hold the
    whole request, or the prompt, in which `seed` is a word like any other."""
    if param:
        return re.split(r"[.\[]", param)[0] == name
    places = PLACES.findall(said)
    if places:
        return any(re.search(rf"""["']{name}["']""", place) for place in places)
    if pattern is not None:
        return bool(pattern.search(said))
    if name not in ("seed", "temperature"):  # a name that is no word of a language
        return bool(re.search(rf"(?<![a-z_]){name}(?![a-z_])", said, re.I))
    near = rf"\b{name}\b.{{0,60}}({REFUSING})|({REFUSING})[^.]{{0,40}}\b{name}\b"
    return bool(re.search(rf"""["'`]{name}["'`]""", said)) or bool(re.search(near, said, re.I))
