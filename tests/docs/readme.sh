#!/usr/bin/env bash
# readme.sh -- the program in README.md compiles without a warning and prints what README.md says it prints.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

block() # the first code block of that language
{
    awk -v fence="\`\`\`$1" '
        $0 == "```" && inside { exit }
        inside
        $0 == fence { inside = 1 }' "$SOURCE_DIR/README.md"
}

block c >"$work/readme.c"
block text >"$work/wanted"
[ -s "$work/readme.c" ] && [ -s "$work/wanted" ] || {
    echo "README.md has lost its program or its output" >&2
    exit 1
}

# As README.md says: against an installed library, through pkg-config.
cmake --install "$BUILD_DIR" --prefix "$work/prefix" >"$work/log"
pc=$(dirname "$(find "$work/prefix" -name reln.pc)")
flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs reln)
# shellcheck disable=SC2086
"$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$work/readme.c" $flags -o "$work/readme"
LD_LIBRARY_PATH=$(dirname "$pc") "$work/readme" >"$work/got"
diff "$work/wanted" "$work/got"
