"""What the runs of all games share: models are opened and checked, games are played at once, a kill loses little.

What a model answers, good or bad, is its decision and is written down. A call that brings no answer, after all its
retries, may have failed for this decision alone (a server can refuse a single prompt) or because the server is gone.
So the model is then asked for a single word, twice at most. If a word comes, the decision has failed, is written as
failed and counts. If none does, the run stops: the decision was not made, nothing is written of it, and the same
command asks for it again.

What a run may spend is limited over all its starts: the log says what the earlier ones spent.
"""

import asyncio
import datetime
import importlib.metadata
import json
import platform
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax

from otherminds.tom.agents.base import Attempt, Decision
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.config import ConfigError, flattened
from otherminds.tom.experiments.logs import Log, LogRules, read_log
from otherminds.tom.llm.accounts import Account, LimitReached, Limits, Usage
from otherminds.tom.llm.client import Client, GenerationSettings, ModelError, open_client
from otherminds.tom.llm.notices import asking

PACKAGES = ("otherminds", "jax", "jaxlib", "numpy", "openai")
UNANSWERED = 3
"""Calls in a row without an answer, each with its own retries, after which a model counts as gone."""
NAMED, LONGEST = 3, 60
"""Settings of another run that are told, and how much of each."""


@dataclass(frozen=True)
class Finished:
    """What a run left behind."""

    games: int
    failed_games: int  # games with an answer that failed
    resumed_decisions: int  # taken from the log of an earlier start
    spent: Mapping[str, Usage] = field(default_factory=dict)  # by model, over all starts
    cost: float | None = None  # dollars, where every model has a price


@dataclass(frozen=True)
class Asked:
    """A language model that sits in a run, and how it is asked."""

    model: str  # provider/name
    base_url: str | None
    generation: GenerationSettings


@dataclass(frozen=True)
class Session:
    """What the games of a run that goes on share."""

    clients: Mapping[str, Client]  # by agent
    writer: journal.Writer
    past: Log  # what the log held before
    stands_in: bool = False  # minds sit in the models' places, whose clients only count (see `dry_run`)


async def check_that_it_answers(client: Client) -> None:
    """After a call without an answer: whether the model answers anything.

    Raises: ModelError if it does not.
    """
    for _ in range(UNANSWERED - 1):
        answer = await client.chat([{"role": "user", "content": "Say ok."}], fresh=True)
        if answer.error is None:
            return
    raise ModelError(f"{client.model}: no answer to {UNANSWERED} calls in a row ({answer.error})")


def read_past(
    path: Path,
    rules: LogRules,
    settings: Mapping[str, Any],
    settings_of: Callable[[journal.RunBegun], Mapping[str, Any]],
) -> Log:
    """What the log at `path` holds of this run; nothing where there is no log, or no whole line of it.

    settings: what decides this run.   settings_of: the same of a log's first line; it raises ConfigError or TypeError
    where that has other names.
    Raises: ConfigError for the log of another run, naming what differs; JournalError for one that cannot be read.
    """
    if not path.exists():
        return Log()
    past = read_log(path, rules)
    if past.begun is None and past.deals:
        raise journal.JournalError(f"{path}, line 1: a log begins with run_begun")
    if past.begun is not None and (told := _differences(past.begun, settings, settings_of)):
        raise ConfigError(
            f"{path} is the log of another run ({told}); give another --out, or the settings that the log's first "
            "line shows"
        )
    return past


def _differences(
    begun: journal.RunBegun, settings: Mapping[str, Any], settings_of: Callable[[journal.RunBegun], Mapping[str, Any]]
) -> str:
    """In which settings a log is another run's; empty where it is this one."""
    try:
        there, here = flattened(settings_of(begun)), flattened(settings)
    except (ConfigError, TypeError) as error:
        return f"its settings are not those of this version: {error}"
    other = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    told = [f"{name} {_told(there.get(name))} there, {_told(here.get(name))} here" for name in other]
    return "; ".join(told[:NAMED]) + f"; and {len(told) - NAMED} more" * (len(told) > NAMED)


