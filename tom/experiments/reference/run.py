"""Asks language models the questions of reference games, and resumes after a kill (see `running`).

Every question is a game of its own with one role, as in the recordings of people: the speaker is to name an object, the
listener hears a word. It is asked `samples` times, each time in an order of its own: the first is drawn, each of the
others has everything moved on by a place. The orders are the same for every model.
"""

import hashlib
import time
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from otherminds.games.reference import text
from otherminds.games.reference.catalogue import items_of
from otherminds.games.reference.items import Item
from otherminds.games.reference.rules import Ending, Role
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.config import ConfigError
from otherminds.tom.experiments.csv_rows import RecordingError
from otherminds.tom.experiments.decrypto.settings import deciding, generation_json
from otherminds.tom.experiments.reference.asked import Asked, answer, asked_models
from otherminds.tom.experiments.reference.recordings import read_items
from otherminds.tom.experiments.reference.records import (
    CONDITIONS,
    REFERENCE,
    Order,
    deal_json,
    observed,
    questions_of,
    replay,
    shown_item,
)
from otherminds.tom.experiments.running import Asked as AskedModel
from otherminds.tom.experiments.running import (
    Finished,
    Session,
    begin_game,
    check_that_it_answers,
    header,
    how_it_came,
    read_past,
    run_games,
)
from otherminds.tom.llm.client import GenerationSettings
from otherminds.tom.llm.counting import Counted


@dataclass(frozen=True)
class ReferenceSettings:
    """What a run of the reference game is.

    models: as provider/name:option=value.   methods: of `asked.METHODS`, for models that name none.
    roles: who is asked.   item_set, items: of the catalogue, and how many of its items, from the first.
    source: in place of the catalogue a log of reference games, or a CSV file of items; `items` None: all of them.
    samples: orders in which every question is asked.   seed: of items, orders and sampling.
    max_attempts: answers before a choice, or stated probabilities, count as failed.
    """

    models: tuple[str, ...]
    methods: tuple[str, ...] = ("choice",)
    roles: tuple[Role, ...] = tuple(Role)
    item_set: str = "simple-implicature"
    items: int | None = 10
    source: Path | None = None
    samples: int = 1
    seed: int = 0
    base_url: str | None = None
    generation: GenerationSettings = field(default_factory=GenerationSettings)
    max_attempts: int = 2


@dataclass(frozen=True)
class Trial:
    """One question to one model, in one order. called: the item's name, told from those of others."""

    asked: Asked
    role: Role
    item: Item
    called: str
    sample: int
    seed: int

    @property
    def game_id(self) -> str:
        """Its name in the log."""
        question = f"item {self.called} / {CONDITIONS[self.role]}"
        return f"{self.asked.agent} / {question} / seed {self.seed} / sample {self.sample + 1}"

    @property
    def order(self) -> Order:
        """In which it is shown: the same for whoever is asked."""
        return order_of_sample(self.item, self.seed, self.sample)

    @property
    def sampler_seed(self) -> int:
        """The same for whoever is asked, whatever else is asked, and in whatever order."""
        return _hashed(self.seed, self.called, self.role.name, self.sample) >> 1

    @property
    def deal(self) -> journal.GameBegun:
        """What is dealt."""
        return journal.GameBegun(
            game_id=self.game_id,
            agents={self.role.name.lower(): self.asked.agent},
            seed=self.seed,
            episode=self.sample,
            deal=deal_json(self.item, self.role, order=self.order),
        )


def _hashed(*parts: Any) -> int:
    return zlib.crc32("\n".join(map(str, parts)).encode("utf-8", "backslashreplace"))


def order_of_sample(item: Item, seed: int, sample: int) -> Order:
    """An order that is drawn for the item, moved on by `sample` places.

    So with as many samples as options every option stands once in every place.
    """
    random = np.random.default_rng((seed, _hashed(item.name, *item.texts, *item.words)))
    places = [np.roll(random.permutation(size), -sample).tolist() for size in (len(item.texts), len(item.words))]
    return Order(*map(tuple, places))


def items_to_ask(settings: ReferenceSettings) -> dict[Role, tuple[Item, ...]]:
    """The items that each role is asked about.

    Raises: ConfigError, JournalError, RecordingError or another ValueError for what cannot be had.
    """
    if settings.items is not None and settings.items < 1:
        raise ConfigError(f"--items {settings.items}: at least 1")
    if settings.source is None and settings.items is None:
        raise ConfigError("--items: say how many of the set; only a recording has an end")
    if settings.source is None:
        found = dict.fromkeys(Role, items_of(settings.item_set, settings.items, settings.seed))
    elif settings.source.suffix == ".csv":
        found = dict.fromkeys(Role, tuple(each.item for each in read_items(settings.source).values()))
    else:
        found = questions_of(settings.source)
    asked = {role: found[role][: settings.items] for role in settings.roles}
    if not any(asked.values()):
        names = ", ".join(role.name.lower() for role in settings.roles)
        raise RecordingError(f"--from {settings.source}: no {names} was asked anything there")
    return {role: own for role, own in asked.items() if own}


