"""Does it pay to reason about the other's goal? Negotiators of order 0 and 1 on boards of Colored Trails.

Order 0 learns which offers are accepted. Order 1 asks, for every goal that the other may have, what it would answer,
and believes in the goals that make its offers sensible (de Weerd, Verbrugge & Verheij 2017).
"""

import jax

from otherminds.games.colored_trails.generation import draw_boards
from otherminds.tom.experiments.colored_trails.simulate import simulate

boards = draw_boards(jax.random.key(0), 200)

print("Mean gain in points, on 200 boards in both seatings (± standard error over boards)")
print("initiator  responder  gain of initiator  gain of responder  agreed")
for row in simulate(boards, (0, 1), processes=1):
    gains = [f"{mean:5.1f} ± {error:.1f}" for mean, error in zip(row.gain, row.gain_error, strict=True)]
    print(f"{row.initiator:9}  {row.responder:9}  {gains[0]:>17}  {gains[1]:>17}  {row.agreement:6.0%}")
