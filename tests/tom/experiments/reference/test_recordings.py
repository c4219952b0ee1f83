"""Recordings become a valid log that says what they said; what cannot be read is named, and nothing is written."""

import csv
import json

import numpy as np
import pytest

from otherminds.games.reference.items import random_context
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.reference.recordings import RecordingError, import_reference, read_items, write_items
from otherminds.tom.experiments.reference.records import read_answers
from otherminds.tom.experiments.validate import validate_log


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


def rewrite(path, change):
    rows = rows_of(path)
    rows = change(rows) or rows
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def bring(files, **more):
    return import_reference(
        files / "items.csv", files / "choices.csv", [files / "scores_gpt-x.csv"], log=files / "new.jsonl", **more
    )


def decisions(path):
    return [line for line in journal.read(path) if isinstance(line, journal.Decision)]


def test_items_come_back_as_they_were_written(files, small_items):
    assert [each.item for each in read_items(files / "items.csv").values()] == small_items


def test_the_log_is_valid_and_holds_everything(files, log):
    said = validate_log(log)
    assert said.endswith("24 of 24 games over, 24 decisions, 1 failed answers; complete")
    made = decisions(log)
    choices = rows_of(files / "choices.csv")[1:]
    people = [line for line in made if line.agent == "people"]
    for (subject, condition, trial, response), line in zip(choices, people, strict=True):
        assert line.game_id == f"people / subject {subject} / item {trial} / {condition}"
        assert line.role == {"production": "speaker", "interpretation": "listener"}[condition]
        if response == "dunno":
            assert line.action is None and line.attempts[0].text == "dunno" and "none of" in line.attempts[0].error
        else:
            assert line.action == response and not line.attempts
    begun = next(journal.read(log))
    assert begun.game == "reference" and set(begun.config["files"]) == {"items.csv", "choices.csv", "scores_gpt-x.csv"}


def test_a_model_states_the_softmax_of_its_scores(files, log):
    rows = [np.array(row[1:], float) for row in rows_of(files / "scores_gpt-x.csv")[1:]]
    models = [line for line in decisions(log) if line.agent == "gpt-x"]
    for row, (speaks, listens) in zip(rows, zip(models[::2], models[1::2], strict=True), strict=True):
        for line, scores in ((speaks, row[:4]), (listens, row[4:])):
            p = np.exp(scores) / np.exp(scores).sum()
            assert sorted(line.probabilities.values()) == pytest.approx(sorted(p))
            assert sorted(line.scores.values()) == pytest.approx(sorted(scores))
            assert line.probabilities[line.action] == pytest.approx(p.max())
            assert line.log_probability == pytest.approx(np.log(p.max()))


def test_scores_belong_to_the_option_of_their_column(files, log, small_items):
    row = dict(zip(*rows_of(files / "scores_gpt-x.csv")[:2], strict=True))
    line = next(line for line in decisions(log) if line.agent == "gpt-x" and line.role == "speaker")
    item = small_items[0]
    target = item.words[item.word_kinds.index("target")]
    assert line.scores[target] == float(row["scores_production_target"])


