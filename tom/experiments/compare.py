"""Every decision of a log, shadowed by every mind: how probable did each mind find what was done?

Scores are log-probabilities in nats. A word without a vector is told apart by no mind: an encoder's decision is
scored by its other words, and a guesser's without it; a decision with no known word at all is left out.

Every mind has the same lapse, the probability of a uniformly random choice
from the set at hand: the 24 codes for a guesser; for an encoder the combinations of the alternatives of that
decision, which are the same for all minds and joined with what was really said.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from otherminds.games.decrypto.rules import CODES, LENGTH, Role, begin, guess, observe, view
from otherminds.games.decrypto.vocabulary import Vocabulary, hint_vector
from otherminds.inference.logspace import log_normalize
from otherminds.inference.resampling import standard_error
from otherminds.tom.experiments.decrypto.standing import up_to_the_loss
from otherminds.tom.experiments.records import GameArrays, Games
from otherminds.tom.mind import Mind
from otherminds.tom.minds.decrypto.hints import HintSet, drawn_alternatives, given_before, join, sum_out
from otherminds.tom.minds.decrypto.lexicon import Lexicon, hear, hint_known, make_lexicon
from otherminds.tom.minds.decrypto.registry import named, own_vocabulary

DEFAULT_MINDS = {
    Role.ENCODER: ("baseline", "literal", "rational", "rational:alpha=20"),
    Role.DECODER: ("baseline", "literal:rule=softmax", "literal", "pragmatic:rule=softmax"),
    Role.INTERCEPTOR: ("baseline", "bayesian:rule=softmax", "bayesian", "bayesian:rule=softmax,speaker=contrastive"),
}
UNIFORM = "uniform"
LAPSE = 0.05


class Alternatives(NamedTuple):
    """How the encoders' alternatives are built: `near` nearest nouns, `far` more drawn out of the `pool` nearest.

    By default they are those among which a rational encoder with default options chooses when she plays.
    """

    near: int = 0
    far: int = 16
    pool: int = 100
    seed: int = 0

    def __str__(self) -> str:
        nearest = f"the {self.near} nearest and " if self.near else ""
        return f"{nearest}{self.far} of the {self.pool} nearest nouns, seed {self.seed}"


ALTERNATIVES = Alternatives()


class Shadow(NamedTuple):
    """What a mind without a lapse made of G games' T turns."""

    log_p: Float[np.ndarray, "G T"]  # of what was done, nats; -inf: impossible
    log_best: Float[np.ndarray, "G T"]  # of the action it found most probable
    set_size: Int[np.ndarray, "G T"]  # actions in the set
    log_policy: Float[np.ndarray, "G T 24"] | None = None  # a guesser's, over the codes; an encoder's is not kept


@dataclass(frozen=True)
class Row:
    """An agent in a role under a mind."""

    role: str
    agent: str
    mind: str
    decisions: int  # that are scored, failed ones included
    failed: int  # no answer: scored as what is impossible
    unknown: int  # decisions with no hint that a mind knows: left out of the scores
    log_score: float  # mean over decisions, failed ones included, nats
    regret: float  # mean log-probability lost against the mind's own best action, nats; NaN where it has none
    impossible: int  # answered decisions that only the lapse allows
    best: bool = False  # the mind with the best log-score for this agent and role
    ruled_out: int = 0  # decisions where the mind allows nothing of the set: it has no best there, so no regret


def common_alternatives(lexicon: Lexicon, observation, settings: Alternatives) -> HintSet:
    """The set that all encoder minds choose from at a decision: near and far words for each digit.

    The keyword is none of them, and neither is a word that was given before.
    """
    keywords = observation.keywords[jnp.asarray(CODES)[observation.code]]
    far = drawn_alternatives(lexicon, observation, seed=settings.seed, count=settings.far, pool=settings.pool)
    near = lexicon.nearest[keywords, : settings.near + 1]
    itself = near == lexicon.keyword_words[keywords][:, None]
    order = jnp.argsort(itself, axis=-1, stable=True)[:, : settings.near]  # the keyword is no hint
    near = jnp.take_along_axis(near, order, -1)
    repeated = (far.words[:, :, None] == near[:, None]).any(-1)
    return HintSet(
        jnp.concatenate([near, far.words], 1),
        jnp.concatenate([~given_before(observation, near), far.valid & ~repeated], 1),
    )


