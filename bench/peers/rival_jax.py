"""rival_jax.py -- the same networks in JAX, every pass one jitted function."""

import time

import jax
import jax.numpy as jnp
import numpy as np

import networks as structured
import structured_jax
from algebras import SL3, SP4, check

CLOCK = time.process_time  # XLA works in threads of its own


def make_bracket(algebra):
    def bracket(x, y):
        p = [x[..., i, :] * y[..., j, :] - x[..., j, :] * y[..., i, :] for i, j in algebra.pairs]
        return jnp.stack([sum(float(c) * p[q] for q, c in terms) for terms in algebra.terms], -2)

    return bracket


def make_form(algebra):
    partner, scale = algebra.partner, jnp.asarray(algebra.scale, jnp.float32)[:, None]

    def form(x, y):
        return (x[..., partner, :] * scale * y).sum(-2)

    return form


def reln(algebra, pool):
    bracket, form = make_bracket(algebra), make_form(algebra)

    def apply(w, x):
        x = x @ w["w1"]
        d = x @ w["u"]
        x = x + jax.nn.relu(form(x, d))[..., None, :] * d
        x = x @ w["w2"]
        a, b = jnp.split(x @ w["wab"], 2, -1)
        x = x + bracket(b, a)
        if pool:
            at = form(x, x @ w["wq"]).argmax(1)
            x = jnp.take_along_axis(x, at[:, None, None, :], 1)[:, 0]
        return form(x, x) @ w["out"] + w.get("b", 0)

    return apply


def mlp(w, x):
    for i in range(3):
        x = jax.nn.relu(x @ w[f"w{i}"] + w[f"b{i}"])
    return x @ w["w3"] + w["b3"]


def uniform(rng, n, m):
    return jnp.asarray(rng.uniform(-1, 1, (n, m)) / n**0.5, jnp.float32)


def network(name, rng):
    if name == "mlp":
        sizes = [20, 256, 256, 256, 1]
        w = {f"w{i}": uniform(rng, sizes[i], sizes[i + 1]) for i in range(4)}
        w.update({f"b{i}": jnp.zeros(sizes[i + 1]) for i in range(4)})
        return mlp, w, (20,), "squares"
    pool, c, out = (True, 3, 3) if name == "platonic" else (False, 2, 1)
    w = {"w1": uniform(rng, c, 256), "u": uniform(rng, 256, 256), "w2": uniform(rng, 256, 256),
         "wab": uniform(rng, 256, 512), "out": uniform(rng, 256, out)}
    if pool:
        w["wq"] = uniform(rng, 256, 256)
    else:
        w["b"] = jnp.zeros(1)
    return reln(SL3 if pool else SP4, pool), w, (12, 8, 3) if pool else (10, 2), "classes" if pool else "squares"


def loss_of(apply, kind):
    def squares(w, x, t):
        return ((apply(w, x) - t) ** 2).mean()

    def classes(w, x, t):
        return -jnp.take_along_axis(jax.nn.log_softmax(apply(w, x)), t[:, None], 1).mean()

    return classes if kind == "classes" else squares


def step_of(loss):
    def step(state, x, t):
        w, m, v, n = state
        g = jax.grad(loss)(w, x, t)
        n = n + 1
        m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        v = jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b * b, v, g)
        w = jax.tree.map(lambda p, a, b: p - 1e-7 * (a / (1 - 0.9**n)) / (jnp.sqrt(b / (1 - 0.999**n)) + 1e-8), w, m, v)
        return w, m, v, n

    return jax.jit(step, donate_argnums=0)


def gemm_rate(clock):
    a, b = jnp.ones((1008, 256)), jnp.ones((256, 256))
    f = jax.jit(lambda p, q: p @ q)
    f(a, b).block_until_ready()
    start = clock()
    for _ in range(50):
        f(a, b).block_until_ready()
    return 50 * 2 * 1008 * 256 * 256 / (clock() - start)


def describe():
    return f"JAX {jax.__version__}, XLA's own products (Eigen, oneDNN) on the processor"


def setup(threads):
    for algebra in (SP4, SL3):
        check(make_bracket(algebra), make_form(algebra), algebra, np.asarray, jnp.asarray)


def first_state(w):
    zeros = jax.tree.map(jnp.zeros_like, w)
    return w, zeros, jax.tree.map(jnp.copy, zeros), jnp.float32(0)


def structured_program(name, batch, variant):
    """None and train; variant: jit/LAYOUT"""
    rng = np.random.default_rng(0)
    w = jax.tree.map(jnp.asarray, structured.fused(name, structured.parameters(name, rng)))
    x = jax.tree.map(jnp.asarray, structured.inputs(name, batch, rng))
    loss = structured_jax.layouts(name)[variant.split("/")[1]]
    step = step_of(lambda w, x, t: loss(w, x))
    state = [first_state(w)]

    def train():
        state[0] = step(state[0], x, None)
        jax.block_until_ready(state[0])

    return None, train


def programs(name, batch, variant):
    """(forward, train), each a function of no arguments; None where a pass is not measured."""
    if name in structured.BATCH:
        return structured_program(name, batch, variant)
    rng = np.random.default_rng(0)
    apply, w, shape, kind = network(name, rng)
    x = jnp.asarray(0.3 * rng.normal(size=(batch, *shape)), jnp.float32)
    t = jnp.asarray(rng.integers(3, size=batch)) if kind == "classes" else jnp.asarray(rng.normal(size=(batch, 1)),
                                                                                      jnp.float32)
    run, step = jax.jit(apply), step_of(loss_of(apply, kind))
    kept = jax.tree.map(jnp.copy, w)
    state = [first_state(w)]

    def forward():
        return run(kept, x).block_until_ready()

    def train():
        state[0] = step(state[0], x, t)
        jax.block_until_ready(state[0])

    return forward, train


def variants():
    return ["jit"]


def layouts(network):
    """Every variant of a structured network that was tried."""
    return [f"jit/{layout}" for layout in structured_jax.layouts(network)]
