"""Dry runs: their counts are those of real runs, and nothing is asked or written."""

import asyncio
import json
import re
from functools import partial

import pytest
from click.testing import CliRunner

from otherminds.games.decrypto.rules import Role, code_text
from otherminds.tom import cli
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.colored_trails import config as trails_config
from otherminds.tom.experiments.colored_trails import run as trails
from otherminds.tom.experiments.config import validated
from otherminds.tom.experiments.decrypto.recordings import import_decrypto
from otherminds.tom.experiments.decrypto.replay import ReplaySettings, replay
from otherminds.tom.experiments.dry_run import SAMPLE, Estimate, estimated, rows, sampled, table_pattern, verdicts
from otherminds.tom.experiments.rps.observers import config as rps_config
from otherminds.tom.experiments.rps.observers import run as rps
from otherminds.tom.experiments.run import run
from otherminds.tom.experiments.tasks.run import AskingSettings, ask_tasks
from otherminds.tom.llm.accounts import Limits, Usage
from otherminds.tom.llm.client import GenerationSettings
from otherminds.tom.llm.counting import Calls, filled_in
from otherminds.tom.tasks.catalogue import TASKS

MODEL, NOBODY = "vllm/fake", "http://127.0.0.1:1/v1"
PATIENT = GenerationSettings(max_retries=0, timeout=10.0)


@pytest.fixture
def server(fake_server):
    """Answers with the form filled in, as a dry run takes it to be; a guess is as long as any other."""

    def answer(request):
        return json.dumps(filled_in(request["response_format"]["json_schema"]["schema"]))

    fake_server.script = [answer]
    return fake_server


def dry(play, pattern=lambda game: table_pattern(game.agents), **options):
    return asyncio.run(estimated(play, pattern, 2, **options))


def real(play):
    return asyncio.run(play())


def same(estimate, server):
    """Whether a dry run has counted the calls that the server was sent."""
    calls = estimate.calls[MODEL]
    return (calls.count, calls.read) == (len(server.requests), server.prompt_tokens()) and calls.count > 0


# Each game


def decrypto(server, **changes):
    settings = {
        "encoder": ("baseline",),
        "decoder": (MODEL, "vllm/fake:context=chat"),
        "interceptor": (MODEL,),
        "seeds": (0,),
        "episodes": 1,
        "turns": 3,
        "continue_after_loss": True,
        "base_url": server.url,
        "generation": PATIENT,
    }
    return validated(**(settings | changes))


def test_decrypto_is_counted_as_it_is_played(server, tiny, tmp_path):
    config = decrypto(server)
    play = partial(run, config, tiny, tmp_path / "out" / "log.jsonl")
    estimate = dry(play)
    assert not server.requests and not list(tmp_path.iterdir())
    assert estimate.calls[MODEL].count == 2 * 2 * 3 and (estimate.games, estimate.played) == (2, 2)
    real(play)
    assert same(estimate, server)
    assert dry(play).calls == {} and dry(play).games == 0  # all of it is in the log


def test_a_run_that_was_stopped_is_counted_from_there(server, tiny, tmp_path):
    config, path = decrypto(server), tmp_path / "log.jsonl"
    play = partial(run, config, tiny, path)
    real(play)
    lines = path.read_bytes().splitlines(keepends=True)
    spent = []
    for count in (0, 5, len(lines) - 2):
        path.write_bytes(b"".join(lines[:count]) + b'{"torn')
        before, estimate = path.read_bytes(), dry(play)
        assert path.read_bytes() == before
        server.requests.clear()
        real(play)
        left = estimate.calls.get(MODEL, Calls())
        assert (left.count, left.read) == (len(server.requests), server.prompt_tokens())
        spent.append(sum(usage.tokens for usage in estimate.spent.values()))
    made = sum(b'"agent":"vllm/fake' in line for line in lines[:5])
    assert spent == [0, 13 * made, 13 * 12]  # as the server reports every answer


