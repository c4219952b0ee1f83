"""Matches between strategies: drawn as the rules say, the same alone, and fast."""

import time
from functools import partial
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.rps import finite_state, strategies, switching
from otherminds.games.rps.catalogue import REACTIVE, catalogue, member
from otherminds.games.rps.play import play, play_all


def test_reactive_moves_follow_the_moves_really_made():
    for code, shift in REACTIVE.items():
        moves = np.asarray(jax.jit(partial(play, rounds=60))(jax.random.key(2), member("D"), member(code)))
        np.testing.assert_array_equal(moves[1, 1:], (moves[0, :-1] + shift) % 3)


@pytest.mark.parametrize("as_machine", [False, True])
def test_moves_are_drawn_as_the_rule_says(as_machine):
    rng = np.random.default_rng(10)
    numbers = []
    for tremble in (0.0, 0.1):
        table = rng.dirichlet(np.ones(3), (4, 3))
        table[rng.random((4, 3)) < 0.3] = [0, 1, 0]  # zeros too
        numbers.append((table[3, 0], table[:3], tremble))
    rules = [strategies.strategy(*each) for each in numbers]
    players = [finite_state.from_strategy(rule) for rule in rules] if as_machine else rules
    moves = np.asarray(
        jax.jit(jax.vmap(lambda key: play(key, *players, 20)))(jax.random.split(jax.random.key(3), 2000))
    )
    assert set(np.unique(moves)) <= {0, 1, 2}
    for player, (initial, transition, tremble) in enumerate(numbers):
        own, opponent = moves[:, player], moves[:, 1 - player]
        cells = [(own[:, 0], np.asarray(initial))]
        for i, j in product(range(3), range(3)):
            cells.append((own[:, 1:][(own[:, :-1] == i) & (opponent[:, :-1] == j)], transition[i, j]))
        for drawn, policy in cells:
            policy = (1 - tremble) * policy + tremble / 3
            for move in range(3):
                spread = np.sqrt(policy[move] * (1 - policy[move]) / max(len(drawn), 1))
                assert abs((drawn == move).mean() - policy[move]) <= 4.5 * spread + 1e-9 if len(drawn) else True
        assert sum(len(drawn) for drawn, _ in cells) == own.size


def test_a_rule_allows_what_it_plays():
    """No move of probability 0 is ever drawn, machines with two rounds of memory included."""
    deterministic = finite_state.outcome_transition(tremble=0.0)
    rules = catalogue()
    keys = jax.random.split(jax.random.key(4), 19)
    moves = jax.jit(jax.vmap(lambda key, rule: play(key, rule, deterministic, 300)))(keys, rules)
    assert np.isfinite(jax.jit(jax.vmap(strategies.log_likelihoods))(rules, moves[:, 0], moves[:, 1])).all()
    allowed = jax.jit(jax.vmap(partial(finite_state.log_likelihoods, deterministic)))(moves[:, 1], moves[:, 0])
    assert np.isfinite(allowed).all()


def test_a_match_is_the_same_alone():
    firsts, seconds = catalogue(codes="HXD"), catalogue(codes="ZN")
    table = jax.jit(partial(play_all, matches=4, rounds=10))(jax.random.key(5), firsts, seconds)
    assert table.shape == (3, 2, 4, 2, 10)
    fewest = jax.tree.map(lambda leaf: leaf[:1], seconds)
    fewer = jax.jit(partial(play_all, matches=2, rounds=10))(jax.random.key(5), firsts, fewest)
    np.testing.assert_array_equal(fewer, table[:, :1, :2])
    key = jax.random.key(5)
    for index in (1, 1, 3):
        key = jax.random.fold_in(key, index)
    alone = jax.jit(partial(play, rounds=10))(key, member("X"), member("N"))
    np.testing.assert_array_equal(table[1, 1, 3], alone)
    assert len(np.unique(np.asarray(table[0, 0]).reshape(4, -1), axis=0)) == 4


def test_the_papers_data_ignore_the_previous_move():
    """Played as it is, Y answers D's last move always; in the paper's data, in a third of the rounds."""
    rules = catalogue(codes="DY")
    begin = partial(play_all, matches=40, rounds=100)
    tables = [jax.jit(partial(begin, legacy_iid=flag))(jax.random.key(6), rules, rules) for flag in (False, True)]
    tables = [np.asarray(table) for table in tables]
    follows = [(t[0, 1, :, 1, 1:] == (t[0, 1, :, 0, :-1] + 2) % 3).mean() for t in tables]
    assert follows[0] == 1 and abs(follows[1] - 1 / 3) < 0.03  # standard error 0.0075


def test_a_tournament_is_fast():
    rules = catalogue()
    tournament = jax.jit(partial(play_all, matches=30, rounds=200))
    tournament(jax.random.key(0), rules, rules).block_until_ready()
    begun = time.process_time()
    moves = tournament(jax.random.key(1), rules, rules).block_until_ready()
    assert moves.shape == (19, 19, 30, 2, 200)
    assert time.process_time() - begun < 5


def test_how_often_a_switching_player_switches():
    player = switching.uniform(catalogue(codes="ABC"), 0.3)._replace(log_prior=jnp.log(jnp.array([0.0, 0.0, 1.0])))
    moves = jax.jit(jax.vmap(lambda key: play(key, player, member("D"), 40)[0]))(
        jax.random.split(jax.random.key(0), 500)
    )
    moves = np.asarray(moves)
    assert (moves[:, 0] == 1).all()  # C is pure paper
    changed = (moves[:, 1:] != moves[:, :-1]).mean()
    assert abs(changed - 0.3 * 2 / 3) < 4 * np.sqrt(0.2 * 0.8 / moves[:, 1:].size)
    kept = switching.path(jax.random.key(1), player._replace(hazard=jnp.float32(0)), 50)
    assert (np.asarray(kept) == 2).all()
