"""Rationality, noise and depth against single shadows, cases made by hand, and players whose make is known."""

import asyncio
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.decrypto.rules import Role, View
from otherminds.tom.experiments.compare import LAPSE, Alternatives, heard_lexicon, lapsed, shadow
from otherminds.tom.experiments.config import validated
from otherminds.tom.experiments.decrypto import players_console
from otherminds.tom.experiments.decrypto import profile as profiles
from otherminds.tom.experiments.decrypto.plots import profile_ranges
from otherminds.tom.experiments.decrypto.profile import Family, Interval, Profile, family_scores, profile, shadow_family
from otherminds.tom.experiments.records import read_games
from otherminds.tom.experiments.run import run
from otherminds.tom.minds.decrypto.registry import UnknownMind, named

FEW = Alternatives(far=3, pool=12)
DECODER = Family(0, "literal:rule=softmax", (0.0, 0.5, 1.0, 3.0))
ENCODER = Family(0, "literal:beta=1", (0.0, 1.0, 12.0))
WHO = {"encoder": ("literal:beta=6",), "decoder": ("literal:rule=softmax,alpha=0.5",), "interceptor": ("baseline",)}


@pytest.fixture(scope="module")
def played(tiny, tmp_path_factory):
    """A function from a number of games to these games."""

    def play(episodes):
        path = tmp_path_factory.mktemp("log") / "log.jsonl"
        asyncio.run(run(validated(**WHO, episodes=episodes, seeds=(0,), turns=4), tiny, path))
        return read_games([path], tiny)

    return play


@pytest.fixture(scope="module")
def games(played):
    return played(3)


def there(games):
    return np.arange(games.arrays.codes.shape[1]) < games.arrays.turns[:, None]


@pytest.mark.parametrize(
    ("family", "role", "spec", "place"),
    [
        (DECODER, Role.DECODER, "literal:rule=softmax", 2),
        (DECODER, Role.DECODER, "literal:rule=softmax,alpha=3", 3),
        (ENCODER, Role.ENCODER, "literal:beta=12", 2),
    ],
)
def test_each_alpha_is_the_mind_that_has_it(tiny, games, family, role, spec, place):
    lexicon, played = heard_lexicon(tiny, games), there(games)
    log_p, size = shadow_family(games, lexicon, family, role, 0.0, 0, FEW)
    expected = shadow(games, lexicon, spec, role, FEW)
    np.testing.assert_allclose(log_p[played][:, place], expected.log_p[played], rtol=2e-5, atol=2e-5)
    np.testing.assert_array_equal(size[played], expected.set_size[played])
    if role == Role.DECODER:  # at alpha 0 every code that is not used yet is as good as any
        unused = 24 - np.broadcast_to(np.arange(played.shape[1]), played.shape)[played]
        np.testing.assert_allclose(log_p[played][:, 0], -np.log(unused), rtol=1e-5)


def test_noise_is_averaged_over_draws(tiny, games):
    lexicon, played = heard_lexicon(tiny, games), there(games)
    scores, nothing = family_scores(games, lexicon, DECODER, Role.DECODER, LAPSE, FEW)
    noises, draws = profiles.NOISES, range(profiles.DRAWS)
    each = [
        shadow(games, lexicon, f"literal:rule=softmax,noise={noises[2]},noise_seed={draw}", Role.DECODER, FEW).log_p
        for draw in draws
    ]
    expected = np.log(np.exp(np.array(each, float)).mean(0))
    np.testing.assert_allclose(scores[2, 2][played], lapsed(expected, np.array(24), LAPSE)[played], rtol=1e-4)
    np.testing.assert_allclose(nothing[played], np.log(LAPSE / 24))


def test_the_shortest_interval_of_neighbours():
    found = profiles._interval((0.0, 1.0, 2.0, 3.0, 4.0), np.array([0.01, 0.3, 0.4, 0.26, 0.03]), 2)
    assert found == (2.0, 1.0, 3.0)
    assert profiles._interval((0.0, 1.0), np.array([0.5, 0.5]), 0) == (0.0, 0.0, 1.0)
    assert profiles._interval((0.0, 1.0), np.array([0.01, 0.99]), 1) == (1.0, 1.0, 1.0)


def test_the_index_of_privilege_by_hand(games):
    """Each mind at its best alpha: -1 a decision against -3, so 2 nats for the one who knows less."""
    shape = (1, 2, *games.arrays.codes.shape)
    fair, informed = np.full(shape, -5.0), np.full(shape, -3.0)
    fair[0, 1], informed[0, 0] = -1.0, -4.0
    (found,) = profiles._privilege(games, WHO["encoder"][0], (fair, fair[0, 0]), (informed, informed[0, 0]))
    assert (found.fair, found.informed, found.index, found.error) == (-1.0, -3.0, 2.0, 0.0)
    assert found.decisions == there(games).sum()


