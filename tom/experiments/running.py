"""What the runs of all games share: models are opened and checked, games are played at once, a kill loses little.

What a model answers, good or bad, is its decision and is written down. A call that brings no answer, after all its
retries, may have failed for this decision alone (a server can refuse a single prompt) or because the server is gone.
So the model is then asked for a single word, twice at most. If a word comes, the decision has failed, is written as
failed and counts. If none does, the run stops: the decision was not made, nothing is written of it, and the same
command asks for it again.
"""

import asyncio
import datetime
import importlib.metadata
import platform
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax

from otherminds.tom.agents.base import Attempt, Decision
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.config import ConfigError
from otherminds.tom.experiments.logs import Log, LogRules, read_log
from otherminds.tom.llm.client import Client, GenerationSettings, ModelError, open_client

PACKAGES = ("otherminds", "jax", "jaxlib", "numpy", "openai")
UNANSWERED = 3
"""Calls in a row without an answer, each with its own retries, after which a model counts as gone."""


@dataclass(frozen=True)
class Finished:
    """What a run left behind."""

    games: int
    failed_games: int  # games with an answer that failed
    resumed_decisions: int  # taken from the log of an earlier start


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


async def check_that_it_answers(client: Client) -> None:
    """After a call without an answer: whether the model answers anything.

    Raises: ModelError if it does not.
    """
    for _ in range(UNANSWERED - 1):
        answer = await client.chat([{"role": "user", "content": "Say ok."}])
        if answer.error is None:
            return
    raise ModelError(f"{client.model}: no answer to {UNANSWERED} calls in a row ({answer.error})")


def read_past(path: Path, rules: LogRules, same_run: Callable[[journal.RunBegun], bool], what: str) -> Log:
    """What the log at `path` holds of this run; nothing where there is no log, or no whole line of it.

    same_run: whether a log's first line is of this run.   what: names that in which another run may differ.
    Raises: ConfigError for the log of another run, JournalError for one that cannot be read.
    """
    if not path.exists():
        return Log()
    past = read_log(path, rules)
    if past.begun is None and past.deals:
        raise journal.JournalError(f"{path}, line 1: a log begins with run_begun")
    if past.begun is not None and not same_run(past.begun):
        raise ConfigError(
            f"{path} is the log of another run (other {what}); give another --out, or the settings that "
            "the log's first line shows"
        )
    return past


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
        succeed; what was played is then in the log. The first error of any game; the others are stopped then.
    """
    async with AsyncExitStack() as stack:
        clients: dict[str, Client] = {}
        for agent, asked in models.items():
            opened = open_client(asked.model, asked.base_url, asked.generation)
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
            except ModelError as error:
                raise ModelError(f"{error}; what was played is in {path}, the same command goes on with it") from None
            if not past.complete:
                writer.write(journal.RunOver(games=len(failures), time=now()))
    return Finished(len(failures), sum(count > 0 for count in failures), sum(map(len, past.decisions.values())))


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
    """The fields of a decision's line that say how it came about: attempts, usage and time."""
    attempts = decision.attempts
    usage = {
        "prompt_tokens": sum(attempt.prompt_tokens for attempt in attempts),
        "completion_tokens": sum(attempt.completion_tokens for attempt in attempts),
        "requests": sum(attempt.requests for attempt in attempts),
    }
    return {
        "attempts": [journal.Attempt(**asdict(attempt)) for attempt in attempts],
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
