"""The command that all others belong to, and what a wrong call of one of them says."""

import contextlib
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterator


class OneLine(click.ClickException):
    """A wrong call, or what else a user can mend: one line on stderr, exit code 2 if no other is given."""

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
def one_line_errors(stopped: str = "stopped") -> "Iterator[None]":
    """Turns what a user can mend into one line; anything else is a fault and shows its trace.

    Exit code 2, but 3 where a limit on tokens or cost stopped the work.
    stopped: what is said after Ctrl-C, with exit code 130.
    """
    try:
        yield
    except BrokenPipeError:
        raise  # whoever reads the output has enough; click ends quietly
    except (ValueError, OSError) as error:
        from otherminds.tom.llm.accounts import LimitReached

        raise OneLine(str(error), 3 if isinstance(error, LimitReached) else 2) from None
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

    Exit codes: 0 done, 1 finished with failed games, 2 a wrong call, 3 stopped at a limit.
    """
    cache = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    if cache is None:  # compiled programs are kept between calls
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(base / "otherminds" / "jax")
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.5")
