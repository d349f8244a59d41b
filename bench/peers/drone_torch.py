"""drone_torch.py -- two networks of the drone table in PyTorch: functions of (weights, inputs) to the loss, and to the
displacement with running statistics of norms. README.md has the formulas; weights are those of networks.fused()."""

import torch
from torch.nn import functional as F

from splats_torch import hat
from structured_torch import (bracket_products, bracket_unrolled, conv_2d, conv_unfold, form_gram, form_unrolled, form_view,
                              norm_rows, norm_rows_plain, with_)

KEPT = (1 + 1e-5)**-0.5  # of running variances, which are 1 at the beginning


def norm_running(w, b, y):
    return y * (w[b + "gamma"] * KEPT) + w[b + "beta"]


def off(y, x):
    return (y - x["t"]).square().sum(-1).mean()


# ---- ReLN --------------------------------------------------------------------------------------------------------------------

def length_norm(w, name, x, norm):
    n = torch.sqrt((x * x).sum(-2) + 1e-30)
    return x * (norm(w, name + ".", n) / (n + 1e-6)).unsqueeze(-2)


def vector_relu(x, d):
    amount = torch.relu(-(x * d).sum(-2)) / ((d * d).sum(-2) + 1e-6)
    return x + amount.unsqueeze(-2) * d


def relu(x, d, form):
    return x + (0.9 * torch.relu(form(x, d))).unsqueeze(-2) * d


def pair_mean(x):
    """(B, T, 9, C): the mean of two steps, and the last step alone"""
    even = x[:, :x.shape[1] // 2 * 2].unflatten(1, (-1, 2)).mean(2)
    return torch.cat((even, x[:, -1:]), 1) if x.shape[1] % 2 else even


def block(w, b, x, stride, norm, form, conv):
    y = length_norm(w, b + "norm1", conv(x, w[b + "conv1.W"], 3, stride), norm)
    y = relu(y, y @ w[b + "relu.U"], form)
    y = length_norm(w, b + "norm2", conv(y, w[b + "conv2.W"], 3, 1), norm)
    if b + "skip.W" in w:
        x = length_norm(w, b + "skip.norm", conv(x, w[b + "skip.W"], 1, stride), norm)
    y = y + x
    return relu(y, y @ w[b + "relu.U"], form)


def reln_output(w, x, norm=norm_rows, form=form_view, bracket=bracket_products, conv=conv_2d):
    y = torch.stack((hat(x["v"]), x["m"]), -1)
    y = length_norm(w, "in.norm", conv(y, w["in.conv.W"], 7, 2), norm)
    y = vector_relu(y, y @ w["in.relu.W"])
    y = pair_mean(y + bracket(*(y @ w["bracket.W"]).chunk(2, -1)))
    for b, stride in (("first.0.", 1), ("first.1.", 1)):
        y = block(w, b, y, stride, norm, form, conv)
    y = pair_mean(y)
    for b, stride in (("last.0.", 2), ("last.1.", 1)):
        y = block(w, b, y, stride, norm, form, conv)
    y = length_norm(w, "head.norm", pair_mean(y) @ w["head.prep.W"], norm)
    y = y.transpose(1, 2).flatten(-2) @ w["head.fc1.W"]
    y = relu(y, y @ w["head.relu.U"], form) @ w["head.fc2.W"]
    y = (relu(y, y @ w["head.relu.U"], form) @ w["head.fc3.W"]).squeeze(-1)
    return 0.5 * torch.stack((y[:, 7] - y[:, 5], y[:, 2] - y[:, 6], y[:, 3] - y[:, 1]), -1)


# ---- ResNet ------------------------------------------------------------------------------------------------------------------

def conv_first(x, w, width, stride):
    """(B, C, T)"""
    kernel = w.view(width, -1, w.shape[-1]).permute(2, 1, 0)
    return F.conv1d(x, kernel, None, stride, width // 2)


def norm_first(w, b, y):
    return F.batch_norm(y, None, None, w[b + "gamma"], w[b + "beta"], True, 0.0, 1e-5)


def norm_first_running(w, b, y):
    return y * (w[b + "gamma"] * KEPT)[:, None] + w[b + "beta"][:, None]


def resnet_output(w, x, conv, norm, pool, end):
    y = torch.relu(norm(w, "in.norm.", conv(x, w["in.W"], 7, 2)))
    y = pool(y)
    for i in range(4):
        for j in range(2):
            b, stride = f"group{i}.{j}.", 2 if i > 0 and j == 0 else 1
            z = torch.relu(norm(w, b + "norm1.", conv(y, w[b + "conv1.W"], 3, stride)))
            z = norm(w, b + "norm2.", conv(z, w[b + "conv2.W"], 3, 1))
            if b + "skip.W" in w:
                y = norm(w, b + "skip.", conv(y, w[b + "skip.W"], 1, stride))
            y = torch.relu(y + z)
    y = end(norm(w, "head.norm.", conv(y, w["head.prep.W"], 1, 1)))
    for name in ("head.fc1", "head.fc2"):
        y = torch.relu(torch.addmm(w[name + ".b"], y, w[name + ".W"]))
    return torch.addmm(w["head.fc3.b"], y, w["head.fc3.W"])


def resnet_first(w, x, norm=norm_first):
    """conv1d, (B, C, T)"""
    pool = lambda y: F.max_pool1d(y, 3, 2, 1)  # noqa: E731
    both = torch.cat((x["v"], x["m"]), -1).transpose(1, 2)
    return resnet_output(w, both, conv_first, norm, pool, lambda y: y.transpose(1, 2).flatten(1))


def resnet_last(w, x, conv=conv_2d, norm=norm_rows):
    """(B, T, 1, C)"""
    pool = lambda y: F.max_pool2d(y.permute(0, 3, 1, 2), (3, 1), (2, 1), (1, 0)).permute(0, 2, 3, 1)  # noqa: E731
    both = torch.cat((x["v"], x["m"]), -1)[:, :, None]
    return resnet_output(w, both, conv, norm, pool, lambda y: y.flatten(1))


# ---- layouts --------------------------------------------------------------------------------------------------------------

def loss_of(output, **options):
    return lambda w, x: off(output(w, x, **options), x)


RELN = {"view": {}, "view-plain": {"norm": norm_rows_plain}, "gram": {"form": form_gram},
        "unrolled": {"form": form_unrolled, "bracket": bracket_unrolled},
        "unrolled-plain": {"form": form_unrolled, "bracket": bracket_unrolled, "norm": norm_rows_plain},
        "unfold-gram": {"form": form_gram, "conv": conv_unfold}}
RESNET = {"conv1d": (resnet_first, {}), "conv2d-last": (resnet_last, {}), "unfold": (resnet_last, {"conv": conv_unfold})}
LAYOUTS = {"drone-reln": {k: loss_of(reln_output, **v) for k, v in RELN.items()},
           "drone-resnet": {k: loss_of(f, **v) for k, (f, v) in RESNET.items()}}
OUTPUTS = {"drone-reln": {k: with_(reln_output, **{**v, "norm": norm_running}) for k, v in RELN.items()},
           "drone-resnet": {k: with_(f, **{**v, "norm": norm_first_running if f is resnet_first else norm_running})
                            for k, (f, v) in RESNET.items()}}
