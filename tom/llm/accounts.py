"""What a run spends, in tokens and dollars, and where it stops.

A limit is looked at before every call. The calls in flight count by their reserve: the tokens of the prompt, estimated
as a quarter of its characters and its schema's, and the most that the answer may hold. Near a limit calls therefore
wait for those in flight, whose real usage is nearly always smaller; the run stops when nothing is in flight and the
next call does not fit. So nothing that was paid for is thrown away by the stop, and a limit is overshot only

- by what a prompt has more than a quarter token a character (other scripts than the Latin one have up to about one);
- by what servers charge and do not report: failed requests that were retried, and answers without a usage;
- after a start anew: by the attempts of decisions that a kill or the limit left unfinished; the log has none of them.

Answers from the cache cost nothing. Prices are given by the user: they change, and none are shipped.
"""

import asyncio
import json
import math
import tomllib
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from otherminds.tom.llm.endpoint import ModelError

CHARACTERS_A_TOKEN = 4
ANY = "*"
"""In prices: every model that has none of its own."""
MILLION = 1_000_000


class LimitReached(ModelError):
    """The tokens or the money that a run may spend are spent; the same command with a higher limit goes on."""


class Usage(NamedTuple):
    """Tokens that a model read and wrote, as its server counts them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Of both kinds."""
        return self.prompt_tokens + self.completion_tokens

    def plus(self, other: "Usage") -> "Usage":
        """The sum."""
        return Usage(self.prompt_tokens + other.prompt_tokens, self.completion_tokens + other.completion_tokens)


@dataclass(frozen=True)
class Limits:
    """What a run may spend; None is no limit.

    tokens: read and written, by all models.   cost: dollars.
    prices: dollars a million tokens (read, written), by provider/name, or "*" for every other model.
    """

    tokens: int | None = None
    cost: float | None = None
    prices: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in (("--token-limit", self.tokens), ("--cost-limit", self.cost)):
            if value is not None and not 0 < value < math.inf:
                raise ModelError(f"{name} {value!r}: must be above 0")
        for model, price in self.prices.items():
            if not all(0 <= dollars < math.inf for dollars in price):
                raise ModelError(f"--price of {model!r}, {price}: must be two numbers of dollars, at least 0")

    def cost_of(self, model: str, usage: Usage) -> float | None:
        """Dollars; None where the model has no price."""
        price = self.prices.get(model) or self.prices.get(ANY)
        if price is None:
            return None
        return (usage.prompt_tokens * price[0] + usage.completion_tokens * price[1]) / MILLION


def read_prices(text: str) -> dict[str, tuple[float, float]]:
    """The prices that `--price` gives.

    text: IN,OUT, dollars a million tokens read and written, of every model; or a JSON or TOML file of
        "provider/name" = [IN, OUT].
    Raises: ModelError for anything else.
    """
    path = Path(text).expanduser()
    if path.suffix in (".json", ".toml"):
        try:
            table = json.loads(path.read_text()) if path.suffix == ".json" else tomllib.loads(path.read_text())
            return {model: _price(price) for model, price in table.items()}
        except OSError as error:
            raise ModelError(f"--price {text!r}: the file cannot be read ({error.strerror})") from None
        except (ValueError, TypeError, AttributeError) as error:
            raise ModelError(
                f'--price {text!r}: the file must hold "provider/name" = [IN, OUT], dollars a million tokens ({error})'
            ) from None
    try:
        return {ANY: _price(text.split(","))}
    except (ValueError, TypeError):
        raise ModelError(
            f"--price {text!r}: must be IN,OUT (dollars a million tokens), or a .json or .toml file of prices"
        ) from None


def _price(pair: object) -> tuple[float, float]:
    read, written = pair if isinstance(pair, list) else ()
    return float(read), float(written)


class Account:
    """What a run has spent, and what its calls in flight may spend; its models share it.

    spent: by model, from the log of an earlier start.
    """

    def __init__(self, limits: Limits | None = None, spent: Mapping[str, Usage] | None = None) -> None:
        self.limits = limits or Limits()
        self.spent: dict[str, Usage] = dict(spent or {})
        self._in_flight: dict[object, tuple[str, Usage]] = {}
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def tokens(self) -> int:
        """Spent by all models."""
        return sum(usage.tokens for usage in self.spent.values())

    @property
    def cost(self) -> float | None:
        """Dollars spent by all models; None where one of them has no price."""
        costs = [self.limits.cost_of(model, usage) for model, usage in self.spent.items()]
        return None if None in costs else math.fsum(cost for cost in costs if cost is not None)

    def check_price(self, model: str) -> None:
        """Raises: ModelError where a cost is limited and the model has no price."""
        if self.limits.cost is not None and self.limits.cost_of(model, Usage()) is None:
            known = ", ".join(self.limits.prices) or "none"
            raise ModelError(
                f"--cost-limit {self.limits.cost:g}: {model} has no price (prices: {known}); give --price IN,OUT in "
                "dollars a million tokens, or a file of prices"
            )

    def count(self, model: str, usage: Usage) -> None:
        """Adds what was spent."""
        self.spent[model] = self.spent.get(model, Usage()).plus(usage)

    @asynccontextmanager
    async def call(self, model: str, reserve: Usage) -> AsyncIterator[None]:
        """Keeps the reserve of a call until it is over; waits while only the calls in flight stand in its way.

        Raises: LimitReached where it does not fit, and nothing is in flight.
        """
        while not self._fits(model, reserve):
            if not self._in_flight:
                raise LimitReached(self._reached(model, reserve))
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        mine = object()
        self._in_flight[mine] = model, reserve
        try:
            yield
        finally:
            del self._in_flight[mine]
            # Whoever has an answer goes on with it before those who wait look again: it is written down first.
            while self._waiting:
                if not (turn := self._waiting.popleft()).done():
                    turn.set_result(None)

    def _fits(self, model: str, reserve: Usage) -> bool:
        if self.limits.tokens is None and self.limits.cost is None:
            return True
        planned = [*self._in_flight.values(), (model, reserve)]
        tokens = self.tokens + sum(usage.tokens for _, usage in planned)
        if self.limits.tokens is not None and tokens > self.limits.tokens:
            return False
        cost = (self.cost or 0.0) + math.fsum(self.limits.cost_of(*one) or 0.0 for one in planned)
        return self.limits.cost is None or cost <= self.limits.cost

    def _reached(self, model: str, reserve: Usage) -> str:
        cost = self.cost
        spent = f"{self.tokens:,} tokens" + (f" (${cost:.4f})" if cost is not None and self.limits.prices else "")
        limits = [] if self.limits.tokens is None else [f"--token-limit {self.limits.tokens}"]
        limits += [] if self.limits.cost is None else [f"--cost-limit {self.limits.cost:g}"]
        return (
            f"stopped at {' and '.join(limits)}: {spent} spent, and the next call of {model} may take "
            f"{reserve.tokens:,} more; the same command with a higher limit goes on"
        )


def estimated_tokens(messages: object, schema: object = None) -> int:
    """Tokens of a prompt: a quarter of its characters, rounded up, and four for each message's frame.

    schema: that the answer is held to; some servers write it into the prompt, so it counts.
    """
    texts = [str(message["content"]) for message in messages]
    held = len(json.dumps(schema)) if schema else 0
    return math.ceil((sum(map(len, texts)) + held) / CHARACTERS_A_TOKEN) + 4 * len(texts)
