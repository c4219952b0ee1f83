"""Runs Decrypto at tables of minds and language models: writes the log, and resumes after a kill (see `running`)."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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
from otherminds.tom.agents.stand_in import StandIn
from otherminds.tom.agents.words import Words
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.config import ConfigError, DecryptoConfig, validated
from otherminds.tom.experiments.driver import Played, play
from otherminds.tom.experiments.logs import Log
from otherminds.tom.experiments.model_agents import ModelAgent, is_model, read_model_agent
from otherminds.tom.experiments.records import CODE_INDEX, DECRYPTO
from otherminds.tom.experiments.running import (
    UNANSWERED,
    Asked,
    Finished,
    Session,
    begin_game,
    check_that_it_answers,
    header,
    how_it_came,
    past_attempts,
    run_games,
)
from otherminds.tom.experiments.running import read_past as read_past_of
from otherminds.tom.minds.decrypto.registry import MINDS, is_mind, named

__all__ = ["UNANSWERED", "Finished", "PlannedGame", "Tables", "model_names", "planned_games", "run", "run_planned"]

STAND_INS = {Role.ENCODER: "literal", Role.DECODER: "literal", Role.INTERCEPTOR: "bayesian"}
"""The minds that sit in the places of language models in a dry run."""


class ModelSeat:
    """A language model in one game. It remembers its answers alone: whatever it is told follows from them."""

    def __init__(
        self, agent: LanguageModelAgent, words: Words, keywords: tuple[str, ...], recorded: Mapping[int, Decision]
    ) -> None:
        """recorded: its decisions of an earlier start, by turn."""
        self._agent, self._words, self._keywords = agent, words, keywords
        self._answers = {turn: decision.attempts for turn, decision in recorded.items()}

    async def act(self, observation: Observation, key: jax.Array) -> Decision:
        """Asks the model; the sampler's seed comes from the decision's key.

        Raises: ModelError if the model is gone.
        """
        seed = int(jax.random.bits(key)) >> 1
        decision = await self._agent.act(
            observation, self._words.texts, self._keywords, earlier=self._answers, seed=seed
        )
        if decision.failure == "call":
            await check_that_it_answers(self._agent.client)
        self._answers[int(observation.turn)] = decision.attempts
        return decision

    def remember(self, turn: int, answer: str) -> None:
        """Takes an answer into the chat, as if the model had given it in that turn."""
        self._answers[turn] = (Attempt(answer),)

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

    @property
    def seats(self) -> list[tuple[str, Role]]:
        """Who sits there, and as what."""
        return list(zip(self.agents, Role, strict=True))

    def is_over(self, past: Log) -> bool:
        """Whether the log holds all of it."""
        return self.game_id in past.over


def planned_games(config: DecryptoConfig) -> list[PlannedGame]:
    """Every game of a run. Games of one seed and episode have the same deal at every table."""
    return [
        PlannedGame(agents, seed, episode)
        for seed in config.seeds
        for episode in range(config.episodes)
        for agents in config.tables()
    ]


def model_names(config: DecryptoConfig) -> list[str]:
    """The agents that are language models, as they are written.

    Raises: ConfigError for an agent that is neither a mind of its role nor provider/name, or has a wrong option.
    """
    return list(dict.fromkeys(agent for agent, _ in _model_agents(config)))


def _model_agents(config: DecryptoConfig) -> dict[tuple[str, Role], ModelAgent]:
    """The language models by name and role."""
    models: dict[tuple[str, Role], ModelAgent] = {}
    for role, agents in zip(Role, (config.encoder, config.decoder, config.interceptor), strict=True):
        for agent in agents:
            if is_mind(agent, role):
                named(agent, role)
            elif is_model(agent):
                models[agent, role] = read_model_agent(agent, role, config.personas, config.generation)
            else:
                known = ", ".join(MINDS[role])
                raise ConfigError(
                    f"{role.name.lower()} {agent!r}: neither a mind ({known}) nor a model as provider/name, "
                    "such as openai/gpt-4o or local/smollm2"
                )
    return models


def _clients(models: Iterable[ModelAgent]) -> dict[str, ModelAgent]:
    """For each written agent the first one that is the same model with the same sampling: they share a client."""
    first: list[ModelAgent] = []
    shared = {}
    for model in models:
        same = [other for other in first if (other.model, other.generation) == (model.model, model.generation)]
        if not same:
            first.append(model)
        shared[model.written] = (same or [model])[0]
    return shared


async def run(
    config: DecryptoConfig,
    vocabulary: Vocabulary,
    path: Path,
    *,
    on_start: Callable[[], None] | None = None,
    on_game: Callable[[PlannedGame], None] | None = None,
    on_decision: Callable[[], None] | None = None,
    runner: Callable[..., Awaitable[Finished]] = run_games,
) -> Finished:
    """Plays every game of the configuration that the log does not hold yet.

    path: the log. A decision that it holds is not asked for again; a finished game is not played again, and a model
        that sits in finished games only is not called.
    on_start: called once everything is checked and the games begin.
    on_game, on_decision: told of every finished game and every new decision, for a progress bar.
    runner: what plays the games; a dry run (see `dry_run`) counts calls in its place.
    Raises: ConfigError, UnknownMind, JournalError, ModelError, and ValueError for a mind that cannot be made of these
        words, before any game starts; ModelError in the middle where no later call can succeed: what was played is
        in the log, and the same call goes on from there.
    """
    told = {"on_start": on_start, "on_game": on_game, "on_decision": on_decision, "runner": runner}
    return await run_planned(config, vocabulary, path, planned_games(config), Tables.play, **told)


async def run_planned(
    config: DecryptoConfig,
    vocabulary: Vocabulary,
    path: Path,
    planned: Sequence[Any],
    play_one: Callable[["Tables", Session, Any], Awaitable[int]],
    *,
    on_start: Callable[[], None] | None = None,
    on_game: Callable[[Any], None] | None = None,
    on_decision: Callable[[], None] | None = None,
    runner: Callable[..., Awaitable[Finished]] = run_games,
) -> Finished:
    """Plays what is planned of a configuration, games or matches, by `play_one`; else as `run`."""
    models = _model_agents(config)
    past = read_past(path, config, vocabulary)
    seats = {seat for game in planned if not game.is_over(past) for seat in game.seats}
    spare = LENGTH * config.turns * config.teams
    minds = {
        (agent, role): MindAgent(named(agent, role), vocabulary, spare)
        for agent, role in seats
        if (agent, role) not in models
    }
    clients = _clients(model for seat, model in models.items() if seat in seats)
    asked = {how.written: Asked(how.model, config.base_url, how.generation) for how in clients.values()}
    tables = Tables(config, vocabulary, minds, models, clients, on_decision)
    begun = header("decrypto", config.model_dump(mode="json"), vocabulary.name)
    return await runner(
        path, past, begun, asked, planned, partial(play_one, tables), on_start=on_start, on_game=on_game
    )


def read_past(path: Path, config: DecryptoConfig, vocabulary: Vocabulary) -> Log:
    """What the log at `path` holds of this run; see `running.read_past`."""
    return read_past_of(
        path,
        DECRYPTO,
        config.identity() | {"words": vocabulary.name},
        lambda begun: validated(**begun.config).identity() | {"words": begun.vocabulary},
    )


def decision_of(line: journal.Decision) -> Decision:
    """The decision that a line of the log records."""
    action: Any = line.action
    if isinstance(action, str):
        action = CODE_INDEX[action]
    elif action is not None:
        action = tuple(action)
    return Decision(action, past_attempts(line), line.log_probability, line.probabilities)


def stand_in(minds: dict[tuple[str, Role], MindAgent], role: Role, vocabulary: Vocabulary, spare: int) -> MindAgent:
    """The mind that sits in a language model's place. minds: those that there are; it is added to them."""
    name = STAND_INS[role]
    if (name, role) not in minds:
        minds[name, role] = MindAgent(named(name, role), vocabulary, spare)
    return minds[name, role]


