#!/bin/sh
# deb.sh [FOLDER] -- Debian packages of the last commit, into FOLDER (build-deb): reln, libreln0, libreln-dev, and their source.
# It needs debhelper and dpkg-dev; lintian looks at the packages where it is installed.
set -eu

cd "$(dirname "$0")/.."
folder=${1:-build-deb}
rm -rf "$folder"
tarball=$(tools/dist.sh "$folder")
version=${tarball##*/reln-}
version=${version%.tar.gz}
mv "$tarball" "$folder/reln_$version.orig.tar.gz"
tar -C "$folder" -xzf "$folder/reln_$version.orig.tar.gz"
git archive --format=tar HEAD debian | tar -C "$folder/reln-$version" -xf -
(cd "$folder/reln-$version" && dpkg-buildpackage -us -uc)
rm -rf "$folder/reln-$version"
if command -v lintian >/dev/null; then
    lintian --fail-on error,warning "$folder"/reln_*.changes
fi
ls "$folder"/*.deb
