"""How probable guessers of Decrypto say that each code is: how far that is from each mind's view, and how true it is.

Minds at the table state the probabilities that they choose by; language models and people do where they were asked. An
agent that states them at some decisions is expected to at all: where it does not, or gives no code, it has failed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float
from scipy.special import rel_entr

from otherminds.games.decrypto.rules import CODES, Role
from otherminds.inference.resampling import clustered_mean
from otherminds.inference.scoring import brier, calibration
from otherminds.tom.experiments.compare import Shadow, decided, lapsed
from otherminds.tom.experiments.records import CODE_INDEX, Games, read_log

GUESSERS = (Role.DECODER, Role.INTERCEPTOR)
WORST_BRIER = 2.0
"""Of a failed statement: as bad as being sure of a wrong code."""
CHANCE_BRIER = 1 - 1 / len(CODES)
BINS = 10

Stated = Mapping[Role, Float[np.ndarray, "G T 24"]]
"""By role; NaN where nothing is stated."""


@dataclass(frozen=True)
class Calibration:
    """How true the probabilities are that an agent states of the codes. Errors: standard errors, games as clusters."""

    role: str
    agent: str
    decisions: int  # with hints to guess from
    failed: int  # without probabilities or without a guess: the worst in both scores, and in nothing else
    confidence: float  # mean probability that it states of its own guess
    right: float  # share of these guesses that are the code
    calibration_error: float  # expected, of the confidence, over bins of a tenth
    brier: float  # sum over the codes of (p - [it is the code])^2: 0 to 2; without knowledge 0.958
    brier_error: float
    log_score: float  # of the code, nats, mixed with the lapse; without knowledge -3.178
    log_score_error: float


@dataclass(frozen=True)
class Bin:
    """The guesses whose stated probability lies in one range."""

    role: str
    agent: str
    low: float
    high: float
    count: int
    confidence: float  # their mean
    right: float  # share that are the code


@dataclass(frozen=True)
class Divergence:
    """How far an agent's stated probabilities are from a mind's: KL(agent || mind) over the codes."""

    role: str
    agent: str
    mind: str
    decisions: int  # with probabilities, and a hint that a mind knows, less those below
    ruled_out: int  # where the mind allows no code at all, and so has no view
    kl: float  # mean, nats; the mind is mixed with its lapse
    error: float  # standard error, games as clusters
    nearest: bool = False  # of this agent's minds


def read_stated(logs: Sequence[Path], games: Games) -> Stated:
    """What the guessers of some logs state, normalised; a code that is not named has 0.

    games: what was read from these logs.   Raises: JournalError as `records.read_log`.
    """
    shape = (*games.arrays.codes.shape, len(CODES))
    found = {role: np.full(shape, np.nan) for role in GUESSERS}
    place = {game_id: g for g, game_id in enumerate(games.ids)}
    for path in logs:
        for game_id, made in read_log(path).decisions.items():
            for (turn, role), line in made.items():
                if role in found and line.probabilities and line.action is not None and game_id in place:
                    p = np.zeros(len(CODES))
                    p[[CODE_INDEX[code] for code in line.probabilities]] = list(line.probabilities.values())
                    found[role][place[game_id], turn] = p / p.sum()
    return found


def _asked(games: Games, stated: Stated, role: Role, agent: str) -> tuple[Bool[np.ndarray, "G T"], ...]:
    """Decisions at which an agent states probabilities, those at which it does not, and the former that minds score."""
    scored, failed, unknown = decided(games, role, agent)
    told = ~np.isnan(stated[role]).any(-1)
    there = (scored | unknown) & told
    return there, ((scored | unknown) & ~told) | failed, scored & told


def calibrations(games: Games, stated: Stated, lapse: float) -> tuple[list[Calibration], list[Bin]]:
    """How true the stated probabilities are, for every guesser that states some; and its guesses by confidence.

    lapse: in the log score, so that one wrong certainty does not settle all; as of every mind.
    """
    rows, bins = [], []
    for role in GUESSERS:
        guesses = games.arrays.decoder_guesses if role == Role.DECODER else games.arrays.interceptor_guesses
        for agent in games.players(role):
            there, missing, _ = _asked(games, stated, role, agent)
            if not there.any():
                continue
            p, code, guess = stated[role][there], games.arrays.codes[there], guesses[there]
            with np.errstate(divide="ignore"):
                log_p = np.log(p)
            cluster = np.concatenate([np.nonzero(there)[0], np.nonzero(missing)[0]])
            squares = np.asarray(brier(jnp.asarray(log_p), jnp.asarray(code)), float)
            of_code = np.take_along_axis(log_p, code[:, None], 1)[:, 0]
            nothing = np.full(int(missing.sum()), -np.inf)
            logs = lapsed(np.concatenate([of_code, nothing]), np.array(len(CODES)), lapse)
            said, hit = np.take_along_axis(p, guess[:, None], 1)[:, 0], guess == code
            true = calibration(jnp.asarray(said), jnp.asarray(hit), BINS)
            who = (role.name.lower(), agent)
            rows.append(
                Calibration(
                    *who,
                    len(cluster),
                    int(missing.sum()),
                    float(said.mean()),
                    float(hit.mean()),
                    float(true.error),
                    *clustered_mean(np.concatenate([squares, np.full(len(nothing), WORST_BRIER)]), cluster),
                    *clustered_mean(logs, cluster),
                )
            )
            each = zip(*(np.asarray(x) for x in (true.count, true.mean_predicted, true.frequency)), strict=True)
            bins += [
                Bin(*who, place / BINS, (place + 1) / BINS, int(count), float(mean), float(share))
                for place, (count, mean, share) in enumerate(each)
                if count
            ]
    return rows, bins


def divergences(
    games: Games, stated: Stated, shadows: Mapping[tuple[Role, str], Shadow], lapse: float
) -> list[Divergence]:
    """A row for every guesser that states probabilities and every mind of its role.

    shadows: of `compare.compare`.   lapse: of every mind, above 0, so that KL is finite.
    """
    rows = []
    for role in GUESSERS:
        minds = {
            spec: shadow for (who, spec), shadow in shadows.items() if who == role and shadow.log_policy is not None
        }
        for agent in games.players(role):
            _, _, there = _asked(games, stated, role, agent)
            if not there.any():
                continue
            own = [_divergence(role, agent, spec, stated[role], shadow, there, lapse) for spec, shadow in minds.items()]
            least = min((row.kl for row in own if row.decisions), default=None)
            rows += [Divergence(**{**vars(row), "nearest": row.kl == least}) for row in own]
    return rows


def _divergence(
    role: Role,
    agent: str,
    spec: str,
    stated: Float[np.ndarray, "G T 24"],
    shadow: Shadow,
    there: Bool[np.ndarray, "G T"],
    lapse: float,
) -> Divergence:
    allows = there & ~np.isneginf(shadow.log_best)
    log_q = lapsed(np.asarray(shadow.log_policy, float)[allows], np.array(len(CODES)), lapse)
    q = np.exp(log_q)
    kl = rel_entr(stated[allows], q / q.sum(-1, keepdims=True)).sum(-1)
    ruled_out = int((there & ~allows).sum())
    return Divergence(role.name.lower(), agent, spec, len(kl), ruled_out, *clustered_mean(kl, np.nonzero(allows)[0]))
