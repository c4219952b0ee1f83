"""Looking two exchanges ahead, against the same written out in plain NumPy."""

import jax
import numpy as np
import pytest

from otherminds.tom.minds.colored_trails.horizon import horizon
from otherminds.tom.minds.colored_trails.negotiator import Params


def test_two_exchanges(tiny_rules, tiny_deals, haggling, written, replay):
    table_of, written_mind = written
    mind = horizon(1, tiny_rules)
    longer = 0
    with jax.enable_x64(True):
        for seed in (1, 2, 5):
            deal = tiny_deals(seed)
            offered = haggling(deal, seed, 4)
            for role in (0, 1):
                _, values, _ = replay(mind, tiny_rules)(Params(), deal, role, offered)
                table, goal = table_of(deal), int(deal.board.goals[role])
                agent = written_mind(table, 1, role)
                for t, move in enumerate(offered):
                    if t % 2 == role:
                        expected = agent.surplus(goal, ahead=2) - table.cost
                        np.testing.assert_allclose(values[t, : table.n], expected, atol=1e-9)
                        at_once = agent.surplus(goal) - table.cost
                        assert (expected >= at_once - 1e-12).all()  # haggling is optional
                        longer += (expected > at_once + 1e-6).any()
                        agent.send(move)
                    else:
                        agent.receive(table.flip[move])
    assert longer > 0


def test_order_0_cannot_look_ahead():
    with pytest.raises(ValueError, match="order=0: to look ahead"):
        horizon(0)