def test_tokens_divide_the_scores(files):
    options = {word for row in rows_of(files / "items.csv")[1:] for cell in row[1:3] for word in cell.split("|")}
    with (files / "tokens.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["agent", "option", "tokens"], *(["gpt-x", o, len(o)] for o in sorted(options))])
    sums = {line.game_id: line.scores for line in decisions(bring(files).log)}
    (files / "new.jsonl").unlink()
    for line in decisions(bring(files, tokens=files / "tokens.csv").log):
        if line.agent == "gpt-x":
            assert line.scores == pytest.approx({o: s / len(o) for o, s in sums[line.game_id].items()})


def test_an_empty_score_is_a_failed_answer(files):
    rewrite(files / "scores_gpt-x.csv", lambda rows: rows[2].__setitem__(3, ""))
    done = bring(files)
    assert done.failed == 2
    (failed,) = (line for line in decisions(done.log) if line.agent == "gpt-x" and line.action is None)
    assert failed.role == "speaker" and failed.probabilities is None
    assert "2 failed answers" in validate_log(done.log)


def test_columns_that_nobody_needs_and_a_byte_order_mark_do_no_harm(files):
    rewrite(files / "choices.csv", lambda rows: [[*row, "x"] for row in rows])
    path = files / "items.csv"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert bring(files).decisions == 24


def drop_column(name):
    def change(rows):
        place = rows[0].index(name)
        return [[cell for n, cell in enumerate(row) if n != place] for row in rows]

    return change


def put(row, name, value):
    return lambda rows: rows[row].__setitem__(rows[0].index(name), value)


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("items.csv", drop_column("trigger_word"), r"items\.csv: no column 'trigger_word'"),
        ("items.csv", drop_column("production_competitor"), r"items\.csv, line 2: no column production_\.\.\. says"),
        ("items.csv", drop_column("interpretation_target"), r"items\.csv: no column 'interpretation_target'"),
        ("items.csv", put(1, "interpretation_target", ""), r"line 2: column interpretation_target is missing"),
        ("items.csv", put(2, "trial", "0"), r"items\.csv, line 3: trial '0' is there twice"),
        ("items.csv", put(1, "trigger_word", "plaid"), r"items\.csv, line 2: \"plaid\" is none of the words"),
        ("items.csv", put(1, "trigger_object", "a cow"), "none of the objects"),
        ("items.csv", put(1, "objects", "a cow|a cow|a dog"), "all different"),
        ("items.csv", lambda rows: rows[:1], r"items\.csv: no row below"),
        ("items.csv", lambda rows: rows[3].append("x"), r"items\.csv, line 4: not as many cells"),
        ("choices.csv", drop_column("response"), r"choices\.csv: no column 'response'"),
        ("choices.csv", put(3, "trial", "17"), r"choices\.csv, line 4: trial '17' is none of the 4 items"),
        ("choices.csv", put(3, "condition", "both"), r"line 4: condition 'both'; there are production and"),
        ("choices.csv", put(3, "subject", ""), r"line 4: subject is empty"),
        ("choices.csv", lambda rows: [*rows, rows[1]], 
         r"choices\.csv, line 18: people / subject a / item 0 / production is recorded twice, first in line 2"),
        ("scores_gpt-x.csv", drop_column("scores_interpretation_competitor"), r"scores_gpt-x\.csv: no column 'scor"),
        ("scores_gpt-x.csv", put(2, "trial", "9"), r"scores_gpt-x\.csv, line 3: trial '9'"),
        ("scores_gpt-x.csv", put(2, "trial", "0"), r"scores_gpt-x\.csv, line 3: trial '0' is there twice"),
        ("scores_gpt-x.csv", put(2, "scores_production_target", "x"), r"line 3, scores_production_target: 'x' is no"),
        ("scores_gpt-x.csv", put(2, "scores_production_target", "-inf"), "'-inf' is no finite"),
    ],
)  # fmt: skip
def test_what_cannot_be_imported_is_named_before_anything_is_written(files, file, change, message):
    rewrite(files / file, change)
    with pytest.raises(RecordingError, match=message) as raised:
        bring(files)
    assert "\n" not in str(raised.value) and not (files / "new.jsonl").exists()


def test_files_that_cannot_be_read_are_named(files):
    (files / "empty.csv").write_bytes(b"")
    (files / "semicolons.csv").write_text("trial;objects;utterances\n1;a;b\n")
    for name, message in (
        ("empty.csv", r"empty\.csv: the file is empty"),
        (
            "semicolons.csv",
            r"no column 'trial'; the columns are 'trial;objects;utterances'; they must be separated by c",
        ),
        ("choices.csv", r"no column 'objects'; the columns are 'subject', 'condition', 'trial', 'response'$"),
    ):
        with pytest.raises(RecordingError, match=message):
            import_reference(files / name, files / "choices.csv", log=files / "new.jsonl")
    for name in ("items.csv", "choices.csv"):
        content = (files / name).read_bytes()
        (files / name).unlink()
        with pytest.raises(RecordingError, match=f"{name}: no such file"):
            bring(files)
        (files / name).write_bytes(b"trial,\xff\xfe\n1\n")
        with pytest.raises(RecordingError, match=f"{name}: no CSV file in UTF-8"):
            bring(files)
        (files / name).write_bytes(content)
    with pytest.raises(RecordingError, match="cannot be read"):
        import_reference(files, files / "choices.csv", log=files / "new.jsonl")


