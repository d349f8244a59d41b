"""structured_jax.py -- the structured networks in JAX, each in the layouts that were tried: a function of (weights, inputs)
to the loss. Weights are those of networks.fused()."""

import jax
import jax.numpy as jnp
import numpy as np

from networks import HEADS, NEIGHBOURS, PARTICLES, POINTS

ETA = np.array([1.0, -1.0, -1.0, -1.0], np.float32)
OTHERS = np.array([[j for j in range(PARTICLES) if j != i] for i in range(PARTICLES)])
NOT_SELF = (1.0 - np.eye(PARTICLES)).astype(np.float32)


def dense(w, name, x):
    return x @ w[name + ".W"] + w[name + ".b"]


def cross_entropy(y, label):
    return -jnp.take_along_axis(jax.nn.log_softmax(y), label[:, None], 1).mean()


# ---- message passing ---------------------------------------------------------------------------------------------------

def psi(x):
    return jnp.sign(x) * jnp.log1p(jnp.abs(x))


def products(x):
    g = jnp.einsum("bik,bjk->bij", x * ETA, x)
    q = (x * ETA * x).sum(-1)
    return psi(q[:, :, None] + q[:, None, :] - 2 * g), psi(g), psi(q)


def norm_rows(w, b, y):
    axes = tuple(range(y.ndim - 1))
    z = y - y.mean(axes)
    return z * (w[b + "gamma"] * jax.lax.rsqrt((z * z).mean(axes) + 1e-5)) + w[b + "beta"]


def norm_pairs(w, b, y, diagonal):
    n = y.shape[0] * PARTICLES * (PARTICLES - 1)
    mean = (y.sum((0, 1, 2)) - diagonal.sum((0, 1))) / n
    z, own = y - mean, diagonal - mean
    var = ((z * z).sum((0, 1, 2)) - (own * own).sum((0, 1))) / n
    return z * (w[b + "gamma"] * jax.lax.rsqrt(var + 1e-5)) + w[b + "beta"]


def rows_times(x, w):
    """(..., H) @ (H, D) as one matrix product"""
    return (x.reshape(-1, x.shape[-1]) @ w).reshape(*x.shape[:-1], w.shape[-1])


def update_nodes(w, b, h, m, s):
    y = h @ w[b + "node.W1"] + m @ w[b + "node.W2"] + s @ w[b + "node.W3"] + w[b + "node.b"]
    return h + dense(w, b + "update", jax.nn.relu(norm_rows(w, b + "node.", y)))


def messages(w, b, y):
    m = jax.nn.relu(rows_times(jax.nn.relu(y), w[b + "message.W"]) + w[b + "message.b"])
    return m, jax.nn.sigmoid((m * w[b + "gate.W"][:, 0]).sum(-1) + w[b + "gate.b"])  # (..., H), (...)


def sizes(w, b, m):
    y = jax.nn.relu(rows_times(m, w[b + "move.W"]) + w[b + "move.b"])
    return (y * w[b + "size.W"][:, 0]).sum(-1)


def read_out(w, h, label):
    return cross_entropy(dense(w, "out", jax.nn.relu(dense(w, "decode", h.mean(1)))), label)


def mp50_dense(w, x):
    p, s = x["p"], x["s"]
    h = dense(w, "embed", s)
    for i in range(2):
        b = f"block{i}."
        n, d, q = products(p)
        first, second = jnp.split(h @ w[b + "edge.W12"], 2, -1)
        u, v = w[b + "edge.W3"]
        y = first[:, :, None] + second[:, None] + n[..., None] * u + d[..., None] * v
        m, gate = messages(w, b, norm_pairs(w, b + "edge.", y, first + second + q[..., None] * v))
        m = (gate * NOT_SELF)[..., None] * m
        if i == 0:
            f = sizes(w, b, m)
            p = p + 0.005 / (PARTICLES - 1) * (p * f.sum(2, keepdims=True) - f @ p)
        h = update_nodes(w, b, h, m.sum(2), s)
    return read_out(w, h, x["label"])


def mp50_rows(w, x):
    p, s = x["p"], x["s"]
    h = dense(w, "embed", s)
    here = np.arange(PARTICLES)[:, None]
    for i in range(2):
        b = f"block{i}."
        n, d, _ = products(p)
        n, d = n[:, here, OTHERS], d[:, here, OTHERS]
        first, second = jnp.split(h @ w[b + "edge.W12"], 2, -1)
        u, v = w[b + "edge.W3"]
        y = first[:, :, None] + second[:, OTHERS] + n[..., None] * u + d[..., None] * v
        m, gate = messages(w, b, norm_rows(w, b + "edge.", y))
        m = gate[..., None] * m
        if i == 0:
            f = sizes(w, b, m)
            p = p + 0.005 / (PARTICLES - 1) * (p * f.sum(2, keepdims=True) - jnp.einsum("bij,bijk->bik", f, p[:, OTHERS]))
        h = update_nodes(w, b, h, m.sum(2), s)
    return read_out(w, h, x["label"])


