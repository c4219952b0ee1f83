"""Runs observers of rock, paper, scissors: writes the log, and resumes after a kill (see `running`).

The matches are played first, the same for every observer. Each observer of each match is a game of its own, so that
a language model watches a match from beginning to end before the next.
"""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from otherminds.games.rollout import deal_key, game_key
from otherminds.games.rps import text
from otherminds.games.rps.catalogue import CODES
from otherminds.games.rps.observation import Ending, State, begin
from otherminds.inference.precision import cached
from otherminds.tom.agents.base import Decision
from otherminds.tom.agents.observer import MindObserver, ModelObserver, pair_text
from otherminds.tom.agents.stand_in import StandIn
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.driver import Played, play
from otherminds.tom.experiments.rps.matches.play import play_matches
from otherminds.tom.experiments.rps.observers.config import (
    ObserverConfig,
    condition,
    is_model,
    unknown_observer,
    validated,
)
from otherminds.tom.experiments.rps.observers.records import (
    GAME,
    OBSERVER,
    Scene,
    deal_json,
    dealt_game,
    observation_json,
    pair_places,
)
from otherminds.tom.experiments.running import (
    Asked,
    Finished,
    Session,
    begin_game,
    check_that_it_answers,
    header,
    how_it_came,
    past_attempts,
    read_past,
    run_games,
)
from otherminds.tom.minds.rps.observer_registry import OBSERVERS, NamedObserver, named_observer

Deals = dict[tuple[int, int], Int[np.ndarray, "2 T"]]
"""The moves of every match, by seed and number."""


STAND_IN = "frequency"
"""The mind that sits in the place of a language model in a dry run."""


@dataclass(frozen=True)
class PlannedMatch:
    """One observer of one match."""

    observer: str
    players: tuple[str, str]
    seed: int
    episode: int

    @property
    def game_id(self) -> str:
        """Its name in the log."""
        return f"{self.observer} on {' v '.join(self.players)} / seed {self.seed} / match {self.episode}"


@dataclass(frozen=True)
class Told:
    """A question that was answered, for whoever follows the run."""

    planned: PlannedMatch
    turn: int
    round: int
    decision: Decision


class CheckedModel(ModelObserver):
    """A language model that stops the run where it is gone."""

    async def act(self, observation: Any, key: jax.Array) -> Decision:
        """As `ModelObserver`. Raises: ModelError if the model is gone."""
        decision = await super().act(observation, key)
        if decision.failure == "call":
            await check_that_it_answers(self.client)
        return decision


def planned_matches(config: ObserverConfig) -> list[PlannedMatch]:
    """Every game of a run: match by match, and the observers of each."""
    return [
        PlannedMatch(observer, (config.player1, config.player2), seed, episode)
        for seed in config.seeds
        for episode in range(config.matches)
        for observer in config.observers
    ]


def asked_models(config: ObserverConfig) -> dict[str, Asked]:
    """The observers that are language models, and how they are asked.

    Raises: ConfigError for an observer that is neither a mind nor provider/name, and for an option that is none;
        UnknownMind for an option of a mind; ModelError for a provider or a base URL that cannot be.
    """
    models = {}
    for observer in config.observers:
        if is_model(observer):
            how = condition(observer, config)
            models[observer] = Asked(how.model, config.base_url, how.generation)
        elif observer.partition(":")[0] in OBSERVERS:
            _named(observer, config.legacy_decimals)
        else:
            raise unknown_observer(observer)
    return models


def deal_matches(config: ObserverConfig) -> Deals:
    """Plays the matches. Raises: ValueError for players that do not exist, or cannot play so."""
    deals = {}
    for seed in config.seeds:
        played = play_matches(
            config.player1,
            config.player2,
            config.matches,
            config.rounds,
            seed=seed,
            legacy_iid=config.legacy_iid,
            legacy_decimals=config.legacy_decimals,
        )
        deals |= {(seed, episode): moves.astype(np.int32) for episode, moves in enumerate(played)}
    return deals


def labels_of(key: jax.Array, shuffle: bool) -> str:
    """The label of each strategy of the catalogue, in its order: its code, or the codes in an order of the match.

    key: the match's (`game_key`).
    """
    if not shuffle:
        return "".join(CODES)
    order = np.asarray(jax.random.permutation(jax.random.fold_in(deal_key(key), 1), len(CODES)))
    return "".join(CODES[place] for place in order)


