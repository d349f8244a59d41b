#!/usr/bin/env bash
# demo.sh BUILD -- looks at eight algebras by name and four by basis, three of which must be refused; then trains a
# network that is equivariant to all of GL(3) and shows that it is; and makes a table of the paper in about two minutes.
set -euo pipefail

reln=$(realpath "$1/reln")
examples=$(realpath "$1/examples")
table=$(realpath "$1")/sp4-quick
cd "$(dirname "$0")/../examples/bases"

show() # wanted exit code, arguments of reln
{
    local wanted=$1 got=0
    shift
    printf '\n$ reln %s\n' "$*"
    "$reln" "$@" 2>&1 || got=$?
    if [ "$got" != "$wanted" ]; then
        echo "demo: exit code $got, wanted $wanted" >&2
        exit 1
    fi
}

for name in gl:3 sl:3 so:3 so:1,3 sp:4 u:2 su:3 gl:2+so:3; do
    show 0 algebra "$name"
done
show 0 algebra --basis so3_skew.npy
for name in aff2 se3 heisenberg; do
    show 3 algebra --basis "$name.npy"
done
printf '\n$ examples/first_network   # learns y = tr X + B(X,X)/6 from 257 matrices\n'
"$examples/example_first_network"
printf '\n$ examples/hessian_vector\n'
"$examples/example_hessian_vector"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$examples/example_make_data" gl3 300 1 "$work/pairs.npz"
cat >"$work/spec.yaml" <<'SPEC'
symmetry: gl:3
inputs: [{name: X, as: matrix}, {name: Y, as: matrix}]
target: {name: y, as: scalar}
model: {width: 8, depth: 2}
train: {epochs: 2, lr: 1e-3, validation: 0.2}
SPEC
"$reln" fit "$work/spec.yaml" "$work/pairs.npz" --out "$work/run" --quiet
printf '\n$ reln check --exact run    # not measured: proved, for all inputs and weights (docs/soundness.md)\n'
"$reln" check --exact "$work/run" | tail -n 1
show 0 reproduce sp4 --scale quick --out "$table"
printf '\ndemo: 9 algebras accepted and 3 refused, as they should be; networks trained, and no frame can tell\n'