# ---- gl(3) ---------------------------------------------------------------------------------------------------------------

TURN = np.array([0, 3, 6, 1, 4, 7, 2, 5, 8])
GRAM = np.zeros((9, 9), np.float32)
GRAM[np.arange(9), TURN] = 6.0
GRAM[::4, ::4] -= 1.0


def trace(x):
    return x[..., 0, :] + x[..., 4, :] + x[..., 8, :]


def form_gather(x, y):
    return 6 * (x * y[..., TURN, :]).sum(-2) - trace(x) * trace(y)


def form_unrolled(x, y):
    z = sum(x[..., k, :] * y[..., 3 * (k % 3) + k // 3, :] for k in range(9))
    return 6 * z - trace(x) * trace(y)


def form_view(x, y):
    x3, y3 = x.reshape(*x.shape[:-2], 3, 3, -1), y.reshape(*y.shape[:-2], 3, 3, -1)
    return 6 * (x3 * y3.swapaxes(-3, -2)).sum((-3, -2)) - trace(x) * trace(y)


def bracket(x, y):
    xs, ys = [x[..., k, :] for k in range(9)], [y[..., k, :] for k in range(9)]
    return jnp.stack([sum(xs[3 * i + l] * ys[3 * l + j] - ys[3 * i + l] * xs[3 * l + j] for l in range(3))
                      for i in range(3) for j in range(3)], -2)


def along(x, d, form):
    return x + jax.nn.relu(form(x, d))[..., None, :] * d


def reln_relu(x, u, form):
    return along(x, rows_times(x, u), form)


# ---- sets -----------------------------------------------------------------------------------------------------------------

def take_flat(x, near):
    batch = x.shape[0]
    flat = near + (POINTS * np.arange(batch))[:, None, None]
    return x.reshape(batch * POINTS, -1)[flat].reshape(batch, POINTS, NEIGHBOURS, *x.shape[2:])


def take_each(x, near):
    return jax.vmap(lambda a, i: a[i])(x, near)


def take_along(x, near):
    return jnp.take_along_axis(x[:, None], near[..., None, None], 2)


def set64(w, x, take=take_flat, form=form_unrolled):
    """The first layer on pairs is split by its ends, and so is its direction, (h_i W1 + h_j W2) U."""
    h = rows_times(x["x"], w["embed.W"])
    for i in range(2):
        b = f"block{i}."
        w1, w2 = jnp.split(w[b + "ends.W12"], 2, -1)
        u = w[b + "ends.U"]
        first, second = jnp.split(rows_times(h, jnp.concatenate((w1, w1 @ u, w2, w2 @ u), -1)), 2, -1)
        y, d = jnp.split(first[:, :, None] + take(second, x["near"]), 2, -1)
        y = reln_relu(rows_times(along(y, d, form), w[b + "pair.W"]), w[b + "pair.U"], form)
        h = h + rows_times(y.mean(2), w[b + "mean.W"])
        h = h + bracket(*jnp.split(rows_times(h, w[b + "bracket.W"]), 2, -1))
    h = h.mean(1)
    return cross_entropy(dense(w, "out", form(h, h)), x["label"])


# ---- transformer ----------------------------------------------------------------------------------------------------------

def rms(x, gamma):
    return x * (gamma * jax.lax.rsqrt((x * x).mean((-2, -1), keepdims=True) + 1e-6))


def lower_gather(x):
    return 6 * x[..., TURN, :] - trace(x)[..., None, :] * np.eye(3, dtype=np.float32).reshape(9, 1)


def lower_gram(x):
    return jnp.einsum("kl,bplc->bpkc", GRAM, x)


def attend_einsum(q, k, v):
    """(B, P, 9, heads, C) each"""
    t = jnp.einsum("bikhc,bjkhc->bhij", q, k) / (9 * q.shape[-1])**0.5
    return jnp.einsum("bhij,bjkhc->bikhc", jax.nn.softmax(t), v)


def attend_matmul(q, k, v):
    turn = lambda x: x.transpose(0, 3, 1, 2, 4).reshape(x.shape[0], HEADS, x.shape[1], -1)  # noqa: E731
    q3, k3, v3 = turn(q), turn(k), turn(v)
    y = jax.nn.softmax(q3 @ k3.swapaxes(-1, -2) / q3.shape[-1]**0.5) @ v3
    return y.reshape(*y.shape[:3], 9, -1).transpose(0, 2, 3, 1, 4)


def transformer64(w, x, attend=attend_matmul, lower=lower_gather, form=form_unrolled):
    z = rms(rows_times(x["x"], w["embed.W"]), w["norm1.gamma"])
    q, k, v = jnp.split(rows_times(z, w["attention.W"]), 3, -1)
    q, k, v = (a.reshape(*a.shape[:-1], HEADS, -1) for a in (q, lower(k), v))
    z = rms(z + rows_times(attend(q, k, v).reshape(z.shape), w["attention.Wo"]), w["norm2.gamma"])
    c = z.shape[-1]
    wide, u, v = jnp.split(rows_times(z, w["wide.W"]), [2 * c, 3 * c], -1)
    z = z + bracket(u, v) + rows_times(reln_relu(wide, w["wide.U"], form), w["narrow.W"])
    return cross_entropy(dense(w, "out", form(z, z).mean(1)), x["label"])


# ---- ResNet -----------------------------------------------------------------------------------------------------------------

def norm(x, gamma):
    q = (x * x).sum(-2)
    return x * (gamma / jnp.sqrt(jnp.sqrt((q * q).mean((0, 1)) + 1e-5)))


def vn_relu(x, u):
    d = rows_times(x, u)
    t, q = (x * d).sum(-2, keepdims=True), (d * d).sum(-2, keepdims=True)
    return x + jax.nn.relu(-t) / (q + 1e-6) * d


def padded(x, width):
    return jnp.pad(x, ((0, 0), (width // 2, width // 2), (0, 0), (0, 0))) if width > 1 else x


def windows(x, width, stride):
    """The input of every tap: (B, T', 3, C) each"""
    last = (x.shape[1] - 1) // stride * stride + 1
    x = padded(x, width)
    return [x[:, i:i + last:stride] for i in range(width)]


def conv_unfold(x, w, width, stride):
    return rows_times(jnp.concatenate(windows(x, width, stride), -1), w)


def conv_taps(x, w, width, stride):
    taps = w.reshape(width, -1, w.shape[-1])
    return sum(rows_times(part, tap) for part, tap in zip(windows(x, width, stride), taps))


def conv_xla(x, w, width, stride):
    """XLA's convolution on (B, T, 3, C)"""
    return jax.lax.conv_general_dilated(x, w.reshape(width, 1, -1, w.shape[-1]), (stride, 1),
                                        ((width // 2, width // 2), (0, 0)), dimension_numbers=("NHWC", "HWIO", "NHWC"))


def resnet1d(w, x, conv=conv_unfold):
    h = vn_relu(norm(conv(x["x"], w["stem.W"], 7, 2), w["stem.gamma"]), w["stem.U"])
    for i in range(4):
        b = f"block{i}."
        y = norm(conv(h, w[b + "one.W"], 3, 2 if i == 2 else 1), w[b + "one.gamma"])
        y = norm(conv(vn_relu(y, w[b + "one.U"]), w[b + "two.W"], 3, 1), w[b + "two.gamma"])
        skip = norm(conv(h, w[b + "skip.W"], 1, 2), w[b + "skip.gamma"]) if i == 2 else h
        h = vn_relu(y + skip, w[b + "two.U"])
    return jnp.square((h.mean(1) @ w["out.W"])[..., 0] - x["t"]).sum(-1).mean()


# ---- layouts --------------------------------------------------------------------------------------------------------------

def with_(f, **options):
    return lambda w, x: f(w, x, **options)


LAYOUTS = {
    "mp50": {"dense": mp50_dense, "rows": mp50_rows},
    "set64": {"flat": set64, "each": with_(set64, take=take_each), "along": with_(set64, take=take_along),
              "flat-gather": with_(set64, form=form_gather), "flat-view": with_(set64, form=form_view)},
    "transformer64": {"matmul": transformer64, "einsum": with_(transformer64, attend=attend_einsum),
                      "matmul-gather": with_(transformer64, form=form_gather),
                      "matmul-gram": with_(transformer64, lower=lower_gram)},
    "resnet1d": {"unfold": resnet1d, "taps": with_(resnet1d, conv=conv_taps), "xla": with_(resnet1d, conv=conv_xla)},
}


def layouts(network):
    return LAYOUTS.get(network.split("-")[0], {})
