"""Scores of observers: against plain NumPy, for failures, and beside the exact observer."""

import json
import math

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from otherminds.games.protocol import NO_ANSWER
from otherminds.games.rps.catalogue import CODES
from otherminds.games.rps.observation import Asking
from otherminds.games.rps.statement import Stated
from otherminds.tom.experiments.rps.matches.play import play_matches
from otherminds.tom.experiments.rps.observers.compare import (
    compare,
    estimate,
    exact_observer,
    legacy_unions,
    paired,
    true_outcome,
)
from otherminds.tom.experiments.rps.observers.records import Scene, Watched
from otherminds.tom.minds.rps.observer_registry import named_observer
from otherminds.tom.minds.rps.observers import observe

ASKING = Asking(40, 10, 10, 20)
SCENE = Scene(("N", "G"), ASKING, False, False)
TRUTH = (13, 6)
MATCHES, QUESTIONS = 6, 3
LAPSE = 0.05


@pytest.fixture(scope="module")
def moves():
    return play_matches("N", "G", MATCHES, 40, seed=0).astype(np.int32)


def stated_by(random, moves, scene=SCENE, failing=()):
    """Somebody who states anything, and fails to answer some questions."""
    shape = (MATCHES, QUESTIONS)
    strategy = random.dirichlet(np.ones(19), (*shape, 2))
    following, outcome = random.dirichlet(np.ones(3), (*shape, 2)), random.dirichlet(np.ones(3), shape)
    guess = strategy.argmax(-1).astype(np.int32)
    guess[0] = TRUTH
    confidence = random.random(shape)
    for place in failing:
        guess[place] = NO_ANSWER
        for part in (strategy, following, outcome, confidence):
            part[place] = 0
    return Watched(
        scene,
        "somebody",
        [(0, n) for n in range(MATCHES)],
        moves,
        guess,
        Stated(strategy, following, outcome, confidence),
        np.ones(shape, bool),
        0,
    )


FAILING = ((1, 0), (1, 2), (2, 1))


@pytest.fixture(scope="module")
def found(moves):
    """The rows of somebody, and of the two ceilings."""
    return compare([stated_by(np.random.default_rng(1), moves, failing=FAILING)], lapse=LAPSE)


def test_every_score_by_hand(found, moves):
    """The definitions, written out for each question in plain Python."""
    one = found[0]
    due = true_outcome(SCENE, moves)[0]
    due_by_hand = [0.0, 0.0, 0.0]
    for a, p in enumerate((1 / 6, 1 / 2, 1 / 3)):
        for b, q in enumerate((0.0, 0.5, 0.5)):
            due_by_hand[{1: 0, 0: 1, 2: 2}[(a - b) % 3]] += p * q
    assert due == pytest.approx(due_by_hand, abs=1e-6)
    stated, guess = one.watched.stated, one.watched.guess
    for n in range(MATCHES):
        for q, after in enumerate(ASKING.asked):
            failed = (n, q) in FAILING
            p = stated.strategy[n, q]
            scores = {name: float(values[n, q]) for name, values in one.scores.items()}
            right = [guess[n, q, player] == TRUTH[player] for player in range(2)]
            assert (scores["identified1"], scores["identified2"], scores["identified"]) == (*right, all(right))
            logs = [math.log(0.95 * p[player, TRUTH[player]] + 0.05 / 19) for player in range(2)]
            assert scores["log_strategy"] == pytest.approx(np.mean(logs), rel=1e-5)
            squares = [((p[player] - np.eye(19)[TRUTH[player]]) ** 2).sum() / 2 for player in range(2)]
            assert scores["brier"] == pytest.approx(1 if failed else np.mean(squares), rel=1e-5)
            if after < 40:
                came = moves[n, :, after]
                logs = [math.log(0.95 * stated.next[n, q, player, came[player]] + 0.05 / 3) for player in range(2)]
                assert scores["log_next"] == pytest.approx(np.mean(logs), rel=1e-5)
            else:
                assert math.isnan(scores["log_next"])
            if failed:
                assert (scores["value"], scores["union"]) == (1, 1)
                assert math.isnan(scores["inconsistent"]) and math.isnan(scores["stated_of_guess"])
                continue
            said = stated.outcome[n, q]
            value = ((said[0] - said[2]) - (due[0] - due[2])) ** 2 / 4
            union = (jensenshannon(said, due) ** 2 / math.log(2) + ((said - due) ** 2).sum() / 2 + value) / 3
            assert scores["value"] == pytest.approx(value, abs=1e-6) and scores["union"] == pytest.approx(
                union, abs=1e-6
            )
            of_guess = [p[player, guess[n, q, player]] for player in range(2)]
            assert scores["inconsistent"] == any(of_guess[player] < p[player].max() for player in range(2))
            assert scores["stated_of_guess"] == pytest.approx(np.mean(of_guess))


