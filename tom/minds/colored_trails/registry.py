"""Negotiators by name, as they are written on the command line: `name` or `name:option=value,...`.

    order0 to order4         de Weerd's agents: order2, order1:variant=llm-tom, order1:confidence=0.5,beta=2
    bayesian1 to bayesian4   a posterior over the other's goal under softmax choices: bayesian1:rationality=0.2
    horizon1 to horizon4     the agents of order k, two exchanges ahead

Each takes `variant` (described, llm-tom, deweerd), `learning_speed` (0.8), `lapse` (0: the probability of a random
offer) and `beta` (of its own choice, per point; left out: the best move). `order` and `horizon` take `confidence` (the
initial one of every order, 1), `bayesian` takes `rationality` (of the others in its mind, per point, 0.2).
"""

import math
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from otherminds.games.colored_trails.rules import Rules
from otherminds.tom.minds.colored_trails.bayesian import BayesianParams, bayesian
from otherminds.tom.minds.colored_trails.horizon import horizon
from otherminds.tom.minds.colored_trails.negotiator import HIGHEST_ORDER, Negotiator, Params
from otherminds.tom.minds.colored_trails.order import RULES, negotiator
from otherminds.tom.minds.colored_trails.variant import DESCRIBED, VARIANTS
from otherminds.tom.minds.spec import UnknownMind, option_value

LOWEST = {"order": 0, "bayesian": 1, "horizon": 1}
SHARED_OPTIONS = {"variant": str, "learning_speed": float, "lapse": float, "beta": float}
OPTIONS = {
    "order": SHARED_OPTIONS | {"confidence": float},
    "bayesian": SHARED_OPTIONS | {"rationality": float},
    "horizon": SHARED_OPTIONS | {"confidence": float},
}
PROBABILITIES = ("learning_speed", "lapse", "confidence")
RATES = ("beta", "rationality")


@dataclass(frozen=True)
class NamedNegotiator:
    """A negotiator, what it is made of, and how it was written."""

    spec: str
    mind: Negotiator
    params: Params | BayesianParams


def names() -> str:
    """What may be written, in one line."""
    return ", ".join(f"{name}{low} to {name}{HIGHEST_ORDER}" for name, low in LOWEST.items())


@cache
def named_negotiator(spec: str, rules: Rules = RULES) -> NamedNegotiator:
    """The negotiator that `name` or `name:option=value,...` stands for; see the module.

    rules: of the game that it is to play.
    Raises: UnknownMind naming what is wrong and what there is.
    """
    name, _, rest = spec.partition(":")
    found = re.fullmatch(r"(order|bayesian|horizon)(\d)", name.strip())
    if not found or not LOWEST[found[1]] <= int(found[2]) <= HIGHEST_ORDER:
        raise UnknownMind(f"{name!r} is no negotiator; there are {names()}")
    kind, order = found[1], int(found[2])
    options = _options(spec, kind, rest)
    variant_name = options.pop("variant", DESCRIBED.name)
    if variant_name not in VARIANTS:
        raise UnknownMind(f"{spec!r}: variant={variant_name}: there are {', '.join(VARIANTS)}")
    variant = VARIANTS[variant_name]
    if "confidence" in options:
        options["confidence"] = (options["confidence"],) * max(order, 1)
    if kind == "bayesian":
        return NamedNegotiator(spec, bayesian(order, rules, variant), BayesianParams(**options))
    mind = negotiator(variant, order, rules) if kind == "order" else horizon(order, rules, variant)
    return NamedNegotiator(spec, mind, Params(**options))


def _options(spec: str, kind: str, rest: str) -> dict[str, Any]:
    """What was written for each option. Raises: UnknownMind."""
    found: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        option, _, text = (piece.strip() for piece in part.partition("="))
        option = option.replace("-", "_")
        if option not in OPTIONS[kind]:
            raise UnknownMind(f"{spec!r}: no option {option!r}; {kind} takes {', '.join(OPTIONS[kind])}")
        value = option_value(text, OPTIONS[kind][option], f"{kind}:{option}")
        if option in PROBABILITIES and not 0 <= value <= 1:
            raise UnknownMind(f"{spec!r}: {option}={value:g} must be from 0 to 1")
        if option in RATES and not 0 <= value < math.inf:
            raise UnknownMind(f"{spec!r}: {option}={value:g} must be finite and at least 0")
        found[option] = value
    return found
