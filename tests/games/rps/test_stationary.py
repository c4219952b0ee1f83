"""The long run of two strategies: the paper's numbers, closed forms and iterations, the chain and simulation."""

import json
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.protocol import NO_ANSWER
from otherminds.games.rps import strategies
from otherminds.games.rps.catalogue import CODES, REACTIVE, catalogue, member
from otherminds.games.rps.play import play_all
from otherminds.games.rps.rules import PAYOFF
from otherminds.games.rps.stationary import (
    chain,
    closed_form,
    damped,
    independent,
    legacy_iid,
    long_run,
    matchup,
    outcome_rates,
    recurrent_classes,
    response,
    to_tolerance,
)
from otherminds.inference.fixed_points import cycle_average

START = ((0.6, 0.3, 0.1), (0.2, 0.5, 0.3))


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


def golden(shared, name):
    return json.loads((shared / f"golden/rps/{name}.json").read_text())


@cache
def over_pairs(function):
    return jax.jit(jax.vmap(jax.vmap(function, (None, 0)), (0, None)))


def random_rules(seed, tremble):
    rng = np.random.default_rng(seed)
    return [
        strategies.strategy(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3) / 2, (3, 3)), tremble) for _ in range(2)
    ]


# The paper's numbers


def test_published_matchups(shared, x64):
    cells = golden(shared, "matchups")["cells"]
    rules = catalogue(legacy_decimals=True)
    table = 100 * over_pairs(matchup)(rules, rules)
    expected = [[[cells[a][b][k] for k in ("wins", "draws", "losses")] for b in CODES] for a in CODES]
    np.testing.assert_allclose(table, expected, atol=1e-12 * 100)
    marginals = golden(shared, "round_dists")["cells"]
    expected = [[marginals[a][b] for b in CODES] for a in CODES]
    np.testing.assert_allclose(over_pairs(closed_form)(rules, rules), expected, atol=1e-12)
    np.testing.assert_allclose(over_pairs(damped)(rules, rules), expected, atol=1e-12)
    legacy = over_pairs(legacy_iid)(rules, rules)
    for player in range(2):
        policies = jax.vmap(jax.vmap(strategies.log_policies))(legacy[player])
        same = np.broadcast_to(np.array(expected)[:, :, player, None], policies.shape)
        np.testing.assert_allclose(jnp.exp(policies), same, atol=1e-12)


def test_published_fixed_points(shared, x64):
    for pair, expected in golden(shared, "fixed_point_code")["pairs"].items():
        found = damped(member(pair[0]), member(pair[1]))
        np.testing.assert_allclose(found, [list(expected[s].values()) for s in ("s1", "s2")], atol=1e-12)


def test_published_stopping_rule(shared, x64):
    run = jax.jit(to_tolerance)
    runs = golden(shared, "fixed_point_derived")["runs"]
    assert len(runs) > 30 and not all(expected["converged"] for expected in runs.values())
    for name, expected in runs.items():
        pair, a = name.split("|alpha=")
        first, second = (member(code, legacy_decimals=True) for code in pair)
        found = run(first, second, jnp.asarray(START), float(a))
        np.testing.assert_allclose(found.point, [expected["s1"], expected["s2"]], atol=1e-12)
        assert (int(found.steps), bool(found.converged)) == (expected["iters"], expected["converged"])
        np.testing.assert_allclose(found.change, expected["final_l1"], atol=1e-12)


# The closed form against the iterations


def test_the_closed_form_is_the_limit_of_the_damped_iteration(x64):
    rules, start = catalogue(), jnp.asarray(START)
    exact = over_pairs(partial(closed_form, start=start))(rules, rules)
    for a in (0.3, 0.7):
        np.testing.assert_allclose(
            over_pairs(partial(damped, start=start, a=a, sweeps=400))(rules, rules), exact, atol=1e-12
        )
    stopped = over_pairs(partial(to_tolerance, start=start, tolerance=1e-9))(rules, rules)
    assert stopped.converged.all() and int(stopped.steps.max()) > 50
    np.testing.assert_allclose(stopped.point, exact, atol=1e-8)
    codes = {code: index for index, code in enumerate(CODES)}
    np.testing.assert_allclose(exact[codes["Z"], codes["Z"]], [[0.4, 0.4, 0.2]] * 2, atol=1e-12)
    np.testing.assert_allclose(exact[codes["X"], codes["Y"]], [[0.45, 0.25, 0.3], [0.25, 0.3, 0.45]], atol=1e-12)
    np.testing.assert_allclose(exact[codes["X"], codes["X"]], np.full((2, 3), 1 / 3), atol=1e-12)


