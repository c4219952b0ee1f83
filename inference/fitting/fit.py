"""`fit`: one record of a posterior, however it was found, with what a reader should worry about.

fit = fit(model, "nuts")
fit.estimates["alpha"].mean, fit.log_evidence, fit.warnings
arviz.loo(fit.tree)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from otherminds.inference.fitting import evidence, grids, sampling
from otherminds.inference.fitting import model as models
from otherminds.inference.fitting.evidence import GOOD_K, Evidence
from otherminds.inference.fitting.laplace import laplace
from otherminds.inference.fitting.model import Model, Values
from otherminds.inference.fitting.optimum import Optimum, flat, maximise

METHODS = ("map", "laplace", "nuts", "svi", "grid")
MASS = 0.95
LARGEST_RHAT, SMALLEST_ESS = 1.01, 400
MOST_POINTWISE = 50_000_000
"""Numbers in the table of log-likelihoods by draw and choice; above it draws are thinned."""
CHECKED = 256
"""Prior draws in which a choice must be possible once."""


class Estimate(NamedTuple):
    """A number's posterior: mean, standard deviation, the shortest interval that holds 95%; NaN for a mode alone."""

    mean: float
    sd: float
    low: float
    high: float
    mode: float  # of the joint density, per unit of the parameters


@dataclass(frozen=True)
class Fit:
    """What the data tell of a model's parameters.

    estimates: by parameter, one a number: `alpha`, or `alpha[3]` of a unit.   mode: the parameters of highest density.
    tree: an ArviZ tree with `posterior` and `log_likelihood` (chain, draw, choice); None for "map".
    log_evidence: nats, NaN where the method gives none; its error is a standard error.
    warnings: what to worry about, a sentence each; none for a clean fit.
    """

    method: str
    seed: int
    estimates: dict[str, Estimate]
    mode: Values
    log_likelihood: float  # at the mode, nats
    log_evidence: float
    evidence_error: float
    tree: Any = None
    warnings: list[str] = field(default_factory=list)


