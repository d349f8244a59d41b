#!/usr/bin/env bash
# check_includes.sh -- tests that includes keep the order of modules, and that tools/check-includes detects one that does not.
set -euo pipefail

check=$SOURCE_DIR/tools/check-includes
"$check" "$SOURCE_DIR"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tree() # file, include line: a tree of that one file beside good ones
{
    rm -rf "$work/tree"
    mkdir -p "$work/tree/include/reln" "$work/tree/src/graph" "$(dirname "$work/tree/$1")"
    printf '#include <stddef.h>\n' >"$work/tree/include/reln/base.h"
    printf '#include "base/base.h"\n#include "reln/rep.h"\n#include <sys/types.h>\n' \
        >"$work/tree/src/graph/node.c"
    printf '%s\n' "$2" >"$work/tree/$1"
}

refused()
{
    tree "$1" "$2"
    if "$check" "$work/tree" >"$work/out"; then
        echo "not refused: $2 in $1" >&2
        exit 1
    fi
    if [ "$(wc -l <"$work/out")" != 1 ] || ! grep -qF "$1:1: " "$work/out" || ! grep -qF "$2" "$work/out"; then
        echo "refused without naming the line: $2 in $1" >&2
        cat "$work/out" >&2
        exit 1
    fi
}

allowed()
{
    tree "$1" "$2"
    "$check" "$work/tree"
}

refused src/base/x.c '#include "algebra/algebra.h"'
refused src/tensor/x.h '  #  include "graph/node.h"'
refused src/graph/x.c '#include "ops/contract.h"'
refused src/graph/x.inc '#include <ops/contract.h>'
refused src/io/x.c '#include "train/adam.h"'
refused src/train/x.c '#include "io/npy.h"'
refused src/cli/x.c '#include "algebra/algebra.h"'
refused src/io/x.c '#include "cli/cli.h"'
refused src/cli/x.c '#include "io/keys.h"'
refused src/tasks/sp4/task.c '#include "cli/cli.h"'
refused src/tasks/sp4/task.c '#include "bench/bench.h"'
refused src/rep/x.c '#include "rep.h"'
refused src/rep/x.c '#include "elsewhere/rep.h"'
refused src/rep/x.c '#include "../base/base.h"'
refused include/reln/rep.h '#include "base/base.h"'
refused include/reln/matrix.h '#include "reln/algebra.h"'
refused include/reln/train.h '#include "reln/io.h"'
refused include/reln/unlisted.h '#include "reln/base.h"'
refused src/tensor/x.h '#include "reln/algebra.h"'
refused include/reln/fit.h '#include "kit/doc.h"'
refused src/kit/doc.h '#include "io/keys.h"'
refused src/graph/x.c '#include "kit/doc.h"'
refused src/io/x.c '#include "reln/train.h"'
refused src/graph/x.c '#include "reln/reln.h"'
refused src/graph/x.c '#include "reln/unlisted.h"'
allowed include/reln/rep.h '#include "reln/algebra.h"'
allowed include/reln/reln.h '#include "reln/fit.h"'
allowed src/cli/x.c '#include "kit/report.h"'
allowed src/cli/x.c '#include "reln/reln.h"'
allowed src/rep/x.c '#include "rep/rep.h"'
allowed src/rep/x.c '#include "tensor/linalg.h"'
allowed src/tasks/sp4/task.c '#include "tasks/task.h"'
allowed src/tasks/sp4/task.c '#include "io/keys.h"'
allowed src/cli/x.c '#include "tasks/task.h"'
allowed src/fit/x.c '#include "train/adam.h"'
allowed src/fit/x.c '#include "io/npy.h"'
allowed src/cli/x.c '#include "cli/cli.h"'
allowed include/reln/algebra.h '#include "reln/base.h"'

tree src/newcomer/x.c '#include <stddef.h>'
if "$check" "$work/tree" >/dev/null; then
    echo "not refused: a module without a place in the order" >&2
    exit 1
fi
