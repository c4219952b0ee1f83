"""Is it the words or the reasoning? Agents beside a literal mind with shared, and with elicited, word meanings.

The mind is the same twice, but for what its words mean: for an unused code c and hints h_1 h_2 h_3

    L(c) proportional to exp(beta sum_i a(h_i, k_{c_i})),    p(c) = (1 - lapse) L(c) + lapse / 24

and for an encoder of code c, who picks each hint from the set H of all that were said in this game

    S(h_1 h_2 h_3) = prod_i exp(beta a(h_i, k_{c_i})) / sum_{h in H} exp(beta a(h, k_{c_i})),    lapse over |H|^3

a is the cosine of the shared vectors (`shared`), or the agent's own association (`own`): log p(k given h), so that
beta = 1 multiplies what was answered hint by hint, or rating / 100. beta is the best of one grid for both, chosen for
each game by all games of other keywords: no decision is scored at a beta that it helped to choose. Both are scored at
the same decisions, those whose three hints have a vector and were all elicited.

An encoder chose among all words, of which nothing is elicited; H asks only why this hint stood here and not there. An
interceptor chooses among all keywords, so it has no row.
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

from otherminds.games.decrypto.rules import CODES, LENGTH, SLOTS, Role
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
    """A decoder or encoder under the shared and under an elicited lexicon.

    lexicon: whose it is.   own: whether that is the agent's own model, whatever its options.
    decisions: that had hints, failed ones included.   elicited: with every hint elicited.   known: with every hint in
    the vectors.   compared: both, of `games` games; `failed` of them are no answer, which the lapse alone allows.
    chance, shared_score, own_score: nats a decision; NaN for fewer than two sets of keywords, as nothing is held out.
    difference: own less shared.   error: its standard error, games of the same keywords as one cluster.
    shared_beta, own_beta: best of all the decisions together.
    """

    role: str
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
    """A row for every decoder and encoder under every elicited lexicon, an agent's own first.

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
        for role in (Role.DECODER, Role.ENCODER):
            for agent in games.players(role):
                rows.append(_row(games, role, agent, whose, method, shared, own, lapse))
    if not some:
        raise JournalError("no hint of these games was elicited; elicit their lexicon: otherminds elicit lexicon LOG")
    return sorted((row for row in rows if row.decisions), key=lambda row: (row.role, not row.own))


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


def encoder_log_p(
    association: Float[np.ndarray, "T 3 4"],
    hints: Int[np.ndarray, "T 3"],
    codes: Int[np.ndarray, " N"],
    said: Int[np.ndarray, "N 3"],
    lapse: float,
    betas: Float[np.ndarray, " B"] = BETAS,
) -> Float[np.ndarray, "N B"]:
    """log p of the three hints of N decisions of one game for each beta, nats; a negative hint is no answer.

    association: a, of the game's hints with each slot; NaN for hints that are none of the set H.   hints: which words.
    codes, said: what was to be encoded, and the words that were, each of H.   betas: per unit of a.
    """
    there = np.isfinite(association).all(-1)
    words, first = np.unique(hints[there], return_index=True)
    of_words = association[there][first]  # [P, 4]
    slots = np.array(CODES)[codes]  # [N, 3]
    log_p = log_softmax(betas[:, None, None] * of_words.T, axis=-1)  # [B, 4, P]
    place = np.searchsorted(words, np.maximum(said, 0))
    made = log_p[:, slots, np.minimum(place, len(words) - 1)].sum(-1).T  # [N, B]
    answered = (said >= 0).all(-1)
    return lapsed(np.where(answered[:, None], made, -np.inf), np.array(len(words) ** LENGTH), lapse)


def held_out(log_p: Float[np.ndarray, "N B"], cluster: Int[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    """Every decision at the beta that is best for all clusters but its own; NaN for a single cluster."""
    if len(np.unique(cluster)) < 2:
        return np.full(len(log_p), np.nan)
    others = {own: log_p[cluster != own].sum(0).argmax() for own in np.unique(cluster)}
    return log_p[np.arange(len(log_p)), [others[own] for own in cluster]]


def _row(
    games: Games,
    role: Role,
    agent: str,
    whose: str,
    method: str,
    shared: Float[np.ndarray, "G T 3 4"],
    own: Float[np.ndarray, "G T 3 4"],
    lapse: float,
) -> OwnMeaning:
    arrays = games.arrays
    turns = np.arange(arrays.codes.shape[1])
    seated = games.seated(role, agent)
    spoken = (arrays.hints >= 0).all(-1)
    asked = (turns < arrays.turns[:, None]) & seated[:, None] & (spoken | (role == Role.ENCODER))
    elicited, known = (np.isfinite(each).all((-1, -2)) for each in (own, shared))
    both = elicited & known
    # An encoder who gave no hints failed to choose from H, where there is one.
    there = asked & (both | (~spoken & both.any(-1, keepdims=True)))
    game, turn = np.nonzero(there)
    if role == Role.ENCODER:
        failed = int((~spoken[there]).sum())
        tables = [_encoder_table(games, each, both, there, lapse) for each in (shared, own)]
    else:
        before = (turns[None] < turn[:, None])[..., None]
        used = (before & (arrays.codes[game][..., None] == np.arange(len(CODES)))).any(1)
        guesses = arrays.decoder_guesses[there]
        failed = int((guesses < 0).sum())
        tables = [literal_log_p(each[there], used, guesses, lapse) for each in (shared, own)]
    _, deal = np.unique(np.sort(arrays.keywords, 1), axis=0, return_inverse=True)
    cluster = deal.reshape(-1)[game]
    scores = [held_out(table, cluster) for table in tables]
    best = [float(BETAS[table.sum(0).argmax()]) if len(table) else float("nan") for table in tables]
    difference, error = clustered_mean(scores[1] - scores[0], cluster)
    mean = [float(each.mean()) if len(each) else float("nan") for each in (tables[0][:, 0], *scores)]
    return OwnMeaning(
        role=role.name.lower(),
        agent=agent,
        lexicon=whose,
        method=method,
        own=split_options(whose)[0] == split_options(agent)[0],
        decisions=int(asked.sum()),
        elicited=int((asked & elicited).sum()),
        known=int((asked & known).sum()),
        compared=len(game),
        failed=failed,
        games=len(np.unique(game)),
        chance=mean[0],
        shared_score=mean[1],
        own_score=mean[2],
        difference=float(difference),
        error=float(error),
        shared_beta=best[0],
        own_beta=best[1],
    )


def _encoder_table(
    games: Games,
    association: Float[np.ndarray, "G T 3 4"],
    both: Bool[np.ndarray, "G T"],
    there: Bool[np.ndarray, "G T"],
    lapse: float,
) -> Float[np.ndarray, "N B"]:
    """`encoder_log_p` of the decisions `there`, game by game; H is of the turns whose hints have both meanings."""
    arrays = games.arrays
    tables = [
        encoder_log_p(
            np.where(both[g][:, None, None], association[g], np.nan),
            np.asarray(arrays.hints[g]),
            np.asarray(arrays.codes[g])[there[g]],
            np.asarray(arrays.hints[g])[there[g]],
            lapse,
        )
        for g in np.flatnonzero(there.any(-1))
    ]
    return np.concatenate(tables) if tables else np.zeros((0, len(BETAS)))
