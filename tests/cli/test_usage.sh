#!/bin/sh
# test_usage.sh -- command lines that are refused before anything is read: the exit code is 2, and one line says what was wanted.
# usage: test_usage.sh RELN
set -u
reln=$1
helper=
. "$(dirname "$0")/program.sh"

refused_as() { # refused_as LINE ARGUMENT ...: exit code 2, and this line, whole
    line=$1
    shift
    refused 2 '' "$@"
    check "reln $*: says '$(cat err)', wanted '$line'" [ "$(cat err)" = "reln: $line" ]
}

again() { # again N TEXT: the text, N times
    printf "%$1s" '' | sed "s/ /$2 /g"
}

cat >spec.yaml <<EOF
symmetry: gl:3
inputs: [{name: X, as: matrix}]
target: {name: y, as: scalar}
train: {epochs: 8, batch: 20}
EOF

# ---- operands ----

refused_as 'no command given; reln --help lists them'
refused_as '--completion: wanted bash, zsh or fish' --completion csh
refused_as '--completion: wanted bash, zsh or fish' --completion
refused_as 'algebra: wanted a name, such as gl:3, or --basis FILE.npy' algebra
refused_as 'algebra: a name and --basis exclude each other' algebra gl:3 --basis b.npy
refused_as "algebra: 'gl:2' is one argument too many" algebra gl:3 gl:2
refused_as "bench: 'twice' is not understood; wanted nothing, once NAME/PASS/BATCH, or scale NAME" bench twice
refused_as "bench: 'scale' is not understood; wanted nothing, once NAME/PASS/BATCH, or scale NAME" bench scale
refused_as 'check: wanted MODEL, a folder of `reln fit` or its model.safetensors' check
refused_as 'data: wanted a FILE of arrays' data
refused_as 'data: --symmetry is for --spec' data a.npz --symmetry so:3
refused_as 'eval: wanted MODEL and DATA' eval model
refused_as 'fit: wanted SPEC and DATA, or --resume DIR alone' fit
refused_as 'fit: wanted SPEC and DATA, or --resume DIR alone' fit spec.yaml
refused_as 'fit: wanted SPEC and DATA, or --resume DIR alone' fit spec.yaml --resume run
refused_as 'fit: with --folds the same command goes on; leave out --resume' fit --folds 3 --resume run
refused_as 'info: wanted MODEL, a folder of `reln fit` or its model.safetensors' info
refused_as 'predict: wanted MODEL and DATA' predict model
refused_as 'report: wanted folders of runs' report
refused_as "reproduce: '--target' without a task" reproduce --target code
refused_as 'splats: wanted `info FILE` or `convert FILE-OR-FOLDER --out FILE`' splats
refused_as 'splats: wanted `info FILE` or `convert FILE-OR-FOLDER --out FILE`' splats info
refused_as 'splats: convert wants --out FILE.npz' splats convert cube.off
refused_as 'sweep: wanted SPEC and DATA' sweep spec.yaml

# ---- values of options ----

refused_as 'fit: --out wants a value (PATH)' fit spec.yaml data.npz --out
refused_as 'algebra: --json takes no value' algebra gl:3 --json=yes
for command in eval predict; do
    refused_as "--dtype is 'f16'; wanted f32 or f64" $command model data.npz --dtype f16
done
refused_as "reproduce: --scale is 'huge'; wanted smoke, quick or full" reproduce sp4 --scale huge
refused_as 'reproduce: --target wants a value' reproduce sp4 --target
refused_as "fit: --folds is 1; wanted 2 to 100 folds, or an array of them" fit spec.yaml data.npz --folds 1
refused_as "fit: --folds is 101; wanted 2 to 100 folds, or an array of them" fit spec.yaml data.npz --folds 101
for folds in 0 1 51 -2 3x ''; do
    refused_as "reproduce: --folds is $folds; wanted 2 to 50" reproduce jets --scale smoke --out jets "--folds=$folds"
done
over='wanted KEY=A,B,C or KEY=LOW..HIGH with 0 < LOW, at most 64 values'
for range in train.lr =1,2 train.lr= train.lr=1,,2 model.width=1..1e30; do
    refused_as "sweep: --over $range; $over" sweep spec.yaml data.npz --over "$range" --out no
done
refused_as 'sweep: 0 times --over; wanted 1 to 16' sweep spec.yaml data.npz --out no
refused_as 'sweep: with --halving all runs have the length of the SPEC' \
    sweep spec.yaml data.npz --over train.epochs=4,8 --halving --out no
refused_as 'sweep: with --halving all runs have the length of the SPEC' \
    sweep spec.yaml data.npz --over train.steps=4,8 --halving --out no
refused_as 'sweep: --halving counts epochs; wanted train: {epochs: ...}' \
    sweep spec.yaml data.npz --over train.lr=1,2 --set 'train={steps: 8, batch: 20}' --halving --out no

# ---- too many ----

# shellcheck disable=SC2046
refused_as 'sweep: 17 times --over; wanted 1 to 16' sweep spec.yaml data.npz $(again 17 '--over train.lr=1') --out no
# shellcheck disable=SC2046
refused_as 'fit: more than 64 times --set' fit spec.yaml data.npz $(again 65 '--set train.lr=1')
# shellcheck disable=SC2046
refused_as "'--target=code' is one option too many" reproduce sp4 $(again 9 --target=code)
# shellcheck disable=SC2046
refused_as "report: 'run' is one argument too many" report $(again 33 run)
grid='--over train.lr=1,2,3,4,5,6,7,8,9,10 --over model.width=1,2,3,4,5,6,7,8,9,10'
# shellcheck disable=SC2086
refused_as 'sweep: 1100 runs; wanted at most 1000' \
    sweep spec.yaml data.npz $grid --over train.batch=1,2,3,4,5,6,7,8,9,10,11 --out no
check "nothing is left of what was refused" [ ! -e no ]

finish usage
