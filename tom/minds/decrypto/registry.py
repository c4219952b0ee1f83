"""Minds by name, as they are written on the command line: `name` or `name:option=value,option=value`."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp

from otherminds.games.decrypto.rules import Role
from otherminds.games.decrypto.vocabulary import Vocabulary
from otherminds.tom.mind import Mind
from otherminds.tom.minds.decrypto import baseline
from otherminds.tom.minds.decrypto.bayesian import BayesianParams, bayesian_interceptor
from otherminds.tom.minds.decrypto.guesser import Choice, Guesser
from otherminds.tom.minds.decrypto.lexicon import Lexicon, first_dimensions, with_noise
from otherminds.tom.minds.decrypto.literal import LiteralEncoderParams, LiteralParams, literal_decoder, literal_encoder
from otherminds.tom.minds.decrypto.pragmatic import PragmaticParams, pragmatic_decoder
from otherminds.tom.minds.decrypto.rational import RationalParams, rational_encoder
from otherminds.tom.minds.decrypto.speaker import BETA, contrastive_speaker, literal_speaker
from otherminds.tom.minds.spec import UnknownMind, option_value
from otherminds.tom.vectors import with_vectors


@dataclass(frozen=True)
class NamedMind:
    """A mind, how it was written, and its params for a lexicon. vectors: file of vectors of its own, if any."""

    spec: str
    mind: Mind
    make_params: Callable[[Lexicon], Any]
    vectors: str | None = None


@dataclass(frozen=True)
class Meaning:
    """How a player's lexicon differs from the table's. Every mind takes these options.

    noise: standard deviation of noise on every cosine, drawn once by noise_seed.
    dimensions: only so many of the vectors' first dimensions; 0: all.
    vectors: a file with vectors of its own.
    """

    noise: float = 0.0
    noise_seed: int = 0
    dimensions: int = 0
    vectors: str = ""

    def of(self, lexicon: Lexicon) -> Lexicon:
        """The player's own lexicon."""
        if self.dimensions:
            lexicon = first_dimensions(lexicon, self.dimensions)
        return with_noise(jax.random.key(self.noise_seed), lexicon, self.noise) if self.noise else lexicon


Built = tuple[Mind, Callable[[Lexicon], Any]]
"""A mind, and its params for its own lexicon."""


def own_vocabulary(named: NamedMind, vocabulary: Vocabulary) -> Vocabulary:
    """The vocabulary with the mind's own vectors, where it has a file of them."""
    return with_vectors(vocabulary, named.vectors) if named.vectors else vocabulary


BASELINE_SHARPNESS, BASELINE_ALPHA = 200.0, 20.0  # its scores are cosines; the others' are nats
UNCERTAIN = 1.3
"""argmax under noise N(0, sigma) on cosines is about a softmax of inverse temperature 1.3 / sigma a unit of cosine."""


def encoder_baseline(k: int = 16, skip_keyword: bool = False, lapse: float = 0.0) -> Built:
    """One of the K nearest nouns a digit that pass the contrast test."""

    def params(lexicon: Lexicon) -> baseline.EncoderParams:
        return baseline.EncoderParams(lexicon, lapse)

    return baseline.baseline_encoder(k, skip_keyword=skip_keyword), params


def encoder_literal(beta: float = BETA, k: int = 16, pool: int = 200, lapse: float = 0.0) -> Built:
    """A hint for each digit by nearness to its keyword alone, from the pool of the nearest nouns."""

    def params(lexicon: Lexicon) -> LiteralEncoderParams:
        return LiteralEncoderParams(lexicon, beta, lapse)

    return literal_encoder(count=k, pool=pool), params


def decoder_baseline(assignment: str = "global", exclude_used: bool = False, lapse: float = 0.0) -> Built:
    """Assigns hints to keywords by cosine."""

    def params(lexicon: Lexicon) -> baseline.GuesserParams:
        choice = Choice(BASELINE_ALPHA, lapse, BASELINE_SHARPNESS)
        return baseline.GuesserParams(lexicon, choice)

    return baseline.baseline_decoder(assignment=assignment, exclude_used=exclude_used), params


def interceptor_baseline(assignment: str = "global", exclude_used: bool = False, lapse: float = 0.0) -> Built:
    """Assigns hints to slots by the cosine with the mean of each slot's past hints."""

    def params(lexicon: Lexicon) -> baseline.GuesserParams:
        choice = Choice(BASELINE_ALPHA, lapse, BASELINE_SHARPNESS)
        return baseline.GuesserParams(lexicon, choice)

    return baseline.baseline_interceptor(assignment=assignment, exclude_used=exclude_used), params


