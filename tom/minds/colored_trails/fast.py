"""The fast negotiators of order 1 and up: the same minds as those of order.py, by another way of counting.

Plainly, an order-2 decision asks for each of N = 108 own offers x, each of 108 counter-offers z, each of 12 goals and
each of 108 replies q for a discounted worth: 15.1 million products and comparisons, and an order-1 decision 0.14
million. Four things make that few and regular.

1. What everybody sees changes what everybody thinks in the same way: all models of one player and order in a game are
   equal, so that a mind of order k needs two order-0 beliefs and not 2^k, and one location belief a player and order
   (`Thoughts`). Imagined offers change them by the same rule as real ones.
2. An order-0 reply is the best q of worth(q) x (1 - lambda)^(number of colours in which q holds more than offered).
   The discount is a product over colours. The colours are split into two groups, with at most A and B divisions each
   (9 and 12 for the usual board: 108 cells, a row and a column), and one group is maximised over after the other:
   A + B = 21 instead of N = 108 terms (`best_replies`).
3. Worths are whole numbers, round(scale log2 worth), above the code of the offer in the same 32 bits: a discount is a
   subtraction, exact in any order, and one maximum gives the best reply together with the lowest code among ties.
   Below 0 lies what is not worth offering, so that 0 means to withdraw. The resolution is about 1e-6 of a worth.
4. Only offers x that can be a gain are looked at (37 of 108 on average), `CHUNK` at a time in the fastest axis, and
   what a reply is worth to the proposer is read as a row of all its goals.

Floor of an order-2 decision: with 37 offers, 37 x 12 goals x (9 x 9 x 12 + 12 x 12 x 9) = 1.0 million subtractions
and as many maxima, and 0.6 million multiply-adds to weigh 37 x 108 x 12 replies for 12 goals: 0.33 million
instructions on vectors of 8, some 0.12 ms at 3 GHz; measured 0.6 ms. Where an offer received leaves the acceptance
beliefs alone, the replies to x do not depend on z and the maxima are 10 times fewer.

Deviations from the plain mind: worths that differ by less than 1e-6 of themselves may be ties inside a model, and sums
are taken in another order. On the recorded games values differ by at most 2e-5 points in single precision.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations_with_replacement, product
from math import ceil, log, log2, prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from otherminds.games.colored_trails.board import PLAYERS, Layout
from otherminds.games.colored_trails.offers import Offers
from otherminds.games.colored_trails.rules import Action, Event, Rules, View
from otherminds.inference.logspace import log_normalize, weighted
from otherminds.inference.scoring import with_lapse
from otherminds.tom.mind import from_policy
from otherminds.tom.minds.colored_trails import acceptance
from otherminds.tom.minds.colored_trails import order as plain
from otherminds.tom.minds.colored_trails.acceptance import Acceptance
from otherminds.tom.minds.colored_trails.negotiator import HIGHEST_ORDER, Negotiator, Params
from otherminds.tom.minds.colored_trails.variant import DESCRIBED, VARIANTS, Variant

CHUNK = 8
"""Own offers that are looked at together: a vector of 32-bit numbers."""
MOST_OFFERS = 4094
"""More would leave fewer than 18 bits for a worth."""


@cache
def grid_shape(layout: Layout) -> tuple[int, int]:
    """(A, B): for any pool of chips, the colours can be split into groups with at most A and B divisions each.

    The pair with the fewest cells A B, then the smallest A + B.
    """
    pools = combinations_with_replacement(range(PLAYERS * layout.chips + 1), layout.colours)
    radices = {tuple(t + 1 for t in pool) for pool in pools if sum(pool) == PLAYERS * layout.chips}
    splits = []
    for radix in radices:
        found = {1}
        for r in radix:
            found |= {r * part for part in found}
        splits.append({(part, prod(radix) // part) for part in found})
    sizes = sorted({part for split in splits for part, _ in split})
    fitting = ((a, max(min((y for x, y in split if x <= a), default=10**9) for split in splits)) for a in sizes)
    return min(fitting, key=lambda shape: (shape[0] * shape[1], sum(shape)))


@dataclass(frozen=True)
class Setup:
    """What a kernel is made for, and the layout of its whole numbers: [worth | code], `bits` for the code.

    A code field of 0 means to withdraw, `accept` to accept, `accept` - 1 - code to offer that code.
    """

    variant: Variant
    rules: Rules

    @cached_property
    def shape(self) -> tuple[int, int]:
        """(A, B) cells."""
        return grid_shape(self.rules.layout)

    @cached_property
    def bits(self) -> int:
        """Of the code."""
        return (self.rules.layout.most_offers + 1).bit_length()

    @property
    def accept(self) -> int:
        """The code field of accepting, the highest, so that accepting wins ties."""
        return (1 << self.bits) - 1

    @property
    def full(self) -> int:
        """The largest worth as a whole number; a discount by it leaves nothing."""
        return (1 << (30 - self.bits)) - 1

    @property
    def floor(self) -> float:
        """Points: what an offer has to be worth, its cost included, so that it is made."""
        return self.rules.cost + 2e-5

    @property
    def scale(self) -> float:
        """Whole numbers a factor of 2 of worth."""
        layout, scoring = self.rules.layout, self.rules.scoring
        most = scoring.goal + PLAYERS * layout.chips * scoring.chip + layout.distance.max() * scoring.step
        return self.full / (log2((most + self.rules.cost) / self.floor) + 1e-3)


class Table(NamedTuple):
    """What depends on the deal alone. Cells are offers, as what the player in question would hold."""

    code: Int[Array, " M"]  # of a cell; 0 for cells that no offer has
    cell: Int[Array, " N"]  # of a code; 0 for padding
    valid: Bool[Array, " M"]
    flip: Int[Array, " M"]  # the cell of what the other then holds
    field: Int[Array, " M"]  # the code field of a cell; 0 for cells that no offer has
    gain: Float[Array, "2 M G"]  # points, by role; 0 for cells that no offer has
    worth: Int[Array, "2 M G"]  # round(scale log2((gain + cost) / floor)); -full without gain
    reply: Float[Array, "2 F G"]  # surplus to a proposer, by role, of the other's reply, by code field; 0 for accept
    more_a: Int[Array, "A A"]  # [q, x]: colours of the group in which q holds more than the flip of x
    more_b: Int[Array, "B B"]
    least_a: Int[Array, "A A"]  # [q, x]: colours of the group in which q holds as much as x or more
    least_b: Int[Array, "B B"]


def table(setup: Setup, offers: Offers, utility: Float[Array, "G N"]) -> Table:
    """The grid of a deal."""
    (rows, columns), cost = setup.shape, setup.rules.cost
    colours, radix = setup.rules.layout.colours, offers.pool + 1
    subsets = jnp.asarray((np.arange(1 << colours)[:, None] >> np.arange(colours)) & 1 == 1)
    sizes = jnp.prod(jnp.where(subsets, radix, 1), 1), jnp.prod(jnp.where(subsets, 1, radix), 1)
    in_row = subsets[jnp.argmax((sizes[0] <= rows) & (sizes[1] <= columns))]
    a, a_more, a_least, a_size = _group(setup, offers, in_row, rows)
    b, b_more, b_least, b_size = _group(setup, offers, ~in_row, columns)

    cell = jnp.where(offers.valid, a * columns + b, 0)
    code = jnp.zeros(rows * columns, jnp.int32)
    codes = jnp.arange(cell.shape[0], dtype=jnp.int32)
    code = code.at[jnp.where(offers.valid, cell, rows * columns)].set(codes, mode="drop")
    valid = ((jnp.arange(rows) < a_size)[:, None] & (jnp.arange(columns) < b_size)).reshape(-1)
    gains = utility - utility[:, offers.own].T[:, :, None]  # [2, G, N]
    # Apart from the gather, as logs are then taken several at once.
    gain = jax.lax.optimization_barrier(jnp.where(valid[:, None], gains.swapaxes(1, 2)[:, code], 0.0))
    gainful = gain > 0
    log_worth = jnp.log2(jnp.where(gainful, gain + cost, 1.0) / setup.floor) * setup.scale
    worth = jnp.where(gainful, jnp.round(log_worth).astype(jnp.int32), -setup.full)

    named = setup.accept - 1 - jnp.arange(setup.accept + 1)  # [F]: the code of a code field
    is_code = (named >= 0) & (named < cell.shape[0])
    counter = jnp.where(is_code, offers.flip[jnp.clip(named, 0, cell.shape[0] - 1)], 0)
    reply = jnp.maximum(gains.swapaxes(1, 2)[:, counter] - cost, 0.0)  # [2, F, G]
    withdrawn = cost if setup.variant.withdrawal == "zero" else 0.0
    fields = jnp.arange(setup.accept + 1)[:, None]
    reply = jnp.where(fields == 0, withdrawn, jnp.where(fields == setup.accept, 0.0, reply))
    return Table(
        code,
        cell,
        valid,
        cell[offers.flip[code]],
        jnp.where(valid, setup.accept - 1 - code, 0).astype(jnp.int32),
        gain,
        worth,
        reply,
        a_more,
        b_more,
        a_least,
        b_least,
    )


def _group(setup: Setup, offers: Offers, members: Bool[Array, " K"], size: int) -> tuple[Array, Array, Array, Array]:
    """One group of colours: the index of every code in it, its `more` and `least` (see `Table`), its divisions."""
    radix = jnp.where(members, offers.pool + 1, 1)
    stride = jnp.concatenate([jnp.ones(1, radix.dtype), jnp.cumprod(radix)[:-1]])
    index = (offers.chips * jnp.where(members, stride, 0)).sum(-1)
    held = jnp.arange(size)[:, None] // stride % radix  # [size, K]
    left = jnp.where(members, offers.pool, 0) - held
    counts = members & ((offers.pool > 0) | setup.variant.absent_colours)
    more = (members & (held[:, None] > left)).sum(-1, dtype=jnp.int32)
    least = (counts & (held[:, None] >= held)).sum(-1, dtype=jnp.int32)
    return index, more, least, jnp.prod(radix)


class Thoughts(NamedTuple):
    """What two players think of each other, as anybody who knows both seats can tell."""

    log_initial: Float[Array, "2 M"]  # of the acceptance beliefs when the game began, by role: nats
    discounts: Int[Array, "2 M"]
    log_goal: Float[Array, "2 K G"]  # by role and order 1 to k: what it thinks that the other's goal is
    log_kept: Float[Array, ""]  # log(1 - lambda)


def discount(setup: Setup, thoughts: Thoughts) -> Int[Array, ""]:
    """1 - lambda as a whole number that is subtracted."""
    drop = -thoughts.log_kept / log(2) * setup.scale
    return jnp.round(jnp.minimum(drop, setup.full)).astype(jnp.int32)


def accepted(setup: Setup, thoughts: Thoughts, role: Array) -> Int[Array, " M"]:
    """The acceptance beliefs of a player as whole numbers, -full or less where nothing is worth offering."""
    drop, log_initial = discount(setup, thoughts), thoughts.log_initial[role]
    initial = jnp.round(jnp.maximum(log_initial / log(2) * setup.scale, -setup.full)).astype(jnp.int32)
    return initial - jnp.minimum(thoughts.discounts[role], setup.full // jnp.maximum(drop, 1) + 1) * drop


def log_acceptance(thoughts: Thoughts, role: Array) -> Float[Array, " M"]:
    """The acceptance beliefs of a player, in nats."""
    times = thoughts.discounts[role].astype(thoughts.log_kept.dtype)
    return thoughts.log_initial[role] + weighted(times, thoughts.log_kept)


def best_replies(setup: Setup, grid: Table, drop: Int[Array, ""], keys: Int[Array, "M S"]) -> Int[Array, "X S"]:
    """The best of worth(q) (1 - lambda)^more(q, x) over q, for every offer x that a player of order 0 could receive.

    keys: [M cells q, S cases] whole numbers [worth | code], 0 or more.
    Returns: [X, S], x a cell of the proposer; X = 1 where what is offered changes nothing.
    """
    if setup.variant.on_receive == "none":
        return keys.max(0, keepdims=True)
    (rows, columns), cases = setup.shape, keys.shape[-1]
    keys = jax.lax.optimization_barrier(keys.reshape(rows, columns, cases))
    over_a, over_b = _saturated(setup, drop, grid.more_a), _saturated(setup, drop, grid.more_b)
    # Unrolled, as a reduction of whole numbers would write out all its terms first.
    found = _largest(keys[q][None] - over_a[q][:, None, None] for q in range(rows))
    found = jax.lax.optimization_barrier(found)
    found = _largest(found[:, q][:, None] - over_b[q][None, :, None] for q in range(columns))
    return jax.lax.optimization_barrier(found).reshape(rows * columns, cases)


def _largest(terms: Any) -> Array:
    best = None
    for term in terms:
        best = term if best is None else jnp.maximum(best, term)
    return best


def _saturated(setup: Setup, drop: Int[Array, ""], times: Int[Array, "..."]) -> Int[Array, "..."]:
    """`times` discounts, in the place of the worth; no more than what leaves nothing."""
    times = jnp.minimum(times, setup.full // jnp.maximum(drop, 1) + 1)
    return jnp.minimum(times * drop, setup.full) << setup.bits


def with_acceptance(setup: Setup, grid: Table, reader: Array, best: Int[Array, "X G S"]) -> Int[Array, "M G S"]:
    """The code field of the reply to every offer: accept where that brings the reader as much as its best offer."""
    worth = grid.worth[reader][grid.flip]  # of the cells of the proposer
    accepting = jnp.where(worth > 0, (worth << setup.bits) | setup.accept, 0)
    return jnp.maximum(jnp.maximum(best, accepting[:, :, None]), 0) & setup.accept


def surplus_of(
    grid: Table, role: Array, replies: Int[Array, "M L S"], weight: Float[Array, "L S"]
) -> Float[Array, "M S G"]:
    """S[x, g] = sum over the other's goals l of weight(l) S(x, reply of l) to a proposer of every goal g."""
    # Else XLA computes replies and weights anew for each of the terms that they are in.
    replies, weight = jax.lax.optimization_barrier((replies, weight))
    worth, found = grid.reply[role], 0.0
    accepted = 0.0
    last = worth.shape[0] - 1
    for goal in range(replies.shape[1]):
        found = found + weight[goal][:, None] * worth[replies[:, goal]]
        accepted = accepted + weight[goal] * (replies[:, goal] == last)
    return found + accepted[:, :, None] * grid.gain[role][:, None]


