"""Minds by name, as they are written on the command line: `name` or `name:option=value,option=value`."""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from otherminds.games.reference.rules import Role
from otherminds.tom.mind import Mind
from otherminds.tom.minds.reference import players
from otherminds.tom.minds.reference.choice import Params
from otherminds.tom.minds.spec import UnknownMind, option_value


@dataclass(frozen=True)
class NamedMind:
    """A mind, how it was written, and its params; a mind of one's own has a name instead.

    params: `Params`, or another record of numbers with alpha and lapse.   rational: whether alpha matters to it.
    """

    spec: str
    mind: Mind
    params: Any = field(default_factory=Params)
    rational: bool = True

    @property
    def fitted(self) -> str:
        """What it is called where alpha and the error rate are fitted: as it was written, without these two."""
        name, _, rest = self.spec.partition(":")
        kept = ",".join(part for part in rest.split(",") if part.partition("=")[0].strip() not in ("alpha", "lapse"))
        return f"{name}:{kept}" if kept else name


Built = tuple[int, Params]
"""A depth, and the params of the player who reasons so deep."""


def literal(alpha: float = 1.0, slip: float = 0.0, lapse: float = 0.0) -> Built:
    """Says any true word; picks any object of which the word is true."""
    return 0, Params(alpha, lapse, slip=slip)


def pragmatic(
    alpha: float = 1.0, depth: int = 1, other_alpha: float = 1.0, slip: float = 0.0, lapse: float = 0.0
) -> Built:
    """Models a partner who models him, depth times: rational speech acts."""
    if depth < 1:
        raise UnknownMind(f"depth={depth}: pragmatic is at least 1 deep; literal is 0")
    return depth, Params(alpha, lapse, other_alpha, slip)


MINDS: dict[str, Callable[..., Built]] = {"literal": literal, "pragmatic": pragmatic}
RANGES = {"alpha": math.inf, "other_alpha": math.inf, "depth": 20, "slip": 0.1, "lapse": 1}
"""The largest value of each option; the smallest is 0."""


@cache
def named(spec: str, role: Role) -> NamedMind:
    """The mind that `name` or `name:option=value,...` stands for in a role.

    Raises: UnknownMind naming what is wrong and what there is.
    """
    name, _, rest = spec.partition(":")
    if name not in MINDS:
        raise UnknownMind(f"{name!r} is no mind for the {role.name.lower()}; there are {', '.join(MINDS)}")
    own = inspect.signature(MINDS[name]).parameters
    options: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        option, _, text = (piece.strip() for piece in part.partition("="))
        option = option.replace("-", "_")
        if option not in own:
            raise UnknownMind(f"{spec!r}: no option {option!r}; {name} takes {', '.join(own)}")
        options[option] = option_value(text, own[option].annotation, f"{name}:{option}")
        if not 0 <= options[option] <= RANGES[option] or options[option] == math.inf:
            allowed = "finite and at least 0" if RANGES[option] == math.inf else f"from 0 to {RANGES[option]:g}"
            raise UnknownMind(f"{spec!r}: {option}={text} must be {allowed}")
    depth, params = MINDS[name](**options)
    build = players.speaker if role == Role.SPEAKER else players.listener
    return NamedMind(spec, build(depth), params, rational=depth > 0)
