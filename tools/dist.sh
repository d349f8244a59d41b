#!/bin/sh
# dist.sh [FOLDER] -- the sources of the last commit, as FOLDER/reln-VERSION.tar.gz; the same commit gives the same bytes.
set -eu

cd "$(dirname "$0")/.."
folder=${1:-.}
version=$(awk '/^#define RELN_VERSION_/ { printf "%s%s", dot, $3; dot = "." }' include/reln/base.h)
git rev-parse --git-dir >/dev/null 2>&1 || {
    echo "dist: no git here: a tarball is made from a commit" >&2
    exit 1
}
mkdir -p "$folder"
git archive --format=tar --prefix="reln-$version/" HEAD -- . ':!debian' | gzip -n >"$folder/reln-$version.tar.gz"
echo "$folder/reln-$version.tar.gz"
