"""Which strategies of rock, paper, scissors can an ideal observer tell apart, how fast, and against whom?"""

import jax
import numpy as np

from otherminds.games.rps.catalogue import NAMES, catalogue, member
from otherminds.games.rps.identifiability import equivalence_classes, kl_rates, rounds_to_odds
from otherminds.tom.experiments.rps.ceilings import ceiling

CANDIDATES = "ADHKXYZ"
rates_of = jax.jit(kl_rates)

for opponent in "DA":
    rates = rates_of(catalogue(codes=CANDIDATES), member(opponent))
    rounds = np.where(np.eye(len(CANDIDATES)), -np.inf, rounds_to_odds(rates))
    print(f"\nPlayer 1 against {NAMES[opponent]}: the rival that is hardest to tell from it")
    for code, row in zip(CANDIDATES, rounds, strict=True):
        print(f"  {NAMES[code]:26} {NAMES[CANDIDATES[row.argmax()]]:26} {row.max():6.1f} rounds to odds of 19 to 1")
    for group in equivalence_classes(rates):
        if len(group) > 1:
            print("  no long match tells apart:", " and ".join(NAMES[CANDIDATES[i]] for i in group))

print("\nRock-biased against random: how often the ideal observer of 200 rounds is right")
for title, options in (("all rounds", {}), ("the last 50", {"window": 50})):
    found = ceiling("H", "D", 500, **options)
    for n in (10, 50, 200):
        share, low, high = (bound[0, n - 1] for bound in (found.share, found.low, found.high))
        print(f"  {title:12} after {n:3} rounds: {share:.2f} (95%: {low:.2f} to {high:.2f})")
