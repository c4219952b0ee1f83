"""Every move of recorded matches, shadowed by minds: how probable was it, and which rule does a player follow?

A match is one unit: the rounds of one are not independent, so intervals are bootstrapped over matches. The two seats
of the game are alike, so an agent counts in both.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from otherminds.games.protocol import NO_ANSWER
from otherminds.games.rps.rules import MOVES
from otherminds.inference.resampling import Interval, bootstrap
from otherminds.tom.experiments.compare import LAPSE, UNIFORM, Row, lapsed
from otherminds.tom.experiments.rps.matches.records import Matches
from otherminds.tom.mind import Mind
from otherminds.tom.minds.rps.players import shadow
from otherminds.tom.minds.rps.registry import BOTS, NamedPlayer, is_rule, named_player

PLAYER = "player"
DEFAULT_MINDS = (
    *("static", "switching:tremble=0.1", "X", "Y", "Z", "win-stay-lose-shift", *BOTS),
    *("frequency", "frequency:given=own,beta=2", "best-response:against=all,beta=1"),
    *(f"order:order={order},learning_speed=0.1,uniform_beliefs=yes,beta=1" for order in range(3)),
)
"""Rules, and learners that are soft (beta), as people are."""
TIE = 5e-4  # nats a decision; minds that differ by less explain an agent equally well
SURE = 0.99
SEATS_AT_ONCE = 512
SIZE = np.array(float(MOVES))  # of the set of actions
ENDED = ("win", "draw", "loss")  # in the order of `rules.Outcome`
SHIFTS = ("stay", "up", "down")  # up: to the move that beats the last one; down: to the one that it beats


class Seats(NamedTuple):
    """The 2N seats of N matches: both players of the first match, then of the second, and so on."""

    agents: tuple[str, ...]  # [2N]
    opponents: tuple[str, ...]  # [2N]
    games: tuple[str, ...]  # [2N]
    moves: Int[np.ndarray, "S 2 T"]  # [seat, own and the other's, round]; NO_ANSWER: missing, or padding
    valid: Bool[np.ndarray, "S T"]


class Shadow(NamedTuple):
    """What a mind without a lapse made of S seats' T rounds."""

    log_p: Float[np.ndarray, "S T"]  # of the move that was made, nats; -inf: impossible, or no move
    log_best: Float[np.ndarray, "S T"]  # of the move that it found most probable


@dataclass(frozen=True)
class Record:
    """How an agent fared, by matches."""

    agent: str
    opponent: str  # "" for all together
    matches: int
    rounds: int  # in which both moved
    missing: int  # moves of the agent
    win: Interval | None  # share of the rounds in which both moved; None for fewer than 2 matches
    mean: tuple[float, float, float]  # win, draw, loss: means over matches


@dataclass(frozen=True)
class Response:
    """What an agent did after a round that it won, drew or lost: the mean share over the matches with such a round."""

    agent: str
    opponent: str  # "" for all together
    after: str  # win, draw or loss
    matches: int  # with such a round
    shares: tuple[float, float, float]  # stay, up, down
    stay: Interval | None  # None for fewer than 2 matches


@dataclass(frozen=True)
class Found:
    """Which mind each match of an agent is most probably by, all candidates equally likely at first."""

    agent: str
    matches: int
    candidates: tuple[str, ...]
    found: dict[str, int]  # matches by the most probable candidate; ties are no finding
    true: str | None  # the candidate that the agent is
    right: int | None  # matches in which that was found
    sure: int | None  # matches in which its posterior has passed .99
    median: float | None  # rounds until then, over those
    most: int | None
    rounds: tuple[int, ...]  # until then, of each of those


class Comparison(NamedTuple):
    """Everything that is said of some logs of matches."""

    rows: list[Row]  # of every agent, and of it against each of several opponents
    pooled: list[Row]  # of every agent against all its opponents
    found: list[Found]
    records: list[Record]
    responses: list[Response]
    shadows: dict[str, Shadow]


