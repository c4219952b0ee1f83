"""What a number of the settings must be; settings come out of files and logs too, where "3", true and 1.5 occur."""

import math
from numbers import Integral, Real
from typing import Any


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Raises: ValueError unless the value is a whole number (not a bool) from `least` to `most`."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        allowed = f"of at least {least}" if most is None else f"from {least} to {most:,}"
        raise ValueError(f"{name}={value!r}: a whole number {allowed}")


def check_number(name: str, value: Any, least: float = -math.inf) -> None:
    """Raises: ValueError unless the value is a finite number (not a bool) of at least `least`."""
    number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not number or value < least:
        allowed = "a finite number" if least == -math.inf else f"a finite number of at least {least:g}"
        raise ValueError(f"{name}={value!r}: {allowed}")
