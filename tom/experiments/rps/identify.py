"""`otherminds identify rps`: which strategies play can tell apart, how fast, and against whom. Fits 80 columns."""

import csv
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import jax
import numpy as np
from jaxtyping import Float

from otherminds.games.rps.catalogue import CODES, NAMES, catalogue, member
from otherminds.games.rps.identifiability import (
    ODDS,
    equivalence_classes,
    information,
    kl_rates,
    rounds_to_odds,
)
from otherminds.games.rps.stationary import ROUNDING
from otherminds.tom.experiments.checks import check_folder
from otherminds.tom.experiments.progress import progress_bar
from otherminds.tom.experiments.rps.ceilings import (
    Regime,
    candidate_shares,
    check_numbers,
    check_tremble,
    regimes,
)
from otherminds.tom.experiments.tables import no_nan, number, show, table_of

SHOWN = (10, 20, 50, 100, 200)
"""Rounds after which ceilings are printed."""
PLAYED = 30
"""Matches of every candidate, at most, from which an opponent's information is estimated."""
_rates = jax.jit(kl_rates)
_information = jax.jit(information, static_argnames=("rounds", "matches"))


@dataclass(frozen=True)
class Rival:
    """The candidate that is hardest to tell from one."""

    candidate: str
    rival: str
    rate: float  # nats a round, inf where play excludes the rival
    rounds: float  # to odds of 19 to 1, inf where nothing tells them apart


@dataclass(frozen=True)
class Against:
    """What an opponent brings out."""

    opponent: str
    nats: float  # information about the candidate after all rounds
    error: float  # its standard error
    early: float  # after ten rounds, or all where there are fewer
    slowest: str  # the pair that is hardest to tell apart
    rate: float  # its rate, the smaller of its two directions


@dataclass(frozen=True)
class Identifiability:
    """What is told of the candidates."""

    opponent: str
    candidates: tuple[str, ...]
    rates: Float[np.ndarray, "S S"]  # [true, alternative], nats a round
    classes: list[list[str]]
    rivals: list[Rival]
    shares: Float[np.ndarray, "S T"]  # of matches in which the ideal observer knows the candidate, by round
    opponents: list[Against]  # the most telling first
    matches: int


def examine(
    opponent: str,
    candidates: Sequence[str],
    rounds: int,
    matches: int,
    *,
    seed: int = 0,
    legacy_iid: bool = False,
    window: int | None = None,
    tremble: float = 0.0,
    progress: Any = None,
) -> Identifiability:
    """Distances between the candidates for player 1 against an opponent, ceilings, and what each opponent tells.

    legacy_iid, window: of the ceilings; all else is of the rules and the whole match. progress: called with 1 for
    each ceiling and each opponent.
    Raises: ValueError for codes that are not in the catalogue, fewer than two candidates, or numbers out of range.
    """
    check_numbers(matches, rounds, 0, window)
    check_tremble(tremble, legacy_iid)
    if len(candidates) < 2 or len(set(candidates)) < len(candidates):
        raise ValueError(f"candidates {','.join(candidates) or 'none'}: name at least two different ones")
    strategies, other = catalogue(tremble=tremble, codes=candidates), member(opponent, tremble=tremble)
    rates = np.asarray(_rates(strategies, other), float)
    classes = [[candidates[i] for i in group] for group in equivalence_classes(rates)]
    shares = candidate_shares(
        candidates, opponent, matches, rounds, seed=seed, window=window, legacy_iid=legacy_iid, tremble=tremble,
        progress=progress,
    )  # fmt: skip
    key, opponents = jax.random.key(seed), []
    for code in CODES:
        rival = member(code, tremble=tremble)
        gain = _information(key, strategies, rival, rounds=rounds, matches=min(matches, PLAYED))
        apart = np.asarray(_rates(strategies, rival), float)
        apart = np.minimum(apart, apart.T)
        apart[np.tril_indices(len(apart))] = np.inf
        one, two = np.unravel_index(apart.argmin(), apart.shape)
        nats = np.asarray(gain.nats)
        slowest = float(apart[one, two]) if apart[one, two] > ROUNDING else 0.0
        opponents.append(
            Against(
                code, float(nats[-1]), float(gain.error[-1]), float(nats[: SHOWN[0]][-1]),
                f"{candidates[one]}-{candidates[two]}", slowest,
            )
        )  # fmt: skip
        if progress is not None:
            progress(1)
    opponents.sort(key=lambda row: -row.early)
    return Identifiability(
        opponent, tuple(candidates), rates, classes, _rivals(candidates, rates), shares, opponents, matches
    )


def _rivals(candidates: Sequence[str], rates: Float[np.ndarray, "S S"]) -> list[Rival]:
    others = np.where(np.eye(len(rates), dtype=bool), np.nan, rates)
    rows = []
    for index, code in enumerate(candidates):
        nearest = int(np.nanargmin(others[index]))
        rate = float(rates[index, nearest]) if rates[index, nearest] > ROUNDING else 0.0
        rows.append(Rival(code, candidates[nearest], rate, float(rounds_to_odds(jax.numpy.asarray(rate)))))
    return rows


