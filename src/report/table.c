/* table.c -- tables: filling them, and writing them as text, markdown and HTML. */
#include "report/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- filling ------------------------------------------------------------------------------------------------- */

RelnStatus reln_table_create(RelnCtx *ctx, RelnTable **out)
{
    RelnTable *table = *out = reln_alloc(ctx, 1, sizeof *table);

    if (!table)
        return RELN_ERR_NOMEM;
    table->fault.ctx = ctx;
    reln_arena_init(&table->arena, ctx);
    reln_markup_init(&table->text, &table->fault);
    return RELN_OK;
}

void reln_table_destroy(RelnTable *table)
{
    if (!table)
        return;
    reln_markup_clear(&table->text);
    reln_arena_clear(&table->arena);
    reln_free(table->fault.ctx, table);
}

static const char *copy(RelnTable *table, const char *text)
{
    return reln_fault_check(&table->fault,
                            reln_arena_copy(&table->arena, text, strlen(text) + 1, 1));
}

void reln_table_title(RelnTable *table, const char *title)
{
    if (table->fault.status == RELN_OK)
        table->title = copy(table, title);
}

void reln_table_column(RelnTable *table, const char *name, unsigned flags)
{
    if (table->fault.status != RELN_OK)
        return;
    if (table->rows || table->n_columns == RELN_TABLE_COLUMNS) {
        reln_fault(&table->fault, RELN_ERR_ARG,
                   "column \"%.60s\": %d columns %s; columns come before rows, %d at most", name,
                   table->n_columns, table->rows ? "and rows" : "already", RELN_TABLE_COLUMNS);
        return;
    }
    table->columns[table->n_columns].name = copy(table, name);
    table->columns[table->n_columns].target = (double)NAN;
    table->columns[table->n_columns++].flags = flags;
}

void reln_table_nearest(RelnTable *table, double target)
{
    if (table->fault.status != RELN_OK || table->n_columns == 0)
        return;
    table->columns[table->n_columns - 1].flags |= RELN_COL_LOWEST;
    table->columns[table->n_columns - 1].target = target;
}

void reln_table_width(RelnTable *table, int columns)
{
    table->width = columns;
}

void reln_table_note(RelnTable *table, const char *note)
{
    RelnNote *n = NULL;

    if (table->fault.status == RELN_OK)
        n = reln_fault_check(&table->fault, reln_arena_alloc(&table->arena, 1, sizeof *n));
    if (!n)
        return;
    n->text = copy(table, note);
    *(table->last_note ? &table->last_note->next : &table->notes) = n;
    table->last_note = n;
}

static RelnRow *add_row(RelnTable *table)
{
    RelnRow *row = NULL;

    if (table->fault.status == RELN_OK)
        row = reln_fault_check(&table->fault, reln_arena_alloc(&table->arena, 1, sizeof *row));
    if (!row)
        return NULL;
    *(table->last ? &table->last->next : &table->rows) = row;
    table->last = row;
    table->n_cells = 0;
    return row;
}

void reln_table_row(RelnTable *table)
{
    const size_t n = (size_t)table->n_columns;
    RelnRow *row = add_row(table);

    if (!row)
        return;
    row->cells =
        reln_fault_check(&table->fault, reln_arena_alloc(&table->arena, n, sizeof *row->cells));
    for (size_t c = 0; row->cells && c < n; c++)
        row->cells[c].value = (double)NAN;
}

void reln_table_reference(RelnTable *table)
{
    if (table->fault.status == RELN_OK && table->last)
        table->last->reference = true;
}

void reln_table_group(RelnTable *table, const char *name)
{
    RelnRow *row = add_row(table);

    if (row)
        row->group = copy(table, name);
}

void reln_table_value(RelnTable *table, double value, const char *text)
{
    RelnCell *cell;

    if (table->fault.status != RELN_OK)
        return;
    if (!table->last || table->last->group || table->n_cells == table->n_columns) {
        reln_fault(&table->fault, RELN_ERR_ARG,
                   "cell \"%.60s\": the row has %d of %d cells already", text, table->n_cells,
                   table->last && !table->last->group ? table->n_columns : 0);
        return;
    }
    cell = &table->last->cells[table->n_cells++];
    cell->text = copy(table, text);
    cell->value = value;
}

void reln_table_text(RelnTable *table, const char *text)
{
    reln_table_value(table, (double)NAN, text);
}

