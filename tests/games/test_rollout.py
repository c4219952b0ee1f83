"""What every game and every mind must hold to. A new game adds a table, a new mind a row to MINDS."""

from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from otherminds.games.colored_trails.board import Layout
from otherminds.games.colored_trails.generation import dealer
from otherminds.games.colored_trails.rules import Rules, colored_trails
from otherminds.games.decrypto.rules import Role, decrypto
from otherminds.games.decrypto.vocabulary import make
from otherminds.games.protocol import Game
from otherminds.games.rollout import deal_key, decision_key, game_key, keep_unless, rollout
from otherminds.games.rps import play as match
from otherminds.games.rps.catalogue import member
from otherminds.games.rps.observation import Asking, observer_game
from otherminds.inference.devices import map_chunks
from otherminds.tom.mind import Mind, draw
from otherminds.tom.minds.decrypto.baseline import (
    EncoderParams,
    GuesserParams,
    baseline_decoder,
    baseline_encoder,
    baseline_interceptor,
)
from otherminds.tom.minds.decrypto.bayesian import BayesianParams, bayesian_interceptor
from otherminds.tom.minds.decrypto.guesser import Choice
from otherminds.tom.minds.decrypto.hints import HintSet, join, triples
from otherminds.tom.minds.decrypto.lexicon import make_lexicon
from otherminds.tom.minds.decrypto.literal import LiteralParams, literal_decoder
from otherminds.tom.minds.decrypto.speaker import contrastive_speaker, literal_speaker

key = jax.random.key(5)
TURNS = 4
SMALL = Layout(rows=3, columns=3, colours=2, chips=2, goal_distance=2)


class Player(NamedTuple):
    """A mind with its params, and the game and role that it plays."""

    game: str
    role: int
    mind: Mind
    params: Any


@cache
def vocabulary():
    rng = np.random.default_rng(0)
    words = [f"noun{i}" for i in range(30)]
    return make(words, rng.normal(size=(30, 6)), words[3:15], "random")


@cache
def game(name) -> Game:
    return {
        "decrypto": lambda: decrypto(len(vocabulary().keywords), turns=TURNS),
        "decrypto to the last turn": lambda: decrypto(
            len(vocabulary().keywords), turns=TURNS, continue_after_loss=True
        ),
        "rps-observer": lambda: observer_game(
            lambda key: match.play(key, member("N"), member("X"), 23), (13, 16), 19, Asking(23, 2, 5, 4)
        ),
        "colored-trails": lambda: colored_trails(Rules(SMALL, limit=5), dealer(SMALL, "any")),
    }[name]()


@cache
def players() -> dict[str, Player]:
    lexicon = make_lexicon(vocabulary(), spare=2)
    choice = Choice(alpha=0.7, lapse=0.1)
    # K = 8 leaves a candidate in every one of four turns.
    encoders = {
        "baseline encoder": (baseline_encoder(8, turns=TURNS), EncoderParams(lexicon)),
        "baseline encoder, keyword skipped": (
            baseline_encoder(6, turns=TURNS, skip_keyword=True),
            EncoderParams(lexicon),
        ),
    }
    decoders = {
        "baseline decoder": (baseline_decoder(), GuesserParams(lexicon)),
        "greedy decoder": (baseline_decoder(assignment="greedy"), GuesserParams(lexicon, choice)),
        "baseline decoder, used codes excluded": (baseline_decoder(exclude_used=True), GuesserParams(lexicon)),
        "literal decoder": (literal_decoder(), LiteralParams(lexicon, 3.0, choice)),
        "literal decoder, the best code": (literal_decoder(rule="argmax"), LiteralParams(lexicon)),
    }
    interceptors = {
        "baseline interceptor": (baseline_interceptor(), GuesserParams(lexicon, choice)),
        "greedy interceptor": (baseline_interceptor(assignment="greedy"), GuesserParams(lexicon)),
        "bayesian interceptor": (
            bayesian_interceptor(),
            BayesianParams(lexicon, literal_speaker(lexicon, 3.0), choice),
        ),
        "bayesian interceptor of a contrastive speaker": (
            bayesian_interceptor(rule="argmax", exclude_used=False),
            BayesianParams(lexicon, contrastive_speaker(key, lexicon, 3.0, 8)),
        ),
    }
    return {
        name: Player("decrypto", role, mind, params)
        for role, minds in ((Role.ENCODER, encoders), (Role.DECODER, decoders), (Role.INTERCEPTOR, interceptors))
        for name, (mind, params) in minds.items()
    }


