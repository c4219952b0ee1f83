"""`--dry-run`: what a run would ask, read, write and cost, before anything is asked, written or spent.

The games are played with a mind in the place of every language model, whose questions are built and counted as they
are, histories included. What the log holds already is not counted. Where many games are alike, some are played and
count for all. In an experiment of several steps, the games that one step plays are kept aside (`Rehearsal`) for those
that would read them.
"""

import asyncio
import json
import random
import shutil
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.text import Text

from otherminds.tom.experiments import journal
from otherminds.tom.experiments.logs import Log
from otherminds.tom.experiments.model_agents import is_model, split_options
from otherminds.tom.experiments.progress import progress_bar
from otherminds.tom.experiments.running import Asked, Finished, Session, spent_before
from otherminds.tom.experiments.tables import show, table_of
from otherminds.tom.llm.accounts import Limits, Usage
from otherminds.tom.llm.counting import Calls, CountingClient, counting_client

SAMPLE = 20
"""Games that are played of those that are alike."""
WORDINGS = ("system", "role", "persona")
"""Options of a model that change its texts a little and its play, as far as a dry run can know, not at all."""

LENGTHS = "Minds sat in the models' places: games of models may be longer or shorter."

Pattern = Callable[[Any], Hashable]
"""What a planned game has in common with those that are alike; None for one in which no language model sits."""


class Unwritten(journal.Writer):
    """A log of which nothing is kept."""

    def __init__(self) -> None:
        pass

    def write(self, line: journal.Line) -> None:
        """Nothing."""

    def __exit__(self, *error: object) -> None:
        pass


@dataclass(frozen=True)
class Rehearsal:
    """What the steps of an experiment play in a dry run, kept while it lasts for the steps that read it.

    folder: of the logs that are kept.   read: paths that some step reads.   logs: by the path where a log would be.
    times: for how many games each of those that are kept counts.
    """

    folder: Path
    read: frozenset[Path]
    logs: dict[Path, Path] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)

    def log_for(self, path: Path) -> Path:
        """The log that stands for the one at `path`, with what is in that already."""
        kept = self.folder / str(len(self.logs)) / path.name
        kept.parent.mkdir()
        if path.exists():
            shutil.copyfile(path, kept)
        self.logs[path] = kept
        return kept

    def times_of(self, game: Any) -> float:
        """For how many games one counts that is about a game, or several, of an earlier step."""
        recorded = getattr(game, "recorded", ())
        about = [recorded] if isinstance(recorded, str) else recorded
        return max((self.times.get(each, 1.0) for each in about), default=1.0)


REHEARSAL: ContextVar[Rehearsal | None] = ContextVar("rehearsal", default=None)
"""Of the experiment that is counted, where there is one."""


@dataclass(frozen=True)
class Estimate:
    """What a run would take from now on.

    calls: by model.   attempts: answers a decision at most.   games: with language models, to be played.
    played: of these, in the dry run.   spent: by model, at earlier starts.
    """

    calls: Mapping[str, Calls]
    attempts: int
    games: int
    played: int
    limits: Limits = field(default_factory=Limits)
    spent: Mapping[str, Usage] = field(default_factory=dict)