def seats_of(matches: Matches) -> Seats:
    """Both seats of every match, each with its own moves first."""
    swapped = np.stack([matches.moves, matches.moves[:, ::-1]], 1)
    count, _, _, rounds = swapped.shape
    return Seats(
        tuple(agent for pair in matches.agents for agent in pair),
        tuple(agent for pair in matches.agents for agent in pair[::-1]),
        tuple(game for game in matches.ids for _ in range(2)),
        swapped.reshape(2 * count, 2, rounds).astype(np.int32),
        np.repeat(matches.valid, 2, 0),
    )


def compare(
    matches: Matches,
    minds: Sequence[str | NamedPlayer] | None = None,
    *,
    lapse: float = LAPSE,
    key: Any = None,
    on_mind: Callable[[int], None] | None = None,
) -> Comparison:
    """Sets every agent beside minds, and finds the rule of each match.

    minds: as they are written, or `NamedPlayer`s of one's own; default DEFAULT_MINDS. Agents that are rules, and a
        uniform mind, are always among them. Params that are drawn are drawn once, from a fixed key.
    lapse: of every mind in `rows`, besides its own tremble; above 0 and at most 1.   key: of the bootstrap.
    on_mind: called with the number of minds that are done since it was called before.
    In `found` a mind is as it is, without the lapse, unless it finds a move of these logs impossible; then it has it.
    An agent that is a rule is looked for among the agents that are rules, if there are at least two, else among all.
    Raises: ValueError for a lapse out of range and for two minds of one name; UnknownMind.
    """
    if not 0 < lapse <= 1:
        raise ValueError(f"lapse={lapse}: it is a probability above 0 (without it one odd move settles all)")
    key = jax.random.key(0) if key is None else key
    seats = seats_of(matches)
    chosen = with_own(chosen_minds(minds), seats.agents)
    shadows = shadow_all(chosen, seats, on_mind)
    made = {spec: _lapsed_scores(each, seats, lapse) for spec, each in shadows.items()}
    groups = _groups(seats)
    by_group = [_rows(*group, seats, shadows, made, lapse) for group in groups]
    return Comparison(
        [row for rows in by_group for row in rows],
        [row for (_, opponent, _), rows in zip(groups, by_group, strict=True) if not opponent for row in rows],
        [_find(agent, own, seats, shadows, made) for agent, opponent, own in groups if not opponent],
        [_record(jax.random.fold_in(key, n), *group, seats) for n, group in enumerate(groups)],
        [
            _response(jax.random.fold_in(jax.random.fold_in(key, n), 1 + ended), *group, seats, ended)
            for n, group in enumerate(groups)
            for ended in range(len(ENDED))
        ],
        shadows,
    )


def chosen_minds(minds: Sequence[str | NamedPlayer] | None) -> list[NamedPlayer]:
    """The minds by their names; DEFAULT_MINDS for None.

    Raises: ValueError for two minds of one name, and for one called uniform; UnknownMind.
    """
    found = [named_player(each) if isinstance(each, str) else each for each in (minds or DEFAULT_MINDS)]
    specs = [each.spec for each in found]
    for spec in specs:
        if spec == UNIFORM or specs.count(spec) > 1:
            raise ValueError(f"{spec!r}: another mind has this name; give each its own")
    return found


def with_own(minds: Sequence[NamedPlayer], agents: Sequence[str]) -> list[NamedPlayer]:
    """The minds joined with the agents that are rules."""
    there = {each.spec for each in minds}
    return [*minds, *(named_player(name) for name in dict.fromkeys(agents) if name not in there and is_rule(name))]


