"""How well observers know two players: scores of all that they state, beside the exact observer of the same matches.

Scores are of questions, then means of matches, and matches are what is independent: every interval is a bootstrap over
them, every test a paired one over them. An answer that failed is a failure in every score: it names nobody, its
strategies and moves have only what the lapse gives, and its losses are the worst there are. What a statement gives
probability 0 has what the lapse gives, (1 - lapse) p + lapse / n, the same for everybody.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from otherminds.games.protocol import NO_ANSWER
from otherminds.games.rps import losses
from otherminds.games.rps.catalogue import CODES, catalogue
from otherminds.games.rps.rules import MOVES, beats
from otherminds.games.rps.statement import Stated
from otherminds.games.rps.stationary import long_run, matchup, outcome_rates
from otherminds.games.rps.strategies import Strategy
from otherminds.inference.resampling import bootstrap, paired_test
from otherminds.inference.scoring import brier, calibration, union_loss, value_loss
from otherminds.tom.experiments.compare import LAPSE, lapsed
from otherminds.tom.experiments.rps.observers.config import code_of
from otherminds.tom.experiments.rps.observers.records import Scene, Watched
from otherminds.tom.minds.rps.observer_registry import NamedObserver, named_observer
from otherminds.tom.minds.rps.observers import Observer, observe, rule_params, rules, tied, windowed
from otherminds.tom.minds.rps.registry import OPENSPIEL, named_player

POINTS = (1.0, 0.0, -1.0)
"""Of a win, a draw and a loss."""
KEY = 0
"""Of the draws of bootstraps and tests: the same log gives the same numbers."""
DRAWS = 1999  # of bootstraps and tests
ROUNDING = 1e-5  # smaller differences are those of the digits that a log keeps
METRICS = (
    "identified",
    "identified1",
    "identified2",
    "identified_all",
    "log_strategy",
    "log_next",
    "brier",
    "value",
    "union",
    "inconsistent",
    "stated_of_guess",
    "efficiency",
)
"""identified: both strategies named; identified1, 2: that of one player; identified_all: over all rounds of the match,
in which a statement stands until the next and none stands before the first (the paper's denominator).
log_strategy, log_next: nats, means over both players, of the true strategy and of the move of the next round.
brier: of the strategies, sum of squares / 2, 0 to 1.   value: squared distance of the expected points / 4, 0 to 1.
union: `scoring.union_loss` of win, draw and loss, 0 to 1.
inconsistent: share of answers that name a strategy to which they give less than to another; stated_of_guess: what they
give to the named strategies.   efficiency: what log_strategy gained over the prior / what the exact observer of the
same history gained."""
TESTED = ("identified", "log_strategy", "log_next", "union")
"""The metrics that are tested against the exact observer; of union, lower is better."""


class Estimate(NamedTuple):
    """A mean over matches and its 95% bootstrap interval; NaN where there is none."""

    mean: float
    low: float
    high: float


class Paired(NamedTuple):
    """An observer less the exact one with the same history, over the same matches."""

    difference: Estimate
    p_value: float


@dataclass(frozen=True)
class Row:
    """An observer of a scene. ceiling: the exact observer, who was not at the table, for comparison."""

    scene: Scene
    observer: str
    ceiling: bool
    matches: int
    unfinished: int
    questions: int  # that were put
    failed: int
    impossible: int  # answers that give a true strategy probability 0
    calibration_error: float  # of the stated confidence, expected; NaN where nobody can be named
    mean_confidence: float
    values: Mapping[str, Estimate]  # by metric
    against_exact: Mapping[str, Paired]  # by metric

    @property
    def label(self) -> str:
        """As it is printed. Where a player is none of the catalogue's, the exact observer of it is no ceiling."""
        kind = "reference: " if NO_ANSWER in self.scene.truth else "ceiling: "
        return kind * self.ceiling + self.observer


@dataclass(frozen=True)
class Scored:
    """A row, and the scores behind it: by metric, [N, Q], NaN where a question has none."""

    row: Row
    watched: Watched
    scores: Mapping[str, Float[np.ndarray, "N Q"]]
    by_match: Mapping[str, Float[np.ndarray, " N"]]


def compare(
    watched: Sequence[Watched], *, lapse: float = LAPSE, on_observer: Callable[[], None] | None = None
) -> list[Scored]:
    """A row for every observer of every scene, and below them the exact observers of the same matches.

    The ceilings are the exact observer (`exact_observer`) with the history that the others had, and with all rounds,
    over every match that any observer finished; ties count as shared.
    lapse: probability above 0 of a uniformly random strategy or move, the same for every observer.
    Raises: ValueError if the lapse is not in its range, and for a match that two observers saw different moves of.
    """
    if not 0 < lapse <= 1:
        raise ValueError(f"lapse={lapse}: it is a probability above 0 (without it one odd statement settles all)")
    found: list[Scored] = []
    for scene in dict.fromkeys(one.scene for one in watched):
        own = [one for one in watched if one.scene == scene]
        moves = _moves_of_all(own)
        history = scene.asking.memory
        exact = _reference(scene, moves, history)  # as much of the match as the others were shown
        references = [exact] if history is None else [exact, _reference(scene, moves, None)]
        yardstick = _scores(*exact, lapse)
        for one in own:
            found.append(_scored(one, _scores(one, None, lapse), exact[0], yardstick, ceiling=False))
            if on_observer is not None:
                on_observer()
        for one, hits in references:
            found.append(_scored(one, _scores(one, hits, lapse), exact[0], yardstick, ceiling=True))
    return found


def _moves_of_all(watched: Sequence[Watched]) -> dict[tuple[int, int], Int[np.ndarray, "2 T"]]:
    """The moves of every match, by its seed and number. Raises: ValueError where two observers saw different ones."""
    moves: dict[tuple[int, int], Int[np.ndarray, "2 T"]] = {}
    seen_by: dict[tuple[int, int], str] = {}
    for one in watched:
        for match, row in zip(one.matches, one.moves, strict=True):
            if (moves.setdefault(match, row) != row).any():
                raise ValueError(
                    f"{one.scene.name}, seed {match[0]}, match {match[1]}: {one.observer} saw other moves than "
                    f"{seen_by[match]}; compare the logs of one machine, and unchanged ones, with each other"
                )
            seen_by.setdefault(match, one.observer)
    return moves


def exact_observer(scene: Scene, history: int | None) -> NamedObserver:
    """Who knows all but the strategies: how moves are made, and each player's tremble. No observer does better.

    For a player who follows no strategy of the catalogue it is only the observer who believes the catalogue.
    history: rounds that it remembers; None: all.
    """
    if scene.legacy_iid:
        spec = "generator-aware" + (f":window={history}" if history else "")
        return named_observer(spec, legacy_decimals=scene.legacy_decimals)
    trembles = [0.0 if code_of(player) is None else _tremble(player) for player in scene.players]
    firsts, seconds = (catalogue(scene.legacy_decimals, tremble) for tremble in trembles)
    spec, mind = ("exact", rules()) if history is None else (f"window:{history}", windowed(history))
    if any(trembles):
        told = "/".join(f"{tremble:g}" for tremble in dict.fromkeys(trembles))
        spec += f"{':' if history is None else ','}tremble={told}"
    return NamedObserver(spec, mind, rule_params(firsts, seconds=seconds), CODES)


def _tremble(player: str) -> float:
    return float(named_player(player).player.tremble)


def true_outcome(scene: Scene, moves: Int[np.ndarray, "N 2 T"]) -> Float[np.ndarray, "N 3"]:
    """Win, draw and loss of the first player in the long run, for every match.

    Between two rules that look at most one round back it is the long run of their chain (of the independent marginals,
    for data made so); for any other players, the shares of the match.
    """
    rates = _long_run(scene.players, scene.legacy_iid, scene.legacy_decimals)
    if rates is not None:
        return np.broadcast_to(rates, (len(moves), 3))
    sign = np.asarray(beats(jnp.asarray(moves[:, 0]), jnp.asarray(moves[:, 1])))
    there = (moves >= 0).all(1)
    return np.stack([((sign == s) & there).sum(1) / there.sum(1) for s in (1, 0, -1)], -1)


@lru_cache(maxsize=64)
def _long_run(players: tuple[str, str], legacy_iid: bool, legacy_decimals: bool) -> Float[np.ndarray, "3"] | None:
    """None where the players are not both rules that look at most one round back."""
    if any(player.startswith(OPENSPIEL) for player in players):
        return None
    one, two = (named_player(player, legacy_decimals=legacy_decimals).player for player in players)
    if not (isinstance(one, Strategy) and isinstance(two, Strategy)):
        return None
    rates = np.asarray(_marginal_rates(one, two) if legacy_iid else _chain_rates(one, two), float)
    return rates / rates.sum()


_marginal_rates = jax.jit(matchup)
_chain_rates = jax.jit(lambda one, two: outcome_rates(long_run(one, two).joint))


@lru_cache(maxsize=64)
def legacy_unions(truth: tuple[int, int], legacy_decimals: bool) -> dict[str, Float[np.ndarray, "S S"]]:
    """The paper's unions A, B and C of every guessed pair against the true one (`games.rps.losses`).

    Empty where a player is not in the catalogue.
    """
    if NO_ANSWER in truth:
        return {}
    # Unions B and C divide by differences that single precision does not know.
    with jax.enable_x64(True):
        found = _legacy_unions(catalogue(legacy_decimals), *truth)
    return {name: np.asarray(values) for name, values in found.items()}


@jax.jit
def _legacy_unions(rules: Strategy, one: Any, two: Any) -> dict[str, jax.Array]:
    table = 100 * jax.vmap(jax.vmap(matchup, (None, 0)), (0, None))(rules, rules)
    grid, size = table.reshape(-1, 3), table.shape[0]
    unions = {"A": losses.legacy_union_a, "B": losses.legacy_union_b, "C": losses.legacy_union_c}
    return {
        name: jax.vmap(union, (None, 0, None))(table[one, two], grid, grid).reshape(size, size)
        for name, union in unions.items()
    }


def union_so_far(stated: Stated, due: Float[np.ndarray, "3"]) -> float:
    """The union loss of one statement against the true win, draw and loss, for whoever follows a run."""
    return float(_union(_log(stated.outcome), _log(due)))


_union = jax.jit(lambda said, due: union_loss(said, due, jnp.asarray(POINTS)))


def round_bands(scored: Scored, metric: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, low and high [Q] of a metric after each question, over matches; NaN where fewer than two have it."""
    values = scored.scores[metric]
    whole = np.isfinite(values).all(0) & (len(values) > 1)
    mean = values.mean(0)
    low, high = np.full(len(mean), np.nan), np.full(len(mean), np.nan)
    if whole.any():
        found = bootstrap(jax.random.key(KEY), values[:, whole], count=DRAWS)
        low[whole], high[whole] = found.low, found.high
    return mean, low, high


def _reference(
    scene: Scene, moves: Mapping[tuple[int, int], Int[np.ndarray, "2 T"]], history: int | None
) -> tuple[Watched, Float[np.ndarray, "N Q 3"]]:
    """The exact observer of some matches, and its hits: of player 1, player 2 and both, ties shared."""
    named = exact_observer(scene, history)
    matches = sorted(moves)
    played = np.stack([moves[match] for match in matches])
    after = np.array(scene.asking.asked) - 1
    thought = {name: np.asarray(value)[:, after] for name, value in _watch(named.mind, named.params, played).items()}
    best = thought["best"].astype(float)
    shares = best / np.maximum(best.sum(-1, keepdims=True), 1)
    hits = np.stack([shares[:, :, player, place] for player, place in enumerate(scene.truth)], -1)
    hits = np.concatenate([hits, hits.prod(-1, keepdims=True)], -1)
    guess = thought["guess"].astype(np.int32)
    p = {name: np.exp(thought[name].astype(float)) for name in ("log_strategy", "log_next", "log_outcome")}
    sure = np.take_along_axis(p["log_strategy"], np.maximum(guess, 0)[..., None], -1)[..., 0].prod(-1)
    stated = Stated(p["log_strategy"], p["log_next"], p["log_outcome"], sure)
    asked = np.ones(guess.shape[:2], bool)
    return Watched(scene, named.spec, matches, played, guess, stated, asked, 0), hits


@partial(jax.jit, static_argnames="mind")
def _watch(mind: Observer, params: Any, moves: Any) -> dict[str, jax.Array]:
    """[N, T, ...] what a mind states in every match, and as `best` the strategies that it finds most probable."""
    found = jax.vmap(lambda match: observe(mind, params, match))(moves)
    return found | {"best": tied(found["log_strategy"])}


@jax.jit
def _losses(strategy: jax.Array, truth: jax.Array, outcome: jax.Array, due: jax.Array) -> tuple[jax.Array, ...]:
    """Brier / 2 of the strategies, value loss / 4 and union loss of the outcome, from logs."""
    points = jnp.asarray(POINTS)
    return brier(strategy, truth) / 2, value_loss(outcome, due, points) / 4, union_loss(outcome, due, points)


def _scores(
    watched: Watched, hits: Float[np.ndarray, "N Q 3"] | None, lapse: float
) -> dict[str, Float[np.ndarray, "N Q"]]:
    """Every metric of every question. hits: of an observer whose ties are shared; else the named pair counts."""
    scene, stated, failed = watched.scene, watched.stated, watched.failed
    truth = np.array(scene.truth)
    there = truth >= 0
    nobody = np.full(failed.shape, np.nan)
    if hits is None:
        own = (watched.guess == truth).astype(float)
        hits = np.concatenate([own, own.all(-1, keepdims=True)], -1)
    p_true = np.stack([stated.strategy[:, :, player, max(place, 0)] for player, place in enumerate(truth)], -1)
    log_true = lapsed(_log(p_true), np.array(len(CODES)), lapse)
    due = _log(true_outcome(scene, watched.moves))[:, None]
    logs = _log(stated.strategy), np.maximum(truth, 0), _log(stated.outcome), due
    squares, value, union = (np.asarray(loss, float) for loss in _losses(*logs))
    squares = np.where(failed[..., None], 1.0, squares)
    given = np.take_along_axis(stated.strategy, np.maximum(watched.guess, 0)[..., None], -1)[..., 0]
    return {
        "identified1": hits[..., 0] if there[0] else nobody,
        "identified2": hits[..., 1] if there[1] else nobody,
        "identified": hits[..., 2] if there.all() else nobody,
        "log_strategy": log_true[..., there].mean(-1) if there.any() else nobody,
        "log_next": _next_score(watched, lapse),
        "brier": squares[..., there].mean(-1) if there.any() else nobody,
        "value": np.where(failed, 1.0, value),
        "union": np.where(failed, 1.0, union),
        "inconsistent": np.where(failed, np.nan, (given < stated.strategy.max(-1) * (1 - 1e-4)).any(-1)),
        "stated_of_guess": np.where(failed, np.nan, given.mean(-1)),
        "p_true": p_true[..., there].min(-1) if there.any() else nobody,
    }


def _next_score(watched: Watched, lapse: float) -> Float[np.ndarray, "N Q"]:
    """The mean over both players of log p(their next move).

    NaN after the last round, where a move is missing, and where nothing was asked: a forecast is of one round.
    """
    asked, rounds = np.array(watched.scene.asking.asked), watched.moves.shape[-1]
    came = watched.moves[:, :, np.minimum(asked, rounds - 1)].transpose(0, 2, 1)
    p = np.take_along_axis(watched.stated.next, np.maximum(came, 0)[..., None], -1)[..., 0]
    known = (came >= 0) & (asked < rounds)[:, None] & watched.asked[..., None]
    return np.where(known, lapsed(_log(p), np.array(MOVES), lapse), np.nan).mean(-1)


def _scored(
    watched: Watched,
    scores: Mapping[str, np.ndarray],
    exact: Watched,
    yardstick: Mapping[str, np.ndarray],
    ceiling: bool,
) -> Scored:
    same = [exact.matches.index(match) for match in watched.matches]
    ruler = {name: values[same] for name, values in yardstick.items()}
    by_match = {name: _match_means(values) for name, values in scores.items()}
    scene = watched.scene
    spans = np.diff([*scene.asking.asked, scene.asking.rounds + 1])
    by_match["identified_all"] = scores["identified"] @ spans / scene.asking.rounds
    by_match["efficiency"] = _efficiency(by_match["log_strategy"], _match_means(ruler["log_strategy"]))
    ruler["log_next"] = np.where(watched.asked, ruler["log_next"], np.nan)
    ruler_by_match = {name: _match_means(values) for name, values in ruler.items()}
    put, hit = watched.asked & ~watched.failed, scores["identified"]
    known = put & np.isfinite(hit)
    error = float("nan")
    if known.any():
        error = float(_calibration(jnp.asarray(watched.confidence[known]), jnp.asarray(hit[known] > 0.5)).error)
    row = Row(
        scene=scene,
        observer=watched.observer,
        ceiling=ceiling,
        matches=len(watched.matches),
        unfinished=watched.unfinished,
        questions=int(watched.asked.sum()),
        failed=int((watched.failed & watched.asked).sum()),
        impossible=int((put & (scores["p_true"] == 0)).sum()),
        calibration_error=error,
        mean_confidence=float(watched.confidence[put].mean()) if put.any() else float("nan"),
        values={name: estimate(by_match[name]) for name in METRICS},
        against_exact={name: paired(by_match[name] - ruler_by_match[name]) for name in TESTED},
    )
    return Scored(row, watched, scores, by_match)


_calibration = jax.jit(calibration)


def _match_means(values: Float[np.ndarray, "N Q"]) -> Float[np.ndarray, " N"]:
    """The mean of each match over the questions that have a score; NaN where none has."""
    there = np.isfinite(values)
    count = there.sum(1)
    return np.where(count > 0, np.where(there, values, 0).sum(1) / np.maximum(count, 1), np.nan)


def _efficiency(gained: Float[np.ndarray, " N"], exact: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    """(mean gain of the observer) / (mean gain of the exact one), as numbers of matches whose mean it is.

    Gains are over the prior, log 1/19. Each match's number is the ratio and its linear influence, so that a bootstrap
    of the mean is one of the ratio to first order. All NaN where the exact observer gains nothing.
    """
    ours, theirs = gained + np.log(len(CODES)), exact + np.log(len(CODES))
    if not np.isfinite(theirs).all() or theirs.mean() <= 0:
        return np.full(len(ours), np.nan)
    ratio = ours.mean() / theirs.mean()
    return ratio + (ours - ratio * theirs) / theirs.mean()


def estimate(values: Float[np.ndarray, " N"]) -> Estimate:
    """The mean over matches that have a value, with its interval."""
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return Estimate(float(values.mean()) if len(values) else float("nan"), float("nan"), float("nan"))
    # Rounded, so that matches which are alike but for the last digits have the same interval.
    found = bootstrap(jax.random.key(KEY), np.round(values, 6), count=DRAWS)
    return Estimate(float(found.mean), float(found.low), float(found.high))


def paired(difference: Float[np.ndarray, " N"]) -> Paired:
    """The mean difference over matches, its interval, and the p-value of no difference (two-sided)."""
    difference = difference[np.isfinite(difference)]
    difference = np.where(np.abs(difference) < ROUNDING, 0.0, difference)
    if len(difference) < 2:
        return Paired(estimate(difference), float("nan"))
    if not difference.any():
        return Paired(Estimate(0.0, 0.0, 0.0), 1.0)
    test = paired_test(jax.random.key(KEY), difference, count=DRAWS)
    return Paired(estimate(difference), float(test.p_value))


def _log(p: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    with np.errstate(divide="ignore"):
        return np.log(p)
