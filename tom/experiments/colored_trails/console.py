"""What the commands print of recorded negotiations. Tables fit a terminal of 80 columns."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from otherminds.tom.experiments.checks import check_folder, check_lapse, report_folder
from otherminds.tom.experiments.colored_trails.annotations import Annotations, annotate
from otherminds.tom.experiments.colored_trails.compare import (
    DEFAULT_MINDS,
    EVERY,
    Comparison,
    Gain,
    chosen_minds,
    compare,
)
from otherminds.tom.experiments.colored_trails.explain import Explanation
from otherminds.tom.experiments.colored_trails.fits import Fit
from otherminds.tom.experiments.colored_trails.recordings import import_panel
from otherminds.tom.experiments.colored_trails.records import PEOPLE, is_person, read_games
from otherminds.tom.experiments.compare import UNIFORM
from otherminds.tom.experiments.console import LOG
from otherminds.tom.experiments.defaults import split_agents
from otherminds.tom.experiments.progress import progress_bar, slow_progress
from otherminds.tom.experiments.tables import no_nan, number, show, table_of
from otherminds.tom.minds.colored_trails.variant import DESCRIBED

PLAYER = "player"
EVEN = 0.5
"""Probability that all minds are equally frequent, above which a table says that none stands out."""


def import_panel_log(*, path: str, out: str, as_json: bool) -> None:
    """`otherminds import llm-tom`.

    Raises: a ValueError for what the user can mend, before anything is written.
    """
    check_folder(Path(out))
    click.echo(f"reading {path}", err=True)
    with slow_progress("writing games") as advance:
        done = import_panel(Path(path), log=Path(out) / LOG, on_game=advance)
    if as_json:
        print(json.dumps(asdict(done) | {"log": str(done.log)}, indent=1))
        return
    click.echo(f"{done.games} games, {done.decisions:,} moves, {done.failed} failed answers")
    for name, count in done.players.items():
        click.echo(f"  {name}: {count} game{'s' * (count != 1)}")
    if done.differing:
        click.echo(f"{done.games - len(done.differing)} games end with the points that are stated; these do not:")
        for told in done.differing:
            click.echo(f"  {told}")
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
    variant: str | None = None,
) -> None:
    """`otherminds compare` of logs of negotiations."""
    given = {"--keywords": keywords, "--vectors": vectors, "--join": join, "--every-option": every_option or None}
    for option, value in given.items():
        if value is not None:
            raise ValueError(f"{option}: Colored Trails has no words and no options to join; leave it out")
    minds = _minds(mind_specs)
    check_lapse(lapse)
    report(
        logs,
        report_folder(logs, out, as_json),
        minds,
        variant=variant or DESCRIBED.name,
        lapse=lapse,
        as_json=as_json,
    )


def report(
    logs: Sequence[Path],
    folder: Path | None,
    minds: Sequence[str] = DEFAULT_MINDS,
    *,
    variant: str = DESCRIBED.name,
    lapse: float,
    as_json: bool = False,
) -> None:
    """Shadows the logs' decisions, prints the tables, and writes the report; no folder: nothing is written."""
    with slow_progress("reading lines") as advance:
        games, begun = read_games(logs, advance)
    tried = sum(map(len, chosen_minds(minds, variant, games.rules).values()))
    with progress_bar("shadowing every move", tried) as advance:
        comparison = compare(games, minds, variant=variant, lapse=lapse, on_mind=advance)
    annotations = annotate(games, comparison.shadows)
    if as_json:
        print(json.dumps(no_nan(as_content(comparison, annotations)), indent=1))
    else:
        print_gains(comparison.gains)
        print_explanations(comparison)
        if annotations is not None:
            print_annotations(annotations)
    if folder is None:
        return
    from otherminds.tom.experiments.colored_trails.report import write_report

    for path in write_report(folder, games, comparison, annotations, begun):
        click.echo(f"wrote {path}", err=as_json)


