/* batch.c -- makes the rows of a network from jets: beams before particles, in other frames, with soft
 * particles, or cut short. */
#include <math.h>
#include <string.h>

#include "tasks/jets/jets.h"

/* Limit on the particles of a jet with those that a view adds. */
enum { MOST = 2 * JETS_MOST };

RelnStatus jets_batch_init(TaskEnv *env, TaskRoom **rooms, ptrdiff_t n, int n_extra, JetsBatch *out)
{
    const size_t rows = (size_t)n * (JETS_MOST + JETS_BEAMS), jets = (size_t)n;

    *out =
        (JetsBatch){.room = n, .room_rows = (ptrdiff_t)rows, .n_scalars = JETS_SCALARS + n_extra};
    out->counts = task_room(rooms, jets, sizeof *out->counts);
    out->p = task_room(rooms, rows, 4 * sizeof *out->p);
    out->scalars = task_room(rooms, rows, (size_t)out->n_scalars * sizeof *out->scalars);
    out->particle = task_room(rooms, rows, sizeof *out->particle);
    out->invariants = task_room(rooms, jets, JETS_INVARIANTS * sizeof *out->invariants);
    out->total = task_room(rooms, jets, 4 * sizeof *out->total);
    out->beams = task_room(rooms, jets, 4 * JETS_BEAMS * sizeof *out->beams);
    out->labels = task_room(rooms, jets, sizeof *out->labels);
    out->weights = task_room(rooms, jets, sizeof *out->weights);
    return out->counts && out->p && out->scalars && out->particle && out->invariants &&
                   out->total && out->beams && out->labels && out->weights
               ? RELN_OK
               : task_nomem(env);
}

/* ---- a jet as a view has it ---------------------------------------------------------------------------------------- */

typedef struct Jet {
    int n;
    double p[MOST][4], mass[MOST], extra[MOST][JETS_EXTRA];
} Jet;

/* Returns how many particles come before particle i: those of larger transverse momentum, on ties the
 * first. */
static int rank_of(const Jet *jet, int i)
{
    int before = 0;

    for (int j = 0; j < jet->n; j++) {
        const double more = jets_pt(jet->p[j]) - jets_pt(jet->p[i]);

        before += more > 0 || (more == 0 && j < i);
    }
    return before;
}

/* Keeps the n hardest particles, in their order. */
static void keep_hardest(Jet *jet, int n)
{
    const Jet all = *jet;

    jet->n = 0;
    for (int i = 0; i < all.n; i++)
        if (rank_of(&all, i) < n) {
            memcpy(jet->p[jet->n], all.p[i], sizeof all.p[i]);
            memcpy(jet->extra[jet->n], all.extra[i], sizeof all.extra[i]);
            jet->mass[jet->n++] = all.mass[i];
        }
}

/* Splits particles in two of the same direction, as a detector might see them. */
static void split_some(Jet *jet, double share, RelnRng *rng)
{
    const int n = jet->n;

    for (int i = 0; i < n && jet->n < JETS_MOST; i++) {
        const double z = 0.1 + 0.8 * reln_rng_uniform(rng);

        if (reln_rng_uniform(rng) >= share)
            continue;
        for (int k = 0; k < 4; k++) {
            jet->p[jet->n][k] = (1 - z) * jet->p[i][k];
            jet->p[i][k] *= z;
        }
        jet->mass[jet->n] = (1 - z) * jet->mass[i];
        jet->mass[i] *= z;
        memcpy(jet->extra[jet->n], jet->extra[i], sizeof jet->extra[i]);
        jet->n++;
    }
}

/* Adds massless particles around the axis, within 0.8 of it, with a share of the jet's transverse
 * momentum. */
static void add_soft(Jet *jet, int n, double share, RelnRng *rng)
{
    double total[4];

    jets_sum(jet->n, jet->p[0], total);
    for (int i = 0; i < n && jet->n < JETS_MOST; i++) {
        const double r = 0.8 * sqrt(reln_rng_uniform(rng)), a = 2 * JETS_PI * reln_rng_uniform(rng);
        const double eta = jets_eta(total) + r * cos(a), phi = jets_phi(total) + r * sin(a);
        const double pt = share * jets_pt(total) / n;
        double *p = jet->p[jet->n];

        p[0] = pt * cosh(eta);
        p[1] = pt * cos(phi);
        p[2] = pt * sin(phi);
        p[3] = pt * sinh(eta);
        jet->mass[jet->n] = 0;
        memset(jet->extra[jet->n], 0, sizeof jet->extra[0]);
        jet->n++;
    }
}

