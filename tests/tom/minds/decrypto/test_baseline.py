"""The embedding baseline against its published code (recorded), SciPy's assignment and a plain-Python encoder."""

import itertools
import json
from functools import cache, lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linear_sum_assignment

from otherminds.games.decrypto.rules import CODES, Event, History, Observation, View, code_index
from otherminds.games.decrypto.vocabulary import make
from otherminds.games.protocol import NO_ANSWER
from otherminds.tom.minds.decrypto.baseline import (
    EncoderParams,
    GuesserParams,
    baseline_decoder,
    baseline_encoder,
    baseline_interceptor,
    greedy_scores,
)
from otherminds.tom.minds.decrypto.guesser import Choice, choose, code_scores
from otherminds.tom.minds.decrypto.hints import HintSet, triples
from otherminds.tom.minds.decrypto.lexicon import hear, make_lexicon, with_noise

TURNS = 8
KEYWORDS = jnp.arange(4, dtype=jnp.int32)
INTERCEPTOR = View(jnp.int32(2), jnp.full(4, -1))
encoder = cache(lambda k, skip_keyword=False: baseline_encoder(k, turns=TURNS, skip_keyword=skip_keyword))


def observation(*, turns=(), code=-1, hints=(-1, -1, -1), keywords=KEYWORDS):
    """What a role sees after some finished turns: (code, hints) each."""
    codes, past = np.full(TURNS, -1, np.int32), np.full((TURNS, 3), -1, np.int32)
    for turn, (old_code, old_hints) in enumerate(turns):
        codes[turn], past[turn] = old_code, old_hints
    zero, none = np.int32(0), np.full(TURNS, -1, np.int32)
    history = History(codes, past, none, none)
    seen = (zero, len(turns), np.int32(keywords), code, np.int32(hints), zero, zero, history)
    return jax.tree.map(jnp.int32, Observation(*seen))


def event(code, hints):
    return Event(jnp.bool_(True), *map(jnp.int32, (0, code, hints, -1, -1)))


def digits(code):
    return (CODES[code] + 1).tolist()


# The toy world of the recordings: 17 nouns and 4 keywords in four dimensions, unknown words all (1, 1, 1, 1)


@pytest.fixture(scope="module")
def toy(shared):
    return json.loads((shared / "golden/decrypto/baseline_toy.json").read_text())


class World:
    """A lexicon and the words that stand in its rows; words that it does not know are heard as the vector of ones."""

    def __init__(self, words, keywords, vectors, unknown=()):
        others = {word.casefold(): np.asarray(vectors[word], np.float32) for word in keywords}
        self.vocabulary = make(
            words, np.array([vectors[word] for word in words], np.float32), keywords, "recorded", others
        )
        self.lexicon = make_lexicon(self.vocabulary, spare=len(unknown))
        self.rows = {word: row for row, word in enumerate([*words, *unknown])}
        ones = np.ones(len(next(iter(vectors.values()))), np.float32)
        for word in unknown:
            self.lexicon = hear(self.lexicon, self.rows[word], ones)

    def indices(self, words):
        return [self.rows[word] for word in words]


@pytest.fixture(scope="module")
def toy_world(toy):
    heard = [*toy["bob"], *toy["eve"]]
    words = {word for row in heard for word in row["hints"]}
    words |= {word for row in toy["eve"] for slot in row["history"] for word in slot}
    unknown = sorted(words - set(toy["hint_vocab"]))
    assert len(unknown) == 9
    return World(toy["hint_vocab"], toy["keywords"], toy["embeddings"], unknown)


def test_recorded_rankings(toy, toy_world):
    lexicon = toy_world.lexicon
    for slot, keyword in enumerate(toy["keywords"]):
        words, cosines = zip(*toy["ranking"][keyword], strict=True)
        assert [toy["hint_vocab"][row] for row in np.asarray(lexicon.nearest)[slot]] == list(words)
        np.testing.assert_allclose(np.asarray(lexicon.similarity)[toy_world.indices(words), slot], cosines, atol=1e-6)
    np.testing.assert_array_equal(lexicon.keyword_words, [toy_world.rows["lantern"], -1, -1, -1])


def test_recorded_passing_sets(toy, toy_world):
    """Who is near and passes depends on K only in how many are looked at."""
    candidates = jax.jit(encoder(17).init)(EncoderParams(toy_world.lexicon), None, View(jnp.int32(0), KEYWORDS))
    assert len(toy["passing_set_by_K"]) == 24
    for name, expected in toy["passing_set_by_K"].items():
        k, keyword = name.removeprefix("K=").split(",")
        slot = toy["keywords"].index(keyword)
        words, passes, forbidden = (np.asarray(leaf)[slot, : int(k)] for leaf in candidates)
        assert [toy["hint_vocab"][word] for word in words[passes & ~forbidden]] == expected, name


