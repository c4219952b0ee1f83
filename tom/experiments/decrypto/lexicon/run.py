"""Elicits agents' own lexica for the hints of a log, and resumes after a kill.

Every hint is asked about once for each set of keywords that it was said of, out of context: no game, no other hint.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from otherminds.games.decrypto.rules import Role
from otherminds.tom.agents.asking import ask
from otherminds.tom.agents.base import Attempt, Decision
from otherminds.tom.experiments import journal, records
from otherminds.tom.experiments.config import ConfigError
from otherminds.tom.experiments.decrypto.lexicon.records import (
    GAME,
    LEXICON_RULES,
    METHODS,
    MISSING,
    ROLE,
    Asked,
    Ending,
    deal_json,
    order_name,
    plain,
)
from otherminds.tom.experiments.decrypto.questions import ask_each
from otherminds.tom.experiments.decrypto.settings import deciding, digest_of, generation_json
from otherminds.tom.experiments.logs import Log
from otherminds.tom.experiments.model_agents import ModelAgent, is_model, read_asked
from otherminds.tom.experiments.running import Asked as AskedModel
from otherminds.tom.experiments.running import (
    Finished,
    Session,
    check_that_it_answers,
    header,
    how_it_came,
    read_past,
    run_games,
)
from otherminds.tom.llm.client import Client, GenerationSettings, ModelError
from otherminds.tom.llm.elicitation import by_logprobs, log_normalised, log_probabilities
from otherminds.tom.llm.families import family_of
from otherminds.tom.llm.parsing import find_object
from otherminds.tom.tasks.association import (
    RATINGS_SCHEMA,
    choice_question,
    orders,
    question_seed,
    rating_question,
    read_ratings,
)


@dataclass(frozen=True)
class LexiconSettings:
    """What an elicitation is.

    models: as provider/name:option=value; none: the language models that sat as encoder or decoder, each for itself.
    method: of `records.METHODS`.   orders: in which the keywords are shown, 1 to 4, each a call; the mean counts.
    most_games: recorded games of whose hints is asked, from the first; None: all.   max_attempts: answers a rating.
    """

    models: tuple[str, ...] = ()
    method: str = "logprobs"
    orders: int = 4
    seed: int = 0
    most_games: int | None = None
    base_url: str | None = None
    generation: GenerationSettings = field(default_factory=GenerationSettings)
    max_attempts: int = 2


@dataclass(frozen=True)
class Planned:
    """The hints that were said of one set of keywords, asked of one agent."""

    agent: str
    keywords: tuple[str, ...]
    recorded: tuple[str, ...]
    hints: tuple[str, ...]
    first: journal.GameBegun  # of the recorded games

    @property
    def game_id(self) -> str:
        """Who is asked, and the first recorded game of these keywords."""
        return f"{self.agent} / {self.recorded[0]}"


def planned_lexica(log: Log, settings: LexiconSettings) -> list[Planned]:
    """Everything that is asked.

    log: of Decrypto.   Raises: ConfigError for settings that cannot be, or where there is nobody to ask, or no hint.
    """
    if settings.method not in METHODS:
        raise ConfigError(f"--by {settings.method!r}: one of {', '.join(METHODS)}")
    if settings.most_games is not None and settings.most_games < 1:
        raise ConfigError(f"--games {settings.most_games}: at least 1")
    try:
        orders(0, settings.orders)
    except ValueError as error:
        raise ConfigError(f"--orders {settings.orders}: {error}") from None
    chosen = list(log.deals.items())[: settings.most_games]
    sets: dict[tuple[str, ...], dict[str, journal.GameBegun]] = {}
    for game_id, deal in chosen:
        if _hints(log, [game_id]):
            sets.setdefault(tuple(deal.keywords or ()), {})[game_id] = deal
    if not sets:
        raise ConfigError("the log holds no hint; play or import games first")
    planned = []
    for keywords, games in sets.items():
        seated = [deal.agents[role] for deal in games.values() for role in ("encoder", "decoder")]
        agents = settings.models or [agent for agent in dict.fromkeys(seated) if is_model(agent)]
        said, first = _hints(log, games), next(iter(games.values()))
        planned += [Planned(agent, keywords, tuple(games), said, first) for agent in agents]
    if not planned:
        raise ConfigError("no language model encoded or decoded here; say with --model provider/name whom to ask")
    return planned


def _hints(log: Log, games: Sequence[str] | Mapping[str, object]) -> tuple[str, ...]:
    """The different hints of some games, in the order of saying, as they were first written."""
    said: dict[str, str] = {}
    for game_id in games:
        for (_, role), line in log.decisions[game_id].items():
            if role == Role.ENCODER:
                for hint in line.action or ():
                    said.setdefault(plain(hint), hint)
    return tuple(said.values())


async def elicit(
    recording: Path,
    path: Path,
    settings: LexiconSettings,
    *,
    on_start: Callable[[Sequence[Planned]], None] | None = None,
    on_hint: Callable[[], None] | None = None,
    runner: Callable[..., Awaitable[Finished]] = run_games,
) -> Finished:
    """Asks about every hint that the log at `path` does not hold yet.

    recording: a log of Decrypto.   on_start: called with the plan once everything is checked.   on_hint: of every hint,
    also those that the log holds already.   runner: what plays the games; a dry run counts calls in its place.
    Raises: ConfigError, JournalError, ModelError before anything is asked; ModelError in the middle where no later
        call can succeed, or no log-probabilities come: the same call goes on from there.
    """
    recorded = records.read_log(recording)
    planned = planned_lexica(recorded, settings)
    models = {agent: _model(agent, settings) for agent in dict.fromkeys(plan.agent for plan in planned)}
    config = {
        "recording": digest_of(recording),
        "models": list(settings.models),
        "method": settings.method,
        "orders": settings.orders,
        "seed": settings.seed,
        "most_games": settings.most_games,
        "base_url": settings.base_url,
        "generation": generation_json(settings.generation),
        "max_attempts": settings.max_attempts,
    }
    past = read_past(path, LEXICON_RULES, deciding(config), lambda begun: deciding(begun.config))
    left = {plan.agent for plan in planned if plan.game_id not in past.over}
    clients = {agent: AskedModel(models[agent].model, settings.base_url, models[agent].generation) for agent in left}

    async def play(session: Session, plan: Planned) -> int:
        return await _ask_all(session, plan, models[plan.agent], settings, on_hint or (lambda: None))

    return await runner(
        path,
        past,
        header(GAME, config, recorded.begun.vocabulary if recorded.begun else ""),
        clients,
        planned,
        play,
        on_start=None if on_start is None else lambda: on_start(planned),
    )


def _model(agent: str, settings: LexiconSettings) -> ModelAgent:
    """Raises: ConfigError for what is no language model, or one whose service gives no log-probabilities."""
    model = read_asked(agent, Role.DECODER, settings.generation)
    provider, _, name = model.model.partition("/")
    family = family_of(provider, name, model.generation.reasoning_effort)
    if settings.method == "logprobs" and "logprobs" in family.refused:
        raise ConfigError(f"--model {agent!r}: its service gives no log-probabilities; ask with --by rating")
    return model


async def _ask_all(
    session: Session, plan: Planned, model: ModelAgent, settings: LexiconSettings, tell: Callable[[], None]
) -> int:
    """Asks about the hints of one set of keywords, or takes them from the log. Returns how many failed."""
    deal = journal.GameBegun(
        game_id=plan.game_id,
        agents={ROLE: plan.agent},
        seed=plan.first.seed,
        episode=plan.first.episode,
        keywords=list(plan.keywords),
        deal=deal_json(plan.recorded, plan.hints, settings.method, settings.orders),
    )
    questions = {(turn, Asked.ASSOCIATION): (turn, hint) for turn, hint in enumerate(plan.hints)}

    async def one(asked: tuple[int, str]) -> journal.Decision:
        return await _ask(session.clients[plan.agent], plan, *asked, model, settings)

    return await ask_each(session, deal, "hints or keywords", questions, one, Ending.ASKED, tell)


@dataclass(frozen=True)
class Answered:
    """What one order brought: associations in the order of the game, or None.   missing: mass on none of the four."""

    associations: tuple[float, ...] | None
    attempts: tuple[Attempt, ...]
    missing: float | None = None


async def _ask(
    client: Client, plan: Planned, turn: int, hint: str, model: ModelAgent, settings: LexiconSettings
) -> journal.Decision:
    begun = time.perf_counter()
    seed = question_seed(settings.seed, plan.keywords, hint)
    shown = orders(seed, settings.orders)
    how = {"logprobs": _by_logprobs, "rating": partial(_by_rating, max_attempts=settings.max_attempts)}[settings.method]
    outcomes = await asyncio.gather(
        *(how(client, hint, plan.keywords, order, model.wording.persona, seed) for order in shown),
        return_exceptions=True,  # calls under way are waited for, and counted
    )
    if raised := [outcome for outcome in outcomes if isinstance(outcome, BaseException)]:
        raise raised[0]
    answers = [outcome for outcome in outcomes if isinstance(outcome, Answered)]
    attempts = tuple(attempt for answer in answers for attempt in answer.attempts)
    found = [answer.associations for answer in answers if answer.associations is not None]
    whole = None if len(found) < len(answers) else mean_association(found, settings.method)
    if whole is None:
        if any(attempt.failure == "call" for attempt in attempts):
            await check_that_it_answers(client)
        if settings.method == "logprobs" and not client.takes("logprobs"):
            raise ModelError(f"{client.model}: it gives no log-probabilities; ask with --by rating and another --out")
    named = partial(_by_keyword, plan.keywords)
    missing = {order_name(n): answer.missing for n, answer in enumerate(answers) if answer.missing is not None}
    nearest = None if whole is None else plan.keywords[max(range(len(whole)), key=whole.__getitem__)]
    return journal.Decision(
        game_id=plan.game_id,
        turn=turn,
        role=ROLE,
        agent=plan.agent,
        observation={"hint": hint, "orders": shown},
        action=nearest,
        scores=None if whole is None else named(whole),
        statement={
            order_name(n): named(answer.associations)
            for n, answer in enumerate(answers)
            if answer.associations is not None
        }
        | ({MISSING: missing} if missing else {}),
        **how_it_came(Decision(nearest, attempts), time.perf_counter() - begun),
    )


def _by_keyword(keywords: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    return dict(zip(keywords, values, strict=True))


def mean_association(found: Sequence[Sequence[float]], method: str) -> tuple[float, ...]:
    """The mean over orders; of log-probabilities normalised anew, so that what a letter or a place adds cancels.

    found: four of each order, in the order of the game. With four orders a bias that adds to the log-probability of a
    place adds the same to every keyword's mean.
    """
    means = [math.fsum(values) / len(found) for values in zip(*found, strict=True)]
    if method == "rating":
        return tuple(means)
    return log_normalised(means)


async def _by_logprobs(
    client: Client, hint: str, keywords: Sequence[str], order: Sequence[int], persona: str, seed: int
) -> Answered:
    chat = [{"role": "user", "content": choice_question(hint, persona)}]
    found = await by_logprobs(client, chat, [keywords[place] for place in order], seed=seed)
    if found.probabilities is None:
        return Answered(None, found.attempts, found.missing)
    try:
        return Answered(_in_game_order(log_probabilities(found), order), found.attempts, found.missing)
    except ValueError as error:
        *before, last = found.attempts
        return Answered(None, (*before, replace(last, error=str(error), failure="invalid")), found.missing)


async def _by_rating(
    client: Client,
    hint: str,
    keywords: Sequence[str],
    order: Sequence[int],
    persona: str,
    seed: int,
    *,
    max_attempts: int,
) -> Answered:
    question = rating_question(hint, [keywords[place] for place in order], persona)
    decision = await ask(
        client,
        [{"role": "user", "content": question}],
        find=partial(find_object, key="ratings", read=read_ratings),
        schema=RATINGS_SCHEMA,
        max_attempts=max_attempts,
        seed=seed,
    )
    rated = decision.action
    return Answered(None if rated is None else _in_game_order(rated, order), decision.attempts)


def _in_game_order(values: Sequence[float], order: Sequence[int]) -> tuple[float, ...]:
    """Values by place, as values by keyword. order: the keyword at each place."""
    by_keyword = dict(zip(order, values, strict=True))
    return tuple(float(by_keyword[keyword]) for keyword in range(len(order)))
