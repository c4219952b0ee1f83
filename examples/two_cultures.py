"""Biscuits and chips: two cultures misunderstand each other, less so once the listener is unsure of the speaker's."""

import jax.numpy as jnp

from otherminds.inference.logspace import logsumexp
from otherminds.rsa import cultures
from otherminds.rsa.lexicon import from_graded
from otherminds.rsa.plots import bars
from otherminds.rsa.tables import labelled
from otherminds.rsa.uncertainty import lexicon_speakers

groups, foods = ["British", "American"], ["cookie", "scone", "fries", "crisps"]
words = ["biscuit", "cookie", "scone", "chips", "fries", "crisps"]
means = [  # what a word names in each culture
    {"biscuit": "cookie", "scone": "scone", "chips": "fries", "crisps": "crisps"},
    {"cookie": "cookie", "biscuit": "scone", "fries": "fries", "chips": "crisps"},
]
# Every word is a little true of everything: nobody is sure to be a purist.
lexica = [[[1.0 if named.get(word) == food else 0.05 for food in foods] for word in words] for named in means]
log_prior = jnp.full(4, -jnp.log(4.0))
speakers = lexicon_speakers(jnp.stack([from_graded(lexicon) for lexicon in lexica]), log_prior, alpha=2.0)

own = cultures.own_lexicon(2)  # one lexicon a group
unsure = jnp.log(jnp.array([0.5, 0.5]))
wrong = cultures.miscommunication_matrix(speakers, own, jnp.vstack([own, unsure]), log_prior)

# The unsure listener, after an American said "cookie" and "chips" and it came out what was meant.
belief = cultures.begin(unsure, own)
for word, food in (("cookie", "cookie"), ("chips", "crisps")):
    belief = cultures.update(belief, speakers, log_prior, words.index(word), foods.index(food))
listener = cultures.listener(belief, speakers, log_prior)
told = [[cultures.miscommunication(speaker, listener, log_prior)] for speaker in speakers]

table = labelled(
    jnp.log(jnp.hstack([wrong, jnp.array(told)])), speaker=groups, listener=[*groups, "unsure", "heard an American"]
)
print("P(misunderstood)\n", table.to_pandas().round(3), sep="")
print("P(speaker is American | two words) =", round(float(jnp.exp(logsumexp(belief)[1])), 3))
bars(table, "two_cultures.png", "How often a listener misunderstands")
