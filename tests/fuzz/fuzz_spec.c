/* fuzz_spec.c -- reads any bytes as a SPEC: the result is a SPEC that is the same after writing and reading,
 * or one line of refusal. */
#include "fuzz.h"
#include "kit/spec.h"

static RelnStatus read_spec(RelnCtx *ctx, const char *text, size_t size, RelnSpec *spec)
{
    RelnDoc *doc = NULL;
    RelnStatus status = reln_doc_parse_yaml(ctx, text, size, "input", &doc);

    if (status == RELN_OK)
        status = reln_spec_from_doc(ctx, reln_doc_root(doc), "input", spec);
    reln_doc_destroy(doc);
    return status;
}

static void write_and_read(RelnCtx *ctx, const RelnSpec *spec)
{
    RelnSpec again;
    RelnDoc *doc = NULL;
    const char *text;

    require(reln_doc_create(ctx, &doc) == RELN_OK);
    text = reln_doc_write(doc, reln_spec_to_doc(spec, doc), RELN_DOC_YAML);
    require(text != NULL);
    require(read_spec(ctx, text, strlen(text), &again) == RELN_OK);
    require(memcmp(spec, &again, sizeof again) == 0);
    reln_doc_destroy(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzHeap heap;
    RelnCtx *ctx = fuzz_begin(&heap, 64 * size + 65536);
    RelnSpec spec;
    const RelnStatus status = read_spec(ctx, (const char *)data, size, &spec);

    heap.limit = SIZE_MAX;
    if (status == RELN_OK)
        write_and_read(ctx, &spec);
    else
        fuzz_refused(ctx, status);
    fuzz_end(ctx);
    return 0;
}
