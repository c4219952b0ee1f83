"""CSV files that are written; text in them becomes no formula of a spreadsheet."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from otherminds.tom.experiments.compare import Row
from otherminds.tom.experiments.page import visible


def write_scores(path: Path, rows: Sequence[Row], role: str = "role") -> None:
    """The rows as CSV, a column for each field. role: what the column of roles is called."""
    names = [field.name for field in fields(Row)]
    head = [role if name == "role" else name for name in names]
    write_csv(path, head, ([getattr(row, name) for name in names] for row in rows))


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A CSV file whose text no spreadsheet takes for a formula."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows([_csv_cell(value) for value in row] for row in rows)


def _csv_cell(value: Any) -> Any:
    """Numbers to 12 digits, so that 1.5 is no 1.4999999999999998. Text cannot become a spreadsheet's formula: an
    apostrophe goes before =, +, - and @."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, str):
        return f"'{visible(value)}" if value[:1] in ("=", "+", "-", "@", "\t", "\r") else visible(value)
    return float(f"{value:.12g}") if isinstance(value, float | np.floating) else value
