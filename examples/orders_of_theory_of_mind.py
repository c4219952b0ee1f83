"""Does it pay to think about what the other thinks? Orders of theory of mind in rock, paper, scissors.

Order 0 expects the other to go on as before. Order 1 puts itself in the other's place, as a mind of order 0, and
answers what that would do; order 2 expects to be seen as such, and so on (de Weerd, Verbrugge & Verheij 2013).
"""

import jax

from otherminds.games.rollout import game_key, rollout
from otherminds.games.rps.rules import rps
from otherminds.tom.minds.matrix.order import draw_params, order_mind

MATCHES, ROUNDS, ORDERS = 500, 20, 3
game = rps(ROUNDS)


def mean_payoff(first: int, second: int) -> float:
    """Payoff a round of a mind of order `first` against one of order `second`."""
    minds = order_mind(first), order_mind(second)

    @jax.jit
    @jax.vmap
    def match(index):
        key = game_key(jax.random.key(0), index)
        key_first, key_second = jax.random.split(jax.random.fold_in(key, 2**32 - 1))
        # Everyone has its own learning speed and its own first beliefs.
        params = draw_params(key_first, first), draw_params(key_second, second)
        state, _ = rollout(game, minds, params, key)
        return game.returns(state)[0]

    return float(match(jax.numpy.arange(MATCHES)).mean()) / ROUNDS


print("Mean payoff a round, row against column (win 1, loss -1)")
print("         " + "  ".join(f"order {order}" for order in range(ORDERS - 1)))
for first in range(1, ORDERS):
    print(f"order {first}  " + "  ".join(f"{mean_payoff(first, second):7.2f}" for second in range(first)))