def planned_trials(settings: ReferenceSettings) -> list[Trial]:
    """Everything that is asked: model by model, role by role, item by item.

    Raises: ConfigError for settings that cannot be; what `items_to_ask` raises.
    """
    if settings.samples < 1:
        raise ConfigError(f"--samples {settings.samples}: at least 1")
    if not settings.roles:
        raise ConfigError("--role: name speaker, listener, or both")
    models = asked_models(list(settings.models), list(settings.methods), settings.generation)
    asked = {role: list(zip(_names(own), own, strict=True)) for role, own in items_to_ask(settings).items()}
    return [
        Trial(model, role, item, name, sample, settings.seed)
        for model in models
        for role, own in asked.items()
        for name, item in own
        for sample in range(settings.samples)
    ]


def _names(items: Sequence[Item]) -> list[str]:
    """What items are called, each otherwise: a recording may ask two questions about one of them."""
    names = [item.name for item in items]
    before = [names[:place].count(name) for place, name in enumerate(names)]
    return [f"{name} ({count + 1})" if count else name for name, count in zip(names, before, strict=True)]


async def run(
    path: Path,
    settings: ReferenceSettings,
    *,
    on_start: Callable[[], None] | None = None,
    on_game: Callable[[Trial], None] | None = None,
    runner: Callable[..., Awaitable[Finished]] = run_games,
) -> Finished:
    """Asks every question that the log at `path` does not hold yet.

    on_start: called once everything is checked.   on_game: of every question that is answered.
    runner: what plays the games; a dry run (see `dry_run`) counts calls in its place.
    Raises: ConfigError, JournalError, RecordingError, ModelError before anything is asked; ModelError in the middle
        where no later call can succeed: the same call goes on from there.
    """
    trials = planned_trials(settings)
    items = list(dict.fromkeys(trial.item for trial in trials))
    begun = header("reference", config_json(settings), items_name(items))
    past = read_past(path, REFERENCE, identity(begun), identity)
    models: Mapping[str, AskedModel] = {
        trial.asked.agent: AskedModel(trial.asked.model, settings.base_url, trial.asked.generation)
        for trial in trials
        if trial.game_id not in past.over
    }

    async def play(session: Session, trial: Trial) -> int:
        return await _play(session, trial, settings.max_attempts)

    return await runner(path, past, begun, models, trials, play, on_start=on_start, on_game=on_game)


def config_json(settings: ReferenceSettings) -> dict[str, Any]:
    """The settings, for the first line of a log."""
    texts = (text.RULES, *text.ROLES.values(), *text.FORMS.values(), *text.QUESTIONS.values(), text.THINK)
    return {
        "models": list(settings.models),
        "elicitation": list(settings.methods),
        "roles": [role.name.lower() for role in settings.roles],
        "set": settings.item_set if settings.source is None else None,
        "items": settings.items,
        "from": None if settings.source is None else str(settings.source),
        "samples": settings.samples,
        "seed": settings.seed,
        "base_url": settings.base_url,
        "generation": generation_json(settings.generation),
        "max_attempts": settings.max_attempts,
        "texts": hashlib.sha256("\n".join(texts).encode()).hexdigest()[:8],
    }


def items_name(items: Sequence[Item]) -> str:
    """How many items, and what tells them from others."""
    digest = hashlib.sha256(repr(list(items)).encode()).hexdigest()
    return f"{len({item.name for item in items})} items sha256:{digest[:12]}"


def identity(begun: journal.RunBegun) -> dict[str, Any]:
    """What decides a run: its settings without the patience of calls and the path of a recording, and its items."""
    settings = {name: value for name, value in deciding(begun.config).items() if name != "from"}
    return settings | {"what is asked about": begun.vocabulary}


async def _play(session: Session, trial: Trial, max_attempts: int) -> int:
    """Asks one question, or takes it from the log. Returns 1 if the answer failed."""
    if trial.game_id in session.past.over:
        return session.past.over[trial.game_id].failed_answers
    deal = trial.deal
    begin_game(session, deal, "items or orders")
    place = (0, trial.role)
    line = session.past.decisions.get(trial.game_id, {}).get(place)
    if line is None:
        try:
            line = await _ask(session, trial, deal, max_attempts)
        except Counted:  # in a dry run nobody answers
            return 0
        session.writer.write(line)
    failed = int(line.action is None)
    ending = Ending(int(replay(deal, {place: line}).ending)).name.lower()
    session.writer.write(journal.GameOver(game_id=trial.game_id, ending=ending, turns=1, failed_answers=failed))
    return failed


async def _ask(session: Session, trial: Trial, deal: journal.GameBegun, max_attempts: int) -> journal.Decision:
    begun, client = time.perf_counter(), session.clients[trial.asked.agent]
    shown = shown_item(deal.deal)
    given = await answer(client, shown, trial.role, trial.asked, max_attempts, trial.sampler_seed)
    decision = given.decision
    if decision.failure == "call":
        await check_that_it_answers(client)
    return journal.Decision(
        game_id=trial.game_id,
        turn=0,
        role=trial.role.name.lower(),
        agent=trial.asked.agent,
        observation=observed(deal, trial.role),
        action=decision.action,
        log_probability=decision.log_probability,
        probabilities=decision.probabilities,
        scores=given.scores,
        statement=decision.statement,
        **how_it_came(decision, time.perf_counter() - begun),
    )