def test_a_chat_is_counted_as_it_grows(server, tiny, tmp_path):
    chat, turns = (
        dry(partial(run, decrypto(server, decoder=(agent,), interceptor=("bayesian",)), tiny, tmp_path / "log.jsonl"))
        for agent in ("vllm/fake:context=chat", MODEL)
    )
    assert chat.calls[MODEL].count == turns.calls[MODEL].count == 3
    # The second request of a chat comes after the first one and an answer; by itself it holds the rules and one turn.
    assert chat.calls[MODEL].read > 1.1 * turns.calls[MODEL].read


def test_games_that_are_alike_are_sampled(server, tiny, tmp_path):
    config = decrypto(
        server,
        encoder=tuple(f"vllm/fake:system={system},role={role}" for system in range(5) for role in range(5)),
        decoder=("baseline",),
        interceptor=("baseline",),
        design="cube",
    )
    play = partial(run, config, tiny, tmp_path / "log.jsonl")
    whole, some = dry(play), dry(play, sample=5)
    assert (whole.games, whole.played, some.played) == (25, 20, 5)
    assert some.calls[MODEL].count == pytest.approx(25 * 3)  # every game has three turns
    assert some.calls[MODEL].read == pytest.approx(whole.calls[MODEL].read, rel=0.1)
    assert sum(times for _, times in sampled(range(50), lambda game: game % 3, 4)) == pytest.approx(50)
    assert table_pattern(("a/b:system=1,think=true", "literal", "c/d:role=2")) == table_pattern(
        ("a/b:think=true,persona=x", "literal", "c/d")
    )
    assert table_pattern(("a/b:think=true",)) != table_pattern(("a/b",))
    assert table_pattern(("literal:vectors=my/words.txt", "rational")) is None


@pytest.mark.slow
def test_observers_are_counted_as_they_are_asked(server, tmp_path):
    config = rps_config.validated(
        player1="N", player2="Y", observers=("frequency", MODEL), matches=2, rounds=12, warmup=2, every=4, history=5,
        reasoning_interval=8, base_url=server.url, generation=PATIENT,
    )  # fmt: skip
    play = partial(rps.run, config, tmp_path / "log.jsonl")
    estimate = dry(play, lambda match: match.observer if rps_config.is_model(match.observer) else None)
    assert estimate.games == 2 and not server.requests and not list(tmp_path.iterdir())
    real(play)
    assert same(estimate, server) and estimate.calls[MODEL].count == 2 * 3


@pytest.mark.slow
def test_negotiations_are_counted(server, tmp_path):
    def propose(request):
        answer = filled_in(request["response_format"]["json_schema"]["schema"])
        return json.dumps(answer | {"action": "propose"})

    server.script = [propose]
    config = trails_config.validated(
        agents=(MODEL, MODEL), seats="fixed", ordinary=1, limit=2, base_url=server.url, generation=PATIENT
    )
    play = partial(trails.run, config, tmp_path / "log.jsonl")
    estimate = dry(play, lambda game: game.agents)
    assert estimate.calls[MODEL].count == 2 * 2 and not list(tmp_path.iterdir())
    real(play)
    # What is offered first, and so a few digits of the second question, is the mind's; the message is as long.
    assert estimate.calls[MODEL].count == len(server.requests)
    assert estimate.calls[MODEL].read == pytest.approx(server.prompt_tokens(), abs=10)


@pytest.fixture(scope="module")
def recording(tiny, tmp_path_factory):
    """A recorded game of three turns."""
    folder = tmp_path_factory.mktemp("recording")
    turns = [
        {"keywords": list(tiny.keywords[:4]), "code": code_text(7 * turn).replace("-", ""),
         "hints": [tiny.words[11 * turn + place] for place in range(3)], "guess_bob": [1, 2, 3], "guess_eve": [4, 2, 3]}
        for turn in range(3)
    ]  # fmt: skip
    (folder / "games.json").write_text(json.dumps([{"summarized_history": turns}]))
    import_decrypto(folder / "games.json", tiny, log=folder / "log.jsonl")
    return folder / "log.jsonl"


