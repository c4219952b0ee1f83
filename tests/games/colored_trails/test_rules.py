"""A negotiation move by move, against the rules written out in plain Python."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.colored_trails.board import Board, Layout
from otherminds.games.colored_trails.rules import (
    Action,
    Ending,
    Observation,
    Role,
    Rules,
    begin,
    colored_trails,
    final_codes,
    gained,
    scores,
    step,
    view,
)
from otherminds.games.colored_trails.utility import deal
from otherminds.games.protocol import NO_ANSWER
from otherminds.games.rollout import rollout
from otherminds.tom.mind import Mind, memoryless

LAYOUT = Layout(rows=3, columns=3, colours=3, chips=2, goal_distance=2)
RULES = Rules(LAYOUT, cost=0.5, limit=5)
BOARD = Board(
    jnp.array([[0, 1, 2], [1, 0, 2], [2, 2, 0]], jnp.int32),
    jnp.array([[2, 0, 0], [0, 1, 1]], jnp.int32),
    jnp.array([0, 3], jnp.int32),
)
DEAL = deal(LAYOUT, BOARD)
COUNT = 3 * 2 * 2
OWN = [2, 9]  # codes of the chips that are dealt: 2 + 3 (0) + 6 (0), 0 + 3 (1) + 6 (1)
one_step = jax.jit(step, static_argnums=0)
at_end = jax.jit(
    lambda rules, state: (final_codes(state), scores(rules, state), gained(rules, state)), static_argnums=0
)
game = colored_trails(RULES, lambda key: DEAL)


def flip(code):
    return COUNT - 1 - code


def play(kept, rules=RULES):
    state, events = begin(rules, DEAL), []
    for code in kept:
        state, event = one_step(rules, state, jnp.int32(code))
        events.append(event)
    return state, events


def expected(kept, limit):
    """(ending, moves made, codes held at the end), written out."""
    table = None
    for turn, code in enumerate(kept):
        role = turn % 2
        if not 0 <= code < COUNT or code == OWN[role]:
            return Ending.WITHDRAWN, turn + 1, OWN
        if code == table:
            return Ending.ACCEPTED, turn + 1, [code, flip(code)] if role == 0 else [flip(code), code]
        if turn + 1 == limit:
            return Ending.MOVE_LIMIT, turn + 1, OWN
        table = flip(code)
    return Ending.ONGOING, len(kept), OWN


def test_the_codes_are_as_written_out():
    assert DEAL.offers.own.tolist() == OWN and int(DEAL.offers.valid.sum()) == COUNT
    assert DEAL.offers.flip[:COUNT].tolist() == [flip(code) for code in range(COUNT)]


def test_random_negotiations_follow_the_rules():
    rng, seen = np.random.default_rng(0), set()
    for _ in range(100):
        kept, table = [], -1
        for turn in range(7):
            accepts = turn > 0 and rng.random() < 0.15
            kept.append(table if accepts else int(rng.choice([*range(COUNT), NO_ANSWER])))
            table = flip(kept[-1])
        ending, moves, held = expected(kept, RULES.limit)
        state, events = play(kept)
        assert (int(state.ending), int(state.turn)) == (ending, moves)
        codes, points, gain = at_end(RULES, state)
        assert codes.tolist() == held
        assert [bool(event.valid) for event in events] == [turn < moves for turn in range(7)]
        assert state.kept.tolist() == (kept[:moves] + [NO_ANSWER] * 5)[:5]
        worth = np.asarray(DEAL.utility)[np.asarray(BOARD.goals), held]
        before = np.asarray(DEAL.utility)[np.asarray(BOARD.goals), OWN]
        np.testing.assert_allclose(points, worth - 0.5 * moves, rtol=1e-6)
        np.testing.assert_allclose(gain, worth - before - 0.5 * moves, rtol=1e-5, atol=1e-5)
        seen.add(ending)
    assert seen == {Ending.ACCEPTED, Ending.WITHDRAWN, Ending.MOVE_LIMIT}


def test_what_a_move_does():
    _, events = play([4, 5, flip(5), 7])
    assert [int(event.action) for event in events[:3]] == [Action.OFFER, Action.OFFER, Action.ACCEPT]
    assert [int(event.actor) for event in events[:3]] == [Role.INITIATOR, Role.RESPONDER, Role.INITIATOR]
    assert int(play([4, OWN[1]])[1][1].action) == Action.WITHDRAW
    # To offer the own chips withdraws, even where the other has offered just these.
    assert int(play([flip(OWN[1])])[1][0].action) == Action.WITHDRAW


def test_a_failed_answer_and_a_code_that_is_no_offer_withdraw():
    for code in (NO_ANSWER, COUNT, 10_000):
        state, (event,) = play([code])
        assert int(state.ending) == Ending.WITHDRAWN and int(event.kept) == NO_ANSWER
        assert int(event.action) == Action.WITHDRAW


def test_an_acceptance_in_the_last_move_counts():
    last = [0, 1, 3, 4]
    state, _ = play([*last, flip(4)])
    assert int(state.ending) == Ending.ACCEPTED
    state, _ = play([*last, 5])
    assert int(state.ending) == Ending.MOVE_LIMIT


def test_costs_that_are_not_charged():
    free = Rules(LAYOUT, cost=0.5, limit=5, charged=False)
    state, _ = play([4, 5, OWN[0]], free)
    np.testing.assert_array_equal(at_end(free, state)[2], [0, 0])
    state, _ = play([4, 5, OWN[0]])
    np.testing.assert_array_equal(at_end(RULES, state)[2], [-1.5, -1.5])


def test_a_player_sees_everything_but_the_others_goal():
    state, _ = play([4])
    for role in Role:
        known, other = view(state, role), view(state._replace(deal=_with_goal(state, 1 - role, 2)), role)
        assert int(known.goal) == int(BOARD.goals[role])
        assert all((a == b).all() for a, b in zip(jax.tree.leaves(known), jax.tree.leaves(other), strict=True))
        seen = game.observe(state, role)
        assert isinstance(seen, Observation) and int(seen.incoming) == flip(4) and int(seen.turn) == 1
    assert int(game.observe(begin(RULES, DEAL), 0).incoming) == NO_ANSWER
    imagined = game.imagine(view(state, 0), 1, jnp.int32(2))
    assert (int(imagined.role), int(imagined.goal)) == (1, 2)


def _with_goal(state, role, goal):
    board = state.deal.board
    return state.deal._replace(board=board._replace(goals=board.goals.at[role].set(goal)))


def test_the_game_keeps_to_the_protocol():
    """As tests/games/test_rollout.py asks of every game: a schedule, absorbing ends, shapes that last."""
    state = start = game.init(jax.random.key(0))
    advance = jax.jit(lambda state, role, kept: game.step(jax.random.key(0), state, {role: kept}), static_argnums=1)
    for phase in range(2 * game.rounds + 2):
        (acting,) = game.schedule[phase % 2]
        over = phase >= RULES.limit
        assert bool(game.done(state)) == over
        np.testing.assert_array_equal(np.flatnonzero(game.actors(state)), [] if over else [acting])
        assert game.legal(state, acting).sum() == COUNT
        before = state
        state, event = advance(state, acting, jnp.int32([0, 1][phase % 2]))
        assert bool(event.valid) != over
        assert jax.tree.structure(state) == jax.tree.structure(start)
        if over:
            assert all((a == b).all() for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(state), strict=True))
    assert int(state.ending) == Ending.MOVE_LIMIT and game.roles == ("initiator", "responder")
    silent, _ = advance(start, 0, game.no_action(0))
    assert bool(game.done(silent)) and np.isfinite(game.returns(silent)).all()


def test_minds_play_it():
    """The initiator offers 4, the responder takes whatever is on the table."""

    def unused(*arguments):
        raise AssertionError("a rollout draws by `sample` alone")

    def mind(sample):
        return Mind("fixed", lambda params, memory, view: (), memoryless, unused, unused, sample)

    offering = mind(lambda key, params, belief, seen: jnp.int32(4))
    taking = mind(lambda key, params, belief, seen: seen.incoming)
    state, _ = rollout(game, (offering, taking), ((), ()), jax.random.key(1))
    assert int(state.ending) == Ending.ACCEPTED and int(state.turn) == 2
    assert final_codes(state).tolist() == [4, flip(4)]
    many = jax.vmap(lambda kept: one_step(RULES, begin(RULES, DEAL), kept)[0].ending)(jnp.arange(COUNT))
    assert [place for place in range(COUNT) if int(many[place]) == Ending.WITHDRAWN] == [OWN[0]]


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"cost": -1.0}, "cost=-1.0: a finite number of at least 0"),
        ({"cost": float("inf")}, "cost=inf"),
        ({"limit": 0}, "limit=0: a whole number from 1 to 10,000"),
        ({"limit": True}, "limit=True"),
        ({"limit": 10**9}, "limit=1000000000"),
    ],
)
def test_rules_that_make_no_game(settings, message):
    with pytest.raises(ValueError, match=message):
        Rules(**settings)
