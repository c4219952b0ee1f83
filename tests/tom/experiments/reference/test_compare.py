"""Agents beside minds: scores and fits against plain loops, parameters that come back, and the authors' own fits."""

import csv
import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.reference.rules import Role
from otherminds.inference.grid import PRIOR
from otherminds.tom.experiments.reference.compare import (
    METHODS,
    compare,
    fit,
    fits_to_make,
    kind_scores,
    policies,
    predictions,
    subset,
)
from otherminds.tom.experiments.reference.compare import _rows as scored_under
from otherminds.tom.experiments.reference.compare import scores as scores_of
from otherminds.tom.experiments.reference.recordings import import_reference
from otherminds.tom.experiments.reference.records import read_answers
from otherminds.tom.minds.reference.choice import Params, chooser
from otherminds.tom.minds.reference.registry import NamedMind, named
from otherminds.tom.minds.reference.stated import stated

KINDS = ("target", "competitor", "distractor")
PREDICTED = {"production": [2 / 3, 1 / 3, 0.0], "interpretation": [0.6, 0.4, 0.0]}


def sources(files):
    return files / "items.csv", files / "choices.csv", [files / "scores_gpt-x.csv"]


@pytest.fixture
def agents(log):
    return read_answers([log])[0]


def of(agents, name, role):
    return next(agent for agent in agents if agent.agent == name and agent.questions.role == role)


def test_answers_are_counted_by_kind(agents, small_items):
    """The fixture's people say the word n places after the target's place; one of them says "dunno" once."""
    person = of(agents, "people", Role.SPEAKER)
    assert person.questions.kinds == KINDS and person.questions.named
    expected = np.zeros((4, 3))
    for n, item in enumerate(small_items):
        for subject in "ab":
            if (subject, n) != ("a", 2):
                expected[n, KINDS.index(item.word_kinds[(item.target + n) % 4])] += 1
    assert (person.counts == expected).all() and person.failed.tolist() == [0, 0, 1, 0]
    model = of(agents, "gpt-x", Role.SPEAKER)
    assert model.counts.sum(1) == pytest.approx(np.ones(4)) and model.log_scores.shape == (4, 4)


def test_every_option_can_be_told_apart(log):
    agents = read_answers([log], every_option=True)[0]
    person, model = of(agents, "people", Role.SPEAKER), of(agents, "gpt-x", Role.SPEAKER)
    assert person.questions.kinds == tuple(f"option {n}" for n in range(1, 5)) and not person.questions.named
    for q, words in enumerate(person.questions.options):
        said = [words.index(word) for d, word in enumerate(person.said) if word and person.question[d] == q]
        assert (person.counts[q] == np.bincount(said, minlength=4)).all()
    assert set(predictions(person, model, "sum")) == {"item"}  # options have no names to be averaged by


def test_scores_are_those_of_the_sum_written_out(agents):
    comparison = compare(agents, lapse=0.2)
    for row in comparison.rows:
        role = Role.SPEAKER if row.role == "production" else Role.LISTENER
        agent = of(agents, row.agent, role)
        p = {
            "uniform": [1 / 3] * 3,
            "literal": [0.5, 0.5, 0.0],
            "pragmatic": PREDICTED[row.role],
            "pragmatic:slip=1e-7": PREDICTED[row.role],
        }[row.mind]
        total = 0.0
        for d in range(len(agent.said)):
            if agent.said[d] is None:
                total += np.log(0.2 / 3)
            else:
                total += sum(w * np.log(0.8 * q + 0.2 / 3) for w, q in zip(agent.weights[d], p, strict=True))
        assert row.log_score == pytest.approx(total / len(agent.said), abs=1e-5)
        assert (row.decisions, row.failed) == (len(agent.said), agent.said.count(None))
        best = np.log(0.8 * max(p) + 0.2 / 3)
        assert row.regret == pytest.approx(best - row.log_score, abs=1e-5)
    for agent in agents:
        rows = [row for row in comparison.rows if row.agent == agent.agent]
        assert sum(row.best for row in rows) >= 1


