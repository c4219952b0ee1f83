"""Who plays well with whom, over seeds: a cell for every table, and whether an agent plays well with itself alone.

A seed deals the same games at every table, so seeds are what is independent: the games of a seed are averaged first,
and means and standard errors are over seeds.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from otherminds.inference.resampling import standard_error
from otherminds.tom.experiments.compare import results
from otherminds.tom.experiments.records import Games

LITTLE = 1.0
"""Turns more with itself that would not make a specialist of anybody."""
MEASURES = ("turns", "miscommunications", "interceptions")
"""Of a game: turns survived, and tokens. More turns are better for the team, and fewer tokens."""
COLUMNS = (
    *("encoder", "decoder", "interceptor", "games", "seeds"),
    *(f"{measure}{what}" for measure in MEASURES for what in ("", "_error", "_among_best")),
)


@dataclass(frozen=True)
class Cell:
    """How the finished games of one table went.

    seeds: by measure the mean of each seed.   best: the measures in which its interval, mean ± standard error,
    overlaps that of the best table against the same interceptor; none where a table of these has one seed alone.
    """

    agents: tuple[str, str, str]
    games: int
    seeds: Mapping[str, Float[np.ndarray, " S"]]
    best: frozenset[str] = frozenset()

    def mean(self, measure: str) -> float:
        """The mean over seeds."""
        return float(self.seeds[measure].mean())

    def error(self, measure: str) -> float:
        """The standard error over seeds; NaN with one seed."""
        return float(standard_error(self.seeds[measure]))


class Kind(NamedTuple):
    """How an agent plays in a team with itself and in teams with others, in turns survived."""

    agent: str
    kind: str  # "specialist", "generalist", "undecided" or "unknown"
    with_itself: float  # NaN where it was not played
    with_others: float
    gap: float  # with itself less with others, over the seeds and interceptors that both have
    error: float  # standard error of the gap over seeds


def cells(games: Games) -> list[Cell]:
    """A cell for every table that finished a game."""
    per_game = dict(zip(MEASURES, results(games)[: len(MEASURES)], strict=True))
    seeds, over = np.array(games.seeds), np.array([ending is not None for ending in games.endings])
    found = []
    for agents in dict.fromkeys(games.agents):
        own = over & np.array([seated == agents for seated in games.agents])
        if own.any():
            of_seeds = {
                measure: np.array([values[own & (seeds == seed)].mean() for seed in np.unique(seeds[own])])
                for measure, values in per_game.items()
            }
            found.append(Cell(agents, int(own.sum()), of_seeds))
    return [
        Cell(cell.agents, cell.games, cell.seeds, frozenset(m for m in MEASURES if _among_best(cell, found, m)))
        for cell in found
    ]


def _among_best(cell: Cell, others: Sequence[Cell], measure: str) -> bool:
    rivals = [other for other in others if other.agents[2] == cell.agents[2]]
    if any(math.isnan(other.error(measure)) for other in rivals):
        return False
    sign = 1 if measure == "turns" else -1
    best = max(rivals, key=lambda other: sign * other.mean(measure))
    gap = abs(best.mean(measure) - cell.mean(measure))
    return gap <= best.error(measure) + cell.error(measure)


def kinds(games: Games) -> list[Kind]:
    """Whether each agent that encodes or decodes is a specialist or a generalist by what it survived.

    For every seed and interceptor: the mean turns of the team that the agent forms with itself, less the mean over the
    teams that it forms with others (as encoder or as decoder, each team counting once). These differences are averaged
    within a seed. An agent is a specialist where their mean over seeds exceeds its standard error; else a generalist
    where the mean and its error together stay below LITTLE turns, and undecided where they do not: too noisy to tell.
    Unknown: it did not play both, or in fewer than two seeds.
    """
    turns = results(games).turns
    played: dict[tuple[int, str], dict[tuple[str, str], list[int]]] = {}
    for g, (encoder, decoder, interceptor) in enumerate(games.agents):
        if games.endings[g] is not None:
            teams = played.setdefault((games.seeds[g], interceptor), {})
            teams.setdefault((encoder, decoder), []).append(int(turns[g]))
    agents = dict.fromkeys(agent for encoder, decoder, _ in games.agents for agent in (encoder, decoder))
    return [_kind(agent, played) for agent in agents]


def _kind(agent: str, played: Mapping[tuple[int, str], Mapping[tuple[str, str], Sequence[int]]]) -> Kind:
    alone, crossed, gaps = [], [], {}
    for (seed, _), teams in played.items():
        own = [float(np.mean(turns)) for team, turns in teams.items() if team == (agent, agent)]
        others = [float(np.mean(turns)) for team, turns in teams.items() if agent in team and team != (agent, agent)]
        alone += own
        crossed += others
        if own and others:
            gaps.setdefault(seed, []).append(own[0] - float(np.mean(others)))
    by_seed = np.array([np.mean(of_seed) for of_seed in gaps.values()])
    gap = float(by_seed.mean()) if len(by_seed) else math.nan
    error = float(standard_error(by_seed))
    return Kind(agent, _named(gap, error), _mean(alone), _mean(crossed), gap, error)


def _named(gap: float, error: float) -> str:
    if math.isnan(error):
        return "unknown"
    if gap > error:
        return "specialist"
    return "generalist" if gap + error < LITTLE else "undecided"


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else math.nan


class Grid(NamedTuple):
    """A heat map: cells by row and column; None where a table was not played."""

    title: str
    rows: list[str]
    columns: list[str]
    cells: list[list[Cell | None]]


def grids(found: Sequence[Cell]) -> list[Grid]:
    """The heat maps of these cells: encoders x decoders for each interceptor, or teams x interceptors.

    Teams where every encoder has one decoder and every decoder one encoder. No grid where tables are few: fewer than
    two rows and two columns, or more than half of the cells not played.
    """
    teams = dict.fromkeys(cell.agents[:2] for cell in found)
    single = len(teams) == len({team[0] for team in teams}) == len({team[1] for team in teams})
    if single:
        by_place = {(_team(cell.agents[:2]), cell.agents[2]): cell for cell in found}
        made = [_grid("Teams (rows) and interceptors (columns)", by_place)]
    else:
        made = []
        for interceptor in dict.fromkeys(cell.agents[2] for cell in found):
            own = {cell.agents[:2]: cell for cell in found if cell.agents[2] == interceptor}
            made.append(_grid(f"Encoders (rows) and decoders (columns) against {interceptor}", own))
    smallest = (2, 1) if single else (2, 2)
    return [
        grid
        for grid in made
        if len(grid.rows) >= smallest[0]
        and len(grid.columns) >= smallest[1]
        and 2 * sum(cell is not None for row in grid.cells for cell in row) > len(grid.rows) * len(grid.columns)
    ]


def _team(team: Iterable[str]) -> str:
    encoder, decoder = team
    return encoder if encoder == decoder else f"{encoder} + {decoder}"


def _grid(title: str, by_place: Mapping[tuple[str, str], Cell]) -> Grid:
    rows = list(dict.fromkeys(row for row, _ in by_place))
    columns = list(dict.fromkeys(column for _, column in by_place))
    return Grid(title, rows, columns, [[by_place.get((row, column)) for column in columns] for row in rows])


def csv_rows(found: Sequence[Cell]) -> list[list[object]]:
    """The cells as rows of cube.csv, whose columns are COLUMNS."""
    return [
        [
            *cell.agents,
            cell.games,
            len(cell.seeds["turns"]),
            *(value for m in MEASURES for value in (cell.mean(m), cell.error(m), m in cell.best)),
        ]
        for cell in found
    ]
