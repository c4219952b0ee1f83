"""Shadows, scores, outcomes and ranks against plain loops, closed forms and cases made by hand."""

import asyncio
import itertools
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.decrypto.rules import CODES, LENGTH, Event, Role, begin, code_text, guess, observe, view
from otherminds.games.decrypto.vocabulary import hint_vector, similarity
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.compare import (
    UNIFORM,
    Alternatives,
    Shadow,
    common_alternatives,
    compare,
    decided,
    heard_lexicon,
    hint_ranks,
    lapsed,
    nearness,
    outcomes,
    shadow,
)
from otherminds.tom.experiments.compare import _row as scored_under
from otherminds.tom.experiments.config import validated
from otherminds.tom.experiments.records import read_games
from otherminds.tom.experiments.run import run
from otherminds.tom.minds.decrypto.hints import HintSet
from otherminds.tom.minds.decrypto.registry import UnknownMind, named

RATIONAL = "rational:k=3,pool=10,alpha=5,decoder=literal,interceptor=bayesian"
FEW = Alternatives(near=2, far=2, pool=12)
MINDS = {
    Role.ENCODER: ["baseline:k=6", "literal:k=4,pool=10"],
    Role.DECODER: ["baseline", "literal:rule=softmax"],
    Role.INTERCEPTOR: ["bayesian:rule=softmax"],
}
TURNS = 4
LOSSES = "miscommunication", "interception", "survived"


@pytest.fixture(scope="module")
def write(tiny, tmp_path_factory):
    """A function from stories to the games of their log. A story: agents, seed, and its turns' (hints, guesses).

    Codes and keywords of a story are drawn by its place. Guesses: "right", "wrong", or None for no answer.
    """

    def write(stories, *, over=True):
        path, random = tmp_path_factory.mktemp("log") / "log.jsonl", np.random.default_rng(0)
        with journal.Writer(path) as writer:
            writer.write(journal.RunBegun(game="decrypto", config={}, vocabulary=tiny.name, versions={}, time=""))
            for number, (agents, seed, turns) in enumerate(stories):
                game_id, seated = (
                    f"game {number}",
                    dict(zip(("encoder", "decoder", "interceptor"), agents, strict=True)),
                )
                codes = [code_text(code) for code in random.permutation(len(CODES))[:TURNS]]
                keywords = [tiny.keywords[k] for k in random.permutation(len(tiny.keywords))[:4]]
                writer.write(
                    journal.GameBegun(
                        game_id=game_id, agents=seated, seed=seed, episode=0, keywords=keywords, codes=codes
                    )
                )
                for turn, (hints, *guesses) in enumerate(turns):
                    code = {"right": codes[turn], "wrong": codes[(turn + 1) % TURNS], None: None}
                    actions = {
                        "encoder": hints and list(hints),
                        "decoder": code[guesses[0]],
                        "interceptor": code[guesses[1]],
                    }
                    for role, action in actions.items():
                        writer.write(
                            journal.Decision(
                                game_id=game_id, turn=turn, role=role, agent=seated[role], observation={}, action=action
                            )
                        )
                if over:
                    ending = LOSSES[number % 3]
                    writer.write(
                        journal.GameOver(
                            game_id=game_id,
                            ending=ending,
                            turns=0,
                            miscommunications=0,
                            interceptions=0,
                            failed_answers=0,
                        )
                    )
        return read_games([path], tiny)

    return write


@pytest.fixture(scope="module")
def mixed(tiny, write):
    """Games with nouns, words that nobody knows, words of two nouns, and failed answers of every role."""
    n, two = tiny.words, f"{tiny.words[21]} {tiny.words[22]}"
    trio = ("a", "b", "c")
    return write(
        [
            (trio, 0, [((n[12], n[13], n[14]), "right", "wrong"), ((n[13], n[12], n[15]), "wrong", "right")]),
            (trio, 1, [((n[16], "qwertz", n[17]), "right", None), (("qwertz", "uiop", "asdf"), "wrong", "right")]),
            (trio, 2, [((two, n[18], n[19]), None, "wrong"), (None, "right", None), ((n[3],) * 3, "right", "right")]),
            (("a", "d", "c"), 0, [((n[20], two, two), "right", "wrong")]),
            (("e", "f", "g"), 0, [(("q", "w", "e"), None, "right")]),
        ]
    )  # fmt: skip


