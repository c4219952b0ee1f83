"""What the commands print of recorded matches of rock, paper, scissors. Tables fit a terminal of 80 columns."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.text import Text

from otherminds.inference.resampling import Interval
from otherminds.tom.experiments.checks import check_folder, check_lapse, report_folder
from otherminds.tom.experiments.compare import UNIFORM, Row
from otherminds.tom.experiments.console import LOG
from otherminds.tom.experiments.defaults import split_agents
from otherminds.tom.experiments.progress import progress_bar, slow_progress
from otherminds.tom.experiments.rps.matches.compare import (
    PLAYER,
    Comparison,
    Found,
    Record,
    Response,
    chosen_minds,
    compare,
    with_own,
)
from otherminds.tom.experiments.rps.matches.recordings import Imported, import_brockbank, import_csv
from otherminds.tom.experiments.rps.matches.records import read_matches
from otherminds.tom.experiments.scores import scores_table
from otherminds.tom.experiments.tables import no_nan, number, show, table_of

BEST = 5  # minds that are shown of each agent
SHOWN = 3  # minds that are found, of which each agent's most frequent are shown


def import_recordings(reader: Callable[..., Imported], path: str, *, out: str, as_json: bool) -> None:
    """`otherminds import rps` and `import brockbank`, by `recordings.import_csv` or `import_brockbank`.

    Raises: a ValueError for what the user can mend, before anything is written.
    """
    check_folder(Path(out))
    click.echo(f"reading {path}", err=True)
    with slow_progress("writing moves") as advance:
        done = reader(Path(path), log=Path(out) / LOG, on_decision=advance)
    if as_json:
        print(json.dumps(asdict(done) | {"log": str(done.log)}, indent=1))
        return
    click.echo(f"{done.matches} matches, {done.rounds:,} rounds, {done.failed} missing moves")
    for name, count in done.players.items():
        click.echo(f"  {name}: {count} match{'es' * (count != 1)}")
    click.echo(f"wrote {done.log}")


def import_matches(*, matches: str, out: str, as_json: bool) -> None:
    """`otherminds import rps`."""
    import_recordings(import_csv, matches, out=out, as_json=as_json)


def import_bots(*, path: str, out: str, as_json: bool) -> None:
    """`otherminds import brockbank`."""
    import_recordings(import_brockbank, path, out=out, as_json=as_json)


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
    """`otherminds compare` of logs of matches."""
    given = {"--keywords": keywords, "--vectors": vectors, "--join": join, "--every-option": every_option or None}
    for option, value in given.items():
        if value is not None:
            raise ValueError(f"{option}: rock, paper, scissors has no words and no options to join; leave it out")
    minds = _minds(mind_specs)
    check_lapse(lapse)
    folder = report_folder(logs, out, as_json)
    with slow_progress("reading lines") as advance:
        matches, begun = read_matches(logs, advance)
    agents = [name for pair in matches.agents for name in pair]
    with progress_bar("shadowing every move", len(with_own(chosen_minds(minds), agents))) as advance:
        comparison = compare(matches, minds, lapse=lapse, on_mind=advance)
    if as_json:
        print(json.dumps(no_nan(as_content(comparison, lapse)), indent=1))
    else:
        print_comparison(comparison, lapse)
    if folder is None:
        return
    from otherminds.tom.experiments.rps.matches.report import write_report

    with slow_progress("writing moves") as advance:
        written = write_report(folder, matches, comparison, begun, lapse=lapse, on_decision=advance)
    for path in written:
        click.echo(f"wrote {path}", err=as_json)


def as_content(comparison: Comparison, lapse: float) -> dict[str, Any]:
    """A comparison as JSON knows it."""
    return {
        "lapse": lapse,
        "records": [_plain(row) for row in comparison.records],
        "scores": [_plain(row) for row in comparison.rows],
        "found": [_plain(row) for row in comparison.found],
        "responses": [_plain(row) for row in comparison.responses],
    }


def print_comparison(comparison: Comparison, lapse: float) -> None:
    """The tables of a comparison."""
    print_records(comparison.records)
    print_responses(comparison.responses)
    print_found(comparison.found, lapse)
    show(
        "How well each mind explains each agent (nats a move; higher is better)",
        scores_table(shortest(comparison.pooled)),
        f"Of each agent the {BEST} minds that explain it best, and uniform; scores.csv and",
        "--json have all, and each opponent apart.",
        "* explains the agent best. regret: below the mind's own best move.",
        "impossible: moves that only the lapse allows. A missing move is a failed",
        "answer: it is scored as what only the lapse allows, under uniform too.",
        f"Lapse {lapse:g} for every mind, besides its own tremble.",
    )


def print_records(rows: Sequence[Record]) -> None:
    """How the agents fared."""
    table = table_of("agent", "matches", "missing", "win", "95%", "draw", "loss")
    for row in rows:
        _, draw, loss = row.mean
        table.add_row(
            _who(row),
            str(row.matches),
            str(row.missing),
            *_mean_and_interval(row.mean[0], row.win),
            number(draw),
            number(loss),
        )
    show(
        "Matches",
        table,
        "Means over matches of the share of the rounds in which both moved; intervals",
        "by the bootstrap over matches (95%, BCa).",
    )


def print_responses(rows: Sequence[Response]) -> None:
    """What the agents did after a win, a draw and a loss."""
    table = table_of("agent", "after", "matches", "stays", "95%", "up", "down")
    before = None
    for row in rows:
        group = (row.agent, row.opponent)
        if before not in (None, group):
            table.add_section()
        table.add_row(
            _who(row) if group != before else Text(""),
            row.after,
            str(row.matches),
            *_mean_and_interval(row.shares[0], row.stay),
            *map(number, row.shares[1:]),
        )
        before = group
    show(
        "What follows a win, a draw and a loss",
        table,
        "Means over the matches with such a round. up: to the move that beats one's last;",
        "down: to the move that it beats.",
    )


def print_found(rows: Sequence[Found], lapse: float) -> None:
    """Which mind each match is by."""
    table = table_of("agent, and the minds that its matches are by", "matches", "p > .99", "median", "most")
    for number_, row in enumerate(rows):
        if number_:
            table.add_section()
        sure = ["–"] * 3 if row.sure is None else [str(row.sure), _rounds(row.median), _rounds(row.most)]
        table.add_row(Text(row.agent, style="bold"), str(row.matches), *sure)
        found = list(row.found.items())
        for mind, count in found[:SHOWN]:
            table.add_row(Text(f"  {mind}{' (right)' * (mind == row.true)}"), str(count), "", "", "")
        if others := found[SHOWN:]:
            table.add_row(Text(f"  {len(others)} more"), str(sum(count for _, count in others)), "", "", "")
    show(
        "The rule of each match, by the exact posterior over the minds",
        table,
        "p > .99: matches in which the posterior of the right one passes .99, and after",
        "how many rounds: median and most. An agent that is a rule is looked for among",
        "the agents that are rules, others among all minds; all are equally likely at",
        f"first. A mind that finds a move impossible has the lapse {lapse:g}, others none.",
    )


def shortest(pooled: Sequence[Row]) -> list[Row]:
    """Of each agent the minds that explain it best, in their order, and uniform."""
    kept = []
    for agent in dict.fromkeys(row.agent for row in pooled):
        own = [row for row in pooled if row.agent == agent]
        best = sorted((row for row in own if row.mind != UNIFORM), key=lambda row: -row.log_score)[:BEST]
        kept += [row for row in own if row in best or row.mind == UNIFORM]
    return kept


def _who(row: Record | Response) -> Text:
    return Text(f"  v {row.opponent}" if row.opponent else row.agent)


def _mean_and_interval(mean: float, interval: Interval | None) -> tuple[str, str]:
    if interval is None:
        return number(mean), "–"
    return number(mean), f"{float(interval.low):.3f}–{float(interval.high):.3f}"


def _rounds(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def _plain(row: Any) -> Any:
    """A record as JSON: arrays as numbers."""
    if isinstance(row, Interval):
        return {"mean": float(row.mean), "low": float(row.low), "high": float(row.high), "matches": row.units}
    if hasattr(row, "__dataclass_fields__"):
        return {name: _plain(getattr(row, name)) for name in row.__dataclass_fields__}
    if isinstance(row, np.generic):
        return row.item()
    return row


def _minds(specs: Sequence[str]) -> list[str] | None:
    """The minds that shadow the players, from player=MIND,... options; None for the default ones.

    Raises: ValueError for another role and for no mind; UnknownMind for what is no mind.
    """
    chosen: list[str] = []
    for text in specs:
        name, equals, rest = text.partition("=")
        if not equals or name != PLAYER:
            raise ValueError(f"--minds {text!r}: write {PLAYER}=MIND,...; both seats of the game are alike")
        if not (named := split_agents(rest)):
            raise ValueError(f"--minds {name}=: name at least one mind")
        chosen += named
    chosen = list(dict.fromkeys(chosen))
    chosen_minds(chosen or None)
    return chosen or None
