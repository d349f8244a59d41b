/* fuzz_model.c -- reads any bytes as the description of a model in a model file: the result is a model whose
 * description is the same text, or one line of refusal. The named algebra is created, so an input may take
 * longer than other files. */
#include "fuzz.h"
#include "kit/model.h"

static RelnStatus read_model(RelnCtx *ctx, const char *text, size_t size, RelnModel **out)
{
    RelnDoc *doc = NULL;
    RelnStatus status = reln_doc_parse_json(ctx, text, size, "input", &doc);

    if (status == RELN_OK)
        status = reln_model_from_doc(ctx, reln_doc_root(doc), "input", out);
    reln_doc_destroy(doc);
    return status;
}

/* Describing the model again gives the same text. */
static void write_and_read(RelnCtx *ctx, const RelnModel *model)
{
    RelnDoc *doc[2] = {NULL, NULL};
    RelnModel *again = NULL;
    const char *text[2];

    for (int i = 0; i < 2; i++) {
        require(reln_doc_create(ctx, &doc[i]) == RELN_OK);
        text[i] = reln_doc_write(doc[i], reln_model_describe(i ? again : model, doc[i]),
                                 RELN_DOC_ONE_LINE);
        require(text[i] != NULL);
        if (i == 0)
            require(read_model(ctx, text[0], strlen(text[0]), &again) == RELN_OK);
    }
    require(strcmp(text[0], text[1]) == 0);
    reln_model_destroy(again);
    reln_doc_destroy(doc[0]);
    reln_doc_destroy(doc[1]);
}

/* The memory limit is that of an algebra of the largest size and dimension. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzHeap heap;
    RelnCtx *ctx = fuzz_begin(&heap, 64 * size + ((size_t)1 << 30));
    RelnModel *model = NULL;
    RelnStatus status;

    fuzz_clock(60);
    status = read_model(ctx, (const char *)data, size, &model);
    if (status == RELN_OK)
        write_and_read(ctx, model);
    else
        require(reln_ctx_error(ctx)[0] != '\0' && !strchr(reln_ctx_error(ctx), '\n'));
    reln_model_destroy(model);
    fuzz_end(ctx);
    return 0;
}
