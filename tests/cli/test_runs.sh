#!/bin/sh
# test_runs.sh -- tests runs of `reln fit` that are killed, stopped, short of memory or disk, or have damaged files: the final weights
# are those of an undisturbed run, or one line gives the reason why there are none.
# usage: test_runs.sh RELN HELPER MAKE_DATA [KILLS]
set -u
reln=$1
helper=$2
make_data=$3
kills=${4:-${RELN_TEST_KILLS:-12}}
. "$(dirname "$0")/program.sh"
trap 'umount "$dir/disk" 2>/dev/null; rm -rf "$dir"' EXIT

spec() { # spec EPOCHS CHECKPOINT: in seconds
    cat <<EOF
symmetry: gl:3
inputs:
  - {name: X, as: matrix}
  - {name: Y, as: matrix}
target: {name: y, as: scalar}
model: {width: 8, depth: 1}
train: {epochs: $1, batch: 40, lr: 5e-3, schedule: cosine, clip: 1, validation: 0.2, checkpoint: $2}
EOF
}

"$make_data" gl3 500 1 data.npz || exit 1
spec 60 60 >calm.yaml
spec 60 0.001 >often.yaml # after every step: most moments are moments of a save
spec 60 0.05 >some.yaml
spec 100000 60 >long.yaml

# ---- any number of threads ------------------------------------------------------------------------------------------

for threads in 1 2 3 7; do
    run 0 fit calm.yaml data.npz --out threads-$threads --threads $threads --quiet
    check "$threads threads: the same bits" cmp threads-1/model.safetensors threads-$threads/model.safetensors
done

# another seed is another model: the comparison above can see a difference
run 0 fit calm.yaml data.npz --out seed --threads 1 --seed 2 --quiet
cmp -s threads-1/model.safetensors seed/model.safetensors && check "seed 2 gives the weights of seed 1" false

# ---- killed at any moment -------------------------------------------------------------------------------------------

start_or_resume() { # start_or_resume SPEC THREADS: in the folder killed
    if [ -e killed/checkpoint.safetensors ] || [ -e killed/checkpoint.safetensors.previous ]; then
        exec "$reln" fit --resume killed --threads "$2" --quiet >out 2>err
    fi
    exec "$reln" fit "$1.yaml" data.npz --out killed --threads "$2" --quiet >out 2>err
}

finished() { # finished SPEC: what is in the folder killed is what was to be
    check "$1, killed and resumed: the same bits" cmp "$1/model.safetensors" killed/model.safetensors
    check "$1, killed and resumed: no temporary file is left" [ -z "$(ls killed | grep tmp)" ]
    rm -rf killed
    ends=$((ends + 1))
}

readable() { # whatever happened, the folder of a run that has begun gives a model, and its curves are whole lines
    [ -e killed/checkpoint.safetensors ] || [ -e killed/checkpoint.safetensors.previous ] || return
    run 0 eval killed data.npz --json
    json samples=500 loss
    [ ! -e killed/metrics.csv ] ||
        check "metrics.csv: whole lines" awk -F, 'NF != 10 { exit 1 }' killed/metrics.csv
}

hits=0
ends=0
torn=0
for name in often some; do
    run 0 fit $name.yaml data.npz --out $name --threads 1 --quiet
    wanted=$((hits + (kills + 1) / 2))
    tries=0
    while [ $hits -lt $wanted ] && [ $tries -lt $((20 * kills)) ]; do
        tries=$((tries + 1))
        start_or_resume $name $((tries % 3 + 1)) &
        pid=$!
        sleep "$(awk -v s=$tries -v k="$$" 'BEGIN { srand(1000 * k + s); printf "%.4f", 0.01 + 0.2 * rand() }')"
        kill -9 $pid 2>/dev/null
        wait $pid 2>/dev/null
        got=$?
        case $got in
        137)
            hits=$((hits + 1))
            readable
            ls killed 2>/dev/null | grep -q tmp && torn=$((torn + 1))
            ;;
        0) finished $name ;;
        *) check "$name: exit code $got of a run that was to be killed" false ;;
        esac
    done
    (start_or_resume $name 1)
    check "$name: the last resume ends well" [ $? -eq 0 ]
    finished $name
done
check "$hits kills, wanted $kills" [ $hits -ge "$kills" ]
echo "runs: $hits kills, $torn of them while a file was written; $ends runs ended, all with the same bits"

# ---- asked to stop --------------------------------------------------------------------------------------------------

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

