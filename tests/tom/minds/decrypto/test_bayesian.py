"""The Bayesian interceptor against the joint over all four keywords, written out."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.decrypto.rules import CODES, Event, History, Observation, View
from otherminds.games.decrypto.vocabulary import load, make
from otherminds.games.protocol import NO_ANSWER
from otherminds.tom.minds.decrypto.bayesian import BayesianParams, bayesian_interceptor
from otherminds.tom.minds.decrypto.guesser import Choice
from otherminds.tom.minds.decrypto.lexicon import make_lexicon
from otherminds.tom.minds.decrypto.speaker import Speaker, contrastive_speaker, literal_speaker, log_likelihood

NOUNS, UNKNOWN = 12, 12
mind = bayesian_interceptor()
guess = jax.jit(mind.guess_log_p)
update = jax.jit(mind.update)


def random_lexicon(keywords, seed=0):
    """Twelve nouns, some of them keywords, and a row for a word that has no vector."""
    words = [f"noun{i}" for i in range(NOUNS)]
    vectors = np.random.default_rng(seed).normal(size=(NOUNS, 5))
    return make_lexicon(make(words, vectors, words[:keywords], "random"), spare=1)


def start(params):
    return mind.init(params, None, View(jnp.int32(2), jnp.full(4, -1)))


def event(code, hints):
    return Event(jnp.bool_(True), *(jnp.array(x, jnp.int32) for x in (0, code, hints, -1, -1)))


def logsumexp(x, axis):
    top = x.max(axis, keepdims=True)
    return np.squeeze(np.log(np.exp(x - top).sum(axis, keepdims=True)) + top, axis)


class Joint:
    """P(k_1 .. k_4 | hints) over every quadruple of keywords, in float64.

    log_s: [N, Q, 4], log S(hint | slot, quadruple); the quadruples are equally probable at first.
    """

    def __init__(self, quadruples, log_s):
        self.quadruples, self.log_s = quadruples, log_s
        self.log_p = np.full(len(quadruples), -np.log(len(quadruples)))

    def of(self, hints, code):
        """[Q] log-probability of the hints for a code; what is unknown or missing tells nothing."""
        pairs = zip(hints, CODES[code], strict=True)
        return sum([self.log_s[h, :, slot] for h, slot in pairs if 0 <= h < len(self.log_s)], np.zeros(len(self.log_p)))

    def reveal(self, hints, code):
        self.log_p = self.log_p + self.of(hints, code)
        self.log_p -= logsumexp(self.log_p, 0)

    def marginals(self, keywords):
        """[4, W] P(slot j holds k)."""
        result = np.zeros((4, keywords))
        for slot in range(4):
            np.add.at(result[slot], self.quadruples[:, slot], np.exp(self.log_p))
        return result

    def codes(self, hints, used):
        """[24] P(code | hints, what was revealed), uniform over the unused codes before the hints."""
        log_p = logsumexp(np.stack([self.log_p + self.of(hints, code) for code in range(24)]), 1)
        log_p[used] = -np.inf
        return np.exp(log_p - logsumexp(log_p, 0))


def independent(lexicon, log_s):
    """The joint of keywords drawn independently and a speaker of single keywords. log_s: [N, W]."""
    quadruples = np.array(list(itertools.product(range(lexicon.similarity.shape[1]), repeat=4)))
    return Joint(quadruples, np.asarray(log_s, np.float64)[:, quadruples])


def speakers(lexicon):
    keywords = lexicon.similarity.shape[1]
    table = jnp.array(np.random.default_rng(3).normal(size=(NOUNS + 1, keywords)) * 3, jnp.float32)
    return {
        "literal": literal_speaker(lexicon, 4.0),
        "any": Speaker(1.0, jax.nn.logsumexp(table[:NOUNS], 0), table),
    }


@pytest.mark.parametrize("speaker", ["literal", "any"])
def test_it_is_exact_where_slots_are_independent(speaker):
    """Beliefs and codes equal those of the joint over W^4 quadruples, turn after turn."""
    lexicon, keywords = random_lexicon(5), 5
    speaker = speakers(lexicon)[speaker]
    params = BayesianParams(lexicon, speaker)
    log_s = log_likelihood(speaker, lexicon, jnp.arange(NOUNS))
    np.testing.assert_allclose(np.exp(np.float64(log_s)).sum(0), 1, rtol=1e-5)  # over the nouns
    joint, belief = independent(lexicon, log_s), start(params)
    rng = np.random.default_rng(1)
    codes = rng.permutation(24)[:7]
    for turn, code in enumerate(codes):
        hints = rng.integers(NO_ANSWER, NOUNS + 1, 3) if turn % 2 else rng.integers(0, NOUNS, 3)
        used = np.isin(np.arange(24), codes[:turn])
        ours = guess(params, belief, jnp.array(hints, jnp.int32), jnp.array(used))
        np.testing.assert_allclose(np.exp(ours), joint.codes(hints, used), rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(np.exp(belief), joint.marginals(keywords), rtol=1e-3, atol=1e-6)
        belief = update(params, belief, event(code, hints))
        joint.reveal(hints, code)
    np.testing.assert_allclose(np.exp(belief), joint.marginals(keywords), rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(np.exp(mind.readout(params, belief, observation((1, 2, 3)))["keyword"]), np.exp(belief))


def observation(hints, used=()):
    nothing = jnp.full(8, -1, jnp.int32)
    codes = jnp.array([*used, *[-1] * (8 - len(used))], jnp.int32)
    history = History(codes, jnp.full((8, 3), -1, jnp.int32), nothing, nothing)
    role, turn, code, zero = (jnp.int32(x) for x in (2, len(used), -1, 0))
    return Observation(role, turn, nothing[:4], code, jnp.array(hints, jnp.int32), zero, zero, history)


def test_unknown_and_missing_hints_teach_nothing():
    lexicon = random_lexicon(5)
    params = BayesianParams(lexicon, literal_speaker(lexicon, 4.0))
    uniform = start(params)
    for hints in ((UNKNOWN, NO_ANSWER, UNKNOWN), (NO_ANSWER,) * 3):
        np.testing.assert_allclose(update(params, uniform, event(7, hints)), uniform, atol=1e-6)
    belief = update(params, uniform, event(0, (3, 4, 5)))
    before = np.asarray(belief)
    after = np.asarray(update(params, belief, event(0, (UNKNOWN, 6, NO_ANSWER))))
    np.testing.assert_allclose(after[[0, 2, 3]], before[[0, 2, 3]], atol=1e-6)
    assert np.abs(after[1] - before[1]).max() > 0.1
    unsure = np.exp(guess(params, belief, jnp.array([UNKNOWN, NO_ANSWER, UNKNOWN]), jnp.arange(24) < 4))
    np.testing.assert_allclose(unsure, (np.arange(24) >= 4) / 20, atol=1e-6)


def test_before_anything_is_revealed_every_code_is_as_probable():
    lexicon = random_lexicon(5)
    params = BayesianParams(lexicon, literal_speaker(lexicon, 4.0))
    first = guess(params, start(params), jnp.array([0, 5, 9]), jnp.zeros(24, bool))
    np.testing.assert_allclose(np.exp(first), 1 / 24, rtol=1e-4)


def test_rules_lapse_and_used_codes():
    lexicon = random_lexicon(5)
    speaker = literal_speaker(lexicon, 4.0)
    joint = independent(lexicon, log_likelihood(speaker, lexicon, jnp.arange(NOUNS)))
    params = BayesianParams(lexicon, speaker)
    belief = update(params, start(params), event(9, (1, 7, 4)))
    joint.reveal((1, 7, 4), 9)
    hints, used = (7, 2, 10), np.arange(24) == 9
    every, unused = joint.codes(hints, np.zeros(24, bool)), joint.codes(hints, used)
    for rule, exclude_used, lapse, alpha in itertools.product(
        ("softmax", "argmax"), (False, True), (0.0, 0.3), (1.0, 2.0)
    ):
        p = unused if exclude_used else every
        p = p**alpha / (p**alpha).sum() if rule == "softmax" else (np.arange(24) == p.argmax()).astype(float)
        params = BayesianParams(lexicon, speaker, Choice(alpha, lapse))
        seen, chooser = observation(hints, (9,)), bayesian_interceptor(rule=rule, exclude_used=exclude_used)
        log_p = jax.jit(chooser.log_policy)(params, belief, seen, jnp.arange(24))
        np.testing.assert_allclose(np.exp(log_p), (1 - lapse) * p + lapse / 24, rtol=1e-3, atol=1e-6)


def test_exposure_is_the_belief_in_the_true_keyword_after_the_hint():
    lexicon = random_lexicon(5)
    params = BayesianParams(lexicon, literal_speaker(lexicon, 4.0))
    belief = update(params, start(params), event(9, (1, 7, 4)))
    keywords, code = jnp.array([2, 0, 4, 3]), 16
    slots, hints = jnp.array(CODES[code]), jnp.array([[0, 8], [UNKNOWN, 3], [11, 6]], jnp.int32)
    scores = mind.slot_scores(params, belief, hints)
    exposed = np.asarray(jax.jit(mind.exposure)(params, belief, hints, scores, slots, keywords))
    for column in range(2):
        after = np.exp(update(params, belief, event(code, hints[:, column])))
        np.testing.assert_allclose(exposed[:, column], after[slots, keywords[slots]], rtol=1e-4)


# Approximations: `independent_slots` where slots are not independent


def packaged_lexicon(keywords, seed):
    """Some of the packaged keywords and 40 of the packaged nouns."""
    packaged, rng = load(), np.random.default_rng(seed)
    secret = rng.choice(len(packaged.keywords), keywords, replace=False)
    chosen = [packaged.keywords[i] for i in secret]
    nouns = [i for i in rng.choice(len(packaged.words), 60, replace=False) if packaged.words[i] not in chosen][:40]
    others = {word: packaged.keyword_vectors[i] for word, i in zip(chosen, secret, strict=True)}
    return make_lexicon(make([packaged.words[i] for i in nouns], packaged.vectors[nouns], chosen, "some", others))


def coupled(lexicon, beta, contrast):
    """The joint of four different keywords; a contrastive speaker makes each hint from all four of them."""
    quadruples = np.array(list(itertools.permutations(range(lexicon.similarity.shape[1]), 4)))
    weight = beta * np.asarray(lexicon.similarity, np.float64)[:, quadruples]
    if contrast:
        weight = 2 * weight - logsumexp(weight, 2)[..., None]
    return Joint(quadruples, weight - logsumexp(weight, 0))


def errors(keywords, contrast, games=6, turns=5, beta=12.0):
    """Over games and turns (from the second on): total variation of the code posteriors, of the slots' keywords, and
    the probability of the true code under the exact and under the approximate posterior."""
    rng, rows, key = np.random.default_rng(0), [], jax.random.key(0)
    contrastive = jax.jit(contrastive_speaker)
    for game in range(games):
        lexicon = packaged_lexicon(keywords, game)
        joint = coupled(lexicon, beta, contrast)
        speaker = contrastive(key, lexicon, beta) if contrast else literal_speaker(lexicon, beta)
        params = BayesianParams(lexicon, speaker)
        belief, true = start(params), rng.integers(len(joint.quadruples))
        codes = rng.permutation(24)[: turns + 1]
        for turn, code in enumerate(codes):
            hints = [rng.choice(len(joint.log_s), p=np.exp(joint.log_s[:, true, slot])) for slot in CODES[code]]
            used = np.isin(np.arange(24), codes[:turn])
            exact = joint.codes(hints, used)
            ours = np.exp(np.float64(guess(params, belief, jnp.array(hints, jnp.int32), jnp.array(used))))
            if turn:
                slots = np.abs(joint.marginals(keywords) - np.exp(belief)).sum(1).mean() / 2
                rows.append((np.abs(exact - ours).sum() / 2, slots, exact[code], ours[code]))
            joint.reveal(hints, code)
            belief = update(params, belief, event(code, hints))
    return np.mean(rows, 0), np.max(rows, 0)


@pytest.mark.parametrize(
    "keywords, contrast, of_codes, of_slots, lost",
    [
        (6, False, 0.14, 0.13, 0.045),  # measured: 0.118, 0.107, 0.028
        (12, False, 0.13, 0.13, 0.035),  # 0.110, 0.114, 0.021
        (6, True, 0.19, 0.14, 0.09),  # 0.172, 0.117, 0.071
        (12, True, 0.155, 0.12, 0.10),  # 0.137, 0.102, 0.083
    ],
)
def test_measured_error_of_independent_slots(keywords, contrast, of_codes, of_slots, lost):
    """Keywords without replacement, and a speaker who contrasts all four, against the joint over W!/(W-4)! quadruples.

    Means over six games of five informed turns, with packaged vectors and beta = 12: the total variation between the
    posteriors over codes, that between the beliefs about a slot's keyword, and what the true code loses in
    probability. A single turn can be worse (up to 0.56 in codes). With hundreds of keywords instead of a dozen the
    replacement matters less; the contrast of a speaker does not go away.
    """
    mean, worst = errors(keywords, contrast)
    print(f"W={keywords}, {'contrastive' if contrast else 'literal'}:", end=" ")
    print(f"total variation of codes {mean[0]:.3f} (worst {worst[0]:.3f}),", end=" ")
    print(f"of slots {mean[1]:.3f} (worst {worst[1]:.3f}), P(true code) {mean[3]:.3f} instead of {mean[2]:.3f}")
    assert mean[0] < of_codes
    assert mean[1] < of_slots
    assert mean[2] - mean[3] < lost


# Speakers


def test_a_literal_speaker_is_normalised_over_the_nouns_alone():
    lexicon = random_lexicon(5)
    heard = lexicon._replace(
        similarity=lexicon.similarity.at[UNKNOWN].set(0.9), known=lexicon.known.at[UNKNOWN].set(True)
    )
    speaker = literal_speaker(heard, 3.0)
    log_s = np.asarray(log_likelihood(speaker, heard, jnp.arange(NOUNS + 1)), np.float64)
    cosines = np.asarray(heard.similarity, np.float64)
    expected = np.exp(3.0 * cosines) / np.exp(3.0 * cosines[:NOUNS]).sum(0)
    np.testing.assert_allclose(np.exp(log_s), expected, rtol=1e-5)
    pairs = log_likelihood(speaker, heard, jnp.array([[1], [12]]), jnp.array([0, 3]))
    np.testing.assert_allclose(pairs, log_s[[1, 12]][:, [0, 3]], rtol=1e-4)


def test_a_contrastive_speaker_is_the_average_over_the_other_three():
    """With many draws the average over all W^3 triples; the total over the nouns is 1 whatever was drawn."""
    lexicon, beta = random_lexicon(4), 2.0
    weight = beta * np.asarray(lexicon.similarity, np.float64)
    expected = np.zeros((NOUNS, 4))
    for three in itertools.product(range(4), repeat=3):
        four = np.stack([weight, *[np.repeat(weight[:, [j]], 4, 1) for j in three]], -1)
        contrast = (2 * weight - logsumexp(four, -1))[:NOUNS]
        expected += np.exp(contrast - logsumexp(contrast, 0)) / 4**3
    many = contrastive_speaker(jax.random.key(1), lexicon, beta, samples=4000)
    np.testing.assert_allclose(np.exp(log_likelihood(many, lexicon, jnp.arange(NOUNS))), expected, atol=3e-3)
    few = contrastive_speaker(jax.random.key(2), lexicon, beta, samples=3)
    np.testing.assert_allclose(np.exp(log_likelihood(few, lexicon, jnp.arange(NOUNS))).sum(0), 1, rtol=1e-4)
    assert (
        np.abs(expected - np.exp(log_likelihood(literal_speaker(lexicon, beta), lexicon, jnp.arange(NOUNS)))).max()
        > 0.02
    )