def test_rows_are_means_of_matches(found):
    one, row = found[0], found[0].row
    assert (row.matches, row.questions, row.failed, row.unfinished, row.ceiling) == (6, 18, 3, 0, False)
    for name in ("identified", "log_strategy", "union", "brier"):
        value = row.values[name]
        assert value.mean == pytest.approx(one.scores[name].mean(1).mean()) and value.low <= value.mean <= value.high
    assert one.by_match["log_next"] == pytest.approx(one.scores["log_next"][:, :2].mean(1))
    # The first statement stands for rounds 20 to 29, the second for 30 to 39, the third for 40.
    assert one.by_match["identified_all"][0] == pytest.approx((10 + 10 + 1) / 40)
    ours, theirs = (each.by_match["log_strategy"].mean() + math.log(19) for each in (one, found[1]))
    assert row.values["efficiency"].mean == pytest.approx(ours / theirs, rel=1e-5)
    assert row.against_exact["union"].difference.mean == pytest.approx(
        (one.by_match["union"] - found[1].by_match["union"]).mean()
    )
    assert 0 < row.against_exact["union"].p_value <= 1 and row.impossible == 0
    assert 0 <= row.calibration_error <= 1


def test_ceilings_are_exact_observers_of_the_same_matches(found):
    names = [one.row.observer for one in found]
    assert names == ["somebody", "window:20", "exact"] and [one.row.ceiling for one in found] == [False, True, True]
    same = found[1].row
    assert same.values["efficiency"].mean == pytest.approx(1) and same.against_exact["union"].p_value == 1
    assert found[2].row.values["log_strategy"].mean > found[0].row.values["log_strategy"].mean
    assert all(0 <= one.row.values["identified"].mean <= 1 for one in found)


def test_an_observer_that_states_what_the_exact_one_does_equals_it(found, moves):
    exact = found[1].watched
    again = compare([Watched(**{**vars(exact), "observer": "double", "moves": moves})], lapse=LAPSE)[0].row
    for name in (
        "log_strategy",
        "log_next",
        "union",
    ):  # of equal candidates it names one, where the ceiling shares the hit
        assert again.against_exact[name].p_value == 1 and again.against_exact[name].difference.mean == 0
    assert again.values["efficiency"].mean == pytest.approx(1, abs=1e-6)


