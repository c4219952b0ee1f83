"""How deep an agent of Decrypto reasons, how rationally, with how noisy a lexicon, and whether it uses a secret.

Depth counts who is modelled: 0, hints and guesses by word meaning alone; 1, a player who models one of depth 0. A
player of some depth chooses by a softmax of its values with rationality alpha; noise is the standard deviation of what
is added to every cosine of its lexicon, drawn anew for each decision (its mean probability over a few draws). Depth,
alpha and noise have a uniform prior over a grid, and the posterior is exact on it. A common lapse stands before all.

Whether an encoder uses what only she and her decoder know: the hints are scored under a rational encoder who thinks
that the interceptor knows the keywords too, and under one who thinks that it does not, each at its best alpha and
noise. The index is the difference, nats a decision: above 0 for one who sees the game through the interceptor's eyes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from otherminds.games.decrypto.rules import CODES, Role, begin, guess, observe, view
from otherminds.games.decrypto.vocabulary import Vocabulary
from otherminds.inference.logspace import log_normalize
from otherminds.inference.resampling import clustered_mean
from otherminds.tom.experiments.compare import (
    ALTERNATIVES,
    LAPSE,
    Alternatives,
    common_alternatives,
    decided,
    heard_lexicon,
    lapsed,
)
from otherminds.tom.experiments.records import GameArrays, Games
from otherminds.tom.mind import Mind
from otherminds.tom.minds.decrypto.hints import join, sum_out
from otherminds.tom.minds.decrypto.lexicon import Lexicon, hint_known
from otherminds.tom.minds.decrypto.registry import named

NOISES = (0.0, 0.05, 0.1, 0.2)
"""Standard deviations of what is added to cosines."""
DRAWS = 4
MASS = 0.95


class Family(NamedTuple):
    """Players of one depth. spec: the mind at rationality 1, without a lapse."""

    depth: int
    spec: str
    alphas: tuple[float, ...]


def _steps(low: float, high: float, count: int) -> tuple[float, ...]:
    return (0.0, *np.geomspace(low, high, count).tolist())


FAMILIES = {
    Role.ENCODER: (
        Family(0, "literal:beta=1", _steps(0.5, 200, 19)),  # per unit of cosine
        Family(1, "rational:alpha=1,decoder=literal,interceptor=bayesian", _steps(0.5, 2000, 19)),
    ),
    Role.DECODER: (
        Family(0, "literal:rule=softmax", _steps(0.05, 20, 14)),  # of the posterior
        Family(1, "pragmatic:rule=softmax", _steps(0.05, 20, 14)),
    ),
    Role.INTERCEPTOR: (
        Family(0, "bayesian:rule=softmax", _steps(0.05, 20, 14)),
        Family(1, "bayesian:rule=softmax,speaker=contrastive", _steps(0.05, 20, 14)),
    ),
}
"""alpha is per nat of an encoder's expected survival (depth 0: per unit of cosine), and an exponent of a guesser's
posterior."""
INFORMED = Family(1, "rational:alpha=1,decoder=literal,interceptor=informed", FAMILIES[Role.ENCODER][1].alphas)
"""The encoder who thinks that the interceptor knows the keywords."""


class Interval(NamedTuple):
    """A value at the mode, and the shortest range of the grid that holds 95%."""

    mode: float
    low: float
    high: float


@dataclass(frozen=True)
class Profile:
    """What is known of an agent in a role under the assumption that it has one depth."""

    role: str
    agent: str
    depth: int
    mind: str  # the family, as a mind is written, but for alpha and noise
    share: float  # posterior probability of this depth
    alpha: Interval
    noise: Interval
    log_score: float  # nats a decision at the mode
    log_evidence: float  # of all decisions, nats
    chance: float  # of a uniformly random choice, with the same lapse: nothing is explained where this is higher
    decisions: int  # failed ones included: they are what only the lapse allows


@dataclass(frozen=True)
class Privilege:
    """Whether an encoder uses what only she and her decoder know."""

    agent: str
    decisions: int
    fair: float  # nats a decision under the mind who thinks that the interceptor does not know the keywords
    informed: float  # under the one who thinks that it does
    index: float  # fair - informed
    error: float  # standard error of the index, games as clusters; NaN for one game


@cache
def _shadower(mind: Mind, role: Role, settings: Alternatives) -> Callable[..., tuple[Array, Array]]:
    """The jitted (params, lexicon, games, alphas) -> log p [G, T, A] of what was done, sizes [G, T]."""

    def one(params, lexicon: Lexicon, game: GameArrays, alphas: Float[Array, " A"]):
        state = begin(game.keywords, jnp.maximum(game.codes, 0))
        belief = mind.init(params, None, view(state, role))

        def play_turn(carry, turn_data):
            state, belief = carry
            hints, decoder_guess, interceptor_guess = turn_data
            if role == Role.ENCODER:
                observation, known = observe(state, role), hint_known(lexicon, hints)
                hint_set = join(common_alternatives(lexicon, observation, settings), hints)
                hint_set = hint_set._replace(valid=hint_set.valid.at[:, -1].set(known))
                log_p = mind.log_policy(params, belief, observation, hint_set)
                told_apart = known | (hints < 0).any()
                size = jnp.where(told_apart, hint_set.valid.sum(1), 1).prod()
                done = jax.lax.map(lambda a: sum_out(_sharpened(log_p, a), known)[-1], alphas)
            else:
                observation = observe(state._replace(hints=hints), role)
                log_p = mind.log_policy(params, belief, observation, jnp.arange(len(CODES)))
                made = jnp.maximum(decoder_guess if role == Role.DECODER else interceptor_guess, 0)
                done = jax.vmap(lambda a: _sharpened(log_p, a)[made])(alphas)
                size = jnp.int32(len(CODES))
            state, event = guess(state._replace(hints=hints), decoder_guess, interceptor_guess)
            return (state, mind.update(params, belief, event)), (done, size)

        turns = (game.hints, game.decoder_guesses, game.interceptor_guesses)
        return jax.lax.scan(play_turn, (state, belief), turns)[1]

    def run(params, lexicon, games, alphas):
        return jax.lax.map(lambda game: one(params, lexicon, game, alphas), games)

    return jax.jit(run)


def _sharpened(log_p: Float[Array, " N"], alpha: Float[Array, ""]) -> Float[Array, " N"]:
    """log of p^alpha, normalised over what is possible."""
    possible = log_p > -jnp.inf
    return log_normalize(jnp.where(possible, alpha * jnp.where(possible, log_p, 0.0), -jnp.inf))


def shadow_family(
    games: Games,
    lexicon: Lexicon,
    family: Family,
    role: Role,
    noise: float,
    draw: int,
    settings: Alternatives = ALTERNATIVES,
) -> tuple[Float[np.ndarray, "G T A"], Int[np.ndarray, "G T"]]:
    """Log-probability of every decision for each alpha, and how many choices there were.

    lexicon: the table's, from which an encoder's alternatives are.   draw: which noise.
    """
    options = f"{',' if ':' in family.spec else ':'}noise={noise:g},noise_seed={draw}" if noise else ""
    model = named(family.spec + options, role)
    run = _shadower(model.mind, role, settings)
    log_p, size = run(model.make_params(lexicon), lexicon, games.arrays, jnp.asarray(family.alphas, jnp.float32))
    return np.asarray(log_p, float), np.asarray(size)


def family_scores(
    games: Games,
    lexicon: Lexicon,
    family: Family,
    role: Role,
    lapse: float,
    settings: Alternatives = ALTERNATIVES,
    on_shadow: Callable[[], None] | None = None,
) -> tuple[Float[np.ndarray, "S A G T"], Float[np.ndarray, "G T"]]:
    """[S, A, G, T] lapsed log-probability of what was done by noise and alpha, and of what only the lapse allows."""
    scores, size = [], None
    for noise in NOISES:
        draws = []
        for draw in range(DRAWS if noise else 1):
            log_p, size = shadow_family(games, lexicon, family, role, noise, draw, settings)
            draws.append(log_p)
            if on_shadow is not None:
                on_shadow()
        mean = np.logaddexp.reduce(draws, 0) - np.log(len(draws))
        scores.append(np.moveaxis(lapsed(mean, size[..., None], lapse), -1, 0))
    return np.stack(scores), lapsed(np.full(size.shape, -np.inf), size, lapse)


SHADOWS = 1 + (len(NOISES) - 1) * DRAWS
"""Shadows of a family."""


def profile(
    games: Games,
    vocabulary: Vocabulary,
    *,
    lapse: float = LAPSE,
    settings: Alternatives = ALTERNATIVES,
    on_shadow: Callable[[], None] | None = None,
) -> tuple[list[Profile], list[Privilege]]:
    """Every agent in every role: its depth, rationality and noise; and of encoders, whether they use the secret.

    lapse: of every mind, above 0.   on_shadow: called after each of `shadows()` shadows.
    Raises: ValueError for a lapse that is not above 0.
    """
    if not 0 < lapse <= 1:
        raise ValueError(f"lapse={lapse}: it is a probability above 0 (without it one odd choice settles all)")
    lexicon = heard_lexicon(vocabulary, games)
    profiles, privileges = [], []
    for role in Role:
        found = [family_scores(games, lexicon, f, role, lapse, settings, on_shadow) for f in FAMILIES[role]]
        for agent in games.players(role):
            profiles += _profiles(games, role, agent, found, lapse)
        if role == Role.ENCODER:
            informed = family_scores(games, lexicon, INFORMED, role, lapse, settings, on_shadow)
            for agent in games.players(role):
                privileges += _privilege(games, agent, found[INFORMED.depth], informed)
    return profiles, privileges


def shadows() -> int:
    """How many shadows `profile` makes."""
    return SHADOWS * (sum(map(len, FAMILIES.values())) + 1)


Scores = tuple[Float[np.ndarray, "S A G T"], Float[np.ndarray, "G T"]]


def _of_agent(games: Games, role: Role, agent: str, scores: Scores) -> Float[np.ndarray, "S A G T"]:
    """The scores of an agent's decisions, 0 for what is none; failed ones as what only the lapse allows."""
    scored, failed, _ = decided(games, role, agent)
    found, nothing = scores
    return np.where(scored, found, np.where(failed, nothing, 0.0))


