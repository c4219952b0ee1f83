"""Every decision of reference games, shadowed by minds: how probable was it, and with which alpha and error rate?

The likelihood of every fit is the mind's own `log_policy`, error rate included. Options of one kind count as one, and
an error picks each kind alike. A failed answer has the probability of what only the error rate allows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from otherminds.games.protocol import NO_ANSWER
from otherminds.games.reference.rules import Observation, Role, View
from otherminds.inference.grid import PRIOR, Posterior, Prior, posterior
from otherminds.tom.experiments.compare import LAPSE, UNIFORM, Row, lapsed
from otherminds.tom.experiments.model_agents import is_model
from otherminds.tom.experiments.reference.places import PlaceBias, place_biases
from otherminds.tom.experiments.reference.records import CONDITIONS, Answers, Questions
from otherminds.tom.experiments.reference.stated import (
    Calibration,
    Divergence,
    Prediction,
    calibrations,
    divergences,
    predictions_of_others,
)
from otherminds.tom.mind import Mind
from otherminds.tom.minds.reference.registry import NamedMind, named
from otherminds.tom.minds.reference.stated import StatedParams, stated

DEFAULT_MINDS = {
    Role.SPEAKER: ("literal", "pragmatic"),
    Role.LISTENER: ("literal", "pragmatic", "pragmatic:slip=1e-7"),
}
JOINS = ("sum", "product")
TIE = 5e-4  # nats a decision; minds that differ by less explain an agent equally well
SLIP = 1e-7  # added to shares of best options, so that alpha can act on those that are nobody's best
METHODS = ("item", "average scores", "average probabilities", "average best option")


@dataclass(frozen=True)
class Fit:
    """What is known of alpha and the error rate of a mind, or of a language model taken as one, from an agent."""

    condition: str
    agent: str
    mind: str  # without the alpha and the lapse with which it was written, since these are fitted
    method: str  # "item", or how a language model's scores of all items became one prediction
    decisions: int  # failed ones included
    failed: int
    posterior: Posterior
    log_score: float  # mean over decisions at the mode, nats


@dataclass(frozen=True)
class Point:
    """How often an agent's answers to a question were of one kind, and how often a mind at its fit predicts so."""

    condition: str
    agent: str
    mind: str
    item: str
    kind: str
    predicted: float
    observed: float
    decisions: float


class Comparison(NamedTuple):
    """Everything that is said of some logs of reference games."""

    rows: list[Row]  # every agent under every mind, all with one lapse
    fits: list[Fit]  # of minds to every agent with an answer that did not fail
    models: list[Fit]  # of language models to people
    points: list[Point]  # of the fits that a picture is drawn of
    log_policies: dict[tuple[Role, str], Float[np.ndarray, "Q K"]]  # of minds as they are named, without a lapse
    divergences: list[Divergence]  # of who states probabilities, from minds
    calibrations: list[Calibration]  # of who states probabilities
    predictions: list[Prediction]  # of who states none, by who does
    places: list[PlaceBias]  # of whoever was shown the options in a known order


def policies(mind: Mind, params: Any, questions: Questions) -> Float[np.ndarray, "Q K"]:
    """[Q, K] log-probability that a mind gives to each kind of answer.

    params: of the mind; leaves of scalars, or with a leading axis of Q.
    """
    params = _for_each(params, len(questions.names))
    return np.asarray(_policies(mind)(params, questions.observations, questions.actions))


def fit(
    mind: Mind, params: Any, questions: Questions, counts: np.ndarray, failed: np.ndarray, prior: Prior
) -> Posterior:
    """The posterior of a mind's alpha and lapse, given how often each kind of answer was taken.

    params: their other fields are kept; leaves of scalars, or with a leading axis of Q.
    counts: [Q, K], may be fractions.   failed: [Q] answers that failed.
    """
    asked = np.flatnonzero((counts.sum(1) > 0) | (failed > 0))
    params, observations = jax.tree.map(
        lambda leaf: jnp.asarray(leaf)[asked], (_for_each(params, len(counts)), questions.observations)
    )
    data = (jnp.asarray(questions.actions[asked]), jnp.asarray(counts[asked], float), jnp.asarray(failed[asked], float))
    run = _likelihood(mind)
    return posterior(
        lambda alphas, lapses: run(params, observations, *data, jnp.asarray(alphas), jnp.asarray(lapses)), prior
    )


@cache
def _policies(mind: Mind) -> Callable[..., Any]:
    return jax.jit(jax.vmap(lambda params, observation, actions: _shadow(mind, params, observation, actions)))


