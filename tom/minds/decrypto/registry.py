"""Minds by name, as they are written on the command line: `name` or `name:option=value,option=value`."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp

from otherminds.games.decrypto.rules import Role
from otherminds.tom.mind import Mind
from otherminds.tom.minds.decrypto import baseline
from otherminds.tom.minds.decrypto.bayesian import BayesianParams, bayesian_interceptor
from otherminds.tom.minds.decrypto.guesser import Choice, Guesser
from otherminds.tom.minds.decrypto.lexicon import Lexicon, with_noise
from otherminds.tom.minds.decrypto.literal import LiteralParams, literal_decoder
from otherminds.tom.minds.decrypto.pragmatic import PragmaticParams, pragmatic_decoder
from otherminds.tom.minds.decrypto.rational import RationalParams, rational_encoder
from otherminds.tom.minds.decrypto.speaker import BETA, contrastive_speaker, literal_speaker


class UnknownMind(ValueError):
    """A mind or an option that does not exist; the message lists those that do."""


@dataclass(frozen=True)
class NamedMind:
    """A mind, how it was written, and its params for a lexicon."""

    spec: str
    mind: Mind
    make_params: Callable[[Lexicon], Any]


BASELINE_SHARPNESS, BASELINE_ALPHA = 200.0, 20.0  # its scores are cosines; the others' are nats
UNCERTAIN = 1.3
"""argmax under noise N(0, sigma) on cosines is about a softmax of inverse temperature 1.3 / sigma per unit of cosine."""


def _own(lexicon: Lexicon, noise: float, noise_seed: int) -> Lexicon:
    return with_noise(jax.random.key(noise_seed), lexicon, noise) if noise else lexicon


def encoder_baseline(
    k: int = 16, skip_keyword: bool = False, lapse: float = 0.0, noise: float = 0.0, noise_seed: int = 0
) -> NamedMind:
    """One of the K nearest nouns a digit that pass the contrast test."""

    def params(lexicon: Lexicon) -> baseline.EncoderParams:
        return baseline.EncoderParams(_own(lexicon, noise, noise_seed), lapse)

    return NamedMind("", baseline.baseline_encoder(k, skip_keyword=skip_keyword), params)


def decoder_baseline(
    assignment: str = "global",
    exclude_used: bool = False,
    lapse: float = 0.0,
    noise: float = 0.0,
    noise_seed: int = 1,
) -> NamedMind:
    """Assigns hints to keywords by cosine."""

    def params(lexicon: Lexicon) -> baseline.GuesserParams:
        choice = Choice(BASELINE_ALPHA, lapse, BASELINE_SHARPNESS)
        return baseline.GuesserParams(_own(lexicon, noise, noise_seed), choice)

    return NamedMind("", baseline.baseline_decoder(assignment=assignment, exclude_used=exclude_used), params)


def interceptor_baseline(
    assignment: str = "global",
    exclude_used: bool = False,
    lapse: float = 0.0,
    noise: float = 0.0,
    noise_seed: int = 2,
) -> NamedMind:
    """Assigns hints to slots by the cosine with the mean of each slot's past hints."""

    def params(lexicon: Lexicon) -> baseline.GuesserParams:
        choice = Choice(BASELINE_ALPHA, lapse, BASELINE_SHARPNESS)
        return baseline.GuesserParams(_own(lexicon, noise, noise_seed), choice)

    return NamedMind("", baseline.baseline_interceptor(assignment=assignment, exclude_used=exclude_used), params)


def decoder_literal(
    rule: str = "argmax",
    beta: float = BETA,
    alpha: float = 1.0,
    lapse: float = 0.0,
    noise: float = 0.0,
    noise_seed: int = 1,
) -> NamedMind:
    """The posterior over the unused codes under a literal reading; rule argmax (its best code) or softmax."""

    def params(lexicon: Lexicon) -> LiteralParams:
        return LiteralParams(_own(lexicon, noise, noise_seed), beta, Choice(alpha, lapse))

    return NamedMind("", literal_decoder(rule=rule), params)


def decoder_uncertain(
    sigma: float = 0.1, beta: float = BETA, lapse: float = 0.0, noise: float = 0.0, noise_seed: int = 1
) -> NamedMind:
    """A literal decoder whose cosines have noise of scale sigma that the one who models it cannot know."""
    if sigma <= 0 or beta <= 0:
        raise UnknownMind(f"uncertain: sigma={sigma}, beta={beta}: both must be above 0 (literal has no noise)")

    def params(lexicon: Lexicon) -> LiteralParams:
        return LiteralParams(_own(lexicon, noise, noise_seed), beta, Choice(UNCERTAIN / (sigma * beta), lapse))

    return NamedMind("", literal_decoder(rule="softmax"), params)


