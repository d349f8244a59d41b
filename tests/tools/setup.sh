#!/usr/bin/env bash
# setup.sh -- tests that tools/setup.sh asks for exactly the missing packages. Small scripts replace dpkg and apt.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin=$work/bin
mkdir "$bin"
ln -s "$(command -v env)" "$(command -v sh)" "$bin"

play() # name, body: a command of that name, the only ones that setup.sh can see
{
    printf '#!/bin/sh\n%s\n' "$2" >"$bin/$1"
    chmod +x "$bin/$1"
}

run() # calls are recorded in $work/calls, output in $work/out
{
    : >"$work/calls"
    PATH=$bin sh "$SOURCE_DIR/tools/setup.sh" "$@" >"$work/out" 2>&1
}

fail()
{
    echo "$1" >&2
    cat "$work/out" "$work/calls" >&2
    exit 1
}

# dpkg-query -W -f FORMAT PACKAGES...: all installed, but for what the files lacking and removed name
play dpkg-query 'shift 3; status=0
for p; do
    if [ -e "'"$work"'/lacking.$p" ]; then status=1
    elif [ -e "'"$work"'/removed.$p" ]; then printf "%s=config-files " "$p"
    else printf "%s=installed " "$p"; fi
done
exit $status'
play apt-get 'echo "apt-get $*" >>"'"$work"'/calls"'
play id 'echo 0'

run || fail "everything is there: must succeed"
[ ! -s "$work/calls" ] && [ ! -s "$work/out" ] || fail "everything is there: must be silent and do nothing"

touch "$work/lacking.libcmocka-dev" "$work/removed.cmake" "$work/lacking.clang"
run || fail "as root: must succeed"
printf '%s\n' "apt-get -qq update" \
    "apt-get -qq -y --no-install-recommends install cmake libcmocka-dev" |
    cmp -s - "$work/calls" || fail "must update, then install the missing ones only"
run long || fail "as root, long: must succeed"
grep -q "install cmake libcmocka-dev clang\$" "$work/calls" || fail "long: must install clang too"

play id 'echo 1000'
if run; then fail "neither root nor sudo: must fail"; fi
[ "$(wc -l <"$work/out")" = 1 ] && [ ! -s "$work/calls" ] || fail "neither root nor sudo: one line, no calls"
grep -q "cmake libcmocka-dev" "$work/out" || fail "the line must name what is missing"

play sudo 'echo sudo >>"'"$work"'/calls"; "$@"'
run || fail "with sudo: must succeed"
[ "$(grep -c sudo "$work/calls")" = 2 ] || fail "both apt-get calls must go through sudo"

rm "$bin/dpkg-query"
run || fail "no dpkg: must go on"
grep -q "libopenblas" "$work/out" || fail "no dpkg: must say what is needed"
