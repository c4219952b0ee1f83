"""Games a second of vectorized Decrypto after compilation. Run: uv run pytest tests/benchmarks --benchmark-only"""

import pytest

from otherminds.games.decrypto.vocabulary import load
from otherminds.tom.experiments.simulate import play, prepare

TABLES = {
    "baseline in all roles": (("baseline", "baseline", "baseline"), 20_000),
    "Bayesian interceptor": (("baseline", "baseline", "bayesian"), 10_000),
    "rational encoder, models known": (("rational:decoder=literal,interceptor=bayesian", "literal", "bayesian"), 1_000),
    "rational encoder, unsure of both": (("rational", "literal", "bayesian"), 500),
}


@pytest.mark.parametrize("table", TABLES)
def test_games_a_second(benchmark, table):
    specs, games = TABLES[table]
    prepared = prepare(specs, load())
    play(prepared, games)  # compiles
    results = benchmark.pedantic(play, (prepared, games), rounds=5)
    benchmark.extra_info["games_a_second"] = games / benchmark.stats["median"]
    assert results.ending.shape == (games,)
