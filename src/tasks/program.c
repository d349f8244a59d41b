/* program.c -- the version of this program, and the commit that it was built from. */
#include "tasks/commit.h" /* made by CMake */
#include "tasks/task.h"

#define TEXT_OF(a, b, c) #a "." #b "." #c
#define VERSION(a, b, c) TEXT_OF(a, b, c)

const char *task_program(void)
{
    return VERSION(RELN_VERSION_MAJOR, RELN_VERSION_MINOR, RELN_VERSION_PATCH) " (" RELN_COMMIT ")";
}
