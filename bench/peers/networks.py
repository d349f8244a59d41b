"""networks.py -- the structured networks: their parameters, batches and inputs, once for all rivals. README.md has the
formulas. Names and shapes of parameters are those of reln (`reln bench once NAME/gradient/B --out FILE`)."""

import numpy as np

PARTICLES, HIDDEN = 50, 48             # mp50
POINTS, NEIGHBOURS = 64, 16            # set64-C
TOKENS, CHANNELS, HEADS = 64, 48, 6    # transformer64
STEPS, WIDTH = 200, 64                 # resnet1d

BATCH = {"mp50": 32, "set64-24": 16, "set64-64": 16, "transformer64": 32, "resnet1d": 64}


def mp50():
    h = HIDDEN
    out = [("embed.W", 2, h), ("embed.b", 0, h)]
    for i in range(2):
        b = f"block{i}."
        out += [(b + "edge.W1", h, h), (b + "edge.W2", h, h), (b + "edge.W3", 2, h), (b + "edge.gamma", 0, h),
                (b + "edge.beta", 0, h), (b + "message.W", h, h), (b + "message.b", 0, h), (b + "gate.W", h, 1),
                (b + "gate.b", 0, 1)]
        if i == 0:
            out += [(b + "move.W", h, h), (b + "move.b", 0, h), (b + "size.W", h, 1)]
        out += [(b + "node.W1", h, h), (b + "node.W2", h, h), (b + "node.W3", 2, h), (b + "node.b", 0, h),
                (b + "node.gamma", 0, h), (b + "node.beta", 0, h), (b + "update.W", h, h), (b + "update.b", 0, h)]
    return out + [("decode.W", h, h), ("decode.b", 0, h), ("out.W", h, 2), ("out.b", 0, 2)]


def set64(c):
    out = [("embed.W", 2, c)]
    for i in range(2):
        b = f"block{i}."
        out += [(b + "ends.W1", c, c), (b + "ends.W2", c, c), (b + "ends.U", c, c), (b + "pair.W", c, c),
                (b + "pair.U", c, c), (b + "mean.W", c, c), (b + "bracket.Wa", c, c), (b + "bracket.Wb", c, c)]
    return out + [("out.W", c, 10), ("out.b", 0, 10)]


def transformer64():
    c = CHANNELS
    return [("embed.W", 6, c), ("norm1.gamma", 0, c), ("attention.Wq", c, c), ("attention.Wk", c, c),
            ("attention.Wv", c, c), ("attention.Wo", c, c), ("norm2.gamma", 0, c), ("wide.W", c, 2 * c),
            ("wide.U", 2 * c, 2 * c), ("narrow.W", 2 * c, c), ("bracket.Wa", c, c), ("bracket.Wb", c, c),
            ("out.W", c, 10), ("out.b", 0, 10)]


def resnet1d():
    c = WIDTH
    out = [("stem.W", 7, c), ("stem.gamma", 0, c), ("stem.U", c, c)]
    for i in range(4):
        b = f"block{i}."
        out += [(b + "one.W", 3 * c, c), (b + "one.gamma", 0, c), (b + "one.U", c, c), (b + "two.W", 3 * c, c),
                (b + "two.gamma", 0, c)]
        if i == 2:
            out += [(b + "skip.W", c, c), (b + "skip.gamma", 0, c)]
        out += [(b + "two.U", c, c)]
    return out + [("out.W", c, 1)]


PARAMETERS = {"mp50": mp50(), "set64-24": set64(24), "set64-64": set64(64), "transformer64": transformer64(),
              "resnet1d": resnet1d()}


def count(name):
    return sum(max(m, 1) * n for _, m, n in PARAMETERS[name])


def parameters(name, rng):
    """{name: array}, (in, out) for a matrix and (out,) for a row: U(-1/sqrt(in), 1/sqrt(in)); gammas 1, other rows 0."""
    out = {}
    for key, m, n in PARAMETERS[name]:
        if m:
            out[key] = (rng.uniform(-1, 1, (m, n)) / m**0.5).astype(np.float32)
        else:
            out[key] = np.full(n, 1.0 if key.endswith("gamma") else 0.0, np.float32)
    return out


def inputs(name, batch, rng):
    """{name: array}: features 0.3 N(0, 1), labels and neighbours int32."""
    normal = lambda *shape: (0.3 * rng.normal(size=(batch, *shape))).astype(np.float32)  # noqa: E731
    whole = lambda limit, *shape: rng.integers(limit, size=(batch, *shape)).astype(np.int32)  # noqa: E731
    if name == "mp50":
        return {"s": normal(PARTICLES, 2), "p": normal(PARTICLES, 4), "label": whole(2)}
    if name.startswith("set64"):
        return {"x": normal(POINTS, 9, 2), "near": whole(POINTS, POINTS, NEIGHBOURS), "label": whole(10)}
    if name == "transformer64":
        return {"x": normal(TOKENS, 9, 6), "label": whole(10)}
    return {"x": normal(STEPS, 3, 1), "t": normal(3)}


def fused(name, w):
    """Matrices that multiply the same input side by side: one product instead of two or three."""
    w = dict(w)

    def join(key, *parts):
        w[key] = np.concatenate([w.pop(p) for p in parts], 1)

    for i in range(2):
        b = f"block{i}."
        if name == "mp50":
            join(b + "edge.W12", b + "edge.W1", b + "edge.W2")
        elif name.startswith("set64"):
            join(b + "ends.W12", b + "ends.W1", b + "ends.W2")
            join(b + "bracket.W", b + "bracket.Wb", b + "bracket.Wa")
    if name == "transformer64":
        join("attention.W", "attention.Wq", "attention.Wk", "attention.Wv")
        join("wide.W", "wide.W", "bracket.Wb", "bracket.Wa")
    return w


if __name__ == "__main__":
    for network in PARAMETERS:
        print(f"{network:<16}{count(network):>8} parameters, batch {BATCH[network]}")
