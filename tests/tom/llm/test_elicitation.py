"""Distributions over options: three ways, and no distribution where there is none."""

import asyncio
import math

import pytest

from otherminds.tom.llm.client import GenerationSettings, open_client
from otherminds.tom.llm.elicitation import LABELS, METHODS, by_logprobs, by_sampling, listed, stated

QUESTION = [{"role": "system", "content": "You know animals."}, {"role": "user", "content": "Which one barks?"}]
OPTIONS = ("cat", "dog", "sea horse")


def elicit(server, how, model="fake/fake", options=OPTIONS, **more):
    async def go():
        settings = GenerationSettings(timeout=5.0, max_retries=0)
        async with open_client(model, server.url, settings, {"ANTHROPIC_API_KEY": "k" * 20}) as client:
            return await how(client, QUESTION, options, **more)

    return asyncio.run(go())


def test_options_are_told_apart_by_a_letter(fake_server):
    assert listed(OPTIONS) == "A: cat\nB: dog\nC: sea horse"
    for options in (["one"], ["a"] * 2, [str(n) for n in range(len(LABELS) + 1)]):
        with pytest.raises(ValueError, match="options"):
            listed(options)
    elicit(fake_server, stated)
    sent = fake_server.requests[0]["messages"]
    assert len(sent) == 2 and sent[1]["content"].startswith("Which one barks?\n\nOptions:\nA: cat\n")


# what is said -> the probabilities and their sum, or a part of the error
STATED = {
    '{"probabilities": {"A": 0.2, "B": 0.7, "C": 0.1}}': ((0.2, 0.7, 0.1), 1.0),
    'I think\n```json\n{"probabilities": {"B": 1, "A": 0, "C": 0}}\n```': ((0.0, 1.0, 0.0), 1.0),
    '{"probabilities": {"A": 0.3, "B": 0.51, "C": 0.2}}': ((0.3 / 1.01, 0.51 / 1.01, 0.2 / 1.01), 1.01),
    '{"probabilities": {"A": 0.3, "B": 0.5, "C": 0.1}}': "sum to 0.9",
    '{"probabilities": {"A": 0, "B": 0, "C": 0}}': "sum to 0",
    '{"probabilities": {"A": 0.5, "B": 0.5}}': "one probability for each of A, B, C",
    '{"probabilities": {"A": 0.5, "B": 0.5, "C": 0, "D": 0}}': "one probability for each of A, B, C",
    '{"probabilities": {"A": -0.5, "B": 1, "C": 0.5}}': "from 0 to 1",
    '{"probabilities": {"A": "half", "B": 0.5, "C": 0}}': "must be numbers",
    '{"probabilities": {"A": true, "B": 0, "C": 0}}': "must be numbers",
    '{"probabilities": {"A": NaN, "B": 1, "C": 0}}': "NaN is no number",
    '{"probabilities": {"A": 1e400, "B": 1, "C": 0}}': "from 0 to 1",
    '{"probabilities": [0.2, 0.7, 0.1]}': "one probability for each",
    '{"probabilities": {"A": 1, "B": 0, "C": 0}} {"probabilities": {"A": 0, "B": 1, "C": 0}}': "two different",
    "dog": "no JSON object",
    "": "empty",
}


@pytest.mark.parametrize("text", STATED)
def test_stated_probabilities(fake_server, text):
    fake_server.script = [text]
    found = elicit(fake_server, stated, max_attempts=2)
    if isinstance(STATED[text], str):
        assert found.probabilities is None and found.by_option is None and found.failed == 1
        assert STATED[text] in found.error and len(found.attempts) == 2
    else:
        probabilities, total = STATED[text]
        assert found.probabilities == pytest.approx(probabilities) and found.total == pytest.approx(total)
        assert math.fsum(found.probabilities) == pytest.approx(1) and found.error is None
        assert found.attempts[0].text == text


def answer_of(completion, *places):
    """A completion whose tokens had these alternatives."""
    content = [
        {"token": place[0][0], "logprob": place[0][1], "top_logprobs": [{"token": t, "logprob": p} for t, p in place]}
        for place in places
    ]
    body = completion("".join(place[0][0] for place in places))
    body["choices"][0]["logprobs"] = {"content": content}
    return body


def logs(**masses):
    return [(token, math.log(mass)) for token, mass in masses.items()]


def test_log_probabilities_of_letters(fake_server, fake_completion):
    place = [*logs(B=0.4, A=0.1, b=0.1, the=0.2), (" B", math.log(0.1)), ('"A"', math.log(0.05))]
    fake_server.script = [answer_of(fake_completion, place)]
    found = elicit(fake_server, by_logprobs, seed=3)
    assert found.probabilities == pytest.approx((0.15 / 0.75, 0.6 / 0.75, 0.0))
    assert found.missing == pytest.approx(0.25) and found.unseen == ("sea horse",)
    assert found.attempts[0].logprobs[0][0] == ("B", pytest.approx(math.log(0.4)))
    sent = fake_server.requests[0]
    assert (sent["logprobs"], sent["top_logprobs"], sent["seed"]) == (True, 20, 3)


def test_a_blank_first_token_is_passed_over(fake_server, fake_completion):
    fake_server.script = [answer_of(fake_completion, [("\n", -0.1)], logs(C=0.9))]
    assert elicit(fake_server, by_logprobs).probabilities == (0.0, 0.0, 1.0)


QWEN = ("<think>", "\n", "Is", " it", " A", "?", "</think>", "\n\n")
GPT = ("<|channel|>", "analysis", "<|message|>", "A", "<|end|>", "<|start|>", "assistant", "<|channel|>", "final",
       "<|message|>")  # fmt: skip


