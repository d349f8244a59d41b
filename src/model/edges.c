/* edges.c -- given edges of graphs: checked, and sorted by the point that they go to. All of them are kept, since the numbers of
 * edges must be known before a batch is divided among ranks. */
#include <math.h>
#include <string.h>

#include "model/data.h"

/* Edges of one sample at a time. */
typedef struct Edges {
    RelnData *d;
    double *pairs;  /* (places of edges, 2) */
    double *there;  /* (places of edges): the mask */
    double *mask;   /* (places of points) */
    int32_t *point; /* (places of points): number among the existing points; -1: none */
    int n_points;
} Edges;

static const char *name_of(const Edges *e)
{
    return e->d->m->spec.edges.name;
}

static RelnStatus read_counts(Edges *e, ptrdiff_t row)
{
    const RelnData *d = e->d;
    const int places = d->found.edge_places;
    double count = places;

    if (d->found.edge_mask >= 0)
        return reln_data_array(d, d->found.edge_mask, row, 1, e->there);
    RELN_TRY(reln_data_array(d, d->found.edge_sizes, row, 1, &count));
    if (!(count >= 0 && count <= places && count == floor(count)))
        return reln_fail(d->ctx, RELN_ERR_FORMAT,
                         "%s: row %td has %g edges; wanted a whole number from 0 to %d, the places "
                         "that there are",
                         d->m->spec.edges.count[0] ? d->m->spec.edges.count
                                                   : d->m->spec.edges.offsets,
                         row, count, places);
    for (int i = 0; i < places; i++)
        e->there[i] = i < count;
    return RELN_OK;
}

/* Numbers the points of a set without its padding. Points beyond the largest number of a set are left out, with their edges. */
static RelnStatus number_points(Edges *e, ptrdiff_t row)
{
    const RelnData *d = e->d;

    e->n_points = 0;
    RELN_TRY(reln_data_read_mask(d, row, 1, e->mask));
    for (int p = 0; p < d->work.places; p++)
        e->point[p] = e->mask[p] != 0 ? e->n_points++ : -1;
    return RELN_OK;
}

static RelnStatus check_edge(const Edges *e, ptrdiff_t row, int i)
{
    const double a = e->pairs[2 * i], b = e->pairs[2 * i + 1];
    const int places = e->d->work.places;

    if (e->there[i] != 0 && e->there[i] != 1)
        return reln_fail(e->d->ctx, RELN_ERR_FORMAT,
                         "%s: row %td has %g; a mask of 0 and 1 was wanted",
                         e->d->m->spec.edges.mask, row, e->there[i]);
    if (e->there[i] == 0)
        return RELN_OK;
    if (!(a >= 0 && a < places && a == floor(a) && b >= 0 && b < places && b == floor(b)))
        return reln_fail(e->d->ctx, RELN_ERR_FORMAT,
                         "%s: row %td has the edge (%g, %g); wanted whole numbers from 0 to %d, "
                         "places of points",
                         name_of(e), row, a, b, places - 1);
    if (e->d->m->most == 0 && (e->point[(int)a] < 0 || e->point[(int)b] < 0))
        return reln_fail(e->d->ctx, RELN_ERR_FORMAT,
                         "%s: row %td has the edge (%g, %g), and place %g is no point of it",
                         name_of(e), row, a, b, e->point[(int)a] < 0 ? a : b);
    return RELN_OK;
}

/* Writes the two points of edge i. Returns false if the edge is masked out, or if one of its points is not
 * used. */
static bool ends(const Edges *e, int i, int32_t *from, int32_t *to)
{
    if (e->there[i] == 0)
        return false;
    *from = e->point[(int)e->pairs[2 * i]];
    *to = e->point[(int)e->pairs[2 * i + 1]];
    return *from >= 0 && *to >= 0;
}

static RelnStatus read_sample(Edges *e, ptrdiff_t row)
{
    const RelnData *d = e->d;

    RELN_TRY(number_points(e, row));
    RELN_TRY(reln_data_array(d, d->found.edges, row, 1, e->pairs));
    RELN_TRY(read_counts(e, row));
    for (int i = 0; i < d->found.edge_places; i++)
        RELN_TRY(check_edge(e, row, i));
    return RELN_OK;
}

