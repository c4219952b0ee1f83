"""What the commands print of recorded games of Decrypto: imports and replays. Tables fit a terminal of 80 columns."""

import asyncio
import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click
from rich.text import Text

from otherminds.games.decrypto.rules import Role
from otherminds.tom.experiments.console import (
    LOG,
    TOKENS,
    check_count,
    check_folder,
    number,
    print_finished,
    progress_bar,
    show,
    table_of,
)
from otherminds.tom.experiments.decrypto.profile import Privilege, Profile
from otherminds.tom.experiments.decrypto.recordings import import_decrypto, read_games
from otherminds.tom.experiments.decrypto.replay import ReplaySettings, planned_games, replaced_by, replay
from otherminds.tom.experiments.decrypto.standing import Summary, summaries
from otherminds.tom.experiments.defaults import split_agents
from otherminds.tom.experiments.dry_run import LENGTHS, show_estimate, table_pattern
from otherminds.tom.experiments.records import hints_said, read_log
from otherminds.tom.llm.client import GenerationSettings
from otherminds.tom.vectors import load_vocabulary


def import_recordings(
    path: str,
    *,
    encoder: str,
    decoder: str,
    interceptor: str,
    keywords: str | None,
    vectors: str | None,
    out: str,
    as_json: bool,
) -> None:
    """`otherminds import decrypto`.

    Raises: a ValueError for what the user can mend, before anything is written.
    """
    check_folder(Path(out))
    recorded = read_games(Path(path)) if vectors else []
    said = {hint for game in recorded for turn in game.turns for hint in turn.hints or ()}
    vocabulary = load_vocabulary(keywords, vectors, said)
    done = import_decrypto(Path(path), vocabulary, log=Path(out) / LOG, agents=(encoder, decoder, interceptor))
    rows = summaries(read_log(done.log))
    if as_json:
        print(json.dumps(asdict(done) | {"log": str(done.log), "tables": [asdict(row) for row in rows]}, indent=1))
        return
    click.echo(
        f"{done.games} games, {done.turns} turns, {done.failed} guesses that are no code; "
        f"{done.unknown} of {done.hints} hints have no vector"
    )
    print_summaries(rows, "Recorded games, up to their official end")
    if done.unlisted:
        some = ", ".join(done.unlisted[:5]) + ", ..." * (len(done.unlisted) > 5)
        click.echo(
            f"{len(done.unlisted)} keywords are not in the keyword list ({some}); to compare with minds, give a "
            "list that has them (--keywords), and vectors (--vectors)"
        )
    click.echo(f"wrote {done.log}")


def replay_log(
    log: str,
    *,
    decoder: str | None,
    interceptor: str | None,
    base_url: str | None,
    to_the_end: bool,
    seed: int,
    generation: GenerationSettings,
    max_attempts: int,
    keywords: str | None,
    vectors: str | None,
    out: str | None,
    as_json: bool,
    dry_run: bool,
) -> bool:
    """`otherminds replay decrypto`. Returns whether an answer of a replaced player failed.

    Raises: a ValueError for what the user can mend, before anything is played or written.
    """
    check_count("--max-attempts", max_attempts)
    asked = [(Role.DECODER, decoder), (Role.INTERCEPTOR, interceptor)]
    settings = ReplaySettings(
        replaced=replaced_by([(role, split_agents(agents or "")) for role, agents in asked]),
        seed=seed,
        to_the_end=to_the_end,
        base_url=base_url,
        generation=generation,
        max_attempts=max_attempts,
    )
    recording = Path(log)
    folder = Path(out) if out else recording.parent / "replay"
    check_folder(folder)
    recorded = read_log(recording)
    planned = planned_games(recorded, settings)
    vocabulary = load_vocabulary(keywords, vectors, hints_said([recording]) if vectors else ())
    if dry_run:
        show_estimate(
            partial(replay, recording, vocabulary, folder / LOG, settings),
            lambda game: table_pattern((game.agent,)),
            settings,
            note=LENGTHS,
            as_json=as_json,
        )
        return False
    with progress_bar("replaying", len(planned)) as advance:
        finished = asyncio.run(replay(recording, vocabulary, folder / LOG, settings, on_game=lambda _: advance()))
    print_finished(finished, "decisions were in the log already and were not made again", err=as_json)
    replayed = read_log(folder / LOG)
    rows = summaries(replayed)
    if as_json:
        tables = {"recorded": [asdict(row) for row in summaries(recorded)], "replayed": [asdict(row) for row in rows]}
        print(json.dumps(tables, indent=1))
    else:
        print_summaries(summaries(recorded), "As recorded, up to the official end")
        print_summaries(rows, "Replayed")
        click.echo(f"wrote {folder / LOG}")
    made = (line for decisions in replayed.decisions.values() for line in decisions.values())
    return any(line.action is None and (Role[line.role.upper()], line.agent) in settings.replaced for line in made)


def print_summaries(rows: Sequence[Summary], title: str) -> None:
    """Tokens, turns and endings of each table."""
    table = table_of("players", "games", "turns", *TOKENS, "endings", "failed")
    for row in rows:
        encoder, decoder, interceptor = row.agents
        endings = "\n".join(f"{count} {ending}" for ending, count in row.endings.items() if count)
        table.add_row(
            Text(f"E {encoder}\nD {decoder}\nI {interceptor}"),
            str(row.games),
            f"{row.turns:.2f}",
            str(row.miscommunications),
            str(row.interceptions),
            endings,
            str(row.failed),
            end_section=True,
        )
    show(title, table, "Turns: mean a game. Tokens: over all games.")


def _explained_by_none(profiled: Sequence[Profile]) -> list[str]:
    """A sentence where no depth explains an agent better than chance does."""
    best: dict[str, float] = {}
    for row in profiled:
        name = f"{row.role} {row.agent}"
        best[name] = max(best.get(name, -math.inf), row.log_evidence - row.chance)
    none = [name for name, gain in best.items() if gain <= 0]
    return [f"No depth beats chance: {', '.join(none)}."] if none else []


def print_profiles(profiled: Sequence[Profile], privileges: Sequence[Privilege]) -> None:
    """How deep each agent reasons, how rationally, with how noisy a lexicon; and whether encoders use the secret."""
    table = table_of("role, agent, and depth", "share", "alpha", "95%", "noise", "nats", "evidence")
    before = None
    for row in profiled:
        if (group := (row.role, row.agent)) != before:
            if before is not None:
                table.add_section()
            table.add_row(Text(f"{row.role} {row.agent} ({row.decisions} decisions)", style="bold"), *[""] * 6)
            table.add_row("  chance", *[""] * 4, number(row.chance / row.decisions), "")
        before = group
        table.add_row(
            f"  {row.depth}",
            number(row.share, ".2f"),
            f"{row.alpha.mode:.3g}",
            f"{row.alpha.low:.3g} to {row.alpha.high:.3g}",
            f"{row.noise.mode:g}",
            number(row.log_score),
            f"{row.log_evidence - row.chance:+.1f}",
            style="bold" if row.share > 0.5 else None,
        )
    show(
        "Depth, rationality and lexicon noise",
        table,
        "share: posterior probability of the depth. alpha, noise: at the mode, and the",
        "shortest range of the grid that holds 95%; a range that ends at the grid's edge",
        "goes on beyond it. nats: a decision, at the mode. evidence: nats, of all decisions together, averaged over "
        "the grid, above a uniformly random choice; docs/decrypto.md has the models.",
        *_explained_by_none(profiled),
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
