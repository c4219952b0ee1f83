import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.decrypto.rules import CODES, Role, begin, code_text, guess, observe, view
from otherminds.games.decrypto.vocabulary import make
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.compare import heard_lexicon
from otherminds.tom.experiments.records import read_games
from otherminds.tom.experiments.trajectory import believes_keywords, follow, posterior
from otherminds.tom.minds.decrypto.registry import UnknownMind, named

WORDS = [f"noun{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
HORIZON = 5
SOFT = "bayesian:rule=softmax"


@pytest.fixture(scope="module")
def vocabulary():
    return make(WORDS, np.random.default_rng(1).normal(size=(len(WORDS), 6)), WORDS[:9], "tiny")


@pytest.fixture(scope="module")
def games(vocabulary, tmp_path_factory):
    """A full game with a failed encoder, a failed interceptor and an unknown word; a short one; one without a turn."""
    random = np.random.default_rng(2)
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    with journal.Writer(path) as writer:
        for seed, turns in enumerate((HORIZON, 2, 0)):
            codes = [code_text(code) for code in random.permutation(len(CODES))[:HORIZON]]
            common = {"game_id": f"game {seed}"}
            agents = {"encoder": "baseline", "decoder": "literal", "interceptor": "bayesian"}
            keywords = [vocabulary.keywords[k] for k in random.permutation(9)[:4]]
            writer.write(
                journal.GameBegun(agents=agents, seed=seed, episode=0, keywords=keywords, codes=codes, **common)
            )
            for turn in range(max(turns, 1)):
                hints = [WORDS[w] for w in random.choice(len(WORDS), 3, replace=False)]
                if seed == 0 and turn == 1:
                    hints = None
                if seed == 0 and turn == 2:
                    hints = ["nounz", "qwertz", "nouny"]
                guesses = {"decoder": codes[turn], "interceptor": None if turn == 3 else codes[0]}
                for role, action in {"encoder": hints, **guesses}.items():
                    if turns or role == "encoder":
                        writer.write(
                            journal.Decision(
                                turn=turn, role=role, agent=agents[role], observation={}, action=action, **common
                            )
                        )
    return read_games([path], vocabulary)


@pytest.fixture(scope="module")
def lexicon(vocabulary, games):
    return heard_lexicon(vocabulary, games)


def by_hand(games, lexicon, game, spec):
    """The same as `follow`, one plain step after the other: (log_code [T, 24], log_belief [T + 1, 4, W] or None)."""
    model, arrays = named(spec, Role.INTERCEPTOR), games.arrays
    params = model.make_params(lexicon)
    state = begin(jnp.asarray(arrays.keywords[game]), jnp.asarray(arrays.codes[game]))
    belief = model.mind.init(params, None, view(state, Role.INTERCEPTOR))
    codes, beliefs = [], [model.mind.readout(params, belief, observe(state, Role.INTERCEPTOR)).get("keyword")]
    for turn in range(arrays.turns[game]):
        state = state._replace(hints=jnp.asarray(arrays.hints[game, turn]))
        codes.append(model.mind.readout(params, belief, observe(state, Role.INTERCEPTOR))["code"])
        guesses = (arrays.decoder_guesses[game, turn], arrays.interceptor_guesses[game, turn])
        state, event = guess(state, *map(jnp.asarray, guesses))
        belief = model.mind.update(params, belief, event)
        beliefs.append(model.mind.readout(params, belief, observe(state, Role.INTERCEPTOR)).get("keyword"))
    return np.array(codes), None if beliefs[0] is None else np.array(beliefs)


@pytest.mark.parametrize(("game", "spec"), [(0, "baseline"), (0, "bayesian"), (0, SOFT), (1, SOFT)])
def test_follow_equals_a_plain_loop(games, vocabulary, lexicon, game, spec):
    trajectory = follow(games, vocabulary, lexicon, game, spec)
    log_code, log_belief = by_hand(games, lexicon, game, spec)
    np.testing.assert_allclose(trajectory.log_code, log_code, atol=1e-5)
    if spec == "baseline":
        assert trajectory.log_belief is None and log_belief is None
        assert trajectory.log_true_keywords is None and trajectory.top_keywords() == []
    else:
        np.testing.assert_allclose(trajectory.log_belief, log_belief, atol=1e-5)


@pytest.mark.parametrize("game", [0, 1])
def test_shapes_and_normalisation(games, vocabulary, lexicon, game):
    trajectory = follow(games, vocabulary, lexicon, game, SOFT)
    turns = int(games.arrays.turns[game])
    assert trajectory.log_code.shape == (turns, 24)
    assert trajectory.log_belief.shape == (turns + 1, 4, 9)
    np.testing.assert_allclose(np.exp(trajectory.log_code).sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(np.exp(trajectory.log_belief).sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(trajectory.log_belief[0], -np.log(9), rtol=1e-6)
    assert trajectory.log_true_keywords.shape == (turns + 1, 4)
    assert trajectory.log_true_code.shape == (turns,)


def test_true_values_are_picked_out(games, vocabulary, lexicon):
    trajectory = follow(games, vocabulary, lexicon, 0, SOFT)
    for turn in range(HORIZON):
        assert trajectory.log_true_code[turn] == trajectory.log_code[turn, games.arrays.codes[0, turn]]
        for slot in range(4):
            keyword = vocabulary.keywords.index(trajectory.true_keywords[slot])
            assert trajectory.log_true_keywords[turn, slot] == trajectory.log_belief[turn, slot, keyword]
    used = games.arrays.codes[0, : HORIZON - 1]
    assert np.isneginf(trajectory.log_code[-1, used]).all()  # codes never come twice


def test_what_happened(games, vocabulary, lexicon):
    trajectory = follow(games, vocabulary, lexicon, 0, SOFT)
    assert trajectory.spoke.tolist() == [True, False, True, True, True]
    assert trajectory.intercepted.tolist() == [True, False, False, False, False]
    assert trajectory.missed.tolist() == [False, True, False, False, False]
    assert trajectory.hints[1] is None and trajectory.hints[2] == ("nounz", "qwertz", "nouny")
    assert (trajectory.game_id, trajectory.mind) == ("game 0", SOFT)


def test_belief_moves_only_where_a_known_hint_was_given(games, vocabulary, lexicon):
    belief = follow(games, vocabulary, lexicon, 0, SOFT).log_belief
    moved = np.abs(np.diff(belief, axis=0)).max(-1) > 1e-6
    for turn in range(HORIZON):
        known = [digit for i, digit in enumerate(CODES[games.arrays.codes[0, turn]]) if turn != 2 or i != 1]
        expected = np.zeros(4, bool)
        expected[known if turn != 1 else []] = True
        np.testing.assert_array_equal(moved[turn], expected)


def test_top_keywords_are_the_most_probable_in_words(games, vocabulary, lexicon):
    trajectory = follow(games, vocabulary, lexicon, 0, SOFT)
    top = trajectory.top_keywords(3)
    assert [len(slots) for slots in top] == [4] * (HORIZON + 1)
    assert [word for word, _ in top[0][0]] == list(vocabulary.keywords[:3])  # ties keep the list's order
    for belief, best in zip(trajectory.log_belief[-1], top[-1], strict=True):
        assert [p for _, p in best] == pytest.approx(np.sort(np.exp(belief))[::-1][:3])
        assert best[0][0] == vocabulary.keywords[int(belief.argmax())]


def test_a_game_without_a_finished_turn_cannot_be_followed(games, vocabulary, lexicon):
    assert games.arrays.turns[2] == 0
    with pytest.raises(ValueError, match="'game 2': no turn"):
        follow(games, vocabulary, lexicon, 2, SOFT)
    with pytest.raises(UnknownMind, match="psychic"):
        follow(games, vocabulary, lexicon, 0, "psychic")


def test_posterior_is_the_same_mind_without_its_hard_choice(games, vocabulary, lexicon):
    hard = follow(games, vocabulary, lexicon, 0, "bayesian:beta=5,lapse=0.2")
    soft = follow(games, vocabulary, lexicon, 0, posterior("bayesian:beta=5,lapse=0.2"))
    plain = follow(games, vocabulary, lexicon, 0, "bayesian:beta=5,rule=softmax")
    np.testing.assert_array_equal(soft.log_belief, hard.log_belief)
    np.testing.assert_allclose(soft.log_code, plain.log_code, atol=1e-6)
    assert posterior("bayesian") == "bayesian:rule=softmax,alpha=1,lapse=0"
    with pytest.raises(UnknownMind):
        posterior("baseline")


def test_who_believes_in_keywords(lexicon):
    assert believes_keywords("bayesian", lexicon) and not believes_keywords("baseline", lexicon)
