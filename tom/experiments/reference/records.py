"""Logs of reference games: the deal as JSON and back, what a line may hold, and every agent's decisions as arrays."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from otherminds.games.protocol import NO_ANSWER
from otherminds.games.reference.items import KINDS, Item, rearranged, stands_in, truths
from otherminds.games.reference.rules import (
    Context,
    Ending,
    Observation,
    Role,
    State,
    begin,
    contexts,
    observe,
    step,
)
from otherminds.tom.experiments import journal, logs
from otherminds.tom.experiments.logs import Log, LogRules, Made

CONDITIONS = {Role.SPEAKER: "production", Role.LISTENER: "interpretation"}
"""What an experiment calls the questions to each role."""
SUBJECT, SHOWN = "subject", "shown"
"""Fields of a deal that do not tell what is asked: of whom, and in which order."""


class Order(NamedTuple):
    """The order in which an item is shown: the place of each object and word in the item, by the place shown."""

    objects: tuple[int, ...]
    words: tuple[int, ...]


def deal_json(
    item: Item, role: Role | None = None, subject: str | None = None, order: Order | None = None
) -> dict[str, Any]:
    """What is dealt, for the log. role: who is asked, where it is one role alone; None: both play.

    order: in which the item is shown, where that is another than its own.
    """
    listens = role == Role.LISTENER
    return {
        "item": item.name,
        "objects": [list(features) for features in item.objects],
        "texts": list(item.texts),
        "words": list(item.words),
        "target": item.referent if listens else item.target,
        "word": item.words[item.heard] if listens else None,  # given to the listener, where nobody says it
        "word_kinds": [] if listens else list(item.word_kinds),
        "object_kinds": list(item.object_kinds) if listens else [],
        **({} if subject is None else {SUBJECT: subject}),
        **({} if order is None else {SHOWN: {name: list(places) for name, places in order._asdict().items()}}),
    }


def order_of(deal: Mapping[str, Any]) -> Order | None:
    """The order in which a deal's item was shown; None where the deal does not say.

    Raises: ValueError for what is no order of this item.
    """
    if SHOWN not in deal:
        return None
    try:
        order = Order(*(tuple(deal[SHOWN][name]) for name in Order._fields))
        rearranged(item_of(deal), *order)
    except (KeyError, TypeError):
        raise ValueError(f"shown={deal[SHOWN]!r}: it needs an order of objects, and one of words") from None
    return order


def shown_item(deal: Mapping[str, Any]) -> Item:
    """The item of a deal as it was shown."""
    order = order_of(deal)
    return item_of(deal) if order is None else rearranged(item_of(deal), *order)


def item_of(deal: Mapping[str, Any]) -> Item:
    """The item that was dealt.

    Raises: ValueError for what is no item.
    """
    return _item(_key(deal))


def _key(deal: Mapping[str, Any]) -> str:
    """The same for everybody who is asked the same."""
    return json.dumps({name: value for name, value in deal.items() if name not in (SUBJECT, SHOWN)}, sort_keys=True)


@lru_cache(maxsize=4096)
def _item(key: str) -> Item:
    deal = json.loads(key)
    try:
        words, target, word = tuple(map(str, deal["words"])), deal["target"], deal["word"]
        if type(target) is not int:
            raise ValueError(f"the target {target!r} is no place of an object")
        if word is not None and word not in words:
            raise ValueError(f"the word {word!r} is not among {', '.join(words)}")
        return Item(
            objects=tuple(tuple(map(str, features)) for features in deal["objects"]),
            words=words,
            target=target,
            heard=0 if word is None else words.index(word),
            referent=target,
            word_kinds=tuple(map(str, deal["word_kinds"])),
            object_kinds=tuple(map(str, deal["object_kinds"])),
            texts=tuple(map(str, deal["texts"])),
            name=str(deal["item"]),
        )
    except KeyError as error:
        raise ValueError(f"the deal has no {error}") from None
    except TypeError as error:
        raise ValueError(f"the deal is no item ({error})") from None


def observed(deal: journal.GameBegun, role: Role, made: Made | None = None) -> dict[str, Any]:
    """What a role knows at its decision, for the log, in the order shown. made: the decisions before it."""
    dealt, shown = deal.deal, shown_item(deal.deal)
    if role == Role.SPEAKER:
        known = {"target": dealt["texts"][dealt["target"]]}
    else:
        known = {"word": made[0, Role.SPEAKER].action if "speaker" in deal.agents else dealt["word"]}
    return known | {"objects": list(shown.texts), "words": list(shown.words)}


def softmax(scores: Mapping[str, float]) -> dict[str, float]:
    """The probabilities that finite scores (nats, up to a constant) stand for."""
    top = max(scores.values())
    total = sum(math.exp(score - top) for score in scores.values())
    return {option: math.exp(score - top) / total for option, score in scores.items()}


def options(item: Item, role: Role) -> tuple[str, ...]:
    """What a role may answer, as it stands in the log: the words, or the objects' texts."""
    return item.words if role == Role.SPEAKER else item.texts


