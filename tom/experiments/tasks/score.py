"""Scores of theory-of-mind tasks: of those who were asked, and of rational minds at the same turns.

Every score has a numerator (the sum over the turns that count) and a denominator (how many count), and the mean over
games of each game's ratio, as the published benchmark reports it. A game without a turn that counts has no ratio.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from otherminds.games.decrypto.vocabulary import Vocabulary
from otherminds.inference.resampling import standard_error
from otherminds.tom.experiments.tasks.readouts import readouts
from otherminds.tom.experiments.tasks.records import Sheet
from otherminds.tom.tasks.catalogue import TASKS
from otherminds.tom.tasks.task import Answers, Moment, Task


@dataclass(frozen=True)
class Score:
    """How somebody does in one measure of a task.

    total, count: numerator and denominator, in turns.   mean: over games of their ratios; NaN where no turn counts.
    error: standard error of the mean over `units`, "seeds" where there are several, else "games"; NaN for fewer than 2.
    questions, failed: that were asked, and the answers that failed.   rational: whether it is a mind, set beside.
    loss: whether less is better.
    """

    task: str
    who: str
    measure: str
    total: float
    count: int
    mean: float
    error: float
    units: str
    questions: int
    failed: int
    rational: bool
    loss: bool


def scores(
    sheets: Sequence[Sheet], vocabulary: Vocabulary | None, on_mind: Callable[[], None] | None = None
) -> list[Score]:
    """A row for every task, agent and measure; and for every rational mind, over all games that were asked about.

    vocabulary: for the rational minds; None leaves them out.   on_mind: called after each mind.
    Raises: ValueError for a keyword that is not in the vocabulary's list.
    """
    rows: list[Score] = []
    for task in (TASKS[name] for name in dict.fromkeys(sheet.task for sheet in sheets)):
        own = [sheet for sheet in sheets if sheet.task == task.name and sheet.moments]
        for agent in dict.fromkeys(sheet.agent for sheet in own):
            rows += scored(task, agent, [sheet for sheet in own if sheet.agent == agent])
        if vocabulary is not None and own:
            for minds in rational_sheets(task, own, vocabulary, on_mind):
                rows += scored(task, minds[0].agent, minds, rational=True)
    return rows


def scored(task: Task, who: str, sheets: Sequence[Sheet], rational: bool = False) -> list[Score]:
    """A row for every measure of a task, over the sheets of one agent."""
    turns = sum(len(sheet.moments) for sheet in sheets)
    rows = []
    for name, measure in task.measures.items():
        by_game = [game_values(sheet, measure) for sheet in sheets]
        counted = [(sheet.seed, values) for sheet, values in zip(sheets, by_game, strict=True) if values]
        ratios = np.array([np.mean(values) for _, values in counted])
        seeds = np.array([seed for seed, _ in counted])
        units = "seeds" if len(set(seeds.tolist())) > 1 else "games"
        means = np.array([ratios[seeds == seed].mean() for seed in np.unique(seeds)]) if units == "seeds" else ratios
        rows.append(
            Score(
                task.name,
                who,
                name,
                float(sum(map(sum, by_game))),
                sum(map(len, by_game)),
                float(ratios.mean()) if ratios.size else float("nan"),
                float(standard_error(means)),
                units,
                turns * len(task.questions),
                sum(sheet.failed for sheet in sheets),
                rational,
                name in task.losses,
            )
        )
    return rows


def game_values(sheet: Sheet, measure: Callable[[Moment, Answers], float | None]) -> list[float]:
    """The values of a measure at the turns of a game that count."""
    values = (measure(moment, answers) for moment, answers in zip(sheet.moments, sheet.answers, strict=True))
    return [value for value in values if value is not None]


def rational_sheets(
    task: Task, sheets: Iterable[Sheet], vocabulary: Vocabulary, on_mind: Callable[[], None] | None = None
) -> list[list[Sheet]]:
    """What each rational mind of a task answers at the turns of the sheets, each recorded game once.

    Raises: ValueError for a keyword that is not in the vocabulary's list.
    """
    games: dict[str, Sheet] = {}
    for sheet in sheets:
        if sheet.recorded not in games or len(sheet.moments) > len(games[sheet.recorded].moments):
            games[sheet.recorded] = sheet
    recorded = list(games.values())
    last = [sheet.moments[-1] for sheet in recorded]
    whole = max(moment.turns for moment in last)
    turns = [(moment.keywords, (*moment.past, moment.now)) for moment in last]
    found = []
    for rational in task.rational:
        read = readouts(rational.mind, rational.role, turns, whole, vocabulary)
        answers = [
            tuple(
                rational.answers(
                    {name: value[g, moment.turn] for name, value in read.items()}, moment, vocabulary.keywords
                )
                for moment in sheet.moments
            )
            for g, sheet in enumerate(recorded)
        ]
        found.append(
            [
                Sheet(task.name, rational.name, sheet.recorded, sheet.players, sheet.seed, sheet.moments, own, 0)
                for sheet, own in zip(recorded, answers, strict=True)
            ]
        )
        if on_mind is not None:
            on_mind()
    return found
