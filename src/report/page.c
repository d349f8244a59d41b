/* page.c -- a page: blocks in their order, written as one self-contained HTML file. */
#include "kit/report.h"

#include <string.h>

#include "report/plot.h"
#include "report/style.h"
#include "report/table.h"

typedef enum Kind { SECTION, BLOCK, FACT, PLOT } Kind;

typedef struct Block {
    struct Block *next;
    Kind kind;
    const char *html; /* a section's title, escaped; NULL for a plot */
    RelnPlot *plot;
} Block;

struct RelnPage {
    RelnFault fault;
    RelnArena arena;
    RelnMarkup scratch, text; /* the current block; the page as last written */
    const char *title;
    Block *blocks, *last;
    int n_sections;
    int columns;
    int refresh; /* seconds; 0: never */
};

RelnStatus reln_page_create(RelnCtx *ctx, const char *title, RelnPage **out)
{
    RelnPage *page = *out = reln_alloc(ctx, 1, sizeof *page);

    if (!page)
        return RELN_ERR_NOMEM;
    page->fault.ctx = ctx;
    page->columns = 1;
    reln_arena_init(&page->arena, ctx);
    reln_markup_init(&page->scratch, &page->fault);
    reln_markup_init(&page->text, &page->fault);
    page->title = reln_arena_copy(&page->arena, title, strlen(title) + 1, 1);
    if (!page->title) {
        reln_page_destroy(page);
        *out = NULL;
        return RELN_ERR_NOMEM;
    }
    return RELN_OK;
}

void reln_page_destroy(RelnPage *page)
{
    if (!page)
        return;
    reln_markup_clear(&page->scratch);
    reln_markup_clear(&page->text);
    reln_arena_clear(&page->arena);
    reln_free(page->fault.ctx, page);
}

void reln_page_refresh(RelnPage *page, int seconds)
{
    page->refresh = seconds > 0 ? seconds : 0;
}

/* ---- blocks -------------------------------------------------------------------------------------------------- */

static Block *add_block(RelnPage *page, Kind kind)
{
    Block *b = NULL;

    if (page->fault.status == RELN_OK)
        b = reln_fault_check(&page->fault, reln_arena_alloc(&page->arena, 1, sizeof *b));
    if (!b)
        return NULL;
    b->kind = kind;
    *(page->last ? &page->last->next : &page->blocks) = b;
    page->last = b;
    return b;
}

static RelnMarkup *begin(RelnPage *page)
{
    reln_markup_clear(&page->scratch);
    reln_markup_add(&page->scratch, "");
    return &page->scratch;
}

/* Makes a block of the text in `scratch`. */
static void end(RelnPage *page, Kind kind)
{
    Block *b = add_block(page, kind);

    if (b)
        b->html =
            reln_fault_check(&page->fault, reln_arena_copy(&page->arena, page->scratch.body.bytes,
                                                           page->scratch.body.n + 1, 1));
}

void reln_page_section(RelnPage *page, const char *title)
{
    reln_markup_escape(begin(page), RELN_ESCAPE_HTML, title);
    end(page, SECTION);
    page->n_sections++;
}

/* Writes escaped text as paragraphs, which empty lines separate. */
static void put_paragraphs(RelnMarkup *text, const char *escaped)
{
    const char *s = escaped;

    for (;;) {
        const char *gap = strstr(s, "\n\n");
        const size_t n = gap ? (size_t)(gap - s) : strlen(s);

        reln_markup_add(text, "<p>");
        reln_markup_put(text, s, n);
        reln_markup_add(text, "</p>\n");
        if (!gap)
            return;
        s = gap + strspn(gap, "\n");
    }
}

/* Returns the formatted text, escaped; NULL after a failure. Caller clears raw and escaped. */
static const char *format_escaped(RelnMarkup *raw, RelnMarkup *escaped, RelnFault *fault,
                                  const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));
static const char *format_escaped(RelnMarkup *raw, RelnMarkup *escaped, RelnFault *fault,
                                  const char *format, va_list args)
{
    reln_markup_init(raw, fault);
    reln_markup_init(escaped, fault);
    reln_markup_addv(raw, format, args);
    reln_markup_add(escaped, "");
    if (fault->status == RELN_OK)
        reln_markup_escape(escaped, RELN_ESCAPE_HTML, raw->body.bytes);
    return fault->status == RELN_OK ? escaped->body.bytes : NULL;
}

void reln_page_text(RelnPage *page, const char *format, ...)
{
    RelnMarkup raw, escaped;
    const char *text;
    va_list args;

    va_start(args, format);
    text = format_escaped(&raw, &escaped, &page->fault, format, args);
    va_end(args);
    if (text) {
        put_paragraphs(begin(page), text);
        end(page, BLOCK);
    }
    reln_markup_clear(&raw);
    reln_markup_clear(&escaped);
}

void reln_page_fact(RelnPage *page, const char *key, const char *format, ...)
{
    RelnMarkup raw, escaped;
    const char *text;
    va_list args;

    va_start(args, format);
    text = format_escaped(&raw, &escaped, &page->fault, format, args);
    va_end(args);
    if (text) {
        reln_markup_add(begin(page), "<dt>");
        reln_markup_escape(&page->scratch, RELN_ESCAPE_HTML, key);
        reln_markup_add(&page->scratch, "</dt><dd>");
        reln_markup_add(&page->scratch, text);
        reln_markup_add(&page->scratch, "</dd>\n");
        end(page, FACT);
    }
    reln_markup_clear(&raw);
    reln_markup_clear(&escaped);
}

