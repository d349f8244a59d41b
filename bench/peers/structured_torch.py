"""structured_torch.py -- the structured networks in PyTorch, each in the layouts that were tried: a function of (weights,
inputs) to the loss. Weights are those of networks.fused()."""

import torch
from torch.nn import functional as F

from networks import HEADS, JET, NEIGHBOURS, PARTICLES, POINTS, ROUNDS

ETA = torch.tensor([1.0, -1.0, -1.0, -1.0])
OTHERS = torch.tensor([[j for j in range(PARTICLES) if j != i] for i in range(PARTICLES)])
NOT_SELF = 1.0 - torch.eye(PARTICLES)
JET_OTHERS = torch.tensor([[j for j in range(JET) if j != i] for i in range(JET)])
JET_NOT_SELF = 1.0 - torch.eye(JET)
JET_ETA = -ETA  # the form that the library finds for four-vectors


# ---- message passing ---------------------------------------------------------------------------------------------------

def psi(x):
    return torch.sign(x) * torch.log1p(torch.abs(x))


def products(x, eta=ETA):
    """psi of <x_i - x_j, x_i - x_j> and of <x_i, x_j>: (B, N, N) each"""
    g = (x * eta) @ x.transpose(1, 2)
    q = torch.diagonal(g, dim1=1, dim2=2)
    return psi(q[:, :, None] + q[:, None, :] - 2 * g), psi(g)


def norm_pairs(w, b, y, diagonal):
    """Batch norm over the pairs i != j of (B, N, N, H), where the sums over all pairs lose those of the diagonal."""
    n = y.shape[0] * y.shape[1] * (y.shape[1] - 1)
    mean = (y.sum((0, 1, 2)) - diagonal.sum((0, 1))) / n
    z, own = y - mean, diagonal - mean
    var = ((z * z).sum((0, 1, 2)) - (own * own).sum((0, 1))) / n
    return z * (w[b + "gamma"] * torch.rsqrt(var + 1e-5)) + w[b + "beta"]


def norm_rows(w, b, y):
    """Batch norm of rows (..., H) by PyTorch's own kernel."""
    return F.batch_norm(y.reshape(-1, y.shape[-1]), None, None, w[b + "gamma"], w[b + "beta"], True, 0.0,
                        1e-5).view(y.shape)


def norm_rows_plain(w, b, y):
    """The same in formulas, for a compiler."""
    axes = tuple(range(y.dim() - 1))
    var, mean = torch.var_mean(y, axes, correction=0)
    return (y - mean) * (w[b + "gamma"] * torch.rsqrt(var + 1e-5)) + w[b + "beta"]


def dense(w, name, x):
    return F.linear(x, w[name + ".W"].t(), w[name + ".b"])


def update_nodes(w, b, h, m, s, norm):
    y = h @ w[b + "node.W1"] + m @ w[b + "node.W2"] + (s @ w[b + "node.W3"] + w[b + "node.b"])
    return h + dense(w, b + "update", torch.relu(norm(w, b + "node.", y)))


def moved(x, f):
    """x_i + 0.005 mean over j of (x_i - x_j) f_ij, f (B, N, N)"""
    return x + 0.005 / (PARTICLES - 1) * (x * f.sum(2, keepdim=True) - f @ x)


def read_out(w, h, label):
    y = torch.relu(dense(w, "decode", h.mean(1)))
    return F.cross_entropy(dense(w, "out", y), label)


def mp50_dense(w, x, plain=True):
    """Pairs (B, N, N, H) with the diagonal, which is masked in the gate."""
    p, s = x["p"], x["s"]
    h = dense(w, "embed", s)
    norm = norm_rows_plain if plain else norm_rows
    for i in range(2):
        b = f"block{i}."
        n, d = products(p)
        first, second = (h @ w[b + "edge.W12"]).chunk(2, -1)
        u, v = w[b + "edge.W3"].unbind(0)
        y = first[:, :, None] + second[:, None] + n[..., None] * u + d[..., None] * v
        own = first + second + torch.diagonal(d, dim1=1, dim2=2)[..., None] * v
        m = torch.relu(dense(w, b + "message", torch.relu(norm_pairs(w, b + "edge.", y, own))))
        gate = torch.sigmoid(dense(w, b + "gate", m)) * NOT_SELF[..., None]
        m = gate * m
        if i == 0:
            p = moved(p, (torch.relu(dense(w, b + "move", m)) @ w[b + "size.W"]).squeeze(-1))
        h = update_nodes(w, b, h, m.sum(2), s, norm)
    return read_out(w, h, x["label"])


