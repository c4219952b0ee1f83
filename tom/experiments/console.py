"""What the commands print: headings, progress bars and tables. Tables fit a terminal of 80 columns."""

import asyncio
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from otherminds.games.decrypto.rules import Role
from otherminds.games.decrypto.vocabulary import Vocabulary
from otherminds.tom.experiments import compare as comparison
from otherminds.tom.experiments.compare import DEFAULT_MINDS, Alternatives, Nearness, Outcome, Row
from otherminds.tom.experiments.config import validated
from otherminds.tom.experiments.cube import LITTLE, Kind, kinds
from otherminds.tom.experiments.defaults import agent_lists, split_agents, team_mate
from otherminds.tom.experiments.error_tags import TagCount, error_tags, tag_counts
from otherminds.tom.experiments.journal import is_complete
from otherminds.tom.experiments.logs import game_of
from otherminds.tom.experiments.model_agents import expanded, read_personas, used_personas
from otherminds.tom.experiments.records import Games, hints_said, read_games
from otherminds.tom.experiments.run import model_names, planned_games, run
from otherminds.tom.experiments.running import Finished
from otherminds.tom.experiments.simulate import Summary, simulate, summarize
from otherminds.tom.minds.decrypto.lexicon import make_lexicon
from otherminds.tom.minds.decrypto.registry import canonical, is_mind, named, own_vocabulary
from otherminds.tom.vectors import load_vocabulary

LOG = "log.jsonl"
NARROW = 80  # columns of what is printed below a table
WIDEST = 1000  # columns, where nothing says how wide the output is: tables take what they need
TOKENS = ("miscommu-\nnications", "inter-\nceptions")


