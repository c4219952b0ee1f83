"""Answers kept on disk, each under what it was asked with: the same question is paid for once.

A file an answer, `FOLDER/ab/abcdef....json`, written under another name and renamed: processes may share a folder, and
a kill leaves no half of an answer. A file that cannot be read as what was written is as good as none. diskcache would
do as well, but it unpickles what it finds in the folder, and a damaged database is lost as a whole.
"""

import hashlib
import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from otherminds.tom.llm.answer import Answer
from otherminds.tom.llm.endpoint import ModelError

FORMAT = 1
NOT_KEPT = ("latency", "attempts", "cached")
"""Of an answer: how it came this time."""


def key_of(server: str, model: str, wanted: Mapping[str, Any], messages: Any, sample: int) -> str:
    """The name of an answer: a hash of all that it may depend on.

    server: base URL, or the provider alone where a port is drawn anew at every start.   model: its name there, or of a
    file what tells it from others (`local.identity`).   wanted: every parameter, the
    schema included, whatever the server takes of them.   sample: tells repeated questions apart.
    """
    asked = [FORMAT, server, model, dict(wanted), list(messages), sample]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


class Cache:
    """The answers in a folder.

    Raises: ModelError if the folder cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.expanduser()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ModelError(f"--cache {str(folder)!r}: no such folder can be made ({error.strerror})") from None

    def path(self, key: str) -> Path:
        """The file of an answer."""
        return self.folder / key[:2] / f"{key}.json"

    def get(self, key: str) -> Answer | None:
        """The answer under a key; None where there is none, or a damaged one."""
        try:
            kept = json.loads(self.path(key).read_bytes())
            if kept["key"] != key or kept["sha256"] != _digest(kept["answer"]):
                return None
            return Answer(**_tuples(kept["answer"]), attempts=0, cached=True)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def put(self, key: str, answer: Answer) -> None:
        """Keeps an answer, unless it is no answer.

        Raises: OSError if it cannot be written; then nothing is kept.
        """
        if answer.error is not None:
            return
        kept = {name: value for name, value in asdict(answer).items() if name not in NOT_KEPT}
        kept = json.loads(json.dumps(kept))  # as it will be read
        path = self.path(key)
        path.parent.mkdir(exist_ok=True)
        part = path.with_name(f".{uuid.uuid4().hex}.part")
        try:
            part.write_text(json.dumps({"key": key, "sha256": _digest(kept), "answer": kept}))
            os.replace(part, path)
        except OSError:
            part.unlink(missing_ok=True)
            raise


def _digest(answer: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()


def _tuples(kept: Mapping[str, Any]) -> dict[str, Any]:
    """An answer's fields as they were before they became JSON."""
    known = {field.name for field in fields(Answer)}
    values = {name: value for name, value in kept.items() if name in known}
    values["dropped"] = tuple(values["dropped"])
    if values.get("tokens") is not None:
        values["tokens"] = tuple(values["tokens"])
    if values["logprobs"] is not None:
        values["logprobs"] = tuple(tuple((text, float(p)) for text, p in place) for place in values["logprobs"])
    return values
