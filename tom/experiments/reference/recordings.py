"""Other people's reference games into a log: items, people's choices, and scores that language models gave.

The files are CSV. Items: `trial` (the item's number), `objects` and `utterances` (joined by |), `trigger_object` (what
the speaker is to name), `trigger_word` (what the listener hears), and for every option what it is:
`production_target`, `production_competitor`, `production_distractor1` ... for the words, `interpretation_target` ...
for the objects. Choices: `subject`, `condition` (production or interpretation), `trial`, `response`. Scores:
`trial`, and `scores_` before the name of each option's column: log-probabilities in nats, up to a constant.
Tokens: `agent`, `option`, `tokens`, the number of tokens by which an option's score is divided.

A word is true of an object if it stands in the object's text, whole; it may be a phrase. Where the columns of a
condition tell only the target, or in production not even that, every option is a kind of its own; scores need them all.

What is none of an item's options is a failed answer; it stays in the log as it was.
"""

import csv
import datetime
import hashlib
import importlib.metadata
import math
import platform
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from otherminds.games.reference.items import Item, stands_in, text_tokens
from otherminds.games.reference.rules import Ending, Role
from otherminds.games.reference.text import object_named, read_word
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.csv_rows import RecordingError, csv_rows, short
from otherminds.tom.experiments.reference.records import CONDITIONS, deal_json, observed, options, replay, softmax

PEOPLE = "people"
ROLES = {condition: role for role, condition in CONDITIONS.items()}
GLUE = {"a", "an", "the", "with", "and", "of"}
"""Words in an object's text that name no feature."""
ITEM_COLUMNS = ("trial", "objects", "utterances", "trigger_object", "trigger_word", "interpretation_target")
CHOICE_COLUMNS = ("subject", "condition", "trial", "response")
TOKEN_COLUMNS = ("agent", "option", "tokens")
SHOWN = 3  # responses that are none of the options, of which a user is told


@dataclass(frozen=True)
class Recorded:
    """An item, and the name of each option in the files' columns, such as "distractor1", by place."""

    item: Item
    columns: dict[Role, tuple[str, ...]]  # empty where the file does not say what each option is


@dataclass(frozen=True)
class Imported:
    """What an import brought."""

    log: Path
    items: int
    people: int
    models: tuple[str, ...]
    decisions: int
    failed: int  # answers of people that are none of the options, and of models that did not score every option
    unscored: int  # those of models
    odd: tuple[str, ...]  # the first responses that are none of the options, with the numbers of their lines


def import_reference(
    items: Path,
    choices: Path,
    scores: Sequence[Path] = (),
    tokens: Path | None = None,
    *,
    log: Path,
    name: str = PEOPLE,
    on_decision: Callable[[], None] | None = None,
) -> Imported:
    """Writes the log of people who chose and of language models that scored the options of the same items.

    choices, scores, tokens: as the module says.   log: where it goes; there must be none yet.
    name: of the agent that the people are; logs of different names can be compared together.
    on_decision: called after each decision that is written, for a progress bar.
    Every decision is a game of its own with one role: `speaker` in production, `listener` in interpretation. People
    are one agent, each game with its subject; a model is called by its file, without "scores_". A model's stated
    probabilities are the softmax of its scores, its action is the option that it scored highest.
    Raises: RecordingError or JournalError in one line for what cannot be imported, before anything is written.
    """
    if not name.strip():
        raise RecordingError("--name: the people need one, such as people")
    if log.exists():
        raise journal.JournalError(journal.THERE_ALREADY.format(path=log))
    recorded = read_items(items)
    counts = {} if tokens is None else _read_tokens(tokens)
    sources = [items, choices, *scores, *([] if tokens is None else [tokens])]
    lines = list(_choices(choices, name, recorded, items))
    subjects = {deal.deal["subject"] for deal, _ in lines}
    models: dict[str, Path] = {}
    experiment = "" if name == PEOPLE else f" / {name}"
    for path in scores:
        model = path.stem.removeprefix("scores_")
        if not model or model == name or model in models:
            raise RecordingError(f"{path}: {model!r} is already called so; give every file of scores a name of its own")
        models[model] = path
        lines += _scores(path, model, experiment, recorded, items, counts.get(model))
    if unknown := counts.keys() - models.keys():
        raise RecordingError(f"{tokens}: agent {min(unknown)!r} has no file of scores; there are {', '.join(models)}")
    journal.write_whole(log, _whole(lines, sources, recorded, on_decision or (lambda: None)))
    failed = [(deal, decision) for deal, decision in lines if decision.action is None]
    odd = [f"line {deal.episode}: {short(made.attempts[0].text)}" for deal, made in failed if "subject" in deal.deal]
    counted = len(recorded), len(subjects), tuple(models), len(lines), len(failed), len(failed) - len(odd)
    return Imported(log, *counted, tuple(odd[:SHOWN]))


