#!/bin/sh
# test_reproduce.sh -- tests `reln reproduce`: small tables, made at once, and interrupted and resumed.
# usage: test_reproduce.sh RELN
set -u
reln=$1
. "$(dirname "$0")/program.sh"

# every row of both tables, in seconds
for task in sp4 platonic; do
    run 0 reproduce $task --scale smoke --threads 1 --out "$task"
    check "$task: without a terminal each run has a line" grep -q '^reln, seed 1$' err
    check "$task: ReLN is in the table" grep -q '^ReLN ' out
    for file in results.json metrics.csv report.html table.md models/reln-1.safetensors runs/best-1.json; do
        check "$task: $file is there" [ -s "$task/$file" ]
    done
    cp "$task/results.json" before
    run 0 reproduce $task --scale smoke --threads 2 --out "$task" --quiet
    check "$task: quiet is quiet" [ ! -s out ]
    check "$task: what was made before is taken as it is" cmp before "$task/results.json"
done

# finished runs by themselves
run 2 reproduce sp4 --scale smoke --finished --out empty
check "there are none" grep -q 'no run of sp4 with these settings is finished' err
mkdir -p some/runs
cp sp4/runs/best-1.json some/runs
run 0 reproduce sp4 --scale smoke --seeds 2 --finished --out some
check "one row, of one run" grep -q '^| Triple and powers (ours) .* 1 |$' some/table.md
check "and no other" [ "$(ls some/runs)" = best-1.json ]

# data are saved, also if all runs are finished
run 0 reproduce jets --scale smoke --models mass --out jets --quiet
run 0 reproduce jets --scale smoke --models mass --out jets --save saved
check "the run is taken as it is: $(cat err)" grep -q '1 runs, 1 of them made before' err
for set in train val test; do
    check "saved: $set" [ -s "saved/$set.npz" ]
done

# threads do not change a bit of it, nor do runs beside it
run 0 reproduce sp4 --scale smoke --models reln,best --threads 2 --out two --quiet
run 0 reproduce sp4 --scale smoke --models reln,best --threads 2 --jobs 2 --out beside --quiet
for model in reln best; do
    for folder in sp4 two beside; do
        grep "^$model,1" $folder/metrics.csv | cut -d , -f 1-4,6- >$folder.csv
    done
    check "$model: one thread or two" cmp sp4.csv two.csv
    check "$model: alone or not" cmp sp4.csv beside.csv
done

run 0 reproduce platonic --scale smoke --models best --seeds 2 --json --out json
check "JSON has the rows" grep -q '"rows": *\[{"model": *"best"' out
run 0 reproduce
check "the list has the tasks" grep -q '^platonic ' out
run 2 reproduce sp5
check "the nearest task" grep -q "no task 'sp5'; the nearest is sp4" err
run 2 reproduce sp4 --scale huge
run 2 reproduce sp4 --models reln,nothing --out none
run 2 reproduce sp4 --target other --out none
check "the words of an option" grep -q "target is 'other'; wanted one of code|paper" err
run 2 reproduce platonic --target code --out none
check "a task's options are its own" grep -q "unknown option '--target'" err
run 2 reproduce sp4 --tarjet=paper --out none
check "the nearest option is the task's" grep -q "unknown option '--tarjet=paper'; the nearest is --target" err
run 2 reproduce sp4 --out none --target
check "an option wants its value" grep -q 'reproduce: --target wants a value' err
run 2 reproduce --target code
run 0 reproduce gln --help
check "help of a task" grep -q -- '--group gl:3|gl:4' out
check "and its models" grep -q 'reln-center  *ReLN, centre apart' out
run 0 --version
check "the version has a commit" grep -qE '^reln [0-9.]+ \(([0-9a-f]+(-dirty)?|unknown)\)$' out
check "and so have records" grep -q "\"program\": \"$(sed -n 's/^reln //p' out)\"" sp4/runs/best-1.json
check "the version names the kernels" grep -qE '^kernels: (avx2|reference)$' out
run 4 reproduce sp4 --scale smoke --out /dev/null/x

# stopped: a checkpoint, the code of the signal, and it goes on from there
begin() { # begin FOLDER OPTION ...: a long run, until it is in training
    folder=$1
    shift
    "$reln" reproduce sp4 --scale full --models best --threads 1 --out "$folder" "$@" >out 2>err &
    pid=$!
    waited=0
    while [ ! -d "$folder/models" ] && [ $waited -lt 60 ]; do # signals are caught before it makes its folders
        sleep 1
        waited=$((waited + 1))
    done
    sleep 1
}
interrupt() { # interrupt SIGNAL CODE OPTION ...
    signal=$1
    code=$2
    shift 2
    begin stop "$@"
    kill -"$signal" $pid
    wait $pid
    got=$?
    check "$signal $*: exit code $got, wanted $code" [ "$got" -eq "$code" ]
    check "$signal $*: it says how to go on" grep -q 'the same command goes on' err
    check "$signal $*: there is a checkpoint" [ -s stop/runs/best-1.part0.safetensors ]
}
interrupt TERM 143 --seeds 1
interrupt INT 130 --seeds 1
interrupt TERM 143 --seeds 2 --jobs 2
check "TERM: of each run" [ -s stop/runs/best-2.part0.safetensors ]

# killed: the processes of its runs notice, and leave their checkpoints
begin kill --seeds 2 --jobs 2
waited=0
while [ "$(wc -w <"/proc/$pid/task/$pid/children")" -lt 2 ] && [ $waited -lt 60 ]; do # the data are made first
    sleep 1
    waited=$((waited + 1))
done
kill -KILL $pid
wait $pid
waited=0
while [ ! -s kill/runs/best-1.part0.safetensors ] || [ ! -s kill/runs/best-2.part0.safetensors ]; do
    [ $waited -lt 20 ] || break
    sleep 1
    waited=$((waited + 1))
done
check "KILL: its runs stop, with checkpoints, after $waited s" [ $waited -lt 20 ]

finish reproduce