@lru_cache
def digit_policy(k, skip_keyword=False):
    """P(hint) of every noun, for each digit of the code [3, N]: the policy over all combinations, summed up."""
    mind = encoder(k, skip_keyword)

    def marginals(params, observation):
        nouns = params.lexicon.nearest.shape[1]
        belief = mind.init(params, None, View(jnp.int32(0), observation.keywords))
        every = HintSet(jnp.tile(jnp.arange(nouns), (3, 1)), jnp.ones((3, nouns), bool))
        p = jnp.exp(mind.log_policy(params, belief, observation, every)).reshape(nouns, nouns, nouns)
        return jnp.stack([p.sum((1, 2)), p.sum((0, 2)), p.sum((0, 1))])

    return jax.jit(marginals)


def reference_support(cosines, keyword_word, slot, k, past, *, skip_keyword=False):
    """What may be said for a digit, in plain Python. cosines: [N, 4]. Returns the words, and whether it fell back."""
    ranking = sorted(range(len(cosines)), key=lambda n: -cosines[n, slot])
    if skip_keyword:
        ranking = [n for n in ranking if n != keyword_word]

    def left(count):
        return [n for n in ranking[:count] if n != keyword_word and n not in past]

    others = [s for s in range(4) if s != slot]
    passing = [n for n in left(k + len(past)) if cosines[n, slot] > max(cosines[n, s] for s in others)]
    if passing:
        return passing, False
    return left(k) or [n for n in range(len(cosines)) if n != keyword_word], True


def reference_policy(world, k, code, turns, **options):
    """[3, N] the same as `digit_policy`, and the number of digits that fell back."""
    lexicon = world.lexicon
    nouns = lexicon.nearest.shape[1]
    cosines, keyword_words = np.asarray(lexicon.similarity)[:nouns], np.asarray(lexicon.keyword_words)
    p, fallbacks = np.zeros((3, nouns)), 0
    for i, slot in enumerate(CODES[code]):
        past = [h for old, hints in turns for d, h in zip(CODES[old], hints, strict=True) if d == slot]
        words, fell_back = reference_support(cosines, keyword_words[slot], slot, k, past, **options)
        p[i, words], fallbacks = 1 / len(words), fallbacks + fell_back
    return p, fallbacks


def test_recorded_frequencies_of_first_hints(toy, toy_world):
    recorded = toy["first_hint_frequency_over_600_seeds"]
    assert len(recorded) == 16
    for name, counts in recorded.items():
        k, keyword = name.removeprefix("K=").split(",")
        slot = toy["keywords"].index(keyword)
        code = int(np.flatnonzero(CODES[:, 0] == slot)[0])
        p = np.asarray(digit_policy(int(k))(EncoderParams(toy_world.lexicon), observation(code=code)))[0]
        observed = np.bincount(toy_world.indices(counts), list(counts.values()), len(p))
        assert not observed[p == 0].any(), name
        if (p > 0).sum() > 1:
            assert stats.chisquare(observed[p > 0], p[p > 0] / p.sum() * 600).pvalue > 1e-3, name
        else:
            assert p.max() == pytest.approx(1)


@pytest.mark.parametrize("k", [1, 2, 4, 8])
def test_recorded_encoder_sequences(toy, toy_world, k):
    """Every recorded hint is possible, and as many digits fell back as in the recording, turn by turn."""
    sequences = [s for s in toy["encoder_sequences_numpy_RandomState"] if s["k"] == k]
    assert len(sequences) == 2
    for sequence in sequences:
        turns = []
        for recorded in sequence["rounds"]:
            code = code_index(map(int, recorded["code"]))
            hints = toy_world.indices(recorded["hints"])
            p = np.asarray(digit_policy(k)(EncoderParams(toy_world.lexicon), observation(turns=turns, code=code)))
            expected, fallbacks = reference_policy(toy_world, k, code, turns)
            np.testing.assert_allclose(p, expected, atol=1e-5)
            assert fallbacks == recorded["fallbacks"]
            assert (p[np.arange(3), hints] > 0).all()
            turns.append((code, hints))
            used = np.bincount(CODES[[c for c, _ in turns]].ravel(), minlength=4)
            assert recorded["k_counter"] == {str(slot): k + int(count) for slot, count in enumerate(used)}


