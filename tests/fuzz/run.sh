#!/bin/sh
# run.sh TARGET RUNS [MORE_OPTIONS...] -- fuzzes a target of build-fuzz, starting from its corpus. New inputs are saved in
# build-fuzz/corpus/TARGET, crashes in build-fuzz. Build first:
#   cmake -S . -B build-fuzz -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DRELN_FUZZ=ON
#   cmake --build build-fuzz --target fuzz_TARGET
# A target stops at an input that takes a second of processor time; the limit here is in wall-clock time, for an input that sleeps.
set -eu

target=$1
runs=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
found=$root/build-fuzz/corpus/$target
words=$root/tests/fuzz/$target.dict
[ -f "$words" ] || words=$root/tests/fuzz/yaml.dict # a SPEC
mkdir -p "$found"
# What was freed is watched for some inputs longer, not until 256 MB are touched again and again.
export ASAN_OPTIONS="quarantine_size_mb=8${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
exec "$root/build-fuzz/tests/fuzz_$target" -runs="$runs" -dict="$words" -max_len=4096 -timeout=30 \
    -rss_limit_mb=1024 -malloc_limit_mb=64 -print_final_stats=1 -artifact_prefix="$root/build-fuzz/$target-" "$@" \
    "$found" "$root/tests/fuzz/corpus/$target"
