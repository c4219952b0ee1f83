"""A reference game: three faces, three words, and what a pragmatic listener makes of "glasses"."""

import jax.numpy as jnp

from otherminds.rsa.agents import recursion
from otherminds.rsa.lexicon import from_boolean
from otherminds.rsa.plots import heat_map
from otherminds.rsa.tables import labelled

faces = ["nothing on", "glasses only", "glasses and hat"]
words = ["face", "glasses", "hat"]
truth = [[1, 1, 1], [0, 1, 1], [0, 0, 1]]

prior = jnp.log(jnp.ones(3) / 3)
levels = recursion(from_boolean(truth), prior, depth=3, alpha=1.0)
listeners = labelled(levels.log_listeners, depth=range(4), word=words, face=faces)

heard = listeners.sel(word="glasses")
print('P(face | "glasses") at each depth:')
print(heard.to_pandas().round(2))
heat_map(heard.T, "reference_game.png", 'P(face | "glasses")')
