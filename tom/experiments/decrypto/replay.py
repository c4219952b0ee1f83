"""Recorded games of Decrypto, played again with somebody else as decoder or interceptor.

Keywords, codes and hints are those of the recording, and so are the guesses of whoever is not replaced. A replaced
player's guesses change the tokens, and with them the end: a game stops at its official end, or (`to_the_end`) goes on
as far as the recording does. Where the recording stops before the game is over, its ending is `unfinished`. A player
is shown the codes of finished turns and no others. The log is one of Decrypto: it can be compared, and replayed again.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from otherminds.games.decrypto.rules import LENGTH, Ending, Event, Observation, Role, View, begin, code_text, decrypto
from otherminds.games.decrypto.vocabulary import Vocabulary, hint_vector
from otherminds.games.protocol import Game
from otherminds.games.rollout import game_key
from otherminds.tom.agents.base import Decision
from otherminds.tom.agents.language_model import LanguageModelAgent
from otherminds.tom.agents.mind import MindAgent
from otherminds.tom.agents.stand_in import StandIn
from otherminds.tom.agents.words import Words
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.config import ConfigError
from otherminds.tom.experiments.decrypto.settings import deciding, digest_of, generation_json
from otherminds.tom.experiments.decrypto.standing import refuse_matches, turns_played
from otherminds.tom.experiments.driver import Played, play
from otherminds.tom.experiments.logs import Log
from otherminds.tom.experiments.model_agents import ModelAgent, is_model, read_model_agent
from otherminds.tom.experiments.records import CODE_INDEX, DECRYPTO, read_log
from otherminds.tom.experiments.run import ModelSeat, decision_of, observation_json, stand_in
from otherminds.tom.experiments.running import (
    Asked,
    Finished,
    Session,
    begin_game,
    header,
    how_it_came,
    read_past,
    run_games,
)
from otherminds.tom.llm.client import GenerationSettings
from otherminds.tom.minds.decrypto.registry import is_mind, named


@dataclass(frozen=True)
class ReplaySettings:
    """What a replay is.

    replaced: (role, agent), each in a replay of its own.   seed: of minds that draw and of models' samplers.
    to_the_end: go on after a loss, as far as the recording does.   max_attempts: answers of a model per decision.
    """

    replaced: tuple[tuple[Role, str], ...]
    seed: int = 0
    to_the_end: bool = False
    base_url: str | None = None
    generation: GenerationSettings = field(default_factory=GenerationSettings)
    max_attempts: int = 2


@dataclass(frozen=True)
class Planned:
    """A game to replay. number: of the recorded game in its log."""

    recorded: str
    number: int
    role: Role
    agent: str

    @property
    def game_id(self) -> str:
        return f"{self.recorded} / {self.role.name.lower()} {self.agent}"


class RecordedSeat:
    """Does what was done."""

    def __init__(self, made: dict[int, Decision]) -> None:
        self._made = made

    async def act(self, observation: Observation, key: jax.Array) -> Decision:
        """The recorded decision of this turn."""
        return self._made[int(observation.turn)]

    def see(self, event: Event) -> None:
        """Nothing to do."""


def planned_games(log: Log, settings: ReplaySettings) -> list[Planned]:
    """Every game of a replay: the recorded games with a finished turn, once for each who is replaced.

    Raises: ConfigError where there is nothing to replay, or an agent is neither a mind of the role nor a model.
    """
    if not settings.replaced:
        raise ConfigError("nobody is replaced: give --decoder or --interceptor, each with a list of agents")
    for role, agent in settings.replaced:
        if role == Role.ENCODER:
            raise ConfigError(f"encoder {agent!r}: hints are part of the recording; replace decoder or interceptor")
        if is_mind(agent, role) or not is_model(agent):
            named(agent, role)
        else:
            read_model_agent(agent, role)
    refuse_matches(log)
    games = [game_id for game_id, deal in log.deals.items() if turns_played(deal, log.decisions[game_id])]
    if not games:
        raise ConfigError("the log holds no finished turn; there is nothing to replay")
    return [
        Planned(game_id, number, role, agent)
        for role, agent in settings.replaced
        for number, game_id in enumerate(games)
    ]


async def replay(
    recording: Path,
    vocabulary: Vocabulary,
    path: Path,
    settings: ReplaySettings,
    *,
    on_start: Callable[[], None] | None = None,
    on_game: Callable[[Planned], None] | None = None,
    runner: Callable[..., Awaitable[Finished]] = run_games,
) -> Finished:
    """Replays every game that the log at `path` does not hold yet.

    recording: a log of Decrypto.   on_start: called once everything is checked.   on_game: of every finished game.
    runner: what plays the games; a dry run (see `dry_run`) counts calls in its place.
    Raises: ConfigError, UnknownMind, JournalError, ModelError before any game starts; ModelError in the middle where
        no later call can succeed: the same call goes on from there.
    """
    recorded = read_log(recording)
    planned = planned_games(recorded, settings)
    config = {
        "source": "replay",
        "recording": digest_of(recording),
        "replaced": [f"{role.name.lower()} {agent}" for role, agent in settings.replaced],
        "seed": settings.seed,
        "continue_after_loss": settings.to_the_end,
        "base_url": settings.base_url,
        "generation": generation_json(settings.generation),
        "max_attempts": settings.max_attempts,
    }
    past = read_past(
        path,
        DECRYPTO,
        deciding(config) | {"words": vocabulary.name},
        lambda begun: deciding(begun.config) | {"words": begun.vocabulary},
    )
    left = [game for game in planned if game.game_id not in past.over]
    models = {
        (game.agent, game.role): read_model_agent(game.agent, game.role, generation=settings.generation)
        for game in left
        if _model(game)
    }
    asked = {how.written: Asked(how.model, settings.base_url, how.generation) for how in models.values()}
    most = max(len(deal.codes or ()) for deal in recorded.deals.values())
    minds = {
        (game.agent, game.role): MindAgent(named(game.agent, game.role), vocabulary, LENGTH * most)
        for game in left
        if not _model(game)
    }
    table = _Table(recorded, vocabulary, settings, minds, models, LENGTH * most)
    begun = header("decrypto", config, vocabulary.name)
    return await runner(path, past, begun, asked, planned, table.play, on_start=on_start, on_game=on_game)


def _model(game: Planned) -> bool:
    return not is_mind(game.agent, game.role)


@cache
def _game(keyword_count: int, turns: int, recorded: int, to_the_end: bool) -> Game:
    """The rules, over too where the recording stops."""
    game = decrypto(keyword_count, turns=turns, continue_after_loss=to_the_end)
    if recorded == turns:
        return game
    return game._replace(
        done=lambda state: game.done(state) | (state.turn >= recorded),
        actors=lambda state: game.actors(state) & (state.turn < recorded),
    )


@dataclass(frozen=True)
class _Table:
    """Everything that the games of a replay share."""

    recorded: Log
    vocabulary: Vocabulary
    settings: ReplaySettings
    minds: dict[tuple[str, Role], MindAgent]
    models: dict[tuple[str, Role], ModelAgent]
    spare: int  # rows for words that a mind may come to hear

    def _replacement(
        self, session: Session, planned: Planned, words: Words, view: View, before: dict[int, Decision]
    ) -> Any:
        model = self.models.get((planned.agent, planned.role))
        if model is None:
            return self.minds[planned.agent, planned.role].sit(words, view)
        player = LanguageModelAgent(
            session.clients[planned.agent],
            max_attempts=self.settings.max_attempts,
            think=model.think,
            state=model.state,
            wording=model.wording,
            context=model.context,
            errors=model.errors,
        )
        seat = ModelSeat(player, words, self.vocabulary.keywords, before)
        if not session.stands_in:
            return seat
        mind = stand_in(self.minds, planned.role, self.vocabulary, self.spare)
        return StandIn(seat, mind.sit(words, view), seat.remember)

    async def play(self, session: Session, planned: Planned) -> int:
        """Replays one game, or takes it from the log. Returns the number of answers that failed."""
        game_id = planned.game_id
        if game_id in session.past.over:
            return session.past.over[game_id].failed_answers
        deal, made = self.recorded.deals[planned.recorded], self.recorded.decisions[planned.recorded]
        agents = deal.agents | {planned.role.name.lower(): planned.agent}
        others = [role.name.lower() for role in Role if role != planned.role]
        begun = deal.model_copy(update={"game_id": game_id, "agents": agents, "recorded": others})
        begin_game(session, begun, "keywords, codes or seats")
        codes = [CODE_INDEX[code] for code in deal.codes or ()]
        recorded = len(turns_played(deal, made))
        game = _game(len(self.vocabulary.keywords), len(codes), recorded, self.settings.to_the_end)
        state = begin(jnp.asarray(keyword_places(deal, self.vocabulary)), jnp.asarray(codes))
        words = Words(self.vocabulary, LENGTH * len(codes))
        seats: list[Any] = [
            RecordedSeat({turn: decision_of(line) for (turn, who), line in made.items() if who == role})
            for role in Role
        ]
        before = {place: decision_of(line) for place, line in session.past.decisions.get(game_id, {}).items()}
        own = {turn: decision for (turn, role), decision in before.items() if role == planned.role}
        seats[planned.role] = self._replacement(session, planned, words, game.view(state, planned.role), own)
        failed = sum(decision.action is None for decision in before.values())

        def write_down(played: Played) -> None:
            nonlocal failed
            failed += played.decision.action is None
            session.writer.write(_line(game_id, agents, played, words, self.vocabulary))

        key = game_key(jax.random.key(self.settings.seed), planned.number)
        state = await play(game, state, tuple(seats), words, key, recorded=before, on_decision=write_down)
        session.writer.write(
            journal.GameOver(
                game_id=game_id,
                ending=Ending(int(state.ending)).name.lower(),
                turns=int(state.ending_turn) or int(state.turn),
                miscommunications=int(state.miscommunications),
                interceptions=int(state.interceptions),
                failed_answers=failed,
            )
        )
        return failed


def keyword_places(deal: journal.GameBegun, vocabulary: Vocabulary) -> list[int]:
    """Where a game's keywords stand in the keyword list.

    Raises: JournalError for one that does not stand there.
    """
    places = {word.casefold(): place for place, word in enumerate(vocabulary.keywords)}
    if missing := [word for word in deal.keywords or () if word.casefold() not in places]:
        raise journal.JournalError(
            f"game {deal.game_id!r}: keyword {missing[0]!r} is not in the keyword list; give the list that the game "
            "was played with (--keywords)"
        )
    return [places[word.casefold()] for word in deal.keywords or ()]


def _line(
    game_id: str, agents: dict[str, str], played: Played, words: Words, vocabulary: Vocabulary
) -> journal.Decision:
    decision, action, role = played.decision, played.decision.action, Role(played.role)
    encodes = role == Role.ENCODER
    return journal.Decision(
        game_id=game_id,
        turn=played.turn,
        role=role.name.lower(),
        agent=agents[role.name.lower()],
        observation=observation_json(played.observation, words, vocabulary.keywords),
        action=None if action is None else list(action) if encodes else code_text(action),
        log_probability=decision.log_probability,
        probabilities=decision.probabilities,
        unknown_words=[hint for hint in action or () if hint_vector(vocabulary, hint) is None] if encodes else [],
        **how_it_came(decision, played.seconds),
    )


def replaced_by(lists: Sequence[tuple[Role, Sequence[str]]]) -> tuple[tuple[Role, str], ...]:
    """Who is replaced, each once, from lists by role."""
    return tuple(dict.fromkeys((role, agent) for role, agents in lists for agent in agents))
