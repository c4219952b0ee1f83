"""Strategies, machines, switching players and matches between them, against loops in NumPy."""

import json
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otherminds.games.rps import finite_state, strategies, switching
from otherminds.games.rps.catalogue import CODES, NAMES, REACTIVE, STATIC, catalogue, member, probabilities
from otherminds.games.rps.rules import PAYOFF
from otherminds.games.rps.stationary import legacy_iid
from otherminds.inference.logspace import kl, log_normalize, logsumexp


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


def golden(shared, name):
    return json.loads((shared / f"golden/rps/{name}.json").read_text())


def random_strategy(rng, tremble=None, zeros=True):
    """Probabilities of a strategy, many of them 0."""
    table = rng.dirichlet(np.ones(3), (4, 3))
    if zeros:
        table[rng.random(table.shape) < 0.3] = 0
        table[table.sum(-1) == 0] = [0, 1, 0]
        table /= table.sum(-1, keepdims=True)
    return table[3, 0], table[:3], rng.random() / 2 if tremble is None else tremble


def oracle(initial, transition, tremble, own, opponent):
    """Probability of every own move, in loops; None where it is missing."""
    result = []
    for t, move in enumerate(own):
        if t == 0:
            policy = initial
        else:
            rows = [own[t - 1]] if own[t - 1] >= 0 else range(3)
            columns = [opponent[t - 1]] if opponent[t - 1] >= 0 else range(3)
            policy = np.mean([transition[i][j] for i in rows for j in columns], axis=0)
        result.append(None if move < 0 else (1 - tremble) * policy[move] + tremble / 3)
    return result


def log_of(chances):
    with np.errstate(divide="ignore"):
        return np.array([0.0 if p is None else np.log(p) for p in chances])


matches = st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 2)), min_size=1, max_size=12)


# Strategies


@jax.jit
def both_ways(rule, own, opponent):
    """[2, T] the log-likelihoods of a rule, and of the machine that is made from it."""
    machine = finite_state.from_strategy(rule)
    return jnp.stack(
        [f(x, own, opponent) for f, x in ((strategies.log_likelihoods, rule), (finite_state.log_likelihoods, machine))]
    )


@settings(max_examples=40, deadline=None)
@given(matches, st.integers(0, 10**6))
def test_the_likelihood_of_a_match_written_out(moves, seed):
    """Missing moves and padding included, in float64 and float32."""
    own, opponent = padded = np.full((2, 14), -1)
    padded[:, : len(moves)] = np.array(moves).T
    numbers = random_strategy(np.random.default_rng(seed))
    exact = log_of(oracle(*numbers, own, opponent))
    assert (exact[len(moves) :] == 0).all()
    with jax.enable_x64(True):
        found = both_ways(strategies.strategy(*numbers), *jnp.asarray(padded))
        np.testing.assert_allclose(found, [exact, exact], atol=1e-12)
    found = both_ways(strategies.strategy(*numbers), *jnp.asarray(padded))
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, [exact, exact], atol=2e-5, rtol=2e-5)


def test_the_catalogue_is_the_published_one(shared, x64):
    table = golden(shared, "strategies")
    assert list(CODES) == table["order"] and set(CODES) == set(STATIC) | set(REACTIVE)
    for code, row in table["static"].items():
        assert probabilities(code, legacy_decimals=True) == tuple(row.values())
        np.testing.assert_allclose(probabilities(code), tuple(row.values()), atol=7e-4)
        assert abs(sum(probabilities(code)) - 1) < 1e-15
    names = ["rock", "paper", "scissors"]
    for code, rule in table["reactive"].items():
        answers = jnp.exp(member(code).log_transition)
        for opponent, move in rule["prev_opp->move"].items():
            np.testing.assert_array_equal(answers[:, names.index(opponent), names.index(move)], np.ones(3))
    stacked = catalogue(legacy_decimals=True)
    for index, code in enumerate(CODES):
        for one, all_ in zip(jax.tree.leaves(member(code, True)), jax.tree.leaves(stacked), strict=True):
            np.testing.assert_array_equal(one, all_[index])
    policies = jnp.exp(jax.vmap(strategies.log_policies)(catalogue(tremble=0.2)))
    np.testing.assert_allclose(policies.sum(-1), 1, atol=1e-12)


