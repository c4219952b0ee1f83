"""Probabilities that agents of reference games state: how far from each mind's, how true, and how they fit people.

An agent that states them at some decisions is expected to at all: where it does not, or gives no answer, it has failed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import rel_entr

from otherminds.games.reference.items import TARGET
from otherminds.games.reference.rules import Role
from otherminds.inference.resampling import clustered_mean
from otherminds.inference.scoring import calibration
from otherminds.tom.experiments.compare import lapsed
from otherminds.tom.experiments.reference.records import CONDITIONS, Answers

WORST_BRIER = 2.0
"""Of a failed statement: as bad as being sure of a wrong answer."""
BINS = 10


@dataclass(frozen=True)
class Divergence:
    """How far an agent's stated probabilities are from a mind's: KL(agent || mind) over the kinds of answer."""

    condition: str
    agent: str
    mind: str
    decisions: int  # with probabilities, where the mind has a view
    kl: float  # mean, nats; the mind is mixed with its lapse
    error: float  # standard error, items as clusters
    nearest: bool = False  # of this agent's minds


@dataclass(frozen=True)
class Calibration:
    """How true the stated probabilities are of the target: the object that is meant, the word that names it alone."""

    condition: str
    agent: str
    decisions: int
    failed: int  # without probabilities: the worst in both scores, and in nothing else
    confidence: float  # mean probability of the answer that it finds most probable
    right: float  # share of these answers that are the target
    calibration_error: float  # expected, of the confidence, over bins of a tenth
    brier: float  # sum over the kinds of (p - [it is the target])^2, 0 to 2
    brier_error: float  # standard errors: items as clusters
    log_score: float  # of the target, nats, mixed with the lapse
    log_score_error: float
    uniform: float  # log score of who knows nothing


@dataclass(frozen=True)
class Prediction:
    """How well what one agent states predicts what another does, as it is: nothing is fitted.

    decisions: of `agent` at questions that `model` stated probabilities of; failed ones count with the lapse alone.
    log_score: nats a decision, the model mixed with the lapse.   uniform: the same of who knows nothing.
    """

    condition: str
    agent: str
    model: str
    decisions: int
    log_score: float
    error: float  # standard error, items as clusters
    uniform: float


def divergences(
    agents: Sequence[Answers], log_policies: Mapping[tuple[Role, str], Float[np.ndarray, "Q K"]], lapse: float
) -> list[Divergence]:
    """A row for every agent that states probabilities and every mind of its role.

    log_policies: of `compare.compare`, without a lapse.   lapse: of every mind, above 0, so that KL is finite.
    """
    rows = []
    for agent in agents:
        told = agent.stated & agent.answered
        if not told.any():
            continue
        minds = {spec: log_p for (role, spec), log_p in log_policies.items() if role == agent.questions.role}
        own = [_divergence(agent, spec, log_p, told, lapse) for spec, log_p in minds.items()]
        least = min((row.kl for row in own if row.decisions), default=None)
        rows += [Divergence(**{**vars(row), "nearest": row.kl == least}) for row in own]
    return rows


def _divergence(
    agent: Answers, spec: str, log_p: Float[np.ndarray, "Q K"], told: Bool[np.ndarray, " D"], lapse: float
) -> Divergence:
    there = told & ~np.isneginf(log_p.max(1))[agent.question]
    question = agent.question[there]
    kinds = agent.questions.actions.any(-1)[question]
    q = np.where(kinds, np.exp(lapsed(log_p[question], kinds.sum(1, keepdims=True), lapse)), 0.0)
    kl = rel_entr(agent.weights[there], q / q.sum(-1, keepdims=True)).sum(-1)
    return Divergence(CONDITIONS[agent.questions.role], agent.agent, spec, len(kl), *clustered_mean(kl, question))


def target_kinds(agent: Answers) -> Int[np.ndarray, " Q"]:
    """The kind that is the target of every question; -1 where none is known to be.

    Where kinds have no names, a listener's is the object that is meant; of words nothing is known then.
    """
    questions = agent.questions
    if questions.named:
        place = questions.kinds.index(TARGET) if TARGET in questions.kinds else -1
        return np.full(len(questions.names), place)
    return np.array(questions.targets)


def calibrations(agents: Sequence[Answers], lapse: float) -> list[Calibration]:
    """A row for every agent that states probabilities, of the questions whose target is known.

    lapse: in the log score, so that one wrong certainty does not settle all.
    """
    rows = []
    for agent in agents:
        target = target_kinds(agent)[agent.question]
        asked = target >= 0
        told = asked & agent.stated & agent.answered
        if not told.any():
            continue
        failed = asked & ~told
        sizes = agent.questions.actions.any(-1).sum(1)[agent.question]
        p, due = agent.weights[told], target[told]
        best, hit = p.max(-1), p.argmax(-1) == due
        squares = ((p - np.eye(p.shape[1])[due]) ** 2).sum(-1)
        with np.errstate(divide="ignore"):
            logs = np.log(p[np.arange(len(p)), due])
        logs = lapsed(np.concatenate([logs, np.full(failed.sum(), -np.inf)]), _both(sizes, told, failed), lapse)
        cluster = _both(agent.question, told, failed)
        true = calibration(jnp.asarray(best), jnp.asarray(hit), BINS)
        rows.append(
            Calibration(
                CONDITIONS[agent.questions.role],
                agent.agent,
                len(cluster),
                int(failed.sum()),
                float(best.mean()),
                float(hit.mean()),
                float(true.error),
                *clustered_mean(np.concatenate([squares, np.full(failed.sum(), WORST_BRIER)]), cluster),
                *clustered_mean(logs, cluster),
                float(-np.log(sizes[asked]).mean()),
            )
        )
    return rows


def _both(values: np.ndarray, told: np.ndarray, failed: np.ndarray) -> np.ndarray:
    return np.concatenate([values[told], values[failed]])


def predictions_of_others(agents: Sequence[Answers], lapse: float) -> list[Prediction]:
    """A row for every agent that states nothing and every one that states something in the same role.

    Of several statements about a question the mean counts.   lapse: of what is stated, above 0.
    """
    rows = []
    for agent in (agent for agent in agents if not agent.stated.any() and agent.answered.any()):
        for other in (other for other in agents if other.questions.role == agent.questions.role and other.stated.any()):
            counts = other.counts
            known = np.bincount(other.question[other.stated], minlength=len(counts)) > 0
            there = known[agent.question]
            if not there.any():
                continue
            question = agent.question[there]
            sizes = agent.questions.actions.any(-1).sum(1)[question]
            with np.errstate(divide="ignore", invalid="ignore"):
                log_p = np.log(counts / counts.sum(1, keepdims=True))[question]
            taken = agent.taken[there]
            made = np.where(taken >= 0, log_p[np.arange(len(taken)), np.maximum(taken, 0)], -np.inf)
            rows.append(
                Prediction(
                    CONDITIONS[agent.questions.role],
                    agent.agent,
                    other.agent,
                    len(question),
                    *clustered_mean(lapsed(made, sizes, lapse), question),
                    float(np.where(taken >= 0, -np.log(sizes), np.log(lapse) - np.log(sizes)).mean()),
                )
            )
    return rows
