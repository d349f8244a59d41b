#!/usr/bin/env bash
# fit.sh -- the SPEC and the commands of docs/fit.md, sets.md and graphs.md work, in their order, and do what is said beside them.
set -euo pipefail

page=$SOURCE_DIR/docs/fit.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$BUILD_DIR/reln" "$work/bin/reln"
ln -s "$BUILD_DIR/examples/example_make_data" "$work/bin/make_data"
export PATH=$work/bin:$PATH

blocks() # language, page: all blocks of it, one after another
{
    awk -v fence="\`\`\`$1" '
        $0 == "```" { inside = 0 }
        inside
        $0 == fence { inside = 1 }' "$2"
}

# A page of kinds of data makes all files that it needs.
for kind in sets graphs; do
    mkdir "$work/$kind"
    cd "$work/$kind"
    blocks sh "$SOURCE_DIR/docs/$kind.md" >commands
    [ "$(grep -c '^reln fit' commands)" -ge 4 ]
    bash -euo pipefail commands >log 2>&1 || {
        cat log >&2
        exit 1
    }
done

cd "$work"
blocks yaml "$page" >spec.yaml
blocks sh "$page" >commands
grep -q '^symmetry:' spec.yaml
[ "$(grep -c '^reln ' commands)" -ge 8 ]
bash -euo pipefail commands >log 2>&1 || {
    cat log >&2
    exit 1
}

# "the same errors, to rounding", "layer by layer", and the files of the folder
[ "$(grep -c '^mse ' log)" -ge 2 ]
awk '$1 == "mse" { m[++n] = $2 } END { d = m[1] - m[2]; exit !(d < 1e-3 * m[1] && d > -1e-3 * m[1]) }' log
grep -q '^kept: ' log
for file in spec.yaml checkpoint.safetensors checkpoint.safetensors.previous model.safetensors metrics.csv results.json \
    report.html; do
    [ -s "run/$file" ]
    grep -q "${file#checkpoint.safetensors}" "$page"
done

# every exit code of the program is in the table
reln --help | awk '/^exit codes:/ { on = 1; next } on { print $1 }' | while read -r code; do
    grep -qE "^\|.*\b$code\b.*\|" "$page" || {
        echo "docs/fit.md does not have exit code $code" >&2
        exit 1
    }
done