async def estimated(
    run: Callable[..., Awaitable[Finished]],
    pattern: Pattern,
    attempts: int,
    *,
    sample: int | None = SAMPLE,
    progress: Callable[[str, int], Any] = progress_bar,
) -> Estimate:
    """What a run would take.

    run: the game's own, with everything given but `runner`.   pattern: which planned games are alike.
    attempts: answers a decision at most.   sample: games that are played of those that are alike; None: all.
    Raises: what the run raises before its first game, but for a server that is not there and a key that lacks.
    """
    found: list[Estimate] = []

    async def count(
        path: Path,
        past: Log,
        begun: journal.RunBegun,
        models: Mapping[str, Asked],
        planned: Sequence[Any],
        play: Callable[[Session, Any], Awaitable[int]],
        **told: Any,
    ) -> Finished:
        del told
        limits = next((asked.generation.limits for asked in models.values()), Limits())
        clients = {
            agent: counting_client(asked.model, asked.base_url, asked.generation) for agent, asked in models.items()
        }
        rehearsal = REHEARSAL.get() or Rehearsal(path.parent, frozenset())
        keeps = path in rehearsal.read  # then games of minds alone are played too
        left = [game for game in planned if game.game_id not in past.over and (keeps or pattern(game) is not None)]
        chosen = sampled(left, lambda game: (pattern(game), game.game_id in past.deals), sample)
        chosen = [(game, times * rehearsal.times_of(game)) for game, times in chosen]
        rehearsal.times.update((game.game_id, times) for game, times in chosen)
        with (
            journal.Writer(rehearsal.log_for(path)) if keeps else Unwritten() as writer,
            progress("counting", len(chosen)) as advance,
        ):
            if past.begun is None:
                writer.write(begun)
            session = Session(clients, writer, past, stands_in=True)
            for game, times in chosen:
                for client in clients.values():
                    client.weight = times
                await play(session, game)
                advance()
        spent = spent_before(past, models, limits)
        counted = [times for game, times in chosen if pattern(game) is not None]
        games = round(sum(counted))
        found.append(Estimate(by_model(clients.values()), attempts, games, len(counted), limits, spent))
        return Finished(0, 0, 0)

    await run(runner=count)
    return found[0]


def sampled(games: Sequence[Any], pattern: Pattern, most: int | None) -> list[tuple[Any, float]]:
    """Games to play, and for how many each of them counts. most: of those that are alike; None: all."""
    alike: dict[Hashable, list[Any]] = {}
    for game in games:
        alike.setdefault(pattern(game), []).append(game)
    chosen = []
    for group in alike.values():
        some = group if most is None or len(group) <= most else random.Random(0).sample(group, most)
        chosen += [(game, len(group) / len(some)) for game in some]
    return chosen


def by_model(clients: Iterable[CountingClient]) -> dict[str, Calls]:
    """What was counted, by provider/name, which may sit as several agents; without those that are not asked."""
    found: dict[str, Calls] = {}
    for client in clients:
        if client.calls.count:
            found[client.model] = found.get(client.model, Calls()).plus(client.calls)
    return found


def table_pattern(agents: Sequence[str]) -> Hashable:
    """What the tables of these agents share with others: models, whatever their wordings, and minds.

    Returns: None where all are minds.
    """
    if not any(map(is_model, agents)):
        return None
    return tuple(_without_wordings(agent) if is_model(agent) else agent for agent in agents)


def _without_wordings(agent: str) -> Hashable:
    model, options = split_options(agent)
    return model, *((name, value) for name, value in options if name not in WORDINGS)


# --- what is printed -------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """A line of the table."""

    model: str
    case: str
    answers: int
    used: Usage
    cost: float | None  # dollars


def rows(estimate: Estimate) -> list[Row]:
    """Every model in every case; where there are several, all of them together too."""
    found = [row for model, calls in estimate.calls.items() for row in _cases(model, calls, estimate)]
    return found + totals(estimate) if len(estimate.calls) > 1 else found


def totals(estimate: Estimate) -> list[Row]:
    """All models together in every case; dollars where each of them has a price."""
    by_case = zip(*(_cases(model, calls, estimate) for model, calls in estimate.calls.items()), strict=True)
    found = []
    for same in by_case:
        costs = [row.cost for row in same]
        cost = None if None in costs else sum(cost for cost in costs if cost is not None)
        answers, used = sum(row.answers for row in same), _sum([row.used for row in same])
        found.append(Row("all models", same[0].case, answers, used, cost))
    return found


def _cases(model: str, calls: Calls, estimate: Estimate) -> list[Row]:
    """One answer a decision, as expected and as long as may be; and as many as there may be."""
    count, attempts = calls.count, estimate.attempts
    return [
        Row(model, case, round(answers), used, estimate.limits.cost_of(model, used))
        for case, answers, used in (
            ("expected", count, calls.expected),
            ("longest answers", count, calls.longest),
            (f"every attempt ({attempts}) used up", attempts * count, calls.attempted(attempts)),
        )
    ]


