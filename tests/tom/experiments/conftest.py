"""Forty nouns with random vectors, twelve of them keywords: as files, and as a vocabulary."""

import numpy as np
import pytest

from otherminds.games.decrypto.vocabulary import load
from otherminds.tom.vectors import load_vocabulary

NOUNS, KEYWORDS, DIMENSIONS = 40, 12, 8


@pytest.fixture(scope="session")
def tiny_files(tmp_path_factory):
    """The options that give a command the tiny vocabulary."""
    folder = tmp_path_factory.mktemp("words")
    words, random = load().words[:NOUNS], np.random.default_rng(0)
    rows = (f"{word} {' '.join(f'{x:.5f}' for x in random.normal(size=DIMENSIONS))}\n" for word in words)
    (folder / "vectors.txt").write_text("".join(rows), encoding="utf-8")
    (folder / "keywords.txt").write_text("\n".join(words[:KEYWORDS]), encoding="utf-8")
    return {"keywords": str(folder / "keywords.txt"), "vectors": str(folder / "vectors.txt")}


@pytest.fixture(scope="session")
def tiny(tiny_files):
    return load_vocabulary(tiny_files["keywords"], tiny_files["vectors"])