@pytest.mark.parametrize("case", ["H-C", "N-G", "D-Y"])
def test_published_posteriors(shared, x64, case):
    case = golden(shared, "posterior_derived")["cases"][case]
    moves = jnp.asarray(case["moves"])
    rules = catalogue(legacy_decimals=True)
    evidence = 0.0
    for player, (own, opponent) in enumerate((moves.T, moves.T[::-1])):
        found = jax.vmap(strategies.log_likelihoods, (0, None, None))(rules, own, opponent).sum(-1)
        expected = [-np.inf if x is None else x for x in case[f"loglik_p{player + 1}"]]
        np.testing.assert_allclose(found, expected, atol=1e-10)
        np.testing.assert_allclose(jnp.exp(log_normalize(found)), case[f"post_p{player + 1}"], atol=1e-10)
        evidence += logsumexp(found) - np.log(19)
    np.testing.assert_allclose(evidence, case["reactive_logevidence"], atol=1e-10)
    # The paper's own data: both marginals of a pair, drawn anew every round.
    legacy = jax.jit(jax.vmap(jax.vmap(legacy_iid, (None, 0)), (0, None)))(rules, rules)
    likelihood = jax.vmap(jax.vmap(strategies.log_likelihoods, (0, None, None)), (0, None, None))
    pairs = likelihood(legacy[0], *moves.T).sum(-1) + likelihood(legacy[1], *moves.T[::-1]).sum(-1)
    np.testing.assert_allclose(logsumexp(pairs.ravel()) - 2 * np.log(19), case["iid_pair_logevidence"], atol=1e-10)


def test_how_far_apart_the_static_strategies_are(shared, x64):
    table = golden(shared, "identifiability")
    logs = jnp.stack([member(code, True).log_initial for code in STATIC])
    apart = np.array(jax.vmap(lambda p: jax.vmap(lambda q: kl(p, q))(logs))(logs))
    np.fill_diagonal(apart, np.inf)
    for index, code in enumerate(STATIC):
        np.testing.assert_allclose(apart[index].min(), table["nearest"][code]["kl_nats"], atol=1e-10)
    counts = np.array([(r, p, 10 - r - p) for r in range(11) for p in range(11 - r)])
    ways = [np.prod(np.arange(1, 11)) / np.prod([np.prod(np.arange(1, n + 1)) for n in row]) for row in counts]
    chance = ways * np.prod(np.exp(np.asarray(logs))[None] ** counts[:, None], -1).T  # [16, n]
    best = np.isclose(chance, chance.max(0), rtol=1e-9, atol=0)
    correct = (chance * best / best.sum(0)).sum(1)
    for index, code in enumerate(STATIC):
        np.testing.assert_allclose(correct[index], table["P_correct"]["10"][code], atol=1e-10)


def test_rules_by_outcome():
    """Win-stay lose-shift, and the bots, from who won."""
    rule = jnp.exp(strategies.win_stay_lose_shift().log_transition)
    lenient = jnp.exp(strategies.win_stay_lose_shift(draw_stays=True).log_transition)
    shifts = {
        "prev_move_positive": {1: 1, 0: 1, -1: 1},
        "prev_move_negative": {1: 2, 0: 2, -1: 2},
        "opponent_prev_move_positive": {1: 0, 0: 1, -1: 2},
        "opponent_prev_move_nil": {1: 2, 0: 0, -1: 1},
        "win_nil_lose_positive": {1: 0, 0: 2, -1: 1},
        "win_positive_lose_negative": {1: 1, 0: 0, -1: 2},
    }
    bots = strategies.human_bots()
    assert set(bots) == set(shifts)
    for own, other in product(range(3), range(3)):
        won = PAYOFF[own][other]
        assert np.isclose(rule[own, other, own], 1.0 if won == 1 else 0.0)
        assert np.isclose(lenient[own, other, own], 0.0 if won == -1 else 1.0)
        np.testing.assert_allclose(rule[own, other].sum(), 1, atol=1e-6)
        for name, bot in bots.items():
            policy = jnp.exp(strategies.log_policies(bot)[strategies.situation(jnp.int32(own), jnp.int32(other))])
            expected = np.full(3, 0.05)
            expected[(own + shifts[name][won]) % 3] = 0.9
            np.testing.assert_allclose(policy, expected, atol=1e-6)


def test_the_bots_are_those_of_the_data(shared):
    assert set(golden(shared, "human_v2_bot_id")["r"]) == set(strategies.human_bots())


