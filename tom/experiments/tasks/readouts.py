"""What a mind thinks at every turn of recorded games: its named log-arrays, before it sees how the turn ends."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

from otherminds.games.decrypto.rules import LENGTH, SLOTS, Role, begin, guess, observe, view
from otherminds.games.decrypto.vocabulary import Vocabulary, hint_vector
from otherminds.games.protocol import NO_ANSWER
from otherminds.tom.agents.words import Words
from otherminds.tom.experiments.records import GameArrays
from otherminds.tom.mind import Mind
from otherminds.tom.minds.decrypto.lexicon import hear, make_lexicon
from otherminds.tom.minds.decrypto.registry import named, own_vocabulary
from otherminds.tom.tasks.task import PlayedTurn


@cache
def _reader(mind: Mind, role: Role) -> Callable[..., dict[str, jax.Array]]:
    """The jitted function that reads games, one after the other."""

    def one(params, game: GameArrays) -> dict[str, jax.Array]:
        state = begin(game.keywords, jnp.maximum(game.codes, 0))
        belief = mind.init(params, None, view(state, role))

        def play_turn(carry, turn):
            state, belief = carry
            hints, decoder_guess, interceptor_guess = turn
            state = state._replace(hints=hints)
            # The encoder has spoken: she too has the hints before her.
            thought = mind.readout(params, belief, observe(state, role)._replace(hints=hints))
            state, event = guess(state, decoder_guess, interceptor_guess)
            return (state, mind.update(params, belief, event)), thought

        turns = (game.hints, game.decoder_guesses, game.interceptor_guesses)
        return jax.lax.scan(play_turn, (state, belief), turns)[1]

    return jax.jit(lambda params, games: jax.lax.map(lambda game: one(params, game), games))


def readouts(
    spec: str,
    role: Role,
    games: Sequence[tuple[Sequence[str], Sequence[PlayedTurn]]],
    whole: int,
    vocabulary: Vocabulary,
) -> Mapping[str, np.ndarray]:
    """[G, T, ...] what a mind thinks at every turn, by name of its log-arrays.

    spec: of a mind with a readout.   games: keywords and turns of each.   whole: T, turns of a whole game; what stands
    at turns that were not played means nothing.
    Raises: ValueError for a keyword that is not in the vocabulary's list; UnknownMind.
    """
    model = named(spec, role)
    own = own_vocabulary(model, vocabulary)
    words = Words(vocabulary, spare=max(1, LENGTH * whole * len(games)))
    arrays = game_arrays(games, whole, vocabulary, words)
    lexicon = make_lexicon(own, spare=max(1, len(words.heard)))
    for row, text in words.heard_since(0):
        vector = hint_vector(own, text)
        if vector is not None:
            lexicon = hear(lexicon, row, vector)
    found = _reader(model.mind, role)(model.make_params(lexicon), arrays)
    return {name: np.asarray(value) for name, value in found.items()}


def game_arrays(
    games: Sequence[tuple[Sequence[str], Sequence[PlayedTurn]]], whole: int, vocabulary: Vocabulary, words: Words
) -> GameArrays:
    """Recorded games as arrays, padded to T = whole turns. words: gives every hint its row.

    Raises: ValueError for a keyword that is not in the vocabulary's list.
    """
    count = len(games)
    arrays = GameArrays(
        np.full((count, SLOTS), -1, np.int32),
        np.full((count, whole), -1, np.int32),
        np.full((count, whole, LENGTH), NO_ANSWER, np.int32),
        np.full((count, whole), NO_ANSWER, np.int32),
        np.full((count, whole), NO_ANSWER, np.int32),
        np.zeros(count, np.int32),
    )
    places = {word.casefold(): place for place, word in enumerate(vocabulary.keywords)}
    for g, (keywords, turns) in enumerate(games):
        if missing := [word for word in keywords if word.casefold() not in places]:
            raise ValueError(
                f"keyword {missing[0]!r} is not in the keyword list; give the list that was played with (--keywords), "
                "and vectors that have its words (--vectors)"
            )
        arrays.keywords[g] = [places[word.casefold()] for word in keywords]
        for t, turn in enumerate(turns):
            arrays.codes[g, t] = turn.code
            arrays.decoder_guesses[g, t], arrays.interceptor_guesses[g, t] = turn.decoder_guess, turn.interceptor_guess
            if turn.hints is not None:
                arrays.hints[g, t] = words.rows(turn.hints)
        arrays.turns[g] = len(turns)
    return arrays
