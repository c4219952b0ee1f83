"""Objects and words: what an item of a reference game is, and generators of the usual kinds."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Bool

FEATURES: dict[str, tuple[str, ...]] = {
    "color": ("red", "green", "blue", "orange"),
    "shape": ("circle", "square", "triangle", "hexagon"),
    "texture": ("dots", "stripes", "stars", "spades"),
}
"""Dimensions and their values, in the order in which an object's text names them."""

TARGET, COMPETITOR, DISTRACTOR = "target", "competitor", "distractor"
KINDS = (TARGET, COMPETITOR, DISTRACTOR)


@dataclass(frozen=True)
class Item:
    """A context of O objects and W words, with a question for each role.

    The speaker is asked to name the object `target`; the listener, who hears the word `heard`, to find the object
    `referent`. Kinds say what an answer to these questions is: "target" (right), "competitor" (true, but less good)
    or "distractor". They are empty where every option is a kind of its own.
    """

    objects: tuple[tuple[str, ...], ...]  # [O] the features of each object
    words: tuple[str, ...]  # [W] each names a feature
    target: int
    heard: int
    referent: int
    word_kinds: tuple[str, ...] = ()  # [W], of the speaker's answers
    object_kinds: tuple[str, ...] = ()  # [O], of the listener's answers
    texts: tuple[str, ...] = ()  # [O] objects as people read them; by default "a green circle with dots"
    name: str = ""

    def __post_init__(self) -> None:
        if not self.texts:
            object.__setattr__(self, "texts", tuple(map(object_text, self.objects)))
        for what, values in (("objects", self.texts), ("words", self.words)):
            if len(values) < 2 or len(set(values)) < len(values):
                raise ValueError(f"item {self.name!r}: {what} {', '.join(values)}: at least two, all different")
        for what, place, size in (
            ("target", self.target, len(self.objects)),
            ("heard", self.heard, len(self.words)),
            ("referent", self.referent, len(self.objects)),
        ):
            if not 0 <= place < size:
                raise ValueError(f"item {self.name!r}: {what}={place}: there are 0 to {size - 1}")
        for what, kinds, size in (
            ("texts", self.texts, len(self.objects)),
            ("word_kinds", self.word_kinds or self.words, len(self.words)),
            ("object_kinds", self.object_kinds or self.objects, len(self.objects)),
        ):
            if len(kinds) != size:
                raise ValueError(f"item {self.name!r}: {len(kinds)} {what} for {size}")

    @property
    def truth(self) -> Bool[np.ndarray, "W O"]:
        """[W, O] True where the word names a feature of the object: the lexicon of this context."""
        return np.array([[word in features for features in self.objects] for word in self.words])


def object_text(features: Sequence[str]) -> str:
    """An object as people read it: "a green circle with dots"; the third feature and more after "with"."""
    head, rest = " ".join(features[:2]), features[2:]
    article = "an" if head[0] in "aeiou" else "a"
    return f"{article} {head}" + (f" with {' and '.join(rest)}" if rest else "")


def stands_in(word: str, text: str) -> bool:
    """Whether a word, which may be a phrase such as "with stripes", stands whole in an object's text, in any case."""
    phrase, whole = text_tokens(word), text_tokens(text)
    return bool(phrase) and any(whole[place : place + len(phrase)] == phrase for place in range(len(whole)))