class Tables:
    """Everything that the games of a run share: minds, models, and who sits where."""

    def __init__(
        self,
        config: DecryptoConfig,
        vocabulary: Vocabulary,
        minds: dict[tuple[str, Role], MindAgent],
        models: dict[tuple[str, Role], ModelAgent],
        clients: dict[str, ModelAgent],
        on_decision: Callable[[], None] | None,
    ) -> None:
        self.config, self.vocabulary, self.minds, self.on_decision = config, vocabulary, minds, on_decision
        self.models, self.clients = models, clients
        self.game: Game = decrypto(
            len(vocabulary.keywords), turns=config.turns, continue_after_loss=config.continue_after_loss
        )
        self.spare = LENGTH * config.turns * config.teams

    def seat(
        self, session: Session, agent: str, role: Role, state: State, words: Words, recorded: Mapping[int, Decision]
    ):
        model, view = self.models.get((agent, role)), self.game.view(state, role)
        if model is None:
            return self.minds[agent, role].sit(words, view)
        player = LanguageModelAgent(
            session.clients[self.clients[agent].written],
            max_attempts=self.config.max_attempts,
            think=model.think,
            state=model.state,
            wording=model.wording._replace(teams=self.config.teams),
            context=model.context,
            errors=model.errors,
        )
        seat = ModelSeat(player, words, self.vocabulary.keywords, recorded)
        if not session.stands_in:
            return seat
        mind = stand_in(self.minds, role, self.vocabulary, self.spare)
        return StandIn(seat, mind.sit(words, view), seat.remember)

    async def play(self, session: Session, planned: PlannedGame) -> int:
        """Plays one game, or takes it from the log. Returns the number of answers that failed."""
        game_id = planned.game_id
        if game_id in session.past.over:
            return session.past.over[game_id].failed_answers
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
        begin_game(session, deal, "keywords or codes")
        words = Words(self.vocabulary, self.spare)
        recorded = {place: decision_of(line) for place, line in session.past.decisions.get(game_id, {}).items()}
        seats = tuple(
            self.seat(
                session, agent, role, state, words, {t: made for (t, who), made in recorded.items() if who == role}
            )
            for role, agent in zip(Role, planned.agents, strict=True)
        )
        failed = sum(decision.action is None for decision in recorded.values())

        def write_down(played: Played) -> None:
            nonlocal failed
            failed += played.decision.action is None
            session.writer.write(self.line(game_id, planned.agents[played.role], Role(played.role), played, words))
            if self.on_decision is not None:
                self.on_decision()

        state = await play(self.game, state, seats, words, key, recorded=recorded, on_decision=write_down)
        session.writer.write(
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

    def line(self, game_id: str, agent: str, role: Role, played: Played, words: Words) -> journal.Decision:
        decision, action = played.decision, played.decision.action
        encodes = role == Role.ENCODER
        unknown = []
        if encodes and action is not None:
            unknown = [hint for hint in action if hint_vector(self.vocabulary, hint) is None]
        return journal.Decision(
            game_id=game_id,
            turn=played.turn,
            role=role.name.lower(),
            agent=agent,
            observation=observation_json(played.observation, words, self.vocabulary.keywords),
            action=None if action is None else list(action) if encodes else code_text(action),
            log_probability=decision.log_probability,
            probabilities=decision.probabilities,
            unknown_words=unknown,
            **how_it_came(decision, played.seconds),
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
