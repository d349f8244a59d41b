"""rival_torch.py -- the networks in PyTorch as one would write them for speed: channels last and contiguous, weights
(in, out), one matrix product for W_a and W_b of a bracket, brackets from structure constants that are not zero."""

import time

import numpy as np
import torch
from torch import nn

import networks as structured
import structured_torch
from algebras import SL3, SP4, check

CLOCK = time.thread_time  # with one thread the caller does all the work, backwards too; compilers' helpers do not count


def make_bracket(algebra):
    """Products of the pairs (i, j), i > j, by one gather each side; then a sparse sum into K coordinates, written as a
    product with a small constant matrix (K, pairs), which BLAS does well."""
    i = torch.tensor([p[0] for p in algebra.pairs])
    j = torch.tensor([p[1] for p in algebra.pairs])
    m = torch.zeros(algebra.dim, len(algebra.pairs))
    for k, terms in enumerate(algebra.terms):
        for p, c in terms:
            m[k, p] = c

    def bracket(x, y):
        return torch.matmul(m, x[..., i, :] * y[..., j, :] - x[..., j, :] * y[..., i, :])

    return bracket


def make_bracket_unrolled(algebra):
    """The same coordinate by coordinate: no temporary of all pairs; what a compiler can fuse into one loop."""

    def bracket(x, y):
        xs, ys = x.unbind(-2), y.unbind(-2)
        p = [xs[i] * ys[j] - xs[j] * ys[i] for i, j in algebra.pairs]
        out = []
        for terms in algebra.terms:
            z = None
            for q, c in terms:
                t = p[q] if c == 1 else p[q] * float(c)
                z = t if z is None else z + t
            out.append(z)
        return torch.stack(out, -2)

    return bracket


def make_form(algebra):
    partner = torch.tensor(algebra.partner)
    scale = torch.tensor(algebra.scale, dtype=torch.float32)[:, None]

    def form(x, y):
        return (x[..., partner, :] * scale * y).sum(-2)

    return form


def weight(fan_in, out):
    return nn.Parameter((2 * torch.rand(fan_in, out) - 1) / fan_in**0.5)


class Reln(nn.Module):
    """Linear, ReLU, Linear, Bracket, [Max-Killing pool], invariant, linear."""

    def __init__(self, algebra, channels, width, out, pool, bias, unrolled):
        super().__init__()
        self.bracket = (make_bracket_unrolled if unrolled else make_bracket)(algebra)
        self.form = make_form(algebra)
        self.w1, self.u = weight(channels, width), weight(width, width)
        self.w2, self.wab = weight(width, width), weight(width, 2 * width)
        self.wq = weight(width, width) if pool else None
        self.out, self.b = weight(width, out), nn.Parameter(torch.zeros(out)) if bias else None

    def forward(self, x):  # (B, K, C) or (B, P, K, C)
        x = x @ self.w1
        d = x @ self.u
        x = x + torch.relu(self.form(x, d)).unsqueeze(-2) * d
        x = x @ self.w2
        a, b = (x @ self.wab).chunk(2, -1)
        x = x + self.bracket(b, a)
        if self.wq is not None:
            with torch.no_grad():
                at = self.form(x, x @ self.wq).argmax(1)  # (B, C)
            x = x.gather(1, at[:, None, None, :].expand(-1, 1, x.shape[2], -1)).squeeze(1)
        y = self.form(x, x) @ self.out
        return y if self.b is None else y + self.b


def networks(unrolled):
    mlp = nn.Sequential(nn.Linear(20, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
                        nn.Linear(256, 1))
    return {"sp4": (Reln(SP4, 2, 256, 1, False, True, unrolled), (10, 2), "squares"),
            "platonic": (Reln(SL3, 3, 256, 3, True, False, unrolled), (12, 8, 3), "classes"),
            "mlp": (mlp, (20,), "squares")}


def gemm_rate(clock):
    a, b = torch.rand(1008, 256), torch.rand(256, 256)
    for _ in range(5):
        a @ b
    start = clock()
    for _ in range(50):
        a @ b
    return 50 * 2 * 1008 * 256 * 256 / (clock() - start)


def describe():
    config = torch.__config__.show()
    blas = next((line.strip(" -") for line in config.splitlines() if "BLAS_INFO" not in line and
                 ("Math Kernel" in line or "OpenBLAS" in line)), "BLAS as linked: see ldd")
    return f"PyTorch {torch.__version__}, {blas}, {torch.get_num_threads()} threads"


def setup(threads):
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    for algebra in (SP4, SL3):
        for make in (make_bracket, make_bracket_unrolled):
            check(make(algebra), make_form(algebra), algebra, lambda t: t.numpy(), torch.from_numpy)


def optimiser(weights):
    try:
        return torch.optim.Adam(weights, lr=1e-7, fused=True)
    except (RuntimeError, TypeError):
        return torch.optim.Adam(weights, lr=1e-7)


def from_numpy(arrays):
    """Indices become int64, which PyTorch's kernels want."""
    return {k: torch.from_numpy(v.astype(np.int64) if v.dtype == np.int32 else v) for k, v in arrays.items()}


def structured_program(name, batch, variant):
    """forward, None where it is not measured, and train; variant: eager/LAYOUT or compiled/LAYOUT"""
    rng = np.random.default_rng(0)
    how, layout = variant.split("/")
    w = from_numpy(structured.fused(name, structured.parameters(name, rng)))
    w = {k: v.requires_grad_() for k, v in w.items()}
    x = from_numpy(structured.inputs(name, batch, rng))
    loss = structured_torch.layouts(name)[layout]
    if how == "compiled":
        torch._dynamo.reset()
        loss = torch.compile(loss, dynamic=False)
    forward = structured_forward(name, w, x, how, layout) if name in structured.ALSO_FORWARD else None
    adam = optimiser(list(w.values()))

    def train():
        adam.zero_grad(set_to_none=True)
        loss(w, x).backward()
        adam.step()

    return forward, train


def structured_forward(name, w, x, how, layout):
    predict = structured_torch.outputs(name)[layout]
    if how == "compiled":
        predict = torch.compile(predict, dynamic=False)
    w = {k: v.detach() for k, v in w.items()}

    def forward():
        with torch.inference_mode() if how != "compiled" else torch.no_grad():
            return predict(w, x)

    return forward


def programs(name, batch, variant):
    """(forward, train), each a function of no arguments; None where a pass is not measured."""
    if name in structured.BATCH:
        return structured_program(name, batch, variant)
    net, shape, kind = networks(variant != "eager")[name]
    x = 0.3 * torch.randn(batch, *shape)
    t = torch.randint(3, (batch,)) if kind == "classes" else 0.3 * torch.randn(batch, 1)
    loss = nn.functional.cross_entropy if kind == "classes" else nn.functional.mse_loss
    adam = optimiser(net.parameters())
    predict, evaluate = net, lambda x, t: loss(net(x), t)
    if variant == "compiled":  # for this batch alone
        torch._dynamo.reset()
        evaluate = torch.compile(evaluate, dynamic=False)
        predict = torch.compile(net, dynamic=False)

    def forward():
        with torch.inference_mode() if variant != "compiled" else torch.no_grad():
            return predict(x)

    def train():
        adam.zero_grad(set_to_none=True)
        evaluate(x, t).backward()
        adam.step()

    return forward, train


def variants():
    return ["eager", "unrolled", "compiled"] if hasattr(torch, "compile") else ["eager", "unrolled"]


def layouts(network):
    """Every variant of a structured network that was tried."""
    return [f"{how}/{layout}" for how in ("eager", "compiled") for layout in structured_torch.layouts(network)]
