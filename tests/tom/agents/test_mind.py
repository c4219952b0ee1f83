"""A mind at a table does what its shadow of the same game finds probable, whatever words are said."""

import asyncio
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.decrypto.rules import Role, begin, decrypto, observe, view
from otherminds.games.decrypto.text import read_code
from otherminds.games.decrypto.vocabulary import hint_vector
from otherminds.tom.agents.base import Decision
from otherminds.tom.agents.mind import MindAgent
from otherminds.tom.agents.words import Words
from otherminds.tom.experiments.driver import play
from otherminds.tom.minds.decrypto.lexicon import hear, make_lexicon
from otherminds.tom.minds.decrypto.registry import named


class Scripted:
    """Says two-word hints, or always guesses the same code."""

    def __init__(self, actions):
        self.actions = iter(actions)

    async def act(self, observation, key):
        return Decision(next(self.actions))

    def see(self, event):
        pass


@pytest.mark.parametrize(
    "spec",
    [
        "baseline",
        "bayesian:rule=softmax",
        "bayesian:rule=softmax,speaker=contrastive",
        "bayesian:rule=softmax,noise=0.3",
        "bayesian:rule=softmax,dimensions=4",
    ],
)
def test_a_word_heard_in_play_means_what_it_means_to_the_shadow(small_vocabulary, spec):
    """Hints are two words each, in another order of rows than a shadow that has read the whole log would use."""
    vocabulary, turns = small_vocabulary, 3
    said = [
        tuple(f"{vocabulary.words[20 + 3 * t + i]} {vocabulary.words[30 + i]}" for i in range(3)) for t in range(turns)
    ]
    agent = MindAgent(named(spec, Role.INTERCEPTOR), vocabulary, spare=9)
    deal = begin(jnp.arange(4), jnp.array([9, 2, 17]))
    words = Words(vocabulary, 9)
    seat = agent.sit(words, view(deal, Role.INTERCEPTOR))
    played = []
    game = decrypto(len(vocabulary.keywords), turns=turns, continue_after_loss=True)
    seats = (Scripted(said), Scripted([0] * turns), seat)
    asyncio.run(play(game, deal, seats, words, jax.random.key(0), on_decision=lambda line: played.append(line)))
    gave = {line.turn: line.decision.probabilities for line in played if line.role == Role.INTERCEPTOR}

    # The shadow: a lexicon that heard every hint before the game, last turn first.
    rows = {
        text: len(vocabulary.words) + number for number, text in enumerate(t for three in said[::-1] for t in three)
    }
    lexicon = make_lexicon(vocabulary, spare=9)
    for text, row in rows.items():
        lexicon = hear(lexicon, row, hint_vector(vocabulary, text))
    model = named(spec, Role.INTERCEPTOR)
    params = model.make_params(lexicon)
    state, belief = deal, model.mind.init(params, None, view(deal, Role.INTERCEPTOR))
    for turn, hints in enumerate(said):
        state, _ = game.step(None, state, {Role.ENCODER: jnp.array([rows[text] for text in hints])})
        log_p = model.mind.log_policy(params, belief, observe(state, Role.INTERCEPTOR), jnp.arange(24))
        for code, probability in gave[turn].items():
            assert np.exp(log_p[read_code(code)]) == pytest.approx(probability, abs=2e-4), (turn, code)
        guesses = {
            Role.DECODER: jnp.int32(0),
            Role.INTERCEPTOR: jnp.int32(read_code(max(gave[turn], key=gave[turn].get))),
        }
        state, event = game.step(None, state, guesses)
        belief = model.mind.update(params, belief, event)


def test_words_give_a_noun_its_own_row_and_others_rows_in_the_order_of_hearing(small_vocabulary):
    words = Words(small_vocabulary, spare=2)
    noun = small_vocabulary.words[5]
    assert words.row(f"  {noun.upper()} ") == 5
    first, again = words.row("far away"), words.row("Far  AWAY")
    assert first == again == len(small_vocabulary.words)
    assert words.row("elsewhere") == first + 1
    assert list(words.heard_since(1)) == [(first + 1, "elsewhere")]
    with pytest.raises(ValueError, match="room for 2 words"):
        words.row("one more")


def test_a_decision_is_json(small_vocabulary, deal):
    agent = MindAgent(named("baseline", Role.ENCODER), small_vocabulary, spare=3)
    words = Words(small_vocabulary, 3)
    seat = agent.sit(words, view(deal, Role.ENCODER))
    decision = asyncio.run(seat.act(observe(deal, Role.ENCODER), jax.random.key(0)))
    assert set(decision.action) <= set(small_vocabulary.words)
    assert json.loads(json.dumps(decision.to_json()))["action"] == list(decision.action)
    assert decision.log_probability <= 0
