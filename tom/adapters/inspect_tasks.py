"""The theory-of-mind tasks, and the reference game, as tasks of inspect-ai: `inspect eval otherminds/false_belief`.

Prompts, readers, scores and their denominators are those of `otherminds ask`: one sample is one turn of a recorded game
(or one question of the reference game), its solver asks the questions out of context, and the metric sums up over games
as the published benchmark does. A failed answer is no success and stays in the denominator. A call that brings no
answer at all is inspect's business (--fail-on-error, --max-retries).

Where inspect-ai is missing this cannot be imported: pip install "otherminds[inspect]".
"""

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from otherminds.games.reference.items import KINDS
from otherminds.games.reference.rules import Role
from otherminds.games.reference.text import question as reference_question
from otherminds.tom.adapters.inspect_client import MESSAGES, InspectClient
from otherminds.tom.agents.asking import SEEDS, ask
from otherminds.tom.agents.base import Decision
from otherminds.tom.experiments import journal, records
from otherminds.tom.experiments.reference import asked as reference
from otherminds.tom.experiments.reference.records import options, shown_item
from otherminds.tom.experiments.reference.run import ReferenceSettings, planned_trials
from otherminds.tom.experiments.tasks.records import Sheet, moments, turns_of
from otherminds.tom.experiments.tasks.run import AskingSettings, planned_tasks
from otherminds.tom.experiments.tasks.score import scored
from otherminds.tom.llm.client import GenerationSettings
from otherminds.tom.tasks.catalogue import TASKS
from otherminds.tom.tasks.task import Answer, Moment, messages

ANSWERS, ERRORS, BEGUN, TURN = "answers", "errors", "begun", "turn"
WHOEVER = "inspect/model"
"""Stands for the model, which inspect names."""


@task
def false_belief(log: str, turns: int | None = None, after_loss: bool = False, max_attempts: int = 2) -> Task:
    """Representational change and false belief, asked of interceptors."""
    return _of_recording("false-belief", log, turns, after_loss, max_attempts)


@task
def perspective_taking(log: str, turns: int | None = None, after_loss: bool = False, max_attempts: int = 2) -> Task:
    """What will the interceptor guess? Asked of encoders, plainly and with what the interceptor cannot know."""
    return _of_recording("perspective-taking", log, turns, after_loss, max_attempts)


@task
def understanding(log: str, turns: int | None = None, after_loss: bool = False, max_attempts: int = 2) -> Task:
    """Will the decoder find the code? Asked of encoders."""
    return _of_recording("understanding", log, turns, after_loss, max_attempts)


def _of_recording(name: str, log: str, turns: int | None, after_loss: bool, max_attempts: int) -> Task:
    """log: of Decrypto.   turns: of every game, from the first.   max_attempts: answers before a question fails."""
    return Task(
        dataset=MemoryDataset(recorded_samples(name, Path(log), turns, after_loss), name=Path(log).name),
        solver=questions(max_attempts),
        scorer=measures(),
    )


def recorded_samples(name: str, log: Path, turns: int | None = None, after_loss: bool = False) -> list[Sample]:
    """A sample for every turn of a log of Decrypto at which a task is asked.

    Raises: ConfigError, JournalError for what cannot be asked about.
    """
    settings = AskingSettings((TASKS[name],), (WHOEVER,), most_turns=turns, after_loss=after_loss)
    return [
        Sample(
            input=_shown(messages(plan.task, plan.task.questions[0], moment)),
            id=f"{plan.recorded} / turn {moment.turn + 1}",
            metadata={BEGUN: plan.begun.model_dump(mode="json"), TURN: moment.turn},
        )
        for plan in planned_tasks(records.read_log(log), settings)
        for moment in plan.moments
    ]


def _shown(chat: Sequence[Mapping[str, str]]) -> list[Any]:
    return [MESSAGES[message["role"]](content=message["content"]) for message in chat]


