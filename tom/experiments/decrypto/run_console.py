"""What `run decrypto` and `simulate decrypto` print. Tables fit a terminal of 80 columns."""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import click

from otherminds.games.decrypto.rules import Role
from otherminds.games.decrypto.two_teams import TEAMS
from otherminds.tom.experiments.checks import check_count, check_folder, check_lapse
from otherminds.tom.experiments.config import validated
from otherminds.tom.experiments.console import LOG, print_finished
from otherminds.tom.experiments.decrypto.console import (
    TOKENS,
    check_meanings,
    chosen_minds,
    players,
    print_matches,
    report,
    report_games,
)
from otherminds.tom.experiments.decrypto.matches import pairs, simulate_matches, summarize_matches
from otherminds.tom.experiments.decrypto.run_matches import planned_matches, run_matches
from otherminds.tom.experiments.defaults import agent_lists, split_agents, team_mate
from otherminds.tom.experiments.model_agents import expanded, read_personas, used_personas
from otherminds.tom.experiments.progress import progress_bar
from otherminds.tom.experiments.run import model_names, planned_games, run
from otherminds.tom.experiments.simulate import Summary, simulate, summarize
from otherminds.tom.experiments.tables import no_nan, show, spread, table_of
from otherminds.tom.minds.decrypto.registry import named
from otherminds.tom.vectors import load_vocabulary


def run_decrypto(asked: dict[str, str | None], model: str | None, **options: Any) -> bool:
    """`otherminds run decrypto`. Returns whether a game finished with a failed answer.

    Raises: a ValueError for what the user can mend, before anything is played or written.
    """
    for name in ("seeds", "episodes"):
        check_count(f"--{name}", options[name])
    named_agents = {role: split_agents(text or "") for role, text in asked.items()}
    for role, text in asked.items():
        if text is not None and not named_agents[role]:
            raise ValueError(f"--{role} {text!r}: name at least one agent, or leave the option out")
    names_a_model = model is not None or any("/" in agent for agents in named_agents.values() for agent in agents)
    if options["base_url"] and not names_a_model:
        raise ValueError(f"--base-url {options['base_url']}: say with --model provider/name which model is asked there")
    design = options["design"]
    if design == "competition" and not named_agents["decoder"]:
        encoders, _ = agent_lists(named_agents, model)
        named_agents["decoder"] = [team_mate(encoder) for encoder in encoders["encoder"]]
    personas = read_personas(options["personas"])
    lists, note = agent_lists(named_agents, model)
    if all(named_agents.values()):
        note = None  # whoever named everybody wants no model where none is
    if design == "coordination" and not named_agents["interceptor"]:
        lists["interceptor"] = lists["interceptor"][:1]
    lists = {
        role.name.lower(): tuple(
            agent for written in lists[role.name.lower()] for agent in expanded(written, role, personas)
        )
        for role in Role
    }
    if options["no_minds"] and options["mind_specs"]:
        raise ValueError(f"--minds {options['mind_specs'][0]}: --no-minds asks none; leave one of the two out")
    minds = chosen_minds(options["mind_specs"])
    check_lapse(options["lapse"])
    config = validated(
        **lists,
        personas=used_personas([agent for agents in lists.values() for agent in agents], personas),
        design=design,
        episodes=options["episodes"],
        seeds=tuple(range(options["seeds"])),
        continue_after_loss=options["continue_after_loss"],
        teams=options["teams"],
        base_url=options["base_url"],
        keywords=options["keywords"],
        vectors=options["vectors"],
        max_attempts=options["max_attempts"],
        generation=options["generation"],
    )
    models = model_names(config)
    vocabulary = load_vocabulary(options["keywords"], options["vectors"])
    check_meanings(minds, vocabulary)
    folder = Path(options["out"] or f"runs/decrypto-{config.digest()}")
    check_folder(folder)
    games: Sequence[Any] = planned_games(config)
    play, tables = run, f"games at {len(config.tables())} tables"
    if config.teams == TEAMS:
        games, play, tables = planned_matches(config), run_matches, f"matches of {len(config.tables())} teams"
    if options["dry_run"]:
        from otherminds.tom.experiments import dry_run

        dry_run.show_estimate(
            partial(play, config, vocabulary, folder / LOG),
            lambda game: dry_run.table_pattern(game.agents),
            config,
            note=dry_run.LENGTHS,
        )
        return False

    def announce() -> None:
        seeds = f"{len(config.seeds)} seed" + "s" * (len(config.seeds) > 1)
        click.echo(f"Decrypto (unofficial): {len(games)} {tables}, {seeds}")
        words = f"{len(vocabulary.words):,} nouns, {len(vocabulary.keywords)} keywords ({vocabulary.name})"
        click.echo(f"  words   {words}")
        click.echo(f"  models  {', '.join(models) or 'none'}")
        click.echo(f"  log     {folder / LOG}")
        if note:
            click.echo(click.style("Note: ", fg="yellow") + note + ".")

    made = 0

    def count() -> None:
        nonlocal made
        made += 1

    with progress_bar("playing", len(games)) as advance:
        finished = asyncio.run(
            play(config, vocabulary, folder / LOG, on_start=announce, on_game=lambda _: advance(), on_decision=count)
        )
    print_finished(finished, "decisions were in the log already and were not made again", nothing_new=not made)
    if options["no_minds"]:
        report_games([folder / LOG], vocabulary, folder)
        click.echo(f"No mind was asked; `otherminds compare {folder / LOG}` sets them beside.")
    else:
        report([folder / LOG], vocabulary, folder, minds, options["lapse"])
    if finished.failed_games:
        click.secho(f"{finished.failed_games} of {finished.games} games hold an answer that failed.", fg="yellow")
    return bool(finished.failed_games)