def after_thoughts(completion, thoughts, text, *places):
    """A completion that shows the tokens of its thoughts, which its text does not hold."""
    body = answer_of(completion, *(logs(**{token: 0.9, "A": 0.1}) for token in thoughts), *places)
    body["choices"][0]["message"] |= {"content": text, "reasoning": "Is it A?"}
    return body


@pytest.mark.parametrize("model, thoughts", [("fake/qwen3", QWEN), ("fake/gpt-oss-20b", GPT), ("fake/qwen3", ())])
def test_the_token_behind_the_thoughts_is_looked_at(fake_server, fake_completion, model, thoughts):
    fake_server.script = [after_thoughts(fake_completion, thoughts, "B", logs(B=0.6, C=0.2), [("<|return|>", -0.1)])]
    found = elicit(fake_server, by_logprobs, model=model)
    assert found.probabilities == pytest.approx((0.0, 0.75, 0.25))
    kept = [place[0][0] for place in found.attempts[0].logprobs]
    assert [token for token in kept if token.strip()] == ["B", "<|return|>"]  # no thoughts in the log
    assert len(fake_server.requests) == 1 and fake_server.requests[0]["max_tokens"] > 10_000


def test_a_model_that_turns_out_to_think_is_given_room(fake_server, fake_completion):
    cut = answer_of(fake_completion, *(logs(**{token: 0.9}) for token in QWEN[:4]))
    cut["choices"][0]["finish_reason"] = "length"
    fake_server.script = [cut, after_thoughts(fake_completion, QWEN, "B", logs(B=0.6, C=0.2))]
    found = elicit(fake_server, by_logprobs)
    assert found.probabilities == pytest.approx((0.0, 0.75, 0.25))
    assert [request["max_tokens"] for request in fake_server.requests] == [4, 1024]
    assert [attempt.failure for attempt in found.attempts] == ["cut", None]
    fake_server.script, fake_server.requests[:] = [cut], []
    never = elicit(fake_server, by_logprobs)
    assert never.probabilities is None and "thoughts were cut off" in never.error and len(fake_server.requests) == 2


def test_an_answer_that_cannot_be_told_from_the_thoughts_is_a_failure(fake_server, fake_completion):
    fake_server.script = [after_thoughts(fake_completion, ("Is", " it", " A", "?"), "B", logs(B=0.6))]
    found = elicit(fake_server, by_logprobs, model="fake/qwen3")
    assert found.probabilities is None and "no sign where its answer begins" in found.error
    assert len(fake_server.requests) == 1


@pytest.mark.parametrize("log_p", [float("nan"), 1000.0, float("inf")])
def test_numbers_that_are_no_log_probabilities_are_none(fake_server, fake_completion, log_p):
    fake_server.script = [answer_of(fake_completion, [("B", log_p)])]
    found = elicit(fake_server, by_logprobs)
    assert found.probabilities is None and "gives no log-probabilities" in found.error


def test_a_model_that_names_no_letter_has_no_distribution(fake_server, fake_completion):
    fake_server.script = [answer_of(fake_completion, logs(the=0.5, I=0.3))]
    found = elicit(fake_server, by_logprobs)
    assert found.probabilities is None and found.missing == 1 and "'the', 'I'" in found.error


@pytest.mark.parametrize("entry", ["B", (400, {"error": {"message": "logprobs is not supported"}})])
def test_a_server_without_log_probabilities_is_a_failure_that_says_so(fake_server, entry):
    fake_server.script = [entry, "B"]
    found = elicit(fake_server, by_logprobs)
    assert found.probabilities is None and found.failed == 1
    assert "fake/fake at 127.0.0.1" in found.error and "gives no log-probabilities" in found.error


def test_a_service_known_to_give_none_is_not_asked(fake_server):
    found = elicit(fake_server, by_logprobs, model="anthropic/x")
    assert "gives no log-probabilities" in found.error and not fake_server.requests


def test_a_call_that_failed_is_a_failure(fake_server):
    fake_server.script = [(500, {})]
    for how, more in ((stated, {}), (by_logprobs, {}), (by_sampling, {"samples": 2})):
        found = elicit(fake_server, how, **more)
        assert found.probabilities is None and "status 500" in found.error, how


def test_samples_are_counted_with_their_failures(fake_server):
    texts = ['{"answer": "B"}', '{"answer": "dog"}', "B", '{"answer": "D"}', '{"answer": "a"}', "who knows, really?"]

    def by_seed(body):
        return texts[body["seed"] - 10]

    fake_server.script = [by_seed]
    found = elicit(fake_server, by_sampling, samples=6, seed=10)
    assert (found.samples, found.failed, len(found.attempts)) == (6, 2, 6)
    assert found.by_option == {"cat": 0.25, "dog": 0.75, "sea horse": 0.0}
    assert found.missing == pytest.approx(2 / 6)
    fake_server.script = ["no"]
    none = elicit(fake_server, by_sampling, samples=3)
    assert none.probabilities is None and none.failed == 3 and "none of 3 answers" in none.error
    with pytest.raises(ValueError, match="samples=0"):
        elicit(fake_server, by_sampling, samples=0)


def test_a_chat_must_end_with_the_user(fake_server):
    async def go():
        async with open_client("fake/fake", fake_server.url, environ={}) as client:
            await METHODS["stated"](client, [{"role": "assistant", "content": "x"}], OPTIONS)

    with pytest.raises(ValueError, match="must end with what the user asks"):
        asyncio.run(go())
