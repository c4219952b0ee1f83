"""Speakers of unlike cultures: a group is a distribution over lexica, and a listener may be unsure of the group.

G counts groups, X lexica. A speaker draws her lexicon from her group once and keeps it, so that the belief about one
speaker is joint over group and lexicon, [G, X]: what she said tells of her group only through her lexicon.
The simplest case, one lexicon a group, is X = G with `own_lexicon(G)`. Source: Lupu, Willi & Foerster (2025),
appendix H.2, "uncertain RSA"; the lexicon is marginalised as in Bergen, Levy & Goodman (2016).
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from otherminds.inference.logspace import log_normalize, logsumexp
from otherminds.rsa import agents, checks
from otherminds.rsa.population import mixture_speaker


def own_lexicon(groups: int) -> Float[Array, "G G"]:
    """log P(x | g) where every group has one lexicon of its own: 0 on the diagonal, -inf elsewhere."""
    return jnp.where(jnp.eye(groups, dtype=bool), 0.0, -jnp.inf)


def group_speakers(
    log_speakers: Float[Array, "X M U"], log_lexicon_given_group: Float[Array, "G X"]
) -> Float[Array, "G M U"]:
    """S(u | m, g) = sum_x P(x | g) S(u | m, x): how somebody of a group speaks.

    log_speakers: [X, M, U], normalised over U; from `uncertainty.lexicon_speakers`.
    log_lexicon_given_group: [G, X], normalised over X.
    Returns: [G, M, U], normalised over U.
    Raises: ValueError if a group's lexica do not sum to 1 (outside jit).
    """
    checks.log_prior(log_lexicon_given_group, log_speakers.shape[0], "lexicon")
    return jax.vmap(mixture_speaker, (0, None))(log_lexicon_given_group, log_speakers)


def begin(log_group: Float[Array, " G"], log_lexicon_given_group: Float[Array, "G X"]) -> Float[Array, "G X"]:
    """P(g, x) = P(g) P(x | g): the belief about a speaker of whom nothing has been heard.

    log_group: [G], normalised.   log_lexicon_given_group: [G, X], normalised over X.
    Returns: [G, X], normalised over both; `logsumexp` over X is the group, over G the lexicon.
    Raises: ValueError if the group prior or a group's lexica do not sum to 1 (outside jit).
    """
    checks.log_prior(log_group, log_lexicon_given_group.shape[0], "group")
    checks.log_prior(log_lexicon_given_group, log_lexicon_given_group.shape[1], "lexicon")
    return log_group[:, None] + log_lexicon_given_group


def update(
    log_belief: Float[Array, "G X"],
    log_speakers: Float[Array, "X M U"],
    log_prior: Float[Array, " M"],
    utterance: Int[Array, ""] | int,
    meaning: Int[Array, ""] | int,
) -> Float[Array, "G X"]:
    """P(g, x | u, m) proportional to P(g, x) S(u | m, x); P(g, x) sum_m P(m) S(u | m, x) where m is not known.

    log_belief: [G, X], normalised.   log_speakers: [X, M, U].   log_prior: [M], normalised.
    utterance: what was said; negative = nothing, which changes nothing.
    meaning: what was meant, as it came out; negative = it stays unknown.
    Returns: [G, X], normalised; all -inf where no lexicon explains it.
    """
    checks.log_prior(log_prior, log_speakers.shape[1])
    checks.index("utterance", utterance, log_speakers.shape[2])
    checks.index("meaning", meaning, log_speakers.shape[1])
    said = log_speakers[:, :, jnp.maximum(utterance, 0)]  # [X, M]
    unknown = logsumexp(said + log_prior)
    log_likelihood = jnp.where(jnp.asarray(meaning) < 0, unknown, said[:, jnp.maximum(meaning, 0)])
    return jnp.where(jnp.asarray(utterance) < 0, log_belief, log_normalize(log_belief + log_likelihood, (-2, -1)))


def update_over_trials(
    log_belief: Float[Array, "G X"],
    log_speakers: Float[Array, "X M U"],
    log_prior: Float[Array, " M"],
    utterances: Int[Array, " T"],
    meanings: Int[Array, " T"],
) -> Float[Array, "T G X"]:
    """`update`, trial after trial of one speaker: the belief after each.

    utterances, meanings: [T], negative as in `update`; pad with utterance -1.
    Returns: [T, G, X], normalised over G and X together.
    """

    def trial(log_belief, event):
        log_belief = update(log_belief, log_speakers, log_prior, *event)
        return log_belief, log_belief

    return jax.lax.scan(trial, log_belief, (utterances, meanings))[1]


def listener(
    log_belief: Float[Array, "G X"], log_speakers: Float[Array, "X M U"], log_prior: Float[Array, " M"]
) -> Float[Array, "U M"]:
    """L(m | u) proportional to P(m) sum_{g, x} P(g, x) S(u | m, x): she interprets without settling on a group.

    log_belief: [G, X], normalised.   log_speakers: [X, M, U].   log_prior: [M], normalised.
    Returns: [U, M], normalised over M.
    """
    return agents.pragmatic_listener(mixture_speaker(logsumexp(log_belief, 0), log_speakers), log_prior)


def miscommunication(
    log_speaker: Float[Array, "M U"],
    log_listener: Float[Array, "U M"],
    log_prior: Float[Array, " M"],
    guess: str = "best",
    tie: float = 1e-5,
) -> Float[Array, ""]:
    """P(guess differs from m) = 1 - sum_{m, u} P(m) S(u | m) P(guess = m | u).

    log_speaker: [M, U], normalised over U.   log_listener: [U, M], normalised over M; an utterance that means
        nothing to her (a row of -inf) miscommunicates.   log_prior: [M], of the meanings that come up.
    guess: "best" = the likeliest meaning, shared equally among those within `tie` nats of it (no gradient);
        "sampled" = a meaning drawn from L.
    Returns: probability, 0 to 1.
    Raises: ValueError for another guess.
    """
    checks.log_prior(log_prior, log_speaker.shape[0])
    if guess not in ("best", "sampled"):
        raise ValueError(f'guess={guess!r}; it is "best" or "sampled"')
    if guess == "best":
        top = jnp.max(log_listener, -1, keepdims=True)
        log_listener = log_normalize(
            jnp.zeros(log_listener.shape), where=(log_listener >= top - tie) & (top > -jnp.inf)
        )
    return 1.0 - jnp.exp(logsumexp(log_prior[:, None] + log_speaker + log_listener.T, (-2, -1)))


def miscommunication_matrix(
    log_speakers: Float[Array, "X M U"],
    log_lexicon_given_group: Float[Array, "G X"],
    log_beliefs: Float[Array, "L G"],
    log_prior: Float[Array, " M"],
    guess: str = "best",
) -> Float[Array, "G L"]:
    """P(guess differs from m) of a speaker of group g and a listener whose belief about the group is beliefs[l].

    log_speakers: [X, M, U].   log_lexicon_given_group: [G, X], normalised over X.
    log_beliefs: [L, G], normalised over G: `own_lexicon(G)` for listeners each sure that the speaker is of their own
        group, log_group[None] for one who is unsure.   log_prior: [M], normalised.
    Returns: [G, L] probabilities: rows are the speaker's group, columns the listener.
    """
    checks.log_prior(log_beliefs, log_lexicon_given_group.shape[0], "group", "log_beliefs")
    speakers = group_speakers(log_speakers, log_lexicon_given_group)
    listeners = jax.vmap(
        lambda log_group: listener(begin(log_group, log_lexicon_given_group), log_speakers, log_prior)
    )(log_beliefs)
    across = jax.vmap(miscommunication, (None, 0, None, None))
    return jax.vmap(across, (0, None, None, None))(speakers, listeners, log_prior, guess)
