"""Runs Decrypto at tables of minds and language models: writes the log, and resumes after a kill.

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
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from otherminds.games.decrypto.rules import LENGTH, Ending, Event, Observation, Role, State, code_text, decrypto
from otherminds.games.decrypto.vocabulary import Vocabulary, hint_vector
from otherminds.games.protocol import Game
from otherminds.games.rollout import deal_key, game_key
from otherminds.tom.agents.base import Attempt, Decision
from otherminds.tom.agents.language_model import LanguageModelAgent
from otherminds.tom.agents.mind import MindAgent
from otherminds.tom.agents.words import Words
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.config import ConfigError, DecryptoConfig, validated
from otherminds.tom.experiments.driver import Played, play
from otherminds.tom.experiments.records import CODE_INDEX, Log, read_log
from otherminds.tom.llm.client import Client, ModelError, open_client
from otherminds.tom.minds.decrypto.registry import MINDS, is_mind, named

PACKAGES = ("otherminds", "jax", "jaxlib", "numpy", "openai")
UNANSWERED = 3
"""Calls in a row without an answer, each with its own retries, after which a model counts as gone."""


class ModelSeat:
    """A language model in one game. It keeps no memory of its own: the text tells the whole history."""

    def __init__(self, agent: LanguageModelAgent, words: Words, keywords: tuple[str, ...]) -> None:
        self._agent, self._words, self._keywords = agent, words, keywords

    async def act(self, observation: Observation, key: jax.Array) -> Decision:
        """Asks the model; the sampler's seed comes from the decision's key.

        Raises: ModelError if the model is gone.
        """
        seed = int(jax.random.bits(key)) >> 1
        decision = await self._agent.act(observation, self._words.texts, self._keywords, seed=seed)
        if decision.failure == "call":
            await check_that_it_answers(self._agent.client)
        return decision

    def see(self, event: Event) -> None:
        """Nothing to do: the next text tells it."""


async def check_that_it_answers(client: Client) -> None:
    """After a call without an answer: whether the model answers anything.

    Raises: ModelError if it does not.
    """
    for _ in range(UNANSWERED - 1):
        answer = await client.chat([{"role": "user", "content": "Say ok."}])
        if answer.error is None:
            return
    raise ModelError(f"{client.model}: no answer to {UNANSWERED} calls in a row ({answer.error})")


@dataclass(frozen=True)
class PlannedGame:
    """One game of a run. agents: (encoder, decoder, interceptor)."""

    agents: tuple[str, str, str]
    seed: int
    episode: int

    @property
    def game_id(self) -> str:
        return f"{' + '.join(self.agents)} / seed {self.seed} / episode {self.episode}"


@dataclass(frozen=True)
class Finished:
    """What a run left behind."""

    games: int
    failed_games: int  # games with an answer that failed
    resumed_decisions: int  # taken from the log of an earlier start


def planned_games(config: DecryptoConfig) -> list[PlannedGame]:
    """Every game of a run. Games of one seed and episode have the same deal at every table."""
    return [
        PlannedGame(agents, seed, episode)
        for seed in config.seeds
        for episode in range(config.episodes)
        for agents in config.tables()
    ]


def model_names(config: DecryptoConfig) -> list[str]:
    """The agents that are language models.

    Raises: ConfigError for an agent that is neither a mind of its role nor provider/name.
    """
    models: dict[str, None] = {}
    for role, agents in zip(Role, (config.encoder, config.decoder, config.interceptor), strict=True):
        for agent in agents:
            if is_mind(agent, role):
                named(agent, role)
            elif "/" in agent:
                models[agent] = None
            else:
                known = ", ".join(MINDS[role])
                raise ConfigError(
                    f"{role.name.lower()} {agent!r}: neither a mind ({known}) nor a model as provider/name, "
                    "such as openai/gpt-4o or local/smollm2"
                )
    return list(models)


async def run(
    config: DecryptoConfig,
    vocabulary: Vocabulary,
    path: Path,
    *,
    on_start: Callable[[], None] | None = None,
    on_game: Callable[[PlannedGame], None] | None = None,
    on_decision: Callable[[], None] | None = None,
) -> Finished:
    """Plays every game of the configuration that the log does not hold yet.

    path: the log. A decision that it holds is not asked for again; a finished game is not played again, and a model
        that sits in finished games only is not called.
    on_start: called once everything is checked and the games begin.
    on_game, on_decision: told of every finished game and every new decision, for a progress bar.
    Raises: ConfigError, UnknownMind, JournalError, ModelError, and ValueError for a mind that cannot be made of these
        words, before any game starts; ModelError in the middle where no later call can succeed: what was played is
        in the log, and the same call goes on from there.
    """
    models = model_names(config)
    past = read_past(path, config, vocabulary)
    seats = {
        (agent, role)
        for planned in planned_games(config)
        if planned.game_id not in past.over
        for role, agent in zip(Role, planned.agents, strict=True)
    }
    minds = {
        (agent, role): MindAgent(named(agent, role), vocabulary, LENGTH * config.turns)
        for agent, role in seats
        if agent not in models
    }
    async with AsyncExitStack() as stack:
        clients: dict[str, Client] = {}
        for model in models:
            if any(model == agent for agent, _ in seats):
                clients[model] = await stack.enter_async_context(open_client(model, config.base_url, config.generation))
                await clients[model].check()
        if on_start is not None:
            on_start()
        with journal.Writer(path) as writer:
            if past.begun is None:
                writer.write(_header(config, vocabulary))
            tables = _Tables(config, vocabulary, clients, minds, writer, past, on_game, on_decision)
            try:
                finished = await tables.play_all()
            except ModelError as error:
                raise ModelError(f"{error}; what was played is in {path}, the same command goes on with it") from None
            if not past.complete:
                writer.write(journal.RunOver(games=finished.games, time=_now()))
    return finished


def read_past(path: Path, config: DecryptoConfig, vocabulary: Vocabulary) -> Log:
    """What the log at `path` holds of this run; nothing where there is no log, or no whole line of it.

    Raises: ConfigError for the log of another run, JournalError for one that cannot be read.
    """
    if not path.exists():
        return Log()
    past = read_log(path)
    if past.begun is None and past.deals:
        raise journal.JournalError(f"{path}, line 1: a log begins with run_begun")
    if past.begun is not None and not _same_run(past.begun, config, vocabulary):
        raise ConfigError(
            f"{path} is the log of another run (other settings or words); give another --out, or the settings that "
            "the log's first line shows"
        )
    return past


def _same_run(begun: journal.RunBegun, config: DecryptoConfig, vocabulary: Vocabulary) -> bool:
    try:
        recorded = validated(**begun.config)
    except (ConfigError, TypeError):
        return False
    return recorded.identity() == config.identity() and begun.vocabulary == vocabulary.name


def decision_of(line: journal.Decision) -> Decision:
    """The decision that a line of the log records."""
    action: Any = line.action
    if isinstance(action, str):
        action = CODE_INDEX[action]
    elif action is not None:
        action = tuple(action)
    attempts = tuple(Attempt(text=attempt.text or "", error=attempt.error) for attempt in line.attempts)
    return Decision(action, attempts, line.log_probability, line.probabilities)


class _Tables:
    """Everything that the games of a run share."""

    def __init__(
        self,
        config: DecryptoConfig,
        vocabulary: Vocabulary,
        clients: dict[str, Client],
        minds: dict[tuple[str, Role], MindAgent],
        writer: journal.Writer,
        past: Log,
        on_game: Callable[[PlannedGame], None] | None,
        on_decision: Callable[[], None] | None,
    ) -> None:
        self.config, self.vocabulary, self.writer, self.past = config, vocabulary, writer, past
        self.on_game, self.on_decision = on_game, on_decision
        self.game: Game = decrypto(
            len(vocabulary.keywords), turns=config.turns, continue_after_loss=config.continue_after_loss
        )
        self.spare = LENGTH * config.turns
        self.clients, self.minds = clients, minds

    async def play_all(self) -> Finished:
        """Plays what is not finished; games at once, as many as the models take calls.

        Raises: the first error of a game; the others are stopped then.
        """
        at_once = self.config.generation.max_connections if self.clients else 1
        if any(model.startswith("local/") for model in self.clients):
            at_once = 1  # one slot: games in turn keep the prompt's beginning
        slots = asyncio.Semaphore(at_once)
        failures: list[int] = []

        async def one(planned: PlannedGame) -> None:
            async with slots:
                failures.append(await self.play(planned))
                if self.on_game is not None:
                    self.on_game(planned)

        resumed = sum(map(len, self.past.decisions.values()))
        try:
            async with asyncio.TaskGroup() as group:
                for planned in planned_games(self.config):
                    group.create_task(one(planned))
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return Finished(len(failures), sum(count > 0 for count in failures), resumed)

    def _seat(self, agent: str, role: Role, state: State, words: Words):
        if agent in self.clients:
            player = LanguageModelAgent(self.clients[agent], max_attempts=self.config.max_attempts)
            return ModelSeat(player, words, self.vocabulary.keywords)
        return self.minds[agent, role].sit(words, self.game.view(state, role))

    async def play(self, planned: PlannedGame) -> int:
        """Plays one game, or takes it from the log. Returns the number of answers that failed."""
        game_id = planned.game_id
        if game_id in self.past.over:
            return self.past.over[game_id].failed_answers
        key = game_key(jax.random.key(planned.seed), planned.episode)
        state = self.game.init(deal_key(key))
        deal = journal.GameBegun(
            game_id=game_id,
            agents={role.name.lower(): agent for role, agent in zip(Role, planned.agents, strict=True)},
            seed=planned.seed,
            episode=planned.episode,
            keywords=[self.vocabulary.keywords[int(index)] for index in state.keywords],
            codes=[code_text(int(code)) for code in state.codes],
        )
        if self.past.deals.get(game_id, deal) != deal:
            raise journal.JournalError(
                f"game {game_id!r} was dealt other keywords or codes than here, perhaps by another version of jax; "
                "go on where the log was begun, or give another --out"
            )
        if game_id not in self.past.deals:
            self.writer.write(deal)
        words = Words(self.vocabulary, self.spare)
        seats = tuple(self._seat(agent, role, state, words) for role, agent in zip(Role, planned.agents, strict=True))
        recorded = {place: decision_of(line) for place, line in self.past.decisions.get(game_id, {}).items()}
        failed = sum(decision.action is None for decision in recorded.values())

        def write_down(played: Played) -> None:
            nonlocal failed
            failed += played.decision.action is None
            self.writer.write(self._line(game_id, planned, played, words))
            if self.on_decision is not None:
                self.on_decision()

        state = await play(self.game, state, seats, words, key, recorded=recorded, on_decision=write_down)
        self.writer.write(
            journal.GameOver(
                game_id=game_id,
                ending=Ending(int(state.ending)).name.lower(),
                turns=int(state.ending_turn),
                miscommunications=int(state.miscommunications),
                interceptions=int(state.interceptions),
                failed_answers=failed,
            )
        )
        return failed

    def _line(self, game_id: str, planned: PlannedGame, played: Played, words: Words) -> journal.Decision:
        decision, action = played.decision, played.decision.action
        encodes = played.role == Role.ENCODER
        unknown = []
        if encodes and action is not None:
            unknown = [hint for hint in action if hint_vector(self.vocabulary, hint) is None]
        attempts = decision.attempts
        return journal.Decision(
            game_id=game_id,
            turn=played.turn,
            role=played.role.name.lower(),
            agent=planned.agents[played.role],
            observation=observation_json(played.observation, words, self.vocabulary.keywords),
            action=None if action is None else list(action) if encodes else code_text(action),
            log_probability=decision.log_probability,
            probabilities=decision.probabilities,
            unknown_words=unknown,
            attempts=[journal.Attempt(**asdict(attempt)) for attempt in attempts],
            usage={
                "prompt_tokens": sum(attempt.prompt_tokens for attempt in attempts),
                "completion_tokens": sum(attempt.completion_tokens for attempt in attempts),
                "requests": sum(attempt.requests for attempt in attempts),
            }
            if attempts
            else {},
            seconds=round(played.seconds, 4),
        )


def observation_json(observation: Observation, words: Words, keywords: tuple[str, ...]) -> dict[str, Any]:
    """What a role knew at its decision, in words. The history is in the lines before."""
    role = Role(int(observation.role))
    known: dict[str, Any] = {
        "miscommunications": int(observation.miscommunications),
        "interceptions": int(observation.interceptions),
    }
    if role != Role.INTERCEPTOR:
        known["keywords"] = [keywords[int(index)] for index in observation.keywords]
    if role == Role.ENCODER:
        known["code"] = code_text(int(observation.code))
    else:
        hints = np.asarray(observation.hints)
        known["hints"] = None if (hints < 0).any() else [words.texts[int(index)] for index in hints]
    return known


def _header(config: DecryptoConfig, vocabulary: Vocabulary) -> journal.RunBegun:
    versions = {package: importlib.metadata.version(package) for package in PACKAGES}
    versions |= {"python": platform.python_version(), "device": jax.devices()[0].device_kind}
    return journal.RunBegun(
        game="decrypto",
        config=config.model_dump(mode="json"),
        vocabulary=vocabulary.name,
        versions=versions,
        time=_now(),
    )


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
