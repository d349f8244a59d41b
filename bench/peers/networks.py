"""networks.py -- the structured networks: their parameters, batches and inputs, once for all rivals. README.md has the
formulas. Names and shapes of parameters are those of reln (`reln bench once NAME/gradient/B --out FILE`)."""

import numpy as np

PARTICLES, HIDDEN = 50, 48             # mp50
JET, ROUNDS = 54, 5                    # lorentznet: particles with both beams, blocks of HIDDEN channels
POINTS, NEIGHBOURS = 64, 16            # set64-C
TOKENS, CHANNELS, HEADS = 64, 48, 6    # transformer64
STEPS, WIDTH = 200, 64                 # resnet1d

GROUPS, MEMBERS, BLOCKS = 32, 16, 4    # splats-*

BATCH = {"mp50": 32, "lorentznet": 128, "set64-24": 16, "set64-64": 16, "transformer64": 32, "resnet1d": 64,
         "splats-mae": 32, "splats-reln": 32, "drone-reln": 64, "drone-resnet": 64}
ALSO_FORWARD = ("drone-reln", "drone-resnet")  # with one sample and with the batch; training with the batch only


def rows(name):
    """(pass, batch) of what is measured."""
    forward = [("forward", 1), ("forward", BATCH[name])] if name in ALSO_FORWARD else []
    return forward + [("train", BATCH[name])]


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


def lorentznet():
    h = HIDDEN
    out = [("embed.W", 2, h), ("embed.b", 0, h)]
    for i in range(ROUNDS):
        b = f"block{i}.messages."
        out += [(b + "Wi", h, h), (b + "Wj", h, h), (b + "Wp", 2, h), (b + "gamma", 0, h), (b + "beta", 0, h),
                (b + "Wm", h, h), (b + "bm", 0, h), (b + "Wg", h, 1), (b + "bg", 0, 1)]
        if i + 1 < ROUNDS:
            out += [(b + "Wx", h, h), (b + "bx", 0, h), (b + "Wf", h, 1)]
        out += [(b + "Ws", h, h), (b + "Wh", h, h), (b + "gammah", 0, h), (b + "betah", 0, h), (b + "Wo", h, h),
                (b + "bo", 0, h)]
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


def dense(name, m, n):
    return [(name + ".W", m, n), (name + ".b", 0, n)]


def norm(name, n):
    return [(name + ".gamma", 0, n), (name + ".beta", 0, n)]


def splats_head(n):
    return (dense("head.a", n, 192) + norm("head.an", 192) + dense("head.b", 192, 192) + norm("head.bn", 192) +
            dense("head.c", 192, 10))


def splats_mae():
    c = 96
    out = (dense("tok.a", 14, 48) + norm("tok.an", 48) + dense("tok.b", 48, 64) + dense("tok.c", 128, 128) +
           norm("tok.cn", 128) + dense("tok.d", 128, c) + dense("pos.a", 3, 32) + dense("pos.b", 32, c) +
           [("class.token", 0, c), ("class.position", 0, c)])
    for i in range(BLOCKS):
        b = f"enc{i}."
        out += (norm(b + "n1", c) + [(b + "qkv.W", c, 3 * c)] + dense(b + "proj", c, c) + norm(b + "n2", c) +
                dense(b + "fc1", c, 4 * c) + dense(b + "fc2", 4 * c, c))
    return out + norm("norm", c) + splats_head(2 * c)


def splats_reln():
    c, d = 16, 32

    def exchange(name):
        return [(name + ".U", d, c), (name + ".Wz", c, c), (name + ".V", 2 * c, d)]

    def both(name):
        return norm(name, d) + [(name + ".gammax", 0, c)]

    out = ([("tok.x.W", 6, c)] + dense("tok.s", 10, d) + exchange("tok.e1") +
           [("tok.g1.U", c, c), ("tok.b1.Wa", c, c), ("tok.b1.Wb", c, c), ("tok.px.W", 2 * c, c), ("tok.ox.W", c, c),
            ("tok.g2.U", c, c), ("tok.ps.W", 2 * d, d)] + dense("tok.os", d, d) + exchange("tok.e2") +
           [("tok.tx.W", 2 * c, c)] + dense("tok.ts", 2 * d, d) + dense("pos.a", 1, 32) + dense("pos.hat", 32, c) +
           dense("pos.one", 32, c) + dense("pos.square", 32, c) + dense("pos.s", 32, d))
    for i in range(BLOCKS):
        b = f"enc{i}."
        out += (both(b + "n1") + [(b + "att.W" + k, c, c) for k in "qkv"] + [(b + "att.S" + k, d, d) for k in "qkv"] +
                [(b + "ox.W", c, c)] + dense(b + "os", d, d) + both(b + "n2") +
                [(b + "b.Wa", c, c), (b + "b.Wb", c, c), (b + "x1.W", c, 2 * c), (b + "g.U", 2 * c, 2 * c),
                 (b + "t.U", d, 2 * c), (b + "x2.W", 2 * c, c), (b + "z.Wz", c, c)] +
                dense(b + "s1", d + 3 * c, 4 * d) + dense(b + "s2", 4 * d, d))
    return out + both("norm") + [(k, 2 * c, 2 * c) for k in ("twist.Wa", "twist.Wb", "read.Wz")] + \
        splats_head(8 * c + 2 * d)