@contextmanager
def progress_bar(description: str, total: int) -> Iterator[Any]:
    """A progress bar on stderr, or a line for every tenth where that is no terminal.

    Yields a function that moves it by a number of steps.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        done = 0

        def tell(steps: int = 1) -> None:
            nonlocal done
            before, done = done, done + steps
            if done * 10 // total > before * 10 // total:
                click.echo(f"{description}: {done} of {total}", err=True)

        yield tell
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    with bar:
        task = bar.add_task(description, total=total)
        yield lambda steps=1: bar.update(task, advance=steps)


@contextmanager
def slow_progress(description: str) -> Iterator[Callable[[], None]]:
    """Tells on stderr how far something has come that is mostly over at once, from two seconds after it began on.

    Yields a function that counts one more.
    """
    terminal = Console(stderr=True).is_terminal
    before, after, pause = ("\r", "", 0.2) if terminal else ("", "\n", 5.0)
    count, told = 0, 0.0

    def tell() -> None:
        nonlocal count, told
        count += 1
        if count == 1:
            told = time.monotonic() + 2 - pause
        if time.monotonic() - told > pause:
            told = time.monotonic()
            click.echo(f"{before}{description}: {count:,}{after}", err=True, nl=False)

    yield tell
    if terminal:
        click.echo("\r\033[K", err=True, nl=False)


def run_decrypto(asked: dict[str, str | None], model: str | None, **options: Any) -> bool:
    """`otherminds run decrypto`. Returns whether a game finished with a failed answer.

    Raises: a ValueError for what the user can mend, before anything is played or written.
    """
    for name in ("seeds", "episodes"):
        check_count(f"--{name}", options[name])
    named_agents = {role: split_agents(text or "") for role, text in asked.items()}
    for role, text in asked.items():
        if text is not None and not named_agents[role]:
            raise ValueError(f"--{role} {text!r}: name at least one agent, or leave the option out")
    names_a_model = model is not None or any("/" in agent for agents in named_agents.values() for agent in agents)
    if options["base_url"] and not names_a_model:
        raise ValueError(f"--base-url {options['base_url']}: say with --model provider/name which model is asked there")
    design = options["design"]
    if design == "competition" and not named_agents["decoder"]:
        encoders, _ = agent_lists(named_agents, model)
        named_agents["decoder"] = [team_mate(encoder) for encoder in encoders["encoder"]]
    personas = read_personas(options["personas"])
    lists, note = agent_lists(named_agents, model)
    if all(named_agents.values()):
        note = None  # whoever named everybody wants no model where none is
    if design == "coordination" and not named_agents["interceptor"]:
        lists["interceptor"] = lists["interceptor"][:1]
    lists = {
        role.name.lower(): tuple(
            agent for written in lists[role.name.lower()] for agent in expanded(written, role, personas)
        )
        for role in Role
    }
    if options["no_minds"] and options["mind_specs"]:
        raise ValueError(f"--minds {options['mind_specs'][0]}: --no-minds asks none; leave one of the two out")
    minds = _minds(options["mind_specs"])
    check_lapse(options["lapse"])
    config = validated(
        **lists,
        personas=used_personas([agent for agents in lists.values() for agent in agents], personas),
        design=design,
        episodes=options["episodes"],
        seeds=tuple(range(options["seeds"])),
        continue_after_loss=options["continue_after_loss"],
        base_url=options["base_url"],
        keywords=options["keywords"],
        vectors=options["vectors"],
        max_attempts=options["max_attempts"],
        generation=options["generation"],
    )
    models = model_names(config)
    vocabulary = load_vocabulary(options["keywords"], options["vectors"])
    _check_meanings(minds, vocabulary)
    folder = Path(options["out"] or f"runs/decrypto-{config.digest()}")
    check_folder(folder)
    games = planned_games(config)
    if options["dry_run"]:
        from otherminds.tom.experiments import dry_run

        dry_run.show_estimate(
            partial(run, config, vocabulary, folder / LOG),
            lambda game: dry_run.table_pattern(game.agents),
            config,
            note=dry_run.LENGTHS,
        )
        return False

    def announce() -> None:
        seeds = f"{len(config.seeds)} seed" + "s" * (len(config.seeds) > 1)
        click.echo(f"Decrypto (unofficial): {len(games)} games at {len(config.tables())} tables, {seeds}")
        words = f"{len(vocabulary.words):,} nouns, {len(vocabulary.keywords)} keywords ({vocabulary.name})"
        click.echo(f"  words   {words}")
        click.echo(f"  models  {', '.join(models) or 'none'}")
        click.echo(f"  log     {folder / LOG}")
        if note:
            click.echo(click.style("Note: ", fg="yellow") + note + ".")

    made = 0

    def count() -> None:
        nonlocal made
        made += 1

    with progress_bar("playing", len(games)) as advance:
        finished = asyncio.run(
            run(config, vocabulary, folder / LOG, on_start=announce, on_game=lambda _: advance(), on_decision=count)
        )
    print_finished(finished, "decisions were in the log already and were not made again", nothing_new=not made)
    if options["no_minds"]:
        report_games([folder / LOG], vocabulary, folder)
        click.echo(f"No mind was asked; `otherminds compare {folder / LOG}` sets them beside.")
    else:
        report([folder / LOG], vocabulary, folder, minds, options["lapse"])
    if finished.failed_games:
        click.secho(f"{finished.failed_games} of {finished.games} games hold an answer that failed.", fg="yellow")
    return bool(finished.failed_games)


def print_finished(finished: Finished, resumed: str, *, nothing_new: bool = False, err: bool = False) -> None:
    """What was taken from an earlier start, and what language models read and wrote over all starts.

    resumed: what is said of the decisions that the log had.   err: print to stderr.
    """
    if finished.resumed_decisions:
        new = "; this run was complete, and nothing was played" if nothing_new else ""
        click.echo(f"  {finished.resumed_decisions} {resumed}{new}", err=err)
    for model, usage in finished.spent.items():
        told = f"{usage.prompt_tokens:,} tokens read, {usage.completion_tokens:,} written"
        click.echo(f"  {model}\n    {told}", err=err)  # two lines: names may be long
    if finished.cost is not None and finished.spent:
        click.echo(f"  cost: ${finished.cost:,.4f} by --price", err=err)


OF_ONE_GAME = {
    "variant": ("colored-trails", "--variant {value}: only minds of Colored Trails come in variants; leave it out"),
    "profile": (
        "decrypto",
        "--profile: it tells depth, rationality and noise of players of Decrypto; these are of {game}",
    ),
    "lexica": ("decrypto", "--lexicon {value[0]}: it is set beside decoders of Decrypto; these are of {game}"),
}
"""Options of `compare` that one game takes, by name: the game, and what is said to logs of another."""


def compare_logs(logs: Sequence[Path], **options: Any) -> None:
    """`otherminds compare`: as the game that the logs are of is compared.

    Raises: a ValueError for what the user can mend.
    """
    games = {game_of(log, COMPARISONS): log for log in logs}
    if len(games) > 1:
        told = " and ".join(f"{log} of {game!r}" for game, log in games.items())
        raise ValueError(f"{told}: logs of one game are compared at a time (rps: moves; rps-observer: who watched)")
    game = next(iter(games))
    for name, (owner, refused) in OF_ONE_GAME.items():
        if game != owner and (value := options.pop(name, None)):
            raise ValueError(refused.format(value=value, game=game))
    COMPARISONS[game](logs, **options)
    for log in logs:
        if not is_complete(log):
            told = f"Note: {log} is of a run that is not finished; what is whole in it is compared."
            click.secho(told, fg="yellow", err=True)


def _compared_in(room: str) -> Callable[..., None]:
    """The `compare_logs` of another room's console, imported when it is called."""

    def compare(logs: Sequence[Path], **options: Any) -> None:
        import_module(f"otherminds.tom.experiments.{room}.console").compare_logs(logs, **options)

    return compare


