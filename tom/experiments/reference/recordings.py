"""Other people's reference games into a log: items, people's choices, and scores that language models gave.

The files are CSV. Items: `trial` (the item's number), `objects` and `utterances` (joined by |), `trigger_object` (what
the speaker is to name), `trigger_word` (what the listener hears), and for every option what it is:
`production_target`, `production_competitor`, `production_distractor1` ... for the words, `interpretation_target` ...
for the objects. Choices: `subject`, `condition` (production or interpretation), `trial`, `response`. Scores:
`trial`, and `scores_` before the name of each option's column: log-probabilities in nats, up to a constant.
Tokens: `agent`, `option`, `tokens`, the number of tokens by which an option's score is divided.

What is none of an item's options is a failed answer; it stays in the log as it was.
"""

import csv
import datetime
import hashlib
import importlib.metadata
import math
import platform
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from otherminds.games.reference.items import Item
from otherminds.games.reference.rules import Ending, Role
from otherminds.games.reference.text import read_object, read_word
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.reference.records import CONDITIONS, deal_json, options, replay

PEOPLE = "people"
ROLES = {condition: role for role, condition in CONDITIONS.items()}
GLUE = {"a", "an", "the", "with", "and", "of"}
"""Words in an object's text that name no feature."""
ITEM_COLUMNS = ("trial", "objects", "utterances", "trigger_object", "trigger_word")
CHOICE_COLUMNS = ("subject", "condition", "trial", "response")
TOKEN_COLUMNS = ("agent", "option", "tokens")


class RecordingError(ValueError):
    """A file that cannot be imported; the message names it, and the line or column."""


@dataclass(frozen=True)
class Recorded:
    """An item, and the name of each option in the files' columns, such as "distractor1", by place."""

    item: Item
    columns: dict[Role, tuple[str, ...]]


@dataclass(frozen=True)
class Imported:
    """What an import brought."""

    log: Path
    items: int
    people: int
    models: tuple[str, ...]
    decisions: int
    failed: int  # answers that are none of the options


def import_reference(
    items: Path, choices: Path, scores: Sequence[Path] = (), tokens: Path | None = None, *, log: Path
) -> Imported:
    """Writes the log of people who chose and of language models that scored the options of the same items.

    choices, scores, tokens: as the module says.   log: where it goes; there must be none yet.
    Every decision is a game of its own with one role: `speaker` in production, `listener` in interpretation. People
    are the agent "people", each game with its subject; a model is called by its file, without "scores_". A model's
    stated probabilities are the softmax of its scores, its action is the option that it scored highest.
    Raises: RecordingError or JournalError in one line for what cannot be imported, before anything is written.
    """
    recorded = read_items(items)
    counts = {} if tokens is None else _read_tokens(tokens)
    sources = [items, choices, *scores, *([] if tokens is None else [tokens])]
    lines = list(_choices(choices, recorded, items))
    subjects = {deal.deal["subject"] for deal, _ in lines}
    models: dict[str, Path] = {}
    for path in scores:
        name = path.stem.removeprefix("scores_")
        if not name or name == PEOPLE or name in models:
            raise RecordingError(f"{path}: {name!r} is already called so; give every file of scores a name of its own")
        models[name] = path
        lines += _scores(path, name, recorded, items, counts.get(name))
    if unknown := counts.keys() - models.keys():
        raise RecordingError(f"{tokens}: agent {min(unknown)!r} has no file of scores; there are {', '.join(models)}")
    if twice := _first_twice(deal.game_id for deal, _ in lines):
        raise RecordingError(f"{choices}: {twice} is recorded twice")
    journal.write_whole(log, _whole(lines, sources, recorded))
    failed = sum(decision.action is None for _, decision in lines)
    return Imported(log, len(recorded), len(subjects), tuple(models), len(lines), failed)


