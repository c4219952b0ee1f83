"""Observers against loops in NumPy, published numbers, and games that people really played."""

import json
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.matrix.rules import Event
from otherminds.games.rps.catalogue import CODES, REACTIVE, STATIC
from otherminds.games.rps.losses import union_raw
from otherminds.games.rps.strategies import human_bots, stack
from otherminds.inference.switching import Sticky, filter
from otherminds.tom.minds.rps import observers
from otherminds.tom.minds.rps.observer_registry import named_observer
from otherminds.tom.minds.rps.observers import observe
from otherminds.tom.minds.spec import UnknownMind

FEW = "BDHXY"


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


def golden(shared, name):
    return json.loads((shared / f"golden/rps/{name}.json").read_text())


def chance(code, own, other, move):
    """What a catalogue strategy does after a round, None for a move that is not known."""
    if code in STATIC:
        return STATIC[code][move]
    return 1 / 3 if other is None else float((other + REACTIVE[code]) % 3 == move)


def posterior(codes, moves, player):
    """P(s | moves) in a loop, and P(next move)."""
    weights = np.ones(len(codes))
    for t, now in enumerate(moves):
        own, other = now[player], (moves[t - 1][1 - player] if t else -1)
        if own >= 0:
            weights *= [chance(code, None, None if other < 0 else other, own) for code in codes]
    if not weights.any():
        return weights, np.zeros(3)
    weights /= weights.sum()
    other = None if moves[-1][1 - player] < 0 else moves[-1][1 - player]
    return weights, weights @ [[chance(code, None, other, move) for move in range(3)] for code in codes]


def watched(spec, moves, codes=FEW):
    named = named_observer(spec, codes=codes)
    return {name: np.asarray(x) for name, x in observe(named.mind, named.params, jnp.asarray(moves).T).items()}


@pytest.fixture(scope="module")
def match():
    """Thirty rounds, of which some miss a move; the second player is Y wherever that can be."""
    rng = np.random.default_rng(0)
    moves = rng.integers(0, 3, (30, 2))
    moves[1:, 1] = (moves[:-1, 0] + 2) % 3
    moves[[4, 11], 0] = moves[[4, 20], 1] = -1
    moves[[5, 12], 1] = 1
    return moves.tolist()


@pytest.mark.parametrize(("spec", "size"), [("exact", 30), ("window:7", 7)])
def test_every_round_written_out(x64, match, spec, size):
    """A window begins as if nothing had been before it."""
    found = watched(spec, match)
    for t in range(30):
        seen = match[max(0, t + 1 - size) : t + 1]
        for player in range(2):
            strategies, following = posterior(FEW, seen, player)
            np.testing.assert_allclose(np.exp(found["log_strategy"][t, player]), strategies, atol=1e-12)
            np.testing.assert_allclose(np.exp(found["log_next"][t, player]), following, atol=1e-12)
            assert np.isclose(strategies[found["guess"][t, player]], strategies.max())
    np.testing.assert_allclose(np.exp(found["log_outcome"]).sum(-1), 1, atol=1e-12)


def test_published_posteriors(shared, x64):
    named = named_observer("exact", legacy_decimals=True)
    for case in golden(shared, "posterior_derived")["cases"].values():
        found = observe(named.mind, named.params, jnp.asarray(case["moves"]).T)
        for player in range(2):
            np.testing.assert_allclose(
                np.exp(found["log_strategy"][-1, player]), case[f"post_p{player + 1}"], atol=1e-10
            )


