"""Word lists and word vectors that a user gives as files.

GloVe text, word2vec text and fastText `.vec` (with a `count dimensions` line), each also gzipped, and word2vec
`.bin`. The format is told from the content. Files are streamed, and only the wanted words are kept.
"""

import gzip
import zlib
from collections.abc import Collection, Iterator
from io import BufferedIOBase
from pathlib import Path

import numpy as np

from otherminds.games.decrypto.vocabulary import (
    Vocabulary,
    check_keywords,
    load,
    make,
    pieces_of,
    with_keywords,
    with_others,
)

LONGEST_LINE = 1 << 20  # bytes
LONGEST_WORD = 4096  # bytes, of a .bin
MOST_DIMENSIONS = 65_536
CHUNK = 1 << 20
_FORMATS = "give GloVe, word2vec or fastText text (.txt, .vec, .gz) or a word2vec .bin"
_DOWNLOAD = "the file is damaged or cut off, get it again"


def _open(path: Path) -> BufferedIOBase:
    """The file as bytes, unzipped if it is gzipped."""
    try:
        if not path.is_file():
            raise ValueError(f"{path}: {'not a file' if path.exists() else 'no such file'}; {_FORMATS}")
        file = path.open("rb")
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}); {_FORMATS}") from None
    magic = file.read(4)
    file.seek(0)
    if magic == b"PK\x03\x04":
        file.close()
        raise ValueError(f"{path}: a zip archive; unpack it and give the file inside")
    return _Unzipped(file) if magic[:2] == b"\x1f\x8b" else file


class _Unzipped(gzip.GzipFile):
    """A gzip file that closes the file under it."""

    def __init__(self, file: BufferedIOBase) -> None:
        super().__init__(fileobj=file, mode="rb")
        self._under = file

    def close(self) -> None:
        super().close()
        self._under.close()


class _Kept:
    """The wanted words so far: the first spelling of a word counts, unless the lower-case one comes later."""

    def __init__(self, wanted: Collection[str]) -> None:
        self.wanted = {word.strip().casefold() for word in wanted}
        self.vectors: dict[str, np.ndarray] = {}
        self._exact: set[str] = set()

    def wants(self, word: bytes) -> tuple[str, bool] | None:
        text = word.decode("utf-8", "replace")
        key = text.casefold()
        exact = text == key
        if key in self.wanted and (key not in self.vectors or (exact and key not in self._exact)):
            return key, exact
        return None

    def add(self, key: str, exact: bool, vector: np.ndarray, where: str) -> None:
        if not np.isfinite(vector).all():
            raise ValueError(f"{where}: the vector of {key!r} is not finite; correct or remove the row")
        self.vectors[key] = vector
        if exact:
            self._exact.add(key)


def _shown(data: bytes) -> str:
    text = data[:40].decode("utf-8", "replace")
    return repr(text + "..." if len(data) > 40 else text)


def _header(line: bytes) -> tuple[int, int] | None:
    """(count, dimensions) if the line is a word2vec header."""
    fields = line.split()
    return (int(fields[0]), int(fields[1])) if len(fields) == 2 and all(map(bytes.isdigit, fields)) else None


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _is_binary(data: bytes) -> bool:
    """Whether the first bytes (after a header) hold control characters, or no UTF-8 and no number after the word."""
    if any(byte < 32 and byte not in b"\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f" for byte in data):
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        cut_off = error.reason == "unexpected end of data"
        return not cut_off and not any(map(_is_number, data.split()[1:2]))
    return False


def _lines(path: Path, file: BufferedIOBase) -> Iterator[tuple[int, bytes]]:
    """Numbered lines from 1, never more than one of them in memory."""
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            raise ValueError(f"{path}, line {number}: longer than {LONGEST_LINE} bytes; {_FORMATS}")
        yield number, line.replace(b"\t", b" ").rstrip(b" \r\n")


