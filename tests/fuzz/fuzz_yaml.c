/* fuzz_yaml.c -- any bytes at all, read as YAML: a tree that writes and reads back, or one line of refusal. */
#include "doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_doc(data, size, reln_doc_parse_yaml);
    return 0;
}
