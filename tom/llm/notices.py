"""Who asks, for the lines that tell of a problem: one line a problem, with the game and the error."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LOGGER = logging.getLogger("otherminds")
_asking: ContextVar[tuple[str, ...]] = ContextVar("asking", default=())


@contextmanager
def asking(what: str) -> Iterator[None]:
    """Within it, problems are told of `what` (a game; a turn and a role), after what stands around it."""
    token = _asking.set((*_asking.get(), what))
    try:
        yield
    finally:
        _asking.reset(token)


def tell(problem: str) -> None:
    """Logs a problem as a warning of one line that begins with who asks; it may quote a server or a model."""
    line = " ".join(": ".join(filter(None, (", ".join(_asking.get()), problem))).split())
    LOGGER.warning("%s", "".join(character if character.isprintable() else "?" for character in line))