def _told(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


async def run_games(
    path: Path,
    past: Log,
    begun: journal.RunBegun,
    models: Mapping[str, Asked],
    planned: Sequence[Any],
    play: Callable[[Session, Any], Awaitable[int]],
    *,
    on_start: Callable[[], None] | None = None,
    on_game: Callable[[Any], None] | None = None,
) -> Finished:
    """Plays the planned games, at once as far as the models take calls, and writes the log's first and last line.

    models: by agent; each is checked before any game begins.   play: plays a game, or takes it from the past, and
    returns how many answers failed.   on_start: called once everything is checked.   on_game: of every finished game.
    Raises: ModelError if a model cannot be asked, before any game starts, or in the middle where no later call can
        succeed; what was played is then in the log. LimitReached where nothing more may be spent. The first error of
        any game; the others are stopped then.
    """
    limits = next((asked.generation.limits for asked in models.values()), Limits())
    account = Account(limits, spent_before(past, models, limits))
    async with AsyncExitStack() as stack:
        clients: dict[str, Client] = {}
        for agent, asked in models.items():
            opened = open_client(asked.model, asked.base_url, asked.generation, account=account)
            clients[agent] = await stack.enter_async_context(opened)
            await clients[agent].check()
        if on_start is not None:
            on_start()
        with journal.Writer(path) as writer:
            if past.begun is None:
                writer.write(begun)
            session = Session(clients, writer, past)
            try:
                failures = await _play_all(session, models, planned, play, on_game)
            except LimitReached as error:
                raise LimitReached(f"{error}; what was answered is in {path}") from None
            except ModelError as error:
                raise ModelError(f"{error}; what was answered is in {path}, the same command goes on with it") from None
            if not past.complete:
                games = sum(len(getattr(game, "parts", (game,))) for game in planned)  # a match is logged as two games
                writer.write(journal.RunOver(games=games, time=now()))
    resumed = sum(map(len, past.decisions.values()))
    return Finished(len(failures), sum(count > 0 for count in failures), resumed, account.spent, account.cost)


def spent_before(past: Log, models: Mapping[str, Asked], limits: Limits) -> dict[str, Usage]:
    """What the decisions of a log took, by model; answers from the cache took nothing.

    models: by agent, as far as they are asked again; of other agents the name tells which model has the price.
    """
    spent: dict[str, Usage] = {}
    for line in (line for made in past.decisions.values() for line in made.values() if line.usage):
        priced = [model for model in limits.prices if line.agent.startswith(model)]
        model = models[line.agent].model if line.agent in models else max(priced, key=len, default=line.agent)
        usage = Usage(line.usage.get("prompt_tokens", 0), line.usage.get("completion_tokens", 0))
        spent[model] = spent.get(model, Usage()).plus(usage)
    return spent


async def _play_all(
    session: Session,
    models: Mapping[str, Asked],
    planned: Sequence[Any],
    play: Callable[[Session, Any], Awaitable[int]],
    on_game: Callable[[Any], None] | None,
) -> list[int]:
    at_once = min((asked.generation.max_connections for asked in models.values()), default=1)
    if any(asked.model.startswith("local/") for asked in models.values()):
        at_once = 1  # one slot: games in turn keep the prompt's beginning
    slots = asyncio.Semaphore(at_once)
    failures: list[int] = []

    async def one(game: Any) -> None:
        async with slots:
            with asking(f"game {game.game_id}"):  # problems are told with its name
                failures.append(await play(session, game))
            if on_game is not None:
                on_game(game)

    try:
        async with asyncio.TaskGroup() as group:
            for game in planned:
                group.create_task(one(game))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return failures


def begin_game(session: Session, deal: journal.GameBegun, what: str) -> None:
    """Writes the deal of a game, unless the log has it.

    Raises: JournalError if the log has another deal under this name. what: was dealt otherwise.
    """
    known = session.past.deals.get(deal.game_id)
    if known is None:
        session.writer.write(deal)
    elif known != deal:
        raise journal.JournalError(
            f"game {deal.game_id!r} was dealt other {what} than here, perhaps by another version of jax; "
            "go on where the log was begun, or give another --out"
        )


def past_attempts(line: journal.Decision) -> tuple[Attempt, ...]:
    """The answers that a line of the log records."""
    return tuple(Attempt(text=attempt.text or "", error=attempt.error) for attempt in line.attempts)


def how_it_came(decision: Decision, seconds: float) -> dict[str, Any]:
    """The fields of a decision's line that say how it came about: attempts, usage and time.

    The usage is what was paid for; `cached_tokens`, where there are any, are those of answers from the cache.
    """
    attempts = decision.attempts
    paid = [attempt for attempt in attempts if not attempt.cached]
    usage = {
        "prompt_tokens": sum(attempt.prompt_tokens for attempt in paid),
        "completion_tokens": sum(attempt.completion_tokens for attempt in paid),
        "requests": sum(attempt.requests for attempt in paid),
    }
    if len(paid) < len(attempts):
        usage["cached_tokens"] = sum(a.prompt_tokens + a.completion_tokens for a in attempts if a.cached)
    return {
        "attempts": [journal.Attempt(**attempt.to_json()) for attempt in attempts],
        "usage": usage if attempts else {},
        "seconds": round(seconds, 4),
    }


def header(game: str, config: dict[str, Any], vocabulary: str) -> journal.RunBegun:
    """The first line of a log."""
    versions = {package: importlib.metadata.version(package) for package in PACKAGES}
    versions |= {"python": platform.python_version(), "device": jax.devices()[0].device_kind}
    return journal.RunBegun(game=game, config=config, vocabulary=vocabulary, versions=versions, time=now())


def now() -> str:
    """The time, ISO 8601, UTC."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