def test_the_best_and_the_worst(moves):
    shape = (MATCHES, QUESTIONS)
    due = np.broadcast_to(true_outcome(SCENE, moves)[:, None], (*shape, 3))
    sure = np.broadcast_to(np.eye(19)[list(TRUTH)], (*shape, 2, 19))
    follow = np.full((*shape, 2, 3), 1 / 3)
    base = stated_by(np.random.default_rng(0), moves)
    best = Stated(sure, follow, due, np.ones(shape))
    knows = Watched(**{**vars(base), "guess": np.broadcast_to(np.int32(TRUTH), (*shape, 2)), "stated": best})
    nothing = Stated(np.zeros_like(sure), np.zeros_like(follow), np.zeros_like(due), np.zeros(shape))
    fails = Watched(
        **{**vars(base), "observer": "fails", "guess": np.full((*shape, 2), -1, np.int32), "stated": nothing}
    )
    top, bottom, *_ = (one.row for one in compare([knows, fails], lapse=LAPSE))
    values = {name: value.mean for name, value in top.values.items()}
    assert (values["identified"], values["brier"], values["inconsistent"]) == (1, 0, 0)
    assert values["union"] == pytest.approx(0, abs=1e-6) and top.calibration_error == pytest.approx(0, abs=1e-6)
    assert values["log_strategy"] == pytest.approx(math.log(0.95 + 0.05 / 19))
    values = {name: value.mean for name, value in bottom.values.items()}
    assert (values["identified"], values["brier"], values["union"], values["value"]) == (0, 1, 1, 1)
    assert values["log_strategy"] == pytest.approx(math.log(0.05 / 19)) and math.isnan(values["inconsistent"])
    assert bottom.failed == 18 and bottom.impossible == 0 and math.isnan(bottom.calibration_error)


def test_the_truth_of_other_players_is_what_happened(moves):
    scene = Scene(("order:1", "G"), ASKING, False, False)
    shares = true_outcome(scene, moves)
    wins = ((moves[:, 0] - moves[:, 1]) % 3 == 1).mean(1)
    assert shares[:, 0] == pytest.approx(wins) and shares.sum(1) == pytest.approx(np.ones(MATCHES))
    row = compare([stated_by(np.random.default_rng(0), moves, scene)], lapse=LAPSE)[0].row
    assert math.isnan(row.values["identified"].mean) and not math.isnan(row.values["identified2"].mean)
    assert not math.isnan(row.values["log_strategy"].mean)  # of the player who follows a strategy


def test_the_papers_unions_of_a_pair(shared):
    names = {"A": "union_norm_A_minmax", "B": "union_norm_B_rps_observer", "C": "union_norm_C_paper"}
    rows = json.loads((shared / "golden/rps/losses.json").read_text())["rows"]
    for row in rows:
        true, said = (tuple(CODES.index(code) for code in row[name]) for name in ("true", "pred"))
        unions = legacy_unions(true, True)
        width = row["ce_grid_max"] - row["ce_grid_min"]  # B and C divide by it, even where it is rounding error
        for name, key in names.items():
            if name == "A" or width > 1e-6:
                assert unions[name][said] == pytest.approx(row[key], abs=1e-8)
    assert rows and legacy_unions((-1, 3), True) == {}


def test_the_exact_observer_knows_how_moves_are_made():
    """No observer is told more than the reference: it knows trembles, and whether anybody reacts."""
    made = {
        (("N", "G"), False): "window:20",
        (("A:tremble=0.1", "X"), False): "window:20,tremble=0.1/0",
        (("H:tremble=0.3", "X:tremble=0.3"), False): "window:20,tremble=0.3",
        (("D", "Y"), True): "generator-aware:window=20",
    }
    for (players, iid), spec in made.items():
        scene = Scene(players, ASKING, iid, False)
        assert exact_observer(scene, 20).spec == spec and exact_observer(scene, None).spec != spec
    scene = Scene(("A:tremble=0.3", "X"), Asking(40, 3, 4, None), False, False)
    moves = play_matches(*scene.players, MATCHES, 40, seed=1).astype(np.int32)
    found = observe(exact_observer(scene, None).mind, exact_observer(scene, None).params, moves[0])
    # By hand: player 1 draws each move from .7 p + .1 for all but his reactions; player 2 never trembles.
    shares = {"A": (0.1, 0.1, 0.8), "J": (0.275, 0.275, 0.45), "D": (1 / 3, 1 / 3, 1 / 3)}
    log_p = {code: sum(math.log(p[move]) for move in moves[0, 0]) for code, p in shares.items()}
    stated = np.asarray(found["log_strategy"])[-1]
    for one, two in (("A", "J"), ("A", "D")):
        due = log_p[one] - log_p[two]
        assert stated[0, CODES.index(one)] - stated[0, CODES.index(two)] == pytest.approx(due, abs=1e-3)
    assert stated[1, CODES.index("X")] == pytest.approx(0, abs=1e-4)
    assert np.exp(np.asarray(found["log_outcome"])[-1]).sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.slow
