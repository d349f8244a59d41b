#!/bin/sh
# test_reproduce.sh -- `reln reproduce` from outside: small tables, taken up again, interrupted.
# usage: test_reproduce.sh RELN
set -u
reln=$1
. "$(dirname "$0")/program.sh"

# every row of both tables, in seconds
for task in sp4 platonic; do
    run 0 reproduce $task --scale smoke --threads 1 --out "$task"
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

# threads do not change a bit of it
run 0 reproduce sp4 --scale smoke --models reln,best --threads 2 --out two --quiet
for model in reln best; do
    grep "^$model,1" sp4/metrics.csv | cut -d , -f 1-4,6- >one.csv
    grep "^$model,1" two/metrics.csv | cut -d , -f 1-4,6- >two.csv
    check "$model: one thread or two" cmp one.csv two.csv
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
run 2 reproduce platonic --target code --out none
run 4 reproduce sp4 --scale smoke --out /dev/null/x

# stopped: a checkpoint, the code of the signal, and it goes on from there
interrupt() { # interrupt SIGNAL CODE
    "$reln" reproduce sp4 --scale full --models best --seeds 1 --threads 1 --out stop >out 2>err &
    pid=$!
    waited=0
    while [ ! -d stop/models ] && [ $waited -lt 60 ]; do # signals are caught before it makes its folders
        sleep 1
        waited=$((waited + 1))
    done
    sleep 1
    kill -"$1" $pid
    wait $pid
    got=$?
    check "$1: exit code $got, wanted $2" [ "$got" -eq "$2" ]
    check "$1: it says how to go on" grep -q 'the same command goes on' err
    check "$1: there is a checkpoint" [ -s stop/runs/best-1.part0.safetensors ]
}
interrupt TERM 143
interrupt INT 130

finish reproduce
