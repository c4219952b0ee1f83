"""Which mind explains an agent in a role, and by how much."""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from otherminds.games.decrypto.rules import Role
from otherminds.inference.resampling import clustered_mean
from otherminds.tom.experiments.compare import UNIFORM, Row, Shadow, decided, lapsed
from otherminds.tom.experiments.records import Games

Shadows = Mapping[tuple[Role, str], Shadow]


def decision_scores(games: Games, role: Role, agent: str, shadow: Shadow, lapse: float) -> Float[np.ndarray, "G T"]:
    """[G, T] the lapsed log-probability of every decision of an agent in a role, nats; NaN where none is scored.

    A failed answer has the score of what only the lapse allows. The mean over what is not NaN is `Row.log_score`.
    """
    scored, failed, _ = decided(games, role, agent)
    log_p = np.where(failed, -np.inf, shadow.log_p)
    return np.where(scored | failed, lapsed(log_p, shadow.set_size, lapse), np.nan)


def mean_and_error(values: Float[np.ndarray, "G T"]) -> tuple[float, float]:
    """The mean over what is not NaN, and its standard error with games as clusters; NaN for fewer than two games."""
    there = ~np.isnan(values)
    return clustered_mean(values[there], np.nonzero(there)[0])


class Verdict(NamedTuple):
    """Which mind explains an agent in a role, in numbers. Gains are over the uniform mind, nats per decision."""

    role: str
    agent: str
    rows: list[Row]  # the best first
    gains: dict[str, float]
    best: list[str]  # the best minds but the uniform one; several if they are equal; empty if no answer counts
    count: int  # decisions scored, failed ones among them
    gain: float  # of the best
    error: float  # standard error of the gain over games; NaN with one game
    next_best: str | None
    behind: float  # of the next best mind, nats per decision


def verdict(games: Games, rows: Iterable[Row], shadows: Shadows, role: Role, agent: str, lapse: float) -> Verdict:
    """What the rows say of an agent in a role."""
    own = [row for row in rows if row.agent == agent and row.role == role.name.lower()]
    own.sort(key=lambda row: -row.log_score if math.isfinite(row.log_score) else math.inf)
    even = decision_scores(games, role, agent, shadows[role, UNIFORM], lapse)
    gains, errors = {}, {}
    for row in own:
        scores = decision_scores(games, role, agent, shadows[role, row.mind], lapse)
        gains[row.mind], errors[row.mind] = mean_and_error(scores - even)
    minds = [row for row in own if row.mind != UNIFORM and row.decisions > row.failed]
    best = [row.mind for row in minds if math.isclose(row.log_score, minds[0].log_score, abs_tol=1e-9)]
    others = minds[len(best) :]
    return Verdict(
        role=role.name.lower(),
        agent=agent,
        rows=own,
        gains=gains,
        best=best,
        count=int((~np.isnan(even)).sum()),
        gain=gains[best[0]] if best else math.nan,
        error=errors[best[0]] if best else math.nan,
        next_best=others[0].mind if others else None,
        behind=minds[0].log_score - others[0].log_score if others else math.nan,
    )
