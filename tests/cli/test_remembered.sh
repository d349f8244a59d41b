#!/bin/sh
# test_remembered.sh -- all that the program prints and writes about small runs, compared with tests/golden/remembered/cli-*: words,
# columns, units and numbers. Runs are in double precision on the reference kernels, whose bits are the same everywhere; numbers below
# 1e-5 and zeros among them are errors of rounding and are called tiny, digits after the sixth decimal are cut off, and times, memory, versions and paths
# are left out.
# usage: test_remembered.sh RELN HELPER MAKE_DATA; with RELN_REMEMBER=1 it writes the files, and fails
set -u
reln=$1
helper=$2
make_data=$3
golden=$(cd "$(dirname "$0")/../golden/remembered" && pwd)
. "$(dirname "$0")/program.sh"

plain() { # what differs from run to run or from machine to machine, on standard input, is left out
    sed -E -e '/<style>/,/<\/style>/d' -e '/<footer>/d' \
        -e '/<svg.*/{:a' -e '/<\/figure>/!{N' -e 'ba' -e '}' -e '/Equivariance of the output/d' -e '}' |
        sed -E -e 's/("?(version|seconds|waited|peak_bytes|planned_bytes|exchanged|time|rate_samples)"?: ?)[^,}]*/\1.../g' \
            -e 's/[0-9.]+e-(0?[6-9]|[1-9][0-9]+)/tiny/g' \
            -e '/tiny/s/ {6}0( |$)/tiny\1/g' -e 's/("(own_)?(median|worst)": )0([,}])/\1tiny\4/g' \
            -e 's/(steps? in|steps in) [0-9.]+ (ms|s|min)( [0-9]+ s)?/\1 .../' \
            -e 's/([0-9]\.[0-9]{6})[0-9]+/\1/g' -e 's/[0-9.]+ MB/... MB/g' -e "s|$dir|DIR|g" -e 's/reln [0-9]+\.[0-9]+\.[0-9]+/reln .../g' \
            -e 's/[0-9.]+ (samples|steps)\/s/... \1\/s/g' -e 's/[0-9.]+ (% of the time)/... \1/' -e 's/^(kernels +)[a-z0-9]+/\1.../' \
            -e 's/("kernels": )"[a-z0-9]+"/\1.../g'
}

told() { # told FILE ...: adds the files to the transcript
    for one in "$@"; do
        echo "--- $one"
        plain <"$one"
    done >>transcript
}

say() { # say ARGUMENT ...: adds what the command prints
    run 0 "$@"
    echo "+++ reln $*" >>transcript
    plain <out >>transcript
}

compare() { # compare NAME: the transcript so far, which then begins anew
    if [ -n "${RELN_REMEMBER:-}" ]; then
        cp transcript "$golden/cli-$1.txt"
        problem "$golden/cli-$1.txt is written; look at the difference"
    else
        "$helper" alike transcript "$golden/cli-$1.txt" >difference || problem "$1: $(cat difference)"
    fi
    : >transcript
}

fit() { # fit NAME DATA OPTION ...: and the files that it writes
    name=$1
    data=$2
    shift 2
    say fit "$name.yaml" "$data" --out "$name" --threads 1 --kernels reference --progress none "$@"
    awk -F , -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "seconds") at = i } NR > 1 { $at = "..." } 1' "$name/metrics.csv" >rows
    told "$name/results.json" rows "$name/spec.yaml" "$name/report.html"
}

"$make_data" gl3 120 1 pairs.npz || exit 1
"$make_data" gl3 40 2 pairs-test.npz
"$make_data" so3 120 1 bodies.npz
"$make_data" so3 40 2 bodies-test.npz
"$make_data" clouds 150 1 clouds.npz
"$make_data" clouds 60 2 clouds-test.npz
"$make_data" springs 80 1 springs.npz
"$make_data" springs 30 2 springs-test.npz

# ---- numbers ---------------------------------------------------------------------------------------------------------

