"""RSA here, in memo and in plain jax.numpy, each case in a process of its own; writes docs/rsa_speed.md.

`uv run --group bench pytest tests/benchmarks/test_rsa_vs_memo.py` (some minutes; keep the machine idle).
"""

import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("memo", reason="memo is not installed: uv run --group bench pytest ...")

HERE = Path(__file__).resolve().parent
TABLE = HERE.parent.parent / "docs/rsa_speed.md"
FORMS = {"memo": "memo", "memo-jit": "memo, outer jit", "jnp": "plain jax.numpy", "ours": "otherminds"}
LIMIT_S = 120
CASES = {
    "reference-3-1": "reference game 3 x 3, depth 1",
    "reference-4-10": "reference game 4 x 4, depth 10",
    "reference-32-5": "reference game 32 x 32, depth 5",
    "reference-128-5": "reference game 128 x 128, depth 5",
    "reference-1024-10": "reference game 1024 x 1024, depth 10",
    "reference-4096-1": "reference game 4096 x 4096, depth 1",
    "reference-4096-10": "reference game 4096 x 4096, depth 10",
    "lexica-16": "lexical uncertainty, 2^16 lexica of 8 x 8",
    "lexica-20": "lexical uncertainty, 2^20 lexica of 8 x 8",
    "hyperbole-100": "hyperbole, 100 prices",
    "hyperbole-300": "hyperbole, 300 prices",
    "gradient-1024-1": "gradient in alpha, 1024 x 1024, depth 1",
    "gradient-1024-5": "gradient in alpha, 1024 x 1024, depth 5",
    "gradient-1024-10": "gradient in alpha, 1024 x 1024, depth 10",
    "gradient-1024-50": "gradient in alpha, 1024 x 1024, depth 50",
}
FLOORS = ("reference-1024-10", "reference-4096-1", "reference-4096-10")  # where memory sets the pace
figures: dict[tuple[str, str], dict | None] = {}


def measure(case: str, form: str) -> dict | None:
    """The figures of one process, or None if it did not finish in time."""
    command = [sys.executable, str(HERE / "rsa_contenders.py"), case, form]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES)
def test_speed(benchmark, case, form):
    figures[case, form] = benchmark.pedantic(measure, (case, form), rounds=1, iterations=1)
    if figures[case, form] is None:
        pytest.skip(f"did not finish in {LIMIT_S} s")
    benchmark.extra_info.update({name: figures[case, form][name] for name in ("first_s", "steady_ms", "extra_mb")})
    plain = figures.get((case, "jnp"))
    if plain and form != "jnp" and np.isfinite(plain["probe"]).all():
        ours = np.asarray(figures[case, form]["probe"])
        if form == "ours" or np.isfinite(ours).all():  # memo's gradients can be NaN
            np.testing.assert_allclose(ours, plain["probe"], rtol=2e-3, atol=2e-5)


@pytest.mark.parametrize("case", FLOORS)
def test_floor(benchmark, case):
    figures[case, "products"] = benchmark.pedantic(measure, (case, "products"), rounds=1, iterations=1)


@pytest.fixture(scope="module", autouse=True)
def table():
    """Writes the Markdown table when every case was measured in this run."""
    yield
    if len(figures) == len(CASES) * len(FORMS) + len(FLOORS):
        TABLE.write_text(markdown())


def markdown() -> str:
    lines = [
        "# RSA: speed and memory",
        "",
        f"Measured on {machine()} by `uv run --group bench pytest tests/benchmarks/test_rsa_vs_memo.py`; every cell is",
        f"a process of its own. Versions: {', '.join(f'{name} {version(name)}' for name in ('jax', 'memo-lang'))}.",
        "",
        "- steady: median time of a call after the first, milliseconds.",
        "- first: time of the first call, with tracing and compilation, seconds.",
        "- extra: peak memory above that of the process just before the first call, MB, compilation included.",
        f'- "over {LIMIT_S} s": the process was stopped. memo is called as its documentation does, and under an outer',
        '  `jax.jit`; ours and plain jax.numpy under `jax.jit`. "plain jax.numpy" is written by hand for the one case,',
        '  with tricks that only it allows (an utterance that is its price). "NaN": the result is not a number.',
        "- Below about 64 x 64 a call costs little more than its dispatch, some 10 microseconds in every form.",
        "",
        "| case | form | steady, ms | first, s | extra, MB | steady: times ours |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for case, title in CASES.items():
        floor = {"products": "floor: the matrix products alone"} if case in FLOORS else {}
        for form, name in (FORMS | floor).items():
            row, ours = figures[case, form], figures[case, "ours"]
            if row is None:
                lines.append(f"| {title} | {name} | over {LIMIT_S} s | | | |")
                continue
            ratio = row["steady_ms"] / ours["steady_ms"] if ours else float("nan")
            wrong = "" if np.isfinite(row["probe"]).all() else " (NaN)"
            lines.append(
                f"| {title} | {name}{wrong} | {row['steady_ms']:.3g} | {row['first_s']:.2f} | {row['extra_mb']:.0f} "
                f"| {ratio:.3g} |"
            )
            title = ""
    return "\n".join(lines) + "\n"


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    names = [line.split(":")[1].strip() for line in _read("/proc/cpuinfo").splitlines() if "model name" in line]
    processor = names[0] if names else platform.processor() or platform.machine()
    return f"{os.cpu_count()} cores of {processor}, {memory:.0f} GiB, {platform.system()}"


def _read(path: str) -> str:
    return Path(path).read_text() if Path(path).exists() else ""