def test_tasks_are_counted(server, recording, tmp_path):
    settings = AskingSettings(
        tuple(TASKS[name] for name in ("false-belief", "perspective-taking")), (MODEL,), base_url=server.url
    )
    play = partial(ask_tasks, recording, tmp_path / "log.jsonl", settings)
    estimate = dry(play, lambda plan: plan.game_id)
    assert not server.requests and not list(tmp_path.iterdir())
    real(play)
    assert same(estimate, server)


def test_a_replay_is_counted(server, recording, tiny, tmp_path):
    seats = ((Role.DECODER, MODEL), (Role.INTERCEPTOR, MODEL), (Role.DECODER, "literal"))
    settings = ReplaySettings(seats, to_the_end=True, base_url=server.url, generation=PATIENT)
    play = partial(replay, recording, tiny, tmp_path / "log.jsonl", settings)
    estimate = dry(play, lambda game: table_pattern((game.agent,)))
    assert not list(tmp_path.iterdir())
    real(play)
    assert same(estimate, server) and estimate.calls[MODEL].count == 2 * 3


# What is printed

CALLS = Calls(10, 1000, 200, 2000, 500)


def estimate_of(limits=None, **others):
    settings = {"calls": {MODEL: CALLS}, "attempts": 2, "games": 5, "played": 5, "limits": limits or Limits()}
    return Estimate(**(settings | others))


def test_rows():
    expected, longest, all_attempts = rows(estimate_of(Limits(prices={MODEL: (10.0, 100.0)})))
    assert (expected.answers, expected.used, expected.cost) == (10, Usage(1000, 200), pytest.approx(0.03))
    assert (longest.answers, longest.used, longest.cost) == (10, Usage(1000, 2000), pytest.approx(0.21))
    assert (all_attempts.answers, all_attempts.used) == (20, Usage(2500, 4000))
    two = rows(estimate_of(Limits(prices={MODEL: (10.0, 100.0)}), calls={MODEL: CALLS, "vllm/other": CALLS}))
    assert [row.model for row in two[::3]] == [MODEL, "vllm/other", "all models"]
    assert two[6].used == Usage(2000, 400) and two[6].cost is None and two[3].cost is None


@pytest.mark.parametrize(
    ("limit", "spent", "told"),
    [
        (6500, 0, "enough, even if every attempt is used up"),
        (6500, 1, "enough for what is expected, not for every attempt, after 1 tokens spent before"),
        (1200, 0, "enough for what is expected, not for every attempt"),
        (1199, 0, "not enough"),
    ],
)
def test_limits_are_compared(limit, spent, told):
    (verdict,) = verdicts(estimate_of(Limits(tokens=limit), spent={MODEL: Usage(spent, 0)}))
    assert verdict.startswith(f"--token-limit {limit:,}: {told}")


def test_costs_are_compared():
    limits = Limits(cost=0.05, prices={"*": (10.0, 100.0)})
    assert verdicts(estimate_of(limits)) == ["--cost-limit 0.05: enough for what is expected, not for every attempt"]
    dear = verdicts(estimate_of(limits, spent={MODEL: Usage(4000, 0)}))
    assert dear == ["--cost-limit 0.05: not enough; the run would stop before its end, after $0.04 spent before"]
    assert verdicts(estimate_of(limits, calls={})) == []


# Every command


def invoked(*command):
    result = CliRunner().invoke(cli.main, [*command, "--dry-run"])
    assert result.exit_code == 0, result.output
    return result


SHORT = ["--rounds", "12", "--warmup", "2", "--every", "4", "--history", "5"]
ASKED = ["--model", MODEL, "--base-url", NOBODY, "--price", "2,8", "--token-limit", "100"]


