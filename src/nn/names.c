/* names.c -- names of layers and of their parameters, and nested nets. */
#include <stdarg.h>
#include <stdio.h>

#include "nn/nn.h"

const char *reln_nn_name(const RelnNet *net, const char *name, const char *part)
{
    const char *full = reln_arena_printf(reln_graph_arena(net->graph), "%s.%s", name, part);

    if (!full)
        reln_graph_nomem(net->graph);
    return full;
}

const char *reln_nn_path(const RelnNet *net, const char *name)
{
    return net->within && name ? reln_nn_name(net, net->within, name) : name;
}

RelnNet reln_nn_within(const RelnNet *net, const char *format, ...)
{
    RELN_NEED(net && net->graph, (RelnNet){0});

    RelnNet inside = *net;
    char name[128] = "";
    va_list args;
    int length;

    if (!format) {
        reln_graph_null(net->graph, __func__);
        return inside;
    }
    va_start(args, format);
    length = vsnprintf(name, sizeof name, format, args);
    va_end(args);
    if (length < 1 || (size_t)length >= sizeof name) {
        reln_graph_fail(net->graph, RELN_ERR_ARG,
                        "a net within a net: a name of %d characters, wanted 1 to %d", length,
                        (int)sizeof name - 1);
        return inside;
    }
    inside.within = reln_arena_printf(reln_graph_arena(net->graph), "%s%s%s",
                                      net->within ? net->within : "", net->within ? "." : "", name);
    if (!inside.within)
        reln_graph_nomem(net->graph);
    return inside;
}

RelnNode *reln_nn_param(const RelnNet *net, const char *name, const char *part, RelnDims dims,
                        RelnInit init)
{
    const char *path = reln_nn_path(net, name);
    const char *full = path ? reln_nn_name(net, path, part) : NULL;

    return full ? reln_param(net->graph, full, dims, init) : NULL;
}

RelnNode *reln_nn_state(const RelnNet *net, const char *name, const char *part, int channels,
                        double start)
{
    const char *path = reln_nn_path(net, name);
    const char *full = path ? reln_nn_name(net, path, part) : NULL;

    return full ? reln_state(net->graph, full, (RelnDims){.c = channels},
                             (RelnInit){RELN_INIT_CONSTANT, start})
                : NULL;
}