def read_items(path: Path) -> dict[str, Recorded]:
    """The items of a file, by number as it is written there.

    Raises: RecordingError.
    """
    found: dict[str, Recorded] = {}
    for number, row in csv_rows(path, ITEM_COLUMNS):
        where = f"{path}, line {number}"
        trial = row["trial"]
        if trial in found:
            raise RecordingError(f"{where}: trial {trial!r} is there twice")
        texts, words = row["objects"].split("|"), row["utterances"].split("|")
        try:
            features = tuple(_features(text, words) for text in texts)
            plain = Item(features, tuple(words), 0, 0, 0, texts=tuple(texts), name=trial)
            columns = {role: _option_columns(row, role, plain) for role in Role}
            kinds = {role: tuple(re.sub(r"\d+$", "", name) for name in columns[role]) for role in Role}
            item = Item(
                objects=plain.objects,
                words=plain.words,
                target=object_named(row["trigger_object"], plain),
                heard=read_word(row["trigger_word"], plain),
                referent=object_named(row["interpretation_target"], plain),
                word_kinds=kinds[Role.SPEAKER],
                object_kinds=kinds[Role.LISTENER],
                texts=plain.texts,
                name=trial,
            )
            named = row.get("production_target")
            _check_truth(item, read_word(named, plain) if named else None)
        except ValueError as error:
            raise RecordingError(f"{where}: {error}") from None
        found[trial] = Recorded(item, columns)
    return found


def write_items(path: Path, items: Sequence[Item]) -> None:
    """Writes generated items as such a file; each is called by its place. Texts must name the objects' features."""
    rows = []
    for number, item in enumerate(items):
        row = {
            "trial": number,
            "objects": "|".join(item.texts),
            "utterances": "|".join(item.words),
            "trigger_object": item.texts[item.target],
            "trigger_word": item.words[item.heard],
            "interpretation_target": item.texts[item.referent],
        }
        for role, kinds in ((Role.SPEAKER, item.word_kinds), (Role.LISTENER, item.object_kinds)):
            for place, (option, kind) in enumerate(zip(options(item, role) if kinds else (), kinds, strict=True)):
                number_of_kind = kinds[: place + 1].count(kind) if kinds.count(kind) > 1 else ""
                row[f"{CONDITIONS[role]}_{kind}{number_of_kind}"] = option
        rows.append(row)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)), restval="")
        writer.writeheader()
        writer.writerows(rows)


