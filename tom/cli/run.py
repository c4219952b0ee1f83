"""`otherminds run`, `experiments`: agents of any kind play games."""

import sys
from typing import Any

import click

from otherminds.tom.cli.calls import Group, main, one_line_errors
from otherminds.tom.cli.options import ROLES, asking, comparison, generation, layout, words


class Runs(Group):
    """The games, and experiments by the names of files: a ready-made one, or a path that ends in .toml."""

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """The command of a game or of an experiment; None for what is neither."""
        found = super().get_command(context, name)
        if found is not None:
            return found
        with one_line_errors():
            from otherminds.tom.experiments import config_files

            path = config_files.find(name)
            if path is None:
                told = config_files.unknown(name, "game and no experiment", self.commands)
                raise ValueError(f"{told} (see otherminds run --help)")
            from otherminds.tom.cli.config_command import command_of

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
    with one_line_errors():
        from otherminds.tom.experiments import config_files

        if name is not None:
            path = config_files.find(name)
            if path is None or not path.exists():
                raise ValueError(config_files.unknown(name, "experiment"))
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
    "--teams",
    type=click.IntRange(1, 2),
    default=1,
    show_default=True,
    help="2: every table is a team that encodes, decodes and intercepts, and every two teams meet.",
)
@click.option(
    "--personas", type=click.Path(), help='TOML or JSON file of NAME = "text", for agents such as model:persona=NAME.'
)
@click.option("--episodes", default=2, show_default=True, help="Games per table and seed.")
@click.option("--seeds", default=2, show_default=True, help="Number of seeds: 0, 1, ...")
@asking("decision")
@click.option("--continue-after-loss", is_flag=True, help="Play on to the last turn after a loss.")
@words
@comparison
@click.option("--no-minds", is_flag=True, help="Set no minds beside, which takes most of the time where minds play.")
@click.option("--out", type=click.Path(), help="Folder of log and report.  [default: runs/decrypto-<settings>]")
def run_decrypto(**options: Any) -> None:
    """Decrypto: a language model beside rational players, every decision compared.

    An encoder gives hints about secret keywords so that the decoder, who knows them, finds a code and the
    interceptor, who does not, misses it. Every list of agents may hold minds and language models (provider/name).

    Agents take options after a colon: rational:pool=50,interceptor=baseline, or model:system=2,context=chat
    (docs/decrypto.md lists them). The same command goes on where an earlier call was stopped. Exit code 1: games
    finished, but some answers failed.
    """
    with one_line_errors("stopped; the same command goes on where it stopped"):
        from otherminds.tom.experiments.decrypto import run_console

        asked = {role: options.pop(role) for role in ROLES}
        failed = run_console.run_decrypto(asked, options.pop("model"), generation=generation(options), **options)
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
@asking("question")
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
    with one_line_errors("stopped; the same command goes on where it stopped"):
        from otherminds.tom.experiments.rps.observers import console

        failed = console.run_rps(generation=generation(options), **options)
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
@layout
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
@asking("move")
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
    with one_line_errors("stopped; the same command goes on where it stopped"):
        from otherminds.tom.experiments.colored_trails import console_run

        failed = console_run.run_colored_trails(generation=generation(options), **options)
    sys.exit(1 if failed else 0)


@run.command("reference")
@click.option(
    "--model",
    multiple=True,
    help="Whom to ask, provider/name. Repeatable.  [default: local/smollm2 where it is installed]",
)
@click.option("--base-url", help="OpenAI-compatible server to ask instead of the provider's own.")
@click.option(
    "--role",
    type=click.Choice(["speaker", "listener", "both"]),
    default="both",
    show_default=True,
    help="Say a word for an object, find the object of a word, or each.",
)
@click.option(
    "--set",
    "item_set",
    type=click.Choice(["simple-implicature", "unnamed-simple", "unnamed-complex", "random"]),
    help="How items are drawn (docs/reference.md).  [default: simple-implicature]",
)
@click.option(
    "--from",
    "source",
    type=click.Path(),
    metavar="LOG|CSV",
    help="Ask what was asked in a log of reference games, or about the items of a CSV file, instead.",
)
@click.option("--items", type=int, help="How many items, from the first.  [default: 10; with --from all]")
@click.option(
    "--samples",
    default=1,
    show_default=True,
    help="How often every question is asked, each time in another order; with as many as there are options, each "
    "stands once in every place.",
)
@click.option(
    "--elicitation",
    default="choice",
    show_default=True,
    help="Comma-separated: choice (the word or object itself), logprobs, stated (probabilities), sampling (a letter).",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="Of items, orders and sampling.",
)
@asking("question")
@comparison
@click.option("--out", type=click.Path(), help="Folder of log and report.  [default: runs/reference-<settings>]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def run_reference(**options: Any) -> None:
    """Reference games: a language model as speaker and as listener, on the items that people saw.

    Every question is asked by itself, with objects and words in an order of its own; a liking for a place in the list
    is reported. The log is one of reference games: `otherminds compare PEOPLE/log.jsonl MODEL/log.jsonl` puts people
    and models beside the same minds.

    The same command goes on where an earlier call was stopped. Exit code 1: an answer failed.
    """
    with one_line_errors("stopped; the same command goes on where it stopped"):
        from otherminds.tom.experiments.reference import run_console

        failed = run_console.run_reference(generation=generation(options), **options)
    sys.exit(1 if failed else 0)
