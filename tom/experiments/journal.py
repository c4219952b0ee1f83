"""The log: an append-only JSONL journal, an event a line, flushed line by line. A kill loses the call in flight."""

import json
import os
from collections.abc import Iterable, Iterator
from io import BufferedRandom
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_serializer

SCHEMA_VERSION = 1
LONGEST_RUN_OVER = 1000
"""Bytes of the last line of a finished log, at most."""
THERE_ALREADY = "{path}: there is a log already; give another --out, or remove it"


class JournalError(ValueError):
    """A log that cannot be read or written; the message names the file, and the line where there is one."""


class Line(BaseModel):
    """What every line has in common."""

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="constants")  # NaN stays NaN, and is refused
    of_some_games: ClassVar[frozenset[str]] = frozenset()
    """Fields that only some games have: where they are None, they are not written."""
    schema_version: Literal[1] = SCHEMA_VERSION

    @model_serializer(mode="wrap")
    def _without_the_fields_of_other_games(self, serialize: Any) -> dict[str, Any]:
        return {
            name: value
            for name, value in serialize(self).items()
            if value is not None or name not in self.of_some_games
        }


class RunBegun(Line):
    """First line of a log: what is played, by whom, and with what."""

    event: Literal["run_begun"] = "run_begun"
    game: str
    config: dict[str, Any]  # every setting of the run
    vocabulary: str  # name and content hash of words, vectors and keywords, or of the items
    versions: dict[str, str]  # of the packages that matter, of Python, and the device
    time: str  # ISO 8601, UTC


class GameBegun(Line):
    """A game is dealt. Its id says which table and seed and episode it is; the key gives the same game again."""

    of_some_games: ClassVar[frozenset[str]] = frozenset({"keywords", "codes", "deal", "recorded"})
    event: Literal["game_begun"] = "game_begun"
    game_id: str
    agents: dict[str, str]  # role: agent
    seed: int
    episode: int
    keywords: list[str] | None = None  # Decrypto
    codes: list[str] | None = None  # Decrypto: "3-1-2", one for every turn that could be played
    deal: dict[str, Any] | None = (
        None  # other games: what was dealt; two-team Decrypto: "match", and whose codes, "team"
    )
    recorded: list[str] | None = None  # replays: the roles whose decisions are the recording's


class Attempt(BaseModel):
    """One answer of a language model, good or bad, as it came."""

    model_config = ConfigDict(extra="allow")
    text: str | None = None
    error: str | None = None


class Decision(Line):
    """What an agent did at one decision. `action` is null when it failed to answer."""

    of_some_games: ClassVar[frozenset[str]] = frozenset(
        {"scores", "statement", "reasoning", "message", "thoughts", "skipped"}
    )
    event: Literal["decision"] = "decision"
    game_id: str
    turn: int  # 0 for the first
    role: str
    agent: str
    observation: dict[str, Any]  # what it knew
    action: list[str] | str | None  # three hints, or a code such as "3-1-2"; a word, or an object; codes
    log_probability: float | None = None  # that the agent gave to its action, nats, where it is known
    probabilities: dict[str, float] | None = None  # over the codes or options, where the agent states them
    scores: dict[str, float] | None = None  # log-probabilities up to a constant, where a language model scored options
    statement: dict[str, dict[str, float]] | None = None  # observers of rock, paper, scissors: all that they state
    reasoning: str | None = None  # where it was asked for
    message: str | None = None  # to the other player, in games with messages
    thoughts: str | None = None  # private, where people write them down
    skipped: bool | None = None  # true where nobody is asked by the rules: no action, and no failure
    unknown_words: list[str] = []  # hints without a vector
    attempts: list[Attempt] = []
    usage: dict[str, int] = {}
    seconds: float = 0.0


class GameOver(Line):
    """How a game ended. Tokens are counted over the turns that were played."""

    of_some_games: ClassVar[frozenset[str]] = frozenset({"miscommunications", "interceptions"})
    event: Literal["game_over"] = "game_over"
    game_id: str
    ending: str
    turns: int  # played until the ending was fixed
    miscommunications: int | None = None  # Decrypto
    interceptions: int | None = None  # Decrypto
    failed_answers: int


class RunOver(Line):
    """Every game of the run is finished."""

    event: Literal["run_over"] = "run_over"
    games: int
    time: str