def _check_deal(line: journal.GameBegun) -> None:
    roles = {role.name.lower() for role in Role}
    if not line.agents or not set(line.agents) <= roles:
        raise ValueError(f"game {line.game_id!r}: the roles are {', '.join(line.agents) or 'none'}")
    deal = line.deal or {}
    try:
        _check_truth(item_of(deal))
        order_of(deal)
    except ValueError as error:
        raise ValueError(f"game {line.game_id!r}: {error}") from None
    if ("speaker" in line.agents) == (deal["word"] is not None):
        raise ValueError(f"game {line.game_id!r}: a word is given exactly where no speaker says it")


@lru_cache(maxsize=4096)
def _check_truth(item: Item) -> None:
    """Raises: ValueError for an object whose features are not what stands in its text."""
    for features, text in zip(item.objects, item.texts, strict=True):
        said = {word for word in (*features, *item.words) if stands_in(word, text)}
        if wrong := sorted(set(features) - said) or sorted(said - set(features)):
            raise ValueError(
                f"the object {text!r} has the features {', '.join(features)}, but {wrong[0]!r} "
                f"{'stands' if wrong[0] in said else 'does not stand'} in its text"
            )


def _check_decision(line: journal.Decision, deal: journal.GameBegun, made: Made) -> None:
    who, role = f"the {line.role} of game {line.game_id!r}", Role[line.role.upper()]
    waits = role == Role.LISTENER and "speaker" in deal.agents and (0, Role.SPEAKER) not in made
    if line.turn != 0 or waits:
        raise ValueError(f"{who} decides in turn {line.turn}, which is not played yet")
    knows = observed(deal, role, made)
    if line.observation != knows:
        names = [*knows, *line.observation]
        wrong = next(name for name in names if knows.get(name) != line.observation.get(name, math.nan))
        raise ValueError(
            f"{who} is recorded as knowing {wrong} {line.observation.get(wrong)!r}, but the game gives "
            f"{knows.get(wrong)!r}"
        )
    answers = options(item_of(deal.deal), role)
    if line.action is not None and line.action not in answers:
        raise ValueError(f"{who} answers {line.action!r}, which is none of the options")
    for given in (line.probabilities, line.scores):
        if given is not None and not given.keys() <= set(answers):
            raise ValueError(f"{who}: {', '.join(given)} are not all among the options")
    if line.scores is not None:
        if not line.scores or not all(map(math.isfinite, line.scores.values())):
            raise ValueError(f"{who}: the scores are not all finite numbers")
        stated, due = line.probabilities or {}, softmax(line.scores)
        if wrong := [text for text in due if abs(stated.get(text, math.inf) - due[text]) > 1e-4]:
            raise ValueError(
                f"{who} states {stated.get(wrong[0])} for {wrong[0]!r}, but by its scores that is {due[wrong[0]]:.4g}"
            )


MISSING = "missing"
"""By which a statement tells the probability that fell on no option."""
REFERENCE = LogRules("reference", Role, Ending, _check_deal, _check_decision)


def read_log(path: Path, on_line: Callable[[], None] | None = None) -> Log:
    """Reads the log of reference games; see `logs.read_log`."""
    return logs.read_log(path, REFERENCE, on_line)