void reln_table_number(RelnTable *table, double value, int digits)
{
    char buf[RELN_NUMBER_TEXT];

    reln_table_value(table, value, reln_report_number(buf, value, digits));
}

void reln_table_mean(RelnTable *table, double mean, double spread, int digits)
{
    char buf[RELN_NUMBER_TEXT];

    reln_table_value(table, mean, reln_report_mean(buf, mean, spread, digits));
}

void reln_table_count(RelnTable *table, int64_t count)
{
    char buf[RELN_NUMBER_TEXT];

    reln_table_value(table, (double)count, reln_report_count(buf, count));
}

/* ---- best values --------------------------------------------------------------------------------------------- */

/* Returns a value, with its sign chosen so that larger is better. */
static double merit(const RelnTable *table, int column, const RelnCell *cell)
{
    if (!isnan(table->columns[column].target))
        return -fabs(cell->value - table->columns[column].target);
    return table->columns[column].flags & RELN_COL_LOWEST ? -cell->value : cell->value;
}

static const RelnCell *best_of(const RelnTable *table, int column)
{
    const RelnCell *best = NULL;

    for (const RelnRow *row = table->rows; row; row = row->next) {
        const RelnCell *cell = row->cells && !row->reference ? &row->cells[column] : NULL;

        if (cell && cell->text && isfinite(cell->value) &&
            (!best || merit(table, column, cell) > merit(table, column, best)))
            best = cell;
    }
    return best;
}

static void settle_column(RelnTable *table, int column)
{
    const bool wanted = table->columns[column].flags & (RELN_COL_LOWEST | RELN_COL_HIGHEST);
    const RelnCell *best = wanted ? best_of(table, column) : NULL;
    double largest = 0.0;

    for (RelnRow *row = table->rows; row; row = row->next) {
        RelnCell *cell = row->cells ? &row->cells[column] : NULL;

        if (!cell || !cell->text)
            continue;
        if (isfinite(cell->value))
            largest = fmax(largest, fabs(cell->value));
        cell->best =
            best && !row->reference && isfinite(cell->value) && strcmp(cell->text, best->text) == 0;
    }
    table->columns[column].largest = largest;
}

/* Finds the best and largest values, which depend on all rows. */
static void settle(RelnTable *table)
{
    for (int c = 0; c < table->n_columns; c++)
        settle_column(table, c);
}

/* ---- text ---------------------------------------------------------------------------------------------------- */

static RelnEscape escape_of(RelnTableFormat format)
{
    return format == RELN_TABLE_MARKDOWN ? RELN_ESCAPE_MARKDOWN : RELN_ESCAPE_PLAIN;
}

static const char *before_best(RelnTableFormat format)
{
    return format == RELN_TABLE_MARKDOWN ? "**" : format == RELN_TABLE_TERMINAL ? "\033[1m" : "";
}

static const char *after_best(RelnTableFormat format)
{
    return format == RELN_TABLE_MARKDOWN ? "**" : format == RELN_TABLE_TERMINAL ? "\033[0m" : "*";
}

/* Returns the columns that a text takes after escaping, including the marks of a best value. */
static ptrdiff_t shown_width(RelnTableFormat format, const char *text, bool best)
{
    const ptrdiff_t around = !best                           ? 0
                             : format == RELN_TABLE_MARKDOWN ? 4
                             : format == RELN_TABLE_PLAIN    ? 1
                                                             : 0;

    return reln_escaped_width(escape_of(format), text) + around;
}

/* Returns whether a plain table keeps a column for the star behind the numbers, so that they stay aligned. */
static bool has_star(const RelnTable *table, RelnTableFormat format, int column)
{
    return format == RELN_TABLE_PLAIN &&
           table->columns[column].flags & (RELN_COL_LOWEST | RELN_COL_HIGHEST);
}

static void put_cell(RelnTable *table, RelnTableFormat format, int column, const char *text,
                     bool best, ptrdiff_t width)
{
    const unsigned flags = table->columns[column].flags;
    const bool gap = has_star(table, format, column) && !best && flags & RELN_COL_RIGHT;
    const ptrdiff_t space = width - shown_width(format, text, best) - gap;
    const ptrdiff_t left = flags & RELN_COL_RIGHT ? space : flags & RELN_COL_CENTRE ? space / 2 : 0;

    reln_markup_repeat(&table->text, " ", left);
    reln_markup_add(&table->text, best ? before_best(format) : "");
    reln_markup_escape(&table->text, escape_of(format), text);
    reln_markup_add(&table->text, best ? after_best(format) : "");
    reln_markup_repeat(&table->text, " ", space - left + gap);
}