def mp50_rows(w, x, plain=False):
    """Pairs (B, N, N - 1, H), gathered, so that the batch norm is over rows."""
    p, s = x["p"], x["s"]
    h = dense(w, "embed", s)
    norm = norm_rows_plain if plain else norm_rows
    batch, size = s.shape[0], h.shape[-1]
    others = OTHERS.flatten()
    for i in range(2):
        b = f"block{i}."
        pair = torch.stack(products(p), -1)  # (B, N, N, 2)
        pair = torch.gather(pair, 2, OTHERS[None, :, :, None].expand(batch, -1, -1, 2))
        first, second = (h @ w[b + "edge.W12"]).chunk(2, -1)
        second = second.index_select(1, others).view(batch, PARTICLES, PARTICLES - 1, size)
        y = pair @ w[b + "edge.W3"] + first[:, :, None] + second
        m = torch.relu(dense(w, b + "message", torch.relu(norm(w, b + "edge.", y))))
        m = torch.sigmoid(dense(w, b + "gate", m)) * m
        if i == 0:
            f = (torch.relu(dense(w, b + "move", m)) @ w[b + "size.W"]).squeeze(-1)
            there = p.index_select(1, others).view(batch, PARTICLES, PARTICLES - 1, 4)
            p = p + 0.005 / (PARTICLES - 1) * (p * f.sum(2, keepdim=True) - (f[:, :, None] @ there).squeeze(2))
        h = update_nodes(w, b, h, m.sum(2), s, norm)
    return read_out(w, h, x["label"])


def mp50_scatter(w, x, plain=False):
    """Flat lists of edges, index_select and index_add, as LorentzNet's code has them (with split layers)."""
    p, s = x["p"], x["s"]
    batch = s.shape[0]
    norm = norm_rows_plain if plain else norm_rows
    base = (PARTICLES * torch.arange(batch))[:, None, None]
    j = (OTHERS[None] + base).flatten()
    i_ = (torch.arange(PARTICLES)[None, :, None] + base).expand(-1, -1, PARTICLES - 1).flatten()
    s, p = s.reshape(-1, 2), p.reshape(-1, 4)
    h = dense(w, "embed", s)
    for i in range(2):
        b = f"block{i}."
        here, there = p.index_select(0, i_), p.index_select(0, j)
        g = ((here * ETA) * there).sum(-1)
        q = (p * ETA * p).sum(-1)
        n = q.index_select(0, i_) + q.index_select(0, j) - 2 * g
        first, second = (h @ w[b + "edge.W12"]).chunk(2, -1)
        y = torch.stack((psi(n), psi(g)), -1) @ w[b + "edge.W3"] + first.index_select(0, i_) + \
            second.index_select(0, j)
        m = torch.relu(dense(w, b + "message", torch.relu(norm(w, b + "edge.", y))))
        m = torch.sigmoid(dense(w, b + "gate", m)) * m
        if i == 0:
            f = torch.relu(dense(w, b + "move", m)) @ w[b + "size.W"]
            p = p + 0.005 / (PARTICLES - 1) * torch.zeros_like(p).index_add(0, i_, (here - there) * f)
        h = update_nodes(w, b, h, torch.zeros_like(h).index_add(0, i_, m), s, norm)
    return read_out(w, h.view(batch, PARTICLES, -1), x["label"])


# ---- LorentzNet: blocks of reln_nn_messages() ------------------------------------------------------------------------------

def affine(w, b, part, x):
    return F.linear(x, w[b + "W" + part].t(), w[b + "b" + part])


def renew(w, b, h, m, norm):
    """h + phi([h, m]), the layer split by its two inputs"""
    y = h @ w[b + "Wh"] + m @ w[b + "Ws"]
    return h + affine(w, b, "o", torch.relu(norm({"gamma": w[b + "gammah"], "beta": w[b + "betah"]}, "", y)))


