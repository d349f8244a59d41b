#!/usr/bin/env bash
# absences.sh -- tests the absences that ARCHITECTURE.md states, by reading the compiled library.
set -euo pipefail

fail()
{
    echo "$*" >&2
    exit 1
}

objects=$BUILD_DIR/CMakeFiles/reln_objects.dir/src
[ -d "$objects" ] || fail "no objects in $objects"

# every "module file symbol" that is used and not defined
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
find "$objects" -name '*.o' -exec nm -u -A {} + |
    awk '{ sub(/:$/, "", $1); n = split($1, path, "/"); sub(/\.c\.o$/, "", path[n]); sub(/@.*/, "", $NF)
           print path[n - 1], path[n], $NF }' >"$work/used"

# modules that use a symbol matching the pattern, but for those allowed to
uses() # pattern, allowed modules
{
    awk -v pattern="^($1)\$" -v allowed=" ${2:-} " \
        '$3 ~ pattern && !index(allowed, " " $1 " ") { print $1 "/" $2 " calls " $3 }' "$work/used"
}

nobody() # what it would mean, pattern, allowed modules
{
    found=$(uses "$2" "${3:-}")
    [ -z "$found" ] || fail "$1:" "$found"
}

heap='malloc|calloc|realloc|aligned_alloc|posix_memalign|strdup|free'
files='fopen|fdopen|open|openat|creat|rename|unlink|mkstemp|stat|read|pread|write'
blas='cblas_.*|openblas_.*|LAPACKE_.*|[sdcz][a-z0-9]+_'
nobody "the library prints" '(__)?v?f?printf(_chk)?|f?puts|f?putc|putchar|perror|stdout|stderr|fwrite'
nobody "the library exits" 'exit|_exit|abort|quick_exit'
nobody "hidden state" 's?rand(om)?|drand48|setlocale|getenv|strtok|signal|sigaction'
nobody "memory past the context" "$heap" base
nobody "files outside io" "$files" io
nobody "BLAS and LAPACK outside tensor" "$blas" tensor

# The patterns must be able to find something.
[ -n "$(uses "$heap")" ] && [ -n "$(uses "$files")" ] && [ -n "$(uses "$blas")" ] ||
    fail "the patterns no longer match what base, io and tensor do"

# Tables of pointers are in .data.rel.ro: constant once loaded.
mutable=$(find "$objects" -name '*.o' -exec size -A {} + |
    awk '/:$/ { file = $1 } $1 ~ /^\.t?(data|bss)(\.|$)/ && $1 !~ /^\.data\.rel\.ro/ && $2 > 0 { print file, $1, $2 }')
[ -z "$mutable" ] || fail "global mutable state:" "$mutable"
