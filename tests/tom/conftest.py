"""A language-model server that misbehaves on purpose, over real sockets; and a vocabulary of forty nouns."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.decrypto.rules import begin
from otherminds.games.decrypto.vocabulary import Vocabulary, make
from otherminds.tom.llm.accounts import estimated_tokens
from otherminds.tom.minds.decrypto.lexicon import Lexicon, make_lexicon

NOUNS, KEYWORDS, DIMENSIONS = 40, 12, 8


@pytest.fixture(scope="session")
def tiny_files(tmp_path_factory):
    """The options that give a command the tiny vocabulary: random vectors for nouns that the packaged one has."""
    from otherminds.games.decrypto.vocabulary import load

    folder = tmp_path_factory.mktemp("words")
    words, random = load().words[:NOUNS], np.random.default_rng(0)
    rows = (f"{word} {' '.join(f'{x:.5f}' for x in random.normal(size=DIMENSIONS))}\n" for word in words)
    (folder / "vectors.txt").write_text("".join(rows), encoding="utf-8")
    (folder / "keywords.txt").write_text("\n".join(words[:KEYWORDS]), encoding="utf-8")
    return {"keywords": str(folder / "keywords.txt"), "vectors": str(folder / "vectors.txt")}


@pytest.fixture(scope="session")
def tiny(tiny_files):
    """The tiny vocabulary."""
    from otherminds.tom.vectors import load_vocabulary

    return load_vocabulary(tiny_files["keywords"], tiny_files["vectors"])


def completion(text="", finish_reason="stop", **message):
    """The body of a chat completion."""
    return {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 0,
        "model": "fake-1",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish_reason,
                "message": {"role": "assistant", "content": text, **message},
            }
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13},
    }


class FakeServer:
    """Answers POSTs from `script`, one entry a request, the last one for ever; and keeps the requests.

    An entry: a text (a completion), a dict (a body), bytes (a raw body), (status, body[, headers]), a number
    (seconds of silence, then a completion), None (the connection is closed without a word), a bytearray (a body of
    which half is sent before that), or a function from the request to one of these.
    """

    def __init__(self):
        self.script, self.requests = ["ok"], []
        self.models = {"object": "list", "data": [{"id": "fake", "object": "model", "created": 0, "owned_by": "x"}]}
        self.seconds = 0.0  # that listing the models takes
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_GET(self):
                time.sleep(fake.seconds)
                entry = fake.models
                self.answer(*entry) if isinstance(entry, tuple) else self.answer(200, entry)

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                fake.requests.append(body | {"headers": dict(self.headers)})
                entry = fake.script.pop(0) if len(fake.script) > 1 else fake.script[0]
                if callable(entry):
                    entry = entry(body)
                if isinstance(entry, float):
                    time.sleep(entry)
                    entry = "late"
                if isinstance(entry, str):
                    entry = completion(entry)
                if entry is None or isinstance(entry, bytearray):
                    self.hang_up(entry or b"")
                    return
                self.answer(*entry) if isinstance(entry, tuple) else self.answer(200, entry)

            def hang_up(self, body):
                if body:
                    self.send_response(200)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body[: len(body) // 2])
                self.close_connection = True

            def answer(self, status, body, headers=()):
                raw = body if isinstance(body, bytes) else json.dumps(body).encode()
                try:
                    self.send_response(status)
                    self.send_header("content-type", "text/html" if isinstance(body, bytes) else "application/json")
                    self.send_header("content-length", str(len(raw)))
                    for name, value in dict(headers).items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(raw)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # the client gave up

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, request, client_address):
                pass  # connections that the client dropped

        self.http = Server(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def prompt_tokens(self):
        """Of all requests, as they are estimated, with the schemas that they were held to."""
        formats = [request.get("response_format", {}).get("json_schema", {}) for request in self.requests]
        schemas = [form.get("schema") for form in formats]
        return sum(map(estimated_tokens, [request["messages"] for request in self.requests], schemas))

    def close(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def fake_server():
    server = FakeServer()
    yield server
    server.close()


@pytest.fixture
def fake_completion():
    return completion


@pytest.fixture(scope="session")
def small_vocabulary() -> Vocabulary:
    """Forty random nouns of six dimensions, the first twelve of them keywords."""
    words = [f"{a}{b}" for a in "bcdfghkl" for b in "aeiou"]
    vectors = np.random.default_rng(7).normal(size=(len(words), 6)).astype(np.float32)
    return make(words, vectors, words[:KEYWORDS], "small")


@pytest.fixture(scope="session")
def small_lexicon(small_vocabulary) -> Lexicon:
    return make_lexicon(small_vocabulary, spare=2)


@pytest.fixture
def deal():
    """A game with keywords 0, 1, 2, 3 and eight given codes, nothing played."""
    return begin(jnp.arange(4), jax.random.permutation(jax.random.key(3), 24)[:8])


@pytest.fixture(scope="session")
def human_games(shared):
    """The 217 recorded games between a person (player 1) and a bot (player 2)."""
    from otherminds.tom.experiments.rps.matches.recordings import read_brockbank

    return read_brockbank(shared / "data/rps/rps_v2_data.RData")
