"""Minds by name: what is read, and what is refused."""

import pytest

from otherminds.games.reference.rules import Role
from otherminds.tom.minds.reference.choice import Params
from otherminds.tom.minds.reference.players import listener, speaker
from otherminds.tom.minds.reference.registry import NamedMind, UnknownMind, named


def test_specs_become_minds_and_params():
    assert named("literal", Role.SPEAKER).mind is speaker(0) and not named("literal", Role.SPEAKER).rational
    assert named("pragmatic", Role.LISTENER).mind is listener(1) and named("pragmatic", Role.LISTENER).rational
    found = named("pragmatic:depth=2, alpha=3.5,lapse=.1,other-alpha=2,slip=1e-7", Role.LISTENER)
    assert found.mind is listener(2) and found.params == Params(3.5, 0.1, 2.0, 1e-7)
    assert named("literal:lapse=1", Role.SPEAKER).params == Params(lapse=1.0)


@pytest.mark.parametrize(
    ("spec", "fitted"),
    [
        ("pragmatic", "pragmatic"),
        ("pragmatic:alpha=3", "pragmatic"),
        ("pragmatic:depth=2, alpha=3,other_alpha=2,lapse=.1", "pragmatic:depth=2,other_alpha=2"),
        ("mine:by hand", "mine:by hand"),
    ],
)
def test_fits_go_without_alpha_and_lapse(spec, fitted):
    assert NamedMind(spec, speaker(1)).fitted == fitted


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("rational", "'rational' is no mind for the speaker; there are literal, pragmatic"),
        ("pragmatic:beta=1", "no option 'beta'; pragmatic takes alpha, depth, other_alpha, slip, lapse"),
        ("literal:depth=1", "no option 'depth'"),
        ("pragmatic:alpha=x", "pragmatic:alpha='x' is no float"),
        ("pragmatic:depth=1.5", "is no int"),
        ("pragmatic:depth=0", "pragmatic is at least 1 deep"),
        ("pragmatic:depth=21", "from 0 to 20"),
        ("pragmatic:alpha=-1", "finite and at least 0"),
        ("pragmatic:alpha=inf", "finite and at least 0"),
        ("pragmatic:alpha=nan", "finite and at least 0"),
        ("pragmatic:lapse=1.1", "from 0 to 1"),
        ("pragmatic:slip=1", "from 0 to 0.1"),
        ("", "no mind"),
    ],
)
def test_what_is_no_mind_is_named(spec, message):
    with pytest.raises(UnknownMind, match=message):
        named(spec, Role.SPEAKER)
