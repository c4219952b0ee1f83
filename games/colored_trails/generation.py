"""Boards drawn at random by the rules of the three programs, and copies of a board that are the same game.

Tiles have independent, uniform colours, the start's own is 0. Chips are dealt by turns from the colours of all tiles
but the start's, without replacement. Goals follow one of three rules.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from otherminds.games.colored_trails.board import PLAYERS, Board, Layout
from otherminds.games.colored_trails.offers import offers
from otherminds.games.colored_trails.utility import Deal, Scoring, deal, utilities, within_reach
from otherminds.inference.devices import map_chunks

GoalRule = Literal["any", "deweerd", "llm-tom"]
"""any: two different goals, uniformly.   deweerd: worth 0 points at most with a player's own chips, as far as the
draws find such goals.   llm-tom: out of reach with a player's own chips, within reach with the chips of both."""

DRAWS = 20  # at most, of a player's goal in one round
ROUNDS = 51  # at most, until both players' goals differ
ATTEMPTS = 500  # boards until one meets the rule
PROBES = 16  # boards that a dealer draws beforehand


class Drawn(NamedTuple):
    """A board, and whether it meets the rule for goals; where it does not, no attempt did, and it is the last one."""

    board: Board
    met: Bool[Array, "*batch"]


def draw_board(
    key: PRNGKeyArray,
    layout: Layout,
    rule: str = "llm-tom",
    scoring: Scoring | None = None,
    attempts: int = ATTEMPTS,
) -> Drawn:
    """Draws whole boards until one meets the rule for goals, at most `attempts` of them.

    rule: of GoalRule.
    Under "llm-tom" and "deweerd" a round draws each player's goal up to 20 times, uniformly, until it is as the rule
    wants it; rounds follow until the goals differ, at most 51. If the draws of a player are used up, "llm-tom" rejects
    the board, and "deweerd" keeps the last goal. If the rounds are used up, the board is rejected.
    Raises: ValueError for settings under which no board can meet the rule, as far as that shows beforehand.
    Source: the programs of LLM-TOM, and of de Weerd, Verbrugge & Verheij (2017), in which nothing bounds the rounds.
    """
    check_goal_rule(layout, rule)

    def again(carry):
        attempt, drawn = carry
        return ~drawn.met & (attempt < attempts)

    def once(carry):
        attempt, _ = carry
        return attempt + 1, _draw_once(jax.random.fold_in(key, attempt), layout, rule, scoring or Scoring())

    board = Board(
        jnp.zeros((layout.rows, layout.columns), jnp.int32),
        jnp.zeros((PLAYERS, layout.colours), jnp.int32),
        jnp.zeros(PLAYERS, jnp.int32),
    )
    return jax.lax.while_loop(again, once, (jnp.int32(0), Drawn(board, jnp.bool_(False))))[1]


def draw_boards(
    key: PRNGKeyArray,
    count: int,
    layout: Layout | None = None,
    rule: str = "llm-tom",
    scoring: Scoring | None = None,
    *,
    attempts: int = ATTEMPTS,
    chunk: int = 256,
    progress: Callable[[int], None] | None = None,
) -> Board:
    """Board i is drawn with fold_in(key, i), so that the first boards do not depend on `count`.

    Returns: a batch of boards in NumPy arrays, `count` on the leading axis.
    Raises: ValueError for settings that cannot be met, or that no board of `attempts` met.
    """
    layout = layout or Layout()
    check_goal_rule(layout, rule)
    draw = partial(_draw_many, key, layout=layout, rule=rule, scoring=scoring or Scoring(), attempts=attempts)
    drawn = map_chunks(draw, count, chunk=chunk, progress=progress)
    if not drawn.met.all():
        place = int(np.flatnonzero(~drawn.met)[0])
        raise ValueError(
            f"goals={rule!r}: none of {attempts} boards met it for board {place}, {int(drawn.met.sum())} of {count} "
            f"others did, with {layout}: take more colours, fewer chips, other goals or another rule "
            f"({', '.join(get_args(GoalRule))})"
        )
    return drawn.board


