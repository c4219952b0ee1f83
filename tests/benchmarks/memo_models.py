"""The benchmark's models in memo's language. The sizes of the domains are those of `rsa_contenders`."""

import jax
import jax.numpy as jnp
from memo import memo
from rsa_contenders import AFFECT, BIT, COST, KIND, PRICE_PRIOR, SIZE, TRUE

U = jnp.arange(len(TRUE) if KIND in ("reference", "gradient") else 8)
M = U
X = jnp.arange(2**SIZE if KIND == "lexica" else 2)
P = jnp.arange(SIZE if KIND == "hyperbole" else 2)
A = jnp.arange(2)
Q = jnp.arange(5)
BITS = jnp.asarray(BIT)


@jax.jit
def true(u, m):
    return TRUE[u, m]


@jax.jit
def true_in(x, u, m):
    bit = BITS[u, m]
    return jnp.where(bit < SIZE, 1 - ((x >> jnp.minimum(bit, 31)) & 1), 1).astype(jnp.float32)


@jax.jit
def price_prior(p):
    return PRICE_PRIOR[p]


@jax.jit
def affect_prior(p, a):
    return jnp.where(a == 1, AFFECT[p], 1 - AFFECT[p])


@jax.jit
def cost(u):
    return COST[u]


@jax.jit
def same(q, p, a, p2, a2):
    """Whether (p, a) and (p2, a2) answer question q alike."""
    near = p // 10 == p2 // 10
    cases = jnp.stack(jnp.broadcast_arrays(p == p2, a == a2, (p == p2) & (a == a2), near, near & (a == a2)))
    return jnp.take_along_axis(cases, jnp.broadcast_to(q, cases.shape[1:])[None], 0)[0].astype(jnp.float32)


# Reference game


@memo
def speaker[m: M, u: U](alpha, n):
    speaker: knows(m)
    speaker: chooses(u in U, wpp=true(u, m) * exp(alpha * log(listener[u, m](alpha, n - 1))))
    return Pr[speaker.u == u]


@memo
def listener[u: U, m: M](alpha, n):
    listener: knows(u)
    listener: chooses(m in M, wpp=true(u, m) if n == 0 else speaker[m, u](alpha, n))
    return Pr[listener.m == m]


# Lexical uncertainty


@memo
def literal[x: X, u: U, m: M]():
    listener: knows(x)
    listener: knows(u)
    listener: chooses(m in M, wpp=true_in(x, u, m))
    return Pr[listener.m == m]


@memo
def uncertain[u: U, m: M](alpha):
    listener: thinks[
        speaker : given(m in M, wpp=1),
        speaker : given(x in X, wpp=1),
        speaker : chooses(u in U, wpp=true_in(x, u, m) * exp(alpha * log(literal[x, u, m]()))),
    ]
    listener: observes[speaker.u] is u
    listener: chooses(m in M, wpp=Pr[speaker.m == m])
    return Pr[listener.m == m]


# Hyperbole


@memo
def exaggerating[u: P, p: P, a: A](alpha):
    listener: thinks[
        speaker : given(p in P, wpp=price_prior(p)),
        speaker : given(a in A, wpp=affect_prior(p, a)),
        speaker : given(q in Q, wpp=1),
        speaker : chooses(
            u in P,
            wpp=imagine[
                hearer : knows(u),
                hearer : chooses(p in P, wpp=price_prior(p) * (p == u)),
                hearer : chooses(a in A, wpp=affect_prior(p, a)),
                exp(alpha * (log(E[same(q, p, a, hearer.p, hearer.a)]) - cost(u))),
            ],
        ),
    ]
    listener: observes[speaker.u] is u
    listener: knows(p)
    listener: knows(a)
    return listener[Pr[speaker.p == p and speaker.a == a]]


def model(kind, depth):
    if kind == "reference":
        return lambda alpha: listener(alpha, depth)
    if kind == "gradient":
        return jax.grad(lambda alpha: jnp.log(listener(alpha, depth)[0, 0]))
    return uncertain if kind == "lexica" else exaggerating
