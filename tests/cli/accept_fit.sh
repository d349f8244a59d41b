#!/bin/sh
# accept_fit.sh -- computes the numbers of docs/fit.md again: ReLN, Lie Neurons, and an MLP of as many parameters, with and without
# random frames, on 10,000 samples and on the same samples in other frames. It takes some minutes and is not part of `make test`.
# usage: accept_fit.sh RELN HELPER MAKE_DATA [FOLDER]
set -eu
reln=$1
helper=$2
make_data=$3
dir=${4:-$(mktemp -d)}
mkdir -p "$dir"
cd "$dir"

for set in gl3 so3; do
    "$make_data" $set 10000 1 $set-train.npz
    "$make_data" $set 2000 2 $set-test.npz
done
"$make_data" gl3 2000 2 gl3-10.npz 10
"$make_data" gl3 2000 2 gl3-100.npz 100
"$make_data" so3 2000 2 so3-turned.npz 1

spec() { # spec SET MODEL RATE TRAIN
    case $1 in
    gl3) echo 'symmetry: gl:3
inputs: [{name: X, as: matrix}, {name: Y, as: matrix}]
target: {name: y, as: scalar}' ;;
    so3) echo 'symmetry: so:3
inputs: [{name: C, as: covariance}, {name: v, as: vector}]
target: {name: y, as: vector}' ;;
    esac
    echo "model: {$2, depth: $([ "${2#kind: mlp}" = "$2" ] && echo 2 || echo 4)}"
    echo "train: {epochs: 40, batch: 100, lr: $3, schedule: cosine, validation: 0.1$4}"
}

number() { # number KEY: from JSON on stdin
    sed "s/.*\"$1\": *\([0-9.e+-]*\).*/\1/"
}

fit() { # fit NAME SET MODEL RATE TRAIN
    spec "$2" "$3" "$4" "$5" >"$1.yaml"
    "$reln" fit "$1.yaml" "$2-train.npz" --out "$1" --json >"$1.json"
    echo "$1: $(number parameters <"$1.json") parameters, validation $(number validation_loss <"$1.json")"
}

ratio() { # ratio A B: B is at least ten times A
    awk -v a="$(number validation_loss <"$1.json")" -v b="$(number validation_loss <"$2.json")" \
        -v name="$2" 'BEGIN { printf "%s: %.0f times the error\n", name, b / a; exit b < 10 * a }'
}

moved() { # moved MODEL A B TOLERANCE: predictions in two frames
    "$reln" predict "$1" "$2" --out a.npz --quiet
    "$reln" predict "$1" "$3" --out b.npz --quiet
    printf '%s, %s against %s: ' "$1" "$2" "$3"
    "$helper" near y a.npz b.npz "$4"
}

for set in gl3 so3; do
    cond=$([ $set = gl3 ] && echo 10 || echo 1)
    fit $set-reln $set 'width: 64' 3e-3 ''
    n=$(number parameters <$set-reln.json)
    fit $set-mlp $set "kind: mlp, parameters: $n" 2e-3 ''
    fit $set-mlp-moved $set "kind: mlp, parameters: $n" 2e-3 ", augment: {cond: $cond}"
    fit $set-lie $set "kind: lie-neurons, parameters: $n" 3e-3 ''
    ratio $set-reln $set-mlp
    ratio $set-reln $set-mlp-moved
    fit $set-double $set 'width: 64' 3e-3 ', dtype: f64'
    "$reln" check $set-reln --quiet
    "$reln" check $set-double --quiet
done
moved gl3-reln gl3-test.npz gl3-10.npz 2e-4
moved gl3-double gl3-test.npz gl3-100.npz 1e-9
for model in gl3-reln gl3-mlp gl3-mlp-moved; do
    for file in gl3-test gl3-10 gl3-100; do
        echo "$model on $file: $("$reln" eval $model $file.npz --json)"
    done
done
for model in so3-reln so3-mlp so3-mlp-moved; do
    for file in so3-test so3-turned; do
        echo "$model on $file: $("$reln" eval $model $file.npz --json)"
    done
done
