"""Choices of people under the recursion, against the numbers that their papers and packages give."""

import csv
import json
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import gammaln

from otherminds.rsa import agents

# Frank, Goodman et al., pragmods: words hat, glasses, mustache by faces foil, target, logical.
PRAGMODS = {
    "simple": [[0, 0], [0, 1], [1, 1]],
    "complex": [[0, 0, 1], [0, 1, 1], [1, 1, 0]],
    "oddman": [[1, 1, 0], [1, 0, 1], [0, 1, 1]],
    "twins": [[0, 1, 1], [1, 0, 1], [1, 0, 1]],
}
FACES = ("foil", "target", "logical")
WORDS = ("hat", "glasses", "mustache")


@cache
def log_speaker(matrix, depth, alpha):
    """The last speaker's under a uniform prior (depth 0: the literal listener's rows); a face may be without a word."""
    truth = jnp.asarray(np.array(PRAGMODS[matrix], bool).T)
    uniform = jnp.full(truth.shape[1], -jnp.log(float(truth.shape[1])))
    if depth == 0:
        return agents.listener(truth, uniform, 0, allow_empty=True)
    return agents.speaker(truth, uniform, depth, alpha, allow_empty=True)


@jax.jit
def last_listener(log_speaker, prior):
    """The prior enters at the last pragmatic listener alone; else faces are alike."""
    return agents.pragmatic_listener(log_speaker, jnp.log(prior / prior.sum()))


@pytest.fixture(scope="module")
def pragmods(shared):
    with open(shared / "data/rsa/pragmods_models.csv") as file:
        return list(csv.DictReader(file))


def correlation(rows, depth, alpha):
    predicted = []
    for row in rows:
        listener = log_speaker(row["matrix"], depth, alpha)
        if depth:
            listener = last_listener(listener, jnp.array([float(row[face]) for face in FACES]))
        predicted.append(float(jnp.exp(listener[WORDS.index(row["query"]), FACES.index(row["object"])])))
    return np.corrcoef(predicted, [float(row["p"]) for row in rows])[0, 1]


@pytest.mark.parametrize(
    "alpha, depth, r",
    [(1, 0, 0.73574), (1, 1, 0.85815), (1, 3, 0.94727), (1, 6, 0.95179), (3, 1, 0.94513), (3, 2, 0.91929)],
)
def test_pragmods_correlation(pragmods, alpha, depth, r):
    assert len(pragmods) == 57
    with jax.enable_x64(True):
        assert correlation(pragmods, depth, float(alpha)) == pytest.approx(r, abs=5e-6)


def test_pragmods_every_published_tenth_cell(pragmods, shared):
    with open(shared / "data/rsa/pragmods_alpha.csv") as file:
        cells = [row for row in csv.DictReader(file)]
    assert len(cells) == 306
    with jax.enable_x64(True):
        for cell in cells[::10]:
            ours = correlation(pragmods, int(cell["depth"]), float(cell["alpha"]))
            assert ours == pytest.approx(float(cell["cor"]), abs=1e-9), cell


def test_the_default_names_the_face_that_no_word_fits():
    simple = jnp.asarray(np.array(PRAGMODS["simple"], bool).T)
    with pytest.raises(ValueError, match="meaning 0 has no legal utterance"):
        agents.speaker(simple, jnp.log(jnp.full(3, 1 / 3)), 1)


def test_qing_and_franke_posterior_of_alpha(shared):
    """115 of 180 people took "blue" for the blue square; alpha is uniform on 0 to 10."""
    golden = json.loads((shared / "golden/rsa/qing_franke_alpha_posterior_grid.json").read_text())
    truth = jnp.array([[1, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0]], bool)  # blue circle, green square, blue square
    with jax.enable_x64(True):
        uniform = jnp.full(3, -jnp.log(3.0))
        alpha = jnp.linspace(0, 10, 20_001)
        blue = jax.vmap(lambda a: agents.listener(truth, uniform, 1, a)[0])(alpha)
        ways = gammaln(181) - gammaln(116) - gammaln(66)
        log_likelihood = ways + 115 * blue[:, 2] + 65 * blue[:, 0]
        density = np.exp(np.asarray(log_likelihood)) / 10
        alpha = np.asarray(alpha)
        marginal = np.trapezoid(density, alpha)
        mean = np.trapezoid(alpha * density, alpha) / marginal
        sd = np.sqrt(np.trapezoid((alpha - mean) ** 2 * density, alpha) / marginal)
    assert np.log(marginal) == pytest.approx(
        -5.32293804, abs=1e-7
    )  # by adaptive quadrature; the golden grid is coarser
    assert np.log(marginal) == pytest.approx(golden["log_marginal"], abs=1e-5)
    assert mean == pytest.approx(golden["mean"], abs=1e-6) and sd == pytest.approx(golden["sd"], abs=1e-6)
    assert alpha[np.argmax(density)] == pytest.approx(golden["mle"], abs=3e-4)
    assert log_likelihood[2000] == pytest.approx(golden["loglik_L1_alpha1"], abs=1e-9)
