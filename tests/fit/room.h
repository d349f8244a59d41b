/* room.h -- a separate folder for each test, with a SPEC, its data, and the files that are made from them. */
#ifndef TESTS_FIT_ROOM_H
#define TESTS_FIT_ROOM_H

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "kit/doc.h"
#include "model/world.h"

#define PAIRS                                                                                      \
    "{symmetry: gl:2, inputs: [{name: X, as: matrix}], target: {name: y, as: scalar},"             \
    " model: {width: 3, depth: 1, head: {hidden: 1}},"
#define VECTORS                                                                                    \
    "{symmetry: so:3, inputs: [{name: C, as: covariance}, {name: v, as: vector}],"                 \
    " target: {name: y, as: vector}, model: {width: 4, depth: 1},"
#define CLASSES                                                                                    \
    "{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m}],"                     \
    " target: {name: y, as: class, classes: 3}, model: {width: 4, depth: 1},"

typedef struct Room {
    World world; /* the context, the SPEC and the arrays in memory */
    char folder[64];
    char spec[96], data[96], run[96], model[128];
} Room;

static inline void room_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* Writes spec.yaml and data.npz; the other fields are names of files that a test makes later. */
static inline void room_init(Room *r, const char *yaml, int samples)
{
    *r = (Room){.folder = "/tmp/reln-fit-XXXXXX"};
    assert_non_null(mkdtemp(r->folder));
    snprintf(r->spec, sizeof r->spec, "%s/spec.yaml", r->folder);
    snprintf(r->data, sizeof r->data, "%s/data.npz", r->folder);
    snprintf(r->run, sizeof r->run, "%s/run", r->folder);
    snprintf(r->model, sizeof r->model, "%s/run/model.safetensors", r->folder);
    assert_int_equal(world_init(&r->world, NULL, yaml, samples), RELN_OK);
    room_write(r->spec, yaml);
    assert_ok(r->world.ctx,
              reln_npz_save(r->world.ctx, r->data, r->world.n_arrays, r->world.arrays));
}

static inline int room_count(const char *folder)
{
    DIR *d = opendir(folder);
    int count = 0;

    for (const struct dirent *e; d && (e = readdir(d));)
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (d)
        closedir(d);
    return count;
}

/* Files only. */
static inline void room_sweep(const char *folder)
{
    DIR *d = opendir(folder);
    char path[512];

    for (const struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path);
    }
    if (d)
        closedir(d);
    rmdir(folder);
}

static inline void room_clear(Room *r)
{
    world_clear(&r->world);
    room_sweep(r->run);
    room_sweep(r->folder);
}

/* Trains to the end. */
static inline void room_train(Room *r, int threads)
{
    RelnFit *fit = NULL;
    RelnTrainEnd end;

    assert_ok(r->world.ctx,
              reln_fit_open(r->world.ctx, r->spec, r->data,
                            &(RelnFitOptions){.folder = r->run, .threads = threads}, &fit));
    assert_ok(r->world.ctx, reln_fit_run(fit, &end));
    assert_int_equal(end, RELN_TRAIN_DONE);
    reln_fit_close(fit);
}

/* Returns a number that results.json has of the training or validation data; data NULL: of the run. */
static inline double room_result(const Room *r, const char *data, const char *metric)
{
    RelnDoc *doc = NULL;
    const RelnDocNode *node;
    char path[128];
    double value;

    snprintf(path, sizeof path, "%s/results.json", r->run);
    assert_ok(r->world.ctx, reln_doc_load(r->world.ctx, path, &doc));
    node = data ? reln_doc_get(reln_doc_root(doc), data) : reln_doc_root(doc);
    assert_non_null(node);
    value = reln_doc_number(node, metric, (double)NAN);
    reln_doc_destroy(doc);
    return value;
}

static inline RelnModel *room_load(Room *r, RelnDtype dtype)
{
    RelnModel *model = NULL;

    assert_ok(r->world.ctx, reln_model_load(r->world.ctx, r->run, dtype, &model));
    return model;
}

/* Caller frees. */
static inline char *read_file(const char *path, size_t *n_bytes)
{
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(1 << 20);

    assert_non_null(file);
    assert_non_null(bytes);
    *n_bytes = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

#endif
