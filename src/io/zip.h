/* zip.h -- the entries of a .zip file: stored or deflated, unpacked in pieces. */
#ifndef IO_ZIP_H
#define IO_ZIP_H

#include "base/base.h"
#include "io/file.h"

enum { RELN_ZIP_MAX_ENTRIES = 4096 };

typedef struct RelnZipEntry {
    const char *name; /* in the arena; any bytes; it is never opened as a path */
    bool deflated;
    uint32_t crc;
    uint64_t packed, unpacked; /* bytes */
    uint64_t local;            /* offset of its local header */
    uint64_t data;             /* offset of its bytes */
} RelnZipEntry;

/* Lists the entries. Every number in the directory is checked against the file: entries lie inside, do not
 * overlap, and do not claim to unpack to more than 1000 times their size (plus 1 MiB). Encryption and other
 * methods are refused. */
RelnStatus reln_zip_list(const RelnSource *source, RelnArena *arena, RelnZipEntry **out, int *n);

/* Receives the next piece; any result but RELN_OK ends the unpacking. */
typedef RelnStatus RelnSink(void *self, const unsigned char *bytes, size_t n_bytes);

/* Unpacks the first n_bytes of an entry; if that is all of it, length and CRC are checked. */
RelnStatus reln_zip_unpack(const RelnSource *source, const RelnZipEntry *entry, uint64_t n_bytes,
                           RelnSink *sink, void *self);

#endif
