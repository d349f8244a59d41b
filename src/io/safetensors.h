/* safetensors.h -- functions that reading and writing .safetensors share: the header and its checksum. */
#ifndef IO_SAFETENSORS_H
#define IO_SAFETENSORS_H

#include "io/doc.h"
#include "io/sha256.h"

enum { LEAD = 8, MAX_HEADER = RELN_DOC_MAX_JSON, MAX_TENSORS = 65536, MAX_NAME = 512 };

static const char metadata_key[] = "__metadata__", sum_key[] = "reln.sha256",
                  writer_key[] = "reln.writer", own_prefix[] = "reln.",
                  zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";

static const struct {
    const char *name;
    RelnDtype dtype;
    size_t width;
} kinds[] = {
    {"F32", RELN_F32, 4}, {"F64", RELN_F64, 8}, {"I32", RELN_I32, 4}, {"I64", RELN_I64, 8}};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

/* An Entry is an array as described by the header. */
typedef struct Entry {
    RelnArray array;
    const char *what; /* name of the file */
    size_t width, begin, end;
} Entry;

/* Parses the text of the header to a tree, whose root must be a map and whose metadata must be texts. */
RelnStatus reln_safetensors_header(RelnCtx *ctx, const char *what, const char *text, size_t n_bytes,
                                   RelnDoc **out);
/* Reads the entries of the header in its order, checked against n_data bytes of numbers. `sorted` has room
 * for as many pointers. */
RelnStatus reln_safetensors_entries(RelnCtx *ctx, const char *what, const RelnDocNode *root,
                                    size_t n_data, Entry *entries, const void **sorted, int *n);

/* Returns where the 64 digits of the checksum are in a header written by this library; NULL if they are
 * missing. */
const char *reln_safetensors_sum(const char *header, size_t n_bytes);
/* Writes the length of the header in the file's form. */
void reln_safetensors_lead(size_t n_bytes, unsigned char lead[LEAD]);
/* Begins a checksum with the length and the header, with zeros in place of the digits. */
void reln_safetensors_hash(RelnSha256 *s, const char *header, size_t n_bytes, const char *digits);

#endif
