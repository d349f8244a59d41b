#!/bin/sh
# test_fit.sh -- `reln fit`, `predict`, `eval`, `check` and `info` as their users see them.
# usage: test_fit.sh RELN HELPER MAKE_DATA
set -u
reln=$1
helper=$2
make_data=$3
bases=$(cd "$(dirname "$0")/../../examples/bases" && pwd)
. "$(dirname "$0")/program.sh"

pairs() { # pairs MODEL [TRAIN]
    cat <<EOF
symmetry: gl:3
inputs:
  - {name: X, as: matrix}
  - {name: Y, as: matrix}
target: {name: y, as: scalar}
model: {$1}
train: {epochs: 30, batch: 50, lr: 1e-2, schedule: cosine, validation: 0.2${2:-}}
EOF
}

bodies() { # bodies MODEL [TRAIN]
    cat <<EOF
symmetry: so:3
inputs:
  - {name: C, as: covariance}
  - {name: v, as: vector}
target: {name: y, as: vector}
model: {$1}
train: {epochs: 20, batch: 50, lr: 1e-2, schedule: cosine, validation: 0.2${2:-}}
EOF
}

"$make_data" gl3 600 1 pairs.npz || exit 1
"$make_data" gl3 100 2 test.npz
"$make_data" gl3 100 2 test10.npz 10
"$make_data" so3 600 1 bodies.npz
"$make_data" so3 100 2 still.npz
"$make_data" so3 100 2 turned.npz 1

# ---- the way of a new user ------------------------------------------------------------------------------------------

pairs "width: 16, depth: 1" >pairs.yaml
run 0 fit pairs.yaml pairs.npz --out pairs
check "fit: steps, loss, memory, report" sh -c 'grep -q "^300 of 300 steps in " out &&
    grep -q "^validation loss [0-9.e-]* at epoch " out && grep -q "^memory [0-9.]* MB (planned " out &&
    grep -q "^report pairs/report.html$" out'
check "a line for each evaluation: $(cat err)" [ "$(grep -c '^epoch [0-9]* *loss [0-9.e-]* *validation [0-9.e-]* ' err)" -eq 30 ]
check "the phases after training: $(cat err)" [ "$(grep -c '^trained; now ' err)" -eq 4 ]
check "one line about precision" [ "$(grep -c '^reln: note: on validation data, in frames of condition number .* --dtype f64 with predict and eval$' err)" -eq 1 ]
check "no line but these" [ "$(wc -l <err)" -eq 35 ]
for file in spec.yaml checkpoint.safetensors model.safetensors results.json metrics.csv report.html; do
    check "$file is there" [ -s pairs/$file ]
done
check "a row for each evaluation" [ "$(wc -l <pairs/metrics.csv)" -eq 31 ]
check "the page is whole and needs nothing" sh -c 'grep -q "</html>" pairs/report.html &&
    ! grep -qE "(src|href)=\"https?:" pairs/report.html'
check "the page shows both checks" sh -c 'grep -q "by layer on random inputs" pairs/report.html &&
    grep -q "by layer on validation data" pairs/report.html'
cp pairs/results.json out
json 'steps=300' 'epochs=30' 'seed=1' 'end="done"' parameters memory train validation equivariance spec version

run 0 eval pairs test.npz
check "eval by lines" grep -q '^mse  *[0-9.e-]*$' out
run 0 eval pairs test.npz --json
json samples=100 loss mse mae r2
run 0 predict pairs test.npz
check "predictions are where it says" grep -q '^100 predictions in predictions.npz$' out
run 0 predict pairs/model.safetensors test10.npz --out moved.npz --json --threads 2
json 'file="moved.npz"' samples=100 'shape=[100]'
# in f32, frames of condition number 10: specs of equivariance allow 2e-4
check "the prediction does not see the frame" "$helper" near y predictions.npz moved.npz 2e-4
check "the targets are the same in all frames" "$helper" near y test.npz test10.npz 0
"$helper" near X test.npz test10.npz 0.1 >/dev/null && check "test10.npz is not moved" false
run 0 predict pairs test.npz --out y.npy --quiet
check "quiet is quiet" [ ! -s out ]
check "the same as .npy" "$helper" near y predictions.npz y.npy 0
run 0 check pairs
check "check: kept" grep -q '^kept: equivariant to rounding under gl:3 (50 draws' out
run 0 check --exact pairs
check "check --exact: proved" grep -q '^proved: equivariant under gl:3 for all inputs and weights$' out
run 0 check --exact pairs --json
check "check --exact: nodes with their rules" grep -q '"verdict": "proved".*"kind": "node".*"rule": "function of invariants"' out
mkdir bases && "$helper" make bases
for name in so3-floats so3-whole; do
    pairs "width: 4, depth: 1" | sed "s|^symmetry: .*|symmetry: {basis: bases/$name.npy}|; s|epochs: 30|epochs: 1|" >$name.yaml
