"""splats_torch.py -- the classifiers of Gaussian splats in PyTorch: a function of (weights, inputs) to the loss. README.md has
the formulas; weights are those of networks.fused()."""

import torch
from torch.nn import functional as F

from networks import BLOCKS
from structured_torch import (GRAM, attend_fused, attend_matmul, bracket_products, bracket_unrolled, dense, form_gram,
                              form_unrolled, form_view, norm_rows, norm_rows_plain, psi, rms, trace, with_)

HEADS = 4


def layer_norm(w, name, x):
    return F.layer_norm(x, x.shape[-1:], w[name + ".gamma"], w[name + ".beta"], 1e-5)


def head(w, f, label, norm):
    for i in "ab":
        f = torch.relu(norm(w, f"head.{i}n.", dense(w, f"head.{i}", f)))
    return F.cross_entropy(dense(w, "head.c", f), label)


# ---- Gaussian-MAE ------------------------------------------------------------------------------------------------------------

def heads(x):
    """(B, P, C) to (B, heads, P, C / heads)"""
    return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)


def mae(w, x, norm=norm_rows, attend=attend_fused):
    f = dense(w, "tok.b", torch.relu(norm(w, "tok.an.", dense(w, "tok.a", x["x"]))))
    most, own = w["tok.c.W"].chunk(2, 0)
    u = f @ own + (f.amax(2) @ most + w["tok.c.b"])[:, :, None]
    z = dense(w, "tok.d", torch.relu(norm(w, "tok.cn.", u))).amax(2)
    at = dense(w, "pos.b", F.gelu(dense(w, "pos.a", x["c"])))
    z = torch.cat((w["class.token"].expand(z.shape[0], 1, -1), z), 1)
    at = torch.cat((w["class.position"].expand(z.shape[0], 1, -1), at), 1)
    for i in range(BLOCKS):
        b = f"enc{i}."
        z = z + at
        q, k, v = (layer_norm(w, b + "n1", z) @ w[b + "qkv.W"]).chunk(3, -1)
        z = z + dense(w, b + "proj", attend(heads(q), heads(k), heads(v)).transpose(1, 2).flatten(-2))
        z = z + dense(w, b + "fc2", F.gelu(dense(w, b + "fc1", layer_norm(w, b + "n2", z))))
    z = layer_norm(w, "norm", z)
    return head(w, torch.cat((z[:, 0], z[:, 1:].amax(1)), -1), x["label"], norm)


# ---- ReLN --------------------------------------------------------------------------------------------------------------------

EYE = torch.eye(3).flatten()
HAT = torch.zeros(9, 3)
for place, axis, sign in ((1, 2, -1), (2, 1, 1), (3, 2, 1), (5, 0, -1), (6, 1, -1), (7, 0, 1)):
    HAT[place, axis] = sign


class Algebra:
    """form is B~ / 6; layouts differ in how forms and brackets are written"""

    def __init__(self, form, bracket):
        self.bracket = bracket
        self.form = lambda x, y: form(x, y) / 6

    def gate(self, x, d):
        """x + max(0, B~(x, d) / 6) d / (|d|^2 + 1e-6)"""
        amount = torch.relu(self.form(x, d)) / ((d * d).sum(-2) + 1e-6)
        return x + amount.unsqueeze(-2) * d

    def twist(self, a, b):
        size = ((a * a).sum(-2) * (b * b).sum(-2)).mean(-1) + 1
        return self.bracket(a, b) * torch.rsqrt(size)[..., None, None]

    def invariants(self, x, y):
        return psi(torch.cat((self.form(x, y), trace(x)), -1))

    def exchange(self, w, name, x, s):
        x = x * (1 + torch.tanh(s @ w[name + ".U"])).unsqueeze(-2)
        return x, s + self.invariants(x, x @ w[name + ".Wz"]) @ w[name + ".V"]


def hat(v):
    return v @ HAT.to(v.dtype).t()


def square(v):
    """v v^T - |v|^2 / 3"""
    return (v[..., :, None] * v[..., None, :]).flatten(-2) - (v * v).sum(-1, keepdim=True) / 3 * EYE.to(v.dtype)


def pool(x, s, dim):
    """The largest matrix of each channel beside the mean; the largest invariants beside the mean."""
    at = (x * x).sum(-2, keepdim=True).argmax(dim, keepdim=True)
    shape = list(x.shape)
    shape[dim] = 1
    most = x.gather(dim, at.expand(shape)).squeeze(dim)
    return torch.cat((most, x.mean(dim)), -1), torch.cat((s.amax(dim), s.mean(dim)), -1)


