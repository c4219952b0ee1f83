"""Calls of the client a second, beside the bare openai package; and the memory of ten thousand games at once.

Run: uv run pytest tests/benchmarks/test_client.py -n 0 -s
"""

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import time

import pytest

from otherminds.tom.agents.asking import ask
from otherminds.tom.llm.client import GenerationSettings, open_client
from otherminds.tom.llm.parsing import Parsed

CALLS, AT_ONCE, ROUNDS = 1_000, 64, 3
GAMES = 10_000
MOST_MEGABYTES = 1_000
LONGEST_RATIO = 1.3
ASK = [{"role": "user", "content": "Which of these words is the nearest to the sea? " * 10}]

SERVER = """
import asyncio, json, re
BODY = json.dumps({
    "id": "1", "object": "chat.completion", "created": 0, "model": "fake",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": '{"answer": "B"}'}}],
    "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105},
}).encode()
REPLY = b"HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\ncontent-length: %d\\r\\n\\r\\n%b" % (len(BODY), BODY)

async def serve(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\\r\\n\\r\\n")
            await reader.readexactly(int(re.search(rb"content-length: (\\d+)", head, re.I)[1]))
            writer.write(REPLY)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def url():
    """A server of its own process, which answers at once."""
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE) as server:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        server.kill()


async def ours(url):
    """Seconds that the calls take through the client."""
    async with open_client("fake/fake", url, GenerationSettings(max_connections=AT_ONCE), {}) as client:
        await client.chat(ASK)
        begun = time.perf_counter()
        answers = await asyncio.gather(*(client.chat(ASK, seed=number) for number in range(CALLS)))
        seconds = time.perf_counter() - begun
    assert all(answer.text == '{"answer": "B"}' for answer in answers)
    return seconds


async def bare(url):
    """Seconds that they take through the openai package alone."""
    from openai import AsyncOpenAI

    slots = asyncio.Semaphore(AT_ONCE)
    async with AsyncOpenAI(api_key="none", base_url=url) as client:

        async def call(seed):
            async with slots:
                return await client.chat.completions.create(model="fake", messages=ASK, max_tokens=1024, seed=seed)

        await call(0)
        begun = time.perf_counter()
        replies = await asyncio.gather(*(call(number) for number in range(CALLS)))
        seconds = time.perf_counter() - begun
    assert all(reply.choices[0].message.content == '{"answer": "B"}' for reply in replies)
    return seconds


async def games_at_once(url):
    """Games that had begun before the first one ended: each asks once and waits for its turn at the client."""
    begun = 0
    async with open_client("fake/fake", url, GenerationSettings(max_connections=AT_ONCE), {}) as client:

        async def game(number):
            nonlocal begun
            begun += 1
            chat = [{"role": "user", "content": f"Game {number}. " + "What is meant by these words? " * 30}]
            return await ask(client, chat, find=lambda text: Parsed(text, None), seed=number)

        tasks = [asyncio.create_task(game(number)) for number in range(GAMES)]
        await asyncio.sleep(0)
        at_once = begun
        decisions = await asyncio.gather(*tasks)
    assert all(decision.action for decision in decisions)
    return at_once


def measured(what, url):
    """Printed by a process of its own, in which no annotation is checked and nothing else lies in memory."""
    if what == "overhead":  # in turn, so that whatever else runs slows both
        return [(asyncio.run(ours(url)), asyncio.run(bare(url))) for _ in range(ROUNDS)]
    begun = time.perf_counter()
    at_once = asyncio.run(games_at_once(url))
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return at_once, time.perf_counter() - begun, megabytes


def apart(what, url):
    """What `measured` finds in a process of its own."""
    done = subprocess.run([sys.executable, __file__, what, url], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_overhead(url):
    pairs = apart("overhead", url)
    ratio = statistics.median(one / other for one, other in pairs)
    mine, theirs = (CALLS / statistics.median(times) for times in zip(*pairs, strict=True))
    print(f"\n{mine:.0f} calls a second, the openai package alone {theirs:.0f}: {ratio:.2f} times its time")
    assert ratio <= LONGEST_RATIO


def test_ten_thousand_games_at_once(url):
    at_once, seconds, megabytes = apart("games", url)
    print(f"\n{at_once} games at once, {GAMES} calls in {seconds:.0f} s: {megabytes:.0f} MB at most")
    assert at_once == GAMES and megabytes < MOST_MEGABYTES


if __name__ == "__main__":
    print(json.dumps(measured(*sys.argv[1:])))
