#!/bin/sh
# bits.sh -- the reference kernels give the same bits by every compiler at hand, at -O0 and -O3, and on aarch64 through
# qemu-user where that and a compiler for it are installed (apt-get install gcc-aarch64-linux-gnu qemu-user).
# usage: bits.sh SOURCE_DIR
set -u
source=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
tried=0
failures=0

try() { # try NAME RUNNER COMPILER FLAG ...
    name=$1
    runner=$2
    shift 2
    command -v "$1" >/dev/null 2>&1 || { echo "$name: no $1 here"; return; }
    if ! "$@" -std=c11 -D_POSIX_C_SOURCE=200809L -ffp-contract=off -fno-math-errno -fno-trapping-math -I "$source/src" \
        -I "$source/include" "$source/tests/bits/kernels.c" "$source/src/tensor/kernels_base.c" -lm -o "$work/program" 2>"$work/log"; then
        failures=$((failures + 1))
        echo "$name: does not compile"; head -5 "$work/log"
        return
    fi
    $runner "$work/program" >"$work/bits.$tried" || failures=$((failures + 1))
    if [ $tried -gt 0 ] && ! diff "$work/bits.0" "$work/bits.$tried" >"$work/log"; then
        failures=$((failures + 1))
        echo "$name: other bits"; head -6 "$work/log"
    else
        echo "$name: $(wc -l <"$work/bits.$tried") fingerprints"
    fi
    tried=$((tried + 1))
}

try "gcc -O3" "" gcc -O3
try "gcc -O0" "" gcc -O0
try "gcc -O2 -march=native" "" gcc -O2 -march=native
try "clang -O3" "" clang -O3
try "clang -O0" "" clang -O0
if command -v qemu-aarch64 >/dev/null 2>&1; then
    try "aarch64 gcc -O3" qemu-aarch64 aarch64-linux-gnu-gcc -O3 -static
    try "aarch64 gcc -O0" qemu-aarch64 aarch64-linux-gnu-gcc -O0 -static
fi
echo "$tried builds, $failures failures"
[ $tried -ge 2 ] && [ $failures -eq 0 ]
