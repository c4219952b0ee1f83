"""The observer game: what is seen when, what counts as a hit, when nobody asks any more."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.rps.observation import Asking, Ending, Role, begin, done, observer_game

MOVES = np.random.default_rng(0).integers(-1, 3, (2, 23)).astype(np.int32)
TRUTH = (4, 7)


def test_when_the_observer_is_asked():
    paper = Asking(200, 10, 1, 50, 20)
    assert paper.asked == tuple(range(11, 201))
    assert [paper.asked[q] for q in range(190) if paper.reasons(q)] == [*range(20, 201, 20)]
    odd = Asking(23, 2, 5, 4, 7)
    assert odd.asked == (5, 10, 15, 20, 23)
    assert [odd.reasons(q) for q in range(5)] == [False, True, True, False, True]
    assert not any(Asking(23, 2, 5, 4, None).reasons(q) for q in range(5))
    assert Asking(3, 0, 10).asked == (3,)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rounds": 10, "warmup": 10}, "rounds=10 with warmup=10: no round is left"),
        ({"rounds": 0, "warmup": 0}, "rounds=0: at least 1"),
        ({"warmup": -1}, "warmup=-1"),
        ({"every": 0}, "every=0"),
        ({"history": 0}, "history=0"),
        ({"reasoning_interval": 0}, "reasoning_interval=0"),
        ({"stop_after": 0}, "stop_after=0"),
    ],
)
def test_what_cannot_be_asked_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Asking(**settings)


def played(asking, guesses):
    """Every observation, event and state of a game in which these pairs are named."""
    game = observer_game(lambda key: jnp.asarray(MOVES), TRUTH, 19, asking)
    step = jax.jit(lambda state, guess: game.step(None, state, {Role.OBSERVER: guess}))
    state, seen = game.init(jax.random.key(0)), []
    for guess in guesses:
        observation = game.observe(state, Role.OBSERVER)
        assert bool(game.actors(state)[0]) == (not done(state))
        state, event = step(state, jnp.array(guess, jnp.int32))
        seen.append((observation, event, state))
    return game, seen


@pytest.mark.parametrize("history", [None, 4, 50])
def test_what_is_seen(history):
    asking = Asking(23, 2, 5, history)
    game, seen = played(asking, [(4, 7)] * 6)
    view = game.view(game.init(jax.random.key(0)), Role.OBSERVER)
    known = [*np.asarray(view.moves).T]
    for (observation, event, _), now in zip(seen[:5], asking.asked, strict=True):
        first = max(now - history, 0) if history else 0
        assert (int(observation.round), int(observation.first)) == (now, first)
        shown = np.arange(23)
        shown = (shown >= first) & (shown < now)
        np.testing.assert_array_equal(observation.valid, shown)
        np.testing.assert_array_equal(observation.moves, np.where(shown, MOVES, -1))
        np.testing.assert_array_equal(np.array(known).T, MOVES[:, :now])  # by view and events the same rounds come
        if event.valid:
            known += [*np.asarray(event.moves).T[np.asarray(event.shown)]]
    assert not seen[4][1].valid and not seen[5][1].valid
    assert int(seen[5][2].turn) == 5 and int(seen[5][2].ending) == Ending.COMPLETE


def test_hits_are_of_both_and_a_failed_answer_is_a_miss():
    game, seen = played(Asking(23, 2, 5), [(4, 7), (4, 6), (-1, -1), (4, 7), (7, 4)])
    assert game.returns(seen[-1][2]).tolist() == [2]
    for truth in ((-1, 7), (-1, -1)):
        nobody = observer_game(lambda key: jnp.asarray(MOVES), truth, 19, Asking(23, 2, 5))
        assert nobody.returns(seen[-1][2]).tolist() == [0]


@pytest.mark.parametrize(
    ("pairs", "stops", "hits"),
    [
        ([(4, 7), (4, 7), (1, 1)], 2, 5),
        ([(1, 1), (4, 7), (4, 7), (1, 1)], 3, 4),
        ([(4, 7), (-1, -1), (4, 7), (-1, -1), (-1, -1)], 5, 2),
        ([(4, 7), (4, 6), (4, 7), (4, 6), (4, 7)], 5, 3),
    ],
)
def test_equal_answers_in_a_row_end_the_asking(pairs, stops, hits):
    game, seen = played(Asking(23, 2, 5, stop_after=2), pairs)
    state = seen[-1][2]
    assert int(state.turn) == stops and game.returns(state).tolist() == [hits]
    assert int(state.ending) == (Ending.STOPPED if stops < 5 else Ending.COMPLETE)


def test_the_match_must_be_as_long_as_it_is_watched():
    with pytest.raises(ValueError, match="moves of 23 rounds: the observer is to watch 24"):
        begin(MOVES, Asking(24))