cat >numbers.yaml <<END
symmetry: gl:3
inputs: [{name: X, as: matrix}, {name: Y, as: matrix}]
target: {name: y, as: scalar}
model: {width: 6, depth: 1}
train: {epochs: 4, batch: 20, lr: 1e-2, schedule: cosine, validation: 0.25, dtype: f64}
END
fit numbers pairs.npz
say eval numbers pairs-test.npz
say eval numbers pairs-test.npz --json
say predict numbers pairs-test.npz --out y.npy
say info numbers
say info numbers --json
say check numbers --draws 4
say check numbers --draws 4 --json
say check numbers --exact
say check numbers --data pairs-test.npz --draws 4
say check numbers --data pairs-test.npz --draws 4 --json
say data pairs.npz
say data pairs.npz --json
say data pairs.npz --spec
compare numbers

sed 's/as: scalar/as: scalar, loss: quantiles/; s/validation: 0.25, //' numbers.yaml >quantiles.yaml
fit quantiles pairs.npz --no-check --set train.epochs=2
say eval quantiles pairs-test.npz
say eval quantiles pairs-test.npz --json
compare quantiles

sed 's/model: {.*/model: {kind: mlp, width: 6}/; s/lr: 1e-2/lr: 1e-2, augment: {cond: 2}/' numbers.yaml >plain.yaml
fit plain pairs.npz
say info plain
say check plain --draws 4
compare plain

# ---- several targets -------------------------------------------------------------------------------------------------

cat >bodies.yaml <<END
symmetry: so:3
inputs: [{name: v, as: vector}]
targets:
  - {name: y, as: vector, loss: gaussian, variance: covariance}
  - {name: C, as: covariance, weight: 0.5}
model: {width: 4, depth: 1}
train: {epochs: 3, batch: 30, lr: 1e-2, schedule: cosine, validation: 0.2, dtype: f64}
END
fit bodies bodies.npz
say eval bodies bodies-test.npz
say eval bodies bodies-test.npz --json
say info bodies
say check bodies --draws 4
say predict bodies bodies-test.npz --out bodies-out.npz --json
say data bodies-out.npz
compare bodies

# ---- classes, sets, edges --------------------------------------------------------------------------------------------

cat >clouds.yaml <<END
symmetry: o:3
inputs: [{name: v, as: vector, points: true}]
target: {name: label, as: class, classes: [small, large, long], weights: [1, 2, 1]}
model: {width: 6, depth: 1, dropout: 0.1}
train: {epochs: 3, batch: 25, lr: 2e-2, schedule: cosine, validation: 0.3, smoothing: 0.05, dtype: f64}
END
fit clouds clouds.npz --no-check
say eval clouds clouds-test.npz
say eval clouds clouds-test.npz --json --seed 7
say info clouds
compare clouds

cat >bonds.yaml <<END
symmetry: o:3
inputs: [{name: x, as: vector, points: true, count: n}]
edges: {name: bonds, count: n_bonds}
targets:
  - {name: pull, as: vector, edges: true}
  - {name: stretched, as: class, classes: 2, edges: true}
model: {kind: graph, width: 4, depth: 1}
train: {epochs: 2, batch: 20, lr: 1e-2, validation: 0.2, dtype: f64}
END
fit bonds springs.npz --no-check
say eval bonds springs-test.npz
say info bonds
compare bonds

# the file has one sample alone
"$make_data" springs 1 3 one.npz
cat >chains.yaml <<END
symmetry: o:3
inputs: [{name: xs, as: vector, points: true, offsets: o}]
target: {name: forces, as: vector, points: true}
model: {kind: set, width: 4, depth: 1}
train: {epochs: 2, batch: 20, lr: 1e-2, validation: 0.2, dtype: f64}
END
fit chains springs.npz --no-check
say eval chains springs-test.npz --json
say eval chains one.npz
say predict chains one.npz --out one-out.npz --json
say fit chains.yaml springs.npz --out wide --threads 1 --kernels reference --quiet --no-check --set train.epochs=1 \
    --set model.width=40 --json
say fit chains.yaml springs.npz --out tuned --from chains --threads 1 --kernels reference --progress none --no-check \
    --set train.epochs=1 --set model.depth=2
plain <err >>transcript
say data springs.npz
compare chains

# ---- losses, optimisers, schedules -----------------------------------------------------------------------------------

rows_of() { # rows_of SPEC DATA SETTING ...: the evaluations of a short run
    spec=$1
    data=$2
    shift 2
    told=$*
    n=$#
    for setting in "$@"; do set -- "$@" --set "$setting"; done
    shift "$n"
    rm -rf rows-of
    run 0 fit "$spec" "$data" --out rows-of --threads 1 --kernels reference --quiet --no-check --set train.epochs=3 "$@"
    echo "+++ $told" >>transcript
    awk -F , -v OFS=, 'NR > 1 { $6 = "..." } 1' rows-of/metrics.csv | plain >>transcript
}