def read_items(path: Path) -> dict[str, Recorded]:
    """The items of a file, by number as it is written there.

    Raises: RecordingError.
    """
    found: dict[str, Recorded] = {}
    for number, row in _rows(path, ITEM_COLUMNS):
        where = f"{path}, line {number}"
        trial = row["trial"]
        if trial in found:
            raise RecordingError(f"{where}: trial {trial!r} is there twice")
        texts, words = row["objects"].split("|"), row["utterances"].split("|")
        try:
            plain = Item(tuple(map(_features, texts)), tuple(words), 0, 0, 0, texts=tuple(texts), name=trial)
            columns = {role: _option_columns(row, role, plain) for role in Role}
            kinds = {role: tuple(re.sub(r"\d+$", "", name) for name in columns[role]) for role in Role}
            item = Item(
                objects=plain.objects,
                words=plain.words,
                target=read_object(row["trigger_object"], plain),
                heard=read_word(row["trigger_word"], plain),
                referent=kinds[Role.LISTENER].index("target"),
                word_kinds=kinds[Role.SPEAKER],
                object_kinds=kinds[Role.LISTENER],
                texts=plain.texts,
                name=trial,
            )
        except ValueError as error:
            raise RecordingError(f"{where}: {error}") from None
        found[trial] = Recorded(item, columns)
    return found


def write_items(path: Path, items: Sequence[Item]) -> None:
    """Writes generated items with kinds as such a file; each is called by its place.

    Raises: ValueError for an item without kinds.
    """
    rows = []
    for number, item in enumerate(items):
        row = {
            "trial": number,
            "objects": "|".join(item.texts),
            "utterances": "|".join(item.words),
            "trigger_object": item.texts[item.target],
            "trigger_word": item.words[item.heard],
        }
        for role, kinds in ((Role.SPEAKER, item.word_kinds), (Role.LISTENER, item.object_kinds)):
            if not kinds:
                raise ValueError(f"item {item.name!r} has no kinds: its options have no columns to stand in")
            for option, kind in zip(options(item, role), kinds, strict=True):
                alike = kinds.count(kind) > 1
                place = sum(name.startswith(f"{CONDITIONS[role]}_{kind}") for name in row) + 1
                row[f"{CONDITIONS[role]}_{kind}{place if alike else ''}"] = option
        rows.append(row)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)), restval="")
        writer.writeheader()
        writer.writerows(rows)


def _option_columns(row: dict[str, str], role: Role, item: Item) -> tuple[str, ...]:
    """The name of every option's column, without the condition before it."""
    condition, read = CONDITIONS[role], read_word if role == Role.SPEAKER else read_object
    names: dict[int, str] = {}
    for column, value in row.items():
        name = re.fullmatch(rf"{condition}_((?:target|competitor|distractor)\d*)", column)
        if name and value:
            place = read(value, item)
            if place in names:
                raise ValueError(f"{column} is {value!r}, which is also {condition}_{names[place]}")
            names[place] = name[1]
    for place, option in enumerate(options(item, role)):
        if place not in names:
            raise ValueError(f"no column {condition}_... says what the option {option!r} is")
    if list(names.values()).count("target") != 1:
        raise ValueError(f"column {condition}_target is missing or empty")
    return tuple(names[place] for place in range(len(names)))


def _features(text: str) -> tuple[str, ...]:
    return tuple(word for word in re.findall(r"[\w'-]+", text.casefold()) if word not in GLUE)


Line = tuple[journal.GameBegun, journal.Decision]


def _choices(path: Path, recorded: dict[str, Recorded], items: Path) -> Iterable[Line]:
    for number, row in _rows(path, CHOICE_COLUMNS):
        where = f"{path}, line {number}"
        if row["condition"] not in ROLES:
            raise RecordingError(f"{where}: condition {row['condition']!r}; there are {' and '.join(ROLES)}")
        if not row["subject"]:
            raise RecordingError(f"{where}: subject is empty")
        role, item = ROLES[row["condition"]], _item(row["trial"], recorded, items, where)
        attempts = []
        try:
            place = (read_word if role == Role.SPEAKER else read_object)(row["response"], item)
            action = options(item, role)[place]
        except ValueError as error:
            action, attempts = None, [journal.Attempt(text=row["response"], error=str(error))]
        game_id = f"{PEOPLE} / subject {row['subject']} / item {item.name} / {row['condition']}"
        deal = _deal(game_id, PEOPLE, role, item, number, row["subject"])
        yield deal, _decision(deal, role, action, attempts=attempts)


