"""Where a model `provider/name` is served, and which key opens it."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

NO_KEY = "none"  # what is sent to a server that asks for no key
SHORTEST_SECRET = 6  # a shorter "key" (such as `none`) is a placeholder


class ModelError(ValueError):
    """A language model cannot be used as asked; the message is one line with the reason and the way out."""


@dataclass(frozen=True)
class Provider:
    """An OpenAI-compatible service: its default address, and whether it asks for a key."""

    base_url: str | None
    needs_key: bool = True


PROVIDERS = {
    "openai": Provider("https://api.openai.com/v1"),
    "openrouter": Provider("https://openrouter.ai/api/v1"),
    "anthropic": Provider("https://api.anthropic.com/v1"),
    "gemini": Provider("https://generativelanguage.googleapis.com/v1beta/openai"),
    "deepseek": Provider("https://api.deepseek.com/v1"),
    "mistral": Provider("https://api.mistral.ai/v1"),
    "vllm": Provider("http://127.0.0.1:8000/v1", needs_key=False),
    "local": Provider(None, needs_key=False),
}
"""Known by name; any other name is an OpenAI-compatible server that needs a base URL. What each takes: `families`."""


@dataclass(frozen=True)
class Endpoint:
    """A model at a server.

    base_url: None for a model that is to be started in this process.
    key: the secret (kept out of repr); `key_variable` names where it came from.
    """

    provider: str
    name: str
    base_url: str | None
    key: str = field(default=NO_KEY, repr=False)
    key_variable: str = ""

    @property
    def model(self) -> str:
        return f"{self.provider}/{self.name}"

    @property
    def address(self) -> str:
        """host:port, for messages."""
        return address(self.base_url)

    def without_key(self, content: bytes) -> bytes:
        """What a server sent, without the key that it may echo."""
        return content.replace(self.key.encode(), b"***") if len(self.key) >= SHORTEST_SECRET else content

    def redact(self, text: str, limit: int = 300) -> str:
        """`text` as one short line without the key."""
        if len(self.key) >= SHORTEST_SECRET:
            text = text.replace(self.key, "***")
        line = " ".join(text.split())
        return line if len(line) <= limit else line[: limit - 3] + "..."


def address(base_url: str | None) -> str:
    """host:port of a URL."""
    if base_url is None:
        return "this process"
    url = urlsplit(base_url)
    return f"{url.hostname}:{url.port or (443 if url.scheme == 'https' else 80)}"


def is_loopback(base_url: str | None) -> bool:
    """Whether a URL stays on this machine."""
    host = urlsplit(base_url or "").hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback or host == "0.0.0.0"
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def resolve(model: str, base_url: str | None, environ: Mapping[str, str]) -> Endpoint:
    """The endpoint of `provider/name`: `base_url`, else PROVIDER_BASE_URL, else the provider's own address.

    The key is read from PROVIDER_API_KEY, and from nowhere else: no provider is sent another one's key.

    Raises: ModelError for a malformed or unknown model, a bad URL, or a missing key.
    """
    provider, slash, name = model.strip().partition("/")
    provider, known = provider.lower(), ", ".join(PROVIDERS)
    if not (provider and slash and name):
        raise ModelError(f"model {model!r} is not provider/name, such as openai/gpt-4o (providers: {known})")
    prefix = "".join(c if c.isascii() and c.isalnum() else "_" for c in provider).upper()
    base_url = base_url or environ.get(f"{prefix}_BASE_URL") or None
    settings = PROVIDERS.get(provider)
    if settings is None:
        if base_url is None:
            raise ModelError(
                f"provider {provider!r} of model {model!r} is not known (known: {known}); for any other "
                f"OpenAI-compatible server give --base-url URL or {prefix}_BASE_URL"
            )
        settings = Provider(None)
    base_url = base_url or settings.base_url
    if base_url is not None:
        _check_url(base_url, f"{prefix}_API_KEY")
    variable = f"{prefix}_API_KEY"
    key = environ.get(variable, "").strip()
    if not key:
        if settings.needs_key and not is_loopback(base_url):
            raise ModelError(
                f"model {model!r} needs a key: set {variable} (or {variable}=none for a server without keys)"
            )
        key = NO_KEY
    if not (key.isascii() and key.isprintable()):
        raise ModelError(f"{variable} holds characters that no key has; set it again, without line breaks")
    return Endpoint(provider, name, base_url, key, variable)


def _check_url(base_url: str, variable: str) -> None:
    try:
        url = urlsplit(base_url)
        valid = url.scheme in ("http", "https") and bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        raise ModelError("the base URL cannot be read; it must look like http://127.0.0.1:8000/v1") from None
    if url.username is not None or url.password is not None:
        raise ModelError(f"the base URL of {url.hostname} must hold no user or password; set {variable}")
    if url.query or url.fragment:
        raise ModelError(
            f"the base URL of {url.hostname} must end in its path, without ? and #; set {variable} for a key"
        )
    if not valid:
        raise ModelError(f"base URL {base_url!r} is no http(s) address, such as http://127.0.0.1:8000/v1")
