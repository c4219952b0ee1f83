"""The sets of items: what they are called after is true of them, and a seed gives the same ones."""

import numpy as np
import pytest

from otherminds.games.reference.catalogue import SETS, items_of
from otherminds.games.reference.items import rearranged
from otherminds.games.reference.rules import Role
from otherminds.games.reference.text import listed_question, question


def expecting_true_words(item):
    """[O] a listener's belief in each object for the word that is heard, if speakers say any true word."""
    truth = item.truth.astype(float)
    said = truth / truth.sum(0)
    return said[item.heard] / said[item.heard].sum()


def expecting_informative_words(item):
    """[O] the same, if speakers say a word by how well a literal listener finds their object with it."""
    literal = item.truth / item.truth.sum(1, keepdims=True)
    said = literal / literal.sum(0)
    return said[item.heard] / said[item.heard].sum()


def of_kind(values, item, kind):
    return values[item.object_kinds.index(kind)]


@pytest.mark.parametrize("name", SETS)
def test_items_are_the_same_however_many_are_drawn_and_can_be_asked_about(name):
    items = items_of(name, 6, seed=3)
    assert items_of(name, 2, seed=3) == items[:2] and items_of(name, 6, seed=4) != items
    assert len({item.name for item in items}) == 6
    for item in items:
        assert item.truth.any(1).all() and item.truth[item.heard, item.referent]
        if item.word_kinds:
            best = item.truth[item.word_kinds.index("target")]
            assert best[item.target] and best.sum() == 1
            assert item.truth[item.word_kinds.index("competitor"), item.target]


@pytest.mark.parametrize("seed", range(4))
def test_what_a_listener_must_expect_of_speakers(seed):
    for item in items_of("unnamed-simple", 3, seed):
        naive = expecting_true_words(item)
        assert of_kind(naive, item, "target") > of_kind(naive, item, "competitor") > 0
        assert of_kind(naive, item, "distractor") == 0
    for item in items_of("unnamed-complex", 3, seed):
        naive, informed = expecting_true_words(item), expecting_informative_words(item)
        assert of_kind(naive, item, "target") == of_kind(naive, item, "competitor") > 0
        assert of_kind(informed, item, "target") > of_kind(informed, item, "competitor") > 0


def test_another_order_changes_nothing_but_places():
    item = items_of("simple-implicature", 1, 0)[0]
    moved = rearranged(item, (2, 0, 1), (3, 1, 0, 2))
    assert moved.texts == tuple(item.texts[place] for place in (2, 0, 1))
    assert moved.texts[moved.target] == item.texts[item.target] and moved.words[moved.heard] == item.words[item.heard]
    assert dict(zip(moved.texts, moved.object_kinds, strict=True)) == dict(
        zip(item.texts, item.object_kinds, strict=True)
    )
    assert np.array_equal(moved.truth, item.truth[np.ix_((3, 1, 0, 2), (2, 0, 1))])
    with pytest.raises(ValueError, match="objects in the order"):
        rearranged(item, (0, 0, 1), (0, 1, 2, 3))


def test_a_question_shows_what_its_role_may_know():
    item = items_of("simple-implicature", 1, 0)[0]
    for ask in (question, listed_question):
        speaker, listener = (ask(item, role)[1]["content"] for role in Role)
        assert f"The object that you mean: {item.texts[item.target]}" in speaker
        assert f'Your partner said: "{item.words[item.heard]}"' in listener and "you mean" not in listener
    assert "JSON" not in listed_question(item, Role.LISTENER)[1]["content"]