done
cp "$bases/so3_skew.npy" bases/so3-whole.npy
run 0 fit so3-whole.yaml pairs.npz --out whole
run 0 check --exact whole
check "check --exact: a basis of whole numbers is proved" grep -q '^proved: ' out
run 0 fit so3-floats.yaml pairs.npz --out floats
run 1 check --exact floats
check "check --exact: floats are not provable" grep -q '^not provable: .*floats' out
run 0 check pairs --data test.npz --draws 20 --json
json promised=true kept=true draws=20 'symmetry="gl:3"' layers
run 0 info pairs
check "info: parameters" grep -q '^parameters  ' out
run 0 info pairs --json
json parameters 'symmetry="gl:3"'

# the SPEC that was kept makes the same model; so does the same command
run 0 fit pairs/spec.yaml pairs.npz --out again --threads 1 --json
json 'folder="again"' 'end="done"' step=300 steps=300 parameters seconds validation_loss best_step planned_bytes peak_bytes
check "from spec.yaml: the same bits" cmp pairs/model.safetensors again/model.safetensors
cp again/model.safetensors before
run 0 fit --resume again --quiet
check "a finished run stays as it is" cmp before again/model.safetensors
run 0 fit --print-spec
sed "s/epochs: 100/epochs: 2/; s/width: 64/width: 8/" out >template.yaml
check "the template has every section" sh -c 'grep -q "^symmetry:" template.yaml && grep -q "^train:" template.yaml'
run 0 fit template.yaml pairs.npz --out template --quiet

# ---- keys from the command line ------------------------------------------------------------------------------------------

run 0 fit pairs.yaml pairs.npz --out set --set train.steps=20 --set model.width=8 --no-check --progress none
check "--progress none: $(cat err)" [ ! -s err ]
check "--set train.steps takes the place of epochs" grep -q '^20 of 20 steps' out
check "--set model.width" grep -q 'width: 8' set/spec.yaml
cp set/results.json out
check "--no-check: none" sh -c '! grep -q equivariance out'
refused 3 "set train.lrr=1: unknown key 'lrr' in train; did you mean 'lr'" fit pairs.yaml pairs.npz --out no --set train.lrr=1
refused 3 'set train.lr=-1: lr is -1; wanted a number above 0' fit pairs.yaml pairs.npz --out no --set train.lr=-1
refused 3 "unknown word 'vectr' for as; did you mean 'vector'" fit pairs.yaml pairs.npz --out no --set inputs.0.as=vectr
refused 3 "'7' is no item of a list of 2" fit pairs.yaml pairs.npz --out no --set inputs.7.as=vector
refused 3 'wanted KEY=VALUE' fit pairs.yaml pairs.npz --out no --set train.lr
refused 3 'there is no array Z; there are X (600, 3, 3), Y (600, 3, 3), y (600,)' fit pairs.yaml pairs.npz --out no \
    --set inputs.0.name=Z
refused 2 'progress is .loud.; wanted auto, bar, plain or none' fit pairs.yaml pairs.npz --out no --progress loud
# only what is near is suggested
refused 3 "unknown key 'wavelength' in an input; known are name, as," fit pairs.yaml pairs.npz --out no --set inputs.0.wavelength=true
refused 2 "unknown option '--dtype'; there are --out, " fit pairs.yaml pairs.npz --out no --dtype f64

# ---- classes as people judge them ------------------------------------------------------------------------------------------