def interceptor_bayesian(
    rule: str = "argmax",
    speaker: str = "literal",
    beta: float = BETA,
    alpha: float = 1.0,
    lapse: float = 0.0,
    noise: float = 0.0,
    noise_seed: int = 2,
) -> NamedMind:
    """Beliefs over every slot's keyword; speaker: the encoder it expects, literal or contrastive."""
    if speaker not in ("literal", "contrastive"):
        raise UnknownMind(f"speaker={speaker!r}: the interceptor expects a literal or a contrastive speaker")

    def params(lexicon: Lexicon) -> BayesianParams:
        lexicon = _own(lexicon, noise, noise_seed)
        if speaker == "literal":
            expected = literal_speaker(lexicon, beta)
        else:
            expected = contrastive_speaker(jax.random.key(0), lexicon, beta)
        return BayesianParams(lexicon, expected, Choice(alpha, lapse))

    return NamedMind("", bayesian_interceptor(rule=rule), params)


def encoder_rational(
    k: int = 16,
    pool: int = 200,
    alpha: float = 20.0,
    decoder: str = "literal",
    interceptor: str = "bayesian",
    screen: bool = False,
    utility: str = "survival",
    leak: float = 0.3,
    misdirection: float = 0.2,
    miscommunication_risk: float = 0.01,
    interception_risk: float = 0.15,
    seed: int = 0,
    lapse: float = 0.0,
    noise: float = 0.0,
    noise_seed: int = 0,
) -> NamedMind:
    """RSA with an eavesdropper. decoder, interceptor: whom it models, several joined by + if it is unsure (options of a
    model are parted by semicolons: decoder=literal:noise=0.1;beta=10)."""
    decoders = [named(part.replace(";", ","), Role.DECODER) for part in decoder.split("+")]
    interceptors = [named(part.replace(";", ","), Role.INTERCEPTOR) for part in interceptor.split("+")]
    for model in (*decoders, *interceptors):
        if not isinstance(model.mind, Guesser):
            raise UnknownMind(f"{model.spec!r} cannot stand inside the rational encoder: its scores do not add up")
    mind = rational_encoder(
        tuple(model.mind for model in decoders),
        tuple(model.mind for model in interceptors),
        count=k,
        pool=pool,
        screen=screen,
        utility=utility,
    )

    def params(lexicon: Lexicon) -> RationalParams:
        own = _own(lexicon, noise, noise_seed)
        return RationalParams(
            own,
            tuple(model.make_params(lexicon) for model in decoders),
            tuple(model.make_params(lexicon) for model in interceptors),
            jnp.zeros(len(decoders)),
            jnp.zeros(len(interceptors)),
            alpha=alpha,
            leak_weight=leak,
            miscommunication_risk=miscommunication_risk,
            interception_risk=interception_risk,
            misdirection_weight=misdirection,
            seed=seed,
            lapse=lapse,
        )

    return NamedMind("", mind, params)


def decoder_pragmatic(
    rule: str = "argmax",
    k: int = 8,
    pool: int = 200,
    alpha: float = 1.0,
    encoder_alpha: float = 20.0,
    lapse: float = 0.0,
) -> NamedMind:
    """The posterior over the unused codes given a rational encoder's policy."""
    imagined = encoder_rational(k=k, pool=pool, alpha=encoder_alpha)

    def params(lexicon: Lexicon) -> PragmaticParams:
        return PragmaticParams(imagined.make_params(lexicon), Choice(alpha, lapse))

    return NamedMind("", pragmatic_decoder(imagined.mind, rule=rule), params)


MINDS: dict[Role, dict[str, Callable[..., NamedMind]]] = {
    Role.ENCODER: {"baseline": encoder_baseline, "rational": encoder_rational},
    Role.DECODER: {
        "baseline": decoder_baseline,
        "literal": decoder_literal,
        "uncertain": decoder_uncertain,
        "pragmatic": decoder_pragmatic,
    },
    Role.INTERCEPTOR: {"baseline": interceptor_baseline, "bayesian": interceptor_bayesian},
}


def is_mind(spec: str, role: Role) -> bool:
    """Whether a spec names a mind of that role (and not, say, a language model)."""
    return spec.partition(":")[0] in MINDS[role]


@cache
def named(spec: str, role: Role) -> NamedMind:
    """The mind that `name` or `name:option=value,...` stands for in a role.

    Raises: UnknownMind naming what is wrong and what there is.
    """
    name, _, rest = spec.partition(":")
    if name not in MINDS[role]:
        known = ", ".join(MINDS[role])
        raise UnknownMind(f"{name!r} is no mind for the {role.name.lower()}; there are {known}")
    build = MINDS[role][name]
    signature = inspect.signature(build)
    options: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        option, _, text = part.partition("=")
        option = option.strip().replace("-", "_")
        if option not in signature.parameters:
            raise UnknownMind(f"{spec!r}: no option {option!r}; {name} takes {', '.join(signature.parameters)}")
        options[option] = _value(text.strip(), signature.parameters[option].annotation, f"{name}:{option}")
    try:
        made = build(**options)
    except UnknownMind:
        raise
    except ValueError as error:
        raise UnknownMind(f"{spec!r}: {error}") from None
    return NamedMind(spec, made.mind, made.make_params)


def _value(text: str, kind: type, option: str) -> Any:
    try:
        if kind is bool:
            return {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}[text.lower()]
        return kind(text)
    except (ValueError, KeyError):
        raise UnknownMind(f"{option}={text!r} is no {kind.__name__}") from None
