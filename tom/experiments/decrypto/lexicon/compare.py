"""Is it the words or the reasoning? A decoder beside a literal mind with shared, and with elicited, word meanings.

The mind is the same twice, but for what its words mean: for an unused code c and hints h_1 h_2 h_3

    L(c) proportional to exp(beta sum_i a(h_i, k_{c_i})),    p(c) = (1 - lapse) L(c) + lapse / 24

a is the cosine of the shared vectors (`shared`), or the agent's own association (`own`): log p(k given h), so that
beta = 1 multiplies what was answered hint by hint, or rating / 100. beta is the best of one grid for both, chosen for
each game by all games of other keywords: no decision is scored at a beta that it helped to choose. Both are scored at
the same decisions, those whose three hints have a vector and were all elicited.

Decoders alone. An encoder chooses among all words, and an interceptor among all keywords; of those nothing is elicited.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import log_softmax

from otherminds.games.decrypto.rules import CODES, SLOTS, Role
from otherminds.inference.resampling import clustered_mean
from otherminds.tom.experiments.compare import lapsed
from otherminds.tom.experiments.decrypto.lexicon.records import Association, Key, by_key, key_of
from otherminds.tom.experiments.journal import JournalError
from otherminds.tom.experiments.model_agents import split_options
from otherminds.tom.experiments.records import Games, read_log
from otherminds.tom.minds.decrypto.guesser import code_scores
from otherminds.tom.minds.decrypto.lexicon import Lexicon, hint_known, hint_similarity

BETAS = np.concatenate([[0.0], np.geomspace(0.01, 1000, 120)])
"""Per unit of association: a step of it changes beta by 10%. 0 is chance among the unused codes."""


@dataclass(frozen=True)
class OwnMeaning:
    """A decoder under the shared and under an elicited lexicon.

    lexicon: whose it is.   own: whether that is the decoder's own model, whatever its options.
    decisions: that had hints, failed ones included.   elicited: with every hint elicited.   known: with every hint in
    the vectors.   compared: both, of `games` games; `failed` of them are no answer, which the lapse alone allows.
    chance, shared_score, own_score: nats a decision; NaN for fewer than two sets of keywords, as nothing is held out.
    difference: own less shared.   error: its standard error, games of the same keywords as one cluster.
    shared_beta, own_beta: best of all the decisions together.
    """

    agent: str
    lexicon: str
    method: str
    own: bool
    decisions: int
    elicited: int
    known: int
    compared: int
    failed: int
    games: int
    chance: float
    shared_score: float
    own_score: float
    difference: float
    error: float
    shared_beta: float
    own_beta: float


def compare_meanings(
    games: Games, lexicon: Lexicon, logs: Iterable[Path], found: Sequence[Association], lapse: float
) -> list[OwnMeaning]:
    """A row for every decoder and every elicited lexicon, a decoder's own first.

    games, logs: the games, and the logs that they are of.   lexicon: the shared one, with every hint heard.
    found: of one or more logs of elicited lexica.   lapse: of the mind, probability above 0.
    Raises: JournalError where no lexicon has a hint of these games.
    """
    said = said_hints(logs)
    shared = shared_associations(games, lexicon)
    rows, some = [], False
    for whose, method in dict.fromkeys((each.agent, each.method) for each in found):
        table = by_key(each for each in found if (each.agent, each.method) == (whose, method))
        own = own_associations(games, said, table)
        some |= bool(np.isfinite(own).any())
        for agent in dict.fromkeys(agents[Role.DECODER] for agents in games.agents):
            same = split_options(whose)[0] == split_options(agent)[0]
            rows.append(_row(games, agent, whose, method, same, shared, own, lapse))
    if not some:
        raise JournalError("no hint of these games was elicited; elicit their lexicon: otherminds elicit lexicon LOG")
    return sorted((row for row in rows if row.decisions), key=lambda row: not row.own)


def said_hints(logs: Iterable[Path]) -> dict[str, tuple[list[str], dict[int, list[str]]]]:
    """By game: its keywords, and the hints of every turn that has some."""
    return {
        game_id: (
            list(deal.keywords or ()),
            {
                turn: line.action
                for (turn, role), line in log.decisions[game_id].items()
                if role == Role.ENCODER and line.action is not None
            },
        )
        for log in map(read_log, logs)
        for game_id, deal in log.deals.items()
    }


def own_associations(
    games: Games, said: Mapping[str, tuple[list[str], dict[int, list[str]]]], table: Mapping[Key, np.ndarray]
) -> Float[np.ndarray, "G T 3 4"]:
    """Associations of every hint with the game's keywords as they were elicited; NaN where they were not."""
    found = np.full((*games.arrays.hints.shape, SLOTS), np.nan)
    for g, game_id in enumerate(games.ids):
        keywords, by_turn = said[game_id]
        for turn, hints in by_turn.items():
            for place, hint in enumerate(hints):
                found[g, turn, place] = table.get(key_of(keywords, hint), np.nan)
    return found


