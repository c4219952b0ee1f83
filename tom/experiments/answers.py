"""The answers of language models, as pages show them: every attempt as it came."""

from typing import Any

from otherminds.tom.experiments import journal

LONGEST_ANSWER = 6000  # characters of an answer that a page shows


def answered(line: journal.Decision) -> dict[str, Any]:
    """What a page shows of one decision of a language model: every attempt, what was wrong with it, its reasoning."""
    return {
        "role": line.role,
        "agent": line.agent,
        "failed": line.action is None,
        "attempts": [
            {
                "text": (attempt.text or "")[:LONGEST_ANSWER],
                "more": max(0, len(attempt.text or "") - LONGEST_ANSWER),
                "error": attempt.error,
                "reasoning": _reasoning(attempt),
            }
            for attempt in line.attempts
        ],
    }


def _reasoning(attempt: journal.Attempt) -> str:
    """What the server showed of the model's reasoning; fields of other logs may hold anything."""
    shown = (attempt.model_extra or {}).get("reasoning")
    return shown[:LONGEST_ANSWER] if isinstance(shown, str) else ""
