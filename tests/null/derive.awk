# derive.awk -- from the public headers, a call of every function with NULL for one of its pointers: what nulls.c includes.
# usage: awk -f derive.awk include/reln/*.h derived/reln/ops.h
#
# For each function a case: declarations of its arguments, each NULL when `null` is its number and a value otherwise (nulls.c
# knows values of the types that it can make), then the call. CALLS has the name and the number of arguments of each.

/^RELN_API/ && !/^RELN_API extern/ { open = 1; text = "" }
open {
    line = $0
    sub(/\/\/.*/, "", line)
    text = text " " line
    if (line ~ /;/) {
        open = 0
        case_of(text)
    }
}

function trim(s) { gsub(/^ +| +$/, "", s); return s }

# "const char *name" -> type "const char *"; arrays decay to pointers.
function declare(parameter, index_,    name, type) {
    parameter = trim(parameter)
    if (parameter ~ /\(\*/) { # a function
        type = parameter
        sub(/\(\*[a-z_]+\)/, "(*a" index_ ")", type)
        return "        " type " = null == " index_ " ? NULL : a_function;\n"
    }
    name = parameter
    sub(/\[[^]]*\]$/, "", name)
    match(name, /[A-Za-z_0-9]+$/)
    type = trim(substr(name, 1, RSTART - 1))
    if (parameter ~ /\]$/)
        type = type " *"
    if (type !~ /\*/)
        return "        " type " a" index_ " = " (type ~ /^Reln(Dims|Features|Init|Window)$/ ? "(" type "){0}" : "(" type ")1") ";\n"
    base = type
    gsub(/const|\*| /, "", base)
    stars = gsub(/\*/, "*", type)
    return "        " type " a" index_ " = null == " index_ " ? NULL : (" type ")" \
           (stars > 1 ? "POINTERS(" base ")" : "OBJECT(" base ")") ";\n" ptr(index_)
}

function ptr(index_) { pointers = pointers "        case " index_ ":\n"; is_pointer[index_] = 1; return "" }

function case_of(s,    i, n, part, name, head, arguments, list, result) {
    gsub(/\/\*[^*]*\*\//, "", s)
    gsub(/[ \t]+/, " ", s)
    sub(/ RELN_PRINTF\([^)]*\)/, "", s)
    sub(/^ RELN_API /, "", s)
    head = substr(s, 1, index(s, "(") - 1)
    match(head, /[a-z_0-9]+$/)
    name = substr(head, RSTART)
    list = substr(s, index(s, "(") + 1)
    sub(/\) ?;.*$/, "", list)
    if (trim(list) == "void")
        return
    n = split(list, part, ",")
    result = ""
    arguments = ""
    pointers = ""
    for (i = 1; i <= n; i++) {
        if (part[i] ~ /\.\.\./)
            break
        result = result declare(part[i], i - 1)
        arguments = arguments (i > 1 ? ", " : "") "a" (i - 1)
    }
    if (pointers == "")
        return
    printf "    case %d: {\n%s", count, result
    printf "        (void)null;\n        %s(%s)%s;\n        break;\n    }\n", (head ~ /^void [a-z]/ ? "" : head ~ /^const char \*/ ? "read_text(" : "(void)") name, \
           arguments, (head ~ /^const char \*/ ? ")" : "")
    for (i = 0; i < n; i++)
        if (i in is_pointer)
            table = table sprintf("    {\"%s\", %d, %d},\n", name, count, i)
    for (i = 0; i < n; i++)
        delete is_pointer[i]
    count++
}

BEGIN {
    print "/* derived by derive.awk */"
    print "static void call(int function, int null)\n{\n    switch (function) {"
}
END {
    print "    default:\n        break;\n    }\n}\n"
    print "static const struct Call {\n    const char *name;\n    int function, null;\n} calls[] = {\n" table "};"
}
