#!/usr/bin/env python3
"""peers.py [--reln PROGRAM] [--threads 1,2] [--networks sp4,mp50] [--layouts] [--json FILE] -- reln and its rivals, one run.

The same networks in reln (`reln bench`), PyTorch and JAX, where these can be imported by this Python, network by network
and in turns, so that all meet the same machine. Every rival gets the best of its variants (eager, unrolled, compiled) and
of the allocators found; of the structured networks (networks.py) training is measured, each rival in the fastest of its
layouts, or in all of them with --layouts. One thread is timed on the processor, several by the clock on the wall; no number
of a rival is left out, and rows where one is faster are marked and repeated at the end, before a table of memory."""

import argparse
import glob
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import networks as structured

HERE = pathlib.Path(__file__).resolve().parent

# The authors' modules (PyTorch 1.13, OpenBLAS 0.3.21, jemalloc, two cores of an AMD EPYC of family 25): seconds for
# (network, pass, batch, threads). Measured once, elsewhere; machines differ, so read it as a scale, not as a race.
AUTHORS = {("sp4", "forward", 1, 1): 0.65e-3,
           ("sp4", "forward", 100, 1): 23.9e-3, ("sp4", "train", 100, 1): 97.3e-3,
           ("sp4", "forward", 100, 2): 13.1e-3, ("sp4", "train", 100, 2): 50.3e-3,
           ("sp4", "forward", 1000, 1): 254e-3, ("sp4", "train", 1000, 1): 951e-3,
           ("sp4", "forward", 1000, 2): 140e-3, ("sp4", "train", 1000, 2): 566e-3,
           ("platonic", "forward", 100, 1): 367e-3, ("platonic", "train", 100, 1): 930e-3,
           ("platonic", "forward", 100, 2): 281e-3, ("platonic", "train", 100, 2): 631e-3,
           ("mlp", "forward", 100, 1): 0.417e-3, ("mlp", "train", 100, 1): 1.98e-3,
           ("mlp", "forward", 100, 2): 0.310e-3, ("mlp", "train", 100, 2): 1.54e-3,
           ("mlp", "forward", 1000, 1): 3.42e-3, ("mlp", "train", 1000, 1): 11.7e-3,
           ("mlp", "forward", 1000, 2): 2.0e-3, ("mlp", "train", 1000, 2): 8.3e-3}
BATCHES = {"sp4": "1,10,100,1000", "mlp": "1,10,100,1000", "platonic": "1,10,100",
           **{name: ",".join(sorted({str(b) for _, b in structured.rows(name)})) for name in structured.BATCH}}

# The layouts of the structured networks that were fastest; README.md has the others.
FASTEST = {("torch", "mp50"): ["eager/rows", "compiled/dense-plain"],
           ("torch", "lorentznet"): ["eager/rows", "compiled/dense-plain", "eager/published"],
           ("torch", "set64-24"): ["eager/select-gram", "compiled/embedding-unrolled"],
           ("torch", "set64-64"): ["eager/select-gram", "compiled/embedding-unrolled"],
           ("torch", "transformer64"): ["eager/matmul-gram", "compiled/matmul-unrolled"],
           ("torch", "resnet1d"): ["eager/conv2d-last", "compiled/conv2d-last"],
           ("torch", "splats-mae"): ["eager/torch-matmul", "compiled/torch-plain"],
           ("torch", "splats-reln"): ["eager/gram", "compiled/unrolled-plain"],
           ("torch", "drone-reln"): ["eager/gram", "compiled/unrolled-plain"],
           ("torch", "drone-resnet"): ["eager/conv1d", "compiled/conv1d"],
           ("jax", "mp50"): ["jit/dense"], ("jax", "set64-24"): ["jit/flat-view"], ("jax", "set64-64"): ["jit/flat-view"],
           ("jax", "transformer64"): ["jit/matmul"], ("jax", "resnet1d"): ["jit/unfold"]}


def allocators():
    """Environments to try. glibc gives large blocks back to the kernel at every call unless told otherwise."""
    found = {"malloc": {}, "malloc-keep": {"MALLOC_TRIM_THRESHOLD_": "-1", "MALLOC_MMAP_MAX_": "0",
                                           "MALLOC_TOP_PAD_": "67108864"}}
    libraries = glob.glob("/usr/lib/*/libjemalloc.so.2") + glob.glob("/usr/lib/*/libjemalloc.so")
    if libraries:
        found["jemalloc"] = {"LD_PRELOAD": libraries[0], "MALLOC_CONF": "dirty_decay_ms:-1,muzzy_decay_ms:-1"}
    return found


