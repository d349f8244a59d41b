#!/bin/sh
# test_reproduce.sh -- `reln reproduce` from outside: small tables, taken up again, interrupted.
# usage: test_reproduce.sh RELN
set -u
reln=$1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failures=0

check() { # check WHAT COMMAND ...: the command succeeds
    what=$1
    shift
    "$@" >/dev/null 2>&1 && return
    failures=$((failures + 1))
    echo "FAILED: $what"
    sed 's/^/    /' "$dir/err"
}

run() { # run CODE ARGUMENT ...
    code=$1
    shift
    "$reln" reproduce "$@" >"$dir/out" 2>"$dir/err"
    got=$?
    check "reproduce $*: exit code $got, wanted $code" [ "$got" -eq "$code" ]
}

# every row of both tables, in seconds
for task in sp4 platonic; do
    run 0 $task --scale smoke --threads 1 --out "$dir/$task"
    check "$task: ReLN is in the table" grep -q '^ReLN ' "$dir/out"
    for file in results.json metrics.csv report.html table.md models/reln-1.safetensors runs/best-1.json; do
        check "$task: $file is there" [ -s "$dir/$task/$file" ]
    done
    cp "$dir/$task/results.json" "$dir/before"
    run 0 $task --scale smoke --threads 2 --out "$dir/$task" --quiet
    check "$task: quiet is quiet" [ ! -s "$dir/out" ]
    check "$task: what was made before is taken as it is" cmp "$dir/before" "$dir/$task/results.json"
done

# finished runs by themselves
run 2 sp4 --scale smoke --finished --out "$dir/empty"
check "there are none" grep -q 'no run of sp4 with these settings is finished' "$dir/err"
mkdir -p "$dir/some/runs"
cp "$dir/sp4/runs/best-1.json" "$dir/some/runs"
run 0 sp4 --scale smoke --seeds 2 --finished --out "$dir/some"
check "one row, of one run" grep -q '^| Triple and powers (ours) .* 1 |$' "$dir/some/table.md"
check "and no other" [ "$(ls "$dir/some/runs")" = best-1.json ]

# threads do not change a bit of it
run 0 sp4 --scale smoke --models reln,best --threads 2 --out "$dir/two" --quiet
for model in reln best; do
    grep "^$model,1" "$dir/sp4/metrics.csv" | cut -d , -f 1-4,6- >"$dir/one.csv"
    grep "^$model,1" "$dir/two/metrics.csv" | cut -d , -f 1-4,6- >"$dir/two.csv"
    check "$model: one thread or two" cmp "$dir/one.csv" "$dir/two.csv"
done

run 0 platonic --scale smoke --models best --seeds 2 --json --out "$dir/json"
check "JSON has the rows" grep -q '"rows": *\[{"model": *"best"' "$dir/out"
run 0
check "the list has the tasks" grep -q '^platonic ' "$dir/out"
run 2 sp5
check "the nearest task" grep -q "no task 'sp5'; the nearest is sp4" "$dir/err"
run 2 sp4 --scale huge
run 2 sp4 --models reln,nothing --out "$dir/none"
run 2 sp4 --target other --out "$dir/none"
run 2 platonic --target code --out "$dir/none"
run 4 sp4 --scale smoke --out /dev/null/x

# stopped: a checkpoint, the code of the signal, and it goes on from there
interrupt() { # interrupt SIGNAL CODE
    "$reln" reproduce sp4 --scale full --models best --seeds 1 --threads 1 --out "$dir/stop" >"$dir/out" 2>"$dir/err" &
    pid=$!
    waited=0
    while [ ! -d "$dir/stop/models" ] && [ $waited -lt 60 ]; do # signals are caught before it makes its folders
        sleep 1
        waited=$((waited + 1))
    done
    sleep 1
    kill -"$1" $pid
    wait $pid
    got=$?
    check "$1: exit code $got, wanted $2" [ "$got" -eq "$2" ]
    check "$1: it says how to go on" grep -q 'the same command goes on' "$dir/err"
    check "$1: there is a checkpoint" [ -s "$dir/stop/runs/best-1.part0.safetensors" ]
}
interrupt TERM 143
interrupt INT 130

[ $failures -eq 0 ] && echo "reproduce: all is well"
exit $((failures > 0))