# Shadows


def events_of(game):
    """State and event of every turn, by the rules alone."""
    state = begin(game.keywords, np.maximum(game.codes, 0))
    for turn in range(int(game.turns)):
        before = state
        spoken = state._replace(hints=jnp.asarray(game.hints[turn]))
        state, event = jax.jit(guess)(
            spoken, jnp.int32(game.decoder_guesses[turn]), jnp.int32(game.interceptor_guesses[turn])
        )
        yield turn, before, spoken, event


def by_hand(games, lexicon, spec, role, settings):
    """A shadow from the mind's functions, one decision and one action after the other."""
    model = named(spec, role)
    params = model.make_params(lexicon)
    shape = games.arrays.codes.shape
    out = Shadow(*np.full((2, *shape), np.nan), np.zeros(shape, int), np.full((*shape, 24), np.nan))
    for g in range(shape[0]):
        game = type(games.arrays)(*(array[g] for array in games.arrays))
        belief = model.mind.init(params, None, view(begin(game.keywords, np.maximum(game.codes, 0)), role))
        for turn, before, spoken, event in events_of(game):
            if role != Role.ENCODER:
                log_p = np.asarray(
                    jax.jit(model.mind.log_policy)(params, belief, observe(spoken, role), jnp.arange(24))
                )
                made = game.decoder_guesses[turn] if role == Role.DECODER else game.interceptor_guesses[turn]
                results = (log_p[made], log_p.max(), 24, log_p) if made >= 0 else None
            else:
                results = encoder_by_hand(
                    model, params, belief, observe(before, role), lexicon, game.hints[turn], settings
                )
            if results is not None:
                for array, value in zip(out, results, strict=True):
                    array[g, turn] = value
            belief = jax.jit(model.mind.update)(params, belief, Event(*map(jnp.asarray, event)))
    return out


def encoder_by_hand(model, params, belief, observation, lexicon, said, settings):
    if (said < 0).any():
        return None
    known = np.asarray(lexicon.known)[said]
    offered = jax.jit(common_alternatives, static_argnums=2)(lexicon, observation, settings)
    columns = []
    for digit in range(LENGTH):
        words = [int(w) for w, valid in zip(offered.words[digit], offered.valid[digit], strict=True) if valid]
        columns.append(list(dict.fromkeys([*words, int(said[digit])] if known[digit] else words)))
    width = settings.near + settings.far + 1
    padded = HintSet(
        jnp.asarray([column + [0] * (width - len(column)) for column in columns]),
        jnp.asarray([[True] * len(column) + [False] * (width - len(column)) for column in columns]),
    )
    policy = np.exp(np.float64(jax.jit(model.mind.log_policy)(params, belief, observation, padded))).reshape(
        (width,) * LENGTH
    )
    policy = policy / policy.sum() if policy.sum() else policy
    totals: dict[tuple, float] = {}  # by the words that are told apart
    for places in itertools.product(*(range(len(column)) for column in columns)):
        words = tuple(column[i] if there else None for column, i, there in zip(columns, places, known, strict=True))
        totals[words] = totals.get(words, 0.0) + policy[places]
    mine = tuple(int(w) if there else None for w, there in zip(said, known, strict=True))
    with np.errstate(divide="ignore"):
        return np.log(totals[mine]), np.log(max(totals.values())), len(totals), np.nan


