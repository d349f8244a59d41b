#!/bin/sh
# build.sh SOURCE BUILD OUT -- the manual as a folder of HTML that needs no network: the pages of docs/, a page for each public
# header, the man pages, the examples, a search. awk and sh are enough.
set -eu

source=$1 build=$2 out=$3
tools=$source/tools/manual
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

# Pages in the order of the contents: title, path, html.
cat >"$work/pages" <<'END'
Start|README.md|index.html
Concepts|docs/concepts.md|concepts.html
Tutorial|docs/tutorial.md|tutorial.html
Recipes|docs/recipes.md|recipes.html
Choosing a symmetry|docs/symmetry.md|symmetry.html
Coming from PyTorch|docs/pytorch.md|pytorch.html
Training from files|docs/fit.md|fit.html
Sets of points|docs/sets.md|sets.html
Graphs|docs/graphs.md|graphs.html
Recordings|docs/sequences.md|sequences.html
Promise and proof|docs/soundness.md|soundness.html
Bits|docs/bits.md|bits.html
Many processes|docs/mpi.md|mpi.html
Performance|docs/performance.md|performance.html
Results|docs/results/README.md|results.html
Versions and packages|docs/packages.md|packages.html
Architecture|ARCHITECTURE.md|architecture.html
Contributing|CONTRIBUTING.md|contributing.html
Changes|CHANGELOG.md|changes.html
END
grep -q . "$work/pages"
: >"$work/map"
while IFS='|' read -r title path html; do
    [ -e "$source/$path" ] || continue
    echo "$title|$path|$html" >>"$work/there"
    echo "$path $html" >>"$work/map"
done <"$work/pages"
echo "docs/results results.html" >>"$work/map"

headers="$source/include/reln/*.h $build/derived/reln/ops.h"
# shellcheck disable=SC2086
{
    awk -v pass=names -f "$tools/header.awk" $headers >"$work/names"
    awk -v pass=index -f "$tools/header.awk" $headers >"$work/index"
}
for example in "$source"/examples/*.c; do
    name=$(basename "$example" .c)
    grep -oE '(reln_[a-z0-9_]+|Reln[A-Z][A-Za-z0-9]*)' "$example" | sort -u | sed "s/\$/ $name/"
done >"$work/uses"

# ---- contents ----

{
    echo '<nav><details id="contents" open><summary>reln: contents and search</summary>'
    echo '<input id="search" type="search" placeholder="search" aria-label="search"><ul id="found"></ul>'
    echo '<b>Manual</b>'
    awk -F'|' '{ printf "<a href=\"%s\">%s</a>\n", $3, $1 }' "$work/there"
    echo '<b>Reference</b>'
    for header in $headers; do
        name=$(basename "$header" .h)
        echo "<a href=\"ref-$name.html\">reln/$name.h</a>"
    done
    if [ -d "$build/manual" ]; then
        echo '<b>Commands</b>'
        for page in "$build"/manual/*.1; do
            name=$(basename "$page" .1)
            echo "<a href=\"man-$name.html\">$(echo "$name" | tr - ' ')</a>"
        done
    fi
    echo '<b>Examples</b>'
    for example in "$source"/examples/*.c; do
        name=$(basename "$example" .c)
        echo "<a href=\"example-$name.html\">$name.c</a>"
    done
    echo '</details></nav>'
} >"$work/nav"

wrap() # title, html: the page around standard input
{
    {
        cat <<END
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>$1 - reln</title><link rel="stylesheet" href="style.css"></head><body><div class="frame">
END
        sed "s|<a href=\"$2\">|<a class=\"here\" href=\"$2\">|" "$work/nav"
        echo '<main>'
        cat
        echo '</main></div><script src="index.js"></script><script src="search.js"></script></body></html>'
    } >"$out/$2"
}

escape() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'; }

# ---- pages ----

while IFS='|' read -r title path html; do
    awk -v self="$path" -v map="$work/map" -f "$tools/page.awk" "$source/$path" >"$work/body"
    wrap "$title" "$html" <"$work/body"
    sed -n 's/^<h\([123]\) id="\([^"]*\)">\(.*\)<\/h[123]>$/\2\t\3/p' "$work/body" | sed 's/<[^>]*>//g' |
        awk -F'\t' -v page="$html" -v title="$title" '{ print $2 "\t" page "#" $1 "\t" title }' >>"$work/index"
done <"$work/there"
for header in $headers; do
    name=$(basename "$header" .h)
    awk -v pass=page -v names="$work/names" -v uses="$work/uses" -f "$tools/header.awk" "$header" |
        wrap "reln/$name.h" "ref-$name.html"
done
for example in "$source"/examples/*.c; do
    name=$(basename "$example" .c)
    {
        echo "<h1>$name.c</h1><pre class=\"code\">"
        escape <"$example" | awk -v names="$work/names" '
            BEGIN { while ((getline line < names) > 0) { split(line, part, " "); place[part[1]] = part[2] } }
            {
                out = ""
                while (match($0, /(reln_[a-z0-9_]+|Reln[A-Z][A-Za-z0-9]*|RELN_[A-Z0-9_]+)/)) {
                    name = substr($0, RSTART, RLENGTH)
                    out = out substr($0, 1, RSTART - 1) (name in place ? "<a href=\"" place[name] "\">" name "</a>" : name)
                    $0 = substr($0, RSTART + RLENGTH)
                }
                print out $0
            }'
        echo '</pre>'
    } | wrap "$name.c" "example-$name.html"
done
for page in "$build"/manual/*.1; do
    [ -e "$page" ] || continue
    name=$(basename "$page" .1)
    command=${name#reln}
    {
        echo "<h1>$(echo "$name" | tr - ' ')</h1><pre>"
        "$build/reln" ${command:+"${command#-}"} --help | escape
        echo '</pre>'
    } | wrap "$name" "man-$name.html"
done

# ---- what all pages share ----

cp "$tools/style.css" "$tools/search.js" "$source"/docs/*.svg "$out"
{
    echo 'var RELN_INDEX = ['
    sed 's/\\/\\\\/g; s/"/\\"/g; s/</\\u003c/g' "$work/index" | awk -F'\t' '{ printf "[\"%s\",\"%s\",\"%s\"],\n", $1, $2, $3 }'
    echo '];'
} >"$out/index.js"
echo "$out/index.html"
