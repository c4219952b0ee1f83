"""What is spent, and where it stops."""

import asyncio
import json

import pytest

from otherminds.tom.experiments import journal
from otherminds.tom.experiments.logs import Log
from otherminds.tom.experiments.running import Asked, spent_before
from otherminds.tom.llm.accounts import Account, LimitReached, Limits, Usage, estimated_tokens, read_prices
from otherminds.tom.llm.client import GenerationSettings, ModelError, open_client

ASK = [{"role": "user", "content": "guess"}]  # 10 tokens read and 3 written, as the server counts
RESERVE = estimated_tokens(ASK) + 20


def run(server, calls, limits, at_once=1, spent=None, **options):
    """The answers that came, the error, and the account."""

    async def go():
        settings = GenerationSettings(max_tokens=20, timeout=5.0, max_retries=0, max_connections=at_once, limits=limits)
        account = Account(limits, spent)
        async with open_client("fake/fake", server.url, settings, {}, account) as client:
            done = await asyncio.gather(*(client.chat(ASK, **options) for _ in range(calls)), return_exceptions=True)
        return done, account

    done, account = asyncio.run(go())
    return (
        [one for one in done if not isinstance(one, Exception)],
        [e for e in done if isinstance(e, Exception)],
        account,
    )


@pytest.mark.parametrize("at_once", [1, 8])
def test_a_token_limit_is_kept_however_many_calls_are_in_flight(fake_server, at_once):
    limit = 100
    answers, errors, account = run(fake_server, 20, Limits(tokens=limit), at_once)
    assert account.tokens == 13 * len(answers) <= limit
    assert limit - account.tokens < RESERVE  # it stops where the next call might not fit, and not before
    assert len(answers) + len(errors) == 20 and len(fake_server.requests) == len(answers)
    assert all(isinstance(error, LimitReached) for error in errors)
    said = str(errors[0])
    assert f"--token-limit {limit}: {account.tokens} tokens spent" in said and f"{RESERVE} more" in said
    assert "the same command with a higher limit goes on" in said and "\n" not in said


def test_a_call_that_just_fits_is_made(fake_server):
    assert len(run(fake_server, 1, Limits(tokens=RESERVE))[0]) == 1
    assert not run(fake_server, 1, Limits(tokens=RESERVE - 1))[0]


def test_a_schema_counts_in_the_reserve(fake_server):
    schema = {"type": "object", "properties": {"guess": {"type": "string"}}}
    more = estimated_tokens(ASK, schema) - estimated_tokens(ASK)
    assert more == len(json.dumps(schema)) // 4  # with the words of the prompt a whole one
    _, (error,), _ = run(fake_server, 1, Limits(tokens=RESERVE + more - 1), schema=schema)
    assert f"{RESERVE + more} more" in str(error)


def test_a_cost_limit_counts_both_kinds_of_tokens(fake_server):
    limits = Limits(cost=0.001, prices={"*": (10.0, 20.0)})  # 160 millionths of a dollar a call
    answers, errors, account = run(fake_server, 20, limits)
    assert account.cost == pytest.approx(160e-6 * len(answers)) and account.cost <= 0.001
    assert "--cost-limit 0.001: " in str(errors[0]) and f"(${account.cost:.4f}) spent" in str(errors[0])


def test_what_was_spent_before_counts(fake_server):
    spent = {"fake/fake": Usage(90, 5)}
    answers, errors, _ = run(fake_server, 1, Limits(tokens=100), spent=spent)
    assert not answers and "95 tokens spent" in str(errors[0])


def test_an_answer_that_is_none_is_counted(fake_server, fake_completion):
    fake_server.script = [{"error": {"message": "no"}, "usage": {"prompt_tokens": 5, "completion_tokens": 1}}]
    answers, _, account = run(fake_server, 1, Limits(tokens=100))
    assert answers[0].error and account.tokens == 6


def test_nothing_is_limited_by_default(fake_server):
    answers, errors, account = run(fake_server, 5, Limits())
    assert (len(answers), errors, account.tokens, account.cost) == (5, [], 65, None)


def test_a_model_without_a_price_is_told_before_any_call(fake_server):
    with pytest.raises(ModelError, match=r"fake/fake has no price \(prices: other/x\); give --price IN,OUT"):
        run(fake_server, 1, Limits(cost=1.0, prices={"other/x": (1.0, 1.0)}))
    assert not fake_server.requests


def test_prices(tmp_path):
    assert read_prices("2.5,10") == {"*": (2.5, 10.0)}
    (tmp_path / "p.json").write_text('{"a/b": [1, 2], "*": [3, 4.5]}')
    (tmp_path / "p.toml").write_text('"a/b" = [1, 2]')
    assert read_prices(str(tmp_path / "p.json")) == {"a/b": (1.0, 2.0), "*": (3.0, 4.5)}
    assert read_prices(str(tmp_path / "p.toml")) == {"a/b": (1.0, 2.0)}
    assert Limits(prices=read_prices("2,4")).cost_of("any/x", Usage(1_000_000, 500_000)) == 4.0


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "a,b", "missing.json", "list.json", "wrong.json", "broken.toml"])
def test_wrong_prices_are_told_in_one_line(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "wrong.json").write_text('{"a/b": 1}')
    (tmp_path / "broken.toml").write_text("a = [")
    with pytest.raises(ModelError, match=r"^--price ") as caught:
        read_prices(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "fields", [{"tokens": 0}, {"cost": -1.0}, {"cost": float("nan")}, {"prices": {"*": (-1.0, 1.0)}}]
)
def test_wrong_limits_are_told(fields):
    with pytest.raises(ModelError, match="must be"):
        Limits(**fields)


def test_an_earlier_start_is_read_from_the_log():
    def line(turn, agent, **usage):
        what = {"game_id": "g", "role": "decoder", "observation": {}, "action": None}
        return journal.Decision(turn=turn, agent=agent, usage=usage, **what)

    lines = [
        line(0, "a/b", prompt_tokens=10, completion_tokens=1, requests=1),
        line(1, "a/b", prompt_tokens=5, completion_tokens=1, requests=1, cached_tokens=99),
        line(2, "c/d;temperature=1", prompt_tokens=7, completion_tokens=1, requests=1),
        line(3, "mind"),
    ]
    models = {"a/b": Asked("a/b", None, GenerationSettings())}
    past = Log(decisions={"g": {(line.turn, 0): line for line in lines}})
    spent = spent_before(past, models, Limits(prices={"c/d": (1.0, 1.0), "c": (1.0, 1.0)}))
    assert spent == {"a/b": Usage(15, 2), "c/d": Usage(7, 1)}
