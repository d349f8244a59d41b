#!/bin/sh
# test_sweep.sh -- `reln sweep`, `reln report` and folds: grids, draws, halving; killed and resumed, the table is the same.
# usage: test_sweep.sh RELN HELPER MAKE_DATA
set -u
reln=$1
helper=$2
make_data=$3
. "$(dirname "$0")/program.sh"

"$make_data" gl3 120 1 data.npz || exit 1
cat >spec.yaml <<EOF
symmetry: gl:3
inputs: [{name: X, as: matrix}, {name: Y, as: matrix}]
target: {name: y, as: scalar}
model: {width: 4, depth: 1}
train: {epochs: 8, batch: 20, lr: 5e-3, validation: 0.25}
EOF

grid="--over train.lr=1e-3,3e-3,1e-2,3e-2,1e-1 --over model.width=2..16"
# shellcheck disable=SC2086
run 0 sweep spec.yaml data.npz $grid --jobs 2 --out whole --progress none
cp out table
check "20 runs: $(cat out)" [ "$(grep -c '^run-' table)" -eq 20 ]
check "the best is named" grep -q '^best whole/run-0[0-9]*$' table
check "the page" grep -q 'Validation score' whole/report.html
check "every run can be used" "$reln" eval whole/run-001 data.npz

# killed at three moments, asked to stop once, and resumed: the same table
for signal in KILL KILL TERM; do
    # shellcheck disable=SC2086
    "$reln" sweep spec.yaml data.npz $grid --jobs 2 --out again --progress none >out 2>err &
    pid=$!
    sleep 0.3
    kill -$signal $pid 2>/dev/null
    wait $pid 2>/dev/null
    sleep 1 # its runs end with it
done
# shellcheck disable=SC2086
run 0 sweep spec.yaml data.npz $grid --jobs 1 --out again --progress none
sed 's/again/whole/' out >after
check "killed and resumed: the same table" cmp table after

# asked to stop, a sweep asks its runs, which save their state
long="--over train.lr=1e-3,1e-2 --set train.epochs=1000000"
# shellcheck disable=SC2086
"$reln" sweep spec.yaml data.npz $long --jobs 2 --out stopped --progress none >out 2>err &
pid=$!
tries=0
while [ $tries -lt 600 ] && [ "$(cat stopped/run-00[12]/metrics.csv 2>/dev/null | wc -l)" -lt 6 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
kill -TERM $pid
wait $pid
check "a sweep that is stopped has stopped runs: $(ls stopped/run-00*)" \
    [ -s stopped/run-001/checkpoint.safetensors -a -s stopped/run-002/checkpoint.safetensors ]

halving="--over train.lr=1e-3..1e-1 --over model.width=2..8 --random 8 --halving --seed 3"
# shellcheck disable=SC2086
run 0 sweep spec.yaml data.npz $halving --jobs 2 --out half --progress none
cp out table
check "one run in eight is whole: $(cat out)" [ "$(grep -c ' done$' out)" -eq 1 ]
# shellcheck disable=SC2086
run 0 sweep spec.yaml data.npz $halving --jobs 3 --out half3 --progress none
sed 's/half3/half/' out >after
check "any number of jobs: the same table" cmp table after
# shellcheck disable=SC2086
run 0 sweep spec.yaml data.npz $halving --jobs 3 --out half3 --json
json runs=8 best score

refused 3 'half holds another sweep already' sweep spec.yaml data.npz --over train.lr=1,2 --out half
# shellcheck disable=SC2086
refused 3 'half holds another sweep already' sweep spec.yaml data.npz ${halving% *} 4 --out half
# shellcheck disable=SC2086
refused 3 'half holds another sweep already' sweep spec.yaml data.npz ${halving% --seed *} --out half
# shellcheck disable=SC2086
refused 3 'half holds another sweep already' sweep spec.yaml data.npz $halving --set train.batch=7 --out half
refused 3 "unknown key 'lrr' in train; did you mean 'lr'" sweep spec.yaml data.npz --over train.lrr=1,2 --out no
refused 2 'wanted KEY=A,B,C or KEY=LOW..HIGH' sweep spec.yaml data.npz --over train.lr --out no
refused 3 'lr is 0..1; wanted a number above 0' sweep spec.yaml data.npz --over train.lr=0..1 --random 2 --out no
refused 2 '0 times --over' sweep spec.yaml data.npz --out no
check "nothing is left of what was refused" [ ! -e no ]

run 0 report whole/run-001 whole/run-002 --out two.html
check "side by side: $(cat out)" [ "$(grep -c '^run-00' out)" -eq 2 ]
check "what differs" grep -q 'model.width' out
refused 3 'no run in this folder' report absent

# folds: killed and resumed, the same pooled table and predictions
folds="--folds 3 --no-check --progress none --set train.epochs=40"
# shellcheck disable=SC2086
run 0 fit spec.yaml data.npz $folds --out cross
cp out table
for signal in KILL TERM KILL; do
    # shellcheck disable=SC2086
    "$reln" fit spec.yaml data.npz $folds --out crossed >out 2>err &
    pid=$!
    sleep 0.2
    kill -$signal $pid 2>/dev/null
    wait $pid 2>/dev/null
done
# shellcheck disable=SC2086
run 0 fit spec.yaml data.npz $folds --out crossed
sed 's/crossed/cross/' out >after
check "folds killed and resumed: the same table" cmp table after
check "and predictions" cmp cross/predictions.npz crossed/predictions.npz

# --quiet prints nothing, and leaves the document that --json asks for
for command in "sweep spec.yaml data.npz $halving --out half" "fit spec.yaml data.npz $folds --out cross" \
    "check whole/run-001" "check --exact whole/run-001"; do
    # shellcheck disable=SC2086
    run 0 $command --json
    check "$command --json: a document" grep -q '^{' out
    cp out document
    # shellcheck disable=SC2086
    run 0 $command --json --quiet
    check "$command --json --quiet: the same document" cmp document out
    # shellcheck disable=SC2086
    run 0 $command --quiet
    check "$command --quiet: nothing" [ ! -s out ]
done

# a pause is no end: the rest gives the bits of the run that had none
run 0 fit spec.yaml data.npz --out paused --until 3 --quiet
run 0 fit spec.yaml data.npz --out calm --quiet
check "paused: not the whole run" [ "$(wc -l <paused/metrics.csv)" -eq 4 ]
run 0 fit --resume paused --quiet
check "paused and resumed: the same bits" cmp paused/model.safetensors calm/model.safetensors

finish sweep