GAMES = ["decrypto", "decrypto to the last turn", "rps-observer", "colored-trails"]
MINDS = [
    "baseline encoder",
    "baseline encoder, keyword skipped",
    "baseline decoder",
    "greedy decoder",
    "baseline decoder, used codes excluded",
    "literal decoder",
    "literal decoder, the best code",
    "baseline interceptor",
    "greedy interceptor",
    "bayesian interceptor",
    "bayesian interceptor of a contrastive speaker",
]
TABLES = {
    "baselines": ("decrypto", ("baseline encoder", "baseline decoder", "baseline interceptor")),
    "posteriors": (
        "decrypto to the last turn",
        ("baseline encoder, keyword skipped", "literal decoder", "bayesian interceptor"),
    ),
}


def test_every_mind_is_in_the_suite():
    assert list(players()) == MINDS


# Games


@cache
def jitted(name):
    """init, step, and for every role view and observe, of a game."""
    rules = game(name)
    return (
        jax.jit(rules.init),
        jax.jit(lambda key, state, joint: (*rules.step(key, state, joint), rules.actors(state), rules.done(state))),
        jax.jit(
            lambda state: (
                [rules.view(state, r) for r in roles(rules)],
                [rules.observe(state, r) for r in roles(rules)],
            )
        ),
    )


def roles(rules):
    return range(len(rules.roles))


def shapes(tree):
    return jax.tree.structure(tree), [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(tree)]


def equal(a, b):
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


@pytest.mark.parametrize("name", GAMES)
def test_a_game_can_be_played_by_players_who_never_answer(name):
    rules, (init, step, seen) = game(name), jitted(name)
    state = init(deal_key(game_key(key, 0)))
    start, seen_first = state, seen(state)
    over = False
    for phase in range(rules.rounds * len(rules.schedule) + 3):
        acting = rules.schedule[phase % len(rules.schedule)]
        before = state
        state, event, actors, was_over = step(key, state, {role: rules.no_action(role) for role in acting})
        assert was_over == over
        # A round is unrolled by the schedule; `actors` says the same of every state until the game is over.
        np.testing.assert_array_equal(np.flatnonzero(actors), [] if over else acting)
        assert shapes(state) == shapes(start)
        assert shapes(seen(state)) == shapes(seen_first)
        if over:
            assert equal(before, state) and not event.valid
        over = bool(rules.done(state))
        won = np.asarray(rules.returns(state))
        assert won.shape == (len(rules.roles),) and np.isfinite(won).all()
    assert over


@pytest.mark.parametrize("name", GAMES)
def test_the_deal_follows_the_key(name):
    init, *_ = jitted(name)
    assert equal(init(game_key(key, 1)), init(game_key(key, 1)))
    assert not equal(init(game_key(key, 1)), init(game_key(key, 2)))
    keys = [jax.random.key_data(k).tolist() for k in (deal_key(key), decision_key(key, 0, 0), decision_key(key, 0, 1))]
    keys += [jax.random.key_data(decision_key(key, 1, 0)).tolist()]
    assert len({tuple(k) for k in keys}) == len(keys)


# Minds


@cache
def begun_games(role):
    """A game in its first and one in its last turn: what the role may know of each, and the events so far, padded."""
    init, step, seen = jitted("decrypto to the last turn")
    start, rng, cases = init(deal_key(game_key(key, 9))), np.random.default_rng(0), []
    for turns in (0, TURNS - 1):
        state, events = start, []
        for turn in range(TURNS):
            spoken, *_ = step(key, state, {Role.ENCODER: rng.integers(0, 30, 3).astype(np.int32)})
            if turn == turns:
                asked = state if role == Role.ENCODER else spoken
            guesses = {Role.DECODER: np.int32(rng.integers(24)), Role.INTERCEPTOR: np.int32(-1)}
            state, event, *_ = step(key, spoken, guesses)
            events.append(event._replace(valid=np.bool_(turn < turns)))
        views, observations = seen(asked)
        cases.append((views[role], jax.tree.map(lambda *leaves: np.stack(leaves), *events), observations[role]))
    return jax.tree.map(lambda *leaves: np.stack(leaves), *cases)