def test_relabelling_the_moves_changes_nothing(x64):
    """Rotating the moves of both players and of the rule leaves the likelihood as it is."""
    rng = np.random.default_rng(4)
    initial, transition, tremble = random_strategy(rng)
    own, opponent = jnp.asarray(rng.integers(0, 3, (2, 20)))
    rolled = strategies.strategy(np.roll(initial, 1), np.roll(transition, (1, 1, 1), (0, 1, 2)), tremble)
    np.testing.assert_allclose(
        strategies.log_likelihoods(strategies.strategy(initial, transition, tremble), own, opponent),
        strategies.log_likelihoods(rolled, (own + 1) % 3, (opponent + 1) % 3),
        atol=1e-12,
    )


def test_jit_and_vmap_change_nothing():
    rng = np.random.default_rng(5)
    rules = [strategies.strategy(*random_strategy(rng)) for _ in range(4)]
    moves = jnp.asarray(rng.integers(-1, 3, (3, 2, 15)))
    both = jax.vmap(jax.vmap(strategies.log_likelihoods, (None, 0, 0)), (0, None, None))
    table = jax.jit(both)(strategies.stack(rules), moves[:, 0], moves[:, 1])
    for i, rule in enumerate(rules):
        for n in range(3):
            np.testing.assert_allclose(table[i, n], strategies.log_likelihoods(rule, *moves[n]), rtol=1e-6)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (((0.5, 0.5, 0.1), np.full((3, 3, 3), 1 / 3)), "initial is"),
        (((1, 0, 0), np.where(np.arange(27).reshape(3, 3, 3) == 14, np.nan, 1 / 3)), r"transition\[1, 1\] is"),
        (((2, -1, 0), np.full((3, 3, 3), 1 / 3)), "initial is"),
        (((1, 0, 0), np.full((3, 3, 3), 1 / 3), 1.5), "tremble=1.5"),
    ],
)
def test_what_is_no_strategy(numbers, message):
    with pytest.raises(ValueError, match=message):
        strategies.strategy(*numbers)
    with pytest.raises(ValueError, match="'Q'"):
        member("Q")
    assert len(set(NAMES.values())) == 19


# Machines


def test_a_machine_written_out(x64):
    rng = np.random.default_rng(6)
    output, transitions = rng.dirichlet(np.ones(3), 5), rng.integers(0, 5, (5, 3, 3))
    rule = finite_state.machine(2, output, transitions, 0.1)
    own, opponent = rng.integers(-1, 3, (2, 40))
    state, expected = 2, []
    for a, b in zip(own, opponent, strict=True):
        expected.append(0.0 if a < 0 else np.log(0.9 * output[state][a] + 0.1 / 3))
        state = transitions[state][a][b] if min(a, b) >= 0 else state
    np.testing.assert_allclose(finite_state.log_likelihoods(rule, *jnp.asarray([own, opponent])), expected, atol=1e-12)


def test_the_bot_that_looks_two_rounds_back(x64):
    rng = np.random.default_rng(7)
    own, opponent = rng.integers(-1, 3, (2, 200))
    expected = []
    for t in range(200):
        policy = np.full(3, 1 / 3)
        if t > 1 and min(own[t - 2], own[t - 1], opponent[t - 1]) >= 0:
            shift = own[t - 1] - own[t - 2] + PAYOFF[own[t - 1]][opponent[t - 1]]
            policy = np.full(3, 0.05)
            policy[(own[t - 1] + shift) % 3] = 0.9
        expected.append(0.0 if own[t] < 0 else np.log(policy[own[t]]))
    found = finite_state.log_likelihoods(finite_state.outcome_transition(), jnp.asarray(own), jnp.asarray(opponent))
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, [[0.5, 0.6, 0]], [[[0] * 3] * 3]), r"output\[0\]"),
        ((1, [[1, 0, 0]], [[[0] * 3] * 3]), "start holds 1"),
        ((0, [[1, 0, 0]], [[[7] * 3] * 3]), "transitions holds 7"),
        ((0, [[1, 0, 0]], [[0] * 3] * 3), "shape"),
        ((0, [[1, 0, 0]], [[[0] * 3] * 3], -0.1), "tremble=-0.1"),
    ],
)
def test_what_is_no_machine(arguments, message):
    with pytest.raises(ValueError, match=message):
        finite_state.machine(*arguments)


# Switching


