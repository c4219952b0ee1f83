"""`otherminds run reference`: language models are asked what people were asked, and all are compared."""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from otherminds.games.reference.rules import Role
from otherminds.tom.experiments.checks import check_count, check_folder, check_lapse
from otherminds.tom.experiments.console import LOG, print_finished
from otherminds.tom.experiments.decrypto.settings import deciding
from otherminds.tom.experiments.defaults import LOCAL_MODEL, local_model_installed
from otherminds.tom.experiments.dry_run import show_estimate
from otherminds.tom.experiments.progress import progress_bar
from otherminds.tom.experiments.reference.console import minds_of, report
from otherminds.tom.experiments.reference.run import ReferenceSettings, Trial, config_json, planned_trials, run
from otherminds.tom.llm.client import GenerationSettings

ROLES = {role.name.lower(): (role,) for role in Role} | {"both": tuple(Role)}
DEFAULT_ITEMS = 10
"""Of a set of the catalogue."""


def run_reference(
    *,
    model: Sequence[str],
    base_url: str | None,
    role: str,
    item_set: str | None,
    items: int | None,
    source: str | None,
    samples: int,
    elicitation: str,
    seed: int,
    generation: GenerationSettings,
    max_attempts: int,
    mind_specs: Sequence[str],
    lapse: float,
    out: str | None,
    as_json: bool,
    dry_run: bool,
) -> bool:
    """`otherminds run reference`. Returns whether an answer failed.

    Raises: a ValueError for what the user can mend, before anything is asked or written.
    """
    check_count("--max-attempts", max_attempts)
    check_lapse(lapse)
    if source is not None and item_set is not None:
        raise ValueError(f"--set {item_set}: --from {source} says already what is asked about; leave one out")
    if not model and base_url is None and local_model_installed():
        model = (LOCAL_MODEL,)
    minds = minds_of(mind_specs)
    settings = ReferenceSettings(
        models=tuple(dict.fromkeys(model)),
        methods=tuple(dict.fromkeys(filter(None, map(str.strip, elicitation.split(","))))),
        roles=ROLES[role],
        source=None if source is None else Path(source),
        items=DEFAULT_ITEMS if items is None and source is None else items,
        samples=samples,
        seed=seed,
        base_url=base_url,
        generation=generation,
        max_attempts=max_attempts,
    )
    settings = settings if item_set is None else replace(settings, item_set=item_set)
    folder = Path(out or f"runs/reference-{digest(settings)}")
    check_folder(folder)
    trials = planned_trials(settings)
    if dry_run:
        once = all(trial.asked.method in ("logprobs", "sampling") for trial in trials)
        show_estimate(
            partial(run, folder / LOG, settings),
            lambda trial: (trial.asked.agent, trial.role, len(trial.item.texts), len(trial.item.words)),
            replace(settings, max_attempts=1) if once else settings,
            as_json=as_json,
        )
        return False
    with progress_bar("asking", len(trials)) as advance:
        finished = asyncio.run(
            run(
                folder / LOG,
                settings,
                on_start=lambda: announce(trials, folder, as_json),
                on_game=lambda _: advance(),
            )
        )
    print_finished(finished, "answers were in the log already and were not asked for again", err=as_json)
    report([folder / LOG], folder, minds, lapse, as_json=as_json)
    if finished.failed_games:
        told = f"{finished.failed_games} of {finished.games} answers failed."
        click.secho(told, fg="yellow", err=as_json)
    return bool(finished.failed_games)


def announce(trials: Sequence[Trial], folder: Path, as_json: bool) -> None:
    """What is asked of whom, before it begins."""
    roles = list(dict.fromkeys(trial.role for trial in trials))
    items = [
        f"{len({trial.called for trial in trials if trial.role == role})} as {role.name.lower()}" for role in roles
    ]
    samples = max(trial.sample for trial in trials) + 1
    lines = [
        f"Reference game: {len(trials):,} questions",
        f"  models     {', '.join(dict.fromkeys(trial.asked.agent for trial in trials))}",
        f"  items      {', '.join(items)}, each in {samples} order{'s' * (samples > 1)}",
        f"  log        {folder / LOG}",
    ]
    for line in lines:
        click.echo(line, err=as_json)


def digest(settings: ReferenceSettings) -> str:
    """Eight hexadecimal digits that tell these settings from others."""
    return hashlib.sha256(json.dumps(deciding(config_json(settings))).encode()).hexdigest()[:8]
