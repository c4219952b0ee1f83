"""Tasks of inspect-ai over recorded games, with a model of its own that needs no network."""

import importlib
import json
import math
import re
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="inspect-ai is not installed; it comes with the extra `inspect`")

from inspect_ai import eval as evaluate
from inspect_ai import score
from inspect_ai._util.registry import registry_info
from inspect_ai.model import Logprob, Logprobs, ModelOutput, ModelUsage, TopLogprob, get_model

from otherminds.games.decrypto.rules import CODES, code_text
from otherminds.tom.adapters.inspect_tasks import (
    false_belief,
    measures,
    perspective_taking,
    recorded_samples,
    reference_game,
    understanding,
)
from otherminds.tom.experiments.decrypto.recordings import import_decrypto
from otherminds.tom.llm.elicitation import LABELS
from otherminds.tom.tasks.task import UNINFORMED

pytestmark = pytest.mark.filterwarnings("ignore")  # inspect and what it stands on warn of each other
KEYWORDS = ["lantern", "harbor", "violin", "meadow"]
X, Y = ["a", "b", "c", "d"], ["a", "b", "c", "e"]


@pytest.fixture
def record(tmp_path, small_vocabulary):
    """A log of games of so many turns, of which the interceptor finds the codes of some."""

    def write(*games, name="games"):
        recorded = []
        for turns, intercepted in games:
            history = []
            for number in range(turns):
                code, other = ([int(digit) + 1 for digit in CODES[place]] for place in (number, number + 10))
                found = number + 1 in intercepted
                history.append(
                    {"keywords": KEYWORDS, "code": "".join(map(str, code)), "hints": ["one", "two", "three"],
                     "guess_bob": code, "guess_eve": code if found else other}
                )  # fmt: skip
            recorded.append({"summarized_history": history})
        (tmp_path / f"{name}.json").write_text(json.dumps(recorded))
        import_decrypto(tmp_path / f"{name}.json", small_vocabulary, log=tmp_path / f"{name}.jsonl")
        return str(tmp_path / f"{name}.jsonl")

    return write


def model_of(answer):
    """A model that answers by the last message of a chat; what was asked of it is in `asked`."""
    asked = []

    def generate(messages, tools, choice, config):
        asked.append((messages, config))
        output = answer(messages)
        output = output if isinstance(output, ModelOutput) else ModelOutput.from_content("mock", output)
        output.usage = ModelUsage(input_tokens=7, output_tokens=2, total_tokens=9)  # else inspect counts, by a download
        return output

    return get_model("mockllm/model", custom_outputs=generate, memoize=False), asked


def results(task, answer, folder, **options):
    """The metrics of an evaluation, its log, and what the model was asked."""
    model, asked = model_of(answer)
    (log,) = evaluate(task, model=model, display="none", log_dir=str(folder), **options)
    assert log.status == "success", log.error
    return {name: value.value for name, value in log.results.scores[0].metrics.items()}, log, asked


def beliefs(belief, before, other):
    def answer(messages):
        asked = messages[-1].text
        words = other if "Another interceptor" in asked else before if "were shown" in asked else belief
        return json.dumps({"keywords": words})

    return answer


def predictions(code_of):
    def answer(messages):
        code = re.search(r"Your code is (\d-\d-\d)", messages[-1].text)
        return json.dumps({"guess": code_of(code[1]), "percent": 100})

    return answer


TEXTS = [code_text(place) for place in range(len(CODES))]
PT_NAMES = {
    "accuracy": "avg_predicted_success",
    "accuracy on interceptions": "avg_predicted_success_on_intercept",
    "predicted interceptions": "avg_prediction_is_code",
}
RCFB_NAMES = {
    "representational change, weak": "gopnik_weak_rep_change",
    "representational change, strong": "gopnik_strong_rep_change",
    "false belief, weak": "gopnik_weak_false_belief",
    "false belief, strong": "gopnik_strong_false_belief",
    "self-other consistency": "gopnik_self_other_consistency",
}
CASES = {
    "PT|alice=always_true_code": (perspective_taking, PT_NAMES, predictions(lambda code: code)),
    "PT|alice=always_swap": (perspective_taking, PT_NAMES, predictions(lambda code: TEXTS[TEXTS.index(code) + 10])),
    "PT|alice=dummy": (perspective_taking, PT_NAMES, lambda messages: "dummy"),
    "RCFB|truth_leak": (false_belief, RCFB_NAMES, beliefs(X, KEYWORDS, KEYWORDS)),
    "RCFB|rc_strong_fb_weak": (false_belief, RCFB_NAMES, beliefs(X, X, Y)),
    "RCFB|vanilla_correct": (false_belief, RCFB_NAMES, beliefs(KEYWORDS, KEYWORDS, KEYWORDS)),
    "RCFB|vanilla_correct_then_x": (false_belief, RCFB_NAMES, beliefs(KEYWORDS, X, X)),
    "RCFB|mixture_short_episode(eve intercepts t1,t2)": (false_belief, RCFB_NAMES, beliefs(X, X, X)),
}


