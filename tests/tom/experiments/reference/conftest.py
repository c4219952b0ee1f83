"""Small files of recordings, and their log."""

import csv

import numpy as np
import pytest

from otherminds.games.reference.items import simple_implicature
from otherminds.tom.experiments.reference.recordings import import_reference, write_items

PRODUCTION = ("target", "competitor", "distractor1", "distractor2")
INTERPRETATION = ("target", "competitor", "distractor")
SCORES = [f"scores_production_{name}" for name in PRODUCTION] + [
    f"scores_interpretation_{name}" for name in INTERPRETATION
]


def write_csv(path, head, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return path


@pytest.fixture(scope="session")
def small_items():
    random = np.random.default_rng(5)
    return [simple_implicature(random, name=str(n)) for n in range(4)]


@pytest.fixture
def files(tmp_path, small_items):
    """Four items; two people, of whom one gives an answer that is none of the options; one model."""
    write_items(tmp_path / "items.csv", small_items)
    choices = []
    for subject in ("a", "b"):
        for n, item in enumerate(small_items):
            choices.append([subject, "production", n, item.words[(item.target + n) % 4]])
            choices.append([subject, "interpretation", n, item.texts[(item.referent + (subject == "b")) % 3]])
    choices[4][3] = "dunno"
    write_csv(tmp_path / "choices.csv", ["subject", "condition", "trial", "response"], choices)
    rows = np.random.default_rng(6).normal(-3, 1, (4, 7))
    write_csv(tmp_path / "scores_gpt-x.csv", ["trial", *SCORES], [[n, *row] for n, row in enumerate(rows)])
    return tmp_path


@pytest.fixture
def log(files):
    path = files / "out" / "log.jsonl"
    import_reference(files / "items.csv", files / "choices.csv", [files / "scores_gpt-x.csv"], log=path)
    return path
