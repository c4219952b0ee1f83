"""What the commands print of observers: a table that follows a run, and the scores. Tables fit 80 columns."""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from otherminds.games.rps.catalogue import NAMES
from otherminds.games.rps.statement import arrays
from otherminds.tom.agents.observer import pair_text
from otherminds.tom.experiments.checks import check_folder, check_lapse, report_folder
from otherminds.tom.experiments.console import LOG, print_finished
from otherminds.tom.experiments.dry_run import LENGTHS, show_estimate
from otherminds.tom.experiments.progress import progress_bar, slow_progress
from otherminds.tom.experiments.rps.observers.compare import (
    Estimate,
    Paired,
    Row,
    Scored,
    compare,
    true_outcome,
    union_so_far,
)
from otherminds.tom.experiments.rps.observers.config import (
    ObserverConfig,
    code_of,
    is_model,
    observers_of,
    validated,
)
from otherminds.tom.experiments.rps.observers.records import Scene, read_watched
from otherminds.tom.experiments.rps.observers.run import Told, asked_models, deal_matches, planned_matches, run
from otherminds.tom.experiments.tables import no_nan, number, show, table_of
from otherminds.tom.llm.client import GenerationSettings


def run_rps(
    *,
    observer: str | None,
    model: str | None,
    sweep: Sequence[str],
    sections: Sequence[str],
    seeds: int,
    history: int,
    reasoning_interval: int,
    no_shuffle: bool,
    generation: GenerationSettings,
    lapse: float,
    out: str | None,
    as_json: bool,
    dry_run: bool,
    **settings: Any,
) -> bool:
    """`otherminds run rps`. Returns whether a game finished with a failed answer.

    Raises: a ValueError for what the user can mend, before anything is played or written.
    """
    if seeds < 1:
        raise ValueError(f"--seeds {seeds}: at least 1")
    for option, value in (("--history", history), ("--reasoning-interval", reasoning_interval)):
        if value < 0:
            raise ValueError(f"{option} {value}: at least 0")
    observers, note = observers_of(observer, model, tuple(sweep), tuple(sections))
    if settings["base_url"] and not any(map(is_model, observers)):
        raise ValueError(
            f"--base-url {settings['base_url']}: say with --model provider/name which model is asked there"
        )
    check_lapse(lapse)
    shown = {"sections": tuple(filter(None, sections[0].split(",")))} if len(sections) == 1 else {}
    config = validated(
        observers=observers,
        seeds=tuple(range(seeds)),
        history=history or None,
        reasoning_interval=reasoning_interval or None,
        shuffle=not no_shuffle,
        generation=generation,
        **shown,
        **settings,
    )
    models = asked_models(config)
    deal_matches(config.model_copy(update={"matches": 1, "seeds": (0,)}))  # players that cannot play are told of now
    folder = Path(out or f"runs/rps-{config.digest()}")
    check_folder(folder)
    games = planned_matches(config)
    if dry_run:
        show_estimate(
            partial(run, config, folder / LOG),
            lambda match: match.observer if is_model(match.observer) else None,
            config,
            note=LENGTHS if config.stop_after else None,
            as_json=as_json,
        )
        return False

    def announce() -> None:
        asked = config.asking.asked
        lines = [
            f"Rock, paper, scissors: {_count(len(config.observers), 'observer')} of "
            f"{_count(config.matches * len(config.seeds), 'match', 'es')}",
            f"  players    {titled(config.player1, config.player2)}",
            f"  rounds     {config.rounds}" + ", moves drawn independently (iid)" * config.legacy_iid,
            f"  asked      {_count(len(asked), 'time')} a match, after {_rounds(asked)}, "
            + (f"the last {config.history} rounds shown" if config.history else "all rounds shown"),
            f"  models     {', '.join(dict.fromkeys(how.model for how in models.values())) or 'none'}",
            f"  log        {folder / LOG}",
        ]
        for line in lines:
            click.echo(line, err=as_json)
        if note:
            click.echo(click.style("Note: ", fg="yellow") + note + ".", err=as_json)

    with followed(config, len(games)) as (begin, on_game, on_decision):
        finished = asyncio.run(
            run(
                config,
                folder / LOG,
                on_start=lambda: (announce(), begin()),
                on_game=on_game,
                on_decision=on_decision,
            )
        )
    print_finished(finished, "answers were in the log already and were not asked for again", err=as_json)
    report([folder / LOG], folder, lapse, as_json=as_json)
    if finished.failed_games:
        told = f"{finished.failed_games} of {finished.games} watched matches hold an answer that failed."
        click.secho(told, fg="yellow", err=as_json)
    return bool(finished.failed_games)


