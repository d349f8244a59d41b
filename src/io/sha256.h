/* sha256.h -- SHA-256 (FIPS 180-4), fed in pieces. */
#ifndef IO_SHA256_H
#define IO_SHA256_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

enum { RELN_SHA256_HEX = 64 };

typedef struct RelnSha256 {
    uint32_t h[8];
    uint64_t n_bytes;
    unsigned char block[64];
} RelnSha256;

void reln_sha256_begin(RelnSha256 *s);
void reln_sha256_feed(RelnSha256 *s, const void *bytes, size_t n_bytes);
/* Writes lower-case digits, terminated by 0. */
void reln_sha256_end(RelnSha256 *s, char hex[RELN_SHA256_HEX + 1]);

/* Computes the SHA-256 of a file's content, of any size. */
RelnStatus reln_sha256_file(RelnCtx *ctx, const char *path, char hex[RELN_SHA256_HEX + 1]);
/* Computes the SHA-256 of the names and contents of the files in a folder, without its subfolders. */
RelnStatus reln_sha256_folder(RelnCtx *ctx, const char *path, char hex[RELN_SHA256_HEX + 1]);

#endif
