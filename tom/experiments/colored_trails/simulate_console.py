"""What `otherminds simulate colored-trails` and `otherminds boards colored-trails` print and write."""

import csv
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
import jax
import numpy as np
from rich.text import Text

from otherminds.games.colored_trails.board import Board, Layout
from otherminds.games.colored_trails.generation import draw_boards
from otherminds.games.colored_trails.rules import Role, Rules
from otherminds.tom.experiments.checks import check_folder
from otherminds.tom.experiments.colored_trails.boards import (
    asked_layout,
    check_size,
    layout_text,
    load_boards,
    save_boards,
)
from otherminds.tom.experiments.colored_trails.diagnostic import BATCH, diagnostic_boards
from otherminds.tom.experiments.colored_trails.simulate import (
    Difference,
    Pairing,
    differences,
    simulate,
)
from otherminds.tom.experiments.defaults import split_agents
from otherminds.tom.experiments.progress import progress_bar
from otherminds.tom.experiments.tables import no_nan, show, table_of
from otherminds.tom.minds.colored_trails.negotiator import HIGHEST_ORDER
from otherminds.tom.minds.colored_trails.variant import VARIANTS

ROLES = tuple(role.name.lower() for role in Role)
TABLE, DIFFERENCES, PICTURE = "pairs.csv", "differences.csv", "gains.png"


def simulate_colored_trails(
    *,
    orders: str,
    boards: str,
    seatings: str,
    variant: str,
    series: int,
    repetitions: int,
    cost: float,
    limit: int,
    goal_rule: str,
    seed: int,
    processes: int | None,
    out: str | None,
    as_json: bool,
    **sizes: int | None,
) -> None:
    """`otherminds simulate colored-trails`.

    sizes: of the layout, as `asked_layout` takes them.
    Raises: a ValueError for what the user can mend, before anything is played.
    """
    names = [f"order{name}:variant={variant}" if name.isdigit() else name for name in split_agents(orders)]
    if not names:
        raise ValueError(f"--orders {orders!r}: name at least one order, 0 to 4, or mind")
    folder = Path(out) if out else None
    check_folder(folder)
    chosen, whence, layout = _boards(boards, goal_rule, seed, asked_layout(**sizes))
    rules = Rules(layout, cost=cost, limit=limit)
    units = repetitions * series if series else len(chosen.goals) * (1 + (seatings == "both"))
    total = units * len(names) ** 2
    with progress_bar("games", max(total, 1)) as advance:
        rows = simulate(
            chosen,
            names,
            seatings=seatings,
            rules=rules,
            series=series,
            repetitions=repetitions,
            seed=seed,
            processes=processes,
            progress=advance,
        )
    rows = [_short(row, variant) for row in rows]
    found = differences(rows)
    pair_lines, difference_lines = [_line(row) for row in rows], [asdict(one) for one in found]
    if as_json:
        print(json.dumps(no_nan({"pairs": pair_lines, "differences": difference_lines}), indent=1))
    else:
        print_pairs(rows, whence, seatings, series)
        if found:
            print_differences(found, series)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        _write_table(pair_lines, folder / TABLE)
        written = [TABLE, PICTURE]
        if found:
            _write_table(difference_lines, folder / DIFFERENCES)
            written.insert(1, DIFFERENCES)
        from otherminds.tom.experiments.colored_trails.plots import pair_gains

        pair_gains(rows, folder / PICTURE)
        click.echo(f"wrote {', '.join(written)} in {folder}", err=as_json)


def _short(row: Pairing, variant: str) -> Pairing:
    """Orders without the variant that all of them share."""
    shared = f":variant={variant}"
    return replace(row, initiator=row.initiator.removesuffix(shared), responder=row.responder.removesuffix(shared))


def _line(row: Pairing) -> dict[str, Any]:
    """A pair as it is written down: without the gains of every unit."""
    return {name: value for name, value in vars(row).items() if name != "by_unit"}