def shadow_all(
    minds: Sequence[NamedPlayer], seats: Seats, on_mind: Callable[[int], None] | None = None
) -> dict[str, Shadow]:
    """What each mind made of every seat. Minds that differ only in params are one program."""
    batches: dict[Any, list[tuple[str, Any]]] = {}
    for each in minds:
        params = jax.tree.map(jnp.asarray, each.make_params(jax.random.key(0)))
        shapes = tuple((leaf.shape, str(leaf.dtype)) for leaf in jax.tree.leaves(params))
        batches.setdefault((each.mind, jax.tree.structure(params), shapes), []).append((each.spec, params))
    found = {}
    for (mind, _, _), batch in batches.items():
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(params for _, params in batch))
        log_p, log_best = (np.asarray(x, np.float64) for x in _shadower(mind)(stacked, seats.moves, seats.valid))
        for n, (spec, _) in enumerate(batch):
            found[spec] = Shadow(log_p[:, n], log_best[:, n])
        if on_mind is not None:
            on_mind(len(batch))
    return {each.spec: found[each.spec] for each in minds}


@cache
def _shadower(mind: Mind) -> Callable[..., Any]:
    """The jitted function (params [M], moves [S, 2, T], valid [S, T]) -> log_p and log_best [S, M, T]."""

    def one(params, moves, valid):
        log_p = shadow(mind, params, moves, valid, 0)
        made = jnp.take_along_axis(log_p, jnp.maximum(moves[0], 0)[:, None], -1)[:, 0]
        return jnp.where(moves[0] < 0, -jnp.inf, made), log_p.max(-1)

    def run(params, moves, valid):
        return jax.lax.map(
            lambda seat: jax.vmap(lambda own: one(own, *seat))(params), (moves, valid), batch_size=SEATS_AT_ONCE
        )

    return jax.jit(run)


def _groups(seats: Seats) -> list[tuple[str, str, np.ndarray]]:
    """Every agent with all its seats; after it, where it is no rule and met several opponents, each of these."""
    agents, opponents = np.array(seats.agents), np.array(seats.opponents)
    found = []
    for agent in dict.fromkeys(seats.agents):
        own = np.flatnonzero(agents == agent)
        found.append((agent, "", own))
        met = dict.fromkeys(opponents[own].tolist())
        if len(met) > 1 and not is_rule(agent):
            found += [(agent, other, own[opponents[own] == other]) for other in met]
    return found


def _lapsed_scores(shadow: Shadow, seats: Seats, lapse: float) -> Float[np.ndarray, "S T"]:
    """[S, T] the log-probability of every move with the lapse, nats; 0 for padding."""
    return np.where(seats.valid, lapsed(shadow.log_p, SIZE, lapse), 0.0)


def _rows(
    agent: str,
    opponent: str,
    own: np.ndarray,
    seats: Seats,
    shadows: Mapping[str, Shadow],
    made: Mapping[str, np.ndarray],
    lapse: float,
) -> list[Row]:
    played = seats.valid[own]
    failed = played & (seats.moves[own, 0] == NO_ANSWER)
    answered = played & ~failed
    decisions = int(played.sum())
    even = np.full(played.shape, -np.log(MOVES))
    uniform = Shadow(np.where(failed, -np.inf, even), even)
    rows = []
    for spec in [*shadows, UNIFORM]:
        each = uniform if spec == UNIFORM else Shadow(*(x[own] for x in shadows[spec]))
        score = lapsed(each.log_p, SIZE, lapse) if spec == UNIFORM else made[spec][own]
        best = lapsed(each.log_best, SIZE, lapse)
        rows.append(
            Row(
                role=PLAYER,
                agent=f"{agent} v {opponent}" if opponent else agent,
                mind=spec,
                decisions=decisions,
                failed=int(failed.sum()),
                unknown=0,
                log_score=float(score[played].mean()),
                regret=round(float((best - score)[played].mean()), 12) + 0.0,  # no minus zero by rounding
                impossible=int((np.isneginf(each.log_p) & answered).sum()),
            )
        )
    top = max(row.log_score for row in rows)
    return [Row(**{**vars(row), "best": bool(answered.any()) and row.log_score > top - TIE}) for row in rows]


