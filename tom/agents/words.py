"""The words at one table: the vocabulary's nouns, then whatever else is said in the game."""

from collections.abc import Iterator

from otherminds.games.decrypto.rules import LENGTH
from otherminds.games.decrypto.vocabulary import Vocabulary, lookup


class Words:
    """Gives every hint a row: the noun's own (case and blanks aside), or a new one in the order of hearing."""

    def __init__(self, vocabulary: Vocabulary, spare: int) -> None:
        self._vocabulary, self._spare = vocabulary, spare
        self._nouns = len(vocabulary.words)
        self.texts: list[str] = list(vocabulary.words)
        self._rows: dict[str, int] = {}

    @property
    def heard(self) -> list[str]:
        """What was said and is no noun, by row."""
        return self.texts[self._nouns :]

    def heard_since(self, count: int) -> Iterator[tuple[int, str]]:
        """Row and text of what was heard after the first `count`."""
        return enumerate(self.texts[self._nouns + count :], self._nouns + count)

    def row(self, text: str) -> int:
        """The row of a hint.

        Raises: ValueError if more new words are said than there is room for.
        """
        row = lookup(self._vocabulary, text)
        if row is not None and row < self._nouns:
            return row
        key = " ".join(text.casefold().split())
        if key not in self._rows:
            if len(self.heard) >= self._spare:
                raise ValueError(f"no row left for {text!r}: there is room for {self._spare} words beside the nouns")
            self._rows[key] = len(self.texts)
            self.texts.append(text)
        return self._rows[key]

    def rows(self, hints: tuple[str, ...]) -> list[int]:
        """The rows of three hints."""
        if len(hints) != LENGTH:
            raise ValueError(f"{hints!r}: an encoder gives {LENGTH} hints")
        return [self.row(hint) for hint in hints]