@pytest.mark.parametrize("k", [1, 2])
def test_draws_follow_the_policy_also_where_no_candidate_is_left(toy_world, k):
    """After some turns of K = 1 she says any noun; such hints are not among her alternatives."""
    mind, params = encoder(k), EncoderParams(toy_world.lexicon)
    rows = toy_world.rows
    turns = [
        (code_index((2, 1, 3)), [rows["anchor"], rows["glow"], rows["melody"]]),
        (code_index((2, 1, 4)), [rows["ambig"], rows["lamp"], rows["field"]]),
    ]
    code = code_index((1, 2, 3))
    seen = observation(turns=turns, code=code)
    p, fallbacks = reference_policy(toy_world, k, code, turns)
    assert fallbacks == (0 if k == 2 else 1)
    np.testing.assert_allclose(digit_policy(k)(params, seen), p, atol=1e-5)

    @jax.jit
    def draw(keys):
        belief = mind.init(params, None, View(jnp.int32(0), KEYWORDS))
        return jax.vmap(lambda key: mind.sample(key, params, belief, seen))(keys)

    draws = np.asarray(draw(jax.random.split(jax.random.key(0), 2000)))
    for i in range(3):
        observed = np.bincount(draws[:, i], minlength=p.shape[1])
        assert not observed[p[i] == 0].any()
        if (p[i] > 0).sum() > 1:
            assert stats.chisquare(observed[p[i] > 0], p[i][p[i] > 0] * 2000).pvalue > 1e-3


def test_an_encoder_who_skips_the_keyword_always_has_a_candidate(toy_world):
    """At K = 1 the nearest noun of `lantern` is itself: the reference says anything, this option the next noun."""
    params, code = EncoderParams(toy_world.lexicon), code_index((1, 2, 3))
    seen = observation(code=code)
    plain, skipping = (np.asarray(digit_policy(1, skip)(params, seen)) for skip in (False, True))
    assert (plain[0] > 0).sum() == 16 and plain[0, toy_world.rows["lantern"]] == 0
    np.testing.assert_allclose(skipping[0, toy_world.rows["glow"]], 1, rtol=1e-5)
    np.testing.assert_allclose(skipping[1:], plain[1:], atol=1e-6)
    turns = [(code, [toy_world.rows[word] for word in ("glow", "anchor", "melody")])]
    expected, _ = reference_policy(toy_world, 1, code, turns, skip_keyword=True)
    np.testing.assert_allclose(digit_policy(1, True)(params, observation(turns=turns, code=code)), expected, atol=1e-5)


def test_the_lapse_says_any_combination_of_what_is_offered(toy_world):
    """Over her own alternatives: nearest nouns, the keyword never."""
    mind, code = encoder(2), code_index((1, 2, 3))
    seen, view = observation(code=code), View(jnp.int32(0), KEYWORDS)

    @jax.jit
    def policy(lapse):
        params = EncoderParams(toy_world.lexicon, lapse)
        belief = mind.init(params, None, view)
        offered = mind.alternatives(params, belief, seen)
        return mind.log_policy(params, belief, seen, offered), triples(offered)

    plain, combinations = map(np.asarray, policy(0.0))
    lapsing, _ = map(np.asarray, policy(0.25))
    valid = combinations[:, 0] != toy_world.rows["lantern"]
    np.testing.assert_allclose(np.exp(lapsing), 0.75 * np.exp(plain) + 0.25 * valid / valid.sum(), atol=1e-6)
    np.testing.assert_allclose(np.exp(lapsing).sum(), 1, rtol=1e-5)
    slope = jax.jacobian(lambda lapse: policy(lapse)[0][0])(0.25)
    assert np.isfinite(slope) or not valid[0]


def test_k_below_one_is_refused():
    with pytest.raises(ValueError, match="k=0"):
        baseline_encoder(0)


# Guessers


def gap(scores):
    """How much better the best code is than the second best; scores: [3, 4]."""
    best = np.sort([scores[np.arange(3), code].sum() for code in CODES])
    return best[-1] - best[-2]


def greedily(scores, last_wins):
    """The greedy assignment in plain Python, and the smallest lead of a choice over the next best slot left."""
    left, code, lead = [0, 1, 2, 3], [], np.inf
    for row in scores:
        ranked = sorted(left, key=lambda slot: (row[slot], slot if last_wins else -slot), reverse=True)
        lead = min(lead, row[ranked[0]] - row[ranked[1]])
        code.append(ranked[0])
        left.remove(ranked[0])
    return code, lead


