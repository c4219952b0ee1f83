"""Ceilings against published simulations, exact enumeration, and the observers themselves."""

import json
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.rps.catalogue import CODES, STATIC, catalogue, member
from otherminds.games.rps.identifiability import static_accuracy
from otherminds.games.rps.stationary import legacy_iid
from otherminds.tom.experiments.rps.ceilings import (
    candidate_shares,
    ceiling,
    identification_rates,
    play_chunk,
)
from otherminds.tom.minds.rps.observer_registry import named_observer
from otherminds.tom.minds.rps.observers import observe


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


@pytest.mark.slow
@pytest.mark.parametrize("aware", [False, True])
@pytest.mark.parametrize("window", [pytest.param(None, marks=pytest.mark.slow), 50])
def test_published_ceilings(shared, x64, aware, window):
    """Every case within four standard errors of both simulations: theirs 150 matches (50 over the whole history)."""
    table = json.loads((shared / "golden/rps/sir_ceiling.json").read_text())["results"]
    theirs = 50 if window is None else 150
    for pair in ("HC", "NG", "DY"):
        for data, iid in (("iid", True), ("reactive", False)):
            found = ceiling(
                *pair, 300, window=window, legacy_iid=iid, generator_aware=aware, legacy_decimals=True
            ).rates[:, 2]
            expected = table[f"{pair}|data={data}|observer={'iid' if aware else 'reactive'}|window={window}"]["SIR_MAP"]
            error = np.sqrt(found.var() * (1 / len(found) + 1 / theirs))
            assert abs(found.mean() - expected) <= 4 * error, (pair, data, found.mean(), expected, error)


def test_against_exact_enumeration():
    """Static candidates: the share after n rounds is the sum over all counts of the moves."""
    codes = tuple(STATIC)
    found = ceiling("H", "D", 3000, codes=codes)
    with jax.enable_x64(True):
        logs = jnp.stack([member(code).log_initial for code in codes])
        for rounds in (10, 40):
            exact = np.asarray(jax.jit(static_accuracy, static_argnames="rounds")(logs, rounds=rounds))
            for player, code in enumerate("HD"):
                expected, share = exact[codes.index(code)], found.share[player, rounds - 1]
                assert abs(share - expected) < 4.5 * np.sqrt(expected * (1 - expected) / 3000)
                assert found.low[player, rounds - 1] < share < found.high[player, rounds - 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("window:9", {"window": 9}),
        ("generator-aware", {"generator_aware": True, "legacy_iid": True}),
    ],
)
def test_it_is_what_the_observer_names(spec, options):
    """Round by round, with ties shared, on the same matches; codes whose first moves matter to a window."""
    codes, pair = "DHXYZ", "XD"
    found = ceiling(*pair, 300, codes=codes, seed=3, **options)
    named = named_observer(spec, codes=codes)
    players = [member(code) for code in pair]
    if "legacy_iid" in options:
        players = jax.jit(legacy_iid)(*players)
    moves = play_chunk(jax.random.key(3), jnp.int32(0), tuple(players), rounds=200, chunk=300)
    stated = jax.vmap(partial(observe, named.mind, named.params))(moves)
    truth = np.array([codes.index(code) for code in pair])
    if "generator_aware" in options:  # whose pairs do not factorise: those that it names are some of the most probable
        right = (np.asarray(stated["guess"]) == truth).all(-1).mean(0)
        assert (right[found.share[2] < 1e-6] == 0).all() and right.mean() <= found.share[2].mean() * 25
        return
    log_strategy = np.asarray(stated["log_strategy"])  # [N, T, 2, S]
    best = log_strategy >= log_strategy.max(-1, keepdims=True) - 1e-4
    hits = np.stack([best[:, :, player, code] / best[:, :, player].sum(-1) for player, code in enumerate(truth)])
    np.testing.assert_allclose(found.share[:2], hits.mean(1), atol=1e-5)
    np.testing.assert_allclose(found.share[2], hits.prod(0).mean(0), atol=1e-5)
    np.testing.assert_allclose(found.rates[:, :2].T, hits[:, :, 10:].mean(-1), atol=1e-5)


@pytest.mark.slow
def test_a_match_is_the_same_in_any_chunk():
    told, codes = [], "DHXYZ"
    whole = ceiling("H", "X", 300, seed=5, codes=codes)
    parts = ceiling("H", "X", 300, seed=5, codes=codes, chunk=128, progress=told.append)
    assert told == [128, 128, 44]
    np.testing.assert_array_equal(whole.rates, parts.rates)
    np.testing.assert_allclose(whole.share, parts.share, atol=1e-6)
    np.testing.assert_allclose(whole.of_all_rounds, whole.rates * 190 / 200)
    alone = candidate_shares(codes, "X", 300, seed=5)
    np.testing.assert_allclose(alone[1], whole.share[0], atol=1e-6)
    rates = jax.jit(identification_rates, static_argnums=(2, 3))
    table = rates(jax.random.key(5), catalogue(codes=codes), 10, 200)
    np.testing.assert_allclose(table[1, 2], whole.rates[:10], atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("H", "Q", 3), {}, "'Q' is none of the candidates A, B"),
        (("H", "C", 3), {"codes": "HD"}, "'C' is none of the candidates H, D"),
        (("H", "C", 0), {}, "matches=0"),
        (("H", "C", 3, 0), {}, "rounds=0"),
        (("H", "C", 3, 10), {}, "warmup=10 of 10 rounds"),
        (("H", "C", 3), {"window": 0}, "window=0"),
        (("H", "C", 3), {"chunk": 0}, "chunk=0"),
        (("H", "C", 3), {"tremble": 1.5}, "tremble=1.5"),
        (("H", "C", 3), {"tremble": 0.1, "legacy_iid": True}, "do not tremble"),
    ],
)
def test_wrong_numbers_are_named(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        ceiling(*arguments, **options)
    assert len(CODES) == 19