@lru_cache(maxsize=65536)
def text_tokens(text: str) -> tuple[str, ...]:
    """The words and signs of a text in lower case; "polka-dots" is one."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return tuple(re.findall(r"\w+(?:['’-]\w+)*|[^\w\s]", plain))


def truths(
    items: Sequence[Item],
) -> tuple[Bool[np.ndarray, "N W O"], Bool[np.ndarray, "N W"], Bool[np.ndarray, "N O"]]:
    """The lexica of N items padded to one size, and which words and objects are no padding."""
    words, objects = max(len(item.words) for item in items), max(len(item.objects) for item in items)
    truth = np.zeros((len(items), words, objects), bool)
    for place, item in enumerate(items):
        truth[place, : len(item.words), : len(item.objects)] = item.truth
    has_word = np.array([np.arange(words) < len(item.words) for item in items])
    has_object = np.array([np.arange(objects) < len(item.objects) for item in items])
    return truth, has_word, has_object


def rearranged(item: Item, objects: Sequence[int], words: Sequence[int]) -> Item:
    """The same item with its objects and words in another order. objects, words: the old place of each, by new place.

    Raises: ValueError for what is no order.
    """
    for what, order, size in (("objects", objects, len(item.objects)), ("words", words, len(item.words))):
        if sorted(order) != list(range(size)):
            raise ValueError(f"item {item.name!r}: {what} in the order {list(order)}: each of 0 to {size - 1}, once")
    return Item(
        objects=tuple(item.objects[place] for place in objects),
        words=tuple(item.words[place] for place in words),
        target=list(objects).index(item.target),
        heard=list(words).index(item.heard),
        referent=list(objects).index(item.referent),
        word_kinds=tuple(item.word_kinds[place] for place in words) if item.word_kinds else (),
        object_kinds=tuple(item.object_kinds[place] for place in objects) if item.object_kinds else (),
        texts=tuple(item.texts[place] for place in objects),
        name=item.name,
    )


def simple_implicature(
    random: np.random.Generator, features: Mapping[str, Sequence[str]] = FEATURES, name: str = ""
) -> Item:
    """Three objects (a, b), (a, b'), (a', b) in two dimensions, alike in all others; the words a, b, a', b'.

    The speaker's object is (a', b): a' names it alone (target), b also (a, b) (competitor). The listener hears a,
    true of (a, b) and (a, b'); a speaker who meant (a, b') could have said b', so it is rather (a, b).
    Objects and words come in random order.
    Raises: ValueError unless there are two dimensions or more of two values or more.
    Source: Frank & Goodman (2012); the items of Franke, Tsvilodub & Carcassi (2024).
    """
    if sum(len(values) > 1 for values in features.values()) < 2:
        raise ValueError("features: an implicature needs two dimensions with two values each")
    varied = [dimension for dimension, values in features.items() if len(values) > 1]
    first, second = random.choice(len(varied), 2, replace=False)
    (a, other_a), (b, other_b) = (
        random.choice(list(features[varied[dimension]]), 2, replace=False) for dimension in (first, second)
    )
    rest = {dimension: random.choice(list(values)) for dimension, values in features.items()}

    def thing(x: str, y: str) -> tuple[str, ...]:
        own = rest | {varied[first]: x, varied[second]: y}
        return tuple(str(own[dimension]) for dimension in features)

    objects = {thing(a, b): TARGET, thing(a, other_b): COMPETITOR, thing(other_a, b): DISTRACTOR}
    words = {str(other_a): TARGET, str(b): COMPETITOR, str(a): DISTRACTOR, str(other_b): DISTRACTOR}
    shown = tuple(list(objects)[place] for place in random.permutation(3))
    said = tuple(list(words)[place] for place in random.permutation(4))
    return Item(
        objects=shown,
        words=said,
        target=shown.index(thing(other_a, b)),
        heard=said.index(str(a)),
        referent=shown.index(thing(a, b)),
        word_kinds=tuple(words[word] for word in said),
        object_kinds=tuple(objects[thing] for thing in shown),
        name=name,
    )


def random_context(
    random: np.random.Generator,
    objects: int = 3,
    features: Mapping[str, Sequence[str]] = FEATURES,
    name: str = "",
) -> Item:
    """`objects` different objects, drawn uniformly; the words are all their features. Every option is its own kind.

    The target is drawn uniformly, and the word heard uniformly from those that are true of it.
    Raises: ValueError if there are fewer than two objects, or more than there are combinations of features.
    """
    combinations = int(np.prod([len(values) for values in features.values()]))
    if not 2 <= objects <= combinations:
        raise ValueError(f"objects={objects}: from 2 to {combinations}, the combinations of these features")
    shape = [len(values) for values in features.values()]
    places = np.unravel_index(random.choice(combinations, objects, replace=False), shape)
    columns = [[str(values[i]) for i in where] for values, where in zip(features.values(), places, strict=True)]
    shown = tuple(zip(*columns, strict=True))
    words = tuple(dict.fromkeys(word for thing in shown for word in thing))
    target = int(random.integers(objects))
    heard = words.index(str(random.choice(shown[target])))
    return Item(shown, words, target, heard, target, name=name)
