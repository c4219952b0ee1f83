"""What is printed of Decrypto's players beyond their scores: what they state, how deep and rationally they reason."""

import math
from collections.abc import Sequence

from rich.text import Text

from otherminds.games.decrypto.rules import CODES
from otherminds.tom.experiments.decrypto.profile import Privilege, Profile, explained_by_none
from otherminds.tom.experiments.decrypto.stated import CHANCE_BRIER, Calibration, Divergence
from otherminds.tom.experiments.tables import number, show, spread, table_of


def print_stated(calibrated: Sequence[Calibration], diverged: Sequence[Divergence], lapse: float) -> None:
    """How true the probabilities are that guessers state, and how far from each mind's; nothing where none are."""
    if not calibrated:
        return
    table = table_of("guesser that states", "failed", "said", "right", "calib.\nerror", "Brier", "log\nscore")
    for row in calibrated:
        scores = spread(row.brier, row.brier_error, ".3f"), spread(row.log_score, row.log_score_error, ".3f")
        shares = (number(value, ".2f") for value in (row.confidence, row.right, row.calibration_error))
        table.add_row(Text(f"{row.role}\n{row.agent}\n({row.decisions} decisions)"), str(row.failed), *shares, *scores)
    show(
        "How true are the probabilities that guessers state of the codes?",
        table,
        "said, right: mean probability stated of the own guess, and how often it was the code;",
        "calib. error: how far apart, over bins of a tenth, where probabilities were stated.",
        f"Brier: 0 to 2, without knowledge {CHANCE_BRIER:.3f}. log score: of the code, nats, lapse {lapse:g}, "
        f"without knowledge {-math.log(len(CODES)):.3f}. failed: no probabilities or no guess, the worst in these two.",
        "± standard error, games as clusters.",
    )
    table = table_of("guesser, and the minds beside it", "decisions", "no view", "KL", "±")
    for role, agent in dict.fromkeys((row.role, row.agent) for row in diverged):
        if table.row_count:
            table.add_section()
        table.add_row(Text(f"{role} {agent}"), *[""] * 4)
        for row in diverged:
            if (row.role, row.agent) == (role, agent):
                cells = str(row.decisions), str(row.ruled_out), number(row.kl), number(row.error)
                name = Text(f"  {row.mind}{' *' if row.nearest else ''}")
                table.add_row(name, *cells, style="bold" if row.nearest else None)
    show(
        "How far are they from each mind's?",
        table,
        f"KL(agent || mind) over the 24 codes, nats a decision, the mind with lapse {lapse:g}; * the nearest mind.",
        "no view: the mind allows no code there, and the decision is left out.",
    )


def print_profiles(profiled: Sequence[Profile], privileges: Sequence[Privilege]) -> None:
    """How deep each agent reasons, how rationally, with how noisy a lexicon; and whether encoders use the secret."""
    table = table_of("role, agent, and depth", "share", "alpha\n95%", "noise", "nats", "evidence")
    before = None
    for row in profiled:
        if (group := (row.role, row.agent)) != before:
            if before is not None:
                table.add_section()
            who = Text(f"{row.role} {row.agent}\n({row.decisions} decisions)", style="bold")
            table.add_row(who, *[""] * 5)
            table.add_row("  chance", *[""] * 3, number(row.chance / row.decisions), "")
        before = group
        table.add_row(
            f"  {row.depth}",
            number(row.share, ".2f"),
            f"{row.alpha.mode:.3g}\n{row.alpha.low:.3g} to {row.alpha.high:.3g}",
            f"{row.noise.mode:g}",
            number(row.log_score),
            f"{row.log_evidence - row.chance:+.1f}",
            style="bold" if row.share > 0.5 else None,
        )
    none = explained_by_none(profiled)
    show(
        "Depth, rationality and lexicon noise",
        table,
        "share: posterior probability of the depth. alpha, noise: at the mode, and below alpha the",
        "shortest range of the grid that holds 95%; a range that ends at the grid's edge",
        "goes on beyond it. nats: a decision, at the mode. evidence: nats, of all decisions together, averaged over "
        "the grid, above a uniformly random choice; docs/decrypto.md has the models.",
        *[f"No depth beats chance, by evidence: {', '.join(none)}."] * bool(none),
    )
    if not privileges:
        return
    table = table_of("encoder", "decisions", "fair", "informed", "index", "±")
    for row in privileges:
        cells = (number(value) for value in (row.fair, row.informed, row.index, row.error))
        table.add_row(Text(row.agent), str(row.decisions), *cells)
    show(
        "Does the encoder see the game through the interceptor's eyes?",
        table,
        "fair, informed: nats a decision under a rational encoder who thinks that the",
        "interceptor does not, or does, know the keywords. index: fair less informed; above",
        "0 the hints are those of one who minds what the interceptor knows. ±: standard error.",
    )