def fit(
    model: Model,
    method: str = "nuts",
    *,
    seed: int = 0,
    rows: Sequence[str] | None = None,
    pointwise: bool = True,
    **options: Any,
) -> Fit:
    """The posterior of a model's parameters.

    method: of METHODS. "map": the mode alone; "laplace": a normal around it; "nuts", "svi": draws; "grid": exact, for
        up to three numbers, and the only one for parameters behind an argmax.
    rows: what to call each choice in an error; its number where they are not given.
    pointwise: whether the tree holds the log-likelihood of every choice, which LOO needs.
    options: of the method (`optimum.maximise`, `sampling.nuts`, `sampling.svi`, `grids.grid`).
    Raises: ValueError for another method, a gradient method for a parameter behind an argmax, a choice that no
        parameters allow, or a prior that excludes the data.
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r}: there are {', '.join(METHODS)}")
    if method != "grid":
        models.refuse_hard(model, method)
    key = jax.random.key(seed)
    check_possible(model, jax.random.fold_in(key, 1), rows)
    return _FITTERS[method](model, key, seed, pointwise, **options)


def check_possible(model: Model, key: jax.Array, rows: Sequence[str] | None = None) -> None:
    """Whether every choice can be made, and all of them together, by the parameters of some prior draw.

    Raises: ValueError naming the rows that no draw allows, or that draws allow one by one and never together.
    """

    def one(own):
        values = models.to_values(model, models.draw_raw(own, model))
        return model.log_likelihood(values, model.data)

    log_p = np.asarray(jax.lax.map(one, jax.random.split(key, CHECKED)))
    if np.isnan(log_p).any():
        raise ValueError(f"{_named(np.isnan(log_p).any(0), rows)}: the log-likelihood is not a number under the prior")
    never = np.isneginf(log_p).all(0)
    if never.any():
        raise ValueError(
            f"{_named(never, rows)}: impossible under every one of {CHECKED} prior draws; leave it out, or give the "
            "mind a lapse"
        )
    if np.isneginf(log_p.sum(1)).all():
        raise ValueError(
            f"no one of {CHECKED} prior draws allows all choices together, though each is allowed by some: give the "
            "mind a lapse, or a wider prior"
        )


def _named(which: np.ndarray, rows: Sequence[str] | None) -> str:
    places = np.flatnonzero(which)
    names = [rows[place] if rows is not None else f"choice {place}" for place in places[:5]]
    return ", ".join(names) + (f" and {len(places) - 5} more" if len(places) > 5 else "")


# --- by method -------------------------------------------------------------------------------------------------------


def _by_mode(model: Model, key: jax.Array, seed: int, pointwise: bool, **options: Any) -> Fit:
    del pointwise
    found = jax.jit(lambda own: maximise(own, model, **options))(key)
    nothing = {name: Estimate(*[np.nan] * 4, value) for name, value in _numbers(found.values).items()}
    return Fit("map", seed, nothing, found.values, float(found.log_likelihood), np.nan, np.nan, None, _of_search(found))


def _by_laplace(model: Model, key: jax.Array, seed: int, pointwise: bool, draws: int = 4000, **options: Any) -> Fit:
    found = jax.jit(lambda own: laplace(own, model, **options))(key)
    plain = jax.jit(lambda own: maximise(own, model, **options))(key)
    told = _of_search(found.optimum)
    if not bool(found.proper):
        told.append("the density does not fall off in every direction at the mode: some parameter is not identified")
        return Fit("laplace", seed, {}, plain.values, float(plain.log_likelihood), np.nan, np.nan, None, told)
    proposal = evidence.Proposal(found.optimum.raw, found.factor, np.inf)
    raws = proposal.sample(jax.random.fold_in(key, 2), draws)[None]
    heavy = evidence.Proposal(found.optimum.raw, found.factor, evidence.FREEDOM)
    exact = evidence.importance(jax.random.fold_in(key, 3), _log_joint(model), heavy)
    if exact.pareto_k > GOOD_K:
        told.append(
            f"importance weights have a heavy tail (k = {exact.pareto_k:.2f}): the normal is a poor fit; use nuts"
        )
    elif abs(exact.log_evidence - float(found.log_evidence)) > 0.5:
        told.append(f"the normal misses the evidence by {exact.log_evidence - float(found.log_evidence):+.2f} nats")
    return _assembled(model, "laplace", seed, raws, plain, exact, told, pointwise)


def _by_nuts(model: Model, key: jax.Array, seed: int, pointwise: bool, **options: Any) -> Fit:
    found = sampling.nuts(key, model, **options)
    told = []
    if several := int((found.mode_densities >= found.mode_densities[0] - sampling.RIVALS).sum()) - 1:
        gap = float(found.mode_densities[0] - found.mode_densities[1])
        told.append(
            f"{several} more mode{'s' * (several > 1)} within {sampling.RIVALS:g} nats (the next {gap:.1f} lower)"
        )
    elif len(found.mode_densities) > 1:
        gap = float(found.mode_densities[0] - found.mode_densities[1])
        told.append(f"a false mode {gap:.1f} nats lower was found and left alone")
    if divergent := int(found.divergent.sum()):
        told.append(f"{divergent} of {found.divergent.size} draws diverged: raise target_accept, or look at the model")
    plain = jax.jit(lambda own: maximise(own, model))(jax.random.fold_in(key, 2))
    exact = evidence.bridge(jax.random.fold_in(key, 3), _log_joint(model), found.raws)
    stats = {"diverging": np.asarray(found.divergent), "lp": np.asarray(found.log_joint)}
    stats |= {"n_steps": np.asarray(found.steps), "acceptance_rate": np.asarray(found.acceptance)}
    made = _assembled(model, "nuts", seed, found.raws, plain, exact, told, pointwise, stats)
    made.warnings.extend(_of_chains(made.tree))
    return made


def _by_svi(model: Model, key: jax.Array, seed: int, pointwise: bool, **options: Any) -> Fit:
    found = sampling.svi(key, model, **options)
    told = [] if found.converged else ["the evidence lower bound was still moving: give more steps"]
    exact = evidence.weighed(np.asarray(found.log_joint - found.log_density, float))
    if exact.pareto_k > GOOD_K:
        told.append(
            f"importance weights have a heavy tail (k = {exact.pareto_k:.2f}): the normal is a poor fit; use nuts"
        )
    plain = jax.jit(lambda own: maximise(own, model))(jax.random.fold_in(key, 2))
    return _assembled(model, "svi", seed, found.raws[None], plain, exact, told, pointwise)


def _by_grid(model: Model, key: jax.Array, seed: int, pointwise: bool, draws: int = 4000, **options: Any) -> Fit:
    found = grids.grid(model, **options)
    _, unravel = flat(model)
    mode = models.to_values(model, unravel(jnp.asarray(found.raws[found.mode])))
    told = []
    if found.edge > 1e-6:
        told.append(f"a cell at the grid's border holds {found.edge:.1e} of the posterior: some of it may lie beyond")
    raws = jnp.asarray(grids.draws_of(found, jax.random.fold_in(key, 2), draws))[None]
    exact = Evidence(found.log_evidence, 0.0, np.nan)
    likelihood = float(found.log_likelihood[found.mode])
    made = _assembled(model, "grid", seed, raws, None, exact, told, pointwise, mode=mode, log_likelihood=likelihood)
    for name, (mean, sd) in grids.expectation(found, model).items():
        numbers = zip(_numbers({name: mean}).items(), np.ravel(sd), strict=True)
        made.estimates.update(
            (label, made.estimates[label]._replace(mean=value, sd=float(own))) for (label, value), own in numbers
        )
    return made


_FITTERS: dict[str, Callable[..., Fit]] = {
    "map": _by_mode,
    "laplace": _by_laplace,
    "nuts": _by_nuts,
    "svi": _by_svi,
    "grid": _by_grid,
}


# --- what they share -------------------------------------------------------------------------------------------------


def _log_joint(model: Model) -> Callable[[Float[Array, " D"]], Float[Array, ""]]:
    _, unravel = flat(model)
    return lambda raw: models.log_joint(model, unravel(raw), model.data)


def _numbers(values: Values) -> dict[str, float]:
    """Every number of the parameters by its label; a hierarchy's offsets are left out."""
    found: dict[str, float] = {}
    for name, value in values.items():
        if name.endswith(".offset"):
            continue
        each = np.asarray(value, float)
        labels = [name] if each.ndim == 0 else [f"{name}[{','.join(map(str, at))}]" for at in np.ndindex(each.shape)]
        found |= dict(zip(labels, each.ravel().tolist(), strict=True))
    return found


