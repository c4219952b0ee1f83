"""Negotiations between two minds, as fast as they can be played: one after the other, each until it ends.

Minds of order 1 and up do much in a move and games end early, so that games one by one (`lax.map` over a `while_loop`,
in which a condition skips what it does not need) beat games side by side that all run as long as the longest. Where
both minds are of order 0 a move costs less than the loop around it, and games run in lanes.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from otherminds.games.colored_trails.board import PLAYERS, Board, swapped
from otherminds.games.colored_trails.rules import (
    Ending,
    Rules,
    State,
    begin,
    final_codes,
    gained,
    on_table,
    step,
    view,
)
from otherminds.games.colored_trails.rules import Observation as Seen
from otherminds.games.colored_trails.utility import Deal, Scoring, deal, utilities
from otherminds.games.rollout import decision_key, game_key
from otherminds.inference.devices import map_chunks
from otherminds.tom.minds.colored_trails import order as plain
from otherminds.tom.minds.colored_trails.fast import quickest
from otherminds.tom.minds.colored_trails.negotiator import HIGHEST_ORDER, Negotiator
from otherminds.tom.minds.colored_trails.order import best_choice
from otherminds.tom.minds.colored_trails.variant import DESCRIBED, VARIANTS

CHUNK = 2048
"""Games a jitted call: enough to hide its start, few enough for memory."""
LANES = 64
"""Games side by side where both minds are of order 0."""


class Player(NamedTuple):
    """A mind and what it is made of."""

    mind: Negotiator
    params: Any


class Deals(NamedTuple):
    """Boards with all that follows from them, on a leading axis."""

    deal: Deal
    reach: Bool[Array, "B G N"]  # whether the chips under a code pay for a walk to a goal


class Played(NamedTuple):
    """How games ended. [2] is by role."""

    gained: Float[Array, "*batch 2"]  # points: score less the worth of the chips dealt
    ending: Int[Array, "*batch"]  # see `Ending`
    moves: Int[Array, "*batch"]
    reached: Bool[Array, "*batch 2"]  # whether the chips at the end pay for a walk to the player's goal
    codes: Int[Array, "*batch 2"]  # the chips held at the end

    @property
    def agreed(self) -> Bool[Array | np.ndarray, "*batch"]:
        """Whether an offer was accepted."""
        return self.ending == Ending.ACCEPTED


def deals_of(rules: Rules, boards: Board) -> Deals:
    """The deals of a batch of boards, computed once for all games on them."""
    # Of one type, so that boards from anywhere share a compiled program.
    return _deals_of(rules, Board(*(jnp.asarray(np.asarray(part), jnp.int32) for part in boards)))


@partial(jax.jit, static_argnums=0)
def _deals_of(rules: Rules, boards: Board) -> Deals:
    layout = rules.layout

    def one(board: Board) -> Deals:
        found = deal(layout, board, rules.scoring)
        there = utilities(layout, board, found.offers, Scoring(goal=1.0, chip=0.0, step=0.0)) > 0.5
        return Deals(found, there)

    return jax.lax.map(one, boards)


def swapped_deal(deal: Deal) -> Deal:
    """The mirrored seating of a deal: each player gets the other's chips and goal."""
    offers = deal.offers._replace(own=deal.offers.own[::-1])
    return Deal(swapped(deal.board), offers, deal.utility)