"$make_data" clouds 400 1 clouds.npz
"$make_data" clouds 200 2 clouds-test.npz
cat >clouds.yaml <<EOF
symmetry: o:3
inputs: [{name: v, as: vector, points: true}]
target: {name: label, as: class, classes: [small, large, long]}
model: {width: 8, depth: 1, dropout: 0.1}
train: {epochs: 6, batch: 50, lr: 1e-2, schedule: cosine, validation: 0.25, smoothing: 0.05}
EOF
run 0 fit clouds.yaml clouds.npz --out clouds
check "accuracy beside the loss" grep -q '^epoch 6 .* accuracy 0\.[0-9]*' err
check "lines of 80 columns" sh -c '! grep -v "^reln: note" err | grep -q "^.\{81\}"'
cp clouds/results.json out
json scores train validation
check "the names are kept" grep -q 'small' clouds/spec.yaml
check "curves and calibration on the page" sh -c 'grep -q "(ROC)" clouds/report.html && grep -q Calibration clouds/report.html &&
    grep -q "taken for (columns)" clouds/report.html'
run 0 eval clouds clouds-test.npz
check "scores in 80 columns: $(cat out)" sh -c '! grep -q "^.\{81\}" out'
for word in accuracy AUC 'average precision' F1 'calibration error'; do
    check "eval: $word" grep -q "^$word.* ± " out
done
check "eval: each class by its name" [ "$(grep -c '^\(small\|large\|long\) ' out)" -eq 6 ]
run 0 eval clouds clouds-test.npz --json --seed 3
json samples=200 loss accuracy accuracy_error auc average_precision f1 calibration_error classes confusion calibration \
    'bootstrap={"draws": 200, "seed": 3}'
cp out before
run 0 eval clouds clouds-test.npz --json --seed 3 --threads 1
check "the same draws" cmp before out
run 0 check clouds
refused 3 'class a is there twice' fit clouds.yaml clouds.npz --out no --set 'target.classes=[a, b, a]'
refused 3 'smoothing is for classes' fit pairs.yaml pairs.npz --out no --set train.smoothing=0.1
refused 3 'an mlp takes no dropout' fit clouds.yaml clouds.npz --out no --set model.kind=mlp

# ---- vectors, classes, sets; every kind of model -----------------------------------------------------------------------

bodies "width: 16, depth: 1" >bodies.yaml
run 0 fit bodies.yaml bodies.npz --out bodies --quiet
run 0 predict bodies still.npz --out a.npz --json
json 'shape=[100,3]'
run 0 predict bodies turned.npz --out b.npz --quiet
"$helper" near y a.npz b.npz 0.1 >/dev/null && check "predicted vectors do not turn" false
run 0 eval bodies still.npz --json
cp out before
run 0 eval bodies turned.npz --json
mse() { sed 's/.*"mse": *\([0-9.e-]*\).*/\1/' "$1"; }
check "turned data are as easy: $(mse before), $(mse out)" awk -v a="$(mse before)" -v b="$(mse out)" \
    'BEGIN { d = a - b; exit !(d < 1e-3 * a && d > -1e-3 * a) }'
for kind in lie-neurons vector-neurons; do
    bodies "kind: $kind, width: 12, depth: 1" >kind.yaml
    [ $kind = vector-neurons ] && sed -i /covariance/d kind.yaml # which they do not take
    run 0 fit kind.yaml bodies.npz --out $kind --quiet
    run 0 check $kind
    check "$kind: kept" grep -q '^kept: equivariant to rounding under so:3' out
done
# The gate of Lie Neurons is a cube: four layers of it stay finite, and learn.
bodies "kind: lie-neurons, width: 16, depth: 4" | sed 's/1e-2/3e-3/' >deep.yaml
run 0 fit deep.yaml bodies.npz --out deep --json
check "lie-neurons, four layers: $(cat out)" awk -v loss="$(sed 's/.*"validation_loss": *\([^,]*\),.*/\1/' out)" \
    'BEGIN { exit !(loss ~ /^[0-9.e-]+$/ && loss < 0.1) }'
for augment in "" ", augment: {cond: 10}"; do
    pairs "kind: mlp, parameters: 2000, depth: 2" "$augment" >mlp.yaml
    rm -rf mlp
    run 0 fit mlp.yaml pairs.npz --out mlp --quiet
    run 0 check mlp
    check "mlp: promises nothing" grep -q '^this model promises nothing under gl:3' out
    run 0 check mlp --json
    json promised=false