def choices(
    setup: Setup,
    grid: Table,
    role: Array,
    surplus: Float[Array, "M S G"],
    incoming: Int[Array, " S"],
) -> Int[Array, "S G"]:
    """The code field of what a player does for each goal it may have, with an offer (a cell) on the table."""
    gain, tolerance = grid.gain[role], 1e-6 if grid.gain.dtype == jnp.float64 else 2e-5
    value = jnp.where(gain[:, None] > 0, surplus - setup.rules.cost, -setup.rules.cost)
    best = value.max(0)
    near = value > best - tolerance
    field = jnp.where(near, grid.field[:, None, None], 0).max(0)
    offered = gain[incoming]  # [S, G]
    accepts = (offered > best - tolerance) & (offered >= tolerance)
    # Offering it anew is to accept it.
    field = jnp.where(field == grid.field[incoming][:, None], setup.accept, field)
    return jnp.where(accepts, setup.accept, jnp.where(best < tolerance, 0, field))


def reweighed(log_belief: Float[Array, "... G"], log_share: Float[Array, "... G"]) -> Float[Array, "... G"]:
    """The location belief after an offer; uniform where no goal allows it."""
    posterior = log_normalize(log_belief + log_share)
    possible = (log_belief + log_share).max(-1, keepdims=True) > -jnp.inf
    return jnp.where(possible, posterior, log_normalize(jnp.zeros_like(log_belief)))