def play_game(
    rules: Rules, players: tuple[Player, Player], deal: Deal, key: PRNGKeyArray, memories: tuple = (None, None)
) -> tuple[State, tuple]:
    """Plays one game to its end.

    players: by role.   memories: of each player's earlier games (`Mind.carry`); None: it has played none.
    Returns: the final state, and each role's final belief.
    """
    start = begin(rules, deal)
    beliefs = tuple(
        player.mind.init(player.params, memory, view(start, role))
        for role, (player, memory) in enumerate(zip(players, memories, strict=True))
    )
    alike, lanes = players[0] == players[1], in_lanes(players)
    stacked = alike and not lanes  # one program serves both players, which halves the time to compile
    codes = jnp.arange(rules.layout.most_offers)

    def choice(player: Player, belief: Any, state: State, role: Array) -> Int[Array, ""]:
        mind, params = player
        if lanes and is_certain(rules, player):  # without the logs of a policy, which take longer than its values
            return jnp.argmax(best_choice(DESCRIBED, belief.seat, mind.values(params, belief))).astype(jnp.int32)
        seen = Seen(role, state.turn, on_table(state), state.kept)
        if is_certain(rules, player):
            return jnp.argmax(mind.log_policy(params, belief, seen, codes)).astype(jnp.int32)
        # The key of phase `turn` in the schedule initiator, responder, initiator, ...
        return mind.sample(decision_key(key, state.turn, role), params, belief, seen)

    def one_move(carry: tuple[State, Any]) -> tuple[State, Any]:
        state, beliefs = carry
        role = state.turn % PLAYERS
        if stacked:
            kept = choice(players[0], jax.tree.map(lambda part: part[role], beliefs), state, role)
        elif alike:
            mover = jax.tree.map(lambda *parts: jnp.where(role == 0, *parts), *beliefs)
            kept = choice(players[0], mover, state, role)
        else:
            kept = jax.lax.cond(
                role == 0,
                lambda: choice(players[0], beliefs[0], state, role),
                lambda: choice(players[1], beliefs[1], state, role),
            )
        state, event = step(rules, state, kept)
        if stacked:
            mind, params = players[0]
            return state, for_each(lambda belief: mind.update(params, belief, event), beliefs)
        return state, tuple(
            player.mind.update(player.params, belief, event) for player, belief in zip(players, beliefs, strict=True)
        )

    if stacked:
        beliefs = jax.tree.map(lambda *parts: jnp.stack(parts), *beliefs)
    state, beliefs = loop(lambda carry: carry[0].ending == Ending.ONGOING, one_move, (start, beliefs))
    if stacked:
        beliefs = tuple(jax.tree.map(lambda part, role=role: part[role], beliefs) for role in range(PLAYERS))
    return state, beliefs


def split(function: Callable[[Any], Any], argument: Any) -> list[int]:
    """Which leaves of its argument a function, whose result has the same structure, does not hand on as they are."""
    leaves, tree = jax.tree.flatten(argument)
    traced = jax.make_jaxpr(lambda *leaves: jax.tree.leaves(function(jax.tree.unflatten(tree, leaves))))(*leaves).jaxpr
    return [i for i in range(len(leaves)) if traced.outvars[i] is not traced.invars[i]]


def merged(tree: Any, moving: list[int], changed: list[Any]) -> Any:
    """A pytree with some of its leaves changed."""
    leaves, structure = jax.tree.flatten(tree)
    filled = dict(zip(moving, changed, strict=True))
    return jax.tree.unflatten(structure, [filled.get(i, leaf) for i, leaf in enumerate(leaves)])


def loop(going: Callable[[Any], Array], body: Callable[[Any], Any], start: Any) -> Any:
    """`jax.lax.while_loop` around which stays what the body leaves alone, so that no lane copies it every time."""
    moving = split(body, start)

    def moved(changed: list[Any]) -> list[Any]:
        after = jax.tree.leaves(body(merged(start, moving, changed)))
        return [after[i] for i in moving]

    first = jax.tree.leaves(start)
    found = jax.lax.while_loop(lambda changed: going(merged(start, moving, changed)), moved, [first[i] for i in moving])
    return merged(start, moving, found)


def for_each(function: Callable[[Any], Any], stacked: Any) -> Any:
    """`jax.lax.map` that does not copy what the function leaves alone."""
    first = jax.tree.map(lambda part: part[0], stacked)
    moving = split(function, first)

    def one(index: Int[Array, ""]) -> list[Any]:
        after = jax.tree.leaves(function(jax.tree.map(lambda part: part[index], stacked)))
        return [after[i] for i in moving]

    count = jax.tree.leaves(stacked)[0].shape[0]
    return merged(stacked, moving, jax.lax.map(one, jnp.arange(count)))


def is_certain(rules: Rules, player: Player) -> bool:
    """Whether a player is known to take always one move, so that none has to be drawn."""
    mind, params = player
    one_best = any(
        mind in (plain.negotiator(variant, order, rules), quickest(variant, order, rules))
        for variant, order in product(VARIANTS.values(), range(HIGHEST_ORDER + 1))
        if variant.ties == "lowest"
    )
    return one_best and params.beta is None and isinstance(params.lapse, int | float) and params.lapse == 0


def summary(rules: Rules, deals: Deals, state: State) -> Played:
    """How a game ended, on the deal that it was played on."""
    codes = final_codes(state)
    return Played(gained(rules, state), state.ending, state.turn, deals.reach[state.deal.board.goals, codes], codes)