@jax.jit
def argmax_guess(scores):
    return jnp.argmax(choose(code_scores(scores), Choice(), "argmax", jnp.ones(24, bool)))


@pytest.mark.parametrize("last_wins", [False, True])
def test_assignment_of_random_scores(last_wins):
    rng = np.random.default_rng(0)
    greedy = jax.jit(lambda scores: jnp.argmax(greedy_scores(last_wins)(scores)))
    best = greedy_best = 0
    for _ in range(300):
        scores = rng.normal(size=(3, 4)).astype(np.float32)
        if gap(scores) > 1e-3:
            assert CODES[argmax_guess(scores)].tolist() == linear_sum_assignment(-scores)[1].tolist()
            best += 1
        rough = np.round(scores)  # many ties
        assert CODES[greedy(rough)].tolist() == greedily(rough, last_wins)[0]
        greedy_best += greedily(rough, last_wins)[1] == 0
    assert best > 250 and greedy_best > 100


def test_ties_go_to_the_first_code_also_where_rounding_would_break_them():
    scores = np.float32([[0, 0, 0.55, 0.97], [0.49, 0, 0.45, 0.71], [0.49, 0, 0.45, 0.71]])
    for noise in np.random.default_rng(0).uniform(-2e-7, 2e-7, (20, 3, 4)).astype(np.float32):
        assert digits(argmax_guess(scores + noise)) == [4, 1, 3]  # not 4-3-1, which is as good
        assert digits(argmax_guess(noise)) == [1, 2, 3]


def cosines(vectors, hints, others):
    """[3, 4] in float64; 0 where a slot has no vector."""
    result = np.zeros((3, 4))
    for i, j in itertools.product(range(3), range(4)):
        if others[j] is not None:
            a, b = np.float64(vectors[hints[i]]), np.float64(others[j])
            result[i, j] = a @ b / np.sqrt((a @ a) * (b @ b))
    return result


@cache
def jitted_guess(role, **options):
    mind = {"decoder": baseline_decoder, "interceptor": baseline_interceptor}[role](**options)

    def guess(params, belief, seen):
        return jnp.argmax(mind.log_policy(params, belief, seen, mind.alternatives(params, belief, seen)))

    return mind, jax.jit(guess)


def test_recorded_decoder_guesses(toy, toy_world):
    vectors = {**dict.fromkeys(toy_world.rows, np.ones(4)), **toy["embeddings"]}
    compared = {"global": 0, "greedy": 0}
    for recorded in toy["bob"]:
        scores = cosines(vectors, recorded["hints"], [vectors[word] for word in toy["keywords"]])
        for assignment, lead in (("global", gap(scores)), ("greedy", greedily(scores, False)[1])):
            if lead < 1e-6:
                continue  # a tie: the reference's choice is its library's
            _, guess = jitted_guess("decoder", assignment=assignment)
            seen = observation(hints=toy_world.indices(recorded["hints"]))
            ours = guess(GuesserParams(toy_world.lexicon), KEYWORDS, seen)
            assert digits(ours) == recorded[f"bob_{assignment}"], recorded["hints"]
            compared[assignment] += 1
    assert compared == {"global": 3, "greedy": 5}


def test_recorded_interceptor_guesses(toy, toy_world):
    vectors = {**dict.fromkeys(toy_world.rows, np.ones(4)), **toy["embeddings"]}
    compared = {"global": 0, "greedy": 0}
    for recorded in toy["eve"]:
        past = [[np.asarray(vectors[word], np.float64) for word in slot] for slot in recorded["history"]]
        scores = cosines(vectors, recorded["hints"], [np.mean(slot, 0) if slot else None for slot in past])
        belief = np.stack([np.sum([np.zeros(4), *slot], 0) for slot in past]).astype(np.float32)
        for assignment, lead in (("global", gap(scores)), ("greedy", greedily(scores, True)[1])):
            if lead < 1e-6 and recorded["history_name"] != "empty":
                continue  # a tie: the reference's choice is its library's
            _, guess = jitted_guess("interceptor", assignment=assignment)
            seen = observation(hints=toy_world.indices(recorded["hints"]))
            ours = guess(GuesserParams(toy_world.lexicon), belief, seen)
            assert digits(ours) == recorded[f"eve_{assignment}"], recorded
            compared[assignment] += 1
    assert compared == {"global": 14, "greedy": 18}