rows() {
    rows_of numbers.yaml pairs.npz "$@"
}

rows train.loss=mae
rows train.loss=huber train.delta=0.5
rows target.loss=gaussian
rows train.optimizer=sgd train.momentum=0.9 train.nesterov=true
rows train.optimizer=adamw train.decay=0.1 train.betas=[0.8,0.99]
rows train.clip=0.1
rows train.average=0.9
rows 'train.schedule=[{kind: warmup, length: 1, floor: 0.1}, {kind: exponential, factor: 0.5, period: 1}]'
rows 'train.schedule=[{kind: restarts, period: 1, factor: 2}]'
rows 'train.schedule=[{kind: steps, factor: 0.5, period: 1}]'
rows 'train.schedule=[{kind: plateau, factor: 0.5, patience: 1}]' train.lr=0.3
rows train.shuffle=blocks
rows model.kind=mlp model.width=8 train.augment.cond=3
rows model.kind=lie-neurons
rows model.depth=2 model.leak=0.1 model.form=trace
rows target.normalise=false
rows train.seed=5
compare settings

clouds() {
    rows_of clouds.yaml clouds.npz "$@"
}

clouds model.kind=messages
clouds model.kind=messages 'model.beside=[set]' model.depth=2
clouds model.kind=graph model.neighbours=3 model.sums=2
clouds model.kind=transformer model.width=8 model.heads=2
clouds model.kind=set model.groups=4 model.members=3
clouds model.kind=messages model.groups=4 model.members=3 model.dropout=0
compare kinds

# ---- many runs -------------------------------------------------------------------------------------------------------

say sweep numbers.yaml pairs.npz --out sweep --over model.width=4,6 --over train.lr=1e-2,1e-3 --set train.epochs=2 --threads 1 \
    --progress none
say fit numbers.yaml pairs.npz --out folds --folds 3 --set train.epochs=2 --threads 1 --kernels reference --progress none --no-check
say sweep numbers.yaml pairs.npz --out halving --over train.lr=1e-4..1e-2 --over model.width=4..8 --random 5 --halving \
    --set train.epochs=4 --threads 1 --progress none
told halving/report.html
say report numbers quantiles chains --out compared.html
say report numbers quantiles --json
told compared.html
compare many

# ---- splats and meshes -----------------------------------------------------------------------------------------------

{
    printf 'ply\nformat ascii 1.0\nelement vertex 80\n'
    for p in x y z opacity scale_0 scale_1 scale_2 rot_0 rot_1 rot_2 rot_3 f_dc_0 f_dc_1 f_dc_2 f_rest_0; do
        echo "property float $p"
    done
    echo end_header
    awk 'BEGIN { for (i = 0; i < 80; i++) print i % 5, i * 0.1, (i * i) % 7 / 7, (i % 9) / 2 - 2, -4 + i % 3, -3 + i % 4, -2.5,
        1, i % 3 / 3, 0, i % 2 / 2, i % 4 / 4, -i % 5 / 5, 0.5, 0 }'
} >eighty.ply
printf 'OFF\n4 2 0\n0 0 0\n2 0 0\n0 3 0\n0 0 4\n3 0 1 2\n3 0 1 3\n' >two.off
for file in eighty.ply two.off; do
    say splats info $file --report splats.html
    told splats.html
    say splats info $file --json
done
say splats convert eighty.ply --splats 64 --out eighty.npz
say data eighty.npz
say splats convert two.off --splats 64 --out two.npz
say data two.npz
compare splats

# ---- algebras --------------------------------------------------------------------------------------------------------

for name in so:3 sl:3 gl:2 sp:4 so:3,1 su:2 gl:2+so:3 u:2; do
    say algebra "$name"
done
say algebra sl:2 --json
compare algebras
# ---- help ------------------------------------------------------------------------------------------------------------

say --help
for command in algebra bench check data eval fit info predict report reproduce splats sweep; do
    say $command --help
done
for task in sp4 platonic pendulum jets drone splats gln; do
    say reproduce $task --help
done
say fit --print-spec
compare help
finish test_remembered