def _scores(
    path: Path, agent: str, recorded: dict[str, Recorded], items: Path, tokens: dict[str, int] | None
) -> Iterable[Line]:
    wanted = dict.fromkeys(
        f"scores_{CONDITIONS[role]}_{name}"
        for each in recorded.values()
        for role in Role
        for name in each.columns[role]
    )
    seen = set()
    for number, row in _rows(path, ("trial", *wanted)):
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
                    scores[option] = score / _tokens_of(option, tokens, agent)
            game_id = f"{agent} / item {item.name} / {CONDITIONS[role]}"
            deal = _deal(game_id, agent, role, item, number, None)
            if len(scores) < len(names):  # a model that did not score every option did not choose among them
                attempt = journal.Attempt(text=None, error="not every option has a score")
                yield deal, _decision(deal, role, None, attempts=[attempt])
                continue
            best = max(scores, key=scores.__getitem__)
            top = scores[best]
            total = sum(math.exp(score - top) for score in scores.values())
            p = {option: math.exp(score - top) / total for option, score in scores.items()}
            yield deal, _decision(deal, role, best, log_probability=-math.log(total), probabilities=p, scores=scores)


def _tokens_of(option: str, tokens: dict[str, int] | None, agent: str) -> int:
    if tokens is None:
        return 1
    if option not in tokens:
        raise RecordingError(f"tokens: none for the option {option!r} of {agent!r}")
    return tokens[option]


def _read_tokens(path: Path) -> dict[str, dict[str, int]]:
    """Tokens by agent and option."""
    found: dict[str, dict[str, int]] = {}
    for number, row in _rows(path, TOKEN_COLUMNS):
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


def _rows(path: Path, columns: Sequence[str]) -> Iterable[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with the numbers of their last lines.

    Raises: RecordingError for a file that cannot be read, that lacks a column, or that has no row.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            if missing := [name for name in columns if name not in (reader.fieldnames or ())]:
                raise RecordingError(f"{path}: no column {missing[0]!r}")
            count = 0
            for row in reader:
                count += 1
                if None in row or None in row.values():
                    raise RecordingError(f"{path}, line {reader.line_num}: not as many cells as there are columns")
                yield reader.line_num, {name: value.strip() for name, value in row.items()}
    except FileNotFoundError:
        raise RecordingError(f"{path}: no such file") from None
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise RecordingError(f"{path}: no CSV file in UTF-8 ({error})") from None
    if not count:
        raise RecordingError(f"{path}: no row below the column names")


def _deal(game_id: str, agent: str, role: Role, item: Item, number: int, subject: str | None) -> journal.GameBegun:
    deal = deal_json(item, role, subject)
    return journal.GameBegun(game_id=game_id, agents={role.name.lower(): agent}, seed=0, episode=number, deal=deal)


def _decision(deal: journal.GameBegun, role: Role, action: str | None, **more) -> journal.Decision:
    known = (
        {"word": deal.deal["word"]} if role == Role.LISTENER else {"target": deal.deal["texts"][deal.deal["target"]]}
    )
    (agent,) = deal.agents.values()
    return journal.Decision(
        game_id=deal.game_id,
        turn=0,
        role=role.name.lower(),
        agent=agent,
        observation=known | {"objects": deal.deal["texts"], "words": deal.deal["words"]},
        action=action,
        **more,
    )


def _whole(lines: Sequence[Line], sources: Sequence[Path], recorded: dict[str, Recorded]) -> Iterable[journal.Line]:
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
    yield journal.RunOver(games=len(lines), time=now)


def _first_twice(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    return next((name for name in names if name in seen or seen.add(name)), None)