def dealer(layout: Layout, rule: str = "llm-tom", scoring: Scoring | None = None) -> Callable[[PRNGKeyArray], Deal]:
    """draw(key) -> Deal for `rules.colored_trails`, jittable. A few boards are drawn first, to see that they can be.

    Raises: ValueError for settings that no board met.
    """
    scoring = scoring or Scoring()
    _probe(layout, rule, scoring)
    return lambda key: deal(layout, draw_board(key, layout, rule, scoring).board, scoring)


def wanted_goals(layout: Layout, board: Board, rule: str, scoring: Scoring) -> Bool[Array, "G 2"]:
    """Which goals a rule wants for each player of a board, beside that they differ."""
    if rule == "any":
        return jnp.ones((len(layout.goals), PLAYERS), bool)
    found = offers(layout, board)
    if rule == "deweerd":
        return utilities(layout, board, found, scoring)[:, found.own] <= 0
    reach = within_reach(layout, board, found)
    return reach[:, found.pool @ found.stride][:, None] & ~reach[:, found.own]


def recolour(board: Board, permutation: Sequence[int] | Int[Array | np.ndarray, "K"]) -> Board:
    """The same game with other colours: colour c becomes permutation[c], on the tiles and in the players' hands.

    Utilities stay the same for the same chips, whose codes change.
    Raises: ValueError unless every colour comes once.
    """
    new = np.asarray(permutation)
    colours = board.chips.shape[-1]
    if sorted(new.tolist()) != list(range(colours)):
        raise ValueError(f"permutation={new.tolist()}: each of 0 to {colours - 1} once, the new colour of each colour")
    # Colour permutation[c] holds what colour c held: the inverse says where each new colour's chips come from.
    return Board(jnp.asarray(new)[board.tiles], board.chips[..., np.argsort(new)], board.goals)


def flipped(layout: Layout, board: Board, direction: str) -> Board:
    """The mirrored board: "horizontal" turns left and right, "vertical" top and bottom. Goals move along.

    Utilities stay the same, with goals renamed by `mirrored_goals`.
    Raises: ValueError for a layout whose start or goals do not lie symmetrically.
    """
    mirror = mirrored_goals(layout, direction)
    return Board(jnp.flip(board.tiles, _axis(direction)), board.chips, jnp.asarray(mirror)[board.goals])


def mirrored_goals(layout: Layout, direction: str) -> Int[np.ndarray, " G"]:
    """The index of the goal that each goal becomes on the mirrored board."""
    horizontal = _axis(direction) == -1

    def mirror(cell: tuple[int, int]) -> tuple[int, int]:
        row, column = cell
        return (row, layout.columns - 1 - column) if horizontal else (layout.rows - 1 - row, column)

    cells = [tuple(goal) for goal in layout.goals]
    images = [mirror(cell) for cell in cells]
    if mirror(layout.start) != tuple(layout.start) or set(images) != set(cells):
        raise ValueError(f"direction={direction!r}: the start or the goals of {layout} do not lie symmetrically")
    return np.array([cells.index(image) for image in images], np.int32)


def _axis(direction: str) -> int:
    axes = {"horizontal": -1, "vertical": -2}
    if direction not in axes:
        raise ValueError(f"direction={direction!r}: one of {', '.join(axes)}")
    return axes[direction]