def shared_associations(games: Games, lexicon: Lexicon) -> Float[np.ndarray, "G T 3 4"]:
    """Cosines of every hint with the game's keywords; NaN where the hint has no vector."""
    hints, keywords = jnp.asarray(games.arrays.hints), jnp.asarray(games.arrays.keywords)
    cosines = jax.vmap(partial(hint_similarity, lexicon))(hints, keywords)
    return np.where(np.asarray(hint_known(lexicon, hints))[..., None], np.asarray(cosines, float), np.nan)


def literal_log_p(
    association: Float[np.ndarray, "N 3 4"],
    used: Bool[np.ndarray, "N 24"],
    guesses: Int[np.ndarray, " N"],
    lapse: float,
    betas: Float[np.ndarray, " B"] = BETAS,
) -> Float[np.ndarray, "N B"]:
    """log p of every guess for each beta, nats; a guess below 0 is a failed answer, which only the lapse allows.

    association: a, of each of three hints with each slot.   used: codes of earlier turns.   betas: per unit of a.
    """
    scores = np.asarray(code_scores(jnp.asarray(association)), float)[:, None] * betas[:, None]
    log_p = log_softmax(np.where(used[:, None], -np.inf, scores), axis=-1)
    made = np.take_along_axis(log_p, np.maximum(guesses, 0)[:, None, None], -1)[..., 0]
    return lapsed(np.where(guesses[:, None] < 0, -np.inf, made), np.array(len(CODES)), lapse)


def held_out(log_p: Float[np.ndarray, "N B"], cluster: Int[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    """Every decision at the beta that is best for all clusters but its own; NaN for a single cluster."""
    if len(np.unique(cluster)) < 2:
        return np.full(len(log_p), np.nan)
    others = {own: log_p[cluster != own].sum(0).argmax() for own in np.unique(cluster)}
    return log_p[np.arange(len(log_p)), [others[own] for own in cluster]]


def _row(
    games: Games,
    agent: str,
    whose: str,
    method: str,
    same: bool,
    shared: Float[np.ndarray, "G T 3 4"],
    own: Float[np.ndarray, "G T 3 4"],
    lapse: float,
) -> OwnMeaning:
    arrays = games.arrays
    turns = np.arange(arrays.codes.shape[1])
    seated = np.array([agents[Role.DECODER] == agent for agents in games.agents])
    asked = (turns < arrays.turns[:, None]) & seated[:, None] & (arrays.hints >= 0).all(-1)
    elicited, known = (np.isfinite(each).all((-1, -2)) for each in (own, shared))
    there = asked & elicited & known
    game, turn = np.nonzero(there)
    before = (turns[None] < turn[:, None])[..., None]
    used = (before & (arrays.codes[game][..., None] == np.arange(len(CODES)))).any(1)
    guesses = arrays.decoder_guesses[there]
    _, deal = np.unique(np.sort(arrays.keywords, 1), axis=0, return_inverse=True)
    cluster = deal.reshape(-1)[game]
    tables = [literal_log_p(each[there], used, guesses, lapse) for each in (shared, own)]
    scores = [held_out(table, cluster) for table in tables]
    best = [float(BETAS[table.sum(0).argmax()]) if len(table) else float("nan") for table in tables]
    difference, error = clustered_mean(scores[1] - scores[0], cluster)
    mean = [float(each.mean()) if len(each) else float("nan") for each in (tables[0][:, 0], *scores)]
    return OwnMeaning(
        agent=agent,
        lexicon=whose,
        method=method,
        own=same,
        decisions=int(asked.sum()),
        elicited=int((asked & elicited).sum()),
        known=int((asked & known).sum()),
        compared=len(game),
        failed=int((guesses < 0).sum()),
        games=len(np.unique(game)),
        chance=mean[0],
        shared_score=mean[1],
        own_score=mean[2],
        difference=float(difference),
        error=float(error),
        shared_beta=best[0],
        own_beta=best[1],
    )