@cache
def _likelihood(mind: Mind) -> Callable[..., Any]:
    """The jitted log-likelihood [A, L] of a mind over a grid of alphas and lapses."""

    def run(params, observations, actions, counts, failed, alphas, lapses):
        def one(alpha, lapse):
            def of_question(params, observation, actions, counts, failed):
                log_p = _shadow(mind, params._replace(alpha=alpha, lapse=lapse), observation, actions)
                missed = jnp.log(lapse / actions.any(-1).sum())  # what only the lapse allows
                of_counts = jnp.where(counts > 0, counts * jnp.where(counts > 0, log_p, 0.0), 0.0).sum()
                return of_counts + jnp.where(failed > 0, failed * missed, 0.0)

            return jax.vmap(of_question)(params, observations, actions, counts, failed).sum()

        return jax.lax.map(lambda alpha: jax.vmap(lambda lapse: one(alpha, lapse))(lapses), alphas, batch_size=20)

    return jax.jit(run)


def _shadow(mind: Mind, params: Any, observation: Observation, actions: Any) -> Any:
    """What a mind that sees only this decision thinks of the actions."""
    view = View(observation.role, observation.context, observation.target)
    return mind.log_policy(params, mind.init(params, None, view), observation, actions)


def _for_each(params: Any, count: int) -> Any:
    """Params with a leading axis of questions on every leaf; scalars are the same for all."""
    return jax.tree.map(
        lambda leaf: jnp.broadcast_to(leaf, (count,)) if jnp.ndim(leaf) == 0 else jnp.asarray(leaf), params
    )


# --- agents and minds -----------------------------------------------------------------------------------------------


def compare(
    agents: Sequence[Answers],
    minds: Mapping[Role, Sequence[str | NamedMind]] | None = None,
    *,
    lapse: float = LAPSE,
    prior: Prior = PRIOR,
    join: str = "sum",
    on_fit: Callable[[], None] | None = None,
) -> Comparison:
    """Sets agents beside minds, and language models beside people: agents who state nothing and are no provider/name.

    minds: by role, as they are written or `NamedMind`s of one's own; DEFAULT_MINDS where a role has none. A uniform
        mind is always among them.
    lapse: of every mind in `rows`, whatever its params say, above 0 and at most 1; the fits have their own.
    join: how the scores of options of one kind become one in `models`: "sum" of their probabilities, or "product".
    on_fit: called after each fit, for a progress bar.
    An agent that states probabilities counts by them: its score is the mean over decisions of sum_k p_k log q_k. To an
    agent whose answers all failed nothing is fitted, and no mind explains it best.
    Raises: ValueError for a lapse out of range, an unknown join, and what `chosen_minds` refuses; UnknownMind.
    """
    if not 0 < lapse <= 1:
        raise ValueError(f"lapse={lapse}: it is a probability above 0 (without it one odd choice settles all)")
    if join not in JOINS:
        raise ValueError(f"join={join!r}: there are {' and '.join(JOINS)}")
    chosen = chosen_minds(minds)
    rows: list[Row] = []
    fits: list[Fit] = []
    models: list[Fit] = []
    points: list[Point] = []
    log_policies: dict[tuple[Role, str], np.ndarray] = {}
    done = on_fit or (lambda: None)
    for role in Role:
        own = [agent for agent in agents if agent.questions.role == role]
        if not own:
            continue
        questions = own[0].questions
        for model in chosen[role]:
            log_policies[role, model.spec] = policies(model.mind, model.params._replace(lapse=0.0), questions)
        there = questions.actions.any(-1)
        log_policies[role, UNIFORM] = np.where(there, -np.log(there.sum(1, keepdims=True)), -np.inf)
        for agent in own:
            rows += _rows(agent, [(model.spec, log_policies[role, model.spec]) for model in chosen[role]], lapse)
            if not agent.answered.any():
                continue
            drawn = False
            for model in _fitted_once(chosen[role]):
                fits.append(_fit_of_mind(agent, model, prior))
                if model.rational and not drawn:
                    points += _points(agent, model, fits[-1])
                    drawn = True
                done()
        for person in filter(_is_person, own):
            for scorer in (agent for agent in own if agent.log_scores is not None):
                made, drawn = _fits_of_model(person, scorer, prior, join, done)
                models += made
                points += drawn
    return Comparison(
        rows,
        fits,
        models,
        points,
        log_policies,
        divergences(agents, log_policies, lapse),
        calibrations(agents, lapse),
        predictions_of_others(agents, lapse),
        place_biases(agents),
    )


