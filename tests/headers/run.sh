#!/usr/bin/env bash
# run.sh -- every public header compiles alone, as C11 and as C++17, without a warning.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Werror"

# Twice, so that the include guard is tried too. The declaration makes the unit non-empty.
compiles() # include directory, header
{
    printf '#include "reln/%s"\n#include "reln/%s"\nextern int unit;\n' "$2" "$2" >"$work/unit.c"
    cp "$work/unit.c" "$work/unit.cpp"
    # shellcheck disable=SC2086
    "$CC" -std=c11 $warnings -Wstrict-prototypes -I"$1" -fsyntax-only "$work/unit.c" &&
        "$CXX" -std=c++17 $warnings -I"$1" -fsyntax-only "$work/unit.cpp"
}

for header in "$SOURCE_DIR"/include/reln/*.h; do
    compiles "$SOURCE_DIR/include" "$(basename "$header")" || {
        echo "$header does not compile alone" >&2
        exit 1
    }
done

# The check itself must be able to fail.
mkdir -p "$work/include/reln"
must_fail() # what is wrong, the header's text
{
    printf '%s\n' "$2" >"$work/include/reln/bad.h"
    if compiles "$work/include" bad.h 2>/dev/null; then
        echo "passed although $1" >&2
        exit 1
    fi
}
must_fail "a type is missing" 'size_t f(void);'
must_fail "it is not C++" 'void f(int class);'
must_fail "it has no include guard" 'struct a { int b; };'