@pytest.mark.parametrize(
    ("role", "spec"),
    [
        (Role.ENCODER, "baseline:k=6"),
        (Role.ENCODER, RATIONAL),
        (Role.ENCODER, "literal:k=4,pool=10"),
        (Role.DECODER, "baseline"),
        (Role.DECODER, "literal:rule=softmax"),
        (Role.INTERCEPTOR, "baseline:assignment=greedy"),
        (Role.INTERCEPTOR, "bayesian:rule=softmax"),
    ],
)
def test_shadows_equal_a_plain_loop(tiny, mixed, role, spec):
    lexicon = heard_lexicon(tiny, mixed)
    expected = by_hand(mixed, lexicon, spec, role, FEW)
    got = shadow(mixed, lexicon, spec, role, FEW)
    scored = sum(decided(mixed, role, agent)[0] for agent in {agents[role] for agents in mixed.agents}) > 0
    assert scored.sum() >= 4 and not np.isnan(expected.log_p[scored]).any()
    np.testing.assert_allclose(got.log_p[scored], expected.log_p[scored], atol=2e-4)
    np.testing.assert_allclose(got.log_best[scored], expected.log_best[scored], atol=2e-4)
    np.testing.assert_array_equal(got.set_size[scored], expected.set_size[scored])
    assert (got.log_p[scored] <= got.log_best[scored] + 1e-6).all()
    if role == Role.ENCODER:
        assert got.log_policy is None
    else:
        np.testing.assert_allclose(got.log_policy[scored], expected.log_policy[scored], atol=2e-4)


@pytest.mark.parametrize("spec", ["baseline:k=6", "literal"])
def test_encoder_minds_are_scored_over_one_common_set(tiny, write, spec):
    """With every combination of the set said once in the same game, the scores add up to one, for every lapse."""
    trio = ("a", "b", "c")
    first = write([(trio, 0, [(tuple(tiny.words[12:15]), "right", "wrong")])])
    lexicon = heard_lexicon(tiny, first)
    state = begin(first.arrays.keywords[0], first.arrays.codes[0])
    offered = common_alternatives(lexicon, observe(state, Role.ENCODER), FEW)
    columns = [[int(w) for w, valid in zip(*pair, strict=True) if valid] for pair in zip(*offered, strict=True)]
    said = np.array(list(itertools.product(*columns)), np.int32)
    arrays = type(first.arrays)(*(np.repeat(array, len(said), 0) for array in first.arrays))
    arrays.hints[:, 0] = said
    every = type(first)(**{**vars(first), "arrays": arrays})
    got = shadow(every, lexicon, spec, Role.ENCODER, FEW)
    assert (got.set_size[:, 0] == len(said)).all() and len(np.unique(got.log_p[:, 0])) > 1
    for lapse in (0.001, 0.3, 1.0):
        scores = lapsed(got.log_p[:, 0], got.set_size[:, 0], lapse)
        assert np.exp(scores).sum() == pytest.approx(1, abs=1e-4)
    np.testing.assert_allclose(got.log_best[:, 0], got.log_p[:, 0].max(), atol=1e-5)


def test_alternatives_are_near_and_far_without_doubles_the_keyword_or_what_was_said(tiny, mixed):
    lexicon = heard_lexicon(tiny, mixed)
    state = begin(mixed.arrays.keywords[0], mixed.arrays.codes[0])
    said = lexicon.nearest[state.keywords[:3], 1]
    state, _ = jax.jit(guess)(state._replace(hints=said), jnp.int32(0), jnp.int32(0))
    observation = observe(state, Role.ENCODER)
    alternatives = jax.jit(common_alternatives, static_argnums=2)
    for settings in (FEW, Alternatives(), Alternatives(near=5, far=30, pool=10), Alternatives(near=39, far=1)):
        offered = alternatives(lexicon, observation, settings)
        for digit, (words, valid) in enumerate(zip(*map(np.asarray, offered), strict=True)):
            keyword = int(observation.keywords[CODES[int(observation.code), digit]])
            own = int(lexicon.keyword_words[keyword])
            kept = words[valid]
            assert len(set(kept.tolist())) == len(kept) and own not in kept and (kept < len(tiny.words)).all()
            order = [word for word in np.asarray(lexicon.nearest[keyword]).tolist() if word != own]
            near = [word for word in order[: settings.near] if word not in said]
            assert kept[: len(near)].tolist() == near and not set(kept.tolist()) & set(said.tolist())
            assert set(kept[len(near) :].tolist()) <= set(order[: settings.pool])
    here, other = (alternatives(lexicon, observation, FEW._replace(seed=seed)).words for seed in (0, 1))
    assert (here != other).any()


