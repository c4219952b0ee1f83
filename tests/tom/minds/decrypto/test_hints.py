import jax
import jax.numpy as jnp
import numpy as np

from otherminds.games.decrypto.rules import CODES, Role, observe, step
from otherminds.inference.logspace import log_normalize
from otherminds.tom.minds.decrypto.hints import (
    HintSet,
    grid_log_policy,
    grid_mask,
    join,
    lapse_to_alternatives,
    nearest_pool,
    stratified,
    sum_out,
    triple_at,
    triples,
)

SET = HintSet(jnp.array([[1, 2], [3, 4], [5, 6]]), jnp.array([[True, True], [True, False], [True, True]]))


def test_triples_list_every_combination_in_the_order_of_policies():
    listed = np.asarray(triples(SET))
    assert listed.tolist()[:3] == [[1, 3, 5], [1, 3, 6], [1, 4, 5]]
    assert all(triple_at(SET, jnp.int32(a)).tolist() == listed[a].tolist() for a in range(8))
    assert np.asarray(grid_mask(SET)).tolist() == [4 not in triple for triple in listed.tolist()]


def test_join_puts_the_words_last_and_drops_their_earlier_copies():
    joined = join(SET, jnp.array([2, 9, 5]))
    assert joined.words[:, -1].tolist() == [2, 9, 5]
    assert joined.valid.tolist() == [[True, False, True], [True, False, True], [False, True, True]]
    assert triple_at(joined, jnp.int32(26)).tolist() == [2, 9, 5]


def test_sum_out_leaves_the_marginal_of_the_kept_digits():
    log_p = log_normalize(jax.random.normal(jax.random.key(0), (27,)))
    p = np.exp(np.asarray(log_p)).reshape(3, 3, 3)
    for kept in np.ndindex(2, 2, 2):
        summed = tuple(axis for axis in range(3) if not kept[axis])
        expected = np.broadcast_to(p.sum(summed, keepdims=True), (3, 3, 3))
        result = np.exp(np.asarray(sum_out(log_p, jnp.array(kept, bool)))).reshape(3, 3, 3)
        np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_independent_digits_multiply():
    log_p = jnp.log(jnp.array([[0.2, 0.8], [0.5, 0.5], [0.1, 0.9]]))
    np.testing.assert_allclose(np.exp(grid_log_policy(log_p))[1], 0.2 * 0.5 * 0.9, rtol=1e-6)


def test_a_lapse_takes_valid_words_uniformly():
    keys = jax.random.split(jax.random.key(1), 4000)
    drawn = jax.vmap(lambda key: lapse_to_alternatives(key, 1.0, jnp.array([0, 0, 0]), SET))(keys)
    assert set(np.asarray(drawn[:, 1]).tolist()) == {3}
    np.testing.assert_allclose((np.asarray(drawn[:, 0]) == 1).mean(), 0.5, atol=0.03)
    kept = lapse_to_alternatives(keys[0], 0.0, jnp.array([7, 8, 9]), SET)
    assert kept.tolist() == [7, 8, 9]


def test_alternatives_are_near_new_and_not_the_keyword(small_lexicon, deal):
    state, _ = step(None, deal, {Role.ENCODER: jnp.array([20, 21, 22])})
    state, _ = step(None, state, {Role.DECODER: jnp.int32(0), Role.INTERCEPTOR: jnp.int32(1)})
    observation = observe(state, Role.ENCODER)
    slots = CODES[int(observation.code)]
    pool = nearest_pool(small_lexicon, observation, 10)
    drawn = stratified(jax.random.key(0), small_lexicon, observation, count=5, pool=10)
    for digit, slot in enumerate(slots):
        nearest = np.asarray(small_lexicon.nearest)[slot, :10]
        assert np.asarray(pool.words[digit]).tolist() == nearest.tolist()
        said = {20, 21, 22, int(slot)}
        assert [word in said for word in nearest] == (~np.asarray(pool.valid[digit])).tolist()
        ranks = [nearest.tolist().index(word) for word in np.asarray(drawn.words[digit])]
        assert [rank // 2 for rank in ranks] == list(range(5))  # one from each stratum
    other = stratified(jax.random.key(1), small_lexicon, observation, count=5, pool=10)
    assert (other.words != drawn.words).any()


def test_more_alternatives_than_nouns_are_marked_as_repeated(small_lexicon, deal):
    observation = observe(deal, Role.ENCODER)
    drawn = stratified(jax.random.key(0), small_lexicon, observation, count=60, pool=1000)
    for words, valid in zip(np.asarray(drawn.words), np.asarray(drawn.valid), strict=True):
        assert len(set(words[valid].tolist())) == valid.sum()
