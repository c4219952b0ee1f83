"""Items: what an object is called, which words are true of it, and what the generators promise."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherminds.games.reference.items import FEATURES, Item, object_text, random_context, simple_implicature, truths

SEEDS = st.integers(0, 10_000)


def generator(seed):
    return np.random.default_rng(seed)


@given(SEEDS)
def test_a_simple_implicature_has_its_truth_table(seed):
    """Rows: the target word, the competitor, the word heard, the other one. Columns: as the listener's kinds."""
    item = simple_implicature(generator(seed))
    (competitor,) = (n for n, kind in enumerate(item.word_kinds) if kind == "competitor")
    (other,) = (n for n, kind in enumerate(item.word_kinds) if kind == "distractor" and n != item.heard)
    words = [item.word_kinds.index("target"), competitor, item.heard, other]
    objects = [item.object_kinds.index(kind) for kind in ("target", "competitor", "distractor")]
    assert item.truth[np.ix_(words, objects)].astype(int).tolist() == [[0, 0, 1], [1, 0, 1], [1, 1, 0], [0, 1, 0]]
    assert item.referent == objects[0] and item.target == objects[2]
    assert [sum(len({o[d] for o in item.objects}) > 1 for d in range(len(FEATURES)))] == [2]


@given(SEEDS, st.integers(2, 6))
def test_a_random_context_has_a_true_word_for_everything(seed, objects):
    item = random_context(generator(seed), objects)
    assert len(set(item.objects)) == objects and item.truth.any(0).all() and item.truth.any(1).all()
    assert item.truth[item.heard, item.target] and item.referent == item.target
    assert (item.truth.sum(0) == len(FEATURES)).all()


def test_generators_follow_the_seed_and_cover_the_features():
    assert simple_implicature(generator(3)) == simple_implicature(generator(3))
    many = [simple_implicature(generator(seed)) for seed in range(200)]
    assert {word for item in many for word in item.words} == {v for values in FEATURES.values() for v in values}
    assert {item.words.index(item.words[item.heard]) for item in many} == {0, 1, 2, 3}
    assert {item.target for item in many} == {0, 1, 2}


@pytest.mark.parametrize(
    ("features", "text"),
    [
        (("green", "circle", "dots"), "a green circle with dots"),
        (("orange", "square"), "an orange square"),
        (("red", "star", "dots", "rim"), "a red star with dots and rim"),
    ],
)
def test_objects_have_names(features, text):
    assert object_text(features) == text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": 3}, "target=3: there are 0 to 2"),
        ({"heard": -1}, "heard=-1"),
        ({"referent": 9}, "referent=9"),
        ({"words": ("red", "red", "blue", "x")}, "all different"),
        ({"texts": ("a", "a", "b")}, "all different"),
        ({"texts": ("a", "b")}, "2 texts for 3"),
        ({"word_kinds": ("target",)}, "1 word_kinds for 4"),
        ({"object_kinds": ("target",)}, "1 object_kinds for 3"),
    ],
)
def test_what_is_no_item_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        replace(simple_implicature(generator(0), name="x"), **change)


def test_generators_say_what_they_cannot_make():
    with pytest.raises(ValueError, match="two dimensions"):
        simple_implicature(generator(0), {"color": ("red", "blue"), "shape": ("circle",)})
    for objects in (1, 65):
        with pytest.raises(ValueError, match=f"objects={objects}: from 2 to 64"):
            random_context(generator(0), objects)


def test_items_of_different_sizes_are_padded_with_nothing():
    items = [simple_implicature(generator(0)), random_context(generator(1), 5)]
    truth, words, objects = truths(items)
    for item, lexicon, word, thing in zip(items, truth, words, objects, strict=True):
        w, o = len(item.words), len(item.objects)
        assert (lexicon[:w, :o] == item.truth).all() and not lexicon[w:].any() and not lexicon[:, o:].any()
        assert word.sum() == w and thing.sum() == o


def test_texts_are_the_names_unless_others_are_given():
    plain = Item((("red", "box"), ("blue", "box")), ("red", "blue"), 0, 0, 0)
    assert plain.texts == ("a red box", "a blue box")
    assert replace(plain, texts=("A", "B")).texts == ("A", "B")
