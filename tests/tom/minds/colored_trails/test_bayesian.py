"""The Bayesian negotiators against enumeration in plain NumPy, where every goal, move and reply is written out."""

from copy import deepcopy

import jax
import numpy as np
import pytest

from otherminds.tom.minds.colored_trails.bayesian import BayesianParams, bayesian

RATIONALITY = 0.15


class Enumerated:
    """An order-k mind whose models of the other choose by softmax; the offer it has on the table is its own last."""

    def __init__(self, table, order, role):
        self.table, self.order, self.role, self.incoming = table, order, role, None
        if order == 0:
            self.acceptance = np.ones(table.n)
        else:
            self.other, self.goals = Enumerated(table, order - 1, 1 - role), np.full(table.goals, 1 / table.goals)

    def values(self, goal):
        table, gains = self.table, self.table.gain(self.role, goal)
        if self.order == 0:
            return self.acceptance * gains - (1 - self.acceptance) * table.cost
        found = np.zeros(table.n)
        for x in range(table.n):
            sim = deepcopy(self.other)
            sim.see(x, own=False)
            for hypothesis, share in enumerate(self.goals):
                for r, p in enumerate(sim.policy(hypothesis)):
                    if r == table.flip[x]:
                        end = gains[x] - table.cost
                    elif r == table.own[1 - self.role]:
                        end = -table.cost
                    else:
                        end = max(-table.cost, gains[table.flip[r]] - 2 * table.cost)
                    found[x] += share * p * end
        return found

    def policy(self, goal):
        values = self.values(goal)
        values[self.table.own[self.role]] = 0
        if self.incoming is not None:
            values[self.incoming] = self.table.gain(self.role, goal)[self.incoming]
        weights = np.exp(RATIONALITY * (values - values.max()))
        return weights / weights.sum()

    def see(self, kept, own):
        """A move: `kept` is what its player would hold."""
        table = self.table
        x = kept if own else table.flip[kept]
        if self.order == 0:
            less = (table.chips >= table.chips[x]) if own else (table.chips > table.chips[x])
            self.acceptance = self.acceptance * (1 - table.speed) ** less.sum(1)
        else:
            if not own:
                likelihood = [self.other.policy(goal)[kept] for goal in range(table.goals)]
                self.goals = self.goals * likelihood / (self.goals @ likelihood)
            self.other.see(kept, own=not own)
        self.incoming = None if own else x


@pytest.mark.parametrize(("order", "moves"), [(1, 6), pytest.param(2, 3, marks=pytest.mark.slow)])
def test_enumeration(tiny_rules, tiny_deals, haggling, written, replay, order, moves):
    mind = bayesian(order, tiny_rules)
    params = BayesianParams(rationality=RATIONALITY)
    with jax.enable_x64(True):
        for seed in (1, 2):
            deal = tiny_deals(seed)
            offered = haggling(deal, seed, moves)
            for role in (0, 1):
                belief, values, _ = replay(mind, tiny_rules)(params, deal, role, offered)
                table = written[0](deal)
                agent = Enumerated(table, order, role)
                for t, move in enumerate(offered):
                    np.testing.assert_allclose(np.exp(belief.level.log_hypotheses[t]), agent.goals, atol=1e-10)
                    if t % 2 == role:
                        np.testing.assert_allclose(
                            values[t, : table.n], agent.values(int(deal.board.goals[role])), atol=1e-9
                        )
                    agent.see(move, own=t % 2 == role)
                np.testing.assert_allclose(np.exp(belief.level.log_hypotheses[moves]), agent.goals, atol=1e-10)
                assert np.ptp(agent.goals) > 0.005  # something was learned


@pytest.mark.parametrize("ending", ["accepts", "withdraws"])
def test_a_move_that_ends_the_game_is_evidence(tiny_rules, tiny_deals, haggling, written, replay, ending):
    """The other's last move, which it makes in reply to an offer, multiplies the belief as any other does."""
    mind, params = bayesian(1, tiny_rules), BayesianParams(rationality=RATIONALITY)
    with jax.enable_x64(True):
        deal = tiny_deals(1)
        offered, table = list(haggling(deal, 1, 6)), written[0](deal)
        offered[-1] = int(table.flip[offered[-2]] if ending == "accepts" else table.own[1])
        belief, _, _ = replay(mind, tiny_rules)(params, deal, 0, np.array(offered))
        agent = Enumerated(table, 1, 0)
        for t, move in enumerate(offered):
            before = agent.goals
            agent.see(move, own=t % 2 == 0)
        np.testing.assert_allclose(np.exp(belief.level.log_hypotheses[6]), agent.goals, atol=1e-10)
        assert np.ptp(agent.goals / before) > 0.005  # it told something


def test_order_0_is_no_bayesian():
    with pytest.raises(ValueError, match="order=0: a Bayesian models the other"):
        bayesian(0)
