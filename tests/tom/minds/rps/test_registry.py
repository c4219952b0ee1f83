"""Players by name: what they are, and how wrong names are told."""

import jax
import numpy as np
import pytest

from otherminds.games.rps.catalogue import CODES, NAMES, member
from otherminds.games.rps.finite_state import Machine
from otherminds.games.rps.strategies import BOT_TREMBLE, Strategy, log_policies
from otherminds.games.rps.switching import Switching
from otherminds.tom.minds.rps import players
from otherminds.tom.minds.rps.registry import BOTS, cells, is_rule, named_player, names
from otherminds.tom.minds.spec import UnknownMind


@pytest.mark.parametrize("code", CODES)
def test_codes_are_the_catalogue(code):
    named = named_player(code)
    assert named.mind is players.rule() and named.make_params(None) is named.player
    np.testing.assert_array_equal(log_policies(named.player), log_policies(member(code)))
    trembling = named_player(f"{code}:tremble=0.3").player
    np.testing.assert_array_equal(log_policies(trembling), log_policies(member(code, tremble=0.3)))


def test_bots_tremble_as_in_the_data():
    assert len(BOTS) == 7
    for name in BOTS:
        assert float(named_player(name).player.tremble) == pytest.approx(BOT_TREMBLE)
        assert float(named_player(f"{name}:tremble=0").player.tremble) == 0


def test_kinds():
    kinds = {"random": Strategy, "win-stay-lose-shift": Strategy, BOTS[-1]: Machine, "static": Switching}
    for spec, kind in kinds.items():
        assert isinstance(named_player(spec).player, kind) and is_rule(spec)
    for spec in ("best-response", "frequency", "order:1"):
        assert named_player(spec).player is None and not is_rule(spec)
    assert not is_rule("human") and not is_rule("openspiel/copybot")
    stays = log_policies(named_player("win-stay-lose-shift:draw_stays=yes").player)
    assert float(stays[1, 0]) == 0  # after rock against rock
    assert float(named_player("switching:hazard=.25").player.hazard) == 0.25
    assert len(named_player("static").player.log_prior) == 16 and float(named_player("static").player.hazard) == 0
    assert named_player("best-response:against=all").make_params(None).log_prior.shape == (19 + 7,)
    assert all(name in names() for name in NAMES)


def test_legacy_decimals():
    exact, rounded = (np.exp(named_player("K", legacy_decimals=legacy).player.log_initial) for legacy in (False, True))
    np.testing.assert_allclose(exact, [1 / 2, 1 / 3, 1 / 6], rtol=1e-6)
    np.testing.assert_allclose(rounded, [0.5, 0.333, 0.167], rtol=1e-6)


def test_orders_of_theory_of_mind():
    named = named_player("order:order=2,learning_speed=.5,tremble=0.1,uniform_beliefs=yes")
    params = named.make_params(jax.random.key(0))
    assert float(params.learning_speed) == 0.5 and float(params.lapse) == pytest.approx(0.1)
    assert named_player("order:2").mind is named.mind
    drawn = [float(named_player("order:2").make_params(jax.random.key(n)).learning_speed) for n in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_cells():
    assert [len(set(cells(given))) for given in ("none", "other", "own", "outcome", "both")] == [1, 5, 5, 5, 17]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("Q", "'Q' is no player of rock, paper, scissors; there are A, B, "),
        ("N:hazard=.1", "no option 'hazard'; N takes tremble"),
        ("N:tremble=1.5", "tremble=1.5 must be a probability from 0 to 1"),
        ("N:tremble=nan", "tremble=nan must be a probability from 0 to 1"),
        ("X:tremble=some", "X:tremble='some' is no float"),
        ("switching:hazard=-1", "hazard=-1 must be a probability"),
        ("frequency:given=mood", "frequency:given=mood: there are none, other, own, outcome, both"),
        ("frequency:prior=0", "frequency:prior=0: a finite number above 0"),
        ("best-response:against=me", "against=me: there are catalogue, all"),
        ("best-response:beta=-2", "beta=-2 must be at least 0"),
        ("order:", "write order:K with K from 0 to 4"),
        ("order:7", "write order:K with K from 0 to 4"),
        ("order:two", "order:order='two' is no int"),
        ("order:1,learning_speed=2", "learning_speed=2 must be from 0 to 1"),
        ("order:1,beta=inf", "beta=inf must be finite"),
        ("openspiel/copybot", "is a program and no mind"),
    ],
)
def test_wrong_names_are_told(spec, told):
    with pytest.raises(UnknownMind) as error:
        named_player(spec)
    assert told in str(error.value)


@pytest.mark.parametrize("spec", ["H:tremble=0.11", "static:tremble=0.11", "best-response:model_tremble=0.11"])
def test_a_player_has_the_precision_of_whoever_asks_for_it(spec):
    with jax.enable_x64(True):
        assert "float64" in dtypes(spec)
    assert "float32" in dtypes(spec) and "float64" not in dtypes(spec)


def dtypes(spec):
    params = named_player(spec).make_params(jax.random.key(0))
    return {str(leaf.dtype) for leaf in jax.tree.leaves(params) if hasattr(leaf, "dtype")}