def _option_columns(row: dict[str, str], role: Role, item: Item) -> tuple[str, ...]:
    """The name of every option's column, without the condition before it; none if they tell at most the target."""
    condition, read = CONDITIONS[role], read_word if role == Role.SPEAKER else object_named
    names: dict[int, str] = {}
    for column, value in row.items():
        name = re.fullmatch(rf"{condition}_((?:target|competitor|distractor)\d*)", column)
        if name and value:
            place = read(value, item)
            if place in names:
                raise ValueError(f"{column} is {value!r}, which is also {condition}_{names[place]}")
            names[place] = name[1]
    if role == Role.LISTENER and "target" not in names.values():
        raise ValueError(f"column {condition}_target is missing or empty: it says which object was meant")
    if set(names.values()) <= {"target"}:
        return ()
    for place, option in enumerate(options(item, role)):
        if place not in names:
            raise ValueError(f"no column {condition}_... says what the option {option!r} is")
    if list(names.values()).count("target") != 1:
        raise ValueError(f"column {condition}_target is missing or empty")
    return tuple(names[place] for place in range(len(names)))


def _features(text: str, words: Sequence[str]) -> tuple[str, ...]:
    """What an object has: the words of its text, and those of the item's words that stand in it, phrases too."""
    plain = [token for token in text_tokens(text) if token not in GLUE and re.match(r"\w", token)]
    return tuple(dict.fromkeys([*plain, *(word for word in words if stands_in(word, text))]))


def _check_truth(item: Item, target_word: int | None) -> None:
    """Words must be true of what they are said of. target_word: the best name of the target, where one is known.

    Raises: ValueError for a word that is true of no object, a target word false of the target, or a word that is
        heard false of the object that is meant by it.
    """
    named = item.truth
    for word, own in zip(item.words, named, strict=True):
        if not own.any():
            raise ValueError(f"the word {word!r} is true of no object: it stands in none of {', '.join(item.texts)}")
    told = ("production_target", target_word, item.target), ("trigger_word", item.heard, item.referent)
    for column, word, thing in told:
        if word is not None and not named[word, thing]:
            raise ValueError(
                f"{column} {item.words[word]!r} is false of {item.texts[thing]!r}, which it is to name: it does not "
                "stand in its text"
            )


Line = tuple[journal.GameBegun, journal.Decision]


def _choices(path: Path, agent: str, recorded: dict[str, Recorded], items: Path) -> Iterable[Line]:
    seen: dict[str, int] = {}
    for number, row in csv_rows(path, CHOICE_COLUMNS):
        where = f"{path}, line {number}"
        if row["condition"] not in ROLES:
            raise RecordingError(f"{where}: condition {row['condition']!r}; there are {' and '.join(ROLES)}")
        if not row["subject"]:
            raise RecordingError(f"{where}: subject is empty")
        role, item = ROLES[row["condition"]], _item(row["trial"], recorded, items, where)
        attempts = []
        try:
            place = (read_word if role == Role.SPEAKER else object_named)(row["response"], item)
            action = options(item, role)[place]
        except ValueError as error:
            action, attempts = None, [journal.Attempt(text=row["response"], error=str(error))]
        game_id = f"{agent} / subject {row['subject']} / item {item.name} / {row['condition']}"
        if game_id in seen:
            raise RecordingError(f"{where}: {game_id} is recorded twice, first in line {seen[game_id]}")
        seen[game_id] = number
        deal = _deal(game_id, agent, role, item, number, row["subject"])
        yield deal, _decision(deal, role, action, attempts=attempts)