def as_content(comparison: Comparison, annotations: Annotations | None) -> dict[str, Any]:
    """A comparison as JSON knows it."""
    return {
        "lapse": comparison.lapse,
        "variant": comparison.variant,
        "gains": [asdict(row) for row in comparison.gains],
        "explanations": [
            asdict(row) | {"fit": dict(zip(Fit._fields[:3], row.fit, strict=False)) if row.fit else None}
            for row in comparison.explanations
        ],
        "annotations": asdict(annotations) if annotations else None,
    }


def print_gains(rows: Sequence[Gain]) -> None:
    """What the negotiations brought."""
    table = table_of("player, and boards, deception", "games", "gain", "±", "agreed", "moves", "at goal")
    one_of_many = {row.agent for row in rows if is_person(row.agent)} if rows and rows[0].agent == PEOPLE else set()
    for place, row in enumerate(rows):
        whole = row.boards == EVERY
        if not whole and row.agent in one_of_many:
            continue
        if whole and place and row.agent not in one_of_many:
            table.add_section()
        table.add_row(
            Text(row.agent if whole else f"  {condition(row)}"),
            str(row.games),
            number(row.mean, ".1f"),
            number(row.error, ".1f"),
            f"{row.agreed / row.games:.0%}",
            number(row.moves, ".1f"),
            f"{row.reached} ({row.reached / row.games:.0%})",
            style="bold" if whole else None,
        )
    notes = [
        "gain: mean points above what the chips dealt are worth, less the cost of moves,",
        "± standard error, with people (where there is one or none: boards) as clusters.",
        "at goal: games in which the player's chips pay for the way to its own goal.",
        "Games that are not over are left out.",
    ]
    if one_of_many:
        notes.append("gains.csv and --json have every condition of every person.")
    if failed := sum(row.failed for row in rows if row.boards == EVERY and row.agent != PEOPLE):
        notes.append(f"{failed} answers failed; a failed answer withdraws.")
    show("What the negotiations brought", table, *notes)


def condition(row: Gain) -> str:
    """A condition in words."""
    deception = f"deception {row.deception}" if row.deception else ""
    return ", ".join(filter(None, (row.boards, deception))) or "no condition"


def print_explanations(comparison: Comparison) -> None:
    """Which mind explains whom."""
    held_out = [row for row in comparison.explanations if row.way == "held-out"]
    table = table_of("whom, by what, and minds", "beta", "nats", "share", "exceed", "protected")
    before = None
    for row in held_out:
        if (group := (row.agent, row.units)) != before:
            if before is not None:
                table.add_section()
            table.add_row(Text(f"{row.agent}: {row.count} {row.units}, {row.decisions} moves", style="bold"), *[""] * 5)
        before = group
        best = _best(row, held_out)
        table.add_row(
            Text(f"  {told_with_setting(row)}{' *' * best}"),
            number(row.fit.beta) if row.fit and row.mind != UNIFORM else "–",
            number(row.log_score),
            *(number(value) for value in (row.frequency, row.exceedance, row.protected)),
            style="bold" if best else None,
        )
    even = {f"{row.agent} ({row.units}: {row.chance:.2f})": None for row in held_out if row.chance > EVEN}
    show(
        "Which mind explains whom",
        table,
        f"Variant {comparison.variant}. Choice by softmax of a mind's values, beta per point,",
        f"fitted on the player's other games, with lapse {comparison.lapse:g}. nats: mean log-probability",
        "of a move that was held out. share, exceed: expected frequency of a mind among",
        "games (or players), and the probability that it is the most frequent; protected:",
        "the same, where all may be equally frequent. In brackets: the fit of a setting.",
        "* the most frequent mind.",
        *([f"No mind stands out (probability that all are as frequent): {', '.join(even)}."] if even else ()),
    )
    others = [row for row in comparison.explanations if row.way != "held-out"]
    ways = list(dict.fromkeys(row.way for row in others))
    table = table_of("whom, by what, and minds", *(f"{way}\n{name}" for way in ways for name in ("nats", "exceed")))
    groups = dict.fromkeys((row.agent, row.units) for row in others if row.agent == PEOPLE or not is_person(row.agent))
    for place, group in enumerate(groups):
        if place:
            table.add_section()
        table.add_row(Text(f"{group[0]}: {group[1]}", style="bold"), *[""] * (2 * len(ways)))
        own = {(row.way, row.mind): row for row in others if (row.agent, row.units) == group}
        for mind in dict.fromkeys(mind for _, mind in own):
            cells = [number(value) for way in ways for value in (own[way, mind].log_score, own[way, mind].exceedance)]
            table.add_row(Text(f"  {mind}"), *cells)
    show(
        "The same, two other ways",
        table,
        "free lapse: the lapse is fitted too, on the other games. reference: as LLM-TOM",
        "does, rationality fitted on all games at once, no lapse, no probability below",
        "1e-10 (over players: one fit each, and minus half its BIC).",
    )


