/* row.c -- settings of the rows of both tables, and the networks that they choose. */
#include "tasks/pendulum/pendulum.h"
#include "tasks/settings.h"

static const char *const archs[] = {[PEND_ARCH_MLP] = "mlp",
                                    [PEND_ARCH_MLP_ODE] = "mlp-ode",
                                    [PEND_ARCH_EMLP] = "emlp",
                                    [PEND_ARCH_EMLP_ODE] = "emlp-ode",
                                    [PEND_ARCH_INVARIANT] = "invariant",
                                    [PEND_ARCH_EQUIVARIANT] = "equivariant",
                                    NULL};
static const char *const features[] = {[PEND_FEATURES_NONE] = "none",
                                       [PEND_FEATURES_PAIRINGS] = "pairings",
                                       [PEND_FEATURES_LENGTHS] = "lengths",
                                       [PEND_FEATURES_SCALARS] = "scalars",
                                       NULL};
static const char *const schedules[] = {[PEND_COSINE] = "cosine",
                                        [PEND_CONSTANT] = "constant",
                                        [PEND_PIECES] = "0.4 from a tenth, 0.1 from half",
                                        NULL};

static const Key keys[] = {
    TASK_NUMBER(PendRowSettings, share),
    TASK_NUMBER(PendRowSettings, rate),
    TASK_WORD(PendRowSettings, arch, archs),
    TASK_WORD(PendRowSettings, features, features),
    TASK_WORD(PendRowSettings, symmetry, pend_symmetry_words),
    TASK_WHOLE(PendRowSettings, hidden),
    TASK_WHOLE(PendRowSettings, width),
    TASK_WHOLE(PendRowSettings, channels),
    TASK_WHOLE(PendRowSettings, layers),
    TASK_WORD(PendRowSettings, activation, task_activation_words),
    TASK_WORD(PendRowSettings, schedule, schedules),
    TASK_WHOLE(PendRowSettings, substeps),
    TASK_FLAG(PendRowSettings, published),
    TASK_FLAG(PendRowSettings, per_call),
    TASK_PAD(PendRowSettings, pad),
};

const Section pend_row_section = {"PendRowSettings", keys, sizeof keys / sizeof keys[0]};

static PendInvariant invariant_of(const PendRowSettings *row)
{
    static const PendInvariant *const choices[] = {[PEND_FEATURES_PAIRINGS] = &pend_pairings,
                                                   [PEND_FEATURES_LENGTHS] = &pend_lengths,
                                                   [PEND_FEATURES_SCALARS] = &pend_scalars};
    PendInvariant s = *choices[row->features];

    s.hidden = row->hidden;
    s.width = row->width;
    s.activation = row->activation;
    s.share = row->share;
    return s;
}

PendChoice pend_choose(const PendRowSettings *row)
{
    static const PendArchitecture *const all[] = {
        &pend_mlp, &pend_mlp_ode, &pend_emlp, &pend_emlp_ode, &pend_invariant, &pend_equivariant};
    PendChoice c = {.arch = all[row->arch]};

    if (row->arch == PEND_ARCH_INVARIANT)
        c.settings.invariant = invariant_of(row);
    else if (row->arch == PEND_ARCH_EQUIVARIANT)
        c.settings.equivariant =
            (PendEquivariant){row->channels, row->layers, row->hidden, row->width, row->share};
    else if (row->arch == PEND_ARCH_EMLP || row->arch == PEND_ARCH_EMLP_ODE)
        c.settings.emlp = (PendEmlp){row->width};
    else
        c.settings.mlp = (PendMlp){row->width};
    c.abreast = c.arch->abreast > 0 ? c.arch->abreast : 1;
    return c;
}

RelnStatus pend_row_group(RelnCtx *ctx, const PendRowSettings *row, RelnGroup **out)
{
    const PendSymmetry symmetry = row->symmetry == PEND_NONE ? PEND_O2 : row->symmetry;

    return pend_symmetry_group(ctx, pend_choose(row).arch->typed ? symmetry : PEND_NONE, out);
}