def moment_of(metadata: Mapping[str, Any]) -> tuple[journal.GameBegun, Moment]:
    """The recorded game of a sample, and the turn that it is about."""
    begun = journal.GameBegun(**metadata[BEGUN])
    every = moments(begun.keywords or (), turns_of(begun), len(begun.codes or ()), TASKS[begun.deal["task"]])
    return begun, next(moment for moment in every if moment.turn == metadata[TURN])


@solver
def questions(max_attempts: int = 2) -> Solver:
    """Asks every question of a task about the sample's turn, each by itself, and keeps the answers in the store."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        begun, moment = moment_of(state.metadata)
        own = TASKS[begun.deal["task"]]
        client, answers, errors = InspectClient(get_model()), {}, {}
        for number, question in enumerate(own.questions):
            decision: Decision = await ask(
                client,
                messages(own, question, moment),
                find=question.find,
                schema=question.schema,
                max_attempts=max_attempts,
                seed=_seed(state, number),
            )
            answer: Answer | None = decision.action
            answers[question.name] = None if answer is None else [answer.action, answer.probability]
            if answer is None:
                errors[question.name] = f"{decision.failure}: {decision.attempts[-1].error}"
        return _finished(state, client, answers, errors)

    return solve


def _seed(state: TaskState, number: int) -> int:
    """Of sampling: another for every turn, epoch and question."""
    return zlib.crc32(f"{state.sample_id}\n{state.epoch}\n{number}".encode()) >> 1


def _finished(state: TaskState, client: InspectClient, answers: Any, errors: Any) -> TaskState:
    """The state with the answers in its store, and all that was said as its messages."""
    state.store.set(ANSWERS, answers)
    state.store.set(ERRORS, errors)
    state.messages = client.transcript
    if client.output is not None:
        state.output = client.output
    return state


@metric(scores="unreduced")
def over_games() -> Metric:
    """Every measure as the published benchmark has it, and its turns.

    `MEASURE`: the ratio of each game, then the mean over the games that have one. `MEASURE, turns` and `MEASURE, of`:
    numerator and denominator over all turns; `failed` and `questions`: answers. Epochs of a game count as one game.
    """

    def summed(scores: list[SampleScore]) -> dict[str, float | None]:
        sheets = sheets_of(scores)
        if not sheets:
            return {}
        rows = scored(TASKS[sheets[0].task], WHOEVER, sheets)
        found: dict[str, float | None] = {}
        for row in rows:
            found[row.measure] = None if np.isnan(row.mean) else row.mean
            found |= {f"{row.measure}, turns": row.total, f"{row.measure}, of": row.count}
        return found | {"failed": rows[0].failed, "questions": rows[0].questions}

    return summed


def sheets_of(scores: Sequence[SampleScore]) -> list[Sheet]:
    """The scored turns of every recorded game, as `otherminds ask` scores them."""
    games: dict[str, tuple[journal.GameBegun, list[Moment], list[dict[str, Answer | None]]]] = {}
    for each in scores:
        begun, moment = moment_of(each.sample_metadata or {})
        _, about, answers = games.setdefault(begun.game_id, (begun, [], []))
        about.append(moment)
        answers.append(read_answers((each.score.metadata or {})[ANSWERS]))
    return [
        Sheet(
            begun.deal["task"],
            WHOEVER,
            begun.deal["recorded"],
            begun.deal["players"],
            begun.seed,
            tuple(about),
            tuple(answers),
            sum(answer is None for each in answers for answer in each.values()),
        )
        for begun, about, answers in games.values()
    ]


def read_answers(stored: Mapping[str, Any]) -> dict[str, Answer | None]:
    """The answers of a sample, as its store holds them."""
    return {
        name: None if kept is None else Answer(tuple(kept[0]) if isinstance(kept[0], list) else kept[0], kept[1])
        for name, kept in stored.items()
    }


@scorer(metrics=[over_games()])
def measures() -> Scorer:
    """The measures of a turn, those that count there."""

    async def score(state: TaskState, target: Target) -> Score:
        del target
        begun, moment = moment_of(state.metadata)
        stored = state.store.get(ANSWERS)
        answers = read_answers(stored)
        values = {name: measure(moment, answers) for name, measure in TASKS[begun.deal["task"]].measures.items()}
        return Score(value=values, answer=str(stored), metadata={ANSWERS: stored, **_explained(state)})

    return score


def _explained(state: TaskState) -> dict[str, Any]:
    errors = state.store.get(ERRORS)
    return {ERRORS: errors} if errors else {}


# --- the reference game ----------------------------------------------------------------------------------------------


@task
def reference_game(
    role: str = "listener",
    item_set: str = "simple-implicature",
    items: int | None = None,
    source: str | None = None,
    samples: int = 1,
    elicitation: str = "choice",
    seed: int = 0,
    max_attempts: int = 2,
) -> Task:
    """Speaker or listener of the reference game, on items that are drawn, or on those of a recording.

    source: a log of reference games, or a CSV file of items, in place of a set.   items: how many; 10, of a source all.
    samples: orders in which every question is asked.   elicitation: choice, logprobs, stated or sampling.
    """
    settings = ReferenceSettings(
        (WHOEVER,),
        (elicitation,),
        (Role[role.upper()],),
        item_set=item_set,
        items=10 if items is None and source is None else items,
        source=None if source is None else Path(source),
        samples=samples,
        seed=seed,
    )
    asked = [
        Sample(
            input=_shown(reference_question(shown_item(trial.deal.deal), trial.role)),
            id=trial.game_id.removeprefix(f"{trial.asked.agent} / "),
            metadata={BEGUN: trial.deal.model_dump(mode="json"), "seed": trial.sampler_seed},
        )
        for trial in planned_trials(settings)
    ]
    how = reference_answer(elicitation, max_attempts)
    return Task(dataset=MemoryDataset(asked), solver=how, scorer=kind_of_answer())


@solver
def reference_answer(elicitation: str = "choice", max_attempts: int = 2) -> Solver:
    """Asks the sample's question, and keeps the probabilities of the options in the store: 1 of the one chosen."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        begun = journal.GameBegun(**state.metadata[BEGUN])
        (name,) = begun.agents
        (how,) = reference.asked_models([WHOEVER], [elicitation], GenerationSettings())
        client = InspectClient(get_model())
        seed = (state.metadata["seed"] + state.epoch) % SEEDS
        given = await reference.answer(client, shown_item(begun.deal), Role[name.upper()], how, max_attempts, seed)
        decision = given.decision
        failed = decision.action is None
        shares = None if failed else decision.probabilities or {decision.action: 1.0}
        errors = {name: f"{decision.failure}: {decision.attempts[-1].error}"} if failed and decision.attempts else {}
        return _finished(state, client, shares, errors)

    return solve


