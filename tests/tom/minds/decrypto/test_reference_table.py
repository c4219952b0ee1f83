"""The embedding baseline's measured table, on the very deals it was measured on, within its sampling error."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.decrypto.rules import Ending, Role, begin, decrypto
from otherminds.games.decrypto.text import read_code
from otherminds.games.decrypto.vocabulary import make
from otherminds.games.rollout import rollout
from otherminds.tom.minds.decrypto.lexicon import make_lexicon
from otherminds.tom.minds.decrypto.registry import named

GAMES, COPIES = 96, 10


@pytest.fixture(scope="module")
def world(shared):
    """The stand-in nouns and vectors, the benchmark's keywords, and the 96 deals of seeds 0 to 95."""
    golden = shared / "golden/decrypto"
    with np.load(golden / "standin_vectors.npz") as data:
        vectors = dict(zip((str(word) for word in data["words"]), data["vectors"], strict=True))
    nouns = (golden / "standin_nouns.txt").read_text().split()
    keywords = (shared / "data/decrypto/keywords_680.txt").read_text().split()
    vocabulary = make(nouns, np.stack([vectors[noun] for noun in nouns]), keywords, "stand-in", vectors)
    deals = [deal(seed, keywords) for seed in range(GAMES)]
    recorded = json.loads((golden / "codes_by_seed.json").read_text())
    for seed in range(20):
        given = [read_code(code) for code in recorded[str(seed)]["codes_with_sampled_keywords"][:8]]
        assert deals[seed][1] == given
    return make_lexicon(vocabulary), jnp.array([d[0] for d in deals]), jnp.array([d[1] for d in deals])


def deal(seed, keywords):
    """The reference's deal: keywords, then codes that do not repeat, from NumPy's legacy generator."""
    random = np.random.RandomState(seed)
    chosen = [keywords.index(word) for word in random.choice(keywords, 4, replace=False)]
    codes: list[int] = []
    while len(codes) < 8:
        code = read_code([int(digit) for digit in random.choice([1, 2, 3, 4], 3, replace=False)])
        if code not in codes:
            codes.append(code)
    return chosen, codes


def play(world, specs):
    """[COPIES, GAMES] final states: every deal played several times."""
    lexicon, keywords, codes = world
    minds = [named(spec, role) for spec, role in zip(specs, Role, strict=True)]
    params = tuple(mind.make_params(lexicon) for mind in minds)
    game = decrypto(680)

    def one(keywords, codes, key, params):
        dealt = game._replace(init=lambda _: begin(keywords, codes))
        return rollout(dealt, tuple(mind.mind for mind in minds), params, key)[0]

    many = jax.vmap(jax.vmap(one, (0, 0, 0, None)), (None, None, 0, None))
    return jax.jit(many)(keywords, codes, jax.random.split(jax.random.key(0), (COPIES, GAMES)), params)


def means(rows, *names):
    return [float(np.mean([row[name] for row in rows])) for name in names]


def agree(state, turns, miscommunications, interceptions):
    """Means over 96 games, ours and the reference's, within four standard errors of their difference."""
    for ours, theirs in (
        (state.ending_turn, turns),
        (state.miscommunications, miscommunications),
        (state.interceptions, interceptions),
    ):
        by_copy = np.asarray(ours, np.float64).mean(1)
        error = by_copy.std(ddof=1) * np.sqrt(1 + 1 / COPIES)
        assert abs(by_copy.mean() - theirs) < 4 * error + 0.02, (by_copy.mean(), error, theirs)


SIZES = [pytest.param(k, marks=[] if k == 16 else pytest.mark.slow) for k in (1, 4, 16, 64)]


@pytest.mark.parametrize("k", SIZES)
def test_baseline_against_itself(world, shared, k):
    lines = (shared / "golden/decrypto/ksweep.jsonl").read_text().splitlines()
    rows = [row for row in map(json.loads, lines) if row["k"] == k and row["global_guess"]]
    state = play(world, (f"baseline:k={k}", "baseline", "baseline"))
    agree(state, *means(rows, "turns", "mean_miscomm_tokens", "mean_intercept_tokens"))
    names = {Ending.INTERCEPTION: "intercept", Ending.MISCOMMUNICATION: "miscomm", Ending.SURVIVED: "survived"}
    for ending, name in names.items():
        by_copy = (np.asarray(state.ending) == ending).sum(1)
        theirs = sum(row["stats"][name] for row in rows)
        assert abs(by_copy.mean() - theirs) < 4 * by_copy.std(ddof=1) + 2, (ending, by_copy.mean(), theirs)


def test_greedy_assignment(world, shared):
    lines = (shared / "golden/decrypto/ksweep.jsonl").read_text().splitlines()
    rows = [row for row in map(json.loads, lines) if not row["global_guess"]]
    greedy = "baseline:assignment=greedy"
    agree(
        play(world, ("baseline", greedy, greedy)),
        *means(rows, "turns", "mean_miscomm_tokens", "mean_intercept_tokens"),
    )


@pytest.mark.parametrize("k", SIZES)
def test_cross_play_with_a_decoder_of_25_dimensions(world, shared, k):
    lines = (shared / "golden/decrypto/xplay.jsonl").read_text().splitlines()
    rows = [row for row in map(json.loads, lines) if row["k"] == k]
    state = play(world, (f"baseline:k={k}", "baseline:dimensions=25", "baseline"))
    agree(state, *means(rows, "turns", "mt", "it"))