def test_names_of_models_are_their_own(files):
    twice = [files / "scores_gpt-x.csv"] * 2
    with pytest.raises(RecordingError, match="'gpt-x' is already called so"):
        import_reference(files / "items.csv", files / "choices.csv", twice, log=files / "new.jsonl")
    (files / "tokens.csv").write_text("agent,option,tokens\nnobody,red,3\n")
    with pytest.raises(RecordingError, match="agent 'nobody' has no file of scores"):
        bring(files, tokens=files / "tokens.csv")
    (files / "tokens.csv").write_text("agent,option,tokens\ngpt-x,red,3\n")
    with pytest.raises(RecordingError, match="tokens: none for the option"):
        bring(files, tokens=files / "tokens.csv")
    (files / "tokens.csv").write_text("agent,option,tokens\ngpt-x,red,0\n")
    with pytest.raises(RecordingError, match=r"tokens\.csv, line 2: tokens '0'"):
        bring(files, tokens=files / "tokens.csv")


def test_a_log_is_never_overwritten(files, log):
    before = log.read_bytes()
    with pytest.raises(journal.JournalError, match="there is a log already"):
        import_reference(files / "items.csv", files / "choices.csv", log=log)
    assert log.read_bytes() == before and [path.name for path in log.parent.iterdir()] == ["log.jsonl"]


# --- what words are true of

ITEM = {
    "trial": "0",
    "objects": "a green hat with stripes|a Red hat with polka dots|a red polka-dotted box with stars",
    "utterances": "with stripes|red|polka dots|hat|box",
    "trigger_object": "a green hat with stripes",
    "trigger_word": "red",
    "interpretation_target": "a Red hat with polka dots",
    "production_target": "with stripes",
}


def write_item(files, **changes):
    item = {name: value for name, value in (ITEM | changes).items() if value is not None}
    with (files / "items.csv").open("w", newline="") as file:
        csv.writer(file).writerows([item, item.values()])


def test_words_and_phrases_are_true_of_what_has_them_in_its_text(files):
    write_item(files)
    item = read_items(files / "items.csv")["0"].item
    assert item.truth.tolist() == [
        [True, False, False],  # with stripes
        [False, True, True],  # red
        [False, True, False],  # polka dots: not polka-dotted
        [True, True, False],  # hat
        [False, False, True],  # box
    ]
    assert (item.words[item.heard], item.target, item.referent) == ("red", 0, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"utterances": "with stripes|red|hats"}, "line 2: the word 'hats' is true of no object"),
        ({"utterances": "with stripes|red|green stripes"}, "line 2: the word 'green stripes' is true of no object"),
        ({"production_target": "red"}, "line 2: production_target 'red' is false of 'a green hat with stripes'"),
        ({"trigger_word": "with stripes"}, "line 2: trigger_word 'with stripes' is false of 'a Red hat with polka"),
    ],
)
def test_words_that_are_false_of_what_they_name_are_refused(files, changes, message):
    write_item(files, **changes)
    with pytest.raises(RecordingError, match=message):
        read_items(files / "items.csv")


@pytest.mark.parametrize("target", ["with stripes", None])
def test_items_may_name_no_kinds_where_nothing_is_scored(files, target):
    write_item(files, production_target=target)
    _, second, third = read_items(files / "items.csv")["0"].item.texts
    rows = [["x", "production", 0, "hat"], ["x", "interpretation", 0, second], ["y", "interpretation", 0, third]]
    with (files / "choices.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["subject", "condition", "trial", "response"], *rows])
    log = import_reference(files / "items.csv", files / "choices.csv", log=files / "new.jsonl").log
    assert "3 decisions, 0 failed answers; complete" in validate_log(log)
    assert [line.ending for line in journal.read(log) if line.event == "game_over"][1:] == [
        "understood",
        "misunderstood",
    ]
    speaker, listener = read_answers([log])[0]
    assert speaker.questions.kinds == tuple(f"option {n}" for n in range(1, 6)) and not speaker.questions.named
    assert speaker.counts.tolist() == [[0, 0, 0, 1, 0]] and listener.counts.tolist() == [[0, 1, 1]]
    (files / "scores_m.csv").write_text("trial\n0\n")
    with pytest.raises(RecordingError, match=r"items\.csv: trial '0' has no columns production_.*m\.csv need them"):
        import_reference(
            files / "items.csv", files / "choices.csv", [files / "scores_m.csv"], log=files / "other.jsonl"
        )


def test_generated_items_without_kinds_come_back(files):
    random = np.random.default_rng(3)
    items = [random_context(random, 4, name=str(n)) for n in range(5)]
    write_items(files / "items.csv", items)
    assert [each.item for each in read_items(files / "items.csv").values()] == items


# --- tampering


def tampered(log, number, change):
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    change(lines[number - 1])
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def scaled(numbers, factor):
    for name in numbers:
        numbers[name] *= factor


def test_an_import_that_was_cut_short_is_to_be_made_again(log):
    whole = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(whole[:-3]))
    assert validate_log(log).endswith("; cut short; delete it and import the recordings again")


