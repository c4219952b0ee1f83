import jax
import jax.numpy as jnp
import numpy as np

from otherminds.tom.mind import draw, memoryless


def test_draw_follows_the_probabilities_and_never_takes_what_is_impossible():
    p = np.array([0.0, 0.5, 0.0, 0.2, 0.3, 0.0])
    with np.errstate(divide="ignore"):
        log_p = jnp.asarray(np.log(p), jnp.float32)
    drawn = np.asarray(jax.vmap(draw, (0, None))(jax.random.split(jax.random.key(0), 40_000), log_p))
    np.testing.assert_allclose(np.bincount(drawn, minlength=6) / 40_000, p, atol=0.01)
    assert set(drawn.tolist()) == {1, 3, 4}


def test_memoryless_keeps_its_belief():
    assert memoryless(None, "belief", "event") == "belief"