static ptrdiff_t width_of_column(RelnTable *table, RelnTableFormat format, int column)
{
    const bool star = has_star(table, format, column);
    ptrdiff_t width = shown_width(format, table->columns[column].name, false) + star;

    for (const RelnRow *row = table->rows; row; row = row->next) {
        const RelnCell *cell = row->cells ? &row->cells[column] : NULL;
        const ptrdiff_t w =
            cell && cell->text ? shown_width(format, cell->text, cell->best) + (star && !cell->best)
                               : 0;

        width = w > width ? w : width;
    }
    return format == RELN_TABLE_MARKDOWN && width < 3 ? 3 : width;
}

/* Removes spaces at the end of a line. */
static void end_line(RelnMarkup *text)
{
    while (text->body.n > 0 && text->body.bytes[text->body.n - 1] == ' ')
        text->body.n--;
    reln_markup_add(text, "\n");
}

/* A Block is a part of a wide table: the first column, then those from `from` to before `to`. */
typedef struct Block {
    int from, to;
} Block;

static int column_after(const Block *block, int c)
{
    return c == 0 ? block->from : c + 1;
}

/* If cells is NULL, writes the names of the columns. */
static void put_row(RelnTable *table, RelnTableFormat format, const RelnCell *cells,
                    const ptrdiff_t *widths, const Block *block)
{
    const bool markdown = format == RELN_TABLE_MARKDOWN;

    for (int c = 0; c < block->to; c = column_after(block, c)) {
        const char *text = cells ? cells[c].text : table->columns[c].name;

        reln_markup_add(&table->text, markdown ? c > 0 ? " | " : "| " : c > 0 ? "  " : "");
        put_cell(table, format, c, text ? text : "", cells && cells[c].best, widths[c]);
    }
    reln_markup_add(&table->text, markdown ? " |" : "");
    end_line(&table->text);
}

static void put_rule(RelnTable *table, RelnTableFormat format, const ptrdiff_t *widths,
                     const Block *block)
{
    for (int c = 0; c < block->to; c = column_after(block, c)) {
        const unsigned flags = table->columns[c].flags;

        if (format == RELN_TABLE_MARKDOWN) {
            reln_markup_add(&table->text, c > 0 ? " | " : "| ");
            reln_markup_add(&table->text, flags & RELN_COL_CENTRE ? ":" : "-");
            reln_markup_repeat(&table->text, "-", widths[c] - 2);
            reln_markup_add(&table->text, flags & (RELN_COL_RIGHT | RELN_COL_CENTRE) ? ":" : "-");
        } else {
            reln_markup_repeat(&table->text, "─", widths[c] + (c > 0 ? 2 : 0));
        }
    }
    reln_markup_add(&table->text, format == RELN_TABLE_MARKDOWN ? " |\n" : "\n");
}

static void put_group(RelnTable *table, RelnTableFormat format, const char *name)
{
    if (format == RELN_TABLE_MARKDOWN)
        reln_markup_add(&table->text, "| *");
    reln_markup_escape(&table->text, escape_of(format), name);
    if (format == RELN_TABLE_MARKDOWN) {
        reln_markup_add(&table->text, "* |");
        reln_markup_repeat(&table->text, " |", table->n_columns - 1);
    }
    reln_markup_add(&table->text, "\n");
}

/* Writes a note in lines of the table's width, broken between words; width 0: in one line. */
static void put_note(RelnTable *table, RelnTableFormat format, const char *text)
{
    enum { LEAST = 20 };
    const ptrdiff_t width = format == RELN_TABLE_MARKDOWN || table->width == 0 ? 0
                            : table->width < LEAST                             ? LEAST
                                                                               : table->width;
    ptrdiff_t column = 0;
    char word[512];

    if (width == 0) {
        reln_markup_escape(&table->text, escape_of(format), text);
        return;
    }
    while (*text) {
        const size_t n = strcspn(text, " ");
        const size_t taken = n < sizeof word ? n : sizeof word - 1;
        ptrdiff_t shown;

        memcpy(word, text, taken);
        word[taken] = '\0';
        shown = reln_escaped_width(escape_of(format), word);
        if (column > 0 && column + 1 + shown > width) {
            reln_markup_add(&table->text, "\n");
            column = 0;
        }
        reln_markup_add(&table->text, column > 0 ? " " : "");
        reln_markup_escape(&table->text, escape_of(format), word);
        column += shown + (column > 0);
        text += taken;
        text += strspn(text, " ");
    }
}

