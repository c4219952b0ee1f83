"""Decrypto for two teams: both encode, both decode, and each intercepts the other.

A match is two games of `rules` side by side, its channels: in channel t the encoder and the decoder are those of team t
and the interceptor is the other team's. Nobody in one channel needs the other to decide, so whoever plays the game of
three plays this one unchanged. What joins the channels is the end of the match. A round is a turn of both; in the first
there is nothing yet to intercept from, so nobody does. A team with two interceptions has won, one with two
miscommunications has lost. Where that does not name one winner (both, or neither after eight rounds), the larger number
of interceptions less miscommunications wins; equal ones are a draw.
"""

from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from otherminds.games.decrypto import rules
from otherminds.games.decrypto.rules import CODES, TOKENS_TO_LOSE, TURNS, Role
from otherminds.games.protocol import NO_ANSWER, Game

TEAMS = 2
FIRST_INTERCEPTION = 1
"""The round, from 0, from which codes are intercepted."""


class Winner(IntEnum):
    """Who has won a match."""

    NOBODY_YET = -1
    FIRST = 0
    SECOND = 1
    DRAW = 2


class Match(NamedTuple):
    """Both channels, and who has won."""

    channels: tuple[rules.State, rules.State]
    winner: Int[Array, "..."]  # Winner

    @property
    def turn(self) -> Int[Array, "..."]:
        """Finished rounds."""
        return self.channels[0].turn


class Round(NamedTuple):
    """What both channels show of a finished round. `valid` is False for steps that finish none."""

    valid: Bool[Array, "..."]
    channels: tuple[rules.Event, rules.Event]


def place_of(channel: int, role: Role) -> int:
    """The number of a role of a channel among the six of a match."""
    return len(Role) * channel + role


def seat_of(place: int) -> tuple[int, Role]:
    """Channel and role of one of the six. The interceptor of a channel is of the other channel's team."""
    return place // len(Role), Role(place % len(Role))


def deal(key: PRNGKeyArray, keyword_count: int, turns: int = TURNS) -> Match:
    """A new match: eight different keywords, four a team, and each team's codes."""
    keyword_key, *code_keys = jax.random.split(key, 1 + TEAMS)
    keywords = jax.random.choice(keyword_key, keyword_count, (TEAMS, rules.SLOTS), replace=False)
    codes = [jax.random.permutation(own, len(CODES))[:turns] for own in code_keys]
    channels = [rules.begin(own, drawn) for own, drawn in zip(keywords, codes, strict=True)]
    return Match(tuple(channels), jnp.int32(Winner.NOBODY_YET))


def result(
    miscommunications: Int[Array, "2 ..."] | Int[np.ndarray, "2 ..."],
    interceptions: Int[Array, "2 ..."] | Int[np.ndarray, "2 ..."],
    last: Bool[Array, "..."] | Bool[np.ndarray, "..."] | bool,
) -> Int[Array, "..."]:
    """The Winner after a round.

    miscommunications: a team's own.   interceptions: made by a team, of the other's codes.   last: no round is left.
    """
    misses, catches = jnp.asarray(miscommunications), jnp.asarray(interceptions)
    ahead = (catches >= TOKENS_TO_LOSE) | (misses[::-1] >= TOKENS_TO_LOSE)
    points = catches - misses
    by_points = jnp.where(
        points[0] == points[1], int(Winner.DRAW), jnp.where(points[0] > points[1], int(Winner.FIRST), Winner.SECOND)
    )
    one = ahead[0] ^ ahead[1]
    decided = jnp.where(one, jnp.where(ahead[0], int(Winner.FIRST), int(Winner.SECOND)), by_points)
    return jnp.where(ahead.any(0) | last, decided, int(Winner.NOBODY_YET))


def observe(match: Match, place: int) -> rules.Observation:
    """What one of the six may know now: its channel alone."""
    channel, role = seat_of(place)
    return rules.observe(match.channels[channel], role)


