"""The literal decoder against the posterior over codes, written out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.decrypto.rules import CODES, History, Observation, View
from otherminds.games.decrypto.vocabulary import make
from otherminds.games.protocol import NO_ANSWER
from otherminds.tom.minds.decrypto.guesser import Choice
from otherminds.tom.minds.decrypto.lexicon import make_lexicon
from otherminds.tom.minds.decrypto.literal import LiteralParams, literal_decoder

NOUNS, TURNS = 12, 8
KEYWORDS = jnp.array([3, 0, 4, 1], jnp.int32)


@pytest.fixture(scope="module")
def lexicon():
    words = [f"noun{i}" for i in range(NOUNS)]
    return make_lexicon(make(words, np.random.default_rng(0).normal(size=(NOUNS, 5)), words[:6], "random"), spare=1)


def observation(hints, used=()):
    nothing = jnp.full(TURNS, -1, jnp.int32)
    codes = nothing.at[: len(used)].set(jnp.array(used, jnp.int32)) if len(used) else nothing
    history = History(codes, jnp.full((TURNS, 3), -1, jnp.int32), nothing, nothing)
    role, turn, code, zero = (jnp.int32(x) for x in (1, len(used), -1, 0))
    return Observation(role, turn, KEYWORDS, code, jnp.array(hints, jnp.int32), zero, zero, history)


def policy(params, seen, **options):
    mind = literal_decoder(**options)
    belief = mind.init(params, None, View(jnp.int32(1), KEYWORDS))
    return np.asarray(jax.jit(mind.log_policy)(params, belief, seen, mind.alternatives(params, belief, seen)))


def written_out(lexicon, hints, used=(), *, beta, alpha=1.0, lapse=0.0):
    """P(c | h) proportional to prod_i exp(beta cos(h_i, k_{c_i}))^alpha over the unused codes, in float64."""
    cosines = np.asarray(lexicon.similarity, np.float64)
    p = np.zeros(24)
    for code in range(24):
        if code not in used:
            p[code] = 1.0
            for hint, slot in zip(hints, CODES[code], strict=True):
                if 0 <= hint < NOUNS:  # an unknown or missing hint tells nothing
                    p[code] *= np.exp(alpha * beta * cosines[hint, int(KEYWORDS[slot])])
    return (1 - lapse) * p / p.sum() + lapse / 24


@pytest.mark.parametrize(
    "hints, used", [((2, 7, 11), ()), ((2, 2, 5), (0, 7, 23)), ((NOUNS, 4, NO_ANSWER), (5,)), ((-1, -1, -1), (1, 2))]
)
def test_the_posterior_by_enumeration(lexicon, hints, used):
    for beta, alpha, lapse in ((1.0, 1.0, 0.0), (12.0, 1.0, 0.0), (3.0, 0.5, 0.2), (3.0, 0.0, 0.0)):
        log_p = policy(LiteralParams(lexicon, beta, Choice(alpha, lapse)), observation(hints, used))
        expected = written_out(lexicon, hints, used, beta=beta, alpha=alpha, lapse=lapse)
        np.testing.assert_allclose(np.exp(log_p), expected, rtol=1e-4, atol=1e-7)
        np.testing.assert_array_equal(np.isneginf(log_p), expected == 0)


def test_used_codes_are_never_guessed_unless_it_does_not_know_the_rule(lexicon):
    hints, used = (2, 7, 11), tuple(range(23))
    np.testing.assert_array_equal(
        policy(LiteralParams(lexicon), observation(hints, used[:8])) == -np.inf, np.arange(24) < 8
    )
    careless = policy(LiteralParams(lexicon, 12.0), observation(hints, used[:8]), exclude_used=False)
    np.testing.assert_allclose(np.exp(careless), written_out(lexicon, hints, beta=12.0), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("beta", [1.0, 12.0])
def test_the_hard_rule_takes_the_most_probable_code(lexicon, beta):
    for hints, used in (((2, 7, 11), ()), ((5, 8, 1), (0, 3)), ((9, NOUNS, 10), (20,))):
        log_p = policy(LiteralParams(lexicon, beta), observation(hints, used), rule="argmax")
        best = written_out(lexicon, hints, used, beta=beta).argmax()
        np.testing.assert_array_equal(np.exp(log_p), np.arange(24) == best)
        lapsing = policy(LiteralParams(lexicon, beta, Choice(lapse=0.24)), observation(hints, used), rule="argmax")
        np.testing.assert_allclose(np.exp(lapsing), 0.76 * (np.arange(24) == best) + 0.01, rtol=1e-5)


def test_given_actions_are_normalised_among_themselves_and_a_failed_answer_is_impossible(lexicon):
    params, seen = LiteralParams(lexicon, 3.0), observation((2, 7, 11))
    mind = literal_decoder()
    some = jnp.array([4, NO_ANSWER, 17], jnp.int32)
    log_p = np.asarray(jax.jit(mind.log_policy)(params, KEYWORDS, seen, some))
    expected = written_out(lexicon, (2, 7, 11), beta=3.0)[[4, 17]]
    np.testing.assert_allclose(np.exp(log_p[[0, 2]]), expected / expected.sum(), rtol=1e-5)
    assert log_p[1] == -np.inf


@pytest.mark.parametrize("lapse", [0.0, 0.1])
def test_an_encoder_who_nests_it_knows_its_posterior(lexicon, lapse):
    """`grid_log_p` of every combination of hints is `guess_log_p` of that combination."""
    mind, params = literal_decoder(), LiteralParams(lexicon, 3.0, Choice(0.8, lapse))
    hints, used = jnp.array([[0, 3], [4, 10], [8, 11]], jnp.int32), jnp.arange(24) < 3
    grid = jnp.stack(jnp.meshgrid(*hints, indexing="ij"), -1).reshape(-1, 3)

    @jax.jit
    def foreseen(code):
        log_p = mind.grid_log_p(params, mind.slot_scores(params, KEYWORDS, hints), code, used)
        return log_p, jax.vmap(lambda h: mind.guess_log_p(params, KEYWORDS, h, used))(grid)[:, code]

    for code in (1, 3, 20):
        log_p, guessed = foreseen(code)
        np.testing.assert_allclose(log_p, guessed, rtol=1e-4, atol=1e-5)


def test_gradients_in_its_parameters_are_finite_differences(lexicon):
    mind, seen = literal_decoder(), observation((2, 7, 11), (0, 7))

    def chosen(theta):
        params = LiteralParams(lexicon, theta[0], Choice(theta[1], theta[2]))
        return mind.log_policy(params, KEYWORDS, seen, jnp.arange(24))[13]

    value, gradient = jax.jit(chosen), jax.jit(jax.grad(chosen))
    theta = np.array([6.0, 0.8, 0.05])
    single = gradient(jnp.array(theta, jnp.float32))
    with jax.enable_x64(True):
        exact = np.asarray(gradient(jnp.array(theta)))
        numeric = [
            (value(jnp.array(theta + step)) - value(jnp.array(theta - step))) / 2e-6 for step in 1e-6 * np.eye(3)
        ]
    np.testing.assert_allclose(exact, numeric, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(single, exact, rtol=1e-3, atol=1e-5)


def test_an_unknown_rule_is_refused():
    with pytest.raises((ValueError, TypeError), match="greedy"):  # a TypeError where annotations are checked
        literal_decoder(rule="greedy")
