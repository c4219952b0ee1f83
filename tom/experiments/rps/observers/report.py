"""The report of a comparison of observers: one HTML page, its figures as PNGs, and CSV files."""

import importlib.metadata
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from otherminds.games.rps.catalogue import CODES
from otherminds.games.rps.statement import MOVE_NAMES, OUTCOME_NAMES
from otherminds.tom.agents.observer import pair_text
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.csv_files import write_csv
from otherminds.tom.experiments.page import data_uri, render
from otherminds.tom.experiments.rps.observers import plots
from otherminds.tom.experiments.rps.observers.compare import METRICS, TESTED, Scored, legacy_unions
from otherminds.tom.experiments.rps.observers.records import Scene

SHOWN = 20  # failed answers, and reasons, that the page shows
LONGEST = 600  # characters of each
BY_QUESTION = (
    *("identified1", "identified2", "identified", "log_strategy", "log_next", "brier", "value", "union"),
    *("inconsistent", "stated_of_guess"),
)
"""The metrics that a question has, in decisions.csv."""


def write_report(
    folder: Path,
    found: Sequence[Scored],
    begun: Sequence[journal.RunBegun],
    *,
    logs: Sequence[Path],
    lapse: float,
    on_decision: Callable[[], None] | None = None,
) -> list[Path]:
    """Writes report.html, the figures as PNGs, and scores, matches and decisions as CSV into a folder.

    found: of `compare.compare` with this lapse.   logs: what it was read from; the page shows some answers.
    on_decision: called after each decision that is written, for a progress bar.
    Returns: the files, the page first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    scenes = {scene: [one for one in found if one.row.scene == scene] for scene in _scenes(found)}
    figures = {scene: _draw(folder, own, len(scenes) > 1) for scene, own in scenes.items()}
    tables = {name: folder / f"{name}.csv" for name in ("scores", "matches", "decisions")}
    write_scores(tables["scores"], found)
    write_matches(tables["matches"], found)
    write_decisions(tables["decisions"], found, on_decision or (lambda: None))
    failures, reasons = _answers(logs)
    page = render(
        "rps_observers.html",
        runs=begun,
        version=importlib.metadata.version("otherminds"),
        scenes=scenes,
        figures={scene: {name: data_uri(path) for name, path in drawn.items()} for scene, drawn in figures.items()},
        lapse=lapse,
        failures=failures,
        reasons=reasons,
    )
    (folder / "report.html").write_text(page, encoding="utf-8")
    drawn = [path for paths in figures.values() for path in paths.values()]
    return [folder / "report.html", *drawn, *tables.values()]


def write_scores(path: Path, found: Sequence[Scored]) -> None:
    """Every observer's scores with their 95% intervals, and the tests against the exact observer, as CSV."""
    counts = ("ceiling", "matches", "unfinished", "questions", "failed", "impossible")
    more = ("mean_confidence", "calibration_error")
    head = ["players", "legacy_iid", "observer", *counts, *more]
    head += [f"{name}{end}" for name in METRICS for end in ("", "_low", "_high")]
    head += [f"{name}_less_exact{end}" for name in TESTED for end in ("", "_low", "_high", "_p")]
    rows = []
    for row in (one.row for one in found):
        line = [" v ".join(row.scene.players), row.scene.legacy_iid, row.observer]
        line += [getattr(row, name) for name in (*counts, *more)]
        line += [part for name in METRICS for part in row.values[name]]
        line += [
            part for name in TESTED for part in (*row.against_exact[name].difference, row.against_exact[name].p_value)
        ]
        rows.append(line)
    write_csv(path, head, rows)


def write_matches(path: Path, found: Sequence[Scored]) -> None:
    """Every match's mean scores for every observer, as CSV: the units of all intervals and tests."""
    names = [name for name in METRICS if name != "efficiency"]
    write_csv(
        path,
        ["players", "legacy_iid", "observer", "ceiling", "seed", "match", *names],
        (
            [
                *(" v ".join(one.row.scene.players), one.row.scene.legacy_iid, one.row.observer, one.row.ceiling),
                *match,
                *(float(one.by_match[name][n]) for name in names),
            ]
            for one in found
            for n, match in enumerate(one.watched.matches)
        ),
    )


def write_decisions(path: Path, found: Sequence[Scored], done: Callable[[], None] = lambda: None) -> None:
    """Every answer as CSV: the named pair, all that is stated, and its scores; ceilings too.

    legacy_union_A, B, C: the paper's losses of the named pair (`games.rps.losses`); empty where nobody can be named.
    asked: no for the questions that were not put any more; the last statement stands for them.
    """
    head = ["players", "observer", "ceiling", "seed", "match", "round", "asked", "failed", "guess1", "guess2"]
    head += [f"p{player}_{code}" for player in (1, 2) for code in CODES]
    head += [f"next{player}_{move}" for player in (1, 2) for move in MOVE_NAMES]
    head += [f"p_{name}" for name in OUTCOME_NAMES]
    head += ["confidence", *BY_QUESTION, *(f"legacy_union_{name}" for name in "ABC")]
    write_csv(path, head, _decisions(found, done))


def _decisions(found: Sequence[Scored], done: Callable[[], None]) -> Iterable[list[Any]]:
    for one in found:
        watched, scene = one.watched, one.row.scene
        unions = legacy_unions(scene.truth, scene.legacy_decimals)
        for n, match in enumerate(watched.matches):
            for q, after in enumerate(scene.asking.asked):
                pair = watched.guess[n, q].tolist()
                failed = bool(watched.failed[n, q])
                stated = [part[n, q].ravel().tolist() for part in watched.stated]
                legacy = ["" if failed or not unions else float(unions[name][tuple(pair)]) for name in "ABC"]
                yield [
                    *(" v ".join(scene.players), one.row.observer, one.row.ceiling, *match, after),
                    *(bool(watched.asked[n, q]), failed, *(("", "") if failed else pair_text(pair))),
                    *(value for part in stated for value in ([""] * len(part) if failed else part)),
                    *(float(one.scores[name][n, q]) for name in BY_QUESTION),
                    *legacy,
                ]
                done()


def _draw(folder: Path, found: Sequence[Scored], several: bool) -> dict[str, Path]:
    """The figures of a scene, by name. several: whether there are others, so that the names must tell them apart."""
    suffix = "_" + re.sub(r"[^A-Za-z0-9]+", "_", found[0].row.scene.name).strip("_") if several else ""
    drawers = {"curves": plots.curves, "identified": plots.bars, "beliefs": plots.beliefs}
    paths = {name: folder / f"{name}{suffix}.png" for name in drawers}
    if not set.intersection(*(set(one.watched.matches) for one in found)):
        del paths["beliefs"]
    for name, path in paths.items():
        drawers[name](found, path)
    return paths


def _scenes(found: Sequence[Scored]) -> list[Scene]:
    return list(dict.fromkeys(one.row.scene for one in found))


def _answers(logs: Sequence[Path]) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """The first failed answers, and the last reasons of each observer."""
    failures, reasons = [], {}
    for path in logs:
        for line in journal.read(path):
            if not isinstance(line, journal.Decision):
                continue
            where = {"game": line.game_id, "round": line.observation.get("round")}
            if line.action is None and len(failures) < SHOWN:
                last = line.attempts[-1] if line.attempts else None
                error = last.error if last else "nothing that it knows is possible"
                failures.append(where | {"error": error, "text": (last.text or "")[:LONGEST] if last else ""})
            elif line.reasoning:
                reasons[line.game_id] = where | {"text": line.reasoning[:LONGEST], "named": line.action}
    return failures, list(reasons.values())[:SHOWN]