def test_a_mind_with_vectors_of_its_own_is_shadowed_with_them(tiny, mixed, tmp_path):
    path = tmp_path / "own.txt"
    random = np.random.default_rng(5)
    path.write_text("".join(f"{word} {' '.join(map(str, random.normal(size=5)))}\n" for word in tiny.words))
    minds = MINDS | {Role.DECODER: ["literal:rule=softmax", f"literal:rule=softmax,vectors={path}"]}
    _, shadows = compare(mixed, tiny, minds, settings=FEW)
    table, own = (shadows[Role.DECODER, spec].log_p for spec in minds[Role.DECODER])
    assert not np.allclose(table, own)


# Scores


def test_the_lapse_mixes_with_a_uniform_choice():
    log_p, size = (
        np.log([0.5, 0.01, 1.0, 0.0], where=[True, True, True, False], out=np.full(4, -np.inf)),
        np.array([24, 24, 8, 8]),
    )
    for lapse in (1e-6, 0.05, 0.5, 1.0):
        expected = np.log((1 - lapse) * np.exp(log_p) + lapse / size)
        np.testing.assert_allclose(lapsed(log_p, size, lapse), expected, rtol=1e-6)


@pytest.fixture(scope="module")
def shadowed(tiny, mixed):
    return compare(mixed, tiny, MINDS, lapse=0.1, settings=FEW)


def test_decisions_are_sorted_into_scored_failed_and_unknown(mixed):
    def count(role, agent):
        return tuple(int(mask.sum()) for mask in decided(mixed, role, agent))

    assert count(Role.ENCODER, "a") == (6, 1, 1)  # a word that nobody knows leaves the others; three leave nothing
    assert count(Role.DECODER, "b") == (4, 1, 1)  # nobody is to blame for a guess without hints
    assert count(Role.DECODER, "d") == (1, 0, 0)
    assert count(Role.INTERCEPTOR, "c") == (5, 1, 1)
    assert count(Role.INTERCEPTOR, "nobody") == (0, 0, 0)


def test_rows_are_the_means_of_the_shadows(mixed, shadowed):
    rows, shadows = shadowed
    assert [(row.role, row.agent, row.mind) for row in rows if row.agent in "ab"] == [
        ("encoder", "a", "baseline:k=6"),
        ("encoder", "a", "literal:k=4,pool=10"),
        ("encoder", "a", UNIFORM),
        ("decoder", "b", "baseline"),
        ("decoder", "b", "literal:rule=softmax"),
        ("decoder", "b", UNIFORM),
    ]
    for row in rows:
        role = Role[row.role.upper()]
        log_p, log_best, size, _ = shadows[role, row.mind]
        scored, failed, unknown = decided(mixed, role, row.agent)
        assert (row.decisions, row.failed, row.unknown) == (scored.sum() + failed.sum(), failed.sum(), unknown.sum())
        if np.isnan(row.log_score):
            assert not (scored | failed).any()
            continue
        scores, regrets = [], []
        for g, t in zip(*np.nonzero(scored | failed), strict=True):
            p = 0.0 if failed[g, t] else np.exp(log_p[g, t])
            scores.append(np.log(0.9 * p + 0.1 / size[g, t]))
            regrets.append(np.log(0.9 * np.exp(log_best[g, t]) + 0.1 / size[g, t]) - scores[-1])
        assert row.log_score == pytest.approx(np.mean(scores), abs=1e-4)
        assert row.regret == pytest.approx(np.mean(regrets), abs=1e-4) and row.regret >= -1e-6
        assert row.impossible == np.isneginf(log_p[scored]).sum()
    for role, agent in {(row.role, row.agent) for row in rows if row.decisions > row.failed}:
        own = [row for row in rows if (row.role, row.agent) == (role, agent)]
        assert {row.best for row in own if row.log_score == max(o.log_score for o in own)} == {True}
        assert sum(row.best for row in own) >= 1


def test_a_failed_answer_is_as_bad_as_the_impossible_among_the_whole_set(mixed, shadowed):
    rows, shadows = shadowed
    failed = decided(mixed, Role.ENCODER, "a")[1]
    for mind in (*MINDS[Role.ENCODER], UNIFORM):
        sizes = shadows[Role.ENCODER, mind].set_size
        assert failed.sum() == 1 and 9 <= sizes[failed][0] <= sizes.max()
    silent = [row for row in rows if row.agent == "f"]
    assert all((row.decisions, row.failed) == (1, 1) for row in silent) and len(silent) == 3
    assert not any(row.best for row in silent)  # no answer counts, so no mind explains it
    assert all(row.log_score == pytest.approx(np.log(0.1 / 24)) for row in silent)


