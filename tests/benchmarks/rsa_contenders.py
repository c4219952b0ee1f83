"""One model in one form, in a process of its own: `python rsa_contenders.py CASE FORM` prints its figures as JSON.

Forms: `memo` (eager, as its documentation calls it), `memo-jit` (under an outer jit), `jnp` (written by hand in plain
jax.numpy, under jit), `ours`. Every form computes the same array from the same inputs. `products` is the floor of a
large reference game: two passes over the matrix a level, and the result written once.
"""

import json
import resource
import statistics
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

CASE, FORM = sys.argv[1:3]
KIND, SIZE, DEPTH = (*CASE.split("-"), "1")[:3]
SIZE, DEPTH = int(SIZE), int(DEPTH)
ALPHA = 1.5

# Inputs. Reference game: SIZE utterances and meanings, a third of the pairs true, level DEPTH.
_random = np.random.default_rng(0).random((SIZE, SIZE)) < 0.3 if KIND in ("reference", "gradient") else np.eye(2) > 0
TRUTH = jnp.asarray(_random | np.eye(len(_random), dtype=bool))
TRUE = TRUTH.astype(jnp.float32)
# Lexical uncertainty: 2^SIZE lexica of 8 x 8; of the cells 1, 4, 7 .. the first SIZE are false where a bit is set.
CELL = np.arange(64).reshape(8, 8)
BIT = np.where(CELL % 3 == 1, CELL // 3, SIZE)  # SIZE: always true
# Hyperbole: SIZE prices, two affects, five questions: price, affect, both, rounded price, rounded price and affect.
PRICE_PRIOR = jnp.asarray(np.exp(-np.arange(SIZE) / 50.0) / np.exp(-np.arange(SIZE) / 50.0).sum(), jnp.float32)
AFFECT = jnp.asarray(0.1 + 0.8 * np.arange(SIZE) / SIZE, jnp.float32)  # P(affect | price)
COST = jnp.asarray(np.arange(SIZE) % 10 > 0, jnp.float32)


INPUTS = {"truth": TRUTH, "price": PRICE_PRIOR, "affect": AFFECT, "cost": COST}
"""Arguments of our and the hand-written form, so that the compiler cannot work out beforehand what depends on them.

A small lexicon is a constant of the program in every form: memo has its arrays only so.
"""
SMALL = 128


def lexicon_at(x):
    return jnp.where(BIT < SIZE, (x >> jnp.minimum(BIT, 31)) & 1 == 0, True)


def ours():
    from otherminds.rsa import agents, projection, uncertainty

    if KIND in ("reference", "gradient"):
        log_prior = jnp.full(SIZE, -np.log(SIZE), jnp.float32)

        def log_listener(alpha, inputs):
            return agents.listener(inputs["truth"], log_prior, DEPTH, alpha)

        if KIND == "gradient":
            return jax.grad(lambda alpha, inputs: log_listener(alpha, inputs)[0, 0])
        return lambda alpha, inputs: jnp.exp(log_listener(alpha, inputs))
    if KIND == "lexica":
        log_prior = jnp.full(8, -np.log(8), jnp.float32)

        def listener(alpha, inputs):
            log_speaker = uncertainty.streamed_speaker(lexicon_at, 2**SIZE, log_prior, alpha)
            return jnp.exp(agents.pragmatic_listener(log_speaker, log_prior))

        return listener
    price, affect = np.repeat(np.arange(SIZE), 2), np.tile(np.arange(2), SIZE)
    near = price // 10
    questions = ((price,), (affect,), (price, affect), (near,), (near, affect))
    quds = [projection.partition(*features) for features in questions]
    log_lexicon = jnp.where(jnp.asarray(np.arange(SIZE)[:, None] == price), 0.0, -jnp.inf)

    def listener(alpha, inputs):
        p_affect = inputs["affect"][price]
        log_prior = jnp.log(inputs["price"][price] * jnp.where(affect == 1, p_affect, 1 - p_affect))
        speakers = projection.qud_speakers(agents.literal_listener(log_lexicon, log_prior), quds, alpha, inputs["cost"])
        log_listener = projection.qud_listener(speakers, log_prior, jnp.full(5, -np.log(5.0), jnp.float32))
        return jnp.exp(log_listener).reshape(SIZE, SIZE, 2)

    return listener


def plain():
    if KIND in ("reference", "gradient"):

        def listener(alpha, inputs):
            true = inputs["truth"]
            log_l = jnp.where(true, -jnp.log(true.sum(1, keepdims=True)), -jnp.inf)
            for _ in range(DEPTH):
                utility = jnp.where(true, alpha * jnp.where(true, log_l, 0.0), -jnp.inf)  # -inf has no gradient
                log_l = jax.nn.log_softmax(jax.nn.log_softmax(utility, 0), 1)
            return jnp.exp(log_l)

        if KIND == "gradient":
            return jax.grad(lambda alpha, inputs: jnp.log(listener(alpha, inputs)[0, 0]))
        return listener
    if KIND == "lexica":

        def listener(alpha, inputs):
            truth = jax.vmap(lexicon_at)(jnp.arange(2**SIZE)).astype(jnp.float32)
            s = (truth / truth.sum(2, keepdims=True)) ** alpha
            speaker = (s / s.sum(1, keepdims=True)).mean(0)
            return speaker / speaker.sum(1, keepdims=True)

        return listener

    def listener(alpha, inputs):
        literal = jnp.stack([1 - inputs["affect"], inputs["affect"]], 1)  # [U, A]: an utterance is its price
        near = jnp.arange(SIZE) // 10
        one_hot = jax.nn.one_hot(near, SIZE // 10 + 1)
        same = jnp.eye(SIZE)
        prior = inputs["price"][:, None] * literal

        def speak(p):  # P(class | u) to S(u | class), over the leading axis u
            s = p**alpha * jnp.exp(-alpha * inputs["cost"]).reshape(-1, *[1] * (p.ndim - 1))
            return s / s.sum(0)

        price = speak(same)[:, :, None]
        affect = speak(literal)[:, None, :]
        both = speak(same[:, :, None] * literal[:, None, :])
        rounded = speak(one_hot)[:, near, None]
        rounded_both = speak(one_hot[:, :, None] * literal[:, None, :])[:, near]
        joint = prior * (price + affect + both + rounded + rounded_both)
        return joint / joint.sum((1, 2), keepdims=True)

    return listener


def products():
    def passes(alpha, inputs):
        true = inputs["truth"].astype(jnp.float32) / SIZE

        def level(_, v):
            return true @ (v @ true)

        return true * jax.lax.fori_loop(0, DEPTH, level, jnp.full(SIZE, alpha))

    return passes


def in_memo():
    import memo_models  # its domains take their sizes from the names above

    model = memo_models.model(KIND, DEPTH)
    return lambda alpha, inputs: model(alpha)


def calling(f):
    """f as a user would call it, without arguments."""
    if FORM == "memo":
        return lambda: f(ALPHA, INPUTS)
    if FORM == "memo-jit" or SIZE <= SMALL:
        constant = jax.jit(lambda alpha: f(alpha, INPUTS))
        return lambda: constant(ALPHA)
    jitted = jax.jit(f)
    return lambda: jitted(ALPHA, INPUTS)


def main():
    call = calling({"ours": ours, "jnp": plain, "products": products}.get(FORM, in_memo)())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    result = jax.block_until_ready(call())
    first = time.perf_counter() - start
    steady = []
    while len(steady) < 5 or (sum(steady) < 1.0 and len(steady) < 1000):
        start = time.perf_counter()
        jax.block_until_ready(call())
        steady.append(time.perf_counter() - start)
        if sum(steady) > 60:
            break
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    probe = np.asarray(result, np.float64).ravel()[:: max(1, result.size // 997)]
    print(
        json.dumps(
            {
                "first_s": first,
                "steady_ms": 1e3 * statistics.median(steady),
                "extra_mb": (peak - before) / 1024,
                "probe": probe.tolist(),
            }
        )
    )


if __name__ == "__main__":
    sys.modules["rsa_contenders"] = sys.modules["__main__"]
    main()
