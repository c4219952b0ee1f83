"""Conventions: what words mean is learnt from partner to partner, trial by trial (CHAI).

Every partner k has a lexicon x_k of X, drawn from her community: P(x | h), with P(h) over H possible communities. What
was said and done with a partner is evidence about her lexicon, [X] log-likelihoods that fade; the community couples
the partners, so that what one partner taught is expected, in part, of a stranger.
Source: Hawkins et al. (2023), "From partners to populations", with finitely many lexica and communities, so that
inference is exact; theirs are continuous and approximated.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from otherminds.inference.logspace import expectation, log_normalize, logsumexp, scale
from otherminds.rsa import agents, checks
from otherminds.rsa.population import mixture_speaker


class Game(NamedTuple):
    """What both players know: the possible lexica and how people speak and listen under each."""

    log_prior: Float[Array, " M"]  # how often each meaning comes up, normalised
    log_listeners: Float[Array, "X U M"]  # L_0(m | u, x), normalised over M
    log_speakers: Float[Array, "X M U"]  # S_1(u | m, x), normalised over U
    alpha: Float[Array, ""]
    cost: Float[Array, " U"]  # nats


def make_game(
    log_lexica: Float[Array, "X U M"],
    log_prior: Float[Array, " M"],
    alpha: Float[Array, ""] | float = 1.0,
    cost: Float[Array, " U"] | float = 0.0,
) -> Game:
    """L_0(m | u, x) and S_1(u | m, x) of every lexicon, by the equations of `rsa.agents`.

    log_lexica: [X, U, M], nats.   log_prior: [M], normalised.   alpha: rationality, >= 0.   cost: [U], nats.
    Raises: ValueError if the prior does not sum to 1 (outside jit).
    """
    checks.log_prior(log_prior, log_lexica.shape[-1])
    checks.speaking(log_lexica.shape[1], alpha, cost)
    log_lexica = checks.in_logs(log_lexica, log_prior)
    cost = jnp.broadcast_to(jnp.asarray(cost, log_prior.dtype), log_lexica.shape[1:2])
    listeners = log_normalize(log_lexica + log_prior)
    speakers = log_normalize(scale(alpha, jnp.swapaxes(listeners, -1, -2) - cost))
    return Game(log_prior, listeners, speakers, jnp.asarray(alpha, log_prior.dtype), cost)


class Beliefs(NamedTuple):
    """What a player thinks of her partners' lexica and of the community."""

    log_partners: Float[Array, "K X"]  # P(x_k | everything), normalised over X
    log_stranger: Float[Array, " X"]  # the same of somebody she has not met
    log_community: Float[Array, " H"]  # P(h | everything), normalised


def beliefs(
    log_evidence: Float[Array, "K X"],
    log_community: Float[Array, " H"],
    log_lexicon_given_community: Float[Array, "H X"],
) -> Beliefs:
    """P(h, x_1 .. x_K | evidence) proportional to P(h) prod_k P(x_k | h) exp(evidence_k(x_k)), and its marginals.

    log_evidence: [K, X], log-likelihoods from `remember`; 0 for a partner not yet met.
    log_community: [H], normalised.   log_lexicon_given_community: [H, X], normalised over X.
    Returns: Beliefs; exact, by summing each partner out given h.
    Raises: ValueError if P(h) or P(x | h) does not sum to 1 (outside jit).
    Source: Hawkins et al. (2023), with H communities in place of their continuous Theta.
    """
    checks.log_prior(log_community, log_lexicon_given_community.shape[0], "group")
    checks.log_prior(log_lexicon_given_community, log_evidence.shape[1], "lexicon")
    log_joint = log_lexicon_given_community[:, None] + log_evidence  # [H, K, X]
    community = log_normalize(log_community + logsumexp(log_joint).sum(1))
    partners = logsumexp(community[:, None, None] + log_normalize(log_joint), 0)
    return Beliefs(partners, logsumexp(community[:, None] + log_lexicon_given_community, 0), community)


def communities(lexica: int, pooling: Float[Array, ""] | float) -> Float[Array, "H X"]:
    """P(x | h) = pooling [x = h] + (1 - pooling) / X: communities that each have a lexicon that most of them share.

    lexica: X; there are as many communities.   pooling: 0 (partners tell nothing of each other) to 1 (all alike).
    Returns: [X, X] log-probabilities, normalised over the second axis.
    """
    checks.fraction("pooling", pooling)
    p = pooling * jnp.eye(lexica) + (1 - pooling) / lexica
    return jnp.where(p > 0, jnp.log(jnp.where(p > 0, p, 1.0)), -jnp.inf)


def remember(
    log_evidence: Float[Array, "K X"],
    partner: Int[Array, ""] | int,
    log_likelihood: Float[Array, " X"],
    retention: Float[Array, ""] | float = 1.0,
) -> Float[Array, "K X"]:
    """evidence_k(x) <- retention evidence_k(x) + log P(event | x): older events with this partner count less.

    log_evidence: [K, X].   partner: k.   log_likelihood: [X], from `heard` or `understood`.
    retention: 0 to 1, dimensionless; 1 forgets nothing. What a lexicon cannot do stays impossible at any retention.
    Source: Hawkins et al. (2023): a likelihood to the power retention^age.
    """
    checks.fraction("retention", retention)
    checks.index("partner", partner, log_evidence.shape[0])
    return log_evidence.at[partner].set(scale(retention, log_evidence[partner]) + log_likelihood)


