"""`otherminds import`, `replay`: games that others played."""

import sys
from typing import Any

import click

from otherminds.tom.cli.calls import main, one_line_errors
from otherminds.tom.cli.options import asking, generation, questioning, words


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
    with one_line_errors():
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
    with one_line_errors():
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
    with one_line_errors():
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
    with one_line_errors():
        from otherminds.tom.experiments.colored_trails import console as trails_console

        trails_console.import_panel_log(**options)


@import_.command("decrypto")
@click.argument("path", type=click.Path())
@click.option("--encoder", default="human-encoder", show_default=True, help="What the encoder is called.")
@click.option("--decoder", default="human-decoder", show_default=True, help="What the decoder is called.")
@click.option("--interceptor", default="llama-3.1-70b", show_default=True, help="What the interceptor is called.")
@words
@click.option("--out", required=True, type=click.Path(), help="Folder of the log.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def import_decrypto(**options: Any) -> None:
    """Decrypto: recorded games of people, from the JSON file of the published benchmark.

    Keywords, codes, hints and guesses become a log as they are; a guess that is no code is a failed answer. Play that
    went on after a loss stays in the log; the table here counts up to the loss.
    """
    with one_line_errors():
        from otherminds.tom.experiments.decrypto import recordings_console

        recordings_console.import_recordings(**options)


@main.group(short_help="Play recorded games again with somebody else.")
def replay() -> None:
    """Play recorded games again, with somebody else in one seat."""


@replay.command("decrypto")
@click.argument("log", type=click.Path())
@click.option("--decoder", help="Who decodes instead: minds or provider/name, comma-separated.")
@click.option("--interceptor", help="Who intercepts instead: minds or provider/name, comma-separated.")
@click.option("--to-the-end", is_flag=True, help="Go on after a loss, as far as the recording does.")
@words
@questioning
@asking("decision")
@click.option("--out", type=click.Path(), help="Folder of the log.  [default: replay, beside the recording]")
def replay_decrypto(**options: Any) -> None:
    """Decrypto: recorded codes and hints, with somebody else as decoder or interceptor.

    Everybody named plays every recorded game of LOG once, in one seat; the others do what they did. A game stops at its
    official end, or where the recording stops. The log can be compared. The same command goes on where an earlier call
    was stopped. Exit code 1: an answer failed.
    """
    with one_line_errors("stopped; the same command goes on where it stopped"):
        from otherminds.tom.experiments.decrypto import recordings_console

        failed = recordings_console.replay_log(options.pop("log"), generation=generation(options), **options)
    sys.exit(1 if failed else 0)