def test_the_closed_form_averages_over_cycles(x64):
    """Players who react permute the six numbers of their two marginals."""
    start = jnp.asarray(START)
    for pair in ("XX", "XY", "ZZ", "YZ"):
        rules = [member(code) for code in pair]
        permutation = [3 * (1 - i) + (move - REACTIVE[pair[i]]) % 3 for i in range(2) for move in range(3)]
        expected = cycle_average(jnp.asarray(permutation), start.ravel()).reshape(2, 3)
        np.testing.assert_allclose(closed_form(*rules, start), expected, atol=1e-12)


def test_an_iteration_that_never_settles_says_so():
    found = to_tolerance(member("X"), member("X"), jnp.asarray(START), a=1.0, most=20)
    assert not found.converged and int(found.steps) == 20 and found.change > 0.1


def test_strategies_without_a_closed_form():
    """An error, and inside jit NaN, from which no move is drawn."""
    with pytest.raises(ValueError, match="use long_run"):
        response(strategies.win_stay_lose_shift())
    with pytest.raises(ValueError, match="player 1 is neither"):
        closed_form(member("A"), member("X", tremble=0.1))
    assert np.isnan(jax.jit(response)(strategies.win_stay_lose_shift())).all()
    trembling = catalogue(codes="AX", tremble=0.1)
    assert np.isnan(jax.jit(closed_form)(*(jax.tree.map(lambda leaf, i=i: leaf[i], trembling) for i in (0, 1)))).all()
    legacy = jax.jit(partial(play_all, matches=1, rounds=4, legacy_iid=True))
    assert (legacy(jax.random.key(0), trembling, trembling)[1, 1] == NO_ANSWER).all()
    mixed = to_tolerance(member("A"), member("X", tremble=0.3), tolerance=1e-7)
    np.testing.assert_allclose(mixed.point, [[0, 0, 1], [0.8, 0.1, 0.1]], atol=1e-5)


# The chain


def average(first, second, rounds):
    """The mean over rounds of the pair's distribution, round by round in NumPy."""
    start, moves = (np.asarray(x) for x in chain(first, second))
    now, total = start, np.zeros(9)
    for _ in range(rounds):
        total += now
        now = now @ moves
    return (total / rounds).reshape(3, 3)


def test_the_chain_written_out(x64):
    first, second = random_rules(0, 0.1)
    start, moves = chain(first, second)
    one, two = (np.exp(rule.log_transition) * 0.9 + 0.1 / 3 for rule in (first, second))
    begin = [np.exp(rule.log_initial) * 0.9 + 0.1 / 3 for rule in (first, second)]
    for a in range(3):
        for b in range(3):
            np.testing.assert_allclose(start[3 * a + b], begin[0][a] * begin[1][b], atol=1e-14)
            for i in range(3):
                for j in range(3):
                    expected = one[a, b, i] * two[b, a, j]
                    np.testing.assert_allclose(moves[3 * a + b, 3 * i + j], expected, atol=1e-14)


@pytest.mark.parametrize("tremble", [0.0, 0.05, 1e-6])
def test_the_long_run_solves_the_balance_equations(x64, tremble):
    first, second = random_rules(1, tremble)
    found = long_run(first, second)
    moves = np.asarray(chain(first, second)[1])
    balance = np.vstack([moves.T - np.eye(9), np.ones(9)])
    exact = np.linalg.lstsq(balance, np.array([0.0] * 9 + [1.0]), rcond=None)[0]
    assert (found.classes == 0).all()  # one class holds every pair
    np.testing.assert_allclose(found.joint.ravel(), exact, atol=1e-12)


@pytest.mark.parametrize("pair", ["XX", "XY", "YX", "YY", "ZZ", "XZ", "AX", "ZE", "HN"])
def test_the_long_run_from_a_lopsided_start(x64, pair):
    """Circles and several classes: the average over rounds from the start of these very strategies."""
    rules = [
        member(code)._replace(log_initial=jnp.log(jnp.asarray(start))) for code, start in zip(pair, START, strict=True)
    ]
    found = long_run(*rules)
    np.testing.assert_allclose(found.joint, average(*rules, 6006), atol=2e-3)
    assert set(np.asarray(found.classes).ravel()) - {-1} == set(classes_by_hand(*rules))
    if pair == "ZZ":  # three pairs that stay as they are, and three that are swapped for ever
        assert found.classes.tolist() == [[0, 1, 2], [1, 4, 5], [2, 5, 8]]