def test_the_interceptor_averages_the_hints_it_has_seen_and_skips_what_it_does_not_know(toy, toy_world):
    mind, params = baseline_interceptor(), GuesserParams(toy_world.lexicon._replace(known=jnp.arange(26) < 17))
    update = jax.jit(lambda belief, event: mind.update(params, belief, event))
    rng, belief = np.random.default_rng(1), mind.init(params, None, INTERCEPTOR)
    total = np.zeros((4, 4))
    for _ in range(6):
        code, hints = rng.integers(24), rng.integers(NO_ANSWER, 26, 3)
        belief = update(belief, event(code, hints))
        for slot, hint in zip(CODES[code], hints, strict=True):
            if 0 <= hint < 17:
                total[slot] += toy["embeddings"][toy["hint_vocab"][hint]]
    np.testing.assert_allclose(belief, total, rtol=1e-5, atol=1e-6)
    scores = np.asarray(mind.slot_scores(params, belief, jnp.array([0, 20, NO_ANSWER])))
    np.testing.assert_array_equal(scores[1:], 0)
    assert (scores[0] != 0).any()


@pytest.mark.parametrize("role", ["decoder", "interceptor"])
def test_excluding_used_codes_takes_the_best_of_the_others(toy_world, role):
    mind, guess = jitted_guess(role, exclude_used=True)
    _, careless = jitted_guess(role)
    params, rng = GuesserParams(toy_world.lexicon), np.random.default_rng(2)
    changed = 0
    for _ in range(20):
        turns = [(code, rng.integers(0, 17, 3)) for code in rng.choice(24, 7, replace=False)]
        belief = KEYWORDS
        if role == "interceptor":
            belief = jnp.array(rng.normal(size=(4, 4)), jnp.float32)
        hints = rng.integers(0, 17, 3)
        seen = observation(turns=turns, hints=hints)
        scores = np.asarray(mind.slot_scores(params, belief, jnp.array(hints)), np.float64)
        totals = np.array([scores[np.arange(3), code].sum() for code in CODES])
        best = totals.argmax()
        assert totals[careless(params, belief, seen)] == pytest.approx(totals.max(), abs=1e-5)
        unused = np.delete(np.arange(24), [code for code, _ in turns])
        ours = int(guess(params, belief, seen))
        assert ours in unused
        assert totals[ours] == pytest.approx(totals[unused].max(), abs=1e-5)
        changed += best not in unused
    assert changed > 0


@pytest.mark.parametrize("last_wins", [False, True])
def test_the_greedy_assignment_among_unused_codes(last_wins):
    """Each hint in turn takes the best slot with which an unused code can still be made."""
    rng = np.random.default_rng(3)

    @jax.jit
    def guess(scores, unused):
        return jnp.argmax(choose(greedy_scores(last_wins)(scores), Choice(), "argmax", unused))

    for _ in range(100):
        scores, unused = np.round(2 * rng.normal(size=(3, 4))).astype(np.float32), rng.random(24) < 0.3
        unused[rng.integers(24)] = True
        code = []
        for i in range(3):
            possible = {int(c[i]) for c in CODES[unused] if c[:i].tolist() == code}
            code.append(max(possible, key=lambda slot: (scores[i, slot], slot if last_wins else -slot)))
        assert CODES[guess(scores, unused)].tolist() == code


def test_an_unknown_assignment_is_refused():
    with pytest.raises(ValueError, match="'best'"):
        baseline_decoder(assignment="best")


@pytest.mark.parametrize("assignment", ["global", "greedy"])
def test_an_encoder_who_nests_it_foresees_its_guesses(toy_world, assignment):
    """The smoothed log-probability of a guess is above that of a coin just where the guess is made."""
    mind = baseline_decoder(assignment=assignment, exclude_used=True)
    params = GuesserParams(toy_world.lexicon, Choice(sharpness=200.0))
    hints, used = jnp.array([[0, 3, 16], [4, 10, 14], [8, 11, 1]]), jnp.arange(24) < 2
    grid = jnp.stack(jnp.meshgrid(*hints, indexing="ij"), -1).reshape(-1, 3)

    @jax.jit
    def foreseen(code):
        log_p = mind.grid_log_p(params, mind.slot_scores(params, KEYWORDS, hints), code, used)
        return log_p, jax.vmap(lambda h: mind.guess_log_p(params, KEYWORDS, h, used))(grid)[:, code]

    for code in (0, 2, 8, 15):
        log_p, guessed = map(np.asarray, foreseen(code))
        scores = [np.asarray(mind.slot_scores(params, KEYWORDS, h)) for h in grid]
        clear = np.array([gap(s) for s in scores]) > 0.02 if assignment == "global" else np.full(27, True)
        if code < 2:
            np.testing.assert_array_equal(log_p, -np.inf)
        np.testing.assert_array_equal((log_p > np.log(0.5))[clear], (guessed == 0)[clear])


