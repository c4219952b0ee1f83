"""Rounds of rock, paper, scissors a second, played and watched. Run: uv run pytest tests/benchmarks --benchmark-only"""

from functools import partial

import jax
import pytest

from otherminds.games.rps.catalogue import catalogue
from otherminds.games.rps.play import play_all
from otherminds.tom.experiments.rps.ceilings import ceiling, identification_rates

ROUNDS, MATCHES = 200, 30


@pytest.mark.parametrize("what", ["played", "played and watched"])
def test_all_pairs_of_the_catalogue(benchmark, what):
    """361 pairs x 30 matches x 200 rounds; watched: the exact posterior of both players after every round.

    Floor: 2.2 million rounds x 2 players x 19 candidates are 82 million additions and as many comparisons, 0.1 s at one
    a nanosecond and less with vectors. A posterior of 76 bytes a player and round, read and written, is 0.7 GB where it
    leaves the cache, 0.1 s. The random numbers, two a round, cost about as much again.
    """
    rules = catalogue()
    if what == "played":
        function = jax.jit(lambda key: play_all(key, rules, rules, MATCHES, ROUNDS))
    else:
        function = jax.jit(partial(identification_rates, strategies=rules, matches=MATCHES, rounds=ROUNDS))
    function(jax.random.key(0)).block_until_ready()  # compiles
    benchmark.pedantic(lambda: function(jax.random.key(1)).block_until_ready(), rounds=5)
    benchmark.extra_info["rounds_a_second"] = 19 * 19 * MATCHES * ROUNDS / benchmark.stats["median"]


@pytest.mark.parametrize(
    "options", [{}, {"window": 50}, {"legacy_iid": True, "generator_aware": True}], ids=["all", "window", "pairs"]
)
def test_one_pair(benchmark, options):
    """N against G, chunk by chunk on all cores."""
    matches = 20_000
    ceiling("N", "G", matches, ROUNDS, **options)
    benchmark.pedantic(lambda: ceiling("N", "G", matches, ROUNDS, **options), rounds=3)
    benchmark.extra_info["rounds_a_second"] = matches * ROUNDS / benchmark.stats["median"]
