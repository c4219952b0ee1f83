"""What negotiations brought, and which mind explains each player.

Every decision is shadowed by every mind: it values each move at that moment, and the player is taken to choose by a
softmax of these values. A game is a unit. Minds are set beside each other three ways:

- held-out: rationality fitted on the player's other games, one lapse for all minds; each game's log-probability then is
  its log-evidence;
- free lapse: the same, with the lapse fitted too;
- reference: as the analysis of LLM-TOM does, rationality fitted on all games of the group at once, without a lapse,
  no probability below 1e-10; each game's log-likelihood at the fit is taken for its log-evidence. Withdrawal has what
  the mind finds it worth as an offer, at least 0; the other ways give it what it is worth, 0.

By each, random-effects model selection says how frequent minds are among games, or among people.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from otherminds.games.colored_trails.rules import Ending, Role, Rules
from otherminds.games.colored_trails.utility import Deal
from otherminds.inference.comparison import bic_log_evidence, fixed_effects, select
from otherminds.tom.experiments.colored_trails.fits import (
    BETAS,
    LAPSES,
    Fit,
    best,
    floored,
    held_out,
    lapsing,
    log_choice,
)
from otherminds.tom.experiments.colored_trails.records import Games, Outcomes, deals, outcomes
from otherminds.tom.experiments.compare import LAPSE, UNIFORM
from otherminds.tom.mind import Mind
from otherminds.tom.minds.colored_trails.fast import faster
from otherminds.tom.minds.colored_trails.registry import NamedNegotiator, named_negotiator
from otherminds.tom.minds.colored_trails.shadow import shadow
from otherminds.tom.minds.colored_trails.variant import DESCRIBED, VARIANTS

DEFAULT_MINDS = ("order0", "order1", "order2", "bayesian1")
PEOPLE = "people"
"""All people together."""
EVERY = "all"
WAYS = ("held-out", "free lapse", "reference")
PARAMETERS = {"held-out": 1, "free lapse": 2, "reference": 1}
"""That are fitted of a mind; the uniform one has none."""


class Shadow(NamedTuple):
    """What a mind made of every move of N games, in its mover's place."""

    values: Float[np.ndarray, "N T A"]  # points, of every move that could be made; -inf: padding
    log_goal: Float[np.ndarray, "N T G"]  # log-posterior of the other's goal


@dataclass(frozen=True)
class Gain:
    """What negotiations brought a player, or people together, in one condition."""

    agent: str
    boards: str  # "all" for all conditions together
    deception: str  # "allowed", "unmentioned", "" where the log says nothing, "all"
    games: int  # that are over
    mean: float  # points, less cost
    error: float  # standard error over games; NaN for fewer than 2
    agreed: int
    moves: float  # mean
    reached: int  # games in which the player's chips pay for a walk to its goal
    failed: int  # answers of the player


@dataclass(frozen=True)
class Explanation:
    """A mind as what explains a player, or people together."""

    agent: str
    units: str  # "games", or "players": what the random effects are over
    way: str  # of WAYS
    mind: str
    count: int  # units
    decisions: int
    fit: Fit | None  # on all of the agent's decisions at once; None: nothing is fitted, or each player has its own
    log_evidence: float  # summed over units, nats
    log_score: float  # nats a decision
    frequency: float  # expected, among units
    exceedance: float  # P(it is the most frequent)
    protected: float  # the same, where all may be equally frequent
    chance: float  # P(all are equally frequent)
    alone: float  # P(it made all units), if one mind did: fixed effects


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
    shadows = {}
    for name, each in chosen.items():
        shadows[name] = shadow_all(each, games, dealt)
        if on_mind is not None:
            on_mind()
    return Comparison(gains(games, found), explain(games, dealt, shadows, lapse), shadows, dealt, found, lapse, variant)