def _read_text(path: Path, file: BufferedIOBase, kept: _Kept) -> None:
    count = dimensions = None
    rows = 0
    for number, line in _lines(path, file):
        where = f"{path}, line {number}"
        if number == 1 and (header := _header(line)):
            count, dimensions = header
            continue
        if not line:
            continue
        if dimensions is None:
            dimensions = line.count(b" ")
            numbers = line.split(b" ")[1:]
            if not numbers or not all(map(_is_number, numbers)):
                raise ValueError(f"{where}: {_shown(line)} is not a word and its numbers; {_FORMATS}")
        word, *fields = line.rsplit(b" ", dimensions)
        # A word may hold blanks ("at name@domain.com" in GloVe 840B), but no number follows in it.
        extra = word.split(b" ")[1:]
        if len(fields) < dimensions or (extra and all(map(_is_number, extra))):
            found = len(fields) + len(extra)
            raise ValueError(f"{where}: {found} numbers after {_shown(word)}, expected {dimensions}; {_DOWNLOAD}")
        rows += 1
        if wanted := kept.wants(word):
            try:
                values = [float(field) for field in fields]
            except ValueError:
                odd = next(field for field in fields if not _is_number(field))
                raise ValueError(f"{where}: {_shown(odd)} is not a number; {_DOWNLOAD}") from None
            with np.errstate(over="ignore"):  # refused as not finite
                kept.add(*wanted, np.array(values, np.float32), where)
    if count is not None and rows != count:
        raise ValueError(f"{path}, line 1: announces {count} rows, the file has {rows}; {_DOWNLOAD}")


def _read_binary(path: Path, file: BufferedIOBase, kept: _Kept) -> None:
    head = file.readline(LONGEST_LINE)
    count, dimensions = _header(head)
    size, offset, buffer, start = 4 * dimensions, len(head), b"", 0  # offset: of buffer[start] in the file

    def holds(length: int) -> bool:
        """Reads on until the buffer has so many bytes after `start`, or the file ends."""
        nonlocal buffer, start
        while len(buffer) - start < length:
            if not (more := file.read(max(CHUNK, length))):
                return False
            buffer, start = buffer[start:] + more, 0
        return True

    for row in range(1, count + 1):
        holds(LONGEST_WORD + size)
        end = buffer.find(b" ", start, start + LONGEST_WORD)
        where = f"{path}, byte {offset}"
        if end < 0 and len(buffer) - start >= LONGEST_WORD:
            raise ValueError(f"{where}: no word within {LONGEST_WORD} bytes (row {row} of {count}); {_DOWNLOAD}")
        if end < 0 or len(buffer) - end - 1 < size:
            raise ValueError(f"{where}: the file ends in row {row} of {count}; {_DOWNLOAD}")
        if wanted := kept.wants(buffer[start:end].lstrip(b"\n")):
            vector = np.frombuffer(buffer, "<f4", dimensions, end + 1).astype(np.float32)
            kept.add(*wanted, vector, where)
        offset, start = offset + end + 1 + size - start, end + 1 + size
    if holds(2) or buffer[start:] not in (b"", b"\n"):
        raise ValueError(f"{path}, byte {offset}: more data after the {count} rows that line 1 announces; {_DOWNLOAD}")


def read_vectors(path: str | Path, wanted: Collection[str]) -> dict[str, np.ndarray]:
    """The vectors of the wanted words, in one pass over the file; memory grows with the words kept only.

    path: GloVe, word2vec or fastText text, gzipped or not, or a word2vec .bin; told apart by content.
    wanted: words; case does not matter.
    Returns: case-folded word -> [D] float32. Of several spellings of a word the lower-case one is taken, else the
        first; of equal spellings the first.
    Raises: ValueError, one line with the file, the line or byte, and the way out: no such file, not one of the
        formats, a row too short or too long, a file that is cut off, a wanted word with something that is no finite
        number, or none of the wanted words in the file. Numbers of other words are not looked at.
    """
    path, kept = Path(path), _Kept(wanted)
    with _open(path) as file:
        try:
            head = file.readline(LONGEST_LINE)
            if not head:
                raise ValueError(f"{path}: empty; {_FORMATS}")
            header = _header(head)
            if header and not (header[0] >= 1 and 1 <= header[1] <= MOST_DIMENSIONS):
                raise ValueError(
                    f"{path}, line 1: {header[0]} rows of {header[1]} dimensions; at least 1 row and 1 to "
                    f"{MOST_DIMENSIONS} dimensions are possible; {_FORMATS}"
                )
            binary = _is_binary(file.read(LONGEST_WORD + 4 * header[1])) if header else False
            if not header and _is_binary(head):
                raise ValueError(f"{path}, line 1: binary data without a 'count dimensions' line; {_FORMATS}")
            file.seek(0)
            (_read_binary if binary else _read_text)(path, file, kept)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{path}, unpacked byte {file.tell()}: {error}; {_DOWNLOAD}") from None
    if not kept.vectors:
        raise ValueError(
            f"{path}: none of the {len(kept.wanted)} wanted words ({_some(kept.wanted)}) is in it; "
            "give vectors of English words"
        )
    return kept.vectors


