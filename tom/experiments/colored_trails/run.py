"""Runs negotiations between minds and language models: writes the log, and resumes after a kill (see `running`)."""

import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from otherminds.games.colored_trails import text
from otherminds.games.colored_trails.board import PLAYERS, Board
from otherminds.games.colored_trails.rules import Ending, Role, Rules, State, View, begin, colored_trails
from otherminds.games.colored_trails.utility import deal
from otherminds.games.protocol import Game
from otherminds.games.rollout import game_key
from otherminds.tom.agents.base import Decision
from otherminds.tom.agents.negotiator import MindNegotiator, ModelNegotiator
from otherminds.tom.agents.stand_in import StandIn
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.colored_trails.config import NegotiationConfig, is_model, unknown_agent, validated
from otherminds.tom.experiments.colored_trails.panel import PlannedGame, boards_name, planned_games
from otherminds.tom.experiments.colored_trails.records import (
    COLORED_TRAILS,
    GAME,
    ROLES,
    chips_of,
    chips_text,
    deal_json,
)
from otherminds.tom.experiments.driver import Played, play
from otherminds.tom.experiments.logs import Log
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
from otherminds.tom.minds.colored_trails.fast import faster
from otherminds.tom.minds.colored_trails.registry import named_negotiator, names
from otherminds.tom.minds.spec import UnknownMind

STAND_IN = "order1"
"""The mind that sits in the place of a language model in a dry run."""


class CheckedModel(ModelNegotiator):
    """A language model that stops the run where it is gone."""

    async def act(self, observation: Any, key: jax.Array) -> Decision:
        """As `ModelNegotiator`. Raises: ModelError if the model is gone."""
        decision = await super().act(observation, key)
        if decision.failure == "call":
            await check_that_it_answers(self.client)
        return decision


def asked_models(config: NegotiationConfig) -> dict[str, Asked]:
    """The agents that are language models, and how they are asked.

    Raises: ConfigError for an agent that is neither a mind nor provider/name; UnknownMind for an option of a mind.
    """
    models = {}
    for agent in config.agents:
        if is_model(agent):
            models[agent] = Asked(agent, config.base_url, config.generation)
            continue
        name = agent.partition(":")[0]
        try:
            named_negotiator(name, config.rules)
        except UnknownMind:
            raise unknown_agent(agent, names()) from None
        named_negotiator(agent, config.rules)
    return models


def moves_to_come(config: NegotiationConfig, planned: list[PlannedGame], past: Log) -> int:
    """The most moves that language models can be asked for, of those that the log does not hold."""
    count = 0
    for game in planned:
        if game.game_id not in past.over:
            made = len(past.decisions.get(game.game_id, {}))
            count += sum(is_model(game.agents[move % PLAYERS]) for move in range(made, config.limit))
    return count


async def run(
    config: NegotiationConfig,
    path: Path,
    *,
    planned: list[PlannedGame] | None = None,
    on_start: Callable[[int], None] | None = None,
    on_game: Callable[[PlannedGame], None] | None = None,
    on_decision: Callable[[], None] | None = None,
    runner: Callable[..., Awaitable[Finished]] = run_games,
) -> Finished:
    """Plays every negotiation that the log does not hold yet.

    path: the log. A move that it holds is not asked for again.
    planned: of `planned_games`, where they are known already: a search for boards takes its time.
    on_start: called once everything is checked, with the most moves that language models will be asked for.
    on_game, on_decision: told of every finished game and every new move, for a progress bar.
    runner: what plays the games; a dry run (see `dry_run`) counts calls in its place.
    Raises: ConfigError, UnknownMind, JournalError, ModelError, and ValueError for boards that cannot be had, before any
        game starts; ModelError in the middle where no later call can succeed: what was played is in the log, and the
        same call goes on from there.
    """
    models = asked_models(config)
    planned = planned_games(config) if planned is None else planned
    begun = header(GAME, config.model_dump(mode="json"), f"{boards_name(planned)}, texts {_texts_hash(config)}")
    past = read_past(
        path,
        COLORED_TRAILS,
        config.identity() | {"boards": begun.vocabulary},
        lambda other: validated(**other.config).identity() | {"boards": other.vocabulary},
    )
    seated = {agent for game in planned if game.game_id not in past.over for agent in game.agents}
    asked = {agent: how for agent, how in models.items() if agent in seated}
    tables = _Tables(config, on_decision)
    coming = moves_to_come(config, planned, past)

    def start() -> None:
        if on_start is not None:
            on_start(coming)

    return await runner(path, past, begun, asked, planned, tables.play, on_start=start, on_game=on_game)


def _texts_hash(config: NegotiationConfig) -> str:
    """A content hash of what language models read, whatever the board."""
    wording, rules = config.wording(deception=True), config.rules
    told = text.rules_text(rules, wording), text.format_text(rules.layout, wording)
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:8]