def _compare_decrypto(
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
    profile: bool = False,
    lexica: Sequence[str] = (),
) -> None:
    if join is not None or every_option:
        asked = f"--join {join}" if join is not None else "--every-option"
        raise ValueError(f"{asked}: only reference games have options that can be joined; leave it out for Decrypto")
    minds = _minds(mind_specs)
    check_lapse(lapse)
    vocabulary = load_vocabulary(keywords, vectors, hints_said(logs) if vectors else ())
    _check_meanings(minds, vocabulary)
    folder = report_folder(logs, out, as_json)
    own = [Path(path) for path in lexica]
    report(logs, vocabulary, folder, minds, lapse, as_json=as_json, profile=profile, lexica=own)


COMPARISONS: dict[str, Callable[..., None]] = {
    "decrypto": _compare_decrypto,
    "reference": _compared_in("reference"),
    "rps": _compared_in("rps.matches"),
    "rps-observer": _compared_in("rps.observers"),
    "colored-trails": _compared_in("colored_trails"),
    "decrypto-tasks": _compared_in("tasks"),
    "decrypto-lexicon": _compared_in("decrypto.lexicon"),
}
"""By the name of the game in a log's first line."""


def report(
    logs: Sequence[Path],
    vocabulary: Vocabulary,
    folder: Path | None,
    minds: dict[Role, Sequence[str]],
    lapse: float,
    *,
    as_json: bool = False,
    profile: bool = False,
    lexica: Sequence[Path] = (),
) -> None:
    """Shadows the logs' decisions, prints the tables, and writes the report; no folder: nothing is written.

    lexica: logs of elicited lexica, under which decoders are compared too.
    """
    from otherminds.tom.experiments.decrypto import profile as profiles
    from otherminds.tom.experiments.decrypto.lexicon import compare as meanings
    from otherminds.tom.experiments.decrypto.lexicon import console as lexicon_console
    from otherminds.tom.experiments.report import write_report

    games = read_games(logs, vocabulary)
    settings = Alternatives()
    elicited = lexicon_console.read_lexica(lexica)
    minds = with_own_minds(minds, games)
    with progress_bar("shadowing every decision", sum(map(len, minds.values()))) as advance:
        rows, shadows = comparison.compare(games, vocabulary, minds, lapse=lapse, settings=settings, on_mind=advance)
        lexicon = comparison.heard_lexicon(vocabulary, games)
        tables = comparison.outcomes(games)
        near = comparison.nearness(games, lexicon)
        who, tagged = kinds(games), tag_counts(games, error_tags(games, vocabulary, lexicon))
    meant = meanings.compare_meanings(games, lexicon, logs, elicited, lapse) if lexica else []
    profiled, privileges = [], []
    if profile:
        with progress_bar("profiling every agent", profiles.shadows()) as advance:
            profiled, privileges = profiles.profile(
                games, vocabulary, lapse=lapse, settings=settings, on_shadow=advance
            )
    if as_json:
        content = {
            "lapse": lapse,
            "alternatives": str(settings),
            "outcomes": [asdict(row) for row in tables],
            "scores": [asdict(row) for row in rows],
            "nearness": [asdict(row) for row in near],
            "kinds": [kind._asdict() for kind in who],
            "error_tags": [asdict(row) for row in tagged],
            "meanings": [asdict(row) for row in meant],
            "profiles": [asdict(row) for row in profiled],
            "privileges": [asdict(row) for row in privileges],
        }
        print(json.dumps(no_nan(content), indent=1))
    else:
        print_outcomes(tables)
        print_scores(rows, lapse, settings)
        print_nearness(near)
        print_kinds(who)
        print_tags(tagged)
        if profile:
            from otherminds.tom.experiments.decrypto.console import print_profiles

            print_profiles(profiled, privileges)
        if lexica:
            lexicon_console.print_meanings(meant, lapse)
    if folder is None:
        return
    found = {"profiles": profiled, "privileges": privileges, "meanings": meant}
    how = {"logs": logs, "lapse": lapse, "settings": settings}
    for path in write_report(folder, games, vocabulary, rows, shadows, tables, near, **how, **found):
        click.echo(f"wrote {path}", err=as_json)


