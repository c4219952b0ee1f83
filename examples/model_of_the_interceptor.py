"""How much does it cost an encoder to be wrong about who overhears her? Her utility against the error of her model."""

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from otherminds.inference.logspace import expectation
from otherminds.rsa.eavesdropper import eavesdropper_speaker, eavesdropper_utility

MEANINGS, WORDS, WORLDS = 4, 12, 500
ALPHAS, ERRORS = np.array([2.0, 10.0, 1000.0]), np.linspace(0, 1, 6)
WEIGHTS = (0.1, 1.0)  # of miscommunication, of interception


def expected_utility(key, alpha, error):
    """What she gets from the true interceptor when she plans against one who is (1 - error) true, error made up."""
    decoder, true, made_up = jax.random.dirichlet(key, jnp.ones(MEANINGS), (3, WORDS))  # P(meaning | word)
    model = (1 - error) * true + error * made_up
    log_speaker = eavesdropper_speaker(jnp.log(decoder), jnp.log(model), alpha, *WEIGHTS)
    utility = eavesdropper_utility(jnp.log(decoder), jnp.log(true), *WEIGHTS)
    return expectation(log_speaker, utility.T).mean()


keys = jax.random.split(jax.random.key(0), WORLDS)
over_worlds = jax.jit(jax.vmap(expected_utility, (0, None, None)))
utilities = [[float(over_worlds(keys, alpha, error).mean()) for error in ERRORS] for alpha in ALPHAS]
table = xr.DataArray(utilities, [("rationality", ALPHAS), ("error", ERRORS.round(1))])
print("Expected utility, nats\n", table.to_pandas().round(3), sep="")

figure = Figure(figsize=(5, 3.5), layout="constrained")
axes = figure.subplots()
axes.plot(table.error, table.T, marker="o", label=[f"alpha = {alpha:g}" for alpha in ALPHAS])
axes.set(xlabel="error of her model of the interceptor", ylabel="expected utility, nats")
axes.legend()
figure.savefig("model_of_the_interceptor.png", dpi=150)
