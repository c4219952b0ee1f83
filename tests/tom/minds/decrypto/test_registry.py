"""What is written of a mind: one name for one mind."""

import pytest

from otherminds.games.decrypto.rules import Role
from otherminds.tom.minds.decrypto.registry import UnknownMind, canonical


@pytest.mark.parametrize(
    ("role", "spec", "expected"),
    [
        (Role.ENCODER, "baseline", "baseline"),
        (Role.ENCODER, "baseline:k=16", "baseline"),
        (Role.ENCODER, "baseline:k=8, lapse=0", "baseline:k=8"),
        (Role.ENCODER, "rational:interceptor=baseline,pool=50", "rational:pool=50,interceptor=baseline"),
        (Role.DECODER, "literal:rule=argmax,noise=0.1", "literal:noise=0.1"),
        (Role.DECODER, "literal:noise=0.1,noise-seed=1", "literal:noise=0.1"),  # a decoder's own seed
        (Role.DECODER, "literal:noise=0.1,noise_seed=0", "literal:noise=0.1,noise_seed=0"),
    ],
)
def test_one_mind_has_one_name(role, spec, expected):
    assert canonical(spec, role) == expected
    assert canonical(expected, role) == expected


def test_what_is_no_mind_has_no_name():
    with pytest.raises(UnknownMind, match="'telepath' is no mind for the decoder"):
        canonical("telepath:k=3", Role.DECODER)