def actors(match: Match) -> Bool[Array, "6"]:
    """[6] who acts now: both encoders, then everybody else; in the first round no interceptor."""
    acting = jnp.stack([rules.actors(own, continue_after_loss=True) for own in match.channels])
    intercepts = jnp.arange(len(Role)) == Role.INTERCEPTOR
    acting = acting & ~(intercepts & (match.turn < FIRST_INTERCEPTION))
    return acting.ravel() & (match.winner == Winner.NOBODY_YET)


def step(key: PRNGKeyArray | None, match: Match, joint_action: dict[int, Any]) -> tuple[Match, Round]:
    """One phase: the hints of both encoders, or everybody's guesses. A finished match absorbs.

    A guess of an interceptor in the first round counts for nothing, and need not be there.
    """
    over = match.winner != Winner.NOBODY_YET
    stepped = []
    for channel, state in enumerate(match.channels):
        joint = {role: joint_action[place] for role in Role if (place := place_of(channel, role)) in joint_action}
        if Role.ENCODER not in joint:
            caught = jnp.int32(joint.get(Role.INTERCEPTOR, NO_ANSWER))
            joint[Role.INTERCEPTOR] = jnp.where(state.turn < FIRST_INTERCEPTION, NO_ANSWER, caught)
        stepped.append(rules.step(key, state, joint, continue_after_loss=True))
    (first, one), (second, other) = stepped
    misses = jnp.stack([first.miscommunications, second.miscommunications])
    catches = jnp.stack([second.interceptions, first.interceptions])  # in the other team's channel
    last = first.turn >= first.codes.shape[-1]
    winner = jnp.where(one.valid, result(misses, catches, last), int(Winner.NOBODY_YET))
    after = Match((first, second), winner)
    event = Round(one.valid & ~over, (one, other))
    return jax.tree.map(lambda old, new: jnp.where(over, old, new), match, after), event


def returns(match: Match) -> Float[Array, "6"]:
    """[6] +1 for whoever is of the winning team, -1 for the others; 0 in a draw, and before the end."""
    sign = jnp.select([match.winner == Winner.FIRST, match.winner == Winner.SECOND], [1.0, -1.0], 0.0)
    of_first = [(channel == 0) == (role != Role.INTERCEPTOR) for channel in range(TEAMS) for role in Role]
    return sign * jnp.where(jnp.array(of_first), 1.0, -1.0)


@cache
def two_teams(keyword_count: int, *, turns: int = TURNS) -> Game:
    """The game of two teams over a list of `keyword_count` keywords; its roles are the six of `place_of`.

    Raises: ValueError for fewer than eight keywords, or turns outside 1 to 24.
    """
    if keyword_count < TEAMS * rules.SLOTS:
        raise ValueError(f"keyword_count={keyword_count}: two teams need at least {TEAMS * rules.SLOTS} keywords")
    one = rules.decrypto(keyword_count, turns=turns)
    places = range(TEAMS * len(Role))
    return Game(
        name="decrypto",
        roles=tuple(f"{one.roles[seat_of(place)[1]]} {seat_of(place)[0] + 1}" for place in places),
        schedule=tuple(tuple(place for place in places if seat_of(place)[1] in phase) for phase in one.schedule),
        rounds=turns,
        init=lambda key: deal(key, keyword_count, turns),
        view=lambda match, place: rules.view(match.channels[seat_of(place)[0]], seat_of(place)[1]),
        observe=observe,
        actors=actors,
        legal=lambda match, place: rules.legal(match.channels[seat_of(place)[0]], seat_of(place)[1]),
        step=step,
        done=lambda match: match.winner != Winner.NOBODY_YET,
        returns=returns,
        imagine=lambda view, place, hypothesis: rules.imagine(view, seat_of(place)[1], hypothesis),
        no_action=lambda place: rules.no_action(seat_of(place)[1]),
    )