@cache
def thoughts(name):
    """Of a mind, in both games: its actions one a row, their log-probabilities, draws, read-outs, failed answers."""
    _, role, mind, params = players()[name]

    def think(view, events, observation):
        def see(belief, event):
            return keep_unless(event.valid, belief, mind.update(params, belief, event)), None

        belief = jax.lax.scan(see, mind.init(params, None, view), events)[0]
        actions = mind.alternatives(params, belief, observation)
        log_p = mind.log_policy(params, belief, observation, actions)
        keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(3000))
        draws = jax.vmap(lambda k: mind.sample(k, params, belief, observation))(keys)
        readouts = mind.readout(params, belief, observation) if mind.readout else {}
        if isinstance(actions, HintSet):
            with_failure = join(actions, jnp.int32(game("decrypto").no_action(role)))
            failed = mind.log_policy(params, belief, observation, with_failure)[-1:]
            actions = triples(actions)
        else:
            failed = mind.log_policy(params, belief, observation, jnp.full(1, game("decrypto").no_action(role)))
        return actions, log_p, draws, readouts, failed

    return jax.tree.map(np.asarray, jax.jit(jax.vmap(think))(*begun_games(role)))


@pytest.mark.parametrize("turn", ["first", "last"])
@pytest.mark.parametrize("name", MINDS)
def test_a_minds_draws_follow_its_policy(name, turn):
    actions, log_p, draws, readouts, _ = jax.tree.map(lambda leaf: leaf[0 if turn == "first" else 1], thoughts(name))
    p = np.exp(np.float64(log_p))
    assert not np.isnan(log_p).any()
    np.testing.assert_allclose(p.sum(), 1, rtol=1e-4)
    for what, log_q in readouts.items():
        np.testing.assert_allclose(np.exp(log_q).sum(-1), 1, rtol=1e-4, err_msg=what)
    possible = np.flatnonzero(p)
    place = {tuple(np.atleast_1d(actions[i])): i for i in possible}
    assert len(place) == len(possible), "an action is counted twice"
    drawn = np.bincount([place[tuple(np.atleast_1d(action))] for action in draws], minlength=len(actions))
    assert_follows(drawn, p / p.sum())


def assert_follows(drawn, p):
    """Chi-square, with cells that expect fewer than five draws pooled."""
    order = np.argsort(p)
    cell = np.floor(np.cumsum(p[order]) * drawn.sum() / 10 - 1e-6).clip(0).astype(int)
    cell = np.unique(cell, return_inverse=True)[1]
    observed, expected = (np.bincount(cell, weights=x[order]) for x in (drawn, p * drawn.sum()))
    keep = expected > 1e-9
    assert not observed[~keep].any()
    if keep.sum() > 1:
        assert stats.chisquare(observed[keep], expected[keep]).pvalue > 1e-3


def test_an_index_is_drawn_as_often_as_it_is_probable():
    rng = np.random.default_rng(0)
    log_p = rng.normal(size=4096).astype(np.float32) * 3
    log_p[rng.random(4096) < 0.5] = -np.inf
    log_p -= np.log(np.exp(log_p).sum())
    drawn = jax.jit(jax.vmap(draw, (0, None)))(jax.random.split(key, 20_000), jnp.array(log_p))
    drawn = np.bincount(drawn, minlength=4096)
    assert not drawn[np.isneginf(log_p)].any()
    assert_follows(drawn, np.exp(np.float64(log_p)) / np.exp(np.float64(log_p)).sum())
    only_the_last = jnp.array([-jnp.inf, -jnp.inf, 0.0])
    assert draw(key, only_the_last) == 2 and draw(key, only_the_last[::-1]) == 0


@pytest.mark.parametrize("name", MINDS)
def test_no_mind_fails_to_answer(name):
    *_, draws, _, failed = thoughts(name)
    assert (draws >= 0).all()
    np.testing.assert_array_equal(failed, -np.inf)


# Rollouts


