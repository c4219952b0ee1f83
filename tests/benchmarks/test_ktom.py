"""k-ToM against itself at matching pennies, here and in tomsup, in one run: rounds a second.

`uv run --group bench pytest -n 0 tests/benchmarks/test_ktom.py -s` (a few minutes; keep the machine idle). tomsup runs
on one core, as it does; "one match" and "one core" do so too, "float32" and "float64" play on all cores.
"""

import os
import time
import warnings

import jax
import jax.numpy as jnp
import pytest

from otherminds.games.matrix.rules import Config, matrix
from otherminds.games.rollout import game_key, rollout
from otherminds.inference.devices import map_chunks
from otherminds.tom.minds.matrix.ktom import Params, k_tom

pytest.importorskip("tomsup", reason="tomsup is not installed: uv run --group bench pytest ...")

ROUNDS, CHUNK, CHUNKS, ORDERS = 60, 1024, 16, range(4)
SECONDS = 5  # of each measurement, about
FORMS = ("tomsup", "one match", "one core", "float32", "float64")
figures: dict[tuple[int, str], float] = {}
compiling: dict[int, float] = {}


def pace(play, rounds: int) -> float:
    """Rounds a second in the fastest of the calls that fill SECONDS, at least three, after one that is not counted."""
    play(0)
    begun, fastest, calls = time.perf_counter(), float("inf"), 0
    while calls < 3 or time.perf_counter() - begun < SECONDS:
        calls, before = calls + 1, time.perf_counter()
        play(calls)
        fastest = min(fastest, time.perf_counter() - before)
    return rounds / fastest


def theirs(order: int) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its plotting stack
        import tomsup

    payoffs = tomsup.PayoffMatrix(name="penny_competitive")
    setting = {"volatility": -2, "b_temp": -1, "bias": 0, "save_history": False}

    matches = (50, 5, 1, 1)[order]  # a call of either lasts a tenth of a second or longer, so that it is as undisturbed

    def play(_):
        for _ in range(matches):
            players = [tomsup.TOM(level=order, **setting) for _ in range(2)]
            last = [None, None]
            for _ in range(ROUNDS):
                last = [
                    player.compete(p_matrix=payoffs, agent=role, op_choice=last[1 - role])
                    for role, player in enumerate(players)
                ]

    return pace(play, matches * ROUNDS)


def ours(order: int, form: str) -> float:
    game, mind = matrix(Config([[[-1, 1], [1, -1]], [[1, -1], [-1, 1]]], ROUNDS)), k_tom(order)
    params = Params(*(None if x is None else jnp.asarray(x) for x in Params()))

    @jax.jit
    def run(key, indices, params):
        def match(index):
            return rollout(game, (mind, mind), (params, params), game_key(key, index))[0].moves

        return jax.vmap(match)(indices)

    def one_call(seed, batch):
        return jax.block_until_ready(run(jax.random.key(seed), jnp.arange(batch), params))

    if form in ("one match", "one core"):
        batch = 1 if form == "one match" else CHUNK
        begun = time.perf_counter()
        one_call(0, batch)
        if form == "one core":
            compiling[order] = time.perf_counter() - begun
        return pace(lambda seed: one_call(seed, batch), batch * ROUNDS)

    def play(seed):
        map_chunks(lambda indices: run(jax.random.key(seed), indices, params), CHUNK * CHUNKS, chunk=CHUNK)

    return pace(play, CHUNK * CHUNKS * ROUNDS)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("order", ORDERS)
def test_rounds_a_second(benchmark, order, form):
    with jax.enable_x64(form == "float64"):
        measure = (theirs, (order,)) if form == "tomsup" else (ours, (order, form))
        figures[order, form] = benchmark.pedantic(*measure, rounds=1, iterations=1)
    benchmark.extra_info["rounds_a_second"] = figures[order, form]


@pytest.fixture(scope="module", autouse=True)
def table():
    """Prints the table when everything was measured in this run."""
    yield
    if len(figures) == len(ORDERS) * len(FORMS):
        ratios = ("one core", "float32", "float64")
        heads = [*FORMS, *(f"{form} / tomsup" for form in ratios), "seconds to compile"]
        print(f"\n{os.cpu_count()} cores\n| order | {' | '.join(heads)} |\n" + "|---" * (len(heads) + 1) + "|")
        for order in ORDERS:
            row = {form: figures[order, form] for form in FORMS}
            cells = [*row.values(), *(row[form] / row["tomsup"] for form in ratios)]
            print(f"| {order} | {' | '.join(f'{cell:,.0f}' for cell in cells)} | {compiling[order]:.1f} |")
