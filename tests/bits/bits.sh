#!/bin/sh
# bits.sh -- tests that the reference kernels give the same bits with every installed compiler: it compares fingerprints of each
# kernel (kernels.c), and the model of a short run (fit.c).
# usage: bits.sh SOURCE_DIR LIBRARY LIBRARIES_IT_NEEDS [all]
#
# The kernels of LIBRARY, a static libreln, are compared with those of gcc -O0 and clang -O1. With `all`, by hand: gcc and
# clang at -O3, for the processor of this machine, and for aarch64 through qemu-user where that and a compiler for it are
# installed (apt-get install gcc-aarch64-linux-gnu qemu-user).
set -u
source=$1
library=$2
needs=$3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
tried=0
failures=0
flags="-std=c11 -D_POSIX_C_SOURCE=200809L -ffp-contract=off -fno-math-errno -fno-trapping-math -I $source/src -I $source/include"
cat >"$work/spec.yaml" <<EOF
{symmetry: so:3, inputs: [{name: v, as: vector}], target: {name: y, as: scalar},
 model: {width: 4, depth: 2}, train: {epochs: 4, batch: 10, validation: 0.2, dtype: f32}}
EOF

fail() {
    failures=$((failures + 1))
    echo "$1"
    head -6 "$work/log"
}

# Compare the output of the program just run, $work/now, with that of the first build.
compare() { # compare NAME WHAT
    [ -e "$work/first.$2" ] || cp "$work/now" "$work/first.$2"
    if diff "$work/first.$2" "$work/now" >"$work/log"; then
        echo "$1: $2, $(wc -l <"$work/now") lines"
    else
        fail "$1: $2, other bits"
    fi
}

# The kernels alone. KERNELS is what defines them: an object, a source or the library.
fingerprints() { # fingerprints NAME RUNNER KERNELS COMPILER FLAG ...
    name=$1
    runner=$2
    kernels=$3
    shift 3
    if "$@" $flags "$source/tests/bits/kernels.c" $kernels -lm -o "$work/kernels" 2>"$work/log"; then
        $runner "$work/kernels" >"$work/now" && compare "$name" fingerprints || fail "$name: does not run"
    else
        fail "$name: does not compile"
    fi
}

# A run: an object that stands before the library takes the place of the library's kernels.
run() { # run NAME KERNELS
    if cc $flags "$source/tests/bits/fit.c" $2 "$library" $needs -lm -o "$work/fit" 2>"$work/log"; then
        rm -rf "$work/run"
        if "$work/fit" "$work/spec.yaml" "$work/run" "$work/data.npz" 2>"$work/log"; then
            od -An -tx1 -v "$work/run/model.safetensors" >"$work/now"
            compare "$1" "the model of a run"
        else
            fail "$1: the run failed"
        fi
    else
        fail "$1: does not link"
    fi
}

try() { # try COMPILER FLAG ...
    command -v "$1" >/dev/null 2>&1 || { echo "$*: not here"; return; }
    tried=$((tried + 1))
    if "$@" $flags -c "$source/src/tensor/kernels_base.c" -o "$work/kernels.o" 2>"$work/log"; then
        fingerprints "$*" "" "$work/kernels.o" "$@"
        run "$*" "$work/kernels.o"
    else
        fail "$*: does not compile"
    fi
}

fingerprints "the library" "" "$library" cc
run "the library" ""
try gcc -O0
try clang -O1
if [ "${4-}" = all ]; then
    try gcc -O1
    try gcc -O3
    try gcc -O2 -march=native
    try clang -O0
    try clang -O3
    if command -v qemu-aarch64 >/dev/null 2>&1 && command -v aarch64-linux-gnu-gcc >/dev/null 2>&1; then
        for level in -O0 -O3; do
            fingerprints "aarch64 gcc $level" qemu-aarch64 "$source/src/tensor/kernels_base.c" aarch64-linux-gnu-gcc $level -static
        done
    else
        echo "aarch64: no compiler or no qemu-aarch64 here"
    fi
fi
echo "$tried builds beside the library's, $failures failures"
[ $tried -ge 1 ] && [ $failures -eq 0 ]