def one_thread_command(threads):
    return ["taskset", "-c", "0"] if threads == 1 and os.path.exists("/usr/bin/taskset") else []


def worker(rival, threads, variant, network, batches, env):
    """Lines of JSON; [] when this variant does not work here (no compiler, for instance)."""
    more = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    if rival == "jax" and threads == 1:
        more["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    command = (one_thread_command(threads) if rival == "jax" else []) + \
        [sys.executable, str(HERE / "worker.py"), rival, str(threads), variant, network, batches]
    done = subprocess.run(command, env={**os.environ, **more, **env}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"  {rival} {variant} {network}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def best_allocator(rival, threads, variant):
    times = {}
    for name, env in allocators().items():
        rows = [r for r in worker(rival, threads, variant, "sp4", "100", env) if r.get("pass") == "train"]
        if rows:
            times[name] = rows[0]["seconds"]
    if not times:
        return None
    print(f"  {rival}, {threads} threads, sp4/train/100: " + ", ".join(f"{k} {1e3 * v:.1f} ms" for k, v in times.items()))
    return min(times, key=times.get)


def reln_rows(program, network, threads):
    done = subprocess.run([program, "bench", "--json", "--only", network, "--threads", str(max(threads))],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def reln_memory(program, network, batch, threads):
    """Peak resident memory of a process that trains three steps, in bytes."""
    done = subprocess.run([program, "bench", "once", f"{network}/train/{batch}", "--threads", str(threads)],
                          capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0])


def key(row):
    return row["name"], row["pass"], row["batch"], row["threads"]


def collect(args, rivals):
    """{key: {column: row}}; columns are reln and RIVAL VARIANT."""
    table, notes = {}, {}
    chosen = {}
    for rival in rivals:
        for threads in args.threads:
            first = "eager" if rival == "torch" else "jit"
            chosen[rival, threads] = args.allocator or best_allocator(rival, threads, first)
    for network in args.networks:
        for round_ in range(args.rounds):
            result = reln_rows(args.reln, network, args.threads)
            notes["reln"] = f"reln {result['version']}: {result['machine']['cpu']}, {result['machine']['blas']}"
            for row in result["rows"]:
                if row["name"] == network and is_measured(row) and row["threads"] in args.threads:
                    if network in structured.BATCH and row["pass"] == "train":
                        row["peak_bytes"] = reln_memory(args.reln, network, row["batch"], row["threads"])
                    keep(table, row, "reln")
            for rival in rivals:
                for threads in args.threads:
                    add_rival(table, notes, rival, threads, network, chosen[rival, threads], args.layouts)
    return table, notes, chosen


def is_measured(row):
    """Do rivals have this row of reln's?"""
    if row["name"] in structured.BATCH:
        return (row["pass"], row["batch"]) in structured.rows(row["name"])
    return row["pass"] != "gradient"


def todo(rival, network, all_layouts):
    """Variants to measure."""
    if network not in structured.BATCH:
        every = ["eager", "unrolled", "compiled"] if rival == "torch" else ["jit"]
        return [v for v in every if not (network == "mlp" and v == "unrolled")]
    if not all_layouts:
        return FASTEST.get((rival, network), [])
    return importlib.import_module(f"rival_{rival}").layouts(network)


def keep(table, row, column):
    """The better of the rounds, for everyone alike."""
    cell = table.setdefault(key(row), {})
    if column not in cell or row["seconds"] < cell[column]["seconds"]:
        cell[column] = row


def column_of(variant):
    """Returns the column of a variant: how it is run, or `published` for the form of published code, which does more work."""
    way, _, layout = variant.partition("/")
    return "published" if layout.startswith("published") else way


def add_rival(table, notes, rival, threads, network, allocator, all_layouts):
    if allocator is None:
        return
    env = allocators()[allocator]
    for variant in todo(rival, network, all_layouts):
        for line in worker(rival, threads, variant, network, BATCHES[network], env):
            if "describe" in line:
                notes[f"{rival}, {threads}"] = (f"{line['describe']}, {allocator}, its product 1008 x 256 x 256: "
                                                f"{line['sgemm_gflops']:.1f} GFLOP/s")
            else:
                if all_layouts:
                    print(f"  {rival} {network} {variant}: {1e3 * line['seconds']:.1f} ms, "
                          f"{line['peak_bytes'] / 2**20:.0f} MiB", flush=True)
                keep(table, line, f"{rival} {column_of(variant)}")


def milliseconds(cell, column):
    return f"{1e3 * cell[column]['seconds']:10.3f}" if column in cell else f"{'-':>10}"


def show(table, notes):
    columns = sorted({c for cell in table.values() for c in cell if c != "reln"})
    for note in notes.values():
        print(note)
    print(f"\nmilliseconds\n{'network':<14}{'pass':<9}{'batch':>5}{'thr':>4}{'reln':>10}" +
          "".join(f"{c.replace('torch ', 't.').replace('jax ', 'j.'):>11}" for c in columns) +
          f"{'authors':>10}  best rival / reln")
    slower = []
    for k in sorted(table, key=lambda k: (k[0], k[3], k[1], k[2])):
        cell = table[k]
        rivals = {c: cell[c]["seconds"] for c in columns if c in cell}
        line = f"{k[0]:<14}{k[1]:<9}{k[2]:>5}{k[3]:>4}{milliseconds(cell, 'reln')}"
        line += "".join(f" {milliseconds(cell, c)}" for c in columns)
        line += f"{1e3 * AUTHORS[k]:10.2f}" if k in AUTHORS else f"{'-':>10}"
        if rivals and "reln" in cell:
            best = min(rivals, key=rivals.get)
            ratio = rivals[best] / cell["reln"]["seconds"]
            line += f"  {ratio:6.2f}  {best}" + ("   RIVAL FASTER" if ratio < 1 else "")
            if ratio < 1:
                slower.append(f"{'/'.join(map(str, k[:3]))} on {k[3]} threads: {best} is {1 / ratio:.2f} times as fast")
        print(line)
    print("\nrows where a rival is faster:" if slower else "\nno row where a rival is faster")
    for line in slower:
        print("  " + line)


def show_memory(table):
    """Peak resident memory where it was measured on both sides. A rival's beginning is what it has before its network is
    built: the interpreter and its libraries."""
    rows = [(k, cell) for k, cell in sorted(table.items()) if "peak_bytes" in cell.get("reln", {})]
    if rows:
        print("\npeak resident memory of the process, MiB (in brackets: at its beginning)")
    for k, cell in rows:
        mine = cell["reln"]["peak_bytes"]
        line = f"{k[0]:<14}{k[1]:<9}{k[2]:>5}{k[3]:>4}  reln {mine / 2**20:.0f}"
        for column in sorted(c for c in cell if c != "reln"):
            row = cell[column]
            line += f"   {column} {row['peak_bytes'] / 2**20:.0f} [{row['base_bytes'] / 2**20:.0f}]"
        least = min((cell[c]["peak_bytes"] for c in cell if c != "reln"), default=None)
        print(line + (f"   least rival / reln {least / mine:.1f}" if least else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reln", default=str(HERE.parent.parent / "build" / "reln"))
    parser.add_argument("--threads", default=None, help="such as 1,2; default: one and all")
    parser.add_argument("--networks", default=",".join(BATCHES))
    parser.add_argument("--allocator", choices=list(allocators()), help="of rivals; default: the fastest in a trial")
    parser.add_argument("--layouts", action="store_true", help="every layout of the structured networks, not the fastest")
    parser.add_argument("--rounds", type=int, default=1, help="times everything is measured, in turns")
    parser.add_argument("--json", help="also write everything that was measured")
    args = parser.parse_args()
    args.threads = [int(t) for t in (args.threads or f"1,{os.cpu_count()}").split(",")]
    args.networks = args.networks.split(",")
    unknown = [name for name in args.networks if name not in BATCHES]
    if unknown:
        parser.error(f"unknown network {unknown[0]}; known are {', '.join(BATCHES)}")
    rivals = [r for r in ("torch", "jax") if importlib.util.find_spec(r)]
    if not rivals:
        sys.exit("neither PyTorch nor JAX can be imported by this Python; bench/peers/README.md says how to get them")
    table, notes, chosen = collect(args, rivals)
    show(table, notes)
    show_memory(table)
    if args.json:
        rows = [{**row, "column": c} for cell in table.values() for c, row in cell.items()]
        pathlib.Path(args.json).write_text(json.dumps({"notes": notes, "rows": rows}))


main()
