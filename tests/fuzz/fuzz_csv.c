/* fuzz_csv.c -- reads any bytes as a table of numbers: the result is a valid table or one line of refusal. */
#include "fuzz.h"
#include "io/csv.h"

/* Memory: a copy of the bytes, eight bytes and a line's number for every number of at least two bytes, and names. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzHeap heap;
    RelnCtx *ctx = fuzz_begin(&heap, 64 * size + ((size_t)1 << 20));
    RelnCsv table;
    const RelnStatus status = reln_csv_parse(ctx, (const char *)data, size, "input", &table);
    volatile double seen = 0;

    if (status == RELN_OK) {
        require(table.n_columns > 0 && table.n_rows > 0);
        require((size_t)table.n_rows * (size_t)table.n_columns <= size);
        for (ptrdiff_t i = 0; i < table.n_rows * table.n_columns; i++)
            seen += table.values[i];
        for (int c = 0; c < table.n_columns; c++)
            require(reln_csv_column(&table, table.names[c]) != NULL);
    } else {
        fuzz_refused(ctx, status);
    }
    reln_csv_clear(&table);
    (void)seen;
    fuzz_end(ctx);
    return 0;
}
