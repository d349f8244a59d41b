/* sha256.c -- see sha256.h; letters as in FIPS 180-4, section 6.2. */
#include "io/sha256.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "io/file.h"
#include "kit/files.h"

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void schedule(const unsigned char *block, uint32_t W[64])
{
    for (int t = 0; t < 16; t++, block += 4)
        W[t] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 |
               block[3];
    for (int t = 16; t < 64; t++) {
        const uint32_t s0 = rotr(W[t - 15], 7) ^ rotr(W[t - 15], 18) ^ W[t - 15] >> 3;
        const uint32_t s1 = rotr(W[t - 2], 17) ^ rotr(W[t - 2], 19) ^ W[t - 2] >> 10;

        W[t] = s1 + W[t - 7] + s0 + W[t - 16];
    }
}

static void compress(uint32_t H[8], const unsigned char *block)
{
    uint32_t W[64], a = H[0], b = H[1], c = H[2], d = H[3], e = H[4], f = H[5], g = H[6], h = H[7];

    schedule(block, W);
    for (int t = 0; t < 64; t++) {
        const uint32_t S1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25);
        const uint32_t T1 = h + S1 + ((e & f) ^ (~e & g)) + K[t] + W[t];
        const uint32_t S0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22);
        const uint32_t T2 = S0 + ((a & b) ^ (a & c) ^ (b & c));

        h = g, g = f, f = e, e = d + T1;
        d = c, c = b, b = a, a = T1 + T2;
    }
    H[0] += a, H[1] += b, H[2] += c, H[3] += d;
    H[4] += e, H[5] += f, H[6] += g, H[7] += h;
}

/* The first 32 bits of the fractional parts of the square roots of the first 8 primes. */
void reln_sha256_begin(RelnSha256 *s)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

    memset(s, 0, sizeof *s);
    memcpy(s->h, start, sizeof start);
}

void reln_sha256_feed(RelnSha256 *s, const void *bytes, size_t n_bytes)
{
    const unsigned char *p = bytes;

    while (n_bytes > 0) {
        const size_t used = s->n_bytes % 64, room = 64 - used;
        const size_t n = n_bytes < room ? n_bytes : room;

        if (n == 64)
            compress(s->h, p);
        else {
            memcpy(s->block + used, p, n);
            if (n == room)
                compress(s->h, s->block);
        }
        s->n_bytes += n;
        p += n;
        n_bytes -= n;
    }
}

/* Appends a one bit, zeros, and the length in bits as the last eight bytes of a block. */
void reln_sha256_end(RelnSha256 *s, char hex[RELN_SHA256_HEX + 1])
{
    static const unsigned char one = 0x80, zero = 0;
    const uint64_t n_bits = s->n_bytes * 8;
    unsigned char length[8];

    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(n_bits >> (56 - 8 * i));
    reln_sha256_feed(s, &one, 1);
    while (s->n_bytes % 64 != 56)
        reln_sha256_feed(s, &zero, 1);
    reln_sha256_feed(s, length, 8);
    for (int i = 0; i < RELN_SHA256_HEX; i++)
        hex[i] = "0123456789abcdef"[s->h[i / 8] >> (28 - 4 * (i % 8)) & 15];
    hex[RELN_SHA256_HEX] = '\0';
}

RelnStatus reln_sha256_file(RelnCtx *ctx, const char *path, char hex[RELN_SHA256_HEX + 1])
{
    unsigned char piece[1 << 14];
    RelnStatus status = RELN_OK;
    RelnSource source;
    RelnSha256 s;

    RELN_TRY(reln_source_open_large(ctx, path, &source));
    reln_sha256_begin(&s);
    for (size_t at = 0; at < source.n_bytes && status == RELN_OK; at += sizeof piece) {
        const size_t left = source.n_bytes - at, n = left < sizeof piece ? left : sizeof piece;

        status = reln_source_read(&source, at, n, piece);
        reln_sha256_feed(&s, piece, n);
    }
    reln_source_close(&source);
    reln_sha256_end(&s, hex);
    return status;
}

/* Finds the first name of a folder after `after`, in the order of bytes; false when there is none. Hidden
 * files are skipped. */
static bool next_name(DIR *folder, const char *after, char out[NAME_MAX + 1])
{
    const struct dirent *entry;

    out[0] = '\0';
    rewinddir(folder);
    while ((entry = readdir(folder)))
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, after) > 0 &&
            (!out[0] || strcmp(entry->d_name, out) < 0))
            snprintf(out, NAME_MAX + 1, "%s", entry->d_name);
    return out[0] != '\0';
}

static RelnStatus feed_files(RelnCtx *ctx, const char *path, DIR *folder, RelnSha256 *s)
{
    char name[NAME_MAX + 1], last[NAME_MAX + 1] = "", file[PATH_MAX], hex[RELN_SHA256_HEX + 1];

    while (next_name(folder, last, name)) {
        if ((size_t)snprintf(file, sizeof file, "%s/%s", path, name) >= sizeof file)
            return reln_fail(ctx, RELN_ERR_ARG, "%s: the path is too long", reln_path_tail(path));
        if (!reln_folder_exists(file)) {
            RELN_TRY(reln_sha256_file(ctx, file, hex));
            reln_sha256_feed(s, name, strlen(name) + 1);
            reln_sha256_feed(s, hex, RELN_SHA256_HEX);
        }
        memcpy(last, name, sizeof last);
    }
    return RELN_OK;
}

RelnStatus reln_sha256_folder(RelnCtx *ctx, const char *path, char hex[RELN_SHA256_HEX + 1])
{
    DIR *const folder = opendir(path);
    RelnStatus status;
    RelnSha256 s;

    if (!folder)
        return reln_fail_errno(ctx, path, "read the folder", errno);
    reln_sha256_begin(&s);
    status = feed_files(ctx, path, folder, &s);
    reln_sha256_end(&s, hex);
    closedir(folder);
    return status;
}