def _scores(
    path: Path, agent: str, experiment: str, recorded: dict[str, Recorded], items: Path, counts: dict[str, int] | None
) -> Iterable[Line]:
    for trial, each in recorded.items():
        for role in Role:
            if not each.columns[role]:
                raise RecordingError(
                    f"{items}: trial {trial!r} has no columns {CONDITIONS[role]}_..., which say what each option is; "
                    f"the scores in {path.name} need them"
                )
    wanted = dict.fromkeys(
        f"scores_{CONDITIONS[role]}_{name}"
        for each in recorded.values()
        for role in Role
        for name in each.columns[role]
    )
    seen = set()
    for number, row in csv_rows(path, ("trial", *wanted)):
        where = f"{path}, line {number}"
        item = _item(row["trial"], recorded, items, where)
        if row["trial"] in seen:
            raise RecordingError(f"{where}: trial {row['trial']!r} is there twice")
        seen.add(row["trial"])
        for role in Role:
            scores = {}
            names = recorded[row["trial"]].columns[role]
            for option, name in zip(options(item, role), names, strict=True):
                column = f"scores_{CONDITIONS[role]}_{name}"
                score = _number(row[column], f"{where}, {column}")
                if score is not None:
                    scores[option] = score / _tokens_of(option, counts, agent)
            game_id = f"{agent}{experiment} / item {item.name} / {CONDITIONS[role]}"
            deal = _deal(game_id, agent, role, item, number, None)
            if len(scores) < len(names):  # a model that did not score every option did not choose among them
                attempt = journal.Attempt(text=None, error="not every option has a score")
                yield deal, _decision(deal, role, None, attempts=[attempt])
                continue
            best, p = max(scores, key=scores.__getitem__), softmax(scores)
            yield deal, _decision(deal, role, best, log_probability=math.log(p[best]), probabilities=p, scores=scores)


def _tokens_of(option: str, tokens: dict[str, int] | None, agent: str) -> int:
    if tokens is None:
        return 1
    if option not in tokens:
        raise RecordingError(f"tokens: none for the option {option!r} of {agent!r}")
    return tokens[option]


def _read_tokens(path: Path) -> dict[str, dict[str, int]]:
    """Tokens by agent and option."""
    found: dict[str, dict[str, int]] = {}
    for number, row in csv_rows(path, TOKEN_COLUMNS):
        if not row["tokens"].isdecimal() or int(row["tokens"]) < 1:
            raise RecordingError(f"{path}, line {number}: tokens {row['tokens']!r}: a whole number of at least 1")
        found.setdefault(row["agent"], {})[row["option"]] = int(row["tokens"])
    return found


def _item(trial: str, recorded: dict[str, Recorded], items: Path, where: str) -> Item:
    if trial not in recorded:
        raise RecordingError(f"{where}: trial {trial!r} is none of the {len(recorded)} items in {items}")
    return recorded[trial].item


def _number(text: str, where: str) -> float | None:
    """A score; None where the cell is empty."""
    if not text.strip():
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise RecordingError(f"{where}: {text!r} is no finite number; leave the cell empty where there is no score")
    return value


def _deal(game_id: str, agent: str, role: Role, item: Item, number: int, subject: str | None) -> journal.GameBegun:
    deal = deal_json(item, role, subject)
    return journal.GameBegun(game_id=game_id, agents={role.name.lower(): agent}, seed=0, episode=number, deal=deal)


def _decision(deal: journal.GameBegun, role: Role, action: str | None, **more) -> journal.Decision:
    (agent,) = deal.agents.values()
    return journal.Decision(
        game_id=deal.game_id,
        turn=0,
        role=role.name.lower(),
        agent=agent,
        observation=observed(deal, role),
        action=action,
        **more,
    )


def _whole(
    lines: Sequence[Line], sources: Sequence[Path], recorded: dict[str, Recorded], done: Callable[[], None]
) -> Iterable[journal.Line]:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    digest = hashlib.sha256(repr([each.item for each in recorded.values()]).encode()).hexdigest()
    yield journal.RunBegun(
        game="reference",
        config={
            "source": "import",
            "files": {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:12] for path in sources},
        },
        vocabulary=f"{len(recorded)} items sha256:{digest[:12]}",
        versions={"otherminds": importlib.metadata.version("otherminds"), "python": platform.python_version()},
        time=now,
    )
    for deal, decision in lines:
        yield deal
        yield decision
        made = {(0, Role[decision.role.upper()]): decision}
        yield journal.GameOver(
            game_id=deal.game_id,
            ending=Ending(int(replay(deal, made).ending)).name.lower(),
            turns=1,
            failed_answers=int(decision.action is None),
        )
        done()
    yield journal.RunOver(games=len(lines), time=now)
