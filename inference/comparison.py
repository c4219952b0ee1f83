"""Which of several models made the data of many units: by one model for all, or by frequencies in a population.

A unit is what is independent: a person, a game. What each model makes of each unit is a number, its log-evidence, in
nats. Runs outside jit, in float64. scipy is imported where it is used.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

LogEvidence = Float[Array, "N K"] | Float[np.ndarray, "N K"]
CELLS = 20_000


class RandomEffects(NamedTuple):
    """What N units tell of how frequent K models are in the population that they are drawn from."""

    counts: Float[np.ndarray, " K"]  # alpha, of the Dirichlet posterior over the frequencies
    frequency: Float[np.ndarray, " K"]  # its mean; sums to 1
    log_assignment: Float[np.ndarray, "N K"]  # log P(unit n is by model k); each row's exp sums to 1
    free_energy: float  # nats, a lower bound of the log-evidence for frequencies that differ
    null_log_evidence: float  # nats, of all models being equally frequent
    steps: int
    converged: bool


class Selection(NamedTuple):
    """Random-effects model selection, and how far it goes beyond chance."""

    frequency: Float[np.ndarray, " K"]  # expected; sums to 1
    exceedance: Float[np.ndarray, " K"]  # P(model k is the most frequent one); sums to 1
    protected: Float[np.ndarray, " K"]  # the same, where all may be equally frequent; sums to 1
    chance: float  # P(all models are equally frequent), the Bayesian omnibus risk


def random_effects(
    log_evidence: LogEvidence, prior: float = 1.0, tolerance: float = 1e-6, max_steps: int = 10_000
) -> RandomEffects:
    """r ~ Dirichlet(prior), unit n is by model k with probability r_k: the posterior by variational Bayes.

    g_nk proportional to exp(log_evidence_nk + psi(alpha_k) - psi(sum alpha)), alpha = prior + sum_n g_n, until the
    largest change of alpha is below the tolerance.
    log_evidence: [N, K] log p(data of unit n | model k), nats; -inf: impossible.
    prior: how often each model has been seen before, above 0.
    Returns: counts [K], and free energies for `protected`.
    Raises: ValueError for no unit or model, NaN, +inf, a unit that no model can have made, and a prior not above 0.
    Source: Stephan et al. (2009), Eqs. 14 and 9; free energy after Rigoux et al. (2014), appendix A.
    """
    from scipy.special import digamma, gammaln, logsumexp, xlogy

    evidence = _checked(log_evidence)
    if not 0 < prior < np.inf:
        raise ValueError(f"prior={prior}: how often each model has been seen before, above 0")
    units, models = evidence.shape

    def assigned(counts):
        log_frequency = digamma(counts) - digamma(counts.sum())
        weight = evidence + log_frequency
        return weight - logsumexp(weight, 1, keepdims=True), log_frequency

    counts, change, steps = np.full(models, prior + units / models), np.inf, 0
    while change >= tolerance and steps < max_steps:
        log_assignment, _ = assigned(counts)
        new = prior + np.exp(log_assignment).sum(0)
        change, counts, steps = np.abs(new - counts).max(), new, steps + 1
    log_assignment, log_frequency = assigned(counts)
    g = np.exp(log_assignment)
    # The bound: E[log p(y, m, r)] plus the entropies of the two factors of the posterior.
    likelihood = np.where(g > 0, g * np.where(np.isneginf(evidence), 0.0, evidence), 0.0).sum()
    of_models = (g * log_frequency).sum() - xlogy(g, g).sum()
    start = gammaln(models * prior) - models * gammaln(prior) + (prior - 1) * log_frequency.sum()
    spread = gammaln(counts).sum() - gammaln(counts.sum()) - ((counts - 1) * log_frequency).sum()
    null = (logsumexp(evidence, 1) - np.log(models)).sum()
    return RandomEffects(
        counts,
        counts / counts.sum(),
        log_assignment,
        float(likelihood + of_models + start + spread),
        float(null),
        steps,
        bool(change < tolerance),
    )


def exceedance(counts: Float[np.ndarray, " K"]) -> Float[np.ndarray, " K"]:
    """P(r_k > r_j for every j other than k), r ~ Dirichlet(counts).

    r is K independent Gamma(counts_k) over their sum, so that it is the integral over x of the density of the k-th at
    x times the probabilities that each of the others is below x: by the trapezium rule in log x, where the integrand
    falls off on both sides. For K = 2 and counts up to 1,000 the error is below 1e-8.
    counts: [K], above 0.   Returns: [K], sums to 1.
    Raises: ValueError for counts that are not above 0.
    """
    from scipy.special import gammainc, gammaincinv, gammaln

    counts = np.asarray(counts, float)
    if counts.ndim != 1 or not len(counts) or not (np.isfinite(counts) & (counts > 0)).all():
        raise ValueError(f"counts={counts.tolist()}: one number for each model, above 0")
    found = np.empty(len(counts))
    for k, own in enumerate(counts):
        low = (np.log(1e-17) + gammaln(own + 1)) / own  # the lower tail of a Gamma is x^a / Gamma(a + 1)
        low = max(low, np.log(gammaincinv(own, 1e-17)) if own > 1 else low)
        high = np.log(gammaincinv(own, 1 - 1e-16))
        t = np.linspace(low, high, CELLS)
        density = np.exp(own * t - np.exp(t) - gammaln(own))
        below = np.prod([gammainc(other, np.exp(t)) for j, other in enumerate(counts) if j != k], axis=0)
        found[k] = np.trapezoid(density * below, t)
    return found / found.sum()


def select(
    log_evidence: LogEvidence, prior: float = 1.0, tolerance: float = 1e-6, max_steps: int = 10_000
) -> Selection:
    """Which model is the most frequent one, by `random_effects` and `exceedance`.

    protected = (1 - chance) exceedance + chance / K, with chance = 1 / (1 + exp(free energy - null log-evidence)).
    Arguments and errors as for `random_effects`; RuntimeError where it does not converge.
    Source: Stephan et al. (2009); Rigoux et al. (2014), Eq. 7.
    """
    from scipy.special import expit

    found = random_effects(log_evidence, prior, tolerance, max_steps)
    if not found.converged:
        raise RuntimeError(f"no convergence to {tolerance} in {found.steps} steps: give more max_steps")
    exceeds = exceedance(found.counts)
    chance = float(expit(found.null_log_evidence - found.free_energy))
    models = len(exceeds)
    return Selection(found.frequency, exceeds, (1 - chance) * exceeds + chance / models, chance)


def fixed_effects(log_evidence: LogEvidence) -> Float[np.ndarray, " K"]:
    """log P(model k | data) where one model made all units and all are equally likely at first: sums, normalised.

    log_evidence, errors: as for `random_effects`.   Returns: [K], nats, normalised.
    """
    from scipy.special import logsumexp

    total = _checked(log_evidence).sum(0)
    if np.isneginf(total).all():
        raise ValueError("log_evidence: every model finds some unit impossible, so none can have made all")
    return total - logsumexp(total)


def bic_log_evidence(log_likelihood: float, parameters: int, observations: int) -> float:
    """log-likelihood at the maximum - parameters / 2 log(observations): minus half the BIC, nats.

    It approximates the log-evidence up to a constant. Source: Schwarz (1978).
    Raises: ValueError for fewer than 0 parameters or no observation.
    """
    if parameters < 0 or observations < 1:
        raise ValueError(f"parameters={parameters}, observations={observations}: at least 0 and at least 1")
    return float(log_likelihood - parameters / 2 * np.log(observations))


def _checked(log_evidence: LogEvidence) -> np.ndarray:
    evidence = np.asarray(log_evidence, float)
    if evidence.shape[0] < 1 or evidence.shape[1] < 1:
        raise ValueError(f"log_evidence of shape {evidence.shape}: at least one unit and one model")
    if np.isnan(evidence).any() or np.isposinf(evidence).any():
        n, k = np.argwhere(np.isnan(evidence) | np.isposinf(evidence))[0]
        raise ValueError(f"log_evidence of unit {n} under model {k} is {evidence[n, k]}: nats, finite or -inf")
    impossible = np.isneginf(evidence).all(1)
    if impossible.any():
        raise ValueError(f"unit {int(impossible.argmax())} is impossible under every model: give one a lapse")
    return evidence
