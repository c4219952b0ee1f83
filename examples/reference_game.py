"""A reference game: three faces, three words, and what a pragmatic listener makes of "glasses"."""

import jax.numpy as jnp

from otherminds.rsa.agents import recursion
from otherminds.rsa.lexicon import from_boolean

faces = ["nothing on", "glasses only", "glasses and hat"]
words = ["face", "glasses", "hat"]
truth = [[1, 1, 1], [0, 1, 1], [0, 0, 1]]

prior = jnp.log(jnp.ones(3) / 3)
levels = recursion(from_boolean(truth), prior, depth=3, alpha=1.0)

for depth, listener in enumerate(levels.log_listeners):
    p = jnp.exp(listener[words.index("glasses")])
    print(f"depth {depth}: " + ", ".join(f"P({face}) = {q:.2f}" for face, q in zip(faces, p, strict=True)))