def report_games(logs: Sequence[Path], vocabulary: Vocabulary, folder: Path) -> None:
    """Prints and writes how the games of some logs went, without asking any mind."""
    from otherminds.tom.experiments.report import write_games

    games = read_games(logs, vocabulary)
    lexicon = comparison.heard_lexicon(vocabulary, games)
    outcomes = comparison.outcomes(games)
    print_outcomes(outcomes)
    print_nearness(comparison.nearness(games, lexicon))
    print_kinds(kinds(games))
    print_tags(tag_counts(games, error_tags(games, vocabulary, lexicon)))
    for path in write_games(folder, games, vocabulary, outcomes, logs=logs):
        click.echo(f"wrote {path}")


def with_own_minds(minds: dict[Role, Sequence[str]], games: Games) -> dict[Role, Sequence[str]]:
    """The minds joined with those that sat at the tables, so that each is compared with itself too; each mind once."""
    joined: dict[Role, dict[str, str]] = {role: {} for role in Role}
    for role, found in joined.items():
        own = (agents[role] for agents in games.agents if is_mind(agents[role], role))
        for spec in (*minds[role], *own):
            found.setdefault(canonical(spec, role), spec)
    return {role: list(found.values()) for role, found in joined.items()}


def print_outcomes(rows: Sequence[Outcome]) -> None:
    """How the tables fared."""
    table = table_of("players", "games", "survived", "turns", *TOKENS, "failed\nanswers")
    for row in rows:
        table.add_row(
            _players(*row.agents),
            str(row.games),
            f"{row.survived:.0%}" + f"\n({number(row.survived_without_failed, '.0%')})" * bool(row.failed_answers),
            _spread(row.turns, row.turns_error),
            _spread(row.miscommunications, row.miscommunications_error),
            _spread(row.interceptions, row.interceptions_error),
            str(row.failed_answers),
            end_section=True,
        )
    notes = ["Means a game ± standard error over seeds; tokens up to a loss."]
    if any(row.failed_answers for row in rows):
        notes.append("Survived in brackets: of the games in which no answer failed.")
    show("Games (E encoder, D decoder, I interceptor)", table, *notes)


def print_scores(rows: Sequence[Row], lapse: float, settings: Alternatives) -> None:
    """How well each mind explains each agent."""
    show(
        "How well each mind explains each agent (nats a decision; higher is better)",
        scores_table(rows),
        "* explains the agent best. regret: below the mind's own best action.",
        "impossible: decisions that only the lapse allows. failed: no answer, scored as",
        "impossible. not scored: about hints that have no vector.",
        *_ruled_out(rows),
        f"Lapse {lapse:g} for every mind. Encoders' alternatives for each digit:",
        f"{settings}.",
    )