def test_every_path_of_a_switching_player_summed(x64):
    rng = np.random.default_rng(8)
    numbers = [random_strategy(rng) for _ in range(3)]
    own, opponent = rng.integers(0, 3, (2, 5))
    tables = np.array([oracle(*rule, own, opponent) for rule in numbers])
    for hazard in (0.0, 0.2, 1.0):
        player = switching.uniform(strategies.stack([strategies.strategy(*rule) for rule in numbers]), hazard)
        total = np.zeros(5)
        for length in range(1, 6):
            for path in product(range(3), repeat=length):
                chance = 1 / 3
                for t, k in enumerate(path):
                    change = 1.0 if t == 0 else (1 - hazard) * (k == path[t - 1]) + hazard / 3
                    chance *= change * tables[k, t]
                total[length - 1] += chance
        found = jax.jit(switching.filtered)(player, *jnp.asarray([own, opponent]))
        np.testing.assert_allclose(np.exp(np.cumsum(found.log_evidence)), total, atol=1e-14)
        np.testing.assert_allclose(np.exp(found.log_belief).sum(-1), 1, atol=1e-12)


def test_published_switch_filter(shared, x64):
    case = golden(shared, "switch_filter_derived")
    player = switching.uniform(catalogue(legacy_decimals=True, codes=case["cands"]), case["hazard"])
    found = jax.jit(switching.filtered)(player, *jnp.asarray(case["moves"]).T)
    np.testing.assert_allclose(jnp.exp(found.log_belief), case["filter"], atol=1e-10)
    np.testing.assert_allclose(found.log_evidence.sum(), case["log_evidence"], atol=1e-10)


def test_an_impossible_match_stays_impossible():
    player = switching.uniform(catalogue(codes="AB"), 0.1)
    found = switching.filtered(player, jnp.array([0, 1, 0, -1]), jnp.zeros(4, jnp.int32))
    assert np.isfinite(found.log_evidence[0])
    assert np.isneginf(found.log_evidence[1]) and np.isneginf(found.log_belief[1:]).all()
    assert found.possible.tolist() == [True, False, False, False]
    with pytest.raises(ValueError, match="hazard=2"):
        switching.uniform(catalogue(codes="AB"), 2)


# Gradients


def test_gradients_are_those_of_finite_differences(x64):
    rng = np.random.default_rng(9)
    own, opponent = jnp.asarray(rng.integers(-1, 3, (2, 25)))
    first, second = (strategies.strategy(*random_strategy(rng, 0.2)) for _ in range(2))

    def score(logits, tremble, hazard):
        rules = strategies.stack([first, second])
        shifted = log_normalize(rules.log_transition + logits[None])
        player = switching.uniform(rules._replace(log_transition=shifted, tremble=jnp.full(2, tremble)), 0.5)
        return switching.filtered(player._replace(hazard=hazard), own, opponent).log_evidence.sum()

    at = (jnp.asarray(rng.normal(size=(3, 3, 3))), jnp.asarray(0.2), jnp.asarray(0.1))
    assert np.isneginf(first.log_transition).any()  # zeros are there
    score = jax.jit(score)
    slopes = jax.grad(score, (0, 1, 2))(*at)
    assert all(np.isfinite(x).all() for x in slopes)
    for place in ((0, (0, 1, 2)), (0, (2, 2, 0)), (0, (1, 0, 1)), (1, ()), (2, ())):
        ahead, back = ([*at], [*at])
        ahead[place[0]] = at[place[0]].at[place[1]].add(1e-5)
        back[place[0]] = at[place[0]].at[place[1]].add(-1e-5)
        np.testing.assert_allclose(
            slopes[place[0]][place[1]], (score(*ahead) - score(*back)) / 2e-5, atol=1e-7, rtol=1e-5
        )


@pytest.mark.parametrize("hazard", [0.0, 1.0])
@pytest.mark.parametrize("tremble", [0.0, 1.0])
def test_gradients_are_finite_at_the_ends(hazard, tremble):
    own, opponent = jnp.array([0, 1, 1, 2]), jnp.array([0, 0, 2, 1])

    def score(rules, hazard):
        player = switching.uniform(rules, 0.5)._replace(hazard=hazard)
        return switching.filtered(player, own, opponent).log_evidence.sum()

    rules = catalogue(codes="XDB", tremble=tremble)
    slopes = jax.jit(jax.grad(score, (0, 1)))(rules, jnp.float32(hazard))
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(slopes))
