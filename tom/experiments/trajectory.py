"""An interceptor's mind followed through a recorded game: what it believed before every guess."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from otherminds.games.decrypto.rules import SLOTS, Role, begin, guess, observe, view
from otherminds.games.decrypto.vocabulary import Vocabulary
from otherminds.tom.experiments.records import GameArrays, Games
from otherminds.tom.mind import Mind
from otherminds.tom.minds.decrypto.lexicon import Lexicon
from otherminds.tom.minds.decrypto.registry import NamedMind, named


@dataclass(frozen=True)
class Trajectory:
    """What an interceptor's mind thought in the T finished turns of one game, W keywords in the list.

    Log-probabilities in nats. Belief 0 is the one before the first turn, belief t the one after turn t.
    """

    game_id: str
    mind: str
    keyword_list: tuple[str, ...]  # [W]
    keywords: Int[np.ndarray, "4"]  # the true ones, places in the list
    hints: tuple[tuple[str, ...] | None, ...]  # [T] in words; None: the encoder gave none
    codes: Int[np.ndarray, " T"]
    decoder_guesses: Int[np.ndarray, " T"]  # -1: no answer
    interceptor_guesses: Int[np.ndarray, " T"]  # of whoever sat there; -1: no answer
    log_code: Float[np.ndarray, "T 24"]  # before the guess, normalised over the codes
    log_belief: Float[np.ndarray, "T+1 4 W"] | None  # over each slot's keyword; None for a mind without one

    @property
    def true_keywords(self) -> tuple[str, ...]:
        """[4] the secret keywords in words."""
        return tuple(self.keyword_list[int(index)] for index in self.keywords)

    @property
    def log_true_code(self) -> Float[np.ndarray, " T"]:
        """[T] what the mind gave to the true code before the guess, nats."""
        return self.log_code[np.arange(len(self.codes)), self.codes]

    @property
    def log_true_keywords(self) -> Float[np.ndarray, "moments 4"] | None:
        """[T + 1, 4] what the mind gave to each slot's true keyword, nats."""
        return None if self.log_belief is None else self.log_belief[:, np.arange(SLOTS), self.keywords]

    @property
    def spoke(self) -> Bool[np.ndarray, " T"]:
        """[T] whether the encoder gave hints."""
        return np.array([hints is not None for hints in self.hints], bool)

    @property
    def intercepted(self) -> Bool[np.ndarray, " T"]:
        """[T] whether the turn brought an interception token."""
        return self.spoke & (self.interceptor_guesses == self.codes)

    @property
    def missed(self) -> Bool[np.ndarray, " T"]:
        """[T] whether the turn brought a miscommunication token."""
        return ~(self.spoke & (self.decoder_guesses == self.codes))

    def top_keywords(self, count: int = 3) -> list[list[list[tuple[str, float]]]]:
        """[T + 1][4][count] the keywords that each slot most probably holds, as (keyword, probability).

        Best first; ties keep the order of the list. Empty for a mind without a belief about keywords.
        """
        if self.log_belief is None:
            return []
        order = np.argsort(-self.log_belief, axis=-1, kind="stable")[..., :count]
        return [
            [
                [(self.keyword_list[w], float(np.exp(belief[w]))) for w in best]
                for belief, best in zip(*slots, strict=True)
            ]
            for slots in zip(self.log_belief, order, strict=True)
        ]


@cache
def _follower(mind: Mind) -> Callable[..., tuple[Any, Any, Any]]:
    """The jitted function that reads a mind out before the game, before every guess, and after every turn."""

    def one(params, game: GameArrays):
        state = begin(game.keywords, jnp.maximum(game.codes, 0))
        belief = mind.init(params, None, view(state, Role.INTERCEPTOR))
        first = mind.readout(params, belief, observe(state, Role.INTERCEPTOR))

        def play_turn(carry, turn_data):
            state, belief = carry
            hints, decoder_guess, interceptor_guess = turn_data
            state = state._replace(hints=hints)
            before = mind.readout(params, belief, observe(state, Role.INTERCEPTOR))
            state, event = guess(state, decoder_guess, interceptor_guess)
            belief = mind.update(params, belief, event)
            return (state, belief), (before, mind.readout(params, belief, observe(state, Role.INTERCEPTOR)))

        turns = (game.hints, game.decoder_guesses, game.interceptor_guesses)
        return first, *jax.lax.scan(play_turn, (state, belief), turns)[1]

    return jax.jit(one)


def follow(games: Games, vocabulary: Vocabulary, lexicon: Lexicon, game: int, spec: str) -> Trajectory:
    """What the interceptor's mind `spec` thinks in a recorded game, whoever sat at the table.

    lexicon: with every word that was said (`compare.heard_lexicon`).   game: place in `games.ids`.
    `log_code` is what the mind would guess: with rule=softmax and alpha=1 its posterior over the codes, with
    rule=argmax all on one code (see `posterior`).
    Raises: UnknownMind; ValueError for a game without a finished turn, and a mind that cannot be read out.
    """
    model = _readable(spec)
    turns = int(games.arrays.turns[game])
    if not turns:
        raise ValueError(f"game {games.ids[game]!r}: no turn of it is finished, there is nothing to follow")
    own = GameArrays(*(np.asarray(array[game]) for array in games.arrays))
    first, before, after = jax.tree.map(np.asarray, _follower(model.mind)(model.make_params(lexicon), own))
    belief = None
    if "keyword" in first:
        belief = np.concatenate([first["keyword"][None], after["keyword"][:turns]])
    return Trajectory(
        game_id=games.ids[game],
        mind=spec,
        keyword_list=vocabulary.keywords,
        keywords=own.keywords,
        hints=tuple(
            tuple(games.words.texts[row] for row in hints) if (hints >= 0).all() else None
            for hints in own.hints[:turns]
        ),
        codes=own.codes[:turns],
        decoder_guesses=own.decoder_guesses[:turns],
        interceptor_guesses=own.interceptor_guesses[:turns],
        log_code=before["code"][:turns],
        log_belief=belief,
    )


def posterior(spec: str) -> str:
    """The same interceptor with rule=softmax, alpha=1 and no lapse, whose guesses are distributed as it believes.

    Raises: UnknownMind for a mind that does not exist, or takes no rule.
    """
    softened = f"{spec}{',' if ':' in spec else ':'}rule=softmax,alpha=1,lapse=0"
    named(softened, Role.INTERCEPTOR)
    return softened


def believes_keywords(spec: str, lexicon: Lexicon) -> bool:
    """Whether the interceptor's mind `spec` has a belief about which keyword each slot holds.

    Raises: UnknownMind.
    """
    model = named(spec, Role.INTERCEPTOR)
    if model.mind.readout is None:
        return False

    def first(params):
        state = begin(jnp.zeros(SLOTS, jnp.int32), jnp.zeros(1, jnp.int32))
        belief = model.mind.init(params, None, view(state, Role.INTERCEPTOR))
        return model.mind.readout(params, belief, observe(state, Role.INTERCEPTOR))

    return "keyword" in jax.eval_shape(first, model.make_params(lexicon))


def _readable(spec: str) -> NamedMind:
    model = named(spec, Role.INTERCEPTOR)
    if model.mind.readout is None:
        raise ValueError(f"{spec!r} cannot be read out; follow a mind with a readout, such as bayesian:rule=softmax")
    return model
