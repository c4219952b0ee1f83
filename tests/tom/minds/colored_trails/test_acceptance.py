"""Acceptance and type beliefs, by counting in plain NumPy."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.colored_trails.rules import Action, Event
from otherminds.tom.minds.colored_trails import acceptance
from otherminds.tom.minds.colored_trails.types import counted, initial, type_of
from otherminds.tom.minds.colored_trails.variant import DE_WEERD, DESCRIBED, LLM_TOM

OWN, OTHER = 0, 1


def event(actor, kept, action=Action.OFFER):
    return Event(jnp.bool_(True), jnp.int32(actor), jnp.int32(kept), jnp.int32(action))


@pytest.fixture(scope="module")
def offers(tiny_deals):
    return jax.tree.map(jnp.asarray, tiny_deals(2)).offers


def played(variant, rules, offers, events, speed=0.8):
    belief = acceptance.begin(variant, rules.layout, offers, jnp.int32(OWN), None, jnp.float32)
    for one in events:
        belief = acceptance.learn(variant, offers, jnp.int32(OWN), speed, belief, one)
    return belief


@pytest.mark.parametrize("variant", [DESCRIBED, LLM_TOM, DE_WEERD, replace(DESCRIBED, absent_colours=False)])
def test_discounts(tiny_rules, offers, variant):
    """One factor for each colour of which an offer keeps more than what was received, or as much as what was sent."""
    chips, flip = np.asarray(offers.chips), np.asarray(offers.flip)
    sent, received = 3, 1
    found = played(variant, tiny_rules, offers, [event(OWN, sent), event(OTHER, received)]).discounts
    more, counts = chips > chips[flip[received]], (np.asarray(offers.pool) > 0) | variant.absent_colours
    expected = more.sum(1) * (variant.on_receive == "increase")
    if variant.on_send == "decrease":
        expected = expected + ((chips >= chips[sent]) & counts).sum(1)
    else:
        expected = expected + (chips > chips[sent]).sum(1)
    valid = np.asarray(offers.valid)
    np.testing.assert_array_equal(np.asarray(found)[valid], expected[valid])


def test_long_games_do_not_underflow(tiny_rules, offers):
    """Sixty offers in single precision: the acceptance is 0.2^120 where both colours count."""
    belief = played(DESCRIBED, tiny_rules, offers, [event(OWN, 0)])._replace(discounts=jnp.full(9, 120))
    np.testing.assert_allclose(acceptance.log_acceptance(belief, 0.8), 120 * np.log(0.2), rtol=1e-6)
    at_once = acceptance.log_acceptance(belief._replace(discounts=jnp.arange(9)), 1.0)
    np.testing.assert_array_equal(at_once, np.where(np.arange(9) > 0, -np.inf, 0))


def test_an_accepted_offer_is_taken_back(tiny_rules, offers):
    """P <- (1 - lambda) P on sending; on acceptance P of before, then P <- (1 - lambda) P + lambda."""
    x = 3
    kind = tuple(int(part) for part in type_of(DESCRIBED, offers, jnp.int32(OWN), jnp.int32(x)))
    sent = played(DESCRIBED, tiny_rules, offers, [event(OWN, x), event(OWN, x)])
    np.testing.assert_allclose(sent.types.taken[kind], 0.04, rtol=1e-5)
    accepting = event(OTHER, int(offers.flip[x]), Action.ACCEPT)
    after = acceptance.learn(DESCRIBED, offers, jnp.int32(OWN), 0.8, sent, accepting)
    np.testing.assert_allclose(after.types.taken[kind], 0.2 * 0.2 + 0.8, rtol=1e-5)
    kept = acceptance.learn(replace(DESCRIBED, undo_on_accept=False), offers, jnp.int32(OWN), 0.8, sent, accepting)
    np.testing.assert_allclose(kept.types.taken[kind], 0.04, rtol=1e-5)


def test_counted_types(tiny_rules):
    types = initial(LLM_TOM, tiny_rules.layout, jnp.int32(OWN), jnp.float32)
    assert (types.taken[1, 2], types.seen[1, 2]) == (36, 76)  # the table named after the responder
    after = counted(LLM_TOM, counted(LLM_TOM, types, 0.8, (1, 2), True), 0.8, (1, 2), False)
    assert (after.taken[1, 2], after.seen[1, 2]) == (37, 78)
