"""Some, but not all? It depends on how much the speaker has seen. After Goodman & Stuhlmueller (2013)."""

import jax.numpy as jnp
import numpy as np
import xarray as xr

from otherminds.rsa import knowledge
from otherminds.rsa.agents import literal_listener, pragmatic_listener
from otherminds.rsa.lexicon import from_boolean
from otherminds.rsa.plots import heat_map
from otherminds.rsa.tables import labelled

red = np.arange(4)  # of three apples
words = ["none", "some", "all", "(silence)"]
lexicon = from_boolean([red == 0, red > 0, red == 3, red >= 0])
cost = jnp.array([0.0, 0.0, 0.0, 3.0])  # she would rather say something
prior = jnp.log(jnp.array([1.0, 3.0, 3.0, 1.0]) / 8)
literal = literal_listener(lexicon, prior)


def listener(seen):
    """What is understood of a speaker who has seen so many of the three apples."""
    observation = knowledge.counted(3, seen)
    speaker = knowledge.expecting_speaker(literal, knowledge.belief(observation, prior), 3.0, cost)
    return pragmatic_listener(knowledge.observing_speaker(speaker, observation), prior)


tables = [labelled(listener(seen), word=words, red=red.tolist()) for seen in (1, 2, 3)]
heard = xr.concat(tables, xr.DataArray([1, 2, 3], name="seen", dims="seen")).sel(word="some")
print('P(red apples | "some"), by the number of apples that the speaker has seen:')
print(heard.to_pandas().round(2))
heat_map(heard, "scalar_implicature.png", '"Some of the apples are red"')