# --- while it runs ---------------------------------------------------------------------------------------------------


@dataclass
class Progress:
    """What is known of an observer while a run goes on."""

    matches: int = 0
    round: int = 0
    answers: int = 0
    hits: int = 0
    failed: int = 0
    losses: float = 0.0
    guess: str = ""


class Board:
    """The table that follows a run."""

    def __init__(self, config: ObserverConfig) -> None:
        self.scene = Scene((config.player1, config.player2), config.asking, config.legacy_iid, config.legacy_decimals)
        self.total = config.matches * len(config.seeds)
        self.rows = {observer: Progress() for observer in config.observers}
        self._due: dict[tuple[int, int], Any] = {}
        self._config = config

    def finish(self, planned: Any) -> None:
        """A match that an observer has watched to the end."""
        self.rows[planned.observer].matches += 1

    def count(self, told: Told) -> None:
        """An answer."""
        row, decision = self.rows[told.planned.observer], told.decision
        row.round, row.answers = told.round, row.answers + 1
        if decision.action is None:
            row.failed += 1
            row.losses += 1.0
            row.guess = "failed"
            return
        row.guess = " v ".join(pair_text(decision.action))
        row.hits += tuple(decision.action) == self.scene.truth
        row.losses += union_so_far(arrays(decision.statement), self._outcome(told))

    def table(self) -> Table:
        """As it stands now; identified and union loss over the answers of this call."""
        table = table_of("observer", "matches", "round", "identified", "union\nloss", "last\nguess", "failed")
        for observer, row in self.rows.items():
            count = max(row.answers, 1)
            nobody = not row.answers or -1 in self.scene.truth
            table.add_row(
                Text(observer),
                f"{row.matches}/{self.total}",
                str(row.round or "–"),
                "–" if nobody else f"{row.hits / count:.0%}",
                f"{row.losses / count:.3f}" if row.answers else "–",
                row.guess or "–",
                str(row.failed),
            )
        return table

    def _outcome(self, told: Told) -> Any:
        match = told.planned.seed, told.planned.episode
        if not self._due:
            self._due = {
                match: true_outcome(self.scene, moves[None])[0] for match, moves in deal_matches(self._config).items()
            }
        return self._due[match]