def lorentznet_dense(w, x, plain=True):
    """Pairs (B, N, N, H) with the diagonal, which is masked in the gate."""
    p = x["p"]
    h = dense(w, "embed", x["s"])
    norm = norm_rows_plain if plain else norm_rows
    for i in range(ROUNDS):
        b = f"block{i}.messages."
        n, d = products(p, JET_ETA)
        first, second = h @ w[b + "Wi"], h @ w[b + "Wj"]
        u, v = w[b + "Wp"].unbind(0)
        y = first[:, :, None] + second[:, None] + n[..., None] * u + d[..., None] * v
        own = first + second + torch.diagonal(d, dim1=1, dim2=2)[..., None] * v
        m = torch.relu(affine(w, b, "m", torch.relu(norm_pairs(w, b, y, own))))
        m = torch.sigmoid(affine(w, b, "g", m)) * JET_NOT_SELF[..., None] * m
        if i + 1 < ROUNDS:
            f = (torch.relu(affine(w, b, "x", m)) @ w[b + "Wf"]).squeeze(-1) * JET_NOT_SELF
            p = p + 0.001 / (JET - 1) * (p * f.sum(2, keepdim=True) - f @ p)
        h = renew(w, b, h, m.sum(2), norm)
    return read_out(w, h, x["label"])


def lorentznet_rows(w, x, plain=False):
    """Pairs (B, N, N - 1, H), gathered, so that the batch norm is over rows."""
    p = x["p"]
    h = dense(w, "embed", x["s"])
    norm = norm_rows_plain if plain else norm_rows
    batch, size = h.shape[0], h.shape[-1]
    others = JET_OTHERS.flatten()
    for i in range(ROUNDS):
        b = f"block{i}.messages."
        pair = torch.stack(products(p, JET_ETA), -1)
        pair = torch.gather(pair, 2, JET_OTHERS[None, :, :, None].expand(batch, -1, -1, 2))
        second = (h @ w[b + "Wj"]).index_select(1, others).view(batch, JET, JET - 1, size)
        y = pair @ w[b + "Wp"] + (h @ w[b + "Wi"])[:, :, None] + second
        m = torch.relu(affine(w, b, "m", torch.relu(norm(w, b, y))))
        m = torch.sigmoid(affine(w, b, "g", m)) * m
        if i + 1 < ROUNDS:
            f = (torch.relu(affine(w, b, "x", m)) @ w[b + "Wf"]).squeeze(-1)
            there = p.index_select(1, others).view(batch, JET, JET - 1, 4)
            p = p + 0.001 / (JET - 1) * (p * f.sum(2, keepdim=True) - (f[:, :, None] @ there).squeeze(2))
        h = renew(w, b, h, m.sum(2), norm)
    return read_out(w, h, x["label"])


def lorentznet_published(w, x, plain=False):
    """Flat lists of edges and layers on concatenated inputs, as the published code has them."""
    batch = x["s"].shape[0]
    norm = norm_rows_plain if plain else norm_rows
    base = (JET * torch.arange(batch))[:, None, None]
    j = (JET_OTHERS[None] + base).flatten()
    i_ = (torch.arange(JET)[None, :, None] + base).expand(-1, -1, JET - 1).flatten()
    s, p = x["s"].reshape(-1, 2), x["p"].reshape(-1, 4)
    h = dense(w, "embed", s)
    for i in range(ROUNDS):
        b = f"block{i}.messages."
        here, there = p[i_], p[j]
        off = here - there
        pair = (psi((off * off * JET_ETA).sum(-1, keepdim=True)), psi((here * there * JET_ETA).sum(-1, keepdim=True)))
        y = torch.cat((h[i_], h[j], *pair), 1) @ torch.cat((w[b + "Wi"], w[b + "Wj"], w[b + "Wp"]))
        m = torch.relu(affine(w, b, "m", torch.relu(norm(w, b, y))))
        m = torch.sigmoid(affine(w, b, "g", m)) * m
        if i + 1 < ROUNDS:
            f = torch.relu(affine(w, b, "x", m)) @ w[b + "Wf"]
            p = p + 0.001 / (JET - 1) * torch.zeros_like(p).index_add(0, i_, off * f)
        y = torch.cat((h, torch.zeros_like(h).index_add(0, i_, m)), 1) @ torch.cat((w[b + "Wh"], w[b + "Ws"]))
        y = norm({"gamma": w[b + "gammah"], "beta": w[b + "betah"]}, "", y)
        h = h + affine(w, b, "o", torch.relu(y))
    return read_out(w, h.view(batch, JET, -1), x["label"])


