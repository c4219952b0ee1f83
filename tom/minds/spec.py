"""What is written of a mind: `name` or `name:option=value,option=value`; what games' registries share in reading it."""

from typing import Any


class UnknownMind(ValueError):
    """A mind or an option that does not exist; the message lists those that do."""


def option_value(text: str, kind: type, option: str) -> Any:
    """What was written for an option, as its kind. Raises: UnknownMind naming option and text."""
    try:
        if kind is bool:
            return {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}[text.lower()]
        return kind(text)
    except (ValueError, KeyError):
        raise UnknownMind(f"{option}={text!r} is no {kind.__name__}") from None
