"""Who finds out which strategies two players follow? A hand-written observer beside exact minds, no network needed."""

import numpy as np

from otherminds.games.rps.catalogue import CODES, catalogue
from otherminds.games.rps.observation import Asking
from otherminds.games.rps.statement import Stated
from otherminds.tom.experiments.rps.matches.play import play_matches
from otherminds.tom.experiments.rps.observers.compare import compare
from otherminds.tom.experiments.rps.observers.records import Scene, Watched

asking = Asking(rounds=100, warmup=10, every=30, history=50)
scene = Scene(players=("N", "X"), asking=asking, legacy_iid=False, legacy_decimals=False)
moves = play_matches("N", "X", matches=20, rounds=100, seed=0).astype(np.int32)
first_moves = np.exp(catalogue().log_initial)  # [strategy, move]: what a strategy plays when nobody reacts


def by_counting(rounds: np.ndarray) -> np.ndarray:
    """The static strategies nearest to how often each move came, for both players; it never thinks of reactions."""
    shares = np.stack([(rounds == move).mean(-1) for move in range(3)], -1)
    nearness = np.exp(-100 * ((shares[:, None] - first_moves) ** 2).sum(-1))
    return nearness / nearness.sum(-1, keepdims=True)


strategies = np.stack([[by_counting(match[:, max(r - 50, 0) : r]) for r in asking.asked] for match in moves])
guess = strategies.argmax(-1).astype(np.int32)
shape = guess.shape[:2]
even = np.full((*shape, 2, 3), 1 / 3)  # it says nothing of the next moves, and expects no winner
stated = Stated(strategies, even, even[:, :, 0], strategies.max(-1).prod(-1))
counting = Watched(
    scene, "by counting", [(0, n) for n in range(20)], moves, guess, stated, np.ones(shape, bool), unfinished=0
)

for one in compare([counting]):
    values, name = one.row.values, ("ceiling " if one.row.ceiling else "") + one.row.observer
    print(
        f"{name:18} names both in {values['identified'].mean:4.0%}, player 1 in {values['identified1'].mean:4.0%}, "
        f"player 2 in {values['identified2'].mean:4.0%}; efficiency {values['efficiency'].mean:.2f}"
    )
print("player 2 is taken for", ", ".join(CODES[place] for place in np.unique(guess[:, :, 1])))