done
bodies "kind: mlp, parameters: 2000, depth: 2" ", augment: {cond: 1}" >mlp.yaml
run 0 fit mlp.yaml bodies.npz --out mlp-vector --quiet
run 0 check mlp-vector --quiet

# without validation the last weights are it
sed 's/validation: 0.2/validation: 0/' pairs.yaml >all.yaml
run 0 fit all.yaml pairs.npz --out all
check "no validation: the loss is that of training" grep -q '^training loss ' out
check "and so are the data of the note: $(cat err)" grep -q '^reln: note: on training data, in frames of condition number ' err
check "and those of the page" grep -q 'by layer on training data' all/report.html

# ---- numbers that are not finite, and precision ----------------------------------------------------------------------

pairs "width: 4, depth: 6" | sed 's/1e-2/1000/' >wild.yaml
run 6 fit wild.yaml pairs.npz --out wild
check "divergence in one line: '$(cat err)'" grep -q '^reln: diverged: .* at step [0-9]*, before an evaluation gave a number; there is no model in wild$' err
check "no more than that line" [ "$(wc -l <err)" -eq 1 ]
check "no model" [ ! -e wild/model.safetensors ]
for dtype in f32 f64; do
    run 0 predict pairs test.npz --out $dtype.npz --dtype $dtype
done
"$helper" near y f32.npz f64.npz 1e-4 >/dev/null || check "f32 and f64 predict the same to f32" false
"$helper" near y f32.npz f64.npz 1e-12 >/dev/null && check "f64 is no other precision than f32" false
run 0 eval pairs test.npz --dtype f64
refused 2 "--dtype is 'f16'; wanted f32 or f64" eval pairs test.npz --dtype f16

# ---- what is refused ---------------------------------------------------------------------------------------------------

refused 2 'fit: wanted SPEC and DATA' fit pairs.yaml
refused 2 'fit: --resume takes SPEC, seed, folder and kernels from the run; leave them out' fit --resume pairs --seed 3
refused 2 'fit: --resume takes SPEC, seed, folder and kernels from the run; leave them out' fit --resume pairs --set train.lr=1
refused 2 'fit: --resume takes SPEC, seed, folder and kernels from the run; leave them out' fit --resume pairs --kernels reference
refused 2 'wanted fastest or reference' fit spec.yaml data.npz --kernels other
refused 2 "unknown option '--resum'; the nearest is --resume" fit --resum pairs
refused 2 'eval: wanted MODEL and DATA' eval pairs
refused 2 'check: wanted MODEL' check
sed 's/width/widht/' pairs.yaml >bad.yaml
refused 3 "bad.yaml:6: unknown key 'widht' in model; did you mean 'width'" fit bad.yaml pairs.npz --out bad
refused 3 'bodies.npz: .*X' fit pairs.yaml bodies.npz --out bad
refused 4 'absent.npz: cannot open: No such file' fit pairs.yaml absent.npz --out bad
refused 4 'absent.yaml: cannot open: No such file' fit absent.yaml pairs.npz --out bad
refused 3 'seed 18446744073709551615; wanted at most 2^53' fit pairs.yaml pairs.npz --out bad --seed 18446744073709551615
check "what is refused leaves no folder" [ ! -e bad ]
refused 3 'bodies.npz: there is no array X' eval pairs bodies.npz
refused 3 'bodies.npz: there is no array X' predict pairs bodies.npz --out never.npz
check "and no predictions" [ ! -e never.npz ]
refused 4 'never/y.npz: cannot write: No such file or directory' predict pairs test.npz --out never/y.npz

# a model whose symmetry was edited in the file: the weights no longer fit what it says it is
cp pairs/model.safetensors edited.safetensors
"$helper" retell edited.safetensors reln.model '"symmetry": "gl:3"' '"symmetry": "so:3"' 2>err
run 3 check edited.safetensors

for command in fit predict eval check info; do
    run 0 $command --help
    check "$command --help teaches by example" grep -q "^  reln $command " out
done

finish fit
