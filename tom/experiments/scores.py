"""The table of agents and of the minds that explain them, which the games share."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from otherminds.tom.experiments.compare import Row
from otherminds.tom.experiments.tables import number, table_of


def ruled_out_note(rows: Sequence[Row]) -> list[str]:
    """A line where minds have no best action, so that the regret is a mean over fewer decisions."""
    count = sum(row.ruled_out for row in rows)
    if not count:
        return []
    minds = ", ".join(dict.fromkeys(row.mind for row in rows if row.ruled_out))
    return [f"regret leaves out {count} decisions where the mind allows no choice at all: {minds}."]


def scores_table(rows: Sequence[Row]) -> Table:
    """Agents in a role or condition, and below each the minds with their scores."""
    table = table_of("agent, and the minds that may explain it", "log score", "regret", "impossible")
    before = None
    for row in rows:
        group = (row.role, row.agent)
        if group != before:
            if before is not None:
                table.add_section()
            left_out = f", {row.failed} failed" * bool(row.failed) + f", {row.unknown} not scored" * bool(row.unknown)
            table.add_row(Text(f"{row.role} {row.agent} ({row.decisions} decisions{left_out})"))
        before = group
        scores = number(row.log_score), number(row.regret), str(row.impossible)
        table.add_row(Text(f"  {row.mind}{' *' if row.best else ''}"), *scores, style="bold" if row.best else None)
    return table
