"""Recorded negotiations, played again with a mind in a player's place; and a board so small that all can be counted."""

import json
from copy import deepcopy
from functools import cache
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.colored_trails.board import Board, Layout
from otherminds.games.colored_trails.rules import NO_ANSWER, Rules, begin, step, view
from otherminds.games.colored_trails.utility import deal

MOVES = 12
TINY = Rules(layout=Layout(rows=3, columns=3, colours=2, chips=2, goal_distance=2), limit=MOVES)


@cache
def dealer(layout):
    return jax.jit(lambda board: deal(layout, board))


def deal_of(layout, tiles, chips, goals):
    """A deal as NumPy arrays, worked out in double precision and rounded to that of the caller."""
    with jax.enable_x64(True):
        found = dealer(layout)(Board(jnp.asarray(tiles), jnp.asarray(chips), jnp.asarray(goals)))
    return jax.tree.map(lambda x: np.asarray(jnp.asarray(np.asarray(x))), found)


@cache
def replayer(mind, rules):
    """run(params, deal, role, moves, memory) -> belief and values before every move, and the belief at the end."""

    @jax.jit
    def run(params, deal, role, kept, memory):
        def move(carry, code):
            state, belief = carry
            before = belief, mind.values(params, belief)
            state, event = step(rules, state, code)
            return (state, mind.update(params, belief, event)), before

        state = begin(rules, deal)
        belief = mind.init(params, memory, view(state, role))
        (_, last), before = jax.lax.scan(move, (state, belief), kept)
        return *before, last

    def padded(params, deal, role, moves, memory=None):
        kept = np.full(rules.limit, NO_ANSWER)
        kept[: len(moves)] = moves
        return jax.tree.map(np.asarray, run(params, jax.tree.map(jnp.asarray, deal), role, jnp.asarray(kept), memory))

    return padded


@pytest.fixture(scope="session")
def replay():
    """replay(mind, rules) -> run(params, deal, role, moves, memory=None), compiled once for both."""
    return replayer


@pytest.fixture(scope="session")
def golden(shared):
    """.deal(board name), .games(file, order): those with a player of this order, each with its deal."""
    folder = shared / "golden/colored_trails"
    boards = {board["name"]: board for board in json.loads((folder / "utilities.json").read_text())}

    def named(name):
        return deal_of(Layout(), *(boards[name][part] for part in ("board", "chips", "goals")))

    def games(file, order):
        found = [game for game in json.loads((folder / file).read_text()) if order in game["orders"]]
        return [game | {"deal": named(game["board"])} for game in found]

    return SimpleNamespace(deal=named, games=games)


@pytest.fixture(scope="session")
def tiny_rules():
    """3 x 3 tiles, two colours, two chips each, the four corners as goals: at most nine offers."""
    return TINY


@pytest.fixture(scope="session")
def tiny_deals():
    """tiny_deals(seed) -> a random board of `tiny_rules` with all that follows from it."""

    def draw(seed):
        rng = np.random.default_rng(seed)
        layout = TINY.layout
        tiles = rng.integers(0, layout.colours, (layout.rows, layout.columns))
        chips = np.stack([rng.multinomial(layout.chips, [0.5, 0.5]) for _ in range(2)])
        return deal_of(layout, tiles, chips, rng.integers(0, 4, 2))

    return draw


class Table:
    """What both players of a tiny game know, in plain NumPy."""

    def __init__(self, deal, cost=0.1, speed=0.8):
        valid = np.asarray(deal.offers.valid)
        self.n, self.goals = valid.sum(), len(deal.utility)
        self.cost, self.speed = cost, speed
        self.chips = np.asarray(deal.offers.chips)[valid]
        self.flip = np.asarray(deal.offers.flip)[valid]
        self.own = np.asarray(deal.offers.own)
        self.utility = np.asarray(deal.utility)[:, valid]

    def gain(self, role, goal):
        return self.utility[goal] - self.utility[goal, self.own[role]]