@contextmanager
def followed(
    config: ObserverConfig, games: int
) -> Iterator[tuple[Callable[[], None], Callable[[Any], None], Callable[[Told], None]]]:
    """A live table on a terminal, a line for every tenth on stderr elsewhere.

    Yields what is to be called when the run begins, after every finished game, and after every answer.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        with progress_bar("watching", games) as advance:
            yield lambda: None, lambda _: advance(), lambda _: None
        return
    board = Board(config)
    live = Live(console=console, transient=True, auto_refresh=False)

    def then(change: Callable[[Any], None]) -> Callable[[Any], None]:
        def update(what: Any) -> None:
            change(what)
            live.update(board.table(), refresh=True)

        return update

    try:
        yield live.start, then(board.finish), then(board.count)
    finally:
        live.stop()


# --- afterwards ------------------------------------------------------------------------------------------------------


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
    """`otherminds compare` of logs of observers."""
    given = {"--keywords": keywords, "--vectors": vectors, "--join": join, "--every-option": every_option or None}
    given["--minds"] = ", ".join(mind_specs) or None
    for option, value in given.items():
        if value is not None:
            raise ValueError(f"{option}: observers are compared with the truth and with the exact one; leave it out")
    check_lapse(lapse)
    folder = report_folder(logs, out, as_json)
    report(logs, folder, lapse, as_json=as_json)


def report(logs: Sequence[Path], folder: Path | None, lapse: float, *, as_json: bool = False) -> None:
    """Scores the logs' statements, prints the tables, and writes the report; no folder: nothing is written."""
    with slow_progress("reading lines") as advance:
        watched, begun = read_watched(logs, advance)
    with progress_bar("scoring observers", len(watched)) as advance:
        found = compare(watched, lapse=lapse, on_observer=advance)
    if as_json:
        print(json.dumps(no_nan({"lapse": lapse, "observers": [row_json(one.row) for one in found]}), indent=1))
    else:
        print_scores(found, lapse)
    if folder is None:
        return
    from otherminds.tom.experiments.rps.observers.report import write_report

    with slow_progress("writing decisions") as advance:
        written = write_report(folder, found, begun, logs=logs, lapse=lapse, on_decision=advance)
    for path in written:
        click.echo(f"wrote {path}", err=as_json)


def row_json(row: Row) -> dict[str, Any]:
    """A row as JSON knows it."""
    asking = {name: getattr(row.scene.asking, name) for name in ("rounds", "warmup", "every", "history", "stop_after")}
    return {
        "players": list(row.scene.players),
        "legacy_iid": row.scene.legacy_iid,
        "legacy_decimals": row.scene.legacy_decimals,
        "asking": asking,
        **{
            name: getattr(row, name)
            for name in ("observer", "ceiling", "matches", "unfinished", "questions", "failed", "impossible")
        },
        "mean_confidence": row.mean_confidence,
        "calibration_error": row.calibration_error,
        "values": {name: value._asdict() for name, value in row.values.items()},
        "against_exact": {
            name: {**pair.difference._asdict(), "p_value": pair.p_value} for name, pair in row.against_exact.items()
        },
    }


def print_scores(found: Sequence[Scored], lapse: float) -> None:
    """The tables of every scene."""
    for scene in dict.fromkeys(one.row.scene for one in found):
        rows = [one.row for one in found if one.row.scene == scene]
        _print_named(scene, rows)
        _print_stated(scene, rows, lapse)
        _print_tests(scene, rows)


def titled(player1: str, player2: str) -> str:
    """Two players, and what their codes stand for."""
    names = [NAMES.get(code_of(player) or "") for player in (player1, player2)]
    told = f" ({' v '.join(name or player for name, player in zip(names, (player1, player2), strict=True))})"
    return f"{player1} v {player2}" + told * any(names)


def _count(number: int, noun: str, plural: str = "s") -> str:
    return f"{number:,} {noun}{plural * (number != 1)}"


def _rounds(asked: Sequence[int]) -> str:
    if len(asked) == 1:
        return f"round {asked[0]}"
    if len(asked) > 4:
        return f"rounds {asked[0]}, {asked[1]} ... {asked[-1]}"
    return f"rounds {', '.join(map(str, asked[:-1]))} and {asked[-1]}"


def label(row: Row) -> Text:
    """The observer, or what a ceiling is."""
    return Text(row.label, style="italic" if row.ceiling else "")


