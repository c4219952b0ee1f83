"""Simulations: the games of a seed, in whatever chunks, and their means."""

import asyncio
from functools import cache

import jax
import numpy as np
import pytest

from otherminds.games.decrypto.rules import Ending
from otherminds.tom.experiments.config import validated
from otherminds.tom.experiments.records import read_log
from otherminds.tom.experiments.run import run
from otherminds.tom.experiments.simulate import Results, simulate, summarize
from otherminds.tom.minds.decrypto.registry import UnknownMind

TABLE = ("baseline", "literal:rule=softmax", "bayesian:rule=softmax")
GAMES = 10


@pytest.fixture(scope="module")
def played(tiny):
    """The results of the table for a seed and a chunk, kept."""
    return cache(lambda seed, chunk: simulate(TABLE, tiny, GAMES, seed=seed, chunk=chunk))


@pytest.mark.slow
@pytest.mark.parametrize("chunk", [4, 10, 1000])
def test_the_chunk_changes_nothing(played, chunk):
    jax.tree.map(np.testing.assert_array_equal, played(0, None), played(0, chunk))


def test_seeds_give_other_games_and_more_games_begin_with_the_same(tiny, played):
    assert any((one != other).any() for one, other in zip(played(0, None), played(1, None), strict=True))
    few = simulate(TABLE, tiny, 4, seed=0)
    for some, all_of_them in zip(few, played(0, None), strict=True):
        np.testing.assert_array_equal(some, all_of_them[:4])


def test_a_run_plays_the_same_games(tiny, played, tmp_path):
    config = validated(encoder=TABLE[:1], decoder=TABLE[1:2], interceptor=TABLE[2:], seeds=(0,), episodes=GAMES)
    asyncio.run(run(config, tiny, tmp_path / "log.jsonl"))
    over = list(read_log(tmp_path / "log.jsonl").over.values())
    results = played(0, None)
    assert [Ending[line.ending.upper()] for line in over] == results.ending.tolist()
    assert [line.turns for line in over] == results.turns.tolist()
    assert [line.miscommunications for line in over] == results.miscommunications.tolist()
    assert [line.interceptions for line in over] == results.interceptions.tolist()


def test_the_summary_is_the_means_of_the_results(played):
    results = played(0, None)
    summary = summarize(TABLE, results)
    assert (summary.encoder, summary.decoder, summary.interceptor, summary.games) == (*TABLE, GAMES)
    for name, values in (
        ("survived", results.ending == Ending.SURVIVED),
        ("turns", results.turns),
        ("miscommunications", results.miscommunications),
        ("interceptions", results.interceptions),
    ):
        values = np.float64(values)
        assert getattr(summary, name) == pytest.approx(values.mean())
        assert getattr(summary, f"{name}_error") == pytest.approx(values.std(ddof=1) / np.sqrt(GAMES))
    assert summary.endings == {
        name: int((results.ending == Ending[name.upper()]).sum())
        for name in ("survived", "miscommunication", "interception", "both")
    }
    assert sum(summary.endings.values()) == GAMES


def test_one_game_has_no_standard_error():
    one = Results(*(np.array([value], np.int32) for value in (Ending.SURVIVED, 8, 1, 0)))
    summary = summarize(TABLE, one)
    assert (summary.survived, summary.turns, summary.miscommunications) == (1, 8, 1)
    assert np.isnan([summary.survived_error, summary.turns_error, summary.interceptions_error]).all()


def test_progress_counts_every_game_once(tiny):
    steps = []
    simulate(TABLE, tiny, GAMES, chunk=4, progress=steps.append)
    assert steps == [4, 4, 2]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"games": 0}, ValueError, "count=0"),
        ({"chunk": 0}, ValueError, "chunk=0"),
        ({"specs": ("nobody", *TABLE[1:])}, UnknownMind, "'nobody' is no mind for the encoder"),
        ({"specs": (TABLE[0], "bayesian", TABLE[2])}, UnknownMind, "'bayesian' is no mind for the decoder"),
        ({"specs": ("baseline:dimensions=9", *TABLE[1:])}, ValueError, "dimensions=9: the vectors have 8"),
    ],
)
def test_what_cannot_be_simulated_is_refused(tiny, changes, error, message):
    arguments = {"specs": TABLE, "vocabulary": tiny, "games": 1} | changes
    with pytest.raises(error, match=message):
        simulate(**arguments)