def test_what_only_the_lapse_allows_is_counted(agents):
    for row in compare(agents).rows:
        agent = of(agents, row.agent, Role.SPEAKER if row.role == "production" else Role.LISTENER)
        impossible = (
            int((agent.taken == KINDS.index("distractor")).sum()) if row.mind in ("literal", "pragmatic") else 0
        )
        assert row.impossible == impossible


def test_where_a_mind_allows_nothing_there_is_no_regret(agents):
    """A mind that allows nothing at the first question and the target at all others."""
    agent = of(agents, agents[0].agent, agents[0].questions.role)
    log_p = np.full(agent.questions.actions.shape[:2], -np.inf)
    (nothing,) = scored_under(agent, [("nothing", log_p)], 0.2)[:1]
    assert np.isnan(nothing.regret) and nothing.ruled_out == len(agent.taken)
    some = log_p.copy()
    some[1:, 0] = 0.0
    row = scored_under(agent, [("some", some)], 0.2)[0]
    there = agent.question > 0
    assert row.ruled_out == (~there).sum()
    if there.any():
        every = scores_of(agent, some, 0.2)
        assert row.regret == pytest.approx(np.mean(np.log(0.8 + 0.2 / 3) - every[there]), abs=1e-6)


def plain_fit(counts, failed, base):
    """Posterior means by plain sums over an even grid, the likelihood written out."""
    alphas, lapses = np.exp(np.linspace(-6, 6, 700)), (np.arange(400) + 0.5) / 400
    powers = np.array(base) ** alphas[:, None]
    p = powers / powers.sum(1, keepdims=True)
    mixed = (1 - lapses[:, None]) * p[:, None] + lapses[:, None] / 3
    log_p = (counts * np.log(mixed)).sum(-1) + failed * np.log(lapses / 3)
    log_p += -((np.log(alphas)[:, None] - 1) ** 2) / 2 + 14 * np.log1p(-lapses)
    weight = np.exp(log_p - log_p.max())
    return (weight.sum(1) @ alphas) / weight.sum(), (weight.sum(0) @ lapses) / weight.sum()


@pytest.mark.parametrize("role", list(Role))
def test_a_fit_is_that_of_the_likelihood_written_out(agents, role):
    person, model = of(agents, "people", role), named("pragmatic", role)
    counts = np.round(np.outer([1, 1, 1, 1], [60, 25, 5]))
    failed = np.array([0.0, 2.0, 0.0, 0.0])
    found = fit(model.mind, model.params, person.questions, counts, failed, PRIOR)
    base = PREDICTED["production" if role == Role.SPEAKER else "interpretation"]
    alpha, lapse = plain_fit(counts.sum(0), failed.sum(), base)
    assert found.alpha.mean == pytest.approx(alpha, rel=3e-3)
    assert found.lapse.mean == pytest.approx(lapse, rel=3e-3)


def test_parameters_come_back(agents):
    """Expected counts at alpha 2.5 and error .15: the likelihood is highest there."""
    for role in Role:
        person, model = of(agents, "people", role), named("pragmatic", role)
        params = model.params._replace(alpha=2.5, lapse=0.15)
        counts = 5000 * np.exp(policies(model.mind, params, person.questions))
        found = fit(model.mind, model.params, person.questions, counts, np.zeros(4), PRIOR)
        assert found.alpha.mean == pytest.approx(2.5, rel=0.02) and found.lapse.mean == pytest.approx(0.15, abs=0.005)
        assert found.alpha.low < 2.5 < found.alpha.high and found.lapse.low < 0.15 < found.lapse.high


def test_alpha_makes_no_difference_to_a_literal_mind(agents):
    comparison = compare(agents)
    for found in comparison.fits:
        assert found.posterior.alpha_matters == (found.mind != "literal")
    assert len(comparison.fits) + len(comparison.models) == fits_to_make(agents, None)


