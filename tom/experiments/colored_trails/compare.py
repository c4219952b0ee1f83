"""What negotiations brought each player, and which mind explains it (`explain`)."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from otherminds.games.colored_trails.rules import Ending, Role, Rules
from otherminds.games.colored_trails.utility import Deal
from otherminds.inference.resampling import clustered_mean
from otherminds.tom.experiments.colored_trails.explain import Explanation, Shadow, at_the_fit, explain
from otherminds.tom.experiments.colored_trails.records import Games, Outcomes, deals, is_person, outcomes, seats_of
from otherminds.tom.experiments.compare import LAPSE
from otherminds.tom.mind import Mind
from otherminds.tom.minds.colored_trails.fast import faster
from otherminds.tom.minds.colored_trails.registry import NamedNegotiator, named_negotiator
from otherminds.tom.minds.colored_trails.shadow import shadow
from otherminds.tom.minds.colored_trails.variant import DESCRIBED, VARIANTS
from otherminds.tom.minds.spec import UnknownMind

DEFAULT_MINDS = ("order0", "order1", "order2", "bayesian1:rationality=fit")
FITTED = {
    "rationality": (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0),
    "learning_speed": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    "confidence": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
}
"""What `option=fit` tries, of the options that stand behind a choice of the best."""
EVERY = "all"


@dataclass(frozen=True)
class Gain:
    """What negotiations brought a player, or people together, in one condition."""

    agent: str
    boards: str  # "all" for all conditions together
    deception: str  # "allowed", "unmentioned", "" where the log says nothing, "all"
    games: int  # that are over
    mean: float  # points, less cost
    error: float  # standard error, clustered by `clusters_of`; NaN for fewer than 2 clusters
    agreed: int
    moves: float  # mean
    reached: int  # games in which the player's chips pay for a walk to its goal
    failed: int  # answers of the player


class Comparison(NamedTuple):
    """Everything that is said of some logs, but for the annotations of thoughts."""

    gains: list[Gain]
    explanations: list[Explanation]
    shadows: dict[str, Shadow]  # by mind
    deals: Deal
    outcomes: Outcomes
    lapse: float
    variant: str


def compare(
    games: Games,
    minds: Sequence[str] | None = None,
    *,
    variant: str = DESCRIBED.name,
    lapse: float = LAPSE,
    on_mind: Callable[[], None] | None = None,
) -> Comparison:
    """Sets every player beside minds.

    minds: as they are written; default DEFAULT_MINDS. A mind that names no variant has the one given.
    lapse: of every mind, held out; above 0 and at most 1.   on_mind: called after each mind.
    Failed answers are left out of what is fitted and scored, and counted with the gains.
    Raises: ValueError for a lapse out of range and a variant that does not exist; UnknownMind.
    """
    if not 0 < lapse <= 1:
        raise ValueError(f"lapse={lapse}: it is a probability above 0 (without it one odd move settles all)")
    chosen = chosen_minds(minds, variant, games.rules)
    dealt = deals(games.rules, games.board)
    found = outcomes(games, dealt)
    shadows: dict[str, dict[str, Shadow]] = {}
    for name, settings in chosen.items():
        shadows[name] = {}
        for setting, named in settings.items():
            shadows[name][setting] = shadow_all(named, games, dealt)
            if on_mind is not None:
                on_mind()
    explained = explain(games, dealt, shadows, lapse)
    fitted = at_the_fit(games, shadows, explained)
    return Comparison(gains(games, found), explained, fitted, dealt, found, lapse, variant)


def chosen_minds(minds: Sequence[str] | None, variant: str, rules: Rules) -> dict[str, dict[str, NamedNegotiator]]:
    """The minds by what they are written as, and by the settings that are tried: "" where nothing is `=fit`.

    Raises: ValueError for a variant that does not exist; UnknownMind.
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant {variant!r}: there are {', '.join(VARIANTS)}")
    return {
        spec: {
            setting: named_negotiator(with_variant(each, variant), rules)
            for setting, each in with_settings(spec).items()
        }
        for spec in (minds or DEFAULT_MINDS)
    }


