"""De Weerd's negotiators in three readings, which differ in a handful of fields."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Variant:
    """How a negotiator learns, values and chooses.

    name: of the reading.
    on_receive: what an offer that is received does to the acceptance beliefs: "increase" lowers those of offers that
        keep more than it, "none" leaves them alone.
    on_send: what an own offer does: "decrease" (as if rejected) or "increase" (as if received).
    undo_on_accept: the proposer of an accepted offer takes back what sending it did and counts it as accepted.
    endings: whose type beliefs an accepting or withdrawing move teaches as an offer would: "none", the "own" of the
        player who makes it, or "both" players'.
    type_rule: "rate", P <- (1 - lambda) P + lambda R, or "count", the share of observed among all, as tables of counts.
    type_reference: whose chips an offer's type is counted against: the agent's "own" or the "other"'s.
    type_tables: "ones", or the pretrained counts of "llm-tom" (5 x 5, by role) or "deweerd" (9 x 9).
    absent_colours: whether colours that nobody holds discount every offer.
    order0: an order-0 value is the expected "gain" less cost, P (G + C) - C, or the expected "utility", P U.
    withdrawal: what it is worth that the other withdraws: minus the "cost", or "zero".
    ties: the "lowest" code, or "all" alike.
    tolerance: points by which values must differ not to tie, and that a move must bring not to withdraw; in single
        precision at least 2e-5, as its rounding is coarser.
    confidence: whether confidence in the model of the other is learned.
    gate: whether the mind itself values offers without gain at -C; the minds inside it always do.
    leak: whether offers that are only imagined are counted in the type beliefs too, as both programs do; at order 1.
    """

    name: str
    on_receive: Literal["increase", "none"] = "increase"
    on_send: Literal["decrease", "increase"] = "decrease"
    undo_on_accept: bool = True
    endings: Literal["none", "own", "both"] = "none"
    type_rule: Literal["rate", "count"] = "rate"
    type_reference: Literal["own", "other"] = "own"
    type_tables: Literal["ones", "llm-tom", "deweerd"] = "ones"
    absent_colours: bool = True
    order0: Literal["gain", "utility"] = "gain"
    withdrawal: Literal["cost", "zero"] = "cost"
    ties: Literal["lowest", "all"] = "lowest"
    tolerance: float = 1e-6
    confidence: bool = True
    gate: bool = True
    leak: bool = False


DESCRIBED = Variant("described")
"""As the documentation of LLM-TOM describes them; the default."""

LLM_TOM = Variant(
    "llm-tom",
    on_receive="none",
    undo_on_accept=False,
    endings="own",
    type_rule="count",
    type_reference="other",
    type_tables="llm-tom",
    withdrawal="zero",
)
"""As LLM-TOM's program makes them."""

DE_WEERD = Variant(
    "deweerd",
    on_send="increase",
    undo_on_accept=False,
    endings="both",
    type_rule="count",
    type_tables="deweerd",
    order0="utility",
    withdrawal="zero",
    ties="all",
    tolerance=1e-5,
)
"""As de Weerd's own program makes them."""

VARIANTS = {variant.name: variant for variant in (DESCRIBED, LLM_TOM, DE_WEERD)}
