"""What `otherminds run colored-trails` prints: what is coming, how far it is, and how the games ended."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import click

from otherminds.games.colored_trails.board import Layout
from otherminds.tom.experiments.checks import check_folder, check_lapse
from otherminds.tom.experiments.colored_trails.boards import layout_text
from otherminds.tom.experiments.colored_trails.config import NegotiationConfig, agents_of, is_model, validated
from otherminds.tom.experiments.colored_trails.console import report
from otherminds.tom.experiments.colored_trails.panel import PlannedGame, made_for, planned_games
from otherminds.tom.experiments.colored_trails.run import asked_models, run
from otherminds.tom.experiments.console import LOG, print_finished
from otherminds.tom.experiments.dry_run import LENGTHS, show_estimate
from otherminds.tom.experiments.progress import progress_bar
from otherminds.tom.llm.client import GenerationSettings

DECEPTION = {
    "off": "not spoken of",
    "on": "language models read that they may deceive",
    "both": "language models read in half of the games that they may deceive",
}
TIMES = ("", "once", "twice (the second time recoloured and flipped)")


def run_colored_trails(
    *,
    agents: str | None,
    initiator: str | None,
    responder: str | None,
    model: str | None,
    seeds: int,
    no_messages: bool,
    generation: GenerationSettings,
    lapse: float,
    out: str | None,
    as_json: bool,
    dry_run: bool,
    **settings: Any,
) -> bool:
    """`otherminds run colored-trails`. Returns whether a game finished with a failed answer.

    Raises: a ValueError for what the user can mend, before anything is played or written.
    """
    if seeds < 1:
        raise ValueError(f"--seeds {seeds}: at least 1")
    pair, seats, note = agents_of(agents, initiator, responder, model)
    if settings["base_url"] and not any(map(is_model, pair)):
        raise ValueError(
            f"--base-url {settings['base_url']}: say with --model provider/name which model is asked there"
        )
    config = validated(
        agents=pair,
        seats=seats,
        seeds=tuple(range(seeds)),
        messages=not no_messages,
        generation=generation,
        **{name: value for name, value in settings.items() if value is not None},
    )
    return negotiate(config, lapse=lapse, out=out, as_json=as_json, note=note, dry_run=dry_run)


def negotiate(
    config: NegotiationConfig,
    *,
    lapse: float,
    out: str | None,
    as_json: bool,
    note: str | None = None,
    dry_run: bool = False,
) -> bool:
    """Plays a run, tells how far it is and compares it. Returns whether a game finished with a failed answer.

    lapse: of every mind, in the comparison.   out: folder; None: one named by the settings.   note: for the user.
    dry_run: count calls, and play nothing.
    Raises: a ValueError for what the user can mend, before anything is played or written.
    """
    check_lapse(lapse)
    asked_models(config)
    folder = Path(out or f"runs/colored-trails-{config.digest()}")
    check_folder(folder)
    games, made = _planned(config), 0
    if dry_run:
        show_estimate(
            partial(run, config, folder / LOG, planned=games),
            lambda game: (game.agents, game.deception) if any(map(is_model, game.agents)) else None,
            config,
            note=LENGTHS,
            as_json=as_json,
        )
        return False

    def count() -> None:
        nonlocal made
        made += 1

    def announce(coming: int) -> None:
        for line in heading(config, games, coming):
            click.echo(line, err=as_json)
        click.echo(f"  log        {folder / LOG}", err=as_json)
        if note:
            click.echo(click.style("Note: ", fg="yellow") + note + ".", err=as_json)

    with progress_bar("negotiating", len(games)) as advance:
        finished = asyncio.run(
            run(
                config,
                folder / LOG,
                planned=games,
                on_start=announce,
                on_game=lambda _: advance(),
                on_decision=count,
            )
        )
    print_finished(finished, "moves were in the log already and were not made again", nothing_new=not made, err=as_json)
    report([folder / LOG], folder, lapse=lapse, as_json=as_json)
    if finished.failed_games:
        told = f"{finished.failed_games} of {finished.games} games hold an answer that failed."
        click.secho(told, fg="yellow", err=as_json)
    return bool(finished.failed_games)


def _planned(config: NegotiationConfig) -> list[PlannedGame]:
    """The games of a run, with a progress bar where boards are searched for."""
    if not config.searches:
        return planned_games(config)
    with progress_bar("searching for diagnostic boards", config.diagnostic_count * len(config.seeds)) as advance:
        return planned_games(config, advance)


def heading(config: NegotiationConfig, games: list[PlannedGame], coming: int) -> list[str]:
    """What is about to be played. coming: moves that language models will be asked for, at most."""
    one, two = config.agents
    kinds = list(dict.fromkeys(game.kind for game in games))
    boards = [f"{len({(game.seed, game.name) for game in games if game.kind == kind})} {kind}" for kind in kinds]
    seats = "{} and {}, who take turns to initiate" if config.seats == "alternate" else "{} initiates, {} responds"
    calls = f"at most {coming} moves of language models, up to {config.max_attempts} answers each" if coming else "none"
    made, layout = made_for(config), config.rules.layout
    return [
        f"Colored Trails: {len(games)} negotiations",
        f"  agents     {seats.format(one, two)}",
        f"  boards     {' and '.join(boards)}, each {TIMES[config.copies]}",
        *([] if made is None else [f"  diagnostic {config.diagnostic or 'searched for'}: {made}"]),
        *([] if layout == Layout() else [f"  layout     {layout_text(layout)}"]),
        f"  rules      at most {config.limit} moves, {config.cost:g} points each",
        f"  deception  {DECEPTION[config.deception]}",
        f"  calls      {calls}",
    ]
