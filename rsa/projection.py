"""Speakers who answer a question under discussion (QUD): hyperbole, irony, metaphor.

A QUD is a partition of the meanings: an integer array [M] that gives each meaning its class 0 .. C-1. The speaker
wants the class understood and cares for nothing else, so that what is literally false may be the best thing to say.
The literal listener is projected on the classes before anything else, and a speaker is an array over classes, so
that no QUD costs more than its own size.
Source: Kao, Wu, Bergen & Goodman (2014); Kao, Bergen & Goodman (2014) for metaphor; Kao & Goodman (2015) for irony.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from numpy.typing import ArrayLike

from otherminds.inference.logspace import log_normalize, logsumexp, scale
from otherminds.inference.tracing import known
from otherminds.rsa import agents, checks

Classes = Int[np.ndarray, " M"] | Int[Array, " M"]  # static: what each meaning answers to a question


def partition(*features: ArrayLike) -> Int[np.ndarray, " M"]:
    """The QUD that asks for these features: meanings are in one class where all of them agree.

    features: each [M], a value for every meaning: partition(price, valence), partition(price.round(-1)).
    Returns: [M] classes, numbered from 0 in the order of the features' values.
    """
    numbered = np.stack([np.unique(np.asarray(feature), return_inverse=True)[1] for feature in features])
    return np.unique(numbered, axis=1, return_inverse=True)[1].reshape(-1)


def project(log_listener: Float[Array, "U M"], classes: Classes) -> Float[Array, "U C"]:
    """L(c | u) = sum of L(m | u) over the meanings m of class c.

    log_listener: [U, M], normalised over M.   classes: [M], static; make it with `partition`.
    Returns: [U, C] log-probabilities, normalised over C.
    Raises: ValueError if the classes are another number, or traced, or one of 0 .. C-1 has no meaning.
    """
    return _project(log_listener.T, classes).T


def qud_speaker(
    log_listener: Float[Array, "U M"],
    classes: Classes,
    alpha: Float[Array, ""] | float,
    cost: Float[Array, " U"] | float = 0.0,
    log_utterance_prior: Float[Array, " U"] | float = 0.0,
    legal: Bool[Array, " U"] | None = None,
    allow_empty: bool = False,
) -> Float[Array, "C U"]:
    """S(u | c) proportional to P(u) exp(alpha (log L(c | u) - cost(u))): what to say where class c is the answer.

    log_listener: [U, M], normalised over M.   classes: [M], static, the QUD.
    alpha: rationality, >= 0.   cost: [U], nats.
    log_utterance_prior: [U], nats, up to a constant: a habit that alpha does not scale.
    legal: [U] True where u may be said.   allow_empty: a class that cannot be conveyed is a row of all -inf.
    Returns: [C, U] log-probabilities, normalised over U; row classes[m] is the speaker of meaning m.
    Raises: ValueError as `project`, or if a class has no utterance (outside jit; inside, that row is all -inf).
    Source: Kao et al. (2014), Eq. 3, at alpha = 1; the utterance prior is that of their Church model.
    """
    checks.speaking(log_listener.shape[0], alpha, cost, legal)
    utility = scale(alpha, _project(log_listener.T, classes) - cost)
    log_speaker = log_normalize(utility + log_utterance_prior, where=legal)
    return checks.some_support(log_speaker, "class {} of the question has no utterance", allow_empty)


def qud_speakers(
    log_listener: Float[Array, "U M"],
    quds: Sequence[Classes],
    alpha: Float[Array, ""] | float,
    cost: Float[Array, " U"] | float = 0.0,
    log_utterance_prior: Float[Array, " U"] | float = 0.0,
    legal: Bool[Array, " U"] | None = None,
    allow_empty: bool = False,
) -> Float[Array, "Q M U"]:
    """S(u | m, q) = S(u | class of m in q), of `qud_speaker`, for each of Q questions.

    quds: Q partitions of the meanings, static.   The rest as for `qud_speaker`.
    Returns: [Q, M, U] log-probabilities, normalised over U. `qud_listener` makes a listener of them;
        agents.joint_listener(log_speakers, log_qud_prior[:, None] + log_prior) says which question, too: [U, Q, M].
    Raises: ValueError as `qud_speaker`.
    """
    if not len(quds):
        raise ValueError("there is no question; give one partition of the meanings or more")
    quds = [_checked(classes, log_listener.shape[1]) for classes in quds]
    speakers = [
        qud_speaker(log_listener, classes, alpha, cost, log_utterance_prior, legal, allow_empty=True)[classes]
        for classes in quds
    ]
    return checks.some_support(jnp.stack(speakers), "under question {}, meaning {} has no utterance", allow_empty)


def qud_listener(
    log_speakers: Float[Array, "Q M U"], log_prior: Float[Array, " M"], log_qud_prior: Float[Array, " Q"]
) -> Float[Array, "U M"]:
    """L(m | u) proportional to P(m) sum_q P(q) S(u | m, q): a listener who does not know the question.

    log_speakers: [Q, M, U], normalised over U.   log_prior: [M], normalised.   log_qud_prior: [Q], normalised.
    Returns: [U, M] log-probabilities, normalised over M.
    Raises: ValueError if a prior has another length or does not sum to 1 (outside jit).
    Source: Kao et al. (2014), Eq. 4.
    """
    questions, meanings, _ = log_speakers.shape
    checks.log_prior(log_prior, meanings)
    checks.log_prior(log_qud_prior, questions, "question")
    # without the barrier XLA works the speakers out again at every use
    mixture = logsumexp(jax.lax.optimization_barrier(log_speakers) + log_qud_prior[:, None, None], 0)
    return agents.pragmatic_listener(mixture, log_prior)


def _project(log_rows: Float[Array, "M U"], classes: Classes) -> Float[Array, "C U"]:
    """log sum over each class's rows, by gathers: classes of like size together, padded to a power of two."""
    classes = _checked(classes, log_rows.shape[0])
    sizes = np.bincount(classes)
    in_order = np.argsort(classes, kind="stable")
    first = np.cumsum(sizes) - sizes
    width = 2 ** np.ceil(np.log2(sizes)).astype(int)
    sums, members = [], []
    for k in np.unique(width):
        group = np.flatnonzero(width == k)
        offset = np.arange(k)
        inside = offset < sizes[group, None]  # [classes of this size, k]
        index = in_order[np.where(inside, first[group, None] + offset, 0)].astype(np.int32)
        rows = log_rows[index]
        sums.append(rows[:, 0] if k == 1 else logsumexp(rows, 1, jnp.asarray(inside[..., None])))
        members.append(group)
    return jnp.concatenate(sums)[np.argsort(np.concatenate(members)).astype(np.int32)]


def _checked(classes: ArrayLike, size: int) -> np.ndarray:
    if not known(classes):
        raise ValueError("the classes of a question are static: close over them, or make them outside jit")
    classes = np.asarray(classes)
    if classes.shape != (size,):
        raise ValueError(f"a question has classes of shape {classes.shape} for {size} meanings; give each meaning one")
    used = np.unique(classes)
    if not np.array_equal(used, np.arange(len(used))):
        raise ValueError(f"classes {used.tolist()} are not 0 .. {len(used) - 1}; number them with partition(classes)")
    return classes.astype(np.int32)
