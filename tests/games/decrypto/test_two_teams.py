"""Two teams, against the rules played out in plain Python, and against the game of three."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.decrypto import rules
from otherminds.games.decrypto.rules import CODES, Role
from otherminds.games.decrypto.two_teams import Winner, deal, place_of, result, seat_of, two_teams

GAME = two_teams(50)
ROUNDS = 8
play = jax.jit(partial(GAME.step, None))


def by_hand(codes, own, caught):
    """The winner and the rounds of a match, from each team's codes [2][8] and the guesses made of them."""
    misses, catches = [0, 0], [0, 0]
    for turn in range(ROUNDS):
        for team in range(2):
            misses[team] += own[team][turn] != codes[team][turn]
            if turn > 0:
                catches[1 - team] += caught[team][turn] == codes[team][turn]
        ahead = [catches[team] >= 2 or misses[1 - team] >= 2 for team in range(2)]
        if any(ahead) or turn == ROUNDS - 1:
            if sum(ahead) == 1:
                return ahead.index(True), turn + 1
            points = [catches[team] - misses[team] for team in range(2)]
            return (2 if points[0] == points[1] else int(points[1] > points[0])), turn + 1
    raise AssertionError


def drawn(seed):
    """Codes and guesses of a match: each guess is right with a probability of the match's own."""
    random = np.random.default_rng(seed)
    codes = np.stack([random.permutation(len(CODES))[:ROUNDS] for _ in range(2)])
    understood, intercepted = random.uniform(0.4, 1, (2, 1)), random.uniform(0, 0.6, (2, 1))
    wrong = (codes + 1 + random.integers(len(CODES) - 1, size=codes.shape)) % len(CODES)
    own = np.where(random.random(codes.shape) < understood, codes, wrong)
    caught = np.where(random.random(codes.shape) < intercepted, codes, wrong)
    return codes, own, caught


def test_a_match_is_the_rules_played_out():
    seen = set()
    for seed in range(150):
        codes, own, caught = drawn(seed)
        match = deal(jax.random.key(seed), 50)
        channels = [
            state._replace(codes=jnp.asarray(c, jnp.int32)) for state, c in zip(match.channels, codes, strict=True)
        ]
        match, rounds = match._replace(channels=tuple(channels)), 0
        hints = jnp.array([1, 2, 3])
        for turn in range(ROUNDS):
            match, event = play(match, {0: hints, 3: hints})
            assert not event.valid
            guesses = {1: own[0], 2: caught[0], 4: own[1], 5: caught[1]}
            match, event = play(match, {place: jnp.int32(each[turn]) for place, each in guesses.items()})
            rounds += bool(event.valid)
        winner, expected = by_hand(codes, own, caught)
        assert (int(match.winner), int(match.turn), rounds) == (winner, expected, expected)
        seen.add(winner)
        sign = {0: 1, 1: -1, 2: 0}[winner]
        np.testing.assert_array_equal(GAME.returns(match), sign * np.array([1, 1, -1, -1, -1, 1]))
    assert seen == {0, 1, 2}


@pytest.mark.parametrize(
    ("misses", "catches", "last", "winner"),
    [
        ((0, 0), (1, 1), False, Winner.NOBODY_YET),
        ((0, 0), (2, 0), False, Winner.FIRST),
        ((2, 0), (0, 0), False, Winner.SECOND),
        ((2, 0), (2, 0), False, Winner.DRAW),  # won and lost at once, the other neither: equal points
        ((2, 1), (2, 0), False, Winner.FIRST),
        ((2, 2), (0, 1), False, Winner.SECOND),
        ((1, 0), (1, 1), True, Winner.SECOND),
        ((1, 1), (1, 1), True, Winner.DRAW),
    ],
)
def test_who_wins(misses, catches, last, winner):
    assert int(result(np.array(misses), np.array(catches), last)) == winner


def test_who_sits_where():
    assert [place_of(*seat_of(place)) for place in range(6)] == list(range(6))
    assert GAME.roles[:3] == ("encoder 1", "decoder 1", "interceptor 1") and GAME.schedule == ((0, 3), (1, 2, 4, 5))
    match = deal(jax.random.key(0), 50)
    keywords = np.concatenate([state.keywords for state in match.channels])
    assert len(set(keywords.tolist())) == 8
    assert not np.array_equal(match.channels[0].codes, match.channels[1].codes)  # each team draws its own
    for channel, state in enumerate(match.channels):
        for role in Role:
            seen = GAME.observe(match, place_of(channel, role))
            for mine, theirs in zip(seen, rules.observe(state, role), strict=True):
                jax.tree.map(np.testing.assert_array_equal, mine, theirs)
    assert np.asarray(GAME.actors(match)).tolist() == [True, False, False] * 2
    spoken = GAME.step(None, match, {0: jnp.arange(3), 3: jnp.arange(3)})[0]
    assert np.asarray(GAME.actors(spoken)).tolist() == [False, True, False] * 2  # nobody intercepts yet
    later = GAME.step(None, spoken, {1: spoken.channels[0].codes[0], 4: spoken.channels[1].codes[0]})[0]
    later = GAME.step(None, later, {0: jnp.arange(3), 3: jnp.arange(3)})[0]
    assert np.asarray(GAME.actors(later)).tolist() == [False, True, True] * 2


def test_what_cannot_be_played():
    with pytest.raises(ValueError, match="keyword_count=7: two teams need at least 8"):
        two_teams(7)
