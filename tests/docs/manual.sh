#!/usr/bin/env bash
# manual.sh -- the manual as HTML: every public function has its entry, every link leads somewhere, nothing comes from a network.
set -euo pipefail

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$SOURCE_DIR/tools/manual/build.sh" "$SOURCE_DIR" "$BUILD_DIR" "$out" >/dev/null
cd "$out"

grep -oE '^reln_[a-z0-9_]+' "$SOURCE_DIR/tools/abi.txt" | sort -u >wanted
grep -ohE '<a id="reln_[a-z0-9_]+"' ref-*.html | sed 's/<a id="//; s/"//' | sort -u >got
missing=$(comm -23 wanted got)
[ -s wanted ] && [ -z "$missing" ] || {
    echo "no entry for: $missing" >&2
    exit 1
}

# "page page#anchor" for each link
grep -oE '<a (class="here" )?href="[^"]+"' -- *.html | sed 's/:<a.*href="/ /; s/"$//' | sort -u >links
grep -oE ' id="[^"]+"' -- *.html | sed 's/: id="/#/; s/"$//' | sort -u >anchors
ls -- *.html >pages
awk '
    FILENAME == "anchors" || FILENAME == "pages" { there[$0] = 1; next }
    $2 ~ /^https:/ { next }
    { to = $2; if (to ~ /^#/) to = $1 to; if (!(to in there)) { print "a link of " $1 " leads nowhere: " $2; bad = 1 } }
    END { exit bad }' anchors pages links >&2
if grep -nE '(src|href)="(https?:)?//' -- *.html *.css | grep -v '<a href="https:' >&2; then exit 1; fi
grep -q '"reln_graph_print"' index.js