def identify(
    *,
    opponent: str,
    candidates: str | None,
    rounds: int,
    matches: int,
    seed: int,
    legacy_iid: bool,
    window: int | None,
    tremble: float,
    show_regimes: bool,
    as_json: bool,
    out: str | None,
) -> None:
    """`otherminds identify rps`.

    Raises: a ValueError for what the user can mend, before anything is played or written.
    """
    check_numbers(matches, rounds, 0, window)
    check_tremble(tremble, legacy_iid)
    codes = [code.strip() for code in candidates.split(",") if code.strip()] if candidates else list(CODES)
    for code in (opponent, *codes):
        member(code)
    folder = None if out is None else Path(out)
    check_folder(folder)
    if show_regimes:
        check_numbers(matches, rounds, 10, window)
        with progress_bar("ceilings", 18) as advance:
            rows = regimes(matches, rounds, seed=seed, window=window or 50, progress=advance)
        print(json.dumps([no_nan(asdict(row)) for row in rows], indent=1)) if as_json else _print_regimes(rows, rounds)
        if folder is not None:
            write_table(folder / "regimes.csv", [asdict(row) for row in rows])
            click.echo(f"wrote {folder / 'regimes.csv'}", err=as_json)
        return
    with progress_bar("strategies", len(codes) + len(CODES)) as advance:
        found = examine(
            opponent, codes, rounds, matches,
            seed=seed, legacy_iid=legacy_iid, window=window, tremble=tremble, progress=advance,
        )  # fmt: skip
    if as_json:
        print(json.dumps(as_object(found), indent=1))
    else:
        _print(found, legacy_iid, window)
    if folder is not None:
        for path in write(found, folder):
            click.echo(f"wrote {path}", err=as_json)


def _print(found: Identifiability, legacy_iid: bool, window: int | None) -> None:
    shown = [n for n in SHOWN if n <= found.shares.shape[1]] or [found.shares.shape[1]]
    table = table_of("player 1", "rival", "nats/round", "to 19:1", *map(str, shown))
    for rival, shares in zip(found.rivals, found.shares, strict=True):
        table.add_row(
            f"{rival.candidate} {NAMES[rival.candidate]}", rival.rival, _finite(rival.rate, ".4f"),
            _finite(rival.rounds, ".1f"), *(f"{shares[n - 1]:.2f}" for n in shown),
        )  # fmt: skip
    same = [" = ".join(group) for group in found.classes if len(group) > 1]
    data = "matches of the paper's iid data" if legacy_iid else "matches really played"
    memory = f", the last {window} rounds" if window else ""
    show(
        f"Against {found.opponent}, {NAMES[found.opponent]}: nearest rivals, and who is identified after n rounds",
        table,
        f"Shares of {found.matches} {data}{memory}; the most probable candidate, ties shared.",
        f"No long match tells apart: {'; '.join(same)}." if same else "Every two are told apart in the long run.",
    )
    table = table_of("opponent", "nats at 10", f"nats at {found.shares.shape[1]}", "±", "slowest pair", "nats/round")
    for row in found.opponents:
        table.add_row(
            f"{row.opponent} {NAMES[row.opponent]}", *map(number, (row.early, row.nats, row.error)), row.slowest,
            _finite(row.rate, ".4f"),
        )  # fmt: skip
    show(
        "Which opponent tells most about player 1, the fastest first",
        table,
        f"Nats about which of {len(found.candidates)} it is (at most {np.log(len(found.candidates)):.3f}), from "
        f"{min(found.matches, PLAYED)} matches of each.",
        "±: standard error. slowest pair: the two that part last.",
    )


def _print_regimes(rows: Sequence[Regime], rounds: int) -> None:
    table = table_of("pair, data, observer", "counted", "±", f"of {rounds}", "±", "sd", "5-95%", "o3")
    for row in rows:
        table.add_row(
            f"{row.player1}-{row.player2} {row.data} {row.observer}".replace("aware:", "aware:\n  "), *(
                f"{x:.3f}" for x in (row.rate, row.error, row.of_all, row.of_all_error)
            ), f"{row.spread:.2f}", f"{row.low:.2f}-{row.high:.2f}", f"{row.paper:.3f}",
        )  # fmt: skip
    show(
        "The paper's three regimes: how often an ideal observer names both players",
        table,
        f"{rows[0].matches} matches each, ± standard error. counted: after 10 warm-up rounds.",
        f"of {rounds}: the same rounds as a share of all, as in the paper; its standard",
        "deviation and quantiles between single matches. o3: the paper's, one match.",
    )


def _finite(value: float, form: str) -> str:
    return "∞" if np.isinf(value) else number(value, form)


def as_object(found: Identifiability) -> dict[str, Any]:
    """What is printed as JSON. JSON knows no infinity: null stands for it."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(x) for name, x in value.items()}
        if isinstance(value, list | tuple):
            return [plain(x) for x in value]
        return None if isinstance(value, float) and not np.isfinite(value) else value

    return plain(asdict(found) | {"rates": found.rates.tolist(), "shares": found.shares.tolist(), "odds": ODDS})


def write(found: Identifiability, folder: Path) -> list[Path]:
    """Writes tables (CSV) and figures (PNG) of what was found. Returns: their paths."""
    from otherminds.tom.experiments.rps import plots

    codes = found.candidates
    rows = [{"true": one} | dict(zip(codes, row, strict=True)) for one, row in zip(codes, found.rates, strict=True)]
    write_table(folder / "kl_rates.csv", rows)
    shares = [{"round": n + 1} | dict(zip(codes, row, strict=True)) for n, row in enumerate(found.shares.T)]
    write_table(folder / "ceilings.csv", shares)
    write_table(folder / "opponents.csv", [asdict(row) for row in found.opponents])
    plots.rate_map(found, folder / "kl_rates.png")
    plots.ceiling_curves(found, folder / "ceilings.png")
    return [folder / name for name in ("kl_rates.csv", "ceilings.csv", "opponents.csv", "kl_rates.png", "ceilings.png")]


def write_table(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Writes records as CSV; their keys are the columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