def decoder_literal(rule: str = "argmax", beta: float = BETA, alpha: float = 1.0, lapse: float = 0.0) -> Built:
    """The posterior over the unused codes under a literal reading; rule argmax (its best code) or softmax."""

    def params(lexicon: Lexicon) -> LiteralParams:
        return LiteralParams(lexicon, beta, Choice(alpha, lapse))

    return literal_decoder(rule=rule), params


def decoder_uncertain(sigma: float = 0.1, beta: float = BETA, lapse: float = 0.0) -> Built:
    """A literal decoder whose cosines have noise of scale sigma that the one who models it cannot know."""
    if sigma <= 0 or beta <= 0:
        raise UnknownMind(f"uncertain: sigma={sigma}, beta={beta}: both must be above 0 (literal has no noise)")

    def params(lexicon: Lexicon) -> LiteralParams:
        return LiteralParams(lexicon, beta, Choice(UNCERTAIN / (sigma * beta), lapse))

    return literal_decoder(rule="softmax"), params


def interceptor_bayesian(
    rule: str = "argmax", speaker: str = "literal", beta: float = BETA, alpha: float = 1.0, lapse: float = 0.0
) -> Built:
    """Beliefs over every slot's keyword; speaker: the encoder it expects, literal or contrastive."""
    if speaker not in ("literal", "contrastive"):
        raise UnknownMind(f"speaker={speaker!r}: the interceptor expects a literal or a contrastive speaker")

    def params(lexicon: Lexicon) -> BayesianParams:
        if speaker == "literal":
            expected = literal_speaker(lexicon, beta)
        else:
            expected = contrastive_speaker(jax.random.key(0), lexicon, beta)
        return BayesianParams(lexicon, expected, Choice(alpha, lapse))

    return bayesian_interceptor(rule=rule), params