@cache
def _shadower(mind: Mind, role: Role, settings: Alternatives) -> Callable[..., Shadow]:
    """The jitted function that shadows games, one after the other."""

    def one(params, lexicon: Lexicon, game: GameArrays) -> Shadow:
        state = begin(game.keywords, jnp.maximum(game.codes, 0))
        belief = mind.init(params, None, view(state, role))

        def play_turn(carry, turn_data):
            state, belief = carry
            hints, decoder_guess, interceptor_guess = turn_data
            if role == Role.ENCODER:
                observation = observe(state, role)
                known = hint_known(lexicon, hints)
                hint_set = join(common_alternatives(lexicon, observation, settings), hints)
                hint_set = hint_set._replace(valid=hint_set.valid.at[:, -1].set(known))
                log_p = sum_out(log_normalize(mind.log_policy(params, belief, observation, hint_set)), known)
                told_apart = known | (hints < 0).any()  # one who fails to answer fails to choose from the whole set
                size = jnp.where(told_apart, hint_set.valid.sum(1), 1).prod()
                made = Shadow(log_p[-1], log_p.max(), jnp.maximum(size, 1))  # none: nothing is left to say
            else:
                observation = observe(state._replace(hints=hints), role)
                log_p = mind.log_policy(params, belief, observation, jnp.arange(len(CODES)))
                done = log_p[jnp.maximum(decoder_guess if role == Role.DECODER else interceptor_guess, 0)]
                made = Shadow(done, log_p.max(), jnp.int32(len(CODES)), log_p)
            state, event = guess(state._replace(hints=hints), decoder_guess, interceptor_guess)
            return (state, mind.update(params, belief, event)), made

        turns = (game.hints, game.decoder_guesses, game.interceptor_guesses)
        return jax.lax.scan(play_turn, (state, belief), turns)[1]

    return jax.jit(lambda params, lexicon, games: jax.lax.map(lambda game: one(params, lexicon, game), games))


def heard_lexicon(vocabulary: Vocabulary, games: Games) -> Lexicon:
    """The lexicon with every word that was said in the games."""
    lexicon = make_lexicon(vocabulary, spare=max(len(games.words.heard), 1))
    for row, text in games.words.heard_since(0):
        vector = hint_vector(vocabulary, text)
        if vector is not None:
            lexicon = hear(lexicon, row, vector)
    return lexicon


def shadow(
    games: Games,
    lexicon: Lexicon,
    spec: str,
    role: Role,
    settings: Alternatives = ALTERNATIVES,
    *,
    own: Lexicon | None = None,
) -> Shadow:
    """Shadows every turn of every game with one mind in one role.

    lexicon: the table's, from which the alternatives are.   own: the mind's, if it has vectors of its own.
    """
    model = named(spec, role)
    run = _shadower(model.mind, role, settings)
    params = model.make_params(lexicon if own is None else own)
    return jax.tree.map(np.asarray, run(params, lexicon, games.arrays))


def lapsed(log_p: np.ndarray, size: np.ndarray, lapse: float) -> np.ndarray:
    """log((1 - lapse) p + lapse / size)."""
    with np.errstate(divide="ignore"):
        return np.logaddexp(np.log1p(-lapse) + log_p, np.log(lapse) - np.log(size))