def test_a_switching_observer_is_the_filter(x64, match):
    """Missing moves included: time passes, and nothing is learned."""
    named = named_observer("switching:hazard=.2", codes=FEW)
    found = observe(named.mind, named.params, jnp.asarray(match).T)
    own = np.array(match)[:, 0]
    rounds = [(None if t == 0 or match[t - 1][1] < 0 else match[t - 1][1], own[t]) for t in range(30)]
    with np.errstate(divide="ignore"):
        table = np.log([[1.0 if a < 0 else chance(code, None, b, a) for code in FEW] for b, a in rounds])
    uniform = jnp.full(5, -np.log(5))
    trace = filter(uniform, jnp.asarray(table), Sticky(0.2, uniform))
    np.testing.assert_allclose(np.exp(found["log_strategy"][:, 0]), np.exp(trace.log_belief), atol=1e-12)
    for t, (log_predicted, (other, _)) in enumerate(zip(trace.log_predicted[1:], rounds[1:], strict=True)):
        table = [[chance(code, None, other, move) for move in range(3)] for code in FEW]
        np.testing.assert_allclose(np.exp(found["log_next"][t, 0]), np.exp(log_predicted) @ table, atol=1e-12)


def test_a_generator_aware_observer_weighs_pairs(x64, match, window=9):
    rotated = {"X": 1, "Y": 2, "Z": 0}

    def marginals(one, two):
        if one in STATIC and two in STATIC:
            return STATIC[one], STATIC[two]
        if one in STATIC:
            return STATIC[one], np.roll(STATIC[one], rotated[two])
        if two in STATIC:
            return np.roll(STATIC[two], rotated[one]), STATIC[two]
        return np.full((2, 3), 1 / 3)

    found = watched(f"generator-aware:window={window}", match)
    for t in (0, 7, 29):
        weights = np.ones((5, 5))
        for i, one in enumerate(FEW):
            for j, two in enumerate(FEW):
                for now in match[max(0, t + 1 - window) : t + 1]:
                    for p, move in zip(marginals(one, two), now, strict=True):
                        weights[i, j] *= 1 if move < 0 else p[move]
        weights /= weights.sum()
        expected = [weights.sum(1), weights.sum(0)]
        np.testing.assert_allclose(np.exp(found["log_strategy"][t]), expected, atol=1e-12)
        following = sum(
            weights[i, j] * np.array(marginals(one, two)) for i, one in enumerate(FEW) for j, two in enumerate(FEW)
        )
        np.testing.assert_allclose(np.exp(found["log_next"][t]), following, atol=1e-12)
        assert np.isclose(weights[tuple(found["guess"][t])], weights.max())


def test_moment_matching_knows_only_who_won(x64, match):
    named = named_observer("moment-matching:window=12", codes=FEW)
    found = observe(named.mind, named.params, jnp.asarray(match).T)
    cells = 100 * np.exp(named.params.log_outcome)
    for t in (3, 29):
        seen = [(a - b) % 3 for a, b in match[max(0, t - 11) : t + 1] if min(a, b) >= 0]
        observed = 100 * np.array([seen.count(1), seen.count(0), seen.count(2)]) / len(seen)
        loss = [[union_raw(jnp.asarray(observed), jnp.asarray(cell)) for cell in row] for row in cells]
        weights = np.exp(-np.array(loss) / 0.5)
        weights /= weights.sum()
        np.testing.assert_allclose(np.exp(found["log_strategy"][t]), [weights.sum(1), weights.sum(0)], atol=1e-10)
        np.testing.assert_allclose(np.exp(found["log_outcome"][t]), np.tensordot(weights, cells / 100, 2), atol=1e-10)
    unseen = observe(named.mind, named.params, jnp.asarray([[-1], [0]]))
    np.testing.assert_allclose(np.exp(unseen["log_strategy"]), 0.2, atol=1e-12)


def test_frequencies(x64, match):
    found = watched("frequency", match)
    counts = np.array([[sum(now[player] == move for now in match) for move in range(3)] for player in range(2)])
    np.testing.assert_allclose(np.exp(found["log_next"][-1]), (counts + 1) / (counts.sum(1) + 3)[:, None], atol=1e-12)
    likelihood = np.array([np.prod(np.array(STATIC[code]) ** counts, 1) for code in "BDH"]).T
    expected = np.zeros((2, 5))
    expected[:, :3] = likelihood / likelihood.sum(1, keepdims=True)
    np.testing.assert_allclose(np.exp(found["log_strategy"][-1]), expected, atol=1e-12)


