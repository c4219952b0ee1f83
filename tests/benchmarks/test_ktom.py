"""k-ToM against itself at matching pennies, here and in tomsup, in one run: rounds a second.

`uv run --group bench pytest tests/benchmarks/test_ktom.py -s` (a few minutes; keep the machine idle).
"""

import time
import warnings

import jax
import jax.numpy as jnp
import pytest

from otherminds.games.matrix.rules import Config, matrix
from otherminds.games.rollout import rollout
from otherminds.tom.minds.matrix.ktom import Params, k_tom

pytest.importorskip("tomsup", reason="tomsup is not installed: uv run --group bench pytest ...")

ROUNDS, BATCH, ORDERS = 60, 1024, range(4)
SECONDS = 5  # of each measurement, about
FORMS = ("tomsup", "one match", "float32", "float64")
figures: dict[tuple[int, str], float] = {}


def pace(play, rounds: int) -> float:
    """Rounds a second of calls for SECONDS, after one that is not counted."""
    play(0)
    begun, calls = time.perf_counter(), 0
    while time.perf_counter() - begun < SECONDS:
        calls += 1
        play(calls)
    return calls * rounds / (time.perf_counter() - begun)


def theirs(order: int) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its plotting stack
        import tomsup

    payoffs = tomsup.PayoffMatrix(name="penny_competitive")
    setting = {"volatility": -2, "b_temp": -1, "bias": 0, "save_history": False}

    def play(_):
        players = [tomsup.TOM(level=order, **setting) for _ in range(2)]
        last = [None, None]
        for _ in range(ROUNDS):
            last = [
                player.compete(p_matrix=payoffs, agent=role, op_choice=last[1 - role])
                for role, player in enumerate(players)
            ]

    return pace(play, ROUNDS)


def ours(order: int, batch: int) -> float:
    game, mind = matrix(Config([[[-1, 1], [1, -1]], [[1, -1], [-1, 1]]], ROUNDS)), k_tom(order)
    run = jax.jit(jax.vmap(lambda key, params: rollout(game, (mind, mind), (params, params), key)[0].moves, (0, None)))
    params = Params(*(None if x is None else jnp.asarray(x) for x in Params()))

    def play(seed):
        jax.block_until_ready(run(jax.random.split(jax.random.key(seed), batch), params))

    return pace(play, batch * ROUNDS)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("order", ORDERS)
def test_rounds_a_second(benchmark, order, form):
    with jax.enable_x64(form == "float64"):
        measure = (theirs, (order,)) if form == "tomsup" else (ours, (order, 1 if form == "one match" else BATCH))
        figures[order, form] = benchmark.pedantic(*measure, rounds=1, iterations=1)
    benchmark.extra_info["rounds_a_second"] = figures[order, form]


@pytest.fixture(scope="module", autouse=True)
def table():
    """Prints the table when everything was measured in this run."""
    yield
    if len(figures) == len(ORDERS) * len(FORMS):
        print(f"\n| order | {' | '.join(FORMS)} | float32 / tomsup | float64 / tomsup |")
        print("|---" * (len(FORMS) + 3) + "|")
        for order in ORDERS:
            row = {form: figures[order, form] for form in FORMS}
            ratios = [row[form] / row["tomsup"] for form in ("float32", "float64")]
            cells = [*(f"{row[form]:,.0f}" for form in FORMS), *(f"{ratio:,.0f}" for ratio in ratios)]
            print(f"| {order} | {' | '.join(cells)} |")
