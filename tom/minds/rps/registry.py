"""Players of rock, paper, scissors by name, as they are written on the command line: `name` or `name:option=value,...`.

    D, X, A ...                   a strategy of the catalogue (games/rps/catalogue)
    prev_move_positive ...        a bot that people played against, trembling as in the data (0.15)
    random                        D
    win-stay-lose-shift           draw_stays=false
    static                        one of A to P, which is found out from its own moves
    switching                     hazard=0.05: one of the 19, drawn anew now and then
    best-response                 to the posterior over the catalogue: against=catalogue, model_tremble=0, beta=inf
    frequency                     best response to the other's counted moves: given=none, prior=1, beta=inf
    order                         order:2, or order:order=2,learning_speed=0.5,...: k-th order theory of mind

Each takes `tremble`: the probability of a uniformly random move instead. `openspiel/NAME` is no mind: it plays
(tom/agents/openspiel), but cannot shadow.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from otherminds.games.rps import strategies
from otherminds.games.rps.catalogue import CODES, STATIC, catalogue, member
from otherminds.games.rps.finite_state import Machine, outcome_transition
from otherminds.games.rps.rules import MOVES
from otherminds.games.rps.strategies import BOT_TREMBLE, FIRST, KINDS, Strategy, human_bots
from otherminds.games.rps.switching import Switching, uniform
from otherminds.inference.logspace import log_normalize
from otherminds.inference.precision import cached
from otherminds.tom.mind import Mind
from otherminds.tom.minds.rps import players
from otherminds.tom.minds.spec import UnknownMind, option_value

Player = Strategy | Machine | Switching
SEVENTH_BOT = "outcome_transition_dual_dependency"
BOTS = (*human_bots(), SEVENTH_BOT)
"""The bots that people played against, by their names in the data."""
OPENSPIEL = "openspiel/"
AGAINST = ("catalogue", "all")
GIVEN = ("none", "other", "own", "outcome", "both")


@dataclass(frozen=True)
class NamedPlayer:
    """A player and how it was written.

    make_params(key) -> params of the mind; most players ignore the key.
    player: the rule itself, where it is one that `games.rps.play` plays; else None.
    """

    spec: str
    mind: Mind
    make_params: Callable[[Any], Any]
    player: Player | None = None


def random(tremble: float = 0.0, legacy_decimals: bool = False) -> Strategy:
    """Every move alike."""
    return member("D", legacy_decimals, tremble)


def win_stay_lose_shift(tremble: float = 0.0, draw_stays: bool = False) -> Strategy:
    """Stays after a win; takes another move after a loss, and after a draw unless draw_stays."""
    return strategies.win_stay_lose_shift(tremble, draw_stays)


def static(tremble: float = 0.0, legacy_decimals: bool = False) -> Switching:
    """One of the catalogue's 16 static strategies, all equally likely, for the whole match."""
    return uniform(catalogue(legacy_decimals, tremble, tuple(STATIC)), 0.0)


def switching(hazard: float = 0.05, tremble: float = 0.0, legacy_decimals: bool = False) -> Switching:
    """One of the catalogue's 19, drawn anew before a round with probability hazard."""
    return uniform(catalogue(legacy_decimals, tremble), hazard)


def best_response(
    against: str = "catalogue",
    model_tremble: float = 0.0,
    beta: float = math.inf,
    tremble: float = 0.0,
    legacy_decimals: bool = False,
) -> players.ResponseParams:
    """Bayesian best response to one of some players, all equally likely at first.

    against: the catalogue; or all: with it the six bots that look one round back, and win-stay-lose-shift.
    model_tremble: of the players of the catalogue that it imagines, and of win-stay-lose-shift.
    """
    if against not in AGAINST:
        raise UnknownMind(f"best-response:against={against}: there are {', '.join(AGAINST)}")
    rules = [member(code, legacy_decimals, model_tremble) for code in CODES]
    if against == "all":
        rules += [*human_bots().values(), strategies.win_stay_lose_shift(model_tremble)]
    return players.ResponseParams(strategies.stack(rules), log_normalize(jnp.zeros(len(rules))), beta, tremble)


def frequency(given: str = "none", prior: float = 1.0, beta: float = math.inf, tremble: float = 0.0) -> Any:
    """Best response to counted moves. given: what they are told apart by: the other's or its own previous move, how
    the round before ended, or both moves."""
    if given not in GIVEN:
        raise UnknownMind(f"frequency:given={given}: there are {', '.join(GIVEN)}")
    if not 0 < prior < math.inf:
        raise UnknownMind(f"frequency:prior={prior:g}: a finite number above 0 is wanted")
    return players.FrequencyParams(jnp.asarray(cells(given)), prior, beta, tremble)


def cells(given: str) -> Int[np.ndarray, "17"]:
    """[17] in which cell the other's next move is counted, by the other's situation; see `frequency`."""
    others, own = np.divmod(np.arange(KINDS * KINDS), KINDS)  # what the other did, and the learner
    missing = (others == MOVES) | (own == MOVES)
    ended = np.where(missing, MOVES, (own - others) % MOVES)  # 0 a draw, 1 a win, 2 a loss of the learner
    kinds = {"none": 0 * own, "other": others, "own": own, "outcome": ended, "both": KINDS * others + own}
    after = 1 + kinds[given] if given != "none" else kinds[given]
    return np.concatenate([[FIRST], after])


