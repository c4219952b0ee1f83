"""Boards drawn at random: what each rule promises, and how often it draws what."""

import json
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from otherminds.games.colored_trails.board import Board, Layout
from otherminds.games.colored_trails.generation import (
    DRAWS,
    _draw_goals,
    dealer,
    draw_boards,
    goal_shares,
    wanted_goals,
)
from otherminds.games.colored_trails.utility import Scoring, deal

LAYOUT = Layout()
KEY = jax.random.key(11)
COUNT = 64
RULES = ["any", "deweerd", "llm-tom"]


@cache
def drawn(rule):
    return draw_boards(KEY, COUNT, rule=rule, chunk=COUNT)


@cache
def worth(rule):
    """U [board, goal, offer] and the codes of both players' own and of all chips."""
    found = jax.jit(jax.vmap(lambda board: deal(LAYOUT, board)))(jax.tree.map(jnp.asarray, drawn(rule)))
    offers = found.offers
    return np.asarray(found.utility), np.asarray(offers.own), np.asarray((offers.pool * offers.stride).sum(-1))


@pytest.mark.parametrize("rule", RULES)
def test_boards_are_as_the_game_wants_them(rule):
    boards = drawn(rule)
    assert boards.tiles.shape == (COUNT, 5, 5) and not boards.tiles[:, 2, 2].any()
    assert sorted(np.unique(boards.tiles)) == [0, 1, 2, 3, 4]
    assert (boards.chips.sum(-1) == 4).all() and (boards.goals[:, 0] != boards.goals[:, 1]).all()
    for tiles, chips in zip(boards.tiles, boards.chips, strict=True):
        assert (chips.sum(0) <= np.bincount(np.delete(tiles.reshape(-1), 12), minlength=5)).all()
    assert len({tiles.tobytes() for tiles in boards.tiles}) == COUNT


def test_goals_of_llm_tom():
    utility, own, pool = worth("llm-tom")
    for place, goals in enumerate(drawn("llm-tom").goals):
        for player, goal in enumerate(goals):
            away = LAYOUT.distance[goal, LAYOUT.start_cell]
            # In the program's units: tenths of a point, and 100 for each step of the way instead of -100 for the rest.
            in_its_units = 10 * utility[place, goal] + 100 * away
            assert in_its_units[pool[place]] >= 800 > in_its_units[own[place, player]]


def test_goals_of_de_weerd():
    utility, own, _ = worth("deweerd")
    goals = drawn("deweerd").goals
    alone = [utility[place, goals[place, player], own[place, player]] for place in range(COUNT) for player in (0, 1)]
    assert (np.array(alone) <= 0).all()  # 20 draws find a goal nearly always


def test_recorded_boards_follow_llm_toms_rule(shared):
    boards = json.loads((shared / "data/colored_trails/boards_50.json").read_text())["boards"]
    batch = Board(
        jnp.array([b["board"] for b in boards]),
        jnp.array([[b["chips1"], b["chips2"]] for b in boards]),
        jnp.array([[b["location1"], b["location2"]] for b in boards]),
    )
    wanted = jax.jit(jax.vmap(lambda board: wanted_goals(LAYOUT, board, "llm-tom", Scoring())))(batch)
    assert len(boards) == 50
    assert np.take_along_axis(np.asarray(wanted), np.asarray(batch.goals)[:, None], 1).all()


@pytest.mark.parametrize("fitting", [0, 1, 3, 4])
def test_a_round_of_draws_written_out(fitting):
    """Each draw is uniform; the first that fits counts."""
    wanted, goals = np.arange(4) < fitting, 4
    miss, share = 1.0, np.zeros(goals)
    for _ in range(DRAWS):
        share += miss / goals * wanted
        last_miss, miss = miss, miss * (goals - fitting) / goals
    both = jnp.array(np.stack([wanted, wanted], 1))
    np.testing.assert_allclose(goal_shares(both, "llm-tom")[:, 0], share, rtol=1e-5, atol=1e-8)
    kept = share + last_miss / goals * ~wanted
    np.testing.assert_allclose(goal_shares(both, "deweerd")[:, 1], kept, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(kept.sum(), 1)


def test_pairs_of_goals_are_as_likely_as_rounds_make_them():
    """On one board: rounds until both goals are found and differ, against the shares of the pairs drawn."""
    utility, own, pool = worth("llm-tom")
    within = utility + 10 * LAYOUT.distance[:, LAYOUT.start_cell, None] >= 80  # see above
    wanted = within[0][:, [pool[0]] * 2] & ~within[0][:, own[0]]
    chance = jax.random.uniform(KEY, (4000, 2))
    goals, met = jax.jit(jax.vmap(lambda chance: _draw_goals(chance, jnp.array(wanted), "llm-tom")))(chance)
    first, second = (np.flatnonzero(wanted[:, player]) for player in (0, 1))
    pairs = [(a, b) for a in first for b in second if a != b]
    counts = dict.fromkeys(pairs, 0)
    for pair in np.asarray(goals)[np.asarray(met)].tolist():
        counts[tuple(pair)] += 1
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3
    rng = np.random.default_rng(0)
    accepted = [_rounds(rng, wanted) for _ in range(1000)]
    assert abs(np.mean(accepted) - np.mean(np.asarray(met))) < 0.05


def _rounds(rng, wanted):
    """Whether LLM-TOM's rule, written out as its program runs it, accepts the board."""
    while True:
        found = []
        for player in (0, 1):
            draws = rng.integers(0, len(wanted), DRAWS)
            fitting = draws[wanted[draws, player]]
            if not fitting.size:
                return False
            found.append(fitting[0])
        if found[0] != found[1]:
            return True


def test_boards_depend_on_the_key_and_not_on_the_number():
    more = draw_boards(KEY, COUNT + 3, rule="any", chunk=COUNT)
    fewer = drawn("any")
    assert all((a[:COUNT] == b).all() for a, b in zip(more, fewer, strict=True))
    assert not (more.tiles[COUNT:] == fewer.tiles[:3]).all()


def test_a_dealer_deals_what_the_game_begins_with():
    found = jax.jit(dealer(LAYOUT, "any"))(KEY)
    assert found.utility.shape == (12, 108) and int(found.board.chips.sum()) == 8


@pytest.mark.parametrize(
    "layout, rule, message",
    [
        (LAYOUT, "fair", "goals='fair': one of any, deweerd, llm-tom"),
        (Layout(goals=((0, 0),)), "any", "the players' goals differ, so that there must be 2"),
        (Layout(rows=2, columns=4, goal_distance=2), "any", "8 chips are dealt from the colours of 7 tiles"),
    ],
)
def test_settings_that_make_no_board(layout, rule, message):
    with pytest.raises(ValueError, match=message):
        draw_boards(KEY, 2, layout, rule)
    with pytest.raises(ValueError, match=message):
        dealer(layout, rule)


def test_a_rule_that_no_board_meets():
    """With one colour four chips reach every goal, so that no goal is out of reach."""
    with pytest.raises(ValueError, match=r"goals='llm-tom': none of 20 boards met it for board 0, 0 of 2.*colours=1"):
        draw_boards(KEY, 2, Layout(colours=1), attempts=20)