def compare(
    games: Games,
    vocabulary: Vocabulary,
    minds: dict[Role, Sequence[str]] | None = None,
    *,
    lapse: float = LAPSE,
    settings: Alternatives = ALTERNATIVES,
    on_mind: Callable[[], None] | None = None,
) -> tuple[list[Row], dict[tuple[Role, str], Shadow]]:
    """A row for every role, agent and mind, and the shadows behind them.

    minds: specs by role; DEFAULT_MINDS where a role has none. A uniform mind is always among them.
    lapse: probability, above 0 and at most 1, of a uniformly random choice; the same for every mind.
    on_mind: called after each mind, for a progress bar.
    Raises: ValueError if the lapse is not in its range; UnknownMind for a mind that does not exist.
    """
    if not 0 < lapse <= 1:
        raise ValueError(f"lapse={lapse}: it is a probability above 0 (without it one odd choice settles all)")
    minds = DEFAULT_MINDS | {role: specs for role, specs in (minds or {}).items() if specs}
    for role, specs in minds.items():
        for spec in specs:
            named(spec, role)
    lexicon = heard_lexicon(vocabulary, games)
    shadows: dict[tuple[Role, str], Shadow] = {}
    rows: list[Row] = []
    for role in Role:
        for spec in minds[role]:
            own = own_vocabulary(named(spec, role), vocabulary)
            own_lexicon = lexicon if own is vocabulary else heard_lexicon(own, games)
            shadows[role, spec] = shadow(games, lexicon, spec, role, settings, own=own_lexicon)
            if on_mind is not None:
                on_mind()
        first = shadows[role, minds[role][0]]
        even = -np.log(first.set_size)
        policy = None if first.log_policy is None else np.full_like(first.log_policy, -np.log(len(CODES)))
        shadows[role, UNIFORM] = Shadow(even, even, first.set_size, policy)
        for agent in games.players(role):
            of_agent = [_row(games, role, agent, spec, shadows[role, spec], lapse) for spec in (*minds[role], UNIFORM)]
            scored = [row.log_score for row in of_agent if row.decisions > row.failed]
            rows += [Row(**{**vars(row), "best": bool(scored) and row.log_score == max(scored)}) for row in of_agent]
    return rows, shadows


