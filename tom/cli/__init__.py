"""The command line: `otherminds run`, `simulate`, `import`, `replay`, `ask`, `elicit`, `boards`, `identify`, `compare`.

Everything heavy (jax, openai, matplotlib) is imported inside the commands, so that --help answers at once.
"""

from otherminds.tom.cli import compare, design, questions, recordings, run, simulate
from otherminds.tom.cli.calls import main

__all__ = ["compare", "design", "main", "questions", "recordings", "run", "simulate"]
