"""Minds in the place of the players of recorded games."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.colored_trails.rules import NO_ANSWER
from otherminds.tom.minds.colored_trails.negotiator import Params
from otherminds.tom.minds.colored_trails.order import negotiator
from otherminds.tom.minds.colored_trails.shadow import shadow
from otherminds.tom.minds.colored_trails.variant import DESCRIBED


@pytest.fixture(scope="module")
def games(tiny_rules, tiny_deals, haggling):
    """Two games of five offers, of which the last is accepted; padded."""
    found = []
    for seed in (2, 5):
        deal = tiny_deals(seed)
        kept = np.full(tiny_rules.limit, NO_ANSWER)
        kept[:5] = haggling(deal, seed, 5)
        kept[5] = deal.offers.flip[kept[4]]
        found.append((jax.tree.map(jnp.asarray, deal), kept))
    return found


def run(rules, order):
    mind = negotiator(DESCRIBED, order, rules)
    return jax.jit(lambda deal, role, kept: shadow(mind, Params(), rules, deal, role, kept))


def test_order_0(tiny_rules, games, written):
    """P (G + C) - C without the gate; accepting has its gain, withdrawal 0."""
    shadowed = run(tiny_rules, 0)
    for deal, kept in games:
        for role in (0, 1):
            values, log_goal = map(np.asarray, shadowed(deal, role, jnp.asarray(kept)))
            table = written[0](deal)
            agent = written[1](table, 0, role)
            gains = table.gain(role, int(deal.board.goals[role]))
            assert (gains < 0).any()
            for t in range(6):
                if t % 2 != role:
                    agent.receive(table.flip[kept[t]])
                    assert (values[t] == -np.inf).all()
                    continue
                expected = agent.acceptance * (gains + 0.1) - 0.1
                expected[table.own[role]] = 0
                if t:
                    expected[table.flip[kept[t - 1]]] = gains[table.flip[kept[t - 1]]]
                np.testing.assert_allclose(values[t, : table.n], expected, atol=1e-4)
                assert (values[t, table.n :] == -np.inf).all()
                agent.send(kept[t])
            assert (values[6:] == -np.inf).all()
            np.testing.assert_allclose(np.exp(log_goal), 0.25, rtol=1e-6)


def test_order_1(tiny_rules, games, replay):
    """Where there is a gain and no ending, the values are those of the mind that plays."""
    shadowed = run(tiny_rules, 1)
    mind, differs = negotiator(DESCRIBED, 1, tiny_rules), False
    for deal, kept in games:
        for role in (0, 1):
            values, log_goal = map(np.asarray, shadowed(deal, role, jnp.asarray(kept)))
            belief, plain, _ = replay(mind, tiny_rules)(Params(), deal, role, kept)
            worth = np.asarray(deal.utility)[int(deal.board.goals[role])]
            for t in range(role, 6, 2):
                ends = {int(deal.offers.own[role]), int(deal.offers.flip[kept[t - 1]]) if t else -1}
                gains = worth - worth[deal.offers.own[role]]
                gainful = [x for x in np.flatnonzero(deal.offers.valid) if gains[x] > 0 and x not in ends]
                # The self model inside has the gate, so that without full confidence the others differ too.
                np.testing.assert_allclose(values[t, gainful], plain[t, gainful], atol=1e-4)
                valid = np.asarray(deal.offers.valid)
                differs |= (np.abs(values[t, valid] - plain[t, valid]) > 0.1).any()
            np.testing.assert_allclose(log_goal[:6], belief.level.log_hypotheses[:6], atol=1e-5)
    assert differs