def log_posterior(scores: Float[np.ndarray, "C S T"]) -> Float[np.ndarray, "C S T"]:
    """log P(candidate | the rounds so far), all equally likely at first: the sums of their log-scores, normalised."""
    total = np.cumsum(scores, -1)
    return total - np.logaddexp.reduce(total, 0)


def _find(
    agent: str, own: np.ndarray, seats: Seats, shadows: Mapping[str, Shadow], made: Mapping[str, np.ndarray]
) -> Found:
    rules = [name for name in dict.fromkeys(seats.agents) if name in shadows and is_rule(name)]
    candidates = rules if agent in rules and len(rules) > 1 else list(shadows)
    answered = seats.moves[:, 0] >= 0
    scores = []
    for spec in candidates:
        # As it is, unless that is impossible somewhere; a missing move tells nothing of a rule.
        hard = (np.isneginf(shadows[spec].log_p) & answered).any()
        scores.append(np.where(answered[own], (made[spec] if hard else shadows[spec].log_p)[own], 0.0))
    posterior = log_posterior(np.stack(scores))
    last = posterior[:, :, -1]
    top = last == last.max(0)
    found = {spec: int((top[c] & (top.sum(0) == 1)).sum()) for c, spec in enumerate(candidates)}
    found = {spec: count for spec, count in sorted(found.items(), key=lambda each: -each[1]) if count}
    if agent not in candidates:
        return Found(agent, len(own), tuple(candidates), found, None, None, None, None, None, ())
    sure = posterior[candidates.index(agent)] > np.log(SURE)
    rounds = (sure.argmax(1) + 1)[sure.any(1)]
    return Found(
        agent,
        len(own),
        tuple(candidates),
        found,
        agent,
        found.get(agent, 0),
        len(rounds),
        float(np.median(rounds)) if len(rounds) else None,
        int(rounds.max()) if len(rounds) else None,
        tuple(rounds.tolist()),
    )


def _record(key: Any, agent: str, opponent: str, own: np.ndarray, seats: Seats) -> Record:
    moves = seats.moves[own]
    both = (moves >= 0).all(1)
    ended = (moves[:, 1] - moves[:, 0]) % MOVES  # 0: draw, 1: the other's move beats it, 2: it beats the other's
    there = both.any(1)
    count = both[there].sum(1)
    shares = np.stack([((ended == gap) & both)[there].sum(1) / count for gap in (2, 0, 1)], 1)
    missing = int((seats.valid[own] & (moves[:, 0] == NO_ANSWER)).sum())
    mean = tuple(shares.mean(0).tolist()) if len(shares) else (np.nan,) * 3
    interval = bootstrap(key, shares[:, 0]) if len(shares) > 1 else None
    return Record(agent, opponent, len(own), int(both.sum()), missing, interval, mean)


def _response(key: Any, agent: str, opponent: str, own: np.ndarray, seats: Seats, ended: int) -> Response:
    moves = seats.moves[own]
    gap = (2, 0, 1)[ended]
    before, after = moves[:, :, :-1], moves[:, 0, 1:]
    asked = ((before[:, 1] - before[:, 0]) % MOVES == gap) & (before >= 0).all(1) & (after >= 0)
    shift = (after - before[:, 0]) % MOVES  # 0 stays, 1 to the move that beats it, 2 to the one that it beats
    there = asked.any(1)
    count = asked[there].sum(1)
    shares = np.stack([((shift == kind) & asked)[there].sum(1) / count for kind in range(MOVES)], 1)
    mean = tuple(shares.mean(0).tolist()) if len(shares) else (np.nan,) * 3
    stay = bootstrap(key, shares[:, 0]) if len(shares) > 1 else None
    return Response(agent, opponent, ENDED[ended], len(shares), mean, stay)
