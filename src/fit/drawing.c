/* drawing.c -- puts the network of a model, layer by layer, on the page of a run. */
#include "base/text.h"
#include "fit/fit.h"

static void put(void *self, const char *text)
{
    reln_text_puts(self, text);
}

RelnStatus reln_fit_draw(const RelnFit *fit, RelnPage *page)
{
    static const char title[] =
        "shapes (samples, coordinates, channels), B for the samples of a batch; cost in "
        "multiplications and additions";
    RelnModelGraph net = {0};
    RelnText text;
    RelnStatus status;

    reln_text_init(&text, fit->ctx);
    status = reln_model_build(fit->model, &(RelnModelOptions){0}, &net);
    if (status == RELN_OK)
        status =
            reln_graph_print(net.graph, &(RelnPrint){.put = put, .self = &text, .layers = true});
    if (status == RELN_OK && text.failed)
        status = RELN_ERR_NOMEM;
    if (status == RELN_OK && text.n > 0)
        reln_page_code(page, title, text.bytes);
    reln_text_clear(&text);
    reln_model_graph_clear(&net);
    return status;
}