def _ruled_out(rows: Sequence[Row]) -> list[str]:
    """A line where minds have no best action, so that the regret is a mean over fewer decisions."""
    count = sum(row.ruled_out for row in rows)
    if not count:
        return []
    minds = ", ".join(dict.fromkeys(row.mind for row in rows if row.ruled_out))
    return [f"regret leaves out {count} decisions where the mind allows no choice at all: {minds}."]


def scores_table(rows: Sequence[Row]) -> Table:
    """Agents in a role or condition, and below each the minds with their scores."""
    table = table_of("agent, and the minds that may explain it", "log score", "regret", "impossible")
    before = None
    for row in rows:
        group = (row.role, row.agent)
        if group != before:
            if before is not None:
                table.add_section()
            left_out = f", {row.failed} failed" * bool(row.failed) + f", {row.unknown} not scored" * bool(row.unknown)
            table.add_row(Text(f"{row.role} {row.agent} ({row.decisions} decisions{left_out})"))
        before = group
        scores = number(row.log_score), number(row.regret), str(row.impossible)
        table.add_row(Text(f"  {row.mind}{' *' if row.best else ''}"), *scores, style="bold" if row.best else None)
    return table


def print_nearness(rows: Sequence[Nearness]) -> None:
    """How near hints are to their keywords."""
    table = table_of("encoder", "known\nhints", "unknown\nor none", "median\nrank", "within\n16", "within\n200")
    for row in rows:
        table.add_row(
            Text(row.agent),
            str(row.hints),
            str(row.unknown),
            number(row.median_rank, ".0f"),
            number(row.within_16, ".0%"),
            number(row.within_200, ".0%"),
        )
    show("Hints by nearness to their keyword (rank 1: the nearest noun)", table)


def print_kinds(rows: Sequence[Kind]) -> None:
    """Whether agents play well with themselves alone; nothing where it is unknown of all."""
    known = [row for row in rows if row.kind != "unknown"]
    if not known:
        return
    table = table_of("encodes or decodes", "plays as a", "turns with\nitself", "with\nothers", "gap")
    for row in known:
        turns = number(row.with_itself, ".2f"), number(row.with_others, ".2f")
        table.add_row(Text(row.agent), row.kind, *turns, _spread(row.gap, row.error))
    show(
        "Teams with itself and with others (turns survived)",
        table,
        "Specialist: the gap exceeds its standard error over seeds. Generalist: it does not,",
        f"and with its error it is below {LITTLE:g} turn. Undecided: too noisy to tell.",
    )


def print_tags(rows: Sequence[TagCount]) -> None:
    """How often each agent's decisions have an error tag."""
    table = table_of("agent", "decisions", "tagged")
    for row in rows:
        if any(row.counts.values()):
            table.add_row(Text(f"{row.role} {row.agent}"), str(row.decisions), "", style="bold")
            for tag, count in row.counts.items():
                if count:
                    table.add_row(f"  {tag}", "", str(count))
    if table.row_count:
        show("Error tags (docs/decrypto.md defines them)", table)


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
    check_count("--games", games)
    if chunk is not None:
        check_count("--chunk", chunk)
    vocabulary = load_vocabulary(keywords, vectors)
    _check_meanings(dict(zip(Role, lists, strict=True)), vocabulary)
    summaries = []
    tables = list(product(*lists))
    for number, specs in enumerate(tables, 1):
        begun = time.perf_counter()
        with progress_bar(f"table {number} of {len(tables)}", games) as advance:
            results = simulate(specs, vocabulary, games, seed=seed, chunk=chunk, progress=advance)
        summaries.append((summarize(specs, results), time.perf_counter() - begun))
    if as_json:
        print(json.dumps(no_nan([asdict(summary) | {"seconds": seconds} for summary, seconds in summaries]), indent=1))
        return
    print_summaries(summaries)


def print_summaries(summaries: Sequence[tuple[Summary, float]]) -> None:
    """The table of a simulation."""
    table = table_of("players", "games", "survived", "turns", *TOKENS, "seconds")
    for row, seconds in summaries:
        table.add_row(
            _players(row.encoder, row.decoder, row.interceptor),
            f"{row.games:,}",
            _spread(row.survived, row.survived_error, ".1%"),
            _spread(row.turns, row.turns_error),
            _spread(row.miscommunications, row.miscommunications_error),
            _spread(row.interceptions, row.interceptions_error),
            f"{seconds:.1f}",
            end_section=True,
        )
    show(
        "Simulated games (E encoder, D decoder, I interceptor)",
        table,
        "Means a game ± standard error. Seconds include compilation.",
    )


