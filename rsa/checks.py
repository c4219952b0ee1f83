"""Errors that name what is wrong, and the way out.

They look at values, which a traced array does not have: inside jit they pass (what shapes tell is told there too), and
a row in which nothing is possible comes out as all -inf.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from otherminds.inference.tracing import known


def in_logs(lexicon: Array, *others: Array | float) -> Float[Array, "*shape"]:
    """The lexicon as log-degrees of truth, in the precision that it has beside the others.

    lexicon: [..., U, M], truth values (bool) or log-degrees (float).
    Raises: ValueError for integers, for floats that are truth values (0 and 1 only), for NaN and +inf.
    """
    if lexicon.ndim < 2:
        raise ValueError(f"the lexicon has shape {lexicon.shape}; it is [utterances, meanings]")
    if lexicon.dtype == bool:
        return jnp.where(lexicon, 0.0, -jnp.inf).astype(jnp.result_type(float, *others))
    if not jnp.issubdtype(lexicon.dtype, jnp.floating):
        raise ValueError(f"a lexicon of {lexicon.dtype}: {_TRUTH}")
    if known(lexicon):
        values = np.asarray(lexicon)
        if not (values < np.inf).all():  # NaN fails too
            place = np.argwhere(~(values < np.inf))[0]
            raise ValueError(f"log_lexicon[{', '.join(map(str, place))}] is {values[tuple(place)]}; {_TRUTH}")
        if (values == 1).any() and np.isin(values, (0, 1)).all():
            raise ValueError(f"a lexicon of 0.0 and 1.0: {_TRUTH}")
    return lexicon.astype(jnp.result_type(lexicon, *others))


_TRUTH = (
    "truth values are bool, log-degrees of truth are float, -inf where false; "
    "lexicon.from_boolean and lexicon.from_graded make them"
)


def log_prior(
    log_p: Array, size: int, over: str = "meaning", name: str = "log_prior", allow_empty: bool = False
) -> None:
    """ValueError for log-probabilities of another length than `size`, with NaN, or that do not sum to 1.

    allow_empty: rows of all -inf pass.
    """
    if np.ndim(log_p) == 0 or log_p.shape[-1] != size:
        raise ValueError(f"{name} has shape {np.shape(log_p)} for {size} {over}s; give one entry for every {over}")
    if known(log_p):
        total = np.exp(np.asarray(log_p, np.float64)).sum(-1)
        wrong = total[~(np.isclose(total, 1.0, atol=1e-3) | (allow_empty & (total == 0)))]  # NaN too
        if wrong.size:
            raise ValueError(
                f"{name} sums to {wrong.flat[0]:.6g} over the {over}s, not 1: normalise it, "
                "for instance with inference.logspace.log_normalize"
            )


def speaking(utterances: int, alpha: Array | float, cost: Array | float = 0.0, legal: Array | None = None) -> None:
    """ValueError for an alpha that is no finite number >= 0, a cost of NaN or -inf, or a list of another length."""
    at_least_0("alpha", alpha)
    if np.ndim(alpha):
        raise ValueError(f"alpha has shape {np.shape(alpha)}; it is one number: jax.vmap over several")
    for name, x in (("cost", cost), ("legal", legal)):
        if x is not None and np.ndim(x) and np.shape(x)[-1] != utterances:
            raise ValueError(f"{name} has {np.shape(x)[-1]} entries for {utterances} utterances; give one for each")
    if known(cost):
        wrong = np.flatnonzero(~(np.asarray(cost) > -np.inf))  # NaN too
        if wrong.size:
            value = np.ravel(np.asarray(cost))[wrong[0]]
            raise ValueError(f"cost of utterance {wrong[0]} is {value}; costs are in nats, inf forbids an utterance")


def at_least_0(name: str, x: Array | float) -> None:
    """ValueError for what is not finite and >= 0."""
    if known(x) and not ((np.asarray(x) >= 0) & (np.asarray(x) < np.inf)).all():  # NaN fails too
        raise ValueError(f"{name}={np.asarray(x)}: it is a finite number >= 0")


def fraction(name: str, x: Array | float) -> None:
    """ValueError for what is not between 0 and 1."""
    if known(x) and not ((np.asarray(x) >= 0) & (np.asarray(x) <= 1)).all():  # NaN fails too
        raise ValueError(f"{name}={np.asarray(x)}: it lies between 0 and 1")


def index(name: str, x: Array | int, size: int) -> None:
    """ValueError for an index that is not below `size`; a negative one may stand for what is missing."""
    if known(x) and (np.asarray(x) >= size).any():
        raise ValueError(f"{name} {np.max(np.asarray(x))}: there are {size}, 0 to {size - 1}")


def sayable(lexicon: Array, log_prior: Array, cost: Array | float, legal: Array | None) -> None:
    """ValueError for an utterance true of no possible meaning, and for a possible meaning with no legal utterance.

    Levels of a recursion are possible where the lexicon is, so what holds here holds at every depth.
    """
    if not known(lexicon, log_prior, cost, legal):
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


def some_support(log_p: Array, message: str, allow_empty: bool = False) -> Array:
    """log_p, or a ValueError with the first row (over the last axis) in which nothing is possible."""
    if not allow_empty and known(log_p):
        empty = np.argwhere((np.asarray(log_p) == -np.inf).all(-1))
        if len(empty):
            raise ValueError(message.format(*empty[0]))
    return log_p