@cache
def table(name):
    game_name, seats = TABLES[name]
    chosen = [players()[seat] for seat in seats]
    return game(game_name), tuple(p.mind for p in chosen), tuple(p.params for p in chosen)


@cache
def play(name):
    """Plays the games of the given indices."""
    seated = table(name)
    return jax.jit(jax.vmap(lambda index: rollout(*seated, game_key(key, index))))


@cache
def recorded(name):
    """Games played at once: those that the others are compared with. (Every batch size compiles for seconds.)"""
    return jax.tree.map(np.asarray, play(name)(np.arange({"baselines": 64, "posteriors": 7}[name])))


@pytest.mark.parametrize("size", [1, 7])
def test_the_batch_size_changes_nothing(size):
    state, beliefs = recorded("baselines")
    for start in (0, 35, 64 - size):
        some_state, some_beliefs = play("baselines")(np.arange(start, start + size))
        part = jax.tree.map(lambda leaf: leaf[start : start + size], (state, beliefs))  # noqa: B023
        assert equal(some_state, part[0])
        for ours, theirs in zip(jax.tree.leaves(some_beliefs), jax.tree.leaves(part[1]), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_chunks_change_nothing():
    state, _ = map_chunks(play("baselines"), 40, chunk=7)  # the last chunk is cut
    assert equal(state, jax.tree.map(lambda leaf: leaf[:40], recorded("baselines")[0]))


@pytest.mark.parametrize("name", TABLES)
def test_games_end_and_differ(name):
    state, _ = recorded(name)
    rules, *_ = table(name)
    assert np.asarray(jax.vmap(rules.done)(state)).all()
    first_leaf = jax.tree.leaves(state)[0]
    assert len(np.unique(first_leaf, axis=0)) > len(first_leaf) / 2


def test_a_mind_is_told_of_finished_turns_only():
    """Not of phases that finish none, nor of anything after the end, which comes here with the second miss."""

    def never(*_):
        raise AssertionError("a rollout needs `sample` alone")

    def count(role):
        return Mind(
            "counts",
            init=lambda params, memory, view: jnp.int32(0),
            update=lambda params, belief, event: belief + 1,
            alternatives=never,
            log_policy=never,
            sample=lambda key, params, belief, observation: game("decrypto").no_action(role),
        )

    @jax.jit
    def play(key):
        return rollout(game("decrypto"), tuple(count(role) for role in Role), (None,) * 3, key)

    state, counts = play(key)
    assert (state.turn, state.miscommunications) == (2, 2)
    assert counts == (2, 2, 2)


def functions_of(mind, what, params):
    """A function of a mind, jitted with its params, which stand first, or after the key of `sample`."""
    function = getattr(mind, what)
    if what == "sample":
        return jax.jit(lambda key, *args: function(key, params, *args))
    return jax.jit(lambda *args: function(params, *args))


@pytest.mark.parametrize("name", TABLES)
def test_a_loop_in_python_plays_the_same_games(name):
    """Who acts is asked of `actors`, not of the schedule; the keys are those of the jitted driver."""
    rules, minds, params = table(name)
    init, step, seen = jitted(TABLES[name][0])
    begin, sample, update = (
        [functions_of(mind, what, own) for mind, own in zip(minds, params, strict=True)]
        for what in ("init", "sample", "update")
    )
    for index in range(7):
        own_key = game_key(key, index)
        state = init(deal_key(own_key))
        beliefs = [f(None, view) for f, view in zip(begin, seen(state)[0], strict=True)]
        played = 0
        while not rules.done(state):
            acting = np.flatnonzero(rules.actors(state)).tolist()
            observations = seen(state)[1]
            joint = {
                role: sample[role](decision_key(own_key, played, role), beliefs[role], observations[role])
                for role in acting
            }
            state, event, *_ = step(decision_key(own_key, played, len(rules.roles)), state, joint)
            if event.valid:
                beliefs = [f(belief, event) for f, belief in zip(update, beliefs, strict=True)]
            played += 1
        recorded_state, recorded_beliefs = jax.tree.map(lambda leaf: leaf[index], recorded(name))  # noqa: B023
        assert equal(state, recorded_state)
        for ours, theirs in zip(jax.tree.leaves(tuple(beliefs)), jax.tree.leaves(recorded_beliefs), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
