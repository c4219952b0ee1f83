"""The asynchronous driver plays the games of the jitted rollout, and asks as the rules say."""

import asyncio
from functools import cache

import jax
import numpy as np
import pytest

from otherminds.games.decrypto.rules import LENGTH, TURNS, Ending, Role, decrypto
from otherminds.games.rollout import deal_key, game_key, rollout
from otherminds.tom.agents.base import Decision
from otherminds.tom.agents.mind import MindAgent
from otherminds.tom.agents.words import Words
from otherminds.tom.experiments.driver import play
from otherminds.tom.minds.decrypto.lexicon import make_lexicon
from otherminds.tom.minds.decrypto.registry import named

RATIONAL = "rational:k=3,pool=10,decoder=literal,interceptor=bayesian"
TABLES = [
    ("baseline", "baseline", "baseline"),
    (f"{RATIONAL},alpha=5,lapse=0.2", "literal:rule=softmax,lapse=0.1", "bayesian:rule=softmax,noise=0.3"),
]
SEEDS = range(4)


def drive(game, state, seats, words, key, **options):
    """The final state, and every decision that was made."""
    played = []
    final = asyncio.run(play(game, state, seats, words, key, on_decision=played.append, **options))
    return jax.tree.map(np.asarray, final), played


def begun(vocabulary, seed, **options):
    """The game, its key, a dealt state, and the table's words."""
    game = decrypto(len(vocabulary.keywords), **options)
    key = game_key(jax.random.key(seed), 0)
    return game, key, game.init(deal_key(key)), Words(vocabulary, LENGTH * TURNS)


@pytest.fixture(scope="module")
def seated(tiny):
    """A function that seats minds at a dealt table; what they are made of is kept."""

    @cache
    def agent(spec, role):
        return MindAgent(named(spec, role), tiny, LENGTH * TURNS)

    def sit(table, game, state, words):
        return tuple(
            agent(spec, role).sit(words, game.view(state, role)) for role, spec in zip(Role, table, strict=True)
        )

    return sit


@pytest.mark.parametrize(
    "table", [TABLES[0], pytest.param(TABLES[1], marks=pytest.mark.slow)], ids=["baselines", "rational"]
)
def test_minds_play_the_games_of_the_jitted_rollout(tiny, seated, table):
    models = [named(spec, role) for spec, role in zip(table, Role, strict=True)]
    lexicon = make_lexicon(tiny)
    params = tuple(model.make_params(lexicon) for model in models)
    game = decrypto(len(tiny.keywords))
    run = jax.jit(lambda key: rollout(game, tuple(model.mind for model in models), params, key)[0])
    endings = set()
    for seed in SEEDS:
        game, key, state, words = begun(tiny, seed)
        expected = jax.tree.map(np.asarray, run(key))
        final, played = drive(game, state, seated(table, game, state, words), words, key)
        jax.tree.map(np.testing.assert_array_equal, final, expected)
        assert len(played) == 3 * int(final.turn) and not words.heard
        for one in played:
            told = expected.history[1 + one.role][one.turn]
            action = one.decision.action
            np.testing.assert_array_equal(words.rows(action) if one.role == Role.ENCODER else action, told)
            assert one.decision.log_probability is None or one.decision.log_probability <= 1e-6
        endings.add((int(final.ending), int(final.ending_turn)))
    assert len(endings) > 1


def test_what_a_mind_states_is_what_it_plays_by(tiny, seated):
    game, key, state, words = begun(tiny, 0)
    _, played = drive(game, state, seated(TABLES[1], game, state, words), words, key)
    for one in played:
        if one.role == Role.ENCODER:
            assert one.decision.probabilities is None and one.decision.log_probability < 0
        else:
            probabilities = list(one.decision.probabilities.values())
            assert sum(probabilities) == pytest.approx(1, abs=1e-5)
            assert np.log(probabilities[one.decision.action]) == pytest.approx(one.decision.log_probability, abs=1e-5)


class Scripted:
    """Says what it is told to, and keeps what it saw."""

    def __init__(self, action, failing=()):
        self.action, self.failing = action, failing
        self.observations, self.events = [], []

    async def act(self, observation, key):
        self.observations.append(observation)
        return Decision(None if int(observation.turn) in self.failing else self.action(observation))

    def see(self, event):
        self.events.append(event)


def scripted(state, words, *, failing=((), (), ())):
    """Three who never miss and never intercept, but in the turns in which they fail to answer."""
    codes = np.asarray(state.codes)
    return (
        Scripted(lambda observation: tuple(words.texts[:3]), failing[0]),
        Scripted(lambda observation: int(codes[int(observation.turn)]), failing[1]),
        Scripted(lambda observation: int(codes[int(observation.turn)] + 1) % 24, failing[2]),
    )


@pytest.mark.parametrize(
    ("failing", "turns", "miscommunications", "ending"),
    [
        (((), (), ()), TURNS, 0, Ending.SURVIVED),
        (((1, 3), (), ()), 4, 2, Ending.MISCOMMUNICATION),
        (((), (0, 7), ()), TURNS, 2, Ending.MISCOMMUNICATION),
        (((2,), (2,), ()), TURNS, 1, Ending.SURVIVED),
        (((), (), range(TURNS)), TURNS, 0, Ending.SURVIVED),
        ((range(TURNS), range(TURNS), range(TURNS)), 2, 2, Ending.MISCOMMUNICATION),
    ],
)
def test_no_answer_is_played_on_by_the_rules(tiny, failing, turns, miscommunications, ending):
    game, key, state, words = begun(tiny, 0)
    seats = scripted(state, words, failing=failing)
    final, played = drive(game, state, seats, words, key)
    assert (final.turn, final.miscommunications, final.interceptions) == (turns, miscommunications, 0)
    assert final.ending == ending
    assert len(played) == 3 * turns  # also the guessers who get no hints are asked, and fail or not by themselves
    for one in played:
        assert (one.decision.action is None) == (one.turn in failing[one.role])
    for turn in range(turns):
        assert (final.history.hints[turn] == -1).all() == (turn in failing[0])
        assert (final.history.decoder_guesses[turn] == -1) == (turn in failing[1])
        assert (final.history.interceptor_guesses[turn] == -1) == (turn in failing[2])


