"""The rules of Decrypto against recorded traces, a rule book in plain Python, and what each role may know."""

import json
from functools import partial

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats

from otherminds.games.decrypto import rules
from otherminds.games.decrypto.rules import CODES, Ending, Role, code_index, code_text
from otherminds.games.protocol import NO_ANSWER

quick = settings(deadline=None, max_examples=25)
KEYWORDS = 20
GAMES = {go_on: rules.decrypto(KEYWORDS, continue_after_loss=go_on) for go_on in (False, True)}
deal = jax.jit(GAMES[False].init)
begin = jax.jit(rules.begin)
observe = jax.jit(rules.observe, static_argnames="role")
returns = jax.jit(rules.returns)
key = jax.random.key(0)


@partial(jax.jit, static_argnames="go_on")
def step(state, joint, go_on=False):
    state, event = rules.step(None, state, joint, go_on)
    return state, event, rules.actors(state, go_on), rules.done(state, go_on)


def take_turn(state, hints, decoder, interceptor, go_on=False):
    """Both phases of a turn; returns the state, the event of its end, who acts next and whether it is over."""
    state, event, _, _ = step(state, {Role.ENCODER: np.int32(hints)}, go_on)
    assert not event.valid
    joint = {Role.DECODER: np.int32(decoder), Role.INTERCEPTOR: np.int32(interceptor)}
    return step(state, joint, go_on)


def equal(a, b):
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


# Recorded traces

TRACES = [
    "survive_8",
    "two_miscomms",
    "two_intercepts",
    "both_same_turn",
    "one_each_survive",
    "second_token_on_turn_8",
    "both_tokens_wrong_and_intercept_same_turn",
    "dummy_000",
    "repeated_digits_guess",
    "continue_after_done_intercepts",
    "continue_after_done_miscomm_then_survive",
]


def answered(digits):
    """The index of a guess; what the reference accepts although it is no code is a failed answer here."""
    if sorted(set(digits)) == sorted(digits) and len(digits) == 3 and set(digits) <= {1, 2, 3, 4}:
        return code_index(digits)
    with pytest.raises(ValueError, match="is no code"):
        code_index(digits)
    return NO_ANSWER


@pytest.fixture
def traces(shared):
    return json.loads((shared / "golden/decrypto/rules_traces.json").read_text())


def given_codes(shared):
    """The code sequences of 20 recorded seeds, as indices [20, 9]."""
    recorded = json.loads((shared / "golden/decrypto/codes_by_seed.json").read_text())
    return {
        int(seed): [code_index(map(int, code)) for code in row["codes_with_given_keywords"]]
        for seed, row in recorded.items()
    }


def test_every_trace_is_replayed(traces):
    assert set(traces) == {*TRACES, "wrong_length_bob"}


@pytest.mark.parametrize("name", TRACES)
def test_recorded_trace(shared, traces, name):
    """Step by step: code, tokens, turn, whether it is over, both histories, rewards.

    The reference pays its rewards again at every later step while a counter stays at two. Here a game is paid
    once, at its first ending, also when play goes on after it: that is not reproduced.
    """
    trace, go_on = traces[name]["trace"], name.startswith("continue")
    codes = given_codes(shared)[traces[name]["seed"]][: rules.TURNS]
    state = begin(np.arange(4, dtype=np.int32), np.int32(codes))
    words, paid, over = [], np.zeros(3), False
    for recorded in trace:
        assert code_text(int(state.codes[state.turn])) == "-".join(map(str, recorded["code"]))
        words += recorded["hints"]
        hints = [words.index(hint) for hint in recorded["hints"]]
        decoder, interceptor = answered(recorded["guess_bob"]), answered(recorded["guess_eve"])
        state, event, _, _ = take_turn(state, hints, decoder, interceptor, go_on)
        assert event.valid
        assert (state.turn, state.miscommunications, state.interceptions) == (
            recorded["turn"],
            recorded["miscommunications"],
            recorded["interceptions"],
        )
        assert (int(state.ending) != Ending.UNFINISHED) == recorded["done"]
        history = jax.tree.map(np.asarray, state.history)
        played = int(state.turn)
        assert [(CODES[c] + 1).tolist() for c in history.codes[:played]] == recorded["code_history"]
        of_digit = [
            [words[history.hints[t, i]] for t in range(played) for i in range(3) if CODES[history.codes[t], i] == digit]
            for digit in range(4)
        ]
        assert of_digit == recorded["hint_history"]
        assert history.decoder_guesses[played - 1] == decoder
        assert history.interceptor_guesses[played - 1] == interceptor
        total = np.asarray(returns(state))
        rewards = [recorded["rewards"][player] for player in ("alice", "bob", "eve")]
        np.testing.assert_array_equal(total - paid, np.zeros(3) if over else rewards)
        paid, over = total, over or recorded["done"]


