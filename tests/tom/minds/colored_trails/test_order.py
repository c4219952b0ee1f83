"""Negotiators of order k on tiny boards, against the text written out in plain NumPy; and as minds like any other."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.colored_trails.board import Layout
from otherminds.games.colored_trails.rules import Rules, begin, view
from otherminds.tom.minds.colored_trails.negotiator import Params
from otherminds.tom.minds.colored_trails.order import best_choice, negotiator, soft_choice
from otherminds.tom.minds.colored_trails.types import initial
from otherminds.tom.minds.colored_trails.variant import DE_WEERD, DESCRIBED, LLM_TOM


@pytest.mark.parametrize(("order", "moves"), [(0, 8), (1, 8), (2, 5), pytest.param(3, 2, marks=pytest.mark.slow)])
def test_the_text_written_out(tiny_rules, tiny_deals, haggling, written, replay, order, moves):
    """Values, goal beliefs, confidence and choices after random offers, in either seat of three random boards."""
    table_of, written_mind = written
    mind = negotiator(DESCRIBED, order, tiny_rules)
    worth_something = 0
    with jax.enable_x64(True):
        for seed in (1, 2, 5):
            deal = tiny_deals(seed)
            offered = haggling(deal, seed, moves)
            for role in (0, 1):
                belief, values, _ = replay(mind, tiny_rules)(Params(), deal, role, offered)
                table, goal = table_of(deal), int(deal.board.goals[role])
                agent = written_mind(table, order, role)
                for t, move in enumerate(offered):
                    if t % 2 == role:
                        expected = agent.surplus(goal) - table.cost
                        worth_something += (expected > 0).any()
                        np.testing.assert_allclose(values[t, : table.n], expected, atol=1e-9)
                        assert (values[t, table.n :] == -np.inf).all()
                        seat = jax.tree.map(lambda x, t=t: jnp.asarray(x[t]), belief.seat)
                        policy = best_choice(DESCRIBED, seat, jnp.asarray(values[t]))
                        incoming = table.flip[offered[t - 1]] if t else None
                        assert np.argmax(policy) == agent.choice(goal, incoming)
                        agent.send(move)
                    else:
                        agent.receive(table.flip[move])
                    if order:
                        level = jax.tree.map(lambda x, t=t: x[t + 1], belief.level)
                        np.testing.assert_allclose(np.exp(level.log_hypotheses), agent.goals, atol=1e-9)
                        np.testing.assert_allclose(level.confidence, agent.confidence, atol=1e-9)
    assert worth_something > 2


@pytest.fixture(scope="module")
def order1(tiny_rules):
    return negotiator(DESCRIBED, 1, tiny_rules)


def test_a_mind_like_any_other(tiny_rules, tiny_deals, order1, replay):
    """Policies are normalised over the offers that there are; a lapse reaches all of these and no padding."""
    deal = tiny_deals(2)
    belief, values, last = replay(order1, tiny_rules)(Params(), deal, 0, [])
    assert values.dtype == np.float32
    first = jax.tree.map(lambda x: jnp.asarray(x[0]), belief)
    actions = order1.alternatives(Params(), first, None)
    n = int(deal.offers.valid.sum())
    policy = jax.jit(lambda params: order1.log_policy(params, first, None, actions))
    plain, lapsing = np.exp(policy(Params(lapse=0.0))), np.exp(policy(Params(lapse=0.3)))
    np.testing.assert_allclose(plain.sum(), 1, rtol=1e-6)
    np.testing.assert_allclose(lapsing[:n], 0.7 * plain[:n] + 0.3 / n, rtol=1e-5)
    assert (lapsing[n:] == 0).all()
    read = jax.jit(lambda: order1.readout(Params(), first, None))()
    np.testing.assert_allclose(np.exp(read["log_goal"]), 0.25, rtol=1e-6)
    np.testing.assert_array_equal(read["confidence"], [1.0])
    np.testing.assert_allclose(read["values"], values[0], rtol=1e-6)
    np.testing.assert_array_equal(order1.goals(Params(), first), read["log_goal"])
    assert last.level.other.discounts.shape == (9,)


def test_a_soft_choice_knows_acceptance_and_withdrawal(tiny_rules, tiny_deals, haggling, order1, replay):
    deal = tiny_deals(2)
    offered = haggling(deal, 2, 3)
    belief, values, _ = replay(order1, tiny_rules)(Params(), deal, 1, offered[:1])
    seat = jax.tree.map(lambda x: jnp.asarray(x[1]), belief.seat)
    n, own = int(deal.offers.valid.sum()), int(deal.offers.own[1])
    gains = np.asarray(deal.utility)[int(deal.board.goals[1])]
    expected = values[1].copy()
    expected[own], y = 0.0, int(deal.offers.flip[offered[0]])
    expected[y] = gains[y] - gains[own]
    policy = np.exp(soft_choice(seat, jnp.asarray(values[1]), 0.3))
    wanted = np.exp(0.3 * expected[:n] - (0.3 * expected[:n]).max())
    np.testing.assert_allclose(policy[:n], wanted / wanted.sum(), rtol=1e-5)
    np.testing.assert_allclose(np.exp(soft_choice(seat, jnp.asarray(values[1]), 0.0))[:n], 1 / n, rtol=1e-6)


@pytest.mark.parametrize(
    ("values", "incoming", "expected"),
    [
        ([-0.1, 3.0, 3.0, -0.1], -1, [1]),  # the lowest of two that are equally good
        ([-0.1, 3.0, 3.0, -0.1], 3, [3]),  # what is on the table brings 4
        ([-0.1, 4.0, 3.0, -0.1], 3, [3]),  # as good as an offer: accepted
        ([-0.1, 5.0, 3.0, -0.1], 3, [1]),
        ([-0.1, 1e-5, -0.1, -0.1], -1, [0]),  # nothing to gain: withdraws
        ([-0.1, -0.1, -0.1, -0.1], 2, [0]),
    ],
)
@pytest.mark.parametrize("ties", ["lowest", "all"])
def test_choice(tiny_rules, tiny_deals, order1, replay, values, incoming, expected, ties):
    """Own chips are code 0; the gains of the four offers are 0, 5, -5 and 4."""
    belief, _, _ = replay(order1, tiny_rules)(Params(), tiny_deals(2), 0, [])
    seat = jax.tree.map(lambda x: jnp.asarray(x[0]), belief.seat)
    offers = seat.offers._replace(
        valid=jnp.ones(4, bool), flip=jnp.arange(4)[::-1], own=jnp.array([0, 3]), chips=jnp.zeros((4, 2), int)
    )
    seat = seat._replace(
        offers=offers,
        utility=jnp.tile(jnp.array([10.0, 15.0, 5.0, 14.0]), (4, 1)),
        table=jnp.asarray(3 - incoming if incoming >= 0 else -1, jnp.int32),
        proposer=jnp.int32(1),
    )
    policy = np.exp(best_choice(replace(DESCRIBED, ties=ties), seat, jnp.asarray(values)))
    tied = [1, 2] if ties == "all" and values[1] == values[2] == 3.0 and incoming < 0 else expected
    np.testing.assert_allclose(policy, np.isin(np.arange(4), tied) / len(tied), rtol=1e-6)


def test_types_and_confidence_last(tiny_rules, tiny_deals, haggling, order1, replay):
    """The next game begins with the type beliefs and the confidence of the last, and knows nothing of its goal."""
    deal, again = tiny_deals(2), tiny_deals(5)
    run = replay(order1, tiny_rules)
    last = run(Params(), deal, 1, haggling(deal, 2, 4))[-1]
    memory = order1.carry(Params(), last)
    belief = jax.tree.map(lambda x: x[0], run(Params(), again, 0, [], memory)[0])
    assert belief.level.confidence == last.level.confidence < 1
    np.testing.assert_allclose(np.exp(belief.level.log_hypotheses), 0.25, rtol=1e-6)
    for new, old in ((belief.level.own, last.level.own), (belief.level.other, last.level.other)):
        np.testing.assert_array_equal(new.types.taken, old.types.taken)
        assert (new.types.taken != 1).any()
        assert (new.discounts == 0).all()


def test_a_mind_of_another_layout(tiny_rules, tiny_deals):
    mind = negotiator(DESCRIBED, 0, Rules())
    with pytest.raises(ValueError, match="4 goals and 9 offers for a mind made for 12 and 108"):
        mind.init(Params(), None, view(begin(tiny_rules, jax.tree.map(jnp.asarray, tiny_deals(1))), 0))


def test_more_chips_than_the_tables_know():
    rules = Rules(layout=Layout(colours=2, chips=5))
    with pytest.raises(ValueError, match="at most 4 chips"):
        initial(LLM_TOM, rules.layout, jnp.int32(0), jnp.float32)


def test_the_leak_is_made_for_order_1():
    with pytest.raises(ValueError, match="leak=True at order 2"):
        negotiator(replace(LLM_TOM, leak=True), 2)
    with pytest.raises(ValueError, match="leak=True at order 1"):
        negotiator(replace(DESCRIBED, leak=True), 1)
    assert negotiator(replace(DE_WEERD, leak=True), 1).name == "colored-trails-order1-deweerd"
