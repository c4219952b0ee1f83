"""A small random world for the minds of Decrypto."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.decrypto.rules import begin
from otherminds.games.decrypto.vocabulary import Vocabulary, make
from otherminds.tom.minds.decrypto.lexicon import Lexicon, make_lexicon

NOUNS = 40
KEYWORDS = 12


@pytest.fixture(scope="session")
def small_vocabulary() -> Vocabulary:
    words = [f"{a}{b}" for a in "bcdfghkl" for b in "aeiou"][:NOUNS]
    vectors = np.random.default_rng(7).normal(size=(NOUNS, 6)).astype(np.float32)
    return make(words, vectors, words[:KEYWORDS], "small")


@pytest.fixture(scope="session")
def small_lexicon(small_vocabulary) -> Lexicon:
    return make_lexicon(small_vocabulary, spare=2)


@pytest.fixture
def deal():
    """A game with keywords 0, 1, 2, 3 and eight given codes, nothing played."""
    return begin(jnp.arange(4), jax.random.permutation(jax.random.key(3), 24)[:8])
