import re
from importlib import resources

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherminds.games.decrypto import vocabulary as voc

WORDS = ("piano", "violin", "ice", "cream", "Ice-cream", "wolf")
VECTORS = np.array([[3, 4, 0], [4, 3, 0], [0, 0, 2], [0, 2, 0], [1, 1, 1], [-3, -4, 0]], np.float32)
KEYWORDS = ("piano", "violin", "ice", "wolf")


def small(**changes):
    return voc.make(**{"words": WORDS, "vectors": VECTORS, "keywords": KEYWORDS, "name": "small"} | changes)


@pytest.fixture(scope="module")
def packaged():
    return voc.load()


# --- the packaged words ---------------------------------------------------------------------------------------------


def test_packaged_sizes_and_types(packaged):
    assert 5000 <= len(packaged.words) <= 6500
    assert 600 <= len(packaged.keywords) <= 700
    assert packaged.vectors.shape == (len(packaged.words), 100)
    assert packaged.keyword_vectors.shape == (len(packaged.keywords), 100)
    assert packaged.vectors.dtype == packaged.keyword_vectors.dtype == np.float32
    assert np.isfinite(packaged.vectors).all()
    assert voc.load() is packaged
    with pytest.raises(ValueError, match="read-only"):
        packaged.vectors[0, 0] = 1


def test_packaged_files_stay_small():
    folder = resources.files("otherminds.games.decrypto.data")
    sizes = {name: len((folder / name).read_bytes()) for name in ("nouns.txt", "keywords.txt", "nouns.npy")}
    assert sizes["nouns.npy"] < 1_300_000 and sizes["nouns.txt"] < 60_000 and sizes["keywords.txt"] < 6_000
    assert np.load(folder / "nouns.npy").dtype == np.float16


def test_packaged_words_are_unique_lower_case_and_keywords_are_nouns_in_the_same_order(packaged):
    assert len(set(packaged.words)) == len(packaged.words)
    assert all(re.fullmatch("[a-z]{3,12}", word) for word in packaged.words)
    places = [packaged.words.index(keyword) for keyword in packaged.keywords]
    assert places == sorted(set(places))
    np.testing.assert_array_equal(packaged.keyword_vectors, packaged.vectors[places])


def test_packaged_order_is_by_frequency(packaged):
    place = packaged.words.index
    assert place("year") < place("house") < place("piano") < place("accordion") < place("acrobat")


def test_packaged_vectors_are_glove(packaged):
    """First values of 'king' and 'dog' in glove.6B.100d.txt, at float16's precision."""
    for word, values in {"dog": [0.30817, 0.30938, 0.52803], "king": [-0.32307, -0.87616, 0.21977]}.items():
        np.testing.assert_allclose(packaged.vectors[packaged.words.index(word)][:3], values, rtol=5e-4)


def test_packaged_nouns_have_no_function_words_names_plurals_verb_forms_or_slurs(packaged):
    bad = """will may being can must might should would could there who them despite yes nothing
        john mary james smith johnson clinton bush obama einstein google microsoft
        london paris england america american china french january monday christmas
        years people's houses dogs children men women mice feet knives
        going doing saying running walked drove spoke accused told
        one two three seven hundred million percent zero
        bitch whore slut bastard shit rapist penis vagina""".split()
    assert not set(bad) & set(packaged.words)


def test_packaged_nouns_keep_true_singulars(packaged):
    good = "glass bus lens gas dress chess cactus building king ring string morning seed bed sun moon church".split()
    assert set(good) <= set(packaged.words)


def test_packaged_keywords_can_be_told_apart(packaged):
    cosines = voc.similarity(packaged.keyword_vectors, packaged.keyword_vectors)
    np.fill_diagonal(cosines, -1)
    assert cosines.max() < 0.6 + 1e-3


@pytest.mark.parametrize(
    ("keyword", "neighbour"),
    [("violin", "piano"), ("wolf", "lion"), ("castle", "palace"), ("pirate", "ship"), ("spaghetti", "pasta")],
)
def test_packaged_neighbours_make_sense(packaged, keyword, neighbour):
    words, cosines = voc.nearest(packaged, keyword, 15)
    assert words[0] == keyword and neighbour in words
    assert cosines[0] == pytest.approx(1, abs=1e-6) and (np.diff(cosines) <= 0).all()


# --- make and with_keywords -----------------------------------------------------------------------------------------


def test_make_takes_keywords_from_the_words_and_from_other_vectors():
    made = small(keywords=(" Piano", "wolf", "ice", "Ocean"), other_vectors={"ocean": np.array([0.0, 0, 7])})
    assert made.keywords == ("Piano", "wolf", "ice", "Ocean")
    np.testing.assert_array_equal(made.keyword_vectors, [[3, 4, 0], [-3, -4, 0], [0, 0, 2], [0, 0, 7]])
    assert voc.lookup(made, "OCEAN ") == len(WORDS) + 3
    np.testing.assert_array_equal(voc.hint_vector(made, "ocean"), [0, 0, 7])


def test_make_copies_its_input():
    vectors = VECTORS.copy()
    made = small(vectors=vectors)
    vectors[:] = 0
    np.testing.assert_array_equal(made.vectors, VECTORS)


def test_the_name_depends_on_content_alone():
    name = small().name
    assert re.fullmatch("small sha256:[0-9a-f]{12}", name)
    assert small(vectors=VECTORS.astype(np.float64)).name == name
    changed = VECTORS.copy()
    changed[0, 0] += 1e-3
    others = [
        small(vectors=changed),
        small(keywords=KEYWORDS[::-1]),
        small(words=("organ", *WORDS[1:]), keywords=WORDS[1:]),
    ]
    assert len({name, *(other.name for other in others)}) == 4