def test_a_guess_of_the_wrong_length_fails_where_the_reference_crashes(shared, traces):
    (recorded,) = traces["wrong_length_bob"]["trace"]
    assert "ValueError" in recorded["error"]
    state = begin(np.arange(4, dtype=np.int32), np.int32(given_codes(shared)[7][: rules.TURNS]))
    decoder, interceptor = answered(recorded["guess_bob"]), answered(recorded["guess_eve"])
    assert (decoder, interceptor) == (NO_ANSWER, 0)
    state, event, _, over = take_turn(state, [0, 1, 2], decoder, interceptor)
    assert event.valid and event.decoder_guess == NO_ANSWER
    assert (state.turn, state.miscommunications, state.interceptions, over) == (1, 1, 0, False)


def test_recorded_codes_can_be_given(shared):
    for codes in given_codes(shared).values():
        assert len(set(codes)) == len(codes) == 9  # the reference draws one more than it plays
        state = begin(np.arange(4, dtype=np.int32), np.int32(codes[: rules.TURNS]))
        for code in codes[: rules.TURNS]:
            assert observe(state, role=Role.ENCODER).code == code
            state, *_, over = take_turn(state, [0, 1, 2], code, NO_ANSWER)
        assert over and state.ending == Ending.SURVIVED


# Codes


def test_there_are_24_codes_and_each_is_read_as_it_is_written():
    assert CODES.shape == (24, 3)
    for index, digits in enumerate(CODES + 1):
        assert code_index(digits) == code_index(digits.tolist()) == index
        assert code_index(int(d) for d in code_text(index).split("-")) == index
    assert code_text(0) == "1-2-3"


@pytest.mark.parametrize(
    "digits", [(0, 0, 0), (1, 1, 2), (1, 2), (1, 2, 3, 4), (1, 2, 5), (0, 1, 2), (-1, 1, 2), "123", (1, 2, 2.5), ()]
)
def test_what_is_no_code_is_refused(digits):
    with pytest.raises(ValueError, match=r"is no code.*1 to 4"):
        code_index(digits)


# Dealing


@pytest.fixture(scope="module")
def deals():
    """40,000 games over six keywords."""
    state = jax.jit(jax.vmap(lambda i: rules.deal(jax.random.fold_in(key, i), 6)))(jnp.arange(40_000))
    return jax.tree.map(np.asarray, state)


def test_keywords_are_distinct_and_uniform(deals):
    chosen = np.sort(deals.keywords, 1)
    assert (np.diff(chosen) > 0).all() and chosen.min() == 0 and chosen.max() == 5
    for slot in range(4):
        assert stats.chisquare(np.bincount(deals.keywords[:, slot], minlength=6)).pvalue > 1e-3
    ordered = np.unique(deals.keywords @ 6 ** np.arange(4), return_counts=True)[1]
    assert ordered.size == 6 * 5 * 4 * 3
    assert stats.chisquare(ordered).pvalue > 1e-3


