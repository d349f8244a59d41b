#!/usr/bin/env bash
# dist.sh -- the tarball of a commit: the same bytes twice, with the sources and without the packaging.
set -euo pipefail

cd "$SOURCE_DIR"
git rev-parse --git-dir >/dev/null 2>&1 || exit 0 # a tarball itself
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
first=$(tools/dist.sh "$work/a")
second=$(tools/dist.sh "$work/b")
cmp "$first" "$second"
tar -tzf "$first" >"$work/list"
grep -q '^reln-[0-9.]*/CMakeLists.txt$' "$work/list"
grep -q '^reln-[0-9.]*/docs/tutorial.md$' "$work/list"
if grep -q '^reln-[0-9.]*/debian/' "$work/list"; then exit 1; fi

# The version of the package is that of the library.
version=$(basename "$first" .tar.gz)
grep -q "^reln (${version#reln-}-" debian/changelog
