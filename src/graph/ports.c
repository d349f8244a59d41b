/* ports.c -- the lists of a plan's inputs and outputs, and the search for values that are not finite. */
#include <math.h>
#include <stdio.h>

#include "graph/plan.h"

/* ---- inputs and outputs --------------------------------------------------------------------------------------- */

static bool is_input(const RelnNode *x)
{
    return x->op == &reln_op_input || x->op == &reln_op_index_input;
}

int reln_plan_input_count(const RelnPlan *plan)
{
    int count = 0;

    RELN_NEED(plan, 0);
    for (int i = 0; i < plan->graph->sources.count; i++)
        count += is_input(plan->graph->sources.items[i].node);
    return count;
}

int reln_plan_output_count(const RelnPlan *plan)
{
    RELN_NEED(plan, 0);

    return plan->graph->outputs.count;
}

static RelnPort port_of(const RelnPlan *plan, const RelnNamedNode *named)
{
    const RelnNode *x = named->node;

    return (RelnPort){
        .name = named->name,
        .domain = x->domain,
        .rows = x->domain > RELN_SAMPLES ? reln_domain_name(plan->graph, x->domain) : "",
        .dims = reln_node_dims(x),
        .dtype = x->dtype,
        .rep = x->rep,
    };
}

RelnPort reln_plan_input_port(const RelnPlan *plan, int index)
{
    const RelnPort none = {.name = "", .rows = ""};

    RELN_NEED(plan, none);
    for (int i = 0; i < plan->graph->sources.count; i++)
        if (is_input(plan->graph->sources.items[i].node) && index-- == 0) {
            RelnPort port = port_of(plan, &plan->graph->sources.items[i]);

            port.bound = plan->bound[i].values != NULL;
            return port;
        }
    return none;
}

RelnPort reln_plan_output_port(const RelnPlan *plan, int index)
{
    const RelnPort none = {.name = "", .rows = ""};

    RELN_NEED(plan, none);
    return index >= 0 && index < plan->graph->outputs.count
               ? port_of(plan, &plan->graph->outputs.items[index])
               : none;
}

RelnStatus reln_plan_no_input(const RelnPlan *plan, const char *name)
{
    enum { MOST = 64 };
    const char *names[MOST];
    char list[400] = "";
    size_t used = 0;
    int count = 0, near;

    for (int i = 0; i < plan->graph->sources.count && count < MOST; i++)
        if (is_input(plan->graph->sources.items[i].node))
            names[count++] = plan->graph->sources.items[i].name;
    if (!name || count == 0)
        return reln_fail(plan->ctx, RELN_ERR_ARG, "bind: the graph has no input %s",
                         name ? name : "without a name");
    near = reln_nearest(name, names, count);
    if (near >= 0)
        return reln_fail(plan->ctx, RELN_ERR_ARG,
                         "bind: the graph has no input %s; the nearest name is %s", name,
                         names[near]);
    for (int i = 0; i < count && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    return reln_fail(plan->ctx, RELN_ERR_ARG, "bind: the graph has no input %s; it has %s", name,
                     list);
}

/* ---- values that are not finite ------------------------------------------------------------------------------- */

static double value_at(const RelnNode *x, const void *values, ptrdiff_t i)
{
    return x->dtype == RELN_F64 ? ((const double *)values)[i] : (double)((const float *)values)[i];
}

static RelnStatus tell(const RelnNode *x, double value, ptrdiff_t item, ptrdiff_t element,
                       char message[RELN_MESSAGE])
{
    const int *d = x->shape.dims;
    const ptrdiff_t c = element % d[RELN_C], k = element / d[RELN_C] % d[RELN_K];
    char node[192], where[48] = "";

    reln_node_text(x, node, sizeof node);
    if (x->domain != RELN_STEP)
        snprintf(where, sizeof where, ", %.20s %td", x->domain == RELN_SAMPLES ? "sample" : "row",
                 item);
    snprintf(message, RELN_MESSAGE, "run: %s is %s at coordinate %td, channel %td%s", node,
             isnan(value) ? "nan"
             : value > 0  ? "inf"
                          : "-inf",
             k, c, where);
    return RELN_ERR_NUMERIC;
}

RelnStatus reln_plan_finite(const RelnNode *x, const void *values, ptrdiff_t n, ptrdiff_t first,
                            char message[RELN_MESSAGE])
{
    const ptrdiff_t count = reln_shape_count(&x->shape);

    if (x->dtype != RELN_F32 && x->dtype != RELN_F64)
        return RELN_OK;
    for (ptrdiff_t i = 0; i < n * count; i++)
        if (!isfinite(value_at(x, values, i)))
            return tell(x, value_at(x, values, i), first + i / count, i % count, message);
    return RELN_OK;
}
