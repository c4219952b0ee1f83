"""A kettle for 10,000 dollars: not the price, but how the speaker feels. After Kao et al. (2014)."""

import jax
import jax.numpy as jnp
import numpy as np

from otherminds.rsa.agents import literal_listener
from otherminds.rsa.lexicon import from_boolean
from otherminds.rsa.plots import heat_map
from otherminds.rsa.projection import partition, qud_listener, qud_speakers
from otherminds.rsa.tables import labelled

# Prices of kettles, how likely each is, and how likely somebody who paid it is upset: measured by Kao et al.
prices = [50, 51, 500, 501, 1000, 1001, 5000, 5001, 10000, 10001]
p_price = np.array([0.4205, 0.3865, 0.0533, 0.0538, 0.0223, 0.0211, 0.0112, 0.0111, 0.0083, 0.0120])
p_upset = np.repeat([0.3173, 0.7920, 0.8933, 0.9524, 0.9864], 2)

# A meaning is a price and a feeling, [10 x 2].
price, upset = np.repeat(prices, 2), np.tile([False, True], 10)
prior = (p_price[:, None] * np.stack([1 - p_upset, p_upset], 1)).ravel()
log_prior = jnp.log(prior / prior.sum())
literal = literal_listener(from_boolean(np.array(prices)[:, None] == price), log_prior)

# What the speaker may want to get across, and how much a sharp number costs her.
near = price // 10
quds = [partition(price), partition(upset), partition(price, upset), partition(near), partition(near, upset)]
cost = jnp.where(jnp.array(prices) % 10 > 0, 1.0, 0.0)

uniform = jnp.log(jnp.ones(5) / 5)
listener = jax.jit(lambda alpha: qud_listener(qud_speakers(literal, quds, alpha, cost), log_prior, uniform))

heard = labelled(listener(1.0).reshape(10, 10, 2), said=prices, price=prices, upset=[False, True])
print("P(upset | price said):")
print(heard.sum("price").sel(upset=True).to_pandas().round(2).to_string())
print("P(price, upset | 10000 said):")
print(heard.sel(said=10000).to_pandas().round(3))
heat_map(heard.sum("upset"), "hyperbole.png", "What the kettle cost")
