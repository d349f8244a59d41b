# derive-ops.awk -- what is derived from src/ops/*.c. Variable `what`:
#   header       include/reln/ops.h: every /*! block and the prototypes under it
#   descriptors  declarations of the RelnOp descriptors
#   list         the array of all of them
function begin_header() {
    print "/* ops.h -- the ops, derived from the files of src/ops: edit those. */"
    print "#ifndef RELN_OPS_H\n#define RELN_OPS_H\n"
    print "#include \"reln/graph.h\"\n#include \"reln/optimiser.h\"\n"
    print "#ifdef __cplusplus\nextern \"C\" {\n#endif"
}
BEGIN {
    if (what == "header") begin_header()
    if (what == "descriptors") print "/* derived from the files of src/ops */\n#include \"graph/op.h\""
    if (what == "list") print "/* derived from the files of src/ops */\n#include \"ops/descriptors.h\"\n\nconst RelnOp *const reln_ops[] = {"
}
/^\/\*!/ { doc = 1; if (what == "header") print "\n/*"; next }
doc { if (what == "header") print; if (/\*\//) { doc = 0; protos = 1 } next }
protos && /^RELN_API|^ / { if (what == "header") print; next }
protos { protos = 0 }
/^const RelnOp reln_op_[a-z0-9_]* = \{/ {
    name = $3
    if (what == "descriptors") print "extern const RelnOp " name ";"
    if (what == "list") print "    &" name ","
}
END {
    if (what == "header") print "\n#ifdef __cplusplus\n}\n#endif\n\n#endif"
    if (what == "list") print "    0,\n};"
}
