"""Sets of items by name, drawn by a seed: what agents are asked about where no recording says it."""

from collections.abc import Callable, Mapping

import numpy as np

from otherminds.games.reference.items import (
    COMPETITOR,
    DISTRACTOR,
    FEATURES,
    TARGET,
    Item,
    random_context,
    simple_implicature,
)


def unnamed_feature(random: np.random.Generator, deep: bool, name: str = "") -> Item:
    """Three objects in two dimensions, of each of which only the values a, a' and b, b' have a word.

    x is a value of the first dimension without a word. The listener hears
    - b, of (x, b), (a, b), (a', b'): who means (x, b) has no other true word, so whoever expects true words finds it;
    - deep: a, of (a, b), (a, b'), (x, b): both have another true word, but that of (a, b') is true of nothing
      else, so (a, b) is found by whoever expects informative words.
    The speaker's object is the listener's competitor, whom one word names alone (target) and another not (competitor).
    A word that is true of nothing stays out. Objects and words come in random order; which dimension is the first is
    drawn, too.
    Source: the simple and the complex items of Franke & Degen (2016), in other words and objects.
    """
    dimensions = [dimension for dimension, values in FEATURES.items() if len(values) > 2]
    first, second = (dimensions[place] for place in random.choice(len(dimensions), 2, replace=False))
    a, other_a, x = map(str, random.choice(list(FEATURES[first]), 3, replace=False))
    b, other_b = map(str, random.choice(list(FEATURES[second]), 2, replace=False))
    rest = {dimension: str(random.choice(list(values))) for dimension, values in FEATURES.items()}

    def thing(one: str, two: str) -> tuple[str, ...]:
        own = rest | {first: one, second: two}
        return tuple(own[dimension] for dimension in FEATURES)

    if deep:
        objects = {thing(a, b): TARGET, thing(a, other_b): COMPETITOR, thing(x, b): DISTRACTOR}
        heard, alone, also, meant = a, other_b, a, thing(a, other_b)
    else:
        objects = {thing(x, b): TARGET, thing(a, b): COMPETITOR, thing(other_a, other_b): DISTRACTOR}
        heard, alone, also, meant = b, a, b, thing(a, b)
    words = dict.fromkeys((a, other_a, b, other_b), DISTRACTOR) | {alone: TARGET, also: COMPETITOR}
    shown = tuple(list(objects)[place] for place in random.permutation(3))
    there = [word for word in words if any(word in features for features in shown)]
    said = tuple(there[place] for place in random.permutation(len(there)))
    return Item(
        objects=shown,
        words=said,
        target=shown.index(meant),
        heard=said.index(heard),
        referent=next(place for place, features in enumerate(shown) if objects[features] == TARGET),
        word_kinds=tuple(words[word] for word in said),
        object_kinds=tuple(objects[features] for features in shown),
        name=name,
    )


SETS: Mapping[str, Callable[[np.random.Generator, str], Item]] = {
    "simple-implicature": lambda random, name: simple_implicature(random, name=name),
    "unnamed-simple": lambda random, name: unnamed_feature(random, False, name),
    "unnamed-complex": lambda random, name: unnamed_feature(random, True, name),
    "random": lambda random, name: random_context(random, name=name),
}
"""How an item of each set is drawn."""


def items_of(name: str, count: int, seed: int) -> tuple[Item, ...]:
    """The first items of a set; more of them begin with the same ones.

    Raises: ValueError for a set that there is not, or fewer than one item.
    """
    if name not in SETS:
        raise ValueError(f"--set {name!r}: there are {', '.join(SETS)}")
    if count < 1:
        raise ValueError(f"--items {count}: at least 1")
    return tuple(SETS[name](np.random.default_rng((seed, number)), f"{name} {number}") for number in range(count))
