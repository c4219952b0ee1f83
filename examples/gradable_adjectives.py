"""How tall is tall? It depends on who is meant, and nobody has to say where it begins. Lassiter & Goodman (2013)."""

import jax
import jax.numpy as jnp

from otherminds.inference.logspace import log_normalize, logsumexp
from otherminds.rsa.plots import heat_map
from otherminds.rsa.tables import labelled
from otherminds.rsa.thresholds import Thresholds, gradable_listener

height = jnp.arange(140.0, 225.0, 5.0)  # cm
adults = {"jockeys": (160.0, 7.0), "everybody": (170.0, 10.0), "basketball players": (200.0, 8.0)}  # mean and spread
anywhere = Thresholds(height, jnp.full(height.size, -jnp.log(height.size)))
cost = jnp.array([1.0, 1.0, 0.0])  # of "tall", "short", and silence


@jax.jit
def heights(mean, spread):
    """P(height | word), whatever the threshold, where heights are spread around a mean."""
    log_prior = log_normalize(-(((height - mean) / spread) ** 2) / 2)
    return logsumexp(gradable_listener(height, log_prior, anywhere, anywhere, 4.0, cost).log_positive, 1)


log_heights = jnp.stack([heights(*adults[group]) for group in adults])
words, cm = ["tall", "short", "(silence)"], height.astype(int).tolist()
tall = labelled(log_heights, among=list(adults), word=words, cm=cm).sel(word="tall")
print("Mean height (cm) of somebody called tall:")
print((tall * tall.cm).sum("cm").to_pandas().round(1).to_string())
heat_map(tall, "gradable_adjectives.png", 'P(height | "tall")')
