/* slots.c -- assigns the inputs of a SPEC to inputs of the graph and their channels. */
#include "model/kinds.h"
#include "model/model.h"

static const char *const slot_names[SLOT_COUNT] = {[SLOT_X_POINTS] = "x.points",
                                                   [SLOT_X] = "x",
                                                   [SLOT_S_POINTS] = "s.points",
                                                   [SLOT_S] = "s",
                                                   [SLOT_X_EDGES] = "x.edges",
                                                   [SLOT_S_EDGES] = "s.edges",
                                                   [SLOT_V] = "v",
                                                   [SLOT_V_POINTS] = "v.points",
                                                   [SLOT_FLAT] = "flat",
                                                   [SLOT_REFERENCE] = "reference",
                                                   [SLOT_PRECISION] = "precision"};

static SlotId slot_of(const RelnModel *m, const RelnSpecInput *in)
{
    if (reln_model_is_plain_rows(m))
        return in->points ? SLOT_S_POINTS : SLOT_S;
    if (reln_model_is_mlp(m))
        return SLOT_FLAT;
    if (reln_input_kind(in->as)->feature == FEATURE_SCALAR)
        return in->edges ? SLOT_S_EDGES : in->points ? SLOT_S_POINTS : SLOT_S;
    return in->edges ? SLOT_X_EDGES : in->points ? SLOT_X_POINTS : SLOT_X;
}

static bool has_vector_target(const RelnModel *m)
{
    for (int t = 0; t < m->spec.n_targets; t++)
        if (m->spec.target[t].as == RELN_TARGET_VECTOR)
            return true;
    return false;
}

static void put_in_slot(RelnModel *m, int input)
{
    const RelnSpecInput *in = &m->spec.input[input];
    const RelnInputShape *shape = &m->shapes.input[input];
    Lift *lift = &m->lift[input];

    lift->slot = slot_of(m, in);
    lift->first = m->slots[lift->slot].c;
    if (lift->slot == SLOT_FLAT)
        lift->channels *= (shape->points ? shape->points : 1) * lift->size;
    if (reln_model_is_plain_rows(m))
        lift->channels *= lift->size;
    m->slots[lift->slot].c += lift->channels;
    lift->vectors = -1;
    if (reln_input_kind(in->as)->as_is && in->sequence && !reln_model_is_mlp(m) &&
        has_vector_target(m)) {
        lift->vectors = m->slots[SLOT_V_POINTS].c;
        m->slots[SLOT_V_POINTS].c += shape->channels;
    }
    if (reln_input_kind(in->as)->as_is && reln_input_items(in) == RELN_ITEMS_SAMPLES &&
        m->algebra && has_vector_target(m)) {
        lift->vectors = m->slots[SLOT_V].c;
        m->slots[SLOT_V].c += shape->channels;
    }
}

static RelnItems items_of(int slot)
{
    if (slot == SLOT_X_EDGES || slot == SLOT_S_EDGES)
        return RELN_ITEMS_EDGES;
    return slot == SLOT_X_POINTS || slot == SLOT_S_POINTS || slot == SLOT_V_POINTS
               ? RELN_ITEMS_POINTS
               : RELN_ITEMS_SAMPLES;
}

static int places_of(const RelnModel *m, RelnItems items)
{
    return items == RELN_ITEMS_EDGES ? m->shapes.edges : items == RELN_ITEMS_POINTS ? m->points : 1;
}

static void size_slots(RelnModel *m)
{
    for (int s = 0; s < SLOT_COUNT; s++) {
        Slot *slot = &m->slots[s];

        slot->name = slot_names[s];
        slot->of = items_of(s);
        slot->k = reln_slot_is_features(s)                     ? reln_model_k(m)
                  : s == SLOT_V || s == SLOT_V_POINTS          ? m->n
                  : s == SLOT_REFERENCE || s == SLOT_PRECISION ? m->n * m->n
                                                               : 1;
        slot->count = (ptrdiff_t)slot->k * slot->c * places_of(m, slot->of);
    }
}

static bool has_targets_of_points(const RelnModel *m)
{
    for (int t = 0; t < m->spec.n_targets; t++)
        if (m->spec.target[t].points)
            return true;
    return false;
}

static void find_points(RelnModel *m)
{
    for (int i = 0; i < m->spec.n_inputs; i++)
        if (m->spec.input[i].points) {
            m->points = m->shapes.input[i].points;
            m->most = m->spec.input[i].most;
            m->draws = m->spec.input[i].draw;
            m->ragged = m->spec.input[i].mask[0] || m->spec.input[i].count[0] ||
                        m->spec.input[i].offsets[0] || m->most > 0 || reln_model_is_structured(m) ||
                        reln_model_is_plain_rows(m) || has_targets_of_points(m);
        }
}

const char *reln_model_mask(const RelnModel *m)
{
    for (int i = 0; i < m->spec.n_inputs; i++) {
        if (m->spec.input[i].mask[0])
            return m->spec.input[i].mask;
        if (m->spec.input[i].count[0])
            return m->spec.input[i].count;
        if (m->spec.input[i].offsets[0])
            return m->spec.input[i].offsets;
    }
    return "";
}

static RelnStatus want_features(const RelnModel *m)
{
    if (reln_model_is_mlp(m) || m->slots[SLOT_X].c || m->slots[SLOT_X_POINTS].c ||
        m->slots[SLOT_X_EDGES].c)
        return RELN_OK;
    return reln_fail(m->ctx, RELN_ERR_ARG,
                     "every input is a scalar, on which %s does nothing; wanted kind: mlp",
                     reln_group_name(m->symmetry));
}

RelnStatus reln_model_plan_lifts(RelnModel *m)
{
    find_points(m);
    for (int i = 0; i < m->spec.n_inputs; i++) {
        const RelnSpecInput *in = &m->spec.input[i];
        const InputKind *kind = reln_input_kind(in->as);

        m->lift[i].channels = m->shapes.input[i].channels;
        m->lift[i].size = m->shapes.input[i].size;
        if (kind->before)
            kind->before(m, in, &m->lift[i]);
        if (kind->lift && !reln_model_is_mlp(m))
            RELN_TRY(kind->lift(m, in, &m->lift[i]));
        put_in_slot(m, i);
    }
    m->slots[SLOT_REFERENCE].c = m->slots[SLOT_PRECISION].c = reln_model_needs_reference(m);
    size_slots(m);
    return want_features(m);
}