class Written:
    """A negotiator of order k as the text describes it, written out as loops over all that may happen."""

    def __init__(self, table, order, role, locked=False):
        self.table, self.order, self.role, self.locked = table, order, role, locked
        if order == 0:
            self.acceptance = np.ones(table.n)
            return
        self.other = Written(table, order - 1, 1 - role, True)
        self.own = None if locked else Written(table, order - 1, role)
        self.goals, self.confidence = np.full(table.goals, 1 / table.goals), 1.0

    def surplus(self, goal, gate=True, ahead=1):
        """V + C of every offer. ahead: how many exchanges it looks ahead."""
        table, gains = self.table, self.table.gain(self.role, goal)
        if self.order == 0:
            return np.where((gains > 0) | (not gate), self.acceptance * (gains + table.cost), 0.0)
        found = np.zeros(table.n)
        for x in range(table.n):
            if gains[x] > 0 or not gate:
                found[x] = sum(
                    share * self.end(goal, gains, x, self.reply(x, hypothesis), ahead)
                    for hypothesis, share in enumerate(self.goals)
                )
        if self.locked:
            return found
        return self.confidence * found + (1 - self.confidence) * self.own.surplus(goal)

    def reply(self, x, goal):
        sim = deepcopy(self.other)
        sim.receive(self.table.flip[x])
        return sim.choice(goal, self.table.flip[x])

    def end(self, goal, gains, x, reply, ahead):
        table = self.table
        if reply == table.flip[x]:
            return gains[x]
        if reply == table.own[1 - self.role]:
            return 0.0
        at_once = max(0.0, gains[table.flip[reply]] - table.cost)
        if ahead == 1:
            return at_once
        later = deepcopy(self)
        later.send(x)
        later.receive(table.flip[reply])
        return max(at_once, later.surplus(goal).max() - 2 * table.cost)

    def choice(self, goal, incoming=None):
        values, gains = self.surplus(goal) - self.table.cost, self.table.gain(self.role, goal)
        best, chosen = 0.0, [self.table.own[self.role]]
        for x, value in enumerate(values):
            if value > best - 1e-6:
                if value > best + 1e-6:
                    best, chosen = value, []
                chosen.append(x)
        if incoming is not None and gains[incoming] > best - 1e-6:
            best, chosen = gains[incoming], [incoming]
        return self.table.own[self.role] if best < 1e-6 else chosen[0]

    def receive(self, y):
        table = self.table
        if self.order == 0:
            self.acceptance = self.acceptance * (1 - table.speed) ** (table.chips > table.chips[y]).sum(1)
            return
        z, weights = table.flip[y], np.zeros(table.goals)
        for goal in range(table.goals):
            if table.gain(1 - self.role, goal)[z] > 0:
                surplus = self.other.surplus(goal)
                weights[goal] = self.goals[goal] * max(0, surplus[z]) / max(table.cost, surplus.max())
        accuracy = weights.sum()
        self.goals = weights / accuracy if accuracy > 0 else np.full(table.goals, 1 / table.goals)
        self.other.send(z)
        if not self.locked:
            self.confidence = (1 - table.speed) * self.confidence + table.speed * accuracy
            self.own.receive(y)

    def send(self, x):
        table = self.table
        if self.order == 0:
            self.acceptance = self.acceptance * (1 - table.speed) ** (table.chips >= table.chips[x]).sum(1)
            return
        self.other.receive(table.flip[x])
        if not self.locked:
            self.own.send(x)


@pytest.fixture(scope="session")
def written():
    """(Table, Written): the negotiators of the text in plain NumPy."""
    return Table, Written


@pytest.fixture(scope="session")
def haggling():
    """haggling(deal, seed, moves) -> random offers in turn, none of which accepts or withdraws."""

    def draw(deal, seed, moves):
        rng, found = np.random.default_rng(seed), []
        flip, own = np.asarray(deal.offers.flip), np.asarray(deal.offers.own)
        for t in range(moves):
            closed = {own[t % 2], flip[found[-1]] if found else -1}
            codes = [x for x in np.flatnonzero(deal.offers.valid) if x not in closed]
            found.append(int(rng.choice(codes)))
        return found

    return draw
