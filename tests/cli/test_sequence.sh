#!/bin/sh
# test_sequence.sh -- tests recordings from a file to a prediction: windows are used for training, predicted, checked and divided by
# time; an error in a recording gives one line.
# usage: test_sequence.sh RELN HELPER RECORDING
set -u
reln=$1
helper=$2
recording=$3
. "$(dirname "$0")/program.sh"

"$recording" make own . >made || exit 1

spec() { # spec SEQUENCE MODEL TRAIN
    cat <<EOF
symmetry: so:3
inputs:
  - {name: v, as: vector, sequence: true}
  - {name: C, as: covariance, log: true, sequence: true}
target: {name: p, as: vector}
sequence: {length: 51, stride: 5, time: t, recording: r, target: change, estimate: v$1}
model: {kind: $2, width: 4, depth: 2}
train: {steps: 40, evaluate: 20, batch: 32, lr: 1e-2, schedule: cosine, dtype: f32$3}
EOF
}

# a network that has hardly learned is better than the integral, and says how it turns
spec ', jitter: 4' sequence ', validation: test.npz' >spec.yaml
run 0 fit spec.yaml valid.npz --out run --quiet --no-check
run 0 predict run test.npz --out y.npz --quiet
check "scores" sh -c "'$recording' score test.npz y.npz >score"
check "better than the integral" \
    awk '/integral/ { a = $(NF - 1) } /network/ { b = $2 } END { exit !(b < 0.95 * a) }' score
run 0 check run

# divided by time, and resumed to the same bits
spec ', jitter: 4' sequence ', validation: 0.2' >share.yaml
run 0 fit share.yaml valid.npz --out a --quiet --no-check
run 0 fit share.yaml valid.npz --out b --quiet --no-check --threads 2
check "any number of threads: the same bits" cmp a/model.safetensors b/model.safetensors

# the plain one
spec '' resnet ', validation: 0.2' >plain.yaml
run 0 fit plain.yaml valid.npz --out plain --quiet --no-check
run 0 eval plain test.npz

# a number for each step: the length of its vector, in windows that overlap
awk 'BEGIN {
    print "t,v_x,v_y,v_z,speed"
    for (i = 0; i < 900; i++) {
        s = 1 + 0.6 * sin(i / 7) + 0.3 * sin(i / 3)
        printf "%.3f,%.6f,%.6f,%.6f,%.6f\n", i / 50, s * cos(i / 11) * cos(i / 17), s * sin(i / 11) * cos(i / 17), s * sin(i / 17), s
    }
}' >speed.csv
cat >speed.yaml <<EOF
symmetry: so:3
inputs: [{name: v, as: vector, sequence: true}]
target: {name: speed, as: scalar}
sequence: {length: 21, stride: 3, time: t, target: each}
model: {kind: sequence, width: 8, depth: 1}
train: {epochs: 30, batch: 16, lr: 1e-2, schedule: cosine, dtype: f64, validation: 0.2}
EOF
run 0 fit speed.yaml speed.csv --out speed --quiet
run 0 eval speed speed.csv
check "the lengths of vectors are learned, step by step: $(cat out)" awk '/^r2/ { r = $2 } END { exit !(r > 0.99) }' out
run 0 check speed
run 0 predict speed speed.csv --out speed.npz --quiet
run 0 data speed.npz
check "a number for each of the 21 steps of 294 windows: $(cat out)" grep -q '^speed *(294, 21)' out
sed 's/as: scalar/as: class, classes: 2/; s/name: speed/name: t/' speed.yaml >classes.yaml
refused 3 'a target at each step is a number, vector or matrix, and this is a class' fit classes.yaml speed.csv --out none

# what is wrong
spec '' sequence '' | sed 's/length: 51/length: 5000/' >long.yaml
refused 3 'the longest recording has 600 steps, rows 0 to 599; wanted 5000' fit long.yaml valid.npz --out none
spec '' sequence '' | sed 's/, recording: r//' >back.yaml
refused 3 't: row 600 is .*; wanted ascending times' fit back.yaml valid.npz --out none
spec ', gap: 0.01' sequence '' >gap.yaml
refused 3 't: row 1 is 0.02 later than the row before it; wanted steps of at most 0.01' fit gap.yaml valid.npz --out none

finish cli/test_sequence