def _boards(asked: str, goal_rule: str, seed: int, layout: Layout | None) -> tuple[Board, str, Layout]:
    """The boards of a file, or so many drawn ones; and how they are spoken of."""
    if asked.isdigit():
        if int(asked) < 1:
            raise ValueError(f"--boards {asked}: at least 1, or a file of boards")
        layout = layout or Layout()
        drawn = draw_boards(jax.random.key(seed), int(asked), layout, goal_rule)
        return drawn, f"{int(asked):,} boards drawn{_size(layout)}, goals by the rule {goal_rule}", layout
    if not Path(asked).exists():
        raise ValueError(f"--boards {asked}: a number of boards to draw, or a file of boards; there is no such file")
    loaded = load_boards(asked, layout)
    layout = check_size(loaded.layout)
    return loaded.boards, f"the {len(loaded.boards.goals)} boards of {asked}{_size(layout)}", layout


def _size(layout: Layout) -> str:
    """What is unusual about boards; nothing where they are the usual ones."""
    return "" if layout == Layout() else f" ({layout_text(layout)})"


def print_pairs(rows: list[Pairing], whence: str, seatings: str, series: int) -> None:
    """Gains of every pair, and how games ended."""
    table = table_of("initiator", "responder", "gain of\ninitiator", "gain of\nresponder", "agreed", "moves", "at goal")
    for row in rows:
        gains = (_gain(mean, error) for mean, error in zip(row.gain, row.gain_error, strict=True))
        reached = ", ".join(f"{share:.0%}" for share in row.reached)
        told = (*gains, f"{row.agreement:.0%}", f"{row.moves:.1f}", reached)
        table.add_row(*(Text(name) for name in (row.initiator, row.responder)), *told)
    unit = "series" if series else "boards"
    games = f"{rows[0].games:,} games a pair: {whence}"
    seats = (
        "" if series else {"both": ", each in both seatings", "mirrored": ", seats swapped", "original": ""}[seatings]
    )
    keep = f"; minds keep what they learned over series of {series} games" if series else "; fresh minds every game"
    show(
        "Mean gain in points, costs taken off",
        table,
        f"{games}{seats}{keep}.",
        f"± standard error over {unit}. at goal: the initiator, the responder.",
        f"{sum(row.games for row in rows):,} games in {sum(row.seconds for row in rows):.1f} s of processor time, "
        "compilation included.",
    )


def print_differences(rows: list[Difference], series: int) -> None:
    """What each negotiator gains over the one before it, in either seat."""
    table = table_of("who gains", "rather than", "seat", "against", "more\ngain", "standard\nerror", "95% interval")
    for row in rows:
        numbers = ("–",) * 2 if math.isnan(row.gain_error) else (f"{row.gain_error:.2f}", _interval(row))
        table.add_row(row.negotiator, row.rather_than, row.role, row.opponent, f"{row.gain:+.2f}", *numbers)
    unit = "series" if series else "boards"
    show(
        "Does it pay to be the one rather than the other?",
        table,
        f"Points a game, over {rows[0].units:,} {unit} that both play, same seat and opponent. Standard",
        f"error and interval are of the differences within {unit}"
        + ("." if series else ";\na board's seatings count as one."),
    )


def _interval(row: Difference) -> str:
    return f"{row.low:+.2f} to {row.high:+.2f}"


def _gain(mean: float, error: float) -> str:
    return f"{mean:.1f}" if math.isnan(error) else f"{mean:.1f} ± {error:.1f}"


def _write_table(lines: Sequence[Mapping[str, Any]], path: Path) -> None:
    """A line a row; what both roles have stands in two columns."""
    flat = [dict(cell for name, value in line.items() for cell in _cells(name, value)) for line in lines]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, flat[0])
        writer.writeheader()
        writer.writerows(flat)


def _cells(name: str, value: Any) -> list[tuple[str, Any]]:
    if not isinstance(value, tuple):
        return [(name, value)]
    return [(f"{name}_{role}", part) for role, part in zip(ROLES, value, strict=True)]