def chosen_minds(minds: Sequence[str] | None, variant: str, rules: Rules) -> dict[str, NamedNegotiator]:
    """The minds by what they are written as.

    Raises: ValueError for a variant that does not exist; UnknownMind.
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant {variant!r}: there are {', '.join(VARIANTS)}")
    return {spec: named_negotiator(with_variant(spec, variant), rules) for spec in (minds or DEFAULT_MINDS)}


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


def is_person(agent: str) -> bool:
    """Whether an agent is a person: "human", or "human-" and more."""
    return agent.partition("-")[0] == "human"


def seats_of(games: Games) -> dict[str, Int[np.ndarray, "S 2"]]:
    """By player, [S, (game, role)]: people together where there are several, then other players, then each person."""
    found: dict[str, list[tuple[int, int]]] = {}
    for n, pair in enumerate(games.agents):
        for role, agent in enumerate(pair):
            found.setdefault(agent, []).append((n, role))
    people = [agent for agent in found if is_person(agent)]
    together = {PEOPLE: sorted(seat for agent in people for seat in found[agent])} if len(people) > 1 else {}
    others = {agent: seats for agent, seats in found.items() if agent not in people}
    return {agent: np.array(seats) for agent, seats in (together | others | found).items()}


# --- What negotiations brought --------------------------------------------------------------------------------------


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
        float(gained.std(ddof=1) / np.sqrt(len(seats))) if len(seats) > 1 else np.nan,
        int((games.endings[n] == Ending.ACCEPTED).sum()),
        float(games.lengths[n].mean()),
        int(found.reached[n, role].sum()),
        int((games.failed[n] & own).sum()),
    )


# --- Which mind explains whom ---------------------------------------------------------------------------------------


class Decisions(NamedTuple):
    """All moves of some logs that were answered, in a row."""

    game: Int[np.ndarray, " D"]
    turn: Int[np.ndarray, " D"]
    made: Int[np.ndarray, " D"]
    withdrawal: Int[np.ndarray, " D"]  # its code
    valid: Bool[np.ndarray, "D A"]  # offers that there are


def decisions_of(games: Games, deal: Deal) -> Decisions:
    """The moves that were answered."""
    game, turn = np.nonzero(games.valid & ~games.failed)
    return Decisions(game, turn, games.kept[game, turn], deal.offers.own[game, turn % 2], deal.offers.valid[game])


def explain(games: Games, deal: Deal, shadows: Mapping[str, Shadow], lapse: float) -> list[Explanation]:
    """Every mind, and a uniform one, as what explains each player over its games, and people over games and players.

    A player with fewer than two games in which it moved is left out.
    """
    made = decisions_of(games, deal)
    places = 2 * made.game + made.turn % 2  # of a game and a role
    count = 2 * len(games.ids)
    moves = np.bincount(places, minlength=count)
    places_of = {agent: (own := 2 * each[:, 0] + each[:, 1])[moves[own] > 0] for agent, each in seats_of(games).items()}
    places_of = {agent: own for agent, own in places_of.items() if len(own) > 1}
    people = [agent for agent in places_of if is_person(agent)]
    if PEOPLE in places_of:  # those who are in it have two games each
        places_of[PEOPLE] = np.sort(np.concatenate([places_of[agent] for agent in people]))
    even = -np.log(made.valid.sum(1))
    uniform = np.bincount(places, even, count)
    evidence = {(way, agent): {UNIFORM: uniform[own]} for way in WAYS for agent, own in places_of.items()}
    fits: dict[tuple[str, str, str], Fit] = {}
    for mind, each in shadows.items():
        tables = _tables(each.values[made.game, made.turn], made, places, count, lapse)
        for (way, agent), known in evidence.items():
            if agent != PEOPLE:
                known[mind], fits[way, agent, mind] = _evidence(way, tables[way], places_of[agent])
        for way in WAYS if PEOPLE in places_of else ():
            pooled, fits[way, PEOPLE, mind] = _evidence(way, tables[way], places_of[PEOPLE])
            apart = np.concatenate([evidence[way, agent][mind] for agent in people])
            order = np.argsort(np.concatenate([places_of[agent] for agent in people]))
            evidence[way, PEOPLE][mind] = pooled if way == "reference" else apart[order]
    rows = []
    for agent, own in places_of.items():
        for way in WAYS:
            scores = evidence[way, agent]
            own_fits = {mind: fits[way, agent, mind] for mind in shadows}
            rows += _rows(agent, "games", way, scores, own_fits, int(moves[own].sum()))
        for way in WAYS if agent == PEOPLE and len(people) > 1 else ():
            rows += _over_players(way, people, places_of, evidence, fits, moves)
    return rows


class Table(NamedTuple):
    """The log-likelihood of every seat's choices at every point of a grid."""

    values: Float[np.ndarray, "P B L"]
    lapses: Float[np.ndarray, " L"]