def classes_by_hand(first, second):
    """The recurrent classes of the chain, by walking."""
    moves = np.asarray(chain(first, second)[1]) > 0
    reach = []
    for state in range(9):
        seen, todo = {state}, [state]
        while todo:
            for to in np.flatnonzero(moves[todo.pop()]):
                if to not in seen:
                    seen.add(int(to))
                    todo.append(int(to))
        reach.append(seen)
    return [min(reach[s]) for s in range(9) if all(s in reach[other] for other in reach[s])]


def test_recurrent_and_transient_states():
    moves = jnp.array([[0.5, 0.5, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1.0]])
    assert recurrent_classes(moves).tolist() == [-1, 1, 1, 3]
    assert recurrent_classes(jnp.roll(jnp.eye(9), 1, 0)).tolist() == [0] * 9
    for seed in range(5):
        rng = np.random.default_rng(seed)
        sparse = [
            strategies.strategy(np.eye(3)[0], np.eye(3)[rng.integers(0, 3, (3, 3))]) for _ in range(2)
        ]  # deterministic rules
        found = recurrent_classes(chain(*sparse)[1])
        by_hand = classes_by_hand(*sparse)
        assert sorted(set(np.asarray(found)) - {-1}) == sorted(set(by_hand))
        assert (np.asarray(found) >= 0).sum() == len(by_hand)


def test_marginals_are_enough_where_the_start_is_uniform(x64):
    """With uniform first moves the product of marginals gives the win rates of all 361 pairs of the catalogue."""
    rules = catalogue()
    played = over_pairs(lambda first, second: outcome_rates(long_run(first, second).joint))(rules, rules)
    np.testing.assert_allclose(played, over_pairs(matchup)(rules, rules), atol=1e-12)
    np.testing.assert_allclose(played.sum(-1), 1, atol=1e-12)
    np.testing.assert_allclose(played, jnp.swapaxes(played, 0, 1)[..., ::-1], atol=1e-12)  # one's win, the other's loss


def test_marginals_are_not_enough_where_it_is_not(x64):
    """Copiers who begin with rock and paper swap them for ever; their marginals alone would draw half the time."""
    first, second = (member("Z")._replace(log_initial=jnp.log(jnp.eye(3)[move])) for move in (0, 1))
    np.testing.assert_allclose(outcome_rates(long_run(first, second).joint), [0.5, 0, 0.5], atol=1e-12)
    marginals = closed_form(first, second, jnp.eye(3)[:2])
    np.testing.assert_allclose(outcome_rates(independent(marginals)), [0.25, 0.5, 0.25], atol=1e-12)


def test_outcome_rates_by_loops():
    joint = np.random.default_rng(2).dirichlet(np.ones(9)).reshape(3, 3).astype(np.float32)
    expected = np.zeros(3)
    for a in range(3):
        for b in range(3):
            expected[1 - PAYOFF[a][b]] += joint[a, b]
    np.testing.assert_allclose(outcome_rates(jnp.asarray(joint)), expected, atol=1e-6)


def test_matches_come_to_the_long_run():
    rules = strategies.stack([*random_rules(3, 0.05), strategies.win_stay_lose_shift(0.1)])
    moves = np.asarray(jax.jit(partial(play_all, matches=60, rounds=500))(jax.random.key(1), rules, rules))
    counts = np.stack([[(moves[:, :, :, 0] == a) & (moves[:, :, :, 1] == b) for b in range(3)] for a in range(3)])
    found = np.moveaxis(counts.mean((4, 5)), (0, 1), (2, 3))
    expected = over_pairs(lambda first, second: long_run(first, second).joint)(rules, rules)
    np.testing.assert_allclose(found, expected, atol=0.02)  # 30,000 rounds, correlated


def test_the_long_run_has_gradients(x64):
    first, second = random_rules(4, 0.1)
    first = first._replace(log_transition=first.log_transition.at[1].set(jnp.log(jnp.eye(3))))  # zeros

    def wins(tremble):
        return outcome_rates(long_run(first._replace(tremble=tremble), second).joint)[0]

    slope = jax.jit(jax.grad(wins))(0.1)
    np.testing.assert_allclose(slope, (wins(0.1 + 1e-5) - wins(0.1 - 1e-5)) / 2e-5, rtol=1e-6)
