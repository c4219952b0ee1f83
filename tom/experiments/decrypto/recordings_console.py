"""What the commands print of recorded games of Decrypto: imports and replays. Tables fit a terminal of 80 columns."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click
from rich.text import Text

from otherminds.games.decrypto.rules import Role
from otherminds.tom.experiments.checks import check_count, check_folder
from otherminds.tom.experiments.console import LOG, print_finished
from otherminds.tom.experiments.decrypto.console import TOKENS
from otherminds.tom.experiments.decrypto.recordings import import_decrypto, read_games
from otherminds.tom.experiments.decrypto.replay import ReplaySettings, planned_games, replaced_by, replay
from otherminds.tom.experiments.decrypto.standing import Summary, summaries
from otherminds.tom.experiments.defaults import split_agents
from otherminds.tom.experiments.dry_run import LENGTHS, show_estimate, table_pattern
from otherminds.tom.experiments.progress import progress_bar
from otherminds.tom.experiments.records import hints_said, read_log
from otherminds.tom.experiments.tables import show, table_of
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
