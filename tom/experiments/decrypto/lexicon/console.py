"""What the commands print of elicited lexica. Tables fit a terminal of 80 columns."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.text import Text

from otherminds.tom.experiments.checks import check_count, check_folder, report_folder
from otherminds.tom.experiments.console import LOG, print_finished
from otherminds.tom.experiments.csv_files import write_csv
from otherminds.tom.experiments.decrypto.lexicon.compare import OwnMeaning
from otherminds.tom.experiments.decrypto.lexicon.records import Association, associations, read_log
from otherminds.tom.experiments.decrypto.lexicon.run import LexiconSettings, elicit, planned_lexica
from otherminds.tom.experiments.dry_run import show_estimate
from otherminds.tom.experiments.progress import progress_bar
from otherminds.tom.experiments.records import read_log as read_recording
from otherminds.tom.experiments.tables import no_nan, number, show, table_of
from otherminds.tom.llm.client import GenerationSettings


@dataclass(frozen=True)
class LexiconSummary:
    """What was elicited of one agent.

    hints: asked about.   failed: without an answer.   missing: mean probability on none of the four keywords, NaN for
    ratings.   same_nearest: share of the answered hints whose nearest keyword is one in all orders, NaN for one order.
    """

    agent: str
    method: str
    hints: int
    failed: int
    missing: float
    same_nearest: float


def elicit_lexicon(
    log: str,
    *,
    model: Sequence[str],
    method: str,
    orders: int,
    games: int | None,
    base_url: str | None,
    seed: int,
    generation: GenerationSettings,
    max_attempts: int,
    out: str | None,
    as_json: bool,
    dry_run: bool,
) -> bool:
    """`otherminds elicit lexicon`. Returns whether an answer failed.

    Raises: a ValueError for what the user can mend, before anything is asked or written.
    """
    check_count("--max-attempts", max_attempts)
    settings = LexiconSettings(
        models=tuple(dict.fromkeys(model)),
        method=method,
        orders=orders,
        seed=seed,
        most_games=games,
        base_url=base_url,
        generation=generation,
        max_attempts=max_attempts,
    )
    recording = Path(log)
    folder = Path(out) if out else recording.parent / f"lexicon-{method}"
    check_folder(folder)
    planned = planned_lexica(read_recording(recording), settings)
    if dry_run:
        show_estimate(
            partial(elicit, recording, folder / LOG, settings),
            lambda plan: plan.game_id,  # every question is known
            replace(settings, max_attempts=1) if method == "logprobs" else settings,
            as_json=as_json,
        )
        return False
    total = sum(len(plan.hints) for plan in planned)
    told = f"{total} hints, each asked about {orders} time{'s' * (orders > 1)}; log {folder / LOG}"
    with progress_bar("eliciting", total) as advance:
        finished = asyncio.run(
            elicit(
                recording,
                folder / LOG,
                settings,
                on_start=lambda _: click.echo(told, err=as_json),
                on_hint=advance,
            )
        )
    print_finished(finished, "hints were in the log already and were not asked about again", err=as_json)
    report([folder / LOG], folder, as_json=as_json)
    return bool(finished.failed_games)


def compare_logs(logs: Sequence[Path], *, out: str | None, as_json: bool, **options: Any) -> None:
    """`otherminds compare` for logs of lexica: what they hold. A log of games is compared under them with --lexicon.

    Raises: ValueError for an option that has no meaning here.
    """
    if options["join"] is not None or options["every_option"] or options["mind_specs"]:
        raise ValueError("--minds, --join and --every-option: no mind stands beside a lexicon; leave them out")
    report(logs, report_folder(logs, out, as_json), as_json=as_json)


def report(logs: Sequence[Path], folder: Path | None, *, as_json: bool = False) -> None:
    """Prints what logs of lexica hold, and writes lexicon.csv; no folder: nothing is written."""
    found = read_lexica(logs)
    rows = summaries(found)
    if as_json:
        print(json.dumps(no_nan([asdict(row) for row in rows]), indent=1))
    else:
        print_lexica(rows)
    if folder is not None:
        click.echo(f"wrote {write_lexicon(folder, found)}", err=as_json)


def read_lexica(logs: Iterable[Path]) -> list[Association]:
    """Everything that was elicited in some logs. Raises: JournalError for what is no log of a lexicon."""
    return [each for log in logs for each in associations(read_log(log))]


def summaries(found: Sequence[Association]) -> list[LexiconSummary]:
    """A row for every agent and method."""
    rows = []
    for agent, method in dict.fromkeys((each.agent, each.method) for each in found):
        own = [each for each in found if (each.agent, each.method) == (agent, method)]
        told = [each for each in own if each.associations is not None]
        missing = [each.missing for each in told if not np.isnan(each.missing)]
        same = [each.same_nearest for each in told if len(each.by_order) > 1]
        rows.append(
            LexiconSummary(
                agent,
                method,
                len(own),
                len(own) - len(told),
                float(np.mean(missing)) if missing else float("nan"),
                float(np.mean(same)) if same else float("nan"),
            )
        )
    return rows


def write_lexicon(folder: Path, found: Sequence[Association]) -> Path:
    """Writes lexicon.csv: a line for every hint and keyword, with no number where the elicitation failed."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "lexicon.csv"
    head = ["agent", "game", "hint", "keyword", "log_association", "method", "missing", "failed"]
    rows = [
        [
            *(each.agent, each.recorded[0], each.hint, keyword),
            "" if each.associations is None else each.associations[place],
            each.method,
            "" if np.isnan(each.missing) else each.missing,
            each.associations is None,
        ]
        for each in found
        for place, keyword in enumerate(each.keywords)
    ]
    write_csv(path, head, rows)
    return path


