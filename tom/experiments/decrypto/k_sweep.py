"""How long teams last against how many of the nearest nouns their encoder chooses from, K."""

from collections.abc import Sequence
from typing import NamedTuple

from otherminds.games.decrypto.rules import Role
from otherminds.tom.experiments.cube import Cell
from otherminds.tom.minds.decrypto.registry import is_mind, split_option


class Point(NamedTuple):
    """The games of one table whose encoder is a mind with an option k."""

    encoder: str  # without k
    decoder: str
    interceptor: str
    k: int
    games: int
    turns: float  # survived: mean over seeds
    error: float  # standard error over seeds; NaN with one seed


def k_sweep(found: Sequence[Cell]) -> list[Point]:
    """The tables that differ from another one in nothing but their encoder's K, by table and then by K.

    found: of `cube.cells`.   Returns: nothing where no K was varied.
    """
    lines: dict[tuple[str, str, str], list[Point]] = {}
    for cell in found:
        encoder, decoder, interceptor = cell.agents
        if not is_mind(encoder, Role.ENCODER):
            continue
        rest, k = split_option(encoder, Role.ENCODER, "k")
        if k is not None:
            point = Point(rest, decoder, interceptor, k, cell.games, cell.mean("turns"), cell.error("turns"))
            lines.setdefault(point[:3], []).append(point)
    return [
        point
        for line in lines.values()
        if len({point.k for point in line}) > 1
        for point in sorted(line, key=lambda point: point.k)
    ]
