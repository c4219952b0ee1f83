"""Asks language models theory-of-mind tasks about the recorded games of a log, and resumes after a kill.

The games are recorded before anything is asked, so every model is asked about the same turns, and its answers change
no game. Every question is asked out of context: no other question or answer stands before it.
"""

import time
import zlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jax

from otherminds.tom.agents.asking import ask
from otherminds.tom.agents.base import Decision
from otherminds.tom.experiments import journal, records
from otherminds.tom.experiments.config import ConfigError
from otherminds.tom.experiments.decrypto.questions import ask_each
from otherminds.tom.experiments.decrypto.settings import deciding, digest_of, generation_json
from otherminds.tom.experiments.decrypto.standing import refuse_matches, turns_played
from otherminds.tom.experiments.logs import Log
from otherminds.tom.experiments.model_agents import ModelAgent, is_model, read_asked
from otherminds.tom.experiments.running import (
    Asked,
    Finished,
    Session,
    check_that_it_answers,
    header,
    how_it_came,
    read_past,
    run_games,
)
from otherminds.tom.experiments.tasks.records import GAME, TASK_RULES, Ending, deal_json, moments, probabilities_of
from otherminds.tom.llm.client import Client, GenerationSettings
from otherminds.tom.tasks.catalogue import Asked as AskedQuestion
from otherminds.tom.tasks.task import Answer, Moment, PlayedTurn, Question, Task, messages


@dataclass(frozen=True)
class AskingSettings:
    """What an asking is.

    tasks: which.   models: as provider/name:option=value; none: the language models that sat at the recorded games,
    each asked about its own seat.   most_turns: of a recorded game that are asked about, from its beginning; None: all.
    after_loss: whether turns that were played on after a loss count.   max_attempts: answers a question.
    """

    tasks: tuple[Task, ...]
    models: tuple[str, ...] = ()
    seed: int = 0
    most_turns: int | None = None
    after_loss: bool = False
    base_url: str | None = None
    generation: GenerationSettings = field(default_factory=GenerationSettings)
    max_attempts: int = 2


@dataclass(frozen=True)
class Planned:
    """One task asked of one agent about one recorded game."""

    agent: str
    task: Task
    recorded: str
    deal: journal.GameBegun
    turns: tuple[PlayedTurn, ...]
    moments: tuple[Moment, ...]

    @property
    def game_id(self) -> str:
        return f"{self.agent} / {self.task.name} / {self.recorded}"

    @property
    def begun(self) -> journal.GameBegun:
        """The line that says what is asked about, with the recorded turns."""
        return journal.GameBegun(
            game_id=self.game_id,
            agents={question.name: self.agent for question in self.task.questions},
            seed=self.deal.seed,
            episode=self.deal.episode,
            keywords=self.deal.keywords,
            codes=self.deal.codes,
            deal=deal_json(self.task, self.recorded, self.deal.agents, self.turns),
        )

    @property
    def questions(self) -> int:
        """How many there are."""
        return len(self.moments) * len(self.task.questions)


def planned_tasks(log: Log, settings: AskingSettings) -> list[Planned]:
    """Everything that is asked; games in which nothing is to be asked are left out.

    Raises: ConfigError where there is nobody to ask, or nothing to ask about.
    """
    if settings.most_turns is not None and settings.most_turns < 1:
        raise ConfigError(f"--turns {settings.most_turns}: at least 1")
    refuse_matches(log)
    planned = []
    for task in settings.tasks:
        for game_id, deal in log.deals.items():
            turns = tuple(turns_played(deal, log.decisions[game_id]))
            if not settings.after_loss and game_id in log.over:
                turns = turns[: log.over[game_id].turns]
            turns = turns[: settings.most_turns]
            seated = deal.agents[task.role.name.lower()]
            asked = settings.models or ((seated,) if is_model(seated) else ())
            about = tuple(moments(deal.keywords or (), turns, len(deal.codes or ()), task))
            planned += [Planned(agent, task, game_id, deal, turns, about) for agent in asked if about]
    if not planned and settings.models:
        raise ConfigError("the log holds no turn that these tasks ask about; play or import longer games")
    if not planned:
        raise ConfigError("no language model sat where these tasks ask; say with --model provider/name whom to ask")
    return planned