def drone_reln():
    w, l, p = 21, 170, 42

    def block(name, m, n):
        skip = [(name + ".skip.W", m, n)] + norm(name + ".skip.norm", n) if m != n else []
        return (skip + [(name + ".conv1.W", 3 * m, n)] + norm(name + ".norm1", n) + [(name + ".conv2.W", 3 * n, n)] +
                norm(name + ".norm2", n) + [(name + ".relu.U", n, n)])

    return ([("in.conv.W", 7 * 2, w)] + norm("in.norm", w) + [("in.relu.W", w, w)] +
            [("bracket.W" + k, w, w) for k in "ab"] + block("first.0", w, w) + block("first.1", w, w) +
            block("last.0", w, l) + block("last.1", l, l) + [("head.prep.W", l, p)] + norm("head.norm", p) +
            [("head.fc1.W", 7 * p, l), ("head.relu.U", l, l), ("head.fc2.W", l, l), ("head.fc3.W", l, 1)])


def drone_resnet():
    sizes, p = [20, 20, 40, 80, 160], 44
    out = [("in.W", 7 * 12, 20)] + norm("in.norm", 20)
    for i in range(4):
        for j in range(2):
            b, m, n = f"group{i}.{j}.", sizes[i + j], sizes[i + 1]
            out += ([(b + "conv1.W", 3 * m, n)] + norm(b + "norm1", n) + [(b + "conv2.W", 3 * n, n)] +
                    norm(b + "norm2", n))
            out += [(b + "skip.W", m, n)] + norm(b + "skip", n) if m != n else []
    return (out + [("head.prep.W", 160, p)] + norm("head.norm", p) + dense("head.fc1", 7 * p, 160) +
            dense("head.fc2", 160, 160) + dense("head.fc3", 160, 3))


PARAMETERS = {"mp50": mp50(), "lorentznet": lorentznet(), "set64-24": set64(24), "set64-64": set64(64), "transformer64": transformer64(),
              "resnet1d": resnet1d(), "splats-mae": splats_mae(), "splats-reln": splats_reln(),
              "drone-reln": drone_reln(), "drone-resnet": drone_resnet()}


def count(name):
    return sum(max(m, 1) * n for _, m, n in PARAMETERS[name])


def parameters(name, rng):
    """{name: array}, (in, out) for a matrix and (out,) for a row: U(-1/sqrt(in), 1/sqrt(in)); gammas 1, other rows 0."""
    out = {}
    for key, m, n in PARAMETERS[name]:
        if m:
            out[key] = (rng.uniform(-1, 1, (m, n)) / m**0.5).astype(np.float32)
        else:
            out[key] = np.full(n, 1.0 if "gamma" in key else 0.0, np.float32)
    return out


def inputs(name, batch, rng):
    """{name: array}: features 0.3 N(0, 1), labels and neighbours int32."""
    normal = lambda *shape: (0.3 * rng.normal(size=(batch, *shape))).astype(np.float32)  # noqa: E731
    whole = lambda limit, *shape: rng.integers(limit, size=(batch, *shape)).astype(np.int32)  # noqa: E731
    if name == "mp50":
        return {"s": normal(PARTICLES, 2), "p": normal(PARTICLES, 4), "label": whole(2)}
    if name == "lorentznet":
        return {"s": normal(JET, 2), "p": normal(JET, 4), "label": whole(2)}
    if name.startswith("set64"):
        return {"x": normal(POINTS, 9, 2), "near": whole(POINTS, POINTS, NEIGHBOURS), "label": whole(10)}
    if name == "transformer64":
        return {"x": normal(TOKENS, 9, 6), "label": whole(10)}
    if name == "splats-mae":
        return {"x": normal(GROUPS, MEMBERS, 14), "c": normal(GROUPS, 3), "label": whole(10)}
    if name == "splats-reln":
        return {"d": normal(GROUPS, MEMBERS, 3), "log": normal(GROUPS, MEMBERS, 9), "s": normal(GROUPS, MEMBERS, 10),
                "c": normal(GROUPS, 3), "label": whole(10)}
    if name.startswith("drone"):
        return {"v": normal(STEPS, 3), "m": normal(STEPS, 9), "t": normal(3)}
    return {"x": normal(STEPS, 3, 1), "t": normal(3)}


def fused(name, w):
    """Matrices that multiply the same input side by side: one product instead of two or three."""
    w = dict(w)

    def join(key, *parts):
        w[key] = np.concatenate([w.pop(p) for p in parts], -1)

    for i in range(2):
        b = f"block{i}."
        if name == "mp50":
            join(b + "edge.W12", b + "edge.W1", b + "edge.W2")
        elif name.startswith("set64"):
            join(b + "ends.W12", b + "ends.W1", b + "ends.W2")
            join(b + "bracket.W", b + "bracket.Wb", b + "bracket.Wa")
    if name == "splats-reln":
        join("tok.b1.W", "tok.b1.Wa", "tok.b1.Wb")
        join("twist.W", "twist.Wa", "twist.Wb", "read.Wz")
        for part in ("W", "b"):
            join("pos.f." + part, *(f"pos.{f}.{part}" for f in ("hat", "one", "square", "s")))
        for i in range(BLOCKS):
            b = f"enc{i}."
            join(b + "att.W", b + "att.Wq", b + "att.Wk", b + "att.Wv")
            join(b + "att.S", b + "att.Sq", b + "att.Sk", b + "att.Sv")
            join(b + "x1.W", b + "x1.W", b + "b.Wa", b + "b.Wb", b + "z.Wz")
    if name == "drone-reln":
        join("bracket.W", "bracket.Wb", "bracket.Wa")
    if name == "transformer64":
        join("attention.W", "attention.Wq", "attention.Wk", "attention.Wv")
        join("wide.W", "wide.W", "bracket.Wb", "bracket.Wa")
    return w


if __name__ == "__main__":
    for network in PARAMETERS:
        print(f"{network:<16}{count(network):>8} parameters, batch {BATCH[network]}")
