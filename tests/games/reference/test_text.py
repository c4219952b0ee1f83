"""What is read, and how answers are read."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.reference.items import Item
from otherminds.games.reference.rules import Role, begin, contexts, observe, step
from otherminds.games.reference.text import (
    answer_schema,
    messages,
    object_named,
    read_object,
    read_word,
    turn_text,
)

ITEM = Item(
    objects=(("green", "circle", "dots"), ("red", "circle", "dots"), ("green", "box", "dots")),
    words=("green", "red", "circle", "box"),
    target=1,
    heard=0,
    referent=2,
)


def seen(role, word=None):
    state = begin(jax.tree.map(lambda leaf: leaf[0], contexts((ITEM,))), ITEM.target)
    if word is not None:
        state, _ = step(None, state, {Role.SPEAKER: jnp.int32(word)})
    return observe(state, role)


def test_the_speaker_reads_the_target_and_the_listener_the_word():
    speaker, listener = turn_text(seen(Role.SPEAKER), [ITEM]), turn_text(seen(Role.LISTENER, 2), [ITEM])
    for text in (*ITEM.texts, "green, red, circle, box"):
        assert text in speaker and text in listener
    assert "mean: a red circle with dots" in speaker and "mean:" not in listener
    assert 'said: "circle"' in listener and "said" not in speaker
    assert "said nothing" in turn_text(seen(Role.LISTENER, -1), [ITEM])


def test_messages_are_rules_and_then_the_decision():
    for role in Role:
        system, user = messages(seen(role, 0), [ITEM])
        assert system["role"] == "system" and user["role"] == "user" and "JSON" in user["content"]
    assert messages(seen(Role.SPEAKER), [ITEM])[0] == messages(seen(Role.LISTENER, 0), [ITEM])[0]


@pytest.mark.parametrize("role", list(Role))
def test_every_answer_of_the_schema_is_read(role):
    schema = answer_schema(ITEM, role)
    (key,) = schema["required"]
    read = read_word if role == Role.SPEAKER else read_object
    assert [read(option, ITEM) for option in schema["properties"][key]["enum"]] == list(
        range(len(schema["properties"][key]["enum"]))
    )
    assert json.dumps(schema)


@pytest.mark.parametrize("answer", ["red", "Red", ' "red". ', "RED!", "the red", "*red*", "ｒｅｄ"])
def test_words_are_read_tolerantly(answer):
    assert read_word(answer, ITEM) == 1


@pytest.mark.parametrize(
    "answer",
    ["a green box with dots", "The green box  with dots.", "green box with dots", "3", 3, "#3", "object 3", "No. 3",
     "3. a green box with dots", "[3]"],
)  # fmt: skip
def test_objects_are_read_tolerantly(answer):
    assert read_object(answer, ITEM) == 2


@pytest.mark.parametrize(
    "answer", ["", " ", "purple", "red circle", "green red", None, True, ["red"], {"word": "red"}, "redred", "re d"]
)
def test_what_is_no_word_is_refused(answer):
    with pytest.raises(ValueError, match="none of the words; there are green, red, circle, box"):
        read_word(answer, ITEM)


@pytest.mark.parametrize(
    "answer", ["", "0", "4", 17, "circle", "green", "a green box", None, "a green box with dots and"]
)
def test_what_is_no_object_is_refused(answer):
    with pytest.raises(ValueError, match="none of the objects"):
        read_object(answer, ITEM)


def test_a_long_answer_is_cut_in_the_message():
    with pytest.raises(ValueError) as raised:
        read_word("x" * 10_000, ITEM)
    assert len(str(raised.value)) < 200


def test_what_is_read_does_not_depend_on_arrays_or_numpy():
    observation = jax.tree.map(np.asarray, seen(Role.LISTENER, 0))
    assert turn_text(observation, [ITEM]) == turn_text(seen(Role.LISTENER, 0), [ITEM])


def test_a_recording_names_an_object_by_its_text_alone():
    """A number in a file may be a place counted from 0 or from 1, or a key: it is no answer."""
    assert read_object("2", ITEM) == 1 == object_named("A red circle with dots", ITEM)
    for number in ("2", "object 2", 2):
        with pytest.raises(ValueError, match="none of the objects"):
            object_named(number, ITEM)
