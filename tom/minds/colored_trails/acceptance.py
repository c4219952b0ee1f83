"""The order-0 belief: how likely the other is to accept each offer.

At the start of a game an offer has the acceptance of its type. Within the game every move discounts all offers at
once: each offer i by 1 - lambda for each colour of which it keeps more (or as much) as the move. The discounts are
kept as whole numbers, so that no number of moves makes a belief underflow.

Source: de Weerd, Verbrugge & Verheij (2017), Autonomous Agents and Multi-Agent Systems 31; readings in variant.py.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from otherminds.games.colored_trails.board import Layout
from otherminds.games.colored_trails.offers import Offers
from otherminds.games.colored_trails.rules import Action, Event
from otherminds.inference.logspace import weighted
from otherminds.tom.minds.colored_trails.types import Types, all_types, counted, initial, type_of
from otherminds.tom.minds.colored_trails.variant import Variant


class Acceptance(NamedTuple):
    """An order-0 belief: log acceptance = log_initial + discounts log(1 - lambda)."""

    log_initial: Float[Array, " N"]  # of each offer's type, when the game began
    discounts: Int[Array, " N"]
    types: Types  # lasts into the next game
    before: tuple[Float[Array, ""], Float[Array, ""]]  # (taken, seen) of the last own offer's type before it was sent


def begin(
    variant: Variant, layout: Layout, offers: Offers, role: Int[Array, ""], memory: Acceptance | None, dtype: Any
) -> Acceptance:
    """The belief at the start of a game: P(x) = taken[type(x)] / seen[type(x)].

    memory: the belief at the end of an earlier game, whose types last; None: an agent that has not played yet.
    """
    types = initial(variant, layout, role, dtype) if memory is None else memory.types
    share = (types.taken / types.seen)[all_types(variant, offers, role)]
    zero = jnp.zeros((), dtype)
    return Acceptance(jnp.log(share), jnp.zeros(offers.flip.shape, jnp.int32), types, (zero, zero))


def log_acceptance(belief: Acceptance, learning_speed: Float[Array, ""] | float) -> Float[Array, " N"]:
    """log P(x): how likely the other is to accept each offer, in nats; -inf where it never will."""
    log_kept = jnp.log1p(-jnp.asarray(learning_speed, belief.log_initial.dtype))
    return belief.log_initial + weighted(belief.discounts.astype(log_kept.dtype), log_kept)


def learn(
    variant: Variant,
    offers: Offers,
    role: Int[Array, ""],
    learning_speed: Float[Array, ""] | float,
    belief: Acceptance,
    event: Event,
) -> Acceptance:
    """The belief of player `role` after a move, its own or the other's; only offers and acceptance teach anything."""
    own = event.actor == role
    named = event.kept >= 0
    kept = jnp.maximum(event.kept, 0)
    x = jnp.where(own, kept, offers.flip[kept])  # what this player would hold
    offered = event.valid & named & (event.action == Action.OFFER)
    sent, received = offered & own, offered & ~own
    kind = type_of(variant, offers, role, x)

    change = jnp.where(sent, discount(variant, offers, x, variant.on_send), 0)
    change = jnp.where(received, discount(variant, offers, x, variant.on_receive), change)
    after_send = counted(variant, belief.types, learning_speed, kind, variant.on_send == "increase")
    after_receipt = counted(variant, belief.types, learning_speed, kind, True)
    types = _where(sent, after_send, _where(received, after_receipt, belief.types))
    before = _where(sent, tuple(part[kind] for part in belief.types), belief.before)
    if variant.undo_on_accept:
        accepted = event.valid & named & (event.action == Action.ACCEPT) & ~own
        restored = Types(*(part.at[kind].set(old) for part, old in zip(belief.types, belief.before, strict=True)))
        types = _where(accepted, counted(variant, restored, learning_speed, kind, True), types)
    return Acceptance(belief.log_initial, belief.discounts + change, types, before)


def discount(variant: Variant, offers: Offers, x: Int[Array, ""], how: str) -> Int[Array, " N"]:
    """By how many factors 1 - lambda a move x discounts every offer i: as many as there are colours c with i_c > x_c.

    how: "increase"; or "decrease": with i_c >= x_c, where a colour that nobody holds counts too, if the variant says
        so; or "none": not at all.
    """
    if how == "none":
        return jnp.zeros(offers.flip.shape, jnp.int32)
    if how == "increase":
        return (offers.chips > offers.chips[x]).sum(-1, dtype=jnp.int32)
    counts = (offers.pool > 0) | variant.absent_colours
    return ((offers.chips >= offers.chips[x]) & counts).sum(-1, dtype=jnp.int32)


def _where(condition: Array, yes: Any, no: Any) -> Any:
    """Part by part."""
    return jax.tree.map(lambda one, other: jnp.where(condition, one, other), yes, no)