def _tables(
    values: Float[np.ndarray, "D A"], made: Decisions, places: Int[np.ndarray, " D"], count: int, lapse: float
) -> dict[str, Table]:
    """By way."""
    ended = values.copy()
    ended[np.arange(len(values)), made.withdrawal] = 0.0
    as_offer, as_end = (
        np.asarray(log_choice(each, made.valid, made.made, BETAS.astype(each.dtype)), float) for each in (values, ended)
    )
    offers = made.valid.sum(1)
    one, none = np.array([lapse]), np.zeros(1)
    return {
        "held-out": Table(lapsing(as_end, offers, places, count, one), one),
        "free lapse": Table(lapsing(as_end, offers, places, count, LAPSES), LAPSES),
        "reference": Table(floored(as_offer, places, count)[..., None], none),
    }


def _evidence(way: str, table: Table, places: Int[np.ndarray, " S"]) -> tuple[Float[np.ndarray, " S"], Fit]:
    """The log-evidence of each game, and the fit on all."""
    own = table.values[places]
    scores = own[:, own.sum(0).argmax(), 0] if way == "reference" else held_out(own)
    return scores, best(own, table.lapses)


def _over_players(
    way: str,
    people: Sequence[str],
    places_of: Mapping[str, Int[np.ndarray, " S"]],
    evidence: Mapping[tuple[str, str], Mapping[str, np.ndarray]],
    fits: Mapping[tuple[str, str, str], Fit],
    moves: Int[np.ndarray, " P"],
) -> list[Explanation]:
    """People as units: what was held out, summed; for the reference's fits, one a player, minus half the BIC."""
    counts = {agent: int(moves[places_of[agent]].sum()) for agent in people}
    scores = {}
    for mind, _ in evidence[way, people[0]].items():
        scores[mind] = np.array(
            [
                bic_log_evidence(fits[way, agent, mind].log_likelihood, PARAMETERS[way], counts[agent])
                if way == "reference" and mind != UNIFORM
                else evidence[way, agent][mind].sum()
                for agent in people
            ]
        )
    return _rows(PEOPLE, "players", way, scores, {}, sum(counts.values()))


def _rows(
    agent: str, units: str, way: str, scores: Mapping[str, np.ndarray], fits: Mapping[str, Fit], decisions: int
) -> list[Explanation]:
    minds = [*(mind for mind in scores if mind != UNIFORM), UNIFORM]
    table = np.stack([scores[mind] for mind in minds], 1)
    chosen, alone = select(table), np.exp(fixed_effects(table))
    return [
        Explanation(
            agent,
            units,
            way,
            mind,
            len(table),
            decisions,
            fits.get(mind),
            float(table[:, k].sum()),
            float(table[:, k].sum() / decisions),
            float(chosen.frequency[k]),
            float(chosen.exceedance[k]),
            float(chosen.protected[k]),
            chosen.chance,
            float(alone[k]),
        )
        for k, mind in enumerate(minds)
    ]
