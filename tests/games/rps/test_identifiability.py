"""How far apart strategies are, against published numbers, loops in NumPy, and matches that are played."""

import json
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.rps import identifiability
from otherminds.games.rps.catalogue import CODES, STATIC, catalogue, member
from otherminds.games.rps.strategies import stack, strategy

rates_of = jax.jit(identifiability.kl_rates)
divergences_of = jax.jit(identifiability.divergences, static_argnames="rounds")


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


@pytest.fixture
def table(shared):
    return json.loads((shared / "golden/rps/identifiability.json").read_text())


def test_published_distances(table, x64):
    """Static strategies are as far apart whoever plays against them."""
    for opponent in "DY":
        rates = np.array(rates_of(catalogue(True), member(opponent, True)))[:16, :16]
        np.fill_diagonal(rates, np.inf)
        for index, code in enumerate(STATIC):
            nearest = table["nearest"][code]
            np.testing.assert_allclose(rates[index].min(), nearest["kl_nats"], atol=1e-9)
            np.testing.assert_allclose(rates[index, CODES.index(nearest["nearest"])], nearest["kl_nats"], atol=1e-9)
            rounds = identifiability.rounds_to_odds(jnp.asarray(rates[index].min()))
            np.testing.assert_allclose(rounds, nearest["rounds_to_95"], rtol=1e-8)


@pytest.mark.parametrize("rounds", [10, 20, 50])
def test_published_accuracy_of_the_static_strategies(table, x64, rounds):
    logs = jnp.stack([member(code, True).log_initial for code in STATIC])
    found = jax.jit(identifiability.static_accuracy, static_argnames="rounds")(logs, rounds=rounds)
    np.testing.assert_allclose(found, list(table["P_correct"][str(rounds)].values()), atol=1e-9)


def random_strategy(rng):
    """With moves that it never makes."""
    rows = rng.dirichlet(np.ones(3), (4, 3))
    rows[rng.random(rows.shape) < 0.2] = 0
    rows[rows.sum(-1) == 0] = [0, 1, 0]
    rows /= rows.sum(-1, keepdims=True)
    return rows[3, 0], rows[:3]


def test_every_match_written_out(x64):
    """The divergence of whole matches is that of their 3^n x 3^n possible moves; its growth ends in the rate."""
    rng = np.random.default_rng(1)
    rules = [random_strategy(rng) for _ in range(3)] + [(np.full(3, 1 / 3), np.full((3, 3, 3), 1 / 3))]
    rival = random_strategy(rng)
    candidates, opponent = stack([strategy(*rule) for rule in rules]), strategy(*rival)

    def chance(rule, own, other):
        p = rule[0][own[0]]
        for t in range(1, len(own)):
            p *= rule[1][own[t - 1], other[t - 1], own[t]]
        return p

    moves = list(product(range(3), repeat=4))
    own = np.array([[[chance(rule, a, b) for b in moves] for a in moves] for rule in rules])
    theirs = np.array([[chance(rival, b, a) for b in moves] for a in moves])
    expected = np.zeros((4, 4))
    for i, j in product(range(4), repeat=2):
        happens = own[i] * theirs > 0
        with np.errstate(divide="ignore"):
            expected[i, j] = np.sum((own[i] * theirs)[happens] * np.log(own[i][happens] / own[j][happens]))
    found = divergences_of(candidates, opponent, rounds=4)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.isinf(expected).any() and np.isfinite(expected[:, 3]).all()
    rates = rates_of(candidates, opponent)
    growth = divergences_of(candidates, opponent, rounds=4004) - found
    np.testing.assert_allclose(growth[:, 3] / 4000, rates[:, 3], atol=1e-3)
    np.testing.assert_allclose(np.diag(rates), 0, atol=1e-15)


def test_an_opponent_may_hide_what_a_rule_is():
    """Against pure scissors, win-last is pure rock, lose-last paper and copy-last scissors, but for the first move."""
    rates = rates_of(catalogue(), member("A"))
    groups = [[CODES[i] for i in group] for group in identifiability.equivalence_classes(rates)]
    assert [group for group in groups if len(group) > 1] == [["A", "Z"], ["B", "X"], ["C", "Y"]]
    assert sum(map(len, groups)) == 19
    assert np.isinf(identifiability.rounds_to_odds(rates)[CODES.index("B"), CODES.index("X")])
    early = divergences_of(catalogue(), member("A"), rounds=50)
    np.testing.assert_allclose(early[CODES.index("B"), CODES.index("X")], np.log(3), rtol=1e-5)
    assert np.isinf(early[CODES.index("X"), CODES.index("B")])  # two of three first moves rule B out
    against_random = identifiability.equivalence_classes(rates_of(catalogue(), member("D")))
    assert all(len(group) == 1 for group in against_random)


def test_rates_at_zeros():
    """What is never done is infinitely far; the other way round the distance is finite."""
    rates = np.asarray(rates_of(catalogue(), member("D")))
    e, h, x = (CODES.index(code) for code in "EHX")
    assert np.isinf(rates[h, e]) and np.isfinite(rates[e, h])
    assert np.isinf(rates[h, x]) and np.isfinite(rates[x, h])
    assert identifiability.rounds_to_odds(jnp.asarray(rates))[h, e] == 0
    assert not np.isnan(rates).any() and (rates >= -1e-7).all()


def test_chernoff_against_a_grid(x64):
    rng = np.random.default_rng(2)
    rows = [rng.dirichlet(np.ones(3)) for _ in range(3)] + [np.array([0.5, 0.5, 0]), np.array([0, 0, 1.0])]
    grid = np.linspace(1e-9, 1 - 1e-9, 20001)
    exponent = jax.jit(identifiability.chernoff)
    for p, q in product(rows, rows):
        with np.errstate(divide="ignore"):
            expected = -np.log((p[:, None] ** grid * q[:, None] ** (1 - grid)).sum(0).min())
            found = exponent(jnp.log(jnp.asarray(p)), jnp.log(jnp.asarray(q)))
        np.testing.assert_allclose(found, expected, atol=1e-7)


def test_information_is_what_a_guess_gains():
    """Between two pure players one round tells all; random and pure scissors: a closed form."""
    gain = jax.jit(identifiability.information, static_argnames=("rounds", "matches"))
    told = gain(jax.random.key(0), catalogue(codes="AB"), member("D"), rounds=6, matches=2000)
    np.testing.assert_allclose(told.nats, np.log(2), rtol=1e-5)
    told = gain(jax.random.key(0), catalogue(codes="AD"), member("D"), rounds=6, matches=2000)
    q = 3.0 ** -np.arange(1, 7)  # that a random player has made only scissors
    expected = np.log(2) - 0.5 * np.log1p(q) - 0.5 * q * np.log1p(1 / q)
    assert (np.abs(told.nats - expected) < 4.5 * told.error).all() and (told.error < 0.02).all()


def test_wrong_numbers_are_named():
    for wrong in (
        lambda: identifiability.divergences(catalogue(codes="AB"), member("D"), 0),
        lambda: identifiability.static_accuracy(jnp.zeros((2, 3)), 0),
        lambda: identifiability.information(jax.random.key(0), catalogue(codes="AB"), member("D"), -1, 3),
    ):
        with pytest.raises(ValueError, match="rounds="):
            wrong()
    with pytest.raises(ValueError, match="matches=0"):
        identifiability.information(jax.random.key(0), catalogue(codes="AB"), member("D"), 5, 0)
