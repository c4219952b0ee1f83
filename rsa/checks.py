"""Errors that name the wrong row.

They look at values, which a traced array does not have: inside jit they pass, and a row in which nothing is possible
comes out as all -inf.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array


def some_support(log_p: Array, message: str, allow_empty: bool = False) -> Array:
    """log_p, or a ValueError with the first row (over the last axis) in which nothing is possible."""
    if not allow_empty and known(log_p):
        empty = np.argwhere((np.asarray(log_p) == -np.inf).all(-1))
        if len(empty):
            raise ValueError(message.format(", ".join(map(str, empty[0]))))
    return log_p


def lexicon(log_lexicon: Array) -> None:
    """ValueError for a log-lexicon of integers, which are truth values, or one that holds NaN or +inf."""
    if not jnp.issubdtype(log_lexicon.dtype, jnp.floating):
        raise ValueError(
            f"a lexicon of {log_lexicon.dtype}: truth values are bool, log-degrees of truth are float; make one with "
            "lexicon.from_boolean or lexicon.from_graded"
        )
    if known(log_lexicon) and not (np.asarray(log_lexicon) < np.inf).all():  # NaN fails too
        row, column = np.argwhere(~(np.asarray(log_lexicon) < np.inf))[0]
        value = log_lexicon[row, column]
        raise ValueError(
            f"log_lexicon[{row}, {column}] is {value}; entries are log-degrees of truth, -inf where false: "
            "make one with lexicon.from_boolean or lexicon.from_graded"
        )


def log_prior(log_prior: Array, size: int, over: str = "meaning") -> None:
    """ValueError for log-probabilities of another length than `size`, with NaN, or that do not sum to 1."""
    if log_prior.shape[-1] != size:
        raise ValueError(f"log_prior has {log_prior.shape[-1]} entries for {size} {over}s; give one for every {over}")
    if known(log_prior):
        total = np.exp(np.asarray(log_prior, np.float64)).sum(-1)
        if not np.allclose(total, 1.0, atol=1e-3):  # NaN too
            raise ValueError(
                f"log_prior sums to {float(total.flat[0]):.6g} over the {over}s, not 1: normalise it, "
                "for instance with inference.logspace.log_normalize"
            )


def sayable(lexicon: Array, log_prior: Array, cost: Array | float, legal: Array | None) -> None:
    """ValueError for an utterance true of no possible meaning, and for a possible meaning with no legal utterance.

    Levels of a recursion are possible where the lexicon is, so what holds here holds at every depth.
    """
    if not all(known(x) for x in (lexicon, log_prior, cost, legal)):
        return
    truth = np.asarray(lexicon) if lexicon.dtype == bool else np.asarray(lexicon) != -np.inf
    allowed = np.asarray(log_prior) != -np.inf
    truth = truth & allowed
    legal = np.broadcast_to(True if legal is None else legal, truth.shape[:1]) & (np.asarray(cost) != np.inf)
    for possible, message in (
        (truth.any(1), "utterance {} is true of no possible meaning"),
        ((truth & legal[:, None]).any(0) | ~allowed, "meaning {} has no legal utterance"),
    ):
        if not possible.all():
            raise ValueError(message.format(np.argmin(possible)) + "; leave it out, or set allow_empty=True")


def known(x) -> bool:
    """Whether the values can be looked at: False inside jit, vmap and grad."""
    return not isinstance(x, jax.core.Tracer)


def speaking(utterances: int, alpha: Array | float, cost: Array | float, legal: Array | None) -> None:
    """ValueError for an alpha that is negative or NaN, a cost that is NaN, or either list of another length."""
    if known(alpha) and not (np.asarray(alpha) >= 0).all():  # NaN fails too
        raise ValueError(f"alpha={np.asarray(alpha)}: rationality is a number >= 0")
    for name, x in (("cost", cost), ("legal", legal)):
        if x is not None and np.ndim(x) and np.shape(x)[-1] != utterances:
            raise ValueError(f"{name} has {np.shape(x)[-1]} entries for {utterances} utterances; give one for each")
    if known(cost) and np.isnan(np.asarray(cost)).any():
        raise ValueError(
            f"cost of utterance {np.argmax(np.isnan(np.asarray(cost)))} is NaN; costs are nats, inf forbids"
        )