stop() { # stop SIGNAL CODE [AGAIN]: with AGAIN the signal comes twice, as timeout(1) sends it to the process and to its group
    rm -rf stopped
    "$reln" fit long.yaml data.npz --out stopped --threads 2 >out 2>err &
    pid=$!
    while [ ! -e stopped/checkpoint.safetensors ]; do sleep 0.02; done
    sleep 0.2
    began=$(milliseconds)
    kill -"$1" $pid
    [ -z "${3:-}" ] || sleep 0.01
    [ -z "${3:-}" ] || kill -"$1" $pid 2>/dev/null
    wait $pid
    got=$?
    took=$(($(milliseconds) - began))
    check "$1: exit code $got, wanted $2" [ $got -eq "$2" ]
    check "$1: took $took ms" [ $took -lt 2000 ]
    check "$1: says how to go on" grep -q '^reln: stopped at step [1-9][0-9]* of .*reln fit --resume stopped' err
    check "$1: names the model" grep -q '^reln: the best model so far, of step [1-9][0-9]*, is in stopped$' err
    check "$1: the curves so far" [ "$(wc -l <stopped/metrics.csv)" -gt 1 ]
    check "$1: the page so far" grep -q 'stopped; it can be resumed' stopped/report.html
    cp stopped/results.json out
    json 'end="stopped; it can be resumed"' best_step validation spec
    run 0 eval stopped data.npz --json
    json samples=500 loss
}
stop TERM 143
stop INT 130
stop TERM 143 again
stop INT 130 again

# stopped twice, and the rest: the same bits
spec 400 60 >middle.yaml
run 0 fit middle.yaml data.npz --out middle --threads 1 --quiet
rm -rf stopped
"$reln" fit middle.yaml data.npz --out stopped --threads 2 >out 2>err &
pid=$!
while [ ! -e stopped/checkpoint.safetensors ]; do sleep 0.02; done
sleep 0.1
kill -INT $pid
wait $pid
check "interrupted, or too late" [ $? -eq 130 ]
mkdir elsewhere
(cd elsewhere && "$reln" fit --resume ../stopped --quiet 2>../err) # from another place
check "resumed after SIGINT: the same bits" cmp middle/model.safetensors stopped/model.safetensors

# ---- one run in a folder --------------------------------------------------------------------------------------------

"$reln" fit long.yaml data.npz --out held --threads 1 --quiet &
pid=$!
while [ ! -e held/checkpoint.safetensors ]; do sleep 0.02; done
refused 4 'another process, number [0-9]*, is working in this folder' fit --resume held
refused 3 'held holds a run already; resume that one, or take another folder' fit calm.yaml data.npz --out held
kill -9 $pid
wait $pid 2>/dev/null
check "the lock went with its process" [ -e held/.reln-lock ]
refused 3 'threads-1 holds a run already' fit calm.yaml data.npz --out threads-1
mkdir nothing
refused 3 'nothing: no checkpoint in this folder' fit --resume nothing
check "no lock where there is no run" [ ! -e nothing/.reln-lock ]
refused 4 'absent: no such folder' fit --resume absent

# moved away, and another run in its place: nothing of the first is written into it
spec 100000 0.05 >moving.yaml
"$reln" fit moving.yaml data.npz --out moving --threads 1 --quiet 2>err &
pid=$!
while [ ! -e moving/checkpoint.safetensors.previous ]; do sleep 0.02; done
mv moving moved
cp -r threads-1 moving
wait $pid
check "a folder that was replaced: exit code $?, wanted 4" [ $? -eq 4 ]
check "a folder that was replaced: '$(cat err)'" grep -q '^reln: moving: the folder was moved away or replaced while a run' err
check "the run in its place is as it was" cmp threads-1/checkpoint.safetensors moving/checkpoint.safetensors

# ---- data that changed ----------------------------------------------------------------------------------------------

"$make_data" gl3 500 1 own.npz
"$make_data" gl3 100 3 judge.npz
sed 's/validation: 0.2/validation: judge.npz/' long.yaml >judged.yaml
"$reln" fit judged.yaml own.npz --out changed --threads 1 --quiet 2>err &
pid=$!
while [ ! -e changed/checkpoint.safetensors ]; do sleep 0.02; done
kill -TERM $pid
wait $pid
cp changed/checkpoint.safetensors before
"$make_data" gl3 500 2 own.npz
refused 3 'own.npz: the arrays are not those that the run in changed began with' fit --resume changed
"$make_data" gl3 500 1 own.npz
"$make_data" gl3 100 4 judge.npz
refused 3 'the arrays are not those that the run in changed began with' fit --resume changed
rm own.npz
refused 4 'own.npz: cannot open: No such file' fit --resume changed
check "the checkpoint is as it was" cmp before changed/checkpoint.safetensors

# ---- runs of earlier programs ------------------------------------------------------------------------------------------

# A checkpoint that reln 0.1.0 wrote before runs of tasks had the same layout. Bits are those of the machine's kernels.
golden=$(dirname "$0")/../golden/checkpoints
cp "$golden/fit.npz" "$golden/fit.yaml" .
run 0 fit fit.yaml fit.npz --out whole --threads 1 --quiet
mkdir earlier
cp "$golden/fit.safetensors" earlier/checkpoint.safetensors
"$helper" retell earlier/checkpoint.safetensors reln.data /tmp/reln-golden/data.npz "$PWD/fit.npz"
run 0 fit --resume earlier --threads 2 --json
json 'end="done"'
if grep -q avx2 /proc/cpuinfo; then
    check "resumed from an earlier program: the same bits" cmp whole/model.safetensors earlier/model.safetensors