void reln_page_code(RelnPage *page, const char *title, const char *code)
{
    RelnMarkup *const text = begin(page);

    reln_markup_add(text, "<div class=\"code\">");
    if (title) {
        reln_markup_add(text, "<b>");
        reln_markup_escape(text, RELN_ESCAPE_HTML, title);
        reln_markup_add(text, "</b>");
    }
    /* HTML drops a line end directly after <pre>. This one is dropped, so that a first line end of the code
     * stays. */
    reln_markup_add(text, "<pre>\n");
    reln_markup_escape(text, RELN_ESCAPE_HTML, code);
    reln_markup_add(text, "</pre></div>\n");
    end(page, BLOCK);
}

void reln_page_table(RelnPage *page, RelnTable *table)
{
    if (table->fault.status != RELN_OK)
        reln_fault(&page->fault, table->fault.status, "%s", table->fault.message);
    if (page->fault.status != RELN_OK)
        return;
    reln_table_html(table, begin(page));
    end(page, BLOCK);
}

void reln_page_columns(RelnPage *page, int columns)
{
    if (columns < 1 || columns > 4)
        reln_fault(&page->fault, RELN_ERR_ARG, "a grid of %d columns: wanted 1 to 4", columns);
    else
        page->columns = columns;
}

RelnPlot *reln_page_plot(RelnPage *page, const char *title)
{
    Block *b = add_block(page, PLOT);
    RelnPlot *plot = NULL;

    if (b)
        plot = reln_fault_check(&page->fault, reln_arena_alloc(&page->arena, 1, sizeof *plot));
    if (!plot)
        return NULL;
    plot->fault = &page->fault;
    plot->arena = &page->arena;
    plot->columns = page->columns;
    plot->title =
        reln_fault_check(&page->fault, reln_arena_copy(&page->arena, title, strlen(title) + 1, 1));
    b->plot = plot;
    return plot->title ? plot : NULL;
}

/* ---- writing ------------------------------------------------------------------------------------------------- */

static void put_contents(RelnPage *page)
{
    int number = 0;

    if (page->n_sections < 2)
        return;
    reln_markup_add(&page->text, "<nav aria-label=\"Contents\"><ol>\n");
    for (const Block *b = page->blocks; b; b = b->next)
        if (b->kind == SECTION)
            reln_markup_addf(&page->text, "<li><a href=\"#s%d\">%s</a></li>\n", ++number, b->html);
    reln_markup_add(&page->text, "</ol></nav>\n");
}

static void put_head(RelnPage *page)
{
    RelnMarkup *const text = &page->text;

    reln_markup_add(text,
                    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"/>\n");
    if (page->refresh > 0)
        reln_markup_addf(text, "<meta http-equiv=\"refresh\" content=\"%d\"/>\n", page->refresh);
    reln_markup_add(text, "<title>");
    reln_markup_escape(text, RELN_ESCAPE_HTML, page->title);
    reln_markup_add(text, "</title>\n<style>\n");
    for (int i = 0; reln_style[i]; i++)
        reln_markup_add(text, reln_style[i]);
    reln_markup_add(text, "</style>\n</head>\n<body>\n<main>\n<h1>");
    reln_markup_escape(text, RELN_ESCAPE_HTML, page->title);
    reln_markup_add(text, "</h1>\n");
}

/* Returns whether two adjacent blocks share an element: facts share a list, plots of equal columns share a
 * grid. */
static bool is_together(const Block *a, const Block *b)
{
    return a && b && a->kind == b->kind &&
           (a->kind == FACT || (a->kind == PLOT && a->plot->columns == b->plot->columns));
}

static void open_group(RelnMarkup *text, const Block *b)
{
    if (b->kind == FACT)
        reln_markup_add(text, "<dl>\n");
    if (b->kind == PLOT)
        reln_markup_addf(text, "<div class=\"grid g%d\">\n", b->plot->columns);
}

static void close_group(RelnMarkup *text, const Block *b)
{
    if (b->kind == FACT)
        reln_markup_add(text, "</dl>\n");
    if (b->kind == PLOT)
        reln_markup_add(text, "</div>\n");
}

static void put_blocks(RelnPage *page)
{
    RelnMarkup *const text = &page->text;
    const Block *before = NULL;
    int n_sections = 0, n_plots = 0;

    for (const Block *b = page->blocks; b; b = b->next) {
        if (!is_together(before, b))
            open_group(text, b);
        if (b->kind == SECTION)
            reln_markup_addf(text, "<h2 id=\"s%d\">%s</h2>\n", ++n_sections, b->html);
        else if (b->kind == PLOT)
            reln_plot_svg(b->plot, ++n_plots, text);
        else
            reln_markup_add(text, b->html);
        if (!is_together(b, b->next))
            close_group(text, b);
        before = b;
    }
}

RelnStatus reln_page_html(RelnPage *page, const char **text, size_t *n_bytes)
{
    *text = "";
    *n_bytes = 0;
    RELN_TRY(reln_fault_report(&page->fault));
    reln_markup_clear(&page->text);
    put_head(page);
    put_contents(page);
    put_blocks(page);
    reln_markup_addf(&page->text,
                     "<footer>Written by reln %s.</footer>\n</main>\n</body>\n</html>\n",
                     reln_version());
    RELN_TRY(reln_fault_report(&page->fault));
    *text = page->text.body.bytes;
    *n_bytes = page->text.body.n;
    return RELN_OK;
}
