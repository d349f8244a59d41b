#!/usr/bin/env bash
# tables.sh -- tests that pages show the saved results, and that tools/tables detects a page that does not.
set -euo pipefail

cd "$SOURCE_DIR"
tools/tables --check README.md docs/results/README.md

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed '/^|.*±/s/[0-9]/7/g' README.md >"$work/spoilt.md"
if tools/tables --check "$work/spoilt.md" >/dev/null; then
    echo "a page with other numbers was taken for a good one"
    exit 1
fi
printf '<!-- table docs/results/sp4/table.md; rows MLP 256 | Nobody -->\n\n' >"$work/row.md"
if tools/tables --check "$work/row.md" 2>/dev/null; then
    echo "a row that is not there was not missed"
    exit 1
fi