def table_of(first: str, *numbers: str) -> Table:
    """A table whose first column takes the room that the numbers leave; numbers stand right and are never broken."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 0, 0, 1))
    table.add_column(first, overflow="fold", vertical="top")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def show(title: str, table: Table, *notes: str) -> None:
    """Prints a table under its title; as wide as the terminal allows, or as its content needs."""
    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDEST
    click.secho(f"\n{title}", bold=True)
    Console(width=wide).print(table)
    for paragraph in _paragraphs(notes):
        click.echo(click.wrap_text(paragraph, NARROW))


def _paragraphs(notes: Sequence[str]) -> list[str]:
    """Notes that end no sentence joined with the next."""
    found: list[str] = []
    for note in notes:
        if found and not found[-1].endswith("."):
            found[-1] += f" {note}"
        else:
            found.append(note)
    return found


def _players(encoder: str, decoder: str, interceptor: str) -> Text:
    return Text(f"E {encoder}\nD {decoder}\nI {interceptor}")


def _minds(specs: Sequence[str]) -> dict[Role, Sequence[str]]:
    """The minds that shadow each role, from ROLE=MIND,... options.

    Raises: ValueError for what is no role, UnknownMind for what is no mind of it.
    """
    minds: dict[Role, Sequence[str]] = dict(DEFAULT_MINDS)
    for text in specs:
        name, equals, rest = text.partition("=")
        if not equals or name.upper() not in Role.__members__:
            raise ValueError(f"--minds {text!r}: write ROLE=MIND,... with encoder, decoder or interceptor for ROLE")
        minds[Role[name.upper()]] = list(dict.fromkeys(split_agents(rest)))
    for role, chosen in minds.items():
        if not chosen:
            raise ValueError(f"--minds {role.name.lower()}=: name at least one mind")
        for spec in chosen:
            named(spec, role)
    return minds


def _check_meanings(minds: dict[Role, Sequence[str]], vocabulary: Vocabulary) -> None:
    """Raises: ValueError for a mind whose own meanings cannot be made of these words or of its own file."""
    for role, specs in minds.items():
        for spec in specs:
            if "dimensions=" in spec or "vectors=" in spec:
                model = named(spec, role)
                model.make_params(make_lexicon(own_vocabulary(model, vocabulary)))


def check_count(option: str, count: int) -> None:
    """Raises: ValueError for a count below 1."""
    if count < 1:
        raise ValueError(f"{option} {count}: at least 1")


def report_folder(logs: Sequence[Path], out: str | None, as_json: bool) -> Path | None:
    """Where the report of some logs goes: beside the first of them, unless --out says; nowhere with --json alone.

    Raises: ValueError as `check_folder`.
    """
    folder = Path(out) if out else None if as_json else logs[0].parent
    check_folder(folder)
    return folder


def check_folder(folder: Path | None) -> None:
    """Whether a folder can be written to, before any work.

    Raises: ValueError if it, or what it would lie in, is a file, or may not be written.
    """
    if folder is None:
        return
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise ValueError(f"--out {folder}: {place} is a file; give a folder")
    if not os.access(place, os.W_OK):
        raise ValueError(f"--out {folder}: {place} may not be written to; give another folder")


def check_lapse(lapse: float) -> None:
    """Raises: ValueError for a lapse that is no probability above 0."""
    if not 0 < lapse <= 1:
        raise ValueError(f"--lapse {lapse}: a probability above 0 and at most 1")


def _spread(mean: float, spread: float, form: str = ".2f") -> str:
    """The mean, and below it the spread."""
    return number(mean, form) if math.isnan(spread) else f"{mean:{form}}\n± {spread:{form}}"


def number(value: float, form: str = ".3f") -> str:
    """A number as tables show it; a dash for NaN."""
    return "–" if math.isnan(value) else f"{value:{form}}"


def no_nan(value: Any) -> Any:
    """NaN as null, which JSON knows."""
    if isinstance(value, dict):
        return {key: no_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [no_nan(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value