def fits_to_make(agents: Sequence[Answers], minds: Mapping[Role, Sequence[str | NamedMind]] | None) -> int:
    """How many fits `compare` makes at most."""
    wanted, count = chosen_minds(minds), 0
    for role in Role:
        own = [agent for agent in agents if agent.questions.role == role]
        people = sum(map(_is_person, own))
        scorers = sum(agent.log_scores is not None for agent in own)
        answered = sum(bool(agent.answered.any()) for agent in own)
        count += answered * len(_fitted_once(wanted[role])) + people * scorers * len(METHODS)
    return count


def _is_person(agent: Answers) -> bool:
    """Whether language models' scores are to predict its answers: it states nothing, and is none of them itself."""
    return agent.log_scores is None and not is_model(agent.agent) and bool(agent.answered.any())


def chosen_minds(minds: Mapping[Role, Sequence[str | NamedMind]] | None) -> dict[Role, list[NamedMind]]:
    """The minds of each role, in their order; DEFAULT_MINDS where a role has none.

    Raises: ValueError for a spec with a lapse, and for two minds of one name; UnknownMind.
    """
    found = {}
    for role, asked in (DEFAULT_MINDS | {role: asked for role, asked in (minds or {}).items() if asked}).items():
        own = [named(each, role) if isinstance(each, str) else each for each in asked]
        for each, model in zip(asked, own, strict=True):
            if isinstance(each, str):
                options = (part.partition("=")[0].strip() for part in each.partition(":")[2].split(","))
                if "lapse" in options:
                    raise ValueError(f"{each!r}: leave lapse out here; --lapse sets it for all minds")
            if model.spec == UNIFORM or [other.spec for other in own].count(model.spec) > 1:
                raise ValueError(f"{role.name.lower()} {model.spec!r}: another mind has this name; give each its own")
        found[role] = own
    return found


def _fitted_once(minds: Sequence[NamedMind]) -> list[NamedMind]:
    """Those that differ in more than alpha and lapse, which are fitted."""
    return list({model.fitted: model for model in reversed(minds)}.values())[::-1]


def scores(agent: Answers, log_p: Float[np.ndarray, "Q K"], lapse: float) -> Float[np.ndarray, " D"]:
    """[D] log score of every decision under a policy without a lapse, nats; a failed one: what the lapse allows."""
    sizes = agent.questions.actions.any(-1).sum(1)
    mixed = lapsed(log_p, sizes[:, None], lapse)[agent.question]
    expected = np.where(agent.weights > 0, agent.weights * mixed, 0.0).sum(1)
    return np.where(agent.taken == NO_ANSWER, np.log(lapse) - np.log(sizes[agent.question]), expected)


def _rows(agent: Answers, minds: Sequence[tuple[str, np.ndarray]], lapse: float) -> list[Row]:
    there = agent.questions.actions.any(-1)
    even = np.where(there, -np.log(there.sum(1, keepdims=True)), -np.inf)
    rows = []
    for spec, log_p in [*minds, (UNIFORM, even)]:
        each = scores(agent, log_p, lapse)
        sizes = there.sum(1)[agent.question]
        most = log_p.max(1)[agent.question]
        allows = ~np.isneginf(most)  # else it has no best action
        regrets = (lapsed(most, sizes, lapse) - each)[allows]
        answered = agent.answered
        ruled_out = np.isneginf(log_p[agent.question, np.maximum(agent.taken, 0)]) & answered
        rows.append(
            Row(
                role=CONDITIONS[agent.questions.role],
                agent=agent.agent,
                mind=spec,
                decisions=len(answered),
                failed=int((~answered).sum()),
                unknown=0,
                log_score=float(each.mean()),
                regret=round(float(regrets.mean()), 12) + 0.0 if regrets.size else float("nan"),  # never minus zero
                impossible=int(ruled_out.sum()),
                ruled_out=int((~allows).sum()),
            )
        )
    top = max(row.log_score for row in rows)
    scored = bool(agent.answered.any())
    return [Row(**{**vars(row), "best": scored and row.log_score > top - TIE}) for row in rows]


def _fit_of_mind(agent: Answers, model: NamedMind, prior: Prior) -> Fit:
    found = fit(model.mind, model.params, agent.questions, agent.counts, agent.failed, prior)
    return _named(agent, model.fitted, "item", found)


def _named(agent: Answers, mind: str, method: str, found: Posterior) -> Fit:
    decisions, failed = len(agent.taken), int((~agent.answered).sum())
    condition = CONDITIONS[agent.questions.role]
    return Fit(condition, agent.agent, mind, method, decisions, failed, found, found.log_likelihood / decisions)


# --- language models as models of people ----------------------------------------------------------------------------