def replay(deal: journal.GameBegun, made: Made) -> State:
    """Steps a recorded game by the rules, as far as it goes. A word that is given counts as said."""
    item = item_of(deal.deal)
    actions = {}
    for role in Role:
        line = made.get((0, role))
        said = None if line is None else line.action
        actions[role] = np.int32(NO_ANSWER if said is None else options(item, role).index(said))
    given = "speaker" not in deal.agents
    context = Context(*(leaf[0] for leaf in truths((item,))))
    word = np.int32(item.heard) if given else actions[Role.SPEAKER]
    begun, heard, picked = _stepped(context, np.int32(item.target), word, actions[Role.LISTENER])
    if (0, Role.LISTENER) in made:
        return picked
    return heard if given or (0, Role.SPEAKER) in made else begun


@jax.jit
def _stepped(context: Context, target: Any, word: Any, pick: Any) -> tuple[State, State, State]:
    """The game before anything is said, after the word, and after the pick."""
    begun = begin(context, target)
    heard, _ = step(None, begun, {Role.SPEAKER: word})
    picked, _ = step(None, heard, {Role.LISTENER: pick})
    return begun, heard, picked


# --- decisions as arrays --------------------------------------------------------------------------------------------


class Questions(NamedTuple):
    """The Q different questions that a role was asked in some logs: A options each, told apart as K kinds."""

    role: Role
    names: tuple[str, ...]  # [Q] items
    kinds: tuple[str, ...]  # [K]
    named: bool  # whether kinds mean the same in every question; else each option is one, by its place
    options: tuple[tuple[str, ...], ...]  # [Q] of A at most
    observations: Observation  # [Q]
    actions: Bool[np.ndarray, "Q K A"]  # the options of each kind
    targets: tuple[int, ...]  # [Q] the kind of the object that a listener was to find; -1 for words


@dataclass(frozen=True)
class Answers:
    """The D decisions of one agent in a role."""

    agent: str
    questions: Questions
    games: tuple[str, ...]  # [D] ids
    subjects: tuple[str, ...]  # [D] "" where the log names none
    said: tuple[str | None, ...]  # [D] None: no answer
    question: Int[np.ndarray, " D"]
    taken: Int[np.ndarray, " D"]  # kind; NO_ANSWER for a failed one
    weights: Float[np.ndarray, "D K"]  # stated probabilities, else 1 for the kind taken; all 0 for a failed answer
    log_scores: Float[np.ndarray, "Q A"] | None  # of who scored options or states probabilities, nats; NaN: not asked
    mass: Float[np.ndarray, "D A"]  # as the weights, but of every option
    stated: Bool[np.ndarray, " D"]  # the weights are stated probabilities
    places: Int[np.ndarray, "D A"]  # where each option was shown, 0 for the first; -1 where the log does not say
    missing: Float[np.ndarray, " D"]  # probability that fell on no option before the rest was normalised; NaN: unknown

    @property
    def answered(self) -> Bool[np.ndarray, " D"]:
        """[D] decisions that did not fail."""
        return self.taken != NO_ANSWER

    @property
    def counts(self) -> Float[np.ndarray, "Q K"]:
        """[Q, K] how often each kind was taken; stated probabilities count as such."""
        counts = np.zeros(self.questions.actions.shape[:2])
        np.add.at(counts, self.question, self.weights)
        return counts

    @property
    def failed(self) -> Float[np.ndarray, " Q"]:
        """[Q] answers that failed."""
        return np.bincount(self.question[~self.answered], minlength=len(self.questions.names)).astype(float)