def diagnostic_colored_trails(
    *,
    advantage_threshold: float,
    high: int,
    low: int,
    count: int,
    variant: str,
    learning_speed: float,
    limit: int,
    most: int,
    seed: int,
    out: str | None,
    as_json: bool,
    **sizes: int | None,
) -> None:
    """`otherminds boards colored-trails`. Every board found is in the file at once; the same command goes on.

    sizes: of the layout, as `asked_layout` takes them.
    Raises: a ValueError for what the user can mend, before anything is played; where `most` boards hold too few.
    """
    if not 0 <= low < high <= HIGHEST_ORDER:
        raise ValueError(f"--high {high} --low {low}: orders of 0 to {HIGHEST_ORDER}, the high one above the low one")
    if not 0 <= learning_speed <= 1:
        raise ValueError(f"--learning-speed {learning_speed}: from 0 to 1")
    path = Path(out or f"boards-{high}-{low}-{advantage_threshold:g}.json")
    asked = {
        "generator": "otherminds",
        "goals": "llm-tom",
        "variant": variant,
        "high": high,
        "low": low,
        "learning_speed": learning_speed,
        "threshold": advantage_threshold,
        "seed": seed,
        "limit": limit,
    }
    layout, tried, found, advantages = asked_layout(**sizes) or Layout(), 0, None, []
    if path.exists():
        before = load_boards(path, layout, **asked)
        found = before.boards
        tried, advantages = before.provenance.get("tried"), before.provenance.get("advantages")
        whole = isinstance(tried, int) and isinstance(advantages, list) and len(advantages) == len(found.goals)
        if not whole:
            raise ValueError(
                f"{path}: does not say how many boards were tried and what the advantage of each one in it is, so that "
                "the search cannot go on: give another --out"
            )
        if len(advantages) > count:
            raise ValueError(f"{path} holds {len(advantages)} boards, more than --count {count}: give another --out")
    search = diagnostic_boards(
        advantage_threshold,
        high,
        low,
        seed=seed,
        variant=VARIANTS[variant],
        learning_speed=learning_speed,
        limit=limit,
        rules=Rules(layout),
        first=tried // BATCH,
    )
    with progress_bar("boards", count) as advance:
        advance(len(advantages))
        while len(advantages) < count and tried < most:
            batch = next(search)
            # What an earlier search took of this batch is left out; what this one does not take, the next one tries.
            start = tried - tried % BATCH
            take = np.flatnonzero(start + batch.place >= tried)[: count - len(advantages)]
            new = Board(*(part[take] for part in batch.boards))
            advantages += [round(float(value), 3) for value in batch.advantage[take]]
            found = new if found is None else Board(*(np.concatenate(both) for both in zip(found, new, strict=True)))
            tried = start + (int(batch.place[take[-1]]) + 1 if len(advantages) == count else batch.tried)
            if len(new.goals):
                path.parent.mkdir(parents=True, exist_ok=True)
                part = path.with_name(path.name + ".part")
                save_boards(part, found, asked | {"tried": tried, "advantages": advantages}, layout)
                os.replace(part, path)
            advance(len(new.goals))
    told = f"{len(advantages)} boards of {tried:,} tried give order {high} at least {advantage_threshold:g} points"
    if as_json:
        content: dict[str, Any] = asked | {"tried": tried, "advantages": advantages, "file": str(path)}
        print(json.dumps(content, indent=1))
    else:
        click.echo(f"{told} over order {low}.")
        if advantages:
            middle = sorted(advantages)[len(advantages) // 2]
            click.echo(f"Advantage: {min(advantages):g} to {max(advantages):g}, median {middle:g}; wrote {path}.")
    if len(advantages) < count:
        raise ValueError(
            f"{told}, fewer than --count {count}: take a lower --advantage-threshold, or more boards with --most"
            + (f"; {path} holds those found, and the same command goes on from there" if advantages else "")
        )