def test_a_game_can_be_played_to_its_last_turn(tiny):
    game, key, state, words = begun(tiny, 0, continue_after_loss=True)
    final, played = drive(game, state, scripted(state, words, failing=((), range(TURNS), ())), words, key)
    assert (final.turn, final.ending_turn, final.miscommunications) == (TURNS, 2, TURNS) and len(played) == 3 * TURNS


def test_everybody_sees_what_the_rules_show_and_no_more(tiny):
    game, key, state, words = begun(tiny, 3)
    seats = scripted(state, words)
    drive(game, state, seats, words, key)
    keywords, codes = np.asarray(state.keywords), np.asarray(state.codes)
    for role, seat in zip(Role, seats, strict=True):
        assert [int(observation.turn) for observation in seat.observations] == list(range(TURNS))
        for turn, seen in enumerate(seat.observations):
            assert int(seen.role) == role
            np.testing.assert_array_equal(seen.keywords, keywords if role != Role.INTERCEPTOR else [-1] * 4)
            assert int(seen.code) == (codes[turn] if role == Role.ENCODER else -1)
            np.testing.assert_array_equal(seen.hints, [-1] * 3 if role == Role.ENCODER else [0, 1, 2])
            np.testing.assert_array_equal(seen.history.codes, [*codes[:turn], *[-1] * (TURNS - turn)])
            for past in seen.history:
                assert (past[turn:] == -1).all()
        assert [int(event.turn) for event in seat.events] == list(range(TURNS))
        assert [int(event.code) for event in seat.events] == codes.tolist()


def test_those_who_act_at_once_are_asked_at_once(tiny):
    game, key, state, words = begun(tiny, 0)
    encoder, *guessers = scripted(state, words)
    both = asyncio.Barrier(2)

    async def together(act, observation, key):
        await asyncio.wait_for(both.wait(), 10)
        return await act(observation, key)

    for seat in guessers:
        seat.act = lambda observation, key, act=seat.act: together(act, observation, key)
    final, _ = drive(game, state, (encoder, *guessers), words, key)
    assert final.ending == Ending.SURVIVED


def test_recorded_decisions_are_not_asked_again(tiny, seated):
    game, key, state, words = begun(tiny, 1)
    expected, played = drive(game, state, seated(TABLES[1], game, state, words), words, key)
    for known in range(len(played) + 1):
        game, key, state, words = begun(tiny, 1)
        recorded = {(one.turn, one.role): one.decision for one in played[:known]}
        final, asked = drive(game, state, seated(TABLES[1], game, state, words), words, key, recorded=recorded)
        jax.tree.map(np.testing.assert_array_equal, final, expected)
        assert [(one.turn, one.role, one.decision) for one in asked] == [
            (one.turn, one.role, one.decision) for one in played[known:]
        ]


def test_an_error_waits_for_the_decision_that_is_made_at_the_same_time(tiny):
    game, key, state, words = begun(tiny, 0)
    encoder, decoder, interceptor = scripted(state, words)

    async def fail(observation, key):
        raise ValueError("gone")

    async def slowly(observation, key, act=interceptor.act):
        await asyncio.sleep(0.05)
        return await act(observation, key)

    decoder.act, interceptor.act = fail, slowly
    played = []
    with pytest.raises(ValueError, match="gone"):
        asyncio.run(play(game, state, (encoder, decoder, interceptor), words, key, on_decision=played.append))
    assert [one.role for one in played] == [Role.ENCODER, Role.INTERCEPTOR]


def test_a_listener_is_waited_for(tiny):
    game, key, state, words = begun(tiny, 0)
    seats, written = scripted(state, words), []

    async def write(played):
        await asyncio.sleep(0)
        assert len(seats[Role.ENCODER].observations) == played.turn + 1
        written.append(played)

    asyncio.run(play(game, state, seats, words, key, on_decision=write))
    assert len(written) == 3 * TURNS and all(one.seconds >= 0 for one in written)


def test_hints_that_are_no_nouns_are_heard_by_everyone(tiny, seated):
    """A word of two nouns has a vector, another has none; both get a row, once."""
    game, key, state, words = begun(tiny, 0)
    known, unknown = f"{tiny.words[20]} {tiny.words[21]}", "qwertz"
    encoder = Scripted(lambda observation: (known, unknown, tiny.words[30].upper()))
    seats = (encoder, *seated(TABLES[1], game, state, words)[1:])
    final, played = drive(game, state, seats, words, key)
    nouns = len(tiny.words)
    assert words.heard == [known, unknown]
    assert (final.history.hints[: int(final.turn)] == [nouns, nouns + 1, 30]).all()
    assert all(one.decision.action is not None for one in played)
    lexicon = seats[Role.DECODER]._params.lexicon
    assert lexicon.known[nouns] and not lexicon.known[nouns + 1]


def test_words_run_out_and_hints_are_three(tiny):
    words = Words(tiny, spare=1)
    assert words.row("qwertz") == words.row(" QWERTZ ") == len(tiny.words)
    with pytest.raises(ValueError, match="no row left for 'uiop'"):
        words.row("uiop")
    with pytest.raises(ValueError, match="3 hints"):
        words.rows(("a", "b"))
