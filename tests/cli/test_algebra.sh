#!/bin/sh
# test_algebra.sh -- tests `reln algebra`: results, exit codes, and one line on stderr for every error.
# usage: test_algebra.sh RELN HELPER
set -u
reln=$1
helper=$2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
"$helper" make "$dir" || exit 1
checks=0
failures=0

problem() {
    failures=$((failures + 1))
    {
        echo "FAILED: reln $call: $1"
        sed 's/^/    stderr: /' "$dir/err"
    } | cut -c 1-400
}

# run CODE LINES ARGUMENT ...: exit code and the number of lines on stderr are these
run() {
    code=$1 lines=$2
    shift 2
    call=$*
    checks=$((checks + 1))
    "$reln" "$@" >"$dir/out" 2>"$dir/err"
    got=$?
    [ "$got" -eq "$code" ] || problem "exit code $got, wanted $code"
    got=$(wc -l <"$dir/err")
    [ "$got" -eq "$lines" ] || problem "$got lines on stderr, wanted $lines"
    grep -v '^reln: ' "$dir/err" >/dev/null && problem "a line that does not begin with 'reln: '"
}

# says TEXT: stdout of the last run has it;  complains TEXT: its stderr
says() {
    grep -F -e "$1" "$dir/out" >/dev/null || problem "'$1' is not on stdout"
}
complains() {
    grep -F -e "$1" "$dir/err" >/dev/null || problem "'$1' is not on stderr"
}
silent() {
    [ ! -s "$dir/out" ] || problem "stdout is not empty"
}
json() {
    "$helper" json "$@" <"$dir/out" 2>"$dir/why" || problem "JSON: $(cat "$dir/why")"
}

# good NAME CLAIM ...: an algebra that is accepted, and what its JSON says
good() {
    name=$1
    shift
    run 0 0 algebra "$name"
    says "$name"
    run 0 0 algebra "$name" --json
    json name=\""$name"\" reductive=true reason=\"\" condition closure_residual structure_nnz form "$@"
}

# bad CODE TEXT ARGUMENT ...: unusable input, in one line, and in JSON too
bad() {
    code=$1 text=$2
    shift 2
    run "$code" 1 algebra "$@"
    complains "$text"
    silent
    run "$code" 1 algebra --json "$@"
    complains "$text"
    json error reason reductive=null
}

# usage TEXT ARGUMENT ...: a wrong command line
usage() {
    text=$1
    shift
    run 2 1 "$@"
    complains "$text"
    silent
}

# refused TEXT FILE CLAIM ...: a basis that was analysed and is no reductive algebra
refused() {
    text=$1 file=$2
    shift 2
    run 3 1 algebra --basis "$file"
    complains "$text"
    says dimension
    run 3 1 algebra --json --basis="$file"
    complains "$text"
    json reason form=null "$@"
}

good gl:3 n=3 dim=9 center_dim=1 derived_dim=8 semisimple=false center_semisimple=true killing_rank=8 \
    'form_signature=[6, 3, 0]'
good sl:2 n=2 dim=3 center_dim=0 derived_dim=3 semisimple=true killing_rank=3 'form_signature=[2, 1, 0]'
good so:3 n=3 dim=3 center_dim=0 derived_dim=3 semisimple=true 'form_signature=[0, 3, 0]'
good so:1,3 n=4 dim=6 center_dim=0 semisimple=true 'form_signature=[3, 3, 0]'
good sp:4 n=4 dim=10 center_dim=0 semisimple=true 'form_signature=[6, 4, 0]'
good gl:2+so:3 n=5 dim=7 center_dim=1 semisimple=false

run 0 0 algebra gl:3
says '  5  .  .  . -1'
run 0 0 algebra gl:4
says '16 x 16'
run 0 0 algebra gl:1 --json
json 'form_signature=[1, 0, 0]' center_dim=1 killing_rank=0
run 0 0 algebra --seed 7 --threads=2 --json -- gl:2
json dim=4

for file in sl2 sl2-f4 sl2-i4-columns; do
    run 0 0 algebra --basis "$dir/$file.npy" --json
    json n=2 dim=3 reductive=true semisimple=true 'form_signature=[2, 1, 0]'
    run 0 0 algebra --basis "$dir/$file.npy"
    says "$dir/$file.npy"
done

# what rounding leaves of a zero of the form is a point
run 0 0 algebra --basis "$dir/so3-turned.npy"
got=$(sed -n '/^form B~/,$p' "$dir/out" | sed -n '2,4p' | tr -s ' ' | tr '\n' ';')
[ "$got" = ' -2.42 . .; . -0.98 .; . . -3.38;' ] || problem "the form is '$got'"

refused heisenberg.npy "$dir/heisenberg.npy" n=3 dim=3 center_dim=1 derived_dim=1 reductive=false \
    semisimple=false
# numbers of single precision are read with its rounding; the same numbers in double precision are exact, and not closed
run 0 0 algebra --basis "$dir/so3-f4.npy" --json
json n=3 dim=3 reductive=true semisimple=true 'form_signature=[0, 3, 0]'
refused so3-widened.npy "$dir/so3-widened.npy" n=3 dim=3 closed=false
refused open.npy "$dir/open.npy" n=2 dim=2 closed=false center_dim=null
refused dependent.npy "$dir/dependent.npy" n=2 dim=2 independent=false