# ---- gl(3) ---------------------------------------------------------------------------------------------------------------

TURN = torch.tensor([0, 3, 6, 1, 4, 7, 2, 5, 8])
GRAM = torch.zeros(9, 9)
GRAM[torch.arange(9), TURN] = 6.0
GRAM[::4, ::4] -= 1.0
DIAGONAL = slice(0, 9, 4)


def trace(x):
    return x[..., DIAGONAL, :].sum(-2)


def matrices(x):
    return x.unflatten(-2, (3, 3))


def form_gather(x, y):
    return 6 * (x * y[..., TURN, :]).sum(-2) - trace(x) * trace(y)


def form_view(x, y):
    return 6 * (matrices(x) * matrices(y).transpose(-3, -2)).sum((-3, -2)) - trace(x) * trace(y)


def form_gram(x, y):
    return (x * (GRAM @ y)).sum(-2)


def form_unrolled(x, y):
    xs, ys = x.unbind(-2), y.unbind(-2)
    z = sum(xs[k] * ys[3 * (k % 3) + k // 3] for k in range(9))
    return 6 * z - (xs[0] + xs[4] + xs[8]) * (ys[0] + ys[4] + ys[8])


def bracket_products(x, y):
    """As 3 x 3 matrices with channels in the batch of a broadcast: sums over the middle index."""
    x, y = matrices(x), matrices(y)
    xy = (x[..., :, :, None, :] * y[..., None, :, :, :]).sum(-3)
    yx = (y[..., :, :, None, :] * x[..., None, :, :, :]).sum(-3)
    return (xy - yx).flatten(-3, -2)


def bracket_unrolled(x, y):
    xs, ys = x.unbind(-2), y.unbind(-2)
    out = [sum(xs[3 * i + l] * ys[3 * l + j] - ys[3 * i + l] * xs[3 * l + j] for l in range(3))
           for i in range(3) for j in range(3)]
    return torch.stack(out, -2)


def bracket_bmm(x, y):
    """Channels first for the matrix product, one 3 x 3 product for each channel."""
    x, y = matrices(x).movedim(-1, -3), matrices(y).movedim(-1, -3)
    return (x @ y - y @ x).movedim(-3, -1).flatten(-3, -2)


def along(x, d, form):
    return x + torch.relu(form(x, d)).unsqueeze(-2) * d


def reln_relu(x, u, form):
    return along(x, x @ u, form)


def classes(w, x, label):
    return F.cross_entropy(dense(w, "out", x), label)


# ---- sets ---------------------------------------------------------------------------------------------------------------

def take_select(x, flat):
    return x.reshape(-1, x.shape[-2] * x.shape[-1]).index_select(0, flat)


def take_embedding(x, flat):
    return F.embedding(flat, x.reshape(-1, x.shape[-2] * x.shape[-1]))


def with_directions(w12, u):
    """[W1, W1 U, W2, W2 U]"""
    w1, w2 = w12.chunk(2, -1)
    return torch.cat((w1, w1 @ u, w2, w2 @ u), -1)


def set64(w, x, take=take_select, form=form_view, bracket=bracket_unrolled):
    """Pairs (B, P, N, 9, C). The first layer is split by its ends, and so is its direction, (h_i W1 + h_j W2) U."""
    batch = x["x"].shape[0]
    flat = (x["near"] + (POINTS * torch.arange(batch))[:, None, None]).flatten()
    h = x["x"] @ w["embed.W"]
    for i in range(2):
        b = f"block{i}."
        first, second = (h @ with_directions(w[b + "ends.W12"], w[b + "ends.U"])).chunk(2, -1)
        y, d = (first[:, :, None] + take(second, flat).view(batch, POINTS, NEIGHBOURS, 9, -1)).chunk(2, -1)
        m = reln_relu(along(y, d, form) @ w[b + "pair.W"], w[b + "pair.U"], form).mean(2)
        h = h + m @ w[b + "mean.W"]
        v, u = (h @ w[b + "bracket.W"]).chunk(2, -1)
        h = h + bracket(v, u)
    h = h.mean(1)
    return classes(w, form(h, h), x["label"])


# ---- transformer ---------------------------------------------------------------------------------------------------------

def rms(x, gamma):
    return x * (gamma * torch.rsqrt((x * x).mean((-2, -1), keepdim=True) + 1e-6))


def lower_view(x):
    """B~(x, .): 6 x^T - tr(x) I"""
    eye = torch.eye(3)[..., None]
    return (6 * matrices(x).transpose(-3, -2) - trace(x)[..., None, None, :] * eye).flatten(-3, -2)


def lower_gram(x):
    return GRAM @ x


def attend_matmul(q, k, v):
    return torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1]**0.5, -1) @ v