def _profiles(games: Games, role: Role, agent: str, found: Sequence[Scores], lapse: float) -> list[Profile]:
    scored, failed, _ = decided(games, role, agent)
    decisions = int(scored.sum() + failed.sum())
    if not scored.any():
        return []
    nothing = found[0][1]  # log(lapse / size): of what only the lapse allows
    chance = float(nothing[scored | failed].sum() - np.log(lapse) * scored.sum())
    tables = [_of_agent(games, role, agent, each).sum((2, 3)) for each in found]
    evidences = np.array([np.logaddexp.reduce(table, None) - np.log(table.size) for table in tables])
    shares = np.exp(evidences - np.logaddexp.reduce(evidences))
    rows = []
    for family, table, share, evidence in zip(FAMILIES[role], tables, shares, evidences, strict=True):
        p = np.exp(table - np.logaddexp.reduce(table, None))
        noise, alpha = np.unravel_index(table.argmax(), table.shape)
        rows.append(
            Profile(
                role.name.lower(),
                agent,
                family.depth,
                family.spec,
                float(share),
                _interval(family.alphas, p.sum(0), int(alpha)),
                _interval(NOISES, p.sum(1), int(noise)),
                float(table.max() / decisions),
                float(evidence),
                chance,
                decisions,
            )
        )
    return rows


