"""`otherminds ask`, `elicit`: language models are asked outside a game."""

import sys
from typing import Any

import click

from otherminds.tom.cli.calls import main, one_line_errors
from otherminds.tom.cli.options import asking, generation, questioning, words


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
@words
@questioning
@asking("question")
@click.option("--out", type=click.Path(), help="Folder of log and report.  [default: tasks, beside the recording]")
def ask(**options: Any) -> None:
    """Theory-of-mind tasks about the recorded games of LOG, a log of Decrypto.

    false-belief: what are the keywords; and once they are shown: what did you think, what does another think.
    perspective-taking: what will the interceptor guess.  understanding: will the decoder find the code.

    Questions change no game, and none is shown with another. What rational minds answer stands beside. The same command
    goes on where an earlier call was stopped. Exit code 1: an answer failed.
    """
    with one_line_errors("stopped; the same command goes on where it stopped"):
        from otherminds.tom.experiments.tasks import console as tasks_console

        failed = tasks_console.ask(options.pop("log"), generation=generation(options), **options)
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
@questioning
@asking("rating")
@click.option("--out", type=click.Path(), help="Folder of log and table.  [default: lexicon-METHOD, beside LOG]")
def elicit_lexicon(**options: Any) -> None:
    """Decrypto: which of its game's four keywords a model takes every hint of LOG to be about.

    Every hint is asked about outside the game, once for each set of keywords. `otherminds compare LOG --lexicon
    FOLDER/log.jsonl` then tells word meanings from reasoning. Written are log.jsonl and lexicon.csv. The same command
    goes on where an earlier call was stopped. Exit code 1: an answer failed.
    """
    with one_line_errors("stopped; the same command goes on where it stopped"):
        from otherminds.tom.experiments.decrypto.lexicon import console as lexicon_console

        failed = lexicon_console.elicit_lexicon(options.pop("log"), generation=generation(options), **options)
    sys.exit(1 if failed else 0)
