"""The report of a comparison of matches: one HTML page, its figures as PNGs, and CSV files."""

import importlib.metadata
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from otherminds.games.protocol import NO_ANSWER
from otherminds.inference.resampling import Interval
from otherminds.tom.experiments import journal
from otherminds.tom.experiments import plots as shared_plots
from otherminds.tom.experiments.compare import UNIFORM, Row
from otherminds.tom.experiments.csv_files import write_csv, write_scores
from otherminds.tom.experiments.page import data_uri, render
from otherminds.tom.experiments.rps.matches import plots as matches_plots
from otherminds.tom.experiments.rps.matches.compare import SHIFTS, Comparison, seats_of
from otherminds.tom.experiments.rps.matches.records import MOVE_NAMES, Matches

DRAWN = 9  # minds in the heat map, besides the uniform one


def write_report(
    folder: Path,
    matches: Matches,
    comparison: Comparison,
    begun: Sequence[journal.RunBegun],
    *,
    lapse: float,
    on_decision: Callable[[], None] | None = None,
) -> list[Path]:
    """Writes report.html, the figures as PNGs, and scores, records, responses, found and decisions as CSV.

    on_decision: called after each move that is written, for a progress bar.
    Returns: the files, the page first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures = {"minds": folder / "minds.png", "responses": folder / "responses.png"}
    shared_plots.mind_heat_maps(drawn_rows(comparison), figures["minds"])
    matches_plots.responses([row for row in comparison.responses if not row.opponent], figures["responses"])
    if any(row.rounds for row in comparison.found):
        figures["found"] = folder / "found.png"
        matches_plots.rounds_until_sure(comparison.found, figures["found"])
    tables = {name: folder / f"{name}.csv" for name in ("scores", "records", "responses", "found", "decisions")}
    write_scores(tables["scores"], comparison.rows)
    write_csv(
        tables["records"],
        ["agent", "opponent", "matches", "rounds", "missing", "win", "draw", "loss", "win_low", "win_high"],
        (
            [row.agent, row.opponent, row.matches, row.rounds, row.missing, *row.mean, *_ends(row.win)]
            for row in comparison.records
        ),
    )
    write_csv(
        tables["responses"],
        ["agent", "opponent", "after", "matches", *SHIFTS, "stay_low", "stay_high"],
        (
            [row.agent, row.opponent, row.after, row.matches, *row.shares, *_ends(row.stay)]
            for row in comparison.responses
        ),
    )
    write_csv(
        tables["found"],
        ["agent", "mind", "matches", "of", "right"],
        (
            [row.agent, mind, count, row.matches, mind == row.true]
            for row in comparison.found
            for mind, count in row.found.items()
        ),
    )
    write_decisions(tables["decisions"], matches, comparison, on_decision or (lambda: None))
    page = render(
        "rps_matches.html",
        runs=begun,
        version=importlib.metadata.version("otherminds"),
        comparison=comparison,
        lapse=lapse,
        total=len(matches.ids),
        ends=_ends,
        figures={name: data_uri(path) for name, path in figures.items()},
    )
    (folder / "report.html").write_text(page, encoding="utf-8")
    return [folder / "report.html", *figures.values(), *tables.values()]


def drawn_rows(comparison: Comparison) -> list[Row]:
    """The rows of a heat map: of agents against all opponents, and of as many minds as there is room for.

    First those that explain an agent best, then those that come second, and so on.
    """
    rows = comparison.pooled
    places: dict[str, int] = {}
    for agent in dict.fromkeys(row.agent for row in rows):
        own = sorted(
            (row for row in rows if row.agent == agent and row.mind != UNIFORM), key=lambda row: -row.log_score
        )
        for place, row in enumerate(own):
            places[row.mind] = min(place, places.get(row.mind, place))
    kept = {UNIFORM, *sorted(places, key=places.__getitem__)[:DRAWN]}
    return [row for row in rows if row.mind in kept]


def write_decisions(
    path: Path, matches: Matches, comparison: Comparison, done: Callable[[], None] = lambda: None
) -> None:
    """Every move as CSV, with its log-probability under each mind, without a lapse, nats, to six digits.

    log_p: -inf for what a mind found impossible and for a missing move.
    """
    head = ["game", "round", "agent", "opponent", "move", "failed"]
    write_csv(path, [*head, *(f"log_p {spec}" for spec in comparison.shadows)], _decisions(matches, comparison, done))


def _decisions(matches: Matches, comparison: Comparison, done: Callable[[], None]) -> Iterable[list[Any]]:
    seats = seats_of(matches)
    table = np.stack([shadow.log_p for shadow in comparison.shadows.values()], -1)
    for s, (game, agent, opponent) in enumerate(zip(seats.games, seats.agents, seats.opponents, strict=True)):
        for t in range(int(seats.valid[s].sum())):
            move = int(seats.moves[s, 0, t])
            failed = move == NO_ANSWER
            log_ps = [float(f"{value:.6g}") for value in table[s, t].tolist()]
            yield [game, t + 1, agent, opponent, "" if failed else MOVE_NAMES[move], failed, *log_ps]
            done()


def _ends(interval: Interval | None) -> tuple[float, float]:
    return (math.nan, math.nan) if interval is None else (float(interval.low), float(interval.high))