def told_with_setting(row: Explanation) -> str:
    """A mind, and the values of its settings that were fitted: "bayesian1:rationality=fit (0.2)"."""
    values = [part.partition("=")[2] for part in row.setting.split(",")]
    return f"{row.mind} ({', '.join(values)})" if row.setting else row.mind


def _best(row: Explanation, rows: Sequence[Explanation]) -> bool:
    alike = [other.frequency for other in rows if (other.agent, other.units) == (row.agent, row.units)]
    return row.frequency >= max(alike)


def print_annotations(found: Annotations) -> None:
    """How good people's guesses of the other's goal were."""
    table = table_of("player, and which guess", "games", "guessed", "right", "squares", "score")
    for place, row in enumerate(found.scores):
        first = row.reading == found.scores[0].reading
        if first and place:
            table.add_section()
        table.add_row(
            Text(f"{row.agent}, {row.reading}"),
            str(row.games),
            str(row.guessed),
            f"{row.contained} ({row.contained / row.guessed:.0%})",
            number(row.size, ".2f"),
            number(row.score),
        )
    unknown = sum(found.unknown.values())
    show(
        "Guesses of the other's goal in people's thoughts",
        table,
        f"{found.thoughts} thoughts at {found.moves} moves, {found.separated} with a dash. Before it: {found.guesses}",
        f"guesses, {found.asked} times only a question mark, and {unknown} words that are no square.",
        "right: games in which the goal is in the guessed set, of those with a guess",
        "(any: in any of the game's). score: [goal in the set] / squares, mean.",
    )
    table = table_of("player, guess, mind", "games", "p(goal)", "top right", "p(guess)", "best")
    before = None
    shown = found.scores[0].agent if found.scores else ""
    for row in (row for row in found.posteriors if row.agent == shown):
        if before not in (None, (row.agent, row.reading)):
            table.add_section()
        before = (row.agent, row.reading)
        table.add_row(
            Text(f"{row.agent}, {row.reading}, {row.mind}"),
            str(row.guessed),
            *(number(value) for value in (row.of_goal, row.right, row.of_guess, row.best)),
        )
    show(
        "What minds could know at the moment of these guesses",
        table,
        "p(goal): mean posterior of the other's goal. top right: games in which the most",
        "probable goal is the right one (ties count in part). p(guess): mean posterior of",
        "the guessed set over its squares; best: of the best set of as many squares.",
        "posteriors.csv and --json have every person.",
    )


def _minds(specs: Sequence[str]) -> Sequence[str]:
    """The minds that shadow the players, from player=MIND,... options.

    Raises: ValueError for another role and for no mind.
    """
    chosen: list[str] = []
    for text in specs:
        name, equals, rest = text.partition("=")
        if not equals or name != PLAYER:
            raise ValueError(f"--minds {text!r}: write {PLAYER}=MIND,...; both players are shadowed by the same minds")
        if not (named := split_agents(rest)):
            raise ValueError(f"--minds {name}=: name at least one mind")
        chosen += named
    return list(dict.fromkeys(chosen)) or DEFAULT_MINDS
