"""Shared fixtures. The packages are imported as installed: the repository's root must not shadow them."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]


def pytest_configure(config: pytest.Config) -> None:
    """Tests compile much and compute little: without LLVM optimisations they take a fifth less. Not so benchmarks."""
    if not any("benchmarks" in str(argument) for argument in config.args):
        os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of golden numbers and recorded data beside the repository; the test is skipped where it is absent."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"no golden numbers and recorded data here: {folder.name}/ is not beside the repository")
    return folder