static void put_notes(RelnTable *table, RelnTableFormat format)
{
    const bool dim = format == RELN_TABLE_TERMINAL;

    for (const RelnNote *note = table->notes; note; note = note->next) {
        /* a blank line ends a markdown table, and separates paragraphs */
        reln_markup_add(&table->text, format == RELN_TABLE_MARKDOWN ? "\n" : dim ? "\033[2m" : "");
        put_note(table, format, note->text);
        reln_markup_add(&table->text, dim ? "\033[0m\n" : "\n");
    }
}

static void put_title(RelnTable *table, RelnTableFormat format)
{
    if (!table->title)
        return;
    reln_markup_add(&table->text, before_best(format));
    reln_markup_escape(&table->text, escape_of(format), table->title);
    reln_markup_add(&table->text, format == RELN_TABLE_PLAIN ? "" : after_best(format));
    reln_markup_add(&table->text, format == RELN_TABLE_MARKDOWN ? "\n\n" : "\n");
}

static void put_block(RelnTable *table, RelnTableFormat format, const ptrdiff_t *widths,
                      const Block *block)
{
    put_row(table, format, NULL, widths, block);
    put_rule(table, format, widths, block);
    for (const RelnRow *row = table->rows; row; row = row->next) {
        if (row->group)
            put_group(table, format, row->group);
        else
            put_row(table, format, row->cells, widths, block);
    }
}

/* Takes as many columns from `from` on as fit beside the first one: at least one. */
static Block next_block(const RelnTable *table, const ptrdiff_t *widths, bool limited, int from)
{
    Block block = {from, from < table->n_columns ? from : table->n_columns};
    ptrdiff_t width = widths[0];

    while (block.to < table->n_columns) {
        width += 2 + widths[block.to];
        if (limited && block.to > from && width > table->width) {
            while (table->columns[block.to].flags & RELN_COL_BESIDE && block.to > from + 1)
                block.to--;
            break;
        }
        block.to++;
    }
    return block;
}

static void put_blocks(RelnTable *table, RelnTableFormat format, const ptrdiff_t *widths)
{
    const bool limited = format != RELN_TABLE_MARKDOWN && table->width > 0;
    Block block = next_block(table, widths, limited, 1);

    put_block(table, format, widths, &block);
    while (block.to < table->n_columns) {
        block = next_block(table, widths, limited, block.to);
        reln_markup_add(&table->text, "\n");
        put_block(table, format, widths, &block);
    }
}

RelnStatus reln_table_write(RelnTable *table, RelnTableFormat format, const char **text,
                            size_t *n_bytes)
{
    ptrdiff_t widths[RELN_TABLE_COLUMNS] = {0};

    *text = "";
    *n_bytes = 0;
    RELN_TRY(reln_fault_report(&table->fault));
    settle(table);
    reln_markup_clear(&table->text);
    reln_markup_add(&table->text, "");
    for (int c = 0; c < table->n_columns; c++)
        widths[c] = width_of_column(table, format, c);
    put_title(table, format);
    put_blocks(table, format, widths);
    put_notes(table, format);
    RELN_TRY(reln_fault_report(&table->fault));
    *text = table->text.body.bytes;
    *n_bytes = table->text.body.n;
    return RELN_OK;
}

/* ---- HTML ---------------------------------------------------------------------------------------------------- */

enum { MANY = 7 }; /* number of columns that fit a page of the width of its text */

static void html_class(RelnMarkup *text, unsigned flags, const RelnCell *cell)
{
    const char *align = flags & RELN_COL_RIGHT ? "r" : flags & RELN_COL_CENTRE ? "c" : "";
    const bool bar = cell && flags & RELN_COL_BAR && isfinite(cell->value);

    if (*align || bar || (cell && cell->best))
        reln_markup_addf(text, " class=\"%s%s%s\"", align, bar ? " bar" : "",
                         cell && cell->best ? " best" : "");
}