@metric
def mean_share() -> Metric:
    """The mean over questions; a failed answer has 0 everywhere."""

    def mean(scores: list[SampleScore]) -> dict[str, float | None]:
        names = dict.fromkeys(name for each in scores for name in each.score.as_dict())
        return {name: float(np.mean([each.score.as_dict().get(name) or 0.0 for each in scores])) for name in names}

    return mean


@scorer(metrics=[mean_share()])
def kind_of_answer() -> Scorer:
    """How probable target, competitor and distractor are; where kinds have no names, whether the object is meant."""

    async def score(state: TaskState, target: Target) -> Score:
        del target
        begun = journal.GameBegun(**state.metadata[BEGUN])
        (name,) = begun.agents
        item, shares = shown_item(begun.deal), state.store.get(ANSWERS)
        role = Role[name.upper()]
        kinds = item.word_kinds if role == Role.SPEAKER else item.object_kinds
        answers = options(item, role)
        if not kinds:  # of a speaker's words nothing is known then but whether they are true
            good = item.truth[:, item.target] if role == Role.SPEAKER else np.arange(len(answers)) == item.target
            kinds = tuple(KINDS[0] if each else KINDS[-1] for each in good)
        values = {kind: 0.0 for kind in dict.fromkeys(kinds)} | {"failed": float(shares is None)}
        for answer, kind in zip(answers, kinds, strict=True):
            values[kind] += (shares or {}).get(answer, 0.0)
        return Score(value=values, answer=str(shares), metadata=_explained(state) or None)

    return score
