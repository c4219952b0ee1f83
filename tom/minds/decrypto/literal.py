"""A literal decoder: the posterior over the codes not used yet, under a literal reading of each hint."""

from functools import cache
from typing import NamedTuple

from jaxtyping import Array, Float, Int

from otherminds.games.decrypto.rules import View
from otherminds.rsa.lexicon import from_similarity
from otherminds.tom.mind import memoryless
from otherminds.tom.minds.decrypto.guesser import Choice, Guesser, Rule, make_guesser
from otherminds.tom.minds.decrypto.lexicon import Lexicon, hint_similarity
from otherminds.tom.minds.decrypto.speaker import BETA


class LiteralParams(NamedTuple):
    lexicon: Lexicon
    beta: Float[Array, ""] | float = BETA  # inverse temperature of meaning, per unit of cosine
    choice: Choice = Choice()


@cache
def literal_decoder(*, rule: Rule = "softmax", exclude_used: bool = True) -> Guesser:
    """L_0(c | h) proportional to P(c) prod_i exp(beta cos(h_i, k_{c_i})), P uniform over the unused codes.

    rule: "softmax" guesses from the posterior (at choice.alpha = 1), "argmax" its most probable code.
    Source: Frank & Goodman (2012) over graded meanings; Lupu, Willi & Foerster (2025), appendix H.
    """

    def init(params: LiteralParams, memory, view: View) -> Int[Array, "4"]:
        del params, memory
        return view.keywords

    def slot_scores(params: LiteralParams, keywords, hints: Int[Array, "..."]) -> Float[Array, "... 4"]:
        return from_similarity(hint_similarity(params.lexicon, hints, keywords), params.beta)

    return make_guesser("literal", init, memoryless, slot_scores, rule=rule, exclude_used=exclude_used)