def test_the_ceiling_is_above_observers_who_know_less():
    """On data that nobody reacts in, and on players who tremble."""
    for players, iid, told in (
        (("D", "Y"), True, "generator-aware"),
        (("A:tremble=0.2", "X:tremble=0.2"), False, "exact:tremble=0.2"),
    ):
        scene = Scene(players, Asking(40, 10, 10, None), iid, False)
        moves = play_matches(*players, 12, 40, seed=0, legacy_iid=iid).astype(np.int32)
        rows = {}
        for spec in ("exact", told):
            named = named_observer(spec)
            after = np.array(scene.asking.asked) - 1
            states = [observe(named.mind, named.params, match) for match in moves]
            found = {name: np.stack([np.asarray(one[name])[after] for one in states]) for name in states[0]}
            p = [np.exp(found[name]) for name in ("log_strategy", "log_next", "log_outcome")]
            guess = found["guess"].astype(np.int32)
            stated, asked = Stated(*p, np.ones(guess.shape[:2])), np.ones(guess.shape[:2], bool)
            watched = Watched(scene, spec, [(0, n) for n in range(12)], moves, guess, stated, asked, 0)
            rows[spec], ceiling = (one.row for one in compare([watched], lapse=LAPSE))
            assert ceiling.ceiling
        top = ceiling.values["log_strategy"].mean
        assert rows[told].values["log_strategy"].mean == pytest.approx(top, abs=1e-4)
        assert rows["exact"].values["log_strategy"].mean < top - 0.5
        assert rows[told].values["efficiency"].mean == pytest.approx(1, abs=1e-3)


def test_a_forecast_counts_only_where_it_was_asked_for(moves):
    one = stated_by(np.random.default_rng(0), moves)
    asked = np.ones((MATCHES, QUESTIONS), bool)
    asked[:, 1:] = False
    scored = compare([Watched(**{**vars(one), "asked": asked})], lapse=LAPSE)[0]
    assert np.isfinite(scored.scores["log_next"]).tolist() == [[True, False, False]] * MATCHES
    assert np.isfinite(scored.scores["log_strategy"]).all() and scored.row.questions == MATCHES
    # Of the confidences those that were asked for count: one a match.
    first = Watched(**{**vars(one), "asked": asked, "guess": np.broadcast_to(np.int32(TRUTH), one.guess.shape)})
    row = compare([first], lapse=LAPSE)[0].row
    assert row.mean_confidence == pytest.approx(one.confidence[:, 0].mean())


def test_observers_of_one_match_saw_the_same_moves(moves):
    one, other = (stated_by(np.random.default_rng(0), moves) for _ in range(2))
    changed = moves.copy()
    changed[2, 1, 5] = (changed[2, 1, 5] + 1) % 3
    other = Watched(**{**vars(other), "observer": "else", "moves": changed})
    with pytest.raises(ValueError, match="N v G, seed 0, match 2: else saw other moves than somebody"):
        compare([one, other], lapse=LAPSE)


def test_the_interval_of_an_efficiency_is_not_a_point(found):
    efficiency = found[0].row.values["efficiency"]
    assert efficiency.low < efficiency.mean < efficiency.high


def test_what_cannot_be_compared(moves):
    with pytest.raises(ValueError, match="lapse=0"):
        compare([stated_by(np.random.default_rng(0), moves)], lapse=0)
    assert math.isnan(paired(np.ones(1)).p_value) and math.isnan(estimate(np.full(3, np.nan)).mean)
    assert paired(np.full(4, 1e-7)).p_value == 1  # the digits that a log does not keep
