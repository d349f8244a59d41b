/* drawing.c -- the network of a model, layer by layer, on the page of a run. */
#include "fit/fit.h"
#include "report/text.h"

static void put(void *self, const char *text)
{
    reln_markup_add(self, text);
}

RelnStatus reln_fit_draw(const RelnFit *fit, RelnPage *page)
{
    RelnModelGraph net = {0};
    RelnFault fault = {.ctx = fit->ctx};
    RelnMarkup text;
    RelnStatus status;

    reln_markup_init(&text, &fault);
    status = reln_model_build(fit->model, &(RelnModelOptions){0}, &net);
    if (status == RELN_OK)
        status =
            reln_graph_print(net.graph, &(RelnPrint){.put = put, .self = &text, .layers = true});
    if (status == RELN_OK)
        status = reln_fault_report(&fault);
    if (status == RELN_OK && text.n > 0)
        reln_page_code(
            page,
            "shapes (samples, coordinates, channels), B for the samples of a batch; cost in "
            "multiplications and additions",
            text.bytes);
    reln_markup_clear(&text);
    reln_model_graph_clear(&net);
    return status;
}