def explained_by_none(profiles: Sequence[Profile]) -> list[str]:
    """Whom no depth explains better than a uniformly random choice does, by log evidence: role and agent."""
    best: dict[str, float] = {}
    for row in profiles:
        name = f"{row.role} {row.agent}"
        best[name] = max(best.get(name, -np.inf), row.log_evidence - row.chance)
    return [name for name, gain in best.items() if gain <= 0]


def _interval(grid: Sequence[float], p: Float[np.ndarray, " N"], mode: int) -> Interval:
    """The smallest set of neighbouring values that holds 95%, and the joint mode."""
    cumulative = np.concatenate([[0.0], np.cumsum(p)])
    spans = [
        (high - low, low, high)
        for low in range(len(p))
        for high in range(low + 1, len(p) + 1)
        if cumulative[high] - cumulative[low] >= MASS - 1e-9
    ]
    _, low, high = min(spans)
    return Interval(grid[mode], grid[low], grid[high - 1])


def _privilege(games: Games, agent: str, fair: Scores, informed: Scores) -> list[Privilege]:
    scored, failed, _ = decided(games, Role.ENCODER, agent)
    there = scored | failed
    if not scored.any():
        return []
    best = []
    for scores in (fair, informed):
        own = _of_agent(games, Role.ENCODER, agent, scores)
        best.append(own[np.unravel_index(own.sum((2, 3)).argmax(), own.shape[:2])][there])
    index, error = clustered_mean(best[0] - best[1], np.nonzero(there)[0])
    return [Privilege(agent, int(there.sum()), float(best[0].mean()), float(best[1].mean()), index, error)]
