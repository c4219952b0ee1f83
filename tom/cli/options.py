"""Options that several commands share: words, boards, how language models are asked, the minds beside."""

from pathlib import Path
from typing import Any

import click

ROLES = ("encoder", "decoder", "interceptor")


def words(command: Any) -> Any:
    """The options of the keywords of Decrypto and of word vectors."""
    command = click.option("--keywords", type=click.Path(), help="File of keywords, one a line.")(command)
    return click.option(
        "--vectors", type=click.Path(), help="Word vectors: GloVe text, word2vec text or .bin, fastText text."
    )(command)


def layout(command: Any) -> Any:
    """The options of how a board of Colored Trails is laid out."""
    for name, default, told in (
        ("goal-distance", 3, "A goal is at least so many steps from the start."),
        ("chips", 4, "That each player is dealt."),
        ("colours", 5, "Of tiles and chips."),
        ("columns", 5, "Of the board."),
        ("rows", 5, "Of the board."),
    ):
        command = click.option(f"--{name}", type=int, help=f"{told}  [default: {default}]")(command)
    return command


def seed(told: str) -> Any:
    """The option of the seed. told: what it decides."""
    return click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help=told)


def comparison(command: Any) -> Any:
    """The options of the minds that shadow decisions."""
    command = click.option(
        "--lapse", default=0.05, show_default=True, help="Every mind's probability of a uniformly random choice."
    )(command)
    return click.option(
        "--minds",
        "mind_specs",
        multiple=True,
        metavar="ROLE=MIND[,MIND...]",
        help="Minds that shadow a role's decisions, such as decoder=literal,baseline. Repeat for other roles.",
    )(command)


def questioning(command: Any) -> Any:
    """The options of who is asked about recorded games, and how it is told."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables."),
        seed("Of sampling."),
        click.option("--base-url", help="OpenAI-compatible server to ask instead of the provider's own."),
    ):
        command = option(command)
    return command


def asking(what: str) -> Any:
    """The options of how language models are asked. what: a model is asked for."""
    options = (
        click.option("--temperature", type=float, help="Of the language model.  [default: the server's]"),
        click.option("--max-tokens", type=int, help="Of one answer."),
        click.option("--reasoning-effort", help="Of models that reason unseen: low, medium, high ..."),
        click.option(
            "--max-attempts",
            type=click.IntRange(min=1),
            default=2,
            show_default=True,
            help=f"Answers per {what} before it counts as failed.",
        ),
        click.option("--max-connections", default=10, show_default=True, help="Calls in flight at once."),
        click.option(
            "--max-retries",
            default=5,
            show_default=True,
            help="Of a failed call that may pass, with growing waits.",
        ),
        click.option("--timeout", default=120.0, show_default=True, help="Seconds that an answer may be silent."),
        click.option(
            "--cache", type=click.Path(), help="Folder of answers: the same question is paid for once.  [default: none]"
        ),
        click.option("--no-cache", is_flag=True, help="Ask anew, whatever --cache or an experiment file says."),
        click.option(
            "--token-limit", type=int, help="Tokens read and written at most, over all starts; then the run stops."
        ),
        click.option("--cost-limit", type=float, help="Dollars at most, by --price."),
        click.option(
            "--price",
            metavar="IN,OUT|FILE",
            help="Dollars a million tokens read and written, or a JSON or TOML file of them by provider/name.",
        ),
        click.option(
            "--dry-run", is_flag=True, help="Only count the calls, their tokens and what they cost; write nothing."
        ),
    )

    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def generation(options: "dict[str, Any]") -> Any:
    """The settings that the options of `asking` give, taken out of the options.

    Raises: ModelError for a value that cannot be, by its option.
    """
    from otherminds.tom.llm.accounts import Limits, read_prices
    from otherminds.tom.llm.client import BOUNDS, GenerationSettings, ModelError, out_of_bounds

    for name in BOUNDS:
        if told := out_of_bounds(name, options.get(name)):
            raise ModelError(f"--{name.replace('_', '-')} {options[name]}: {told}")

    cache, no_cache, price = (options.pop(name) for name in ("cache", "no_cache", "price"))
    limits = Limits(options.pop("token_limit"), options.pop("cost_limit"), read_prices(price) if price else {})
    names = ("temperature", "max_tokens", "reasoning_effort", "max_connections", "max_retries", "timeout")
    return GenerationSettings(
        **{name: options.pop(name) for name in names},
        cache=Path(cache) if cache and not no_cache else None,
        limits=limits,
    )
