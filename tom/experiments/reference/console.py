"""What the commands print of reference games. Tables fit a terminal of 80 columns."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from otherminds.games.reference.rules import Role
from otherminds.inference.grid import PRIOR
from otherminds.tom.experiments.checks import check_folder, check_lapse, report_folder
from otherminds.tom.experiments.compare import Row
from otherminds.tom.experiments.console import LOG
from otherminds.tom.experiments.defaults import split_agents
from otherminds.tom.experiments.progress import progress_bar, slow_progress
from otherminds.tom.experiments.reference.compare import (
    DEFAULT_MINDS,
    JOINS,
    Fit,
    chosen_minds,
    compare,
    fits_to_make,
)
from otherminds.tom.experiments.reference.recordings import import_reference
from otherminds.tom.experiments.reference.records import CONDITIONS, Answers, read_answers
from otherminds.tom.experiments.reference.report import flattened, write_report
from otherminds.tom.experiments.reference.stated_console import print_places, print_stated
from otherminds.tom.experiments.scores import ruled_out_note, scores_table
from otherminds.tom.experiments.tables import no_nan, number, show, table_of

STATED = ("divergences", "calibrations", "predictions", "places")
"""Parts of a comparison that are of agents who state probabilities, or were shown options in a known order."""


def import_recordings(
    *, items: str, choices: str, scores: Sequence[str], tokens: str | None, name: str, out: str, as_json: bool
) -> None:
    """`otherminds import reference`.

    Raises: a ValueError for what the user can mend, before anything is written.
    """
    check_folder(Path(out))
    with slow_progress("writing decisions") as advance:
        done = import_reference(
            Path(items),
            Path(choices),
            [Path(path) for path in scores],
            None if tokens is None else Path(tokens),
            log=Path(out) / LOG,
            name=name,
            on_decision=advance,
        )
    if as_json:
        print(json.dumps(asdict(done) | {"log": str(done.log)}, indent=1))
        return
    click.echo(
        f"{done.items} items, {done.people} people, {len(done.models)} language model{'s' * (len(done.models) != 1)}"
    )
    click.echo(f"{done.decisions} decisions, {done.failed} failed")
    if odd := done.failed - done.unscored:
        click.echo(f"  {odd} response{'s' * (odd != 1)} that {'are' if odd != 1 else 'is'} none of the options:")
        for shown in done.odd:
            click.echo(f"    {choices}, {shown}")
    if done.unscored:
        click.echo(f"  {done.unscored} of a model that did not score every option (an empty cell)")
    click.echo(f"wrote {done.log}")


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
    """`otherminds compare` of logs of reference games."""
    for option, value in (("--keywords", keywords), ("--vectors", vectors)):
        if value is not None:
            raise ValueError(f"{option} {value}: reference games bring their own words; leave it out")
    minds = minds_of(mind_specs)
    check_lapse(lapse)
    folder = report_folder(logs, out, as_json)
    report(logs, folder, minds, lapse, join=join or JOINS[0], every_option=every_option, as_json=as_json)


def report(
    logs: Sequence[Path],
    folder: Path | None,
    minds: Mapping[Role, Sequence[str]],
    lapse: float,
    *,
    join: str = JOINS[0],
    every_option: bool = False,
    as_json: bool = False,
) -> None:
    """Compares the logs, prints the tables, and writes the report; no folder: nothing is written."""
    with slow_progress("reading lines") as advance:
        agents, begun = read_answers(logs, every_option, advance)
    with progress_bar("fitting minds and models", fits_to_make(agents, minds)) as advance:
        comparison = compare(agents, minds, lapse=lapse, join=join, on_fit=advance)
    if as_json:
        content = {
            "lapse": lapse,
            "prior": str(PRIOR),
            "join": join,
            "kinds": _kinds(agents),
            "scores": [_row(row) for row in comparison.rows],
            "fits": [flattened(fit) for fit in comparison.fits],
            "models": [flattened(fit) for fit in comparison.models],
            **{name: [asdict(row) for row in getattr(comparison, name)] for name in STATED},
        }
        print(json.dumps(no_nan(content), indent=1))
    else:
        show(
            "How well each mind explains each agent (nats a decision; higher is better)",
            scores_table(comparison.rows),
            "* explains the agent best. regret: below the mind's own best answer.",
            "impossible: decisions that only the lapse allows. A failed answer is none of",
            "the options: it is scored as what only the lapse allows, under uniform too.",
            "An agent that states probabilities counts by them.",
            *ruled_out_note(comparison.rows),
            f"Lapse {lapse:g} for every mind: it picks each {'option' if every_option else 'kind of answer'} alike.",
        )
        if comparison.fits:
            print_fits("Alpha and error rate of each agent, by the minds fitted to it", comparison.fits)
        for agent in agents:
            if not agent.answered.any():
                who = f"{CONDITIONS[agent.questions.role]} {agent.agent}"
                click.echo(f"{who}: nothing to fit, all {len(agent.taken)} answers failed.")
        if comparison.models:
            print_fits("Language models as models of people", comparison.models, models=True)
            click.echo(f"Options of one kind count by the {join} of their probabilities.")
        print_stated(comparison, lapse)
        print_places(comparison.places)
    if folder is None:
        return
    with slow_progress("writing decisions") as advance:
        written = write_report(
            folder, agents, comparison, begun, lapse=lapse, prior=PRIOR, join=join, on_decision=advance
        )
    for path in written:
        click.echo(f"wrote {path}", err=as_json)


def print_fits(title: str, fits: Sequence[Fit], models: bool = False) -> None:
    """Posterior means with 95% intervals, and the mean log score at the mode. models: of language models' scores."""
    table = table_of("agent, and what is fitted", "alpha", "95%", "error", "95%", "log score")
    before = None
    for fit in fits:
        group = f"{fit.condition} {fit.agent}" + f" by {fit.mind}" * models
        if group != before:
            if before is not None:
                table.add_section()
            failed = f", {fit.failed} failed" * bool(fit.failed)
            table.add_row(Text(f"{group}\n({fit.decisions} decisions{failed})"))
        before = group
        found = fit.posterior
        matters = found.alpha_matters
        table.add_row(
            Text(f"  {fit.method if models else fit.mind}"),
            _alpha(found.alpha.mean) if matters else "–",
            f"{_alpha(found.alpha.low)}–{_alpha(found.alpha.high)}" if matters else "–",
            f"{found.lapse.mean:.3f}",
            f"{found.lapse.low:.3f}–{found.lapse.high:.3f}",
            number(fit.log_score),
        )
    show(
        title,
        table,
        "Posterior means and shortest 95% intervals, exact on a grid; log score: the mean",
        "over the decisions at the mode. Failed answers count as errors.",
        *["A dash: alpha makes no difference to this mind."] * (not models),
        f"Prior: {PRIOR}.",
    )


def _row(row: Row) -> dict[str, Any]:
    """A row as JSON, in which roles are called conditions, as everywhere here."""
    return {"condition" if name == "role" else name: value for name, value in asdict(row).items()}


def _alpha(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _kinds(agents: Sequence[Answers]) -> dict[str, Any]:
    return {agent.questions.role.name.lower(): list(agent.questions.kinds) for agent in agents}


def minds_of(specs: Sequence[str]) -> dict[Role, Sequence[str]]:
    """The minds that shadow each role, from ROLE=MIND,... options.

    Raises: ValueError for what is no role, and for a mind with a lapse; UnknownMind for what is no mind.
    """
    minds: dict[Role, Sequence[str]] = dict(DEFAULT_MINDS)
    for text in specs:
        name, equals, rest = text.partition("=")
        if not equals or name.upper() not in Role.__members__:
            raise ValueError(f"--minds {text!r}: write ROLE=MIND,... with speaker or listener for ROLE")
        chosen = list(dict.fromkeys(split_agents(rest)))
        if not chosen:
            raise ValueError(f"--minds {name}=: name at least one mind")
        minds[Role[name.upper()]] = chosen
    chosen_minds(minds)
    return minds