def print_lexica(rows: Sequence[LexiconSummary]) -> None:
    """How many hints were elicited of whom, and how sure one may be of them."""
    table = table_of("whose lexicon", "hints", "failed", "missing\nmass", "same in\nall orders")
    for row in rows:
        table.add_row(
            Text(f"{row.agent} ({row.method})"),
            str(row.hints),
            str(row.failed),
            number(row.missing),
            number(row.same_nearest, ".0%"),
        )
    show(
        "Elicited lexica",
        table,
        "missing mass: probability of an answer that is none of the four keywords. same in",
        "all orders: hints whose nearest keyword does not change with the place it is shown at.",
    )


def print_meanings(rows: Sequence[OwnMeaning], lapse: float) -> None:
    """Decoders and encoders under shared and under elicited word meanings."""
    table = table_of("role, agent, and whose lexicon", "decisions", "shared", "elicited", "difference")
    for role, agent in dict.fromkeys((row.role, row.agent) for row in rows):
        own = [row for row in rows if (row.role, row.agent) == (role, agent)]
        table.add_row(Text(f"{role} {agent} ({own[0].decisions} decisions)", style="bold"), *[""] * 4)
        for row in own:
            table.add_row(
                Text(f"  {row.lexicon} ({row.method}){' *' if row.own else ''}"),
                str(row.compared),
                number(row.shared_score),
                number(row.own_score),
                f"{number(row.difference)}\n± {number(row.error)}",
            )
            table.add_row(
                f"  elicited {row.elicited}, with vectors {row.known}, failed {row.failed}",
                "",
                f"beta {row.shared_beta:.3g}",
                f"beta {row.own_beta:.3g}",
                "",
                style="dim",
            )
            table.add_row(f"  chance {number(row.chance)}", *[""] * 4, style="dim")
        table.add_section()
    show(
        "The words or the reasoning? A literal mind with shared and with elicited meanings",
        table,
        "Nats a decision, where every hint was elicited and has a vector; beta from the games",
        "of other keywords. difference: elicited less shared ± standard error, games of the same",
        "keywords as one. * the agent's own model. An encoder's choices are the hints of the game.",
        f"Lapse {lapse:g}. Interceptors are not covered: what they choose among is not elicited.",
    )
