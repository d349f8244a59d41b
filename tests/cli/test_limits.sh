#!/bin/sh
# test_limits.sh -- tests the program with little memory, stack or disk: it prints one line, exits with the right code, and does not hang.
# usage: test_limits.sh RELN HELPER MAKE_DATA
set -u
reln=$1
helper=$2
make_data=$3
. "$(dirname "$0")/program.sh"

limited() { # limited CODES LIMIT ARGUMENT ...: under `ulimit LIMIT`, within ten seconds
    codes=$1
    limit=$2
    shift 2
    call="$* (ulimit $limit)"
    lines=$(timeout -s KILL 10 sh -c "ulimit $limit"' && exec "$@"' sh "$reln" "$@" 2>&1 >/dev/null </dev/null)
    got=$?
    echo "$lines" >err # from a pipe: a file has limits as well
    check "ulimit $limit: exit code $got, wanted one of $codes" sh -c "case ' $codes ' in *' $got '*) ;; *) false; esac"
    [ $got -eq 0 ] || check "ulimit $limit: one line" sh -c '[ "$(wc -l <err)" -eq 1 ] && grep -q "^reln: " err'
}

"$make_data" gl3 100 1 data.npz || exit 1
cat >spec.yaml <<EOF
symmetry: gl:3
inputs: [{name: X, as: matrix}, {name: Y, as: matrix}]
target: {name: y, as: scalar}
model: {width: 4, depth: 1}
train: {epochs: 1, batch: 50}
EOF
run 0 fit spec.yaml data.npz --out model --quiet

# ---- memory: the loader, OpenBLAS's buffer, threads and the heap each come to their limit ----------------------------
# (a sanitizer takes more addresses than these for itself)

if ! nm "$reln" 2>/dev/null | grep -q __asan_init; then
    for mb in 20 30 45 60 80 110 140 180 220 260 300 340 420 600; do
        rm -rf run
        limited "0 5" "-v $((mb * 1024))" fit spec.yaml data.npz --out run --quiet
        [ $mb -gt 60 ] || check "$mb MB are not enough" [ $got -eq 5 ]
        [ $mb -lt 600 ] || check "$mb MB are enough" [ $got -eq 0 ]
    done
    limited "0 5" "-v 102400" eval model data.npz
    limited "0 5" "-v 102400" algebra gl:3
    limited "0" "-v 30720" --help
    for kb in 32 64 128; do
        limited 5 "-s $kb" fit spec.yaml data.npz --out run2 --quiet
    done
    limited 0 "-s 256" fit spec.yaml data.npz --out run2 --quiet --threads 4
fi

# ---- files -----------------------------------------------------------------------------------------------------------

limited 4 "-f 0" fit spec.yaml data.npz --out run3 --quiet
check "the line says why" grep -q "File too large" err
limited 4 "-n 5" fit spec.yaml data.npz --out run4 --quiet
check "the line says why" grep -q "Too many open files" err

# ---- streams ---------------------------------------------------------------------------------------------------------

call="with a stream closed"
timeout -s KILL 10 "$reln" eval model data.npz >&- 2>err
check "no standard output: code 4" [ $? -eq 4 ]
check "no standard output: a line" grep -q "cannot write standard output" err
timeout -s KILL 10 "$reln" fit spec.yaml data.npz --out quiet --quiet <&- >&- 2>&-
check "no streams, nothing to say: done" [ $? -eq 0 ]
check "no streams: the same model" cmp quiet/model.safetensors model/model.safetensors
timeout -s KILL 10 "$reln" eval model missing.npz <&- >&- 2>&-
check "no streams, no data: code 4" [ $? -eq 4 ]
if [ -w /dev/full ]; then
    for option in "" --json; do
        timeout -s KILL 10 "$reln" eval model data.npz $option >/dev/full 2>err
        check "a full disk: code 4" [ $? -eq 4 ]
        check "a full disk: a line" grep -q "No space left" err
    done
fi

# ---- surroundings ----------------------------------------------------------------------------------------------------

run 0 eval model data.npz --json
cp out plain
env -i "$reln" eval model data.npz --json >out 2>err
check "no environment: the same numbers" cmp out plain
mkdir locales
if localedef -i de_DE -f UTF-8 locales/de_DE.UTF-8 >/dev/null 2>&1; then
    LOCPATH=$dir/locales LC_ALL=de_DE.UTF-8 "$reln" eval model data.npz --json >out 2>err
    check "decimal commas: the same numbers" cmp out plain
fi
long=$(printf '%0100000d' 9 | tr 0 9)
huge() { # huge CODE PATTERN ARGUMENT ...: refused, in a line that is not huge
    call="with an argument of 100 kB"
    "$reln" "$3" ${4:+"$4"} ${5:+"$5"} >out 2>err
    check "a huge argument: exit code $1" [ $? -eq "$1" ]
    check "a huge argument: one short line" sh -c '[ "$(wc -l <err)" -eq 1 ] && [ "$(wc -c <err)" -le 1100 ]'
    check "a huge argument: $2" grep -q "$2" err
}
huge 2 "unknown command" "$long"
huge 2 "unknown option" fit --"$long"
huge 4 "cannot open" eval model "$long"
huge 3 "gl:" algebra "gl:$long"
finish limits
