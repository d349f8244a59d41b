/* ranks.c -- see ranks.h. A message is delivered when both sides are ready: the receiver copies it. */
#include "support/ranks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

typedef struct Post {
    const RelnMessage *messages;
    int n, done;
} Post;

typedef struct World {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int size;
    bool gone[RANKS_MOST];
    Post post[RANKS_MOST]; /* messages that each rank is sending */
    RanksTraffic traffic;
    void (*work)(const RelnComm *comm, void *user);
    void *user;
} World;

typedef struct Rank {
    World *world;
    int rank;
    pthread_t thread;
} Rank;

/* Returns the first message from `from` to `to` that has not been received; received messages have size 0. */
static RelnMessage *next_to(World *w, int from, int to)
{
    for (int i = 0; i < w->post[from].n; i++) {
        RelnMessage *m = (RelnMessage *)(uintptr_t)&w->post[from].messages[i];

        if (m->peer == to && m->n_bytes > 0)
            return m;
    }
    return NULL;
}

static bool receive(World *w, int rank, const RelnMessage *m)
{
    RelnMessage *sent = next_to(w, m->peer, rank);

    if (!sent)
        return false;
    assert_int_equal(sent->n_bytes, m->n_bytes);
    memcpy(m->bytes, sent->bytes, m->n_bytes);
    sent->n_bytes = 0;
    w->post[m->peer].done++;
    pthread_cond_broadcast(&w->changed);
    return true;
}

/* Returns whether a rank waits for a rank that has ended, as a receiver or as a sender. */
static bool waits_in_vain(const World *w, int rank, const RelnMessage *wanted)
{
    const Post *post = &w->post[rank];

    if (wanted && w->gone[wanted->peer])
        return true;
    for (int i = 0; i < post->n; i++)
        if (post->messages[i].n_bytes > 0 && w->gone[post->messages[i].peer])
            return true;
    return false;
}

static RelnStatus exchange(void *self, int n_sends, const RelnMessage *sends, int n_receives,
                           const RelnMessage *receives)
{
    const Rank *me = self;
    World *w = me->world;
    RelnMessage *list = calloc((size_t)n_sends + 1, sizeof *list);
    RelnStatus status = RELN_OK;
    int got = 0;

    if (n_sends > 0)
        memcpy(list, sends, (size_t)n_sends * sizeof *list);
    pthread_mutex_lock(&w->lock);
    w->post[me->rank] = (Post){list, n_sends, 0};
    for (int i = 0; i < n_sends; i++) {
        w->traffic.bytes[me->rank] += sends[i].n_bytes;
        w->traffic.messages[me->rank]++;
    }
    pthread_cond_broadcast(&w->changed);
    while (status == RELN_OK && (got < n_receives || w->post[me->rank].done < n_sends)) {
        if (got < n_receives && receive(w, me->rank, &receives[got]))
            got++;
        else if (waits_in_vain(w, me->rank, got < n_receives ? &receives[got] : NULL))
            status = RELN_ERR_IO;
        else
            pthread_cond_wait(&w->changed, &w->lock);
    }
    w->post[me->rank] = (Post){0};
    pthread_mutex_unlock(&w->lock);
    free(list);
    return status;
}

static void *rank_main(void *arg)
{
    Rank *me = arg;
    World *w = me->world;
    const RelnComm comm = {me->rank, w->size, me, exchange};

    w->work(&comm, w->user);
    pthread_mutex_lock(&w->lock);
    w->gone[me->rank] = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

void ranks_run(int size, void (*work)(const RelnComm *comm, void *user), void *user,
               RanksTraffic *traffic)
{
    World w = {.size = size, .work = work, .user = user};
    Rank ranks[RANKS_MOST];

    assert_true(size >= 1 && size <= RANKS_MOST);
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.changed, NULL);
    for (int r = 0; r < size; r++) {
        ranks[r] = (Rank){.world = &w, .rank = r};
        assert_int_equal(pthread_create(&ranks[r].thread, NULL, rank_main, &ranks[r]), 0);
    }
    for (int r = 0; r < size; r++)
        pthread_join(ranks[r].thread, NULL);
    pthread_cond_destroy(&w.changed);
    pthread_mutex_destroy(&w.lock);
    if (traffic)
        *traffic = w.traffic;
}
