"""CSV files of other people, row by row: what is wrong with one is told with its line."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path


class RecordingError(ValueError):
    """A file that cannot be imported; the message names it, and the line or column."""


def csv_rows(path: Path, columns: Sequence[str]) -> Iterable[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with the numbers of their last lines.

    Raises: RecordingError for a file that cannot be read, that lacks a column, or that has no row.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            there = reader.fieldnames
            if not there:
                raise RecordingError(f"{path}: the file is empty")
            if missing := [name for name in columns if name not in there]:
                raise RecordingError(f"{path}: no column {missing[0]!r}; {_columns_found(there)}")
            count = 0
            for row in reader:
                count += 1
                if None in row or None in row.values():
                    raise RecordingError(f"{path}, line {reader.line_num}: not as many cells as there are columns")
                yield reader.line_num, {name: value.strip() for name, value in row.items()}
    except FileNotFoundError:
        raise RecordingError(f"{path}: no such file") from None
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise RecordingError(f"{path}: no CSV file in UTF-8 ({error})") from None
    if not count:
        raise RecordingError(f"{path}: no row below the column names")


def short(text: str) -> str:
    """A text of a file as it is quoted in one line."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _columns_found(names: Sequence[str]) -> str:
    shown = [short(name) for name in names[:10]] + ["..."] * (len(names) > 10)
    separated = len(names) == 1 and any(sign in names[0] for sign in ";\t|")
    return f"the columns are {', '.join(shown)}" + "; they must be separated by commas" * separated