def read_answers(
    paths: Iterable[Path], every_option: bool = False, on_line: Callable[[], None] | None = None
) -> tuple[list[Answers], list[journal.RunBegun]]:
    """Every agent's decisions in every role, in the order of the logs, and the logs' first lines.

    every_option: tell every option apart. Else options of one kind count as one (a word is the target word, the
        competitor or a distractor), except in a role in which some item names no kinds.
    on_line: called after each line that is read, for a progress bar.
    What a language model said of the same question, in the same order, in several logs counts once.
    Raises: JournalError for what cannot be read, a game that is in two logs, a language model that scored a question
        in two ways, or logs without a decision.
    """
    paths = list(paths)
    asked: dict[Role, list[tuple[journal.GameBegun, journal.Decision]]] = {role: [] for role in Role}
    begun: list[journal.RunBegun] = []
    seen: set[str] = set()
    for path in paths:
        log = read_log(path, on_line)
        if twice := seen & log.deals.keys():
            raise journal.JournalError(
                f"{path}: game {min(twice)!r} is in another of the logs too; compare these logs one by one, or import "
                "one of them under another --name"
            )
        seen |= log.deals.keys()
        begun += [log.begun] if log.begun else []
        for game_id, made in log.decisions.items():
            for (_, role), line in made.items():
                spoken = role == Role.SPEAKER or "speaker" not in log.deals[game_id].agents
                if spoken or made[0, Role.SPEAKER].action is not None:  # without a word there was nothing to answer
                    asked[role].append((_as_heard(log.deals[game_id], made, role), line))
    if not any(asked.values()):
        raise journal.JournalError(f"{', '.join(map(str, paths))}: no decision in this log; nothing was played yet")
    return [answers for role in Role if asked[role] for answers in _answers(role, asked[role], every_option)], begun


def questions_of(path: Path) -> dict[Role, tuple[Item, ...]]:
    """What a log of reference games asks of each role, each question once, in its order.

    Raises: JournalError for what cannot be read.
    """
    log = read_log(path)
    found: dict[Role, dict[str, None]] = {role: {} for role in Role}
    for game_id, made in log.decisions.items():
        for role in (Role[name.upper()] for name in log.deals[game_id].agents):
            spoken = role == Role.SPEAKER or "speaker" not in log.deals[game_id].agents
            if spoken or ((0, Role.SPEAKER) in made and made[0, Role.SPEAKER].action is not None):
                found[role][_key(_as_heard(log.deals[game_id], made, role).deal)] = None
    return {role: tuple(map(_item, keys)) for role, keys in found.items()}


def _as_heard(deal: journal.GameBegun, made: Made, role: Role) -> journal.GameBegun:
    """The deal with the word that the listener heard, whoever said it."""
    if role == Role.SPEAKER or "speaker" not in deal.agents:
        return deal
    return deal.model_copy(update={"deal": {**deal.deal, "word": made[0, Role.SPEAKER].action}})


def _answers(
    role: Role, asked: Sequence[tuple[journal.GameBegun, journal.Decision]], every_option: bool
) -> list[Answers]:
    keys = [_key(deal.deal) for deal, _ in asked]
    place = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    items = [_item(key) for key in place]
    questions = _questions(role, items, every_option)
    kind_of = [
        [int(np.flatnonzero(questions.actions[number, :, a])[0]) for a in range(len(questions.options[number]))]
        for number in range(len(items))
    ]
    found = []
    for agent, own in _of_each_agent(asked, keys).items():
        question = np.array([place[keys[n]] for n in own])
        shape = len(own), questions.actions.shape[2]
        taken, places = np.full(len(own), NO_ANSWER), np.full(shape, -1)
        mass, stated = np.zeros(shape), np.zeros(len(own), bool)
        missing = np.full(len(own), np.nan)
        scored: dict[int, list[np.ndarray]] = {}
        for d, n in enumerate(own):
            (deal, line), q = asked[n], question[d]
            index = {text: a for a, text in enumerate(questions.options[q])}
            if SHOWN in deal.deal:
                for shown, text in enumerate(options(shown_item(deal.deal), role)):
                    places[d, index[text]] = shown
            if line.scores:
                scored.setdefault(int(q), []).append(_by_place(line.scores, index))
            if line.action is None:
                continue
            taken[d] = kind_of[q][index[line.action]]
            stated[d] = line.probabilities is not None
            mass[d, : len(index)] = _by_place(line.probabilities or {line.action: 1.0}, index, 0.0)
            missing[d] = (line.statement or {}).get(MISSING, {}).get(MISSING, np.nan)
        found.append(
            Answers(
                agent,
                questions,
                tuple(asked[n][1].game_id for n in own),
                tuple(str(asked[n][0].deal.get(SUBJECT, "")) for n in own),
                tuple(asked[n][1].action for n in own),
                question,
                taken,
                np.einsum("dka,da->dk", questions.actions[question].astype(float), mass),
                _mean_scores(scored, questions) if scored else _log_means(question, mass, stated, questions),
                mass,
                stated,
                places,
                missing,
            )
        )
    return found


