#!/usr/bin/env bash
# pages.sh -- the C programs in docs/*.md compile without a warning and print what the pages say they print.
# Blocks ```c of a page are put one after another until one has main(); the block ```output that follows is what that program
# prints. Words are compared as they are, numbers to 20 percent, or as both below 1e-3: machines round differently.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# -> 1.c 1.output 2.c 2.output ...
split_page()
{
    rm -f -- *.c *.output
    awk '
        function close_block() {
            if (kind == "c" && text ~ /int main\(/) has_main = 1
            if (kind == "c") printf "%s", text > (n + 1 ".c")
            if (kind == "c" && has_main) { close(n + 1 ".c"); n++; has_main = 0 }
            if (kind == "output") printf "%s", text > (n ".output")
        }
        $0 == "```" && kind { close_block(); kind = ""; next }
        !kind && ($0 == "```c" || $0 == "```output") { kind = substr($0, 4); text = ""; next }
        kind { text = text $0 "\n" }' "$1"
}

alike() # wanted, got
{
    awk '
        function number(s) { return s ~ /^-?[0-9.]+(e[-+]?[0-9]+)?,?$/ }
        function size(x) { return x < 0 ? -x : x }
        FNR == NR { wanted[++n] = $0; next }
        {
            lines++
            m = split(wanted[FNR], w)
            same = m == NF
            for (i = 1; i <= NF && same; i++)
                if ($i != w[i] && !(number($i) && number(w[i]) &&
                    (size($i - w[i]) <= 0.2 * size(w[i]) || (size($i) < 1e-3 && size(w[i]) < 1e-3))))
                    same = 0
            if (!same) { print "wanted: " wanted[FNR] "\ngot:    " $0; bad = 1 }
        }
        END { if (lines != n) { print "wanted " n " lines, got " lines + 0; bad = 1 } exit bad }' "$1" "$2"
}

count=0
for page in "$SOURCE_DIR"/docs/*.md; do
    split_page "$page"
    for program in *.c; do
        [ -e "$program" ] || continue
        grep -q 'int main(' "$program" || {
            echo "$page: a program without main()" >&2
            exit 1
        }
        "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$program" -I"$SOURCE_DIR/include" -I"$BUILD_DIR/derived" \
            -L"$BUILD_DIR" -lreln -lm -o program || { echo "$page, program ${program%.c}" >&2; exit 1; }
        LD_LIBRARY_PATH=$BUILD_DIR ./program >got || { cat got >&2; echo "$page, program ${program%.c} fails" >&2; exit 1; }
        [ ! -e "${program%.c}.output" ] || alike "${program%.c}.output" got >&2 || { echo "$page, program ${program%.c}" >&2; exit 1; }
        count=$((count + 1))
    done
done
[ "$count" -ge 7 ]

# The program in Python reads what a program in C has saved. The tutorial left spin.safetensors.
awk '$0 == "```" { on = 0 } on; $0 == "```python" { on = 1 }' "$SOURCE_DIR/docs/recipes.md" >read.py
if command -v python3 >/dev/null; then
    python3 read.py spin.safetensors >names
    grep -q '^two.Wa \[1, 1, 16, 1, 16\]$' names
fi

# Functions that the pages name exist.
cat "$SOURCE_DIR"/include/reln/*.h "$BUILD_DIR"/derived/reln/ops.h >headers
grep -ohE '\breln_[a-z0-9_]*[a-z0-9]\b' "$SOURCE_DIR"/docs/{concepts,tutorial,recipes,pytorch,symmetry}.md | sort -u | while read -r name; do
    grep -qE "\b$name" headers || { echo "the pages name $name, which no header has" >&2; exit 1; }
done

# Links between pages lead somewhere.
for page in "$SOURCE_DIR"/*.md "$SOURCE_DIR"/docs/*.md; do
    { grep -oE '\]\([^)#: ]+' "$page" || true; } | sed 's/](//' | { grep -v '^https\?$' || true; } | while read -r target; do
        [ -e "$(dirname "$page")/$target" ] || { echo "$page: $target is not there" >&2; exit 1; }
    done
done
