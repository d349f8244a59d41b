/* archive_share.c -- ranks on one machine unpack each compressed array once: one rank unpacks it to an
 * unnamed temporary file, and the others open that file through /proc. If the file cannot be opened, a rank
 * unpacks the array itself. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/archive.h"
#include "kit/comm.h"

/* An Offer is an unpacked array, as its owner describes it to other ranks. */
typedef struct Offer {
    uint64_t device, inode, n_bytes; /* identify the file */
    int64_t process, fd;             /* fd -1: no file */
} Offer;

/* A Sharing holds the ranks of one machine, and the compressed arrays. */
typedef struct Sharing {
    const RelnComm *comm;
    RelnCtx *ctx;
    RelnArena arena;
    int n, *local, n_local,
        me;                /* number of arrays; ranks on this machine, and the position of this one among
                            * them */
    RelnArchive **archive; /* archive of each array: several files are several archives */
    Array **array;
    uint64_t *node; /* machine of each rank */
    Offer *offers;  /* (ranks, n) */
    size_t *begin;
} Sharing;

/* ---- which arrays, which ranks ------------------------------------------------------------------------------------ */

static bool is_packed(const Array *a)
{
    return (a->dataset || (a->entry && a->entry->deflated)) && !a->memory && !a->spilled;
}

static void list_packed(RelnArchive *v, Sharing *s)
{
    for (int i = 0; i < v->n_parts; i++)
        list_packed(v->parts[i], s);
    for (int i = 0; i < v->n && !v->parts; i++) {
        if (!is_packed(&v->arrays[i]))
            continue;
        if (s->array) {
            s->archive[s->n] = v;
            s->array[s->n] = &v->arrays[i];
        }
        s->n++;
    }
}

/* Returns a number that is the same for all processes of one machine, from its boot id and its name. */
static uint64_t node_number(void)
{
    char text[256] = "";
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd >= 0 ? read(fd, text, 64) : 0;
    const size_t n = got > 0 ? (size_t)got : 0;

    if (fd >= 0)
        close(fd);
    (void)gethostname(text + n, sizeof text - n - 1);
    return reln_hash(RELN_HASH_SEED, text, sizeof text);
}

static RelnStatus make_lists(RelnArchive *v, Sharing *s)
{
    const size_t n = (size_t)s->n, size = (size_t)s->comm->size;

    s->archive = reln_arena_alloc(&s->arena, n, sizeof *s->archive);
    s->array = reln_arena_alloc(&s->arena, n, sizeof *s->array);
    s->local = reln_arena_alloc(&s->arena, size, sizeof *s->local);
    s->node = reln_arena_alloc(&s->arena, size, sizeof *s->node);
    s->offers = reln_arena_alloc(&s->arena, n * size, sizeof *s->offers);
    s->begin = reln_arena_alloc(&s->arena, size + 1, sizeof *s->begin);
    if (!s->archive || !s->array || !s->local || !s->node || !s->offers || !s->begin)
        return RELN_ERR_NOMEM;
    s->n = 0;
    list_packed(v, s);
    return RELN_OK;
}

static RelnStatus gather(const Sharing *s, void *bytes, size_t each)
{
    for (int r = 0; r <= s->comm->size; r++)
        s->begin[r] = (size_t)r * each;
    return reln_comm_gather(s->comm, s->ctx, bytes, s->begin);
}

static RelnStatus find_local(Sharing *s)
{
    const int rank = s->comm->rank;

    s->node[rank] = node_number();
    RELN_TRY(gather(s, s->node, sizeof *s->node));
    for (int r = 0; r < s->comm->size; r++)
        if (s->node[r] == s->node[rank]) {
            s->me = r == rank ? s->n_local : s->me;
            s->local[s->n_local++] = r;
        }
    return RELN_OK;
}

/* ---- giving and taking --------------------------------------------------------------------------------------------- */

static Offer offer_of(const Array *a)
{
    struct stat info;

    if (!a->spilled || fstat(a->spill.fd, &info) != 0)
        return (Offer){.fd = -1};
    return (Offer){(uint64_t)info.st_dev, (uint64_t)info.st_ino, a->spill.n_bytes,
                   (int64_t)getpid(), a->spill.fd};
}

/* Unpacks every n_local-th array. */
static RelnStatus give(const Sharing *s)
{
    Offer *own = s->offers + (size_t)s->comm->rank * (size_t)s->n;

    for (int i = 0; i < s->n; i++)
        own[i].fd = -1;
    for (int i = s->me; i < s->n && s->n_local > 1; i += s->n_local) {
        RELN_TRY(reln_archive_unpack(s->archive[i], s->array[i]));
        own[i] = offer_of(s->array[i]);
    }
    return RELN_OK;
}

static bool is_same(int fd, const Offer *offer)
{
    struct stat info;

    return fstat(fd, &info) == 0 && (uint64_t)info.st_dev == offer->device &&
           (uint64_t)info.st_ino == offer->inode && (uint64_t)info.st_size == offer->n_bytes;
}

static RelnStatus take_one(const Sharing *s, int i)
{
    const Offer *offer = &s->offers[s->local[i % s->n_local] * s->n + i];
    char path[64];
    int fd;

    if (offer->fd < 0)
        return RELN_OK;
    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)offer->process,
             (long long)offer->fd);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && is_same(fd, offer))
        return reln_archive_adopt(s->archive[i], s->array[i], fd, offer->n_bytes);
    if (fd >= 0)
        close(fd);
    return RELN_OK;
}

static RelnStatus take(const Sharing *s)
{
    for (int i = 0; i < s->n && s->n_local > 1; i++)
        if (i % s->n_local != s->me)
            RELN_TRY(take_one(s, i));
    return RELN_OK;
}

static RelnStatus share(RelnArchive *v, Sharing *s)
{
    static const char *const name[] = {"data"};
    uint64_t n;

    list_packed(v, s);
    n = (uint64_t)s->n;
    RELN_TRY(reln_comm_agree(s->comm, s->ctx, make_lists(v, s)));
    RELN_TRY(reln_comm_same(s->comm, s->ctx, 1, &n, name));
    RELN_TRY(find_local(s));
    RELN_TRY(reln_comm_agree(s->comm, s->ctx, give(s)));
    if (s->n > 0)
        RELN_TRY(gather(s, s->offers, (size_t)s->n * sizeof *s->offers));
    return reln_comm_agree(s->comm, s->ctx,
                           take(s)); /* files stay open until all ranks have opened them */
}

RelnStatus reln_archive_share(RelnArchive *v, RelnCtx *ctx, const RelnComm *comm)
{
    Sharing s = {.comm = comm, .ctx = ctx};
    RelnStatus status;

    if (!v || reln_comm_size(comm) == 1)
        return RELN_OK;
    reln_arena_init(&s.arena, ctx);
    status = share(v, &s);
    reln_arena_clear(&s.arena);
    return status;
}
