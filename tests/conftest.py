"""Shared fixtures. The packages are imported as installed: the repository's root must not shadow them."""

import os
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]


PROGRAMS = pytest.StashKey[tempfile.TemporaryDirectory]()


def pytest_configure(config: pytest.Config) -> None:
    """Tests compile much and compute little: without LLVM optimisations they take a fifth less. Not so benchmarks.

    What compiles for long is kept for the other workers of this run, and for the commands that tests call.
    """
    if not any("benchmarks" in str(argument) for argument in config.args):
        os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
        if not hasattr(config, "workerinput"):
            config.stash[PROGRAMS] = tempfile.TemporaryDirectory(prefix="otherminds-programs-")
            os.environ["JAX_COMPILATION_CACHE_DIR"] = config.stash[PROGRAMS].name
            os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.3"


def pytest_unconfigure(config: pytest.Config) -> None:
    """The programs go with the run."""
    if PROGRAMS in config.stash:
        config.stash[PROGRAMS].cleanup()


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of golden numbers and recorded data beside the repository; the test is skipped where it is absent."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"no golden numbers and recorded data here: {folder.name}/ is not beside the repository")
    return folder
