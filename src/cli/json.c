/* json.c -- values for results in JSON, made with Jansson. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

json_t *cli_json_text(const char *text)
{
    json_t *value = json_string(text);
    char *copy;

    if (value || !(copy = strdup(text)))
        return value;
    for (char *p = copy; *p; p++)
        if (*p < ' ' || *p > '~')
            *p = '?';
    value = json_string(copy);
    free(copy);
    return value;
}

json_t *cli_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *cli_json_count(int value)
{
    return value >= 0 ? json_integer(value) : json_null();
}

json_t *cli_json_answer(RelnAnswer answer)
{
    return answer == RELN_UNDECIDED ? json_null() : json_boolean(answer == RELN_YES);
}

static json_t *row(int columns, const double *values)
{
    json_t *array = json_array();

    for (int j = 0; j < columns; j++)
        if (json_array_append_new(array, cli_json_real(values[j])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

json_t *cli_json_matrix(int rows, int columns, const double *values)
{
    json_t *array = json_array();

    for (int i = 0; i < rows; i++)
        if (json_array_append_new(array, row(columns, values + (ptrdiff_t)i * columns)) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

/* A failed write is noticed, with all others, when the program ends. */
CliExit cli_json_print(json_t *object)
{
    const bool done = object && (json_dumpf(object, stdout, 0) == 0 || ferror(stdout));

    json_decref(object);
    if (!done)
        return cli_fail(CLI_NOMEM, "out of memory for the JSON result");
    putchar('\n');
    return CLI_DONE;
}