def _some(words: Collection[str]) -> str:
    first = sorted(words)[:3]
    return ", ".join(first) + (", ..." if len(words) > len(first) else "")


def read_keywords(path: str | Path) -> tuple[str, ...]:
    """Keywords of a UTF-8 text file, one a line; blank lines and lines that begin with # are skipped.

    Raises: ValueError, one line with the file: it cannot be read, or has doubles or fewer than 4 keywords.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}); give a text file, one keyword a line") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}, byte {error.start}: not UTF-8 text; save the keywords as UTF-8") from None
    lines = (line.strip() for line in text.splitlines())
    return check_keywords((line for line in lines if line and not line.startswith("#")), str(path))


def load_vocabulary(
    keywords_path: str | Path | None = None, vectors_path: str | Path | None = None, said: Collection[str] = ()
) -> Vocabulary:
    """The packaged vocabulary, with the user's keywords and vectors in place of the packaged ones.

    keywords_path: see `read_keywords`; None takes the packaged keywords.
    vectors_path: see `read_vectors`; None takes the packaged vectors. Packaged nouns without a vector in the file
        are dropped, and the name says how many were found.
    said: hints of a log, and pieces of them: where the file has them they are understood, though they are no nouns of
        the list to choose from.
    Returns: a vocabulary; words in the packaged order.
    Raises: ValueError as the two readers do, and if a keyword has no vector or no noun has one.
    """
    packaged = load()
    keywords = packaged.keywords if keywords_path is None else read_keywords(keywords_path)
    if vectors_path is None:
        return packaged if keywords_path is None else with_keywords(packaged, keywords)
    said = {piece for hint in said for piece in (hint, *pieces_of(hint))}
    found = read_vectors(vectors_path, {*packaged.words, *keywords, *said})
    nouns = [word for word in packaged.words if word in found]
    name = f"{Path(vectors_path).name} ({len(nouns)} of {len(packaged.words)} nouns)"
    if not nouns:
        raise ValueError(f"{vectors_path}: no vector for any packaged noun; give vectors of English words")
    made = make(nouns, np.stack([found[word] for word in nouns]), keywords, name, found)
    others = {word.strip().casefold() for word in said} & found.keys()
    return with_others(made, {word: found[word] for word in sorted(others) if found[word].any()})


def with_vectors(vocabulary: Vocabulary, vectors_path: str | Path) -> Vocabulary:
    """The same words and keywords with the vectors of a file: another player's meanings.

    Returns: a vocabulary in which a noun that the file does not have is all zeros, which stands for unknown.
    Raises: ValueError as `read_vectors` does, and if a keyword has no vector in the file.
    """
    found = read_vectors(vectors_path, {*vocabulary.words, *vocabulary.keywords, *vocabulary.others})
    if missing := [word for word in vocabulary.keywords if word.casefold() not in found]:
        raise ValueError(f"{vectors_path}: no vector for the keywords {', '.join(map(repr, missing[:10]))}")
    nothing = np.zeros_like(next(iter(found.values())))
    other = vocabulary._replace(
        vectors=np.stack([found.get(word.casefold(), nothing) for word in vocabulary.words]),
        keyword_vectors=np.stack([found[word.casefold()] for word in vocabulary.keywords]),
        name=f"{vocabulary.name} with {Path(vectors_path).name}",
    )
    return with_others(other, {word: found[word] for word in vocabulary.others if word in found and found[word].any()})
