# program.sh -- helpers of the tests of the program. Source it with the path of the program in $reln and of the helper in $helper.
# The test then runs in a new empty folder, $dir, which is removed at its end. The files out and err have the last output of the
# program. A test ends with `finish NAME`.
failures=0
call=
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

problem() { # problem WHAT
    failures=$((failures + 1))
    echo "FAILED: $1${call:+ (last: reln $call)}"
    [ ! -f err ] || cut -c 1-400 err | sed 's/^/    /'
}

check() { # check WHAT COMMAND ...: the command succeeds
    what=$1
    shift
    "$@" >/dev/null 2>&1 || problem "$what"
}

run() { # run CODE ARGUMENT ...
    code=$1
    shift
    call=$*
    "$reln" "$@" >out 2>err
    got=$?
    check "reln $*: exit code $got, wanted $code" [ "$got" -eq "$code" ]
}

json() { # json KEY[=VALUE] ...: of what was printed
    check "JSON has $*: $(cut -c 1-1000 out)" sh -c '"$@" <out' sh "$helper" json "$@"
}

refused() { # refused CODE PATTERN ARGUMENT ...: one line on stderr that matches, nothing on stdout
    code=$1
    pattern=$2
    shift 2
    run "$code" "$@"
    check "reln $*: says '$(cat err)', wanted '$pattern'" grep -q "^reln: .*$pattern" err
    check "reln $*: one line" [ "$(wc -l <err)" -eq 1 ]
    check "reln $*: nothing on standard output" [ ! -s out ]
}

finish() {
    echo "$1: $failures failures"
    [ $failures -eq 0 ]
    exit
}