def encoder_rational(
    k: int = 16,
    pool: int = 100,
    alpha: float = 500.0,
    decoder: str = "literal+uncertain:sigma=0.05+uncertain:sigma=0.1+uncertain:sigma=0.2",
    interceptor: str = "baseline+bayesian",
    screen: bool = False,
    utility: str = "survival",
    leak: float = 0.3,
    misdirection: float = 0.2,
    miscommunication_risk: float = 0.01,
    interception_risk: float = 0.15,
    seed: int = 0,
    lapse: float = 0.0,
) -> Built:
    """RSA with an eavesdropper. decoder, interceptor: whom it models, several joined by + if it is unsure (options of a
    model are parted by semicolons: decoder=literal:noise=0.1;beta=10). interceptor=informed: the literal decoder, as if
    the interceptor knew the keywords."""
    decoders = [named(part.replace(";", ","), Role.DECODER) for part in decoder.split("+")]
    interceptors = [_nested_interceptor(part.replace(";", ",")) for part in interceptor.split("+")]
    for model in (*decoders, *interceptors):
        if model.vectors:
            raise UnknownMind(f"{model.spec!r}: an encoder cannot model vectors that are not her own; try noise")
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
        return RationalParams(
            lexicon,
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

    return (mind, params)


INFORMED = "informed"


def _nested_interceptor(spec: str) -> NamedMind:
    """An interceptor that an encoder may model; `informed` is none that could play."""
    name, _, rest = spec.partition(":")
    if name != INFORMED:
        return named(spec, Role.INTERCEPTOR)
    model = named(f"literal:{rest or 'rule=softmax'}", Role.DECODER)
    return replace(model, spec=spec, mind=replace(model.mind, informed=True))


def decoder_pragmatic(
    rule: str = "argmax",
    k: int = 8,
    pool: int = 100,
    alpha: float = 1.0,
    encoder_alpha: float = 500.0,
    encoder_lapse: float = 0.05,
    lapse: float = 0.0,
) -> Built:
    """The posterior over the unused codes given a rational encoder's policy; with its lapse she may say anything."""
    encoder, encoder_params = encoder_rational(
        k=k, pool=pool, alpha=encoder_alpha, decoder="literal", interceptor="bayesian", lapse=encoder_lapse
    )

    def params(lexicon: Lexicon) -> PragmaticParams:
        return PragmaticParams(encoder_params(lexicon), Choice(alpha, lapse))

    return pragmatic_decoder(encoder, rule=rule), params


MINDS: dict[Role, dict[str, Callable[..., Built]]] = {
    Role.ENCODER: {"baseline": encoder_baseline, "literal": encoder_literal, "rational": encoder_rational},
    Role.DECODER: {
        "baseline": decoder_baseline,
        "literal": decoder_literal,
        "uncertain": decoder_uncertain,
        "pragmatic": decoder_pragmatic,
    },
    Role.INTERCEPTOR: {"baseline": interceptor_baseline, "bayesian": interceptor_bayesian},
}


RANGES: dict[str, tuple[float, float]] = {
    "k": (1, 64),  # of the rational encoder, who weighs k cubed combinations
    "baseline:k": (1, 1024),
    "pool": (1, float("inf")),
    "lapse": (0, 1),
    "alpha": (0, float("inf")),
    "encoder_alpha": (0, float("inf")),
    "encoder_lapse": (0, 1),
    "beta": (0, 40),  # beyond it the smallest speaker's probabilities leave float32
    "noise": (0, float("inf")),
    "dimensions": (0, float("inf")),
    "miscommunication_risk": (0, 0.999),
    "interception_risk": (0, 0.999),
    "leak": (0, 1000),
    "misdirection": (0, 1000),
}
"""What numeric options may be, both ends included; first by mind, then by option."""


def is_mind(spec: str, role: Role) -> bool:
    """Whether a spec names a mind of that role (and not, say, a language model)."""
    return spec.partition(":")[0] in MINDS[role]


@cache
def named(spec: str, role: Role) -> NamedMind:
    """The mind that `name` or `name:option=value,...` stands for in a role.

    Raises: UnknownMind naming what is wrong and what there is.
    """
    name, written = _read(spec, role)
    build = MINDS[role][name]
    own, meaning = inspect.signature(build).parameters, inspect.signature(Meaning).parameters
    options = {"noise_seed": int(role)} | written  # players' noises are independent unless asked otherwise
    try:
        mind, params = build(**{option: value for option, value in options.items() if option in own})
        its_meaning = Meaning(**{option: value for option, value in options.items() if option in meaning})
    except UnknownMind:
        raise
    except ValueError as error:
        raise UnknownMind(f"{spec!r}: {error}") from None
    return NamedMind(spec, mind, lambda lexicon: params(its_meaning.of(lexicon)), its_meaning.vectors or None)


def canonical(spec: str, role: Role, left_out: str = "") -> str:
    """The spec with its options in order and without those at their defaults: equal for what is one mind.

    left_out: an option that is not told either.
    Raises: UnknownMind as `named`.
    """
    name, written = _read(spec, role)
    told = [
        f"{option}={written[option]}"
        for option, default in _defaults(name, role).items()
        if option != left_out and written.get(option) not in (None, default)
    ]
    return f"{name}:{','.join(told)}" if told else name


def split_option(spec: str, role: Role, option: str) -> tuple[str, Any]:
    """The canonical spec without an option, and the option's value, written or by default; None where it has none.

    Raises: UnknownMind as `named`.
    """
    name, written = _read(spec, role)
    return canonical(spec, role, option), written.get(option, _defaults(name, role).get(option))


def _defaults(name: str, role: Role) -> dict[str, Any]:
    """The options of a mind, in order, with their defaults."""
    parameters = {**inspect.signature(MINDS[role][name]).parameters, **inspect.signature(Meaning).parameters}
    return {option: parameter.default for option, parameter in parameters.items()} | {"noise_seed": int(role)}


def _read(spec: str, role: Role) -> tuple[str, dict[str, Any]]:
    """The name of a mind, and the options that are written, as values. Raises: UnknownMind."""
    name, _, rest = spec.partition(":")
    if name not in MINDS[role]:
        known = ", ".join(MINDS[role])
        raise UnknownMind(f"{name!r} is no mind for the {role.name.lower()}; there are {known}")
    build = MINDS[role][name]
    own, meaning = inspect.signature(build).parameters, inspect.signature(Meaning).parameters
    options: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        option, _, text = part.partition("=")
        option = option.strip().replace("-", "_")
        parameter = own.get(option) or meaning.get(option)
        if parameter is None:
            raise UnknownMind(f"{spec!r}: no option {option!r}; {name} takes {', '.join([*own, *meaning])}")
        value = options[option] = option_value(text.strip(), parameter.annotation, f"{name}:{option}")
        low, high = RANGES.get(f"{name}:{option}") or RANGES.get(option, (float("-inf"), float("inf")))
        if not isinstance(value, str) and not low <= value <= high:
            allowed = f"at least {low:g}" if high == float("inf") else f"from {low:g} to {high:g}"
            raise UnknownMind(f"{spec!r}: {option}={value} must be {allowed}")
    return name, options