def _draw_once(key: PRNGKeyArray, layout: Layout, rule: str, scoring: Scoring) -> Drawn:
    # All chance of a board is drawn at once: every further draw takes seconds to compile.
    others = np.delete(np.arange(layout.cells), layout.start_cell)
    chance = jax.random.uniform(key, (2 * len(others) + 2,))
    for_tiles, for_chips, for_goals = jnp.split(chance, [len(others), 2 * len(others)])
    colours = jnp.floor(for_tiles * layout.colours).astype(jnp.int32)
    tiles = jnp.zeros(layout.cells, jnp.int32).at[others].set(colours)
    # The largest of independent uniform numbers lie at places drawn without replacement, in random order.
    places = jax.lax.top_k(for_chips, PLAYERS * layout.chips)[1]
    dealt = colours[places].reshape(layout.chips, PLAYERS)
    chips = (dealt.T[:, :, None] == jnp.arange(layout.colours)).sum(1, dtype=jnp.int32)
    board = Board(tiles.reshape(layout.rows, layout.columns), chips, jnp.zeros(PLAYERS, jnp.int32))
    goals, met = _draw_goals(for_goals, wanted_goals(layout, board, rule, scoring), rule)
    return Drawn(board._replace(goals=goals), met)


def _draw_goals(
    chance: Float[Array, "2"], wanted: Bool[Array, "G 2"], rule: str
) -> tuple[Int[Array, "2"], Bool[Array, ""]]:
    """Both goals, and whether the board is kept, distributed as the rule's many draws make them.

    chance: two independent numbers, uniform in [0, 1).
    """
    goals = wanted.shape[0]
    one, other = goal_shares(wanted, rule).T
    pairs = one[:, None] * other
    equal = jnp.diagonal(pairs).sum()
    below = jnp.cumsum(jnp.where(jnp.eye(goals, dtype=bool), 0.0, pairs).reshape(-1))
    # A round ends in goals that differ, in equal goals and so in another round, or in a board that is rejected.
    met = jnp.where(equal < 1, below[-1] * (1 - equal**ROUNDS) / (1 - equal), 0.0)
    pair = jnp.searchsorted(below, chance[0] * below[-1], side="right").astype(jnp.int32)
    return jnp.stack(jnp.divmod(pair, goals)), chance[1] < met


def goal_shares(wanted: Bool[Array, "G 2"], rule: str) -> Float[Array, "G 2"]:
    """P(a round's draws of a player end with a goal): (1 - f) / A where it is wanted, with A wanted goals of G.

    f = (1 - A / G)^20: no draw found one; then "deweerd" keeps the last draw, f / (G - A) for each other goal, and
    "llm-tom" rejects the board, so that a column sums to 1 - f.
    """
    many, fitting = wanted.shape[0], wanted.sum(0)
    failed = (1 - fitting / many) ** DRAWS
    kept = failed / jnp.maximum(many - fitting, 1) * (rule == "deweerd")
    return jnp.where(wanted, (1 - failed) / jnp.maximum(fitting, 1), kept)


@partial(jax.jit, static_argnames=("layout", "rule", "scoring", "attempts"))
def _draw_many(
    key: PRNGKeyArray,
    indices: Int[Array, "batch"],
    layout: Layout,
    rule: str,
    scoring: Scoring,
    attempts: int,
) -> Drawn:
    return jax.vmap(lambda index: draw_board(jax.random.fold_in(key, index), layout, rule, scoring, attempts))(indices)


@lru_cache
def _probe(layout: Layout, rule: str, scoring: Scoring) -> None:
    draw_boards(jax.random.key(0), PROBES, layout, rule, scoring)


def check_goal_rule(layout: Layout, rule: str) -> None:
    """Raises: ValueError for a rule that there is not, and for a layout on which no board can be drawn by it."""
    if rule not in get_args(GoalRule):
        raise ValueError(f"goals={rule!r}: one of {', '.join(get_args(GoalRule))}")
    if len(layout.goals) < PLAYERS:
        raise ValueError(
            f"goals={layout.goals}: the players' goals differ, so that there must be {PLAYERS}: "
            "name more goals or take a smaller goal_distance"
        )
    if PLAYERS * layout.chips > layout.cells - 1:
        raise ValueError(
            f"chips={layout.chips}: {PLAYERS * layout.chips} chips are dealt from the colours of {layout.cells - 1} "
            "tiles: deal fewer chips or take a larger board"
        )
