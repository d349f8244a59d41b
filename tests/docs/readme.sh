#!/usr/bin/env bash
# readme.sh -- the programs in README.md compile without a warning and print what README.md says they print; its commands run.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

block() # language, number: that code block
{
    awk -v fence="\`\`\`$1" -v wanted="$2" '
        $0 == "```" && inside { exit }
        inside
        $0 == fence && ++count == wanted { inside = 1 }' "$SOURCE_DIR/README.md"
}

# As README.md says: against an installed library, through pkg-config.
cmake --install "$BUILD_DIR" --prefix "$work/prefix" >"$work/log"
pc=$(dirname "$(find "$work/prefix" -name reln.pc)")
flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs reln)

for program in 1 2; do
    block c $program >"$work/readme.c"
    block text $program >"$work/wanted"
    [ -s "$work/readme.c" ] && [ -s "$work/wanted" ] || {
        echo "README.md has lost program $program or its output" >&2
        exit 1
    }
    # shellcheck disable=SC2086
    "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$work/readme.c" $flags -o "$work/readme"
    LD_LIBRARY_PATH=$(dirname "$pc") "$work/readme" >"$work/got"
    diff "$work/wanted" "$work/got"
done

# The SPEC and the commands, in their order.
mkdir "$work/bin" "$work/first"
ln -s "$work/prefix/bin/reln" "$work/bin/reln"
ln -s "$BUILD_DIR/examples/example_make_data" "$work/bin/make_data"
cd "$work/first"
block yaml 1 >spec.yaml
block sh 1 >commands
[ "$(grep -c '^reln ' commands)" -ge 7 ]
PATH=$work/bin:$PATH bash -euo pipefail commands >log 2>&1 || {
    cat log >&2
    exit 1
}

# A network drawn for Graphviz, and node by node.
"$work/bin/reln" info run --dot >network.dot
grep -q '^digraph' network.dot && grep -q -- '->' network.dot
"$work/bin/reln" info run --graph --nodes >nodes
grep -q 'block1.affine.xx0' nodes