def simulate_decrypto(
    asked: dict[str, str],
    *,
    games: int,
    seed: int,
    chunk: int | None,
    keywords: str | None,
    vectors: str | None,
    as_json: bool,
    teams: int = 1,
) -> None:
    """`otherminds simulate decrypto`. teams: 2 for matches of every two tables."""
    lists = [split_agents(text) for text in asked.values()]
    for role, specs in zip(Role, lists, strict=True):
        if not specs:
            raise ValueError(f"--{role.name.lower()}: name at least one mind")
        for spec in specs:
            named(spec, role)
    check_count("--games", games)
    if chunk is not None:
        check_count("--chunk", chunk)
    vocabulary = load_vocabulary(keywords, vectors)
    check_meanings(dict(zip(Role, lists, strict=True)), vocabulary)
    summaries = []
    tables: Sequence[Any] = list(product(*lists))
    play, summed, what = simulate, summarize, "table"
    if teams == TEAMS:
        tables, play, summed, what = pairs(tables), simulate_matches, summarize_matches, "pair"
    for number, specs in enumerate(tables, 1):
        begun = time.perf_counter()
        with progress_bar(f"{what} {number} of {len(tables)}", games) as advance:
            results = play(specs, vocabulary, games, seed=seed, chunk=chunk, progress=advance)
        summaries.append((summed(specs, results), time.perf_counter() - begun))
    if as_json:
        print(json.dumps(no_nan([asdict(summary) | {"seconds": seconds} for summary, seconds in summaries]), indent=1))
    elif teams == TEAMS:
        print_matches([summary for summary, _ in summaries], [seconds for _, seconds in summaries])
    else:
        print_summaries(summaries)


def print_summaries(summaries: Sequence[tuple[Summary, float]]) -> None:
    """The table of a simulation."""
    table = table_of("players", "games", "survived", "turns", *TOKENS, "seconds")
    for row, seconds in summaries:
        table.add_row(
            players(row.encoder, row.decoder, row.interceptor),
            f"{row.games:,}",
            spread(row.survived, row.survived_error, ".1%"),
            spread(row.turns, row.turns_error),
            spread(row.miscommunications, row.miscommunications_error),
            spread(row.interceptions, row.interceptions_error),
            f"{seconds:.1f}",
            end_section=True,
        )
    show(
        "Simulated games (E encoder, D decoder, I interceptor)",
        table,
        "Means a game ± standard error. Seconds include compilation.",
    )
