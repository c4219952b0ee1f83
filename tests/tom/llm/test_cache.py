"""Answers on disk: the same question is paid for once, whatever happens to the files."""

import asyncio
import contextlib
import subprocess
import sys
from dataclasses import replace

import pytest

from otherminds.tom.llm.answer import Answer
from otherminds.tom.llm.cache import Cache, key_of
from otherminds.tom.llm.client import GenerationSettings, ModelError, open_client
from otherminds.tom.llm.local import MIB

ASK = [{"role": "user", "content": "guess"}]
FULL = Answer(
    "hé\x00", "stop", 10, 3, 0.5, 2, None, "m", "id", True, "why", False, ("seed",), ((("a", -0.5),),), ("a",)
)


def chat(server, folder, *calls, **settings):
    """The answers to these calls, one after the other, through a client of their own."""

    async def go():
        quick = GenerationSettings(timeout=5.0, max_retries=0, cache=folder, **settings)
        async with open_client("fake/fake", server.url, quick, {}) as client:
            return [await client.chat(ASK, **call) for call in calls], client.account.tokens

    return asyncio.run(go())


def test_an_answer_comes_back_as_it_was(tmp_path):
    cache = Cache(tmp_path / "a" / "b")
    assert cache.get("ab" * 32) is None
    cache.put("ab" * 32, FULL)
    assert cache.get("ab" * 32) == replace(FULL, latency=0.0, attempts=0, cached=True)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"key": 1}', None])
def test_a_damaged_entry_is_none(tmp_path, damage):
    cache = Cache(tmp_path)
    cache.put("ab" * 32, FULL)
    path = cache.path("ab" * 32)
    path.write_bytes(damage if damage is not None else path.read_bytes().replace(b'"stop"', b'"halt"'))
    assert cache.get("ab" * 32) is None
    cache.put("ab" * 32, FULL)
    assert cache.get("ab" * 32).text == FULL.text


def test_an_error_is_not_kept(tmp_path):
    Cache(tmp_path).put("ab" * 32, Answer(error="no"))
    assert not list(tmp_path.iterdir())


def test_a_key_depends_on_all_that_an_answer_may_depend_on():
    given = {"server": "u", "model": "m", "wanted": {"seed": 1, "top_p": 0.5}, "messages": ASK, "sample": 0}
    other = {"server": "v", "model": "n", "wanted": {"seed": 2, "top_p": 0.5}, "messages": [*ASK, *ASK], "sample": 1}
    keys = {key_of(**given | {name: value}) for name, value in other.items()} | {key_of(**given)}
    assert len(keys) == 6
    assert key_of(**given | {"wanted": {"top_p": 0.5, "seed": 1}}) == key_of(**given)


def test_a_question_is_paid_for_once(fake_server, tmp_path):
    fake_server.script = ["one", "two", "three", "four"]
    calls = [{}, {}, {"seed": 1}, {"sample": 1}, {"seed": 1}]
    answers, spent = chat(fake_server, tmp_path, *calls)
    assert [answer.text for answer in answers] == ["one", "one", "two", "three", "two"]
    assert [answer.cached for answer in answers] == [False, True, False, False, True]
    assert answers[1].prompt_tokens == 10 and answers[1].attempts == 0
    assert spent == 3 * 13
    again, spent = chat(fake_server, tmp_path, *calls)
    assert [answer.text for answer in again] == [answer.text for answer in answers] and spent == 0
    assert chat(fake_server, tmp_path, {}, temperature=0.5)[0][0].text == "four"
    assert chat(fake_server, tmp_path, {"fresh": True})[0][0].text == "four"


def test_a_model_file_is_told_by_its_content(fake_server, tmp_path, monkeypatch):
    """However its path is written; and another file under the same path is another model."""

    @contextlib.contextmanager
    def served(name):
        yield fake_server.url

    def ask(name):
        async def go():
            settings = GenerationSettings(timeout=5.0, max_retries=0, cache=tmp_path / "cache")
            async with open_client(f"local/{name}", None, settings, {}) as client:
                return (await client.chat(ASK)).text

        return asyncio.run(go())

    monkeypatch.setattr("otherminds.tom.llm.client.serve", served)
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "m.gguf"
    file.write_bytes(b"1" * 3 * MIB)
    fake_server.script = ["one", "two", "three"]
    assert [ask("m.gguf"), ask("./m.gguf"), ask(str(file))] == ["one"] * 3
    file.write_bytes(b"1" * (3 * MIB - 1) + b"2")
    assert ask("m.gguf") == "two"
    file.write_bytes(b"1" * (3 * MIB - 1))
    assert ask("m.gguf") == "three" and len(fake_server.requests) == 3


def test_a_question_asked_twice_at_once_is_paid_for_once(fake_server, tmp_path):
    fake_server.script = [0.1]

    async def go():
        settings = GenerationSettings(timeout=5.0, max_retries=0, cache=tmp_path)
        async with open_client("fake/fake", fake_server.url, settings, {}) as client:
            return await asyncio.gather(*(client.chat(ASK) for _ in range(5)))

    assert [answer.cached for answer in asyncio.run(go())] == [False, True, True, True, True]
    assert len(fake_server.requests) == 1


def test_a_failed_call_is_asked_again(fake_server, tmp_path):
    fake_server.script = [(500, {}), "fine"]
    (failed, fine), _ = chat(fake_server, tmp_path, {}, {})
    assert failed.error and (fine.text, fine.cached) == ("fine", False)


def test_a_full_disk_is_told_once_and_loses_nothing(fake_server, tmp_path, caplog, monkeypatch):
    def full(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("otherminds.tom.llm.cache.os.replace", full)
    answers, _ = chat(fake_server, tmp_path, {}, {"seed": 1})
    assert [answer.text for answer in answers] == ["ok", "ok"]
    told = [record.getMessage() for record in caplog.records if record.name == "otherminds"]
    assert len(told) == 1 and "answers cannot be kept (No space left on device)" in told[0]
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_folder_that_cannot_be_is_told(fake_server, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ModelError, match=r"--cache .*no such folder can be made"):
        chat(fake_server, tmp_path / "file" / "folder", {})


WRITE = """
import sys
from pathlib import Path
from otherminds.tom.llm.answer import Answer
from otherminds.tom.llm.cache import Cache
cache = Cache(Path(sys.argv[1]))
print("begun", flush=True)
while True:
    for number in range(5):
        cache.put(f"{number:064d}", Answer("x" * 20_000))
"""


def test_processes_share_a_folder_and_a_kill_leaves_no_half_of_an_answer(tmp_path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITE, tmp_path], stdout=subprocess.PIPE) for _ in range(3)]
    try:
        for writer in writers:
            writer.stdout.readline()
        cache = Cache(tmp_path)
        for _ in range(60):
            for number in range(5):
                answer = cache.get(f"{number:064d}")
                assert answer is None or answer.text == "x" * 20_000
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
            writer.stdout.close()
    assert all(cache.get(f"{number:064d}") is not None for number in range(5))
