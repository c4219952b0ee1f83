"""What somebody at the table decides, and how it came about."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Attempt:
    """One answer of an agent.

    text: what it said, whole.   error: None for a valid answer, else what it was told.
    failure: None, or "call" (no answer came), "empty", "cut" (by the token limit), "refused" or "invalid".
    finish_reason, prompt_tokens, completion_tokens, latency (seconds), requests, model, id, reasoning, constrained,
    cached, dropped, logprobs: as in `otherminds.tom.llm.answer.Answer`.
    """

    text: str
    error: str | None = None
    failure: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency: float = 0.0
    requests: int = 1
    model: str = ""
    id: str | None = None
    reasoning: str | None = None
    constrained: bool = False
    cached: bool = False
    dropped: tuple[str, ...] = ()
    logprobs: tuple[tuple[tuple[str, float], ...], ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """The record for the log; what few attempts have is left out of the others."""
        return {
            name: value
            for name, value in asdict(self).items()
            if value or name not in ("cached", "dropped", "logprobs")
        }


@dataclass(frozen=True)
class Decision:
    """An agent's action in a game's own form (three hints, the index of a code), or None for NO_ANSWER.

    attempts: every answer, the last one first valid or all failed; empty for agents that cannot fail.
    log_probability: that the agent itself gave to the action, nats, where it is a mind.
    probabilities: over the actions, where the agent states them.
    statement: what else it states, in a game that asks for more than an action.   reasoning: its reasons, where asked.
    message: what it says to the others with its action, in a game with messages.
    """

    action: Any
    attempts: tuple[Attempt, ...] = ()
    log_probability: float | None = None
    probabilities: dict[str, float] | None = None
    statement: dict[str, dict[str, float]] | None = None
    reasoning: str | None = None
    message: str | None = None

    @property
    def failure(self) -> str | None:
        """Why there is no action: the last attempt's failure."""
        return self.attempts[-1].failure if self.action is None and self.attempts else None

    def to_json(self) -> dict[str, Any]:
        """The record for the log."""
        return {
            "action": list(self.action) if isinstance(self.action, tuple) else self.action,
            "attempts": [attempt.to_json() for attempt in self.attempts],
            "probabilities": self.probabilities,
        }
