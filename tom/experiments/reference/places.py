"""Does an agent like a place in the list of options, whatever stands there?

Options were shown in orders that were drawn without regard to what they are. To an agent without a liking for places
the shares of the places then differ from even by chance alone, and how much is known: the options of every item are
given other names at random, many times (a permutation test, exact but for the number of draws).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from otherminds.tom.experiments.reference.records import CONDITIONS, Answers

DRAWS = 2000


@dataclass(frozen=True)
class PlaceBias:
    """How often an agent's answers stood at each place of lists of one length.

    shares: by place, of the answers that did not fail; stated probabilities count as such.   p_value: of shares as
    uneven, or more so, from an agent without a liking for places; at least 1 / (DRAWS + 1).
    missing: mean probability on no option, before the others were normalised; NaN where nothing says it.
    """

    condition: str
    agent: str
    answers: int
    shares: tuple[float, ...]
    p_value: float
    missing: float


def place_biases(agents: Sequence[Answers], seed: int = 0) -> list[PlaceBias]:
    """A row for every agent and length of list, of the answers whose options were shown in a known order."""
    rows = []
    for agent in agents:
        sizes = (agent.places >= 0).sum(1)
        for size in sorted(set(sizes[agent.answered].tolist()) - {0}):
            own = agent.answered & (sizes == size)
            shown, mass, question = agent.places[own, :size], agent.mass[own, :size], agent.question[own]
            missing = agent.missing[own]
            rows.append(
                PlaceBias(
                    CONDITIONS[agent.questions.role],
                    agent.agent,
                    int(own.sum()),
                    tuple(by_place(shown, mass).tolist()),
                    p_value(shown, mass, question, np.random.default_rng(seed)),
                    float(np.nanmean(missing)) if not np.isnan(missing).all() else float("nan"),
                )
            )
    return rows


def by_place(shown: Int[np.ndarray, "D A"], mass: Float[np.ndarray, "D A"]) -> Float[np.ndarray, " A"]:
    """[A] mean mass of whatever stood at each place. shown: the place of each option."""
    return np.bincount(shown.ravel(), mass.ravel(), shown.shape[1]) / len(shown)


def p_value(
    shown: Int[np.ndarray, "D A"],
    mass: Float[np.ndarray, "D A"],
    question: Int[np.ndarray, " D"],
    random: np.random.Generator,
    draws: int = DRAWS,
) -> float:
    """Of a sum of squared differences from even shares as large as the one that there is, or larger.

    In every draw the options of a question change names with each other, in all of its answers alike, so that orders
    that depend on each other (each moved on by a place) are respected.
    """
    size = shown.shape[1]
    _, group = np.unique(question, return_inverse=True)

    def uneven(shares: Float[np.ndarray, " A"]) -> float:
        return float(((shares - 1 / size) ** 2).sum())

    found = uneven(by_place(shown, mass))
    names = np.tile(np.arange(size), (group.max() + 1, 1))
    above = 0
    for _ in range(draws):
        new = random.permuted(names, axis=1)[group]
        above += uneven(by_place(np.take_along_axis(shown, new, 1), mass)) >= found - 1e-12
    return (above + 1) / (draws + 1)
