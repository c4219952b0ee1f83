"""Which mind explains each player.

Every decision is shadowed by every mind: it values each move at that moment, and the player is taken to choose by a
softmax of these values. A game is a unit. Minds are set beside each other three ways:

- held-out: rationality fitted on the player's other games, one lapse for all minds; each game's log-probability then is
  its log-evidence;
- free lapse: the same, with the lapse fitted too;
- reference: as the analysis of LLM-TOM does, rationality fitted on all games of the group at once, without a lapse,
  no probability below 1e-10; each game's log-likelihood at the fit is taken for its log-evidence. Withdrawal has what
  the mind finds it worth as an offer, at least 0; the other ways give it what it is worth, 0.

By each, random-effects model selection says how frequent minds are among games, or among people. A mind may have a
setting that is fitted as rationality is, over the values it was shadowed with.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from otherminds.games.colored_trails.utility import Deal
from otherminds.inference.comparison import bic_log_evidence, fixed_effects, select
from otherminds.tom.experiments.colored_trails.fits import (
    BETAS,
    LAPSES,
    Fit,
    Rows,
    Table,
    best,
    floored,
    held_out,
    lapsing,
    log_choice,
)
from otherminds.tom.experiments.colored_trails.records import PEOPLE, Games, is_person, seats_of
from otherminds.tom.experiments.compare import UNIFORM

WAYS = ("held-out", "free lapse", "reference")


class Shadow(NamedTuple):
    """What a mind made of every move of N games, in its mover's place."""

    values: Float[np.ndarray, "N T A"]  # points, of every move that could be made; -inf: padding
    log_goal: Float[np.ndarray, "N T G"]  # log-posterior of the other's goal


Settings = Mapping[str, Shadow]
"""A mind's shadows by its setting, such as "rationality=0.2"; "" for a mind that has none to be fitted."""


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
    setting: str  # of the fit, such as "rationality=0.2"; "": there is none
    log_evidence: float  # summed over units, nats
    log_score: float  # nats a decision
    frequency: float  # expected, among units
    exceedance: float  # P(it is the most frequent)
    protected: float  # the same, where all may be equally frequent
    chance: float  # P(all are equally frequent)
    alone: float  # P(it made all units), if one mind did: fixed effects


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


class _Player(NamedTuple):
    """The games of a player, or of people together."""

    units: list[Rows]  # the decisions in each
    parts: tuple[str, ...]  # the players it is made of: itself, or each person


def _players(games: Games, made: Decisions) -> dict[str, _Player]:
    """Who moved in at least two games; people together are those of them who did."""
    places = 2 * made.game + made.turn % 2  # of a game and a role
    order = np.argsort(places, kind="stable")
    moved, starts = np.unique(places[order], return_index=True)
    rows = dict(zip(moved.tolist(), np.split(order, starts[1:]), strict=True))
    found = {}
    for agent, seats in seats_of(games).items():
        own = [place for place in (2 * seats[:, 0] + seats[:, 1]).tolist() if place in rows]
        if len(own) > 1:
            found[agent] = own
    people = tuple(agent for agent in found if is_person(agent))
    if PEOPLE in found:
        found[PEOPLE] = [place for agent in people for place in found[agent]]
    return {
        agent: _Player([rows[place] for place in own], people if agent == PEOPLE else (agent,))
        for agent, own in found.items()
    }


def explain(games: Games, deal: Deal, minds: Mapping[str, Settings], lapse: float) -> list[Explanation]:
    """Every mind, and a uniform one, as what explains each player over its games, and people over games and players.

    minds: by name.   lapse: of every mind, held out.
    A player with fewer than two games in which it moved is left out.
    """
    made = decisions_of(games, deal)
    players = _players(games, made)
    offers = made.valid.sum(1)
    evidence = {
        (way, agent): {UNIFORM: np.array([-np.log(offers[unit]).sum() for unit in player.units])}
        for way in WAYS
        for agent, player in players.items()
    }
    fits: dict[tuple[str, str, str], Fit] = {}
    for mind, settings in minds.items():
        for way, (table, lapses) in tables(settings, made, lapse).items():
            single = {agent: player.units for agent, player in players.items() if player.parts == (agent,)}
            totals = {agent: sum(map(table, units)) for agent, units in single.items()}
            apart = {agent: held_out(table, units, totals[agent]) for agent, units in single.items()}
            for agent, player in players.items():
                total = sum(totals[part] for part in player.parts)
                fits[way, agent, mind] = best(total, lapses)
                if way == "reference":
                    scores = np.array([table(unit).flat[total.argmax()] for unit in player.units])
                else:  # each person by its own other games, also in a group
                    scores = np.concatenate([apart[part] for part in player.parts])
                evidence[way, agent][mind] = scores
    rows = []
    for agent, player in players.items():
        decisions = sum(map(len, player.units))
        for way in WAYS:
            scores = evidence[way, agent]
            rows += _rows(agent, "games", way, scores, {m: fits[way, agent, m] for m in minds}, minds, decisions)
        for way in WAYS if agent == PEOPLE and len(player.parts) > 1 else ():
            rows += _rows(agent, "players", way, _of_players(way, players, evidence, fits, minds), {}, minds, decisions)
    return rows