def log_shares(setup: Setup, grid: Table, thoughts: Thoughts, order: int, role: Array) -> Float[Array, "M G"]:
    """log(max(0, S_g(z)) / max(cost, max S_g)): how close offer z comes to the best of a player, if its goal is g."""
    if order == 0:
        gain = grid.gain[role]
        log_worth = jnp.log(jnp.where(gain > 0, gain + setup.rules.cost, 1.0))
        log_surplus = jnp.where(gain > 0, log_worth + log_acceptance(thoughts, role)[:, None], -jnp.inf)
        possible = log_surplus > -jnp.inf
    else:
        surplus = jnp.maximum(surpluses(setup, grid, thoughts, order, role), 0.0)
        possible = (grid.gain[role] > 0) & (surplus > 0)
        log_surplus = jnp.where(possible, jnp.log(jnp.where(possible, surplus, 1.0)), -jnp.inf)
    log_cost = jnp.log(jnp.asarray(setup.rules.cost, grid.gain.dtype))
    best = jnp.maximum(log_surplus.max(0), log_cost)
    return jnp.where(possible, log_surplus - jnp.where(best > -jnp.inf, best, 0.0), -jnp.inf)


def replies_of(
    setup: Setup, grid: Table, thoughts: Thoughts, order: int, role: Array, wanted: Bool[Array, " M"]
) -> Int[Array, "M G"]:
    """How the other, of order k - 1, replies to each offer x of a player of order k: a code field for each goal.

    wanted: cells that have to be right; the rest may hold anything.
    """
    other = 1 - role
    if order == 1:
        keys = packed(setup, grid, accepted(setup, thoughts, other), other)
        best = best_replies(setup, grid, discount(setup, thoughts), keys)
        return with_acceptance(setup, grid, other, best[:, :, None])[:, :, 0]
    log_share = log_shares(setup, grid, thoughts, order - 2, role)
    if order == 2:
        return chunk_by_chunk(wanted, lambda xs: _chunk_of_two(setup, grid, thoughts, role, log_share, xs), CHUNK)

    def one(xs: Int[Array, "1"]) -> Int[Array, "1 G"]:
        imagined = after_offer(setup, grid, thoughts, role, xs[0], order - 1, log_share[xs[0]])
        surplus = surpluses(setup, grid, imagined, order - 1, other)
        return choices(setup, grid, other, surplus[:, None], grid.flip[xs])

    return chunk_by_chunk(wanted, one, 1)