Built = Player | players.ResponseParams | players.FrequencyParams
PLAYERS: dict[str, Callable[..., Built]] = {
    "random": random,
    "win-stay-lose-shift": win_stay_lose_shift,
    "static": static,
    "switching": switching,
    "best-response": best_response,
    "frequency": frequency,
}
MINDS: dict[type, Callable[[], Mind]] = {
    Strategy: players.rule,
    Machine: players.machine,
    Switching: players.switching,
    players.ResponseParams: players.best_response,
    players.FrequencyParams: players.frequency,
}
HIGHEST_ORDER = 4
ORDER_OPTIONS = {
    "order": int,
    "learning_speed": float,  # left out: drawn for every match, uniformly
    "confidence": float,
    "uniform_beliefs": bool,
    "beta": float,
    "exclusive": bool,
    "tremble": float,
}
PROBABILITIES = ("tremble", "model_tremble", "hazard")


def names() -> str:
    """What may be written, in one line."""
    return f"{', '.join(CODES)}, {', '.join(PLAYERS)}, order, {', '.join(BOTS)}, {OPENSPIEL}NAME"


@cached
def named_player(spec: str, *, legacy_decimals: bool = False) -> NamedPlayer:
    """The player that `name` or `name:option=value,...` stands for; see the module.

    legacy_decimals: catalogue probabilities rounded to three decimals, as in the authors' code.
    Raises: UnknownMind naming what is wrong and what there is.
    """
    name, _, rest = spec.partition(":")
    name = name.strip()
    if name.startswith(OPENSPIEL):
        raise UnknownMind(
            f"{spec!r} is a program and no mind: it has no probabilities. It plays in `otherminds run rps "
            f"--player1 {spec}` alone, and neither in `simulate` nor as a mind of `compare`"
        )
    if name == "order":
        return _order(spec, rest)
    made = _build(spec, name, rest, legacy_decimals)
    rule = made if isinstance(made, Strategy | Machine | Switching) else None
    return NamedPlayer(spec, MINDS[type(made)](), lambda key: made, rule)


def is_rule(name: str) -> bool:
    """Whether an agent of this name is a rule from a table, so that a mind of that name is what it is."""
    try:
        return named_player(name).player is not None
    except UnknownMind:
        return False


def _build(spec: str, name: str, rest: str, legacy_decimals: bool) -> Built:
    if name in CODES:

        def make(tremble: float = 0.0) -> Strategy:
            return member(name, legacy_decimals, tremble)

    elif name in BOTS:

        def make(tremble: float = BOT_TREMBLE) -> Strategy | Machine:
            if name == SEVENTH_BOT:
                return outcome_transition(tremble)
            return human_bots()[name]._replace(tremble=jnp.asarray(float(tremble)))

    elif name in PLAYERS:
        make = PLAYERS[name]
    else:
        raise UnknownMind(f"{name!r} is no player of rock, paper, scissors; there are {names()}")
    own = dict(inspect.signature(make).parameters)
    fixed = {"legacy_decimals": legacy_decimals} if own.pop("legacy_decimals", None) else {}
    options = {
        option: option_value(text, own[option].annotation, f"{name}:{option}")
        for option, text in written_options(spec, name, rest, own).items()
    }
    for option, value in options.items():
        if option in PROBABILITIES and not 0 <= value <= 1:
            raise UnknownMind(f"{spec!r}: {option}={value:g} must be a probability from 0 to 1")
        if option == "beta" and not value >= 0:
            raise UnknownMind(f"{spec!r}: beta={value:g} must be at least 0 (inf: always the best move)")
    return make(**options, **fixed)


def written_options(spec: str, name: str, rest: str, allowed: Any) -> dict[str, str]:
    """What was written for each option, as text.

    Raises: UnknownMind for an option that is not among `allowed`.
    """
    found = {}
    for part in filter(None, rest.split(",")):
        option, _, text = (piece.strip() for piece in part.partition("="))
        option = option.replace("-", "_")
        if option not in allowed:
            raise UnknownMind(f"{spec!r}: no option {option!r}; {name} takes {', '.join(allowed)}")
        found[option] = text
    return found


def _order(spec: str, rest: str) -> NamedPlayer:
    """`order:2`, or `order:order=2,...`. Its params are drawn for every match, as in the published simulations."""
    from otherminds.tom.minds.matrix.order import draw_params, order_mind

    first, _, others = rest.partition(",")
    if first and "=" not in first:
        rest = f"order={first},{others}"
    written = written_options(spec, "order", rest, ORDER_OPTIONS)
    options = {option: option_value(text, ORDER_OPTIONS[option], f"order:{option}") for option, text in written.items()}
    order = options.pop("order", None)
    if order is None or not 0 <= order <= HIGHEST_ORDER:
        raise UnknownMind(f"{spec!r}: write order:K with K from 0 to {HIGHEST_ORDER}")
    for option in ("learning_speed", "confidence", "tremble"):
        if not 0 <= options.get(option, 0) <= 1:
            raise UnknownMind(f"{spec!r}: {option}={options[option]:g} must be from 0 to 1")
    beta = options.pop("beta", None)
    if beta is not None and not 0 <= beta < math.inf:
        raise UnknownMind(f"{spec!r}: beta={beta:g} must be finite and at least 0; leave it out for the best response")
    mind = order_mind(order, options.pop("exclusive", True))
    options["lapse"] = options.pop("tremble", 0.0)

    def make_params(key: Any) -> Any:
        return draw_params(key, order, MOVES, MOVES, **options)._replace(beta=beta)

    return NamedPlayer(spec, mind, make_params)
