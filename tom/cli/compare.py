"""`otherminds compare`, `validate`: logs of any game are read."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from otherminds.tom.cli.calls import main, one_line_errors
from otherminds.tom.cli.options import comparison, words

if TYPE_CHECKING:
    from collections.abc import Sequence


@main.command(short_help="Compare logs with every mind; write a report.")
@click.argument("logs", nargs=-1, required=True, type=click.Path())
@words
@comparison
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
    help="Decrypto: a log of `otherminds elicit lexicon`; encoders and decoders are compared under it too. Repeatable.",
)
@click.option("--out", type=click.Path(), help="Folder of the report.  [default: beside the first log]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def compare(logs: "Sequence[str]", **options: Any) -> None:
    """Shadow every decision of LOGS with every mind: tables, report.html, figures, CSV.

    The logs are of one game, which their first line names.
    """
    with one_line_errors():
        from otherminds.tom.experiments import console

        console.compare_logs([Path(log) for log in logs], **options)


def _print_schema(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib import resources

        schema = resources.files("otherminds.tom.experiments").joinpath("journal.schema.json")
        click.echo(schema.read_text(encoding="utf-8"), nl=False)
        context.exit()


@main.command(short_help="Check that logs are whole.")
@click.argument("logs", nargs=-1, required=True, type=click.Path())
@click.option(
    "--schema", is_flag=True, is_eager=True, expose_value=False, callback=_print_schema, help="Print the JSON Schema."
)
def validate(logs: "Sequence[str]") -> None:
    """Check that LOGS are whole: every line against the schema, every game against the rules."""
    with one_line_errors():
        from otherminds.tom.experiments.validate import validate_log

        for log in logs:
            click.echo(validate_log(Path(log)))
