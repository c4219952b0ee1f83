"""What the commands print of theory-of-mind tasks. Tables fit a terminal of 80 columns."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click
from rich.text import Text

from otherminds.games.decrypto.vocabulary import Vocabulary
from otherminds.tom.experiments.checks import check_count, check_folder, report_folder
from otherminds.tom.experiments.console import LOG, print_finished
from otherminds.tom.experiments.dry_run import show_estimate
from otherminds.tom.experiments.progress import progress_bar
from otherminds.tom.experiments.records import hints_said
from otherminds.tom.experiments.tables import no_nan, number, show, table_of
from otherminds.tom.experiments.tasks.records import read_log, sheets, turns_of
from otherminds.tom.experiments.tasks.report import write_report
from otherminds.tom.experiments.tasks.run import AskingSettings, Planned, ask_tasks, planned_tasks
from otherminds.tom.experiments.tasks.score import Score, scores
from otherminds.tom.llm.client import GenerationSettings
from otherminds.tom.tasks.catalogue import TASKS, tasks_named
from otherminds.tom.vectors import load_vocabulary


def ask(
    log: str,
    *,
    task: str,
    model: Sequence[str],
    base_url: str | None,
    turns: int | None,
    after_loss: bool,
    seed: int,
    generation: GenerationSettings,
    max_attempts: int,
    keywords: str | None,
    vectors: str | None,
    no_minds: bool,
    out: str | None,
    as_json: bool,
    dry_run: bool,
) -> bool:
    """`otherminds ask`. Returns whether an answer failed.

    Raises: a ValueError for what the user can mend, before anything is asked or written.
    """
    check_count("--max-attempts", max_attempts)
    settings = AskingSettings(
        tasks=tuple(tasks_named(task)),
        models=tuple(dict.fromkeys(model)),
        seed=seed,
        most_turns=turns,
        after_loss=after_loss,
        base_url=base_url,
        generation=generation,
        max_attempts=max_attempts,
    )
    recording = Path(log)
    folder = Path(out) if out else recording.parent / "tasks"
    check_folder(folder)
    said = hints_said([recording]) if vectors else ()
    vocabulary = None if no_minds else load_vocabulary(keywords, vectors, said)
    planned = _plan(recording, settings)
    if vocabulary is not None:
        _check_keywords(planned, vocabulary)
    if dry_run:
        show_estimate(
            partial(ask_tasks, recording, folder / LOG, settings),
            lambda plan: plan.game_id,  # every question is known
            settings,
            as_json=as_json,
        )
        return False
    total = sum(plan.questions for plan in planned)
    with progress_bar("asking", total) as advance:
        finished = asyncio.run(
            ask_tasks(
                recording,
                folder / LOG,
                settings,
                on_start=lambda _: click.echo(f"{total} questions; log {folder / LOG}", err=as_json),
                on_question=advance,
            )
        )
    print_finished(finished, "answers were in the log already and were not asked for again", err=as_json)
    report([folder / LOG], vocabulary, folder, as_json=as_json)
    return bool(finished.failed_games)


def _plan(recording: Path, settings: AskingSettings) -> list[Planned]:
    from otherminds.tom.experiments import records

    return planned_tasks(records.read_log(recording), settings)


def _check_keywords(planned: Sequence[Planned], vocabulary: Vocabulary) -> None:
    """Raises: ValueError for a keyword that the rational minds' list lacks, before anything is asked."""
    known = {word.casefold() for word in vocabulary.keywords}
    for plan in planned:
        if missing := [word for word in plan.deal.keywords or () if word.casefold() not in known]:
            raise ValueError(
                f"game {plan.recorded!r}: keyword {missing[0]!r} is not in the keyword list of the rational minds; "
                "give the list that was played with (--keywords, and --vectors that have its words), or leave the "
                "minds out (--no-minds)"
            )


def compare_logs(
    logs: Sequence[Path],
    *,
    keywords: str | None,
    vectors: str | None,
    mind_specs: Sequence[str],
    lapse: float,
    join: str | None,
    every_option: bool,
    out: str | None,
    as_json: bool,
) -> None:
    """`otherminds compare` for logs of tasks: their scores again, beside the rational minds of each task.

    Raises: ValueError for an option that has no meaning here, and for what the user can mend.
    """
    del lapse
    if join is not None or every_option or mind_specs:
        raise ValueError(
            "--minds, --join and --every-option: a task says itself which minds stand beside; leave them out"
        )
    folder = report_folder(logs, out, as_json)
    read = [read_log(log) for log in logs] if vectors else []
    said = {hint for log in read for deal in log.deals.values() for turn in turns_of(deal) for hint in turn.hints or ()}
    report(logs, load_vocabulary(keywords, vectors, said), folder, as_json=as_json)


def report(logs: Sequence[Path], vocabulary: Vocabulary | None, folder: Path | None, *, as_json: bool = False) -> None:
    """Scores the logs, prints the tables, and writes the report; no folder: nothing is written."""
    read = [read_log(path) for path in logs]
    found = [sheet for log in read for sheet in sheets(log)]
    minds = sum(len(TASKS[name].rational) for name in dict.fromkeys(sheet.task for sheet in found))
    if vocabulary is None:
        rows = scores(found, None)
    else:
        with progress_bar("reading minds", minds) as advance:
            rows = scores(found, vocabulary, advance)
    if as_json:
        print(json.dumps(no_nan([asdict(row) for row in rows]), indent=1))
    else:
        print_scores(rows)
    if folder is None:
        return
    begun = [log.begun for log in read if log.begun]
    for path in write_report(folder, rows, found, begun, logs):
        click.echo(f"wrote {path}", err=as_json)


def print_scores(rows: Sequence[Score]) -> None:
    """A table for every task: numerators, denominators, means over games, standard errors."""
    for task in dict.fromkeys(row.task for row in rows):
        own = [row for row in rows if row.task == task]
        table = table_of("who, and what is measured", "turns", "of all\nturns", "mean\na game", "± error")
        for who in dict.fromkeys(row.who for row in own):
            first = next(row for row in own if row.who == who)
            failed = f" ({first.questions} questions, {first.failed} failed)"
            table.add_row(Text(f"{who}{' (rational)' if first.rational else failed}", style="bold"))
            for row in (row for row in own if row.who == who):
                share = row.total / row.count if row.count else float("nan")
                turns = (
                    f"{row.total:.0f}/{row.count}" if row.total == int(row.total) else f"{row.total:.2f}/{row.count}"
                )
                measure = Text(f"  {row.measure}{' (less is better)' if row.loss else ''}")
                table.add_row(measure, turns, number(share), number(row.mean), number(row.error))
            table.add_section()
        units = " and ".join(dict.fromkeys(row.units for row in own))
        show(task, table, f"Turns: the sum over the turns that count, and how many count. Errors over {units}.")
    click.echo("A failed answer is no success, and stays in the denominator.")
