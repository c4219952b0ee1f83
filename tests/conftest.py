"""Shared fixtures. The packages are imported as installed: the repository's root must not shadow them."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of golden numbers and recorded data beside the repository; the test is skipped where it is absent."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"no golden numbers and recorded data here: {folder.name}/ is not beside the repository")
    return folder
