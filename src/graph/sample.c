/* sample.c -- builds the small graphs on which the generic tests check every op. */
#include <stdio.h>

#include "graph/graph.h"

static RelnNode *record(RelnSampler *s, RelnNode *node, RelnSampleInput input)
{
    input.node = node;
    if (node && s->n_inputs < RELN_SAMPLE_INPUTS)
        s->inputs[s->n_inputs++] = input;
    return node;
}

static const char *next_name(const RelnSampler *s, char text[16])
{
    snprintf(text, 16, "x%d", s->n_inputs);
    return text;
}

RelnNode *reln_sample_input(RelnSampler *s, RelnDomain domain, RelnDims dims, const RelnRep *rep,
                            double lo, double hi, bool positive)
{
    const RelnSampleInput input = {.lo = lo, .hi = hi, .positive = positive};
    char name[16];

    return record(
        s,
        reln_input(reln_graph_home(s->graph), next_name(s, name), domain, dims, rep, RELN_DEFAULT),
        input);
}

RelnNode *reln_sample_normal(RelnSampler *s, RelnDomain domain, RelnDims dims, const RelnRep *rep)
{
    return reln_sample_input(s, domain, dims, rep, 0.0, 0.0, false);
}

RelnNode *reln_sample_index(RelnSampler *s, RelnDomain domain, RelnDims dims, RelnDomain target,
                            int limit)
{
    const RelnSampleInput input = {.target = target, .limit = limit};
    char name[16];

    return record(s,
                  reln_input_index(reln_graph_home(s->graph), next_name(s, name), domain, dims,
                                   target, limit),
                  input);
}

const RelnRep *reln_sample_adjoint(RelnSampler *s)
{
    return reln_rep_adjoint(s->graph->group, s->algebra);
}

const RelnAlgebra *reln_sample_algebra(const RelnSampler *s)
{
    return s->algebra;
}

RelnDomain reln_sample_rows(RelnSampler *s)
{
    return reln_rows(s->graph, "rows", 9);
}