def test_float32_is_right_too():
    """Equal candidates stay equal: H, I and J after as many moves of each kind."""
    moves = np.array([[0, 1, 2] * 60, [2, 0, 1] * 60])
    for spec in ("exact", "window:60"):
        named = named_observer(spec, codes="HIJ")
        found = observe(named.mind, named.params, moves)
        assert found["log_strategy"].dtype == jnp.float32
        np.testing.assert_allclose(np.exp(found["log_strategy"][-1]), 1 / 3, atol=1e-5)
        assert found["guess"][-1].tolist() == [0, 0]


def event(moves):
    moves = jnp.asarray(moves, jnp.int32)
    return Event(jnp.bool_(True), moves, jnp.zeros(2), (moves >= 0).all())


update, readout = (partial(jax.jit, static_argnums=0)(f) for f in (
    lambda mind, params, belief, event: mind.update(params, belief, event),
    lambda mind, params, belief: mind.readout(params, belief, None),
))  # fmt: skip


@partial(jax.jit, static_argnums=0)
def choose(mind, params, belief, actions, keys):
    """The policy over actions, and what is named, by key."""
    policy = mind.log_policy(params, belief, None, actions)
    return policy, jax.vmap(lambda key: mind.sample(key, params, belief, None))(keys)


def test_streaming_is_watching_the_whole(x64, match):
    named = named_observer("window:7", codes=FEW)
    found = observe(named.mind, named.params, jnp.asarray(match).T)
    belief = named.mind.init(named.params, None, None)
    for t, moves in enumerate(match):
        belief = update(named.mind, named.params, belief, event(moves))
        for name, x in readout(named.mind, named.params, belief).items():
            np.testing.assert_allclose(x, found[name][t], atol=1e-12)


def test_impossible_evidence_stays_impossible(x64):
    """A player who makes a move that none would: nothing is made up, and no pair is named."""
    named = named_observer("exact", codes="ABCEG")
    moves = np.full((2, 30), -1)
    moves[:, :4] = [[2, 2, 0, 2], [0, 0, 0, 0]]
    found = observe(named.mind, named.params, jnp.asarray(moves))
    assert found["guess"][:4].tolist() == [[0, 1], [0, 1], [-1, -1], [-1, -1]]
    assert np.isneginf(found["log_strategy"][2:, 0]).all() and np.isneginf(found["log_next"][2:, 0]).all()
    assert np.isneginf(found["log_outcome"][2:]).all()
    expected = [[0, 2**t, 0, 1, 0] for t in (1, 2, 3, 4)]
    expected = np.array(expected) / np.sum(expected, 1, keepdims=True)
    np.testing.assert_allclose(np.exp(found["log_strategy"][:4, 1]), expected, atol=1e-12)
    belief = named.mind.init(named.params, None, None)
    pairs = named.mind.alternatives(named.params, belief, None)
    assert pairs[:7].tolist() == [[0, 0], [0, 1], [0, 2], [0, 3], [0, 4], [1, 0], [1, 1]] and len(pairs) == 25
    for now in moves.T[:4]:
        belief = update(named.mind, named.params, belief, event(now))
    policy, drawn = choose(named.mind, named.params, belief, pairs, jax.random.split(jax.random.key(0), 900))
    assert np.isneginf(policy).all() and (drawn == -1).all()