/* Count the edges of a sample, and the edges that lead to each of its points. */
static RelnStatus count_sample(Edges *e, ptrdiff_t row)
{
    RelnData *d = e->d;
    int32_t *degrees = d->degrees + d->first[row], from, to;
    int count = 0;

    RELN_TRY(read_sample(e, row));
    for (int i = 0; i < d->found.edge_places; i++)
        if (ends(e, i, &from, &to)) {
            count++;
            if (++degrees[to] > d->largest_degree)
                d->largest_degree = degrees[to];
        }
    d->first_edge[row + 1] = d->first_edge[row] + count;
    if (count > d->largest_edges)
        d->largest_edges = count;
    return RELN_OK;
}

/* Sorts the edges of a sample by the point to which they go; edges to one point stay in the order of the file. */
static RelnStatus sort_sample(Edges *e, ptrdiff_t row, ptrdiff_t *next)
{
    const RelnData *d = e->d;
    const int32_t *degrees = d->degrees + d->first[row];
    ptrdiff_t at = d->first_edge[row];
    int32_t from, to;

    RELN_TRY(read_sample(e, row));
    for (int p = 0; p < e->n_points; p++) {
        next[p] = at;
        at += degrees[p];
    }
    for (int i = 0; i < d->found.edge_places; i++)
        if (ends(e, i, &from, &to)) {
            d->edge_place[next[to]] = i;
            d->from[next[to]++] = from;
        }
    return RELN_OK;
}

RelnStatus reln_data_read_edges(RelnData *d)
{
    const size_t places = (size_t)d->work.places, edges = (size_t)d->found.edge_places;
    Edges e = {.d = d};
    ptrdiff_t *next;

    if (d->found.edges < 0)
        return RELN_OK;
    e.pairs = reln_arena_alloc(&d->arena, 2 * edges, sizeof *e.pairs);
    e.there = reln_arena_alloc(&d->arena, edges, sizeof *e.there);
    e.mask = reln_arena_alloc(&d->arena, places, sizeof *e.mask);
    e.point = reln_arena_alloc(&d->arena, places, sizeof *e.point);
    next = reln_arena_alloc(&d->arena, places, sizeof *next);
    d->degrees =
        reln_arena_alloc(&d->arena, (size_t)d->first[d->found.count] + 1, sizeof *d->degrees);
    d->first_edge = reln_arena_alloc(&d->arena, (size_t)d->found.count + 1, sizeof *d->first_edge);
    if (!e.pairs || !e.there || !e.mask || !e.point || !next || !d->degrees || !d->first_edge)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t row = 0; row < d->found.count; row++)
        RELN_TRY(count_sample(&e, row));
    d->from =
        reln_arena_alloc(&d->arena, (size_t)d->first_edge[d->found.count] + 1, sizeof *d->from);
    d->edge_place = reln_arena_alloc(&d->arena, (size_t)d->first_edge[d->found.count] + 1,
                                     sizeof *d->edge_place);
    if (!d->from || !d->edge_place)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t row = 0; row < d->found.count; row++)
        RELN_TRY(sort_sample(&e, row, next));
    return RELN_OK;
}

void reln_data_go_to_edges(RelnData *d, ptrdiff_t row)
{
    d->work.edge = d->edge_place ? d->edge_place + d->first_edge[row] : NULL;
    d->work.n_edges = reln_data_edges(d, row);
}

void reln_data_put_edges(const RelnData *d, ptrdiff_t n, const ptrdiff_t *rows, const Lifted *to)
{
    ptrdiff_t points = 0, edges = 0;

    for (ptrdiff_t i = 0; d->from && i < n; i++) {
        const ptrdiff_t row = rows ? rows[i] : i;
        const ptrdiff_t count = reln_data_edges(d, row);

        memcpy(to->degrees + points, d->degrees + d->first[row],
               (size_t)d->points[row] * sizeof *to->degrees);
        memcpy(to->from + edges, d->from + d->first_edge[row], (size_t)count * sizeof *to->from);
        points += d->points[row];
        edges += count;
    }
}
