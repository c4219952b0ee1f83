"""What the commands print: headings, progress bars and tables."""

import asyncio
import json
import math
import time
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from otherminds.games.decrypto.rules import Role
from otherminds.games.decrypto.vocabulary import Vocabulary
from otherminds.tom.experiments import compare as comparison
from otherminds.tom.experiments.compare import DEFAULT_MINDS, Alternatives, Nearness, Outcome, Row
from otherminds.tom.experiments.config import validated
from otherminds.tom.experiments.defaults import agent_lists, split_agents
from otherminds.tom.experiments.records import read_games
from otherminds.tom.experiments.run import model_names, planned_games, run
from otherminds.tom.experiments.simulate import Summary, simulate, summarize
from otherminds.tom.llm.client import GenerationSettings
from otherminds.tom.minds.decrypto.registry import named
from otherminds.tom.vectors import load_vocabulary

LOG = "log.jsonl"
out = Console()


@contextmanager
def progress_bar(description: str, total: int) -> Iterable[Any]:
    """A progress bar on stderr; yields a function that moves it by a number of steps."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(description, total=total)
        yield lambda steps=1, text=None: bar.update(task, advance=steps, description=text or description)


def run_decrypto(asked: dict[str, str], model: str | None, **options: Any) -> bool:
    """`otherminds run decrypto`. Returns whether a game finished with a failed answer."""
    lists, note = agent_lists({role: split_agents(text) for role, text in asked.items()}, model)
    minds = _minds(options["mind_specs"])
    _check_lapse(options["lapse"])
    config = validated(
        **lists,
        design=options["design"],
        episodes=options["episodes"],
        seeds=tuple(range(options["seeds"])),
        continue_after_loss=options["continue_after_loss"],
        base_url=options["base_url"],
        keywords=options["keywords"],
        vectors=options["vectors"],
        max_attempts=options["max_attempts"],
        generation=GenerationSettings(
            temperature=options["temperature"],
            max_tokens=options["max_tokens"],
            max_connections=options["max_connections"],
            timeout=options["timeout"],
        ),
    )
    models = model_names(config)
    vocabulary = load_vocabulary(options["keywords"], options["vectors"])
    folder = Path(options["out"] or f"runs/decrypto-{config.digest()}")
    games = planned_games(config)
    out.print(f"Decrypto (unofficial): {len(games)} games at {len(config.tables())} tables, {len(config.seeds)} seeds")
    out.print(f"  words   {len(vocabulary.words):,} nouns, {len(vocabulary.keywords)} keywords ({vocabulary.name})")
    out.print(f"  models  {', '.join(models) or 'none'}")
    out.print(f"  log     {folder / LOG}")
    if note:
        out.print(f"[yellow]Note:[/] {note}.")
    with progress_bar("playing", len(games)) as advance:
        finished = asyncio.run(run(config, vocabulary, folder / LOG, on_game=lambda game: advance(1, "playing")))
    if finished.resumed_decisions:
        out.print(f"  {finished.resumed_decisions} decisions were in the log already and were not made again")
    report([folder / LOG], vocabulary, folder, minds, options["lapse"])
    if finished.failed_games:
        out.print(f"[yellow]{finished.failed_games} of {finished.games} games hold an answer that failed.[/]")
    return bool(finished.failed_games)


def compare_logs(
    logs: Sequence[Path],
    *,
    keywords: str | None,
    vectors: str | None,
    mind_specs: Sequence[str],
    lapse: float,
    out: str | None,
    as_json: bool,
) -> None:
    """`otherminds compare`."""
    minds = _minds(mind_specs)
    _check_lapse(lapse)
    vocabulary = load_vocabulary(keywords, vectors)
    folder = Path(out) if out else logs[0].parent
    report(logs, vocabulary, folder, minds, lapse, as_json=as_json)


def report(
    logs: Sequence[Path],
    vocabulary: Vocabulary,
    folder: Path,
    minds: dict[Role, Sequence[str]],
    lapse: float,
    *,
    as_json: bool = False,
) -> None:
    """Shadows the logs' decisions, prints the tables, and writes the report."""
    from otherminds.tom.experiments.report import write_report

    games = read_games(logs, vocabulary)
    settings = Alternatives()
    with progress_bar("shadowing every decision", sum(map(len, minds.values()))) as advance:
        rows, shadows = comparison.compare(games, vocabulary, minds, lapse=lapse, settings=settings, on_mind=advance)
        lexicon = comparison.heard_lexicon(vocabulary, games)
        tables = comparison.outcomes(games)
        near = comparison.nearness(games, lexicon)
    if as_json:
        content = {
            "lapse": lapse,
            "alternatives": str(settings),
            "outcomes": [asdict(row) for row in tables],
            "scores": [asdict(row) for row in rows],
            "nearness": [asdict(row) for row in near],
        }
        print(json.dumps(_no_nan(content), indent=1))
        return
    print_outcomes(tables)
    print_scores(rows, lapse, settings)
    print_nearness(near)
    written = write_report(
        folder, games, vocabulary, rows, shadows, tables, near, logs=logs, lapse=lapse, settings=settings
    )
    for path in written:
        out.print(f"wrote {path}")


def print_outcomes(rows: Sequence[Outcome]) -> None:
    """How the tables fared."""
    table = Table(title="Games", title_justify="left", caption="mean ± standard deviation over seeds")
    for name in ("encoder", "decoder", "interceptor"):
        table.add_column(name, overflow="fold")
    for name in ("games", "survived", "turns", "miscommunications", "interceptions", "failed answers"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            *row.agents,
            str(row.games),
            f"{row.survived:.0%}",
            _spread(row.turns, row.turns_spread),
            _spread(row.miscommunications, row.miscommunications_spread),
            _spread(row.interceptions, row.interceptions_spread),
            str(row.failed_answers),
        )
    out.print(table)