def reln_tokens(w, x, a):
    d, log, c = x["d"], x["log"], x["c"]
    h = hat(d)
    lifted = torch.stack((h, log, square(d), a.bracket(h[..., None], log[..., None])[..., 0],
                          hat(c)[:, :, None].expand_as(log), EYE.to(d.dtype).expand_as(log)), -1)
    y = lifted @ w["tok.x.W"]
    y, s = a.exchange(w, "tok.e1", y, F.gelu(dense(w, "tok.s", x["s"])))
    y = a.gate(y, y @ w["tok.g1.U"])
    y = y + a.twist(*(y @ w["tok.b1.W"]).chunk(2, -1))
    px, ps = pool(y, s, 2)
    y = y @ w["tok.ox.W"] + (px @ w["tok.px.W"])[:, :, None]
    y = a.gate(y, y @ w["tok.g2.U"])
    s = F.gelu(dense(w, "tok.os", s) + (ps @ w["tok.ps.W"])[:, :, None])
    px, ps = pool(*a.exchange(w, "tok.e2", y, s), 2)
    return px @ w["tok.tx.W"], dense(w, "tok.ts", ps)


def reln_position(w, c):
    h = F.gelu(dense(w, "pos.a", torch.sqrt((c * c).sum(-1, keepdim=True) + 1e-12)))
    f1, f2, f3, s = dense(w, "pos.f", h).split([16, 16, 16, 32], -1)
    at = hat(c)[..., None] * f1[..., None, :] + EYE.to(c.dtype)[:, None] * f2[..., None, :]
    return at + square(c)[..., None] * f3[..., None, :], s


def joint(x, s):
    """(B, P, 9, C) and (B, P, D) to (B, heads, P, (9 C + D) / heads)"""
    x = x.unflatten(-1, (HEADS, -1)).permute(0, 3, 1, 2, 4).flatten(-2)
    return torch.cat((x, heads(s)), -1)


def reln_attention(w, b, x, s, attend):
    q, k, v = (x @ w[b + "att.W"]).chunk(3, -1)
    sq, sk, sv = (s @ w[b + "att.S"]).chunk(3, -1)
    y = attend(joint(q, sq), joint(GRAM.to(k.dtype) @ k / 6, sk), joint(v, sv))
    c = 9 * x.shape[-1] // HEADS
    mx = y[..., :c].unflatten(-1, (9, -1)).permute(0, 2, 3, 1, 4).flatten(-2)
    return mx @ w[b + "ox.W"], dense(w, b + "os", y[..., c:].transpose(1, 2).flatten(-2))


def reln_forward(w, b, x, s, a):
    c = x.shape[-1]
    h, ba, bb, xz = (x @ w[b + "x1.W"]).split([2 * c, c, c, c], -1)
    twist = a.twist(ba, bb)
    h = a.gate(h, h @ w[b + "g.U"]) * (1 + torch.tanh(s @ w[b + "t.U"])).unsqueeze(-2)
    z = torch.cat((s, a.invariants(x, xz), psi(a.form(twist, x))), -1)
    return h @ w[b + "x2.W"] + twist, dense(w, b + "s2", F.gelu(dense(w, b + "s1", z)))


def reln(w, x, form=form_view, bracket=bracket_unrolled, norm=norm_rows, attend=attend_fused):
    a = Algebra(form, bracket)
    y, s = reln_tokens(w, x, a)
    at, at_s = reln_position(w, x["c"])

    def normed(name, y, s):
        return rms(y, w[name + ".gammax"]), layer_norm(w, name, s)

    for i in range(BLOCKS):
        b = f"enc{i}."
        y, s = y + at, s + at_s
        for part in (lambda y, s: reln_attention(w, b, *normed(b + "n1", y, s), attend),
                     lambda y, s: reln_forward(w, b, *normed(b + "n2", y, s), a)):
            dy, ds = part(y, s)
            y, s = y + dy, s + ds
    y, s = pool(*normed("norm", y, s), 1)
    ta, tb, yz = (y @ w["twist.W"]).chunk(3, -1)
    f = torch.cat((psi(a.form(y, y)), a.invariants(y, yz), psi(a.form(a.twist(ta, tb), y)), s), -1)
    return head(w, f, x["label"], norm)


def both(f, **options):
    """With PyTorch's own kernels, and in formulas for a compiler."""
    return {"": with_(f, **options), "-plain": with_(f, norm=norm_rows_plain, **options),
            "-matmul": with_(f, attend=attend_matmul, **options),
            "-plain-matmul": with_(f, norm=norm_rows_plain, attend=attend_matmul, **options)}


LAYOUTS = {
    "splats-mae": {"torch" + k: v for k, v in both(mae).items()},
    "splats-reln": {
        **{"view" + k: v for k, v in both(reln).items()},
        **{"gram" + k: v for k, v in both(reln, form=form_gram).items()},
        **{"products" + k: v for k, v in both(reln, bracket=bracket_products).items()},
        **{"unrolled" + k: v for k, v in both(reln, form=form_unrolled).items()}},
}