def test_the_published_scores_of_scripted_answers(shared, record, tmp_path):
    published = json.loads((shared / "golden/decrypto/tom_scoring.json").read_text())
    assert len(published) == 10
    for name, expected in published.items():
        kind = name.partition("|eve")[0]
        make_task, names, answer = CASES[kind]
        games = [(each["turns"], each["intercept_turns"]) for each in expected["episodes"]]
        log = record(*games, name=str(len(list(tmp_path.iterdir()))))
        found, _, _ = results(make_task(log, max_attempts=1), answer, tmp_path / "logs")
        for ours, theirs in names.items():
            # Theirs scores an answer that failed as a success; here it is 0. NaN, where no turn counts, is left out.
            due = 0.0 if "dummy" in kind and not math.isnan(expected[theirs]) else expected[theirs]
            assert found.get(ours, math.nan) == pytest.approx(due, nan_ok=True), (name, ours)


def test_failed_answers_are_asked_again_and_then_stay_in_the_denominator(record, tmp_path):
    found, log, asked = results(understanding(record((2, ()))), lambda messages: '{"percent": 101}', tmp_path / "logs")
    assert found["Brier"] == UNINFORMED["Brier"] and found["log score"] == UNINFORMED["log score"]
    assert (found["Brier, of"], found["failed"], found["questions"]) == (2, 2, 2)
    assert sum("no valid answer" in messages[-1].text for messages, _ in asked) == 2 and len(asked) == 4
    sample = log.samples[0]
    assert [message.role for message in sample.messages] == ["system", "user", "assistant", "user", "assistant"]
    assert "is no per cent" in sample.scores["measures"].metadata["errors"]["understanding"]


def test_answers_that_are_cut_off_or_refused_are_failures(record, tmp_path):
    for reason in ("max_tokens", "content_filter"):
        cut = ModelOutput.from_content("mock", '{"percent": 50}', stop_reason=reason)
        found, _, _ = results(understanding(record((1, ()), name=reason)), lambda _, cut=cut: cut, tmp_path / "logs")
        assert (found["failed"], found["questions"]) == (1, 1)


def test_samples_are_turns_and_what_is_asked_is_what_the_package_asks(record, tmp_path):
    log = record((3, (1, 2)), (2, ()))
    assert len(recorded_samples("perspective-taking", Path(log))) == 2 + 2  # a loss ends the first game
    assert len(recorded_samples("perspective-taking", Path(log), after_loss=True)) == 3 + 2
    assert len(recorded_samples("false-belief", Path(log), turns=2)) == 1 + 1
    _, _, asked = results(perspective_taking(log, turns=1), predictions(lambda code: code), tmp_path / "logs")
    messages, config = asked[0]
    assert messages[1].text.endswith("says how sure you are of it.") and config.seed is not None
    assert config.response_schema.json_schema.properties["guess"].enum == TEXTS
    assert len({config.seed for _, config in asked}) == len(asked) == 4


def test_epochs_count_and_a_log_can_be_scored_again(record, tmp_path):
    task = false_belief(record((3, ())))
    found, log, asked = results(task, beliefs(X, X, Y), tmp_path / "logs", epochs=2)
    assert (found["false belief, weak, of"], found["false belief, strong, turns"]) == (4, 0) and len(asked) == 12
    again = score(log, measures(), display="none")
    assert {name: value.value for name, value in again.results.scores[0].metrics.items()} == found


def test_the_reference_game_is_asked_in_balanced_orders(tmp_path):
    found, _, asked = results(reference_game(items=2, samples=3), lambda messages: '{"object": "1"}', tmp_path / "logs")
    third = pytest.approx(1 / 3)
    assert found == {"target": third, "competitor": third, "distractor": third, "failed": 0} and len(asked) == 6
    found, _, _ = results(reference_game(role="speaker", items=2), lambda messages: "?", tmp_path / "logs")
    assert found == {"target": 0, "competitor": 0, "distractor": 0, "failed": 1}


def test_log_probabilities_come_through(tmp_path):
    def answer(messages):
        options = messages[-1].text.partition("Options:\n")[2].splitlines()[:3]
        place = min(range(3), key=lambda place: options[place][3:])
        masses = [0.5 if number == place else 0.25 for number in range(3)]
        top = [TopLogprob(token=LABELS[number], logprob=math.log(mass)) for number, mass in enumerate(masses)]
        output = ModelOutput.from_content("mock", "A")
        output.choices[0].logprobs = Logprobs(content=[Logprob(token="A", logprob=-1.0, top_logprobs=top)])
        return output

    found, log, _ = results(reference_game(items=2, elicitation="logprobs"), answer, tmp_path / "logs")
    assert sum(found.values()) == pytest.approx(1) and found["failed"] == 0
    for sample in log.samples:
        assert sorted(sample.store["answers"].values()) == pytest.approx([0.25, 0.25, 0.5])


def test_inspect_finds_the_tasks_by_the_name_of_the_package():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    module = importlib.import_module(project["entry-points"]["inspect_ai"][project["name"]])
    assert module.false_belief is false_belief
    assert registry_info(false_belief).name == "otherminds/false_belief"