def test_where_a_mind_allows_nothing_it_has_no_best_and_there_is_no_regret(tiny, write):
    hints = tuple(tiny.words[12:15])
    games = write([(("a", "b", "c"), 0, [(hints, "right", "wrong"), (hints, "right", "wrong"), (None, "right", None)])])
    no = -np.inf
    log_p, log_best = np.array([[-1.0, no, no, 0]]), np.array([[-0.5, no, no, 0]])
    row = scored_under(games, Role.ENCODER, "a", "mind", Shadow(log_p, log_best, np.full((1, 4), 10)), 0.1)
    assert (row.decisions, row.failed, row.impossible, row.ruled_out) == (3, 1, 1, 2)
    p, best = 0.9 * np.exp([-1.0, -0.5]) + 0.01
    assert row.regret == pytest.approx(np.log(best / p))  # of the first decision alone
    assert row.log_score == pytest.approx((np.log(p) + 2 * np.log(0.01)) / 3)
    row = scored_under(
        games, Role.ENCODER, "a", "mind", Shadow(np.full((1, 4), no), np.full((1, 4), no), np.full((1, 4), 10)), 0.1
    )
    assert np.isnan(row.regret) and row.ruled_out == 3


def test_an_agent_without_a_scored_decision_has_no_score(shadowed):
    for agent in ("e", "g"):
        own = [row for row in shadowed[0] if row.agent == agent]
        assert own and all(np.isnan(row.log_score) and row.unknown == 1 and not row.best for row in own)


@pytest.fixture(scope="module")
def own_play(tiny, tmp_path_factory):
    """The games that a table of minds played."""

    @cache
    def play(*table):
        path = tmp_path_factory.mktemp("run") / "log.jsonl"
        config = validated(**dict(zip(("encoder", "decoder", "interceptor"), ((one,) for one in table), strict=True)),
                           seeds=tuple(range(6)), continue_after_loss=True)  # fmt: skip
        asyncio.run(run(config, tiny, path))
        return read_games([path], tiny)

    return play


def test_the_play_of_a_mind_is_best_explained_by_that_mind(tiny, own_play):
    table = ("literal:k=9,pool=10", "literal:rule=softmax,beta=2", "bayesian:rule=softmax,beta=2")
    minds = {
        Role.ENCODER: [table[0], "literal:k=9,pool=10,beta=5", "literal:k=9,pool=10,beta=30", "baseline:k=6"],
        Role.DECODER: [table[1], "literal:rule=softmax", "literal:rule=softmax,beta=0.5"],
        Role.INTERCEPTOR: [table[2], "bayesian:rule=softmax", "bayesian:rule=softmax,beta=0.5"],
    }
    pool = Alternatives(near=9, far=1, pool=10)  # just what the encoder chooses from
    rows, shadows = compare(own_play(*table), tiny, minds, settings=pool)
    for role, spec in zip(Role, table, strict=True):
        best = [row for row in rows if row.role == role.name.lower() and row.best]
        assert [row.mind for row in best] == [spec]
        assert best[0].decisions >= 40 and best[0].impossible == 0
        assert np.isfinite(shadows[role, spec].log_p).all()


@pytest.mark.parametrize("lapse", [0, -0.1, 1.1, float("nan")])
def test_a_lapse_out_of_range_is_refused(tiny, mixed, lapse):
    with pytest.raises(ValueError, match="lapse"):
        compare(mixed, tiny, lapse=lapse)


def test_an_unknown_mind_is_refused_before_any_work(tiny, mixed):
    with pytest.raises(UnknownMind, match="nobody"):
        compare(mixed, tiny, {Role.DECODER: ["nobody"]}, on_mind=lambda: pytest.fail("worked"))


# Outcomes and ranks


