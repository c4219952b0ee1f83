"""What `otherminds simulate colored-trails` and `otherminds boards colored-trails` print and write."""

import csv
import json
import math
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import click
import jax
import numpy as np
from rich.text import Text

from otherminds.games.colored_trails.board import Board, Layout
from otherminds.games.colored_trails.generation import draw_boards
from otherminds.games.colored_trails.rules import Rules
from otherminds.tom.experiments.colored_trails.boards import load_boards, save_boards
from otherminds.tom.experiments.colored_trails.diagnostic import BATCH, diagnostic_boards
from otherminds.tom.experiments.colored_trails.simulate import Pairing, simulate
from otherminds.tom.experiments.console import check_folder, no_nan, progress_bar, show, table_of
from otherminds.tom.experiments.defaults import split_agents
from otherminds.tom.minds.colored_trails.negotiator import HIGHEST_ORDER
from otherminds.tom.minds.colored_trails.variant import VARIANTS

TABLE, PICTURE = "pairs.csv", "gains.png"


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
) -> None:
    """`otherminds simulate colored-trails`.

    Raises: a ValueError for what the user can mend, before anything is played.
    """
    names = [f"order{name}:variant={variant}" if name.isdigit() else name for name in split_agents(orders)]
    if not names:
        raise ValueError(f"--orders {orders!r}: name at least one order, 0 to 4, or mind")
    folder = Path(out) if out else None
    check_folder(folder)
    chosen, whence, layout = _boards(boards, goal_rule, seed)
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
    if as_json:
        print(json.dumps(no_nan([asdict(row) for row in rows]), indent=1))
    else:
        print_pairs(rows, whence, seatings, series)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        _write_table(rows, folder / TABLE)
        from otherminds.tom.experiments.colored_trails.plots import pair_gains

        pair_gains(rows, folder / PICTURE)
        click.echo(f"wrote {folder / TABLE} and {folder / PICTURE}", err=as_json)


def _short(row: Pairing, variant: str) -> Pairing:
    """Orders without the variant that all of them share."""
    values = asdict(row)
    for role in ("initiator", "responder"):
        values[role] = values[role].removesuffix(f":variant={variant}")
    return Pairing(**values)


def _boards(asked: str, goal_rule: str, seed: int) -> tuple[Board, str, Layout]:
    """The boards of a file, or so many drawn ones; and how they are spoken of."""
    if asked.isdigit():
        if int(asked) < 1:
            raise ValueError(f"--boards {asked}: at least 1, or a file of boards")
        layout = Layout()
        drawn = draw_boards(jax.random.key(seed), int(asked), layout, goal_rule)
        return drawn, f"{int(asked):,} boards drawn, goals by the rule {goal_rule}", layout
    if not Path(asked).exists():
        raise ValueError(f"--boards {asked}: a number of boards to draw, or a file of boards; there is no such file")
    loaded = load_boards(asked)
    return loaded.boards, f"the {len(loaded.boards.goals)} boards of {asked}", loaded.layout


def print_pairs(rows: list[Pairing], whence: str, seatings: str, series: int) -> None:
    """Gains of every pair, and how games ended."""
    table = table_of(
        "initiator v responder", "gain of\ninitiator", "gain of\nresponder", "agreed", "moves", "goals\nreached"
    )
    for row in rows:
        gains = (_gain(mean, error) for mean, error in zip(row.gain, row.gain_error, strict=True))
        reached = "\n".join(f"{share:.0%}" for share in row.reached)
        told = (*gains, f"{row.agreement:.0%}", f"{row.moves:.1f}", reached)
        table.add_row(Text(f"{row.initiator} v\n{row.responder}"), *told, end_section=True)
    unit = "series" if series else "boards"
    games = f"{rows[0].games:,} games a pair: {whence}"
    seats = (
        "" if series else {"both": ", each in both seatings", "mirrored": ", seats swapped", "original": ""}[seatings]
    )
    keep = f"; minds keep what they learned over series of {series} games" if series else "; fresh minds every game"
    show(
        "Mean gain in points, costs taken off",
        table,
        f"{games}{seats}{keep}. ± standard error over {unit}. Goals reached: by initiator, by responder.",
    )
    seconds = sum(row.seconds for row in rows)
    total = sum(row.games for row in rows)
    click.echo(f"{total:,} games in {seconds:.1f} s of processor time, compilation included.")


def _gain(mean: float, error: float) -> str:
    return f"{mean:.1f}" if math.isnan(error) else f"{mean:.1f}\n± {error:.1f}"


def _write_table(rows: list[Pairing], path: Path) -> None:
    """A row a pair; what both roles have stands in two columns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        two = {field.name for field in fields(Pairing) if field.name in ("gain", "gain_error", "reached")}
        names = [field.name for field in fields(Pairing)]
        writer.writerow(
            [part for name in names for part in ([f"{name}_initiator", f"{name}_responder"] if name in two else [name])]
        )
        for row in rows:
            values = asdict(row)
            writer.writerow([part for name in names for part in (values[name] if name in two else [values[name]])])


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
) -> None:
    """`otherminds boards colored-trails`. Every board found is in the file at once; the same command goes on.

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
    layout, tried, found, advantages = Layout(), 0, None, []
    if path.exists():
        before = load_boards(path, **asked)
        found, layout = before.boards, before.layout
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