def test_an_informed_interceptor_knows_the_keywords_and_others_do_not(tiny, games):
    keywords = jnp.array([0, 1, 2, 3], jnp.int32)
    lexicon = heard_lexicon(tiny, games)
    model = named("rational:k=2,pool=4,decoder=literal,interceptor=informed+bayesian", Role.ENCODER)
    belief = model.mind.init(model.make_params(lexicon), None, View(jnp.int32(0), keywords))
    np.testing.assert_array_equal(belief.interceptors[0], keywords)
    for family, knows in ((profiles.INFORMED, True), (profiles.FAMILIES[Role.ENCODER][1], False)):
        model = named(family.spec, Role.ENCODER)
        (held,) = model.mind.init(model.make_params(lexicon), None, View(jnp.int32(0), keywords)).interceptors
        assert (getattr(held, "shape", None) == keywords.shape and bool((held == keywords).all())) == knows
    with pytest.raises(UnknownMind, match="'informed' is no mind for the interceptor"):
        named("informed", Role.INTERCEPTOR)


def test_a_lapse_of_0_is_refused(tiny, games):
    with pytest.raises(ValueError, match="lapse=0"):
        profile(games, tiny, lapse=0)


@pytest.mark.slow
def test_what_made_the_decisions_is_found(tiny, played):
    """A literal encoder of beta 6 and a literal decoder of alpha 0.5, of depth 0 both, in 40 games."""
    found, privileges = profile(played(40), tiny, lapse=0.01)
    of = {(row.role, row.depth): row for row in found}
    for role, alpha in (("encoder", 6.0), ("decoder", 0.5)):
        row = of[role, 0]
        assert row.share > 0.95 and row.alpha.low <= alpha * 1.3 and row.alpha.high >= alpha / 1.3
        assert row.noise.low == 0.0
    assert len(privileges) == 1 and privileges[0].decisions == of["encoder", 0].decisions


def test_evidence_shares_and_chance_by_hand(games):
    """Two alphas and two noises; a failed decision has what only the lapse allows, whatever the mind."""
    guesses = np.array(games.arrays.decoder_guesses)
    guesses[0, 0] = -1
    games = replace(games, arrays=games.arrays._replace(decoder_guesses=guesses))
    shape, count = games.arrays.codes.shape, int(there(games).sum()) - 1
    nothing = np.full(shape, np.log(LAPSE / 24))
    first, second = np.full((2, 2, *shape), -2.0), np.full((2, 2, *shape), -2.5)
    first[1, 0] = -1.0
    agent = WHO["decoder"][0]
    one, two = profiles._profiles(games, Role.DECODER, agent, [(first, nothing), (second, nothing)], LAPSE)
    failed = np.log(LAPSE / 24)
    evidence = np.log((np.exp(-count) + 3 * np.exp(-2 * count)) / 4) + failed
    assert one.log_evidence == pytest.approx(evidence) and two.log_evidence == pytest.approx(-2.5 * count + failed)
    assert one.share == pytest.approx(1 / (1 + np.exp(two.log_evidence - evidence)))
    assert one.chance == two.chance == pytest.approx(-count * np.log(24) + failed)
    assert one.decisions == count + 1 and one.log_score == pytest.approx((-count + failed) / (count + 1))
    assert (one.alpha.mode, one.noise.mode) == (profiles.FAMILIES[Role.DECODER][0].alphas[0], profiles.NOISES[1])


def test_the_index_is_above_0_for_who_minds_what_the_interceptor_knows(tiny, games, monkeypatch):
    """Every mind gives -3 a decision, but -1 the one who knows that the interceptor lacks the keywords."""

    def scores(games, lexicon, family, *arguments):
        value = -1.0 if family is profiles.FAMILIES[Role.ENCODER][1] else -3.0
        shape = games.arrays.codes.shape
        return np.full((1, 1, *shape), value), np.full(shape, -9.0)

    monkeypatch.setattr(profiles, "family_scores", scores)
    found, (privilege,) = profile(games, tiny)
    assert (privilege.fair, privilege.informed, privilege.index) == (-1.0, -3.0, 2.0)
    players_console.print_profiles(found, [privilege])


def test_where_chance_explains_more_it_is_said(capsys):
    none = Interval(1.0, 0.0, 2.0)
    rows = [
        Profile("decoder", agent, depth, "", 0.5, none, none, -3.5, evidence, -30.0, 10)
        for agent, evidence in (("guesses", -31.0), ("bayesian:rule=softmax", -20.0))
        for depth in (0, 1)
    ]
    players_console.print_profiles(rows, [])
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 80
    assert "No depth beats chance, by evidence: decoder guesses." in " ".join(said.split())
    assert "+10.0" in said and "-3.000" in said


def test_the_picture_and_the_table_of_the_report(tmp_path):
    near = Interval(0.0, 0.0, 20.0)
    rows = [Profile("encoder", "<a>", d, "", 0.3, near, near, -3.5, -31.0, -30.0, 10) for d in (0, 1)]
    index = [profiles.Privilege("<a>", 10, -1.0, -3.0, 2.0, float("nan"))]
    profile_ranges(rows, index, tmp_path / "profiles.png")
    assert (tmp_path / "profiles.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="profiles: there is none"):
        profile_ranges([], [], tmp_path / "none.png")