async def run(
    config: ObserverConfig,
    path: Path,
    *,
    on_start: Callable[[], None] | None = None,
    on_game: Callable[[PlannedMatch], None] | None = None,
    on_decision: Callable[[Told], None] | None = None,
    runner: Callable[..., Awaitable[Finished]] = run_games,
) -> Finished:
    """Has every match watched by every observer that the log does not hold yet.

    path: the log. A question whose answer it holds is not put again.
    on_start: called once everything is checked.   on_game, on_decision: told of every finished game and every new
        decision.
    runner: what plays the games; a dry run (see `dry_run`) counts calls in its place.
    Raises: ConfigError, UnknownMind, JournalError, ModelError, and ValueError for players that cannot play, before any
        game starts; ModelError in the middle where no later call can succeed: what was played is in the log, and the
        same call goes on from there.
    """
    models = asked_models(config)
    begun = header(GAME, config.model_dump(mode="json"), wording_name(config.legacy_decimals))
    past = read_past(
        path,
        OBSERVER,
        config.identity() | {"texts": begun.vocabulary},
        lambda other: validated(**other.config).identity() | {"texts": other.vocabulary},
    )
    deals = deal_matches(config)
    planned = planned_matches(config)
    needed = {one.observer for one in planned if one.game_id not in past.over}
    matches = _Matches(config, deals, on_decision)
    asked = {observer: how for observer, how in models.items() if observer in needed}
    return await runner(path, past, begun, asked, planned, matches.play, on_start=on_start, on_game=on_game)


def wording_name(legacy_decimals: bool) -> str:
    """The name and content hash of what language models are told."""
    told = (text.TASK, text.REASONING, text.format_text(), text.catalogue_text("".join(CODES), legacy_decimals))
    return f"{len(CODES)} strategies, texts {hashlib.sha256(chr(10).join(told).encode()).hexdigest()[:8]}"


def decision_of(line: journal.Decision) -> Decision:
    """The decision that a line of the log records."""
    action = None if line.action is None else pair_places(line.action)
    return Decision(action, past_attempts(line), statement=line.statement, reasoning=line.reasoning)


@cached
def _named(observer: str, legacy_decimals: bool) -> NamedObserver:
    return named_observer(observer, legacy_decimals=legacy_decimals)


class _Matches:
    """Everything that the games of a run share."""

    def __init__(self, config: ObserverConfig, deals: Deals, on_decision: Callable[[Told], None] | None) -> None:
        self.config, self.deals, self.on_decision = config, deals, on_decision
        players = (config.player1, config.player2)
        scene = Scene(players, config.asking, config.legacy_iid, config.legacy_decimals)
        self.game = dealt_game(config.asking, scene.truth)

    def _seat(
        self, session: Session, observer: str, labels: str, state: State
    ) -> MindObserver | CheckedModel | StandIn:
        config, view = self.config, self.game.view(state, 0)
        if observer not in session.clients:
            return MindObserver(_named(observer, config.legacy_decimals), view)
        wording = config.wording(condition(observer, config).sections)
        model = CheckedModel(session.clients[observer], labels, config.asking, wording, config.max_attempts)
        if not session.stands_in:
            return model
        return StandIn(model, MindObserver(_named(STAND_IN, config.legacy_decimals), view))

    async def play(self, session: Session, planned: PlannedMatch) -> int:
        """Has one observer watch one match, or takes it from the log. Returns the number of answers that failed."""
        game_id = planned.game_id
        if game_id in session.past.over:
            return session.past.over[game_id].failed_answers
        config, key = self.config, game_key(jax.random.key(planned.seed), planned.episode)
        moves, labels = self.deals[planned.seed, planned.episode], labels_of(key, config.shuffle)
        deal = deal_json(
            planned.players,
            moves,
            labels,
            config.asking,
            legacy_iid=config.legacy_iid,
            legacy_decimals=config.legacy_decimals,
        )
        begun = journal.GameBegun(
            game_id=game_id,
            agents={"observer": planned.observer},
            seed=planned.seed,
            episode=planned.episode,
            deal=deal,
        )
        begin_game(session, begun, "moves or labels")
        state = begin(jnp.asarray(moves), config.asking)
        seat = self._seat(session, planned.observer, labels, state)
        recorded = {place: decision_of(line) for place, line in session.past.decisions.get(game_id, {}).items()}
        failed = sum(decision.action is None for decision in recorded.values())

        def write_down(played: Played) -> None:
            nonlocal failed
            failed += played.decision.action is None
            session.writer.write(_line(planned, played))
            if self.on_decision is not None:
                now = int(played.observation.round)
                self.on_decision(Told(planned, played.turn, now, played.decision))

        state = await play(self.game, state, (seat,), None, key, recorded=recorded, on_decision=write_down)
        session.writer.write(
            journal.GameOver(
                game_id=game_id,
                ending=Ending(int(state.ending)).name.lower(),
                turns=int(state.turn),
                failed_answers=failed,
            )
        )
        return failed


def _line(planned: PlannedMatch, played: Played) -> journal.Decision:
    decision, seen = played.decision, played.observation
    return journal.Decision(
        game_id=planned.game_id,
        turn=played.turn,
        role="observer",
        agent=planned.observer,
        observation=observation_json(int(seen.round), int(seen.first)),
        action=None if decision.action is None else pair_text(decision.action),
        statement=decision.statement,
        reasoning=decision.reasoning,
        **how_it_came(decision, played.seconds),
    )