AnyLine = Annotated[RunBegun | GameBegun | Decision | GameOver | RunOver, Field(discriminator="event")]
ADAPTER: TypeAdapter[AnyLine] = TypeAdapter(AnyLine)
TIMING = {"time", "seconds", "attempts", "usage", "versions"}
"""Fields outside the canonical projection: two runs of the same games may differ in these alone."""


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a line of the log; it is shipped as journal.schema.json."""
    schema = ADAPTER.json_schema()
    for definition in schema["$defs"].values():
        if "event" in definition["properties"]:  # both have defaults in Python, but every line must say them
            definition["required"] = ["schema_version", "event", *definition["required"]]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A line of the log", **schema}


class Writer:
    """Appends lines to a log, alone. Every line is on disk before `write` returns.

    Raises: JournalError if another process writes the log, or a line cannot be written (a full disk); OSError if it
        cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab+")
        try:
            _lock(self._file, path)
            _drop_torn_line(self._file)
        except BaseException:
            self._file.close()
            raise

    def write(self, line: Line) -> None:
        """Writes a line and waits for the disk."""
        try:
            self._file.write(encoded(line))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise JournalError(
                f"{self._path}: the log cannot be written ({error.strerror}); what was written before is whole, and "
                "once that is mended the same command goes on with it"
            ) from None

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._file.close()
        except OSError:  # what could not be written is still in the buffer; the next start cuts off a torn line
            if error[0] is None:
                raise


def encoded(line: Line) -> bytes:
    """A line as it stands in the log, its line break included.

    Raises: ValueError for a number that JSON does not know, such as NaN.
    """
    text = json.dumps(line.model_dump(mode="json"), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Half a character (a lone surrogate) cannot be UTF-8; written as \\udXXX it is the JSON escape of itself.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def write_whole(path: Path, lines: Iterable[Line]) -> None:
    """Writes a log that is there as a whole or not at all, by way of a file beside it.

    Raises: JournalError if there is a log already; OSError if it cannot be written.
    """
    if path.exists():
        raise JournalError(THERE_ALREADY.format(path=path))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        file.writelines(map(encoded, lines))
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def _lock(file: BufferedRandom, path: Path) -> None:
    """Keeps other processes from writing the log until the file is closed, where system and file system can."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise JournalError(f"{path}: another run is writing this log; wait for it, or give another --out") from None
    except (ImportError, OSError):
        return


def _drop_torn_line(file: BufferedRandom) -> None:
    """Cuts off a last line that a kill left unfinished, so that the next line starts clean."""
    file.seek(0)
    content = file.read()
    file.truncate(content.rfind(b"\n") + 1)


def read(path: Path) -> Iterator[AnyLine]:
    """The lines of a log. A last line cut short by a kill is left out.

    Raises: JournalError naming the line for what is no line of a log, and for a log of another version.
    """
    try:
        *lines, _ = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        raise JournalError(f"{path}: no such log") from None
    except OSError as error:
        raise JournalError(f"{path}: cannot be read as a log ({error.strerror})") from None
    for number, line in enumerate(lines, 1):
        yield parse_line(line, f"{path}, line {number}")


def is_complete(path: Path) -> bool:
    """Whether the run is over: nothing stands behind the line that says so."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - LONGEST_RUN_OVER))
        return b'"event":"run_over"' in file.read().rpartition(b"\n")[0].rpartition(b"\n")[2]


def is_torn(path: Path) -> bool:
    """Whether a log ends in the middle of a line, as a kill may leave it."""
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return False
        file.seek(-1, os.SEEK_END)
        return file.read() != b"\n"


def parse_line(line: bytes, where: str) -> AnyLine:
    """One line of a log. where: names it in errors.

    Raises: JournalError.
    """
    try:
        data = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise JournalError(f"{where}: not JSON ({getattr(error, 'msg', error)})") from None
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SCHEMA_VERSION:
        raise JournalError(
            f"{where}: schema version {version!r}; this version of otherminds reads {SCHEMA_VERSION}. "
            "Read it with the version that wrote it"
        )
    try:
        return ADAPTER.validate_python(data, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "line"
        raise JournalError(f"{where}: {place}: {first['msg'].lower()}") from None


def canonical(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """The projection in which a resumed run equals an uninterrupted one: all but timing, attempts and usage.

    Sorted by game, so that games played at once compare equal to games played in turn.
    """
    kept = [{key: value for key, value in line.model_dump(mode="json").items() if key not in TIMING} for line in lines]
    order = {"run_begun": 0, "run_over": 2}
    roles = {"encoder": 0, "decoder": 1, "interceptor": 2, "speaker": 0, "listener": 1}
    within = {"game_begun": 0, "decision": 1, "game_over": 2}

    def place(line: dict[str, Any]) -> tuple:
        return (
            order.get(line["event"], 1),
            line.get("game_id", ""),
            within.get(line["event"], 0),
            line.get("turn", 0),
            roles.get(line.get("role", ""), 0),
        )

    return sorted(kept, key=place)
