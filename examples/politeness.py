"""White lies, and what a listener makes of them. After Yoon et al. (2016, 2020); numbers of probLang, chapter 9."""

import jax.numpy as jnp

from otherminds.inference.logspace import logsumexp
from otherminds.rsa.agents import literal_listener
from otherminds.rsa.lexicon import from_graded
from otherminds.rsa.plots import heat_map
from otherminds.rsa.politeness import Goals, polite_listener, polite_speaker, self_presenting_speaker
from otherminds.rsa.tables import labelled

hearts, words = [1, 2, 3, 4, 5], ["terrible", "bad", "okay", "good", "amazing"]
fit = [
    [0.95, 0.85, 0.02, 0.02, 0.02],
    [0.85, 0.95, 0.02, 0.02, 0.02],
    [0.02, 0.25, 0.95, 0.65, 0.35],
    [0.02, 0.05, 0.55, 0.95, 0.93],
    [0.02, 0.02, 0.02, 0.65, 0.95],
]
value = 1.25 * jnp.array(hearts)  # how good it is to hear
alpha, uniform = 10.0, jnp.log(jnp.ones(5) / 5)
literal = literal_listener(from_graded(fit), uniform)

kind = labelled(polite_speaker(literal, value, 0.3, alpha), hearts=hearts, word=words)
print("What somebody says who is more kind than frank (phi = .3):")
print(kind.to_pandas().round(2))

frankness = jnp.array([0.1, 0.3, 0.5, 0.7, 0.9])
inferred = polite_listener(literal, uniform, value, frankness, uniform, alpha)
print("How many hearts a listener makes of it, not knowing how frank she is:")
print(labelled(logsumexp(inferred, 1), word=words, hearts=hearts).to_pandas().round(2))

both = self_presenting_speaker(inferred, value, Goals(0.4, 0.2, 0.4), alpha)[2]  # to be seen as kind and frank
heat_map(labelled(both, hearts=hearts, word=words), "politeness.png", "Said to be seen as kind and frank")