def _of_search(found: Optimum) -> list[str]:
    """Worries about a search for the mode."""
    told = []
    if not bool(found.converged.any()):
        told.append(f"no start converged (largest derivative {float(found.gradients.min()):.1e}): give more steps")
    elif not bool(found.converged[jnp.argmax(found.log_densities)]):
        told.append("the best start had not converged: give more steps")
    return told


def _of_chains(tree: Any) -> list[str]:
    """Worries about mixing, by the worst parameter."""
    import arviz

    told = []
    for name, measure, bad, advice in (
        ("R-hat", arviz.rhat, lambda x: x > LARGEST_RHAT, "chains disagree: give more warm-up or draws"),
        ("effective sample size", arviz.ess, lambda x: x < SMALLEST_ESS, "give more draws"),
    ):
        values = measure(tree, sample_dims=["chain", "draw"])
        values = (
            values["posterior"].dataset if hasattr(values, "children") and "posterior" in values.children else values
        )
        numbers = {label: x for key in values.data_vars for label, x in _numbers({key: values[key].values}).items()}
        wrong = {label: x for label, x in numbers.items() if bad(x)}
        if wrong:
            worst = max(wrong, key=wrong.get) if name == "R-hat" else min(wrong, key=wrong.get)
            told.append(f"{name} {wrong[worst]:.3g} of {worst}: {advice}")
    return told


def _assembled(
    model: Model,
    method: str,
    seed: int,
    raws: Float[Array, "C S D"],
    plain: Optimum | None,
    exact: Evidence,
    told: list[str],
    pointwise: bool,
    stats: dict[str, np.ndarray] | None = None,
    mode: Values | None = None,
    log_likelihood: float = np.nan,
) -> Fit:
    import arviz

    _, unravel = flat(model)
    values = jax.jit(jax.vmap(jax.vmap(lambda raw: models.to_values(model, unravel(raw)))))(raws)
    posterior = {name: np.asarray(each) for name, each in values.items() if not name.endswith(".offset")}
    groups = {"posterior": posterior} | ({} if stats is None else {"sample_stats": stats})
    if pointwise:
        groups["log_likelihood"] = {"choice": _pointwise(model, raws)}
    if plain is not None:
        mode, log_likelihood = plain.values, float(plain.log_likelihood)
    modes, estimates = _numbers(mode), {}
    for name, each in posterior.items():
        flat_draws = each.reshape(-1, *each.shape[2:])
        low, high = arviz.hdi(flat_draws.reshape(len(flat_draws), -1).T, prob=MASS, axis=-1).T
        labels = list(_numbers({name: flat_draws[0]}))
        numbers = (flat_draws.mean(0).ravel(), flat_draws.std(0, ddof=1).ravel(), np.ravel(low), np.ravel(high))
        for place, label in enumerate(labels):
            estimates[label] = Estimate(*(float(own[place]) for own in numbers), modes[label])
    tree = arviz.from_dict(groups)
    return Fit(method, seed, estimates, mode, log_likelihood, exact.log_evidence, exact.error, tree, told)


def _pointwise(model: Model, raws: Float[Array, "C S D"]) -> Float[np.ndarray, "C S N"]:
    """The log-likelihood of every choice in every draw."""
    _, unravel = flat(model)

    def one(raw):
        return model.log_likelihood(models.to_values(model, unravel(raw)), model.data)

    choices = jax.eval_shape(one, raws[0, 0]).shape[0]
    every = max(1, -(-raws.shape[0] * raws.shape[1] * choices // MOST_POINTWISE))
    kept = raws[:, ::every]
    flat_raws = kept.reshape(-1, kept.shape[-1])
    found = jax.jit(lambda x: jax.lax.map(one, x, batch_size=64))(flat_raws)
    return np.asarray(found).reshape(*kept.shape[:2], choices)