def heard(game: Game, utterance: Int[Array, ""] | int, meaning: Int[Array, ""] | int) -> Float[Array, " X"]:
    """log S_1(u | m, x): what a listener learns of her partner once the meaning comes out. [X]."""
    _check_event(game, utterance, meaning)
    return game.log_speakers[:, meaning, utterance]


def understood(game: Game, utterance: Int[Array, ""] | int, response: Int[Array, ""] | int) -> Float[Array, " X"]:
    """log L_0(response | u, x): what a speaker learns of her partner from what she picked. [X]."""
    _check_event(game, utterance, response)
    return game.log_listeners[:, utterance, response]


def speaker(game: Game, log_belief: Float[Array, " X"]) -> Float[Array, "M U"]:
    """S(u | m) proportional to exp(alpha (E_{x ~ belief} log L_0(m | u, x) - cost(u))).

    log_belief: [X], her belief about her partner's lexicon, normalised.
    Returns: [M, U], normalised over U; an utterance that might be false of m is never said of it.
    Source: Hawkins et al. (2023).
    """
    checks.log_prior(log_belief, game.log_listeners.shape[0], "lexicon", "log_belief")
    log_listeners = jnp.moveaxis(game.log_listeners, 0, -1)  # [U, M, X]
    impossible = log_listeners == -jnp.inf
    risky = jnp.any(impossible & (log_belief != -jnp.inf), -1)
    # -inf is taken out of the mean and put back, so that no gradient meets it
    mean = expectation(log_belief, jnp.where(impossible, 0.0, log_listeners))
    utility = jnp.where(risky, -jnp.inf, mean)
    return log_normalize(scale(game.alpha, utility.T - game.cost))


def listener(game: Game, log_belief: Float[Array, " X"]) -> Float[Array, "U M"]:
    """L(m | u) proportional to P(m) sum_x P(x) S_1(u | m, x).

    log_belief: [X], her belief about her partner's lexicon, normalised.
    Returns: [U, M], normalised over M.
    Source: Hawkins et al. (2023).
    """
    return agents.pragmatic_listener(mixture_speaker(log_belief, game.log_speakers), game.log_prior)


class Trials(NamedTuple):
    """A conversation, trial by trial. Player 0 speaks at even trials, player 1 at odd ones, or 0 always."""

    meaning: Int[Array, " T"]
    utterance: Int[Array, " T"]  # -1 where there was nothing she could say
    response: Int[Array, " T"]  # -1 where there was nothing to hear, or nothing it could mean: nothing is learnt
    correct: Bool[Array, " T"]
    cost: Float[Array, " T"]  # of the utterance, nats
    log_beliefs: Float[Array, "T 2 X"]  # of each player about the other's lexicon, before the trial
    log_evidence: Float[Array, "2 X"]  # of each player about the other, after the last trial


def converse(
    key: PRNGKeyArray,
    game: Game,
    log_beliefs: Float[Array, "2 X"],
    trials: int,
    retention: Float[Array, ""] | float = 1.0,
    take_turns: bool = True,
) -> Trials:
    """Two players talk for `trials` trials and learn each other's lexicon: the speaker by `understood`, the listener
    by `heard`.

    log_beliefs: [2, X], what each expects of the other at first, normalised over X: one of `Beliefs`.
    trials: static, >= 1.   retention: as in `remember`.
    take_turns: static; False leaves player 0 the speaker.
    Returns: Trials; its log_evidence rows go into `beliefs` when a player turns to the next partner.
    Raises: ValueError if trials < 1.
    """
    if trials < 1:
        raise ValueError(f"trials={trials}: there is at least one")
    checks.fraction("retention", retention)
    checks.log_prior(log_beliefs, game.log_speakers.shape[0], "lexicon", "log_beliefs")

    def trial(log_evidence, step):
        key, turn = step
        of_meaning, of_utterance, of_response = jax.random.split(key, 3)
        log_now = log_normalize(log_beliefs + log_evidence)
        speaking = turn % 2 if take_turns else jnp.zeros((), int)
        meaning = jax.random.categorical(of_meaning, game.log_prior)
        utterance = _draw(of_utterance, speaker(game, log_now[speaking])[meaning])
        response = _draw(of_response, listener(game, log_now[1 - speaking])[utterance])
        response = jnp.where(utterance < 0, -1, response)
        learnt = remember(log_evidence, speaking, understood(game, utterance, response), retention)
        learnt = remember(learnt, 1 - speaking, heard(game, utterance, meaning), retention)
        log_evidence = jnp.where(response < 0, log_evidence, learnt)
        cost = jnp.where(utterance < 0, 0.0, game.cost[utterance])
        return log_evidence, (meaning, utterance, response, response == meaning, cost, log_now)

    steps = jax.random.split(key, trials), jnp.arange(trials)
    log_evidence, records = jax.lax.scan(trial, jnp.zeros_like(log_beliefs), steps)
    return Trials(*records, log_evidence)


def _check_event(game: Game, utterance: Int[Array, ""] | int, meaning: Int[Array, ""] | int) -> None:
    checks.index("utterance", utterance, game.log_listeners.shape[1])
    checks.index("meaning", meaning, game.log_listeners.shape[2])


def _draw(key: PRNGKeyArray, log_p: Float[Array, " A"]) -> Int[Array, ""]:
    """An index, or -1 where nothing is possible."""
    return jnp.where(jnp.any(log_p != -jnp.inf), jax.random.categorical(key, log_p), -1)
