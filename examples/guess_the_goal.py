"""Where does it want to go? Two negotiators, and what two minds in the first one's place believe of the other's goal.

De Weerd's order-1 mind weighs a goal by how good an offer is for it; the Bayesian mind by how probable a softmax of
values makes the move. Writes goals.png, each belief before every move of the initiator, and board.png.
"""

import jax
import jax.numpy as jnp
import numpy as np

from otherminds.games.colored_trails.board import Board, Layout
from otherminds.games.colored_trails.generation import draw_boards
from otherminds.games.colored_trails.plots import board_figure, goal_figure
from otherminds.games.colored_trails.rules import Ending, Rules, begin, gained, step, view
from otherminds.games.colored_trails.text import draw
from otherminds.games.colored_trails.utility import deal
from otherminds.tom.minds.colored_trails.registry import named_negotiator
from otherminds.tom.minds.colored_trails.shadow import shadow

BOARD = 0
layout, rules = Layout(), Rules(limit=10)
board = Board(*(jnp.asarray(part[BOARD]) for part in draw_boards(jax.random.key(0), BOARD + 1)))
state = begin(rules, deal(layout, board))
print(draw(layout, np.asarray(board.tiles), {int(board.goals[0]): "1", int(board.goals[1]): "2"}))

player = named_negotiator("order1", rules)
update, policy = jax.jit(player.mind.update), jax.jit(player.mind.log_policy)
beliefs = [player.mind.init(player.params, None, view(state, role)) for role in range(2)]
codes = jnp.arange(layout.most_offers)
while state.ending == Ending.ONGOING:
    role = int(state.turn) % 2
    kept = int(policy(player.params, beliefs[role], None, codes).argmax())
    state, event = step(rules, state, kept)
    beliefs = [update(player.params, belief, event) for belief in beliefs]
    print(f"player {role + 1} would hold {state.deal.offers.chips[kept]}")
print(f"{Ending(int(state.ending)).name.lower()}; gains: {gained(rules, state)}")

moves = np.arange(0, int(state.turn), 2)
posteriors, names = [], []
for spec in ("order1", "bayesian1"):
    mind = named_negotiator(spec, rules)
    _, log_goal = jax.jit(lambda kept, mind=mind: shadow(mind.mind, mind.params, rules, state.deal, 0, kept))(
        state.kept
    )
    print(f"{spec:9} p(true goal) before each move of player 1:", np.exp(log_goal[moves, board.goals[1]]).round(2))
    posteriors += [log_goal[t] for t in moves]
    names += [f"{spec}, move {t + 1}" for t in moves]
goal_figure(layout, np.stack(posteriors), "goals.png", names, true_goal=int(board.goals[1]))
board_figure(layout, board, "board.png")
