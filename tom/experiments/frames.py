"""Results as tables: records become a `pandas.DataFrame`, a row each."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def flat(record: Any) -> dict[str, Any]:
    """The fields of a record by name; a named tuple among them becomes a column for each of its own: "alpha_low"."""
    names = [field.name for field in fields(record)] if is_dataclass(record) else record._fields
    cells: dict[str, Any] = {}
    for name in names:
        value = getattr(record, name)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            cells |= {f"{name}_{part}": cell for part, cell in value._asdict().items()}
        else:
            cells[name] = value
    return cells


def frame(records: Sequence[Any]) -> "pd.DataFrame":
    """A data frame of dataclasses or named tuples: what `compare`, `profile`, `scores` or `outcomes` return.

    Raises: ValueError for records of several kinds.
    """
    import pandas as pd

    kinds = {type(record) for record in records}
    if len(kinds) > 1:
        raise ValueError(f"records of {', '.join(sorted(kind.__name__ for kind in kinds))}: give those of one kind")
    return pd.DataFrame([flat(record) for record in records])
