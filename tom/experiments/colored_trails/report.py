"""The report of a comparison of negotiations: one HTML page, its figures as PNGs, and CSV files."""

import importlib.metadata
import math
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from otherminds.games.colored_trails.rules import Ending
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.colored_trails import plots
from otherminds.tom.experiments.colored_trails.annotations import Annotations, Posterior, Score
from otherminds.tom.experiments.colored_trails.compare import Comparison, Gain
from otherminds.tom.experiments.colored_trails.explain import WAYS, decisions_of, ending
from otherminds.tom.experiments.colored_trails.fits import log_choice
from otherminds.tom.experiments.colored_trails.records import PEOPLE, ROLES, Games, chips_text, is_person
from otherminds.tom.experiments.colored_trails.transcripts import MOST_GAMES, transcript
from otherminds.tom.experiments.csv_files import write_csv
from otherminds.tom.experiments.page import data_uri, render


def write_report(
    folder: Path,
    games: Games,
    comparison: Comparison,
    annotations: Annotations | None,
    begun: Sequence[journal.RunBegun],
) -> list[Path]:
    """Writes report.html and transcripts.html, the figures as PNGs, and all tables as CSV.

    Returns: the files, the page first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    held_out = [row for row in comparison.explanations if row.way == WAYS[0]]
    figures = {"goals": folder / "goals.png"}
    plots.goal_posteriors(games, comparison.shadows, figures["goals"])
    if comparison.gains:
        figures["gains"] = folder / "gains.png"
        plots.gains(comparison.gains, figures["gains"])
    if held_out:
        figures |= {"minds": folder / "minds.png", "betas": folder / "betas.png"}
        plots.probabilities(held_out, figures["minds"])
        if any(row.fit and row.fit.beta > 0 for row in held_out):
            plots.betas(held_out, figures["betas"])
        else:
            del figures["betas"]
    tables = {name: folder / f"{name}.csv" for name in ("gains", "explanations", "games", "decisions")}
    _write_rows(tables["gains"], Gain, comparison.gains)
    write_csv(
        tables["explanations"],
        [
            *("agent", "units", "way", "mind", "setting", "count", "decisions", "beta", "lapse", "log_likelihood"),
            *("log_evidence", "log_score", "frequency", "exceedance", "protected", "chance", "alone"),
        ],
        (
            [
                *(row.agent, row.units, row.way, row.mind, row.setting, row.count, row.decisions),
                *(row.fit[:3] if row.fit else [math.nan] * 3),
                *(row.log_evidence, row.log_score, row.frequency, row.exceedance, row.protected, row.chance, row.alone),
            ]
            for row in comparison.explanations
        ),
    )
    write_csv(
        tables["games"],
        ["game", "board", "initiator", "responder", "ending", "moves", "condition"]
        + [f"{name}_{role}" for role in ROLES for name in ("before", "score", "gained", "chips")],
        _games(games, comparison),
    )
    write_decisions(tables["decisions"], games, comparison)
    if annotations is not None:
        tables |= {name: folder / f"{name}.csv" for name in ("guesses", "posteriors")}
        _write_rows(tables["guesses"], Score, annotations.scores)
        _write_rows(tables["posteriors"], Posterior, annotations.posteriors)
    page = render(
        "colored_trails.html",
        runs=begun,
        version=importlib.metadata.version("otherminds"),
        comparison=comparison,
        annotations=annotations,
        ways=WAYS,
        people=PEOPLE,
        is_person=is_person,
        total=len(games.ids),
        unfinished=int((games.endings == Ending.ONGOING).sum()),
        moves=int(games.lengths.sum()),
        figures={name: data_uri(path) for name, path in figures.items()},
    )
    (folder / "report.html").write_text(page, encoding="utf-8")
    shown = range(min(len(games.ids), MOST_GAMES))
    found, offers, shadows = comparison.outcomes, comparison.deals.offers, comparison.shadows
    page = render(
        "colored_trails_transcripts.html",
        games=[transcript(games, n, found, offers, shadows) for n in shown],
        total=len(games.ids),
    )
    (folder / "transcripts.html").write_text(page, encoding="utf-8")
    return [folder / "report.html", folder / "transcripts.html", *figures.values(), *tables.values()]


def write_decisions(path: Path, games: Games, comparison: Comparison) -> None:
    """Every move as CSV, with its value under each mind and its log-probability at the rationality fitted on all.

    value: points, of the move made.   log_p: nats, without a lapse and with a withdrawal worth 0, at the held-out way's
    fit on all games of the player; empty for a player who is fitted to nothing, and for a failed answer.
    """
    minds = list(comparison.shadows)
    head = ["game", "move", "role", "agent", "action", "failed", "message", "thoughts"]
    head += [f"{name} {mind}" for mind in minds for name in ("value", "log_p")]
    write_csv(path, head, _decisions(games, comparison))


def _decisions(games: Games, comparison: Comparison) -> Iterable[list[Any]]:
    made = decisions_of(games, comparison.deals)
    chips = np.asarray(comparison.deals.offers.chips)
    place = {(int(n), int(t)): d for d, (n, t) in enumerate(zip(made.game, made.turn, strict=True))}
    fits = {
        (row.agent, row.mind): row.fit
        for row in comparison.explanations
        if row.way == WAYS[0] and row.units == "games" and row.fit
    }
    values = {mind: shadow.values[made.game, made.turn] for mind, shadow in comparison.shadows.items()}
    betas = sorted({fit.beta for fit in fits.values()})
    log_ps = {
        mind: np.asarray(log_choice(ending(each, made), made.valid, made.made, np.array(betas, each.dtype)))
        for mind, each in values.items()
        if betas
    }
    for n, game in enumerate(games.ids):
        for t in range(int(games.lengths[n])):
            role, d = t % 2, place.get((n, t))
            agent = games.agents[n][role]
            cells: list[Any] = []
            for mind in values:
                fit = fits.get((agent, mind))
                value = "" if d is None else _short(values[mind][d, made.made[d]])
                known = d is not None and fit is not None
                cells += [value, _short(log_ps[mind][d, betas.index(fit.beta)]) if known else ""]
            action = "" if d is None else chips_text(chips[n, games.kept[n, t]])
            told = [text or "" for text in (games.lines[n][t].message, games.lines[n][t].thoughts)]
            yield [game, t + 1, ROLES[role], agent, action, d is None, *told, *cells]


def _short(value: Any) -> float:
    return float(f"{float(value):.6g}")


def _games(games: Games, comparison: Comparison) -> Iterable[list[Any]]:
    found, chips = comparison.outcomes, np.asarray(comparison.deals.offers.chips)
    for n, game in enumerate(games.ids):
        condition = " ".join(f"{name}={value}" for name, value in games.conditions[n].items())
        row: list[Any] = [game, games.names[n], *games.agents[n], Ending(int(games.endings[n])).name.lower()]
        row += [int(games.lengths[n]), condition]
        for role in range(2):
            row += [_short(found.before[n, role]), _short(found.score[n, role]), _short(found.gained[n, role])]
            row.append(chips_text(chips[n, found.final[n, role]]))
        yield row


def _write_rows(path: Path, kind: type, rows: Sequence[Any]) -> None:
    """Records as CSV, a column a field."""
    names = [field.name for field in fields(kind)]
    write_csv(path, names, ([getattr(row, name) for name in names] for row in rows))