def test_codes_are_distinct_and_uniform(deals):
    assert deals.codes.shape[1] == rules.TURNS
    assert (np.diff(np.sort(deals.codes, 1)) > 0).all()
    for turn in range(rules.TURNS):
        assert stats.chisquare(np.bincount(deals.codes[:, turn], minlength=24)).pvalue > 1e-3
    pairs = np.unique(deals.codes[:, 0] * 24 + deals.codes[:, 1], return_counts=True)[1]
    assert pairs.size == 24 * 23
    assert stats.chisquare(pairs).pvalue > 1e-3


def test_codes_do_not_depend_on_keywords(deals):
    table = np.zeros((6, 24))
    np.add.at(table, (deals.keywords[:, 0], deals.codes[:, 0]), 1)
    assert stats.chi2_contingency(table).pvalue > 1e-3


@pytest.mark.parametrize("keyword_count", [4, 680])
def test_any_number_of_keywords_from_four_on(keyword_count):
    keywords = jax.jit(jax.vmap(lambda i: rules.deal(jax.random.fold_in(key, i), keyword_count).keywords))(
        jnp.arange(2000)
    )
    keywords = np.sort(np.asarray(keywords), 1)
    assert (np.diff(keywords) > 0).all() and keywords.min() == 0 and keywords.max() == keyword_count - 1


@pytest.mark.parametrize("turns", [1, 24])
def test_any_number_of_turns_up_to_all_codes(turns):
    state = jax.jit(rules.decrypto(KEYWORDS, turns=turns).init)(key)
    assert len(set(np.asarray(state.codes).tolist())) == turns
    for turn in range(turns):
        assert state.ending == Ending.UNFINISHED
        state, *_, over = take_turn(state, [0, 1, 2], np.asarray(state.codes)[turn], NO_ANSWER)
    assert over and state.ending == Ending.SURVIVED and state.turn == turns


