"""Files of boards, in JSON: the boards, and where they come from, which is checked on loading.

A file is {"metadata": {...}, "boards": [{"board", "chips1", "chips2", "location1", "location2"}, ...]}, the form of
LLM-TOM. Our files state their units (points), their layout and how their boards were chosen; LLM-TOM's files count in
tenths of a point and call the orders tom_high and tom_low, and are read as such.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Bool

from otherminds.games.colored_trails.board import PLAYERS, Board, Layout, check_dealt
from otherminds.games.colored_trails.offers import offers
from otherminds.games.colored_trails.utility import within_reach
from otherminds.tom.minds.colored_trails.fast import MOST_OFFERS

PROVENANCE = ("generator", "goals", "variant", "high", "low", "learning_speed", "threshold", "seed", "limit")
"""What a file may say of its boards, and what can be asked of it: the program or rule that drew them, the rule for
goals, whose minds of which orders must differ by which threshold (points) with which learning speed, the seed, the
move limit of the search."""
UNITS = "points"
LEGACY = {"tom_high": "high", "tom_low": "low", "num_boards": "count"}
LEGACY_POINT = 10.0  # LLM-TOM counts so many for one of our points
UNREACHED = ("any", "deweerd")  # rules under which a goal may be out of reach even with the chips of both


class Boards(NamedTuple):
    """What a file holds."""

    boards: Board  # NumPy arrays, a board on each place of the leading axis
    provenance: dict[str, Any]  # thresholds in points, under the names of PROVENANCE
    layout: Layout


def asked_layout(**sizes: int | None) -> Layout | None:
    """The layout with these sizes, the others as usual; None where nothing is asked for.

    sizes: rows, columns, colours, chips, goal_distance, of `Layout`.
    Raises: ValueError for a layout that makes no game, or one too large for minds to think about.
    """
    asked = {name: value for name, value in sizes.items() if value is not None}
    return check_size(Layout(**asked)) if asked else None


def check_size(layout: Layout) -> Layout:
    """The layout. Raises: ValueError for one whose offers are more than the arrays of a mind can hold."""
    if layout.most_offers > MOST_OFFERS:
        raise ValueError(
            f"chips={layout.chips}, colours={layout.colours}: {layout.most_offers:,} offers, and minds weigh at most "
            f"{MOST_OFFERS:,}: take fewer chips or colours"
        )
    return layout


def layout_text(layout: Layout) -> str:
    """A layout in a few words."""
    return (
        f"{layout.rows} x {layout.columns} tiles, {layout.colours} colours, {layout.chips} chips a player, "
        f"{len(layout.goals)} goals"
    )


def load_boards(
    path: Path | str,
    layout: Layout | None = None,
    *,
    reachable: bool | None = None,
    equal_goals: bool = False,
    **asked: Any,
) -> Boards:
    """The boards of a file, each one checked.

    layout: that the boards must have; None: as the file says, or the usual one.
    reachable: whether every goal must be within reach of the chips of both players together; None: yes, unless the
        file's goals were drawn by a rule that does not see to it ("any", "deweerd").
    equal_goals: whether both players may have the same goal. No published rule draws such boards.
    asked: what the file must say of its boards, of PROVENANCE: threshold=20 (points), high=2, low=1 ...; None: any.
    Raises: ValueError that names the file, the board by its place from 0, what is wrong and the way out.
    """
    path = Path(path)
    content = _content(path)
    provenance = _provenance(path, content.get("metadata", {}))
    _check_asked(path, provenance, asked)
    layout = _layout(path, provenance, layout)
    entries = content["boards"]
    count = provenance.get("count", len(entries))
    if count != len(entries):
        raise ValueError(f"{path}: it says that it holds {count} boards, but there are {len(entries)}: get it anew")
    reachable = provenance.get("goals") not in UNREACHED if reachable is None else reachable
    boards = [
        _board(f"{path}: board {place}", entry, layout, equal_goals or len(layout.goals) < PLAYERS)
        for place, entry in enumerate(entries)
    ]
    batch = Board(*(np.stack(parts) for parts in zip(*boards, strict=True)))
    if reachable:
        _check_reach(path, layout, batch)
    return Boards(batch, provenance, layout)


def save_boards(path: Path | str, boards: Board, provenance: Mapping[str, Any], layout: Layout | None = None) -> None:
    """Writes a batch of boards with their provenance; units, layout, count and version are added.

    provenance: what can be asked for on loading under the names of PROVENANCE, and whatever else is worth keeping.
    Raises: ValueError for boards that `load_boards` would refuse (equal goals and goals out of reach apart).
    """
    path, layout = Path(path), layout or Layout()
    entries = [
        {
            "board": tiles.tolist(),
            "chips1": chips[0].tolist(),
            "chips2": chips[1].tolist(),
            "location1": int(goals[0]),
            "location2": int(goals[1]),
        }
        for tiles, chips, goals in zip(*map(np.asarray, boards), strict=True)
    ]
    for place, entry in enumerate(entries):
        _board(f"board {place}", entry, layout, equal_goals=True)
    metadata = {
        **{name: value for name, value in provenance.items() if value is not None},
        "units": UNITS,
        "layout": asdict(layout),
        "count": len(entries),
        "version": version("otherminds"),
    }
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    text = f'{{\n"metadata": {json.dumps(metadata)},\n"boards": [\n{lines}\n]\n}}\n'
    path.write_text(text, encoding="utf-8")


def _content(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror or error}): name a boards file") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: is no JSON ({error}): name a boards file") from None
    form = 'a boards file is {"metadata": {...}, "boards": [...]}'
    if not isinstance(content, dict) or not isinstance(content.get("metadata", {}), dict):
        raise ValueError(f"{path}: {form}")
    if not isinstance(content.get("boards"), list) or not content["boards"]:
        raise ValueError(f'{path}: "boards" is missing or empty; {form}')
    return content


def _provenance(path: Path, metadata: dict[str, Any]) -> dict[str, Any]:
    found = {LEGACY.get(name, name): value for name, value in metadata.items() if value is not None}
    units = found.get("units")
    if units not in (None, UNITS):
        raise ValueError(f"{path}: units={units!r}: thresholds in {UNITS}, or no units, as LLM-TOM's files, for tenths")
    if "threshold" in found and not _is_number(found["threshold"]):
        raise ValueError(f"{path}: threshold={found['threshold']!r} is no number")
    if "threshold" in found and units is None:
        found["threshold"] /= LEGACY_POINT
    return found | {"units": UNITS}


def _check_asked(path: Path, provenance: dict[str, Any], asked: dict[str, Any]) -> None:
    unknown = sorted(set(asked) - set(PROVENANCE))
    if unknown:
        raise ValueError(f"{unknown[0]}={asked[unknown[0]]!r}: of a boards file can be asked {', '.join(PROVENANCE)}")
    for name, value in asked.items():
        if value is None:
            continue
        way_out = f"ask for what the file holds, or make boards with {name.replace('_', ' ')} {value}"
        if name not in provenance:
            raise ValueError(f"{path}: does not say its {name}, so that {value} cannot be checked: {way_out}")
        says = provenance[name]
        same = math.isclose(says, value, rel_tol=1e-9) if _is_number(says) and _is_number(value) else says == value
        if not same:
            unit = f" {UNITS}" if name == "threshold" else ""
            raise ValueError(f"{path}: was made with {name} {says}{unit}, not {value}: {way_out}")


def _layout(path: Path, provenance: dict[str, Any], asked: Layout | None) -> Layout:
    if "layout" not in provenance:
        return asked or Layout()
    try:
        said = dict(provenance["layout"])
        said["start"] = tuple(said["start"])
        said["goals"] = tuple(tuple(cell) for cell in said["goals"])
        layout = Layout(**said)
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"{path}: its layout makes no game: {error}") from None
    # How the goals were named is no part of the game; which cells they are is.
    differ = [f for f in asdict(layout) if f != "goal_distance" and getattr(layout, f) != getattr(asked or layout, f)]
    if differ:
        said, wanted = (", ".join(f"{f}={getattr(one, f)}" for f in differ) for one in (layout, asked))
        raise ValueError(f"{path}: its boards have {said}, not {wanted}: name no layout, or that of the file")
    return layout if asked is None else asked


def _board(where: str, entry: Any, layout: Layout, equal_goals: bool) -> Board:
    """One board, with all that can be wrong with it."""
    if not isinstance(entry, dict):
        raise ValueError(f'{where}: has the form {{"board", "chips1", "chips2", "location1", "location2"}}')
    tiles = _whole_numbers(where, entry, "board", (layout.rows, layout.columns), layout.colours, "colour")
    chips = np.stack([_chips(where, entry, f"chips{player}", layout) for player in (1, 2)])
    goals = np.stack(
        [_whole_numbers(where, entry, f"location{player}", (), len(layout.goals), "goal") for player in (1, 2)]
    )
    board = Board(tiles, chips, goals)
    try:
        check_dealt(layout, board, equal_goals=True)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    if goals[0] == goals[1] and not equal_goals:
        raise ValueError(
            f"{where}: location1 and location2 are both {goals[0]}: the players' goals differ; "
            "to play it all the same, load it with equal_goals=True"
        )
    return board


def _chips(where: str, entry: dict[str, Any], name: str, layout: Layout) -> np.ndarray:
    chips = _whole_numbers(where, entry, name, (layout.colours,), layout.chips + 1, "number of chips")
    if chips.sum() != layout.chips:
        raise ValueError(f"{where}: {name}={chips.tolist()} are {chips.sum()} chips: a player is dealt {layout.chips}")
    return chips


def _whole_numbers(
    where: str, entry: dict[str, Any], name: str, shape: tuple[int, ...], below: int, what: str
) -> np.ndarray:
    if name not in entry:
        raise ValueError(f"{where}: {name} is missing")
    value = entry[name]
    if _shape(value) != shape:
        wanted = {0: "one number", 1: f"{shape[-1:]} numbers", 2: f"{shape} rows and columns"}[len(shape)]
        raise ValueError(
            f"{where}: {name}={_short(value)} is not of the layout's size, {wanted}: "
            "give the layout that the file was made for"
        )
    numbers = _flat(value)
    wrong = [number for number in numbers if type(number) is not int or not 0 <= number < below]
    if wrong:
        raise ValueError(f"{where}: {name} holds {_short(wrong[0])}: a {what} is a whole number from 0 to {below - 1}")
    return np.array(value, np.int32)


def _shape(value: Any) -> tuple[int, ...] | None:
    """The shape of nested lists, None where they are ragged."""
    if not isinstance(value, list):
        return ()
    shapes = {_shape(part) for part in value}
    return None if len(shapes) != 1 or None in shapes else (len(value), *shapes.pop())


def _flat(value: Any) -> Sequence[Any]:
    return [number for part in value for number in _flat(part)] if isinstance(value, list) else [value]


def _check_reach(path: Path, layout: Layout, boards: Board) -> None:
    for place, board in enumerate(map(Board, *boards)):
        reached = np.asarray(_pool_reaches(layout, board))
        if reached.all():
            continue
        player = int(np.argmin(reached))
        goal = int(board.goals[player])
        row, column = layout.goals[goal]
        raise ValueError(
            f"{path}: board {place}: location{player + 1}={goal} (row {row}, column {column}) cannot be reached even "
            f"with the chips of both players, {board.chips.sum(0).tolist()}: name another goal, or load it with "
            "reachable=False"
        )


@partial(jax.jit, static_argnums=0)
def _pool_reaches(layout: Layout, board: Board) -> Bool[Array, "2"]:
    """Whether each player's goal is within reach of all chips. One board: a program for any number of them."""
    found = offers(layout, board)
    return within_reach(layout, board, found)[board.goals, found.pool @ found.stride]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
