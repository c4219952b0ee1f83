"""The report of theory-of-mind tasks: one HTML page, its figure as a PNG, and two CSV files."""

import importlib.metadata
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

from otherminds.games.decrypto.rules import code_text
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.csv_files import write_csv
from otherminds.tom.experiments.page import data_uri, render
from otherminds.tom.experiments.tasks import plots
from otherminds.tom.experiments.tasks.records import Sheet
from otherminds.tom.experiments.tasks.score import Score
from otherminds.tom.tasks.catalogue import TASKS

SHOWN = 40  # questions and answers that the page shows
LONGEST = 1500  # characters of each


def write_report(
    folder: Path,
    rows: Sequence[Score],
    sheets: Sequence[Sheet],
    begun: Sequence[journal.RunBegun],
    logs: Sequence[Path],
) -> list[Path]:
    """Writes report.html, tasks.png, scores.csv and answers.csv into a folder.

    rows: of `score.scores`.   sheets: what was asked.   begun, logs: where it comes from; the page shows some answers.
    Returns: the files, the page first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figure = folder / "tasks.png"
    if any(row.count and not row.measure.startswith(plots.SHARES) for row in rows):
        plots.bars(rows, figure)
    write_csv(folder / "scores.csv", [field.name for field in fields(Score)], map(astuple, rows))
    head = ["task", "agent", "recorded", "turn", "question", "answer", "probability", "failed", "keywords", "code"]
    measures = list(dict.fromkeys(name for task in TASKS.values() for name in task.measures))
    write_csv(folder / "answers.csv", [*head, "interceptor", "decoder", *measures], _answers(sheets, measures))
    page = render(
        "decrypto_tasks.html",
        tasks={name: [row for row in rows if row.task == name] for name in dict.fromkeys(row.task for row in rows)},
        runs=begun,
        version=importlib.metadata.version("otherminds"),
        figure=data_uri(figure) if figure.exists() else None,
        asked=_shown(logs),
    )
    (folder / "report.html").write_text(page, encoding="utf-8")
    drawn = [figure] if figure.exists() else []
    return [folder / "report.html", *drawn, folder / "scores.csv", folder / "answers.csv"]


def _answers(sheets: Sequence[Sheet], measures: Sequence[str]) -> Iterable[list[Any]]:
    """A line for every question; the turn's values of its task's measures, empty where it does not count."""
    for sheet in sheets:
        task = TASKS[sheet.task]
        for moment, answers in zip(sheet.moments, sheet.answers, strict=True):
            values = [task.measures[name](moment, answers) if name in task.measures else None for name in measures]
            now = moment.now
            guesses = [code_text(guess) if guess >= 0 else "" for guess in (now.interceptor_guess, now.decoder_guess)]
            for name, answer in answers.items():
                said = "" if answer is None else answer.action
                yield [
                    *(sheet.task, sheet.agent, sheet.recorded, moment.turn + 1, name),
                    ", ".join(said) if isinstance(said, tuple) else said,
                    "" if answer is None or answer.probability is None else answer.probability,
                    answer is None,
                    ", ".join(moment.keywords),
                    code_text(now.code),
                    *guesses,
                    *("" if value is None else value for value in values),
                ]


def _shown(logs: Sequence[Path]) -> list[dict[str, Any]]:
    """Some questions with their answers: failed ones first, then those in the order of the logs."""
    lines = [line for path in logs for line in journal.read(path) if isinstance(line, journal.Decision)]
    found = []
    for line in sorted(lines, key=lambda line: line.action is not None)[:SHOWN]:
        last = line.attempts[-1] if line.attempts else None
        found.append(
            {
                "where": f"{line.game_id}, turn {line.turn + 1}, {line.role}",
                "question": str(line.observation.get("question", ""))[:LONGEST],
                "text": (last.text or "")[:LONGEST] if last else "",
                "error": last.error if last and line.action is None else None,
            }
        )
    return found