# Line 1 run_begun; then game_begun, decision, game_over of the first production and interpretation trials.
@pytest.mark.parametrize(
    ("number", "change", "message"),
    [
        (2, lambda line: line.update(deal=None), "line 2: .* the deal has no"),
        (2, lambda line: line["deal"].pop("words"), "line 2: .*no 'words'"),
        (2, lambda line: line["deal"].update(target=3), "line 2: .*target=3"),
        (2, lambda line: line["deal"].update(target="x"), "line 2: .*no place of an object"),
        (2, lambda line: line["deal"].update(word=line["deal"]["words"][0]), "line 2: .*a word is given exactly where"),
        (5, lambda line: line["deal"].update(word=None), "line 5: .*a word is given exactly where"),
        (5, lambda line: line["deal"].update(word="plaid"), "line 5: .*'plaid' is not among"),
        (2, lambda line: line.update(agents={"judge": "people"}), "line 2: .*roles are judge"),
        (2, lambda line: line.update(agents={}), "line 2: .*roles are none"),
        (3, lambda line: line.update(action="plaid"), "line 3: .*'plaid', which is none of the options"),
        (3, lambda line: line.update(agent="me"), "line 3: .*is 'people', not 'me'"),
        (3, lambda line: line.update(role="listener"), "line 3: .*no such role"),
        (3, lambda line: line.update(turn=1), "line 3: .*turn 1, which is not played"),
        (3, lambda line: line.update(scores={"plaid": 1.0}), "line 3: plaid|line 3: .*not all among the options"),
        (4, lambda line: line.update(ending="understood"), "line 4: .*ending 'understood', but its decisions give"),
        (4, lambda line: line.update(ending="survived"), "line 4: .*'survived' does not exist"),
        (4, lambda line: line.update(turns=0), "line 4: .*turns 0, but its decisions give 1"),
        (4, lambda line: line.update(failed_answers=1), "line 4: .*failed_answers 1, but"),
        (7, lambda line: line.update(ending="misunderstood"), "line 7: .*'misunderstood', but its decisions give"),
        (3, lambda line: line["observation"].update(words=["x"]), r"line 3: .*as knowing words \['x'\], but the game"),
        (3, lambda line: line["observation"].update(target="x"), "line 3: .*as knowing target 'x', but the game gives"),
        (3, lambda line: line["observation"].update(word="x"), "line 3: .*knowing word 'x', but the game gives None"),
        (3, lambda line: line["observation"].pop("objects"), "line 3: .*as knowing objects None"),
        (6, lambda line: line["observation"].update(word="x"), "line 6: .*as knowing word 'x', but the game gives '"),
        (2, lambda line: line["deal"]["objects"].reverse(), "line 2: game .*: the object .* in its text"),
        (2, lambda line: line["deal"]["objects"][0].append("purple"), "line 2: .*'purple' does not stand in its text"),
        (2, lambda line: line["deal"].update(objects=[["hue"]] * 3), "line 2: .*'hue' does not stand in its text"),
        (51, lambda line: scaled(line["probabilities"], 0.5), "line 51: .*states probabilities that are none"),
        (51, lambda line: line.update(probabilities={}), "line 51: .*states probabilities that are none"),
        (51, lambda line: scaled(line["probabilities"], float("nan")), "line 51: .*probabilities that are none"),
        (51, lambda line: line.update(log_probability=0.5), "line 51: .*log-probability 0.5; it must be the log of"),
        (51, lambda line: line.update(log_probability=-9.0), "line 51: .*it must be the log of"),
        (51, lambda line: scaled(line["scores"], 2.0), "line 51: .* but by its scores that is"),
        (51, lambda line: scaled(line["scores"], float("inf")), "line 51: .*scores are not all finite"),
        (1, lambda line: line.update(game="decrypto"), "line 2"),
        (1, lambda line: line.update(game="chess"), "line 1: a log of 'chess'; known games are decrypto, reference"),
    ],
)  # fmt: skip
def test_what_is_tampered_with_is_found(log, number, change, message):
    tampered(log, number, change)
    with pytest.raises(journal.JournalError, match=message) as raised:
        validate_log(log)
    assert "\n" not in str(raised.value)
