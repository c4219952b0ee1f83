"""Colored Trails: two players with hidden goals negotiate, by turns, who gets which chips.

Role 0 offers first. A move is the code of the chips that its player would hold (see offers.py): the code of its own
chips withdraws from the negotiation, that of the offer on the table accepts it, any other rejects it and offers anew.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from otherminds.games.colored_trails.board import Layout
from otherminds.games.colored_trails.checks import check_number, check_whole
from otherminds.games.colored_trails.offers import Offers
from otherminds.games.colored_trails.utility import Deal, Scoring
from otherminds.games.protocol import NO_ANSWER, Game

MOST_MOVES = 10_000
"""That a limit may allow: all moves of a game are kept."""


class Role(IntEnum):
    """Who offers first, and who answers."""

    INITIATOR = 0
    RESPONDER = 1


class Action(IntEnum):
    """What a move does."""

    OFFER = 0
    ACCEPT = 1
    WITHDRAW = 2


class Ending(IntEnum):
    """How a negotiation ends. A move limit ends it without a trade."""

    ONGOING = 0
    ACCEPTED = 1
    WITHDRAWN = 2
    MOVE_LIMIT = 3


@dataclass(frozen=True)
class Rules:
    """What is played.

    cost: points that every move, also the last one, costs both players.   limit: at most so many moves.
    charged: whether the cost is taken from the score; False: players only reckon with it (de Weerd's program).
    Raises: ValueError for a cost below 0, for a limit below 1 or above 10,000, and for what is no such number.
    """

    layout: Layout = field(default_factory=Layout)
    scoring: Scoring = field(default_factory=Scoring)
    cost: float = 0.1
    limit: int = 40
    charged: bool = True

    def __post_init__(self):
        check_number("cost", self.cost, 0)
        check_whole("limit", self.limit, 1, MOST_MOVES)


class State(NamedTuple):
    """A negotiation after some of its at most T moves."""

    deal: Deal
    kept: Int[Array, "*batch T"]  # move t, by role t % 2: what it would hold; NO_ANSWER: failed, or not made yet
    turn: Int[Array, "*batch"]  # moves made
    ending: Int[Array, "*batch"]


class View(NamedTuple):
    """What a player knows from the start: everything but the other's goal."""

    role: Int[Array, "*batch"]
    goal: Int[Array, "*batch"]  # its own
    tiles: Int[Array, "*batch R C"]
    chips: Int[Array, "*batch 2 K"]
    offers: Offers
    utility: Float[Array, "*batch G N"]  # of every offer for every goal, its own and the other's alike


class Observation(NamedTuple):
    """What the player who moves knows now, beside its view."""

    role: Int[Array, "*batch"]
    turn: Int[Array, "*batch"]  # moves made
    incoming: Int[Array, "*batch"]  # the offer on the table: the code of what this player would hold; NO_ANSWER: none
    kept: Int[Array, "*batch T"]  # all moves so far, each as the code of what its player would hold


class Event(NamedTuple):
    """A move, as both see it. `valid` is False once the game is over."""

    valid: Bool[Array, "*batch"]
    actor: Int[Array, "*batch"]  # role
    kept: Int[Array, "*batch"]  # what the actor would hold; NO_ANSWER: it gave no answer, and so withdrew
    action: Int[Array, "*batch"]


def begin(rules: Rules, deal: Deal) -> State:
    """A negotiation before its first move."""
    zero = jnp.int32(0)
    return State(deal, jnp.full(rules.limit, NO_ANSWER, jnp.int32), zero, zero)


def view(state: State, role: int | Array) -> View:
    """What `role` knows from the start."""
    board = state.deal.board
    return View(
        jnp.asarray(role, jnp.int32), board.goals[role], board.tiles, board.chips, state.deal.offers, state.deal.utility
    )


def on_table(state: State) -> Int[Array, ""]:
    """The offer on the table, as the code of what the player who moves would hold; NO_ANSWER before the first."""
    last = state.kept[jnp.maximum(state.turn - 1, 0)]
    return jnp.where(state.turn > 0, state.deal.offers.flip[last], NO_ANSWER)


def is_offer(offers: Offers, kept: int | Array) -> Bool[Array, ""]:
    """Whether a number is the code of an offer: not padding, not NO_ANSWER, not beyond all codes."""
    kept = jnp.asarray(kept)
    return (kept >= 0) & (kept < offers.valid.shape[-1]) & offers.valid[jnp.maximum(kept, 0)]


def action_of(offers: Offers, role: int | Array, incoming: int | Array, kept: int | Array) -> Int[Array, ""]:
    """The `Action` that a move is; NO_ANSWER and a code that is no offer withdraw."""
    kept = jnp.asarray(kept)
    withdraws = (kept == offers.own[role]) | ~is_offer(offers, kept)
    return jnp.where(withdraws, Action.WITHDRAW, jnp.where(kept == incoming, Action.ACCEPT, Action.OFFER))


def step(rules: Rules, state: State, kept: Int[Array, ""] | int) -> tuple[State, Event]:
    """One move of the player whose turn it is. A game that is over stays as it is."""
    role, offers = state.turn % 2, state.deal.offers
    going = state.ending == Ending.ONGOING
    kept = jnp.asarray(kept, jnp.int32)
    kept = jnp.where(is_offer(offers, kept), kept, NO_ANSWER)
    action = action_of(offers, role, on_table(state), kept)
    last = jnp.where(state.turn + 1 >= rules.limit, Ending.MOVE_LIMIT, Ending.ONGOING)
    ending = jnp.where(
        action == Action.ACCEPT, Ending.ACCEPTED, jnp.where(action == Action.WITHDRAW, Ending.WITHDRAWN, last)
    ).astype(jnp.int32)
    after = State(state.deal, state.kept.at[state.turn].set(kept), state.turn + 1, ending)
    state = State(
        state.deal,
        jnp.where(going, after.kept, state.kept),
        jnp.where(going, after.turn, state.turn),
        jnp.where(going, after.ending, state.ending),
    )
    return state, Event(going, role, kept, action)


def final_codes(state: State) -> Int[Array, "2"]:
    """What each player holds at the end, as codes: its own chips without an agreement."""
    offers = state.deal.offers
    last = state.kept[jnp.maximum(state.turn - 1, 0)]
    accepter = (state.turn - 1) % 2
    agreed = jnp.where(jnp.arange(2) == accepter, last, offers.flip[last])
    return jnp.where(state.ending == Ending.ACCEPTED, agreed, offers.own)


def scores(rules: Rules, state: State) -> Float[Array, "2"]:
    """Points at the end: U(chips held) - cost x moves."""
    worth = state.deal.utility[state.deal.board.goals, final_codes(state)]
    return worth - rules.cost * state.turn * rules.charged


def gained(rules: Rules, state: State) -> Float[Array, "2"]:
    """Score less the worth of the chips dealt: what the negotiation has brought each player."""
    deal = state.deal
    return scores(rules, state) - deal.utility[deal.board.goals, deal.offers.own]


def colored_trails(rules: Rules, draw: Any) -> Game:
    """The game. draw(key) -> Deal: how boards come about (see generation.py), or one that is given."""

    def observe(state: State, role: int | Array) -> Observation:
        return Observation(jnp.asarray(role, jnp.int32), state.turn, on_table(state), state.kept)

    def actors(state: State) -> Bool[Array, "2"]:
        return (state.ending == Ending.ONGOING) & (jnp.arange(2) == state.turn % 2)

    def play(key: PRNGKeyArray | None, state: State, joint: dict[int, Any]) -> tuple[State, Event]:
        del key
        (kept,) = joint.values()
        return step(rules, state, kept)

    def imagine(view: View, role: int, hypothesis: Int[Array, ""]) -> View:
        """What `role` would know if its goal were `hypothesis`."""
        return view._replace(role=jnp.asarray(role, jnp.int32), goal=jnp.asarray(hypothesis, jnp.int32))

    return Game(
        name="colored-trails",
        roles=tuple(role.name.lower() for role in Role),
        schedule=((Role.INITIATOR,), (Role.RESPONDER,)),
        rounds=(rules.limit + 1) // 2,
        init=lambda key: begin(rules, draw(key)),
        view=view,
        observe=observe,
        actors=actors,
        legal=lambda state, role: state.deal.offers.valid,
        step=play,
        done=lambda state: state.ending != Ending.ONGOING,
        returns=lambda state: gained(rules, state),
        imagine=imagine,
        no_action=lambda role: jnp.int32(NO_ANSWER),
    )