@cache
def dealt_game(rules: Rules) -> Game:
    """The game of boards that are dealt already; one for all, so that its functions compile once."""

    def dealt(key: Any) -> Any:
        raise NotImplementedError("the board is dealt before the game")

    return colored_trails(rules, dealt)


@cache
def _dealer(rules: Rules) -> Callable[[Board], State]:
    """A negotiation on a board, before its first move."""
    return jax.jit(lambda board: begin(rules, deal(rules.layout, board, rules.scoring)))


def opening(rules: Rules, board: Board) -> State:
    """A negotiation on a board, before its first move. board: of arrays."""
    return _dealer(rules)(Board(*(jnp.asarray(part, jnp.int32) for part in board)))


def decision_of(line: journal.Decision, deal: journal.GameBegun) -> Decision:
    """The decision that a line of the log records."""
    code = None
    if line.action is not None:
        pool = [sum(held) for held in zip(*deal.deal["chips"], strict=True)]
        stride = np.cumprod([1, *(count + 1 for count in pool[:-1])])
        code = int(np.dot(chips_of(line.action, pool), stride))
    return Decision(
        code,
        past_attempts(line),
        line.log_probability,
        reasoning=line.reasoning,
        message=line.message,
    )


class _Tables:
    """Everything that the games of a run share."""

    def __init__(self, config: NegotiationConfig, on_decision: Callable[[], None] | None) -> None:
        self.config, self.on_decision = config, on_decision
        self.game = dealt_game(config.rules)

    def _seat(
        self, session: Session, planned: PlannedGame, role: Role, state: State, said: dict[int, str]
    ) -> MindNegotiator | CheckedModel | StandIn:
        agent, config = planned.agents[role], self.config
        view = self.game.view(state, role)
        if agent not in session.clients:
            return _mind(agent, config.rules, view)
        wording = config.wording(planned.deception)
        model = CheckedModel(session.clients[agent], config.rules, view, said, wording, config.max_attempts)
        if not session.stands_in:
            return model

        def say(turn: int, answer: str) -> None:
            if wording.talk:
                said[turn] = json.loads(answer)["message"]

        return StandIn(model, _mind(STAND_IN, config.rules, view), say)

    async def play(self, session: Session, planned: PlannedGame) -> int:
        """Plays one game, or takes it from the log. Returns the number of answers that failed."""
        game_id, rules = planned.game_id, self.config.rules
        if game_id in session.past.over:
            return session.past.over[game_id].failed_answers
        begun = journal.GameBegun(
            game_id=game_id,
            agents=dict(zip(ROLES, planned.agents, strict=True)),
            seed=planned.seed,
            episode=planned.episode,
            deal={"board": planned.name} | deal_json(rules, planned.board) | {"condition": planned.condition},
        )
        begin_game(session, begun, "boards or conditions")
        past = session.past.decisions.get(game_id, {})
        recorded = {place: decision_of(line, begun) for place, line in past.items()}
        said = {turn: made.message for (turn, _), made in recorded.items() if made.message}
        failed = sum(decision.action is None for decision in recorded.values())
        state = opening(rules, planned.board)
        held = np.asarray(state.deal.offers.chips)
        seats = tuple(self._seat(session, planned, role, state, said) for role in Role)

        def write_down(played: Played) -> None:
            nonlocal failed
            failed += played.decision.action is None
            if played.decision.message:
                said[played.turn] = played.decision.message
            session.writer.write(_line(planned, played, held))
            if self.on_decision is not None:
                self.on_decision()

        key = game_key(jax.random.key(planned.seed), planned.episode)
        state = await play(self.game, state, seats, None, key, recorded=recorded, on_decision=write_down)
        ending = Ending(int(state.ending)).name.lower()
        session.writer.write(
            journal.GameOver(game_id=game_id, ending=ending, turns=int(state.turn), failed_answers=failed)
        )
        return failed


def _mind(agent: str, rules: Rules, view: View) -> MindNegotiator:
    named = named_negotiator(agent, rules)
    return MindNegotiator(replace(named, mind=faster(named.mind, rules)), view)


def _line(planned: PlannedGame, played: Played, held: np.ndarray) -> journal.Decision:
    """held: [N, K] chips under each code."""
    decision = played.decision
    return journal.Decision(
        game_id=planned.game_id,
        turn=played.turn,
        role=ROLES[played.role],
        agent=planned.agents[played.role],
        observation={},
        action=None if decision.action is None else chips_text(held[decision.action].tolist()),
        log_probability=decision.log_probability,
        reasoning=decision.reasoning,
        message=decision.message,
        **how_it_came(decision, played.seconds),
    )