def with_settings(spec: str) -> dict[str, str]:
    """A mind as it is written with every value of its options that are `=fit`, by what these are.

    Raises: UnknownMind for an option that is not fitted so.
    """
    name, _, rest = spec.partition(":")
    options = [[piece.strip() for piece in part.partition("=")] for part in rest.split(",")]
    fitted = [option.replace("-", "_") for option, _, value in options if value == "fit"]
    for option in fitted:
        if option not in FITTED:
            raise UnknownMind(
                f"{spec!r}: {option}=fit: {', '.join(FITTED)} can be fitted so; beta and lapse are fitted always"
            )
    fixed = [f"{option}={value}" for option, equals, value in options if equals and value != "fit"]
    if not fitted:
        return {"": spec}
    tried = itertools.product(*(FITTED[option] for option in fitted))
    settings = [",".join(f"{option}={value:g}" for option, value in zip(fitted, each, strict=True)) for each in tried]
    return {setting: f"{name}:{','.join([setting, *fixed])}" for setting in settings}


def with_variant(spec: str, variant: str) -> str:
    """A mind as it is written, with a variant where it names none and the variant is not the default."""
    if "variant=" in spec or variant == DESCRIBED.name:
        return spec
    return f"{spec}{',' if ':' in spec else ':'}variant={variant}"


@cache
def _shadower(mind: Mind, rules: Rules, role: Role) -> Callable[..., Any]:
    """The jitted function (params, deal [N], kept [N, T]) -> what the mind makes of every game in the role's place."""

    def run(params, deal, kept):
        return jax.lax.map(lambda game: shadow(mind, params, rules, game[0], role, game[1]), (deal, kept))

    return jax.jit(run)


def shadow_all(named: NamedNegotiator, games: Games, deal: Deal) -> Shadow:
    """What a mind makes of every move of some games, in the place of whoever made it."""
    params, mind = jax.tree.map(jnp.asarray, named.params), faster(named.mind, games.rules)
    turns = np.arange(games.kept.shape[1])[:, None] % 2
    both = [
        jax.tree.map(np.asarray, _shadower(mind, games.rules, role)(params, deal, jnp.asarray(games.kept)))
        for role in Role
    ]
    (first, of_first), (second, of_second) = both
    return Shadow(np.where(turns == 0, first, second), np.where(turns == 0, of_first, of_second))


def gains(games: Games, found: Outcomes) -> list[Gain]:
    """Every player and people together, in all conditions, and in each where there are several."""
    boards, deception = (np.array([_told(name, c) for c in games.conditions]) for name in ("boards", "deception"))
    rows = []
    for agent, seats in seats_of(games).items():
        seats = seats[games.endings[seats[:, 0]] != Ending.ONGOING]
        if not len(seats):
            continue
        rows.append(_gain(agent, EVERY, EVERY, games, found, seats))
        own = list(zip(boards[seats[:, 0]].tolist(), deception[seats[:, 0]].tolist(), strict=True))
        several = sorted(set(own), key=lambda each: (each[0] != "ordinary", *each[::-1])) if len(set(own)) > 1 else []
        for condition in several:
            there = np.array([each == condition for each in own])
            rows.append(_gain(agent, *condition, games, found, seats[there]))
    return rows


def _told(name: str, condition: Mapping[str, Any]) -> str:
    value = condition.get(name, "")
    return {True: "allowed", False: "unmentioned"}[value] if isinstance(value, bool) else str(value)


def _gain(
    agent: str, boards: str, deception: str, games: Games, found: Outcomes, seats: Int[np.ndarray, "S 2"]
) -> Gain:
    n, role = seats.T
    gained = found.gained[n, role]
    own = np.arange(games.kept.shape[1]) % 2 == role[:, None]
    return Gain(
        agent,
        boards,
        deception,
        len(seats),
        float(gained.mean()),
        clustered_mean(gained, clusters_of(games, n))[1],
        int((games.endings[n] == Ending.ACCEPTED).sum()),
        float(games.lengths[n].mean()),
        int(found.reached[n, role].sum()),
        int((games.failed[n] & own).sum()),
    )


def clusters_of(games: Games, n: Int[np.ndarray, " S"]) -> Int[np.ndarray, " S"]:
    """[S] which of some games are taken as independent.

    Those of different people are; where there is one or none, those on different boards. A board and its copy are one.
    """
    people = [tuple(filter(is_person, games.agents[game])) for game in n]
    alike = people if len(set(people)) > 1 else [games.dealt_as[game] for game in n]
    places: dict[Any, int] = {}
    return np.array([places.setdefault(each, len(places)) for each in alike])