def decided(games: Games, role: Role, agent: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """[G, T] masks of an agent's decisions in a role: answered and scored, failed, about an unknown hint.

    What a replay takes from its recording is nobody's decision there: it would count once for every replay.
    """
    arrays = games.arrays
    seated = games.seated(role, agent)
    played = np.arange(arrays.codes.shape[1]) < arrays.turns[:, None]
    unknown = np.isin(arrays.hints, list(games.unknown)).all(-1)  # no word that a mind knows
    spoken = (arrays.hints >= 0).all(-1)
    if role == Role.ENCODER:
        answered = spoken
        asked = played & seated[:, None]
    else:
        answered = (arrays.decoder_guesses if role == Role.DECODER else arrays.interceptor_guesses) >= 0
        asked = played & seated[:, None] & spoken  # without hints there was nothing to guess from
        if role == Role.INTERCEPTOR:
            asked &= ~games.skipped
    return asked & answered & ~unknown, asked & ~answered, asked & answered & unknown


def _row(games: Games, role: Role, agent: str, spec: str, shadow: Shadow, lapse: float) -> Row:
    scored, failed, unknown = decided(games, role, agent)
    log_p = lapsed(shadow.log_p, shadow.set_size, lapse)
    # A failed answer is as improbable as what only the lapse allows: no mind explains it.
    nothing = lapsed(np.full(log_p.shape, -np.inf), shadow.set_size, lapse)
    scores = np.concatenate([log_p[scored], nothing[failed]])
    best = lapsed(shadow.log_best, shadow.set_size, lapse)
    allows = ~np.isneginf(shadow.log_best)
    regrets = np.concatenate([(best - log_p)[scored & allows], (best - nothing)[failed & allows]])
    return Row(
        role=role.name.lower(),
        agent=agent,
        mind=spec,
        decisions=int(scored.sum() + failed.sum()),
        failed=int(failed.sum()),
        unknown=int(unknown.sum()),
        log_score=float(scores.mean()) if scores.size else float("nan"),
        regret=float(regrets.mean()) if regrets.size else float("nan"),
        impossible=int(np.isneginf(shadow.log_p[scored]).sum()),
        ruled_out=int((~allows & (scored | failed)).sum()),
    )


@dataclass(frozen=True)
class Outcome:
    """How the games of one table went, up to a loss; errors are standard errors of the mean over seeds, NaN for one."""

    agents: tuple[str, str, str]
    games: int
    survived: float  # share of games
    turns: float  # until the game was won or lost
    turns_error: float
    miscommunications: float  # tokens a game
    miscommunications_error: float
    interceptions: float
    interceptions_error: float
    failed_answers: int  # also of turns that were played on after a loss
    survived_without_failed: float = float("nan")  # share of the games in which no answer failed; NaN: there is none


class Results(NamedTuple):
    """How each of G games went."""

    turns: Int[np.ndarray, " G"]  # until the game was won or lost
    miscommunications: Int[np.ndarray, " G"]  # tokens until then: those of play after a loss count for nothing
    interceptions: Int[np.ndarray, " G"]
    failed_answers: Int[np.ndarray, " G"]  # of all turns


def results(games: Games) -> Results:
    """How each game went, over its finished turns."""
    arrays = games.arrays
    played = np.arange(arrays.codes.shape[1]) < arrays.turns[:, None]
    spoken = (arrays.hints >= 0).all(-1)
    missed = ~(spoken & (arrays.decoder_guesses == arrays.codes))
    caught = spoken & (arrays.interceptor_guesses == arrays.codes)
    failed = (played & ~spoken).sum(1) + (played & spoken & (arrays.decoder_guesses < 0)).sum(1)
    failed = failed + (played & spoken & ~games.skipped & (arrays.interceptor_guesses < 0)).sum(1)
    return Results(*up_to_the_loss(missed, caught, arrays.turns), failed)


def outcomes(games: Games) -> list[Outcome]:
    """A row for every table that finished a game, over its finished games."""
    until, missed, caught, failed = results(games)
    rows = []
    for agents in dict.fromkeys(games.agents):
        own = np.array(
            [
                seated == agents and ending is not None
                for seated, ending in zip(games.agents, games.endings, strict=True)
            ]
        )
        if not own.any():
            continue
        seeds = np.array(games.seeds)

        def mean(values: np.ndarray, own=own, seeds=seeds) -> tuple[float, float]:
            means = [values[own & (seeds == seed)].mean() for seed in np.unique(seeds[own])]
            return float(values[own].mean()), float(standard_error(np.array(means)))

        survived = np.array([ending == "survived" for ending in games.endings])
        turns, misses, catches = (mean(values) for values in (until, missed, caught))
        whole = survived[own & (failed == 0)]
        rows.append(
            Outcome(
                agents,
                int(own.sum()),
                float(survived[own].mean()),
                *turns,
                *misses,
                *catches,
                int(failed[own].sum()),
                float(whole.mean()) if whole.size else float("nan"),
            )
        )
    return rows


@dataclass(frozen=True)
class Nearness:
    """How near an encoder's hints are to their keywords: rank 1 is the noun nearest to the keyword."""

    agent: str
    hints: int
    unknown: int  # without a vector, or missing
    median_rank: float
    within_16: float  # share of the known hints
    within_200: float


def hint_ranks(games: Games, lexicon: Lexicon) -> Int[np.ndarray, "G T 3"]:
    """[G, T, 3] rank of every hint by nearness to its keyword among the nouns; 0 where unknown or not given."""
    arrays = games.arrays
    similarity = np.asarray(lexicon.similarity)
    known = np.asarray(lexicon.known)
    nouns = lexicon.nearest.shape[1]
    ranks = np.zeros(arrays.hints.shape, np.int32)
    for g, t in zip(*np.nonzero((arrays.hints >= 0).all(-1)), strict=True):
        for i in range(LENGTH):
            hint, keyword = arrays.hints[g, t, i], arrays.keywords[g, CODES[arrays.codes[g, t], i]]
            if known[hint]:
                nearer = similarity[:nouns, keyword] > similarity[hint, keyword]
                itself = int(lexicon.keyword_words[keyword])
                if itself >= 0:
                    nearer[itself] = False  # the keyword is no hint
                ranks[g, t, i] = 1 + nearer.sum()
    return ranks


def nearness(games: Games, lexicon: Lexicon) -> list[Nearness]:
    """A row for every encoder."""
    ranks = hint_ranks(games, lexicon)
    played = np.arange(games.arrays.codes.shape[1]) < games.arrays.turns[:, None]
    rows = []
    for agent in games.players(Role.ENCODER):
        own = ranks[played & games.seated(Role.ENCODER, agent)[:, None]].ravel()
        given = own[own > 0]
        rows.append(
            Nearness(
                agent,
                int(given.size),
                int((own == 0).sum()),
                float(np.median(given)) if given.size else float("nan"),
                float((given <= 16).mean()) if given.size else float("nan"),
                float((given <= 200).mean()) if given.size else float("nan"),
            )
        )
    return rows
