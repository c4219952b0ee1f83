"""Negotiations a second. Run: uv run pytest tests/benchmarks/test_colored_trails.py --benchmark-only

One process; two that are pinned to a core each play about twice as many.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.colored_trails.generation import draw_boards
from otherminds.games.colored_trails.rules import Rules, begin, view
from otherminds.games.colored_trails.utility import deal
from otherminds.tom.experiments.colored_trails.play import Player, deals_of, play
from otherminds.tom.minds.colored_trails import order as plain
from otherminds.tom.minds.colored_trails.fast import fast_negotiator, quickest
from otherminds.tom.minds.colored_trails.negotiator import Params
from otherminds.tom.minds.colored_trails.variant import VARIANTS

BOARDS = 60
RULES = Rules(limit=40)
GAMES = {0: 65_536, 1: 8192, 2: 512}


@pytest.fixture(scope="module")
def boards():
    return draw_boards(jax.random.key(0), BOARDS)


@pytest.mark.parametrize("variant", ["described", "llm-tom"])
@pytest.mark.parametrize("order", list(GAMES))
def test_games(benchmark, boards, order, variant):
    """Both players of one order, 60 boards in both seatings, at most 40 moves. Floors: see fast.py."""
    deals, games = deals_of(RULES, boards), GAMES[order]
    players = (Player(quickest(VARIANTS[variant], order, RULES), Params()),) * 2
    which, mirrored = np.arange(games) % BOARDS, np.arange(games) // BOARDS % 2 == 1
    play(RULES, players, deals, which, mirrored)  # compiles
    benchmark.pedantic(lambda: play(RULES, players, deals, which, mirrored), rounds=3)
    benchmark.extra_info["games_a_second"] = games / benchmark.stats["median"]


@pytest.mark.parametrize("kind", ["fast", "plain"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_decision(benchmark, boards, order, kind):
    """The first move on a board."""
    mind = (fast_negotiator if kind == "fast" else plain.negotiator)(VARIANTS["described"], order, RULES)
    board = jax.tree.map(lambda part: jnp.asarray(part[0]), boards)
    belief = jax.jit(lambda: mind.init(Params(), None, view(begin(RULES, deal(RULES.layout, board)), 0)))()
    codes = jnp.arange(RULES.layout.most_offers)
    decide = jax.jit(lambda belief: mind.log_policy(Params(), belief, None, codes).argmax())
    decide(belief).block_until_ready()
    benchmark.pedantic(lambda: decide(belief).block_until_ready(), rounds=10 if order < 3 else 3)
