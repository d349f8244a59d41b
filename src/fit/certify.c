/* certify.c -- proves in exact arithmetic that a model is equivariant: its lifts, and the graph of its
 * network. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "graph/certify.h"
#include "model/model.h"
#include "reln/fit.h"

static RelnStatus claim_all(RelnModel *model, RelnClaims *claims)
{
    RelnModelGraph graph;
    RelnStatus status;

    RELN_TRY(reln_model_claim_lifts(model, claims));
    RELN_TRY(reln_model_build(model, NULL, &graph));
    status = reln_claim_graph(claims, graph.graph);
    reln_model_graph_clear(&graph);
    return status;
}

/* Adds a claim to the certificate, whose verdict is that of its worst claim. */
static void weigh(const RelnClaim *c, RelnCertificate *out)
{
    static const RelnProved verdicts[] = {[RELN_CLAIM_PROVED] = RELN_PROVED,
                                          [RELN_CLAIM_INEXACT] = RELN_PROVED_BUT,
                                          [RELN_CLAIM_FLOATS] = RELN_NOT_PROVABLE,
                                          [RELN_CLAIM_FALSE] = RELN_REFUTED};
    const RelnProved verdict = verdicts[c->state];

    if (c->state == RELN_CLAIM_INEXACT) {
        out->n_inexact++;
        out->residual = fmax(out->residual, c->residual);
    }
    if (verdict <= out->verdict)
        return;
    out->verdict = verdict;
    snprintf(out->reason, sizeof out->reason, "%s %.60s: %.180s", c->kind, c->name, c->text);
}

static RelnStatus write_lines(const RelnClaims *claims, RelnCertificate *out)
{
    out->lines = reln_alloc(out->ctx, (size_t)claims->count, sizeof *out->lines);
    if (!out->lines)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < claims->count; i++) {
        const RelnClaim *c = &claims->items[i];
        RelnCertificateLine *line = &out->lines[out->n_lines++];

        line->kind = c->kind;
        memcpy(line->name, c->name, sizeof line->name);
        memcpy(line->rule, c->rule, sizeof line->rule);
        memcpy(line->rep, c->rep, sizeof line->rep);
        memcpy(line->text, c->text, sizeof line->text);
        line->proved = c->state == RELN_CLAIM_PROVED;
        line->residual = c->residual;
        weigh(c, out);
    }
    return RELN_OK;
}

RelnStatus reln_certify(RelnModel *model, RelnCertificate *out)
{
    RELN_NEED(model && out, RELN_ERR_ARG);

    RelnArena arena;
    RelnClaims claims = {.arena = &arena};
    RelnStatus status;

    *out = (RelnCertificate){.ctx = reln_model_ctx(model)};
    if (!reln_model_promises(model)) {
        out->verdict = RELN_NOT_PROMISED;
        snprintf(out->reason, sizeof out->reason, "an mlp promises nothing");
        return RELN_OK;
    }
    reln_arena_init(&arena, out->ctx);
    status = claim_all(model, &claims);
    if (status == RELN_OK)
        status = write_lines(&claims, out);
    reln_arena_clear(&arena);
    return status;
}

void reln_certificate_clear(RelnCertificate *certificate)
{
    if (!certificate)
        return;
    if (certificate->ctx)
        reln_free(certificate->ctx, certificate->lines);
    *certificate = (RelnCertificate){0};
}

void reln_certificate_text(const RelnCertificate *certificate, size_t size, char *text)
{
    if (!certificate || !text)
        return;
    switch (certificate->verdict) {
    case RELN_PROVED:
        snprintf(text, size, "proved");
        break;
    case RELN_PROVED_BUT:
        snprintf(text, size, "proved but for %d constant%s, residual %.2g", certificate->n_inexact,
                 certificate->n_inexact == 1 ? "" : "s", certificate->residual);
        break;
    case RELN_NOT_PROVABLE:
        snprintf(text, size, "not provable: %s", certificate->reason);
        break;
    case RELN_NOT_PROMISED:
        snprintf(text, size, "nothing to prove: %s", certificate->reason);
        break;
    case RELN_REFUTED:
        snprintf(text, size, "REFUTED: %s", certificate->reason);
        break;
    }
}
