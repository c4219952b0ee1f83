"""Matches of two teams at the table: agents of any kind, a log that resumes after a kill.

The log has a game for each channel, with the codes of one team, so that every decision is compared with minds as in the
game of three; `deal` says which match it is of. In the first round the interceptors are not asked: their lines are
marked as skipped.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

from otherminds.games.decrypto.rules import Ending, Role, code_text
from otherminds.games.decrypto.two_teams import FIRST_INTERCEPTION, TEAMS, Match, Round, place_of, seat_of, two_teams
from otherminds.games.decrypto.vocabulary import Vocabulary
from otherminds.games.rollout import deal_key, game_key
from otherminds.tom.agents.base import Decision
from otherminds.tom.agents.words import Words
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.config import DecryptoConfig
from otherminds.tom.experiments.decrypto.matches import Team, pairs, seated
from otherminds.tom.experiments.driver import Played, play
from otherminds.tom.experiments.logs import Log
from otherminds.tom.experiments.run import Tables, decision_of, run_planned
from otherminds.tom.experiments.running import Finished, Session, begin_game


class ChannelSeat:
    """Somebody in one channel, who hears nothing of the other."""

    def __init__(self, seat: Any, channel: int) -> None:
        self._seat, self._channel = seat, channel

    async def act(self, observation: Any, key: jax.Array) -> Decision:
        """A decision in the channel."""
        return await self._seat.act(observation, key)

    def see(self, event: Round) -> None:
        """The channel's part of a finished round."""
        self._seat.see(event.channels[self._channel])


@dataclass(frozen=True)
class PlannedMatch:
    """One match of a run."""

    teams: tuple[Team, Team]
    seed: int
    episode: int

    @property
    def game_id(self) -> str:
        """The match's name."""
        one, two = (" + ".join(team) for team in self.teams)
        return f"{one} against {two} / seed {self.seed} / episode {self.episode}"

    @property
    def parts(self) -> tuple[str, ...]:
        """What its two games are called in the log."""
        return tuple(f"{self.game_id} / codes of team {team}" for team in range(1, TEAMS + 1))

    @property
    def agents(self) -> tuple[str, ...]:
        """Who takes each of the six places."""
        return seated(self.teams)

    @property
    def seats(self) -> list[tuple[str, Role]]:
        """Who sits there, and as what."""
        return [(agent, seat_of(place)[1]) for place, agent in enumerate(self.agents)]

    def is_over(self, past: Log) -> bool:
        """Whether the log holds all of it."""
        return all(part in past.over for part in self.parts)


def planned_matches(config: DecryptoConfig) -> list[PlannedMatch]:
    """Every match of a run: each two of its tables. Matches of one seed and episode have the same deal."""
    return [
        PlannedMatch(teams, seed, episode)
        for seed in config.seeds
        for episode in range(config.episodes)
        for teams in pairs(config.tables())
    ]


async def run_matches(config: DecryptoConfig, vocabulary: Vocabulary, path: Path, **told: Any) -> Finished:
    """Plays every match of the configuration that the log does not hold yet. Arguments and errors: as `run.run`."""
    return await run_planned(config, vocabulary, path, planned_matches(config), play_match, **told)


async def play_match(tables: Tables, session: Session, planned: PlannedMatch) -> int:
    """Plays one match, or takes it from the log. Returns the number of answers that failed."""
    if planned.is_over(session.past):
        return sum(session.past.over[part].failed_answers for part in planned.parts)
    game = two_teams(len(tables.vocabulary.keywords), turns=tables.config.turns)
    key = game_key(jax.random.key(planned.seed), planned.episode)
    match: Match = game.init(deal_key(key))
    words, failed = Words(tables.vocabulary, tables.spare), [0] * TEAMS
    recorded: dict[tuple[int, int], Decision] = {}
    for channel, part in enumerate(planned.parts):
        begin_game(session, _deal(tables, planned, match, channel), "keywords or codes")
        past = session.past.decisions.get(part, {})
        made = {place: decision_of(line) for place, line in past.items() if not line.skipped}
        recorded |= {(turn, place_of(channel, role)): decision for (turn, role), decision in made.items()}
        failed[channel] = sum(decision.action is None for decision in made.values())
        for turn in range(FIRST_INTERCEPTION):
            if (turn, Role.DECODER) in past and (turn, Role.INTERCEPTOR) not in past:  # killed between the two lines
                session.writer.write(_skipped(planned, channel, turn))
    seats = tuple(
        ChannelSeat(
            tables.seat(
                session,
                agent,
                seat_of(place)[1],
                match.channels[seat_of(place)[0]],
                words,
                {turn: decision for (turn, who), decision in recorded.items() if who == place},
            ),
            seat_of(place)[0],
        )
        for place, agent in enumerate(planned.agents)
    )
    write_down = _writer_of(tables, session, planned, words, failed)
    match = await play(game, match, seats, words, key, recorded=recorded, on_decision=write_down)
    for channel, (part, state) in enumerate(zip(planned.parts, match.channels, strict=True)):
        if part not in session.past.over:
            session.writer.write(
                journal.GameOver(
                    game_id=part,
                    ending=Ending(int(state.ending)).name.lower(),
                    turns=int(state.ending_turn) or int(state.turn),
                    miscommunications=int(state.miscommunications),
                    interceptions=int(state.interceptions),
                    failed_answers=failed[channel],
                )
            )
    return sum(failed)


def _deal(tables: Tables, planned: PlannedMatch, match: Match, channel: int) -> journal.GameBegun:
    state = match.channels[channel]
    return journal.GameBegun(
        game_id=planned.parts[channel],
        agents={role.name.lower(): planned.agents[place_of(channel, role)] for role in Role},
        seed=planned.seed,
        episode=planned.episode,
        keywords=[tables.vocabulary.keywords[int(index)] for index in state.keywords],
        codes=[code_text(int(code)) for code in state.codes],
        deal={"match": planned.game_id, "team": channel + 1},
    )


def _writer_of(
    tables: Tables, session: Session, planned: PlannedMatch, words: Words, failed: list[int]
) -> Callable[[Played], None]:
    """Writes a decision down, and after the decoder's that nobody was to intercept; counts what failed by channel."""

    def write_down(played: Played) -> None:
        channel, role = seat_of(played.role)
        failed[channel] += played.decision.action is None
        agent = planned.agents[played.role]
        session.writer.write(tables.line(planned.parts[channel], agent, role, played, words))
        if role == Role.DECODER and played.turn < FIRST_INTERCEPTION:
            session.writer.write(_skipped(planned, channel, played.turn))
        if tables.on_decision is not None:
            tables.on_decision()

    return write_down


def _skipped(planned: PlannedMatch, channel: int, turn: int) -> journal.Decision:
    return journal.Decision(
        game_id=planned.parts[channel],
        turn=turn,
        role=Role.INTERCEPTOR.name.lower(),
        agent=planned.agents[place_of(channel, Role.INTERCEPTOR)],
        observation={},
        action=None,
        skipped=True,
    )
