/* fuzz_yaml.c -- reads any bytes as YAML: the result is a tree that can be written and read back, or one line
 * of refusal. */
#include "doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_doc(data, size, reln_doc_parse_yaml);
    return 0;
}
