"""While the tests run, every annotated shape is checked."""

import jax.numpy as jnp
import pytest
from jaxtyping import TypeCheckError

from otherminds.games.decrypto.rules import begin


def test_a_wrong_shape_is_refused():
    with pytest.raises(TypeCheckError, match="keywords"):
        begin(jnp.arange(5), jnp.arange(8))


def test_a_whole_number_may_stand_for_a_real_one():
    from otherminds.tom.llm.client import GenerationSettings

    assert GenerationSettings(temperature=1, timeout=5).timeout == 5
