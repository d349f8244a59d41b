#!/usr/bin/env bash
# man.sh -- man pages format without a warning and have every option of --help; completions load, and complete.
set -euo pipefail

reln=$BUILD_DIR/reln
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail()
{
    echo "$*" >&2
    exit 1
}

# ---- man pages ----

commands=$("$reln" --help | awk '/^commands:/ { on = 1; next } /^$/ { on = 0 } on && /^  [a-z]/ { print $1 }')
[ "$(wc -w <<<"$commands")" -ge 8 ] || fail "reln --help lists no commands"
"$reln" --man >"$work/reln.1"
for command in $commands; do
    "$reln" --man "$command" >"$work/reln-$command.1"
    grep -q "reln.-$command" "$work/reln.1" || fail "reln(1) does not have $command"
    "$reln" "$command" --help | grep -oE '^  --[a-z-]+' | while read -r option; do
        grep -qF "\\fB${option//-/\\-}\\fR" "$work/reln-$command.1" || fail "reln-$command(1) does not have $option"
    done
    # the name of an option is bold, its value is in italics
    "$reln" "$command" --help | grep -oE '^  --[a-z-]+ [A-Z][^ ]*' | while read -r option value; do
        grep -qF "\\fB${option//-/\\-}\\fR \\fI${value//-/\\-}\\fR" "$work/reln-$command.1" || fail "reln-$command(1) does not have $option $value"
    done
    "$reln" "$command" --help | grep -E '^.{81}' && fail "reln $command --help has lines of more than 80 columns"
    [ -s "$BUILD_DIR/manual/reln-$command.1" ] || fail "reln-$command.1 was not built, so it is not installed"
done
for task in $("$reln" reproduce | grep -oE '^[a-z0-9-]+'); do
    "$reln" reproduce "$task" --help | grep -E '^.{81}' && fail "reln reproduce $task --help has lines of more than 80 columns"
done
if command -v man >/dev/null && command -v groff >/dev/null; then
    for page in "$work"/*.1; do
        MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>"$work/warnings" >/dev/null || fail "$page does not format"
        [ ! -s "$work/warnings" ] || fail "$page: $(cat "$work/warnings")"
        MANWIDTH=80 man -E UTF-8 -l "$page" 2>/dev/null | col -b >"$work/text"
        grep -E '^.{81}' "$work/text" && fail "$page has lines of more than 80 columns"
        for part in NAME SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS'; do
            grep -q "^$part" "$work/text" || fail "$page has no $part"
        done
    done
fi
"$reln" --man nothing >"$work/out" 2>&1 && fail "a page of no command"

# ---- completions ----

"$reln" --completion bash >"$work/bash"
complete_words() # the words of a command line, the last to be completed
{
    bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _reln; printf "%s\n" "${COMPREPLY[@]}"' \
        complete "$work/bash" "$@"
}
[ "$(complete_words reln fi)" = fit ] || fail "bash does not complete fi"
[ "$(complete_words reln fit --res)" = --resume ] || fail "bash does not complete --res"
[ "$(complete_words reln reproduce --scale q)" = quick ] || fail "bash does not complete a word of --scale"
[ "$(complete_words reln reproduce plat)" = platonic ] || fail "bash does not complete a task"
: >"$work/spec.yaml"
[ "$(complete_words reln fit "$work/sp")" = "$work/spec.yaml" ] || fail "bash does not complete a file"
[ "$(complete_words reln fit --out "$work/sp")" = "$work/spec.yaml" ] || fail "bash does not complete the file of an option"
[ -z "$(complete_words reln fit --seed "$work/sp")" ] || fail "bash completes a number by files"
"$reln" --completion zsh >"$work/_reln"
"$reln" --completion fish >"$work/reln.fish"
if command -v zsh >/dev/null; then zsh -n "$work/_reln"; fi
if command -v fish >/dev/null; then fish -n "$work/reln.fish"; fi
"$reln" --completion csh >"$work/out" 2>&1 && fail "a completion for csh"
exit 0