@pytest.mark.parametrize("wrong", [{"keyword_count": 3}, {"turns": 0}, {"turns": 25}])
def test_impossible_games_are_refused(wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(ValueError, match=f"{name}={value}"):
        rules.decrypto(**{"keyword_count": KEYWORDS, **wrong})


# Playing


def rule_book(script, go_on):
    """The rules in plain Python. script: for each turn whether hints came, decoder and interceptor were right."""
    miscommunications = interceptions = turn = 0
    ending, ending_turn = Ending.UNFINISHED, 0
    for spoke, decoded, intercepted in script:
        if ending != Ending.UNFINISHED and not go_on:
            break
        turn += 1
        miscommunications += not (spoke and decoded)
        interceptions += spoke and intercepted
        if ending == Ending.UNFINISHED:
            if miscommunications == 2 or interceptions == 2:
                ending = Ending.MISCOMMUNICATION if interceptions < 2 else Ending.INTERCEPTION
                ending = Ending.BOTH if miscommunications == interceptions == 2 else ending
            elif turn == rules.TURNS:
                ending = Ending.SURVIVED
            ending_turn = turn if ending != Ending.UNFINISHED else 0
    return turn, miscommunications, interceptions, ending, ending_turn


probably = st.sampled_from([True, True, True, False])
scripts = st.lists(st.tuples(probably, probably, st.sampled_from([True, False, False])), min_size=8, max_size=8)


def scripted(state, script, go_on):
    """Plays a script from a state, also past the end; yields after every phase."""
    rng = np.random.default_rng(0)
    for spoke, decoded, intercepted in script:
        code = int(np.asarray(state.codes)[min(int(state.turn), rules.TURNS - 1)])
        wrong = [NO_ANSWER, *(c for c in range(24) if c != code)]
        hints = rng.integers(0, 50, 3)
        if not spoke:
            hints[rng.integers(3)] = NO_ANSWER  # one hint too few is no answer
        guesses = {
            Role.DECODER: np.int32(code if decoded else rng.choice(wrong)),
            Role.INTERCEPTOR: np.int32(code if intercepted else rng.choice(wrong)),
        }
        for joint in ({Role.ENCODER: np.int32(hints)}, guesses):
            before = state
            state, event, acting, over = step(state, joint, go_on)
            yield before, joint, state, event, np.asarray(acting), bool(over)


@given(scripts, st.booleans(), st.integers(0, 1000))
@quick
def test_tokens_and_endings_follow_the_rule_book(script, go_on, seed):
    *_, (*_, state, _, _, over) = scripted(deal(jax.random.key(seed)), script, go_on)
    expected = rule_book(script, go_on)
    assert (state.turn, state.miscommunications, state.interceptions, state.ending, state.ending_turn) == expected
    assert over
    side = 1 if expected[3] == Ending.SURVIVED else -1
    np.testing.assert_array_equal(returns(state), [side, side, -side])


@given(scripts, st.booleans())
@quick
def test_actors_agree_with_the_schedule_and_the_end_absorbs(script, go_on):
    schedule = GAMES[go_on].schedule
    assert schedule == ((Role.ENCODER,), (Role.DECODER, Role.INTERCEPTOR))
    over = False
    for phase, (before, joint, state, event, acting, now_over) in enumerate(scripted(deal(key), script, go_on)):
        assert tuple(joint) == schedule[phase % 2]
        if over:
            assert equal(before, state) and not event.valid and not acting.any() and now_over
        else:
            assert event.valid == (phase % 2 == 1)
            np.testing.assert_array_equal(np.flatnonzero(acting), () if now_over else schedule[(phase + 1) % 2])
        if event.valid:
            assert event.turn == before.turn and event.code == before.codes[before.turn]
            np.testing.assert_array_equal(event.hints, before.hints)
            assert (event.decoder_guess, event.interceptor_guess) == tuple(joint.values())
        over = now_over
        assert np.asarray(returns(state)).any() == (state.ending != Ending.UNFINISHED)


@given(scripts, st.booleans())
@quick
def test_what_has_not_happened_is_minus_one(script, go_on):
    for *_, state, _, _, _ in scripted(deal(key), script, go_on):
        history, played = jax.tree.map(np.asarray, state.history), int(state.turn)
        assert all((leaf[played:] == -1).all() for leaf in history)
        np.testing.assert_array_equal(history.codes[:played], np.asarray(state.codes)[:played])
        if not state.awaiting_guesses:
            np.testing.assert_array_equal(state.hints, -1)


def test_failed_answers():
    state = deal(key)
    code = int(state.codes[0])

    def tokens(hints, decoder, interceptor):
        after, *_ = take_turn(state, hints, decoder, interceptor)
        return int(after.miscommunications), int(after.interceptions)

    nothing = {role: np.asarray(rules.no_action(role)) for role in Role}
    assert nothing[Role.ENCODER].shape == (3,) and nothing[Role.DECODER].shape == nothing[Role.INTERCEPTOR].shape == ()
    assert all((action == NO_ANSWER).all() for action in nothing.values())
    hints = [5, 6, 7]
    assert tokens(hints, code, code) == (0, 1)
    assert tokens(nothing[Role.ENCODER], code, code) == (1, 0)  # nothing was said, so nothing was understood
    assert tokens([5, NO_ANSWER, 7], code, code) == (1, 0)
    assert tokens(hints, nothing[Role.DECODER], code) == (1, 1)
    assert tokens(hints, code, nothing[Role.INTERCEPTOR]) == (0, 0)
    assert tokens(*nothing.values()) == (1, 0)
    after, *_ = take_turn(state, *nothing.values())
    assert all((np.asarray(leaf)[0] == -1).all() for leaf in after.history[1:])


# What each role may know


def with_other_secrets(state, role):
    """Another state that `role` cannot tell from this one."""
    known = int(state.turn) + (role == Role.ENCODER)
    codes = np.asarray(state.codes).copy()
    codes[known:] = (codes[known:] + 11) % 24
    keywords = np.asarray(state.keywords)
    if role == Role.INTERCEPTOR:
        keywords = (keywords + 7) % KEYWORDS
    return state._replace(codes=jnp.array(codes), keywords=jnp.array(keywords))


@given(scripts, st.booleans(), st.integers(0, 1000))
@quick
def test_an_observation_hides_what_the_role_may_not_know(script, go_on, seed):
    for *_, state, _, _, _ in scripted(deal(jax.random.key(seed)), script, go_on):
        code = np.asarray(state.codes)[min(int(state.turn), rules.TURNS - 1)]
        for role in Role:
            seen = observe(state, role=role)
            assert equal(seen, observe(with_other_secrets(state, role), role=role))
            assert (seen.role, seen.turn) == (role, state.turn)
            assert equal(seen.history, state.history)
            np.testing.assert_array_equal(seen.keywords, -1 if role == Role.INTERCEPTOR else state.keywords)
            np.testing.assert_array_equal(seen.hints, -1 if role == Role.ENCODER else state.hints)
            assert seen.code == (code if role == Role.ENCODER else -1)
            assert equal(rules.view(state, role), rules.View(role, np.asarray(seen.keywords)))


def test_guesses_of_this_turn_are_not_seen_before_it_ends():
    """Decoder and interceptor act in one phase: what they are shown holds nothing of each other."""
    state = deal(key)
    state, *_ = step(state, {Role.ENCODER: np.int32([1, 2, 3])})
    for role in (Role.DECODER, Role.INTERCEPTOR):
        seen = observe(state, role=role)
        np.testing.assert_array_equal(seen.history.decoder_guesses, -1)
        np.testing.assert_array_equal(seen.history.interceptor_guesses, -1)
    assert not hasattr(state, "guesses")


def test_imagining_another_players_view():
    interceptor = rules.view(deal(key), Role.INTERCEPTOR)
    hypothesis = jnp.array([9, 8, 7, 6])
    assert equal(rules.imagine(interceptor, Role.DECODER, hypothesis), rules.View(Role.DECODER, hypothesis))
    assert equal(rules.imagine(interceptor, Role.INTERCEPTOR, hypothesis), rules.View(Role.INTERCEPTOR, np.full(4, -1)))


def test_guesses_are_legal_also_unwise_ones_and_hints_are_open_ended():
    state = deal(key)
    assert rules.legal(state, Role.ENCODER) is None
    for role in (Role.DECODER, Role.INTERCEPTOR):
        np.testing.assert_array_equal(rules.legal(state, role), np.ones(24, bool))


def test_used_codes():
    history = rules.begin(jnp.arange(4), jnp.arange(4)).history._replace(codes=jnp.array([3, 23, -1, -1]))
    used = rules.codes_used(history)
    np.testing.assert_array_equal(np.flatnonzero(used), [3, 23])


def test_batches_are_loops():
    states = jax.vmap(deal)(jax.random.split(key, 3))
    hints, decoder = np.arange(9, dtype=np.int32).reshape(3, 3), np.asarray(states.codes)[:, 0]
    interceptor = np.int32([0, 5, NO_ANSWER])
    joint = {Role.DECODER: decoder, Role.INTERCEPTOR: interceptor}
    batched, *_ = jax.vmap(step)(jax.vmap(step)(states, {Role.ENCODER: hints})[0], joint)
    for i in range(3):
        one = jax.tree.map(lambda leaf: jnp.array(np.asarray(leaf)[i]), states)  # noqa: B023
        alone, *_ = take_turn(one, hints[i], decoder[i], interceptor[i])
        assert equal(jax.tree.map(lambda leaf: np.asarray(leaf)[i], batched), alone)  # noqa: B023
