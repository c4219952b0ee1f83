"""What commands check of their options before any work."""

import os
from collections.abc import Sequence
from pathlib import Path


def check_count(option: str, count: int) -> None:
    """Raises: ValueError for a count below 1."""
    if count < 1:
        raise ValueError(f"{option} {count}: at least 1")


def report_folder(logs: Sequence[Path], out: str | None, as_json: bool) -> Path | None:
    """Where the report of some logs goes: beside the first of them, unless --out says; nowhere with --json alone.

    Raises: ValueError as `check_folder`.
    """
    folder = Path(out) if out else None if as_json else logs[0].parent
    check_folder(folder)
    return folder


def check_folder(folder: Path | None) -> None:
    """Whether a folder can be written to, before any work.

    Raises: ValueError if it, or what it would lie in, is a file, or may not be written.
    """
    if folder is None:
        return
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise ValueError(f"--out {folder}: {place} is a file; give a folder")
    if not os.access(place, os.W_OK):
        raise ValueError(f"--out {folder}: {place} may not be written to; give another folder")


def check_lapse(lapse: float) -> None:
    """Raises: ValueError for a lapse that is no probability above 0."""
    if not 0 < lapse <= 1:
        raise ValueError(f"--lapse {lapse}: a probability above 0 and at most 1")