async def ask_tasks(
    recording: Path,
    path: Path,
    settings: AskingSettings,
    *,
    on_start: Callable[[Sequence[Planned]], None] | None = None,
    on_question: Callable[[], None] | None = None,
    runner: Callable[..., Awaitable[Finished]] = run_games,
) -> Finished:
    """Asks every question that the log at `path` does not hold yet.

    recording: a log of Decrypto.   on_start: called with the plan once everything is checked.
    on_question: of every question, also those that the log holds already.
    runner: what plays the games; a dry run (see `dry_run`) counts calls in its place.
    Raises: ConfigError, JournalError, ModelError before anything is asked; ModelError in the middle where no later
        call can succeed: the same call goes on from there.
    """
    recorded = records.read_log(recording)
    planned = planned_tasks(recorded, settings)
    seats = dict.fromkeys((plan.agent, plan.task.role) for plan in planned)
    models = {(agent, role): read_asked(agent, role, settings.generation) for agent, role in seats}
    config = {
        "recording": digest_of(recording),
        "tasks": [task.name for task in settings.tasks],
        "models": list(settings.models),
        "seed": settings.seed,
        "most_turns": settings.most_turns,
        "after_loss": settings.after_loss,
        "base_url": settings.base_url,
        "generation": generation_json(settings.generation),
        "max_attempts": settings.max_attempts,
    }
    past = read_past(path, TASK_RULES, deciding(config), lambda begun: deciding(begun.config))
    left = {(plan.agent, plan.task.role) for plan in planned if plan.game_id not in past.over}
    clients = {
        agent: Asked(model.model, settings.base_url, model.generation)
        for (agent, role), model in models.items()
        if (agent, role) in left
    }

    async def play(session: Session, plan: Planned) -> int:
        return await _ask_all(session, plan, models[plan.agent, plan.task.role], settings, on_question)

    words = recorded.begun.vocabulary if recorded.begun else ""
    return await runner(
        path,
        past,
        header(GAME, config, words),
        clients,
        planned,
        play,
        on_start=None if on_start is None else lambda: on_start(planned),
    )


async def _ask_all(
    session: Session,
    plan: Planned,
    model: ModelAgent,
    settings: AskingSettings,
    on_question: Callable[[], None] | None,
) -> int:
    """Asks one task about one game, or takes it from the log. Returns the number of answers that failed."""
    deal = plan.begun
    questions = {
        (moment.turn, AskedQuestion[question.name.upper()]): (question, moment)
        for moment in plan.moments
        for question in plan.task.questions
    }

    async def one(asked: tuple[Question, Moment]) -> journal.Decision:
        return await _ask(session.clients[plan.agent], plan, *asked, model, settings)

    tell = on_question or (lambda: None)
    return await ask_each(session, deal, "turns or keywords", questions, one, Ending.ASKED, tell)


async def _ask(
    client: Client, plan: Planned, question: Question, moment: Moment, model: ModelAgent, settings: AskingSettings
) -> journal.Decision:
    begun = time.perf_counter()
    chat = messages(plan.task, question, moment, model.think, model.wording)
    decision: Decision = await ask(
        client,
        chat,
        find=question.find,
        schema=None if model.think else question.schema,
        max_attempts=settings.max_attempts,
        seed=seed_of(settings.seed, plan.game_id, moment.turn, question.name),
    )
    if decision.failure == "call":
        await check_that_it_answers(client)
    answer: Answer | None = decision.action
    return journal.Decision(
        game_id=plan.game_id,
        turn=moment.turn,
        role=question.name,
        agent=plan.agent,
        observation={"question": chat[-1]["content"]},
        action=None if answer is None else list(answer.action) if isinstance(answer.action, tuple) else answer.action,
        probabilities=None if answer is None else probabilities_of(answer),
        **how_it_came(decision, time.perf_counter() - begun),
    )


def seed_of(seed: int, game_id: str, turn: int, question: str) -> int:
    """The sampler's seed of one question: the same whatever else is asked, and in whatever order."""
    key = jax.random.key(seed)
    for part in (zlib.crc32(game_id.encode()), turn, zlib.crc32(question.encode())):
        key = jax.random.fold_in(key, part)
    return int(jax.random.bits(key)) >> 1
