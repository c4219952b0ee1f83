"""Turns against K: which tables make a line, and its picture."""

import math

import numpy as np
import pytest

from otherminds.games.decrypto.rules import Role
from otherminds.tom.experiments.cube import MEASURES, Cell
from otherminds.tom.experiments.decrypto.k_sweep import k_sweep
from otherminds.tom.experiments.decrypto.plots import turns_against_k
from otherminds.tom.minds.decrypto.registry import UnknownMind, canonical, split_option


def cell(encoder, *turns, decoder="d", interceptor="i"):
    seeds = {measure: np.array(turns, float) for measure in MEASURES}
    return Cell((encoder, decoder, interceptor), 10, seeds)


def test_tables_that_differ_in_k_alone_make_a_line():
    found = [
        cell("baseline:k=64", 5, 7),
        cell("baseline:k=4", 2, 4),
        cell("baseline", 4),  # K is 16
        cell("baseline:k=4", 3, decoder="other"),  # alone with this decoder
        cell("literal:beta=6,k=4", 3),
        cell("literal:k=9,beta=6.0", 3.5),
        cell("literal:k=9", 3.5),  # another beta
        cell("provider/k=4", 8),
    ]
    points = k_sweep(found)
    assert [(point.encoder, point.k, point.turns) for point in points] == [
        ("baseline", 4, 3.0),
        ("baseline", 16, 4.0),
        ("baseline", 64, 6.0),
        ("literal:beta=6.0", 4, 3.0),
        ("literal:beta=6.0", 9, 3.5),
    ]
    assert points[0].error == points[2].error == 1.0 and math.isnan(points[1].error)
    assert {point[1:3] for point in points} == {("d", "i")} and points[0].games == 10
    assert k_sweep(found[:1]) == []


def test_an_option_apart_from_the_rest():
    assert split_option("baseline", Role.ENCODER, "k") == ("baseline", 16)
    assert split_option("baseline:skip_keyword=true,k=16", Role.ENCODER, "k") == ("baseline:skip_keyword=True", 16)
    assert canonical("baseline:k=16", Role.ENCODER) == "baseline"
    assert split_option("literal", Role.DECODER, "k") == ("literal", None)
    with pytest.raises(UnknownMind):
        split_option("nobody", Role.ENCODER, "k")


def test_the_picture(tmp_path):
    points = k_sweep([cell("baseline:k=1", 2, 3), cell("baseline:k=4", 4), cell("baseline:k=99", 9, 8)])
    turns_against_k(points, tmp_path / "k.png")
    assert (tmp_path / "k.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="points: no K was varied"):
        turns_against_k([], tmp_path / "none.png")