def attend_fused(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def heads(x):
    """(B, P, 9, C) to (B, heads, P, 9 C / heads)"""
    return x.unflatten(-1, (HEADS, -1)).permute(0, 3, 1, 2, 4).flatten(-2)


def transformer64(w, x, attend=attend_fused, lower=lower_gram, form=form_view, bracket=bracket_unrolled):
    z = rms(x["x"] @ w["embed.W"], w["norm1.gamma"])
    q, k, v = (z @ w["attention.W"]).chunk(3, -1)
    y = attend(heads(q), heads(lower(k)), heads(v))
    y = y.unflatten(-1, (9, -1)).permute(0, 2, 3, 1, 4).flatten(-2)
    z = rms(z + y @ w["attention.Wo"], w["norm2.gamma"])
    c = z.shape[-1]
    wide, u, v = (z @ w["wide.W"]).split([2 * c, c, c], -1)
    z = z + bracket(u, v) + reln_relu(wide, w["wide.U"], form) @ w["narrow.W"]
    return classes(w, form(z, z).mean(1), x["label"])


# ---- ResNet -----------------------------------------------------------------------------------------------------------------

def scale_of(x, gamma, k, rest):
    q = (x * x).sum(k)
    return gamma / torch.sqrt(torch.sqrt((q * q).mean(rest) + 1e-5))


def vn_relu_last(x, u):
    """(B, T, 3, C)"""
    d = x @ u
    t, q = (x * d).sum(-2, keepdim=True), (d * d).sum(-2, keepdim=True)
    return x + torch.relu(-t) / (q + 1e-6) * d


def resnet1d(w, x, conv, norm, relu, end):
    h = conv(x["x"], w["stem.W"], 7, 2)
    h = relu(norm(h, w["stem.gamma"]), w["stem.U"])
    for i in range(4):
        b = f"block{i}."
        stride = 2 if i == 2 else 1
        y = norm(conv(h, w[b + "one.W"], 3, stride), w[b + "one.gamma"])
        y = norm(conv(relu(y, w[b + "one.U"]), w[b + "two.W"], 3, 1), w[b + "two.gamma"])
        skip = norm(conv(h, w[b + "skip.W"], 1, 2), w[b + "skip.gamma"]) if i == 2 else h
        h = relu(y + skip, w[b + "two.U"])
    return ((end(h) @ w["out.W"]).squeeze(-1) - x["t"]).square().sum(-1).mean()


def norm_last(x, gamma):
    return x * scale_of(x, gamma, -2, (0, 1))


def conv_unfold(x, w, width, stride):
    """(B, T, 3, C): windows copied side by side, one product"""
    x = F.pad(x, (0, 0, 0, 0, width // 2, width // 2)) if width > 1 else x
    return x.unfold(1, width, stride).movedim(-1, -2).flatten(-2) @ w


def conv_taps(x, w, width, stride):
    """one product for each tap, added"""
    steps = (x.shape[1] - 1) // stride + 1
    x = F.pad(x, (0, 0, 0, 0, width // 2, width // 2)) if width > 1 else x
    taps = w.view(width, -1, w.shape[-1])
    y = x[:, 0:(steps - 1) * stride + 1:stride] @ taps[0]
    for i in range(1, width):
        y = y + x[:, i:i + (steps - 1) * stride + 1:stride] @ taps[i]
    return y


def conv_2d(x, w, width, stride):
    """oneDNN's convolution, channels last: (B, T, 3, C) is (B, C, T, 3) in that memory format"""
    kernel = w.view(width, 1, -1, w.shape[-1]).permute(3, 2, 0, 1)
    return F.conv2d(x.permute(0, 3, 1, 2), kernel, None, (stride, 1), (width // 2, 0)).permute(0, 2, 3, 1)


def resnet1d_last(w, x, conv=conv_2d):
    return resnet1d(w, x, conv, norm_last, vn_relu_last, lambda h: h.mean(1))


def resnet1d_first(w, x):
    """(B, 3, C, T), conv1d with the coordinates in the batch"""
    def conv(h, kernel, width, stride):
        kernel = kernel.view(width, -1, kernel.shape[-1]).permute(2, 1, 0)
        y = F.conv1d(h.flatten(0, 1), kernel, None, stride, width // 2)
        return y.unflatten(0, (-1, 3))

    def norm(h, gamma):
        return h * scale_of(h, gamma, 1, (0, 2))[:, None]

    def relu(h, u):
        d = u.t() @ h
        t, q = (h * d).sum(1, keepdim=True), (d * d).sum(1, keepdim=True)
        return h + torch.relu(-t) / (q + 1e-6) * d

    return resnet1d(w, {**x, "x": x["x"].permute(0, 2, 3, 1)}, conv, norm, relu, lambda h: h.mean(-1))


# ---- layouts --------------------------------------------------------------------------------------------------------------

def with_(f, **options):
    return lambda w, x: f(w, x, **options)


LAYOUTS = {
    "mp50": {"dense": with_(mp50_dense, plain=False), "dense-plain": mp50_dense, "rows": mp50_rows,
             "rows-plain": with_(mp50_rows, plain=True), "scatter": mp50_scatter,
             "scatter-plain": with_(mp50_scatter, plain=True)},
    "lorentznet": {"dense": with_(lorentznet_dense, plain=False), "dense-plain": lorentznet_dense,
                   "rows": lorentznet_rows, "rows-plain": with_(lorentznet_rows, plain=True),
                   "published": lorentznet_published,
                   "published-plain": with_(lorentznet_published, plain=True)},
    "set64": {"select-view": with_(set64, bracket=bracket_products), "select-unrolled": set64,
              "select-gather": with_(set64, form=form_gather), "select-gram": with_(set64, form=form_gram),
              "select-bmm": with_(set64, bracket=bracket_bmm),
              "embedding": with_(set64, take=take_embedding), "embedding-gram": with_(set64, take=take_embedding,
                                                                                      form=form_gram),
              "all-unrolled": with_(set64, form=form_unrolled),
              "embedding-unrolled": with_(set64, take=take_embedding, form=form_unrolled)},
    "transformer64": {"fused": transformer64, "matmul": with_(transformer64, attend=attend_matmul),
                      "fused-view": with_(transformer64, lower=lower_view),
                      "fused-gram": with_(transformer64, form=form_gram),
                      "fused-unrolled": with_(transformer64, form=form_unrolled),
                      "matmul-gram": with_(transformer64, attend=attend_matmul, form=form_gram),
                      "matmul-unrolled": with_(transformer64, attend=attend_matmul, form=form_unrolled)},
    "resnet1d": {"conv2d-last": resnet1d_last, "unfold": with_(resnet1d_last, conv=conv_unfold),
                 "taps": with_(resnet1d_last, conv=conv_taps), "conv1d-first": resnet1d_first},
}


def layouts(network):
    if network.startswith("splats"):
        import splats_torch

        return splats_torch.LAYOUTS[network]
    if network.startswith("drone"):
        import drone_torch

        return drone_torch.LAYOUTS[network]
    return LAYOUTS[network.split("-")[0]]


def outputs(network):
    """The forward passes with running statistics, for the networks of ALSO_FORWARD."""
    import drone_torch

    return drone_torch.OUTPUTS[network]