def test_scores_of_kinds(agents):
    model = of(agents, "gpt-x", Role.SPEAKER)
    for q, (scores, words) in enumerate(zip(model.log_scores, model.questions.actions, strict=True)):
        alone, two = [np.flatnonzero(row) for row in words[:2]], np.flatnonzero(words[2])
        assert kind_scores(model, "sum")[q] == pytest.approx(
            [scores[alone[0][0]], scores[alone[1][0]], np.logaddexp(*scores[two])]
        )
        assert kind_scores(model, "product")[q, 2] == pytest.approx(scores[two].sum())


def test_a_model_predicts_items_one_by_one_or_at_once(agents):
    person, model = of(agents, "people", Role.LISTENER), of(agents, "gpt-x", Role.LISTENER)
    scores, weight = kind_scores(model, "sum"), np.full((4, 1), 1 / 4)  # every item was answered twice
    softmax = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    made = predictions(person, model, "sum")
    assert tuple(made) == METHODS
    for method, expected in (
        ("item", softmax),
        ("average scores", np.exp((scores * weight).sum(0)) / np.exp((scores * weight).sum(0)).sum()),
        ("average probabilities", softmax.mean(0)),
        ("average best option", np.bincount(scores.argmax(1), minlength=3) / 4),
    ):
        params, places, counts, _ = made[method]
        p = np.exp(policies(stated(), params, subset(person.questions, places)))
        assert p == pytest.approx(np.broadcast_to(expected, p.shape), abs=1e-5)
        assert counts.sum() == 8


def test_points_are_proportions(agents):
    comparison = compare(agents)
    for point in comparison.points:
        assert 0 <= point.predicted <= 1 and 0 <= point.observed <= 1 and point.decisions > 0
    people = [p for p in comparison.points if (p.agent, p.mind, p.condition) == ("people", "gpt-x", "production")]
    assert {p.item for p in people} == {"0", "1", "2", "3"} and len(people) == 12
    for item in "0123":
        assert sum(p.predicted for p in people if p.item == item) == pytest.approx(1.0, abs=1e-4)
        assert sum(p.observed for p in people if p.item == item) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lapse": 0.0}, "lapse=0.0"),
        ({"lapse": 1.5}, "lapse=1.5"),
        ({"join": "mean"}, "join='mean': there are sum and"),
        ({"minds": {Role.LISTENER: ["pragmatic:alpha=2, lapse=0.3"]}}, "leave lapse out here; --lapse sets it for all"),
    ],
)
def test_what_cannot_be_compared_is_named(agents, options, message):
    with pytest.raises(ValueError, match=message):
        compare(agents, **options)


def test_a_missing_score_leaves_its_question_out(files):
    """An empty cell: the model's answer failed, its question is not predicted from, and nothing warns."""
    path = files / "scores_gpt-x.csv"
    head, first, *rest = path.read_text().splitlines()
    cells = first.split(",")
    cells[3] = ""  # of two distractors, the other still has a score
    path.write_text("\n".join([head, ",".join(cells), *rest]) + "\n")
    agents, _ = read_answers([import_reference(*sources(files), log=files / "new.jsonl").log])
    model, person = of(agents, "gpt-x", Role.SPEAKER), of(agents, "people", Role.SPEAKER)
    for join in ("sum", "product"):
        scores = kind_scores(model, join)
        assert np.isnan(scores[0]).all() and np.isfinite(scores[1:]).all()
        assert predictions(person, model, join)["item"][1].tolist() == [1, 2, 3]
    partly = model.log_scores.copy()
    partly[1, np.flatnonzero(model.questions.actions[1, 2])[0]] = np.nan
    for join in ("sum", "product"):
        scores = kind_scores(dataclasses.replace(model, log_scores=partly), join)[1]
        assert np.isnan(scores).tolist() == [False, False, True]
    assert len(compare(agents).models) == 8


