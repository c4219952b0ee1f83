"""The report of a comparison of reference games: one HTML page, its figures as PNGs, and CSV files."""

import importlib.metadata
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from otherminds.inference.grid import Estimate, Prior
from otherminds.tom.experiments import journal
from otherminds.tom.experiments import plots as shared_plots
from otherminds.tom.experiments.csv_files import write_csv, write_scores
from otherminds.tom.experiments.page import data_uri, render
from otherminds.tom.experiments.reference import plots
from otherminds.tom.experiments.reference.compare import Comparison, Fit, scores
from otherminds.tom.experiments.reference.records import CONDITIONS, Answers

SHOWN = 20  # failed answers that the page shows
FIT_COLUMNS = (
    *("condition", "agent", "mind", "method", "decisions", "failed"),
    *(f"{name}_{part}" for name in ("alpha", "error_rate") for part in Estimate._fields),
    *("log_score", "log_evidence"),
)


def write_report(
    folder: Path,
    agents: Sequence[Answers],
    comparison: Comparison,
    begun: Sequence[journal.RunBegun],
    *,
    lapse: float,
    prior: Prior,
    join: str,
    on_decision: Callable[[], None] | None = None,
) -> list[Path]:
    """Writes report.html, the figures as PNGs, and scores, fits, points, decisions and subjects as CSV into a folder.

    Where agents state probabilities, or were shown options in a known order, also what is said of that.

    on_decision: called after each decision that is written, for a progress bar.
    Returns: the files, the page first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures = _draw(folder, comparison)
    tables = {name: folder / f"{name}.csv" for name in ("scores", "fits", "points", "decisions", "subjects")}
    for name, rows in (
        ("divergences", comparison.divergences),
        ("calibration", comparison.calibrations),
        ("predictions", comparison.predictions),
        ("places", [vars(row) | {"shares": " ".join(map(str, row.shares))} for row in comparison.places]),
    ):
        if rows:
            tables[name] = folder / f"{name}.csv"
            content = [row if isinstance(row, dict) else vars(row) for row in rows]
            write_csv(tables[name], list(content[0]), ([*row.values()] for row in content))
    write_scores(tables["scores"], comparison.rows, role="condition")
    fits = (*comparison.fits, *comparison.models)
    write_csv(tables["fits"], FIT_COLUMNS, ([flattened(fit)[name] for name in FIT_COLUMNS] for fit in fits))
    write_csv(
        tables["points"],
        ["condition", "agent", "mind", "item", "kind", "predicted", "observed", "decisions"],
        ([*vars(point).values()] for point in comparison.points),
    )
    write_decisions(tables["decisions"], agents, comparison, on_decision or (lambda: None))
    write_subjects(tables["subjects"], agents, comparison, lapse)
    page = render(
        "reference.html",
        runs=begun,
        version=importlib.metadata.version("otherminds"),
        agents=[(CONDITIONS[agent.questions.role], agent) for agent in agents],
        rows=comparison.rows,
        fits=comparison.fits,
        models=comparison.models,
        divergences=comparison.divergences,
        calibrations=comparison.calibrations,
        predictions=comparison.predictions,
        places=comparison.places,
        failures=_failures(agents),
        silent=[agent for agent in agents if not agent.answered.any()],
        lapse=lapse,
        prior=str(prior),
        join=join,
        figures={name: data_uri(path) for name, path in figures.items()},
    )
    (folder / "report.html").write_text(page, encoding="utf-8")
    return [folder / "report.html", *figures.values(), *tables.values()]


def _draw(folder: Path, comparison: Comparison) -> dict[str, Path]:
    """The figures that there is something to draw for, by name."""
    figures = {"minds": folder / "minds.png"}
    shared_plots.mind_heat_maps(comparison.rows, figures["minds"])
    predicted = {fit.mind for fit in comparison.models}
    judged = {fit.agent for fit in comparison.models}
    of_agents = [point for point in comparison.points if point.mind not in predicted]
    of_models = [point for point in comparison.points if point.agent in judged]
    for name, points, by in (("agents", of_agents, "agent"), ("models", of_models if predicted else [], "mind")):
        if points:
            figures[name] = folder / f"{name}.png"
            plots.scatter(points, figures[name], by)
    if any(fit.posterior.alpha_matters for fit in comparison.fits):
        figures["fits"] = folder / "fits.png"
        plots.intervals(comparison.fits, figures["fits"])
    return figures


def flattened(fit: Fit) -> dict[str, Any]:
    """A fit as one row of numbers; alpha is NaN where it makes no difference to the mind."""
    found = fit.posterior
    row: dict[str, Any] = {name: getattr(fit, name) for name in FIT_COLUMNS[:6]}
    for name, estimate in (("alpha", found.alpha), ("error_rate", found.lapse)):
        known = name != "alpha" or found.alpha_matters
        row |= {f"{name}_{part}": value if known else math.nan for part, value in estimate._asdict().items()}
    return row | {"log_score": fit.log_score, "log_evidence": found.log_evidence}


def write_decisions(
    path: Path, agents: Sequence[Answers], comparison: Comparison, done: Callable[[], None] = lambda: None
) -> None:
    """Every decision as CSV, with the log-probability of its kind under each mind, without a lapse, nats.

    log_p: -inf for what a mind found impossible and for a failed answer; empty for a mind of another role.
    """
    minds = list(dict.fromkeys(spec for _, spec in comparison.log_policies))
    head = ["game", "condition", "agent", "subject", "item", "action", "kind", "failed"]
    write_csv(path, [*head, *(f"log_p {spec}" for spec in minds)], _decisions(agents, comparison, minds, done))


def _decisions(
    agents: Sequence[Answers], comparison: Comparison, minds: Sequence[str], done: Callable[[], None]
) -> Iterable[list[Any]]:
    for agent in agents:
        questions = agent.questions
        for d, q in enumerate(agent.question):
            failed = agent.said[d] is None
            kind = "" if failed else questions.kinds[agent.taken[d]]
            what = [agent.games[d], CONDITIONS[questions.role], agent.agent, agent.subjects[d], questions.names[q]]
            log_ps = []
            for spec in minds:
                log_p = comparison.log_policies.get((questions.role, spec))
                log_ps.append("" if log_p is None else -math.inf if failed else float(log_p[q, agent.taken[d]]))
            yield [*what, agent.said[d] or "", kind, failed, *log_ps]
            done()


def write_subjects(path: Path, agents: Sequence[Answers], comparison: Comparison, lapse: float) -> None:
    """Every subject's mean log score under each mind with the common lapse, nats a decision, as CSV."""
    minds = list(dict.fromkeys(spec for _, spec in comparison.log_policies))
    rows = []
    for agent in agents:
        by_mind = {
            spec: scores(agent, log_p, lapse)
            for (role, spec), log_p in comparison.log_policies.items()
            if role == agent.questions.role
        }
        place = {subject: n for n, subject in enumerate(dict.fromkeys(filter(None, agent.subjects)))}
        own = np.array([place.get(subject, -1) for subject in agent.subjects], int)
        there = own >= 0
        count = np.bincount(own[there], minlength=len(place))
        means = [
            np.bincount(own[there], by_mind[spec][there], len(place)) / count if spec in by_mind else [""] * len(place)
            for spec in minds
        ]
        for subject, n in place.items():
            each = ("" if isinstance(mean[n], str) else float(mean[n]) for mean in means)
            rows.append([CONDITIONS[agent.questions.role], agent.agent, subject, int(count[n]), *each])
    write_csv(path, ["condition", "agent", "subject", "decisions", *(f"log_score {spec}" for spec in minds)], rows)


def _failures(agents: Sequence[Answers]) -> list[dict[str, Any]]:
    """The first failed answers."""
    failed = [(agent, d) for agent in agents for d, said in enumerate(agent.said) if said is None]
    return [
        {"game": agent.games[d], "options": agent.questions.options[agent.question[d]]} for agent, d in failed[:SHOWN]
    ]
