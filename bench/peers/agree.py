#!/usr/bin/env python3
"""agree.py [--reln PROGRAM] [NETWORK ...] -- do reln and its rivals compute the same function?

reln runs the gradient pass of each structured network on a small batch and keeps its inputs, weights, loss and gradients.
PyTorch computes loss and gradients from the same arrays in double: the reference. Then reln, and every layout of PyTorch
and JAX in float, are compared with it: |g - reference| / |reference| over all parameters. reln passes when it is no further
off than ten times the furthest rival: both round in float, in another order."""

import argparse
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import networks

HERE = pathlib.Path(__file__).resolve().parent
REFERENCE = {"mp50": "rows-plain", "lorentznet": "rows-plain", "set64": "select-view", "transformer64": "fused-view",
             "resnet1d": "unfold", "splats-mae": "torch-plain", "splats-reln": "view-plain",
             "drone-reln": "view-plain", "drone-resnet": "unfold"}
BATCH = 3


def arrays_of_reln(program, network):
    """(inputs, weights, loss, gradients), with rivals' shapes: axes of extent 1 that they do not have are gone."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "run.npz")
        subprocess.run([program, "bench", "once", f"{network}/gradient/{BATCH}", "--out", path], check=True,
                       stdout=subprocess.DEVNULL)
        with np.load(path) as file:
            kept = dict(file)
    like = networks.inputs(network, BATCH, np.random.default_rng(0))
    x = {k: kept["in." + k].reshape(v.shape) for k, v in like.items()}
    shapes = {k: (m, n) if m else (n,) for k, m, n in networks.PARAMETERS[network]}
    names = {k[2:] for k in kept if k.startswith("w.")}
    assert names == set(shapes), f"{network}: parameters differ: {names ^ set(shapes)}"
    w, g = ({k: kept[part + k].reshape(s) for k, s in shapes.items()} for part in ("w.", "g."))
    return x, w, float(kept["loss"].ravel()[0]), g


def flat(network, gradients):
    """One vector, in the order of the fused weights."""
    g = networks.fused(network, gradients)
    return np.concatenate([np.asarray(g[k], np.float64).ravel() for k in sorted(g)])


def by_torch(network, layout, x, w, double):
    import structured_torch
    import torch

    real = torch.float64 if double else torch.float32
    tensor = lambda v: torch.tensor(v, dtype=real if v.dtype.kind == "f" else torch.int64)  # noqa: E731
    w = {k: tensor(v).requires_grad_() for k, v in networks.fused(network, w).items()}
    loss = structured_torch.layouts(network)[layout](w, {k: tensor(v) for k, v in x.items()})
    loss.backward()
    return loss.item(), np.concatenate([w[k].grad.double().numpy().ravel() for k in sorted(w)])


def by_jax(network, layout, x, w):
    import jax
    import structured_jax

    loss, g = jax.value_and_grad(structured_jax.layouts(network)[layout])(networks.fused(network, w), x)
    return float(loss), np.concatenate([np.asarray(g[k], np.float64).ravel() for k in sorted(g)])


def rivals(network, x, w):
    import structured_torch

    for layout in structured_torch.layouts(network):
        yield f"torch {layout}", by_torch(network, layout, x, w, False)
    if importlib.util.find_spec("jax"):
        import structured_jax

        for layout in structured_jax.layouts(network):
            yield f"jax {layout}", by_jax(network, layout, x, w)


def check(program, network):
    x, w, loss, g = arrays_of_reln(program, network)
    want_loss, want = by_torch(network, REFERENCE.get(network) or REFERENCE[network.split("-")[0]], x, w, True)
    off = lambda v: np.linalg.norm(v - want) / np.linalg.norm(want)  # noqa: E731
    print(f"{network}: {networks.count(network)} parameters, loss {want_loss:.9g} in double")
    worst = 0.0
    for name, (value, gradient) in rivals(network, x, w):
        worst = max(worst, off(gradient))
        print(f"  {name:<26} loss off by {abs(value - want_loss):.1e}, gradient {off(gradient):.1e}")
    good = off(flat(network, g)) <= 10 * worst and abs(loss - want_loss) <= 1e-5 * max(1, abs(want_loss))
    print(f"  {'reln':<26} loss off by {abs(loss - want_loss):.1e}, gradient {off(flat(network, g)):.1e}"
          f"   {'agrees' if good else 'DIFFERS'}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reln", default=str(HERE.parent.parent / "build" / "reln"))
    parser.add_argument("networks", nargs="*", default=list(networks.PARAMETERS))
    args = parser.parse_args()
    sys.exit(0 if all([check(args.reln, n) for n in args.networks]) else 1)


main()