def test_to_failed_answers_nothing_is_fitted_and_nothing_explains_them(files):
    with (files / "choices.csv").open(newline="") as file:
        choices = list(csv.reader(file))
    with (files / "choices.csv").open("w", newline="") as file:
        csv.writer(file).writerows([choices[0], *([*row[:3], "zzz"] for row in choices[1:])])
    agents, _ = read_answers([import_reference(*sources(files), log=files / "new.jsonl").log])
    comparison = compare(agents, lapse=0.3)
    people = [row for row in comparison.rows if row.agent == "people"]
    assert len(people) == 3 + 4 and not any(row.best for row in people)
    assert all((row.decisions, row.failed) == (8, 8) for row in people)
    assert [row.log_score for row in people] == pytest.approx([np.log(0.1)] * 7)
    assert {fit.agent for fit in comparison.fits} == {"gpt-x"} and not comparison.models
    assert {point.agent for point in comparison.points} == {"gpt-x"}
    assert any(row.best for row in comparison.rows if row.agent == "gpt-x")
    assert fits_to_make(agents, None) == len(comparison.fits) == 5
    alone = [agent for agent in agents if agent.agent == "people"]
    assert compare(alone).fits == [] and fits_to_make(alone, None) == 0


def test_fits_are_called_without_what_is_fitted(agents):
    specs = ["pragmatic:alpha=3", "pragmatic", "pragmatic:alpha=2,slip=1e-3", "literal"]
    comparison = compare(agents, {Role.SPEAKER: specs})
    people = [fit for fit in comparison.fits if (fit.agent, fit.condition) == ("people", "production")]
    assert [fit.mind for fit in people] == ["pragmatic", "pragmatic:slip=1e-3", "literal"]
    assert {row.mind for row in comparison.rows if row.role == "production"} == {*specs, "uniform"}
    assert [(fit.decisions, fit.failed) for fit in people] == [(8, 1)] * 3
    assert len(comparison.fits) + len(comparison.models) == fits_to_make(agents, {Role.SPEAKER: specs})


def test_a_mind_of_ones_own_stands_beside_the_named_ones(agents):
    """A listener who takes the first object that fits: p is 1 for its kind, 0 for the others."""

    def believed(params, observation):
        fits = observation.context.truth[jnp.maximum(observation.word, 0)]
        return jnp.where(jnp.arange(fits.size) == jnp.argmax(fits), 0.0, -jnp.inf)

    hasty = chooser("hasty", believed, lambda observation: observation.context.objects)
    own = NamedMind("hasty", hasty, Params(lapse=0.4), rational=False)  # its own lapse gives way to the common one
    comparison = compare(agents, {Role.LISTENER: ["literal", own]}, lapse=0.2)
    person = of(agents, "people", Role.LISTENER)
    total = 0.0
    for said, q in zip(person.said, person.question, strict=True):
        truth = np.asarray(person.questions.observations.context.truth[q])
        first = int(np.argmax(truth[int(person.questions.observations.word[q])]))
        total += np.log(0.8 * (person.questions.options[q].index(said) == first) + 0.2 / 3)
    (row,) = (row for row in comparison.rows if (row.agent, row.mind) == ("people", "hasty"))
    assert row.log_score == pytest.approx(total / len(person.said), abs=1e-5)
    (found,) = (fit for fit in comparison.fits if (fit.agent, fit.mind) == ("people", "hasty"))
    assert not found.posterior.alpha_matters
    with pytest.raises(ValueError, match="listener 'hasty': another mind has this name"):
        compare(agents, {Role.LISTENER: [own, own]})
    with pytest.raises(ValueError, match="'uniform': another mind has this name"):
        compare(agents, {Role.LISTENER: [dataclasses.replace(own, spec="uniform")]})


# --- the real recordings

ROWS = dict(
    zip(
        METHODS,
        (("item", "---"), ("cond.", "avg. scores"), ("cond.", "avg. prob."), ("cond.", "avg. WTA")),
        strict=True,
    )
)
MORE_TOKENS = {  # beyond the three of a quoted word: two quotation marks and one token
    "gpt": {"hexagon": 1, "stripes": 1, "spades": 1},
    "Llama": {"orange": 1, "hexagon": 1, "stripes": 2, "stars": 1, "spades": 1},
}


