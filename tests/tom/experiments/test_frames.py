"""Records become rows, and the named tuples in them columns."""

import pytest

from otherminds.tom.experiments.decrypto.profile import Interval, Privilege, Profile
from otherminds.tom.experiments.frames import flat, frame

ROW = Profile(
    "decoder", "a", 1, "pragmatic", 0.75, Interval(2.0, 1.0, 3.0), Interval(0.1, 0.0, 0.2), -1.5, -30.0, -60.0, 20
)


def test_a_row_for_each_record():
    found = frame([ROW, ROW])
    assert found.shape == (2, 15) and found.alpha_low.tolist() == [1.0, 1.0] and found.noise_mode[0] == 0.1
    assert list(found.columns[:6]) == ["role", "agent", "depth", "mind", "share", "alpha_mode"]
    assert flat(Interval(1.0, 0.0, 2.0)) == {"mode": 1.0, "low": 0.0, "high": 2.0}
    assert frame([]).empty


def test_records_of_two_kinds_are_no_table():
    with pytest.raises(ValueError, match="Privilege, Profile: give those of one kind"):
        frame([ROW, Privilege("a", 1, -1.0, -1.0, 0.0, 0.0)])