def verdicts(estimate: Estimate) -> list[str]:
    """Whether the limits are enough, a line each; none where no language model would be asked."""
    if not estimate.calls:
        return []
    (expected, _, most), limits, spent = totals(estimate), estimate.limits, estimate.spent
    told = []
    if limits.tokens is not None:
        amounts = [float(used.tokens) for used in (_sum(spent.values()), expected.used, most.used)]
        told.append(_verdict(f"--token-limit {limits.tokens:,}", limits.tokens, amounts, "{:,.0f} tokens"))
    if limits.cost is not None and expected.cost is not None and most.cost is not None:
        before = sum(limits.cost_of(model, used) or 0.0 for model, used in spent.items())
        told.append(
            _verdict(f"--cost-limit {limits.cost:g}", limits.cost, [before, expected.cost, most.cost], "${:,.2f}")
        )
    return told


def _verdict(option: str, limit: float, amounts: Sequence[float], form: str) -> str:
    before, expected, most = amounts
    spent = f", after {form.format(before)} spent before" if before else ""
    if before + most <= limit:
        return f"{option}: enough, even if every attempt is used up{spent}"
    if before + expected <= limit:
        return f"{option}: enough for what is expected, not for every attempt{spent}"
    return f"{option}: not enough; the run would stop before its end{spent}"


def show_estimate(
    run: Callable[..., Awaitable[Finished]],
    pattern: Pattern,
    settings: Any,
    *,
    note: str | None = None,
    as_json: bool = False,
) -> None:
    """Prints what a run would take; see `estimated`.

    settings: of the run, with `max_attempts` and `generation`.   note: a line more, such as LENGTHS.
    """
    estimate = asyncio.run(estimated(run, pattern, settings.max_attempts))
    notes = [
        "Tokens read: a quarter of the characters. Expected: one answer each, of usual length;",
        "thinking, where there is any, a quarter of the limit. Nothing was asked or written.",
    ]
    if estimate.played < estimate.games:
        notes.append(f"Scaled up from {estimate.played:,} of {estimate.games:,} games with language models.")
    notes += [note] * (note is not None)
    notes += ["Answers that --cache holds are counted too; they cost nothing."] * bool(settings.generation.cache)
    if as_json:
        print(json.dumps(_as_json(estimate), indent=1))
        return
    if not estimate.calls:
        click.echo("Dry run: no language model would be asked.")
        return
    priced = any(row.cost is not None for row in rows(estimate))
    table = table_of("model", "answers", "tokens\nread", "tokens\nwritten", *["dollars"] * priced)
    before = None
    for row in rows(estimate):
        if row.model != before:
            if before is not None:
                table.add_section()
            table.add_row(Text(row.model, style="bold"))
        before = row.model
        used = f"{row.answers:,}", f"{row.used.prompt_tokens:,}", f"{row.used.completion_tokens:,}"
        cost = "–" if row.cost is None else f"{row.cost:,.4f}"
        table.add_row(Text(f"  {row.case}"), *used, *[cost] * priced)
    show("Dry run: what would be asked", table, *notes)
    for told in verdicts(estimate):
        click.secho(told, fg="yellow" if "not" in told else None)


def _as_json(estimate: Estimate) -> dict[str, Any]:
    told = [
        {
            "model": row.model,
            "case": row.case,
            "answers": row.answers,
            "tokens_read": row.used.prompt_tokens,
            "tokens_written": row.used.completion_tokens,
            "dollars": row.cost,
        }
        for row in rows(estimate)
    ]
    return {
        "dry_run": told,
        "games": estimate.games,
        "games_counted": estimate.played,
        "limits": verdicts(estimate),
    }


def _sum(used: Iterable[Usage]) -> Usage:
    total = Usage()
    for usage in used:
        total = total.plus(usage)
    return total
