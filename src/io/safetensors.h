/* safetensors.h -- functions that reading and writing .safetensors share: the header, and the checksum in it. */
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

/* An array as the header has it. */
typedef struct Entry {
    RelnArray array;
    const char *what; /* the file */
    size_t width, begin, end;
} Entry;

/* The header's text as a tree, with a map at its root and texts as metadata. */
RelnStatus reln_safetensors_header(RelnCtx *ctx, const char *what, const char *text, size_t n_bytes,
                                   RelnDoc **out);
/* Entries of the header in its order, checked against n_data bytes of numbers. `sorted` is room for as many
 * pointers. */
RelnStatus reln_safetensors_entries(RelnCtx *ctx, const char *what, const RelnDocNode *root,
                                    size_t n_data, Entry *entries, const void **sorted, int *n);

/* Where the 64 digits are in a header of ours; NULL when they are not. */
const char *reln_safetensors_sum(const char *header, size_t n_bytes);
/* The length of the header as the file has it. */
void reln_safetensors_lead(size_t n_bytes, unsigned char lead[LEAD]);
/* Begins a checksum with the length and the header, as if the digits were zeros. */
void reln_safetensors_hash(RelnSha256 *s, const char *header, size_t n_bytes, const char *digits);

#endif