fi

# ---- files that rot -------------------------------------------------------------------------------------------------

spoil() { cp -r "threads-1" "$1"; }
spoil rotten
"$helper" flip rotten/checkpoint.safetensors -5
run 0 fit --resume rotten --quiet
check "a note about the checkpoint" grep -q '^reln: note: .*checkpoint.safetensors: .*; the checkpoint before it is taken' err
check "from the checkpoint before: the same bits" cmp threads-1/model.safetensors rotten/model.safetensors
spoil short
truncate -s 1000 short/checkpoint.safetensors
run 0 fit --resume short --quiet
check "a cut checkpoint: the same bits" cmp threads-1/model.safetensors short/model.safetensors
spoil gone
rm gone/checkpoint.safetensors
run 0 fit --resume gone --quiet
check "no checkpoint but the one before: the same bits" cmp threads-1/model.safetensors gone/model.safetensors
spoil dead
"$helper" flip dead/checkpoint.safetensors -5
"$helper" flip dead/checkpoint.safetensors.previous -5
refused 3 'checkpoint.safetensors' fit --resume dead

cp threads-1/model.safetensors model.safetensors
run 0 eval model.safetensors data.npz --json
"$helper" flip model.safetensors -1
for command in "eval model.safetensors data.npz" "predict model.safetensors data.npz" "check model.safetensors" \
    "info model.safetensors"; do
    # shellcheck disable=SC2086
    refused 3 'model.safetensors: .*checksum' $command
done
cp threads-1/model.safetensors newer.safetensors
"$helper" retell newer.safetensors reln.format 1 2
refused 3 'newer.safetensors: format 2; this is reln [0-9.]*, which reads format 1' info newer.safetensors
cp threads-1/checkpoint.safetensors kind.safetensors
refused 3 'kind.safetensors: a checkpoint; a model was wanted' eval kind.safetensors data.npz
refused 3 'data.npz: no .safetensors, or broken: header' eval data.npz data.npz
refused 3 'calm.yaml: no .safetensors, or broken: header' check calm.yaml
refused 4 'nothing/model.safetensors: cannot open' check nothing
refused 4 'absent: cannot open' info absent

# ---- disks that are full or closed ------------------------------------------------------------------------------------

# a checkpoint is larger than the limit, everything before is smaller
(
    trap '' XFSZ
    ulimit -f 8 # blocks of 512 bytes
    "$reln" fit calm.yaml data.npz --out full --threads 1 >out 2>err
)
check "no room for the first checkpoint: exit code $?, wanted 4" [ $? -eq 4 ]
check "no room for the first checkpoint: '$(cat err)'" grep -q '^reln: full/checkpoint.safetensors: cannot write: File too large$' err
check "no part of it is left" [ -z "$(ls full | grep -v spec.yaml)" ]

spoil later
cp later/checkpoint.safetensors before
rm later/model.safetensors later/report.html
(
    trap '' XFSZ
    ulimit -f 8
    "$reln" fit --resume later --threads 1 >out 2>err
)
check "no room for the next checkpoint: exit code $?, wanted 4" [ $? -eq 4 ]
check "no room for the next checkpoint: one line" [ "$(wc -l <err)" -eq 1 ]
check "the old checkpoint is intact" cmp before later/checkpoint.safetensors
run 0 fit --resume later --quiet
check "with room again: the same bits" cmp threads-1/model.safetensors later/model.safetensors

"$reln" info threads-1 >/dev/full 2>err
check "no room for standard output: exit code $?, wanted 4" [ $? -eq 4 ]
check "no room for standard output: '$(cat err)'" grep -q '^reln: cannot write standard output: No space left' err

# a real disk that is full, where one may be made
mkdir disk
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=64k tmpfs disk 2>/dev/null; then
    sed 's/width: 8/width: 64/' calm.yaml >large.yaml
    refused 4 'checkpoint.safetensors: cannot write: No space left on device' fit large.yaml data.npz --out disk/run
    check "full disk: no part of it is left" [ -z "$(ls disk/run | grep -v spec.yaml)" ]
    umount disk
fi

# root may write anywhere: a folder below a file, and for others one without the permission
refused 4 'data.npz/run: cannot make the folder: Not a directory' fit calm.yaml data.npz --out data.npz/run
if [ "$(id -u)" -ne 0 ]; then
    spoil closed
    chmod a-w closed
    refused 4 'closed/checkpoint.safetensors: cannot write: Permission denied' fit --resume closed
    chmod u+w closed
    check "a closed folder: the checkpoint is intact" cmp threads-1/checkpoint.safetensors closed/checkpoint.safetensors
elif mount --bind nothing disk 2>/dev/null; then
    cp -r threads-1 nothing/run
    if mount -o remount,bind,ro disk 2>/dev/null; then
        refused 4 'disk/run: cannot .*: Read-only file system' fit --resume disk/run
        refused 4 'disk/new: cannot make the folder: Read-only file system' fit calm.yaml data.npz --out disk/new
    fi
    umount disk
fi

finish runs
