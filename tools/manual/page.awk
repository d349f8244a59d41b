# page.awk -- a page of the manual from Markdown, as far as our pages use it: headings, paragraphs, lists, tables, fenced and
# indented code, emphasis, code, links, pictures. Variables: `self`, the path of the page from the root of the tree; `map`, a file of
# lines "path html" with the pages there are. Links to other files of the tree become plain text.
BEGIN {
    while ((getline line < map) > 0) {
        split(line, part, " ")
        html_of[part[1]] = part[2]
    }
    folder = self
    if (!sub(/\/[^\/]*$/, "", folder)) folder = "."
}

function escape(s) { gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); gsub(/>/, "\\&gt;", s); return s }

# "../a.md" seen from `folder`, as a path from the root.
function resolve(path,    at) {
    at = folder
    while (path ~ /^\.\.\//) { sub(/^\.\.\//, "", path); if (!sub(/\/[^\/]*$/, "", at)) at = "." }
    return at == "." ? path : at "/" path
}

function target(url,    path, hash) {
    if (url ~ /^(https?:|#)/) return url
    path = url; hash = ""
    if (match(path, /#/)) { hash = substr(path, RSTART); path = substr(path, 1, RSTART - 1) }
    path = resolve(path)
    sub(/\/$/, "", path)
    return path in html_of ? html_of[path] hash : ""
}

function slug(s) { s = tolower(s); gsub(/`/, "", s); gsub(/[^a-z0-9 -]/, "", s); gsub(/ /, "-", s); return s }

# Code is taken out first, so that nothing inside is read as emphasis or a link.
function inline(s,    out, code, i, text, url, to, n_code, piece) {
    n_code = 0
    out = ""
    while (match(s, /`[^`]+`/)) {
        code_text[++n_code] = "<code>" escape(substr(s, RSTART + 1, RLENGTH - 2)) "</code>"
        out = out substr(s, 1, RSTART - 1) "\001" n_code "\002"
        s = substr(s, RSTART + RLENGTH)
    }
    s = escape(out s)
    out = ""
    while (match(s, /!?\[[^][]*\]\([^() ]+\)/)) {
        piece = substr(s, RSTART, RLENGTH)
        out = out substr(s, 1, RSTART - 1)
        s = substr(s, RSTART + RLENGTH)
        i = index(piece, "](")
        text = substr(piece, piece ~ /^!/ ? 3 : 2, i - (piece ~ /^!/ ? 3 : 2))
        url = substr(piece, i + 2, length(piece) - i - 2)
        if (piece ~ /^!/) { sub(/.*\//, "", url); out = out "<img src=\"" url "\" alt=\"" text "\">"; continue }
        to = target(url)
        out = out (to ? "<a href=\"" to "\">" text "</a>" : text)
    }
    s = out s
    while (match(s, /\*\*[^*]+\*\*/))
        s = substr(s, 1, RSTART - 1) "<b>" substr(s, RSTART + 2, RLENGTH - 4) "</b>" substr(s, RSTART + RLENGTH)
    while (match(s, /\*[^* ][^*]*\*/))
        s = substr(s, 1, RSTART - 1) "<em>" substr(s, RSTART + 1, RLENGTH - 2) "</em>" substr(s, RSTART + RLENGTH)
    gsub(/\\\[/, "[", s); gsub(/\\\]/, "]", s)
    while (match(s, /\001[0-9]+\002/))
        s = substr(s, 1, RSTART - 1) code_text[substr(s, RSTART + 1, RLENGTH - 2) + 0] substr(s, RSTART + RLENGTH)
    return s
}

function close_paragraph() { if (paragraph != "") print "<p>" inline(paragraph) "</p>"; paragraph = "" }
function close_item() { if (item != "") print "<li>" inline(item) "</li>"; item = "" }
function close_list() { close_item(); if (list) print "</" list ">"; list = "" }
function close_table() { if (table) print "</tbody></table></div>"; table = 0 }
function close_code() { if (indented) print "</pre>"; indented = blanks = 0 }
function close_all() { close_paragraph(); close_list(); close_table(); close_code() }

function row(s, cell,    n, i, cells, out) {
    sub(/^\| */, "", s); sub(/ *\|$/, "", s)
    gsub(/\\\|/, "\003", s)
    n = split(s, cells, / *\| */)
    out = "<tr>"
    for (i = 1; i <= n; i++) { gsub(/\003/, "|", cells[i]); out = out "<" cell (right[i] ? " class=\"n\"" : "") ">" inline(cells[i]) "</" cell ">" }
    return out "</tr>"
}

/^```/ {
    if (fence) { print "</code></pre>"; fence = 0 }
    else { close_all(); fence = 1; printf "<pre><code>" }
    next
}
fence { print escape($0); next }
/^<!--/ { next }
/^#+ / {
    close_all()
    level = index($0, " ") - 1
    text = substr($0, level + 2)
    print "<h" level " id=\"" slug(text) "\">" inline(text) "</h" level ">"
    next
}
/^\|[-: |]+\|$/ && held != "" {
    close_paragraph(); close_list()
    n = split(substr($0, 2), kinds, "|")
    for (i = 1; i <= n; i++) right[i] = kinds[i] ~ /: *$/
    print "<div class=\"wide\"><table><thead>" row(held, "th") "</thead><tbody>"
    held = ""; table = 1
    next
}
/^\|/ { if (table) print row($0, "td"); else { close_all(); held = $0 } next }
/^    / && !list && paragraph == "" { close_table(); if (!indented) printf "<pre>"; indented = 1; for (; blanks > 0; blanks--) print ""; print escape(substr($0, 5)); next }
/^$/ { close_paragraph(); close_item(); close_table(); blanks += indented; blank = 1; next }
/^(- |[0-9]+\. )/ {
    close_paragraph(); close_table(); close_code(); close_item()
    kind = /^- / ? "ul" : "ol"
    if (list && list != kind) close_list()
    if (!list) { print "<" kind ">"; list = kind }
    item = $0; sub(/^(- |[0-9]+\. )/, "", item)
    blank = 0
    next
}
list && item != "" { sub(/^ +/, ""); item = item " " $0; next }
list && /^  / { sub(/^ +/, ""); item = $0; next }
{ close_list(); close_table(); close_code(); paragraph = paragraph (paragraph == "" ? "" : " ") $0; blank = 0 }
END { close_all() }
