"""Runs Decrypto at tables of minds and language models: writes the log, and resumes after a kill."""

import asyncio
import datetime
import importlib.metadata
import platform
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np

from otherminds.games.decrypto.rules import LENGTH, Ending, Event, Observation, Role, State, code_text, decrypto
from otherminds.games.decrypto.text import read_code
from otherminds.games.decrypto.vocabulary import Vocabulary, hint_vector
from otherminds.games.protocol import Game
from otherminds.games.rollout import deal_key, game_key
from otherminds.tom.agents.base import Attempt, Decision
from otherminds.tom.agents.language_model import LanguageModelAgent
from otherminds.tom.agents.mind import MindAgent
from otherminds.tom.agents.words import Words
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.config import ConfigError, DecryptoConfig
from otherminds.tom.experiments.driver import Played, play
from otherminds.tom.llm.client import Client, open_client
from otherminds.tom.minds.decrypto.registry import MINDS, is_mind, named

PACKAGES = ("otherminds", "jax", "jaxlib", "numpy", "openai")


class ModelSeat:
    """A language model in one game. It keeps no memory of its own: the text tells the whole history."""

    def __init__(self, agent: LanguageModelAgent, words: Words, keywords: tuple[str, ...]) -> None:
        self._agent, self._words, self._keywords = agent, words, keywords

    async def act(self, observation: Observation, key: jax.Array) -> Decision:
        """Asks the model; the sampler's seed comes from the decision's key."""
        seed = int(jax.random.bits(key)) >> 1
        return await self._agent.act(observation, self._words.texts, self._keywords, seed=seed)

    def see(self, event: Event) -> None:
        """Nothing to do: the next text tells it."""


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
    on_game: Callable[[PlannedGame], None] | None = None,
    on_decision: Callable[[], None] | None = None,
) -> Finished:
    """Plays every game of the configuration that the log does not hold yet.

    path: the log. A decision that it holds is not asked for again; a finished game is not played again.
    on_game, on_decision: told of every finished game and every new decision, for a progress bar.
    Raises: ConfigError, UnknownMind, ModelError before any game starts; ModelError in the middle where no later
        call can succeed: what was played is in the log, and the same call goes on from there.
    """
    models = model_names(config)
    past = read_past(path, config, vocabulary)
    async with AsyncExitStack() as stack:
        clients: dict[str, Client] = {}
        for model in models:
            clients[model] = await stack.enter_async_context(open_client(model, config.base_url, config.generation))
            await clients[model].check()
        with journal.Writer(path) as writer:
            if not past.begun:
                writer.write(_header(config, vocabulary))
            table = _Tables(config, vocabulary, clients, writer, past, on_game, on_decision)
            finished = await table.play_all()
            if not past.over:
                writer.write(journal.RunOver(games=finished.games, time=_now()))
    return finished


@dataclass
class Past:
    """What a log holds already."""

    begun: bool = False
    over: bool = False
    started: set[str] = field(default_factory=set)
    finished: dict[str, int] = field(default_factory=dict)  # game: answers that failed
    decisions: dict[str, dict[tuple[int, Role], Decision]] = field(default_factory=dict)


def read_past(path: Path, config: DecryptoConfig, vocabulary: Vocabulary) -> Past:
    """What the log at `path` holds of this run; nothing where there is no log.

    Raises: ConfigError for the log of another run, JournalError for one that cannot be read.
    """
    past = Past()
    if not path.exists() or path.stat().st_size == 0:
        return past
    for line in journal.read(path):
        match line:
            case journal.RunBegun():
                past.begun = True
                if line.config != config.model_dump(mode="json") or line.vocabulary != vocabulary.name:
                    raise ConfigError(
                        f"{path} is the log of another run (other settings or words); give another --out, "
                        "or the settings that the log's first line shows"
                    )
            case journal.GameBegun():
                past.started.add(line.game_id)
            case journal.Decision():
                decisions = past.decisions.setdefault(line.game_id, {})
                decisions[line.turn, Role[line.role.upper()]] = decision_of(line)
            case journal.GameOver():
                past.finished[line.game_id] = line.failed_answers
            case journal.RunOver():
                past.over = True
    return past


def decision_of(line: journal.Decision) -> Decision:
    """The decision that a line of the log records."""
    action: Any = line.action
    if isinstance(action, str):
        action = read_code(action)
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
        writer: journal.Writer,
        past: Past,
        on_game: Callable[[PlannedGame], None] | None,
        on_decision: Callable[[], None] | None,
    ) -> None:
        self.config, self.vocabulary, self.writer, self.past = config, vocabulary, writer, past
        self.on_game, self.on_decision = on_game, on_decision
        self.game: Game = decrypto(
            len(vocabulary.keywords), turns=config.turns, continue_after_loss=config.continue_after_loss
        )
        self.spare = LENGTH * config.turns
        self.clients = clients
        self._minds: dict[tuple[str, Role], MindAgent] = {}
        self.resumed = 0

    async def play_all(self) -> Finished:
        """Plays what is not finished; games at once, as many as the models take calls."""
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

        async with asyncio.TaskGroup() as group:
            for planned in planned_games(self.config):
                group.create_task(one(planned))
        return Finished(len(failures), sum(count > 0 for count in failures), self.resumed)

    def _seat(self, agent: str, role: Role, state: State, words: Words):
        if agent in self.clients:
            player = LanguageModelAgent(self.clients[agent], max_attempts=self.config.max_attempts)
            return ModelSeat(player, words, self.vocabulary.keywords)
        if (agent, role) not in self._minds:
            self._minds[agent, role] = MindAgent(named(agent, role), self.vocabulary, self.spare)
        return self._minds[agent, role].sit(words, self.game.view(state, role))

    async def play(self, planned: PlannedGame) -> int:
        """Plays one game, or takes it from the log. Returns the number of answers that failed."""
        game_id = planned.game_id
        if game_id in self.past.finished:
            return self.past.finished[game_id]
        key = game_key(jax.random.key(planned.seed), planned.episode)
        state = self.game.init(deal_key(key))
        if game_id not in self.past.started:
            self.writer.write(
                journal.GameBegun(
                    game_id=game_id,
                    agents={role.name.lower(): agent for role, agent in zip(Role, planned.agents, strict=True)},
                    seed=planned.seed,
                    episode=planned.episode,
                    keywords=[self.vocabulary.keywords[int(index)] for index in state.keywords],
                    codes=[code_text(int(code)) for code in state.codes],
                )
            )
        words = Words(self.vocabulary, self.spare)
        seats = tuple(self._seat(agent, role, state, words) for role, agent in zip(Role, planned.agents, strict=True))
        recorded = self.past.decisions.get(game_id, {})
        self.resumed += len(recorded)
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
