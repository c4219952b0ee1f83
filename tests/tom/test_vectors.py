import gzip
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otherminds.games.decrypto.vocabulary import hint_vector, load
from otherminds.tom.vectors import load_vocabulary, read_keywords, read_vectors, with_vectors

ROWS = {"the": [0.5, -1.0, 2.0], "dog": [1.0, 0.25, -3.5], "Cat": [4.0, 5.0, 6.0], "naïve": [7.0, 8.0, 0.125]}


def text(rows, end="\n"):
    return "".join(" ".join([word, *map(str, vector)]) + end for word, vector in rows.items()).encode()


def header(rows):
    return f"{len(rows)} {len(next(iter(rows.values())))}\n".encode()


def binary(rows, newline=b"\n"):
    return header(rows) + b"".join(
        word.encode() + b" " + np.array(vector, "<f4").tobytes() + newline for word, vector in rows.items()
    )


FORMATS = {
    "glove": text,
    "glove, trailing blanks and CRLF": lambda rows: text(rows, " \r\n"),
    "glove, tabs": lambda rows: text(rows).replace(b" ", b"\t"),
    "glove, no newline at the end": lambda rows: text(rows).rstrip(),
    "word2vec text": lambda rows: header(rows) + text(rows),
    "fasttext": lambda rows: header(rows) + text(rows, " \n"),
    "word2vec binary": binary,
    "word2vec binary, no newlines": lambda rows: binary(rows, b""),
}
ALL = FORMATS | {
    f"{name}, gzipped": lambda rows, write=write: gzip.compress(write(rows), mtime=0) for name, write in FORMATS.items()
}


def write(folder, content, name="vectors"):
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("form", ALL)
def test_every_format_is_told_from_its_content(tmp_path, form):
    found = read_vectors(write(tmp_path, ALL[form](ROWS)), ["DOG", "cat", "naïve", "unheard"])
    assert sorted(found) == ["cat", "dog", "naïve"]
    for word in ("dog", "naïve"):
        np.testing.assert_array_equal(found[word], np.float32(ROWS[word]))
    np.testing.assert_array_equal(found["cat"], [4, 5, 6])
    assert all(vector.dtype == np.float32 for vector in found.values())


@settings(max_examples=60, deadline=None)
@given(
    rows=st.dictionaries(
        st.text(st.characters(codec="utf-8", categories=("Ll", "Lo")), min_size=1, max_size=6),
        st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=20, max_size=20),
        min_size=1,
        max_size=5,
    ),
    form=st.sampled_from(sorted(ALL)),
)
def test_any_floats_survive_every_format(tmp_path_factory, rows, form):
    rows = {word.casefold(): vector for word, vector in rows.items()}
    # printed with all digits, so that text is as exact as binary
    found = read_vectors(write(tmp_path_factory.mktemp("any"), ALL[form](rows)), rows)
    assert found.keys() == rows.keys()
    for word, vector in rows.items():
        np.testing.assert_array_equal(found[word], np.float32(vector))


@pytest.mark.parametrize("form", [text, binary])
@pytest.mark.parametrize(
    ("spellings", "taken"),
    [
        (["Dog", "dog", "DOG"], 1),  # lower case is preferred
        (["Dog", "DOG"], 0),  # otherwise the first
        (["dog", "Dog"], 0),
    ],
)
def test_the_lower_case_spelling_counts_else_the_first(tmp_path, form, spellings, taken):
    rows = {word: [float(i), 1.0] for i, word in enumerate(spellings)}
    assert read_vectors(write(tmp_path, form(rows)), {"dog"})["dog"].tolist() == [taken, 1]


def test_of_equal_spellings_the_first_counts(tmp_path):
    found = read_vectors(write(tmp_path, b"dog 1 2\nDog 3 4\ndog 5 6\n"), {"dog"})
    assert found["dog"].tolist() == [1, 2]


def test_words_with_blanks_are_passed_over(tmp_path):
    content = b"dog 1 2\nat name@domain.com 3 4\n. . . 5 6\ncat 7 8\n\n"
    assert read_vectors(write(tmp_path, content), {"cat", "at"}).keys() == {"cat"}


def test_words_that_are_no_utf8_are_passed_over(tmp_path):
    content = b"2 2\n\xff\xfe 1 2\ncat 7 8\n"
    assert read_vectors(write(tmp_path, content), {"cat"})["cat"].tolist() == [7, 8]


@pytest.mark.slow
@pytest.mark.parametrize("form", [text, binary])
def test_memory_is_bounded_by_what_is_kept(tmp_path, form):
    rows = {f"word{i}": [float(i)] * 50 for i in range(20_000)}
    path = write(tmp_path, form(rows))
    del rows
    assert path.stat().st_size > 3_500_000
    read_vectors(path, {"word7"})
    tracemalloc.start()
    read_vectors(path, {"word19999"})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3_300_000  # a .bin is read in chunks of 1 MiB