def print_scores(rows: Sequence[Row], lapse: float, settings: Alternatives) -> None:
    """How well each mind explains each agent."""
    table = Table(
        title="How well each mind explains each agent (nats a decision; higher log score is better)",
        title_justify="left",
        caption=f"lapse {lapse:g} for every mind; encoders' alternatives for each digit: {settings}",
    )
    for name in ("role", "agent", "mind"):
        table.add_column(name, overflow="fold")
    for name in ("decisions", "failed", "unknown", "log score", "regret", "impossible"):
        table.add_column(name, justify="right")
    before = None
    for row in rows:
        group = (row.role, row.agent)
        if before is not None and group != before:
            table.add_section()
        style = "bold" if row.best else None
        first = group != before
        table.add_row(
            row.role if first else "",
            row.agent if first else "",
            row.mind + (" *" if row.best else ""),
            str(row.decisions),
            str(row.failed),
            str(row.unknown),
            _number(row.log_score),
            _number(row.regret),
            str(row.impossible),
            style=style,
        )
        before = group
    out.print(table)
    out.print("* explains the agent best. failed: no answer, scored as impossible; unknown: about a hint without a")
    out.print("  vector, not scored; impossible: only the lapse allows it; regret: below the mind's own best action.")


def print_nearness(rows: Sequence[Nearness]) -> None:
    """How near hints are to their keywords."""
    table = Table(
        title="Hints by nearness to their keyword (rank 1: the nearest noun)",
        title_justify="left",
    )
    table.add_column("encoder", overflow="fold")
    for name in ("known hints", "unknown or none", "median rank", "among 16 nearest", "among 200 nearest"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row.agent,
            str(row.hints),
            str(row.unknown),
            "–" if math.isnan(row.median_rank) else f"{row.median_rank:.0f}",
            "–" if math.isnan(row.within_16) else f"{row.within_16:.0%}",
            "–" if math.isnan(row.within_200) else f"{row.within_200:.0%}",
        )
    out.print(table)


def simulate_decrypto(
    asked: dict[str, str],
    *,
    games: int,
    seed: int,
    chunk: int | None,
    keywords: str | None,
    vectors: str | None,
    as_json: bool,
) -> None:
    """`otherminds simulate decrypto`."""
    lists = [split_agents(text) for text in asked.values()]
    for role, specs in zip(Role, lists, strict=True):
        if not specs:
            raise ValueError(f"--{role.name.lower()}: name at least one mind")
        for spec in specs:
            named(spec, role)
    if games < 1:
        raise ValueError(f"--games {games}: play at least one")
    vocabulary = load_vocabulary(keywords, vectors)
    summaries = []
    tables = list(product(*lists))
    for number, specs in enumerate(tables, 1):
        begun = time.perf_counter()
        with progress_bar(f"table {number} of {len(tables)}", games) as advance:
            results = simulate(specs, vocabulary, games, seed=seed, chunk=chunk, progress=advance)
        summaries.append((summarize(specs, results), time.perf_counter() - begun))
    if as_json:
        print(json.dumps(_no_nan([asdict(summary) | {"seconds": seconds} for summary, seconds in summaries]), indent=1))
        return
    print_summaries(summaries)


def print_summaries(summaries: Sequence[tuple[Summary, float]]) -> None:
    """The table of a simulation."""
    table = Table(
        title="Simulated games",
        title_justify="left",
        caption="mean ± standard error over games; tokens a game; seconds include compilation",
    )
    for name in ("encoder", "decoder", "interceptor"):
        table.add_column(name, overflow="fold")
    for name in ("games", "survived", "turns", "miscommunications", "interceptions", "seconds"):
        table.add_column(name, justify="right")
    for row, seconds in summaries:
        table.add_row(
            row.encoder,
            row.decoder,
            row.interceptor,
            f"{row.games:,}",
            f"{row.survived:.1%} ± {row.survived_error:.1%}",
            _spread(row.turns, row.turns_error),
            _spread(row.miscommunications, row.miscommunications_error),
            _spread(row.interceptions, row.interceptions_error),
            f"{seconds:.1f}",
        )
    out.print(table)


def _minds(specs: Sequence[str]) -> dict[Role, Sequence[str]]:
    """The minds that shadow each role, from ROLE=MIND,... options.

    Raises: ValueError for what is no role, UnknownMind for what is no mind of it.
    """
    minds: dict[Role, Sequence[str]] = dict(DEFAULT_MINDS)
    for text in specs:
        name, equals, rest = text.partition("=")
        if not equals or name.upper() not in Role.__members__:
            raise ValueError(f"--minds {text!r}: write ROLE=MIND,... with encoder, decoder or interceptor for ROLE")
        minds[Role[name.upper()]] = split_agents(rest)
    for role, chosen in minds.items():
        for spec in chosen:
            named(spec, role)
    return minds


def _check_lapse(lapse: float) -> None:
    if not 0 < lapse <= 1:
        raise ValueError(f"--lapse {lapse}: a probability above 0 and at most 1")


def _spread(mean: float, spread: float) -> str:
    return f"{mean:.2f}" if math.isnan(spread) else f"{mean:.2f} ± {spread:.2f}"


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def _no_nan(value: Any) -> Any:
    """NaN as null, which JSON knows."""
    if isinstance(value, dict):
        return {key: _no_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_no_nan(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value
