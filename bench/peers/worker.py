"""worker.py RIVAL THREADS VARIANT NETWORK BATCH,... -- times one rival in a process of its own and prints JSON lines."""

import importlib
import json
import re
import sys
import time

import networks


def measure(run, clock, budget):
    """Median of repetitions, each long enough for the clock."""
    for _ in range(3):
        run()
    start = clock()
    run()
    inner = max(1, min(2000, int(2e-3 / max(clock() - start, 1e-7))))
    times, end = [], time.perf_counter() + budget
    while len(times) < 7 or (time.perf_counter() < end and len(times) < 400):
        start = clock()
        for _ in range(inner):
            run()
        times.append((clock() - start) / inner)
    times.sort()
    n = len(times)
    return {"seconds": times[n // 2], "p10": times[n // 10], "p90": times[(9 * n) // 10], "repetitions": n}


def resident(field):
    """VmHWM (the peak) or VmRSS of this process, in bytes; 0 where there is no /proc."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            return 1024 * int(re.search(field + r":\s*(\d+)", status.read()).group(1))
    except (OSError, AttributeError):
        return 0


def forget_peak():
    """From now on VmHWM is the peak of what follows: steps, without imports and compilers."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as peak:
            peak.write("5")
    except OSError:
        pass


def measure_memory(run):
    """Peak of the process so far, and of steps alone."""
    whole = resident("VmHWM")
    forget_peak()
    for _ in range(2):
        run()
    return {"peak_bytes": max(whole, resident("VmHWM")), "step_bytes": resident("VmHWM")}


def is_wanted(network, name, batch):
    return network not in networks.BATCH or (name, batch) in networks.rows(network)


def main():
    rival_name, threads, variant, network, batches = sys.argv[1:6]
    threads = int(threads)
    rival = importlib.import_module(f"rival_{rival_name}")
    clock = rival.CLOCK if threads == 1 else time.perf_counter
    rival.setup(threads)
    base = resident("VmHWM")
    print(json.dumps({"describe": rival.describe(), "variants": rival.variants(),
                      "sgemm_gflops": 1e-9 * rival.gemm_rate(clock)}), flush=True)
    for batch in [int(b) for b in batches.split(",") if b]:
        forward, train = rival.programs(network, batch, variant)
        for name, run in (("forward", forward), ("train", train)):
            if run is None or not is_wanted(network, name, batch):
                continue
            row = {"name": network, "pass": name, "batch": batch, "threads": threads, "variant": variant}
            row.update(measure(run, clock, 0.5), base_bytes=base, **measure_memory(run))
            print(json.dumps(row), flush=True)


main()
