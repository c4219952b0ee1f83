"""The order-k construction on a small negotiation: offers in turn, a hidden goal, replies that are foreseen.

Four chips of one kind lie on the table, each of two players holds two and wants some number of them that the other
does not know. A move is the number of chips to keep: one's own two withdraw, what the other offers accepts.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.tom.order import Construction, Ground, order_k

CHIPS, HELD, COST, SPEED = 4, 2, 0.1, 0.6
WORTH = np.array([[0.0, 1, 2.5, 5, 5.5], [0, 3, 3.5, 4, 4.2], [5, 4.1, 3, 2, 1]])  # [goal, chips kept]
GAIN = WORTH - WORTH[:, HELD : HELD + 1]
N, GOALS = CHIPS + 1, len(WORTH)


class Seat(NamedTuple):
    role: jax.Array
    goal: jax.Array
    offer: jax.Array  # what one would hold; -1: no offer


class Event(NamedTuple):
    actor: jax.Array
    kept: jax.Array


class Params(NamedTuple):
    learning_speed: jax.Array
    confidence: jax.Array
    lapse: float = 0.0


def see(seat, event):
    return seat._replace(offer=jnp.where(event.actor == seat.role, -1, CHIPS - event.kept))


def learn(params, seat, belief, event):
    own = event.actor == seat.role
    x = jnp.where(own, event.kept, CHIPS - event.kept)
    worse = jnp.where(own, jnp.arange(N) >= x, jnp.arange(N) > x)
    return belief * jnp.where(worse, 1 - params.learning_speed, 1.0)


def anticipate(params, seat, other):
    def of(x):
        def if_goal(goal):
            reply = jnp.argmax(other.policy(goal, Event(seat.role, x)))
            countered = jnp.maximum(-COST, gain[CHIPS - reply] - 2 * COST)
            return jnp.where(reply == CHIPS - x, gain[x] - COST, jnp.where(reply == HELD, -COST, countered))

        value = (jnp.exp(other.log_hypotheses) * jax.vmap(if_goal)(jnp.arange(GOALS))).sum()
        return jnp.where(gain[x] > 0, value, -COST)

    gain = jnp.asarray(GAIN)[seat.goal]
    return jax.vmap(of)(jnp.arange(N))


def foresee(params, seat, event, other):
    def if_goal(goal):
        values = other.values(goal)
        share = (values[event.kept] + COST) / (jnp.maximum(values.max(), 0) + COST)
        return jnp.where(jnp.asarray(GAIN)[goal, event.kept] > 0, jnp.maximum(share, 0), 0.0)

    return jnp.log(jax.vmap(if_goal)(jnp.arange(GOALS))), event.actor != seat.role


def choose(params, seat, values, depth, order):
    gain = jnp.asarray(GAIN)[seat.goal]
    best = values.max()
    chosen = jnp.where(best < 1e-5, HELD, jnp.argmax(values))
    accepts = (seat.offer >= 0) & (gain[seat.offer] > jnp.maximum(best, 0) - 1e-5) & (gain[seat.offer] >= 1e-5)
    return jnp.where(jnp.arange(N) == jnp.where(accepts, seat.offer, chosen), 0.0, -jnp.inf)


GROUND = Ground(
    name="chips",
    seat=lambda view: view,
    see=see,
    imagine=lambda seat, hypothesis: Seat(
        1 - seat.role, jnp.int32(0) if hypothesis is None else hypothesis, jnp.int32(-1)
    ),
    log_hypotheses=lambda seat: jnp.full(GOALS, -jnp.log(GOALS)),
    begin=lambda params, memory, seat, depth: jnp.ones(N) if memory is None else memory,
    learn=learn,
    values=lambda params, seat, belief: jnp.where(
        jnp.asarray(GAIN)[seat.goal] > 0, belief * (jnp.asarray(GAIN)[seat.goal] + COST) - COST, -COST
    ),
    anticipate=anticipate,
    foresee=foresee,
    choose=choose,
)


class Written:
    """The same as a recursion over agents that are copied, with a goal given at each question."""

    def __init__(self, order, role, locked=False):
        self.order, self.role, self.locked, self.offer, self.c = order, role, locked, -1, 0.8
        self.b, self.goals = np.ones(N), np.full(GOALS, 1 / GOALS)
        if order:
            self.other, self.self = Written(order - 1, 1 - role, True), Written(order - 1, role)

    def copy(self):
        twin = Written(self.order, self.role, self.locked)
        twin.offer, twin.c, twin.b, twin.goals = self.offer, self.c, self.b.copy(), self.goals.copy()
        if self.order:
            twin.other, twin.self = self.other.copy(), self.self.copy()
        return twin

    def values(self, goal):
        gain = GAIN[goal]
        if self.order == 0:
            return np.where(gain > 0, self.b * (gain + COST) - COST, -COST)
        modelled = np.full(N, -COST)
        for x in range(N):
            if gain[x] > 0:
                sim = self.other.copy()
                sim.learns(self.role, x)
                ends = []
                for hidden in range(GOALS):
                    reply = sim.acts(hidden)
                    if reply == CHIPS - x:
                        ends.append(gain[x] - COST)
                    elif reply == HELD:
                        ends.append(-COST)
                    else:
                        ends.append(max(-COST, gain[CHIPS - reply] - 2 * COST))
                modelled[x] = self.goals @ ends
        return modelled if self.locked else self.c * modelled + (1 - self.c) * self.self.values(goal)

    def acts(self, goal):
        values, gain = self.values(goal), GAIN[goal]
        if self.offer >= 0 and gain[self.offer] > max(values.max(), 0) - 1e-5 and gain[self.offer] >= 1e-5:
            return self.offer
        return HELD if values.max() < 1e-5 else int(np.argmax(values))

    def learns(self, actor, kept):
        if self.order and actor != self.role:
            weighed = np.zeros(GOALS)
            for goal in range(GOALS):
                values = self.other.values(goal)
                if GAIN[goal][kept] > 0:
                    share = (values[kept] + COST) / (max(values.max(), 0) + COST)
                    weighed[goal] = self.goals[goal] * max(0, share)
            accuracy = weighed.sum()
            self.goals = weighed / accuracy if accuracy > 0 else np.full(GOALS, 1 / GOALS)
            self.c = (1 - SPEED) * self.c + SPEED * accuracy
        if self.order:
            self.other.learns(actor, kept)
            self.self.learns(actor, kept)
        own = actor == self.role
        x = kept if own else CHIPS - kept
        self.b = self.b * np.where(np.arange(N) >= x if own else np.arange(N) > x, 1 - SPEED, 1)
        self.offer = -1 if own else CHIPS - kept


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_negotiation_with_hidden_goals(order):
    mind, role, goal = order_k(Construction(GROUND, exclusive=False), order), 1, 0
    moves = [(0, 3), (1, 4), (0, 1), (1, 3), (0, 3), (1, 4), (0, 4)]
    agent = Written(order, role)
    with jax.enable_x64(True):
        params = Params(jnp.asarray(SPEED), jnp.full(order, 0.8))
        jit = partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})  # compiles faster
        belief = jit(lambda: mind.init(params, None, Seat(jnp.int32(role), jnp.int32(goal), jnp.int32(-1))))()
        update = jit(lambda belief, event: mind.update(params, belief, event))
        policy = jit(lambda belief: mind.log_policy(params, belief, None, jnp.arange(N)))
        told = 0.0
        for actor, kept in moves:
            told = max(told, np.ptp(agent.goals))
            assert int(np.argmax(policy(belief))) == agent.acts(goal)
            if order:
                np.testing.assert_allclose(np.exp(belief.level.log_hypotheses), agent.goals, atol=1e-12)
                np.testing.assert_allclose(belief.level.confidence, agent.c, atol=1e-12)
            belief = update(belief, Event(jnp.int32(actor), jnp.int32(kept)))
            agent.learns(actor, kept)
        assert int(belief.seat.offer) == agent.offer
    assert not order or told > 0.1  # the moves said something of the goal


def test_an_order_below_zero():
    with pytest.raises(ValueError, match="order=-1"):
        order_k(Construction(GROUND), -1)