CUT = len(header(ROWS)) + len(b"the ") + 12 + 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "vectors: empty; give GloVe"),
        (b"dog 1 2 3\ncat 1 2\n", "vectors, line 2: 2 numbers after 'cat', expected 3; the file is damaged"),
        (b"dog 1 2\ncat 1 2 3\n", "vectors, line 2: 3 numbers after 'cat 1', expected 2"),
        (b"2 3\ndog 1 2 3\ncat 1 2\n", "vectors, line 3: 2 numbers after 'cat', expected 3"),
        (b"the 1 2\ndog 1 two\n", "vectors, line 2: 'two' is not a number"),
        (b"the 1 2\ndog nan 1\n", "vectors, line 2: the vector of 'dog' is not finite"),
        (b"the 1 2\ndog 1e99 1\n", "vectors, line 2: the vector of 'dog' is not finite"),
        (b"hello world\n", "vectors, line 1: 'hello world' is not a word and its numbers"),
        (b"word\nlist\n", "vectors, line 1: 'word' is not a word and its numbers"),
        (b"\x00\x01\x02\x03" * 50, "vectors, line 1: binary data without a 'count dimensions' line"),
        (b"0 3\n", "vectors, line 1: 0 rows of 3 dimensions; at least 1 row"),
        (b"3 0\n", "vectors, line 1: 3 rows of 0 dimensions"),
        (b"3 99999999999\nx", "line 1: 3 rows of 99999999999 dimensions"),
        (b"3 2\ndog 1 2\ncat 3 4\n", "vectors, line 1: announces 3 rows, the file has 2"),
        (b"1 2\ndog 1 2\ncat 3 4\n", "vectors, line 1: announces 1 rows, the file has 2"),
        (b"dog " + b"1 " * 600_000, "vectors, line 1: longer than 1048576 bytes"),
        (b"PK\x03\x04 zipped", "vectors: a zip archive; unpack it"),
        (binary(ROWS)[:-30], r"vectors, byte 37: the file ends in row 3 of 4"),
        (binary(ROWS)[: CUT + 8], f"vectors, byte {CUT - 1}: the file ends in row 2 of 4"),
        (binary(ROWS) + binary(ROWS), r"vectors, byte \d+: more data after the 4 rows"),
        (b"2 2\n" + b"\x00" * 9000, "vectors, byte 4: no word within 4096 bytes .row 1 of 2."),
        (binary({"dog": [np.inf, 1.0]}), "vectors, byte 4: the vector of 'dog' is not finite"),
        (gzip.compress(text(ROWS), mtime=0)[:-12], "vectors, unpacked byte .*: .*; the file is damaged"),
        (b"\x1f\x8b\x08\x00 garbage garbage", "vectors, unpacked byte .*; the file is damaged"),
        (b"xyz 1 2\nuvw 3 4\n", r"none of the 3 wanted words \(cat, dog, the\) is in it"),
    ],
)
def test_malformed_files_are_refused_in_one_line(tmp_path, content, message):
    with pytest.raises(ValueError, match=message) as error:
        read_vectors(write(tmp_path, content), {"dog", "cat", "the"})
    assert "\n" not in str(error.value) and str(tmp_path) in str(error.value)