def after_offer(
    setup: Setup,
    grid: Table,
    thoughts: Thoughts,
    role: Array,
    x: Int[Array, ""],
    order: int,
    log_share: Float[Array, " G"],
) -> Thoughts:
    """What a reader of order k thinks after an offer x of player `role`, and what it thinks that the proposer thinks.

    log_share: of x, in the eyes of the reader. Beliefs of other orders of the reader are left alone, apart from those
    that its own model of the proposer has of it.
    """
    other, log_goal = 1 - role, thoughts.log_goal
    for reader_order in range(order, 0, -2):
        share = log_share
        if reader_order < order:
            share = log_shares(setup, grid, thoughts, reader_order - 1, role)[x]
        learned = reweighed(log_goal[other, reader_order - 1], share)
        log_goal = log_goal.at[other, reader_order - 1].set(learned)
    columns = setup.shape[1]
    a, b = x // columns, x % columns
    sent = _spread(grid.least_a[:, a], grid.least_b[:, b])
    received = _spread(grid.more_a[:, a], grid.more_b[:, b])
    if setup.variant.on_send == "increase":
        y = grid.flip[x]
        sent = _spread(grid.more_a[:, y // columns], grid.more_b[:, y % columns])
    discounts = thoughts.discounts.at[role].add(sent)
    if setup.variant.on_receive == "increase":
        discounts = discounts.at[other].add(received)
    return thoughts._replace(log_goal=log_goal, discounts=discounts)


def _spread(rows: Int[Array, "A *s"], columns: Int[Array, "B *s"]) -> Int[Array, "M *s"]:
    """Counts over the cells of a grid."""
    return (rows[:, None] + columns[None]).reshape(-1, *rows.shape[1:])


def packed(setup: Setup, grid: Table, accepted: Int[Array, " M"], role: Array) -> Int[Array, "M G"]:
    """Whole numbers [worth | code] of what a player of order 0 thinks each offer is worth, for each of its goals."""
    worth = grid.worth[role] + jnp.maximum(accepted, -setup.full)[:, None]
    return jnp.where(worth > 0, (worth << setup.bits) | grid.field[:, None], 0)


def _chunk_of_two(
    setup: Setup, grid: Table, thoughts: Thoughts, role: Array, log_share: Float[Array, "M G"], xs: Int[Array, " X"]
) -> Int[Array, "X G"]:
    """How an other of order 1 replies to the offers xs of a player: `one` of `replies_of` for several at once.

    The other thinks that the player, of order 0, holds its own offer x for rejected when it considers counter-offers z.
    """
    other, (rows, columns), goals = 1 - role, setup.shape, grid.gain.shape[-1]
    keys = packed(setup, grid, accepted(setup, thoughts, role), role).reshape(rows, columns, goals, 1)
    a, b = xs // columns, xs % columns
    least_a, least_b = grid.least_a[:, a], grid.least_b[:, b]
    if setup.variant.on_send == "increase":
        y = grid.flip[xs]
        least_a, least_b = grid.more_a[:, y // columns], grid.more_b[:, y % columns]
    drop = discount(setup, thoughts)
    keys = keys - _saturated(setup, drop, least_a)[:, None, None] - _saturated(setup, drop, least_b)[None, :, None]
    keys = jnp.maximum(keys, 0).reshape(rows * columns, -1)  # [q, goal x]
    best = best_replies(setup, grid, drop, keys).reshape(-1, goals, xs.shape[0])
    replies = with_acceptance(setup, grid, role, best)  # [z, goal of role, x]
    believed = reweighed(thoughts.log_goal[other, 0], log_share[xs])  # [x, goal of role]
    surplus = surplus_of(grid, other, replies, jnp.exp(believed).T)  # [z, x, goal of other]
    return choices(setup, grid, other, surplus, grid.flip[xs])


def chunk_by_chunk(
    wanted: Bool[Array, " M"], of: Callable[[Int[Array, " X"]], Int[Array, "X G"]], size: int
) -> Int[Array, "M G"]:
    """of(cells) for the wanted cells, `size` at a time."""
    cells, count = wanted.shape[0], wanted.sum()
    chunks = ceil(cells / size)
    listed = jnp.nonzero(wanted, size=chunks * size, fill_value=0)[0]
    shape = jax.eval_shape(of, listed[:size])

    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        done, found = state
        xs = jax.lax.dynamic_slice(listed, (done,), (size,))
        return done + size, found.at[xs].set(of(xs))

    start = jnp.zeros((cells, shape.shape[1]), shape.dtype)
    return jax.lax.while_loop(lambda state: state[0] < count, step, (jnp.int32(0), start))[1]


def surpluses(setup: Setup, grid: Table, thoughts: Thoughts, order: int, role: Array) -> Float[Array, "M G"]:
    """S_k of every offer, for every goal that a player of order k >= 1 may have, trusting its model of the other."""
    gain = grid.gain[role]
    replies = replies_of(setup, grid, thoughts, order, role, (gain > 0).any(1))
    weight = jnp.exp(thoughts.log_goal[role, order - 1])
    found = surplus_of(grid, role, replies[:, :, None], weight[:, None])[:, 0]
    return jnp.where(gain > 0, found, 0.0)


class Belief(NamedTuple):
    """What a fast negotiator knows and believes. [2] is by role."""

    seat: plain.Seat
    grid: Table
    acceptance: Acceptance  # [2] of the two players
    log_goal: Float[Array, "2 K G"]  # orders 1 to k; the other's k-th is not kept up
    confidence: Float[Array, " K"]


class Memory(NamedTuple):
    """What lasts into the next game."""

    acceptance: Acceptance  # [2] of this player and the other
    confidence: Float[Array, " K"]


def thoughts_of(params: Params, belief: Belief) -> Thoughts:
    """A belief on the grid."""
    code, valid = belief.grid.code, belief.grid.valid
    log_initial = jnp.where(valid, belief.acceptance.log_initial[:, code], -jnp.inf)
    log_kept = jnp.log1p(-jnp.asarray(params.learning_speed, log_initial.dtype))
    return Thoughts(log_initial, belief.acceptance.discounts[:, code], belief.log_goal, log_kept)


@cache
def fast_negotiator(variant: Variant = DESCRIBED, order: int = 1, rules: Rules = plain.RULES) -> Negotiator:
    """The negotiator of order k by fewer operations (see the module), which stands for `order.negotiator`.

    Its params are `Params`; its memory is its own (`Memory`).
    Raises: ValueError for an order below 0, for what it cannot do (ties="all", order0="utility", leak=True) and for
        more than 4094 offers.
    """
    if order == 0:
        return plain.negotiator(variant, 0, rules)
    check(variant, order, rules)
    k, setup, ground = order, Setup(variant, rules), plain.ground(variant, rules)

    def init(params: Params, memory: Memory | None, view: View) -> Belief:
        seat = plain.take_seat(rules, view)
        dtype = view.utility.dtype
        roles = jnp.arange(PLAYERS)
        given = None
        if memory is not None:
            given = jax.tree.map(lambda part: jnp.where(seat.role == 0, part, part[::-1]), memory.acceptance)

        def begin(role: Array, one: Acceptance | None) -> Acceptance:
            return acceptance.begin(variant, rules.layout, view.offers, role, one, dtype)

        return Belief(
            seat,
            table(setup, view.offers, view.utility),
            jax.vmap(begin)(roles, given),
            log_normalize(jnp.zeros((PLAYERS, k, len(rules.layout.goals)), dtype)),
            jnp.asarray(params.confidence, dtype)[:k] if memory is None else memory.confidence,
        )

    def update(params: Params, belief: Belief, event: Event) -> Belief:
        seat = belief.seat
        offered = event.valid & (event.action == Action.OFFER) & (event.kept >= 0)
        goals, confidence = jax.lax.cond(
            offered,
            lambda: _after_real_offer(setup, k, params, belief, event),
            lambda: (belief.log_goal, belief.confidence),
        )
        learned = jax.vmap(
            lambda role, one: acceptance.learn(
                variant, seat.offers, role, params.learning_speed, one, plain.taught(variant, seat, event)
            )
        )(jnp.arange(PLAYERS), belief.acceptance)
        return Belief(plain.see(seat, event), belief.grid, learned, goals, confidence)

    def surplus(params: Params, belief: Belief, gate: bool) -> Float[Array, " N"]:
        return own_surplus(setup, k, params, belief, gate)[belief.grid.cell]

    def policy(params: Params, belief: Belief) -> Float[Array, " N"]:
        seat = belief.seat
        chosen = ground.choose(params, seat, surplus(params, belief, variant.gate), 0, k)
        return with_lapse(chosen, params.lapse, seat.offers.valid)

    def values(params: Params, belief: Belief) -> Float[Array, " N"]:
        found = surplus(params, belief, variant.gate) - rules.cost
        return jnp.where(belief.seat.offers.valid, found, -jnp.inf)

    def appraise(params: Params, belief: Belief) -> Float[Array, " N"]:
        found = surplus(params, belief, False) - rules.cost
        own = belief.seat.offers.own[belief.seat.role]
        return plain.with_endings(belief.seat, found, jnp.maximum(found[own], 0.0))

    def goals(params: Params, belief: Belief) -> Float[Array, " G"]:
        del params
        return belief.log_goal[belief.seat.role, k - 1]

    def readout(params: Params, belief: Belief, observation: Any) -> dict[str, Array]:
        del observation
        return {
            "log_goal": goals(params, belief),
            "values": values(params, belief),
            "confidence": belief.confidence,
        }

    def carry(params: Params, belief: Belief) -> Memory:
        del params
        first = belief.seat.role == 0
        by_me = jax.tree.map(lambda part: jnp.where(first, part, part[::-1]), belief.acceptance)
        return Memory(by_me, belief.confidence)

    mind = from_policy(f"{ground.name}-order{k}-{variant.name}-fast", init, update, policy, readout, carry)
    return Negotiator(**vars(mind), values=values, appraise=appraise, goals=goals)


def quickest(variant: Variant = DESCRIBED, order: int = 1, rules: Rules = plain.RULES) -> Negotiator:
    """The fast negotiator of order k, or the plain one where the fast one cannot do it."""
    try:
        return fast_negotiator(variant, order, rules)
    except ValueError:
        return plain.negotiator(variant, order, rules)


def faster(mind: Negotiator, rules: Rules = plain.RULES) -> Negotiator:
    """The fast negotiator that stands for a plain one of a known variant; any other mind as it is."""
    for variant, order in product(VARIANTS.values(), range(1, HIGHEST_ORDER + 1)):
        if mind is plain.negotiator(variant, order, rules):
            return quickest(variant, order, rules)
    return mind


def check(variant: Variant, order: int, rules: Rules) -> None:
    """Raises: ValueError for what the fast negotiator cannot do."""
    if order < 0:
        raise ValueError(f"order={order}: 0 models no mind, 1 models a mind of order 0, and so on")
    cannot = {"ties": "all", "order0": "utility", "leak": True}
    for name, value in cannot.items():
        if getattr(variant, name) == value:
            raise ValueError(
                f"variant {variant.name!r} has {name}={value!r}, which the fast negotiator cannot do: "
                "take order.negotiator"
            )
    if rules.layout.most_offers > MOST_OFFERS:
        raise ValueError(
            f"{rules.layout.most_offers} offers: the fast negotiator takes at most {MOST_OFFERS}; "
            "take order.negotiator, or fewer chips or colours"
        )


def _after_real_offer(
    setup: Setup, order: int, params: Params, belief: Belief, event: Event
) -> tuple[Float[Array, "2 K G"], Float[Array, " K"]]:
    """What the reader of an offer thinks of its proposer, order by order, and how well each model foresaw it."""
    grid, thoughts, me = belief.grid, thoughts_of(params, belief), belief.seat.role
    reader, z = 1 - event.actor, belief.grid.cell[event.kept]
    log_goal, confidence = belief.log_goal, belief.confidence
    for k in range(1, order + 1):

        def foreseen(k: int = k) -> Float[Array, " G"]:
            return log_shares(setup, grid, thoughts, k - 1, event.actor)[z]

        share = foreseen()
        if k == order and k > 1:  # of the other, only orders below its own are in this mind
            share = jax.lax.cond(reader == me, foreseen, lambda: jnp.zeros_like(belief.log_goal[0, 0]))
        before = thoughts.log_goal[reader, k - 1]
        log_goal = log_goal.at[reader, k - 1].set(reweighed(before, share))
        if setup.variant.confidence:
            foretold = jnp.exp(before + share).sum()
            raised = (1 - params.learning_speed) * confidence[k - 1] + params.learning_speed * foretold
            confidence = confidence.at[k - 1].set(jnp.where(reader == me, raised, confidence[k - 1]))
    return log_goal, confidence


def own_surplus(setup: Setup, order: int, params: Params, belief: Belief, gate: bool) -> Float[Array, " M"]:
    """S of every offer to a mind of order k: c_k S_k + (1 - c_k) (c_(k-1) S_(k-1) + ...).

    gate: whether order k itself leaves out offers without gain; the orders below always do.
    """
    grid, thoughts = belief.grid, thoughts_of(params, belief)
    role, goal = belief.seat.role, belief.seat.goal
    gain = grid.gain[role][:, goal]

    def open_to(k: int) -> Bool[Array, " M"]:
        return (gain > 0) if gate or k < order else grid.valid

    def trusting(k: int) -> Float[Array, " M"]:
        wanted = open_to(k)
        replies = jax.lax.optimization_barrier(replies_of(setup, grid, thoughts, k, role, wanted))
        weight = jax.lax.optimization_barrier(jnp.exp(thoughts.log_goal[role, k - 1]))
        accepted = replies == setup.accept
        if not gate and k == order:  # to withdraw from an offer of one's own chips is to accept it
            own = jnp.arange(gain.shape[0]) == grid.cell[belief.seat.offers.own[role]]
            accepted |= own[:, None] & (replies == 0)
        worth = jnp.where(accepted, gain[:, None], grid.reply[role][:, goal][replies])
        return jnp.where(wanted, worth @ weight, 0.0)

    def mixed(k: int) -> Float[Array, " M"]:
        if k == 0:
            return jnp.where(open_to(0), jnp.exp(log_acceptance(thoughts, role)) * (gain + setup.rules.cost), 0.0)
        if not setup.variant.confidence:
            return trusting(k)
        sure = belief.confidence[k - 1]
        less_deep = jax.lax.cond(sure < 1, lambda: mixed(k - 1), lambda: jnp.zeros_like(gain))
        return sure * trusting(k) + (1 - sure) * less_deep

    return mixed(order)