static void take_jet(const Jets *jets, ptrdiff_t first, int n, Jet *jet)
{
    jet->n = n;
    memcpy(jet->p, jets->p + 4 * first, (size_t)n * sizeof jet->p[0]);
    memcpy(jet->mass, jets->mass + first, (size_t)n * sizeof jet->mass[0]);
    for (int i = 0; i < n; i++)
        memcpy(jet->extra[i], jets->extra + (first + i) * jets->n_extra,
               (size_t)jets->n_extra * sizeof jet->extra[0][0]);
}

static void change(Jet *jet, const JetsView *view, ptrdiff_t i)
{
    RelnRng rng = reln_rng(view->seed, (uint64_t)i);

    if (view->hardest > 0)
        keep_hardest(jet, view->hardest);
    if (view->split > 0)
        split_some(jet, view->split, &rng);
    if (view->soft > 0)
        add_soft(jet, view->soft, view->soft_share, &rng);
}

/* ---- rows ---------------------------------------------------------------------------------------------------------- */

static void put_row(JetsBatch *b, ptrdiff_t row, const double *p, double beam, double mass,
                    const double *extra)
{
    double *s = b->scalars + row * b->n_scalars;

    memcpy(b->p + 4 * row, p, 4 * sizeof *p);
    memset(s, 0, (size_t)b->n_scalars * sizeof *s);
    s[0] = jets_psi(mass);
    s[1] = beam;
    b->particle[row] = beam > 0 ? 0 : 1;
    if (extra)
        memcpy(s + JETS_SCALARS, extra, (size_t)(b->n_scalars - JETS_SCALARS) * sizeof *s);
}

/* Writes the rows of a jet from `row` on. Returns the row after them. */
static ptrdiff_t put_jet(JetsBatch *b, ptrdiff_t i, ptrdiff_t row, Jet *jet, const JetsView *view)
{
    double beams[JETS_BEAMS][4];

    memcpy(beams, jets_beams, sizeof beams);
    if (view && view->frame) {
        jets_move(view->frame, jet->n, jet->p[0], jet->p[0]);
        if (!view->beams_stay)
            jets_move(view->frame, JETS_BEAMS, beams[0], beams[0]);
    }
    for (int k = 0; k < JETS_BEAMS; k++) {
        if (!b->bare)
            put_row(b, row++, beams[k], log(2), 0, NULL);
        for (int a = 0; a < 4; a++)
            b->beams[(4 * i + a) * JETS_BEAMS + k] = beams[k][a];
    }
    for (int k = 0; k < jet->n; k++)
        put_row(b, row++, jet->p[k], 0, jet->mass[k], jet->extra[k]);
    jets_sum(jet->n, jet->p[0], b->total + 4 * i);
    if (b->whole)
        jets_invariants(jet->n, jet->p[0], (const double(*)[4])beams,
                        b->invariants + i * JETS_INVARIANTS);
    b->counts[i] = jet->n + (b->bare ? 0 : JETS_BEAMS);
    return row;
}

void jets_batch_fill(JetsBatch *b, const Jets *jets, const JetsView *view)
{
    ptrdiff_t first = 0, row = 0;
    Jet jet;

    for (ptrdiff_t i = 0; i < jets->n; i++) {
        take_jet(jets, first, jets->counts[i], &jet);
        if (view)
            change(&jet, view, i);
        row = put_jet(b, i, row, &jet, view);
        b->labels[i] = jets->labels[i];
        b->weights[i] = jets->weights[i];
        first += jets->counts[i];
    }
    b->set = (ExpSet){.n = jets->n,
                      .n_columns = 8,
                      .column = {{EXP_NUMBERS("p", 4, b->p), .rows = 1},
                                 {EXP_NUMBERS("scalars", b->n_scalars, b->scalars), .rows = 1},
                                 {EXP_NUMBERS("particle", 1, b->particle), .rows = 1},
                                 {EXP_NUMBERS("invariants", JETS_INVARIANTS, b->invariants)},
                                 {EXP_NUMBERS("total", 4, b->total)},
                                 {EXP_NUMBERS("beams", 4 * JETS_BEAMS, b->beams)},
                                 {EXP_INDICES("label", 1, b->labels), .target = true},
                                 {EXP_NUMBERS("weight", 1, b->weights), .target = true}},
                      .n_rows = 1,
                      .rows = {{"rows", b->counts}}};
}
