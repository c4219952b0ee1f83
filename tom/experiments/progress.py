"""Progress on stderr: a bar on a terminal, lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


@contextmanager
def progress_bar(description: str, total: int) -> Iterator[Any]:
    """A progress bar on stderr, or a line for every tenth where that is no terminal.

    Yields a function that moves it by a number of steps.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        done = 0

        def tell(steps: int = 1) -> None:
            nonlocal done
            before, done = done, done + steps
            if done * 10 // total > before * 10 // total:
                click.echo(f"{description}: {done} of {total}", err=True)

        yield tell
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    with bar:
        task = bar.add_task(description, total=total)
        yield lambda steps=1: bar.update(task, advance=steps)


@contextmanager
def slow_progress(description: str) -> Iterator[Callable[[], None]]:
    """Tells on stderr how far something has come that is mostly over at once, from two seconds after it began on.

    Yields a function that counts one more.
    """
    terminal = Console(stderr=True).is_terminal
    before, after, pause = ("\r", "", 0.2) if terminal else ("", "\n", 5.0)
    count, told = 0, 0.0

    def tell() -> None:
        nonlocal count, told
        count += 1
        if count == 1:
            told = time.monotonic() + 2 - pause
        if time.monotonic() - told > pause:
            told = time.monotonic()
            click.echo(f"{before}{description}: {count:,}{after}", err=True, nl=False)

    yield tell
    if terminal:
        click.echo("\r\033[K", err=True, nl=False)