@pytest.mark.slow
def test_every_command_counts_and_writes_nothing(tiny_files, recording, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [part for name, path in tiny_files.items() for part in (f"--{name}", path)]
    before = sorted(path.name for path in recording.parent.iterdir())
    table = ["--encoder", "baseline", "--decoder", "model", "--interceptor", "baseline", "--episodes", "1"]
    told = invoked("run", "decrypto", *words, *table, *ASKED).output
    assert "vllm/fake" in told and "dollars" in told and "--token-limit 100: not enough" in told
    assert "quarter of the characters" in told and "may be longer or shorter" in told
    asking = [option for option in ASKED if option not in ("--model", MODEL)]
    for command in (
        ["run", "rps", "--matches", "1", *SHORT, *ASKED],
        ["run", "colored-trails", "--agents", "model,order1", "--ordinary", "1", "--limit", "2", *ASKED],
        ["ask", str(recording), "--no-minds", *ASKED],
        ["replay", "decrypto", str(recording), "--decoder", MODEL, *words, *asking],
    ):
        assert "vllm/fake" in invoked(*command).stdout
        content = json.loads(invoked(*command, "--json").stdout)
        assert [row["model"] for row in content["dry_run"]] == [MODEL] * 3
        assert all(row["answers"] > 0 and row["dollars"] > 0 for row in content["dry_run"])
    alone = invoked("run", "decrypto", *words, "--encoder", "baseline", "--decoder", "baseline", "--interceptor",
                    "baseline").output  # fmt: skip
    assert "no language model would be asked" in alone
    assert not list(tmp_path.iterdir()) and sorted(path.name for path in recording.parent.iterdir()) == before


def test_a_wrong_call_is_wrong_in_a_dry_run_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for asked, told in ((["--cost-limit", "1"], "has no price"), (["--max-attempts", "0"], "--max-attempts")):
        command = ["run", "rps", *SHORT, "--model", MODEL, "--base-url", NOBODY, "--dry-run", *asked]
        result = CliRunner().invoke(cli.main, command)
        assert result.exit_code == 2 and told in result.stderr and not list(tmp_path.iterdir())


STEPS = """
about = "Three steps"
out = "runs/mine"
[[step]]
command = "run decrypto"
out = "{out}/games"
encoder = "baseline"
decoder = "baseline"
interceptor = ["model", "baseline"]
episodes = EPISODES
seeds = 1
[[step]]
command = "ask"
log = "{out}/games/log.jsonl"
out = "{out}/asked"
task = "false-belief"
no-minds = true
[[step]]
command = "compare"
logs = "{out}/games/log.jsonl"
out = "{out}/compared"
"""


def counted(told):
    """The answers of each dry run that is printed, as expected."""
    return [int(n.replace(",", "")) for n in re.findall(r"^ *expected +([\d,]+) ", told, re.M)]


def test_an_experiment_counts_a_step_that_reads_what_another_plays(tiny_files, tmp_path, monkeypatch):
    """The interceptor is asked three questions after every turn of its games but the first, all games counted up."""
    monkeypatch.chdir(tmp_path)
    words = [part for name, path in tiny_files.items() for part in (f"--{name}", path)]
    alone = STEPS.replace('["model", "baseline"]', '"model"')
    asked = {}
    for steps, episodes in ((alone, 1), (alone, 2 * SAMPLE), (STEPS, 1)):
        (tmp_path / "mine.toml").write_text(steps.replace("EPISODES", str(episodes)))
        told = invoked("run", "mine.toml", "--model", MODEL, "--base-url", NOBODY, *words).output
        turns, asked[steps, episodes] = counted(told)
        assert turns > 2 * episodes
        assert steps is STEPS or asked[steps, episodes] == 3 * (turns - episodes)
        assert "it asks no language model, and is left out of a dry run" in told
        assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]
    assert asked[STEPS, 1] > asked[alone, 1]  # it is asked about the game of minds too


def test_a_step_whose_log_is_there_is_counted(recording, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs/mine/games").mkdir(parents=True)
    (tmp_path / "runs/mine/games/log.jsonl").write_bytes(recording.read_bytes())
    _, _, asked, _ = STEPS.split("[[step]]")
    validate = 'command = "validate"\nlogs = "{out}/games/log.jsonl"\n'
    (tmp_path / "mine.toml").write_text(
        'out = "runs/mine"\n' + "".join(f"[[step]]\n{step}" for step in (validate, asked))
    )
    told = invoked("run", "mine.toml", "--model", MODEL, "--base-url", NOBODY).output
    assert told.count("Dry run: what would be asked") == 1 and "it reads" not in told
    assert list(journal.read(tmp_path / "runs/mine/games/log.jsonl"))