@given(st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_no_bytes_raise_anything_but_value_error(tmp_path_factory, content):
    try:
        found = read_vectors(write(tmp_path_factory.getbasetemp(), content), {"a", "0"})
    except ValueError as error:
        assert "\n" not in str(error)
    else:
        assert found and all(np.isfinite(vector).all() for vector in found.values())


@pytest.mark.parametrize("form", [form for form in ALL if "word2vec" in form or "fast" in form or "gz" in form])
def test_a_cut_file_is_refused_wherever_it_is_cut(tmp_path, form):
    """But for the last number of a text ("0.125" and " \\n"), whose shortening cannot be seen."""
    content = ALL[form](ROWS)
    for length in range(len(content) - 8):
        with pytest.raises(ValueError):
            read_vectors(write(tmp_path, content[:length]), {"the", "dog"})


def test_paths_that_are_no_file(tmp_path):
    with pytest.raises(ValueError, match="nowhere: no such file; give"):
        read_vectors(tmp_path / "nowhere", {"dog"})
    with pytest.raises(ValueError, match="not a file; give"):
        read_vectors(tmp_path, {"dog"})


# --- keywords -------------------------------------------------------------------------------------------------------


def test_keywords_skip_blank_lines_and_comments(tmp_path):
    content = "\ufeff# my words\r\npiano\r\n\r\n  Violin \n# no\nice cream\nwolf".encode()
    assert read_keywords(write(tmp_path, content)) == ("piano", "Violin", "ice cream", "wolf")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"words.txt: 0 keywords \(\); a game needs at least 4"),
        (b"a\nb\n#c\nd\n", r"words.txt: 3 keywords \('a', 'b', 'd'\)"),
        (b"a\nb\nc\nd\nA\n", "words.txt: 'A' given more than once"),
        (b"a\nb\n\xff\xfe\n", "words.txt, byte 4: not UTF-8"),
    ],
)
def test_keyword_files_are_refused(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read_keywords(write(tmp_path, content, "words.txt"))


def test_a_keyword_file_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(ValueError, match=r"cannot be read .*; give a text file"):
            read_keywords(path)


# --- both together --------------------------------------------------------------------------------------------------


def test_without_paths_the_packaged_vocabulary():
    assert load_vocabulary() is load()


def test_keywords_from_a_file_on_the_packaged_vectors(tmp_path):
    made = load_vocabulary(write(tmp_path, b"Piano\nviolin\nwolf\ncastle\n"))
    packaged = load()
    assert made.keywords == ("Piano", "violin", "wolf", "castle") and made.words == packaged.words
    np.testing.assert_array_equal(made.keyword_vectors[0], packaged.vectors[packaged.words.index("piano")])
    assert made.name != packaged.name
    with pytest.raises(ValueError, match=r"no vector for 'xyzzy'.*--vectors"):
        load_vocabulary(write(tmp_path, b"piano\nviolin\nwolf\nxyzzy\n"))


def test_vectors_from_a_file_keep_the_nouns_that_it_has(tmp_path):
    rows = {"Wolf": [1.0, 0.0], "piano": [0.0, 1.0], "house": [2.0, 1.0], "qwerty": [1.0, 3.0], "Oslo": [5.0, 1.0]}
    vectors = write(tmp_path, binary(rows), "my.bin")
    keywords = write(tmp_path, b"wolf\npiano\nhouse\nOslo\n", "words.txt")
    made = load_vocabulary(keywords, vectors)
    assert made.words == ("house", "piano", "wolf")  # the packaged order
    np.testing.assert_array_equal(made.vectors, [[2, 1], [0, 1], [1, 0]])
    assert made.keywords == ("wolf", "piano", "house", "Oslo")
    np.testing.assert_array_equal(made.keyword_vectors, [[1, 0], [0, 1], [2, 1], [5, 1]])
    assert made.name.startswith(f"my.bin (3 of {len(load().words)} nouns) sha256:")


def test_a_keyword_without_a_vector_in_the_file_is_named(tmp_path):
    vectors = write(tmp_path, text({"wolf": [1.0, 0.0], "piano": [0.0, 1.0], "Oslo": [5.0, 1.0]}), "my.txt")
    keywords = write(tmp_path, b"wolf\npiano\nlute\nharp\n", "words.txt")
    with pytest.raises(ValueError, match=r"no vector for 'lute', 'harp' in my\.txt"):
        load_vocabulary(keywords, vectors)
    towns = {"Oslo": [5.0, 1.0], "Bergen": [1.0, 2.0], "Tromso": [3.0, 1.0], "Hamar": [2.0, 9.0]}
    with pytest.raises(ValueError, match="vectors: no vector for any packaged noun"):
        load_vocabulary(write(tmp_path, "\n".join(towns).encode(), "towns.txt"), write(tmp_path, text(towns)))


def test_what_was_said_is_understood_and_in_no_list(tmp_path):
    """Of hints that are no nouns of the list, and of their pieces, the vectors of the file count; the name stays."""
    words = [*load().words[:6], "gizmo", "blip"]
    rows = (f"{word} {n + 1} 1\n" for n, word in enumerate(words))
    (tmp_path / "vectors.txt").write_text("".join(rows), encoding="utf-8")
    (tmp_path / "keywords.txt").write_text("\n".join(words[:4]), encoding="utf-8")
    paths = tmp_path / "keywords.txt", tmp_path / "vectors.txt"
    plain, heard = load_vocabulary(*paths), load_vocabulary(*paths, {"Gizmo", "blip-gizmo", words[0], "unheard of"})
    assert heard.name == plain.name and heard.words == plain.words and heard.others == ("blip", "gizmo")
    assert hint_vector(plain, "gizmo") is None
    np.testing.assert_array_equal(hint_vector(heard, " GIZMO "), [7, 1])
    np.testing.assert_array_equal(hint_vector(heard, "blip-gizmo"), [7.5, 1])
    np.testing.assert_array_equal(hint_vector(heard, words[5]), [6, 1])
    assert hint_vector(heard, "unheard of") is None
    other = with_vectors(heard, paths[1])
    np.testing.assert_array_equal(hint_vector(other, "gizmo"), [7, 1])
