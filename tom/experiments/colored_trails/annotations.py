"""What people write that they think of the other's goal, beside the goal and beside what could be known of it.

Thoughts may begin with guesses before " - ": squares as on a chess board (column a to e, row 1 at the bottom), or a
corner and where from it ("TL" is top left: TLTL the corner, TLTR one step right of it), separated by spaces or "/". "?"
is no guess. Several squares are one guess of a set. What else stands there is counted, and is no guess.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from otherminds.games.colored_trails.board import Layout
from otherminds.tom.experiments.colored_trails.explain import Shadow
from otherminds.tom.experiments.colored_trails.records import PEOPLE, Games, is_person, seats_of

Cell = tuple[int, int]
SEPARATOR = re.compile(r"(?:^|\s)-\s")
SQUARE = re.compile(r"([A-Za-z])(\d+)")
CORNER = re.compile(r"([TB])([LR])([TB])([LR])", re.IGNORECASE)
READINGS = ("last", "first", "any")


class Annotation(NamedTuple):
    """What stands before the dash."""

    cells: frozenset[Cell]  # (row, column) from the top left; empty: no guess
    asked: bool  # "?" stands there
    unknown: tuple[str, ...]  # what is neither


class Guess(NamedTuple):
    """A guess at one decision."""

    game: int
    role: int
    turn: int
    annotation: Annotation


@dataclass(frozen=True)
class Score:
    """The guesses of a player, or of people together, of one reading: the last of a game, the first, or any."""

    agent: str
    reading: str
    games: int  # of the player
    guessed: int  # games with a guess
    contained: int  # games in which the goal is in the guessed set (any: in one of them)
    size: float  # squares in a guess, mean
    score: float  # mean over games with a guess of [goal in the set] / size; any: the best of a game
    chance: float  # the same for a guess of a random goal


@dataclass(frozen=True)
class Posterior:
    """What a mind could know at the moments of a player's guesses, a game once."""

    agent: str
    reading: str  # last or first
    mind: str
    guessed: int  # games with a guess
    of_goal: float  # mean posterior of the other's goal
    right: float  # share of games in which the most probable goal is the right one; ties count in part
    of_guess: float  # mean posterior of the set that was guessed, over its size
    best: float  # the most that a guess of as many squares could have


@dataclass(frozen=True)
class Annotations:
    """Everything that is said of the thoughts in some logs."""

    moves: int  # of people
    thoughts: int  # with a text
    separated: int  # with a dash that guesses may stand before
    guesses: int
    asked: int  # "?" and no guess
    unknown: dict[str, int]  # by what stands there
    no_goals: int  # guessed squares that are no possible goal
    scores: list[Score]
    posteriors: list[Posterior]


def parse(text: str, layout: Layout) -> Annotation | None:
    """The guesses before the dash of a text; None without a dash."""
    separator = SEPARATOR.search(text)
    if separator is None:
        return None
    cells, unknown, asked = set(), [], False
    for token in re.split(r"[\s/,]+", text[: separator.start()]):
        cell = cell_of(token, layout)
        if cell is not None:
            cells.add(cell)
        elif token == "?":
            asked = True
        elif token:
            unknown.append(token)
    return Annotation(frozenset(cells), asked, tuple(unknown))


def cell_of(token: str, layout: Layout) -> Cell | None:
    """The cell that a square (B5) or a corner and where from it (TLTR) names; None for anything else."""
    if match := SQUARE.fullmatch(token):
        row, column = layout.rows - int(match[2]), ord(match[1].upper()) - ord("A")
        return (row, column) if 0 <= row < layout.rows and column < layout.columns else None
    if match := CORNER.fullmatch(token):
        vertical, horizontal, then_vertical, then_horizontal = match[0].upper()
        # From the corner one step inward in each direction in which the second pair differs from the first.
        row, column = int(vertical != then_vertical), int(horizontal != then_horizontal)
        return (
            row if vertical == "T" else layout.rows - 1 - row,
            column if horizontal == "L" else layout.columns - 1 - column,
        )
    return None


