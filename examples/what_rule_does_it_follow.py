"""Which rule does a player of rock, paper, scissors follow? Bots play a learner, and the exact posterior finds them."""

import numpy as np

from otherminds.tom.experiments.rps.matches.compare import compare
from otherminds.tom.experiments.rps.matches.play import play_matches
from otherminds.tom.experiments.rps.matches.records import Matches

ROUNDS, EACH = 60, 20
BOTS = ("prev_move_positive", "opponent_prev_move_nil", "win_nil_lose_positive")

# The learner counts what its opponent does after each of its moves, and plays the best response.
learner = "frequency:given=other"
moves = np.concatenate([play_matches(learner, bot, EACH, ROUNDS, seed=1) for bot in BOTS])
matches = Matches(
    ids=tuple(f"match {n}" for n in range(len(moves))),
    agents=tuple(("learner", bot) for bot in BOTS for _ in range(EACH)),
    moves=moves,
    valid=np.ones((len(moves), ROUNDS), bool),
)
compared = compare(matches, ["random", learner, *BOTS])

print(f"{'player':24} {'matches':>7} {'found':>6} {'rounds until p > .99':>21}")
for row in compared.found:
    if row.true is not None:
        print(f"{row.agent:24} {row.matches:7} {row.right:6} {row.median:15g} (median)")
for row in compared.records:
    if row.opponent:
        print(f"the learner wins {row.mean[0]:.0%} of its rounds against {row.opponent}")
for row in compared.found:
    if row.true is None:
        print(f"the learner's own matches are most probably by: {row.found}")