def kind_scores(scorer: Answers, join: str) -> Float[np.ndarray, "Q K"]:
    """[Q, K] a language model's scores of kinds, nats; NaN for a question that it did not score.

    join: "sum": log of the summed probabilities of the options of a kind; "product": the sum of their scores, as
        Franke, Tsvilodub & Carcassi (2024) fitted production.
    """
    scored, members = scorer.log_scores[:, None], scorer.questions.actions
    missing = members & np.isnan(scored)
    known = members & ~missing
    if join == "product":
        joined = np.where(known, scored, 0.0).sum(-1)
    else:
        joined = np.logaddexp.reduce(np.where(known, scored, -np.inf), -1)
    joined = np.where(members.any(-1), joined, -np.inf)
    return np.where(missing.any(-1), np.nan, joined)


def predictions(
    person: Answers, scorer: Answers, join: str
) -> dict[str, tuple[StatedParams, np.ndarray, np.ndarray, np.ndarray]]:
    """By method: params of `stated` for the questions that are predicted, those questions, counts and failures.

    The questions are those that the language model scored. Its scores predict each item by itself ("item"), or all
    items at once: by their mean over people's answers, by the mean of the probabilities that each item's give, or by
    how often each kind is the best, over people's answers too; all at once only where kinds have names.
    """
    by_kind = kind_scores(scorer, join)
    counts, failed = person.counts, person.failed
    answered = counts.sum(1) + failed
    asked = np.flatnonzero((answered > 0) & ~np.isnan(by_kind).any(1))
    if not asked.size:
        return {}
    by_item = {"item": (StatedParams(by_kind[asked][:, None]), asked, counts[asked], failed[asked])}
    if not person.questions.named:
        return by_item
    scored, weight = by_kind[asked], answered[asked, None] / answered[asked].sum()
    best = scored == scored.max(1, keepdims=True)
    shares = (best / best.sum(1, keepdims=True) * weight).sum(0)
    with np.errstate(divide="ignore"):
        log_shares = np.log(shares)
    first, total, missed = asked[:1], counts[asked].sum(0)[None], failed[asked].sum()[None]
    return by_item | {
        "average scores": (StatedParams((scored * weight).sum(0)[None, None]), first, total, missed),
        "average probabilities": (StatedParams(scored[None]), first, total, missed),
        "average best option": (StatedParams(log_shares[None, None], slip=SLIP), first, total, missed),
    }


def _fits_of_model(
    person: Answers, scorer: Answers, prior: Prior, join: str, done: Callable[[], None]
) -> tuple[list[Fit], list[Point]]:
    made: list[Fit] = []
    points: list[Point] = []
    for method, (params, places, counts, failed) in predictions(person, scorer, join).items():
        questions = subset(person.questions, places)
        params = params._replace(log_scores=jnp.asarray(params.log_scores, jnp.float32))
        found = fit(stated(), params, questions, counts, failed, prior)
        made.append(_named(person, scorer.agent, method, found))
        if method == "item":
            at_mode = params._replace(alpha=found.alpha.mode, lapse=found.lapse.mode)
            points = _points_at(person, scorer.agent, questions, counts, policies(stated(), at_mode, questions))
        done()
    return made, points


def subset(questions: Questions, places: np.ndarray) -> Questions:
    """Some of the questions, by their places."""
    return questions._replace(
        names=tuple(questions.names[q] for q in places),
        options=tuple(questions.options[q] for q in places),
        observations=jax.tree.map(lambda leaf: leaf[places], questions.observations),
        actions=questions.actions[places],
        targets=tuple(questions.targets[q] for q in places),
    )


# --- predicted and observed -----------------------------------------------------------------------------------------


def _points(agent: Answers, model: NamedMind, of: Fit) -> list[Point]:
    params = model.params._replace(alpha=of.posterior.alpha.mode, lapse=of.posterior.lapse.mode)
    counts = agent.counts
    return _points_at(agent, model.fitted, agent.questions, counts, policies(model.mind, params, agent.questions))


def _points_at(agent: Answers, mind: str, questions: Questions, counts: np.ndarray, log_p: np.ndarray) -> list[Point]:
    condition, predicted = CONDITIONS[questions.role], np.exp(log_p)
    totals = counts.sum(1)
    return [
        Point(
            condition,
            agent.agent,
            mind,
            name,
            kind,
            float(predicted[q, k]),
            float(counts[q, k] / totals[q]),
            float(totals[q]),
        )
        for q, name in enumerate(questions.names)
        if totals[q] > 0
        for k, kind in enumerate(questions.kinds)
        if questions.actions[q, k].any()
    ]