bad 4 'No such file or directory' --basis "$dir/missing.npy"
bad 4 'No such file or directory' --basis ''
bad 4 'Is a directory' --basis "$dir"
bad 4 'not a regular file' --basis /dev/null
bad 3 'needs 96 bytes, 95 follow' --basis "$dir/truncated.npy"
bad 3 'needs 96 bytes, 97 follow' --basis "$dir/trailing.npy"
bad 3 'too large' --basis "$dir/claims-much.npy"
bad 3 'complex' --basis "$dir/complex.npy"
bad 3 'python object' --basis "$dir/object.npy"
bad 3 'text' --basis "$dir/string.npy"
bad 3 "lacks the key 'shape'" --basis "$dir/no-shape.npy"
bad 3 '0 axes; wanted 3' --basis "$dir/rank-0.npy"
bad 3 '2 axes; wanted 3' --basis "$dir/rank-2.npy"
bad 3 '2 x 3; wanted square' --basis "$dir/not-square.npy"
bad 3 'cannot be independent; at most 4' --basis "$dir/too-many.npy"
bad 3 'empty' --basis "$dir/no-matrices.npy"
bad 3 'empty' --basis "$dir/no-size.npy"
bad 3 '1 x 65; wanted square' --basis "$dir/too-wide.npy"
bad 3 'element (1, 0, 1) is nan' --basis "$dir/nan.npy"
bad 3 'element (1, 0, 1) is -inf' --basis "$dir/infinite.npy"
bad 3 'tiny.npy: E_1 has norm 1e-200' --basis "$dir/tiny.npy"
bad 3 '0 bytes, too short' --basis "$dir/empty.npy"
bad 3 'not a .npy file' --basis "$dir/text.npy"
newline=$(printf 'a\nb')
bad 4 'a?b' --basis "$newline"
latin=$(printf '\344')
bad 4 'No such file' --basis "$latin"

refused zero.npy "$dir/zero.npy" n=2 dim=1 independent=false

for name in nonsense '' gl gl: gl:0 gl:-1 gl:x gl:99999999999 gl:65 gl:1e3 so:3, so:,3 so:0,0 sp:3 +gl:2 gl:2+ \
    gl:2++gl:2 'gl:3 ' ' gl:3' gl:3x GL:3 "$newline" "$latin" \
    gl:2+gl:2+gl:2+gl:2+gl:2+gl:2+gl:2+gl:2+gl:2+gl:2+gl:2+gl:2+gl:2+gl:2+gl:2+gl:2+gl:2+gl:2+gl:2+gl:2+gl:64; do
    bad 3 '' "$name"
done
bad 3 '' -- --json
long=$(printf '%5000s' '' | tr ' ' g)
bad 3 'ggg' "$long"
bad 4 'File name too long' --basis "$long"

usage 'no command'
usage "unknown command 'algbera'; the nearest is algebra" algbera
usage "unknown command ''" ''
usage "unknown option '--verson'; the nearest is --version" --verson
usage 'wanted a name' algebra
usage 'wanted a name' algebra --json
usage 'exclude each other' algebra gl:3 --basis "$dir/sl2.npy"
usage 'one argument too many' algebra gl:3 gl:2
usage "unknown option '--jason'; the nearest is --json" algebra gl:3 --jason
usage "unknown option '--bases=x'; the nearest is --basis" algebra --bases=x
usage "unknown option '-j'" algebra gl:3 -j
usage "there are --basis, " algebra "--$long"
usage '--basis wants a value' algebra --basis
usage '--basis wants a value' algebra --basis --json
usage '--json takes no value' algebra gl:3 --json=yes
usage "--threads is '0'" algebra gl:3 --threads 0
usage "--threads is 'two'" algebra gl:3 --threads two
usage "--seed is '-1'" algebra gl:3 --seed -1
usage "--seed is ''" algebra gl:3 --seed=
usage "--seed is '18446744073709551616'" algebra gl:3 --seed 18446744073709551616
usage "--seed is ' 1'" algebra gl:3 --seed ' 1'
usage "--seed is '7x'" algebra gl:3 --seed 7x
usage "--seed is '1e3'" algebra gl:3 --seed 1e3
usage "--threads is '0'" algebra gl:3 --threads 0
usage "--threads is '1025'" algebra gl:3 --threads 1025

run 0 0 --help
says 'exit codes'
run 0 0 -h
run 0 0 --version
says 'reln '
run 0 0 algebra --help
says 'examples:'
says '--basis FILE'
run 0 0 algebra -h

# output that cannot be written is an error, whatever the command
if [ -w /dev/full ]; then
    for arguments in --help --version 'algebra gl:3' 'algebra gl:3 --json' 'algebra gl:12 --json' 'algebra --help'; do
        call="$arguments >/dev/full"
        checks=$((checks + 1))
        # shellcheck disable=SC2086
        "$reln" $arguments >/dev/full 2>"$dir/err"
        got=$?
        [ "$got" -eq 4 ] || problem "exit code $got, wanted 4"
        [ "$(wc -l <"$dir/err")" -eq 1 ] || problem "wanted one line on stderr"
        complains 'cannot write standard output'
    done
fi
call='algebra gl:3 >&-'
"$reln" algebra gl:3 >&- 2>"$dir/err"
[ $? -eq 4 ] || problem 'closed stdout: wanted exit code 4'

# too little memory for the file; sanitizers need more address space than that and skip this
limit=700000
if { (ulimit -v $limit && "$reln" --version); } >/dev/null 2>&1; then
    call="algebra --basis huge.npy with $limit KiB"
    checks=$((checks + 1))
    (ulimit -v $limit && exec "$reln" algebra --basis "$dir/huge.npy" --json) >"$dir/out" 2>"$dir/err"
    got=$?
    [ "$got" -eq 5 ] || problem "exit code $got, wanted 5"
    complains 'out of memory'
    json error reductive=null
fi

echo "$checks checks, $failures failures"
[ "$failures" -eq 0 ]
