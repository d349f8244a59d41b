# derive-ops.awk -- derives texts from src/ops/*.c. The variable `what` chooses one:
#   header       include/reln/ops.h: every /*! block and the prototypes under it
#   descriptors  declarations of the RelnOp descriptors
#   list         the array of all of them
function begin_header() {
    print "/* ops.h -- the ops: functions of nodes, differentiable to any order, of which layers and losses are made."
    print " *"
    print " *     RelnNode *z = reln_add(g, x, reln_mul(g, x, y));"
    print " *"
    print " * Every builder returns a node of the graph, or NULL if it fails or an argument is NULL; the plan reports the first failure."
    print " * \"Shapes\" are those of inputs and result, \"Rep\" says how they transform, \"Fails\" when the builder refuses. This file is"
    print " * derived from the files of src/ops: edit those files. */"
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