def _by_place(values: Mapping[str, float], index: Mapping[str, int], other: float = math.nan) -> np.ndarray:
    """Values by option as an array by place. other: of options that are not named."""
    found = np.full(len(index), other)
    for text, value in values.items():
        found[index[text]] = value
    return found


def _mean_scores(scored: Mapping[int, Sequence[np.ndarray]], questions: Questions) -> Float[np.ndarray, "Q A"]:
    """A language model's scores of every question; of several orders the mean of the log-probabilities.

    So what an order adds to the log-probability of a place cancels where every option stood in every place as often.
    """
    found = np.full(questions.actions.shape[::2], np.nan)
    for q, tables in scored.items():
        if len(tables) > 1:
            tables = [table - np.logaddexp.reduce(table) for table in tables]
        found[q, : len(tables[0])] = np.mean(tables, axis=0)
    return found


def _log_means(
    question: Int[np.ndarray, " D"],
    mass: Float[np.ndarray, "D A"],
    stated: Bool[np.ndarray, " D"],
    questions: Questions,
) -> Float[np.ndarray, "Q A"] | None:
    """Logs of the mean of what is stated of every question, nats; None where nothing is."""
    if not stated.any():
        return None
    count = np.bincount(question[stated], minlength=len(questions.names))
    total = np.zeros(questions.actions.shape[::2])
    np.add.at(total, question[stated], mass[stated])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(total / count[:, None])


def _of_each_agent(
    asked: Sequence[tuple[journal.GameBegun, journal.Decision]], keys: Sequence[str]
) -> dict[str, list[int]]:
    """Every agent's decisions, by their places; the same scores of the same question, in several logs, only once."""
    own: dict[str, list[int]] = {}
    scored: dict[tuple[str, str, Order | None], dict[str, float]] = {}
    for n, ((deal, line), key) in enumerate(zip(asked, keys, strict=True)):
        places = own.setdefault(line.agent, [])
        if line.scores is not None:
            before = scored.setdefault((line.agent, key, order_of(deal.deal)), line.scores)
            if before != line.scores:
                raise journal.JournalError(
                    f"game {deal.game_id!r}: {line.agent!r} scored the same question otherwise in another game; give "
                    "the two files of scores different names"
                )
            if before is not line.scores:
                continue
        places.append(n)
    return own


def _questions(role: Role, items: Sequence[Item], every_option: bool) -> Questions:
    named = [item.word_kinds if role == Role.SPEAKER else item.object_kinds for item in items]
    answers = [options(item, role) for item in items]
    told = all(named) and not every_option
    if not told:
        named = [[f"option {number}" for number in range(1, len(own) + 1)] for own in answers]
    used = dict.fromkeys(kind for kinds in named for kind in kinds)
    kinds = tuple(sorted(used, key=lambda kind: KINDS.index(kind) if kind in KINDS else len(KINDS)))
    actions = np.zeros((len(items), len(kinds), max(map(len, answers))), bool)
    for q, own in enumerate(named):
        for a, kind in enumerate(own):
            actions[q, kinds.index(kind), a] = True
    table = contexts(items)

    def one(q: int) -> Observation:
        context = jax.tree.map(lambda leaf: leaf[q], table)
        state = begin(context, items[q].target, q)
        return observe(state._replace(word=jnp.int32(items[q].heard)), role)

    observations = jax.tree.map(lambda *leaves: jnp.stack(leaves), *map(one, range(len(items))))
    targets = [
        int(np.flatnonzero(actions[q, :, item.target])[0]) if role == Role.LISTENER else -1
        for q, item in enumerate(items)
    ]
    names = tuple(item.name for item in items)
    return Questions(role, names, kinds, told, tuple(answers), observations, actions, tuple(targets))