def test_it_names_the_most_probable_pair_and_shares_ties(x64):
    named, keys = named_observer("exact", codes="HIDXB"), jax.random.split(jax.random.key(1), 900)
    belief = fresh = named.mind.init(named.params, None, None)
    for now in [[0, 1], [2, 1]] + [[0, 1], [0, 2]] * 4:
        belief = update(named.mind, named.params, belief, event(now))
    pairs = named.mind.alternatives(named.params, belief, None)
    policy, drawn = choose(named.mind, named.params, belief, pairs, keys)
    assert np.exp(policy[1]) == 1 and (drawn == jnp.asarray([0, 1])).all()  # H, I
    some = jnp.asarray([[2, 2], [-1, -1], [2, 2], [4, 0]] + [[-1, -1]] * 21)  # the best of those that are offered
    policy = choose(named.mind, named.params, belief, some, keys)[0]
    np.testing.assert_allclose(np.exp(policy[:4]), [0.5, 0, 0.5, 0])
    drawn = choose(named.mind, named.params, fresh, pairs, keys)[1]
    counts = np.bincount(5 * drawn[:, 0] + drawn[:, 1], minlength=25)
    assert abs(counts - 36).max() < 30  # a standard deviation is 5.9


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("exacts", "'exacts' is no observer; there are exact, window, generator-aware, switching"),
        ("exact:hazard=.1", "no option 'hazard'; exact takes tremble"),
        ("exact:tremble=2", "must be from 0 to 1"),
        ("exact:tremble=nan", "must be from 0 to 1"),
        ("window:0", "must be from 1 to"),
        ("window:x", "window:size='x' is no int"),
        ("switching:hazard=-1", "must be from 0 to 1"),
        ("switching:0.1", "no option '0.1'"),
    ],
)
def test_what_is_no_observer_is_named(spec, message):
    with pytest.raises(UnknownMind, match=message):
        named_observer(spec)


def test_specs_become_observers(x64):
    assert named_observer("window:50").mind is named_observer("window:size=50").mind is observers.windowed(50)
    assert named_observer("exact").mind is named_observer("switching").mind  # which differ in the hazard
    assert named_observer("exact").codes == CODES and float(named_observer("switching").params.hazard) == 0.05
    trembling = named_observer("exact: tremble=.3", codes="AX").params.log_policies
    np.testing.assert_allclose(np.exp(trembling[0, 0, 0]), [0.1, 0.1, 0.8], atol=1e-12)
    with pytest.raises(UnknownMind, match="knows only static strategies"):
        named_observer("frequency", codes="XY")
    with pytest.raises(ValueError, match="'Q'"):
        named_observer("exact", codes="AQ")


# Games between people and bots


@pytest.mark.slow  # reads the recordings for a second time beside test_compare of matches
def test_the_bots_that_people_played_are_found(shared, human_games):
    """All 186 games with a bot that looks one round back, in as many rounds as an earlier count found.

    That count left out rounds after a missing move, in which here the move counts as any of the three; one game, in
    which the person's first move is missing, takes 37 rounds in place of 32 for it.
    """
    games = np.array([game.moves for game in human_games], np.int32)  # [game, person or bot, round]
    bots = np.array([game.players[1] for game in human_games])
    rules, expected = human_bots(), golden(shared, "human_v2_bot_id")["r"]
    kept = np.isin(bots, list(rules))
    assert kept.sum() == 186
    params = observers.rule_params(stack(list(rules.values())))
    found = jax.vmap(partial(observe, observers.rules(), params))(jnp.asarray(games[kept]))
    truth = np.array([list(rules).index(name) for name in bots[kept]])
    assert (np.asarray(found["guess"])[:, -1, 1] == truth).all()
    sure = np.exp(np.asarray(found["log_strategy"])[np.arange(186), :, 1, truth]) > 0.99
    for name, numbers in expected.items():
        rounds = sure[bots[kept] == name].argmax(1) + 1
        assert (len(rounds), np.median(rounds)) == (numbers["games"], numbers["median_rounds_to_p99"])
        assert rounds.max() == (37 if name == "opponent_prev_move_positive" else numbers["max"])


def test_it_thinks_in_single_precision_after_it_did_in_double():
    """jax takes a NumPy constant for what it was under the other setting, unless it has 32 bits in both."""
    for double, dtype in ((True, "float64"), (False, "float32")):
        with jax.enable_x64(double):
            named = named_observer("frequency", codes="ABXY")
            thought = jax.eval_shape(named.mind.think, named.params, named.mind.init(named.params, None, None))
            assert {leaf.dtype.name for leaf in thought} == {dtype}
