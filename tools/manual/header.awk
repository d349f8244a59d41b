# header.awk -- a page of the reference from a public header. Its comments are the text: the first one introduces the header,
# "---- title ----" is a heading, others belong to the declarations below them.
# usage: awk -v pass=names -f header.awk HEADERS                          lines "name page#name"
#        awk -v pass=page -v names=FILE -v uses=FILE -f header.awk HEADER  the page; uses: lines "name example"
#        awk -v pass=index -f header.awk HEADERS                          lines of the search: name, place, first sentence
function escape(s) { gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); gsub(/>/, "\\&gt;", s); return s }
function page_of(file) { sub(/.*\//, "", file); sub(/\.h$/, "", file); return "ref-" file ".html" }

BEGIN {
    while (pass == "page" && (getline line < names) > 0) { split(line, part, " "); place[part[1]] = part[2] }
    while (pass == "page" && (getline line < uses) > 0) { split(line, part, " "); used[part[1]] = used[part[1]] " " part[2] }
}

# What a group of declarations declares: functions and constants, types, the words of enums, a macro.
function declared(text,    rest, name, words) {
    n_names = 0
    gsub(/\/\*[^*]*(\*[^\/*][^*]*)*\*\//, " ", text)
    for (rest = text; match(rest, /(^|\n)#define [A-Z_0-9]+/); rest = substr(rest, RSTART + RLENGTH)) {
        name = substr(rest, RSTART, RLENGTH); sub(/.* /, "", name)
        names_of[++n_names] = name
    }
    for (rest = text; match(rest, /RELN_API[^;(\[]*reln_[a-z0-9_]+ *[(;\[]/); rest = substr(rest, RSTART + RLENGTH)) {
        name = substr(rest, RSTART, RLENGTH); sub(/ *[(;\[]$/, "", name); sub(/.*[^a-z0-9_]/, "", name)
        names_of[++n_names] = name
    }
    for (rest = text; match(rest, /(\}|typedef (struct|enum|int)[^;{}]*) *Reln[A-Za-z0-9]+ *;/); rest = substr(rest, RSTART + RLENGTH)) {
        name = substr(rest, RSTART, RLENGTH); sub(/ *;$/, "", name); sub(/.*[^A-Za-z0-9]/, "", name)
        names_of[++n_names] = name
    }
    for (rest = text; match(rest, /enum[^{};]*\{[^}]*\}/);) {
        words = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        while (match(words, /RELN_[A-Z0-9_]+/)) {
            names_of[++n_names] = substr(words, RSTART, RLENGTH)
            words = substr(words, RSTART + RLENGTH)
        }
    }
}

# Names become links; the text is escaped already.
function linked(s,    out, name, to) {
    out = ""
    while (match(s, /(reln_[a-z0-9_]+|Reln[A-Z][A-Za-z0-9]*|RELN_[A-Z0-9_]+)/)) {
        name = substr(s, RSTART, RLENGTH)
        to = name in place ? place[name] : ""
        out = out substr(s, 1, RSTART - 1) (to ? "<a href=\"" to "\">" name "</a>" : name)
        s = substr(s, RSTART + RLENGTH)
    }
    return out s
}

# Formulas: sums, roots, powers, indices, arrows. For lines that are no C.
function typeset(s,    out) {
    gsub(/B~/, "B\314\203", s)
    gsub(/\^T/, "\341\265\200", s)
    gsub(/\^-1/, "\342\201\273\302\271", s)
    gsub(/-&gt;/, "\342\206\222", s)
    gsub(/&lt;=/, "\342\211\244", s)
    gsub(/&gt;=/, "\342\211\245", s)
    gsub(/sqrt\(/, "\342\210\232(", s)
    out = ""
    while (match(s, /sum_[a-z]+/)) {
        out = out substr(s, 1, RSTART - 1) "\342\210\221<sub>" substr(s, RSTART + 4, RLENGTH - 4) "</sub>"
        s = substr(s, RSTART + RLENGTH)
    }
    s = out s; out = ""
    while (match(s, /\^[0-9]+/)) {
        out = out substr(s, 1, RSTART - 1) "<sup>" substr(s, RSTART + 1, RLENGTH - 1) "</sup>"
        s = substr(s, RSTART + RLENGTH)
    }
    s = out s; out = ""
    while (match(s, /(^|[^A-Za-z0-9_])[A-Za-z]_([a-z]|[0-9])([^A-Za-z0-9_]|$)/)) {
        i = index(substr(s, RSTART, RLENGTH), "_")
        out = out substr(s, 1, RSTART + i - 2) "<sub>" substr(s, RSTART + i, 1) "</sub>"
        s = substr(s, RSTART + i + 1)
    }
    return out s
}

# The text of a comment: lines without the stars.
function comment_lines(text,    n, i) {
    sub(/^\/\*!?/, "", text); sub(/ *\*\/ *$/, "", text)
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++) if (i > 1) { sub(/^ ?\*/, "", lines[i]); sub(/^ /, "", lines[i]) } else sub(/^ +/, "", lines[i])
    return n
}

# `word` is a piece of code; the text is escaped already.
function coded(s) { while (match(s, /`[^`]+`/)) s = substr(s, 1, RSTART - 1) "<code>" substr(s, RSTART + 1, RLENGTH - 2) "</code>" substr(s, RSTART + RLENGTH); return s }

function flush_text(    tag) {
    tag = in_steps ? "li" : in_list ? "dd" : "p"
    if (words != "") print "<" tag ">" coded(linked(typeset(escape(words)))) "</" tag ">"
    words = ""
}
function flush_steps() { flush_text(); if (in_steps) print "</" in_steps ">"; in_steps = "" }
function flush_list() { flush_steps(); if (in_list) print "</dl>"; in_list = 0 }

function put_text(n, first,    i, s, key, code) {
    words = ""; in_list = 0; code = 0
    for (i = first; i <= n; i++) {
        s = lines[i]
        if (i == first) sub(/^reln_[a-z0-9_]+\(\) -- /, "", s) # the declaration above has the name
        # "  1. ..." and "  - ...": items of a list, continued by lines with at least as many blanks as their text
        if (!code && !in_list && match(s, /^ *([0-9]\.|-) +/) && RLENGTH < 8 && (in_steps || s !~ /^    /)) {
            indent = RLENGTH
            flush_text()
            if (!in_steps) { in_steps = s ~ /^ *-/ ? "ul" : "ol"; print "<" in_steps ">" }
            words = substr(s, indent + 1)
            continue
        }
        if (in_steps && s ~ /[^ ]/) {
            match(s, /^ */)
            if (RLENGTH >= indent) { sub(/^ +/, "", s); words = words " " s; continue }
            flush_steps()
        }
        if (s ~ /^    / && !in_list) {
            if (!code) { flush_list(); printf "<pre class=\"%s\">", s ~ /[;{]|\/\/|reln_/ ? "code" : "formula" }
            code = 1
            s = substr(s, 5)
            print s ~ /[;{]|\/\/|reln_/ ? linked(escape(s)) : linked(typeset(escape(s)))
            continue
        }
        if (code && s ~ /^ *$/) { if (lines[i + 1] ~ /^    /) { print ""; continue } }
        if (code) { print "</pre>"; code = 0 }
        if (s ~ /^ *$/) { flush_list(); continue }
        # "Shapes  ...      Parameters  ...": words and what they say
        if (s ~ /^(Shapes|Rep|Fails|Group|Notes|Cost|Parameters|RELN_[A-Z0-9_]+)  +[^ ]/) {
            flush_text()
            if (!in_list) { print "<dl>"; in_list = 1 }
            while (match(s, /^(Shapes|Rep|Fails|Group|Notes|Cost|Parameters|RELN_[A-Z0-9_]+)  +/)) {
                key = s; sub(/ .*/, "", key)
                sub(/^[A-Za-z0-9_]+  +/, "", s)
                print "<dt>" key "</dt>"
                if (match(s, /      +(Cost|Parameters|Notes|Rep)  /)) {
                    words = substr(s, 1, RSTART - 1)
                    s = substr(s, RSTART)
                    sub(/^ +/, "", s)
                    flush_text()
                }
                else { words = s; s = "" }
            }
            if (s != "") words = words " " s
            continue
        }
        sub(/^ +/, "", s)
        words = words (words == "" ? "" : " ") s
    }
    if (code) print "</pre>"
    flush_list()
}

function put_examples(    i, n, list, out, seen) {
    out = ""
    for (i = 1; i <= n_names; i++) {
        n = split(used[names_of[i]], list, " ")
        for (j = 1; j <= n && j <= 4; j++) if (!index(out, ">" list[j] "<")) out = out " <a href=\"example-" list[j] ".html\">" list[j] "</a>"
    }
    if (out) print "<p class=\"used\">Used in" out "</p>"
}

function emit(    i, n) {
    sub(/\n+$/, "", declaration)
    if (declaration == "" ) return
    declared(declaration)
    if (pass == "names")
        for (i = 1; i <= n_names; i++) print names_of[i], page_of(FILENAME) "#" names_of[i]
    if (pass == "index")
        for (i = 1; i <= n_names; i++) {
            n = comment_lines(comment); words = lines[1]; if (n > 1 && words !~ /[.;:]$/) words = words " " lines[2]
            # a comment behind the declaration says more about it than the comment of the group
            if (match(declaration, "(^|[^a-zA-Z0-9_])" names_of[i] "[(][^;]*;[ \t]*/[*][^*]*[*]/")) {
                behind = substr(declaration, RSTART, RLENGTH)
                sub(/^[^;]*;[ \t]*\/[*] */, "", behind); sub(/ *[*]\/$/, "", behind)
                if (length(behind) > 24 || words ~ /^ *$/) words = behind
            }
            # a word of an enum, with its comment
            if (names_of[i] ~ /^RELN_/ && match(declaration, names_of[i] "( *= *[-0-9a-zA-Z_<]+)?,?[ \t]*/[*][^*]*[*]/")) {
                words = substr(declaration, RSTART, RLENGTH)
                sub(/^[^\/]*\/[*] */, "", words); sub(/ *[*]\/$/, "", words)
            }
            sub(/^ *reln_[a-z0-9_]+\(\) -- /, "", words)
            sub(/\. .*/, ".", words)
            print names_of[i] "\t" page_of(FILENAME) "#" names_of[i] "\t" substr(words, 1, 140)
        }
    if (pass == "page") {
        print "<section class=\"entry\">"
        for (i = 1; i <= n_names; i++) print "<a id=\"" names_of[i] "\"></a>"
        gsub(/RELN_API (extern )?/, "", declaration)
        print "<pre class=\"decl\">" linked(escape(declaration)) "</pre>"
        if (comment != "") put_text(comment_lines(comment), 1)
        put_examples()
        print "</section>"
    }
    declaration = ""
    comment = ""
}

function heading(s) { sub(/^\/\* *-+ */, "", s); sub(/ *-+ *\*\/ *$/, "", s); return s }

FNR == 1 { intro = 1; declaration = comment = ""; inside = 0; depth = 0 }
/^#(ifndef|endif|ifdef|include|if|else|undef)/ && !declaring { if (/^#ifdef __cplusplus/) skip = 1; if (/^#endif/) skip = 0; next }
skip { next }
/^#define RELN_[A-Z]+_H$/ { next }
# a comment by itself
!declaring && /^\/\*/ { emit(); comment = $0; inside = !/\*\// ; if (!inside) finish_comment(); next }
inside { comment = comment "\n" $0; if (/\*\//) { inside = 0; finish_comment() } next }
/^$/ && !declaring { emit(); next }
{
    declaration = declaration $0 "\n"
    line = $0
    gsub(/\/\*.*\*\//, "", line)
    depth += gsub(/\{/, "{", line) - gsub(/\}/, "}", line)
    declaring = depth > 0 || (line !~ /;[ \t]*$/ && line !~ /;[ \t]*\/\*/ && $0 !~ /;/ && !(/^#define/ && !/\\$/)) || (continued && /\\$/)
    continued = /\\$/
    if (/^#define/ || continued) declaring = continued
    next
}
END { emit() }

function finish_comment(    n, title) {
    if (intro) {
        intro = 0
        n = comment_lines(comment)
        if (pass == "page") {
            title = lines[1]; sub(/^[a-z_0-9]+\.h -- /, "", title)
            i = 2
            while (i <= n && lines[i] !~ /^ *$/) { title = title " " lines[i]; i++ }
            name = FILENAME; sub(/.*\//, "", name)
            print "<h1>reln/" name "</h1>\n<p class=\"lead\">" linked(typeset(escape(title))) "</p>"
            put_text(n, i)
        }
        comment = ""
    } else if (comment ~ /^\/\* *--+/) {
        if (pass == "page") print "<h2>" escape(heading(comment)) "</h2>"
        comment = ""
    }
}
