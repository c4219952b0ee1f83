"""Tables that fit a terminal of 80 columns: how they are made and printed, and what stands in a cell."""

import math
import os
import sys
from collections.abc import Sequence
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

NARROW = 80  # columns of what is printed below a table
WIDEST = 1000  # columns, where nothing says how wide the output is: tables take what they need


def table_of(first: str, *numbers: str) -> Table:
    """A table whose first column takes the room that the numbers leave; numbers stand right and are never broken."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 0, 0, 1))
    table.add_column(first, overflow="fold", vertical="top")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def show(title: str, table: Table, *notes: str) -> None:
    """Prints a table under its title; as wide as the terminal allows, or as its content needs."""
    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDEST
    click.secho(f"\n{title}", bold=True)
    Console(width=wide).print(table)
    for paragraph in _paragraphs(notes):
        click.echo(click.wrap_text(paragraph, NARROW))


def _paragraphs(notes: Sequence[str]) -> list[str]:
    """Notes that end no sentence joined with the next."""
    found: list[str] = []
    for note in notes:
        if found and not found[-1].endswith("."):
            found[-1] += f" {note}"
        else:
            found.append(note)
    return found


def spread(mean: float, error: float, form: str = ".2f") -> str:
    """The mean, and below it its error, where there is one."""
    return number(mean, form) if math.isnan(error) else f"{mean:{form}}\n± {error:{form}}"


def number(value: float, form: str = ".3f") -> str:
    """A number as tables show it; a dash for NaN."""
    return "–" if math.isnan(value) else f"{value:{form}}"


def no_nan(value: Any) -> Any:
    """NaN as null, which JSON knows."""
    if isinstance(value, dict):
        return {key: no_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [no_nan(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value