def annotate(games: Games, shadows: Mapping[str, Shadow]) -> Annotations | None:
    """Reads and scores the thoughts of people; None where no thoughts are recorded.

    shadows: of the minds whose posteriors the guesses are set beside.
    """
    layout = games.rules.layout
    seats = {agent: own for agent, own in seats_of(games).items() if agent == PEOPLE or is_person(agent)}
    texts = [
        (n, t % 2, t, games.lines[n][t].thoughts)
        for n, pair in enumerate(games.agents)
        for t in range(games.lengths[n])
        if is_person(pair[t % 2])
    ]
    read = [Guess(n, role, t, found) for n, role, t, text in texts if text and (found := parse(text, layout))]
    if not any(text for *_, text in texts):
        return None
    guesses = [guess for guess in read if guess.annotation.cells]
    by_seat: dict[tuple[int, int], list[Guess]] = {}
    for guess in guesses:
        by_seat.setdefault((guess.game, guess.role), []).append(guess)
    own = {agent: [by_seat.get(seat, []) for seat in map(tuple, each.tolist())] for agent, each in seats.items()}
    goals = {cell: g for g, cell in enumerate(layout.goals)}
    return Annotations(
        len(texts),
        sum(bool(text) for *_, text in texts),
        len(read),
        len(guesses),
        sum(guess.annotation.asked and not guess.annotation.cells for guess in read),
        dict(Counter(token for guess in read for token in guess.annotation.unknown).most_common()),
        sum(cell not in goals for guess in guesses for cell in guess.annotation.cells),
        [_score(agent, reading, each, games) for agent, each in own.items() for reading in READINGS if any(each)],
        [
            _posterior(agent, reading, mind, each, games, shadow, goals)
            for agent, each in own.items()
            for reading in READINGS[:2]
            for mind, shadow in shadows.items()
            if any(each)
        ],
    )


def _one(reading: str, guesses: Sequence[Guess]) -> Guess:
    return guesses[-1 if reading == "last" else 0]


def _goal_of(guess: Guess, games: Games) -> int:
    """The goal of the other player."""
    return int(games.board.goals[guess.game, 1 - guess.role])


def _score(agent: str, reading: str, by_game: Sequence[Sequence[Guess]], games: Games) -> Score:
    layout = games.rules.layout
    contained, sizes, scores = 0, [], []
    for guesses in filter(None, by_game):
        goal = layout.goals[_goal_of(guesses[0], games)]
        read = guesses if reading == "any" else [_one(reading, guesses)]
        hits = [(goal in guess.annotation.cells) / len(guess.annotation.cells) for guess in read]
        contained += max(hits) > 0
        sizes += [len(guess.annotation.cells) for guess in read]
        scores.append(max(hits))
    chance = np.nan if reading == "any" else 1 / len(layout.goals)  # that of several guesses depends on them
    return Score(
        agent, reading, len(by_game), len(scores), contained, float(np.mean(sizes)), float(np.mean(scores)), chance
    )


def _posterior(
    agent: str,
    reading: str,
    mind: str,
    by_game: Sequence[Sequence[Guess]],
    games: Games,
    shadow: Shadow,
    goals: Mapping[Cell, int],
) -> Posterior:
    of_goal, right, of_guess, best = [], [], [], []
    for guess in (_one(reading, guesses) for guesses in by_game if guesses):
        p = np.exp(shadow.log_goal[guess.game, guess.turn].astype(float))
        goal, size = _goal_of(guess, games), len(guess.annotation.cells)
        top = p >= p.max() - 1e-6
        of_goal.append(p[goal])
        right.append(top[goal] / top.sum())
        of_guess.append(sum(p[goals[cell]] for cell in guess.annotation.cells if cell in goals) / size)
        best.append(np.sort(p)[-size:].sum() / size)
    means = (float(np.mean(each)) for each in (of_goal, right, of_guess, best))
    return Posterior(agent, reading, mind, len(of_goal), *means)