def test_outcomes_are_counted_by_table(tiny, write):
    said, one, two = tuple(tiny.words[12:15]), ("a", "b", "c"), ("a", "b", "d")
    fine = (said, "right", "wrong")
    games = write(
        [
            (one, 0, [fine, (said, "wrong", "wrong"), (None, "right", None)]),  # lost by the third turn
            (one, 0, [(said, "right", "right"), (said, None, "right"), fine, fine]),  # lost by the second, played on
            (one, 1, [fine, fine, fine, (said, "wrong", None)]),  # survived
            (two, 5, [fine, fine, fine, fine]),
        ]
    )
    first, second = outcomes(games)
    assert (first.agents, first.games, first.failed_answers) == (one, 3, 3)
    assert (first.survived, first.turns) == (pytest.approx(1 / 3), pytest.approx(3))
    assert first.miscommunications == pytest.approx((2 + 1 + 1) / 3)
    assert first.interceptions == pytest.approx((0 + 2 + 0) / 3)  # the second game: up to its loss in turn 2
    assert first.turns_error == pytest.approx(np.std([2.5, 4], ddof=1) / np.sqrt(2))
    assert first.miscommunications_error == pytest.approx(np.std([1.5, 1], ddof=1) / np.sqrt(2))
    assert (second.agents, second.games, second.survived, second.turns) == (two, 1, 0.0, 4.0)
    assert np.isnan(second.turns_error)


def test_unfinished_games_have_no_outcome(tiny, write):
    games = write([(("a", "b", "c"), 0, [(tuple(tiny.words[12:15]), "right", "wrong")])], over=False)
    assert outcomes(games) == []


def test_ranks_count_the_nearer_nouns(tiny, mixed):
    lexicon = heard_lexicon(tiny, mixed)
    ranks = hint_ranks(mixed, lexicon)
    cosines = similarity(tiny.vectors, tiny.keyword_vectors)
    for g, turns in enumerate(mixed.arrays.turns):
        for t in range(ranks.shape[1]):
            for i in range(LENGTH):
                hint = mixed.arrays.hints[g, t, i]
                if t >= turns or hint < 0 or hint in mixed.unknown:
                    assert ranks[g, t, i] == 0
                    continue
                keyword = mixed.arrays.keywords[g, CODES[mixed.arrays.codes[g, t], i]]
                own = similarity(hint_vector(tiny, mixed.words.texts[hint])[None], tiny.keyword_vectors)[0, keyword]
                nearer = [
                    word
                    for word, cosine in zip(tiny.words, cosines[:, keyword], strict=True)
                    if cosine > own + 1e-6 and word != tiny.keywords[keyword]
                ]
                assert ranks[g, t, i] == 1 + len(nearer)


def test_nearness_is_told_by_encoder(tiny, mixed):
    row, silent = nearness(mixed, heard_lexicon(tiny, mixed))
    given = hint_ranks(mixed, heard_lexicon(tiny, mixed))
    given = given[given > 0]
    assert (row.agent, row.hints, row.unknown) == ("a", 17, 7)  # four unknown words, and three that never came
    assert (silent.agent, silent.hints, silent.unknown) == ("e", 0, 3) and np.isnan(silent.median_rank)
    assert row.median_rank == np.median(given) and row.within_200 == 1
    assert row.within_16 == pytest.approx((given <= 16).mean())


def test_the_rank_of_the_nearest_noun_is_one(tiny, write):
    games = write([(("a", "b", "c"), 0, [(tuple(tiny.words[12:15]), "right", "wrong")])])
    lexicon = heard_lexicon(tiny, games)
    for i in range(LENGTH):
        keyword = games.arrays.keywords[0, CODES[games.arrays.codes[0, 0], i]]
        nearest = [int(w) for w in lexicon.nearest[keyword] if int(w) != int(lexicon.keyword_words[keyword])]
        games.arrays.hints[0, 0, i] = nearest[i]
    assert hint_ranks(games, lexicon)[0, 0].tolist() == [1, 2, 3]


def test_everything_is_the_same_in_float64(tiny, mixed):
    """The alternatives are drawn from the same nouns, and the scores agree."""
    lexicon = heard_lexicon(tiny, mixed)
    single = shadow(mixed, lexicon, "literal:rule=softmax", Role.DECODER, FEW)
    with jax.enable_x64(True):
        double = shadow(mixed, heard_lexicon(tiny, mixed), "literal:rule=softmax", Role.DECODER, FEW)
    scored = np.isfinite(single.log_p)
    np.testing.assert_allclose(single.log_p[scored], double.log_p[scored], atol=1e-4)
