"""Observers by name, as they are written on the command line: `name` or `name:option=value,option=value`."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from otherminds.games.rps.catalogue import CODES, REACTIVE, catalogue
from otherminds.games.rps.strategies import Strategy
from otherminds.tom.minds.rps import observers
from otherminds.tom.minds.rps.observers import Observer
from otherminds.tom.minds.spec import UnknownMind, option_value


@dataclass(frozen=True)
class NamedObserver:
    """An observer, how it was written, its params, and the codes of its candidates, in their order."""

    spec: str
    mind: Observer
    params: Any
    codes: tuple[str, ...]


Candidates = Callable[[float], Strategy]
"""The candidates with a tremble."""
Built = tuple[Observer, Any]


def exact(candidates: Candidates, tremble: float = 0.0) -> Built:
    """Bayes over the whole history, believing the rules of the candidates."""
    return observers.rules(), observers.rule_params(candidates(tremble))


def window(candidates: Candidates, size: int = 50, tremble: float = 0.0) -> Built:
    """As exact, from the last rounds alone."""
    return observers.windowed(size), observers.rule_params(candidates(tremble))


def generator_aware(candidates: Candidates, window: int = 0) -> Built:
    """Knows that the data are the paper's: both marginals of a pair drawn afresh every round. window 0: all rounds."""
    return observers.generator_aware(window or None), observers.pair_params(candidates(0.0))


def switching(candidates: Candidates, hazard: float = 0.05, tremble: float = 0.0) -> Built:
    """Believes that players now and then change to another candidate."""
    return observers.rules(), observers.rule_params(candidates(tremble), hazard)


def moment_matching(candidates: Candidates, window: int = 0) -> Built:
    """Compares how often the first player won with every pair's long run. window 0: all rounds."""
    return observers.moment_matching(window or None), observers.rule_params(candidates(0.0))


def frequency(candidates: Candidates, window: int = 0) -> Built:
    """Counts moves and takes every player for static. window 0: all rounds."""
    return observers.frequency(window or None), observers.rule_params(candidates(0.0))


OBSERVERS: dict[str, Callable[..., Built]] = {
    "exact": exact,
    "window": window,
    "generator-aware": generator_aware,
    "switching": switching,
    "moment-matching": moment_matching,
    "frequency": frequency,
}
RANGES = {"tremble": (0, 1), "hazard": (0, 1), "size": (1, 10_000), "window": (0, 10_000)}
"""The smallest and the largest value of each option."""


def named_observer(spec: str, *, codes: Sequence[str] = CODES, legacy_decimals: bool = False) -> NamedObserver:
    """The observer that `name` or `name:option=value,...` stands for; `window:50` is short for `window:size=50`.

    codes: the strategies of the catalogue that it considers.   legacy_decimals: as rounded in the authors' code.
    Raises: UnknownMind naming what is wrong and what there is; ValueError for a code that is not in the catalogue.
    """
    name, _, rest = (part.strip() for part in spec.partition(":"))
    if name not in OBSERVERS:
        raise UnknownMind(f"{name!r} is no observer; there are {', '.join(OBSERVERS)}")
    own = list(inspect.signature(OBSERVERS[name]).parameters.values())[1:]
    kinds = {parameter.name: parameter.annotation for parameter in own}
    options: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        option, equals, text = (piece.strip() for piece in part.partition("="))
        if not equals and name == "window":
            option, text = "size", option
        if option not in kinds:
            raise UnknownMind(f"{spec!r}: no option {option!r}; {name} takes {', '.join(kinds)}")
        options[option] = option_value(text, kinds[option], f"{name}:{option}")
        low, high = RANGES[option]
        if not low <= options[option] <= high:
            raise UnknownMind(f"{spec!r}: {option}={text} must be from {low} to {high}")
    if name == "frequency" and set(codes) <= set(REACTIVE):
        raise UnknownMind(f"{spec!r} knows only static strategies, and none of {', '.join(codes)} is")
    mind, params = OBSERVERS[name](lambda tremble: catalogue(legacy_decimals, tremble, codes), **options)
    return NamedObserver(spec, mind, params, tuple(codes))