def test_with_keywords_equals_make_and_keeps_the_source_in_the_name():
    keywords = ("cream", "ice", "wolf", "violin")
    for start in (small(), small(keywords=("wolf", "cream", "ice", "sea"), other_vectors={"sea": np.ones(3)})):
        again = voc.with_keywords(start, keywords)
        expected = small(keywords=keywords)
        assert (again.keywords, again.name) == (expected.keywords, expected.name)
        np.testing.assert_array_equal(again.keyword_vectors, expected.keyword_vectors)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"keywords": ("piano", "lute", "ice", "harp")}, "no vector for 'lute', 'harp' in small.*--vectors"),
        ({"keywords": ("piano", "violin", "ice")}, "3 keywords .'piano', 'violin', 'ice'.*at least 4"),
        ({"keywords": ("piano", "violin", "ice", "PIANO")}, "'PIANO' given more than once"),
        ({"keywords": ("piano", "violin", " ", "ice")}, "keyword number 3 is empty"),
        ({"words": ("piano", "violin", "ice", "Violin", "wolf", "x")}, "words: 'Violin' given more than once"),
        ({"vectors": VECTORS[:3]}, r"shape \(3, 3\) for 6 words"),
        ({"vectors": VECTORS[:, 0]}, r"shape \(6,\) for 6 words"),
        ({"vectors": VECTORS[:, :0]}, r"shape \(6, 0\)"),
        ({"vectors": np.where(VECTORS == 2, np.nan, VECTORS)}, "'ice', 'cream' is not finite"),
        ({"vectors": np.where(VECTORS == 2, 0, VECTORS)}, "'ice', 'cream' is all zeros"),
        (
            {"keywords": (*KEYWORDS, "sea"), "other_vectors": {"sea": np.zeros(3)}},
            "keywords: the vector of 'sea' is all zeros",
        ),
        ({"keywords": (*KEYWORDS, "sea"), "other_vectors": {"sea": np.ones(2)}}, "'sea' has not the 3 values"),
    ],
)
def test_make_refuses(changes, message):
    with pytest.raises(ValueError, match=message) as error:
        small(**changes)
    assert "\n" not in str(error.value)


# --- lookup, hints, similarity, nearest -----------------------------------------------------------------------------


def test_lookup_ignores_case_and_blanks():
    made = small()
    assert [voc.lookup(made, text) for text in ("piano", " PIANO\n", "ice-CREAM", "wolves", "")] == [
        0,
        0,
        4,
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("text", "vector"),
    [
        ("Violin", [4, 3, 0]),
        ("ice-cream", [1, 1, 1]),
        ("ice cream", [0, 1, 1]),
        ("cream-ice", [0, 1, 1]),
        ("“Piano”, or violin!", [3.5, 3.5, 0]),
        ("piano\u2013ice", [1.5, 2, 1]),
        ("_wolf_", [-3, -4, 0]),
        ("grand piano", [3, 4, 0]),
    ],
)
def test_hint_vector_is_the_word_or_the_mean_of_its_known_words(text, vector):
    np.testing.assert_allclose(voc.hint_vector(small(), text), vector)


@pytest.mark.parametrize("text", ["", "  ", "unheard", "no_hint", "un-heard of", "!?", "piano wolf"])
def test_an_unknown_hint_has_no_vector(text):
    assert voc.hint_vector(small(), text) is None


def test_similarity_by_hand():
    cosines = voc.similarity(VECTORS[:2], VECTORS)
    expected = [[1, 0.96, 0, 0.8, 7 / (5 * 3**0.5), -1], [0.96, 1, 0, 0.6, 7 / (5 * 3**0.5), -0.96]]
    np.testing.assert_allclose(cosines, expected, atol=1e-6)
    assert cosines.dtype == np.float32


def test_similarity_refuses_a_row_without_direction():
    with pytest.raises(ValueError, match=r"b: rows \[1, 2\] are zero or not finite"):
        voc.similarity(VECTORS, np.array([[1, 0, 0], [0, 0, 0], [np.inf, 0, 0]]))


@given(
    st.lists(st.lists(st.floats(-1e3, 1e3, width=32), min_size=3, max_size=3), min_size=1, max_size=5),
    st.sampled_from([2.0**-60, 0.5, 8.0, 2.0**60]),
)
def test_similarity_is_symmetric_bounded_and_blind_to_scale(rows, scale):
    vectors = np.array(rows, np.float32)
    vectors[np.linalg.norm(vectors.astype(float), axis=1) < 1e-3] = 1
    cosines = voc.similarity(vectors, vectors)
    np.testing.assert_allclose(cosines, cosines.T, atol=1e-6)
    np.testing.assert_allclose(np.diag(cosines), 1, atol=1e-6)
    assert (abs(cosines) <= 1).all()
    np.testing.assert_allclose(voc.similarity(np.float32(scale) * vectors, vectors), cosines, atol=1e-5)


def test_nearest_is_descending_and_stable():
    words = ("b", "a", "far", "c", "d")
    made = voc.make(words, np.array([[1, 1], [2, 2], [-1, 0], [4, 4], [1, 0]], float), words[:4], "ties")
    found, cosines = voc.nearest(made, "D", 9)
    assert found == ("d", "b", "a", "c", "far")
    np.testing.assert_allclose(cosines, [1, 0.5**0.5, 0.5**0.5, 0.5**0.5, -1], atol=1e-6)
    assert voc.nearest(made, "d", 2)[0] == ("d", "b")


def test_nearest_refuses_unknown_words_and_counts():
    with pytest.raises(ValueError, match="no vector for 'lute' in small"):
        voc.nearest(small(), "lute", 3)
    with pytest.raises(ValueError, match="count: 0"):
        voc.nearest(small(), "piano", 0)
