"""The rational encoder against the same quantities written out, one combination at a time."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.decrypto.rules import CODES, Role, begin, observe, step, view
from otherminds.tom.minds.decrypto.bayesian import BayesianParams, bayesian_interceptor
from otherminds.tom.minds.decrypto.hints import HintSet, grid_mask, triples
from otherminds.tom.minds.decrypto.lexicon import make_lexicon
from otherminds.tom.minds.decrypto.literal import LiteralParams, literal_decoder
from otherminds.tom.minds.decrypto.rational import RationalParams, rational_encoder
from otherminds.tom.minds.decrypto.registry import UnknownMind, named
from otherminds.tom.minds.decrypto.speaker import literal_speaker
from otherminds.tom.minds.decrypto.survival import log_survival

SOFT, SPY = literal_decoder(rule="softmax"), bayesian_interceptor(rule="softmax")


def make(lexicon, **settings):
    """An encoder unsure between two decoders, with a known interceptor, and her params."""
    fields = {name: settings.pop(name) for name in list(settings) if name in RationalParams._fields}
    mind = rational_encoder((SOFT, SOFT), (SPY,), count=3, pool=12, **settings)
    params = RationalParams(
        lexicon,
        (LiteralParams(lexicon), LiteralParams(lexicon, 2.0)),
        (BayesianParams(lexicon, literal_speaker(lexicon)),),
        jnp.log(jnp.array([0.7, 0.3])),
        jnp.zeros(1),
        **{"alpha": 3.0, **fields},
    )
    return mind, params


def play_turn(state, hints, decoder_guess, interceptor_guess):
    state, _ = step(None, state, {Role.ENCODER: jnp.asarray(hints)})
    guesses = {Role.DECODER: jnp.int32(decoder_guess), Role.INTERCEPTOR: jnp.int32(interceptor_guess)}
    return step(None, state, guesses)


@pytest.fixture
def after_a_turn(deal):
    """One turn played: the decoder right, the interceptor wrong."""
    return play_turn(deal, [20, 21, 22], deal.codes[0], (deal.codes[0] + 1) % 24)


@pytest.mark.parametrize("utility", ["survival", pytest.param("weighted", marks=pytest.mark.slow)])
def test_policy_equals_the_utility_written_out(small_lexicon, deal, after_a_turn, utility):
    mind, params = make(small_lexicon, utility=utility, leak_weight=0.4)
    state, event = after_a_turn
    belief = mind.update(params, mind.init(params, None, view(deal, Role.ENCODER)), event)
    observation = observe(state, Role.ENCODER)
    hint_set = mind.alternatives(params, belief, observation)
    log_p = np.asarray(mind.log_policy(params, belief, observation, hint_set))

    code, slots = int(observation.code), CODES[int(observation.code)]
    used = np.zeros(24, bool)
    used[int(event.code)] = True
    types = np.exp(np.asarray(belief.log_decoder))
    spy, spy_params = belief.interceptors[0], params.interceptors[0]
    expected = []
    for hints in np.asarray(triples(hint_set)):
        decoded = sum(
            weight * np.exp(SOFT.guess_log_p(own, nested, jnp.asarray(hints), jnp.asarray(used))[code])
            for weight, own, nested in zip(types, params.decoders, belief.decoders, strict=True)
        )
        caught = np.exp(SPY.guess_log_p(spy_params, spy, jnp.asarray(hints), jnp.asarray(used))[code])
        if utility == "survival":
            value = np.exp(log_survival(jnp.int32(6), 0.01, 0.15, 0.02))
            worth = np.log(
                decoded * ((1 - caught) * value[0, 0] + caught * value[0, 1])
                + (1 - decoded) * ((1 - caught) * value[1, 0] + caught * value[1, 1])
            )
        else:
            worth = np.log(decoded) - 3.0 * caught
        for hint, slot in zip(hints, slots, strict=True):
            revealed = event._replace(
                code=jnp.int32(np.flatnonzero(CODES[:, 0] == slot)[0]), hints=jnp.array([hint, -1, -1])
            )
            after = SPY.update(spy_params, spy, revealed)  # this hint alone, in its slot
            worth -= 0.4 * (6 / 7) * np.exp(after[slot, int(state.keywords[slot])])
        expected.append(3.0 * worth)
    allowed = np.asarray(grid_mask(hint_set))
    scaled = np.where(allowed, expected, -np.inf)
    scaled -= scaled.max()
    scaled -= np.log(np.exp(scaled).sum())
    assert allowed.sum() >= 9
    np.testing.assert_array_equal(np.isneginf(log_p), ~allowed)
    np.testing.assert_allclose(log_p[allowed], scaled[allowed], atol=2e-4)


def test_she_learns_who_the_decoder_is(small_lexicon, deal):
    mind, params = make(small_lexicon)
    belief = mind.init(params, None, view(deal, Role.ENCODER))
    _, event = play_turn(deal, [20, 21, 22], deal.codes[0], (deal.codes[0] + 1) % 24)
    after = mind.update(params, belief, event)
    likelihood = [
        0.95 * np.exp(SOFT.guess_log_p(own, deal.keywords, event.hints, jnp.zeros(24, bool))[int(event.code)])
        + 0.05 / 24
        for own in params.decoders
    ]
    posterior = np.array([0.7, 0.3]) * likelihood
    np.testing.assert_allclose(np.exp(after.log_decoder), posterior / posterior.sum(), rtol=1e-4)
    failed = mind.update(params, belief, event._replace(decoder_guess=jnp.int32(-1)))
    np.testing.assert_allclose(failed.log_decoder, belief.log_decoder)  # nothing is learned from no answer


@pytest.mark.slow
def test_sample_follows_the_policy(small_lexicon, deal):
    mind, params = make(small_lexicon, alpha=1.0)
    belief = mind.init(params, None, view(deal, Role.ENCODER))
    observation = observe(deal, Role.ENCODER)
    hint_set = mind.alternatives(params, belief, observation)
    p = np.exp(mind.log_policy(params, belief, observation, hint_set))
    keys = jax.random.split(jax.random.key(0), 20_000)
    drawn = np.asarray(jax.vmap(lambda key: mind.sample(key, params, belief, observation))(keys))
    listed = np.asarray(triples(hint_set))
    frequency = np.array([(drawn == triple).all(1).mean() for triple in listed])
    np.testing.assert_allclose(frequency, p, atol=0.012)


def test_a_game_that_is_lost_anyway_is_played_on(small_lexicon, deal):
    """Where no combination leaves a chance, every one is as good as another, and nothing is NaN."""
    mind, params = make(small_lexicon)
    never = LiteralParams(small_lexicon, 1e6)  # surely decodes something else
    params = params._replace(decoders=(never, never), alpha=1000.0)
    belief = mind.init(params, None, view(deal, Role.ENCODER))._replace(used=jnp.ones(24, bool).at[0].set(False))
    observation = observe(deal, Role.ENCODER)._replace(code=jnp.int32(5), miscommunications=jnp.int32(1))
    log_p = np.asarray(mind.log_policy(params, belief, observation, mind.alternatives(params, belief, observation)))
    np.testing.assert_allclose(np.exp(log_p).sum(), 1, rtol=1e-5)
    assert np.unique(log_p[np.isfinite(log_p)]).size == 1


def test_alternatives_are_a_function_of_keywords_history_and_seed(small_lexicon, deal, after_a_turn):
    mind, params = make(small_lexicon)
    belief = mind.init(params, None, view(deal, Role.ENCODER))
    observation = observe(deal, Role.ENCODER)
    first = mind.alternatives(params, belief, observation)
    assert (first.words == mind.alternatives(params, belief, observation).words).all()
    assert (first.words != mind.alternatives(params._replace(seed=1), belief, observation).words).any()
    assert (first.words != mind.alternatives(params, belief, observe(after_a_turn[0], Role.ENCODER)).words).any()


def test_screening_keeps_the_most_promising_of_the_pool(small_lexicon, deal):
    mind, params = make(small_lexicon, screen=True, misdirection_weight=0.5)
    belief = mind.init(params, None, view(deal, Role.ENCODER))
    observation = observe(deal, Role.ENCODER)
    kept = mind.alternatives(params, belief, observation)
    for digit, slot in enumerate(CODES[int(observation.code)]):
        promise = {}
        for word in np.asarray(small_lexicon.nearest)[slot, :12]:
            if word == slot:
                continue  # the keyword itself
            by_slot = [SOFT.slot_scores(own, deal.keywords, jnp.int32(word)) for own in params.decoders]
            decoded = 0.7 * jax.nn.softmax(by_slot[0])[slot] + 0.3 * jax.nn.softmax(by_slot[1])[slot]
            spied = jax.nn.softmax(SPY.slot_scores(params.interceptors[0], belief.interceptors[0], jnp.int32(word)))
            promise[int(word)] = float(jnp.log(decoded) + 0.5 * min(3.0, -float(jnp.log(spied[slot]))))
        best = sorted(promise, key=promise.get, reverse=True)[:3]
        assert np.asarray(kept.words[digit]).tolist() == best


def test_uncertain_decoder_is_close_to_argmax_under_noise(small_lexicon, deal):
    """P(argmax under N(0, sigma) on cosines is the code) against its softmax stand-in: largest error about 0.05."""
    sigma = 0.2
    stand_in, make_params = (
        named("uncertain:sigma=0.2", Role.DECODER).mind,
        named("uncertain:sigma=0.2", Role.DECODER),
    )
    params = make_params.make_params(small_lexicon)
    cosines = np.asarray(small_lexicon.similarity)[:, :4]
    random = np.random.default_rng(0)
    errors = []
    for _ in range(60):
        hints = random.choice(np.arange(12, 40), 3, replace=False)
        noisy = cosines[hints] + random.normal(0, sigma, (4000, 3, 4))
        scores = sum(noisy[:, i][:, CODES[:, i]] for i in range(3))
        truth = np.bincount(scores.argmax(1), minlength=24) / 4000
        guess = np.exp(stand_in.guess_log_p(params, deal.keywords, jnp.asarray(hints), jnp.zeros(24, bool)))
        errors.append(np.abs(guess - truth).max())
    assert np.mean(errors) < 0.06, f"mean of the largest error over codes: {np.mean(errors):.3f}"


def test_what_cannot_be_is_refused(small_lexicon):
    for spec, message in {
        "rational:k=0": "from 1 to 64",
        "rational:pool=4": "smaller than k=16",
        "rational:decoder=pragmatic": "scores do not add up",
        "rational:utility=joy": "'survival' or 'weighted'",
        "rational:colour=red": "no option 'colour'",
        "rational:k=many": "no int",
        "rational:lapse=2": "from 0 to 1",
        "baseline:k=0": "from 1 to 1024",
        "oracle": "no mind for the encoder",
    }.items():
        with pytest.raises(UnknownMind, match=message):
            named(spec, Role.ENCODER)


FIELDS = ("alpha", "leak_weight", "miscommunication_risk", "interception_risk", "token_cost", "lapse", "surprise")


@pytest.mark.slow
@pytest.mark.parametrize(
    "field", [pytest.param(field, marks=[] if field == "alpha" else pytest.mark.slow) for field in FIELDS]
)
def test_gradients_equal_finite_differences(small_vocabulary, field):
    """d log policy / d params in float64, after a turn from which she has learned."""
    with jax.enable_x64(True):
        lexicon = jax.tree.map(
            lambda x: x.astype(jnp.float64) if x.dtype == jnp.float32 else x, make_lexicon(small_vocabulary)
        )
        mind, params = make(lexicon, lapse=0.1)
        dealt = begin(jnp.arange(4), jnp.arange(8) * 3)
        state, event = play_turn(dealt, [20, 21, 22], 0, 5)
        observation = observe(state, Role.ENCODER)
        start = mind.init(params, None, view(dealt, Role.ENCODER))
        hint_set = mind.alternatives(params, start, observation)

        @jax.jit
        def policy(value):
            own = params._replace(**{field: value})
            belief = mind.update(own, mind.init(own, None, view(dealt, Role.ENCODER)), event)
            log_p = mind.log_policy(own, belief, observation, hint_set)
            return jnp.where(jnp.isfinite(log_p), log_p, 0.0)

        at, step = jnp.float64(getattr(params, field)), 1e-6
        slope = jax.jacfwd(policy)(at)
        backward = jax.jacrev(policy)(at)
        between = (policy(at + step) - policy(at - step)) / (2 * step)
        assert np.abs(between).max() > 1e-6
        np.testing.assert_allclose(slope, between, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(backward, slope, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_beliefs_keep_the_precision_of_the_params(small_vocabulary):
    with jax.enable_x64(True):
        lexicon = jax.tree.map(
            lambda x: x.astype(jnp.float64) if x.dtype == jnp.float32 else x, make_lexicon(small_vocabulary)
        )
        state, event = play_turn(begin(jnp.arange(4), jnp.arange(8)), [20, 21, 22], 0, 5)

        def score(beta):
            params = BayesianParams(lexicon, literal_speaker(lexicon, beta))
            belief = SPY.update(params, SPY.init(params, None, view(state, Role.INTERCEPTOR)), event)
            assert belief.dtype == jnp.float64
            return SPY.guess_log_p(params, belief, jnp.array([25, 26, 27]), jnp.zeros(24, bool))

        at = jnp.float64(12.0)
        slope, between = jax.jacrev(score)(at), (score(at + 1e-6) - score(at - 1e-6)) / 2e-6
        np.testing.assert_allclose(slope, between, rtol=1e-6, atol=1e-8)


def test_alternatives_do_not_depend_on_the_precision(small_vocabulary):
    drawn = []
    for precise in (False, True):
        with jax.enable_x64(precise):
            mind, params = make(make_lexicon(small_vocabulary))
            dealt = begin(jnp.arange(4), jnp.arange(8) * 3)
            belief = mind.init(params, None, view(dealt, Role.ENCODER))
            drawn.append(np.asarray(mind.alternatives(params, belief, observe(dealt, Role.ENCODER)).words))
    np.testing.assert_array_equal(*drawn)


def test_nested_interceptors_are_not_told_the_keywords(small_lexicon, deal):
    """Whatever a nested mind does with its view, it gets that of its role."""
    seen = []

    def spy_init(params, memory, own_view):
        seen.append((int(own_view.role), np.asarray(own_view.keywords).tolist()))
        return SPY.init(params, memory, own_view)

    spy = dataclasses.replace(SPY, init=spy_init)
    mind = rational_encoder((SOFT,), (spy,), count=3, pool=12)
    _, params = make(small_lexicon)
    params = params._replace(decoders=params.decoders[:1], log_decoder_prior=jnp.zeros(1))
    mind.init(params, None, view(deal, Role.ENCODER))
    assert seen == [(Role.INTERCEPTOR, [-1] * 4)]


def test_hints_outside_the_pool_are_said_by_a_lapse_only(small_lexicon, deal):
    mind, params = make(small_lexicon, lapse=0.0)  # her pool: the 12 nearest
    belief = mind.init(params, None, view(deal, Role.ENCODER))
    observation = observe(deal, Role.ENCODER)
    slots = CODES[int(observation.code)]
    nearest = np.asarray(small_lexicon.nearest)[slots]
    offered = HintSet(jnp.asarray(nearest[:, [1, 5, 11, 12, 30]]), jnp.ones((3, 5), bool))
    log_p = np.asarray(mind.log_policy(params, belief, observation, offered)).reshape(5, 5, 5)
    assert np.isfinite(log_p[:3, :3, :3]).all()
    assert np.isneginf(log_p[3:]).all() and np.isneginf(log_p[:, 3:]).all() and np.isneginf(log_p[..., 3:]).all()
    np.testing.assert_allclose(np.exp(log_p).sum(), 1, rtol=1e-5)
