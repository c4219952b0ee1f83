"""Pictures of listeners and speakers, from labelled tables."""

from typing import Any

import xarray as xr


def heat_map(table: xr.DataArray, path: Any, title: str = "") -> Any:
    """Writes a PNG of a [conditions, outcomes] table of probabilities: a cell a probability, darker is likelier.

    table: 2-d, from `tables.labelled`; more axes are reduced first with .sel or .sum.
    path: where the PNG goes, a string or a Path.
    Returns: path.
    Raises: ValueError if the table is not 2-d.
    """
    from matplotlib.figure import Figure

    rows, columns = _two_axes(table)
    width = max(3.0, 0.62 * table.sizes[columns] + 0.08 * _longest(table, rows) + 1.8)
    height = max(2.2, 0.45 * table.sizes[rows] + 0.07 * _longest(table, columns) + 1.3)
    figure = Figure(figsize=(min(width, 24), min(height, 24)), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(table.values, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    _names(axes.set_xticks, table, columns, rotation=60 if _longest(table, columns) > 7 else 0)
    _names(axes.set_yticks, table, rows)
    axes.set(xlabel=columns, ylabel=rows, title=title)
    if table.size <= 400:  # more numbers could not be read
        for (row, column), p in _cells(table):
            axes.text(column, row, f"{p:.2f}", ha="center", va="center", color="white" if p > 0.55 else "black")
    figure.colorbar(image, ax=axes, label="probability")
    return _saved(figure, path)


def bars(table: xr.DataArray, path: Any, title: str = "") -> Any:
    """Writes a PNG with a small bar chart for every condition of a [conditions, outcomes] table.

    Arguments, result and errors as for `heat_map`.
    """
    from matplotlib.figure import Figure

    rows, columns = _two_axes(table)
    count = table.sizes[rows]
    figure = Figure(figsize=(min(2.6 * count + 0.6, 24), 2.8), layout="constrained")
    panels = figure.subplots(1, count, sharey=True, squeeze=False)[0]
    for axes, condition in zip(panels, table[rows].values, strict=True):
        axes.bar(range(table.sizes[columns]), table.sel({rows: condition}).values, color="tab:blue")
        _names(axes.set_xticks, table, columns, rotation=60)
        axes.set(title=f"{rows} = {condition}", xlabel=columns, ylim=(0, 1))
    panels[0].set_ylabel("probability")
    figure.suptitle(title)
    return _saved(figure, path)


def _two_axes(table: xr.DataArray) -> tuple[str, str]:
    if table.ndim != 2:
        raise ValueError(
            f"the table has axes {', '.join(map(str, table.dims))}; a picture has two: "
            "choose with .sel(...) or sum over an axis"
        )
    rows, columns = map(str, table.dims)
    return rows, columns


def _names(set_ticks, table: xr.DataArray, axis: str, rotation: int = 0) -> None:
    set_ticks(range(table.sizes[axis]), [str(name) for name in table[axis].values], rotation=rotation)


def _longest(table: xr.DataArray, axis: str) -> int:
    return max(len(str(name)) for name in table[axis].values)


def _cells(table: xr.DataArray):
    return (((r, c), table.values[r, c]) for r in range(table.shape[0]) for c in range(table.shape[1]))


def _saved(figure, path: Any) -> Any:
    figure.savefig(path, dpi=150)
    return path