/* A value with its spread may break before the spread, and nowhere else. */
static void html_value(const RelnTable *table, RelnMarkup *text, const char *value)
{
    static const char sign[] = " ± ";
    const char *spread = table->n_columns > MANY ? strstr(value, sign) : NULL;
    char mean[RELN_NUMBER_TEXT];

    if (!spread || spread - value >= RELN_NUMBER_TEXT) {
        reln_markup_escape(text, RELN_ESCAPE_HTML, value);
        return;
    }
    memcpy(mean, value, (size_t)(spread - value));
    mean[spread - value] = '\0';
    reln_markup_add(text, "<span>");
    reln_markup_escape(text, RELN_ESCAPE_HTML, mean);
    reln_markup_add(text, "</span> <span>±\302\240");
    reln_markup_escape(text, RELN_ESCAPE_HTML, spread + sizeof sign - 1);
    reln_markup_add(text, "</span>");
}

static void html_cell(const RelnTable *table, RelnMarkup *text, int column, const RelnCell *cell)
{
    const unsigned flags = table->columns[column].flags;
    const double largest = table->columns[column].largest;

    reln_markup_add(text, "<td");
    html_class(text, flags, cell);
    if (flags & RELN_COL_BAR && isfinite(cell->value)) {
        reln_markup_add(text, " style=\"--f:");
        reln_markup_fixed(text, largest > 0.0 ? 100.0 * (fabs(cell->value) / largest) : 0.0);
        reln_markup_add(text, "%\"");
    }
    reln_markup_add(text, ">");
    if (cell->text)
        html_value(table, text, cell->text);
    reln_markup_add(text, "</td>");
}

static void html_row(const RelnTable *table, RelnMarkup *text, const RelnRow *row)
{
    if (row->group) {
        reln_markup_addf(text, "<tr class=\"group\"><th colspan=\"%d\">", table->n_columns);
        reln_markup_escape(text, RELN_ESCAPE_HTML, row->group);
        reln_markup_add(text, "</th></tr>\n");
        return;
    }
    reln_markup_add(text, "<tr>");
    for (int c = 0; c < table->n_columns; c++)
        html_cell(table, text, c, &row->cells[c]);
    reln_markup_add(text, "</tr>\n");
}

/* Writes the name of a column, which may be broken behind a point or an underscore, as in "train.lr". */
static void html_name(RelnMarkup *text, const char *name)
{
    char part[256];

    while (*name) {
        size_t n = strcspn(name, "._");

        n += name[n] != '\0';
        snprintf(part, sizeof part, "%.*s", (int)n, name);
        reln_markup_escape(text, RELN_ESCAPE_HTML, part);
        name += n;
        reln_markup_add(text, *name ? "<wbr/>" : "");
    }
}

static void html_head(const RelnTable *table, RelnMarkup *text)
{
    reln_markup_add(text, "<thead><tr>");
    for (int c = 0; c < table->n_columns; c++) {
        reln_markup_add(text, "<th scope=\"col\"");
        html_class(text, table->columns[c].flags, NULL);
        reln_markup_add(text, ">");
        html_name(text, table->columns[c].name);
        reln_markup_add(text, "</th>");
    }
    reln_markup_add(text, "</tr></thead>\n");
}

void reln_table_html(RelnTable *table, RelnMarkup *text)
{
    settle(table);
    reln_markup_add(text, "<div class=\"table\">\n");
    if (table
            ->title) { /* not a <caption>, because the title must fit the screen even if the table scrolls */
        reln_markup_add(text, "<p class=\"title\">");
        reln_markup_escape(text, RELN_ESCAPE_HTML, table->title);
        reln_markup_add(text, "</p>\n");
    }
    reln_markup_addf(text, "<div class=\"scroll%s\"><table>\n",
                     table->n_columns > MANY ? " many" : "");
    html_head(table, text);
    reln_markup_add(text, "<tbody>\n");
    for (const RelnRow *row = table->rows; row; row = row->next)
        html_row(table, text, row);
    reln_markup_add(text, "</tbody></table></div>\n");
    for (const RelnNote *note = table->notes; note; note = note->next) {
        reln_markup_add(text, "<p class=\"note\">");
        reln_markup_escape(text, RELN_ESCAPE_HTML, note->text);
        reln_markup_add(text, "</p>\n");
    }
    reln_markup_add(text, "</div>\n");
}
