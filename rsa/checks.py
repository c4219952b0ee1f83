"""Errors that name the wrong row.

They look at values, which a traced array does not have: inside jit they pass, and a row in which nothing is possible
comes out as all -inf.
"""

import jax
import numpy as np
from jaxtyping import Array


def some_support(log_p: Array, message: str, allow_empty: bool = False) -> Array:
    """log_p, or a ValueError with the first row (over the last axis) in which nothing is possible."""
    if not allow_empty and known(log_p):
        empty = np.argwhere((np.asarray(log_p) == -np.inf).all(-1))
        if empty.size:
            raise ValueError(message.format(", ".join(map(str, empty[0]))))
    return log_p


def lexicon(log_lexicon: Array) -> None:
    """ValueError for a log-lexicon that holds NaN or +inf."""
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


def known(x: Array) -> bool:
    """Whether the values can be looked at: False inside jit, vmap and grad."""
    return not isinstance(x, jax.core.Tracer)
