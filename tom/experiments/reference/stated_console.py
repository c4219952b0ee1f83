"""What the commands print of stated probabilities, and of a liking for places. Tables fit a terminal of 80 columns."""

from collections.abc import Sequence

from rich.text import Text

from otherminds.tom.experiments.reference.compare import Comparison
from otherminds.tom.experiments.reference.places import PlaceBias
from otherminds.tom.experiments.tables import number, show, spread, table_of


def print_stated(comparison: Comparison, lapse: float) -> None:
    """How far stated probabilities are from each mind's, how true, and how they predict others; nothing without any."""
    if comparison.divergences:
        table = table_of("who states probabilities, and the minds beside", "decisions", "KL", "±")
        for condition, agent in dict.fromkeys((row.condition, row.agent) for row in comparison.divergences):
            if table.row_count:
                table.add_section()
            table.add_row(Text(f"{condition} {agent}"), "", "", "")
            for row in comparison.divergences:
                if (row.condition, row.agent) == (condition, agent):
                    name = Text(f"  {row.mind}{' *' if row.nearest else ''}")
                    cells = str(row.decisions), number(row.kl), number(row.error)
                    table.add_row(name, *cells, style="bold" if row.nearest else None)
        show(
            "How far are stated probabilities from each mind's?",
            table,
            f"KL(agent || mind) over the kinds of answer, nats a decision, the mind with lapse {lapse:g};",
            "* the nearest.",
            "± standard error, items as clusters, here and below.",
        )
    if comparison.calibrations:
        table = table_of("who states probabilities", "failed", "said", "right", "calib.\nerror", "Brier", "log\nscore")
        for row in comparison.calibrations:
            pair = spread(row.brier, row.brier_error, ".3f"), spread(row.log_score, row.log_score_error, ".3f")
            shares = (number(value, ".2f") for value in (row.confidence, row.right, row.calibration_error))
            who = Text(f"{row.condition}\n{row.agent}\n({row.decisions} decisions)")
            table.add_row(who, str(row.failed), *shares, *pair)
        uniform = ", ".join(dict.fromkeys(f"{row.condition} {row.uniform:.3f}" for row in comparison.calibrations))
        show(
            "How true are they of the target?",
            table,
            "said, right: mean probability of the most probable answer, and how often it is the target (the object "
            "that is meant; the word that names it best); calib. error: how far apart, over bins of a tenth.",
            f"log score: of the target, nats, lapse {lapse:g}; without knowledge: {uniform}.",
            "failed: no probabilities, the worst in these two scores.",
        )
    if comparison.predictions:
        table = table_of("whose answers, and who states probabilities", "decisions", "log score", "±", "uniform")
        for row in comparison.predictions:
            cells = str(row.decisions), number(row.log_score), number(row.error), number(row.uniform)
            table.add_row(Text(f"{row.condition} {row.agent}\n  by {row.model}"), *cells)
        show(
            "How well do they predict others' answers, as they are?",
            table,
            f"Nats a decision, the probabilities mixed with lapse {lapse:g}, nothing fitted.",
        )


def print_places(places: Sequence[PlaceBias]) -> None:
    """Whether agents like a place in the list of options; nothing where no order is known."""
    if not places:
        return
    table = table_of("who chose, and the places chosen", "answers", "p", "on no\noption")
    for row in places:
        shares = " ".join(f"{share:.2f}" for share in row.shares)
        p = number(row.p_value) if row.p_value >= 0.001 else "<0.001"
        cells = str(row.answers), p, number(row.missing)
        table.add_row(Text(f"{row.condition} {row.agent}\n  {shares}"), *cells)
    show(
        "Do they like a place in the list?",
        table,
        "Shares of the first place, the second, ...; options stood there in random orders, so without a liking they "
        "are even but for chance. p: permutation test.",
        "on no option: mean probability of other answers, where it is known.",
    )