def tables(settings: Settings, made: Decisions, lapse: float) -> dict[str, tuple[Table, Float[np.ndarray, " L"]]]:
    """By way, the log-likelihood of decisions on the grid, and the grid's lapses.

    Held out and with a free lapse, a withdrawal is worth 0, whatever the mind finds it worth.
    """
    values = [each.values[made.game, made.turn] for each in settings.values()]
    as_offer, as_end = (
        np.stack([log_choice(each, made.valid, made.made, BETAS.astype(each.dtype)) for each in some])
        for some in (values, [ending(each, made) for each in values])
    )
    offers, one, none = made.valid.sum(1), np.array([lapse]), np.zeros(1)
    return {
        "held-out": (lapsing(as_end, offers, one), one),
        "free lapse": (lapsing(as_end, offers, LAPSES), LAPSES),
        "reference": (floored(as_offer), none),
    }


def ending(values: Float[np.ndarray, "D A"], made: Decisions) -> Float[np.ndarray, "D A"]:
    """The values of moves, of which a withdrawal has 0: it ends the game."""
    ended = values.copy()
    ended[np.arange(len(ended)), made.withdrawal] = 0.0
    return ended


def _of_players(
    way: str,
    players: Mapping[str, _Player],
    evidence: Mapping[tuple[str, str], Mapping[str, np.ndarray]],
    fits: Mapping[tuple[str, str, str], Fit],
    minds: Mapping[str, Settings],
) -> dict[str, Float[np.ndarray, " S"]]:
    """People as units: what was held out, summed; for the reference's fits, one a player, minus half the BIC."""
    people = players[PEOPLE].parts
    scores = {mind: np.array([evidence[way, agent][mind].sum() for agent in people]) for mind in (*minds, UNIFORM)}
    for mind, settings in minds.items() if way == "reference" else ():
        parameters = 1 + (len(settings) > 1)
        counts = [sum(map(len, players[agent].units)) for agent in people]
        reached = [fits[way, agent, mind].log_likelihood for agent in people]
        scores[mind] = np.array(
            [bic_log_evidence(most, parameters, count) for most, count in zip(reached, counts, strict=True)]
        )
    return scores


def _rows(
    agent: str,
    units: str,
    way: str,
    scores: Mapping[str, np.ndarray],
    fits: Mapping[str, Fit],
    minds: Mapping[str, Settings],
    decisions: int,
) -> list[Explanation]:
    names = (*minds, UNIFORM)
    table = np.stack([scores[mind] for mind in names], 1)
    chosen, alone = select(table), np.exp(fixed_effects(table))
    return [
        Explanation(
            agent,
            units,
            way,
            mind,
            len(table),
            decisions,
            fit := fits.get(mind),
            "" if fit is None else list(minds[mind])[fit.setting],
            float(table[:, k].sum()),
            float(table[:, k].sum() / decisions),
            float(chosen.frequency[k]),
            float(chosen.exceedance[k]),
            float(chosen.protected[k]),
            chosen.chance,
            float(alone[k]),
        )
        for k, mind in enumerate(names)
    ]


def at_the_fit(games: Games, minds: Mapping[str, Settings], explanations: Sequence[Explanation]) -> dict[str, Shadow]:
    """Each mind as one shadow: with the setting that was fitted held out on each mover's own decisions.

    A player to whom nothing is fitted has the setting of most other players.
    """
    chosen = {
        (row.mind, row.agent): row.setting
        for row in explanations
        if row.way == WAYS[0] and row.units == "games" and row.mind != UNIFORM
    }
    found = {}
    for mind, settings in minds.items():
        names = list(settings)
        known = [setting for (name, agent), setting in chosen.items() if name == mind and agent != PEOPLE]
        common = max(known, key=known.count) if known else names[0]
        which = np.array([[names.index(chosen.get((mind, agent), common)) for agent in pair] for pair in games.agents])
        mover = which[:, np.arange(games.kept.shape[1]) % 2]
        parts = (np.stack(part) for part in zip(*settings.values(), strict=True))
        found[mind] = Shadow(*(np.take_along_axis(part, mover[None, ..., None], 0)[0] for part in parts))
    return found