def tokens(model, option):
    """By how many tokens the authors' fits divided a score; they publish the quotients beside the staged sums."""
    words = option.split()
    family = "gpt" if model.startswith("gpt") else "Llama"
    if len(words) == 1:
        return 3 + MORE_TOKENS[family].get(option, 0) - ("chat" in model)
    if family == "gpt":
        return 6 + ("hexagon" in words) + ("spades" in words)
    return 7 + ("orange" in words) + ("hexagon" in words) - ("stars" in words)


@pytest.fixture(scope="module")
def real(shared, tmp_path_factory):
    """The comparison of 302 people and seven models, set as the authors set it."""
    folder, out = shared / "data/rsa/llm_reference_games", tmp_path_factory.mktemp("real")
    scores = sorted(folder.glob("scores_*.csv"))
    with (folder / "items.csv").open(newline="") as file:
        items = list(csv.DictReader(file))
    options = {option for item in items for column in ("objects", "utterances") for option in item[column].split("|")}
    models = [path.stem.removeprefix("scores_") for path in scores]
    with (out / "tokens.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["agent", "option", "tokens"], *([m, o, tokens(m, o)] for m in models for o in sorted(options))]
        )
    done = import_reference(
        folder / "items.csv", folder / "human_choices.csv", scores, out / "tokens.csv", log=out / "log.jsonl"
    )
    assert (done.items, done.people, len(done.models), done.decisions, done.failed) == (100, 302, 7, 2608, 0)
    return compare(read_answers([done.log])[0], join="product")


@pytest.fixture(scope="module")
def authors(shared):
    with (shared / "data/rsa/llm_reference_games/authors_parameter_fits.csv").open(newline="") as file:
        return {(row["model"], row["data"], row["method"], row["condition"]): row for row in csv.DictReader(file)}


def authors_name(model):
    if model.startswith("gpt"):
        return "GPT"
    _, _, size, *rest = model.split("-")
    return f"LLaMA2-{'-'.join(rest)}-{size}"


def distance(found, row, parameter):
    """The largest difference from the authors', as a share of their interval; ends of an interval count half."""
    low, mean, high = (float(row[f"{name}_{parameter}"]) for name in ("|95%", "mean", "95%|"))
    ends = max(abs(found.low - low), abs(found.high - high)) / 2
    return max(abs(found.mean - mean), ends) / (high - low)


@pytest.mark.parametrize(
    ("condition", "spec"), [("production", "pragmatic"), ("interpretation", "pragmatic:slip=1e-7")]
)
def test_rsa_fits_people_as_the_authors_found(real, authors, condition, spec):
    """Theirs are means of 8,000 MCMC draws: 2% of an interval is within their error. They add 1e-7 to predictions."""
    (found,) = (f.posterior for f in real.fits if (f.condition, f.agent, f.mind) == (condition, "people", spec))
    for level in ("item", "cond."):  # the prediction is the same for all items, so both are one fit
        row = authors["RSA", level, "---", condition[:2] + ("d." if condition == "production" else "t.")]
        assert distance(found.alpha, row, "alpha") < 0.035
        assert distance(found.lapse, row, "epsilon") < 0.035
    alpha, lapse = {"production": (3.13, 0.120), "interpretation": (0.674, 0.136)}[condition]
    assert found.alpha.mean == pytest.approx(alpha, abs=0.015) and found.lapse.mean == pytest.approx(lapse, abs=0.0015)


def test_language_models_fit_people_as_the_authors_found(real, authors):
    """All 56 rows: mean log-probability a token, and the product for the two distractors of production."""
    assert len(real.models) == 56
    for found in real.models:
        condition = "prd." if found.condition == "production" else "int."
        row = authors[authors_name(found.mind), *ROWS[found.method], condition]
        assert distance(found.posterior.alpha, row, "alpha") < 0.05, (found.mind, found.method, condition)
        assert distance(found.posterior.lapse, row, "epsilon") < 0.05, (found.mind, found.method, condition)


def test_people_are_pragmatic_and_not_at_random(real):
    for condition in ("production", "interpretation"):
        people = {row.mind: row.log_score for row in real.rows if (row.role, row.agent) == (condition, "people")}
        assert people["pragmatic"] > people["literal"] > people["uniform"]