# Real vectors


@pytest.fixture(scope="module")
def real(shared):
    return json.loads((shared / "golden/decrypto/baseline_real_vectors.json").read_text())


@pytest.fixture(scope="module")
def real_world(shared, real):
    with np.load(shared / "golden/decrypto/standin_vectors.npz") as stored:
        vectors = dict(zip(stored["words"].tolist(), stored["vectors"], strict=True))
    words = (shared / "golden/decrypto/standin_nouns.txt").read_text().split()
    return World(words, list(real["top18"]), vectors)


def test_recorded_nearest_nouns(real, real_world):
    lexicon, words = real_world.lexicon, real_world.vocabulary.words
    for slot, (keyword, expected) in enumerate(real["top18"].items()):
        assert real_world.vocabulary.keywords[slot] == keyword
        nearest = np.asarray(lexicon.nearest)[slot, :18]
        assert [words[row] for row in nearest] == [word for word, _ in expected]
        cosine = np.asarray(lexicon.similarity)[nearest, slot]
        np.testing.assert_allclose(cosine, [value for _, value in expected], atol=2e-6)


def test_recorded_games(real, real_world):
    """Both guessers guess as recorded, in every turn; every hint was possible for the encoder at K = 16."""
    _, decode = jitted_guess("decoder")
    interceptor, intercept = jitted_guess("interceptor")
    mind, lexicon = encoder(16), real_world.lexicon
    own = GuesserParams(lexicon)

    @jax.jit
    def log_p(view, seen, hints):
        params = EncoderParams(lexicon)
        belief = mind.init(params, None, view)
        offered = mind.alternatives(params, belief, seen)
        every = mind.log_policy(params, belief, seen, offered)
        return jnp.where((triples(offered) == hints).all(1) & offered_once(offered), every, -jnp.inf).max()

    update = jax.jit(lambda belief, event: interceptor.update(own, belief, event))
    assert sum(len(recorded["trace"]) for recorded in real["games"]) == 10
    for recorded in real["games"]:
        keywords = jnp.array([real_world.vocabulary.keywords.index(word) for word in recorded["keywords"]])
        belief, turns = interceptor.init(own, None, INTERCEPTOR), []
        for turn in recorded["trace"]:
            code, hints = code_index(map(int, turn["code"])), real_world.indices(turn["hints"])
            seen = observation(turns=turns, code=code, hints=hints, keywords=keywords)
            assert log_p(View(jnp.int32(0), keywords), seen, np.int32(hints)) > -np.inf, turn
            assert digits(decode(own, keywords, seen)) == turn["bob"]
            assert digits(intercept(own, belief, seen)) == turn["eve"]
            belief = update(belief, event(code, hints))
            turns.append((code, hints))


def offered_once(offered):
    first, second, third = offered.valid
    return (first[:, None, None] & second[:, None] & third).reshape(-1)


# Lexica


def test_a_keyword_is_found_among_the_nouns_whatever_its_case():
    vectors = np.random.default_rng(0).normal(size=(5, 3))
    vocabulary = make(["river", "moon", "Sun", "tree", "road"], vectors, ["Moon", "sun", "TREE", "road"], "cased")
    np.testing.assert_array_equal(make_lexicon(vocabulary).keyword_words, [1, 2, 3, 4])


def test_noise_moves_cosines_and_with_them_what_is_near(toy_world):
    same = with_noise(jax.random.key(0), toy_world.lexicon, 0.0)
    np.testing.assert_array_equal(same.similarity, toy_world.lexicon.similarity)
    np.testing.assert_array_equal(same.nearest, toy_world.lexicon.nearest)
    noisy = with_noise(jax.random.key(0), toy_world.lexicon._replace(known=jnp.arange(26) < 17), 0.3)
    similarity = np.asarray(noisy.similarity)
    assert 0.15 < np.std(similarity[:17] - np.asarray(toy_world.lexicon.similarity)[:17]) < 0.45
    np.testing.assert_array_equal(similarity[17:], 0)  # what is unknown stays unknown
    np.testing.assert_array_equal(noisy.nearest, np.argsort(-similarity[:17], axis=0, kind="stable").T)