def play(
    rules: Rules,
    players: tuple[Player, Player],
    deals: Deals,
    which: Int[np.ndarray, " M"],
    mirrored: Bool[np.ndarray, " M"] | None = None,
    *,
    seed: int = 0,
    numbers: Int[np.ndarray, " M"] | None = None,
    chunk: int = CHUNK,
    progress: Callable[[int], None] | None = None,
) -> Played:
    """M games, each between fresh minds.

    which: index of each game's deal.   mirrored: whether the players swap chips and goals; None: never.
    numbers: of the games, each of which has a key of the seed for minds that draw their moves; None: 0 to M - 1.
    progress: called with a number of games after each chunk.
    Returns: [M, ...] in NumPy arrays.
    """
    which = np.asarray(which, np.int32)
    mirrored = np.zeros(which.shape, bool) if mirrored is None else np.asarray(mirrored)
    numbers = np.arange(which.shape[0]) if numbers is None else np.asarray(numbers)
    key = jax.random.key(seed)

    def block(games: Int[Array, " C"]) -> Played:
        # Cut out here, so that the compiled program does not depend on how many games there are.
        at = np.minimum(games, which.shape[0] - 1)
        return _play_block(rules, players, key, deals, which[at], mirrored[at], numbers[at].astype(np.uint32))

    return map_chunks(block, which.shape[0], chunk=chunk, progress=progress)


@partial(jax.jit, static_argnums=(0, 1))
def _play_block(rules, players, key, deals, which, mirrored, numbers) -> Played:
    def one(game: tuple[Array, Array, Array]) -> Played:
        index, swap, number = game
        dealt = dealt_to(deals, index, swap)
        state, _ = play_game(rules, players, dealt.deal, game_key(key, number))
        return summary(rules, dealt, state)

    return jax.lax.map(one, (which, mirrored, numbers), batch_size=LANES if in_lanes(players) else None)


def in_lanes(players: tuple[Player, Player]) -> bool:
    """Whether games run side by side: where no mind reasons about the other."""
    return all("order0" in player.mind.name for player in players)


def dealt_to(deals: Deals, index: Int[Array, ""], mirrored: Bool[Array, ""]) -> Deals:
    """One deal of several, mirrored or as it is."""
    one = jax.tree.map(lambda part: part[index], deals)
    other = swapped_deal(one.deal)
    return Deals(jax.tree.map(lambda a, b: jnp.where(mirrored, b, a), one.deal, other), one.reach)


def play_series(
    rules: Rules,
    players: tuple[Player, Player],
    deals: Deals,
    which: Int[np.ndarray, "R T"],
    mirrored: Bool[np.ndarray, "R T"] | None = None,
    *,
    seed: int = 0,
    numbers: Int[np.ndarray, " R"] | None = None,
    chunk: int = 64,
    progress: Callable[[int], None] | None = None,
) -> Played:
    """R series of T games, in which the players keep what they learned of each other (`Mind.carry`).

    which, mirrored: [R, T], as for `play`. Roles stay: player 0 offers first in every game.
    numbers: of the series, as of the games of `play`.   progress: called with a number of series.
    Returns: [R, T, ...] in NumPy arrays.
    """
    which = np.asarray(which, np.int32)
    mirrored = np.zeros(which.shape, bool) if mirrored is None else np.asarray(mirrored)
    numbers = np.arange(which.shape[0]) if numbers is None else np.asarray(numbers)
    key = jax.random.key(seed)

    def block(series: Int[Array, " C"]) -> Played:
        at = np.minimum(series, which.shape[0] - 1)
        return _series_block(rules, players, key, deals, which[at], mirrored[at], numbers[at].astype(np.uint32))

    return map_chunks(block, which.shape[0], chunk=chunk, progress=progress)


@partial(jax.jit, static_argnums=(0, 1))
def _series_block(rules, players, key, deals, which, mirrored, numbers) -> Played:
    def one(series: tuple[Array, Array, Array]) -> Played:
        indices, swaps, number = series
        series_key = game_key(key, number)

        def one_game(memories: tuple, game: Int[Array, ""]) -> tuple[tuple, Played]:
            dealt = dealt_to(deals, indices[game], swaps[game])
            state, beliefs = play_game(rules, players, dealt.deal, game_key(series_key, game), memories)
            return remembered(players, beliefs), summary(rules, dealt, state)

        first = dealt_to(deals, indices[0], swaps[0]).deal
        fresh = tuple(
            player.mind.init(player.params, None, view(begin(rules, first), role))
            for role, player in enumerate(players)
        )
        return jax.lax.scan(one_game, remembered(players, fresh), jnp.arange(which.shape[1]))[1]

    return jax.lax.map(one, (which, mirrored, numbers))


def remembered(players: Sequence[Player], beliefs: Sequence[Any]) -> tuple:
    """What each player keeps for the next game."""
    return tuple(player.mind.carry(player.params, belief) for player, belief in zip(players, beliefs, strict=True))
