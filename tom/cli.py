"""The command line: `otherminds run`, `simulate`, `import`, `boards`, `identify`, `compare`, `validate`."""

import contextlib
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

# Everything heavy (jax, openai, matplotlib) is imported inside the commands, so that --help answers at once.
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROLES = ("encoder", "decoder", "interceptor")


class OneLine(click.ClickException):
    """A wrong call: one line on stderr, exit code 2."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(" ".join(message.split()))
        self.exit_code = exit_code

    def show(self, file: Any = None) -> None:
        """Prints the line."""
        click.echo(f"otherminds: {self.format_message()}", err=True)


class Checked(click.Command):
    """A command whose numbers are finite: "nan" and "inf" are no settings."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        """Reads the options. Raises: click.BadParameter for a number that is not finite."""
        rest = super().parse_args(context, arguments)
        for parameter in self.params:
            value = context.params.get(str(parameter.name))
            if isinstance(value, float) and not math.isfinite(value):
                raise click.BadParameter(f"{value} is no finite number.", context, parameter)
        return rest


class Group(click.Group):
    """Commands of one kind."""

    command_class = Checked


class Commands(click.Group):
    """The commands, whose wrong calls are told in one line too."""

    command_class = Checked
    group_class = Group

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        """Reads what stands before the command."""
        with _one_line_usage():
            return super().make_context(*args, **options)

    def invoke(self, context: click.Context) -> Any:
        """Reads what stands after it, and runs it."""
        with _one_line_usage():
            return super().invoke(context)


@contextlib.contextmanager
def _one_line_usage() -> "Iterator[None]":
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "otherminds"
        raise OneLine(f"{error.format_message().rstrip('.')} (see {command} --help)") from None


@contextlib.contextmanager
def _one_line_errors(stopped: str = "stopped") -> "Iterator[None]":
    """Turns what a user can mend into one line and exit code 2; anything else is a fault and shows its trace.

    stopped: what is said after Ctrl-C, with exit code 130.
    """
    try:
        yield
    except BrokenPipeError:
        raise  # whoever reads the output has enough; click ends quietly
    except (ValueError, OSError) as error:
        raise OneLine(str(error)) from None
    except KeyboardInterrupt:
        raise OneLine(stopped, 130) from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="otherminds")
def main() -> None:
    """Minds that reason about minds: play games between rational minds and language models, and compare them.

    \b
    otherminds run decrypto                     a language model beside minds
    otherminds simulate decrypto --games 10000  minds alone
    otherminds import reference --items ...     other people's recordings
    otherminds compare runs/*/log.jsonl         every decision under every mind

    Exit codes: 0 done, 1 finished with failed games, 2 a wrong call.
    """
    cache = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    if cache is None:  # compiled programs are kept between calls
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(base / "otherminds" / "jax")
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.5")


class Runs(Group):
    """The games, and experiments by the names of files: a ready-made one, or a path that ends in .toml."""

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """The command of a game or of an experiment; None for what is neither."""
        found = super().get_command(context, name)
        if found is not None:
            return found
        with _one_line_errors():
            from otherminds.tom.experiments import config_files

            path = config_files.find(name)
            if path is None:
                return None
            from otherminds.tom.experiments.config_command import command_of

            return command_of(path, main)


@main.group(cls=Runs, short_help="Play agents of any kind and compare them.")
def run() -> None:
    """Play agents of any kind against each other, write the log, and compare them with every mind.

    \b
    otherminds run GAME        with the options of the game
    otherminds run FILE.toml   an experiment file; options go before what it says
    otherminds run NAME        a ready-made one (see `otherminds experiments`)
    """


@main.command(short_help="Ready-made experiments.")
@click.argument("name", required=False)
def experiments(name: str | None) -> None:
    """List the ready-made experiments, or print the file of one, to change it and run it as FILE.toml."""
    with _one_line_errors():
        from otherminds.tom.experiments import config_files

        if name is not None:
            path = config_files.find(name)
            if path is None or not path.exists():
                known = ", ".join(config_files.ready_made())
                raise ValueError(f"{name!r} is no experiment; there are {known}")
            click.echo(path.read_text(encoding="utf-8"), nl=False)
            return
        for path in config_files.ready_made().values():
            found = config_files.load(path)
            click.secho(found.name, bold=True)
            click.echo(click.wrap_text(f"{found.about}.", 78, "    ", "    "))
            if found.source:
                click.echo(click.wrap_text(f"After {found.source}.", 78, "    ", "    "))
        click.echo(
            "\nRun one with `otherminds run NAME`; `otherminds experiments NAME` prints its file, to be changed."
        )


@main.group(short_help="Play minds alone, vectorized.")
def simulate() -> None:
    """Play minds alone, thousands of games at once."""


def _words(command: Any) -> Any:
    command = click.option("--keywords", type=click.Path(), help="File of keywords, one a line.")(command)
    return click.option(
        "--vectors", type=click.Path(), help="Word vectors: GloVe text, word2vec text or .bin, fastText text."
    )(command)


def _layout(command: Any) -> Any:
    for name, default, told in (
        ("goal-distance", 3, "A goal is at least so many steps from the start."),
        ("chips", 4, "That each player is dealt."),
        ("colours", 5, "Of tiles and chips."),
        ("columns", 5, "Of the board."),
        ("rows", 5, "Of the board."),
    ):
        command = click.option(f"--{name}", type=int, help=f"{told}  [default: {default}]")(command)
    return command


def _asking(what: str) -> Any:
    """The options of how language models are asked. what: a model is asked for."""
    options = (
        click.option("--temperature", type=float, help="Of the language model.  [default: the server's]"),
        click.option("--max-tokens", type=int, help="Of one answer."),
        click.option("--reasoning-effort", help="Of models that reason unseen: low, medium, high ..."),
        click.option(
            "--max-attempts", default=2, show_default=True, help=f"Answers per {what} before it counts as failed."
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


def _generation(options: "dict[str, Any]") -> Any:
    """The settings that the options of `_asking` give, taken out of the options.

    Raises: ModelError for a value that cannot be.
    """
    from otherminds.tom.llm.accounts import Limits, read_prices
    from otherminds.tom.llm.client import GenerationSettings

    cache, no_cache, price = (options.pop(name) for name in ("cache", "no_cache", "price"))
    limits = Limits(options.pop("token_limit"), options.pop("cost_limit"), read_prices(price) if price else {})
    names = ("temperature", "max_tokens", "reasoning_effort", "max_connections", "max_retries", "timeout")
    return GenerationSettings(
        **{name: options.pop(name) for name in names},
        cache=Path(cache) if cache and not no_cache else None,
        limits=limits,
    )


def _comparison(command: Any) -> Any:
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


@run.command("decrypto")
@click.option("--encoder", help="Agents, comma-separated: baseline, literal, rational, provider/name or `model`.")
@click.option("--decoder", help="baseline, literal, uncertain, pragmatic, provider/name or `model`.")
@click.option("--interceptor", help="baseline, bayesian, provider/name or `model`.")
@click.option("--model", help="The language model, provider/name.  [default: local/smollm2 where it is installed]")
@click.option("--base-url", help="OpenAI-compatible server to ask instead of the provider's own.")
@click.option(
    "--design",
    type=click.Choice(["one-at-a-time", "cube", "competition", "coordination"]),
    default="one-at-a-time",
    show_default=True,
    help="Who sits together: the first of each list with the others in turn; every combination; encoders that decode "
    "too, against every interceptor; or every encoder with every decoder, against one interceptor.",
)
@click.option(
    "--personas", type=click.Path(), help='TOML or JSON file of NAME = "text", for agents such as model:persona=NAME.'
)
@click.option("--episodes", default=2, show_default=True, help="Games per table and seed.")
@click.option("--seeds", default=2, show_default=True, help="Number of seeds: 0, 1, ...")
@_asking("decision")
@click.option("--continue-after-loss", is_flag=True, help="Play on to the last turn after a loss.")
@_words
@_comparison
@click.option("--out", type=click.Path(), help="Folder of log and report.  [default: runs/decrypto-<settings>]")
def run_decrypto(**options: Any) -> None:
    """Decrypto: a language model beside rational players, every decision compared.

    An encoder gives hints about secret keywords so that the decoder, who knows them, finds a code and the
    interceptor, who does not, misses it. Every list of agents may hold minds and language models (provider/name).

    Agents take options after a colon: rational:pool=50,interceptor=baseline, or model:system=2,context=chat
    (docs/decrypto.md lists them). The same command goes on where an earlier call was stopped. Exit code 1: games
    finished, but some answers failed.
    """
    with _one_line_errors("stopped; the same command goes on where it stopped"):
        from otherminds.tom.experiments import console

        asked = {role: options.pop(role) for role in ROLES}
        failed = console.run_decrypto(asked, options.pop("model"), generation=_generation(options), **options)
    sys.exit(1 if failed else 0)


@run.command("rps")
@click.option(
    "--player1",
    default="N",
    show_default=True,
    help="A strategy, A to P, X, Y or Z, or any other player (docs/rps.md).",
)
@click.option("--player2", default="Y", show_default=True, help="Its opponent.")
@click.option(
    "--observer",
    help="Comma-separated: exact, window:50, frequency, switching, generator-aware, moment-matching, provider/name or "
    "`model`.  [default: exact,window:15,frequency,model]",
)
@click.option("--model", help="The language model, provider/name.  [default: local/smollm2 where it is installed]")
@click.option("--base-url", help="OpenAI-compatible server to ask instead of the provider's own.")
@click.option(
    "--matches", default=5, show_default=True, help="Matches for every seed; 30 or more tell observers apart."
)
@click.option("--seeds", default=1, show_default=True, help="Number of seeds: 0, 1, ...")
@click.option("--rounds", default=40, show_default=True, help="Of a match. The paper: 200.")
@click.option("--warmup", default=10, show_default=True, help="Rounds before the first question may come.")
@click.option("--every", default=20, show_default=True, help="Asked after the rounds that this divides. The paper: 1.")
@click.option("--history", default=50, show_default=True, help="Rounds that a model is shown; 0: all.")
@click.option(
    "--reasoning-interval", default=20, show_default=True, help="Rounds between questions for reasons; 0: never."
)
@click.option(
    "--stop-after", type=int, help="Equal answers in a row after which the last one stands.  [default: never]"
)
@click.option(
    "--sweep",
    multiple=True,
    metavar="OPTION=VALUE,...",
    help="Such as temperature=0,0.7: a model as several observers.",
)
@click.option(
    "--sections",
    multiple=True,
    metavar="NAME[,NAME...]",
    help="Of the text: catalogue, history, reasoning, format. Repeat it for one observer a list.  [default: all]",
)
@_asking("question")
@click.option("--legacy-iid", is_flag=True, help="Data as the paper made them: nobody reacts to anything.")
@click.option("--legacy-decimals", is_flag=True, help="The catalogue in three decimals, as in the authors' code.")
@click.option("--no-shuffle", is_flag=True, help="Label strategies by their codes in every match.")
@click.option("--lapse", default=0.05, show_default=True, help="Of every statement, when log scores are taken.")
@click.option("--out", type=click.Path(), help="Folder of log and report.  [default: runs/rps-<settings>]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def run_rps(**options: Any) -> None:
    """Rock, paper, scissors: observers of a match find out which strategies the players follow.

    Minds and language models watch the same matches, and state which of 19 strategies each player follows, the next
    moves, and who wins in the long run. All of it is scored beside the exact observer of the same rounds.

    The same command goes on where an earlier call was stopped. The paper's setting: --rounds 200 --every 1
    --legacy-iid --legacy-decimals --no-shuffle. Exit code 1: matches finished, but some answers failed.
    """
    with _one_line_errors("stopped; the same command goes on where it stopped"):
        from otherminds.tom.experiments.rps.observers import console

        failed = console.run_rps(generation=_generation(options), **options)
    sys.exit(1 if failed else 0)


@run.command("colored-trails")
@click.option(
    "--agents",
    metavar="A,B",
    help="Two agents who take turns to initiate: minds (order0, order1, order2, ...; docs/colored_trails.md), "
    "provider/name or `model`.  [default: model,order1]",
)
@click.option("--initiator", help="Who initiates every game, in place of --agents.")
@click.option("--responder", help="Who responds in every game, in place of --agents.")
@click.option("--model", help="The language model, provider/name.  [default: local/smollm2 where it is installed]")
@click.option("--base-url", help="OpenAI-compatible server to ask instead of the provider's own.")
@click.option("--ordinary", default=3, show_default=True, help="Boards for every seed that are no diagnostic ones.")
@click.option(
    "--goal-rule",
    type=click.Choice(["llm-tom", "deweerd", "any"]),
    default="llm-tom",
    show_default=True,
    help="How goals of boards are drawn.",
)
@_layout
@click.option("--boards", type=click.Path(), help="File of boards to take the ordinary ones from.  [default: drawn]")
@click.option("--diagnostic", type=click.Path(), help="File of diagnostic boards, which are played too.")
@click.option("--diagnostic-count", type=int, help="Diagnostic boards for every seed.  [default: all of the file]")
@click.option(
    "--advantage-threshold",
    type=float,
    help="Points for which the diagnostic boards must be made; without a file, --diagnostic-count of them are searched "
    "for first.",
)
@click.option(
    "--copies",
    type=click.IntRange(1, 2),
    default=2,
    show_default=True,
    help="How often each board is played; the second time recoloured and flipped.",
)
@click.option(
    "--deception",
    type=click.Choice(["off", "on", "both"]),
    default="off",
    show_default=True,
    help="Tell language models that they may deceive: never, always, or in half of the games.",
)
@click.option("--no-messages", is_flag=True, help="Offers go without a message to the other.")
@click.option("--advice", is_flag=True, help="Tell language models how to reason.")
@click.option("--reasons", is_flag=True, help="Have language models write down their reasons before they move.")
@click.option("--cost", default=0.1, show_default=True, help="Points that every move costs both players.")
@click.option("--limit", default=10, show_default=True, help="Moves after which there is no trade.")
@click.option("--seeds", default=1, show_default=True, help="Number of seeds: 0, 1, ...")
@_asking("move")
@click.option("--lapse", default=0.05, show_default=True, help="Of every mind, when moves are compared.")
@click.option("--out", type=click.Path(), help="Folder of log and report.  [default: runs/colored-trails-<settings>]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def run_colored_trails(**options: Any) -> None:
    """Colored Trails: two agents with hidden goals negotiate who gets which chips.

    Language models and minds of any order offer by turns, on drawn boards and on boards made so that a higher order
    helps; every move is compared with what each mind would have done.

    The same command goes on where an earlier call was stopped. A failed answer withdraws, and counts as failed. Exit
    code 1: games finished, but some answers failed.
    """
    with _one_line_errors("stopped; the same command goes on where it stopped"):
        from otherminds.tom.experiments.colored_trails import console_run

        failed = console_run.run_colored_trails(generation=_generation(options), **options)
    sys.exit(1 if failed else 0)


@simulate.command("decrypto")
@click.option("--encoder", default="baseline,rational", show_default=True, help="Minds, comma-separated.")
@click.option("--decoder", default="literal", show_default=True, help="Minds, comma-separated.")
@click.option("--interceptor", default="baseline,bayesian", show_default=True, help="Minds, comma-separated.")
@click.option("--games", default=1000, show_default=True, help="Games for every combination of the lists.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="The same seed deals the same games.",
)
@click.option("--chunk", type=int, help="Games computed at once.  [default: by device]")
@_words
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def simulate_decrypto(**options: Any) -> None:
    """Decrypto between minds alone: survival, turns and tokens, with standard errors."""
    with _one_line_errors():
        from otherminds.tom.experiments import console

        console.simulate_decrypto({role: options.pop(role) for role in ROLES}, **options)


@simulate.command("rps")
@click.option(
    "--players",
    default="order:0,order:1,order:2,order:3",
    show_default=True,
    help="Players, comma-separated: order:K, strategies of the catalogue (A to Z), best-response, switching ...",
)
@click.option("--matches", default=10_000, show_default=True, help="Matches for every pair.")
@click.option("--rounds", default=20, show_default=True, help="Rounds a match.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="The same seed plays the same matches, whatever the chunk.",
)
@click.option("--chunk", type=int, help="Matches computed at once.  [default: by device]")
@click.option("--out", type=click.Path(), help="Folder for a picture of the table, payoffs.png.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def simulate_rps(**options: Any) -> None:
    """Rock, paper, scissors between minds alone: the payoff of every player against every other.

    The default is a tournament of orders of theory of mind: order k models its opponent as order k-1.
    """
    with _one_line_errors():
        from otherminds.tom.experiments.rps import tournament_console

        tournament_console.simulate_rps(**options)


@simulate.command("colored-trails")
@click.option(
    "--orders",
    default="0,1,2",
    show_default=True,
    help="Orders of theory of mind, or negotiators (bayesian1, horizon1 ...), comma-separated; each meets each.",
)
@click.option(
    "--boards", default="1000", show_default=True, metavar="N|FILE", help="Boards to draw, or a file of them."
)
@_layout
@click.option(
    "--seatings",
    type=click.Choice(["both", "original", "mirrored"]),
    default="both",
    show_default=True,
    help="Each board as it is, with chips and goals swapped between the players, or both.",
)
@click.option(
    "--variant",
    type=click.Choice(["described", "llm-tom", "deweerd"]),
    default="described",
    show_default=True,
    help="The reading of the published minds, for plain orders.",
)
@click.option("--series", default=0, show_default=True, help="Games that minds remember; 0: fresh minds every game.")
@click.option("--repetitions", default=100, show_default=True, help="Series a pair, with --series.")
@click.option("--cost", default=0.1, show_default=True, help="Points that every move costs both players.")
@click.option("--limit", default=40, show_default=True, help="Moves after which there is no trade.")
@click.option(
    "--goal-rule",
    type=click.Choice(["llm-tom", "deweerd", "any"]),
    default="llm-tom",
    show_default=True,
    help="How goals of drawn boards are drawn.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="The same seed plays the same games, whatever the processes.",
)
@click.option("--processes", type=int, help="That share the work.  [default: one a core]")
@click.option("--out", type=click.Path(), help="Folder for the table (CSV) and a picture of it (PNG).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def simulate_colored_trails(**options: Any) -> None:
    """Colored Trails between minds alone: what each order gains against each, how often they agree.

    Order 0 learns what is accepted, order 1 reasons about the other's goal, order 2 about what the other thinks of its
    own.
    """
    with _one_line_errors():
        from otherminds.tom.experiments.colored_trails import simulate_console

        simulate_console.simulate_colored_trails(**options)


@main.group("import", short_help="Turn other people's recordings into a log.")
def import_() -> None:
    """Turn other people's recordings into a log, which `compare` and `validate` read."""


@import_.command("reference")
@click.option(
    "--items", required=True, type=click.Path(), help="CSV of the items: objects, words, what each option is."
)
@click.option("--choices", required=True, type=click.Path(), help="CSV of people's choices, one a line.")
@click.option(
    "--scores", multiple=True, type=click.Path(), help="CSV of a language model's scores of every option. Repeatable."
)
@click.option("--tokens", type=click.Path(), help="CSV of each option's tokens: scores become means a token.")
@click.option(
    "--name",
    default="people",
    show_default=True,
    help="What the people are called. Imports of different names can be compared together.",
)
@click.option("--out", required=True, type=click.Path(), help="Folder of the log.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def import_reference(**options: Any) -> None:
    """Reference games: people's choices and language models' scores of the same items.

    The columns are those of the data of Franke, Tsvilodub and Carcassi (2024): `trial`, `objects`, `utterances` ... for
    items; `subject`, `condition`, `trial`, `response` for choices; `scores_production_target` ... for scores
    (docs/reference.md). A response that is none of the options is a failed answer, and stays in the log.
    """
    with _one_line_errors():
        from otherminds.tom.experiments.reference import console

        console.import_recordings(**options)


@import_.command("rps")
@click.option(
    "--matches",
    required=True,
    type=click.Path(),
    help="CSV with the columns match, round, move1, move2, and where wanted player1, player2.",
)
@click.option("--out", required=True, type=click.Path(), help="Folder of the log.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def import_rps(**options: Any) -> None:
    """Rock, paper, scissors: matches of any two players, a line a round.

    Moves are 0, 1, 2, or r, p, s, or rock, paper, scissors; an empty cell, none and NA are missing moves, which stay in
    the log as failed answers. Rounds of a match are counted from 0 or 1. A player called by the name of a rule (X,
    prev_move_positive, ...) is compared with that rule.
    """
    with _one_line_errors():
        from otherminds.tom.experiments.rps.matches import console as matches_console

        matches_console.import_matches(**options)


@import_.command("brockbank")
@click.argument("path", type=click.Path())
@click.option("--out", required=True, type=click.Path(), help="Folder of the log.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def import_brockbank(**options: Any) -> None:
    """Rock, paper, scissors: people against the bots of Brockbank and Vul, from their .RData file.

    People are called human, bots by their rule; games are numbered, and codes of participants are dropped.
    """
    with _one_line_errors():
        from otherminds.tom.experiments.rps.matches import console as matches_console

        matches_console.import_bots(**options)


@import_.command("llm-tom")
@click.argument("path", type=click.Path())
@click.option("--out", required=True, type=click.Path(), help="Folder of the log.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def import_llm_tom(**options: Any) -> None:
    """Colored Trails: people against a language model, from the recorded panel of LLM-TOM.

    PATH is the panel's folder (a folder seed_N a participant), or one participant's. Offers, messages and thoughts
    become a log; points become tenths. What the moves give is held against the points that the files state, and every
    game that differs is named.
    """
    with _one_line_errors():
        from otherminds.tom.experiments.colored_trails import console as trails_console

        trails_console.import_panel_log(**options)


@import_.command("decrypto")
@click.argument("path", type=click.Path())
@click.option("--encoder", default="human-encoder", show_default=True, help="What the encoder is called.")
@click.option("--decoder", default="human-decoder", show_default=True, help="What the decoder is called.")
@click.option("--interceptor", default="llama-3.1-70b", show_default=True, help="What the interceptor is called.")
@_words
@click.option("--out", required=True, type=click.Path(), help="Folder of the log.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def import_decrypto(**options: Any) -> None:
    """Decrypto: recorded games of people, from the JSON file of the published benchmark.

    Keywords, codes, hints and guesses become a log as they are; a guess that is no code is a failed answer. Play that
    went on after a loss stays in the log; the table here counts up to the loss.
    """
    with _one_line_errors():
        from otherminds.tom.experiments.decrypto import console as decrypto_console

        decrypto_console.import_recordings(**options)


def _questioning(command: Any) -> Any:
    """The options of who is asked about recorded games, and how it is told."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables."),
        click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Of sampling."),
        click.option("--base-url", help="OpenAI-compatible server to ask instead of the provider's own."),
    ):
        command = option(command)
    return command


@main.group(short_help="Play recorded games again with somebody else.")
def replay() -> None:
    """Play recorded games again, with somebody else in one seat."""


@replay.command("decrypto")
@click.argument("log", type=click.Path())
@click.option("--decoder", help="Who decodes instead: minds or provider/name, comma-separated.")
@click.option("--interceptor", help="Who intercepts instead: minds or provider/name, comma-separated.")
@click.option("--to-the-end", is_flag=True, help="Go on after a loss, as far as the recording does.")
@_words
@_questioning
@_asking("decision")
@click.option("--out", type=click.Path(), help="Folder of the log.  [default: replay, beside the recording]")
def replay_decrypto(**options: Any) -> None:
    """Decrypto: recorded codes and hints, with somebody else as decoder or interceptor.

    Everybody named plays every recorded game of LOG once, in one seat; the others do what they did. A game stops at its
    official end, or where the recording stops. The log can be compared. The same command goes on where an earlier call
    was stopped. Exit code 1: an answer failed.
    """
    with _one_line_errors("stopped; the same command goes on where it stopped"):
        from otherminds.tom.experiments.decrypto import console as decrypto_console

        failed = decrypto_console.replay_log(options.pop("log"), generation=_generation(options), **options)
    sys.exit(1 if failed else 0)


@main.command(short_help="Ask theory-of-mind tasks about recorded games.")
@click.argument("log", type=click.Path())
@click.option(
    "--task",
    default="false-belief,perspective-taking,understanding",
    show_default=True,
    help="Tasks, comma-separated (docs/tasks.md).",
)
@click.option(
    "--model",
    multiple=True,
    help="Whom to ask, provider/name. Repeatable.  [default: the language models that sat there, about their own seat]",
)
@click.option("--turns", type=int, help="Turns of every game that are asked about.  [default: all]")
@click.option("--after-loss", is_flag=True, help="Ask about turns too that were played on after a loss.")
@click.option("--no-minds", is_flag=True, help="Set no rational minds beside.")
@_words
@_questioning
@_asking("question")
@click.option("--out", type=click.Path(), help="Folder of log and report.  [default: tasks, beside the recording]")
def ask(**options: Any) -> None:
    """Theory-of-mind tasks about the recorded games of LOG, a log of Decrypto.

    false-belief: what are the keywords; and once they are shown: what did you think, what does another think.
    perspective-taking: what will the interceptor guess.  understanding: will the decoder find the code.

    Questions change no game, and none is shown with another. What rational minds answer stands beside. The same command
    goes on where an earlier call was stopped. Exit code 1: an answer failed.
    """
    with _one_line_errors("stopped; the same command goes on where it stopped"):
        from otherminds.tom.experiments.tasks import console as tasks_console

        failed = tasks_console.ask(options.pop("log"), generation=_generation(options), **options)
    sys.exit(1 if failed else 0)


@main.group(short_help="Elicit what words mean to a language model.")
def elicit() -> None:
    """Ask language models outside any game for what the comparison with minds needs."""


@elicit.command("lexicon")
@click.argument("log", type=click.Path())
@click.option(
    "--model",
    multiple=True,
    help="Whom to ask, provider/name. Repeatable.  [default: the language models that encoded or decoded there]",
)
@click.option(
    "--by",
    "method",
    type=click.Choice(["logprobs", "rating"]),
    default="logprobs",
    show_default=True,
    help="Log-probabilities of a choice among the four keywords, or ratings of each from 0 to 100.",
)
@click.option(
    "--orders",
    default=4,
    show_default=True,
    help="In which the keywords are shown, a call each; with 4 every keyword stands once in every place.",
)
@click.option("--games", type=int, help="Recorded games whose hints are asked about, from the first.  [default: all]")
@_questioning
@_asking("rating")
@click.option("--out", type=click.Path(), help="Folder of log and table.  [default: lexicon-METHOD, beside LOG]")
def elicit_lexicon(**options: Any) -> None:
    """Decrypto: which of its game's four keywords a model takes every hint of LOG to be about.

    Every hint is asked about outside the game, once for each set of keywords. `otherminds compare LOG --lexicon
    FOLDER/log.jsonl` then tells word meanings from reasoning. Written are log.jsonl and lexicon.csv. The same command
    goes on where an earlier call was stopped. Exit code 1: an answer failed.
    """
    with _one_line_errors("stopped; the same command goes on where it stopped"):
        from otherminds.tom.experiments.decrypto.lexicon import console as lexicon_console

        failed = lexicon_console.elicit_lexicon(options.pop("log"), generation=_generation(options), **options)
    sys.exit(1 if failed else 0)


@main.group(short_help="Make boards that tell minds apart.")
def boards() -> None:
    """Boards of a game that are made for a purpose, in files that say how."""


@boards.command("colored-trails")
@click.option(
    "--advantage-threshold", default=20.0, show_default=True, help="Points that the higher order must gain more."
)
@click.option("--high", default=2, show_default=True, help="Order of theory of mind that has the advantage ...")
@click.option("--low", default=1, show_default=True, help="... over this one, against an opponent of this one.")
@click.option("--count", type=click.IntRange(1), default=50, show_default=True, help="Boards to find.")
@_layout
@click.option(
    "--variant",
    type=click.Choice(["described", "llm-tom", "deweerd"]),
    default="described",
    show_default=True,
    help="The reading of the published minds.",
)
@click.option("--learning-speed", default=0.8, show_default=True, help="Of the minds, 0 to 1.")
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="Moves of a game at most.")
@click.option("--most", default=100_000, show_default=True, help="Boards to try before the search is given up.")
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="The same seed finds the same."
)
@click.option("--out", type=click.Path(), help="The file.  [default: boards-HIGH-LOW-THRESHOLD.json]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def boards_colored_trails(**options: Any) -> None:
    """Diagnostic boards for Colored Trails, on which a higher order of theory of mind pays.

    Random boards are tried until enough are found. The file says how they were chosen, and loading it checks that.
    What is found is in the file at once; the same command goes on where it was stopped.
    """
    with _one_line_errors("stopped; the same command goes on where it stopped"):
        from otherminds.tom.experiments.colored_trails import simulate_console

        simulate_console.diagnostic_colored_trails(**options)


@main.group(short_help="What play can tell apart.")
def identify() -> None:
    """What can be told of players from what they do: tools of one game."""


@identify.command("rps")
@click.option("--opponent", default="D", show_default=True, help="Strategy of player 2.")
@click.option("--candidates", metavar="A,B,...", help="Strategies that player 1 may follow.  [default: all 19]")
@click.option("--rounds", default=200, show_default=True, help="Of a match.")
@click.option("--matches", default=300, show_default=True, help="Simulated for every candidate.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="The same seed plays the same matches.",
)
@click.option("--legacy-iid", is_flag=True, help="Ceilings from data as the paper made them: no one reacts.")
@click.option("--window", type=int, help="Rounds that the observer remembers.  [default: all; with --regimes also 50]")
@click.option("--tremble", default=0.0, show_default=True, help="Probability of a random move, of everybody.")
@click.option(
    "--regimes", "show_regimes", is_flag=True, help="The paper's three pairs instead, beside what it reports."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables; null stands for infinity.")
@click.option("--out", type=click.Path(), help="Folder for figures (PNG) and tables (CSV).")
def identify_rps(**options: Any) -> None:
    """Rock, paper, scissors: which strategies play can tell apart, how fast, and against whom.

    For every candidate the nearest rival, the nats a round that tell them apart, the rounds until the odds are 19 to 1,
    and how often an ideal observer names it after n rounds: no other observer can do better.
    """
    with _one_line_errors():
        from otherminds.tom.experiments.rps import identify as console

        console.identify(**options)


@main.command(short_help="Compare logs with every mind; write a report.")
@click.argument("logs", nargs=-1, required=True, type=click.Path())
@_words
@_comparison
@click.option(
    "--join",
    type=click.Choice(["sum", "product"]),
    help="Reference games: how a language model's options of one kind count.  [default: sum]",
)
@click.option(
    "--every-option", is_flag=True, help="Reference games: tell every option apart, not only the kinds of answers."
)
@click.option(
    "--variant",
    type=click.Choice(["described", "llm-tom", "deweerd"]),
    help="Colored Trails: the reading of the published minds.  [default: described]",
)
@click.option(
    "--profile",
    is_flag=True,
    help="Decrypto: also each agent's depth, rationality and lexicon noise, and whether encoders use the secret; "
    "takes minutes.",
)
@click.option(
    "--lexicon",
    "lexica",
    multiple=True,
    type=click.Path(),
    metavar="LOG",
    help="Decrypto: a log of `otherminds elicit lexicon`; decoders are compared under it too. Repeatable.",
)
@click.option("--out", type=click.Path(), help="Folder of the report.  [default: beside the first log]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def compare(logs: "Sequence[str]", **options: Any) -> None:
    """Shadow every decision of LOGS with every mind: tables, report.html, figures, CSV.

    The logs are of one game, which their first line names.
    """
    with _one_line_errors():
        from otherminds.tom.experiments import console

        console.compare_logs([Path(log) for log in logs], **options)


def _print_schema(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib import resources

        schema = resources.files("otherminds.tom.experiments").joinpath("journal.schema.json")
        click.echo(schema.read_text(encoding="utf-8"), nl=False)
        context.exit()


@main.command()
@click.argument("logs", nargs=-1, required=True, type=click.Path())
@click.option(
    "--schema", is_flag=True, is_eager=True, expose_value=False, callback=_print_schema, help="Print the JSON Schema."
)
def validate(logs: "Sequence[str]") -> None:
    """Check that LOGS are whole: every line against the schema, every game against the rules."""
    with _one_line_errors():
        from otherminds.tom.experiments.validate import validate_log

        for log in logs:
            click.echo(validate_log(Path(log)))


if __name__ == "__main__":
    main()