def _print_named(scene: Scene, rows: Sequence[Row]) -> None:
    table = table_of("observer", "matches", "both", "95%", "player\n1", "player\n2", "of all\nrounds", "failed")
    _fill(
        table,
        rows,
        lambda row: (
            str(row.matches),
            number(row.values["identified"].mean, ".0%"),
            _interval(row.values["identified"], ".0%"),
            *(number(row.values[name].mean, ".0%") for name in ("identified1", "identified2", "identified_all")),
            f"{row.failed}/{row.questions}",
        ),
    )
    asking = scene.asking
    notes = [
        f"Share of the {len(asking.asked)} questions a match; intervals: bootstrap over matches. A failed",
        "answer names nobody. Of all rounds: a statement stands until the next one, and",
        f"none stands in the first {asking.asked[0] - 1} of {asking.rounds} rounds. Ceilings: who knows all",
        "but the strategies, from the rounds that were shown, and from all.",
    ]
    if -1 in scene.truth:
        notes += [
            "A dash: that player follows no strategy of the catalogue. The references believe",
            "that it does, and are no ceilings.",
        ]
    if any(_alike(row.values["identified"]) for row in rows):
        notes.append("An interval of one dash: all matches are alike, resampling them says nothing.")
    show(f"{titled(*scene.players)}{' (iid data)' * scene.legacy_iid}: strategies named", table, *notes)


def _print_stated(scene: Scene, rows: Sequence[Row], lapse: float) -> None:
    names = ("log_strategy", "log_next", "brier", "union", "efficiency")
    table = table_of("observer", "log p\ntrue", "log p\nnext", "Brier", "union\nloss", "effi-\nciency", "calib.\nerror",
                     "incon-\nsistent")  # fmt: skip
    _fill(
        table,
        rows,
        lambda row: (
            *(number(row.values[name].mean, ".2f" if name == "efficiency" else ".3f") for name in names),
            number(row.calibration_error, ".2f"),
            number(row.values["inconsistent"].mean, ".0%"),
        ),
    )
    impossible = {row.observer: row.impossible for row in rows if row.impossible and not row.ceiling}
    show(
        f"{scene.name}: what is stated",
        table,
        "log p: nats, of the true strategy and of the next move, means over players.",
        "Brier (halved) and union loss of win, draw, loss: 0 to 1, lower is better.",
        "Efficiency: information gained, as a share of what the exact observer gained",
        "from the rounds shown. Inconsistent: names what it finds less probable.",
        f"Lapse {lapse:g} for everybody; failed answers have nothing but the lapse, losses 1.",
        *[f"{name}: {_count(n, 'answer')} with probability 0 for a true strategy." for name, n in impossible.items()],
    )


def _print_tests(scene: Scene, rows: Sequence[Row]) -> None:
    table = table_of("observer", "identified", "p", "log p true", "p", "union loss", "p")
    forms = {"identified": "+.0%", "log_strategy": "+.3f", "union": "+.3f"}
    own = [row for row in rows if not row.ceiling and row.matches > 1]
    if not own:
        return
    _fill(
        table,
        own,
        lambda row: tuple(
            cell
            for name, form in forms.items()
            for cell in (_difference(row.against_exact[name], form), number(row.against_exact[name].p_value))
        ),
    )
    fewest = min(row.matches for row in own)
    history = scene.asking.memory
    shown = f"of the last {history} rounds" if history else "of all rounds"
    show(
        f"{scene.name}: less the exact observer {shown}",
        table,
        "Mean difference over the same matches; p: paired permutation test, two-sided.",
        *([f"Of {fewest} matches p is at least {2 / 2**fewest:.2g}."] if fewest < 8 else []),
    )


def _fill(table: Table, rows: Sequence[Row], cells: Callable[[Row], Sequence[str]]) -> None:
    before = False
    for row in rows:
        if row.ceiling and not before:
            table.add_section()
        before = row.ceiling
        table.add_row(label(row), *cells(row), style="dim" if row.ceiling and sys.stdout.isatty() else None)


def _difference(pair: Paired, form: str) -> str:
    return number(pair.difference.mean, form)


def _interval(value: Estimate, form: str) -> str:
    return "–" if _alike(value) else f"{number(value.low, form)}–{number(value.high, form)}"


def _alike(value: Estimate) -> bool:
    """No interval: of one match, or of matches that are all alike."""
    return not value.low < value.high
